//! Runs the commands of a check, one after the other, and reads what failed from their output.
//!
//! A failing command can run several times: a failure that is not in every run is flaky.
//! [`unstuck_failures::check_command`] parses the output. Blobs keep the full output, so that a better parser can read
//! it later.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::evidence::CommandResult;
use unstuck_core::id::Blob;
use unstuck_core::judge::gate;
use unstuck_core::truncate;
use unstuck_core::workflow::Gate;
use unstuck_failures::check_command::{self, BaselineOutput, CheckOutput, STREAM_MAX};
use unstuck_failures::{Confidence, Failure, Fingerprint, RecordedTestNames, UNREAD_REPORT};
use unstuck_files::safe_dir;
use unstuck_process as process;
use unstuck_process::blocking_task::{Unfinished, blocking, run_with_limit};
use unstuck_process::redact::Redactor;
use unstuck_process::{ProcessSpec, StopReceiver, StopRequest};
use unstuck_store::blobs::BlobStore;

use crate::remaining;
use crate::reports::Reports;

/// Maximum time for reading one output. Reading is linear, so only a fault of a reader or a busy machine takes it.
pub const READING_MAX: Duration = Duration::from_secs(60);

/// Minimum time for reading the output of a command that used all of the time of its check.
const READING_MIN: Duration = Duration::from_secs(1);

/// The commands of a check.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The commands, in their order.
    pub commands: Vec<SuiteCommand>,
    /// How often one is run whose failures are new; at least 1.
    pub observations: u32,
    /// Most time of all together.
    pub limit: Duration,
    /// Sees what they change, where anybody looks.
    pub witness: Option<SideEffectCheck>,
}

/// Says which files of the repository are not what they were before the check.
#[derive(Clone)]
pub struct SideEffectCheck(pub Arc<dyn Fn() -> Vec<String> + Send + Sync>);

impl fmt::Debug for SideEffectCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SideEffectCheck")
    }
}

impl SideEffectCheck {
    /// Returns the changed files; runs on another thread.
    pub async fn changed_files(&self) -> Vec<String> {
        let look = Arc::clone(&self.0);
        blocking(move || look()).await
    }
}

/// A command of a check.
#[derive(Clone, Debug)]
pub struct SuiteCommand {
    /// Its command line.
    pub run: String,
    /// How it is run.
    pub spec: ProcessSpec,
    /// Patterns of the reports that it writes, from the folder that it runs in.
    pub reports: Vec<String>,
    /// The result in the baseline.
    pub before: Option<Arc<BaselineOutput>>,
    /// The result in the last check.
    pub last: Option<CommandResult>,
    /// Which failures decide.
    pub gate: Gate,
}

