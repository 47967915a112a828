//! A scripted world: plays a run to its end without a clock, a process or a file.

use std::collections::BTreeMap;

use super::check_output::{command_result, compare};
use crate::call_report::{CallEnd, CallReport, Progress, Usage, UsagePeriod};
use crate::decide::Rejection;
use crate::effect::{Effect, TurnId};
use crate::event::{
    AttemptLost, Bytes, CheckFinished, CheckStarted, DecisionFile, Event, Exit, Fact, Observation, Outcome,
    RunInterrupted, RunResumed, RunStarted, WorkerFinished, WorkerStarted,
};
use crate::evidence::{CommandResult, Refusal, ValidatorResult};
use crate::id::{Blob, CheckId, Digest, Millis, RunId, StepId, Timestamp};
use crate::judge::scope::StepChanges;
use crate::snapshot::Snapshot;
use crate::state::{RunPhase, RunState, StepPhase};
use crate::workflow::{
    BranchRules, Budget, Capability, Check, CheckMethod, OnFailure, OnIterationsExhausted, OutagePolicy,
    Session, Step, StepKind, Worker, WorkerKind, Workflow,
};

/// Act of a process of the scripted world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// It exits with this code and prints this.
    Exits(i32, String),
    /// It is a worker that exits with 0 and leaves this.
    Works(Box<Work>),
    /// It is a check whose commands, one after the other, show this.
    Shows(Vec<CommandResult>),
    /// It is a check whose validators report this.
    Validates(Vec<ValidatorResult>),
    /// It is a check that is run twice: it fails and prints the first, then it exits with this code and prints the
    /// other.
    Twice(String, i32, String),
    /// It exits with this code and leaves this decision file; `{id}` becomes the check id.
    Writes(i32, String),
    /// It exits with this code, and its client gave this report.
    Tells(i32, Box<CallReport>),
    /// It is ended by this signal.
    Dies(i32),
    /// It does not end within its time limit.
    Hangs,
    /// It cannot be started.
    IsMissing,
    /// Something around it failed, such as an artifact, for this reason.
    Breaks(String),
    /// The supervisor is killed while it runs; another one resumes.
    IsLost,
    /// A person interrupts the run while it runs, and resumes it.
    IsInterrupted,
}

/// Result of a worker's call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Whether it changed files; `None` if that is unknown.
    pub changed: Option<bool>,
    /// The workspace after it. It stays so until another worker leaves another one.
    pub snapshot: Option<Snapshot>,
    /// The files that differ since the start of the step.
    pub files: Vec<String>,
    /// Its decision file; `{id}` becomes the check id.
    pub verdict: Option<String>,
    /// The tokens that its client reports.
    pub tokens: Option<u64>,
    /// How long it works.
    pub time: Millis,
}

impl Work {
    /// Returns work that leaves this [`snapshot`] of the workspace.
    pub fn to(content: u8) -> Self {
        let files = vec!["src/a".to_owned()];
        Self { changed: Some(true), snapshot: Some(snapshot(content)), files, ..Self::default() }
    }

    /// Returns work that changes nothing.
    pub fn nothing() -> Self {
        Self { changed: Some(false), ..Self::default() }
    }

    fn finished(&self, due: &TurnId, id: Option<&CheckId>) -> Observation {
        let report = |tokens| {
            let usage = Usage { input: tokens, scope: UsagePeriod::Call, ..Usage::default() };
            let told = Progress::default().so_far("test");
            CallReport { end: CallEnd::Done, trouble: None, usage: Some(usage), ..told }
        };
        let outcome =
            Outcome { reading: self.tokens.map(report).map(Box::new), ..Outcome::from_exit(Exit::Code(0)) };
        let file =
            self.verdict.as_deref().map(|text| DecisionFile::Read(Bytes(with_id(text, id).into_bytes())));
        let file = file.unwrap_or(DecisionFile::Refused(Refusal::Missing));
        let Observation::WorkerFinished(event) = observation(due, false, outcome, file, id) else {
            unreachable!("it is the end of a worker")
        };
        let drift = StepChanges { files: self.files.clone(), ..StepChanges::default() };
        Observation::WorkerFinished(WorkerFinished {
            changed: self.changed,
            snapshot: self.snapshot.clone().map(Box::new),
            drift: Some(Box::new(drift)),
            ..event
        })
    }
}

