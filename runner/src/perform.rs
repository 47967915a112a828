//! What it means to begin and to end a worker or a check on a real machine.
//!
//! Nothing here decides anything.

use std::ffi::OsString;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use unstuck_adapters::artifacts::{self, Overlap};
use unstuck_adapters::blocking::blocking;
use unstuck_adapters::checks::{self, Suite};
use unstuck_adapters::context;
use unstuck_adapters::decision_file::{self, MovedAside};
use unstuck_adapters::environment::{self, BranchFacts, Facts, ParentFacts};
use unstuck_adapters::process::{self, Patience, Spec, StopSignal};
use unstuck_adapters::redact::Redactor;
use unstuck_core::event::{
    CheckFinished, CheckStarted, ChildEnd, DecisionFile, Exit, Outcome, Parent, Purpose, WorkerFinished,
    WorkerStarted,
};
use unstuck_core::gate::CommandResult;
use unstuck_core::id::{Blob, CheckId, Digest, Iteration, Millis, RunId};
use unstuck_core::scope;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{Check, CheckBy, CheckCommand, Step, Subworkflow, Work, Worker, WorkerKind};
use unstuck_core::{Due, Event, Observation, RunState, prompt};
use unstuck_store::blobs::BlobStore;

use crate::branch_lock::BranchLock;
use crate::scratch::Scratch;
use crate::seen::{After, Seen};
use crate::snapshots::Keeper;
use crate::world::World;
use crate::{Watcher, baseline, seen};

/// Scripts above this length are run from a file: an argument has a bound.
const SCRIPT_ARG_MAX: usize = 100_000;

/// Where decision files go unless a workflow says otherwise, from the workspace root.
pub(crate) const OWN_FOLDER: &str = ".unstuck";

/// The machine that one run is carried out on, and what is known of it.
pub struct Machine {
    /// The run.
    pub run: RunId,
    /// Absolute path of the workspace.
    pub workspace: PathBuf,
    /// Where prompts and what was moved aside are kept.
    pub artifacts: PathBuf,
    /// Where large payloads go.
    pub blobs: Arc<dyn BlobStore>,
    /// Knows the secrets.
    pub redactor: Redactor,
    /// Who wants to know.
    pub watcher: Arc<dyn Watcher>,
    /// Runs subworkflows.
    pub children: Arc<dyn Children>,
    /// Takes snapshots of the workspace; `None` where they cannot be kept.
    pub snapshots: Option<Arc<Keeper>>,
    /// What is known of the branch; `None` outside git.
    pub branch: Option<BranchFacts>,
    /// Holds the run to its branch; `None` where nobody asks for that.
    pub branch_lock: Option<BranchLock>,
    /// Patterns of branches that are not worked on.
    pub protected_branches: Vec<String>,
    /// Work on them is allowed all the same.
    pub allow_protected_branch: bool,
    /// The step that this run is a part of.
    pub parent: Option<ParentFacts>,
    /// The mark of the run that this run is a part of.
    pub parent_mark: Option<String>,
    /// Much is to be said.
    pub verbose: bool,
    /// Time between TERM and KILL.
    pub grace: Duration,
}

/// A child run that is under way.
pub type ChildRun = Pin<Box<dyn Future<Output = Result<ChildEnd, String>> + Send>>;

/// Where a child run works.
#[derive(Clone, Debug)]
pub struct Place {
    /// The mark of the parent's processes.
    pub mark: String,
    /// The time limit of the step.
    pub limit: Millis,
    /// Absolute path of the workspace, which is the parent's.
    pub workspace: String,
    /// The context folder of the parent.
    pub context_dir: String,
    /// Iterations that a person has given every loop of the parent beyond its bound, and so of the child.
    pub extra_iterations: u32,
    /// What a person said last.
    pub hint: Option<String>,
}

/// Runs subworkflows as runs of their own.
pub trait Children: Send + Sync {
    /// Runs, or takes up again, the child run of a step's iteration.
    fn run(&self, parent: Parent, child: Subworkflow, place: Place, stop: StopSignal) -> ChildRun;
}

