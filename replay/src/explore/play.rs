//! One loop, played an iteration at a time against the real core.

use std::collections::BTreeMap;

use serde_json::json;
use unstuck_core::completion::Phase;
use unstuck_core::event::{
    Bytes, CheckFinished, CheckStarted, DecisionFile, Exit, Inquiry, Outcome, RunStarted, WorkerFinished,
    WorkerStarted,
};
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::{
    AnswerSeen, Confidence, Failure, Listed, Refusal, Report, ValidatorOutcome, ValidatorResult, What,
};
use unstuck_core::id::{Blob, CheckId, Digest, Iteration, Millis, RunId, Timestamp};
use unstuck_core::judge::declaration::wants_repeat;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{CheckBy, CheckCommand, OutagePolicy, Step, Work, Workflow};
use unstuck_core::{Due, Effect, Observation, RunState};

use super::letter::{Letter, strays};

/// Failures by their numbers; those that came later have the larger ones.
pub type Set = Vec<u32>;

/// So many failures at a time are enough to have fewer and more.
const SET_MAX: usize = 3;
/// A loop waits and tries again less often than that, or not at all.
const TURNS_MAX: usize = 5_000;

/// Where a history has led to.
#[derive(Clone)]
pub struct Node {
    pub state: RunState,
    pub history: Vec<Letter>,
    /// The failure sets that were shown, oldest first.
    pub sets: Vec<Set>,
    /// The keys that the controller has for them.
    pub keys: BTreeMap<Set, Digest>,
    /// How often the workspace was changed.
    changes: u64,
}

/// Number of calls that were started while a letter was played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    pub workers: u64,
    pub checks: u64,
}

/// Plays the iterations of one step.
pub struct Player {
    step: Step,
    /// Result of a command for each failure set. It is cached because parsing the output is the slowest part.
    shown: BTreeMap<Set, CommandResult>,
}

impl Player {
    pub fn new(step: &Step) -> Self {
        Self { step: step.clone(), shown: BTreeMap::new() }
    }

    /// Begins a run of the step alone; time is no limit, since it is counted apart.
    pub fn begin(&self) -> Node {
        let mut step = Step { depends_on: Vec::new(), inputs: Vec::new(), ..self.step.clone() };
        if let Work::Worker(worker) = &mut step.work {
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
        };
        let state = give(&RunState::default(), Observation::RunStarted(Box::new(started)));
        Node { state, history: Vec::new(), sets: Vec::new(), keys: BTreeMap::new(), changes: 0 }
    }

    /// Plays one more iteration; `None` where the history so far leaves no room for the letter.
    pub fn play(&mut self, before: &Node, letter: Letter) -> Option<(Node, Begun)> {
        let mut node = before.clone();
        node.show(letter)?;
        node.changes += u64::from(letter != Letter::Unchanged);
        node.history.push(letter);
        let from = at(&before.state).iteration;
        let mut begun = Begun::default();
        for _ in 0..TURNS_MAX {
            let effect = node.state.pending_effects().into_iter().next();
            let is_over = node.state.outcome().is_some();
            let is_next = matches!(effect, Some(Effect::Perform(turn, _)) if !turn.is_check())
                && at(&node.state).iteration > from.max(Iteration(1));
            if is_over || is_next {
                break;
            }
            node.state = match effect {
                Some(Effect::Perform(turn, due)) if !turn.is_check() => {
                    begun.workers += 1;
                    self.work(&node, letter, due)
                }
                Some(Effect::Perform(_, due)) => {
                    begun.checks += u64::from(due.iteration > Iteration::BASELINE);
                    self.check(&node, letter, due)
                }
                _ => give(&node.state, Observation::DeadlinePassed),
            };
        }
        let key = at(&node.state).convergence.key();
        if let (Some(set), Some(key), false) = (node.sets.last(), key, letter == Letter::Silent) {
            node.keys.insert(set.clone(), key);
        }
        Some((node, begun))
    }

