//! A JSON value that is recorded as text, for `#[serde(with = ..)]`: as a value its levels would add to those of the
//! record around it, and readers of JSON bound how many there are.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};
use serde_json::Value;

#[expect(clippy::ref_option, reason = "serde asks for this signature")]
pub fn serialize<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(Value::to_string).serialize(serializer)
}

/// Takes the value itself, too, where that is no text: whoever changes a workflow by hand writes it so.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    match Option::<Value>::deserialize(deserializer)? {
        Some(Value::String(text)) => serde_json::from_str(&text).map(Some).map_err(D::Error::custom),
        other => Ok(other),
    }
}