/// Acts of the processes of each step in order; the last act is repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Acts of the workers.
    pub work: BTreeMap<StepId, Vec<Behavior>>,
    /// Acts of the checks.
    pub checks: BTreeMap<StepId, Vec<Behavior>>,
}

impl Script {
    /// Adds the acts of the worker of a step.
    #[must_use]
    pub fn with_work(mut self, step: &str, acts: impl Into<Vec<Behavior>>) -> Self {
        self.work.insert(StepId::from(step), acts.into());
        self
    }

    /// Adds the acts of the check of a step.
    #[must_use]
    pub fn with_checks(mut self, step: &str, acts: impl Into<Vec<Behavior>>) -> Self {
        self.checks.insert(StepId::from(step), acts.into());
        self
    }
}

/// A run that was played to its end.
#[derive(Clone, Debug)]
pub struct PlayedRun {
    /// Every event, in order.
    pub events: Vec<Event>,
    /// Number of events in each batch.
    pub batches: Vec<usize>,
}

/// Plays a run against a script.
#[derive(Debug)]
pub struct World {
    /// State of the run.
    pub state: RunState,
    /// Recorded events.
    pub history: PlayedRun,
    /// Number of worker calls for each step.
    pub worker_calls: BTreeMap<StepId, u32>,
    /// Number of check calls for each step.
    pub check_calls: BTreeMap<StepId, u32>,
    /// Maximum processes in flight at the same time so far.
    pub most_in_flight: usize,
    script: Script,
    now: Timestamp,
    checks_made: u64,
    workspace: Option<Snapshot>,
}

/// Maximum batches of a played run: far beyond any limit of a generated workflow.
const BATCHES_MAX: usize = 1_000_000;

impl World {
    /// Starts a run.
    pub fn start(workflow: Workflow, script: Script) -> Self {
        let mut world = Self::new(script);
        world
            .give(Observation::RunStarted(Box::new(run_started(workflow))))
            .expect("a new run can be started");
        world
    }

    /// Returns a world in which nothing has happened.
    pub fn new(script: Script) -> Self {
        Self {
            state: RunState::default(),
            history: PlayedRun { events: Vec::new(), batches: Vec::new() },
            worker_calls: BTreeMap::new(),
            check_calls: BTreeMap::new(),
            most_in_flight: 0,
            script,
            now: Timestamp(1_000_000),
            checks_made: 0,
            workspace: None,
        }
    }

    /// Adds a recorded event without deciding it again; it counts as a batch.
    pub fn record(&mut self, event: Event) {
        match &event.fact {
            Fact::Observed(Observation::WorkerStarted(_) | Observation::CheckStarted(_)) => {
                self.checks_made += 1;
            }
            Fact::Observed(
                Observation::WorkerFinished(WorkerFinished { snapshot: Some(snapshot), .. })
                | Observation::CheckFinished(CheckFinished { snapshot: Some(snapshot), .. }),
            ) => self.workspace = Some((**snapshot).clone()),
            _ => {}
        }
        self.pass_to(event.at);
        self.state = std::mem::take(&mut self.state).evolve(&event);
        self.history.events.push(event);
        self.history.batches.push(1);
    }

    /// Gives a command and records what is decided.
    ///
    /// # Errors
    ///
    /// As [`RunState::decide`].
    pub fn give(&mut self, mut command: Observation) -> Result<(), Rejection> {
        self.now = Timestamp(self.now.0 + 10);
        self.note_limit(&mut command);
        let batch = self.state.decide(command, self.now)?;
        self.state = batch.iter().fold(std::mem::take(&mut self.state), RunState::evolve);
        self.history.batches.push(batch.len());
        self.history.events.extend(batch);
        Ok(())
    }

