//! Fingerprints: the identity of a failure across iterations, machines and time.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The version of the algorithm: of extraction and normalisation together. Part of every fingerprint, so
/// two that were made by different rules never look equal by chance.
pub const VERSION: u32 = 1;

/// The identity of a failure: `f1:` and 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Makes the fingerprint of these parts, in this order.
    pub fn of(parts: &[&str]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let digest = hash.finalize();
        let mut text = format!("f{VERSION}:");
        for byte in &digest[..8] {
            text.push(hex(byte >> 4));
            text.push(hex(byte & 15));
        }
        Self(text)
    }

    /// Returns a fingerprint as it was recorded.
    pub fn recorded(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns it as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

fn hex(digit: u8) -> char {
    char::from(b"0123456789abcdef"[usize::from(digit)])
}
