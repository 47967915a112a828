//! What needs several crates: scenarios, golden logs, tidy.

pub mod fuzz_targets;
