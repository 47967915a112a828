//! Reads the output and the reports of a check command, and compares its tests with the baseline.
//!
//! The caller supplies the bytes, so a recorded command can be read again.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::OnceLock;

use unstuck_core::evidence::CommandResult;
use unstuck_core::id::Blob;
use unstuck_core::judge::gate;

use crate::number_lines::number_lines;
use crate::{
    CommandFailures, Failure, FailureSource, MachineReport, RecordedTestNames, TestName, TestResults,
    ToolOutput, analyze, list, shorten,
};

/// Maximum bytes of a report that are read.
const REPORT_MAX: u64 = 8 << 20;

/// Maximum bytes of a stream that are read: its end, where tools list failures.
pub const STREAM_MAX: u64 = 2 << 20;

/// Maximum lines of a stream that are read. The readers keep several words for each line, so lines of a few
/// bytes would take many times the memory of the text.
const LINES_MAX: usize = 50_000;

/// Maximum messages of reports that are searched for numbers.
const MESSAGES_MAX: usize = 100;

/// A function that reads the end of a blob, up to a maximum number of bytes.
pub type ReadBlob<'a> = &'a dyn Fn(&Blob, u64) -> io::Result<Vec<u8>>;

/// The result of a command in the baseline.
#[derive(Clone, Debug)]
pub struct BaselineOutput {
    /// The result.
    pub result: CommandResult,
    /// Test files that it could not load and that have been deleted since. For a command that is read again, also tests
    /// whose names no longer occur in any file.
    removed: Vec<TestName>,
    /// The tests that it named, once they are read.
    listing: OnceLock<TestResults>,
}

impl BaselineOutput {
    /// Takes the result of a command, and the files that it could not load and that are deleted.
    pub fn new(result: CommandResult, removed: Vec<TestName>) -> Self {
        Self { result, removed, listing: OnceLock::new() }
    }
}

/// The output of a command: both streams and its reports.
#[derive(Clone, Debug)]
pub struct CheckOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// The reports, complete.
    pub reports: Vec<Vec<u8>>,
}

impl CheckOutput {
    /// Creates it; only the last 50,000 lines of a stream are read.
    pub fn new(stdout: Vec<u8>, stderr: Vec<u8>, reports: Vec<Vec<u8>>) -> Self {
        let [stdout, stderr] = [stdout, stderr].map(|mut bytes| {
            bytes.drain(..start_of_last_lines(&bytes));
            bytes
        });
        Self { stdout, stderr, reports }
    }

    /// Reads the recorded output of a command.
    fn from_record(result: &CommandResult, read_blob: ReadBlob<'_>) -> io::Result<Self> {
        let read = |blob: &Option<Blob>| {
            blob.as_ref().map_or_else(|| Ok(Vec::new()), |blob| read_blob(blob, STREAM_MAX))
        };
        let reports =
            result.reports.iter().map(|blob| read_blob(blob, REPORT_MAX)).collect::<io::Result<_>>()?;
        Ok(Self::new(read(&result.stdout)?, read(&result.stderr)?, reports))
    }

    fn output<'o>(&'o self, cwd: &'o str) -> ToolOutput<'o> {
        let reports = self.reports.iter().map(|bytes| MachineReport { format: "", bytes }).collect();
        ToolOutput { cwd, stdout: &self.stdout, stderr: &self.stderr, reports, ..ToolOutput::default() }
    }
}

/// Reads the output of a command that ran in the directory `cwd` and returns `bare` with the results.
pub fn read(
    bare: CommandResult,
    cwd: &str,
    printed: &CheckOutput,
    before: Option<&BaselineOutput>,
    read_blob: ReadBlob<'_>,
) -> CommandResult {
    let failed_before = before.map(|before| before.result.failed_tests());
    let output = ToolOutput {
        command: &bare.run,
        exit_code: bare.exit.code(),
        failed_before: failed_before.as_ref(),
        ..printed.output(cwd)
    };
    let CommandFailures { extraction, tests, listing } = analyze(&output);
    let mut failures = extraction.failures;
    let beyond = shorten(&mut failures);
    // The output does not contain the messages of a report.
    let reported =
        failures.iter().filter(|failure| failure.source == FailureSource::Report).take(MESSAGES_MAX);
    let messages = reported.map(|failure| failure.message.as_bytes());
    let numbers = number_lines([&printed.stdout[..], &printed.stderr].into_iter().chain(messages));
    CommandResult {
        tool: extraction.tool,
        failures,
        failures_left_out: extraction.failures_left_out.saturating_add(beyond),
        confidence: extraction.confidence,
        tests,
        listed: current_results(&listing, &bare, before, cwd, read_blob),
        numbers,
        ..bare
    }
}