    fn work(&self, node: &Node, letter: Letter, Due { step, iteration, attempt }: Due) -> RunState {
        let claims = self.step.check.as_ref().is_some_and(|check| check.by == CheckBy::Claim);
        let check_id = claims.then(|| id(&node.state));
        let started = WorkerStarted {
            step: step.clone(),
            iteration,
            attempt,
            prompt: Blob { digest: Digest::of(b""), size: 0 },
            limit: self.step.timeout,
            check_id: check_id.clone(),
            moved_aside: None,
            templates: Vec::new(),
            call: None,
            registry: None,
            snapshot: None,
        };
        let fails = letter == Letter::WorkerFails;
        let strayed = self.step.convergence.as_ref().filter(|_| letter == Letter::OutOfScope).map(strays);
        let answer = self.answer(letter);
        let finished = WorkerFinished {
            step,
            iteration,
            attempt,
            outcome: Outcome::of(if fails { Exit::Signal(9) } else { Exit::Code(0) }),
            decision_file: match &check_id {
                Some(id) if !fails => node.decision_file(letter, id),
                _ => DecisionFile::NotConfigured,
            },
            changed: Some(letter != Letter::Unchanged),
            snapshot: Some(Box::new(workspace(node.changes))),
            drift: Some(Box::new(strayed.unwrap_or_default())),
            diffstat: None,
            wants_repeat: wants_repeat(answer.as_deref()),
            answer,
        };
        let state = give(&node.state, Observation::WorkerStarted(started));
        give(&state, Observation::WorkerFinished(finished))
    }

    fn check(&mut self, node: &Node, letter: Letter, Due { step, iteration, attempt }: Due) -> RunState {
        let check_id = id(&node.state);
        let started = CheckStarted {
            step: step.clone(),
            iteration,
            attempt,
            check_id: check_id.clone(),
            prompt: Blob { digest: Digest::of(b""), size: 0 },
            limit: Millis(0),
            moved_aside: None,
            templates: Vec::new(),
            call: None,
        };
        let is_baseline = iteration == Iteration::BASELINE;
        let validators = self.validators(node, letter);
        let (exit, decision_file, commands) = match self.step.check.as_ref().map(|check| check.by.clone()) {
            _ if !validators.is_empty() || at(&node.state).verdicts.inquiry == Inquiry::Preflight => {
                (Exit::Code(0), DecisionFile::NotConfigured, Vec::new())
            }
            _ if letter == Letter::CheckCannotRun && !is_baseline => {
                (Exit::Signal(9), DecisionFile::NotConfigured, Vec::new())
            }
            Some(CheckBy::Agent(_)) => (Exit::Code(0), node.decision_file(letter, &check_id), Vec::new()),
            Some(CheckBy::Commands(commands)) => {
                let results = self.results(node, letter, &commands, is_baseline);
                (
                    results.first().map_or(Exit::Code(0), |it| it.exit.clone()),
                    DecisionFile::NotConfigured,
                    results,
                )
            }
            _ => {
                let result = self.result(node, letter);
                (result.exit.clone(), DecisionFile::NotConfigured, vec![result])
            }
        };
        let finished = CheckFinished {
            step,
            iteration,
            attempt,
            check_id,
            outcome: Outcome::of(exit),
            decision_file,
            commands,
            drift: None,
            validators,
            snapshot: None,
            stamp: None,
            answer: self.answer(letter),
            unsettled_after: None,
            changed: Vec::new(),
        };
        let state = give(&node.state, Observation::CheckStarted(started));
        give(&state, Observation::CheckFinished(finished))
    }

    /// Returns the results of the validators in the current phase: the first follows the letter, the others pass.
    fn validators(&mut self, node: &Node, letter: Letter) -> Vec<ValidatorResult> {
        let phase = match at(&node.state).verdicts.inquiry {
            Inquiry::Preflight => Phase::Preflight,
            Inquiry::Conditions => Phase::AfterWork,
            Inquiry::Check | Inquiry::Closer => return Vec::new(),
        };
        let asked = self.step.completion.iter().flat_map(|it| it.asked(phase));
        let names: Vec<String> = asked.map(|condition| condition.validator.name.clone()).collect();
        let shown = self.result(node, letter);
        let outcome = match (phase, letter) {
            (Phase::Preflight, _) => ValidatorOutcome::Pass,
            (_, Letter::CheckCannotRun) => ValidatorOutcome::CouldNotRun("it cannot be started".to_owned()),
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
            report: Report::default(),
            params: BTreeMap::new(),
            unparsed: false,
            cached: false,
            numbers: Vec::new(),
        };
        names.into_iter().zip(outcomes).map(result).collect()
    }

    /// Returns the answer of the worker or the closer: completion, unless the letter is `Unreadable`.
    fn answer(&self, letter: Letter) -> Option<Box<AnswerSeen>> {
        let completion = self.step.completion.as_ref()?;
        let required = completion.closer.iter().flat_map(|closer| &closer.required);
        let checklist: Vec<_> =
            required.map(|id| json!({"id": id, "description": id, "completed": true})).collect();
        let said = json!({"status": "completed", "allComplete": true, "checklist": checklist, "summary": ""});
        let said = said.to_string();
        let value = (letter != Letter::Unreadable).then_some(said);
        Some(Box::new(AnswerSeen { value, ..AnswerSeen::default() }))
    }

