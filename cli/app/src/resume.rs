//! Takes a run up again: where it stopped, with an answer, or because a person does not want to wait.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::Rejection;
use unstuck_core::event::{AnswerGiven, ForkPoint, RunOutcome, RunResumed, RunStarted, WorkflowChange};
use unstuck_core::id::{Millis, Seq, StepId};
use unstuck_core::text::shell::quote_word;
use unstuck_core::workflow::{Budget, Step, Worker, Workflow};
use unstuck_core::{Event, Fact, Observation, RunState};
use unstuck_replay::{PolicyOverride, RunSummary};
use unstuck_runner::open::{self, ResumeKind};
use unstuck_runner::retry_request as sign;
use unstuck_runner::workspace_link::recreate_folder_command;
use unstuck_store::run_log::RunLog;

use crate::branches::RecordedBranch;
use crate::client_source::ClientSources;
use crate::drive::{Drive, DriveSettings, DriveStart, Terms};
use crate::error::{AppError, Result};
use crate::person::Person;
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;
use crate::workflows::WorkflowReadOptions;
use crate::{
    access, missing_programs, next, preflight, run_revision, undo, what_if_keys, workers, worktrees,
};

/// A run that is to continue where it stopped.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    /// The run.
    pub run: String,
    /// Iterations beyond the limit of every loop.
    pub add_iterations: u32,
    /// Time beyond the limit of the run.
    pub add_time: Millis,
    /// Money beyond the budget, in millionths of a US dollar.
    pub add_micro_usd: u64,
    /// Tokens beyond the budget.
    pub add_tokens: u64,
    /// The budget counts only what clients report.
    pub accept_unknown_cost: bool,
    /// Files that changed since are accepted.
    pub accept_drift: bool,
    /// A hint to the worker.
    pub hint: Option<String>,
    /// Another worker from now on.
    pub successor: Option<String>,
    /// Workers that are new to the run may do what they can do without a question.
    pub yes: bool,
    /// Keys of the workflow with other values from now on: `KEY=VALUE`.
    pub settings: Vec<String>,
    /// The workspace, if it was moved.
    pub workspace: Option<PathBuf>,
}

/// A run that is ready to be driven.
pub struct ReadyRun {
    /// The run to drive.
    pub drive: Drive,
    /// How, with the secrets that the run remembers.
    pub driving: DriveSettings,
    /// How the run began.
    pub started: RunStarted,
    /// Its log so far.
    pub before: RunSummary,
    /// Notes for the person, before it continues.
    pub notes: Vec<String>,
}

/// The answer to a request to resume.
pub enum ResumeResult {
    /// The run is complete: nothing is left to do.
    Complete {
        /// Its short name.
        short: String,
        /// Its log.
        story: Box<RunSummary>,
    },
    /// It is ready.
    Ready(Box<ReadyRun>),
}

/// The answer to a request not to wait.
pub enum RetryResult {
    /// The supervisor of the run has the request.
    Requested {
        /// The short name of the run.
        short: String,
    },
    /// The run is not live: it is ready to be driven.
    Ready(Box<ReadyRun>),
}

/// A run that was claimed.
struct ClaimedRun<'a> {
    project: &'a ProjectRuns,
    found: &'a RunHandle,
    log: Option<Arc<RunLog>>,
    events: Vec<Event>,
}

impl<'a> ClaimedRun<'a> {
    fn new(project: &'a ProjectRuns, found: &'a RunHandle) -> Result<Self> {
        let log = access::reconcile_log(project, found);
        Ok(Self { project, found, log, events: found.known_events()? })
    }

    /// Takes the run up again, in the workspace that it began in.
    fn resume(self, terms: &Terms, how: ResumeKind, accept_drift: bool) -> Result<ReadyRun> {
        let Self { project, found, log, events } = self;
        let mut started = found.started(&events)?;
        if let ResumeKind::Resume(order) = &how
            && let Some(workspace) = &order.workspace
        {
            started.move_workspace(workspace);
        }
        let before = RunSummary::from_events(&events);
        if !accept_drift && has_unrecorded_end(found, &events, &before) {
            return Err(unrecorded_end(found, &started, &events));
        }
        if !accept_drift && undo::unfinished_undo(&events).is_some() {
            return Err(unfinished_restore(found, &started, &events));
        }
        let workspace = Path::new(&started.workspace);
        if !workspace.is_dir() {
            return Err(is_gone(project, found, workspace));
        }
        let rules = started.workflow_file.is_some().then_some(&started.workflow.branch);
        let recorded = RecordedBranch::read(&events, &started.workflow.branch, accept_drift);
        let branches = terms.branches.inspect(workspace, rules, Some(&recorded))?;
        let is_changed = matches!(&how, ResumeKind::Resume(order) if order.change.is_some());
        let notes = notes(found, &started, &events, is_changed);
        let driving = terms.driving.clone().with_secrets(before.state().secrets());
        let log = access::open_log(project, found, log)?;
        let drive = Drive {
            runs: Some(project.runs().clone()),
            run: started.run.clone(),
            short: found.short().to_owned(),
            branches,
            order: DriveStart::Resume { log, how, accept_drift },
        };
        Ok(ReadyRun { drive, driving, started, before, notes })
    }
}