    /// Sets the time when a limit ends, as the runner does when it records an outcome.
    fn note_limit(&self, command: &mut Observation) {
        let (Observation::WorkerFinished(WorkerFinished { outcome, .. })
        | Observation::CheckFinished(CheckFinished { outcome, .. })) = command
        else {
            return;
        };
        let pause = outcome.failure(WorkerKind::Command).and_then(|failure| failure.retry_after_ms);
        outcome.resets_at = outcome.resets_at.max(pause.map(|pause| self.now.after(Millis(pause))));
    }

    /// Lets time pass.
    pub fn pass_to(&mut self, moment: Timestamp) {
        self.now = self.now.max(moment);
    }

    /// Plays until the run has ended.
    ///
    /// # Panics
    ///
    /// When the run does not end.
    pub fn play(&mut self) {
        self.play_until(|state| matches!(state.phase(), RunPhase::Ended(..)));
    }

    /// Plays until this holds.
    ///
    /// # Panics
    ///
    /// When it never does.
    pub fn play_until(&mut self, holds: impl Fn(&RunState) -> bool) {
        while !holds(&self.state) {
            assert!(self.history.batches.len() < BATCHES_MAX, "the run does not end");
            let effects = self.state.pending_effects();
            // Everything that is due is begun before anything ends: most processes at a time.
            let begun: Vec<(TurnId, bool)> =
                effects.into_iter().filter_map(|effect| self.begin(effect)).collect();
            self.most_in_flight = self.most_in_flight.max(self.state.in_flight().count());
            if begun.is_empty() && self.state.in_flight().next().is_none() {
                let due = self.state.next_deadline().expect("a run that has not ended waits for something");
                self.now = self.now.max(due);
                self.give(Observation::DeadlinePassed).expect("a run that has not ended takes deadlines");
            }
            for (due, is_check) in begun {
                self.end(&due, is_check);
            }
        }
    }

    fn begin(&mut self, effect: Effect) -> Option<(TurnId, bool)> {
        let Effect::Perform(turn, due) = effect else { return None };
        let is_check = turn.is_check();
        self.checks_made += 1;
        let check_id = CheckId::new(format!("0190a000-0000-7000-8000-{:012x}", self.checks_made));
        let started = started_event(&self.state, &due, is_check, check_id, Digest::sha256(b""));
        self.give(started).ok().map(|()| (due, is_check))
    }

    fn end(&mut self, due: &TurnId, is_check: bool) {
        let (acts, calls) = if is_check {
            (&self.script.checks, &mut self.check_calls)
        } else {
            (&self.script.work, &mut self.worker_calls)
        };
        let call = calls.entry(due.step.clone()).or_insert(0);
        *call += 1;
        let acts = acts.get(&due.step).map_or(&[][..], Vec::as_slice);
        let at = usize::try_from(*call - 1).expect("few calls");
        let act = acts.get(at).or(acts.last()).cloned().unwrap_or(Behavior::Exits(0, String::new()));
        match act {
            Behavior::IsLost => self.lose(),
            Behavior::IsInterrupted => self.interrupt(),
            // It may have ended together with another process.
            _ if !self.state.step(&due.step).is_some_and(|(_, at)| at.phase.is_in_flight()) => {}
            act => self.finish(due, is_check, &act).expect("what is in flight may finish"),
        }
    }

    /// Lets the worker or the check of a step end like this, and starts it before if it is due.
    pub(super) fn let_finish(
        &mut self,
        step: &StepId,
        is_check: bool,
        act: &Behavior,
    ) -> Result<(), Rejection> {
        let is_due = |effect: &Effect| matches!(effect, Effect::Perform(turn, due) if due.step == *step && turn.is_check() == is_check);
        if let Some(effect) = self.state.pending_effects().into_iter().find(is_due) {
            self.begin(effect);
        }
        let (iteration, attempt) =
            self.state.step(step).map(|(_, at)| (at.iteration(), at.attempt())).unwrap_or_default();
        match act {
            Behavior::IsLost => self.lose(),
            Behavior::IsInterrupted => self.interrupt(),
            act => return self.finish(&TurnId { step: step.clone(), iteration, attempt }, is_check, act),
        }
        Ok(())
    }

