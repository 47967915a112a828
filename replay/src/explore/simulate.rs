//! One loop, played an iteration at a time against the real core.

use std::collections::BTreeMap;

use serde_json::json;
use unstuck_core::completion::Timing;
use unstuck_core::event::{
    Bytes, CheckFinished, CheckStarted, DecisionFile, Exit, Inquiry, Outcome, RunStarted, WorkerFinished,
    WorkerStarted,
};
use unstuck_core::evidence::{
    CommandResult, Confidence, Failure, FailureReport, FailureSubject, ParsedAnswer, RecordedTestNames,
    Refusal, ValidatorOutcome, ValidatorResult,
};
use unstuck_core::id::{Blob, CheckId, Digest, Iteration, Millis, RunId, Timestamp};
use unstuck_core::judge::declared_status::wants_repeat;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{CheckCommand, CheckMethod, OutagePolicy, Step, StepKind, Workflow};
use unstuck_core::{Effect, Observation, RunState, TurnId};

use super::outcome::{IterationOutcome, out_of_scope_change};

/// Failures by their numbers; those that came later have the larger ones.
pub type FailureIds = Vec<u32>;

/// So many failures at a time are enough to have fewer and more.
const SET_MAX: usize = 3;
/// A loop waits and tries again less often than that, or not at all.
const TURNS_MAX: usize = 5_000;

/// Where a history has led to.
#[derive(Clone)]
pub struct SimState {
    pub state: RunState,
    pub history: Vec<IterationOutcome>,
    /// The failure sets that were shown, oldest first.
    pub sets: Vec<FailureIds>,
    /// The keys that the controller has for them.
    pub keys: BTreeMap<FailureIds, Digest>,
    /// How often the workspace was changed.
    changes: u64,
}

/// Number of calls that were started while an iteration was played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StartedEffects {
    pub workers: u64,
    pub checks: u64,
}

/// Plays the iterations of one step.
pub struct StepSimulator {
    step: Step,
    /// Result of a command for each failure set. It is cached because parsing the output is the slowest part.
    shown: BTreeMap<FailureIds, CommandResult>,
}

impl StepSimulator {
    pub fn new(step: &Step) -> Self {
        Self { step: step.clone(), shown: BTreeMap::new() }
    }

    /// Begins a run of the step alone; time is no limit, since it is counted apart.
    pub fn begin(&self) -> SimState {
        let mut step = Step { depends_on: Vec::new(), inputs: Vec::new(), ..self.step.clone() };
        if let StepKind::Worker(worker) = &mut step.work {
            worker.instructions.clear(); // A long prompt costs time and decides nothing.
        }
        let workflow = Workflow {
            name: "explored".to_owned(),
            description: None,
            timeout: Millis(u64::MAX / 4),
            concurrency: None,
            context_dir: "context".to_owned(),
            on_outage: OutagePolicy::Wait,
            outage_budget: Workflow::DEFAULT_OUTAGE_BUDGET,
            budget: unstuck_core::workflow::Budget::default(),
            prices: None,
            notify: None,
            branch: unstuck_core::workflow::BranchRules::default(),
            steps: vec![step],
        };
        let started = RunStarted {
            run: RunId::new("explored"),
            workflow,
            workflow_digest: None,
            workflow_file: None,
            workspace: "/".to_owned(),
            parent: None,
            program: String::new(),
            warnings: Vec::new(),
            secrets: Vec::new(),
            forked_from: None,
        };
        let state = give(&RunState::default(), Observation::RunStarted(Box::new(started)));
        SimState { state, history: Vec::new(), sets: Vec::new(), keys: BTreeMap::new(), changes: 0 }
    }