/// Prepares a run to continue where it stopped.
///
/// # Errors
///
/// There is no such run, or it cannot continue so.
pub fn resume(
    project: &ProjectRuns,
    request: Resume,
    terms: &Terms,
    person: &dyn Person,
) -> Result<ResumeResult> {
    let found = project.find(&request.run)?;
    let claimed = ClaimedRun::new(project, &found)?;
    let story = RunSummary::from_events(&claimed.events);
    if story.outcome == Some(RunOutcome::Complete) {
        return Ok(ResumeResult::Complete { short: found.short().to_owned(), story: Box::new(story) });
    }
    let mut started = found.started(&claimed.events)?;
    let workspace = request.workspace.as_deref().map(moved_workspace).transpose()?;
    if let Some(workspace) = &workspace {
        started.move_workspace(workspace);
    }
    let change = change(&found, &claimed.events, &started, story.state(), &request)?;
    let mut now = started.clone();
    if let Some(change) = &change {
        now.workflow.clone_from(&change.workflow);
    }
    let worker = successor(&mut now.workflow, Path::new(&now.workspace), &request)?;
    if worker.is_some() || change.is_some() {
        check_workers(project, &now, &request, &terms.driving, person)?;
    }
    let order = RunResumed {
        add_iterations: request.add_iterations,
        add_time: request.add_time,
        renews_time: false,
        add_micro_usd: request.add_micro_usd,
        add_tokens: request.add_tokens,
        accept_unknown_cost: request.accept_unknown_cost,
        allowance: None,
        hint: request.hint,
        worker,
        workflow_digest: next::digest_now(started.workflow_file.as_deref()),
        program: open::program(),
        secrets: terms.driving.secrets.clone(),
        change,
        workspace,
    };
    let ready = claimed.resume(terms, ResumeKind::Resume(Box::new(order)), request.accept_drift)?;
    Ok(ResumeResult::Ready(Box::new(ready)))
}

/// Prepares a run to continue with an answer. `steps` name those that it is for, where several are blocked.
///
/// # Errors
///
/// There is no such run, or it is not clear which step the answer is for.
pub fn answer(
    project: &ProjectRuns,
    run: &str,
    text: String,
    steps: &[String],
    terms: &Terms,
) -> Result<ReadyRun> {
    let found = project.find(run)?;
    let claimed = ClaimedRun::new(project, &found)?;
    let steps = steps_to_answer(&claimed.events, steps, found.short())?;
    // The person may have done in the workspace what was needed.
    claimed.resume(terms, ResumeKind::Answer(AnswerGiven { text, steps }), true)
}

/// Ends the wait of a run: its supervisor gets the request, or the run is made ready to continue now.
///
/// # Errors
///
/// There is no such run, or it does not wait.
pub fn retry(project: &ProjectRuns, run: &str, terms: &Terms) -> Result<RetryResult> {
    let found = project.find(run)?;
    let claimed = ClaimedRun::new(project, &found)?;
    let state = RunState::of(&claimed.events);
    let short = found.short().to_owned();
    if !state.is_waiting() && !state.waits_when_resumed() {
        let next = if state.is_interrupted() { "resume" } else { "show" };
        return Err(AppError::usage(format!("run {short} does not wait for anything"))
            .hint(format!("unstuck {next} {short}")));
    }
    let artifacts = found.runs.artifacts(&found.entry.run);
    sign::request(&artifacts, state.version()).map_err(|error| AppError::store(&error))?;
    if state.is_waiting() && claimed.log.is_none() && found.is_live() {
        return Ok(RetryResult::Requested { short });
    }
    let order = RunResumed { program: open::program(), ..RunResumed::default() };
    let ready = claimed.resume(terms, ResumeKind::Resume(Box::new(order)), false);
    Ok(RetryResult::Ready(Box::new(ready.inspect_err(|_| withdraw(&found))?)))
}

/// Withdraws a [`retry`] request, if the run could not be driven after all.
pub fn withdraw(found: &RunHandle) {
    sign::withdraw(&found.runs.artifacts(&found.entry.run));
}

