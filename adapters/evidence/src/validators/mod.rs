//! Runs the validators of a step, one after the other, and reads what each found.
//!
//! Every validator is run, also after one that failed, so that a worker learns of all problems at once. One that
//! a signal or its time limit ended is run once more. The whole output is kept in blobs.
//!
//! # Map
//!
//! - Runs commands: this file, with `git_excludes` (what git is kept from), `repository` and `assume_unchanged` (files that no git command sees).
//! - Reads what they left, without a file or a clock: [`success_condition`] (exit codes), [`outcome_details`] and [`mod@extract`] (outputs), [`failure_report`],
//!   [`checklist`], [`custom`].

mod assume_unchanged;
pub mod checklist;
mod context;
pub mod custom;
pub mod extract;
pub mod failure_report;
mod git_excludes;
pub mod outcome_details;
mod repository;
pub mod success_condition;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use unstuck_core::completion::{
    Checklist, Condition, Extractor, GIT_STATUS, SuccessWhen, Validator, ValidatorKind,
};
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::evidence::{ValidatorOutcome, ValidatorResult};
use unstuck_core::id::Millis;
use unstuck_failures::check_command;
use unstuck_files::Read;
use unstuck_files::safe_dir;
use unstuck_process as process;
use unstuck_process::blocking_task::{Unfinished, run_with_limit};
use unstuck_process::inherited;
use unstuck_process::redact::Redactor;
use unstuck_process::shell_quote::wrap_command;
use unstuck_process::{IdlePolicy, ProcessSpec, StopReceiver, StopRequest};
use unstuck_store::blobs::BlobStore;
use unstuck_workspace::git;

use self::assume_unchanged::CleanIndex;
pub use self::context::ValidatorContext;
use self::extract::{ParsedOutput, RepositoryInfo, ValidatorOutput};
use self::git_excludes::GitExcludes;
use self::outcome_details::OutcomeDetails;
use self::success_condition::{CommandEnd, judge};
use crate::checks::{READING_MAX, full_output};
use crate::remaining;

/// Most bytes that a validator may print: an endless one must not fill the disk.
pub const OUTPUT_MAX: u64 = 64 << 20;

/// Variables that change what `sh` does before the command begins.
const OF_SHELLS: [&str; 3] = ["ENV", "BASH_ENV", "CDPATH"];

/// Runs all conditions in order, except those with a known result. `known` has one entry for each condition, since one
/// validator can run several times with different params.
///
/// Stops early if `stop` requests it, or, with `stop_at_first`, at the first condition that does not pass.
pub async fn run(
    conditions: &[Condition],
    place: &ValidatorContext,
    known: Vec<Option<ValidatorResult>>,
    blobs: &Arc<dyn BlobStore>,
    redactor: &Redactor,
    stop: StopReceiver,
    mut show: impl FnMut(&str) + Send,
) -> Vec<ValidatorResult> {
    let end = Instant::now() + place.limit;
    let bench = ValidatorRun { place, blobs, redactor, excludes: GitExcludes::new(place) };
    let mut results: Vec<ValidatorResult> = Vec::new();
    let mut known = known.into_iter();
    for condition in conditions {
        let begun = Instant::now();
        let validator = &condition.validator;
        if let Some(result) = known.next().flatten() {
            results.push(result);
            continue;
        }
        let mut result = match &validator.run {
            ValidatorKind::Files(paths) => bench.check_files(condition, paths),
            ValidatorKind::Checklist(checklist) => bench.check_checklist(validator, checklist),
            ValidatorKind::Command(command) | ValidatorKind::Custom(command) => {
                bench.run_command(condition, command, end, &stop, &mut show).await
            }
        };
        result.duration = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let ends = place.stop_at_first && !result.passed() || result.exit == Exit::Stopped;
        results.push(result);
        if ends || *stop.borrow() != StopRequest::Run {
            break;
        }
    }
    results
}

/// Returns the program of a command line if it is a plain name and the shell finds no such program. For a line with
/// more than one command, only a run can show that.
pub fn missing_program<'a>(
    command: &'a str,
    environment: &[(OsString, Option<OsString>)],
) -> Option<&'a str> {
    let name = command.split_whitespace().next()?;
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c))
        && name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !is_plain || command.trim().contains(|c| "|&;(){}$`\n".contains(c)) {
        return None;
    }
    let mut look = Command::new("sh");
    inherited::restrict(&mut look);
    look.args(["-c", "command -v \"$1\"", "sh", name]).stdin(Stdio::null()).stdout(Stdio::null());
    for (variable, value) in environment {
        match value {
            Some(value) => look.env(variable, value),
            None => look.env_remove(variable),
        };
    }
    let found = look.stderr(Stdio::null()).status().ok()?;
    (!found.success()).then_some(name)
}

