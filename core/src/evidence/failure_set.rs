//! A set of failures, and its key.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Fingerprint;

/// A set of failures by their fingerprints; order and repetition do not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FailureSet(BTreeSet<Fingerprint>);

impl FailureSet {
    /// Makes a set.
    pub fn new(fingerprints: impl IntoIterator<Item = Fingerprint>) -> Self {
        Self(fingerprints.into_iter().collect())
    }

    /// Returns the key: equal for equal sets and for no others.
    pub fn key(&self) -> Fingerprint {
        let parts: Vec<&str> = self.0.iter().map(Fingerprint::as_str).collect();
        Fingerprint::from_parts(&parts)
    }

    /// Returns the members, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Fingerprint> {
        self.0.iter()
    }

    /// Says whether a failure is in it.
    pub fn contains(&self, fingerprint: &Fingerprint) -> bool {
        self.0.contains(fingerprint)
    }

    /// Returns what is here and not in `base`.
    pub fn without(&self, base: &Self) -> Self {
        Self(self.0.difference(&base.0).cloned().collect())
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Says whether nothing failed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