    fn finish(&mut self, due: &TurnId, is_check: bool, act: &Behavior) -> Result<(), Rejection> {
        let at = self.state.step(&due.step).map(|(_, at)| at);
        let check_id = at.and_then(|at| id_in_flight(&at.phase));
        let baseline = at.and_then(|at| at.evidence.baseline.clone());
        let mut event = finished_event(due, is_check, act, check_id.as_ref());
        if let Behavior::Works(work) = act {
            self.now = self.now.after(work.time);
            self.workspace = work.snapshot.clone().or(self.workspace.take());
        }
        match &mut event {
            Observation::WorkerFinished(WorkerFinished { snapshot, .. })
            | Observation::CheckFinished(CheckFinished { snapshot, .. }) => {
                *snapshot = self.workspace.clone().map(Box::new);
            }
            _ => {}
        }
        if let (Observation::CheckFinished(event), Some(baseline)) = (&mut event, baseline) {
            for (result, base) in event.commands.iter_mut().zip(&*baseline) {
                compare(result, base);
            }
        }
        self.give(event)
    }

    /// The supervisor dies, and another one takes the run up.
    fn lose(&mut self) {
        self.give(Observation::RunResumed(RunResumed::default()))
            .expect("a run that was left can be resumed");
        let lost: Vec<(TurnId, bool)> = self
            .state
            .in_flight()
            .map(|(step, at)| {
                let is_check = matches!(at.phase, StepPhase::Checking(_));
                (TurnId { step: step.id.clone(), iteration: at.iteration(), attempt: at.attempt() }, is_check)
            })
            .collect();
        for (TurnId { step, iteration, attempt }, is_check) in lost {
            let lost = AttemptLost { step, iteration, attempt, processes_ended: 1 };
            let event = if is_check { Observation::CheckLost(lost) } else { Observation::WorkerLost(lost) };
            // The time of the run may be over by now, which ends it.
            let _may_have_ended = self.give(event);
        }
    }

    fn interrupt(&mut self) {
        if self.give(Observation::RunInterrupted(RunInterrupted { signal: 2 })).is_err() {
            return;
        }
        let stopping: Vec<TurnId> = self
            .state
            .in_flight()
            .map(|(step, at)| TurnId {
                step: step.id.clone(),
                iteration: at.iteration(),
                attempt: at.attempt(),
            })
            .collect();
        for due in stopping {
            let is_check =
                self.state.step(&due.step).is_some_and(|(_, at)| matches!(at.phase, StepPhase::Checking(_)));
            let stopped = stopped_event(
                &due,
                is_check,
                self.state.step(&due.step).and_then(|(_, at)| id_in_flight(&at.phase)),
            );
            self.give(stopped).expect("what is in flight may be stopped");
        }
        let resumed = RunResumed { add_time: Millis(1), ..RunResumed::default() };
        let _may_have_ended = self.give(Observation::RunResumed(resumed));
    }
}

fn id_in_flight(phase: &StepPhase) -> Option<CheckId> {
    match phase {
        StepPhase::Working(in_flight) | StepPhase::Checking(in_flight) => in_flight.check_id.clone(),
        _ => None,
    }
}

fn stopped_event(due: &TurnId, is_check: bool, id: Option<CheckId>) -> Observation {
    let outcome = Outcome::from_exit(Exit::Stopped);
    observation(due, is_check, outcome, DecisionFile::NotConfigured, id.as_ref())
}

