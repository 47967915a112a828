//! What is run for a step: a worker, a check, a closer, validators or a child run, and how it is started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::event::{Call, Exit, Inquiry, Outcome, Parent, Purpose};
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::{TestName, ValidatorResult};
use unstuck_core::id::{CheckId, Digest, Millis, RunId};
use unstuck_core::judge::scope;
use unstuck_core::prompt::{self, FromRegistry};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{
    Check, CheckBy, CheckCommand, Session, Step, Subworkflow, Work, Worker, WorkerKind,
};
use unstuck_core::{Due, RunState};
use unstuck_evidence::checks::{self, Suite};
use unstuck_failures::check_command::BaselineOutput;
use unstuck_files::private_dir::PrivateDir;
use unstuck_process as process;
use unstuck_process::shell_quote::wrapped;
use unstuck_process::{IdlePolicy, ProcessSpec, StopSignal};
use unstuck_workers::Description;
use unstuck_workers::launch::ClientFeature;
use unstuck_workspace::artifacts::{self, IsStopped, Overlap};
use unstuck_workspace::environment::{self, BranchFacts, EnvContext};

use crate::branch_lock::BranchLock;
use crate::call::{self, Listener, Planned, Tell};
use crate::child::child_run_id;
use crate::copies;
use crate::machine::{Machine, Place};
use crate::perform::decision_path;
use crate::removed::Removed;
use crate::validation::Validation;

/// Scripts above this length are run from a file: an argument has a bound.
const SCRIPT_ARG_MAX: usize = 100_000;

/// What is run.
pub(crate) enum Job {
    Process(Box<Process>),
    Checks(Box<Suite>, Option<Box<Removed>>),
    Validators(Box<Validation>),
    Child(Box<(Parent, Subworkflow, Place)>),
    /// It cannot be begun, for this reason.
    Unfit(String),
}

/// A process, and whose client it is, if one's.
pub(crate) struct Process {
    spec: ProcessSpec,
    kind: WorkerKind,
    client: Option<Arc<Description>>,
    /// The model that the client is asked for.
    model: Option<String>,
    /// The command line that it is run by.
    wrap: Option<String>,
}

/// All that is known when a process is prepared.
pub(crate) struct Asked<'a> {
    pub(crate) state: &'a RunState,
    pub(crate) step: &'a Step,
    pub(crate) at: &'a StepState,
    pub(crate) due: &'a Due,
    /// Who is asked; `None` for a worker.
    pub(crate) inquiry: Option<Inquiry>,
    /// The check, and the id that its verdict carries; for a worker only where it is its own check.
    pub(crate) check: Option<&'a (Check, CheckId)>,
    pub(crate) prompt: &'a str,
    /// What of it a registry says.
    pub(crate) registry: &'a FromRegistry,
    pub(crate) limit: Millis,
    /// Where to work instead of in the workspace.
    pub(crate) copy: Option<&'a Path>,
    /// The workspace as it is now, where somebody has looked.
    pub(crate) now: Option<&'a Snapshot>,
}

impl Asked<'_> {
    /// Says whether the conversation of the iteration before is to go on.
    pub(crate) fn keeps_conversation(&self) -> bool {
        self.inquiry.is_none() && self.step.session == Session::Continue
    }
}

impl Job {
    /// Says what is to be run, and how a client is called for it.
    pub(crate) fn new(
        world: &Machine,
        asked: &Asked<'_>,
        notes: &mut Vec<String>,
    ) -> io::Result<(Self, Option<Box<Call>>)> {
        let Asked { step, at, inquiry, .. } = *asked;
        let job = match (&step.work, inquiry) {
            (Work::Subworkflow(child), None) if at.purpose == Purpose::Work => {
                let parent =
                    Parent { run: world.run.clone(), step: step.id.clone(), iteration: asked.due.iteration };
                let place = place(world, asked, &child_run_id(&parent));
                Self::Child(Box::new((parent, child.clone(), place)))
            }
            (_, Some(Inquiry::Preflight | Inquiry::Conditions)) => {
                let facts = facts(world, asked, &folder(world, asked))?;
                let environment = environment::changes(&facts);
                Self::Validators(Box::new(Validation::new(world, asked, environment)))
            }
            (_, Some(Inquiry::Check)) => {
                match asked.check.map(|(check, _)| (&check.by, check.observations)) {
                    Some((CheckBy::Commands(commands), observations)) => {
                        let removed = Removed::of(asked, commands).map(Box::new);
                        Self::Checks(Box::new(suite(world, asked, commands, observations)?), removed)
                    }
                    _ => return process_of(world, asked, notes),
                }
            }
            _ => return process_of(world, asked, notes),
        };
        Ok((job, None))
    }
}