/// Returns the path of a workspace that was moved.
fn moved_workspace(named: &Path) -> Result<String> {
    let cannot = |why: &dyn std::fmt::Display| {
        AppError::usage(format!("cannot work in {}: {why}", named.display()))
            .hint("name the folder that was moved")
    };
    let path = named.canonicalize().map_err(|error| cannot(&error))?;
    if !path.is_dir() {
        return Err(cannot(&"it is no folder"));
    }
    path.into_os_string().into_string().map_err(|_| cannot(&"its path is not UTF-8"))
}

/// Returns the workflow from now on, if a person changed it: the workflow file, which `--accept-changes` reads again, and keys.
pub(crate) fn change(
    found: &RunHandle,
    events: &[Event],
    started: &RunStarted,
    state: &RunState,
    request: &Resume,
) -> Result<Option<Box<WorkflowChange>>> {
    let mut change = WorkflowChange { workflow: started.workflow.clone(), made: Vec::new(), digest: None };
    if let Some((file, _)) = next::changed_file(started).filter(|_| request.accept_drift) {
        let loaded = WorkflowReadOptions::default().load(Path::new(file), Path::new(&started.workspace))?;
        let (before, mut workflow) = (&started.workflow, loaded.workflow);
        missing_programs::doubt(&mut workflow);
        // A person may have given a smaller budget to the run than the file does: only `--add-usd` raises it.
        workflow.budget = Budget {
            accepts_unknown: before.budget.accepts_unknown,
            ..workflow.budget.within(before.budget)
        };
        workflow.prices.clone_from(&before.prices);
        workflow.notify = before.notify.clone().or(workflow.notify);
        change = WorkflowChange { workflow, made: vec![file.to_owned()], digest: Some(loaded.digest) };
        for event in events {
            repeat(&mut change, event);
        }
    }
    for setting in &request.settings {
        let asked: PolicyOverride = setting.parse().map_err(AppError::usage)?;
        let asked = what_if_keys::in_file(&asked, &change.workflow).map_err(AppError::usage)?;
        change.workflow = asked.apply(&change.workflow).map_err(AppError::usage)?;
        change.made.push(setting.clone());
    }
    if change.made.is_empty() || change.workflow == started.workflow {
        return Ok(None);
    }
    match state.step_that_conflicts(&change.workflow) {
        Some(step) => Err(AppError::usage(Rejection::StepConflict(step)).hint(format!(
            "put the step back as it was, or begin a new run: unstuck run ...    the workflow of this run: unstuck show {}",
            found.short()
        ))),
        None => Ok(Some(Box::new(change))),
    }
}

/// Changes again what a person has changed in a run before, where that is still possible.
fn repeat(change: &mut WorkflowChange, event: &Event) {
    let Fact::Observed(Observation::RunResumed(resumed)) = &event.fact else { return };
    let settings = resumed.change.iter().flat_map(|change| &change.made).filter_map(|made| made.parse().ok());
    for setting in settings {
        let setting: PolicyOverride = setting;
        let asked = what_if_keys::in_file(&setting, &change.workflow);
        if let Ok(workflow) = asked.and_then(|asked| asked.apply(&change.workflow)) {
            change.workflow = workflow;
        }
    }
    if let Some(worker) = &resumed.worker {
        change.workflow.replace_workers(worker);
    }
}

/// Returns the worker from now on, if another one is named and can be, and puts it into the workflow.
fn successor(workflow: &mut Workflow, workspace: &Path, request: &Resume) -> Result<Option<Box<Worker>>> {
    let Some(with) = &request.successor else { return Ok(None) };
    let worker = workers::parse_worker(with, "", &workers::load_clients(workspace)?)?;
    if !workflow.steps.iter().any(Step::can_replace_worker) {
        return Err(AppError::usage("no step of this run has a worker that another could take over from").hint(
            "what a script does no other can do, and a child run is resumed by its own name: unstuck runs",
        ));
    }
    workflow.replace_workers(&worker);
    Ok(Some(Box::new(worker)))
}

/// Checks that a changed workflow can be carried out, and asks about what its workers may do.
pub(crate) fn check_workers(
    project: &ProjectRuns,
    now: &RunStarted,
    request: &Resume,
    driving: &DriveSettings,
    person: &dyn Person,
) -> Result<()> {
    let (workflow, file, workspace) =
        (&now.workflow, now.workflow_file.as_deref(), Path::new(&now.workspace));
    preflight::check_runnable(workflow, file, workspace, &driving.redactor())?;
    if !request.accept_unknown_cost && !workflow.budget.accepts_unknown {
        workers::check_budget(workflow, None)?;
    }
    if !request.yes {
        workers::ask_trust(workflow, file, workspace, Some(project.runs().state()), person)?;
    }
    let origins = ClientSources::read(workspace);
    for (client, words) in workers::permissions(workflow) {
        let who = origins.name(&client, file.map(|file| (workflow, file)));
        person.tell(&format!("worker: {who} {words}"));
    }
    Ok(())
}

