//! The process of a worker, a checker or a closer: its command line and its environment.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::TurnId;
use unstuck_core::effect::Turn;
use unstuck_core::event::{Call, Outcome};
use unstuck_core::judge::scope;
use unstuck_core::prompt;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{Step, Worker, WorkerKind};
use unstuck_process as process;
use unstuck_process::shell_quote::wrap_command;
use unstuck_process::{IdlePolicy, ProcessSpec, StopReceiver};
use unstuck_workers::Description;
use unstuck_workers::launch::ClientFeature;
use unstuck_workspace::environment::{self, BranchFacts, EnvContext};

use crate::branch_guard::BranchGuard;
use crate::client_call::{self, CallMonitor, EventSink, PreparedCall};
use crate::host::Host;
use crate::task::failed_to_run;
use crate::turn_start::TurnStart;
use crate::written::write;

/// Scripts above this length are run from a file: an argument has a bound.
const SCRIPT_ARG_MAX: usize = 100_000;

/// A process that is about to start.
pub(crate) enum WorkerProcess {
    Ready(Box<PreparedProcess>),
    /// It cannot start, for this reason.
    CannotStart(String),
}

/// A process, and whose client it is, if one's.
pub(crate) struct PreparedProcess {
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
        start: &TurnStart<'_>,
        notes: &mut Vec<String>,
        copy: Option<&Path>,
    ) -> io::Result<(Self, Option<Box<Call>>)> {
        let host = start.host;
        let worker = start.at.current_worker(start.step).expect("only what a process does is run as one");
        let folder = folder(start);
        // The worker sees this path, so it must not contain `.` components.
        let cwd = copy.unwrap_or(&host.workspace).join(&worker.workspace).components().collect();
        let facts = facts(start, &folder)?;
        if !worker.can_be_started() {
            let kind = worker.kind.as_str();
            return Err(io::Error::other(format!("a {kind} worker without a client cannot be started")));
        }
        let Some(client) = &worker.client else {
            if start.keeps_conversation() {
                notes.push(format!("a command line cannot be told: {}", ClientFeature::Resume.as_str()));
            }
            // A script that checks runs what the worker wrote, as commands do.
            let of_step = start.step.check_wrap().filter(|_| start.turn == Turn::Script);
            let argv = wrap_command(worker.wrap.as_deref().or(of_step), argv(worker, start, &folder)?);
            let spec = spec(start, facts, argv, cwd);
            let process = PreparedProcess { spec, kind: worker.kind, client: None, model: None, wrap: None };
            return Ok((Self::Ready(Box::new(process)), None));
        };
        let client = match Description::from_client(client) {
            Ok(description) => Arc::new(description),
            Err(why) => {
                let unread = format!("the description of {} cannot be read: {why}", client.title);
                return Ok((Self::CannotStart(unread), None));
            }
        };
        let PreparedCall { client, call, plan } = match client_call::plan(worker, client, start, &folder)? {
            Ok(planned) => planned,
            Err(why) => return Ok((Self::CannotStart(why.to_string()), None)),
        };
        for wish in &plan.unmet {
            notes.push(format!("{} cannot be told: {}", client.title, wish.as_str()));
        }
        let argv = wrap_command(worker.wrap.as_deref(), plan.argv.into_iter().map(OsString::from).collect());
        let mut spec = spec(start, facts, argv, cwd);
        spec.env.extend(plan.env.into_iter().map(|(name, value)| (name.into(), Some(value.into()))));
        spec.asks.clone_from(&client.stop);
        spec.stdin = plan.stdin.unwrap_or_default().into_bytes();
        let (model, wrap) = (worker.model.clone(), worker.wrap.clone());
        let process = PreparedProcess { spec, kind: worker.kind, client: Some(client), model, wrap };
        Ok((Self::Ready(Box::new(process)), Some(Box::new(call))))
    }

    /// Returns the folder in which it works; empty where it cannot start.
    pub(crate) fn cwd(&self) -> PathBuf {
        match self {
            Self::Ready(ready) => ready.spec.cwd.clone(),
            Self::CannotStart(_) => PathBuf::new(),
        }
    }

    /// Runs it.
    pub(crate) async fn run(self, host: &Host, due: TurnId, stop: StopReceiver, sink: EventSink) -> Outcome {
        let PreparedProcess { spec, kind, client, model, wrap } = match self {
            Self::Ready(ready) => *ready,
            Self::CannotStart(why) => return failed_to_run(why),
        };
        let mut outcome = match client {
            Some(client) => {
                let mut monitor = CallMonitor::new(client, (model, wrap), due, &*host.listener, sink);
                let mut outcome = process::run(spec, &*host.blobs, &host.redactor, stop, &mut monitor).await;
                monitor.finish(&mut outcome);
                outcome
            }
            None => {
                let mut show = |line: &str| host.listener.line(&due.step, line);
                process::run(spec, &*host.blobs, &host.redactor, stop, &mut show).await
            }
        };
        client_call::note_reset(kind, &mut outcome, host.clock.now());
        outcome
    }
}

