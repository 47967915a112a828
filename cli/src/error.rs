//! Errors on a terminal, and their exit status.

pub use unstuck_app::error::AppError;
use unstuck_app::error::ErrorKind;

use crate::{exit, format, invocation};

/// Result of a command: an exit status.
pub type Result<T = u8> = std::result::Result<T, AppError>;

/// Returns the exit status of an error.
pub fn status(error: &AppError) -> u8 {
    match error.kind() {
        ErrorKind::Usage => exit::USAGE,
        ErrorKind::Kept => exit::STORE,
    }
}

/// Returns an error with what to type next, in lines of so many columns. What fits stays as it is, since it may be part of a
/// file.
pub fn in_columns(error: &AppError, columns: usize) -> String {
    let next =
        error.next().map_or_else(String::new, |hint| format!("\n  next: {}", invocation::command_line(hint)));
    let told = format!("error: {}{next}", error.message(format::width()));
    let narrow = |line: &str| {
        if format::columns(line) <= columns {
            return line.to_owned();
        }
        let said = line.trim_start();
        let indent = line.len() - said.len();
        format!("{}{}", &line[..indent], format::wrap(said, columns, indent + 2))
    };
    told.lines().map(narrow).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_shows_whole_words() {
        let error =
            AppError::usage("claude runs with all rights; nobody has said yet that this is all right here")
                .hint("unstuck workers claude --trust   once in a project");
        assert_eq!(
            in_columns(&error, 40),
            "error: claude runs with all rights;\n  nobody has said yet that this is all\n  right here\n  next: unstuck workers claude --trust\n    once in a project"
        );
        assert_eq!(in_columns(&error, 100).lines().count(), 2);
    }
}
