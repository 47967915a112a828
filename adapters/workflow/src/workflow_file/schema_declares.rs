//! Which declarations the answers of a schema can contain.

use serde_json::Value;
use unstuck_core::judge::declared_status::{Field, word};

/// The declarations that answers of a schema can contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Declares {
    /// Nothing: no such field, or no field with a known word.
    Nothing,
    /// Unfinished work only, never completion.
    NeverComplete,
    /// Completion.
    Complete,
}

/// Reads a schema in which everything is in its place: its parts may each name fields.
pub(super) fn declares(schema: &Value) -> Declares {
    let property = |name: &str| schema.get("properties").and_then(|properties| properties.get(name));
    let next = property("next_action");
    let action = next.map(|next| next.pointer("/properties/action").unwrap_or(next));
    let fields = [(Field::Status, property("status")), (Field::Action, action)];
    let of_fields = fields.into_iter().filter_map(|(field, schema)| Some(field_declares(field, schema?)));
    let parts = COMBINED.into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    of_fields.chain(parts.map(declares)).max().unwrap_or(Declares::Nothing)
}

fn field_declares(field: Field, schema: &Value) -> Declares {
    let Some(values) = values(schema) else { return Declares::Complete };
    match values.into_iter().filter_map(|value| word(field, value)).max() {
        Some(true) => Declares::Complete,
        Some(false) => Declares::NeverComplete,
        None => Declares::Nothing,
    }
}

/// Returns the values that a schema lists; `None` where it admits any text.
fn values(schema: &Value) -> Option<Vec<&Value>> {
    let parts = |key: &str| schema.get(key).and_then(Value::as_array).map(|parts| parts.iter().map(values));
    if let Some(only) = schema.get("const") {
        return Some(vec![only]);
    }
    if let Some(listed) = schema.get("enum").and_then(Value::as_array) {
        return Some(listed.iter().collect());
    }
    if let Some(one_of_all) = parts("allOf").and_then(|mut all| all.find_map(|declares| declares)) {
        return Some(one_of_all);
    }
    if let Some(some) = ["anyOf", "oneOf"].into_iter().find_map(parts) {
        return some.collect::<Option<Vec<_>>>().map(|lists| lists.concat());
    }
    let admits_text = match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => true,
    };
    if admits_text { None } else { Some(Vec::new()) }
}

/// The keywords whose schemas are met together, or one of them.
const COMBINED: [&str; 3] = ["allOf", "anyOf", "oneOf"];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_declares_completion_where_a_word_of_it_is_known() {
        let of = |status: Value| json!({"properties": {"status": status}});
        for (schema, expected) in [
            (json!({"properties": {"found": {"type": "string"}}}), Declares::Nothing),
            (of(json!({"type": "string"})), Declares::Complete),
            (of(json!({"enum": ["open", "closed"]})), Declares::Nothing),
            (of(json!({"enum": ["open", "Done"]})), Declares::Complete),
            (of(json!({"enum": ["in progress", "blocked"]})), Declares::NeverComplete),
            (of(json!({"const": "complete"})), Declares::Complete),
            (of(json!({"type": "integer"})), Declares::Nothing),
            (of(json!({"type": ["string", "null"]})), Declares::Complete),
            (of(json!({"anyOf": [{"const": "open"}, {"const": "finished"}]})), Declares::Complete),
            (of(json!({"anyOf": [{"const": "open"}, {"type": "null"}]})), Declares::Nothing),
            (of(json!({"anyOf": [{"const": "open"}, {"type": "string"}]})), Declares::Complete),
            (of(json!({"allOf": [{"type": "string"}, {"enum": ["open"]}]})), Declares::Nothing),
            (json!({"allOf": [{"properties": {"a": {}}}, of(json!({"const": "done"}))]}), Declares::Complete),
            (json!({"properties": {"next_action": {"enum": ["closing", "next"]}}}), Declares::Complete),
            (
                json!({"properties": {"next_action": {"type": "object", "properties": {"action": {"enum": ["next", "retry"]}}}}}),
                Declares::NeverComplete,
            ),
            (json!({"properties": {"next_action": {"type": "object"}}}), Declares::Nothing),
            (json!(true), Declares::Nothing),
        ] {
            assert_eq!(declares(&schema), expected, "{schema}");
        }
    }
}
