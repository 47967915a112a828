//! The value of one key by itself, as a file may write it: for who asks what another value would have meant.

use serde_json::{Map, Value};
use unstuck_document::keys::{Key, KeyContext, KeyType};
use unstuck_document::{FileOffset, KeyPath, LoadReport, TreeNode, node, rename_old_keys, type_check};

use super::keys;
use crate::registry;

/// Reads the value of a key: `Ok(None)` where it is what it is written as, and where a file has no such key; a list or a map
/// is returned as JSON.
///
/// # Errors
///
/// A file may not have this value. The sentence says why not.
pub fn value(keys: &[&str], text: &str) -> Result<Option<Value>, String> {
    let Some(kind) = key_kind(keys) else { return Ok(None) };
    if matches!(
        kind,
        KeyType::Text | KeyType::AnyText | KeyType::TextOr(_) | KeyType::Version | KeyType::Anything
    ) {
        return Ok(None);
    }
    let mut report = LoadReport::default();
    let source = report.add_source(String::new(), text.to_owned());
    let mut node = node::parse(source, text, &mut report);
    if let Some(node) = &mut node {
        rename_old_keys(kind, node);
        type_check::check(kind, node, FileOffset { source, offset: 0 }, &KeyPath::default(), &mut report);
    }
    let (errors, _) = report.finish(false);
    if let Some(first) = errors.into_iter().next() {
        return Err(first.help.map_or_else(|| first.what.clone(), |help| format!("{}; {help}", first.what)));
    }
    let is_nested = |item: &TreeNode| matches!(item.kind, node::NodeKind::List(_) | node::NodeKind::Map(_));
    Ok(node.filter(is_nested).map(|node| json(&node)))
}

/// Returns the names that a file knows below a key: all that may stand there, none below what is no map; `None` where names
/// are the file's own, or entries of a list.
pub fn names_below(keys: &[&str]) -> Option<Vec<&'static str>> {
    match key_kind(keys) {
        Some(KeyType::Map(level) | KeyType::TextOr(level)) => {
            Some(level_keys(level).map(|key| key.name).collect())
        }
        Some(
            KeyType::Named(_)
            | KeyType::Steps(..)
            | KeyType::List(_)
            | KeyType::Some(_)
            | KeyType::Open
            | KeyType::Texts,
        ) => None,
        _ => Some(Vec::new()),
    }
}

/// Returns values that a file may write for a key, at least two that differ where there are two; none for a map with known keys.
pub fn samples(keys: &[&str]) -> Vec<String> {
    key_kind(keys).map(kind_samples).unwrap_or_default()
}

fn kind_samples(kind: KeyType) -> Vec<String> {
    let texts = |all: &[&str]| all.iter().map(|&text| text.to_owned()).collect();
    match kind {
        KeyType::Version => texts(&["1"]),
        KeyType::Flag => texts(&["false", "true"]),
        KeyType::Whole(least) => vec![least.to_string(), (least + 1).to_string()],
        KeyType::Scalar(scalar) => texts(&scalar.samples),
        KeyType::Word(words) => texts(words),
        KeyType::List(item) => texts(&["[]"]).into_iter().chain(list_samples(*item)).collect(),
        KeyType::Some(item) => list_samples(*item),
        KeyType::Map(_) | KeyType::Named(_) | KeyType::Steps(..) | KeyType::Open | KeyType::Texts => {
            texts(&["{}"])
        }
        _ => texts(&["a", "b"]),
    }
}

/// Returns lists of one entry; an entry that is a map has the keys that it needs.
fn list_samples(item: KeyType) -> Vec<String> {
    let KeyType::Map(level) = item else {
        return kind_samples(item).iter().map(|sample| format!("[{sample}]")).collect();
    };
    let needed = level.keys.iter().filter(|key| key.required);
    let pairs = needed.filter_map(|key| Some(format!("{}: {}", key.name, kind_samples(key.kind).pop()?)));
    vec![format!("[{{{}}}]", pairs.collect::<Vec<_>>().join(", "))]
}

/// Returns what the value of a key may be; `None` where a file has no such key.
fn key_kind(keys: &[&str]) -> Option<KeyType> {
    keys.iter().try_fold(KeyType::Map(&keys::WORKFLOW), |kind, key| kind_below(kind, key))
}

fn kind_below(kind: KeyType, key: &str) -> Option<KeyType> {
    match kind {
        KeyType::Map(level) | KeyType::TextOr(level) => {
            level_keys(level).find(|known| known.name == key).map(|key| key.kind)
        }
        KeyType::Named(level) => Some(KeyType::Map(level)),
        KeyType::Steps(step, _) => Some(KeyType::Map(step)),
        KeyType::List(item) | KeyType::Some(item) => Some(*item),
        KeyType::Open => Some(KeyType::Anything),
        KeyType::Texts => Some(KeyType::AnyText),
        _ => None,
    }
}

