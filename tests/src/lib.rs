//! Tests that need several crates: scenarios, golden logs, tidy.

pub mod fuzz_targets;
pub mod model_stub;
pub mod naive_controller;
pub mod scripted_loop;
pub mod stand_in;
