//! Linters that write a table with commas: a row of names, and a row for each problem: bandit, PHP_CodeSniffer.

use super::{FailureCollector, FormatInput, RawFailure, scan};

/// The names that a column has, in small letters.
const FILE: [&str; 3] = ["filename", "file", "path"];
const LINE: [&str; 2] = ["line_number", "line"];
const COLUMN: [&str; 2] = ["col_offset", "column"];
const RULE: [&str; 3] = ["test_id", "source", "rule"];
const MESSAGE: [&str; 2] = ["issue_text", "message"];
const LEVEL: [&str; 2] = ["type", "severity"];

/// Reads every row below the names of the columns, up to one that has not as many.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut drafts = Vec::new();
    for (at, line) in input.marked() {
        let names: Vec<String> = fields(line).iter().map(|name| name.to_lowercase()).collect();
        let rows = scan(&input.lines[at + 1..]).take_while(|row| **row != line);
        let rows = rows.map(|row| (row, fields(row))).take_while(|(_, fields)| fields.len() == names.len());
        drafts.extend(rows.map(|(line, fields)| problem(&names, &fields, line)));
    }
    collector.push_errors(drafts);
}

fn problem(names: &[String], fields: &[String], line: &str) -> RawFailure {
    let field = |wanted: &[&str]| {
        let at = wanted.iter().find_map(|wanted| names.iter().position(|name| name == wanted));
        at.map_or("", |at| fields[at].as_str())
    };
    let draft = RawFailure::diagnostic("lint", field(&FILE), field(&LINE).parse().ok(), field(&MESSAGE));
    let draft = draft.kind(field(&RULE)).with_column(field(&COLUMN).parse().ok(), "");
    draft.warning(field(&LEVEL).eq_ignore_ascii_case("warning")).message(line)
}

/// Takes a row apart: a field with a comma is quoted, and a quotation mark in it is doubled.
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut field, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut rest = line.trim_end().chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if is_quoted && rest.peek() == Some(&'"') => field.extend(rest.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    fields
}
