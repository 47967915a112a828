//! The JSON Schema of workflow files, made from the [table of keys](super::keys).

use serde_json::{Map, Value, json};
use unstuck_document::keys::{Key, KeyContext, KeyStepKind, KeyType};
use unstuck_workers::keys as workers;

use super::keys::{CATALOGS, CHECK, STEP, WORKFLOWS};

/// Returns the JSON Schema (2020-12) of workflow files as text, with a line feed at its end.
///
/// It has the keys, their types and their bounds, and which keys of a step go together. All else that keys mean together only
/// the reader knows.
/// The schema of agent catalogs is its definition `agent_catalog`.
pub fn schema() -> String {
    let of_workers = workers::WORKERS.levels.iter().filter(|level| ***level != workers::FILE);
    let levels = WORKFLOWS.levels.iter().chain(CATALOGS.levels).chain(of_workers);
    let definitions = levels.map(|level| (level.definition.to_owned(), definition(level)));
    let schema = json!({
        "$defs": definitions.collect::<Map<String, Value>>(),
        "$ref": "#/$defs/workflow",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Unstuck workflow file, version 1",
    });
    let mut text = String::new();
    write(&schema, 0, &mut text);
    text.push('\n');
    text
}

fn definition(level: &KeyContext) -> Value {
    let properties: Map<String, Value> =
        level.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = level.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut object = json!({
        "additionalProperties": false,
        "properties": properties,
        "title": level.title,
        "type": "object",
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), together(level)) {
        object.extend(more);
    }
    object
}

/// The conditions on several keys of a map.
fn together(level: &KeyContext) -> Value {
    let asks_for = |key: &str| json!({ "required": [key] });
    match level {
        _ if *level == STEP => {
            let without = |side: KeyStepKind| {
                let keys = level.keys.iter().filter(|key| key.side == side);
                let none: Map<String, Value> = keys.map(|key| (key.name.to_owned(), json!(false))).collect();
                json!({ "properties": none })
            };
            json!({
                "dependentRequired": { "completion_check": ["max_iterations"] },
                "else": without(KeyStepKind::Subworkflow),
                "if": asks_for("workflow"),
                "then": without(KeyStepKind::Worker),
            })
        }
        _ if *level == CHECK => {
            let known_by = ["worker", "agent", "self_report", "commands"].map(asks_for);
            let script = json!({ "properties": { "worker": { "const": "CUSTOM" } } });
            json!({
                "anyOf": known_by,
                "else": asks_for("decision_file"),
                "if": { "anyOf": [script, { "not": asks_for("worker") }] },
            })
        }
        _ => json!({}),
    }
}

fn property(key: &Key) -> Value {
    let mut value = kind_schema(key.kind);
    let ours = if key.ours { "A key of Unstuck's own. " } else { "" };
    let default = match key.default.replace('`', "").strip_prefix("required") {
        Some(_) if key.required => String::new(),
        Some(rest) => format!(" Required{rest}."),
        None => format!(" Default: {}.", key.default.replace('`', "")),
    };
    let doc = if key.doc.is_empty() { "Accepted, not run yet." } else { key.doc };
    value["description"] = Value::String(format!("{ours}{}{default}", doc.replace('`', "")));
    value
}

fn kind_schema(kind: KeyType) -> Value {
    match kind {
        KeyType::Text => json!({ "type": "string", "pattern": "\\S" }),
        KeyType::AnyText => json!({ "type": "string" }),
        KeyType::Version => json!({ "const": "1" }),
        KeyType::Flag => json!({ "type": "boolean" }),
        KeyType::Whole(least) => json!({ "type": "integer", "minimum": least, "maximum": u32::MAX }),
        KeyType::Scalar(scalar) => serde_json::from_str(scalar.schema).expect("a test reads every schema"),
        KeyType::Path => text_without(&[LEADS_UP, ABSOLUTE]),
        KeyType::File => text_without(&[LEADS_UP, ABSOLUTE, IN_GIT, FOLDER]),
        KeyType::FreePath => text_without(&[LEADS_UP, IN_GIT]),
        KeyType::Pattern => text_without(&[LEADS_UP]),
        KeyType::Segment(reserved) => segment(reserved),
        KeyType::Commit => json!({ "type": "string", "pattern": "^[^-]" }),
        KeyType::Word(words) => json!({ "enum": words }),
        KeyType::List(item) => json!({ "type": "array", "items": kind_schema(*item) }),
        KeyType::Some(item) => json!({ "type": "array", "items": kind_schema(*item), "minItems": 1 }),
        KeyType::Map(level) => reference(level),
        KeyType::Named(level) => json!({ "type": "object", "additionalProperties": reference(level) }),
        KeyType::Steps(level, reserved) => json!({
            "type": "object",
            "additionalProperties": reference(level),
            "minProperties": 1,
            "propertyNames": segment(reserved),
        }),
        KeyType::TextOr(level) => {
            json!({ "anyOf": [{ "type": "string", "pattern": "\\S" }, reference(level)] })
        }
        KeyType::Texts => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        KeyType::Open => json!({ "type": "object" }),
        KeyType::Anything => json!({}),
    }
}

