//! The process of a worker, a checker or a closer: its command line and its environment.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::Due;
use unstuck_core::effect::Turn;
use unstuck_core::event::{Call, Outcome};
use unstuck_core::judge::scope;
use unstuck_core::prompt;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{Step, Worker, WorkerKind};
use unstuck_process as process;
use unstuck_process::shell_quote::wrapped;
use unstuck_process::{IdlePolicy, ProcessSpec, StopSignal};
use unstuck_workers::Description;
use unstuck_workers::launch::ClientFeature;
use unstuck_workspace::environment::{self, BranchFacts, EnvContext};

use crate::beginning::Beginning;
use crate::branch_lock::BranchLock;
use crate::call::{self, Listener, Planned, Tell};
use crate::host::Host;
use crate::task::broken;
use crate::written::write;

/// Scripts above this length are run from a file: an argument has a bound.
const SCRIPT_ARG_MAX: usize = 100_000;

/// A process that is about to start.
pub(crate) enum WorkerProcess {
    Ready(Box<Ready>),
    /// It cannot start, for this reason.
    Unfit(String),
}

/// A process, and whose client it is, if one's.
pub(crate) struct Ready {
    spec: ProcessSpec,
    kind: WorkerKind,
    client: Option<Arc<Description>>,
    /// The model that the client is asked for.
    model: Option<String>,
    /// The command line that it is run by.
    wrap: Option<String>,
}

impl WorkerProcess {
    /// Plans a process, and the call of a client if it is one.
    ///
    /// # Panics
    ///
    /// If it is the turn of commands or validators.
    pub(crate) fn plan(
        begin: &Beginning<'_>,
        notes: &mut Vec<String>,
        copy: Option<&Path>,
    ) -> io::Result<(Self, Option<Box<Call>>)> {
        let world = begin.world;
        let worker = begin.at.whom(begin.step).expect("only what a process does is run as one");
        let folder = folder(begin);
        // The worker sees this path, so it must not contain `.` components.
        let cwd = copy.unwrap_or(&world.workspace).join(&worker.workspace).components().collect();
        let facts = facts(begin, &folder)?;
        if !worker.can_be_started() {
            let kind = worker.kind.as_str();
            return Err(io::Error::other(format!("a {kind} worker without a client cannot be started")));
        }
        let Some(client) = &worker.client else {
            if begin.keeps_conversation() {
                notes.push(format!("a command line cannot be told: {}", ClientFeature::Resume.as_str()));
            }
            // A script that checks runs what the worker wrote, as commands do.
            let of_step = begin.step.check_wrap().filter(|_| begin.turn == Turn::Script);
            let argv = wrapped(worker.wrap.as_deref().or(of_step), argv(worker, begin, &folder)?);
            let spec = spec(begin, facts, argv, cwd);
            let process = Ready { spec, kind: worker.kind, client: None, model: None, wrap: None };
            return Ok((Self::Ready(Box::new(process)), None));
        };
        let client = match Description::of(client) {
            Ok(description) => Arc::new(description),
            Err(why) => {
                let unread = format!("the description of {} cannot be read: {why}", client.title);
                return Ok((Self::Unfit(unread), None));
            }
        };
        let Planned { client, call, plan } = match call::plan(worker, client, begin, &folder)? {
            Ok(planned) => planned,
            Err(why) => return Ok((Self::Unfit(why.to_string()), None)),
        };
        for wish in &plan.unmet {
            notes.push(format!("{} cannot be told: {}", client.title, wish.as_str()));
        }
        let argv = wrapped(worker.wrap.as_deref(), plan.argv.into_iter().map(OsString::from).collect());
        let mut spec = spec(begin, facts, argv, cwd);
        spec.env.extend(plan.env.into_iter().map(|(name, value)| (name.into(), Some(value.into()))));
        spec.asks.clone_from(&client.stop);
        spec.stdin = plan.stdin.unwrap_or_default().into_bytes();
        let (model, wrap) = (worker.model.clone(), worker.wrap.clone());
        let process = Ready { spec, kind: worker.kind, client: Some(client), model, wrap };
        Ok((Self::Ready(Box::new(process)), Some(Box::new(call))))
    }