/// Returns the folder for what is handed over. Each step has one, which is written over: what was handed over before is in
/// the blobs, and new files are not cheap.
fn folder(start: &TurnStart<'_>) -> PathBuf {
    let what = if start.turn.is_check() { "check" } else { "work" };
    start.host.artifacts.join(start.due.step.as_str()).join(what)
}

/// Returns the environment of whatever a turn runs, and writes the files that it names.
pub(crate) fn environment(start: &TurnStart<'_>) -> io::Result<EnvContext> {
    facts(start, &folder(start))
}

/// Returns how a command line of a turn is run.
pub(crate) fn spec(
    start: &TurnStart<'_>,
    facts: EnvContext,
    argv: Vec<OsString>,
    cwd: PathBuf,
) -> ProcessSpec {
    let TurnStart { host, step, .. } = *start;
    ProcessSpec {
        argv,
        cwd,
        env: environment::changes(&facts),
        stdin: start.question.text.as_bytes().to_vec(),
        limit: Duration::from_millis(start.limit().0),
        output_max: u64::MAX,
        patience: IdlePolicy {
            idle: Duration::from_millis(step.idle_timeout.0),
            verdict: facts.decision_file.map(PathBuf::from),
            probe: step.probe.clone().filter(|_| !start.turn.is_check()),
        },
        asks: Vec::new(),
        grace: host.grace,
        mark: format!("{}/{}", host.mark(), start.due.step),
    }
}

fn argv(worker: &Worker, start: &TurnStart<'_>, folder: &Path) -> io::Result<Vec<OsString>> {
    let shell = |words: &[&str]| words.iter().map(OsString::from).collect();
    if let Some(command) = &worker.command {
        return Ok(shell(&["sh", "-c", command]));
    }
    let script = match &start.question.check_id {
        Some(id) if start.turn == Turn::Script => prompt::script_of(worker, id),
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

fn facts(start: &TurnStart<'_>, folder: &Path) -> io::Result<EnvContext> {
    let TurnStart { host, state, step, at, due, question, .. } = *start;
    let kept = |name: &str, text: &str| -> io::Result<Option<String>> {
        if text.is_empty() {
            return Ok(None);
        }
        let (clean, _) = host.redactor.redact_text(text);
        let file = folder.join(name);
        write(&file, &clean)?;
        Ok(Some(file.to_string_lossy().into_owned()))
    };
    let from_second = !start.turn.is_check() && due.iteration.0 > 1;
    let overlay = if from_second {
        prompt::feedback_prompt(state, step, at, &question.registry)
    } else {
        String::new()
    };
    let feedback = if from_second { feedback(step, at).to_string() } else { String::new() };
    let rules = state.workflow().map(|workflow| &workflow.branch);
    Ok(EnvContext {
        run: host.run.clone(),
        step: step.id.clone(),
        iteration: due.iteration,
        attempt: due.attempt,
        context_dir: host.context_dir(state).to_string_lossy().into_owned(),
        stage: at.convergence.stage(),
        overlay_file: kept("overlay.md", &overlay)?,
        feedback_file: kept("feedback.json", &feedback)?,
        prompt_file: kept("prompt.md", &question.text)?,
        check_id: question.check_id.clone(),
        decision_file: start
            .decision_file()
            .map(|path| host.workspace.join(path).to_string_lossy().into_owned()),
        verbose: host.verbose,
        create_branch: rules.is_some_and(|rules| rules.create_branch),
        allow_protected_branch: host.allow_protected_branch,
        protected_branches: host.protected_branches.patterns.clone(),
        branch: host.branch.clone().map(|facts| BranchFacts {
            expected_current_branch: host
                .branch_lock
                .as_ref()
                .map_or(facts.startup_branch.clone(), BranchGuard::branch),
            ..facts
        }),
        parent: host.parent.clone(),
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
