//! How a test ended that an output names.

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestOutcome {
    /// It was skipped, or failed as it was expected to.
    Skipped,
    /// It ran, but its result is unreadable, because its output is in the place of the result.
    Unknown,
    Passed,
    Failed,
}

/// Receives the tool, the name and the outcome of a test.
pub(super) type OnTest<'t> = dyn FnMut(&str, &str, TestOutcome) + 't;
