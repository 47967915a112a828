//! Lines of a stack trace.

/// Returns the first byte that is not ASCII whitespace. It rejects most lines; a non-ASCII one may be whitespace, too.
pub fn begins(line: &str) -> Option<u8> {
    line.bytes().find(|byte| !byte.is_ascii_whitespace())
}

/// Checks whether a line is one of a stack trace.
pub fn is_frame(line: &str) -> bool {
    // Most lines begin otherwise, which is seen without trimming them.
    if !matches!(begins(line), Some(b'a' | b'#' | b's' | b'g' | 0x80..)) {
        return false;
    }
    let line = line.trim_start();
    match line.as_bytes().first() {
        Some(b'a') => line
            .strip_prefix("at ")
            .is_some_and(|place| place.ends_with([')', '>', ']']) || ends_in_number(place)),
        Some(b'#') => {
            line.starts_with("# ./")
                || line.starts_with("# /")
                || line[1..].starts_with(|c: char| c.is_ascii_digit())
        }
        Some(0xe2) => ["❯ ", "› "].iter().any(|mark| line.strip_prefix(mark).is_some_and(ends_in_position)),
        Some(b's') => line == "stack backtrace:",
        Some(b'g') => line.starts_with("goroutine ") && line.ends_with(':'),
        _ => false,
    }
}

fn ends_in_number(text: &str) -> bool {
    let last = text.trim_end().rsplit(':').next();
    last.map(|last| last.strip_prefix("line ").unwrap_or(last)).is_some_and(is_number)
}

/// Checks whether a text ends in a line and perhaps a column, as `f.js:3:5` does.
pub fn ends_in_position(text: &str) -> bool {
    text.contains(':') && (ends_in_number(text) || text.ends_with(')'))
}
/// Checks whether a text is a number without a sign.
pub fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
