//! The context folder: views of a run as JSON files next to its artifacts, in the workspace.
//!
//! Names and meaning follow the Roboppi format (section 9 of its page in the book), for scripts that read these files.
//! All views are derived from the state, which comes from the log outside the workspace. Unstuck never reads them back.
//! Absent values are left out; times are milliseconds since 1970.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Map, Value, json};
use unstuck_core::RunState;
use unstuck_core::convergence_files::{self, object};
use unstuck_core::event::{Conclusion, Event, Fact, Observation, RunOutcome, StepEnd, WaitReason};
use unstuck_core::id::{Attempt, Iteration, Millis, StepId, Timestamp};
use unstuck_core::state::{StepPhase, StepState};
use unstuck_core::workflow::{ArtifactExport, CheckMethod, Step, StepKind, Worker};
use unstuck_files::private_dir::{self, PrivateDir};
use unstuck_files::safe_dir::{FILE, SafeDir};

use crate::branch::ProtectedBranches;
use crate::environment::BranchFacts;

/// The view of the run.
pub(crate) const WORKFLOW: &str = "_workflow.json";
/// The view of each step.
pub(crate) const META: &str = "_meta.json";
/// The view of each step with its resolved settings.
pub(crate) const RESOLVED: &str = "_resolved.json";
/// The folder for the progress of a loop, in the folder of its step.
pub const CONVERGENCE: &str = "_convergence";

/// Facts for the views that are not in the state.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The branch; `None` outside of git.
    pub branch: Option<BranchFacts>,
    /// Protected branches.
    pub protected_branches: ProtectedBranches,
    /// Whether work on protected branches is allowed.
    pub allow_protected_branch: bool,
    /// Whether the run is locked to its branch.
    pub branch_lock: bool,
}

/// Writes the views that `events` have changed.
///
/// # Errors
///
/// The first file that cannot be written; the others are, and the run does not depend on it.
pub fn write(folder: &PrivateDir, state: &RunState, events: &[Event], facts: &Facts) -> io::Result<()> {
    let mut touched = BTreeMap::new();
    let (mut whole, mut begins) = (false, false);
    let mut views = Views::default();
    for event in events {
        match &event.fact {
            Fact::Observed(Observation::RunStarted(_)) => (whole, begins) = (true, true),
            // The start of another one changes nothing: it counts from its request.
            Fact::Observed(Observation::WorkerStarted(e)) if is_first(e.iteration, e.attempt) => {
                touch(&mut touched, &e.step, true);
            }
            // How the run stands as a whole says how each step stands that has not ended.
            Fact::Observed(Observation::RunResumed(_) | Observation::AnswerGiven(_))
            | Fact::Concluded(Conclusion::RunEnded(_)) => {
                whole = true;
                begins |= matches!(event.fact, Fact::Observed(Observation::RunResumed(_)));
                state.steps().for_each(|(step, _)| touch(&mut touched, &step.id, true));
            }
            Fact::Concluded(Conclusion::WorkRequested(e)) => {
                touch(&mut touched, &e.step, is_first(e.iteration, e.attempt));
            }
            Fact::Concluded(Conclusion::WaitRequested(e)) => touch(&mut touched, &e.step, false),
            Fact::Concluded(Conclusion::VerdictReached(e)) => touch(&mut touched, &e.step, false),
            Fact::Concluded(Conclusion::StepEnded(e)) => touch(&mut touched, &e.step, true),
            Fact::Concluded(Conclusion::StageRaised(e)) => {
                let name = format!("{}/{CONVERGENCE}", e.step);
                views.add(
                    &name,
                    "stage-transition.json",
                    convergence_files::stage_transition_json(e, event.at),
                );
            }
            // CHECKING is seen with the next verdict; files are not worth it in between.
            Fact::Concluded(
                Conclusion::CheckRequested(_) | Conclusion::RunStopping(_) | Conclusion::FallbackTaken(_),
            )
            | Fact::Observed(_) => {}
        }
    }
    for (id, resolved) in touched {
        let Some((step, at)) = state.step(id) else { continue };
        views.of_step(state, step, at, resolved);
    }
    if whole {
        views.add("", WORKFLOW, workflow(state, facts));
    }
    if !whole && views.0.is_empty() {
        return Ok(());
    }
    views.write(folder, begins)
}

