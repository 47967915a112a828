//! A numbered list of failures of an unknown tool, after a headline that mentions failures: `1) name` and more lines.

use super::{FailureCollector, FormatInput, RawFailure, numbered_items};

/// Reads the last such list.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    // The reader of a tool gets more from the list.
    if !collector.is_empty() {
        return;
    }
    let lines = input.lines;
    let Some(start) = lines.iter().rposition(|line| is_headline(line) && !is_sum(line)) else { return };
    let ends = |line: &str| line.starts_with("Ran ") || line.starts_with("Finished ");
    let items = numbered_items::items(lines, start + 1, ends);
    // Some tools give each failure the number of its test among all tests.
    let of_all = numbered_items::items_of_all(lines, start + 1, ends);
    for item in if of_all.len() > items.len() { of_all } else { items } {
        let draft = RawFailure::test("listed", item.head.trim_end_matches(':'), item.body);
        collector.push(draft.with_heading(item.head));
    }
}

fn is_headline(line: &str) -> bool {
    const LENGTH_MAX: usize = 60;
    let low = line.trim().to_ascii_lowercase();
    low.len() < LENGTH_MAX
        && !low.starts_with("failure/error: ")
        && (low.contains("fail") || low.starts_with("errors"))
        && low.ends_with([':', ')', 's', 'g'])
}

/// Checks whether a line counts failures below their list: `2 tests, 1 failure`.
fn is_sum(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit()) && !line.ends_with(':') && !line.contains(" 0 fail")
}
