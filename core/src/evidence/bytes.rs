//! Bytes of others, as they stand in an event.

use serde::{Deserialize, Serialize};

/// Bytes that are a text in JSON where they are UTF-8, and hexadecimal digits where not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        match std::str::from_utf8(&self.0) {
            Ok(text) => BytesText::Text(text.to_owned()).serialize(serializer),
            Err(_) => BytesText::Hex(const_hex::encode(&self.0)).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::<u8>::deserialize(deserializer).map(Self);
        }
        match BytesText::deserialize(deserializer)? {
            BytesText::Text(text) => Ok(Self(text.into_bytes())),
            BytesText::Hex(digits) => const_hex::decode(&digits)
                .map(Self)
                .map_err(|_| serde::de::Error::custom("not pairs of hexadecimal digits")),
        }
    }
}

/// How bytes look in JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BytesText {
    Text(String),
    Hex(String),
}
