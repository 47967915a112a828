//! How a test ended that an output names.

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TestOutcome {
    /// It was skipped, or failed as it was expected to.
    Excused,
    /// It was run; how it ended cannot be read, for what it printed stands there.
    Ran,
    Passed,
    Failed,
}

/// Receives the tool, the name and the ending of a test.
pub(super) type OnTest<'t> = dyn FnMut(&str, &str, TestOutcome) + 't;