/// Runs all commands, even after one fails, since each checks something else. Returns their combined outcome and the
/// result of each. Stops early if `stop` requests it or the time limit is reached.
pub async fn run(
    suite: Suite,
    blobs: &Arc<dyn BlobStore>,
    redactor: &Redactor,
    stop: StopReceiver,
    mut show: impl FnMut(&str) + Send,
) -> (Outcome, Vec<CommandResult>) {
    let end = Instant::now() + suite.limit;
    let mut together = Outcome::from_exit(Exit::Code(0));
    let mut results = Vec::new();
    for SuiteCommand { run, spec, reports, before, last, gate } in suite.commands {
        let mut seen: Option<CommandResult> = None;
        for _ in 0..suite.observations.max(1) {
            let spec = ProcessSpec { limit: end.saturating_duration_since(Instant::now()), ..spec.clone() };
            let cwd = spec.cwd.clone();
            let reports_before = Reports::find(&cwd, &reports);
            let mut outcome = process::run(spec, &**blobs, redactor, stop.clone(), &mut show).await;
            let (reports, notes) = reports_before.read_new();
            outcome.notes.extend(notes);
            let redacted = |(name, bytes): &(String, Vec<u8>)| {
                (name.clone(), redactor.redact_bytes(bytes).0.into_owned())
            };
            let reports = reports.iter().map(redacted).collect();
            let limit = end.saturating_duration_since(Instant::now()).clamp(READING_MIN, READING_MAX);
            let reading = EndedCommand { run: &run, cwd: &cwd, reports, before: before.clone(), limit };
            let read = reading.result_of(&mut outcome, blobs, &stop).await;
            add_outcome(&mut together, &run, outcome);
            let Ok(result) = read else {
                // An earlier observation that was read says more than one that was not.
                seen = seen.or(read.err());
                break;
            };
            let Some(first) = seen.take() else {
                let base = before.as_deref().map(|before| &before.result);
                let again = may_be_flaky(&result)
                    && gate::is_worth_repeating(gate, base, last.as_ref(), &result)
                    && *stop.borrow() == StopRequest::Run;
                seen = Some(result);
                if again { continue } else { break }
            };
            let observed = merge(&first, result, before.as_deref());
            let differs = observed.flaky.len() > first.flaky.len() || observed.passed();
            let changed = match &suite.witness {
                Some(witness) if differs => witness.changed_files().await,
                _ => Vec::new(),
            };
            if !changed.is_empty() {
                together.notes.push(rerun_note(&run, &changed));
                // The first result counts, since it comes from the files as the worker left them.
                seen = Some(CommandResult { duration: observed.duration, ..first });
                break;
            }
            let again = may_be_flaky(&observed) && *stop.borrow() == StopRequest::Run;
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
pub struct EndedCommand<'a> {
    /// The command line.
    pub run: &'a str,
    /// The folder that it ran in.
    pub cwd: &'a Path,
    /// The reports that it wrote, with their names.
    pub reports: Vec<(String, Vec<u8>)>,
    /// The result from before the work began.
    pub before: Option<Arc<BaselineOutput>>,
    /// Maximum time for reading.
    pub limit: Duration,
}

impl EndedCommand<'_> {
    /// Parses the output and the reports of a command, including failures from before the work began. The caller's
    /// thread only waits.
    ///
    /// # Errors
    ///
    /// Parsing was stopped or took too long. Then the result has only the exit of the command, and the notes of the
    /// outcome give the reason.
    pub async fn result_of(
        self,
        outcome: &mut Outcome,
        blobs: &Arc<dyn BlobStore>,
        stop: &StopReceiver,
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
            listed: RecordedTestNames::default(),
            observations: 1,
            numbers: Vec::new(),
        };
        let reports = match reports.is_empty() {
            true => reports,
            false => {
                let blobs = Arc::clone(blobs);
                // Parse a report even if it cannot be stored.
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
                    .map(|(blob, end)| full_output(blob.as_ref(), end, &*blobs, STREAM_MAX));
                let printed = CheckOutput::new(stdout, stderr, reports);
                let kept = |blob: &Blob, max| blobs.end(blob, max);
                let mut result =
                    check_command::read(bare, &cwd.to_string_lossy(), &printed, before.as_deref(), &kept);
                remaining::count(&mut result.failures, &cwd);
                let notes = name_unread(&mut result, &names, &printed.reports);
                (result, notes)
            }
        };
        match run_with_limit(limit, stop, work).await {
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
                    .push(unread_note(&format!("reading it took longer than {:.0} s", limit.as_secs_f64())));
                Err(unparsed(bare, outcome, cwd, before.as_deref()))
            }
            Err(Unfinished::NoThread(error)) => {
                outcome.notes.push(unread_note(&format!("the system gave no thread: {error}")));
                Err(unparsed(bare, outcome, cwd, before.as_deref()))
            }
        }
    }
}

/// Says that an output was not read.
fn unread_note(why: &str) -> String {
    format!("the output was not read for failures, only the exit status counts: {why}")
}

/// Returns the result of a command whose output no reader understands.
fn unparsed(
    bare: CommandResult,
    outcome: &Outcome,
    cwd: &Path,
    before: Option<&BaselineOutput>,
) -> CommandResult {
    let cwd = cwd.to_string_lossy();
    let ends = unstuck_failures::ToolOutput {
        command: &bare.run,
        cwd: &cwd,
        exit_code: bare.exit.code(),
        stdout: outcome.answer.as_bytes(),
        stderr: outcome.stderr_tail.as_bytes(),
        ..unstuck_failures::ToolOutput::default()
    };
    let failures = unstuck_failures::unparsed(&ends);
    let naming = before.map(|before| before.result.listed.naming.clone()).unwrap_or_default();
    CommandResult { failures, listed: RecordedTestNames { naming, ..RecordedTestNames::default() }, ..bare }
}

/// Puts the names of reports that could not be read into their failures, and returns a note for each.
fn name_unread(result: &mut CommandResult, names: &[String], reports: &[Vec<u8>]) -> Vec<String> {
    let mut notes = Vec::new();
    if !result.failures.iter().any(|failure| failure.kind == UNREAD_REPORT) {
        return notes;
    }
    for (name, bytes) in names.iter().zip(reports) {
        let output = unstuck_failures::ToolOutput {
            exit_code: Some(0),
            reports: vec![unstuck_failures::MachineReport { format: "", bytes }],
            ..unstuck_failures::ToolOutput::default()
        };
        for unread in
            unstuck_failures::extract(&output).failures.iter().filter(|failure| failure.kind == UNREAD_REPORT)
        {
            let said = unread.message.trim_start_matches("a report ");
            notes.push(format!("the report {name} {said}"));
            let own = result.failures.iter_mut().find(|failure| failure.fingerprint == unread.fingerprint);
            own.into_iter().for_each(|own| own.message = format!("the report {name} {said}"));
        }
    }
    notes
}