impl World for Machine {
    type Prepared = Prepared;

    fn prepare(&self, state: &RunState, due: &Due, is_check: bool) -> io::Result<(Observation, Prepared)> {
        prepare(self, state, due, is_check)
    }

    async fn perform(self: Arc<Self>, prepared: Prepared, stop: StopSignal) -> Observation {
        perform(self, prepared, stop).await
    }

    /// Takes secret values out of all texts of an observation.
    fn redact(&self, mut observation: Observation) -> Observation {
        let of_file = self.redact_decision_file(&mut observation);
        let (mut clean, of_texts) = self.redact_texts(observation);
        match (of_file + of_texts, &mut clean) {
            (0, _) => {}
            (count, Observation::WorkerFinished(event)) => event.outcome.redactions += count,
            (count, Observation::CheckFinished(event)) => event.outcome.redactions += count,
            (count, Observation::RunStarted(event)) => event.warnings.push(format!(
                "{count} secret values stood in the workflow and were redacted; hand them over in the environment"
            )),
            _ => {}
        }
        clean
    }

    fn recorded(&self, batch: &[Event], state: &RunState) {
        self.watcher.recorded(batch, state);
        self.write_views(state, batch);
    }
}

impl Machine {
    /// As bytes, because what is no UTF-8 is recorded in digits.
    fn redact_decision_file(&self, observation: &mut Observation) -> u32 {
        let file = match observation {
            Observation::WorkerFinished(event) => &mut event.decision_file,
            Observation::CheckFinished(event) => &mut event.decision_file,
            _ => return 0,
        };
        let DecisionFile::Read(bytes) = file else { return 0 };
        let (clean, count) = self.redactor.redact_bytes(&bytes.0);
        if count > 0 {
            bytes.0 = clean.into_owned();
        }
        count
    }

    fn redact_texts(&self, observation: Observation) -> (Observation, u32) {
        let text = serde_json::to_string(&observation).expect("an observation is plain data");
        if self.redactor.redact_text(&text).1 == 0 {
            return (observation, 0);
        }
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("it was written just now");
        let mut found = Vec::new();
        secret_texts(&self.redactor, &value, "", &mut found);
        // A word of the format, such as the name of a decision, may be the value of a secret, too. Such a
        // word stays: it tells nobody anything.
        let mut count = 0;
        for (place, clean, redactions) in found {
            let Some(text) = value.pointer_mut(&place) else { continue };
            let word = std::mem::replace(text, clean.into());
            if serde_json::from_value::<Observation>(value.clone()).is_ok() {
                count += redactions;
            } else if let Some(text) = value.pointer_mut(&place) {
                *text = word;
            }
        }
        (serde_json::from_value(value).unwrap_or(observation), count)
    }

    /// Writes the views of a run that has a workflow file. They are no more than views: what goes wrong
    /// is said and does not stop the run.
    fn write_views(&self, state: &RunState, events: &[Event]) {
        if state.started().is_none_or(|started| started.workflow_file.is_none()) {
            return;
        }
        let facts = context::Facts {
            branch: self.branch.clone(),
            protected_branches: self.protected_branches.clone(),
            allow_protected_branch: self.allow_protected_branch,
            branch_lock: self.branch_lock.is_some(),
        };
        if let Err(error) = context::write(&context_dir(self, state), state, events, &facts) {
            tracing::warn!(%error, "the views in the context folder were not written");
        }
    }

    /// Returns the text by which the processes of this run are found again.
    ///
    /// That of a child run begins with its parent's: what is left of a parent includes its children.
    pub fn mark(&self) -> String {
        match &self.parent_mark {
            Some(parent) => format!("{parent}/{}", mark_of(&self.run)),
            None => mark_of(&self.run),
        }
    }

    fn put(&self, text: &[u8]) -> io::Result<Blob> {
        let (clean, _) = self.redactor.redact_bytes(text);
        if clean.is_empty() {
            return Ok(Blob { digest: Digest::of(b""), size: 0 });
        }
        self.blobs.put(&clean)
    }
}

