//! What went wrong, what to type next, and the exit status.

use std::fmt;

use crate::exit;

/// An error for people: the thing and the place, then the next command.
#[derive(Debug)]
pub struct Error {
    message: String,
    hint: Option<String>,
    status: u8,
}

/// What commands return: an exit status.
pub type Result<T = u8> = std::result::Result<T, Error>;

impl Error {
    /// Bad input or usage.
    pub fn usage(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), hint: None, status: exit::USAGE }
    }

    /// The store does not do its work.
    pub fn store(error: &(dyn std::error::Error + 'static)) -> Self {
        Self { message: chain(error), hint: None, status: exit::STORE }
    }

    /// Something that is kept is not what it was.
    pub fn damaged(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), hint: None, status: exit::STORE }
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

    /// Returns what went wrong, without what to type next.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the exit status.
    pub fn status(&self) -> u8 {
        self.status
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  next: {hint}")?;
        }
        Ok(())
    }
}

/// Returns an error with all that caused it, in one line.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = error.source();
    }
    text
}
