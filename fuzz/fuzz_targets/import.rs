//! Feeds arbitrary bytes to the target of the same name.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| unstuck_fuzz::fuzz_targets::import(data));
