//! RuboCop in its simple and quiet formats: below the line of a file, a severity, a place and a cop.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Reads each offense below `== FILE ==`.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, head) in input.marked() {
        let Some(file) = head.strip_prefix("== ").and_then(|head| head.strip_suffix(" ==")) else { continue };
        for line in until(input.lines, at + 1, |line| line.starts_with("== ")) {
            let Some(Offense { row, column, cop, told }) = offense(line) else { continue };
            let draft = RawFailure::diagnostic("rubocop", file, Some(row), told).with_line(line);
            collector.push(draft.kind(cop).with_column(Some(column), "").message(&format!("{cop}: {told}")));
        }
    }
}

struct Offense<'a> {
    row: u32,
    column: u32,
    cop: &'a str,
    told: &'a str,
}

/// Reads `C:  2: 11: [Correctable] Layout/SpaceAfterComma: Space missing after comma.`
fn offense(line: &str) -> Option<Offense<'_>> {
    let (severity, rest) = line.split_once(':')?;
    let (row, rest) = rest.split_once(':')?;
    let (column, rest) = rest.split_once(": ")?;
    let number = |text: &str| text.trim_start().parse().ok();
    let (row, column) = (number(row)?, number(column)?);
    let told =
        ["[Correctable] ", "[Corrected] "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest);
    let (cop, told) = told.split_once(": ")?;
    let is_cop = !cop.contains(' ') && cop.contains('/');
    (severity.len() == 1 && "CRWEFI".contains(severity) && is_cop).then_some(Offense {
        row,
        column,
        cop,
        told,
    })
}