/// Returns how the marks of the processes of a run begin, and of its child runs, if it is no child itself.
pub fn mark_of(run: &RunId) -> String {
    format!("unstuck-{run}")
}

/// Finds the texts that hold secret values: their places, what they are without, and how many there were.
fn secret_texts(
    redactor: &Redactor,
    value: &serde_json::Value,
    place: &str,
    found: &mut Vec<(String, String, u32)>,
) {
    match value {
        serde_json::Value::String(text) => {
            let (clean, count) = redactor.redact_text(text);
            if count > 0 {
                found.push((place.to_owned(), clean.into_owned(), count));
            }
        }
        serde_json::Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                secret_texts(redactor, value, &format!("{place}/{index}"), found);
            }
        }
        serde_json::Value::Object(map) => {
            for (name, value) in map {
                let name = name.replace('~', "~0").replace('/', "~1");
                secret_texts(redactor, value, &format!("{place}/{name}"), found);
            }
        }
        _ => {}
    }
}

/// An effect that is about to be performed.
pub struct Prepared {
    step: Step,
    due: Due,
    /// The check, and the id that its verdict carries; for a worker only where it is its own check.
    check: Option<(Check, CheckId)>,
    is_check: bool,
    /// Nothing more is run in this iteration, so the outputs are there.
    is_last: bool,
    job: Job,
    /// Why the workspace does not let it begin.
    in_the_way: Option<String>,
    notes: Vec<String>,
    context_dir: PathBuf,
    seen: Option<Seen>,
    /// A copy of the workspace that goes afterwards.
    copy: Option<Scratch>,
}

enum Job {
    Process(Box<Spec>),
    Checks(Box<Suite>),
    Child(Box<(Parent, Subworkflow, Place)>),
}

fn prepare(
    world: &Machine,
    state: &RunState,
    due: &Due,
    is_check: bool,
) -> io::Result<(Observation, Prepared)> {
    let (step, at) = state.step(&due.step).expect("effects name steps of the workflow");
    let diagnoses = at.purpose == Purpose::Diagnosis;
    let claims = !diagnoses && step.check.as_ref().is_some_and(|check| check.by == CheckBy::Claim);
    let asked = step.check.clone().filter(|_| is_check || claims);
    let check = asked.map(|check| (check, CheckId::new(uuid::Uuid::now_v7().to_string())));
    let id = check.as_ref().map(|(_, id)| id);
    let text = if is_check {
        id.map_or_else(String::new, |id| prompt::check(state, step, at, id))
    } else {
        prompt::work(state, step, at, id)
    };
    let mut notes = Vec::new();
    // Who only looks does so in a copy, which nobody compares.
    let looked = if diagnoses {
        seen::copy(world, state).map(|copy| (None, Some(copy)))
    } else {
        seen::before(world, state, due, is_check, &mut notes).map(|seen| (seen, None))
    };
    let moved = if diagnoses { Ok(None) } else { move_aside(world, step, id, is_check, &mut notes) };
    let (moved_aside, in_the_way) = match moved {
        Ok(Some(old)) => (Some(world.put(&old)?), None),
        Ok(None) => (None, None),
        // A worker may have left anything there. That is its failure and not the machine's.
        Err(error) if world.workspace.is_dir() => (None, Some(error.to_string())),
        Err(_) => {
            (None, Some(format!("the workspace {} does not exist any more", world.workspace.display())))
        }
    };
    let ((seen, copy), in_the_way) = match looked {
        Ok(looked) => (looked, in_the_way),
        Err(why) => ((None, None), Some(in_the_way.unwrap_or(why))),
    };
    let limit = check.as_ref().filter(|_| is_check).map_or(step.timeout, |(check, _)| check.timeout);
    let asked = Asked {
        state,
        step,
        at,
        due,
        is_check,
        check: check.as_ref(),
        prompt: &text,
        limit,
        copy: copy.as_ref().map(Scratch::path),
    };
    let job = match &step.work {
        Work::Subworkflow(child) if !is_check && !diagnoses => {
            let (run, step, iteration) = (world.run.clone(), due.step.clone(), due.iteration);
            let place = Place {
                mark: world.mark(),
                limit,
                workspace: world.workspace.to_string_lossy().into_owned(),
                context_dir: state
                    .workflow()
                    .map_or_else(String::new, |workflow| workflow.context_dir.clone()),
                extra_iterations: state.extra_iterations(),
                hint: at.feedback.from_person.last().cloned(),
            };
            Job::Child(Box::new((Parent { run, step, iteration }, child.clone(), place)))
        }
        _ => match asked.check.map(|(check, _)| (&check.by, check.observations)) {
            Some((CheckBy::Commands(commands), observations)) if is_check => {
                Job::Checks(Box::new(suite(world, &asked, commands, observations)?))
            }
            _ => Job::Process(Box::new(spec(world, &asked)?)),
        },
    };
    let before = seen.as_ref().filter(|_| !is_check).map(Seen::before);
    let started = started(due, is_check, id, world.put(text.as_bytes())?, limit, moved_aside, before);
    let context_dir = context_dir(world, state);
    let (step, due) = (step.clone(), due.clone());
    let is_last = !diagnoses && (is_check || step.check.as_ref().is_none_or(|it| it.by == CheckBy::Claim));
    let prepared =
        Prepared { step, due, check, is_check, is_last, job, in_the_way, notes, context_dir, seen, copy };
    Ok((started, prepared))
}

