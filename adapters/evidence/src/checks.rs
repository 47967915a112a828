//! Runs the commands of a check, one after the other, and reads what failed from their output.
//!
//! A failing command may be observed several times: what does not fail each time is flaky. Reading the output
//! is `unstuck_core::failure`; the whole of it is kept in blobs, so a better reader can be tried later.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;
use unstuck_core::clip;
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::gate::{self, CommandResult};
use unstuck_core::id::Blob;
use unstuck_failures::{Confidence, Failure, Fingerprint, Listed, Listing, TestName, UNREAD_REPORT};
use unstuck_files::folder;
use unstuck_process as process;
use unstuck_process::blocking::{Unfinished, blocking, within};
use unstuck_process::redact::Redactor;
use unstuck_process::{Spec, Stop, StopSignal};
use unstuck_store::blobs::BlobStore;

use crate::reports::Reports;

/// Maximum bytes of a report that are read for failures.
const REPORT_MAX: u64 = 8 << 20;

/// Maximum bytes of a stream that are read for failures: its end, where tools say what failed.
const STREAM_MAX: u64 = 2 << 20;

/// Maximum lines of a stream that are read for failures. The readers keep several words for each line, so lines of a few
/// bytes would take many times the memory of the text.
const LINES_MAX: usize = 50_000;

/// Maximum time for reading one output. Reading is linear, so only a fault of a reader or a busy machine takes it.
pub const READING_MAX: Duration = Duration::from_secs(60);

/// Minimum time for reading the output of a command that used all of the time of its check.
const READING_MIN: Duration = Duration::from_secs(1);

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Suite {
    /// What is run, one after the other.
    pub commands: Vec<Command>,
    /// How often a failing one is run; at least 1.
    pub observations: u32,
    /// Most time of all together.
    pub limit: Duration,
    /// Sees what they change, where anybody looks.
    pub witness: Option<Witness>,
}

/// Says which files of the repository are not what they were before the check.
#[derive(Clone)]
pub struct Witness(pub Arc<dyn Fn() -> Vec<String> + Send + Sync>);

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Witness")
    }
}

impl Witness {
    /// Looks, beside the loop.
    pub async fn look(&self) -> Vec<String> {
        let look = Arc::clone(&self.0);
        blocking(move || look()).await
    }
}

/// A command of a check.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its command line.
    pub run: String,
    /// How it is run.
    pub spec: Spec,
    /// Patterns of the reports that it writes, from the folder that it runs in.
    pub reports: Vec<String>,
    /// What it showed before the work began.
    pub before: Option<Arc<Before>>,
}

/// What a command showed before the work began.
#[derive(Clone, Debug)]
pub struct Before {
    /// What it showed.
    pub result: CommandResult,
    /// The files of tests that it could not load, and that are not there any more; read again, also the tests of which no file
    /// had the name any more.
    pub removed: Vec<TestName>,
    /// The tests that it named, once they are read.
    listing: OnceLock<Listing>,
}

impl Before {
    /// Takes what a command showed, and which of the files that it could not load are gone.
    pub fn new(result: CommandResult, removed: Vec<TestName>) -> Self {
        Self { result, removed, listing: OnceLock::new() }
    }
}