/// Returns the result of a validator whose program is missing; `None` if only a run can show that.
pub fn absent(
    validator: &Validator,
    environment: &[(OsString, Option<OsString>)],
) -> Option<ValidatorResult> {
    let (ValidatorKind::Command(command) | ValidatorKind::Custom(command)) = &validator.run else {
        return None;
    };
    let program = missing_program(command, environment)?;
    Some(not_run_result(validator, &format!("there is no program {program}")))
}

/// The state that the validators of a check share.
struct ValidatorRun<'a> {
    place: &'a ValidatorContext,
    blobs: &'a Arc<dyn BlobStore>,
    redactor: &'a Redactor,
    excludes: Result<GitExcludes, String>,
}

impl ValidatorRun<'_> {
    /// Runs a command; once more, if a signal or its time limit ended it.
    async fn run_command(
        &self,
        condition: &Condition,
        command: &str,
        end: Instant,
        stop: &StopReceiver,
        show: &mut (impl FnMut(&str) + Send),
    ) -> ValidatorResult {
        let validator = &condition.validator;
        let excludes = match &self.excludes {
            Ok(excludes) => excludes,
            Err(why) => return not_run_result(validator, why),
        };
        let first = self.run_once(condition, command, excludes, end, stop, show).await;
        if !may_pass_next_time(&first) || *stop.borrow() != StopRequest::Run {
            return first;
        }
        self.run_once(condition, command, excludes, end, stop, show).await
    }

    async fn run_once(
        &self,
        condition: &Condition,
        command: &str,
        excludes: &GitExcludes,
        end: Instant,
        stop: &StopReceiver,
        show: &mut (impl FnMut(&str) + Send),
    ) -> ValidatorResult {
        let own = Duration::from_millis(condition.validator.timeout.0);
        let limit = own.min(end.saturating_duration_since(Instant::now()));
        let clean_index = match CleanIndex::for_command(command, &self.place.workspace, &self.place.scratch) {
            Ok(clean_index) => clean_index,
            Err(why) => return not_run_result(&condition.validator, &why),
        };
        let mut spec = self.spec(condition, command, limit, excludes);
        if command == GIT_STATUS {
            spec.env = match git::closed_environment(&self.place.workspace, &spec.env) {
                Ok(environment) => environment,
                Err(error) => {
                    return not_run_result(&condition.validator, &format!("git does not run: {error}"));
                }
            };
        }
        spec.env.extend(clean_index.as_ref().map(CleanIndex::environment));
        let outcome = process::run(spec, &**self.blobs, self.redactor, stop.clone(), show).await;
        let reading = EndedValidator {
            condition: condition.clone(),
            command: command.to_owned(),
            limit,
            outcome,
            output_max: self.place.output_max,
            workspace: self.place.workspace.clone(),
            base: self.place.base.clone(),
            blobs: Arc::clone(self.blobs),
        };
        let mut result = match run_with_limit(READING_MAX, stop, move || reading.result()).await {
            Ok(result) => result,
            Err(Unfinished::Stopped) => {
                let unread = not_run_result(&condition.validator, "it was stopped");
                ValidatorResult { exit: Exit::Stopped, ..unread }
            }
            Err(Unfinished::TimedOut(limit)) => {
                let why = format!("reading its output took longer than {:.0} s", limit.as_secs_f64());
                not_run_result(&condition.validator, &why)
            }
            Err(Unfinished::NoThread(error)) => {
                not_run_result(&condition.validator, &format!("its output was not read: no thread: {error}"))
            }
        };
        if let Some(clean_index) = clean_index.filter(|_| result.outcome == ValidatorOutcome::Fail) {
            result.error = format!("{}\n\n{}", result.error.trim_end(), clean_index.hint());
        }
        result
    }

    fn spec(
        &self,
        condition: &Condition,
        command: &str,
        limit: Duration,
        excludes: &GitExcludes,
    ) -> ProcessSpec {
        let mut env = self.place.environment.clone();
        env.extend(OF_SHELLS.iter().map(|name| ((*name).into(), None)));
        env.extend(excludes.environment().iter().cloned());
        env.extend(condition.params.iter().map(|(name, value)| (name.into(), Some(value.into()))));
        let mut argv: Vec<OsString> = ["sh", "-c", command].map(Into::into).to_vec();
        if self.place.wrap.is_some() && !condition.params.is_empty() {
            // A container does not inherit the environment.
            let params = condition.params.iter().map(|(name, value)| format!("{name}={value}").into());
            argv = std::iter::once("env".into()).chain(params).chain(argv).collect();
        }
        ProcessSpec {
            argv: wrap_command(self.place.wrap.as_deref(), argv),
            cwd: self.place.workspace.clone(),
            env,
            stdin: Vec::new(),
            limit,
            output_max: self.place.output_max,
            // Its time limit ends it, and says so.
            patience: IdlePolicy { idle: limit.saturating_mul(2), verdict: None, probe: None },
            asks: Vec::new(),
            grace: self.place.grace,
            mark: self.place.mark.clone(),
        }
    }

    /// Checks whether files exist. The path of a folder ends with a slash.
    fn check_files(&self, condition: &Condition, paths: &[String]) -> ValidatorResult {
        let validator = &condition.validator;
        if !self.place.workspace.is_dir() {
            return not_run_result(
                validator,
                &format!("there is no folder {}", self.place.workspace.display()),
            );
        }
        let mut missing = Vec::new();
        for path in paths {
            match entry_exists(&self.place.workspace.join(path), path.ends_with('/')) {
                Ok(true) => {}
                Ok(false) if missing.contains(path) => {}
                Ok(false) => missing.push(path.clone()),
                Err(error) => {
                    return not_run_result(validator, &format!("{path} cannot be looked at: {error}"));
                }
            }
        }
        let (found, exit) = match missing.is_empty() {
            true => (ValidatorOutcome::Pass, Exit::Code(0)),
            false => (ValidatorOutcome::Fail, Exit::Code(1)),
        };
        let cwd = self.place.workspace.to_string_lossy();
        let facts = ParsedOutput::new(ValidatorOutput {
            command: "",
            cwd: &cwd,
            exit: &exit,
            stdout: b"",
            stderr: b"",
            failed: found == ValidatorOutcome::Fail,
            asked: paths,
            missing: &missing,
            repository: None,
            below_root: "",
        });
        let details = OutcomeDetails::new(condition, &found, &facts);
        ValidatorResult { exit: exit.clone(), ..result_of(validator, found, details) }
    }

    /// Reads a checklist.
    fn check_checklist(&self, validator: &Validator, list: &Checklist) -> ValidatorResult {
        const BYTES_MAX: u64 = 8 << 20;
        // A worker may have put anything there, even a pipe without a writer.
        let path = self.place.workspace.join(&list.path);
        let bytes = match path.canonicalize().and_then(|path| safe_dir::open_file(&path)) {
            Ok(file) => match safe_dir::read_small(file, BYTES_MAX) {
                Read::Found(bytes) => Some(self.redactor.redact_bytes(&bytes).0.into_owned()),
                Read::Absent => {
                    return not_run_result(validator, &format!("the checklist {} is not a file", list.path));
                }
                Read::Unreadable(why) => {
                    return not_run_result(
                        validator,
                        &format!("the checklist {} cannot be read: {why}", list.path),
                    );
                }
            },
            Err(error) if is_absent(&error) => None,
            Err(error) => {
                return not_run_result(
                    validator,
                    &format!("the checklist {} cannot be read: {error}", list.path),
                );
            }
        };
        let began = self.place.checklists.get(&list.path).map(|bytes| self.redactor.redact_bytes(bytes).0);
        let reading = checklist::read(list, bytes.as_deref(), began.as_deref());
        let details = OutcomeDetails::from_checklist(validator, &list.path, &reading);
        let exit = Exit::Code(i32::from(reading.outcome != ValidatorOutcome::Pass));
        ValidatorResult { exit, ..result_of(validator, reading.outcome, details) }
    }
}

