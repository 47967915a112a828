//! Paths and sizes for people.

use std::path::{Path, PathBuf};

use crate::text;

/// Returns a path without control characters; the workspace itself is a dot.
pub fn display(path: &Path) -> String {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let is_fit = |c: char| c == ' ' || !text::is_invisible(c);
    path.to_string_lossy().chars().map(|c| if is_fit(c) { c } else { '\u{fffd}' }).collect()
}

/// Parses a pattern of paths as a workflow file does; whitespace around it is an error.
///
/// # Errors
///
/// The pattern is invalid: a sentence.
pub fn pattern(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Err("it is empty".to_owned());
    }
    let path = text.trim_start_matches('!');
    if path.trim() != path {
        return Err("there is a blank at its beginning or its end".to_owned());
    }
    unstuck_document::pattern(text).map(|()| text.to_owned())
}

/// Returns how many bytes the files below a folder have.
pub fn size_of(folder: &Path) -> u64 {
    // A size for people: where it is not known, none is claimed.
    unstuck_workspace::snapshot::size_alone(folder).unwrap_or(0)
}

/// Returns a size as people read it.
#[expect(clippy::cast_precision_loss, reason = "a size for people")]
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

/// Returns how many paths there are, and the first few.
pub fn list_text(paths: &[PathBuf]) -> String {
    const SHOWN_MAX: usize = 5;
    let names: Vec<String> = paths.iter().take(SHOWN_MAX).map(|path| display(path)).collect();
    let more = if paths.len() > SHOWN_MAX { ", ..." } else { "" };
    format!("{}: {}{more}", text::count(paths.len(), "file"), names.join(", "))
}