    /// Plays one more iteration; `None` where the history so far leaves no room for the outcome.
    pub fn play(&mut self, sim: &SimState, target: IterationOutcome) -> Option<(SimState, StartedEffects)> {
        let from = at(&sim.state).iteration();
        let mut sim = sim.clone();
        sim.add_failures(target)?;
        sim.changes += u64::from(target != IterationOutcome::Unchanged);
        sim.history.push(target);
        let mut effects = StartedEffects::default();
        for _ in 0..TURNS_MAX {
            let effect = sim.state.pending_effects().into_iter().next();
            let is_over = sim.state.outcome().is_some();
            let is_next = matches!(effect, Some(Effect::Perform(turn, _)) if !turn.is_check())
                && at(&sim.state).iteration() > from.max(Iteration(1));
            if is_over || is_next {
                break;
            }
            sim.state = match effect {
                Some(Effect::Perform(turn, due)) if !turn.is_check() => {
                    effects.workers += 1;
                    self.work(&sim, target, due)
                }
                Some(Effect::Perform(_, due)) => {
                    effects.checks += u64::from(due.iteration > Iteration::BASELINE);
                    self.check(&sim, target, due)
                }
                _ => give(&sim.state, Observation::DeadlinePassed),
            };
        }
        let key = at(&sim.state).convergence.key();
        if let (Some(set), Some(key), false) = (sim.sets.last(), key, target == IterationOutcome::NoSignal) {
            sim.keys.insert(set.clone(), key);
        }
        Some((sim, effects))
    }

    fn work(&self, sim: &SimState, target: IterationOutcome, due: TurnId) -> RunState {
        let TurnId { step, iteration, attempt } = due;
        let claims = self.step.check.as_ref().is_some_and(|check| check.by == CheckMethod::Claim);
        let check_id = claims.then(|| id(&sim.state));
        let started = WorkerStarted {
            step: step.clone(),
            iteration,
            attempt,
            prompt: Blob { digest: Digest::sha256(b""), size: 0 },
            limit: self.step.timeout,
            check_id: check_id.clone(),
            moved_aside: None,
            templates: Vec::new(),
            call: None,
            registry: None,
            snapshot: None,
        };
        let fails = target == IterationOutcome::WorkerFails;
        let is_out_of_scope = target == IterationOutcome::OutOfScope;
        let policy = self.step.convergence.as_ref().filter(|_| is_out_of_scope);
        let answer = self.answer(target);
        let finished = WorkerFinished {
            step,
            iteration,
            attempt,
            outcome: Outcome::from_exit(if fails { Exit::Signal(9) } else { Exit::Code(0) }),
            decision_file: match &check_id {
                Some(id) if !fails => sim.decision_file(target, id),
                _ => DecisionFile::NotConfigured,
            },
            changed: Some(target != IterationOutcome::Unchanged),
            snapshot: Some(Box::new(workspace(sim.changes))),
            drift: Some(Box::new(policy.map(out_of_scope_change).unwrap_or_default())),
            diffstat: None,
            wants_repeat: wants_repeat(answer.as_deref()),
            answer,
        };
        let state = give(&sim.state, Observation::WorkerStarted(started));
        give(&state, Observation::WorkerFinished(finished))
    }

    fn check(&mut self, sim: &SimState, target: IterationOutcome, due: TurnId) -> RunState {
        let TurnId { step, iteration, attempt } = due;
        let check_id = id(&sim.state);
        let started = CheckStarted {
            step: step.clone(),
            iteration,
            attempt,
            check_id: check_id.clone(),
            prompt: Blob { digest: Digest::sha256(b""), size: 0 },
            limit: Millis(0),
            moved_aside: None,
            templates: Vec::new(),
            call: None,
        };
        let is_baseline = iteration == Iteration::BASELINE;
        let validators = self.validators(sim, target);
        let (exit, decision_file, commands) = match self.step.check.as_ref().map(|check| check.by.clone()) {
            _ if !validators.is_empty() || at(&sim.state).verdicts.inquiry == Inquiry::Preflight => {
                (Exit::Code(0), DecisionFile::NotConfigured, Vec::new())
            }
            _ if target == IterationOutcome::CheckCannotRun && !is_baseline => {
                (Exit::Signal(9), DecisionFile::NotConfigured, Vec::new())
            }
            Some(CheckMethod::Agent(_)) => (Exit::Code(0), sim.decision_file(target, &check_id), Vec::new()),
            Some(CheckMethod::Commands(commands)) => {
                let results = self.results(sim, target, &commands, is_baseline);
                (
                    results.first().map_or(Exit::Code(0), |result| result.exit.clone()),
                    DecisionFile::NotConfigured,
                    results,
                )
            }
            _ => {
                let result = self.result(sim, target);
                (result.exit.clone(), DecisionFile::NotConfigured, vec![result])
            }
        };
        let finished = CheckFinished {
            step,
            iteration,
            attempt,
            check_id,
            outcome: Outcome::from_exit(exit),
            decision_file,
            commands,
            drift: None,
            validators,
            snapshot: None,
            stamp: None,
            answer: self.answer(target),
            unsettled_after: None,
            changed: Vec::new(),
        };
        let state = give(&sim.state, Observation::CheckStarted(started));
        give(&state, Observation::CheckFinished(finished))
    }

