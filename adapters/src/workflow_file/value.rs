//! The value of one key by itself, as a file may write it: for who asks what another value would have meant.

use serde_json::{Map, Value};

use super::complaint::{KeyPath, Place, Report};
use super::keys::{Kind, Level};
use super::node::{self, Node};
use super::shape;

/// Reads the value of a key: `Ok(None)` where it is what it is written as, and where a file has no such key; a list or a map
/// is returned as JSON.
///
/// # Errors
///
/// A file may not have this value. The sentence says why not.
pub fn value(keys: &[&str], text: &str) -> Result<Option<Value>, String> {
    let Some(kind) = kind_of(keys) else { return Ok(None) };
    if matches!(kind, Kind::Text | Kind::AnyText | Kind::TextOr(_) | Kind::Version | Kind::Anything) {
        return Ok(None);
    }
    let mut report = Report::default();
    let source = report.add_source(String::new(), text.to_owned());
    let node = node::parse(source, text, &mut report);
    if let Some(node) = &node {
        shape::check(kind, node, Place { source, offset: 0 }, &KeyPath::default(), &mut report);
    }
    let (errors, _) = report.finish(false);
    if let Some(first) = errors.into_iter().next() {
        return Err(first.help.map_or_else(|| first.what.clone(), |help| format!("{}; {help}", first.what)));
    }
    let is_nested = |it: &Node| matches!(it.kind, node::Kind::List(_) | node::Kind::Map(_));
    Ok(node.filter(is_nested).map(|node| json(&node)))
}

/// Returns what the value of a key may be; `None` where a file has no such key.
fn kind_of(keys: &[&str]) -> Option<Kind> {
    keys.iter().try_fold(Kind::Map(Level::Workflow), |kind, key| match kind {
        Kind::Map(level) | Kind::TextOr(level) => level.key(key).map(|key| key.kind),
        Kind::Named(level) => Some(Kind::Map(level)),
        Kind::Steps => Some(Kind::Map(Level::Step)),
        Kind::List(item) | Kind::Some(item) => Some(*item),
        _ => None,
    })
}

pub(super) fn json(node: &Node) -> Value {
    match &node.kind {
        node::Kind::Null => Value::Null,
        node::Kind::Bool(flag) => Value::Bool(*flag),
        node::Kind::Int(text) | node::Kind::Float(text) => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
        }
        node::Kind::Text(text) => Value::String(text.clone()),
        node::Kind::List(items) => Value::Array(items.iter().map(json).collect()),
        node::Kind::Map(entries) => {
            Value::Object(entries.iter().map(|it| (it.key.clone(), json(&it.value))).collect::<Map<_, _>>())
        }
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
}