/// Reads the recorded output of a command again. Failures that were flaky stay flaky. `before` is the result of the
/// command in the baseline, also read again.
///
/// # Errors
///
/// An output or a report is missing or damaged.
pub fn read_again(
    result: CommandResult,
    before: Option<&CommandResult>,
    cwd: &str,
    read_blob: ReadBlob<'_>,
) -> io::Result<CommandResult> {
    let printed = CheckOutput::from_record(&result, read_blob)?;
    let flaky: BTreeSet<String> = result.flaky.iter().map(gate::name).collect();
    let before = before.map(|before| {
        // Which files existed then is only in the record.
        let mut looked_up = before.unloadable_test_files();
        let is_named = |test: &TestName| result.listed.naming.iter().any(|naming| naming.tool == test.tool);
        looked_up.extend(before.test_names().filter(|test| !is_named(test)));
        let removed = result.listed.gone.iter().filter(|test| looked_up.contains(test)).cloned().collect();
        BaselineOutput::new(before.clone(), removed)
    });
    // The files may have changed since, so the recorded values count.
    let place =
        |failure: &Failure| (failure.fingerprint.clone(), failure.location.as_ref().map(ToString::to_string));
    let mut remaining: BTreeMap<_, _> =
        result.failures.iter().map(|failure| (place(failure), failure.remaining)).collect();
    let mut result = read(result, cwd, &printed, before.as_ref(), read_blob);
    for failure in &mut result.failures {
        failure.remaining = remaining.remove(&place(failure)).flatten();
    }
    result.failures.retain(|failure| !flaky.contains(&gate::name(failure)));
    Ok(result)
}

/// Returns the current results of the tests that ended before the work began.
fn current_results(
    listing: &TestResults,
    result: &CommandResult,
    before: Option<&BaselineOutput>,
    cwd: &str,
    read_blob: ReadBlob<'_>,
) -> RecordedTestNames {
    let none = TestResults::default();
    let Some(before) = before else { return listing.compare_failed(&[], &none) };
    let failed = &before.result.listed.failed;
    // Reading the baseline again is only useful if the tool names passing tests.
    let known = match listing.has_passed() {
        true => before.listing.get_or_init(|| listing_of(&before.result, cwd, read_blob)),
        false => &none,
    };
    // If only the end of an output was read, names may be missing.
    let is_cut = is_cut(result, read_blob) || is_cut(&before.result, read_blob);
    let mut listed = match is_cut {
        true => listing.compare_failed(failed, known),
        false => listing.compare(failed, known),
    };
    if is_cut {
        listed.naming.clone_from(&before.result.listed.naming);
    }
    let is_new = |test: &&TestName| !listed.gone.contains(test) && !listed.ran.contains(test);
    let removed: Vec<TestName> = before.removed.iter().filter(is_new).cloned().collect();
    listed.gone.extend(removed);
    listed
}

/// Checks whether only a part of the output is read. Output that cannot be read is not complete.
fn is_cut(result: &CommandResult, read_blob: ReadBlob<'_>) -> bool {
    let has_many_lines = |blob: &Blob| {
        let may_have = usize::try_from(blob.size).is_ok_and(|size| size > LINES_MAX);
        may_have && read_blob(blob, STREAM_MAX).map_or(true, |bytes| start_of_last_lines(&bytes) > 0)
    };
    result.reports.iter().any(|blob| blob.size > REPORT_MAX)
        || [&result.stdout, &result.stderr]
            .into_iter()
            .flatten()
            .any(|blob| blob.size > STREAM_MAX || has_many_lines(blob))
}

/// Returns the end of an output, as much as is read for failures.
pub fn last_part(bytes: &[u8]) -> &[u8] {
    let size = usize::try_from(STREAM_MAX).unwrap_or(usize::MAX);
    let end = &bytes[bytes.len().saturating_sub(size)..];
    // A line that is cut has another meaning.
    let cut = (end.len() < bytes.len()).then(|| memchr::memchr(b'\n', end)).flatten();
    let end = &end[cut.map_or(0, |at| at + 1)..];
    &end[start_of_last_lines(end)..]
}

/// Returns where the last [`LINES_MAX`] lines begin.
fn start_of_last_lines(bytes: &[u8]) -> usize {
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    memchr::memrchr_iter(b'\n', body).nth(LINES_MAX - 1).map_or(0, |end| end + 1)
}

/// Reads which tests an earlier output names; none of one that was not kept.
fn listing_of(result: &CommandResult, cwd: &str, read_blob: ReadBlob<'_>) -> TestResults {
    let printed = CheckOutput::from_record(result, read_blob);
    printed.map_or_else(|_| TestResults::default(), |printed| list(&printed.output(cwd)))
}