/// All that is known when a process is prepared.
struct Asked<'a> {
    state: &'a RunState,
    step: &'a Step,
    at: &'a StepState,
    due: &'a Due,
    is_check: bool,
    check: Option<&'a (Check, CheckId)>,
    prompt: &'a str,
    limit: Millis,
    /// Where to work instead of in the workspace.
    copy: Option<&'a Path>,
}

fn context_dir(world: &Machine, state: &RunState) -> PathBuf {
    let configured = state.workflow().map_or("context", |workflow| workflow.context_dir.as_str());
    world.workspace.join(configured)
}

fn started(
    due: &Due,
    is_check: bool,
    id: Option<&CheckId>,
    prompt: Blob,
    limit: Millis,
    moved_aside: Option<Blob>,
    snapshot: Option<Box<Snapshot>>,
) -> Observation {
    let Due { step, iteration, attempt } = due.clone();
    match id {
        Some(id) if is_check => {
            let check_id = id.clone();
            Observation::CheckStarted(CheckStarted {
                step,
                iteration,
                attempt,
                check_id,
                prompt,
                limit,
                moved_aside,
            })
        }
        id => {
            let check_id = id.cloned();
            Observation::WorkerStarted(WorkerStarted {
                step,
                iteration,
                attempt,
                prompt,
                limit,
                check_id,
                moved_aside,
                snapshot,
            })
        }
    }
}

/// Puts an old decision file out of the way before whoever writes it is started: the worker, where
/// a script checks (it may read what the worker wrote) or the worker checks itself; else the checker.
fn move_aside(
    world: &Machine,
    step: &Step,
    id: Option<&CheckId>,
    is_check: bool,
    notes: &mut Vec<String>,
) -> io::Result<Option<Vec<u8>>> {
    let Some(check) = &step.check else { return Ok(None) };
    if is_check != matches!(check.by, CheckBy::Agent(_)) {
        return Ok(None);
    }
    let Some(path) = decision_path(check, id) else { return Ok(None) };
    decision_file::prepare(&world.workspace, &path)?;
    let Some(moved) = decision_file::move_aside(&world.workspace, &path)? else { return Ok(None) };
    notes.extend(moved.note());
    Ok(match moved {
        MovedAside::Removed(bytes) => Some(bytes),
        MovedAside::LinkRemoved(_) | MovedAside::Renamed { .. } => None,
    })
}

fn decision_path(check: &Check, id: Option<&CheckId>) -> Option<PathBuf> {
    let path = match id {
        Some(id) => prompt::decision_file(check, id)?,
        None => check.decision_file.clone()?,
    };
    Some(PathBuf::from(path))
}

