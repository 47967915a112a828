//! subunit, in its first version, which is text: cmocka and others.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Reads `failure: NAME [`, and the message up to the closing bracket, perhaps on the same line.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    // Without tests that are announced, a line that begins with `error: ` is anybody's.
    if !input.starting(b"t").any(|(_, line)| line.starts_with("test: ")) {
        return;
    }
    for (at, line) in input.marked() {
        let head = ["failure: ", "error: "].iter().find_map(|mark| line.strip_prefix(mark));
        let Some(head) = head else { continue };
        if let Some((name, said)) = head.strip_suffix(" ]").and_then(|head| head.split_once(" [ ")) {
            push(name, line, &[said], collector);
        } else if let Some(name) = head.strip_suffix(" [") {
            let block = until(input.lines, at + 1, |line| line == "]");
            if at + 1 + block.len() < input.lines.len() {
                collector.add_printed(block);
                push(name, line, block, collector);
            }
        }
    }
}

fn push(name: &str, line: &str, block: &[&str], collector: &mut FailureCollector<'_>) {
    let draft = RawFailure::test("subunit", name, block);
    collector.push(draft.with_heading(line));
}
