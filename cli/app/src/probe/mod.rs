//! One part of a run, tried alone.

pub mod failures;
pub mod prompt;
mod registry;
pub mod schema;
pub mod validator;
pub mod verdict;
pub mod worker;
