//! Bytes from outside, as an event stores them.

use serde::{Deserialize, Serialize};

/// Bytes that are a JSON string if they are UTF-8, and hexadecimal digits otherwise.
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
            BytesText::Hex(digits) => decode_hex(&digits)
                .map(Self)
                .ok_or_else(|| serde::de::Error::custom("not pairs of hexadecimal digits")),
        }
    }
}

/// JSON form of bytes.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BytesText {
    Text(String),
    Hex(String),
}

/// Decodes pairs of hexadecimal digits, without a prefix; `None` for other text.
pub fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    const_hex::decode(digits).ok().filter(|bytes| bytes.len() * 2 == digits.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_digits_are_read_and_a_prefix_is_refused() {
        for (digits, bytes) in [
            ("", Some(vec![])),
            ("0aFF", Some(vec![10, 255])),
            ("0", None),
            ("0g", None),
            ("\u{e9}", None),
            ("0x41", None),
            ("0x", None),
        ] {
            assert_eq!(decode_hex(digits), bytes, "{digits:?}");
        }
        serde_json::from_str::<Bytes>(r#"{"hex":"0x41"}"#).expect_err("a prefix is refused");
    }
}
