//! Reads what tools print below a COMPLETE: `FAILED tests/test_a.py::test_x`, `npm ERR! code 1`.
//!
//! Only what the grammar of a tool tells apart counts, and none of it where it is shown as it was before.

use super::aloud::EARLIER;
use crate::failure::{self, Confidence, Output};
use crate::verdict::text::{self, Line, quote, words};

/// How much is read. A verdict is followed by little.
const BYTES_MAX: usize = 64 * 1024;

/// Names the first failure that tools tell of below a place.
pub(in crate::verdict) fn first(lines: &[Line<'_>], end: usize) -> Option<String> {
    let below = lines.iter().filter(|line| line.start > end);
    let mut said = String::new();
    for line in below {
        if is_introduced_as_earlier(line.text) {
            return None;
        }
        if said.len() + line.text.len() > BYTES_MAX {
            break;
        }
        said.push_str(line.text);
        said.push('\n');
    }
    let read = failure::extract(&Output { stdout: said.as_bytes(), ..Output::default() });
    let failure = read.failures.first().filter(|_| read.confidence == Confidence::High)?;
    let message = text::head(failure.message.lines().next().unwrap_or_default(), text::BESIDE_CHARS_MAX);
    Some(format!("the failure \"{}\"", quote(failure.test.as_deref().unwrap_or(message))))
}

/// `Before the fix it was:`
fn is_introduced_as_earlier(line: &str) -> bool {
    line.trim_end().ends_with([':', '：']) && words(line).any(|word| EARLIER.contains(&word.as_str()))
}