    /// Returns the results of the commands: the first follows the letter, the others pass. In the baseline, all pass.
    fn results(
        &mut self,
        node: &Node,
        letter: Letter,
        commands: &[CheckCommand],
        is_baseline: bool,
    ) -> Vec<CommandResult> {
        let passed = self.shown(&Vec::new());
        let first = match (is_baseline, letter) {
            (true, Letter::NoBaseline) => CommandResult { exit: Exit::TimedOut, ..passed.clone() },
            (true, _) => passed.clone(),
            (false, _) => self.result(node, letter),
        };
        let useless = is_baseline && letter == Letter::NoBaseline;
        let rest = if useless { first.clone() } else { passed };
        let named = commands.iter().map(|command| command.run.clone()).enumerate();
        named
            .map(|(at, run)| CommandResult { run, ..if at == 0 { first.clone() } else { rest.clone() } })
            .collect()
    }

    fn result(&mut self, node: &Node, letter: Letter) -> CommandResult {
        match letter {
            Letter::Complete | Letter::OutOfScope => self.shown(&Vec::new()),
            Letter::Silent => CommandResult { exit: Exit::Code(1), ..self.shown(&Vec::new()) },
            Letter::CheckOtherCode => CommandResult { exit: Exit::Code(3), ..self.shown(&Vec::new()) },
            _ => self.shown(&node.sets.last().cloned().unwrap_or_default()),
        }
    }

    /// Returns the result of a command in which these tests fail.
    fn shown(&mut self, set: &Set) -> CommandResult {
        if let Some(shown) = self.shown.get(set) {
            return shown.clone();
        }
        let failed = |number: &u32| {
            let test = format!("test {number}");
            Failure::named("check", "failed", What::Item(&test, "tests"), &format!("{test} failed"))
        };
        let mut failures: Vec<Failure> = set.iter().map(failed).collect();
        failures.sort_unstable_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
        let tail: Vec<&str> = failures.iter().map(|it| it.message.as_str()).collect();
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
            listed: Listed::default(),
            observations: 1,
            numbers: Vec::new(),
        };
        self.shown.insert(set.clone(), result.clone());
        result
    }
}

impl Node {
    /// Works out the failures that the letter is about.
    fn show(&mut self, letter: Letter) -> Option<()> {
        let now = self.sets.last();
        let fresh = self.sets.iter().flatten().max().map_or(0, |newest| newest + 1);
        let set = match letter {
            Letter::Same => now?.clone(),
            Letter::Unchanged => now.cloned().unwrap_or_else(|| vec![fresh, fresh + 1]),
            Letter::Fewer => now.filter(|set| set.len() > 1)?.split_last()?.1.to_vec(),
            Letter::More => {
                let set = now.filter(|set| set.len() < SET_MAX)?;
                set.iter().copied().chain([fresh]).collect()
            }
            Letter::Other => vec![fresh, fresh + 1],
            Letter::Back => self.before()?.clone(),
            // The baseline comes before everything else.
            Letter::NoBaseline if !self.history.is_empty() => return None,
            _ => return Some(()),
        };
        self.sets.push(set);
        Some(())
    }

    /// Returns the newest set that is not the one of now.
    pub fn before(&self) -> Option<&Set> {
        let now = self.sets.last()?;
        self.sets.iter().rev().find(|set| *set != now)
    }

    fn decision_file(&self, letter: Letter, id: &CheckId) -> DecisionFile {
        let says = |decision: &str, more: &str| {
            let text = format!(r#"{{"decision":"{decision}","check_id":"{}"{more}}}"#, id.as_str());
            DecisionFile::Read(Bytes(text.into_bytes()))
        };
        match letter {
            Letter::Complete | Letter::OutOfScope => says("complete", ""),
            Letter::Silent => says("incomplete", ""),
            Letter::Unreadable => DecisionFile::Refused(Refusal::Missing),
            Letter::Blocked => says("blocked", r#","needs":"a person""#),
            Letter::Waits => says("waiting", r#","retry_after":3600"#),
            _ => {
                let names: Vec<String> =
                    self.sets.last().into_iter().flatten().map(|it| format!("\"{it}\"")).collect();
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
    let work = Digest::of(&changes.to_le_bytes());
    Snapshot { id: work, work, files: 1, bytes: 1, ..Snapshot::default() }
}