/// Files to be written: the folder, the name and the content of each.
#[derive(Default)]
struct Views(Vec<(String, &'static str, Value)>);

impl Views {
    fn add(&mut self, folder: &str, name: &'static str, content: Value) {
        self.0.push((folder.to_owned(), name, content));
    }

    fn of_step(&mut self, state: &RunState, step: &Step, at: &StepState, with_resolved: bool) {
        let folder = step.id.as_str();
        let mut meta = meta(state, step, at);
        self.add(folder, META, Value::Object(meta.clone()));
        if with_resolved {
            meta.insert("resolved".to_owned(), resolved(step));
            self.add(folder, RESOLVED, Value::Object(meta));
        }
        if step.convergence.is_some() && at.feedback.decision.is_some() {
            let folder = format!("{folder}/{CONVERGENCE}");
            self.add(&folder, "state.json", convergence_files::state_json(state, step, at));
            self.add(&folder, "scope.json", convergence_files::scope_json(step, at));
        }
    }

    fn write(self, folder: &PrivateDir, begins: bool) -> io::Result<()> {
        make_ignored(folder)?;
        let mut result = Ok(());
        for (below, name, content) in self.0 {
            let folder = if below.is_empty() { folder.clone() } else { folder.join(&below) };
            if begins {
                let _best_effort = folder.open().map(|folder| remove_unfinished(&folder));
            }
            let written = folder.put_view(name, format!("{content:#}\n").as_bytes());
            result = result.and(written);
        }
        result
    }
}

/// The content of a `.gitignore` that ignores its whole folder.
pub(crate) const IGNORE_ALL: &[u8] = b"*\n";

/// Creates the folder with a `.gitignore` that hides all of it; an existing folder stays as it is. Otherwise, a worker
/// that commits all files would commit the views. They change with every event, so the repository would never be clean.
fn make_ignored(folder: &PrivateDir) -> io::Result<()> {
    match folder.open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => folder.put(".gitignore", IGNORE_ALL),
        opened => opened.map(drop),
    }
}

/// Removes files that a supervisor which was killed had not finished.
fn remove_unfinished(folder: &SafeDir) {
    for name in folder.names().unwrap_or_default() {
        if private_dir::is_temporary(&name) && folder.metadata(&name).is_ok_and(|seen| seen.is(FILE)) {
            let _best_effort = folder.remove_file(&name);
        }
    }
}

/// Notes that the views of a step have changed; `resolved` says whether that includes what is only looked
/// at when a step begins and when it has ended.
fn touch<'a>(touched: &mut BTreeMap<&'a StepId, bool>, step: &'a StepId, resolved: bool) {
    *touched.entry(step).or_insert(false) |= resolved;
}

/// Says whether a step begins with this.
fn is_first(iteration: Iteration, attempt: Attempt) -> bool {
    iteration.0 == 1 && attempt.0 == 1
}

