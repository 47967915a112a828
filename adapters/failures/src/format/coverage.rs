//! A bound of the coverage that is not kept, as pytest-cov, jest, vitest and nyc say it: a line for each bound.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static BOUND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:FAIL Required test coverage of .* not reached|Jest: .*coverage threshold .* not met|(?:ERROR: |Jest: )?Coverage for .* does not meet )").expect("well formed")
});

/// Reads every bound; how far it is from being kept is a value.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (_, line) in input.marked() {
        if BOUND.is_match(line.trim_start()) {
            collector.push(RawFailure::process("coverage", "coverage", &[line.trim()]));
        }
    }
}
