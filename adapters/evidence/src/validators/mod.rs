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
pub mod custom;
pub mod extract;
pub mod failure_report;
mod git_excludes;
pub mod outcome_details;
mod repository;
pub mod success_condition;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use unstuck_core::completion::{Checklist, Condition, Extractor, GIT_STATUS, Run, SuccessWhen, Validator};
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::evidence::{ValidatorOutcome, ValidatorResult};
use unstuck_core::id::Millis;
use unstuck_failures::check_command;
use unstuck_files::Read;
use unstuck_files::safe_dir;
use unstuck_process as process;
use unstuck_process::blocking_task::{Unfinished, within};
use unstuck_process::inherited;
use unstuck_process::redact::Redactor;
use unstuck_process::shell_quote::wrapped;
use unstuck_process::{IdlePolicy, ProcessSpec, StopRequest, StopSignal};
use unstuck_store::blobs::BlobStore;
use unstuck_workspace::git;

use self::assume_unchanged::CleanIndex;
use self::extract::{ParsedOutput, RepositoryInfo, ValidatorOutput};
use self::git_excludes::GitExcludes;
use self::outcome_details::OutcomeDetails;
use self::success_condition::{CommandEnd, judge};
use crate::checks::{READING_MAX, whole};
use crate::remaining;

/// Most bytes that a validator may print: an endless one must not fill the disk.
pub const OUTPUT_MAX: u64 = 64 << 20;

/// Variables that change what `sh` does before the command begins.
const OF_SHELLS: [&str; 3] = ["ENV", "BASH_ENV", "CDPATH"];

/// Where validators are run, and within which bounds.
#[derive(Clone, Debug)]
pub struct ValidatorContext {
    /// The root of the workspace, absolute.
    pub workspace: PathBuf,
    /// Changes to the inherited environment.
    pub environment: Vec<(OsString, Option<OsString>)>,
    /// The command line that commands are run by, such as `docker run ...`.
    pub wrap: Option<String>,
    /// Most time of all together.
    pub limit: Duration,
    /// Most bytes that one may print; [`OUTPUT_MAX`].
    pub output_max: u64,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// Names the processes among all others.
    pub mark: String,
    /// Folders of Unstuck in the workspace, which git does not list.
    pub hidden: Vec<PathBuf>,
    /// A folder for files that a validator needs; best one of the hidden ones.
    pub scratch: PathBuf,
    /// Checklists as the step found them, by their paths, as far as that is known.
    pub checklists: BTreeMap<String, Vec<u8>>,
    /// The branch that unmerged commits are counted from.
    pub base: Option<String>,
    /// Whether to stop at the first condition that does not pass.
    pub stop_at_first: bool,
}

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
    stop: StopSignal,
    mut show: impl FnMut(&str) + Send,
) -> Vec<ValidatorResult> {
    let end = Instant::now() + place.limit;
    let bench = Bench { place, blobs, redactor, hiding: GitExcludes::new(place) };
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
            Run::Files(paths) => bench.files(condition, paths),
            Run::Checklist(checklist) => bench.checklist(validator, checklist),
            Run::Command(command) | Run::Custom(command) => {
                bench.command(condition, command, end, &stop, &mut show).await
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
    let (Run::Command(command) | Run::Custom(command)) = &validator.run else { return None };
    let program = missing_program(command, environment)?;
    Some(unrun(validator, &format!("there is no program {program}")))
}

/// The state that the validators of a check share.
struct Bench<'a> {
    place: &'a ValidatorContext,
    blobs: &'a Arc<dyn BlobStore>,
    redactor: &'a Redactor,
    hiding: Result<GitExcludes, String>,
}