fn workflow(state: &RunState, facts: &Facts) -> Value {
    let Some(started) = state.started() else { return Value::Null };
    let workflow = &started.workflow;
    let ended = state.outcome();
    let incomplete: Vec<&str> = state
        .steps()
        .filter(|(_, at)| at.phase.end() == Some(&StepEnd::Incomplete))
        .map(|(step, _)| step.id.as_str())
        .collect();
    let resolved = json!({"timeoutMs": workflow.timeout, "concurrency": workflow.concurrency});
    let failed = ended.filter(|outcome| *outcome != RunOutcome::Complete);
    let begun = state.steps().filter_map(|(_, at)| at.begun_at).min();
    let mut fields = object([
        ("id", json!(started.run)),
        ("name", json!(workflow.name)),
        ("startedAt", json!(begun.unwrap_or(state.last_at()))),
        ("status", json!(run_status(ended))),
        ("completedAt", ended.map_or(Value::Null, |_| json!(state.last_at()))),
        ("resolved", ended.map_or(Value::Null, |_| resolved)),
        ("abortReason", failed.map_or(Value::Null, |outcome| json!(outcome.as_str()))),
        ("incompleteSteps", if incomplete.is_empty() { Value::Null } else { json!(incomplete) }),
        ("create_branch", json!(workflow.branch.create_branch)),
        ("protected_branches", json!(facts.protected_branches.patterns)),
        ("protected_branches_source", json!(facts.protected_branches.source)),
        ("allow_protected_branch", json!(facts.allow_protected_branch)),
        ("branch_lock_enabled", json!(facts.branch_lock)),
    ]);
    if let Some(branch) = &facts.branch {
        fields.extend(object([
            ("expected_work_branch", json!(branch.expected_work_branch)),
            ("expected_current_branch", json!(branch.expected_current_branch)),
            ("startup_toplevel", json!(branch.startup_toplevel)),
            ("startup_branch", json!(branch.startup_branch)),
            ("startup_head_sha", json!(branch.startup_head_sha)),
            ("effective_base_branch", json!(branch.base)),
            ("effective_base_branch_source", json!(branch.base_source)),
            ("effective_base_sha", json!(branch.base_sha)),
        ]));
    }
    Value::Object(fields)
}

fn run_status(outcome: Option<RunOutcome>) -> &'static str {
    match outcome {
        None => "RUNNING",
        Some(RunOutcome::Complete) => "SUCCEEDED",
        Some(RunOutcome::TimeLimit) => "TIMED_OUT",
        Some(RunOutcome::Interrupted(_)) => "CANCELLED",
        Some(_) => "FAILED",
    }
}

/// A step that has not ended when its run has is CANCELLED if it had begun, and else SKIPPED.
fn step_status(at: &StepState, run: Option<RunOutcome>) -> &'static str {
    match &at.phase {
        StepPhase::Pending if run.is_some() => "SKIPPED",
        StepPhase::WorkDue if run.is_some() && at.calls.started == 0 => "SKIPPED",
        StepPhase::Pending => "PENDING",
        StepPhase::WorkDue if at.calls.started == 0 => "READY",
        StepPhase::Ended(end) => match end {
            StepEnd::Complete => "SUCCEEDED",
            StepEnd::Incomplete => "INCOMPLETE",
            StepEnd::Skipped(_) => "SKIPPED",
            StepEnd::Blocked(_) => "BLOCKED",
            _ => "FAILED",
        },
        _ if run.is_some() => "CANCELLED",
        StepPhase::WorkDue | StepPhase::Working(_) => "RUNNING",
        StepPhase::CheckDue | StepPhase::Checking(_) => "CHECKING",
        StepPhase::Waiting { why: WaitReason::ExternalJob, .. } => "WAITING",
        StepPhase::Waiting { .. } => "RUNNING",
    }
}

fn meta(state: &RunState, step: &Step, at: &StepState) -> Map<String, Value> {
    let ended_at = at.ended_at.or(state.outcome().map(|_| state.last_at()));
    let wall = at.begun_at.zip(ended_at).map(|(begun, ended): (Timestamp, Timestamp)| ended.since(begun));
    let worker = worker_of(step);
    let cost = |wall: Millis| {
        json!({"cost": Value::Object(object([
            ("estimatedTokens", if at.calls.tokens > 0 { json!(at.calls.tokens) } else { Value::Null }),
            ("instructionBytes", json!(worker.map_or(0, |worker| worker.instructions.len()))),
            ("wallTimeMs", json!(wall)),
        ]))})
    };
    let (error, class) = error_of(at);
    object([
        ("stepId", json!(step.id)),
        ("status", json!(step_status(at, state.outcome()))),
        ("startedAt", json!(at.begun_at)),
        ("completedAt", json!(ended_at)),
        ("wallTimeMs", json!(wall)),
        ("attempts", json!(attempts(state, at))),
        ("iterations", json!(at.iteration())),
        ("maxIterations", json!(state.displayed_iterations(step, at))),
        ("workerKind", json!(worker.map(|worker| worker.kind.as_str()))),
        ("artifacts", json!(artifacts(state, step))),
        ("workerResult", wall.map_or(Value::Null, cost)),
        ("subworkflow", subworkflow(state, step, at)),
        ("error", json!(error)),
        ("errorClass", json!(class)),
        ("stage", json!(at.convergence.stage())),
        ("decision", decision(at)),
        ("attemptsTotal", json!(attempts_total(state, at))),
    ])
}