/// Runs all commands, even when one fails: each says something else. Returns how they ended together, and
/// what each showed. It ends early when it is told to stop, or its time is up.
pub async fn run(
    suite: Suite,
    blobs: &Arc<dyn BlobStore>,
    redactor: &Redactor,
    stop: StopSignal,
    mut show: impl FnMut(&str) + Send,
) -> (Outcome, Vec<CommandResult>) {
    let end = Instant::now() + suite.limit;
    let mut together = Outcome::of(Exit::Code(0));
    let mut results = Vec::new();
    for Command { run, spec, reports, before } in suite.commands {
        let mut seen: Option<CommandResult> = None;
        for _ in 0..suite.observations.max(1) {
            let spec = Spec { limit: end.saturating_duration_since(Instant::now()), ..spec.clone() };
            let cwd = spec.cwd.clone();
            let watched = Reports::look(&cwd, &reports);
            let mut outcome = process::run(spec, &**blobs, redactor, stop.clone(), &mut show).await;
            let (reports, notes) = watched.written();
            outcome.notes.extend(notes);
            let redacted =
                |(name, it): &(String, Vec<u8>)| (name.clone(), redactor.redact_bytes(it).0.into_owned());
            let reports = reports.iter().map(redacted).collect();
            let limit = end.saturating_duration_since(Instant::now()).clamp(READING_MIN, READING_MAX);
            let reading = Reading { run: &run, cwd: &cwd, reports, before: before.clone(), limit };
            let read = reading.result_of(&mut outcome, blobs, &stop).await;
            add(&mut together, &run, outcome);
            let Ok(result) = read else {
                // An earlier observation that was read says more than one that was not.
                seen = seen.or(read.err());
                break;
            };
            let Some(first) = seen.take() else {
                let again = may_be_flaky(&result) && *stop.borrow() == Stop::Run;
                seen = Some(result);
                if again { continue } else { break }
            };
            let observed = both(&first, result, before.as_deref());
            let differs = observed.flaky.len() > first.flaky.len() || observed.passed();
            let changed = match &suite.witness {
                Some(witness) if differs => witness.look().await,
                _ => Vec::new(),
            };
            if !changed.is_empty() {
                together.notes.push(otherwise(&run, &changed));
                // What holds is what was found in the files that the worker had left.
                seen = Some(CommandResult { duration: observed.duration, ..first });
                break;
            }
            let again = may_be_flaky(&observed) && *stop.borrow() == Stop::Run;
            seen = Some(observed);
            if !again {
                break;
            }
        }
        results.extend(seen);
        if together.exit == Exit::Stopped {
            break;
        }
    }
    together.exit = exit_of_all(&results, together.exit);
    (together, results)
}

/// The output of a command that ended, to be read.
#[derive(Debug)]
pub struct Reading<'a> {
    /// The command line.
    pub run: &'a str,
    /// The folder that it ran in.
    pub cwd: &'a Path,
    /// The reports that it wrote, with their names.
    pub reports: Vec<(String, Vec<u8>)>,
    /// The result from before the work began.
    pub before: Option<Arc<Before>>,
    /// Maximum time for reading.
    pub limit: Duration,
}

