//! poku: failed assertions, below the tests that contain them.

use super::{FailureCollector, FormatInput, RawFailure, indentation, until};

/// Reads every failed assertion; the list at the end repeats them.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let end = input.marked().map(|(at, _)| at).next().unwrap_or_default();
    let (mut within, mut file): (Vec<(usize, &str)>, &str) = (Vec::new(), "");
    for (at, line) in input.lines[..end].iter().enumerate() {
        let (depth, bare) = (indentation(line), line.trim_start());
        if let Some(rest) = bare.strip_prefix("› ").filter(|_| depth == 0) {
            (within, file) = (Vec::new(), rest.rsplit_once(" › ").map_or(rest, |(file, _)| file));
        } else if let Some(test) = bare.strip_prefix("◌ ") {
            within.retain(|(of, _)| *of < depth);
            within.push((depth, test.trim()));
        } else if bare.starts_with("● ") {
            within.retain(|(of, _)| *of < depth);
        } else if let Some(assertion) = bare.strip_prefix("✘ ") {
            let block = until(input.lines, at + 1, |line| {
                line.trim().is_empty()
                    || ["✘ ", "✔ ", "◌ ", "● "].iter().any(|mark| line.trim_start().starts_with(mark))
            });
            collector.push(draft(&within, assertion.trim(), file, block));
        }
    }
}

/// Names an assertion by the tests that contain it, and by its own message if it has one.
fn draft(within: &[(usize, &str)], assertion: &str, file: &str, block: &[&str]) -> RawFailure {
    let own = Some(assertion).filter(|own| within.is_empty() || *own != "Assertion Error");
    let names: Vec<&str> = within.iter().map(|(_, name)| *name).chain(own).collect();
    let field =
        |name: &str| block.iter().find_map(|line| line.trim().strip_prefix(name)).map_or("", str::trim);
    let mut place = field("File ").rsplitn(3, ':').skip(1);
    let line = place.next().and_then(|line| line.parse().ok());
    let draft =
        RawFailure::test("poku", &names.join(" > "), block).about(field("Operator ")).with_test_file(file);
    draft.kind(field("Code ")).at(file, line).with_heading(assertion)
}
