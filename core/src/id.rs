//! Identifiers, positions and times: newtypes, so that two numbers cannot be mixed up.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps a text that is already known to be valid.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// Returns the number after this one, stopping at the largest.
            pub fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id! {
    /// Names a run: 12 lower-case hexadecimal digits, chosen at random when the run starts.
    RunId
}
text_id! {
    /// Names a step within its workflow; unique there.
    StepId
}
text_id! {
    /// Names one completion check: the text of a fresh UUIDv7, which makes an old verdict harmless.
    CheckId
}
number! {
    /// The place of an event in its stream: the first is 1. As a version, the last place that is
    /// taken: 0 means an empty stream.
    Seq(u64)
}
number! {
    /// The fencing number of a lease: a writer with a smaller one loses.
    Epoch(u64)
}
number! {
    /// A pass of worker and check within a step: the first is 1.
    Iteration(u32)
}
impl Iteration {
    /// The check before the first iteration: what fails before anybody has worked.
    pub const BASELINE: Self = Self(0);
}
number! {
    /// A try of a worker or of a check within an iteration: the first is 1.
    Attempt(u32)
}
number! {
    /// How far the strategy has changed: 1 normal, 2 and above minimal fix.
    Stage(u32)
}
number! {
    /// A span of time in milliseconds.
    Millis(u64)
}
number! {
    /// A moment in milliseconds since 1970-01-01 UTC.
    Timestamp(u64)
}

impl Timestamp {
    /// Returns the moment `span` later, stopping at the largest.
    pub fn after(self, span: Millis) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// Returns the moment `span` earlier, stopping at 1970.
    pub fn before(self, span: Millis) -> Self {
        Self(self.0.saturating_sub(span.0))
    }

    /// Returns the span since `earlier`; zero if a clock ran backwards.
    pub fn since(self, earlier: Self) -> Millis {
        Millis(self.0.saturating_sub(earlier.0))
    }
}

impl Millis {
    /// Returns the span of `seconds`.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Returns this span or the shorter `other`.
    pub fn at_most(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// Returns what remains of this span once `used` is gone.
    pub fn minus(self, used: Self) -> Self {
        Self(self.0.saturating_sub(used.0))
    }

    /// Returns the sum of both spans, stopping at the largest.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// A SHA-256 digest; written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn sha256(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of these parts, in this order; where each ends is part of it.
    pub fn sha256_parts(parts: &[&str]) -> Self {
        let length = parts.iter().map(|part| size_of::<u64>() + part.len()).sum();
        let mut bytes = Vec::with_capacity(length);
        for part in parts {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
        Self::sha256(&bytes)
    }

    /// Reads 64 hexadecimal digits.
    pub fn parse(digits: impl AsRef<[u8]>) -> Option<Self> {
        let digits = digits.as_ref();
        const_hex::decode_to_array(digits).ok().filter(|_| digits.len() == 64).map(Self)
    }

    /// Returns its 64 hexadecimal digits, in ASCII.
    pub fn digits(&self) -> [u8; 64] {
        let mut digits = [0; 64];
        const_hex::encode_to_slice(self.0, &mut digits).expect("two digits for each byte");
        digits
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&const_hex::encode(self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal digits"))
    }
}

/// A reference to a large payload that is stored once under its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// SHA-256 of the content.
    pub digest: Digest,
    /// Length in bytes.
    pub size: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_reads_back_and_nothing_else_is_one() {
        let one = Digest::sha256(b"one");
        let mut text = one.digits().to_vec();
        assert_eq!(String::from_utf8(text.clone()).unwrap(), one.to_string());
        assert_eq!(Digest::parse(&text), Some(one));
        assert_eq!(Digest::parse(text.to_ascii_uppercase()), Some(one));
        assert_eq!(Digest::parse(&text[..63]), None);
        assert_eq!(Digest::parse([b"0x", &text[2..]].concat()), None);
        assert_eq!(Digest::parse([b"0x", &text[..]].concat()), None);
        text[5] = b'g';
        assert_eq!(Digest::parse(&text), None);
    }
}