impl Reading<'_> {
    /// Reads what a command showed, on its output and in its reports, also of what failed before the work began. The caller's
    /// thread only waits.
    ///
    /// # Errors
    ///
    /// Reading was stopped or took too long. Then the result has only how the command ended, and the notes of the outcome
    /// say why.
    pub async fn result_of(
        self,
        outcome: &mut Outcome,
        blobs: &Arc<dyn BlobStore>,
        stop: &StopSignal,
    ) -> Result<CommandResult, CommandResult> {
        let Self { run, cwd, reports, before, limit } = self;
        let (names, reports): (Vec<String>, Vec<Vec<u8>>) = reports.into_iter().unzip();
        let mut bare = CommandResult {
            run: run.to_owned(),
            exit: outcome.exit.clone(),
            duration: outcome.duration,
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            reports: Vec::new(),
            tail: tail(outcome),
            tool: String::new(),
            failures: Vec::new(),
            failures_left_out: 0,
            flaky: Vec::new(),
            confidence: Confidence::Low,
            tests: None,
            listed: Listed::default(),
            observations: 1,
        };
        let reports = match reports.is_empty() {
            true => reports,
            false => {
                let blobs = Arc::clone(blobs);
                // A report that cannot be kept is read all the same.
                let keep = move |reports: Vec<Vec<u8>>| {
                    let kept = reports.iter().filter_map(|report| blobs.put(report).ok()).collect();
                    (reports, kept)
                };
                let (reports, kept) = blocking(move || keep(reports)).await;
                bare.reports = kept;
                reports
            }
        };
        let work = {
            let (bare, cwd, before, blobs) =
                (bare.clone(), cwd.to_owned(), before.clone(), Arc::clone(blobs));
            let ends = [outcome.answer.clone(), outcome.stderr_tail.clone()];
            move || {
                let [stdout, stderr] = [(bare.stdout, &ends[0]), (bare.stderr, &ends[1])]
                    .map(|(blob, end)| within_bounds(whole(blob.as_ref(), end, &*blobs, STREAM_MAX)));
                let printed = Printed { stdout, stderr, reports: Cow::Owned(reports) };
                let mut result = read(bare, &cwd, &printed, before.as_deref(), &*blobs);
                let notes = name_unread(&mut result, &names, &printed.reports);
                (result, notes)
            }
        };
        match within(limit, stop, work).await {
            Ok((result, notes)) => {
                outcome.notes.extend(notes);
                Ok(result)
            }
            Err(Unfinished::Stopped) => {
                outcome.exit = Exit::Stopped;
                Err(CommandResult { exit: Exit::Stopped, ..bare })
            }
            Err(Unfinished::TimedOut(limit)) => {
                outcome
                    .notes
                    .push(unread(&format!("reading it took longer than {:.0} s", limit.as_secs_f64())));
                Err(unparsed(bare, outcome, cwd, before.as_deref()))
            }
            Err(Unfinished::NoThread(error)) => {
                outcome.notes.push(unread(&format!("the system gave no thread: {error}")));
                Err(unparsed(bare, outcome, cwd, before.as_deref()))
            }
        }
    }
}

/// Says that an output was not read.
fn unread(why: &str) -> String {
    format!("the output was not read for failures, only the exit status counts: {why}")
}

/// Returns the result of a command whose output no reader understands.
fn unparsed(bare: CommandResult, outcome: &Outcome, cwd: &Path, before: Option<&Before>) -> CommandResult {
    let cwd = cwd.to_string_lossy();
    let ends = unstuck_failures::Output {
        command: &bare.run,
        cwd: &cwd,
        exit_code: code(&bare.exit),
        stdout: outcome.answer.as_bytes(),
        stderr: outcome.stderr_tail.as_bytes(),
        ..unstuck_failures::Output::default()
    };
    let failures = unstuck_failures::unparsed(&ends);
    let naming = before.map(|before| before.result.listed.naming.clone()).unwrap_or_default();
    CommandResult { failures, listed: Listed { naming, ..Listed::default() }, ..bare }
}

fn code(exit: &Exit) -> Option<i32> {
    match exit {
        Exit::Code(code) => Some(*code),
        _ => None,
    }
}

/// Puts the names of reports that could not be read into their failures, and returns a note for each.
fn name_unread(result: &mut CommandResult, names: &[String], reports: &[Vec<u8>]) -> Vec<String> {
    let mut notes = Vec::new();
    if !result.failures.iter().any(|it| it.kind == UNREAD_REPORT) {
        return notes;
    }
    for (name, bytes) in names.iter().zip(reports) {
        let output = unstuck_failures::Output {
            exit_code: Some(0),
            reports: vec![unstuck_failures::Report { format: "", bytes }],
            ..unstuck_failures::Output::default()
        };
        for unread in unstuck_failures::extract(&output).failures.iter().filter(|it| it.kind == UNREAD_REPORT)
        {
            let said = unread.message.trim_start_matches("a report ");
            notes.push(format!("the report {name} {said}"));
            let own = result.failures.iter_mut().find(|it| it.fingerprint == unread.fingerprint);
            own.into_iter().for_each(|own| own.message = format!("the report {name} {said}"));
        }
    }
    notes
}

