//! What observations carry, as data: what a check says, and where that was read.

mod bytes;
mod decision;

pub use bytes::Bytes;
pub use decision::{CheckIdMatch, Decision, DecisionFile, DecisionSource, Refusal};
