//! The fuzz targets' bodies, shared with the tests that run the seeds.

#[path = "../../tests/src/fuzz_targets.rs"]
pub mod fuzz_targets;
