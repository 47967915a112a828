//! Fingerprints: the identity of a failure across iterations, machines and time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::Digest;

/// The version of the algorithm: of extraction and normalisation together. Part of every fingerprint, so
/// two that were made by different rules never look equal by chance.
pub const VERSION: u32 = 1;

/// The identity of a failure: `f1:` and 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Makes the fingerprint of these parts, in this order.
    pub fn from_parts(parts: &[&str]) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = Digest::sha256_parts(parts).0;
        Self(format!("f{VERSION}:{:016x}", u64::from_be_bytes([a, b, c, d, e, f, g, h])))
    }

    /// Says whether a text is a fingerprint, of any version, and not something that a checker made up.
    pub fn is_valid(text: &str) -> bool {
        let version = text.strip_prefix('f').and_then(|rest| rest.split_once(':'));
        version.is_some_and(|(version, _)| version.parse::<u32>().is_ok())
    }

    /// Returns a fingerprint as it was recorded.
    pub fn from_recorded(text: impl Into<String>) -> Self {
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
