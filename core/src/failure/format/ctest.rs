//! CTest.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::draft::{Draft, Found};
use super::super::reason::Reason;
use super::{Sheet, until};

static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+\d+ - (?P<name>\S.*) \((?P<status>[^()]+)\)(?:\s.*)?$").expect("well formed")
});

static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\d+/\d+ )?Test +#\d+: (?P<name>\S.*?) \.{2,}\s*(?P<status>.*?)\s+[\d.]+ sec")
        .expect("well formed")
});

/// Tells most lines apart without the pattern.
fn may_be_result(line: &str) -> bool {
    line.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == 'T') && line.contains("Test ")
}

/// Reads the list at the end; what each test wrote stands below its result.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let begins = |line: &str| line.starts_with("Test project ");
    let ends = |line: &str| line.starts_with("Total Test time ");
    for run in sheet.own.runs(b"T", begins, ends) {
        read_run(sheet, run, found);
    }
}

fn read_run(sheet: &Sheet<'_>, run: Range<usize>, found: &mut Found<'_>) {
    let lines = &sheet.lines[..run.end];
    let list = sheet
        .own
        .part(run.clone())
        .starting(b"T")
        .rfind(|(_, line)| line.starts_with("The following tests FAILED:"));
    let Some(list) = list.map(|(at, _)| run.start + at) else { return };
    let mut results: BTreeMap<String, (String, &[&str])> = BTreeMap::new();
    for (at, line) in sheet.marked_within(run.start..list).filter(|(_, line)| may_be_result(line)) {
        let Some(result) = RESULT
            .captures(line)
            .filter(|result| result["status"].contains("***") || result["status"].contains("Failed"))
        else {
            continue;
        };
        let block = until(lines, at + 1, |line| {
            may_be_result(line) && RESULT.is_match(line)
                || line.trim_start().starts_with("Start ")
                || line.starts_with("test ")
                || line.contains("% tests passed")
        });
        // One test of another runner, which CTest started for it alone.
        if block.iter().any(|line| line.ends_with("Running 1 test from 1 test suite.")) {
            found.printed(block);
        }
        results.insert(result["name"].to_owned(), (line.to_owned(), block));
    }
    for listed in lines[list + 1..].iter().map_while(|line| LISTED.captures(line)) {
        let (name, status) = (&listed["name"], &listed["status"]);
        let (line, block) =
            results.get(name).map_or((listed[0].to_owned(), &[][..]), |(line, block)| (line.clone(), *block));
        let draft = draft(name, status, block);
        let missing =
            lines[run.start..list].iter().find(|line| line.starts_with("Could not find executable"));
        let shown = if status == "Not Run" { missing.copied().unwrap_or_default() } else { "" };
        let message = format!("{}\n{shown}\n{}\n{}", line.trim(), draft.message, listed[0].trim());
        found.push(draft.message(&message));
    }
}

/// Begins the failure of a test that ended in this way, and wrote this.
pub(super) fn draft(name: &str, status: &str, block: &[&str]) -> Draft {
    let draft = Draft::test("ctest", name, block);
    // An output that asserts says more than the way in which the process ended; other output is noise.
    let asserted = !Reason::of(block).kind.is_empty();
    if asserted {
        return draft;
    }
    Draft { about: String::new(), values: String::new(), ..draft }.kind(status)
}
