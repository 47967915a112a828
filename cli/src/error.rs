//! What went wrong, what to type next, and the exit status.

use std::fmt;

use unstuck_files::error::with_causes;

use crate::{exit, text, typed};

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
        Self { message: with_causes(error), hint: None, status: exit::STORE }
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

    /// Returns it in lines of so many columns. What fits stays as it is, since it may be part of a file.
    pub fn in_columns(&self, columns: usize) -> String {
        let told = self.to_string();
        let narrow = |line: &str| {
            if text::columns(line) <= columns {
                return line.to_owned();
            }
            let said = line.trim_start();
            let indent = line.len() - said.len();
            format!("{}{}", &line[..indent], text::wrap(said, columns, indent + 2))
        };
        told.lines().map(narrow).collect::<Vec<_>>().join("\n")
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
            write!(f, "\n  next: {}", typed::again(hint))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_shows_whole_words() {
        let error =
            Error::usage("claude runs with all rights; nobody has said yet that this is all right here")
                .hint("unstuck workers claude --acknowledge   once in a project");
        assert_eq!(
            error.in_columns(40),
            "error: claude runs with all rights;\n  nobody has said yet that this is all\n  right here\n  next: unstuck workers claude\n    --acknowledge once in a project"
        );
        assert_eq!(error.in_columns(100).lines().count(), 2);
    }
}
