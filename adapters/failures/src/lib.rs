//! Reads the failures out of the output of test runners, compilers and linters.
//!
//! ```
//! use unstuck_failures::{ToolOutput, extract};
//!
//! let output = ToolOutput {
//!     command: "pytest",
//!     exit_code: Some(1),
//!     stdout: b"===== short test summary info =====\n\
//!         FAILED tests/test_cart.py::test_total - assert 3 == 4\n\
//!         ===== 1 failed in 0.12s =====\n",
//!     ..ToolOutput::default()
//! };
//! let failure = &extract(&output).failures[0];
//! assert_eq!(failure.test.as_deref(), Some("tests/test_cart.py::test_total"));
//! assert!(failure.fingerprint.as_str().starts_with("f1:"));
//! ```
//!
//! A [`Fingerprint`] identifies a failure: the same test that fails in the same way has the same fingerprint in the
//! next run and on another machine. [`count`] returns how many tests ran, [`list`] how each named test ended, and
//! [`analyze`] all three at once. [`formats::FORMATS`] lists the formats.
//!
//! Any bytes give an answer, in time linear in their length. An output that no reader recognizes is one failure of kind
//! [`UNPARSED`], with [`Confidence::Low`]. A failure that is missing from an output has not necessarily been fixed:
//! compare which tests ran.
//!
//! # Map
//!
//! 1. `clean_output`: bytes become lines without colors, progress bars and the prefixes of wrappers (`log_prefix`).
//! 2. `scan`: one search over the text (`prefilter`) finds which of the [`formats`] may be present. Each of these reads
//!    the lines by its own grammar (`format`, one file per tool), and a `collector` takes each failure (`raw_failure`).
//! 3. `message`: the content of a block, whatever tool printed it: the kind, the assertion, the place.
//! 4. `normalize`: values that change from run to run are masked, and the rest is hashed.
//!
//! `test_counts` and `counters` read the summaries of tools, `test_results` and `test_lines` the names of tests. Types
//! that all of these use are in `output`, `parts`, `ending` and `line_index`; `words` answers questions about lines.
//! [`check_command`] reads a whole command of a check, live or from a record. [`git_status`] reads the output of
//! `git status`. Running a command and deciding what a failure means happen elsewhere, and the types are in
//! `unstuck_core::evidence`.

pub mod check_command;
mod clean_output;
mod collector;
mod counters;
mod ending;
mod format;
pub mod formats;
pub mod git_status;
mod line_index;
mod log_prefix;
mod message;
mod mixed_output;
mod normalize;
mod number_lines;
mod occurrence;
mod output;
mod package;
mod parts;
mod prefilter;
mod raw_failure;
mod scan;
mod stack_trace;
mod test_counts;
mod test_lines;
mod test_results;
mod unread;
mod words;
mod work;

pub use clean_output::plain;
pub use normalize::percent_decode;
pub use number_lines::number_lines;
pub use occurrence::{Occurrence, OccurrenceReport};
pub use output::{Extraction, MachineReport, ToolOutput};
pub use parts::FailureClass;
pub use test_counts::count;
pub use test_results::{TestResults, list};
pub use unread::{UNREAD_REPORT, decode};
pub use unstuck_core::evidence::{
    Confidence, FAILURES_MAX, Failure, FailureSet, FailureSource, FailureSubject, Fingerprint, Location,
    RecordedTestNames, ReporterNaming, TestName, Tests, UNPARSED, VERSION, shorten,
};

use clean_output::CleanOutput;
use collector::FailureCollector;
use normalize::Normalizer;

/// Returns the command that was not found, if a shell reports that and nothing else is printed.
pub fn missing_command(stdout: &[u8], stderr: &[u8]) -> Option<String> {
    let text = plain(stdout) + "\n" + &plain(stderr);
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).map(format::shell::missing_command);
    let first = lines.next()??.to_owned();
    lines.all(|missing| missing.is_some()).then_some(first)
}

/// Reads the failures of an output and detects its format.
pub fn extract(output: &ToolOutput<'_>) -> Extraction {
    extract_as(output, None)
}

/// Reads the failures of an output; `format` forces one of [`formats::FORMATS`] on its text.
///
/// A command that exits with 0 has no failures in its text, with these exceptions:
///
/// - Its own summary counts failed tests, or `go test` ends with a package that failed: it has those failures.
/// - TAP stops before its plan is complete: it fails.
/// - It counts nothing, and names failures that existed before: it has those.
///
/// Reports are read in any case.
pub fn extract_as(output: &ToolOutput<'_>, format: Option<&formats::Format>) -> Extraction {
    let pages = CleanOutput::from_output(output);
    let tests = || test_counts::in_pages(&pages);
    read_pages(output, format, &pages, output.exit_code.filter(|code| *code == 0).and_then(|_| tests()))
}

/// Reads the failures as [`extract`] does, with every place, and even if the command exited with 0.
pub fn read(output: &ToolOutput<'_>) -> OccurrenceReport {
    let normalizer = Normalizer::new(output.cwd);
    let mut collector = FailureCollector::with_records(&normalizer);
    let pages = CleanOutput::from_output(output);
    let left_out = pages.iter().map(CleanOutput::omitted_bytes).sum();
    let output = ToolOutput { exit_code: output.exit_code.filter(|code| *code != 0), ..output.clone() };
    let confidence = scan::read_pages(&pages, None, &output, &mut collector);
    let records = collector.take_records();
    OccurrenceReport { extraction: collector.into_extraction(confidence, left_out), records }
}

