//! A JSON value that is recorded as a string, for `#[serde(with = ..)]`. As a value it would deepen the record around
//! it, and JSON readers limit the depth.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
use serde_json::Value;

#[expect(clippy::ref_option, reason = "serde asks for this signature")]
pub fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(Value::to_string).serialize(serializer)
}

/// Also accepts a value that is not a string, as written by hand in a workflow.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    match Option::<Value>::deserialize(deserializer)? {
        Some(Value::String(text)) => serde_json::from_str(&text).map(Some).map_err(D::Error::custom),
        other => Ok(other),
    }
}
