//! The fuzz targets' bodies, shared with the tests that run the seeds.

#[path = "../../tests/src/fuzz_targets.rs"]
pub mod fuzz_targets;

/// What the target of the controller compares with.
#[path = "../../tests/src/naive_controller.rs"]
pub mod naive_controller;

/// What the target of the controller plays.
#[path = "../../tests/src/scripted_loop.rs"]
pub mod scripted_loop;