fn spec(world: &Machine, asked: &Asked<'_>) -> io::Result<Spec> {
    let worker = match asked.check.map(|(check, _)| &check.by) {
        Some(CheckBy::Exit(worker) | CheckBy::Agent(worker)) if asked.is_check => worker,
        _ => asked.step.worker(asked.at.purpose).expect("a child run is no process"),
    };
    let folder = folder(world, asked);
    let argv = argv(worker, asked, &folder)?;
    let cwd = asked.copy.unwrap_or(&world.workspace).join(&worker.workspace);
    Ok(spec_of(world, asked, facts(world, asked, &folder)?, argv, cwd))
}

/// Returns the place for what is handed over: one for each step, written over, since what was handed over
/// before is in the blobs, and making files is not cheap.
fn folder(world: &Machine, asked: &Asked<'_>) -> PathBuf {
    let what = if asked.is_check { "check" } else { "work" };
    world.artifacts.join(asked.due.step.as_str()).join(what)
}

fn spec_of(world: &Machine, asked: &Asked<'_>, facts: Facts, argv: Vec<OsString>, cwd: PathBuf) -> Spec {
    Spec {
        argv,
        cwd,
        env: environment::changes(&facts),
        stdin: asked.prompt.as_bytes().to_vec(),
        limit: Duration::from_millis(asked.limit.0),
        patience: Patience {
            idle: Duration::from_millis(asked.step.idle_timeout.0),
            verdict: facts.decision_file.map(PathBuf::from),
        },
        grace: world.grace,
        mark: format!("{}/{}", world.mark(), asked.due.step),
    }
}

fn suite(
    world: &Machine,
    asked: &Asked<'_>,
    commands: &[CheckCommand],
    observations: u32,
) -> io::Result<Suite> {
    let facts = facts(world, asked, &folder(world, asked))?;
    let spec = |command: &CheckCommand| {
        let argv = ["bash", "-c", &command.run].iter().map(OsString::from).collect();
        let spec = spec_of(world, asked, facts.clone(), argv, world.workspace.clone());
        checks::Command { run: command.run.clone(), spec, reports: command.reports.clone() }
    };
    let commands = commands.iter().map(spec).collect();
    Ok(Suite { commands, observations, limit: Duration::from_millis(asked.limit.0) })
}

fn argv(worker: &Worker, asked: &Asked<'_>, folder: &Path) -> io::Result<Vec<OsString>> {
    let shell = |words: &[&str]| words.iter().map(OsString::from).collect();
    if let Some(command) = &worker.command {
        return Ok(shell(&["sh", "-c", command]));
    }
    let script = match asked.check {
        Some((_, id)) if asked.is_check => prompt::script_of(worker, id),
        _ => worker.instructions.clone(),
    };
    if worker.kind != WorkerKind::Custom {
        let name = worker.kind.as_str();
        return Ok(shell(&[&format!(
            "{name} (not supported yet: use worker: COMMAND with its command line)"
        )]));
    }
    if script.len() <= SCRIPT_ARG_MAX {
        return Ok(shell(&["bash", "-e", "-c", &script]));
    }
    let file = folder.join("script.sh");
    write(&file, &script)?;
    let mut argv: Vec<OsString> = shell(&["bash", "-e"]);
    argv.push(file.into());
    Ok(argv)
}