const LEADS_UP: &str = r"(^|[/\\])\.\.($|[/\\])";
const ABSOLUTE: &str = r"^([/\\]|[A-Za-z]:)";
const IN_GIT: &str = r"(^|[/\\])\.[gG][iI][tT]($|[/\\])";
const FOLDER: &str = r"(^|[/\\])\.?$";

/// A text that is not empty, and in which none of these patterns is found.
fn text_without(patterns: &[&str]) -> Value {
    json!({ "type": "string", "pattern": "\\S", "not": { "pattern": patterns.join("|") } })
}

fn reference(level: &KeyContext) -> Value {
    json!({ "$ref": format!("#/$defs/{}", level.definition) })
}

fn segment(reserved: &[&str]) -> Value {
    let forbidden: Vec<&str> = [".", ".."].into_iter().chain(reserved.iter().copied()).collect();
    let not = json!({ "anyOf": [{ "enum": forbidden }, { "pattern": "^\\.[gG][iI][tT]$" }] });
    json!({ "type": "string", "pattern": "^[^/\\\\\\u0000-\\u001f]+$", "not": not })
}

/// Writes JSON with sorted keys, whatever features `serde_json` was built with.
fn write(value: &Value, depth: usize, text: &mut String) {
    let indent = |depth| format!("\n{}", "  ".repeat(depth));
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut names: Vec<&String> = map.keys().collect();
            names.sort();
            for (index, name) in names.into_iter().enumerate() {
                text.push_str(if index == 0 { "{" } else { "," });
                text.push_str(&indent(depth + 1));
                text.push_str(&format!("{}: ", Value::String(name.clone())));
                write(&map[name], depth + 1, text);
            }
            text.push_str(&indent(depth));
            text.push('}');
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for (index, item) in items.iter().enumerate() {
                text.push_str(if index == 0 { "[" } else { "," });
                text.push_str(&indent(depth + 1));
                write(item, depth + 1, text);
            }
            text.push_str(&indent(depth));
            text.push(']');
        }
        other => text.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use super::super::{LoadOptions, node, parse, value};
    use super::*;
    use unstuck_document::diagnostic::LoadReport;

    /// Checks that the schema and the reader agree about these lines of a step.
    fn check(lines: &str, is_accepted: bool) {
        let text = format!("name: t\nversion: \"1\"\ntimeout: 5m\nsteps:\n  a: {{{lines}}}\n");
        let file = node::parse(0, &text, &mut LoadReport::default()).expect("YAML");
        let schema: Value = serde_json::from_str(&schema()).expect("JSON");
        let schema = jsonschema::draft202012::new(&schema).expect("a schema");
        assert_eq!(schema.is_valid(&value::json(&file)), is_accepted, "the schema: {lines}");
        let child = "name: c\nversion: \"1\"\ntimeout: 5m\nsteps:\n  b: {worker: CUSTOM, instructions: x, capabilities: [READ]}\n";
        let files = BTreeMap::from([(PathBuf::from("c.yaml"), child.as_bytes().to_vec())]);
        let read = parse(text.as_bytes(), Path::new("w.yaml"), &LoadOptions::default(), &files);
        assert_eq!(read.is_ok(), is_accepted, "the reader: {lines}: {read:?}");
    }

    #[test]
    fn editors_show_which_keys_go_together_and_where_nothing_may_be_written() {
        let script = "worker: CUSTOM, instructions: x, capabilities: [READ]";
        let asked = "worker: COMMAND, command: c, instructions: x";
        let step = |more: &str| format!("{script}, {more}");
        let checked = |check: &str| step(&format!("max_iterations: 2, completion_check: {{{check}}}"));
        for (lines, is_accepted) in [
            (script.to_owned(), true),
            (step("timeout: 0h1m"), true),
            (step("timeout: 0h0ms"), false),
            ("workflow: c.yaml".to_owned(), true),
            ("workflow: /c.yaml".to_owned(), false),
            ("workflow: c.yaml, worker: CUSTOM".to_owned(), false),
            (step("exports: []"), false),
            (step(&format!("completion_check: {{{script}}}")), false),
            (checked(script), true),
            (checked(""), false),
            (checked("self_report: true"), true),
            (checked("commands: [{run: x}]"), true),
            (checked(asked), false),
            (checked(&format!("{asked}, decision_file: out/v.json")), true),
            (checked(&format!("{asked}, decision_file: .gitignore")), true),
            (checked(&format!("{asked}, decision_file: .git/config")), false),
            (checked(&format!("{asked}, decision_file: a/.GIT")), false),
            (checked(&format!("{asked}, decision_file: out/")), false),
            (checked(&format!("{asked}, decision_file: .")), false),
            (checked(&format!("{asked}, decision_file: /tmp/v.json")), false),
            (step("outputs: [{name: .git, path: x}]"), false),
            (step("outputs: [{name: x, path: ../x}]"), false),
        ] {
            check(&lines, is_accepted);
        }
    }
}