/// Reads again what a command showed, from what was kept of it. What was found to be flaky stays so. `before` is what it
/// showed before the work began, read again too.
///
/// # Errors
///
/// An output or a report is not there, or is damaged: what failed cannot be told then.
pub fn read_again(
    result: CommandResult,
    before: Option<&CommandResult>,
    cwd: &Path,
    blobs: &dyn BlobStore,
) -> io::Result<CommandResult> {
    let printed = Printed::kept(&result, blobs)?;
    let flaky: BTreeSet<String> = result.flaky.iter().map(gate::name).collect();
    let before = before.map(|before| {
        // What files there were, and what was in them, is known from then only.
        let mut looked_up = before.unloaded();
        let is_named = |it: &TestName| result.listed.naming.iter().any(|naming| naming.tool == it.tool);
        looked_up.extend(before.test_names().filter(|it| !is_named(it)));
        let removed = result.listed.gone.iter().filter(|it| looked_up.contains(it)).cloned().collect();
        Before::new(before.clone(), removed)
    });
    let mut result = read(result, cwd, &printed, before.as_ref(), blobs);
    result.failures.retain(|failure| !flaky.contains(&gate::name(failure)));
    Ok(result)
}

fn read(
    bare: CommandResult,
    cwd: &Path,
    printed: &Printed<'_>,
    before: Option<&Before>,
    blobs: &dyn BlobStore,
) -> CommandResult {
    let cwd = cwd.to_string_lossy();
    let exit_code = code(&bare.exit);
    let failed_before = before.map(|before| before.result.failed_tests());
    let output = unstuck_failures::Output {
        command: &bare.run,
        exit_code,
        failed_before: failed_before.as_ref(),
        ..printed.output(&cwd)
    };
    let unstuck_failures::Shown { extraction, tests, listing } = unstuck_failures::shown(&output);
    let mut failures = extraction.failures;
    let beyond = unstuck_failures::shorten(&mut failures);
    CommandResult {
        tool: extraction.tool,
        failures,
        failures_left_out: extraction.failures_left_out.saturating_add(beyond),
        confidence: extraction.confidence,
        tests,
        listed: listed(&listing, &bare, before, &cwd, blobs),
        ..bare
    }
}

/// Says what became of the tests that ended before the work began.
fn listed(
    listing: &Listing,
    result: &CommandResult,
    before: Option<&Before>,
    cwd: &str,
    blobs: &dyn BlobStore,
) -> Listed {
    let none = Listing::default();
    let Some(before) = before else { return listing.listed(&[], &none) };
    let failed = &before.result.listed.failed;
    // Only where names of what passed can be missing it is worth the time.
    let known = match listing.names_passed() {
        true => before.listing.get_or_init(|| listing_of(&before.result, cwd, blobs)),
        false => &none,
    };
    // Where only the end of an output was read, a name may stand before it.
    let is_cut = is_cut(result, blobs) || is_cut(&before.result, blobs);
    let mut listed = match is_cut {
        true => listing.listed(failed, known),
        false => listing.since(failed, known),
    };
    if is_cut {
        listed.naming.clone_from(&before.result.listed.naming);
    }
    let is_new = |it: &&TestName| !listed.gone.contains(it) && !listed.ran.contains(it);
    let removed: Vec<TestName> = before.removed.iter().filter(is_new).cloned().collect();
    listed.gone.extend(removed);
    listed
}

/// Says whether it printed more than is read of it. What cannot be read is not complete.
fn is_cut(result: &CommandResult, blobs: &dyn BlobStore) -> bool {
    let has_many_lines = |blob: &Blob| {
        let may_have = usize::try_from(blob.size).is_ok_and(|size| size > LINES_MAX);
        may_have && latest(blob, blobs, STREAM_MAX).map_or(true, |bytes| start_of_last_lines(&bytes) > 0)
    };
    result.reports.iter().any(|it| it.size > REPORT_MAX)
        || [&result.stdout, &result.stderr]
            .into_iter()
            .flatten()
            .any(|it| it.size > STREAM_MAX || has_many_lines(it))
}

