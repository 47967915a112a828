//! Numbers of an output that can come closer to a bound.

use serde::{Deserialize, Serialize};

use crate::id::Digest;

/// A line of an output with a number that can come closer to a bound: `step 3 of 12`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberLine {
    /// Identifies the line, whatever its numbers are.
    pub frame: Digest,
    /// Its numbers in their order, 1 to 4.
    pub numbers: Vec<Number>,
}

/// A number of a line, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Number {
    /// The number.
    pub value: i64,
    /// The number that it should reach, if the line names one.
    pub bound: Option<i64>,
}

impl Number {
    /// Returns how far it is from its bound.
    pub fn distance(&self) -> Option<u64> {
        self.bound.map(|bound| self.value.abs_diff(bound))
    }
}
