//! The fuzz targets' bodies, shared with the tests that run the seeds.

#[path = "../../tests/src/fuzz_targets.rs"]
pub mod fuzz_targets;

/// The second implementation that the controller target compares with.
#[path = "../../tests/src/naive_controller.rs"]
pub mod naive_controller;

/// The loop that the controller target plays.
#[path = "../../tests/src/scripted_loop.rs"]
pub mod scripted_loop;