/// Returns the failure for an output that no reader recognizes; `None` if the command exits with 0.
pub fn unparsed(output: &ToolOutput<'_>) -> Vec<Failure> {
    if output.exit_code == Some(0) {
        return Vec::new();
    }
    let normalizer = Normalizer::new(output.cwd);
    let mut collector = FailureCollector::new(&normalizer);
    let pages = CleanOutput::from_output(output);
    let lines = pages.each_ref().map(CleanOutput::lines);
    format::unrecognized::read(&lines.each_ref().map(Vec::as_slice), output, &mut collector);
    collector.into_extraction(Confidence::Low, 0).failures
}

/// The results read from the output of a command.
#[derive(Clone, Debug)]
pub struct CommandFailures {
    /// The failures.
    pub extraction: Extraction,
    /// The number of tests; `None` if the output does not report it.
    pub tests: Option<Tests>,
    /// The results of the tests that it names.
    pub listing: TestResults,
}

/// Reads everything that [`extract`], [`count`] and [`list`] read, and cleans the output only once.
pub fn analyze(output: &ToolOutput<'_>) -> CommandFailures {
    let pages = CleanOutput::from_output(output);
    let tests = test_counts::in_pages(&pages);
    CommandFailures {
        extraction: read_pages(output, None, &pages, tests),
        tests,
        listing: test_results::in_pages(output, &pages),
    }
}

/// Reads reports and pages; `tests` is the count that the pages report.
fn read_pages(
    output: &ToolOutput<'_>,
    format: Option<&formats::Format>,
    pages: &[CleanOutput<'_>; 2],
    tests: Option<Tests>,
) -> Extraction {
    let normalizer = Normalizer::new(output.cwd);
    let mut collector = FailureCollector::new(&normalizer);
    for report in &output.reports {
        scan::read_report(report, &mut collector);
    }
    let exits_well = output.exit_code == Some(0);
    // A summary includes all of its counters, and an exit code is easily lost.
    let beyond = if exits_well { test_counts::beyond(pages) } else { Vec::new() };
    let scope = if exits_well && beyond.is_empty() {
        CountedAsFailed::for_zero_exit(output, pages, tests)
    } else {
        CountedAsFailed::All
    };
    if scope == CountedAsFailed::Nothing {
        return collector.into_extraction(Confidence::High, 0);
    }
    let left_out = pages.iter().map(CleanOutput::omitted_bytes).sum();
    let reported = collector.len();
    let confidence = scan::read_pages(pages, format, output, &mut collector);
    if exits_well {
        let mended = format::go_test::passed_packages(pages);
        let is_mended = |name: &str| mended.iter().any(|package| format::go_test::is_in(name, package));
        collector.retain_new(reported, |failure| {
            let is_known = beyond.is_empty() || failure.kind != UNPARSED;
            is_known && scope.has(failure, output, pages) && !failure.test.as_deref().is_some_and(is_mended)
        });
        add_unread(&beyond, tests, &mut collector);
        return collector.into_extraction(Confidence::High, left_out);
    }
    collector.into_extraction(confidence, left_out)
}

/// Adds the failing counters for which no failure was read.
fn add_unread(
    beyond: &[test_counts::ExtraCounter<'_>],
    tests: Option<Tests>,
    collector: &mut FailureCollector<'_>,
) {
    let read = u64::try_from(collector.len()).unwrap_or(u64::MAX);
    let errors = beyond.iter().filter(|extra| !extra.counts_groups).map(|extra| extra.counter.number);
    let counted = errors.fold(tests.map_or(0, |tests| tests.failed), u64::saturating_add);
    // A file fails if a test in it fails.
    let is_read =
        |extra: &test_counts::ExtraCounter<'_>| read >= if extra.counts_groups { 1 } else { counted };
    for extra in beyond.iter().filter(|extra| !is_read(extra)) {
        collector.push_counted(&extra.counter.label.to_lowercase(), extra.counter.number, extra.line.trim());
    }
}

/// The part of a text that counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountedAsFailed {
    Nothing,
    Tests,
    /// The tests that failed before.
    Known,
    /// An incomplete test plan: fewer tests were reported than planned.
    Plan,
    All,
}

impl CountedAsFailed {
    /// Returns what counts although the command exits with 0. A tool that counts its tests is trusted.
    fn for_zero_exit(output: &ToolOutput<'_>, pages: &[CleanOutput<'_>; 2], tests: Option<Tests>) -> Self {
        match tests {
            Some(tests) if tests.failed > 0 => Self::Tests,
            Some(_) if format::tap::is_incomplete(pages) => Self::Plan,
            Some(_) => Self::Nothing,
            None if format::go_test::has_failed_package(pages) => Self::All,
            None if output.failed_before.is_some_and(|before| !before.is_empty()) => Self::Known,
            None => Self::Nothing,
        }
    }

    fn has(self, failure: &Failure, output: &ToolOutput<'_>, pages: &[CleanOutput<'_>; 2]) -> bool {
        let is_known = || output.failed_before.is_some_and(|before| before.contains(&failure.fingerprint));
        match (self, &failure.test) {
            (Self::All, _) => true,
            (Self::Tests, Some(_)) => true,
            (Self::Known, Some(name)) => is_known() && !format::fail_symbols::passes_at_last(pages, name),
            (Self::Plan, None) => failure.kind == format::tap::UNFULFILLED,
            (Self::Nothing | Self::Tests | Self::Known | Self::Plan, _) => false,
        }
    }
}