    /// Returns the folder in which it works; empty where it cannot start.
    pub(crate) fn cwd(&self) -> PathBuf {
        match self {
            Self::Ready(ready) => ready.spec.cwd.clone(),
            Self::Unfit(_) => PathBuf::new(),
        }
    }

    /// Runs it.
    pub(crate) async fn run(self, world: &Host, due: Due, stop: StopSignal, tell: Tell) -> Outcome {
        let Ready { spec, kind, client, model, wrap } = match self {
            Self::Ready(ready) => *ready,
            Self::Unfit(why) => return broken(why),
        };
        let mut outcome = match client {
            Some(client) => {
                let mut listener = Listener::new(client, (model, wrap), due, &*world.watcher, tell);
                let mut outcome =
                    process::run(spec, &*world.blobs, &world.redactor, stop, &mut listener).await;
                listener.finish(&mut outcome);
                outcome
            }
            None => {
                let mut show = |line: &str| world.watcher.line(&due.step, line);
                process::run(spec, &*world.blobs, &world.redactor, stop, &mut show).await
            }
        };
        call::note_reset(kind, &mut outcome, world.clock.now());
        outcome
    }
}

/// Returns the folder for what is handed over. Each step has one, which is written over: what was handed over before is in
/// the blobs, and new files are not cheap.
fn folder(begin: &Beginning<'_>) -> PathBuf {
    let what = if begin.turn.is_check() { "check" } else { "work" };
    begin.world.artifacts.join(begin.due.step.as_str()).join(what)
}

/// Returns the environment of whatever a turn runs, and writes the files that it names.
pub(crate) fn environment(begin: &Beginning<'_>) -> io::Result<EnvContext> {
    facts(begin, &folder(begin))
}

/// Returns how a command line of a turn is run.
pub(crate) fn spec(
    begin: &Beginning<'_>,
    facts: EnvContext,
    argv: Vec<OsString>,
    cwd: PathBuf,
) -> ProcessSpec {
    let Beginning { world, step, .. } = *begin;
    ProcessSpec {
        argv,
        cwd,
        env: environment::changes(&facts),
        stdin: begin.question.text.as_bytes().to_vec(),
        limit: Duration::from_millis(begin.limit().0),
        output_max: u64::MAX,
        patience: IdlePolicy {
            idle: Duration::from_millis(step.idle_timeout.0),
            verdict: facts.decision_file.map(PathBuf::from),
            probe: step.probe.clone().filter(|_| !begin.turn.is_check()),
        },
        asks: Vec::new(),
        grace: world.grace,
        mark: format!("{}/{}", world.mark(), begin.due.step),
    }
}

fn argv(worker: &Worker, begin: &Beginning<'_>, folder: &Path) -> io::Result<Vec<OsString>> {
    let shell = |words: &[&str]| words.iter().map(OsString::from).collect();
    if let Some(command) = &worker.command {
        return Ok(shell(&["sh", "-c", command]));
    }
    let script = match &begin.question.check_id {
        Some(id) if begin.turn == Turn::Script => prompt::script_of(worker, id),
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

fn facts(begin: &Beginning<'_>, folder: &Path) -> io::Result<EnvContext> {
    let Beginning { world, state, step, at, due, question, .. } = *begin;
    let kept = |name: &str, text: &str| -> io::Result<Option<String>> {
        if text.is_empty() {
            return Ok(None);
        }
        let (clean, _) = world.redactor.redact_text(text);
        let file = folder.join(name);
        write(&file, &clean)?;
        Ok(Some(file.to_string_lossy().into_owned()))
    };
    let from_second = !begin.turn.is_check() && due.iteration.0 > 1;
    let overlay =
        if from_second { prompt::overlay(state, step, at, &question.registry) } else { String::new() };
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
        prompt_file: kept("prompt.md", &question.text)?,
        check_id: question.check_id.clone(),
        decision_file: begin
            .decision_file()
            .map(|path| world.workspace.join(path).to_string_lossy().into_owned()),
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