/// Returns the number of attempts in the last iteration; 0 for a step without any work.
fn attempts(state: &RunState, at: &StepState) -> u32 {
    if attempts_total(state, at) == 0 { 0 } else { at.tries.work.saturating_add(1) }
}

/// Returns how often a worker was started, including a start that is due.
fn attempts_total(state: &RunState, at: &StepState) -> u32 {
    let is_due = at.phase == StepPhase::WorkDue && state.outcome().is_none();
    at.calls.started.saturating_add(is_due.into())
}

/// Returns the artifacts of a step with paths from the workspace root: outputs as they are collected, exports of a
/// child run as they are kept.
fn artifacts(state: &RunState, step: &Step) -> Vec<Value> {
    let outputs = step
        .outputs
        .iter()
        .map(|output| {
            [("name", json!(output.name)), ("path", json!(output.path)), ("type", json!(output.r#type))]
        })
        .map(|fields| Value::Object(object(fields)));
    let exports: &[ArtifactExport] = match &step.work {
        StepKind::Worker(_) => &[],
        StepKind::Subworkflow(child) => &child.exports,
    };
    let kept = context_dir(state);
    let exports = exports
        .iter()
        .map(|export| json!({"name": export.r#as, "path": format!("{kept}/{}/{}", step.id, export.r#as)}));
    outputs.chain(exports).collect()
}

fn context_dir(state: &RunState) -> &str {
    state.workflow().map_or("context", |workflow| &workflow.context_dir)
}

fn worker_of(step: &Step) -> Option<&Worker> {
    match &step.work {
        StepKind::Worker(worker) => Some(worker),
        StepKind::Subworkflow(_) => None,
    }
}

/// Returns the child workflow of a step, and its last run that has ended.
fn subworkflow(state: &RunState, step: &Step, at: &StepState) -> Value {
    let StepKind::Subworkflow(child) = &step.work else { return Value::Null };
    let run = at.calls.child.as_ref();
    let kept = context_dir(state);
    Value::Object(object([
        ("path", json!(child.path)),
        ("name", json!(child.workflow.name)),
        ("workflowId", json!(run.map(|child| &child.run))),
        ("status", json!(run.map(|child| run_status(Some(child.end))))),
        ("contextDir", json!(run.map(|child| format!("{kept}/_subworkflows/{}/{}", step.id, child.run)))),
        ("startedAt", json!(run.map(|child| child.begun_at))),
        ("completedAt", json!(run.map(|child| child.ended_at))),
    ]))
}

/// Returns which workflow a step calls, and for how long at most.
fn subworkflow_call(step: &Step) -> Value {
    let StepKind::Subworkflow(child) = &step.work else { return Value::Null };
    json!({"requestedPath": child.path, "effectiveTimeoutMs": step.timeout.at_most(child.workflow.timeout)})
}

/// Returns why a step failed, and of which class that is; a step that ended otherwise has no error.
fn error_of(at: &StepState) -> (Option<String>, Option<&'static str>) {
    let message = |error: String| (Some(error), None);
    match at.phase.end() {
        None | Some(StepEnd::Complete | StepEnd::Incomplete | StepEnd::Skipped(_) | StepEnd::Blocked(_)) => {
            (None, None)
        }
        Some(
            StepEnd::WorkerFailed(failure)
            | StepEnd::CheckFailed(failure)
            | StepEnd::CheckCouldNotRun(failure),
        ) => (Some(failure.message.clone()), Some(failure.class.as_str())),
        Some(StepEnd::Fatal(why)) => (Some(why.clone()), Some("FATAL")),
        Some(StepEnd::Undecidable(problem)) => message(problem.clone()),
        Some(StepEnd::IterationsExhausted) => message("the last allowed iteration is over".to_owned()),
        Some(StepEnd::Stuck(_)) => message("the loop gets nowhere".to_owned()),
        Some(StepEnd::NoBaseline(why)) => message(format!("there is no baseline: {why}")),
        Some(StepEnd::WaitExpired) => message("an external job takes longer than the step may".to_owned()),
        Some(StepEnd::ConditionFailed(reason)) => message(format!("a condition does not hold: {reason}")),
        Some(StepEnd::AttemptsExhausted(what)) => message(format!("no attempt is left: {what}")),
    }
}

fn decision(at: &StepState) -> Value {
    let feedback = &at.feedback;
    if feedback.decision.is_none() {
        return Value::Null;
    }
    Value::Object(object([
        ("source", json!(feedback.source.map(convergence_files::source))),
        ("checkId", json!(feedback.check_id)),
        ("checkIdMatch", json!(feedback.check_id_match)),
        ("reasons", json!(feedback.reasons)),
        ("fingerprints", json!(feedback.fingerprints)),
    ]))
}

fn resolved(step: &Step) -> Value {
    let worker = worker_of(step);
    let checker = step.check.as_ref().map(|check| match &check.by {
        CheckMethod::Exit(_) | CheckMethod::Commands(_) => "exit-code",
        CheckMethod::Conditions => "conditions",
        CheckMethod::Agent(_) => "agent",
        CheckMethod::Claim => "claim",
    });
    Value::Object(object([
        ("timeoutMs", json!(step.timeout)),
        ("workspaceRef", json!(worker.map(|worker| &worker.workspace))),
        ("workerKind", json!(worker.map(|worker| worker.kind.as_str()))),
        ("model", json!(worker.and_then(|worker| worker.model.as_ref()))),
        ("capabilities", json!(worker.map(|worker| &worker.capabilities))),
        ("maxSteps", json!(worker.and_then(|worker| worker.max_steps))),
        ("check", json!(checker)),
        ("subworkflowCall", subworkflow_call(step)),
    ]))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use unstuck_core::effect::TurnId;
    use unstuck_core::event::{DecisionSource, Exit, RunInterrupted, RunResumed};
    use unstuck_core::evidence::Decision;
    use unstuck_core::id::{CheckId, Digest, RunId};
    use unstuck_core::state::CallState;
    use unstuck_core::state::{ChildRunRecord, Feedback};
    use unstuck_core::testing::{Behavior, Script, World, finished_event, started_event, step};
    use unstuck_core::workflow::{Output, Subworkflow, Workflow};

    use super::*;

    /// Returns a run of `a`, and of `b` behind it.
    fn chain() -> World {
        chain_of(Script::default())
    }

    fn chain_of(script: Script) -> World {
        let mut behind = step("b");
        behind.depends_on = vec![StepId::new("a")];
        World::start(Workflow::of_steps(vec![step("a"), behind]), script)
    }

    fn due() -> TurnId {
        TurnId { step: StepId::new("a"), iteration: Iteration(1), attempt: Attempt(1) }
    }

    fn begin(world: &mut World) {
        let event = started_event(&world.state, &due(), false, CheckId::new("c-1"), Digest::sha256(b""));
        world.give(event).expect("it is due");
    }

    fn stop(world: &mut World) {
        let mut event = finished_event(&due(), false, &Behavior::Exits(0, String::new()), None);
        if let Observation::WorkerFinished(event) = &mut event {
            event.outcome.exit = Exit::Stopped;
        }
        world.give(event).expect("it is in flight");
    }

    /// Writes the views batch by batch and returns the statuses of both steps; `-` is for no file.
    fn statuses(world: &World) -> [String; 2] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut state = RunState::default();
        let mut rest = &world.history.events[..];
        for count in &world.history.batches {
            let (batch, later) = rest.split_at(*count);
            state = batch.iter().fold(state, RunState::evolve);
            let own = PrivateDir::at(folder.path());
            write(&own, &state, batch, &Facts::default()).expect("a folder of our own");
            rest = later;
        }
        ["a", "b"].map(|id| {
            let meta =
                ["_meta.json", "_resolved.json"].map(|file| status(&folder.path().join(id).join(file)));
            assert_eq!(meta[0], meta[1], "both files of {id}");
            meta[0].clone()
        })
    }

    fn status(file: &Path) -> String {
        let Ok(text) = fs::read_to_string(file) else { return "-".to_owned() };
        let value: Value = serde_json::from_str(&text).expect("JSON");
        value["status"].as_str().expect("a status").to_owned()
    }

    #[test]
    fn a_step_runs_from_the_moment_that_its_first_worker_does() {
        let mut world = chain();
        assert_eq!(statuses(&world), ["READY", "-"]);
        begin(&mut world);
        assert_eq!(statuses(&world), ["RUNNING", "-"]);
    }

    #[test]
    fn unfinished_steps_are_cancelled_or_skipped_until_the_run_resumes() {
        for command in
            [Observation::RunInterrupted(RunInterrupted { signal: 2 }), Observation::DeadlinePassed]
        {
            let mut world = chain();
            begin(&mut world);
            world.pass_to(world.state.next_deadline().expect("the time limit of the run"));
            world.give(command).expect("the run is active");
            stop(&mut world);
            assert_eq!(statuses(&world), ["CANCELLED", "SKIPPED"]);
            let resumed = RunResumed { add_time: Millis::from_secs(3600), ..RunResumed::default() };
            world.give(Observation::RunResumed(resumed)).expect("there is time left");
            assert_eq!(statuses(&world), ["RUNNING", "PENDING"]);
            world.play();
            assert_eq!(statuses(&world), ["SUCCEEDED", "SUCCEEDED"]);
        }
    }

    #[test]
    fn a_step_that_was_ready_when_its_run_ended_is_skipped() {
        let mut world = chain();
        world.give(Observation::RunInterrupted(RunInterrupted { signal: 2 })).expect("the run is active");
        assert_eq!(statuses(&world), ["SKIPPED", "SKIPPED"]);
    }

    #[test]
    fn step_without_any_work_has_no_attempts() {
        let told = |world: &World| -> Vec<[Value; 2]> {
            let steps = world.state.steps().map(|(step, at)| meta(&world.state, step, at));
            steps.map(|meta| ["attempts", "attemptsTotal"].map(|key| meta[key].clone())).collect()
        };
        let check = |world: &World, expected: [u32; 2]| {
            assert_eq!(told(world), expected.map(|value| [json!(value), json!(value)]));
        };
        let mut world = chain();
        check(&world, [1, 0]);
        world.give(Observation::RunInterrupted(RunInterrupted { signal: 2 })).expect("the run is active");
        check(&world, [0, 0]);

        let fails = Script {
            work: [("a".into(), vec![Behavior::Exits(1, "no".to_owned())])].into(),
            ..Script::default()
        };
        let mut world = chain_of(fails);
        world.play();
        assert_eq!(statuses(&world), ["FAILED", "SKIPPED"]);
        check(&world, [1, 0]);
    }

    #[test]
    fn outputs_of_a_worker_and_exports_of_a_child_run_are_artifacts() {
        let output = Output { name: "site".to_owned(), path: "out".to_owned(), r#type: None };
        let export =
            ArtifactExport { from: StepId::new("c"), artifact: "site".to_owned(), r#as: "docs".to_owned() };
        let child = Subworkflow {
            path: "child.yaml".to_owned(),
            workflow: Box::new(Workflow::of_steps(vec![step("c")])),
            exports: vec![export],
            exports_replace: false,
            event_prefix: None,
        };
        let worker = Step { outputs: vec![output], ..step("w") };
        let parent = Step { work: StepKind::Subworkflow(child), ..step("p") };
        let world = World::start(Workflow::of_steps(vec![worker, parent]), Script::default());
        let all: Vec<Vec<Value>> =
            world.state.steps().map(|(step, _)| artifacts(&world.state, step)).collect();
        let site = json!({"name": "site", "path": "out"});
        let docs = json!({"name": "docs", "path": "context/p/docs"});
        assert_eq!(all, [[site], [docs]]);
    }

    #[test]
    fn a_verdict_names_its_check_and_says_whether_it_carried_its_id() {
        for (check_id_match, expected) in [
            (Some(true), json!({"source": "stdout-json", "checkId": "id", "checkIdMatch": true})),
            (Some(false), json!({"source": "stdout-json", "checkId": "id", "checkIdMatch": false})),
            (None, json!({"source": "stdout-json", "checkId": "id"})),
        ] {
            let feedback = Feedback {
                decision: Some(Decision::Incomplete),
                source: Some(DecisionSource::OutputJson),
                check_id: Some("id".into()),
                check_id_match,
                ..Feedback::default()
            };
            let told = decision(&StepState { feedback, ..StepState::default() });
            let lists = json!({"reasons": [], "fingerprints": []});
            let all: Map<String, Value> =
                [expected, lists].iter().flat_map(|value| value.as_object().cloned()).flatten().collect();
            assert_eq!(told, Value::Object(all));
        }
    }

    #[test]
    fn a_child_run_that_has_ended_is_named_with_its_folder() {
        let child = Subworkflow {
            path: "child.yaml".to_owned(),
            workflow: Box::new(Workflow::of_steps(vec![step("c")])),
            exports: Vec::new(),
            exports_replace: false,
            event_prefix: None,
        };
        let parent = Step { work: StepKind::Subworkflow(child), ..step("p") };
        let world = World::start(Workflow::of_steps(vec![parent]), Script::default());
        let (step, at) = world.state.steps().next().expect("a step");
        let told = subworkflow(&world.state, step, at);
        assert_eq!(told.get("workflowId"), None, "it has not ended: {told}");
        let run = ChildRunRecord {
            run: RunId::new("r2"),
            end: RunOutcome::Complete,
            begun_at: Timestamp(1),
            ended_at: Timestamp(5),
        };
        let calls = CallState { child: Some(run), ..at.calls.clone() };
        let told = subworkflow(&world.state, step, &StepState { calls, ..at.clone() });
        let field = |name: &str| told[name].clone();
        assert_eq!((field("status"), field("workflowId")), (json!("SUCCEEDED"), json!("r2")));
        assert_eq!((field("startedAt"), field("completedAt")), (json!(1), json!(5)));
        assert_eq!(field("contextDir"), "context/_subworkflows/p/r2");
        let call = &resolved(step)["subworkflowCall"];
        assert_eq!(call["requestedPath"], "child.yaml");
        let child = Workflow::of_steps(vec![]).timeout;
        assert_eq!(call["effectiveTimeoutMs"], json!(step.timeout.at_most(child)));
    }

    #[test]
    fn known_tokens_are_in_the_view_of_a_step() {
        let world = chain();
        let (step, at) = world.state.steps().next().expect("a step");
        for (tokens, expected) in [(0, Value::Null), (510, json!(510))] {
            let ended = StepState {
                begun_at: Some(Timestamp(1)),
                ended_at: Some(Timestamp(3)),
                calls: CallState { tokens, ..at.calls.clone() },
                ..at.clone()
            };
            let told = &meta(&world.state, step, &ended)["workerResult"]["cost"];
            assert_eq!((&told["estimatedTokens"], &told["wallTimeMs"]), (&expected, &json!(2)));
        }
    }

    #[test]
    fn a_step_that_failed_says_why() {
        for (end, expected) in [
            (StepEnd::Complete, None),
            (StepEnd::Incomplete, None),
            (StepEnd::Blocked("a key".to_owned()), None),
            (StepEnd::IterationsExhausted, Some("the last allowed iteration is over")),
            (StepEnd::Undecidable("no JSON".to_owned()), Some("no JSON")),
            (StepEnd::NoBaseline("no git".to_owned()), Some("there is no baseline: no git")),
            (StepEnd::WaitExpired, Some("an external job takes longer than the step may")),
            (StepEnd::ConditionFailed("lint".to_owned()), Some("a condition does not hold: lint")),
            (StepEnd::AttemptsExhausted("lint".to_owned()), Some("no attempt is left: lint")),
            (StepEnd::Fatal("no disk".to_owned()), Some("no disk")),
        ] {
            let at = StepState { phase: StepPhase::Ended(end), ..StepState::default() };
            assert_eq!(error_of(&at).0.as_deref(), expected);
        }
    }
}
