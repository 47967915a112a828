//! pytest-timeout where it cannot interrupt a test (`--timeout-method=thread`): it shows the stacks of all threads and ends
//! the run, of which there is no summary then.

use super::super::draft::{Draft, Found};
use super::{Sheet, python_place, until};

const TOOL: &str = "pytest";

/// Between the stacks, and above and below them.
const RULES: [&str; 2] = ["~~~", "+++"];

/// Reads which test ran in the main thread.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let stacks = sheet.starting(b"~").filter(|(_, line)| line.contains(" Stack of MainThread "));
    for (at, _) in stacks {
        let stack = until(sheet.lines, at + 1, |line| RULES.iter().any(|rule| line.starts_with(rule)));
        let Some((first, file, line, function)) = test(stack) else { continue };
        let draft = Draft::test(TOOL, &format!("{file}::{function}"), &stack[first..]);
        found.push(draft.kind("Timeout").about("").at(file, line));
        found.printed(stack);
    }
}

/// Returns which line of a stack is in the test, and its place and its name: the first function outside of libraries that is
/// named like one.
fn test<'a>(stack: &[&'a str]) -> Option<(usize, &'a str, Option<u32>, &'a str)> {
    const FOREIGN: [&str; 2] = ["site-packages/", "/lib/python"];
    stack.iter().enumerate().find_map(|(at, stack_line)| {
        let (file, line, behind) = python_place(stack_line.trim_start())?;
        let function = behind.strip_prefix(", in ").filter(|name| name.starts_with("test"))?;
        let is_foreign = FOREIGN.iter().any(|it| file.contains(it));
        (!is_foreign).then_some((at, file, line, function))
    })
}