/// Keeps the last lines of an output, at most [`LINES_MAX`].
fn within_bounds(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.drain(..start_of_last_lines(&bytes));
    bytes
}

/// Returns the end of an output, as much as is read for failures.
pub(crate) fn last_part(bytes: &[u8]) -> &[u8] {
    let size = usize::try_from(STREAM_MAX).unwrap_or(usize::MAX);
    let end = &bytes[bytes.len().saturating_sub(size)..];
    // A line that is cut says something else.
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
fn listing_of(result: &CommandResult, cwd: &str, blobs: &dyn BlobStore) -> Listing {
    let printed = Printed::kept(result, blobs);
    printed.map_or_else(|_| Listing::default(), |printed| unstuck_failures::list(&printed.output(cwd)))
}

/// What a command printed on both streams, and the reports that it wrote.
struct Printed<'a> {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    reports: Cow<'a, [Vec<u8>]>,
}

impl Printed<'_> {
    /// Reads what was kept of it.
    fn kept(result: &CommandResult, blobs: &dyn BlobStore) -> io::Result<Self> {
        let read = |blob: &Option<Blob>| {
            blob.as_ref()
                .map_or_else(|| Ok(Vec::new()), |blob| end_of(blob, blobs, STREAM_MAX))
                .map(within_bounds)
        };
        let reports =
            result.reports.iter().map(|blob| end_of(blob, blobs, REPORT_MAX)).collect::<io::Result<_>>()?;
        Ok(Self {
            stdout: read(&result.stdout)?,
            stderr: read(&result.stderr)?,
            reports: Cow::Owned(reports),
        })
    }

    fn output<'o>(&'o self, cwd: &'o str) -> unstuck_failures::Output<'o> {
        let reports =
            self.reports.iter().map(|bytes| unstuck_failures::Report { format: "", bytes }).collect();
        unstuck_failures::Output {
            cwd,
            stdout: &self.stdout,
            stderr: &self.stderr,
            reports,
            ..unstuck_failures::Output::default()
        }
    }
}

