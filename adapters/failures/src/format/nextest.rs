//! cargo nextest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::super::words::{is_decimal, is_number};
use super::{FailureCollector, FormatInput, LineIndex, MaskingStyle, RawFailure, libtest_lines, until};

const TOOL: &str = "cargo-nextest";

/// A line with the status or the result of a test: `   TRY 2 FAIL [   0.012s] (3/9) app tests::adds`.
#[derive(Clone, Copy)]
struct Status<'a> {
    line: &'a str,
    word: &'a str,
    binary: &'a str,
    name: &'a str,
}

impl<'a> Status<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let told = line.trim_start();
        if told.len() == line.len() {
            return None;
        }
        let tried = told
            .strip_prefix("TRY ")
            .and_then(|rest| rest.split_once(' '))
            .filter(|(count, _)| is_number(count));
        let told = tried.map_or(told, |(_, told)| told);
        // A capitalized word ends before the time. Most lines have none, so this check rejects them quickly.
        let end = told.find(|c: char| !c.is_ascii_uppercase() && !matches!(c, ' ' | '+'))?;
        let (word, rest) = (&told[..end], told[end..].strip_prefix('[')?);
        let (time, test) = rest.split_once("s]")?;
        let (time, test) =
            (time.trim_start_matches([' ', '>']), test.strip_prefix(' ')?.trim_start_matches(' '));
        let counted = test
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(") "))
            .filter(|(count, _)| is_count(count));
        let (binary, name) =
            counted.map_or(test, |(_, test)| test).trim_start_matches(' ').split_once(' ')?;
        let is_status =
            word.ends_with(' ') && is_word(word.trim_end()) && is_decimal(time) && !name.trim().is_empty();
        is_status.then(|| Self { line, word: word.trim_end(), binary, name: name.trim_end() })
    }

    /// Returns the binary and the name of the test.
    fn test(self) -> (&'a str, &'a str) {
        (self.binary, self.name)
    }
}

/// Checks whether a text counts tests: ` 3/12`, or `───` if the number is unknown.
fn is_count(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || matches!(c, ' ' | '/' | '─'))
}

/// Checks whether a word is the result of a test: it is in capitals.
fn is_word(text: &str) -> bool {
    let bare = text.strip_suffix(" + LEAK").unwrap_or(text);
    text == "FL+LK" || bare.len() > 2 && bare.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Reads every test whose last status is a failure.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for run in input.own.runs(b"S", is_start, is_summary) {
        read_run(input.own.part(run), collector);
    }
}

fn read_run(own: LineIndex<'_>, collector: &mut FailureCollector<'_>) {
    let lines = own.lines;
    let Some(Results { summary, above, below }) = Results::find(own) else { return };
    let failed = failed_tests(&above, &below);
    let (mut told, mut begun) = (BTreeSet::new(), BTreeMap::new());
    // The output of a test is printed when it ends, below the summary, or both.
    for (at, line) in above.iter().chain(&below).copied() {
        if let Some(test) = Some(line).filter(|_| own.begins[at] == b'S').and_then(started_test) {
            begun.insert(test, at + 1);
            continue;
        }
        let Some(status) = Some(line).filter(|line| !is_pass_line(line)).and_then(Status::parse) else {
            continue;
        };
        let test @ (binary, name) = status.test();
        if !failed.contains(&test) || is_passing_status(status.word) {
            continue;
        }
        // Output that is not captured precedes the result of the test.
        let block = match begun.get(&test) {
            Some(start) if at < summary => &lines[*start..at],
            _ => until(lines, at + 1, |line| ends(line) || is_status(line)),
        };
        if block.iter().all(|line| line.trim().is_empty()) {
            continue;
        }
        collector.add_printed(block);
        let block: Vec<&str> = block.iter().map(|line| line.strip_prefix("    ").unwrap_or(line)).collect();
        if told.insert(test) {
            let draft = RawFailure::test(TOOL, name, &failure_reason(&block, name)).with_test_file(binary);
            let draft = process_kind(draft, status.word, &block.join("\n"));
            collector.push(draft.with_heading(line.trim()));
        }
    }
    for status in below.iter().filter_map(|(_, line)| Status::parse(line)) {
        let test @ (binary, name) = status.test();
        if failed.contains(&test) && !told.contains(&test) {
            let draft = RawFailure::test(TOOL, name, &[]).with_test_file(binary).message(status.line.trim());
            collector.push(process_kind(draft, status.word, ""));
        }
    }
}

/// Checks whether a line is nextest's own and follows the output of a test.
fn ends(line: &str) -> bool {
    line.starts_with('─')
        || line == "error: test run failed"
        || line.trim_start().starts_with("Running [ ")
        || is_summary(line)
}

/// Returns the reason for a failed test: its panic, the panic of another thread, the returned error, else its output.
fn failure_reason<'a>(block: &[&'a str], name: &str) -> Vec<&'a str> {
    let panics = |line: &str| line.contains("panicked at ");
    let own = |line: &str| panics(line) && libtest_lines::panicked_thread(line) == Some(name);
    // The test may have caught earlier panics.
    let panic =
        block.iter().rposition(|line| own(line)).or_else(|| block.iter().position(|line| panics(line)));
    if let Some(at) = panic {
        return block[at..].to_vec();
    }
    let is_stream = |line: &&str, stream: &str| line.trim_start().starts_with(stream);
    let errors = block.iter().position(|line| is_stream(line, "stderr ───")).unwrap_or(block.len());
    let (shown, errors) = (&block[..errors], block.get(errors + 1..).unwrap_or_default());
    match errors.iter().rposition(|line| line.starts_with("Error: ")) {
        Some(at) => errors[at..].to_vec(),
        None if errors.iter().any(|line| !line.trim().is_empty()) => errors.to_vec(),
        None => shown
            .iter()
            .filter(|line| !is_stream(line, "stdout ───") && !libtest_lines::is_of_list(line))
            .copied()
            .collect(),
    }
}

