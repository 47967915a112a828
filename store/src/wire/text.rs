//! How digests and bytes of the wire look: compact in bincode, readable in JSON.

use std::fmt;

use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use unstuck_core::evidence::decode_hex;
use unstuck_core::id;

use super::v1::{Bytes, Digest};

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return words(&self.0).serialize(serializer);
        }
        let digits = id::Digest(self.0).digits();
        serializer.serialize_str(std::str::from_utf8(&digits).map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return <[u64; 4]>::deserialize(deserializer).map(|words| Self(bytes_of(words)));
        }
        deserializer.deserialize_str(DigitsVisitor)
    }
}

/// Returns what bincode writes as these bytes, in four steps instead of 32.
pub(super) fn words(bytes: &[u8; 32]) -> [u64; 4] {
    let (words, _) = bytes.as_chunks();
    std::array::from_fn(|at| u64::from_le_bytes(words[at]))
}

fn bytes_of(words: [u64; 4]) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (eight, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *eight = word.to_le_bytes();
    }
    bytes
}

struct DigitsVisitor;

impl Visitor<'_> for DigitsVisitor {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("64 hexadecimal digits")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Digest, E> {
        let digest = id::Digest::parse(text).ok_or_else(|| E::custom("not 64 hexadecimal digits"))?;
        Ok(Digest(digest.0))
    }
}

/// Bytes in JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BytesText {
    Text(String),
    Hex(String),
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
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
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return deserializer.deserialize_byte_buf(BytesVisitor).map(Self);
        }
        match BytesText::deserialize(deserializer)? {
            BytesText::Text(text) => Ok(Self(text.into_bytes())),
            BytesText::Hex(digits) => decode_hex(&digits)
                .map(Self)
                .ok_or_else(|| D::Error::custom("not pairs of hexadecimal digits")),
        }
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E: serde::de::Error>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }
}