/// Returns what a person should know before the run continues.
fn notes(found: &RunHandle, started: &RunStarted, events: &[Event], is_changed: bool) -> Vec<String> {
    let short = found.short();
    let changed = next::changed_file(started).filter(|_| !is_changed).map(|(_, what)| {
        format!(
            "{what} since; this run uses what it read. To use it: unstuck resume {short} --accept-changes"
        )
    });
    let otherwise = decided_otherwise_today(events).map(|at| {
        format!(
            "the decision about event {at} would be another one today; the recorded one stands: unstuck replay {short}"
        )
    });
    changed.into_iter().chain(otherwise).collect()
}

fn is_gone(project: &ProjectRuns, found: &RunHandle, workspace: &Path) -> AppError {
    let (short, place) = (found.short(), quote_word(&workspace.to_string_lossy()));
    // The runs of a `--worktree` checkout are found from the project that it was made for.
    let of_ours = worktrees::is_own(project.runs(), workspace);
    let there = if of_ours { "unstuck".to_owned() } else { format!("unstuck -C {place}") };
    let make = recreate_folder_command(workspace);
    AppError::usage(format!("the workspace {} is not there any more", workspace.display())).hint(format!(
        "if it was moved: unstuck resume {short} --workspace NEW_PATH    else put it back as the run left it: \
         {make}; {there} undo {short}@last --git    or see what was done: unstuck show {short}"
    ))
}

/// Returns the steps that an answer is for. Each blocked step needs a separate answer: the answer to one may mislead
/// another.
fn steps_to_answer(events: &[Event], named: &[String], short: &str) -> Result<Vec<StepId>> {
    let story = RunSummary::from_events(events);
    let blocked: Vec<&StepId> = story.state().blocked_steps().map(|(step, _)| step).collect();
    let steps =
        named.iter().map(|name| run_revision::known_step(events, name)).collect::<Result<Vec<_>>>()?;
    let other = steps.iter().find(|step| !blocked.contains(step));
    let what = match (other, &blocked[..]) {
        (_, []) => return Ok(steps),
        (Some(other), _) => format!("step {other} does not wait for an answer"),
        (None, [_, _, ..]) if steps.is_empty() => {
            format!("{} steps wait for an answer, each for its own", blocked.len())
        }
        (None, _) => return Ok(steps),
    };
    let commands: Vec<String> = next::answers(&story, short)
        .into_iter()
        .map(|(command, needs)| format!("{command}  ({needs})"))
        .collect();
    Err(AppError::usage(what).hint(commands.join("    ")))
}

/// Returns true for an imported run that had not ended and was not continued here yet.
fn has_unrecorded_end(found: &RunHandle, events: &[Event], story: &RunSummary) -> bool {
    let imported = found.runs.imported_up_to(&found.entry.run);
    let goes_on_here = |event: &Event| {
        event.seq > imported && matches!(event.fact, Fact::Observed(Observation::RunResumed(_)))
    };
    imported > Seq(0) && story.outcome.is_none() && !events.iter().any(goes_on_here)
}

fn unrecorded_end(found: &RunHandle, started: &RunStarted, events: &[Event]) -> AppError {
    let (short, place, last) = (found.short(), &started.workspace, run_revision::last_of(events));
    AppError::usage(format!(
        "run {short} was read in from an export that had not ended: what it did in {place} after event {last} is not known here"
    ))
    .hint(format!(
        "look at what is there now (git status, git diff); read a longer export in: unstuck import FILE    or go on from event {last} with what is there: unstuck resume {short} --accept-changes"
    ))
}

/// Refuses to continue in a workspace of which only a part was restored.
fn unfinished_restore(found: &RunHandle, started: &RunStarted, events: &[Event]) -> AppError {
    let short = found.short();
    let has_worked_since = |fork: &ForkPoint| {
        let is_work = |event: &&Event| matches!(event.fact, Fact::Observed(Observation::WorkerStarted(_)));
        events.iter().filter(is_work).any(|event| event.seq > fork.event)
    };
    let to = match started.forked_from.as_ref().filter(|fork| !has_worked_since(fork)) {
        Some(fork) => fork.event.to_string(),
        None => "EVENT".to_owned(),
    };
    AppError::usage("the restore of the files was cut short, so they may be from two events")
        .hint(format!(
            "finish it: unstuck undo {short}@{to}    or go on with what is there: unstuck resume {short} --accept-changes"
        ))
}

/// Decides what was recorded again, and returns the first event about which something else would be decided.
fn decided_otherwise_today(events: &[Event]) -> Option<Seq> {
    let recheck = unstuck_replay::recheck(events.iter().cloned().map(Ok::<_, Infallible>), None);
    recheck.ok()?.first_difference.map(|difference| difference.at)
}