/// The output of a command, with all that its judgement needs. Another thread reads it.
struct EndedValidator {
    condition: Condition,
    command: String,
    limit: Duration,
    outcome: Outcome,
    output_max: u64,
    workspace: PathBuf,
    base: Option<String>,
    blobs: Arc<dyn BlobStore>,
}

impl EndedValidator {
    /// Reads what a command left behind.
    fn result(self) -> ValidatorResult {
        let Self { condition, command, limit, outcome, .. } = &self;
        let validator = &condition.validator;
        // A judgement by the end alone would pass what says at its beginning that it failed.
        let all = self.output_max;
        let stdout = full_output(outcome.stdout.as_ref(), &outcome.answer, &*self.blobs, all);
        let stderr = full_output(outcome.stderr.as_ref(), &outcome.stderr_tail, &*self.blobs, all);
        let cwd = self.workspace.to_string_lossy();
        let repository = self.repository(validator);
        let below_root = repository::below_root(command, &self.workspace);
        let raw = ValidatorOutput {
            command,
            cwd: &cwd,
            exit: &outcome.exit,
            stdout: check_command::last_part(&stdout),
            stderr: check_command::last_part(&stderr),
            failed: false,
            asked: &[],
            missing: &[],
            repository: repository.as_ref(),
            below_root: &below_root,
        };
        let facts = ParsedOutput::new(raw);
        let ended = CommandEnd {
            exit: raw.exit,
            stdout: &stdout,
            stderr: &stderr,
            recognized: facts.is_reported_by_tool(),
            limit: Millis(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            output_max: self.output_max,
        };
        let (found, reported) = judge_command(validator, &ended);
        let facts = facts.with_failed(found != ValidatorOutcome::Pass);
        let mut details = OutcomeDetails::new(condition, &found, &facts);
        if let Some(reported) = reported {
            details = details.with_report(condition, &found, reported);
        }
        details.failures.truncate(unstuck_failures::FAILURES_MAX);
        unstuck_failures::shorten(&mut details.failures);
        remaining::count(&mut details.failures, &self.workspace);
        let has_failed = found == ValidatorOutcome::Fail;
        let numbers =
            if has_failed { unstuck_failures::number_lines([&stdout[..], &stderr]) } else { Vec::new() };
        ValidatorResult {
            exit: outcome.exit.clone(),
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            numbers,
            ..result_of(validator, found, details)
        }
    }

    /// Asks for the state of the repository, where something of it is extracted.
    fn repository(&self, validator: &Validator) -> Option<RepositoryInfo> {
        let asked = [Extractor::BranchName, Extractor::RemoteStatus, Extractor::MergeStatus];
        let wanted = validator.extract.values().any(|extractor| asked.contains(extractor));
        wanted.then(|| repository::read(&self.workspace, self.base.as_deref())).flatten()
    }
}

/// Says whether a signal or the time limit ended it.
fn may_pass_next_time(result: &ValidatorResult) -> bool {
    matches!(result.outcome, ValidatorOutcome::CouldNotRun(_))
        && matches!(
            result.exit,
            Exit::Signal(_) | Exit::TimedOut | Exit::Idle | Exit::Probed(_) | Exit::Code(129..160)
        )
}

/// Judges how a command ended, and what one with a contract reported of itself.
fn judge_command(
    validator: &Validator,
    how: &CommandEnd<'_>,
) -> (ValidatorOutcome, Option<custom::CustomOutput>) {
    let default = SuccessWhen::ExitCode(vec![0]);
    let success_when = validator.success_when.as_ref().unwrap_or(&default);
    let reported = match validator.run {
        ValidatorKind::Custom(_) => custom::read(how.stdout).transpose(),
        _ => Ok(None),
    };
    // The output of a validator that reports its own result contains that result, so it does not decide the outcome.
    let by_exit = match (&reported, success_when) {
        (Ok(Some(_)) | Err(_), SuccessWhen::Empty | SuccessWhen::Contains(_) | SuccessWhen::Matches(_)) => {
            &default
        }
        _ => success_when,
    };
    let ended = judge(by_exit, &validator.exit_codes, how);
    match reported {
        Ok(None) => (ended, None),
        // The output of a command that did not finish can be cut off.
        Err(_) if matches!(ended, ValidatorOutcome::CouldNotRun(_)) => (ended, None),
        Err(why) => (ValidatorOutcome::CouldNotRun(why), None),
        Ok(Some(reported)) => {
            let ran = matches!(how.exit, Exit::Code(code) if validator.exit_codes.contains(code));
            (custom::judge(&reported, ended, ran), Some(reported))
        }
    }
}

/// Returns the result of a validator without output.
fn result_of(validator: &Validator, outcome: ValidatorOutcome, details: OutcomeDetails) -> ValidatorResult {
    ValidatorResult {
        validator: validator.name.clone(),
        outcome,
        exit: Exit::Code(0),
        duration: Millis(0),
        stdout: None,
        stderr: None,
        stdout_end: details.stdout,
        stderr_end: details.stderr,
        error: details.error,
        report: details.report,
        params: details.params,
        failures: details.failures,
        unparsed: details.unparsed,
        cached: false,
        numbers: Vec::new(),
    }
}

/// Returns the result of a validator that was not begun.
fn not_run_result(validator: &Validator, why: &str) -> ValidatorResult {
    let details = OutcomeDetails::could_not_run(validator, why);
    let outcome = ValidatorOutcome::CouldNotRun(why.to_owned());
    ValidatorResult { exit: Exit::CouldNotStart(why.to_owned()), ..result_of(validator, outcome, details) }
}

fn entry_exists(path: &Path, folder: bool) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok(if folder { found.is_dir() } else { found.is_file() }),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename
    )
}
