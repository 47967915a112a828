//! Reads what tools print below a COMPLETE: `FAILED tests/test_a.py::test_x`, `npm ERR! code 1`.
//!
//! Only what the grammar of a tool tells apart counts, and none of it where it is shown as it was before.

use super::aloud::EARLIER;
use crate::failure::{self, Confidence, Output};
use crate::verdict::text::{self, Line, quote, words};

/// How lines begin in which a tool says that it failed. One is enough, with nothing else of the output beside it.
const SAID_BY_TOOLS: [&str; 14] = [
    "npm ERR! ",
    "npm error ",
    "ERR_PNPM_",
    "ELIFECYCLE ",
    "error Command failed ",
    "make: *** ",
    "gmake: *** ",
    "ninja: build stopped",
    "--- FAIL: ",
    "error: could not compile ",
    "error: test failed, ",
    "FAILED (failures=",
    "FAILED (errors=",
    "BUILD FAILED",
];

/// How much is read. A verdict is followed by little.
const BYTES_MAX: usize = 64 * 1024;

/// Names the first failure that tools tell of below a place.
pub(in crate::verdict) fn first(lines: &[Line<'_>], end: usize) -> Option<String> {
    let below = lines.iter().filter(|line| line.start > end);
    let mut said = String::new();
    let mut alone = None;
    for line in below {
        if is_introduced_as_earlier(line.text) {
            return None;
        }
        alone = alone.or(Some(line.text.trim()).filter(|line| is_said_by_tool(line)));
        if said.len() + line.text.len() > BYTES_MAX {
            break;
        }
        said.push_str(line.text);
        said.push('\n');
    }
    let read = failure::extract(&Output { stdout: said.as_bytes(), ..Output::default() });
    let Some(failure) = read.failures.first().filter(|_| read.confidence == Confidence::High) else {
        return alone.map(|line| format!("the line \"{}\"", quote(line)));
    };
    let message = text::head(failure.message.lines().next().unwrap_or_default(), text::BESIDE_CHARS_MAX);
    Some(format!("the failure \"{}\"", quote(failure.test.as_deref().unwrap_or(message))))
}

/// `FAILED tests/test_a.py::test_x`, `make: *** [Makefile:2: test] Error 1`
fn is_said_by_tool(line: &str) -> bool {
    let of_pytest = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "));
    let names_test = |rest: &str| rest.split(' ').next().is_some_and(|word| word.contains("::"));
    of_pytest.is_some_and(names_test) || SAID_BY_TOOLS.iter().any(|begin| line.starts_with(begin))
}

/// `Before the fix it was:`
fn is_introduced_as_earlier(line: &str) -> bool {
    line.trim_end().ends_with([':', '：']) && words(line).any(|word| EARLIER.contains(&word.as_str()))
}
