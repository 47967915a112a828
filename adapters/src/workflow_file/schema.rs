//! The JSON Schema of workflow files, made from the [table of keys](super::keys).

use serde_json::{Map, Value, json};

use super::keys::{Key, Kind, Level, RESERVED_ARTIFACTS, RESERVED_STEPS};
use crate::clients::keys::Part;

/// Returns the JSON Schema (2020-12) of workflow files as text, with a line feed at its end.
///
/// It has the keys, their types and their bounds. What keys mean together only the reader knows.
/// The schema of agent catalogs is its definition `agent_catalog`.
pub fn schema() -> String {
    let of_clients = Part::ALL.iter().filter(|part| **part != Part::File).copied().map(Level::Client);
    let levels = Level::ALL.iter().copied().chain(of_clients);
    let definitions = levels.map(|level| (level.definition().to_owned(), definition(level)));
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

fn definition(level: Level) -> Value {
    let properties: Map<String, Value> =
        level.keys().iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = level.keys().iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut object = json!({
        "additionalProperties": false,
        "properties": properties,
        "title": level.title(),
        "type": "object",
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn property(key: &Key) -> Value {
    let mut value = of_kind(key.kind);
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

fn of_kind(kind: Kind) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string", "pattern": "\\S" }),
        Kind::AnyText => json!({ "type": "string" }),
        Kind::Version => json!({ "const": "1" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Whole(least) => json!({ "type": "integer", "minimum": least, "maximum": u32::MAX }),
        Kind::Usd => {
            json!({ "anyOf": [{ "type": "number", "exclusiveMinimum": 0 }, { "type": "string", "pattern": "^\\$?[0-9]+(\\.[0-9]{1,6})?$" }] })
        }
        Kind::Span => json!({ "type": "string", "pattern": "^\\s*([0-9]+(h|m|s|ms))+\\s*$" }),
        Kind::Path | Kind::Pattern => {
            json!({ "type": "string", "pattern": "\\S", "not": { "pattern": "(^|[/\\\\])\\.\\.($|[/\\\\])" } })
        }
        Kind::FreePath => json!({ "type": "string", "pattern": "\\S" }),
        Kind::Segment => segment(&[]),
        Kind::Artifact => segment(RESERVED_ARTIFACTS),
        Kind::Commit => json!({ "type": "string", "pattern": "^[^-]" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::List(item) => json!({ "type": "array", "items": of_kind(*item) }),
        Kind::Some(item) => json!({ "type": "array", "items": of_kind(*item), "minItems": 1 }),
        Kind::Map(level) => reference(level),
        Kind::Named(level) => json!({ "type": "object", "additionalProperties": reference(level) }),
        Kind::Steps => json!({
            "type": "object",
            "additionalProperties": reference(Level::Step),
            "minProperties": 1,
            "propertyNames": segment(RESERVED_STEPS),
        }),
        Kind::TextOr(level) => json!({ "anyOf": [{ "type": "string", "pattern": "\\S" }, reference(level)] }),
        Kind::Texts => json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        Kind::Open => json!({ "type": "object" }),
        Kind::Anything => json!({}),
    }
}

fn reference(level: Level) -> Value {
    json!({ "$ref": format!("#/$defs/{}", level.definition()) })
}

fn segment(reserved: &[&str]) -> Value {
    let forbidden: Vec<&str> = [".", ".."].into_iter().chain(reserved.iter().copied()).collect();
    json!({ "type": "string", "pattern": "^[^/\\\\\\u0000-\\u001f]+$", "not": { "enum": forbidden } })
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