    /// Returns the results of the validators in the current phase: the first follows the outcome, the others pass.
    fn validators(&mut self, sim: &SimState, target: IterationOutcome) -> Vec<ValidatorResult> {
        let phase = match at(&sim.state).verdicts.inquiry {
            Inquiry::Preflight => Timing::Preflight,
            Inquiry::Conditions => Timing::AfterWork,
            Inquiry::Check | Inquiry::Closer => return Vec::new(),
        };
        let asked = self.step.completion.iter().flat_map(|completion| completion.conditions_in(phase));
        let names: Vec<String> = asked.map(|condition| condition.validator.name.clone()).collect();
        let shown = self.result(sim, target);
        let cannot_start = "it cannot be started".to_owned();
        let outcome = match (phase, target) {
            (Timing::Preflight, _) => ValidatorOutcome::Pass,
            (_, IterationOutcome::CheckCannotRun) => ValidatorOutcome::CouldNotRun(cannot_start),
            _ if shown.exit == Exit::Code(0) => ValidatorOutcome::Pass,
            _ => ValidatorOutcome::Fail,
        };
        let outcomes = std::iter::once(outcome).chain(std::iter::repeat(ValidatorOutcome::Pass));
        let result = |(validator, outcome)| ValidatorResult {
            validator,
            failures: if outcome == ValidatorOutcome::Fail { shown.failures.clone() } else { Vec::new() },
            outcome,
            exit: shown.exit.clone(),
            duration: Millis(0),
            stdout: None,
            stderr: None,
            stdout_end: String::new(),
            stderr_end: String::new(),
            error: String::new(),
            report: FailureReport::default(),
            params: BTreeMap::new(),
            unparsed: false,
            cached: false,
            numbers: Vec::new(),
        };
        names.into_iter().zip(outcomes).map(result).collect()
    }

    /// Returns the answer of the worker or the closer: completion, unless the outcome is `Unreadable`.
    fn answer(&self, target: IterationOutcome) -> Option<Box<ParsedAnswer>> {
        let completion = self.step.completion.as_ref()?;
        let required = completion.closer.iter().flat_map(|closer| &closer.required);
        let checklist: Vec<_> =
            required.map(|id| json!({"id": id, "description": id, "completed": true})).collect();
        let text = json!({"status": "completed", "allComplete": true, "checklist": checklist, "summary": ""});
        let text = text.to_string();
        let value = (target != IterationOutcome::Unreadable).then_some(text);
        Some(Box::new(ParsedAnswer { value, ..ParsedAnswer::default() }))
    }

    /// Returns the results of the commands: the first follows the outcome, the others pass. In the baseline, all pass.
    fn results(
        &mut self,
        sim: &SimState,
        target: IterationOutcome,
        commands: &[CheckCommand],
        is_baseline: bool,
    ) -> Vec<CommandResult> {
        let passed = self.command_result(&Vec::new());
        let first = match (is_baseline, target) {
            (true, IterationOutcome::NoBaseline) => CommandResult { exit: Exit::TimedOut, ..passed.clone() },
            (true, _) => passed.clone(),
            (false, _) => self.result(sim, target),
        };
        let useless = is_baseline && target == IterationOutcome::NoBaseline;
        let rest = if useless { first.clone() } else { passed };
        let named = commands.iter().map(|command| command.run.clone()).enumerate();
        named
            .map(|(at, run)| CommandResult { run, ..if at == 0 { first.clone() } else { rest.clone() } })
            .collect()
    }

    fn result(&mut self, sim: &SimState, target: IterationOutcome) -> CommandResult {
        let passed = self.command_result(&Vec::new());
        match target {
            IterationOutcome::Complete | IterationOutcome::OutOfScope => passed,
            IterationOutcome::NoSignal => CommandResult { exit: Exit::Code(1), ..passed },
            IterationOutcome::CheckOtherCode => CommandResult { exit: Exit::Code(3), ..passed },
            _ => self.command_result(&sim.sets.last().cloned().unwrap_or_default()),
        }
    }

