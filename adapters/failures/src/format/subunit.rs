//! subunit, in its first version, which is text: cmocka and others.

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::{FormatInput, until};

/// Reads `failure: NAME [`, and the message up to the closing bracket, perhaps on the same line.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    // Without tests that are announced, a line that begins with `error: ` is anybody's.
    if !sheet.starting(b"t").any(|(_, line)| line.starts_with("test: ")) {
        return;
    }
    for (at, line) in sheet.marked() {
        let head = ["failure: ", "error: "].iter().find_map(|mark| line.strip_prefix(mark));
        let Some(head) = head else { continue };
        if let Some((name, said)) = head.strip_suffix(" ]").and_then(|head| head.split_once(" [ ")) {
            push(name, line, &[said], found);
        } else if let Some(name) = head.strip_suffix(" [") {
            let block = until(sheet.lines, at + 1, |line| line == "]");
            if at + 1 + block.len() < sheet.lines.len() {
                found.printed(block);
                push(name, line, block, found);
            }
        }
    }
}

fn push(name: &str, line: &str, block: &[&str], found: &mut FailureCollector<'_>) {
    let draft = RawFailure::test("subunit", name, block);
    found.push(draft.headed(line));
}