/// Returns all of an output; the end of one of more than `max` bytes.
pub(crate) fn full_output(blob: Option<&Blob>, text: &str, blobs: &dyn BlobStore, max: u64) -> Vec<u8> {
    let Some(blob) = blob.filter(|blob| blob.size > u64::try_from(text.len()).unwrap_or(u64::MAX)) else {
        return text.as_bytes().to_vec();
    };
    read_end(blob, blobs, max).unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// Reads the end of an output that this process has just stored. If it is a file, the part in front of the end is
/// skipped, whatever its size.
fn read_end(blob: &Blob, blobs: &dyn BlobStore, max: u64) -> io::Result<Vec<u8>> {
    let Some(path) = blobs.file(blob).filter(|_| blob.size > max) else {
        return blobs.end(blob, max);
    };
    let mut file = safe_dir::open_file(&path)?;
    file.seek(io::SeekFrom::Start(blob.size - max))?;
    let mut bytes = Vec::new();
    file.take(max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the end of the output, with standard error last, since standard output may be only progress.
pub(crate) fn tail(outcome: &Outcome) -> String {
    let text = match (outcome.answer.trim().is_empty(), outcome.stderr_tail.trim().is_empty()) {
        (true, _) => outcome.stderr_tail.clone(),
        (_, true) => outcome.answer.clone(),
        (false, false) => format!("{}\n{}", outcome.answer.trim_end(), outcome.stderr_tail),
    };
    truncate::tail(unstuck_failures::plain(text.as_bytes()).trim_end(), CommandResult::TAIL_MAX).to_owned()
}

/// Says why what failed at first does not count as flaky.
fn rerun_note(run: &str, changed: &[String]) -> String {
    const NAMED_MAX: usize = 5;
    let named = changed.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if changed.len() > NAMED_MAX { ", ..." } else { "" };
    format!(
        "`{run}` showed something else when it was run again, but it had changed {named}{more} by then: that does not count"
    )
}

/// Returns whether another run may have another result. A command that hangs or cannot run is not retried.
fn may_be_flaky(result: &CommandResult) -> bool {
    matches!(result.exit, Exit::Code(_)) && !result.passed() && !result.exit.could_not_run()
}

/// Merges another observation: failures of every observation are kept.
fn merge(before: &CommandResult, now: CommandResult, baseline: Option<&BaselineOutput>) -> CommandResult {
    let failed = baseline.map_or(&[][..], |baseline| &baseline.result.listed.failed);
    let (old, new) = (before.set(), now.set());
    let passed = now.passed();
    // If each run has a failure that the other lacks, it may be one failure that changes its name.
    let changes = !passed && !old.without(&new).is_empty() && !new.without(&old).is_empty();
    let in_both =
        |failure: &Failure| old.contains(&failure.fingerprint) && new.contains(&failure.fingerprint);
    let stays = |failure: &Failure| changes || (!passed && in_both(failure));
    let mut told: BTreeSet<Fingerprint> =
        before.flaky.iter().map(|failure| failure.fingerprint.clone()).collect();
    let come_and_go = now.failures.iter().chain(&before.failures).filter(|failure| !stays(failure));
    let more = come_and_go.filter(|failure| told.insert(failure.fingerprint.clone())).cloned();
    CommandResult {
        flaky: before.flaky.iter().cloned().chain(more).collect(),
        failures: now.failures.iter().filter(|failure| stays(failure)).cloned().collect(),
        duration: before.duration.plus(now.duration),
        listed: before.listed.merge(&now.listed, failed),
        observations: before.observations.saturating_add(1),
        ..now
    }
}

/// Adds the outcome of one command to the combined outcome.
fn add_outcome(together: &mut Outcome, run: &str, outcome: Outcome) {
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

/// Returns the combined exit: a command that could not run counts first, then one that hung.
fn exit_of_all(results: &[CommandResult], so_far: Exit) -> Exit {
    if so_far == Exit::Stopped {
        return so_far;
    }
    let first = |wanted: fn(&Exit) -> bool| {
        results.iter().map(|result| &result.exit).find(|exit| wanted(exit)).cloned()
    };
    first(|exit| exit.could_not_run() || matches!(exit, Exit::Asks(_)))
        .or_else(|| first(|exit| matches!(exit, Exit::TimedOut | Exit::Idle | Exit::Probed(_))))
        .or_else(|| first(|exit| *exit != Exit::Code(0)).map(|_| Exit::Code(1)))
        .unwrap_or(Exit::Code(0))
}