/// Returns a key and its value with current names in place of old ones.
pub fn current_names<'a>(keys: &[&'a str], text: &'a str) -> (Vec<&'a str>, &'a str) {
    let mut kind = Some(KeyType::Map(&keys::WORKFLOW));
    let (mut names, mut value) = (Vec::new(), text);
    for name in keys {
        let renamed = match kind {
            Some(KeyType::Map(level) | KeyType::TextOr(level)) => {
                level_keys(level).find(|key| key.old_name == Some(*name))
            }
            _ => None,
        };
        value = renamed.map_or(text, |key| key.current_word(text));
        let name = renamed.map_or(*name, |key| key.name);
        kind = kind.and_then(|kind| kind_below(kind, name));
        names.push(name);
    }
    (names, value)
}

/// Returns the keys of a level; for a `registry_step`, also the keys of a step in the registry.
fn level_keys(level: &'static KeyContext) -> impl Iterator<Item = &'static Key> {
    let of_registry: &[Key] = if *level == keys::REGISTRY_STEP { registry::keys::STEP.keys } else { &[] };
    level.keys.iter().chain(of_registry)
}

pub(super) fn json(node: &TreeNode) -> Value {
    match &node.kind {
        node::NodeKind::Null => Value::Null,
        node::NodeKind::Bool(flag) => Value::Bool(*flag),
        node::NodeKind::Int(text) | node::NodeKind::Float(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        node::NodeKind::Text(text) => Value::String(text.clone()),
        node::NodeKind::List(items) => Value::Array(items.iter().map(json).collect()),
        node::NodeKind::Map(entries) => Value::Object(
            entries.iter().map(|entry| (entry.key.clone(), json(&entry.value))).collect::<Map<_, _>>(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_a_file_may_write() {
        for (key, text, want) in [
            ("steps.a.convergence.allowed_paths", "[\"src/**\"]", "Ok(Some([\"src/**\"]))"),
            ("steps.a.convergence.allowed_paths", "[src/**, docs]", "Ok(Some([\"src/**\",\"docs\"]))"),
            ("steps.a.convergence.allowed_paths", "[../x]", "leads out"),
            (
                "steps.a.convergence.stages",
                "[{stage: 2, append_instructions: less}]",
                "Ok(Some([{\"append_instructions\":\"less\",\"stage\":2}]))",
            ),
            ("steps.a.convergence.stages", "[{stage: 1}]", "expected"),
            ("steps.a.convergence.stages", "[{stage: 2, stag: 3}]", "unknown key"),
            ("steps.a.convergence.stages", "[{", "Err("),
            ("steps.a.completion_check.commands", "[]", "an empty list"),
            ("steps.a.max_iterations", "0", "at least 2"),
            ("steps.a.max_iterations", "3", "Ok(None)"),
            ("steps.a.timeout", "5s", "Ok(None)"),
            ("steps.a.timeout", "soon", "found \"soon\""),
            ("steps.a.description", "1", "Ok(None)"),
            ("steps.a.nope", "1", "Ok(None)"),
            ("steps.a.registry_step.onFailure.maxAttempts", "x", "an integer of at least 1"),
        ] {
            let keys: Vec<&str> = key.split('.').collect();
            let got = match value(&keys, text) {
                Ok(Some(json)) => format!("Ok(Some({json}))"),
                other => format!("{other:?}"),
            };
            let got = got.replace("\\\"", "\"");
            assert!(got.contains(want), "{key}={text}: {got}");
        }
    }

    #[test]
    fn old_names_in_a_key_are_replaced() {
        for (key, text, want) in [
            ("weather", "stop", "on_outage=fail"),
            ("on_outage", "stop", "on_outage=stop"),
            ("steps.wrap.completion_check.observations", "3", "steps.wrap.completion_check.attempts=3"),
            ("workers.a.launch.all.words", "x", "workers.a.launch.unrestricted.description=x"),
            ("nope.wrap", "x", "nope.wrap=x"),
        ] {
            let keys: Vec<&str> = key.split('.').collect();
            let (names, value) = current_names(&keys, text);
            assert_eq!(format!("{}={value}", names.join(".")), want);
        }
    }

    #[test]
    fn names_match_the_table_or_the_file() {
        for (key, want) in [
            ("steps", None),
            ("steps.a.depends_on", None),
            ("steps.a.completion_check.commands.1", Some("run gate reports")),
            ("steps.a.convergence.stages.1", Some("stage append_instructions")),
            ("steps.a.completion_conditions.1.params", None),
            ("steps.a.registry_step.onFailure", Some("$schema description action maxAttempts")),
            ("timeout", Some("")),
            ("nope", Some("")),
        ] {
            let keys: Vec<&str> = key.split('.').collect();
            assert_eq!(names_below(&keys).map(|names| names.join(" ")).as_deref(), want, "{key}");
        }
    }

    #[test]
    fn samples_are_values_that_a_file_may_write() {
        for key in keys::STEP.keys.iter().chain(keys::CONVERGENCE.keys).map(|key| key.name) {
            for keys in [["steps", "a", key].as_slice(), &["steps", "a", "convergence", key]] {
                let is_map = matches!(key_kind(keys), Some(KeyType::Map(_)));
                for sample in samples(keys).iter().filter(|_| !is_map) {
                    assert!(value(keys, sample).is_ok(), "{keys:?}={sample}: {:?}", value(keys, sample));
                }
            }
        }
    }
}