fn facts(world: &Machine, asked: &Asked<'_>, folder: &Path) -> io::Result<Facts> {
    let Asked { state, step, at, due, is_check, .. } = *asked;
    let kept = |name: &str, text: &str| -> io::Result<Option<String>> {
        if text.is_empty() {
            return Ok(None);
        }
        let (clean, _) = world.redactor.redact_text(text);
        let file = folder.join(name);
        write(&file, &clean)?;
        Ok(Some(file.to_string_lossy().into_owned()))
    };
    let from_second = !is_check && due.iteration.0 > 1;
    let overlay = if from_second { prompt::overlay(state, step, at) } else { String::new() };
    let feedback = if from_second { feedback(step, at).to_string() } else { String::new() };
    let rules = state.workflow().map(|workflow| &workflow.branch);
    Ok(Facts {
        run: world.run.clone(),
        step: step.id.clone(),
        iteration: due.iteration,
        attempt: due.attempt,
        context_dir: context_dir(world, state).to_string_lossy().into_owned(),
        stage: at.convergence.stage(),
        overlay_file: kept("overlay.md", &overlay)?,
        feedback_file: kept("feedback.json", &feedback)?,
        prompt_file: kept("prompt.md", asked.prompt)?,
        check_id: asked.check.map(|(_, id)| id.clone()),
        decision_file: asked.check.and_then(|(check, id)| {
            let path = decision_path(check, Some(id))?;
            Some(world.workspace.join(path).to_string_lossy().into_owned())
        }),
        verbose: world.verbose,
        create_branch: rules.is_some_and(|rules| rules.create_branch),
        allow_protected_branch: world.allow_protected_branch,
        protected_branches: world.protected_branches.clone(),
        branch: world.branch.clone().map(|facts| BranchFacts {
            expected_current_branch: world
                .branch_lock
                .as_ref()
                .map_or(facts.startup_branch.clone(), BranchLock::branch),
            ..facts
        }),
        parent: world.parent.clone(),
    })
}

/// The last verdict as data, for scripts.
fn feedback(step: &Step, at: &StepState) -> serde_json::Value {
    let told = &at.feedback;
    let violation = step.convergence.as_ref().and_then(|policy| scope::violation(policy, &at.drift));
    let violations = violation.unwrap_or_default().reasons;
    serde_json::json!({
        "iteration": told.iteration,
        "stage": at.convergence.stage(),
        "decision": told.decision,
        "source": told.source,
        "reasons": told.reasons,
        "fingerprints": told.fingerprints,
        "problems": told.problems,
        "violations": violations,
        "from_person": told.from_person,
    })
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    match (std::fs::write(file, text), file.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            std::fs::write(file, text)
        }
        (result, _) => result,
    }
}

async fn perform(world: Arc<Machine>, prepared: Prepared, stop: StopSignal) -> Observation {
    let Prepared { step, due, check, is_check, is_last, job, in_the_way, notes, context_dir, seen, copy } =
        prepared;
    let lock = world.branch_lock.as_ref().filter(|_| !is_check);
    let ready = in_the_way
        .map_or(Ok(()), Err)
        .and_then(|()| lock.map_or(Ok(()), BranchLock::check))
        .and_then(|()| inputs(&world, &step, is_check, &context_dir));
    let is_baseline = is_check && due.iteration == Iteration::BASELINE;
    let (mut outcome, commands) = match ready {
        Err(why) => (broken(why), Vec::new()),
        Ok(missing) => {
            let (mut outcome, commands) = match job {
                Job::Checks(suite) if is_baseline => baseline::take(&world, &step, *suite, stop).await,
                job => run(&world, &step, job, stop, &context_dir, is_check).await,
            };
            outcome.notes.splice(0..0, missing);
            (outcome, commands)
        }
    };
    outcome.notes.splice(0..0, notes);
    if let (Some(lock), None) = (lock, &outcome.fatal) {
        outcome.fatal = lock.check_after(&step.id, succeeded(&outcome)).err();
    }
    let stopped = outcome.exit == Exit::Stopped;
    let file = check.as_ref().filter(|_| !stopped).and_then(|(check, id)| decision_path(check, Some(id)));
    let decision_file = match file {
        // A script may be asked again about what the worker wrote, so that stays.
        Some(path) if check.as_ref().is_some_and(|(check, _)| matches!(check.by, CheckBy::Exit(_))) => {
            decision_file::read(&world.workspace, &path)
        }
        Some(path) => read_and_tidy(&world.workspace, &path),
        None => DecisionFile::NotConfigured,
    };
    let now = match seen {
        Some(seen) => seen.after(&world, &step, &mut outcome).await,
        None => After::default(),
    };
    if is_last && !stopped && (is_check || succeeded(&outcome)) {
        outputs(&world, &step, &context_dir, &mut outcome);
    }
    if let Some(copy) = copy {
        blocking(move || drop(copy)).await;
    }
    let Due { step, iteration, attempt } = due;
    match check {
        Some((_, check_id)) if is_check => Observation::CheckFinished(CheckFinished {
            step,
            iteration,
            attempt,
            check_id,
            outcome,
            decision_file,
            commands,
            drift: now.drift.map(Box::new),
        }),
        _ => Observation::WorkerFinished(WorkerFinished {
            step,
            iteration,
            attempt,
            outcome,
            decision_file,
            changed: now.changed,
            snapshot: now.snapshot,
            drift: now.drift.map(Box::new),
        }),
    }
}

