//! The input of an import, and the notes that it gives.

use std::fmt;

use serde::Serialize;

use crate::test_command::TestCommand;

/// A file to import.
#[derive(Clone, Copy, Debug)]
pub struct ImportSource<'a> {
    /// Path from the root of the workspace, with `/`.
    pub path: &'a str,
    /// Content of the file.
    pub bytes: &'a [u8],
}

/// Settings that do not come from the file.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The worker; by default the one that the file names, else Claude Code.
    pub with: Option<ImportedWorker>,
    /// Test command of the project.
    pub tests: Option<TestCommand>,
}

/// The worker of an imported workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedWorker {
    /// A client, by its name.
    Client(String),
    /// A command line, not blank, which reads the prompt on standard input.
    Command(String),
}

impl fmt::Display for ImportedWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(name) => write!(f, "{name} works"),
            Self::Command(command) => write!(f, "`{command}` works, with the prompt on standard input"),
        }
    }
}

/// Something that was carried over, or could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportNote {
    /// Name of the file.
    pub file: String,
    /// The line; the first is 1.
    pub line: Option<u32>,
    /// The item, with the reason if it was not carried over.
    pub what: String,
    /// Suggested action, if there is one.
    pub instead: Option<String>,
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        self.instead.as_ref().map_or(Ok(()), |instead| write!(f, "; {instead}"))
    }
}

/// Returns a text on one line, fit for a terminal, and not too long.
pub(super) fn one_line(text: &str) -> String {
    const CHARS_MAX: usize = 300;
    let mut shown: String =
        text.chars().take(CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