/// The last summary, and the lines above and below it that may report a test, with their numbers.
struct Results<'a> {
    summary: usize,
    above: Vec<(usize, &'a str)>,
    below: Vec<(usize, &'a str)>,
}

impl<'a> Results<'a> {
    /// Finds the summary and these lines, if there is a summary.
    fn find(own: LineIndex<'a>) -> Option<Self> {
        let (summary, _) = own.beginning(b"S").rfind(|(_, line)| is_summary(line))?;
        // Every line that reports a test begins with a word in capitals.
        let begins = own.firsts.iter().zip(own.begins).enumerate();
        let words =
            begins.filter(|(_, (first, begin))| matches!(first, b' ' | b'\t') && begin.is_ascii_uppercase());
        let words = words.map(|(at, _)| (at, own.lines[at]));
        let (above, below): (Vec<_>, Vec<_>) = words.partition(|(at, _)| *at < summary);
        Some(Self { summary, above, below })
    }
}

/// Checks whether a run begins with a line: `    Starting 22 tests across 3 binaries`.
fn is_start(line: &str) -> bool {
    line.trim_start().starts_with("Starting ") && line.contains(" across ")
}

fn is_summary(line: &str) -> bool {
    line.trim_start().starts_with("Summary [")
}

/// Returns the names of the tests whose last result is a failure.
pub(super) fn failed_names(own: LineIndex<'_>) -> BTreeSet<&str> {
    let failed = Results::find(own).map(|said| failed_tests(&said.above, &said.below)).unwrap_or_default();
    failed.into_iter().map(|(_, name)| name).collect()
}

/// Returns the tests that the summary lists as failed, or the results above if nextest is configured to list none.
fn failed_tests<'a>(above: &[(usize, &'a str)], below: &[(usize, &'a str)]) -> BTreeSet<(&'a str, &'a str)> {
    let find_failed = |lines: &[(usize, &'a str)]| -> BTreeSet<(&'a str, &'a str)> {
        let ended = lines.iter().filter_map(|(_, line)| Status::parse(line));
        let last: BTreeMap<_, _> =
            ended.map(|status| (status.test(), !is_passing_status(status.word))).collect();
        last.into_iter().filter(|(_, failed)| *failed).map(|(test, _)| test).collect()
    };
    Some(find_failed(below)).filter(|listed| !listed.is_empty()).unwrap_or_else(|| find_failed(above))
}

/// Returns the test in a start line, printed without capture: `START [  ] (1/10) app tests::adds`.
fn started_test(line: &str) -> Option<(&str, &str)> {
    let (_, counted) = line.trim_start().strip_prefix("START [")?.split_once(']')?;
    let counted = counted.trim_start();
    let test = counted
        .strip_prefix('(')
        .map_or(Some(counted), |rest| rest.split_once(") ").map(|(_, test)| test))?;
    test.trim_end().split_once(' ')
}

fn is_status(line: &str) -> bool {
    Status::parse(line).is_some()
}

/// Checks whether the output of a test follows a line: the older form of nextest does not indent it.
pub(crate) fn begins_output(line: &str) -> bool {
    let stream = line.strip_prefix("--- ").filter(|rest| rest.ends_with(" ---"));
    stream.is_some_and(|rest| rest.contains("STDOUT: ") || rest.contains("STDERR: "))
}

/// Checks whether a line belongs to nextest or cargo, and not to the output of a test.
pub(crate) fn is_own(line: &str) -> bool {
    const CARGO: [&str; 4] = ["     Running ", "   Doc-tests ", "   Compiling ", "    Finished "];
    line.starts_with("------------")
        || is_summary(line)
        || is_status(line)
        || CARGO.iter().any(|step| line.starts_with(step))
}

/// Checks whether a line reports a passed test, as most do.
fn is_pass_line(line: &str) -> bool {
    line.trim_ascii_start().starts_with("PASS [")
}

/// Checks whether a status means that a test passed, or has not ended.
fn is_passing_status(status: &str) -> bool {
    matches!(status, "PASS" | "LEAK" | "SKIP" | "FLAKY") || is_under_way(status)
}

/// Checks whether a status means that a test has not ended.
pub(crate) fn is_under_way(status: &str) -> bool {
    matches!(status, "SLOW" | "SETUP" | "START" | "RETRY" | "TERMINATING" | "TRMNTG")
}

/// Sets how a process ended if not by a panic: a signal, the time limit.
pub(super) fn process_kind(draft: RawFailure, status: &str, text: &str) -> RawFailure {
    static SIGNAL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\bSIG[A-Z]{2,6}\b").expect("well formed"));
    let timed_out = matches!(status, "TIMEOUT" | "TMT")
        || status.contains("timeout")
        || text.contains("(test timed out)");
    let signal = SIGNAL.find(status).or_else(|| SIGNAL.find(text)).map(|signal| signal.as_str().to_owned());
    let kind = if timed_out { Some("timeout".to_owned()) } else { signal };
    match kind {
        Some(kind) => {
            let message = if draft.message.contains(&kind) {
                draft.message.clone()
            } else {
                format!("{status} {kind}\n{}", draft.message)
            };
            RawFailure {
                about: String::new(),
                values: String::new(),
                style: MaskingStyle::Values,
                message,
                ..draft
            }
            .kind(&kind)
        }
        None => draft,
    }
}
