//! Data that observations carry: decisions, their sources, and the bytes of the decision file.

mod bytes;
mod decision;

pub use bytes::Bytes;
pub use decision::{CheckIdMatch, Decision, DecisionFile, DecisionSource, Refusal};
