//! Runs the commands that say whether work is complete, and reads what they and the worker left: evidence.
//!
//! # Map
//!
//! - [`checks`]: runs the commands of a check; [`reports`] are the files that they write.
//! - [`validators`]: runs validators and reads their output.
//! - [`decision_file`]: the verdict that a worker writes into a file.
//!
//! Start with `checks.rs`. Not here: reading the output of tools (`unstuck-failures`), and what the evidence means
//! (`unstuck-core`).

pub mod checks;
pub mod decision_file;
mod remaining;
pub mod reports;
pub mod validators;