/// Returns the observation that a process of the scripted world is about to be started.
///
/// # Panics
///
/// When the workflow does not have the step.
pub fn started_event(
    state: &RunState,
    due: &TurnId,
    is_check: bool,
    check_id: CheckId,
    prompt: Digest,
) -> Observation {
    let (of_workflow, _) = state.step(&due.step).expect("effects name steps of the workflow");
    let claims = of_workflow.claims();
    let TurnId { step, iteration, attempt } = due.clone();
    let (prompt, limit, moved_aside) = (Blob { digest: prompt, size: 0 }, Millis(1000), None);
    if is_check {
        return Observation::CheckStarted(CheckStarted {
            step,
            iteration,
            attempt,
            check_id,
            prompt,
            limit,
            moved_aside,
            templates: Vec::new(),
            call: None,
        });
    }
    let (check_id, snapshot) = (claims.then_some(check_id), None);
    Observation::WorkerStarted(WorkerStarted {
        step,
        iteration,
        attempt,
        prompt,
        limit,
        check_id,
        moved_aside,
        templates: Vec::new(),
        call: None,
        registry: None,
        snapshot,
    })
}

/// Returns the observation that a process of the scripted world leaves.
pub fn finished_event(due: &TurnId, is_check: bool, act: &Behavior, id: Option<&CheckId>) -> Observation {
    let text = |text: &str| with_id(text, id);
    let missing = DecisionFile::Refused(Refusal::Missing);
    let (outcome, file) = match act {
        Behavior::Exits(code, answer) | Behavior::Twice(_, code, answer) => {
            (Outcome { answer: text(answer), ..Outcome::from_exit(Exit::Code(*code)) }, missing)
        }
        Behavior::Writes(code, file) => {
            (Outcome::from_exit(Exit::Code(*code)), DecisionFile::Read(Bytes(text(file).into_bytes())))
        }
        Behavior::Tells(code, reading) => {
            (Outcome { reading: Some(reading.clone()), ..Outcome::from_exit(Exit::Code(*code)) }, missing)
        }
        Behavior::Works(work) => return work.finished(due, id),
        Behavior::Shows(results) => {
            let exit = results
                .iter()
                .find(|result| !result.passed())
                .map_or(Exit::Code(0), |failed| failed.exit.clone());
            (Outcome::from_exit(exit), missing)
        }
        Behavior::Validates(_) => (Outcome::from_exit(Exit::Code(0)), missing),
        Behavior::Breaks(why) => {
            (Outcome { fatal: Some(why.clone()), ..Outcome::from_exit(Exit::Code(0)) }, missing)
        }
        Behavior::Dies(signal) => (Outcome::from_exit(Exit::Signal(*signal)), missing),
        Behavior::Hangs => (Outcome::from_exit(Exit::TimedOut), missing),
        Behavior::IsMissing => {
            (Outcome::from_exit(Exit::CouldNotStart("no such program".to_owned())), missing)
        }
        Behavior::IsLost | Behavior::IsInterrupted => (Outcome::from_exit(Exit::Stopped), missing),
    };
    let mut observation = observation(due, is_check, outcome, file, id);
    let Observation::CheckFinished(event) = &mut observation else { return observation };
    match act {
        Behavior::Twice(before, ..) => event
            .commands
            .iter_mut()
            .for_each(|now| mark_flaky(&command_result("check", &Exit::Code(1), before), now)),
        Behavior::Shows(results) => event.commands.clone_from(results),
        Behavior::Validates(results) => event.validators.clone_from(results),
        _ => {}
    }
    observation
}

fn with_id(text: &str, id: Option<&CheckId>) -> String {
    id.map_or_else(|| text.to_owned(), |id| text.replace("{id}", id.as_str()))
}

/// Merges the result of a command with its result right before.
fn mark_flaky(before: &CommandResult, now: &mut CommandResult) {
    let still = now.set();
    now.flaky =
        before.failures.iter().filter(|failure| !still.contains(&failure.fingerprint)).cloned().collect();
    now.observations = 2;
}

