//! PHPStan's table: a file after `Line`, and below it a number and the problem, wrapped to the width.

use super::{FailureCollector, FormatInput, RawFailure, gcc_style, indentation, until};

/// Reads every row of every table.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let is_drawn =
            |at: Option<usize>| at.and_then(|at| input.lines.get(at)).is_some_and(|line| is_rule(line));
        if !is_drawn(at.checked_sub(1)) || !is_drawn(Some(at + 1)) {
            continue;
        }
        // A problem in a trait is reported for each class that uses the trait.
        let file = line.trim().strip_prefix("Line").and_then(|file| file.split(" (in context of ").next());
        let file = file.map_or("", str::trim);
        if file.is_empty() || gcc_style::is_path(file) {
            let rows = until(input.lines, at + 2, is_rule);
            rows_of(rows).for_each(|row| collector.push(problem(file, row)));
        }
    }
}

/// Checks whether a line is a rule above or below a row: ` ------ -----`.
fn is_rule(line: &str) -> bool {
    line.trim_start().starts_with("--") && line.bytes().all(|byte| matches!(byte, b'-' | b' '))
}

/// Splits the rows: all begin in one column, and their continuation lines are more indented.
fn rows_of<'s, 'a>(lines: &'s [&'a str]) -> impl Iterator<Item = &'s [&'a str]> {
    let column = lines.first().map_or(0, |line| indentation(line));
    lines.chunk_by(move |_, next| indentation(next) > column)
}

/// Reads a row: the number, the message up to its details, and the rule in these.
fn problem(file: &str, row: &[&str]) -> RawFailure {
    const TOLD: [char; 4] = ['🪪', '💡', '✏', '👉'];
    let told = row.iter().position(|line| line.trim_start().starts_with(TOLD)).unwrap_or(row.len());
    let message = row[..told].iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let numbered = message.split_once(' ').filter(|_| !file.is_empty());
    let number = numbered.and_then(|(number, _)| number.trim_start_matches(':').parse().ok());
    let what = numbered.filter(|_| number.is_some()).map_or(message.as_str(), |(_, what)| what.trim_start());
    let more = row[told..].iter().map(|line| line.trim());
    let rule = more.clone().find_map(|line| line.strip_prefix('🪪'));
    let rule = rule.and_then(|rule| rule.split_whitespace().next()).unwrap_or_default();
    let shown: Vec<&str> = [what].into_iter().chain(more).collect();
    RawFailure::diagnostic("phpstan", file, number, what).kind(rule).message(&shown.join("\n"))
}
