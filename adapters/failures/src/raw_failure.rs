//! A failure as a reader found it, before it is normalized.

use super::parts::{FailureClass, FailureMessage, MaskingStyle};

/// A failure as a reader found it.
#[derive(Clone, Debug, Default)]
pub(super) struct RawFailure {
    pub(super) tool: &'static str,
    /// The name of the test.
    pub(super) test: Option<String>,
    /// The file or binary of the test, if its name does not contain it. The same name in another one is another test.
    pub(super) test_file: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
    pub(super) kind: String,
    /// Text that distinguishes this failure from others of the same test or file.
    pub(super) about: String,
    /// Additional text of the exact fingerprint.
    pub(super) values: String,
    /// The message for people.
    pub(super) message: String,
    /// How `about` is masked.
    pub(super) style: MaskingStyle,
    /// The class: a test, a diagnostic, a file.
    pub(super) class: FailureClass,
    pub(super) column: Option<u32>,
    /// The rule, if it is not the kind.
    pub(super) rule: String,
    /// The summary line of the tool, if it prints one.
    pub(super) headline: String,
    /// It is a warning, not an error.
    pub(super) is_warning: bool,
    /// The address of its first line in memory.
    pub(super) address: usize,
    /// The address of its last line, if it has several.
    pub(super) end: usize,
}

impl RawFailure {
    /// Begins the failure of a test; `block` is the tool's text about it.
    pub(super) fn test(tool: &'static str, name: &str, block: &[&str]) -> Self {
        let reason = FailureMessage::parse(block);
        let message = reason.message(block);
        // A line feed in a name becomes a space, since some tools print the name on one line.
        let test = Some(name.trim().replace(['\n', '\r'], " "));
        let address = block.first().map_or(name.as_ptr(), |line| line.as_ptr()).addr();
        let end = block.last().map_or(address, |line| line.as_ptr().addr());
        Self { tool, test, message, class: FailureClass::Test, address, end, ..Self::default() }
            .with_message(reason)
    }

    /// Begins a diagnostic: a message about a place, in the words of the tool.
    pub(super) fn diagnostic(tool: &'static str, file: &str, line: Option<u32>, message: &str) -> Self {
        Self {
            tool,
            file: Some(file.to_owned()).filter(|file| !file.is_empty()),
            line,
            about: message.to_owned(),
            message: message.to_owned(),
            style: MaskingStyle::Diagnostic,
            class: FailureClass::Diagnostic,
            headline: message.to_owned(),
            address: file.as_ptr().addr(),
            end: message.as_ptr().addr(),
            ..Self::default()
        }
    }

    /// Begins the failure of a file that is not formatted, or is on a list for another reason.
    pub(super) fn unformatted(tool: &'static str, file: &str, line: Option<u32>, message: &str) -> Self {
        let draft = Self::diagnostic(tool, file, line, "not formatted").kind("format").message(message);
        Self { class: FailureClass::Format, ..draft }
    }

    /// Begins the failure of a process or of an entire file.
    pub(super) fn process(tool: &'static str, kind: &str, block: &[&str]) -> Self {
        let reason = FailureMessage::parse(block);
        let message = reason.message(block);
        let at = |line: Option<&&str>| line.map_or(0, |line| line.as_ptr().addr());
        let (address, end) = (at(block.first()), at(block.last()));
        let draft = Self { tool, message, address, end, ..Self::default() }.with_message(reason);
        if kind.is_empty() { draft } else { draft.kind(kind) }
    }

    /// Returns the tool if it is part of the identity: several readers may report one place of the same tool.
    pub(super) fn identifying_tool(&self) -> &'static str {
        match self.class {
            FailureClass::Diagnostic | FailureClass::Format => "",
            FailureClass::Test | FailureClass::Process => self.tool,
        }
    }

    /// Takes over the message of a block.
    fn with_message(self, reason: FailureMessage) -> Self {
        Self {
            kind: reason.kind,
            about: reason.about,
            values: reason.values,
            file: self.file.or(reason.file),
            line: self.line.or(reason.line),
            style: reason.style,
            ..self
        }
    }

    /// Sets the file or the binary that the test belongs to.
    pub(super) fn with_test_file(self, test_file: &str) -> Self {
        Self { test_file: test_file.to_owned(), ..self }
    }

    /// Sets its line of the output, if the reader joined several lines.
    pub(super) fn with_line(self, line: &str) -> Self {
        Self { address: line.as_ptr().addr(), ..self }
    }

    pub(super) fn with_last_line(self, line: &str) -> Self {
        Self { end: line.as_ptr().addr(), ..self }
    }

    pub(super) fn kind(self, kind: &str) -> Self {
        Self { kind: kind.to_owned(), ..self }
    }

    /// Sets the place.
    pub(super) fn at(self, file: &str, line: Option<u32>) -> Self {
        Self { file: Some(file.to_owned()).filter(|file| !file.is_empty()), line, ..self }
    }

    /// Sets the column, and the rule if the kind does not contain it.
    pub(super) fn with_column(self, column: Option<u32>, rule: &str) -> Self {
        Self { column, rule: rule.to_owned(), ..self }
    }

    /// Sets the summary line of the tool.
    pub(super) fn headline(self, headline: &str) -> Self {
        Self { headline: headline.to_owned(), ..self }
    }

    /// Marks it as a warning.
    pub(super) fn warning(self, is_warning: bool) -> Self {
        Self { is_warning, ..self }
    }

    /// Sets the text that distinguishes it from others.
    pub(super) fn about(self, about: &str) -> Self {
        Self { about: about.to_owned(), ..self }
    }

    /// Sets a headline above the message for people.
    pub(super) fn with_heading(self, head: &str) -> Self {
        let message = format!("{head}\n{}", self.message);
        Self { message, ..self }
    }

    /// Sets the message for people.
    pub(super) fn message(self, message: &str) -> Self {
        Self { message: message.to_owned(), ..self }
    }
}

/// The place of a failure in an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutputSpan {
    /// The address of a line in memory.
    pub(super) address: usize,
    /// The address of its end, if that is in the same stream.
    pub(super) end: usize,
    pub(super) is_test: bool,
}