fn observation(
    due: &TurnId,
    is_check: bool,
    outcome: Outcome,
    decision_file: DecisionFile,
    id: Option<&CheckId>,
) -> Observation {
    let TurnId { step, iteration, attempt } = due.clone();
    if is_check {
        let check_id = id.cloned().unwrap_or_else(|| CheckId::new("none"));
        return Observation::CheckFinished(CheckFinished {
            step,
            iteration,
            attempt,
            check_id,
            decision_file,
            commands: vec![command_result("check", &outcome.exit, &outcome.answer)],
            drift: None,
            outcome,
            validators: Vec::new(),
            snapshot: None,
            stamp: None,
            answer: None,
            unsettled_after: None,
            changed: Vec::new(),
        });
    }
    // A client changes the files in its report; a process that only mentions an outage has changed nothing.
    let speaks_of_outage = outcome.failed_by_text_only() && outcome.failure(WorkerKind::Command).is_some();
    let changed = outcome.reading.as_ref().is_none_or(|told| !told.files.is_empty()) && !speaks_of_outage;
    Observation::WorkerFinished(WorkerFinished {
        step,
        iteration,
        attempt,
        outcome,
        decision_file,
        changed: Some(changed),
        snapshot: None,
        drift: None,
        diffstat: None,
        answer: None,
        wants_repeat: false,
    })
}

/// Returns a snapshot of a workspace with one file; another number is another content.
pub fn snapshot(content: u8) -> Snapshot {
    let work = Digest::sha256(&[content]);
    Snapshot { id: work, work, files: 1, bytes: 1, ..Snapshot::default() }
}

/// Returns the first observation of a run of this workflow.
pub fn run_started(workflow: Workflow) -> RunStarted {
    RunStarted {
        run: RunId::new("00000000cafe"),
        workflow,
        workflow_digest: None,
        workflow_file: None,
        workspace: "/workspace".to_owned(),
        parent: None,
        program: "test".to_owned(),
        warnings: Vec::new(),
        secrets: Vec::new(),
        forked_from: None,
    }
}

/// Returns a worker with these instructions.
pub fn script_worker(kind: WorkerKind, instructions: &str) -> Worker {
    Worker { capabilities: vec![Capability::Read], ..Worker::new(kind, instructions) }
}

/// Returns a step that is done once, without a check.
pub fn step(id: &str) -> Step {
    Step {
        id: StepId::from(id),
        description: None,
        work: StepKind::Worker(script_worker(WorkerKind::Command, "do it")),
        depends_on: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        timeout: Workflow::DEFAULT_STEP_TIMEOUT,
        idle_timeout: Workflow::DEFAULT_IDLE_TIMEOUT,
        max_retries: 0,
        on_failure: OnFailure::Abort,
        check: None,
        max_iterations: 1,
        on_exhausted: OnIterationsExhausted::Abort,
        convergence: None,
        require_change: false,
        prompt_template: None,
        session: Session::Fresh,
        probe: None,
        completion: None,
    }
}

impl Workflow {
    /// Returns a workflow of these steps with the default bounds.
    pub fn of_steps(steps: Vec<Step>) -> Self {
        Self {
            name: "test".to_owned(),
            description: None,
            timeout: Self::DEFAULT_TIMEOUT,
            concurrency: None,
            context_dir: "context".to_owned(),
            on_outage: OutagePolicy::Wait,
            outage_budget: Self::DEFAULT_OUTAGE_BUDGET,
            budget: Budget::default(),
            prices: None,
            notify: None,
            branch: BranchRules::default(),
            steps,
        }
    }
}

impl Step {
    /// Returns this step as a loop.
    #[must_use]
    pub fn with_check(mut self, by: CheckMethod, max_iterations: u32) -> Self {
        let decision_file = Some("verdict.json".to_owned());
        self.check = Some(Check { decision_file, ..Check::new(by, Millis::from_secs(60)) });
        self.max_iterations = max_iterations;
        self
    }
}