impl<'a> Asked<'a> {
    /// Returns the check whose verdict is waited for, if it is one that writes a decision file.
    fn decides(&self) -> Option<&'a (Check, CheckId)> {
        self.check.filter(|_| matches!(self.inquiry, None | Some(Inquiry::Check)))
    }
}

fn place(world: &Machine, asked: &Asked<'_>, child: &RunId) -> Place {
    let Asked { state, at, .. } = *asked;
    Place {
        mark: world.mark(),
        limit: asked.limit,
        workspace: world.workspace.to_string_lossy().into_owned(),
        context_dir: state.workflow().map_or_else(String::new, |workflow| workflow.context_dir.clone()),
        extra_iterations: state.extra_iterations(),
        extra_budget: state.extra_budget(),
        allowance: state.allowance_of(child),
        prices: state.workflow().and_then(|workflow| workflow.prices.clone()),
        extra_time: state.extra_time(),
        secrets: state.secrets().to_vec(),
        hint: at.feedback.from_person.last().cloned(),
        last_end: at.calls.child.as_ref().filter(|it| it.run == *child).map(|it| (it.end, it.ended_at)),
    }
}

fn process_of(
    world: &Machine,
    asked: &Asked<'_>,
    notes: &mut Vec<String>,
) -> io::Result<(Job, Option<Box<Call>>)> {
    let worker = asked.at.whom(asked.step).expect("only what a process does is run as one");
    let folder = folder(world, asked);
    // Without the dots in it: a worker is told this path.
    let cwd = asked.copy.unwrap_or(&world.workspace).join(&worker.workspace).components().collect();
    let facts = facts(world, asked, &folder)?;
    if !worker.can_be_started() {
        let kind = worker.kind.as_str();
        return Err(io::Error::other(format!("a {kind} worker without a client cannot be started")));
    }
    let Some(client) = &worker.client else {
        if asked.keeps_conversation() {
            notes.push(format!("a command line cannot be told: {}", ClientFeature::Resume.as_str()));
        }
        // A script that checks runs what the worker wrote, as commands do.
        let is_script_of_check = asked.inquiry == Some(Inquiry::Check) && worker.kind == WorkerKind::Custom;
        let of_step = asked.step.check_wrap().filter(|_| is_script_of_check);
        let argv = wrapped(worker.wrap.as_deref().or(of_step), argv(worker, asked, &folder)?);
        let spec = spec_of(world, asked, facts, argv, cwd);
        return Ok((
            Job::Process(Box::new(Process {
                spec,
                kind: worker.kind,
                client: None,
                model: None,
                wrap: None,
            })),
            None,
        ));
    };
    let client = match Description::of(client) {
        Ok(description) => Arc::new(description),
        Err(why) => {
            let unread = format!("the description of {} cannot be read: {why}", client.title);
            return Ok((Job::Unfit(unread), None));
        }
    };
    let Planned { client, call, plan } = match call::plan(worker, client, asked, &folder)? {
        Ok(planned) => planned,
        Err(why) => return Ok((Job::Unfit(why.to_string()), None)),
    };
    for wish in &plan.unmet {
        notes.push(format!("{} cannot be told: {}", client.title, wish.as_str()));
    }
    let argv = wrapped(worker.wrap.as_deref(), plan.argv.into_iter().map(OsString::from).collect());
    let mut spec = spec_of(world, asked, facts, argv, cwd);
    spec.env.extend(plan.env.into_iter().map(|(name, value)| (name.into(), Some(value.into()))));
    spec.asks.clone_from(&client.stop);
    spec.stdin = plan.stdin.unwrap_or_default().into_bytes();
    let (model, wrap) = (worker.model.clone(), worker.wrap.clone());
    let process = Process { spec, kind: worker.kind, client: Some(client), model, wrap };
    Ok((Job::Process(Box::new(process)), Some(Box::new(call))))
}

/// Returns the place for what is handed over: one for each step, written over, since what was handed over
/// before is in the blobs, and making files is not cheap.
fn folder(world: &Machine, asked: &Asked<'_>) -> PathBuf {
    let what = if asked.inquiry.is_some() { "check" } else { "work" };
    world.artifacts.join(asked.due.step.as_str()).join(what)
}

