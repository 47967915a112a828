//! The class of a failure, and the parts of its text.

/// The class of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureClass {
    /// A test.
    Test,
    /// A message about a place in a file, from a compiler or a linter.
    Diagnostic,
    /// A file that is not formatted, or is listed for another reason.
    Format,
    /// A process.
    #[default]
    Process,
}

/// How the text that distinguishes failures is masked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum MaskingStyle {
    /// Only values that vary by themselves: the message of a compiler names things, and its numbers have a meaning.
    Diagnostic,
    /// Literal values too: an assertion is the same whatever it got.
    #[default]
    Values,
    /// As of a diagnostic, of lines without an order: all that a tool printed which is not known.
    Lines,
}

/// The parts of the block of a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FailureMessage {
    /// The kind: an exception, `panic`, `assert`; empty when the block does not say.
    pub(super) kind: String,
    /// The text that distinguishes this failure from another one of the same test.
    pub(super) about: String,
    /// The complete text of the failure, including the values.
    pub(super) values: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    /// How `about` is masked.
    pub(super) style: MaskingStyle,
}