impl Bench<'_> {
    /// Runs a command; once more, if a signal or its time limit ended it.
    async fn command(
        &self,
        condition: &Condition,
        command: &str,
        end: Instant,
        stop: &StopSignal,
        show: &mut (impl FnMut(&str) + Send),
    ) -> ValidatorResult {
        let validator = &condition.validator;
        let hiding = match &self.hiding {
            Ok(hiding) => hiding,
            Err(why) => return unrun(validator, why),
        };
        let first = self.once(condition, command, hiding, end, stop, show).await;
        if !may_pass_next_time(&first) || *stop.borrow() != StopRequest::Run {
            return first;
        }
        self.once(condition, command, hiding, end, stop, show).await
    }

    async fn once(
        &self,
        condition: &Condition,
        command: &str,
        hiding: &GitExcludes,
        end: Instant,
        stop: &StopSignal,
        show: &mut (impl FnMut(&str) + Send),
    ) -> ValidatorResult {
        let own = Duration::from_millis(condition.validator.timeout.0);
        let limit = own.min(end.saturating_duration_since(Instant::now()));
        let looking = match CleanIndex::of(command, &self.place.workspace, &self.place.scratch) {
            Ok(looking) => looking,
            Err(why) => return unrun(&condition.validator, &why),
        };
        let mut spec = self.spec(condition, command, limit, hiding);
        if command == GIT_STATUS {
            spec.env = match git::closed_environment(&self.place.workspace, &spec.env) {
                Ok(environment) => environment,
                Err(error) => return unrun(&condition.validator, &format!("git does not run: {error}")),
            };
        }
        spec.env.extend(looking.as_ref().map(CleanIndex::environment));
        let outcome = process::run(spec, &**self.blobs, self.redactor, stop.clone(), show).await;
        let reading = Reading {
            condition: condition.clone(),
            command: command.to_owned(),
            limit,
            outcome,
            output_max: self.place.output_max,
            workspace: self.place.workspace.clone(),
            base: self.place.base.clone(),
            blobs: Arc::clone(self.blobs),
        };
        let mut result = match within(READING_MAX, stop, move || reading.result()).await {
            Ok(result) => result,
            Err(Unfinished::Stopped) => {
                let unread = unrun(&condition.validator, "it was stopped");
                ValidatorResult { exit: Exit::Stopped, ..unread }
            }
            Err(Unfinished::TimedOut(limit)) => {
                let why = format!("reading its output took longer than {:.0} s", limit.as_secs_f64());
                unrun(&condition.validator, &why)
            }
            Err(Unfinished::NoThread(error)) => {
                unrun(&condition.validator, &format!("its output was not read: no thread: {error}"))
            }
        };
        if let Some(looking) = looking.filter(|_| result.outcome == ValidatorOutcome::Fail) {
            result.error = format!("{}\n\n{}", result.error.trim_end(), looking.hint());
        }
        result
    }

    fn spec(
        &self,
        condition: &Condition,
        command: &str,
        limit: Duration,
        hiding: &GitExcludes,
    ) -> ProcessSpec {
        let mut env = self.place.environment.clone();
        env.extend(OF_SHELLS.iter().map(|name| ((*name).into(), None)));
        env.extend(hiding.environment().iter().cloned());
        env.extend(condition.params.iter().map(|(name, value)| (name.into(), Some(value.into()))));
        let mut argv: Vec<OsString> = ["sh", "-c", command].map(Into::into).to_vec();
        if self.place.wrap.is_some() && !condition.params.is_empty() {
            // A container does not inherit the environment.
            let params = condition.params.iter().map(|(name, value)| format!("{name}={value}").into());
            argv = std::iter::once("env".into()).chain(params).chain(argv).collect();
        }
        ProcessSpec {
            argv: wrapped(self.place.wrap.as_deref(), argv),
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
    fn files(&self, condition: &Condition, paths: &[String]) -> ValidatorResult {
        let validator = &condition.validator;
        if !self.place.workspace.is_dir() {
            return unrun(validator, &format!("there is no folder {}", self.place.workspace.display()));
        }
        let mut missing = Vec::new();
        for path in paths {
            match is_there(&self.place.workspace.join(path), path.ends_with('/')) {
                Ok(true) => {}
                Ok(false) if missing.contains(path) => {}
                Ok(false) => missing.push(path.clone()),
                Err(error) => return unrun(validator, &format!("{path} cannot be looked at: {error}")),
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
        let told = OutcomeDetails::of(condition, &found, &facts);
        ValidatorResult { exit: exit.clone(), ..result_of(validator, found, told) }
    }

    /// Reads a checklist.
    fn checklist(&self, validator: &Validator, list: &Checklist) -> ValidatorResult {
        const BYTES_MAX: u64 = 8 << 20;
        // A worker may have put anything there, even a pipe without a writer.
        let path = self.place.workspace.join(&list.path);
        let bytes = match path.canonicalize().and_then(|path| safe_dir::open_file(&path)) {
            Ok(file) => match safe_dir::read_small(file, BYTES_MAX) {
                Read::Found(bytes) => Some(self.redactor.redact_bytes(&bytes).0.into_owned()),
                Read::Absent => {
                    return unrun(validator, &format!("the checklist {} is not a file", list.path));
                }
                Read::Unreadable(why) => {
                    return unrun(validator, &format!("the checklist {} cannot be read: {why}", list.path));
                }
            },
            Err(error) if is_absent(&error) => None,
            Err(error) => {
                return unrun(validator, &format!("the checklist {} cannot be read: {error}", list.path));
            }
        };
        let began = self.place.checklists.get(&list.path).map(|it| self.redactor.redact_bytes(it).0);
        let reading = checklist::read(list, bytes.as_deref(), began.as_deref());
        let told = OutcomeDetails::of_checklist(validator, &list.path, &reading);
        let exit = Exit::Code(i32::from(reading.outcome != ValidatorOutcome::Pass));
        ValidatorResult { exit, ..result_of(validator, reading.outcome, told) }
    }
}

/// The output of a command, with all that its judgement needs. Another thread reads it.
struct Reading {
    condition: Condition,
    command: String,
    limit: Duration,
    outcome: Outcome,
    output_max: u64,
    workspace: PathBuf,
    base: Option<String>,
    blobs: Arc<dyn BlobStore>,
}

impl Reading {
    /// Reads what a command left behind.
    fn result(self) -> ValidatorResult {
        let Self { condition, command, limit, outcome, .. } = &self;
        let validator = &condition.validator;
        // A judgement by the end alone would pass what says at its beginning that it failed.
        let all = self.output_max;
        let stdout = whole(outcome.stdout.as_ref(), &outcome.answer, &*self.blobs, all);
        let stderr = whole(outcome.stderr.as_ref(), &outcome.stderr_tail, &*self.blobs, all);
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
            recognised: facts.is_told_by_a_tool(),
            limit: Millis(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            output_max: self.output_max,
        };
        let (found, said) = judged(validator, &ended);
        let facts = facts.of_failed(found != ValidatorOutcome::Pass);
        let mut told = OutcomeDetails::of(condition, &found, &facts);
        if let Some(said) = said {
            told = told.and_said(condition, &found, said);
        }
        told.failures.truncate(unstuck_failures::FAILURES_MAX);
        unstuck_failures::shorten(&mut told.failures);
        remaining::count(&mut told.failures, &self.workspace);
        let has_failed = found == ValidatorOutcome::Fail;
        let numbers =
            if has_failed { unstuck_failures::number_lines([&stdout[..], &stderr]) } else { Vec::new() };
        ValidatorResult {
            exit: outcome.exit.clone(),
            stdout: outcome.stdout,
            stderr: outcome.stderr,
            numbers,
            ..result_of(validator, found, told)
        }
    }

    /// Asks for the state of the repository, where something of it is extracted.
    fn repository(&self, validator: &Validator) -> Option<RepositoryInfo> {
        let asked = [Extractor::BranchName, Extractor::RemoteStatus, Extractor::MergeStatus];
        let wanted = validator.extract.values().any(|extractor| asked.contains(extractor));
        wanted.then(|| repository::of(&self.workspace, self.base.as_deref())).flatten()
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

/// Judges how a command ended, and what one with a contract said of itself.
fn judged(validator: &Validator, how: &CommandEnd<'_>) -> (ValidatorOutcome, Option<custom::CustomOutput>) {
    let default = SuccessWhen::ExitCode(vec![0]);
    let success_when = validator.success_when.as_ref().unwrap_or(&default);
    let said = match validator.run {
        Run::Custom(_) => custom::read(how.stdout).transpose(),
        _ => Ok(None),
    };
    // The output of a validator that reports its own result contains that result, so it does not decide the outcome.
    let by_exit = match (&said, success_when) {
        (Ok(Some(_)) | Err(_), SuccessWhen::Empty | SuccessWhen::Contains(_) | SuccessWhen::Matches(_)) => {
            &default
        }
        _ => success_when,
    };
    let ended = judge(by_exit, &validator.exit_codes, how);
    match said {
        Ok(None) => (ended, None),
        // The output of a command that did not finish can be cut off.
        Err(_) if matches!(ended, ValidatorOutcome::CouldNotRun(_)) => (ended, None),
        Err(why) => (ValidatorOutcome::CouldNotRun(why), None),
        Ok(Some(said)) => {
            let ran = matches!(how.exit, Exit::Code(code) if validator.exit_codes.contains(code));
            (custom::judge(&said, ended, ran), Some(said))
        }
    }
}

/// Returns the result of a validator without output.
fn result_of(validator: &Validator, outcome: ValidatorOutcome, told: OutcomeDetails) -> ValidatorResult {
    ValidatorResult {
        validator: validator.name.clone(),
        outcome,
        exit: Exit::Code(0),
        duration: Millis(0),
        stdout: None,
        stderr: None,
        stdout_end: told.stdout,
        stderr_end: told.stderr,
        error: told.error,
        report: told.report,
        params: told.params,
        failures: told.failures,
        unparsed: told.unparsed,
        cached: false,
        numbers: Vec::new(),
    }
}

/// Returns the result of a validator that was not begun.
fn unrun(validator: &Validator, why: &str) -> ValidatorResult {
    let told = OutcomeDetails::could_not_run(validator, why);
    let outcome = ValidatorOutcome::CouldNotRun(why.to_owned());
    ValidatorResult { exit: Exit::CouldNotStart(why.to_owned()), ..result_of(validator, outcome, told) }
}

fn is_there(path: &Path, folder: bool) -> io::Result<bool> {
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