fn spec_of(
    world: &Machine,
    asked: &Asked<'_>,
    facts: EnvContext,
    argv: Vec<OsString>,
    cwd: PathBuf,
) -> ProcessSpec {
    ProcessSpec {
        argv,
        cwd,
        env: environment::changes(&facts),
        stdin: asked.prompt.as_bytes().to_vec(),
        limit: Duration::from_millis(asked.limit.0),
        output_max: u64::MAX,
        patience: IdlePolicy {
            idle: Duration::from_millis(asked.step.idle_timeout.0),
            verdict: facts.decision_file.map(PathBuf::from),
            probe: asked.step.probe.clone().filter(|_| asked.inquiry.is_none()),
        },
        asks: Vec::new(),
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
    let spec = |(at, command): (usize, &CheckCommand)| {
        let argv = ["bash", "-c", &command.run].iter().map(OsString::from).collect();
        let argv = wrapped(asked.step.check_wrap(), argv);
        let spec = spec_of(world, asked, facts.clone(), argv, world.workspace.clone());
        let before = asked.at.evidence.baseline.as_deref().and_then(|results| results.get(at));
        let before = before.map(|result| {
            let removed = files_removed(world, asked.at, result);
            Arc::new(BaselineOutput::new(result.clone(), removed))
        });
        checks::Command { run: command.run.clone(), spec, reports: command.reports.clone(), before }
    };
    let commands = commands.iter().enumerate().map(spec).collect();
    Ok(Suite { commands, observations, limit: Duration::from_millis(asked.limit.0), witness: None })
}

/// Returns the files of tests that could not be loaded before the work began and were removed since. One that was moved is
/// there under another path, where nothing was before.
fn files_removed(world: &Machine, at: &StepState, before: &CommandResult) -> Vec<TestName> {
    let (Some(keeper), Some(began)) = (&world.snapshots, &at.workspace.began_with) else { return Vec::new() };
    let was_there = |file: &str| keeper.read(began, Path::new(file)).is_some();
    let is_there = |file: &str| world.workspace.join(file).exists();
    let was_moved = |file: &str| {
        let name = Path::new(file).file_name();
        let mut named = at.workspace.drift.files.iter().filter(|it| Path::new(it).file_name() == name);
        named.any(|it| is_there(it) && !was_there(it))
    };
    let unloaded = before.unloaded().into_iter();
    unloaded.filter(|it| !is_there(&it.name) && was_there(&it.name) && !was_moved(&it.name)).collect()
}

fn argv(worker: &Worker, asked: &Asked<'_>, folder: &Path) -> io::Result<Vec<OsString>> {
    let shell = |words: &[&str]| words.iter().map(OsString::from).collect();
    if let Some(command) = &worker.command {
        return Ok(shell(&["sh", "-c", command]));
    }
    let script = match asked.check {
        Some((_, id)) if asked.inquiry == Some(Inquiry::Check) => prompt::script_of(worker, id),
        _ => worker.instructions.clone(),
    };
    if script.len() <= SCRIPT_ARG_MAX {
        return Ok(shell(&["bash", "-e", "-c", &script]));
    }
    let file = folder.join("script.sh");
    write(&file, &script)?;
    let mut argv: Vec<OsString> = shell(&["bash", "-e"]);
    argv.push(file.into());
    Ok(argv)
}

fn facts(world: &Machine, asked: &Asked<'_>, folder: &Path) -> io::Result<EnvContext> {
    let Asked { state, step, at, due, inquiry, .. } = *asked;
    let kept = |name: &str, text: &str| -> io::Result<Option<String>> {
        if text.is_empty() {
            return Ok(None);
        }
        let (clean, _) = world.redactor.redact_text(text);
        let file = folder.join(name);
        write(&file, &clean)?;
        Ok(Some(file.to_string_lossy().into_owned()))
    };
    let from_second = inquiry.is_none() && due.iteration.0 > 1;
    let overlay = if from_second { prompt::overlay(state, step, at, asked.registry) } else { String::new() };
    let feedback = if from_second { feedback(step, at).to_string() } else { String::new() };
    let rules = state.workflow().map(|workflow| &workflow.branch);
    Ok(EnvContext {
        run: world.run.clone(),
        step: step.id.clone(),
        iteration: due.iteration,
        attempt: due.attempt,
        context_dir: world.context_dir(state).to_string_lossy().into_owned(),
        stage: at.convergence.stage(),
        overlay_file: kept("overlay.md", &overlay)?,
        feedback_file: kept("feedback.json", &feedback)?,
        prompt_file: kept("prompt.md", asked.prompt)?,
        check_id: asked.check.map(|(_, id)| id.clone()),
        decision_file: asked.decides().and_then(|(check, id)| {
            let path = decision_path(check, Some(id))?;
            Some(world.workspace.join(path).to_string_lossy().into_owned())
        }),
        verbose: world.verbose,
        create_branch: rules.is_some_and(|rules| rules.create_branch),
        allow_protected_branch: world.allow_protected_branch,
        protected_branches: world.protected_branches.patterns.clone(),
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
    let policy = step.convergence.as_ref();
    let violation =
        policy.and_then(|policy| scope::violation(policy, &at.workspace.drift, &at.workspace.by_checks));
    let violations: Vec<String> =
        violation.unwrap_or_default().reasons.iter().map(ToString::to_string).collect();
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

/// Writes a file for a worker, in a folder that is made where it is missing.
///
/// What is there is written over, and cut only where it is longer: file systems guard a file that is emptied first
/// by writing it out at once, which a view that is made anew with every iteration does not need.
pub(crate) fn write(file: &Path, text: &str) -> io::Result<()> {
    let over = || {
        let mut file = File::options().write(true).create(true).truncate(false).open(file)?;
        file.write_all(text.as_bytes())?;
        if file.metadata()?.len() > text.len() as u64 { file.set_len(text.len() as u64) } else { Ok(()) }
    };
    match (over(), file.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            over()
        }
        (result, _) => result,
    }
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) commands: Vec<CommandResult>,
    pub(crate) validators: Vec<ValidatorResult>,
    /// The workspace that the validators looked at.
    pub(crate) snapshot: Option<Box<Snapshot>>,
    /// A name for all files of it.
    pub(crate) stamp: Option<Digest>,
    /// In so many rounds, all that there are, validators have changed the workspace each time.
    pub(crate) unsettled_after: Option<u32>,
    /// What a check has changed itself of what the repository has.
    pub(crate) changed: Vec<String>,
}

/// Runs it.
pub(crate) async fn run(
    world: &Arc<Machine>,
    step: &Step,
    job: Job,
    stop: StopSignal,
    context: &PrivateDir,
    inquiry: Option<Inquiry>,
    (due, tell): (Due, Tell),
) -> (Outcome, Done) {
    let mut show = |line: &str| world.watcher.line(&step.id, line);
    match job {
        Job::Process(process) => {
            let Process { spec, kind, client, model, wrap } = *process;
            let cwd = spec.cwd.clone();
            let mut outcome = match client {
                Some(client) => {
                    let mut listener = Listener::new(client, (model, wrap), due, &*world.watcher, tell);
                    let running =
                        process::run(spec, &*world.blobs, &world.redactor, stop.clone(), &mut listener);
                    let mut outcome = running.await;
                    listener.finish(&mut outcome);
                    outcome
                }
                None => process::run(spec, &*world.blobs, &world.redactor, stop.clone(), &mut show).await,
            };
            call::note_reset(kind, &mut outcome, world.clock.now());
            let commands = match step.check.as_ref().map(|check| &check.by) {
                Some(CheckBy::Exit(_))
                    if inquiry == Some(Inquiry::Check) && outcome.exit != Exit::Code(0) =>
                {
                    let limit = checks::READING_MAX;
                    let (reports, before) = (Vec::new(), None);
                    let reading =
                        checks::EndedCommand { run: "the check", cwd: &cwd, reports, before, limit };
                    let read = reading.result_of(&mut outcome, &world.blobs, &stop).await;
                    vec![read.unwrap_or_else(|unread| unread)]
                }
                _ => Vec::new(),
            };
            (outcome, Done { commands, ..Done::default() })
        }
        Job::Checks(suite, removed) => {
            let (outcome, mut commands) =
                checks::run(*suite, &world.blobs, &world.redactor, stop, show).await;
            if let Some(removed) = removed {
                removed.note(world, &mut commands).await;
            }
            (outcome, Done { commands, ..Done::default() })
        }
        Job::Validators(validation) => validation.run(world, step, stop).await,
        Job::Unfit(why) => (broken(why), Done::default()),
        Job::Child(child) => (child_run(world, step, *child, stop, context).await, Done::default()),
    }
}

async fn child_run(
    world: &Machine,
    step: &Step,
    (parent, child, place): (Parent, Subworkflow, Place),
    stop: StopSignal,
    context: &PrivateDir,
) -> Outcome {
    let begun = std::time::Instant::now();
    let overlap = if child.exports_replace { Overlap::Replace } else { Overlap::Merge };
    let exports = child.exports.clone();
    let mut outcome = match world.children.run(parent, child, place, stop.clone()).await {
        Ok(outcome) => outcome,
        Err(why) => broken(why),
    };
    outcome.duration = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
    if let Exit::Child(child) = &outcome.exit
        && !outcome.exit.is_stopped()
    {
        let child_context = context.join("_subworkflows").join(step.id.as_str()).join(child.run.as_str());
        let (own, step) = (context.join(step.id.as_str()), step.id.clone());
        let copy = move |context: &PrivateDir, is_stopped: IsStopped<'_>| {
            artifacts::copy_exports(&child_context, context, &step, &exports, overlap, is_stopped)
        };
        copies::run(context.clone(), own, stop, copy).await.note(&mut outcome);
    }
    outcome
}

/// Returns the outcome of what could not be begun, or not be brought to its end.
pub(crate) fn broken(why: String) -> Outcome {
    Outcome { fatal: Some(why), ..Outcome::of(Exit::Code(0)) }
}
