//! The error of a use case: a sentence, its kind, and the next command.

use std::fmt;

use unstuck_core::plural::count;
use unstuck_document::{Diagnostic, LoadError};
use unstuck_files::error::with_causes;

pub use unstuck_files::hint::for_io as hint_for;

/// An error for people: the thing and the place, then the next command.
#[derive(Debug)]
pub struct AppError {
    message: String,
    details: Option<Box<Details>>,
    hint: Option<String>,
    kind: ErrorKind,
}

/// Whose fault an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Bad input or usage: nothing was done.
    Usage,
    /// A store, or something that is kept, is not what it was or does not do its work.
    Kept,
}

/// The places in a file that an error is about.
#[derive(Debug)]
enum Details {
    Rejected(LoadError),
    Diagnostic(Diagnostic),
}

/// The result of a use case.
pub type Result<T> = std::result::Result<T, AppError>;

impl AppError {
    fn new(message: String, kind: ErrorKind) -> Self {
        Self { message, details: None, hint: None, kind }
    }

    /// Bad input or usage.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::new(message.to_string(), ErrorKind::Usage)
    }

    /// The store does not do its work.
    pub fn store(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::new(with_causes(error), ErrorKind::Kept)
    }

    /// Something that is kept is not what it was.
    pub fn damaged(message: impl fmt::Display) -> Self {
        Self::new(message.to_string(), ErrorKind::Kept)
    }

    /// A file that was refused, with the lines that are wrong. The message comes first, and may be empty.
    pub fn rejected(message: impl fmt::Display, rejected: LoadError) -> Self {
        let details = Some(Box::new(Details::Rejected(rejected)));
        Self { details, ..Self::usage(message) }
    }

    /// A file with these problems, which are counted first.
    pub fn invalid(complaints: Vec<Diagnostic>) -> Self {
        let count = count(complaints.len(), "problem");
        Self::rejected(count, LoadError { complaints })
    }

    /// A place in a file that is wrong.
    pub fn at(diagnostic: Diagnostic) -> Self {
        Self { details: Some(Box::new(Details::Diagnostic(diagnostic))), ..Self::usage("") }
    }

    /// The same with what to type next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with what to type next, if there is something.
    #[must_use]
    pub fn hint_if(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Returns what went wrong, for so many columns and without what to type next.
    pub fn message(&self, columns: usize) -> String {
        let details = self.details.as_deref().map(|details| match details {
            Details::Rejected(rejected) => rejected.render(columns),
            Details::Diagnostic(diagnostic) => diagnostic.render(columns),
        });
        match details {
            None => self.message.clone(),
            Some(details) if self.message.is_empty() => details.trim_end().to_owned(),
            Some(details) => format!("{}\n{}", self.message, details.trim_end()),
        }
    }

    /// Returns what is wrong with the file that it is about; empty for other errors.
    pub fn problems(&self) -> &[Diagnostic] {
        match self.details.as_deref() {
            Some(Details::Rejected(rejected)) => &rejected.complaints,
            Some(Details::Diagnostic(diagnostic)) => std::slice::from_ref(diagnostic),
            None => &[],
        }
    }

    /// Returns what to type next.
    pub fn next(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Returns whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(usize::MAX))
    }
}

impl std::error::Error for AppError {}