fn succeeded(outcome: &Outcome) -> bool {
    match &outcome.exit {
        Exit::Code(code) => *code == 0,
        Exit::Settled => true,
        Exit::Child(child) => child.end == unstuck_core::event::RunOutcome::Complete,
        _ => false,
    }
}

/// Reads a decision file. Its bytes are in the log then, so a file of our own folder goes: the workspace is
/// a person's.
fn read_and_tidy(workspace: &Path, path: &Path) -> DecisionFile {
    let file = decision_file::read(workspace, path);
    if path.parent() == Some(Path::new(OWN_FOLDER)) && matches!(file, DecisionFile::Read(_)) {
        let _moved = decision_file::move_aside(workspace, path);
    }
    file
}

async fn run(
    world: &Machine,
    step: &Step,
    job: Job,
    stop: StopSignal,
    context_dir: &Path,
    is_check: bool,
) -> (Outcome, Vec<CommandResult>) {
    let show = |line: &str| world.watcher.line(&step.id, line);
    match job {
        Job::Process(spec) => {
            let cwd = spec.cwd.clone();
            let outcome = process::run(*spec, &*world.blobs, &world.redactor, stop, show).await;
            let results = match step.check.as_ref().map(|check| &check.by) {
                Some(CheckBy::Exit(_)) if is_check && outcome.exit != Exit::Code(0) => {
                    vec![checks::result_of("the check", &cwd, &outcome, &[], &*world.blobs)]
                }
                _ => Vec::new(),
            };
            (outcome, results)
        }
        Job::Checks(suite) => checks::run(*suite, &*world.blobs, &world.redactor, stop, show).await,
        Job::Child(child) => {
            let (parent, child, place) = *child;
            let begun = std::time::Instant::now();
            let (exports, overlap) = (
                child.exports.clone(),
                if child.exports_replace { Overlap::Replace } else { Overlap::Merge },
            );
            let mut outcome = match world.children.run(parent, child, place, stop).await {
                Ok(ChildEnd { end: unstuck_core::event::RunOutcome::Interrupted(_), .. }) => {
                    Outcome::of(Exit::Stopped)
                }
                Ok(end) => Outcome::of(Exit::Child(end)),
                Err(why) => broken(why),
            };
            outcome.duration = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
            if let Exit::Child(child) = &outcome.exit {
                let child_context =
                    context_dir.join("_subworkflows").join(step.id.as_str()).join(child.run.as_str());
                match artifacts::copy_exports(&child_context, context_dir, &step.id, &exports, overlap) {
                    Ok(missing) => outcome.notes.extend(missing),
                    Err(error) => outcome.fatal = Some(error.to_string()),
                }
            }
            (outcome, Vec::new())
        }
    }
}

fn inputs(world: &Machine, step: &Step, is_check: bool, context_dir: &Path) -> Result<Vec<String>, String> {
    if is_check || step.inputs.is_empty() {
        return Ok(Vec::new());
    }
    artifacts::copy_inputs(&world.workspace, context_dir, &step.inputs).map_err(|error| error.to_string())
}

fn outputs(world: &Machine, step: &Step, context_dir: &Path, outcome: &mut Outcome) {
    if step.outputs.is_empty() {
        return;
    }
    match artifacts::collect_outputs(&world.workspace, context_dir, &step.id, &step.outputs) {
        Ok(missing) => outcome.notes.extend(missing),
        Err(error) => outcome.fatal = Some(error.to_string()),
    }
}

fn broken(why: String) -> Outcome {
    Outcome { fatal: Some(why), ..Outcome::of(Exit::Code(0)) }
}