    /// Returns the result of a command in which these tests fail.
    fn command_result(&mut self, set: &FailureIds) -> CommandResult {
        if let Some(shown) = self.shown.get(set) {
            return shown.clone();
        }
        let failed = |number: &u32| {
            let test = format!("test {number}");
            Failure::synthetic(
                "check",
                "failed",
                FailureSubject::Item(&test, "tests"),
                &format!("{test} failed"),
            )
        };
        let mut failures: Vec<Failure> = set.iter().map(failed).collect();
        failures.sort_unstable_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
        let tail: Vec<&str> = failures.iter().map(|failure| failure.message.as_str()).collect();
        let result = CommandResult {
            run: "check".to_owned(),
            exit: Exit::Code(i32::from(!set.is_empty())),
            duration: Millis(0),
            stdout: None,
            stderr: None,
            reports: Vec::new(),
            tail: tail.join("\n"),
            tool: "check".to_owned(),
            failures,
            failures_left_out: 0,
            flaky: Vec::new(),
            confidence: Confidence::High,
            tests: None,
            listed: RecordedTestNames::default(),
            observations: 1,
            numbers: Vec::new(),
        };
        self.shown.insert(set.clone(), result.clone());
        result
    }
}

impl SimState {
    /// Works out the failures that an outcome is about.
    fn add_failures(&mut self, target: IterationOutcome) -> Option<()> {
        let now = self.sets.last();
        let fresh = self.sets.iter().flatten().max().map_or(0, |newest| newest + 1);
        let set = match target {
            IterationOutcome::Persists => now?.clone(),
            IterationOutcome::Unchanged => now.cloned().unwrap_or_else(|| vec![fresh, fresh + 1]),
            IterationOutcome::Fewer => now.filter(|set| set.len() > 1)?.split_last()?.1.to_vec(),
            IterationOutcome::More => {
                let set = now.filter(|set| set.len() < SET_MAX)?;
                set.iter().copied().chain([fresh]).collect()
            }
            IterationOutcome::Other => vec![fresh, fresh + 1],
            IterationOutcome::Reverts => self.before()?.clone(),
            // The baseline comes before everything else.
            IterationOutcome::NoBaseline if !self.history.is_empty() => return None,
            _ => return Some(()),
        };
        self.sets.push(set);
        Some(())
    }

    /// Returns the newest set that is not the one of now.
    pub fn before(&self) -> Option<&FailureIds> {
        let now = self.sets.last()?;
        self.sets.iter().rev().find(|set| *set != now)
    }

    fn decision_file(&self, target: IterationOutcome, id: &CheckId) -> DecisionFile {
        let says = |decision: &str, more: &str| {
            let text = format!(r#"{{"decision":"{decision}","check_id":"{}"{more}}}"#, id.as_str());
            DecisionFile::Read(Bytes(text.into_bytes()))
        };
        match target {
            IterationOutcome::Complete | IterationOutcome::OutOfScope => says("complete", ""),
            IterationOutcome::NoSignal => says("incomplete", ""),
            IterationOutcome::Unreadable => DecisionFile::Refused(Refusal::Missing),
            IterationOutcome::Blocked => says("blocked", r#","needs":"a person""#),
            IterationOutcome::Waits => says("waiting", r#","retry_after":3600"#),
            _ => {
                let names: Vec<String> =
                    self.sets.last().into_iter().flatten().map(|number| format!("\"{number}\"")).collect();
                says("incomplete", &format!(r#","fingerprints":[{}]"#, names.join(",")))
            }
        }
    }
}

/// Returns where the only step stands.
pub fn at(state: &RunState) -> &StepState {
    state.steps().next().expect("one step is explored").1
}

/// Gives the core what it waits for, as soon as it may be.
fn give(state: &RunState, observation: Observation) -> RunState {
    let now = Timestamp(state.last_at().0 + 1);
    let now = match observation {
        Observation::DeadlinePassed => state.next_deadline().unwrap_or(now).max(now),
        _ => now,
    };
    let batch = state.decide(observation, now).expect("only what is due is given");
    batch.iter().fold(state.clone(), RunState::evolve)
}

fn id(state: &RunState) -> CheckId {
    CheckId::new(format!("0190a000-0000-7000-8000-{:012x}", state.version().0))
}

fn workspace(changes: u64) -> Snapshot {
    let work = Digest::sha256(&changes.to_le_bytes());
    Snapshot { id: work, work, files: 1, bytes: 1, ..Snapshot::default() }
}
