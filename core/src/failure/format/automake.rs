//! Automake's `make check`: a line for each test, and a summary; where asked to (`VERBOSE=1`), between them what each of the
//! failed tests printed.

use std::collections::BTreeMap;

use super::super::draft::{Draft, Found};
use super::{Sheet, until};

const TOOL: &str = "automake";

/// The results that fail a suite, and what a failure with each is called: nothing where it says no more than that.
const RESULTS: [(&str, &str); 3] = [("FAIL: ", ""), ("ERROR: ", "ERROR"), ("XPASS: ", "XPASS")];

/// The file that what the failed tests printed is shown from.
const LOG: &str = "test-suite.log";

/// Reads the list above each summary.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let mut read = 0;
    for (end, _) in sheet.marked() {
        let suite = &sheet.lines[read..end];
        read = end + 1;
        let is_log =
            |at: &usize| is_rule(suite[*at]) && suite.get(at + 1).is_some_and(|it| it.ends_with(LOG));
        let (listed, below) = suite.split_at((0..suite.len()).rfind(is_log).unwrap_or(suite.len()));
        let logs = logs(below);
        for (line, (name, kind)) in listed.iter().filter_map(|line| Some((line, result(line)?))) {
            // The name of a log has no ending.
            let log = logs.get(name).or_else(|| logs.get(name.rsplit_once('.')?.0)).copied();
            let draft = Draft::test(TOOL, name, log.unwrap_or(&[])).told_by(line).up_to(line);
            found.push(if kind.is_empty() { draft } else { draft.kind(kind) }.headed(line));
        }
        found.printed(below);
    }
}

/// Takes `FAIL: name` apart.
fn result(line: &str) -> Option<(&str, &'static str)> {
    let found = RESULTS.iter().find_map(|(word, kind)| Some((line.strip_prefix(word)?.trim(), *kind)));
    found.filter(|(name, _)| !name.is_empty())
}

/// Says whether a line is drawn from end to end.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'=')
}

/// Returns what each test printed, by its name: below `FAIL: name` and a rule, up to the next of these.
fn logs<'s, 'a>(lines: &'s [&'a str]) -> BTreeMap<&'a str, &'s [&'a str]> {
    let is_head = |at: usize| result(lines[at]).is_some() && lines.get(at + 1).is_some_and(|it| is_rule(it));
    let heads: Vec<usize> = (0..lines.len()).filter(|at| is_head(*at)).collect();
    let ends = heads.iter().skip(1).copied().chain([lines.len()]);
    let logs = heads.iter().zip(ends).filter_map(|(head, end)| {
        let (name, _) = result(lines[*head])?;
        Some((name, until(&lines[..end], head + 2, is_rule)))
    });
    logs.collect()
}
