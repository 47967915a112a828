//! The schema that a closer answers by.

use serde_json::Value;

/// The schema of the answer, as it is handed to the worker that judges.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "required": ["checklist", "allComplete", "summary"],
  "additionalProperties": false,
  "properties": {
    "checklist": {
      "type": "array",
      "items": {
        "type": "object",
        "required": ["id", "description", "completed"],
        "additionalProperties": false,
        "properties": {
          "id": {"type": "string", "description": "One item, one id"},
          "description": {"type": "string", "description": "What has to be true"},
          "completed": {"type": "boolean", "description": "It is true now"},
          "evidence": {"type": "string", "description": "What you saw that shows it"}
        }
      }
    },
    "allComplete": {"type": "boolean", "description": "Every item is completed and nothing is left to do"},
    "summary": {"type": "string"},
    "pendingActions": {
      "type": "array",
      "items": {"type": "string"},
      "description": "What is left to do; leave it out if that is nothing"
    }
  }
}
"#;

/// The fields of which each one makes an object an answer: the last such object counts, whatever is wrong with it.
pub(super) const FIELDS: &[&str] = &["checklist", "allComplete", "pendingActions"];

/// Returns [`SCHEMA`] as a value.
pub fn schema() -> Value {
    serde_json::from_str(SCHEMA).expect("the schema is a constant and tested")
}

/// Returns the schema for reading an answer: [`SCHEMA`] without its harmless requirements.
///
/// It allows additional fields, and any type of pending actions and evidence.
/// [`ReviewerAnswer::parse`](unstuck_core::judge::reviewer::ReviewerAnswer::parse) reports these.
pub(super) fn readable() -> Value {
    let mut schema = schema();
    for (place, ignored) in [("", "pendingActions"), ("/properties/checklist/items", "evidence")] {
        let object = schema.pointer_mut(place).and_then(Value::as_object_mut);
        let object = object.expect("the schema is a constant and tested");
        object.remove("additionalProperties");
        object
            .get_mut("properties")
            .and_then(Value::as_object_mut)
            .map(|properties| properties.remove(ignored));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmless_requirements_are_not_in_the_schema_for_reading() {
        let schema = readable();
        assert_eq!(schema.get("additionalProperties"), None);
        assert_eq!(schema.pointer("/properties/pendingActions"), None);
        assert_eq!(schema.pointer("/properties/checklist/items/properties/evidence"), None);
        assert_eq!(schema.pointer("/properties/checklist/items/additionalProperties"), None);
    }
}