/// Returns all of an output; the end of one of more than `max` bytes.
pub(crate) fn whole(blob: Option<&Blob>, text: &str, blobs: &dyn BlobStore, max: u64) -> Vec<u8> {
    let Some(blob) = blob.filter(|blob| blob.size > u64::try_from(text.len()).unwrap_or(u64::MAX)) else {
        return text.as_bytes().to_vec();
    };
    latest(blob, blobs, max).unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// Reads the end of an output that this process has just stored. If it is a file, the part in front of the end is
/// skipped, whatever its size.
fn latest(blob: &Blob, blobs: &dyn BlobStore, max: u64) -> io::Result<Vec<u8>> {
    let Some(path) = blobs.file(blob).filter(|_| blob.size > max) else {
        return end_of(blob, blobs, max);
    };
    let mut file = folder::open_file(&path)?;
    file.seek(io::SeekFrom::Start(blob.size - max))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads an output that was kept; the end of one of more than `max` bytes. An empty one is not stored.
fn end_of(blob: &Blob, blobs: &dyn BlobStore, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if blob.size == 0 {
        return Ok(bytes);
    }
    let mut reader = blobs.open(blob)?;
    let skipped = blob.size.saturating_sub(max);
    io::copy(&mut reader.by_ref().take(skipped), &mut io::sink())?;
    reader.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the end of what was printed: of standard error if there is anything, since standard output may be
/// nothing but progress.
pub(crate) fn tail(outcome: &Outcome) -> String {
    let text = match (outcome.answer.trim().is_empty(), outcome.stderr_tail.trim().is_empty()) {
        (true, _) => outcome.stderr_tail.clone(),
        (_, true) => outcome.answer.clone(),
        (false, false) => format!("{}\n{}", outcome.answer.trim_end(), outcome.stderr_tail),
    };
    clip::tail(unstuck_failures::plain(text.as_bytes()).trim_end(), CommandResult::TAIL_MAX).to_owned()
}

/// Says whether a command that passed left tests out, as far as it counts or names them: some were skipped, or none was run.
pub fn leaves_tests_out(result: &CommandResult, cwd: &Path, blobs: &dyn BlobStore) -> bool {
    result.tests.is_some_and(|tests| tests.skipped > 0 || tests.ran() == 0)
        || listing_of(result, &cwd.to_string_lossy(), blobs).names_excused()
}

/// Says why what failed at first does not count as flaky.
fn otherwise(run: &str, changed: &[String]) -> String {
    const NAMED_MAX: usize = 5;
    let named = changed.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if changed.len() > NAMED_MAX { ", ..." } else { "" };
    format!(
        "`{run}` showed something else when it was run again, but it had changed {named}{more} by then: that does not count"
    )
}

/// Says whether running it again may show something else. What hangs or cannot be run is not tried again.
fn may_be_flaky(result: &CommandResult) -> bool {
    matches!(result.exit, Exit::Code(_)) && !result.passed() && !result.exit.could_not_run()
}

/// Puts another observation beside those before: what failed each time is kept.
fn both(before: &CommandResult, now: CommandResult, baseline: Option<&Before>) -> CommandResult {
    let failed = baseline.map_or(&[][..], |baseline| &baseline.result.listed.failed);
    let (old, new) = (before.set(), now.set());
    let passed = now.passed();
    // Where each has something that the other has not, it may be one failure that changes its name.
    let changes = !passed && !old.without(&new).is_empty() && !new.without(&old).is_empty();
    let in_both = |it: &Failure| old.contains(&it.fingerprint) && new.contains(&it.fingerprint);
    let stays = |it: &Failure| changes || (!passed && in_both(it));
    let mut told: BTreeSet<Fingerprint> = before.flaky.iter().map(|it| it.fingerprint.clone()).collect();
    let come_and_go = now.failures.iter().chain(&before.failures).filter(|it| !stays(it));
    let more = come_and_go.filter(|it| told.insert(it.fingerprint.clone())).cloned();
    CommandResult {
        flaky: before.flaky.iter().cloned().chain(more).collect(),
        failures: now.failures.iter().filter(|it| stays(it)).cloned().collect(),
        duration: before.duration.plus(now.duration),
        listed: before.listed.and(&now.listed, failed),
        observations: before.observations.saturating_add(1),
        ..now
    }
}

/// Adds what one command left to what all have left.
fn add(together: &mut Outcome, run: &str, outcome: Outcome) {
    together.duration = together.duration.plus(outcome.duration);
    together.processes_ended = together.processes_ended.saturating_add(outcome.processes_ended);
    together.redactions = together.redactions.saturating_add(outcome.redactions);
    together.notes.extend(outcome.notes.iter().map(|note| format!("`{run}`: {note}")));
    if together.fatal.is_none() {
        together.fatal.clone_from(&outcome.fatal);
    }
    if outcome.exit != Exit::Code(0) {
        together.stderr_tail = tail(&outcome);
    }
    if outcome.exit == Exit::Stopped {
        together.exit = Exit::Stopped;
    }
}

/// Returns how all ended together: what could not be run counts first, then what hung.
fn exit_of_all(results: &[CommandResult], so_far: Exit) -> Exit {
    if so_far == Exit::Stopped {
        return so_far;
    }
    let first =
        |wanted: fn(&Exit) -> bool| results.iter().map(|it| &it.exit).find(|exit| wanted(exit)).cloned();
    first(|exit| exit.could_not_run() || matches!(exit, Exit::Asks(_)))
        .or_else(|| first(|exit| matches!(exit, Exit::TimedOut | Exit::Idle | Exit::Probed(_))))
        .or_else(|| first(|exit| *exit != Exit::Code(0)).map(|_| Exit::Code(1)))
        .unwrap_or(Exit::Code(0))
}
