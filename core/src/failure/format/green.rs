//! green and zope.testrunner, which run Python's unittest.

use super::super::draft::{Draft, Found};
use super::{Sheet, unittest, until};

/// Reads the block below each `Failure in NAME`: a traceback, without its first line where green prints it.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let lines = sheet.lines;
    for (at, line) in sheet.marked() {
        let Some((tool, name)) = begun(line) else { continue };
        let behind = lines.get(at + 1).copied().unwrap_or_default();
        if !behind.starts_with("  File \"") && behind != TRACEBACK {
            continue;
        }
        // What a runner prints while it goes on stands on lines of its own.
        let is_progress = |line: &str| !line.is_empty() && line.bytes().all(|byte| byte == b'.');
        let told = until(lines, at + 1, |line| {
            let is_end =
                ["Captured std", "Ran ", "  Ran ", "Tearing down "].iter().any(|it| line.starts_with(it));
            is_end || is_progress(line) || begun(line).is_some()
        });
        found.printed(told);
        let head = [TRACEBACK].into_iter().filter(|head| behind != *head);
        let block: Vec<&str> = head.chain(told.iter().copied()).collect();
        let stage = unittest::stage_of(told);
        let draft = Draft::test(tool, &name, &block);
        let kind = stage.map_or_else(|| draft.kind.clone(), |stage| format!("{stage} {}", draft.kind));
        found.push(draft.kind(&kind).headed(line));
    }
}

const TRACEBACK: &str = "Traceback (most recent call last):";

/// Returns whose a line is that begins a block, and the name of the test: `Failure in test_m.T.test_x` of green,
/// `Failure in test test_x (test_m.T.test_x)` of zope.testrunner.
fn begun(line: &str) -> Option<(&'static str, String)> {
    let name = line.strip_prefix("Failure in ").or_else(|| line.strip_prefix("Error in "))?;
    match name.strip_prefix("test ") {
        Some(title) => Some(("zope.testrunner", unittest::name(title).0)),
        None => (!name.is_empty() && !name.contains(' ')).then(|| ("green", name.to_owned())),
    }
}
