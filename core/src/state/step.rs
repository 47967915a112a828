//! The state of a step.

use serde::{Deserialize, Serialize};

use super::{CallState, EvidenceState, Feedback, IterationState, TryState, VerdictState, WorkspaceState};
use crate::backoff::ChainSlot;
use crate::call_report::Progress;
use crate::convergence::ConvergenceState;
use crate::effect::Turn;
use crate::event::{Call, Inquiry, Purpose, RegistryText, RunOutcome, StepEnd, TurnKind, WaitReason};
use crate::id::{Attempt, CheckId, Iteration, Millis, Seq, Timestamp};
use crate::workflow::{Step, Worker};

/// Where a step stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepState {
    /// The current activity.
    pub phase: StepPhase,
    /// The current iteration and attempt.
    pub iteration: IterationState,
    /// Retries and waits.
    pub tries: TryState,
    /// Verdicts and their evidence.
    pub verdicts: VerdictState,
    /// Changes of the workspace.
    pub workspace: WorkspaceState,
    /// Results of the check commands.
    pub evidence: EvidenceState,
    /// Progress of the loop.
    pub convergence: ConvergenceState,
    /// The event that raised its stage last.
    pub raised: Option<Seq>,
    /// The diagnosis of a stuck loop.
    pub diagnosis: Option<String>,
    /// The feedback for the next prompt.
    pub feedback: Feedback,
    /// The event in which the step ended.
    pub ended: Option<Seq>,
    /// When its first iteration began.
    pub begun_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Calls of workers and checkers.
    pub calls: CallState,
}

impl StepState {
    /// Returns the current iteration; 0 before the first.
    pub fn iteration(&self) -> Iteration {
        self.iteration.number
    }

    /// Returns the newest attempt of the worker or of the check, depending on the phase.
    pub fn attempt(&self) -> Attempt {
        self.iteration.attempt
    }

    /// Drops what a changed step makes void: the place in another chain of workers, results of other checks, the part of the
    /// baseline that is of other commands, and a turn of a worker that the step does not have. Returns the wait that is dropped.
    pub(crate) fn follow_change(&mut self, old: &Step, new: &Step, at: Timestamp) -> Millis {
        let mut waited = Millis(0);
        if !old.has_same_workers(new) {
            self.calls.checker_at = 0;
            waited = self.begin_chain_anew(at);
        }
        if old.checks() != new.checks() {
            let same = old.checks().iter().zip(new.checks()).take_while(|(old, new)| **old == *new).count();
            let baseline =
                self.evidence.baseline.take().map(|results| results[..same.min(results.len())].into());
            self.evidence = EvidenceState { baseline, ..EvidenceState::default() };
            self.convergence = ConvergenceState::default();
            self.verdicts.occurrences.clear();
        }
        if new.diagnosis_worker().is_none() {
            self.iteration.purpose = Purpose::Work;
        }
        let has_closer = new.completion.as_ref().is_some_and(|completion| completion.closer.is_some());
        if self.verdicts.inquiry == Inquiry::Closer && !has_closer {
            self.verdicts.inquiry = Inquiry::Check;
            self.verdicts.claim = None;
        }
        waited
    }

    /// Makes the first worker of another chain the next one. The services of the old one are not waited for; returns the rest of
    /// that wait.
    pub(crate) fn begin_chain_anew(&mut self, at: Timestamp) -> Millis {
        self.calls.worker_at = 0;
        self.calls.rests.forget();
        match &mut self.phase {
            StepPhase::Waiting { until, why: WaitReason::Weather(_), then: TurnKind::Work, .. } => {
                std::mem::replace(until, at).since(at)
            }
            _ => Millis(0),
        }
    }

    /// Returns the current worker or checker; `None` if there is none, or only commands.
    pub fn current_worker<'a>(&self, step: &'a Step) -> Option<&'a Worker> {
        if self.turn(step)? == Turn::Diagnosis {
            return step.diagnosis_worker();
        }
        let place = self.place_in_chain(self.phase.next()?);
        Some(step.first(place)?.at(place.place))
    }

    /// Returns whose turn it is, or is next; `None` where nothing is to be done.
    pub fn turn(&self, step: &Step) -> Option<Turn> {
        Some(match self.phase.next()? {
            TurnKind::Work => Turn::of_worker(step, self.iteration.purpose),
            TurnKind::Check => Turn::of_checker(step, self.verdicts.inquiry),
        })
    }

    /// Returns the current place in the chain of the worker or the checker.
    pub(crate) fn place_in_chain(&self, what: TurnKind) -> ChainSlot {
        let place = match what {
            TurnKind::Work => self.calls.worker_at,
            TurnKind::Check => self.calls.checker_at,
        };
        ChainSlot { what, inquiry: self.verdicts.inquiry, place }
    }
}

/// The activity of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepPhase {
    /// It waits for the steps that it depends on, or for a free place.
    #[default]
    Pending,
    /// A worker is to be started.
    WorkDue,
    /// A worker is in flight.
    Working(InFlight),
    /// A check is to be started.
    CheckDue,
    /// A check is in flight.
    Checking(InFlight),
    /// Nothing is done before a moment.
    Waiting {
        /// The moment.
        until: Timestamp,
        /// The next activity.
        then: TurnKind,
        /// Why.
        why: WaitReason,
    },
    /// It has ended.
    Ended(StepEnd),
}

/// A process that was started and has not answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The event that says so.
    pub started: Seq,
    /// When.
    pub since: Timestamp,
    /// The id that its verdict must carry.
    pub check_id: Option<CheckId>,
    /// How its client was called.
    pub call: Option<Box<Call>>,
    /// The newest progress of its client.
    pub progress: Option<Box<Progress>>,
    /// The parts of its prompt that come from a steps registry.
    pub registry: Option<Box<RegistryText>>,
}

impl StepPhase {
    /// Says whether a process was started and has not answered yet.
    pub fn is_in_flight(&self) -> bool {
        self.in_flight().is_some()
    }

    /// Returns what was started and has not answered yet.
    pub fn in_flight(&self) -> Option<&InFlight> {
        match self {
            Self::Working(in_flight) | Self::Checking(in_flight) => Some(in_flight),
            _ => None,
        }
    }

    /// Returns the phase in which this is to be started.
    pub(crate) fn due(what: TurnKind) -> Self {
        match what {
            TurnKind::Work => Self::WorkDue,
            TurnKind::Check => Self::CheckDue,
        }
    }

    /// Returns what is done now, or next.
    pub fn next(&self) -> Option<TurnKind> {
        match self {
            Self::WorkDue | Self::Working(_) => Some(TurnKind::Work),
            Self::CheckDue | Self::Checking(_) => Some(TurnKind::Check),
            Self::Waiting { then, .. } => Some(*then),
            Self::Pending | Self::Ended(_) => None,
        }
    }

    /// Says whether the step takes up a place among those that may be active at the same time.
    pub fn is_active(&self) -> bool {
        !matches!(self, Self::Pending | Self::Ended(_))
    }

    /// Returns how the step has ended, if it has.
    pub fn end(&self) -> Option<&StepEnd> {
        match self {
            Self::Ended(end) => Some(end),
            _ => None,
        }
    }
}

impl StepEnd {
    /// Says whether a step that depends on this one may start, where the file says to continue
    /// after a failure.
    pub(crate) fn lets_dependents_run(&self, continues: bool) -> bool {
        match self {
            Self::Complete | Self::Incomplete => true,
            Self::Skipped(_) | Self::Blocked(_) | Self::IterationsExhausted | Self::Fatal(_) => false,
            Self::WorkerFailed(failure) => continues && failure.class != crate::event::ErrorClass::Fatal,
            Self::Stuck(_)
            | Self::Undecidable(_)
            | Self::CheckFailed(_)
            | Self::CheckCouldNotRun(_)
            | Self::NoBaseline(_)
            | Self::ConditionFailed(_)
            | Self::AttemptsExhausted(_)
            | Self::WaitExpired => continues,
        }
    }

    /// Returns the outcome of a run that this step decides; `None` for a success.
    pub fn outcome(&self) -> Option<RunOutcome> {
        match self {
            Self::Complete | Self::Incomplete | Self::Skipped(_) => None,
            Self::Blocked(_) => Some(RunOutcome::Blocked),
            Self::IterationsExhausted => Some(RunOutcome::IterationLimit),
            Self::Stuck(_) => Some(RunOutcome::Stuck),
            Self::Undecidable(_) | Self::ConditionFailed(_) | Self::AttemptsExhausted(_) => {
                Some(RunOutcome::NotComplete)
            }
            Self::WaitExpired => Some(RunOutcome::TimeLimit),
            Self::WorkerFailed(_)
            | Self::CheckFailed(_)
            | Self::CheckCouldNotRun(_)
            | Self::NoBaseline(_)
            | Self::Fatal(_) => Some(RunOutcome::WorkerFailed),
        }
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use super::*;
    use crate::event::Exit;
    use crate::testing::{command_result, script_worker, step};
    use crate::workflow::{CheckCommand, CheckMethod, Gate, StepKind, WorkerKind};

    fn checked_by(runs: &[&str]) -> Step {
        let command =
            |run: &&str| CheckCommand { run: (*run).to_owned(), gate: Gate::Pass, reports: Vec::new() };
        step("work").with_check(CheckMethod::Commands(runs.iter().map(command).collect()), 9)
    }

    #[test]
    fn another_check_keeps_the_baseline_of_the_commands_that_stay_and_nothing_else() {
        let results = ["a", "b"].map(|run| command_result(run, &Exit::Code(0), ""));
        for (now, kept) in [(&["a", "b"][..], 2), (&["a", "b", "c"], 2), (&["a", "c"], 1), (&["c"], 0)] {
            let mut state = StepState::default();
            state.evidence.record_check(Iteration::BASELINE, &results);
            state.evidence.record_check(Iteration(1), &results);
            state.follow_change(&checked_by(&["a", "b"]), &checked_by(now), Timestamp(0));
            let baseline = state.evidence.baseline.as_ref().map_or(0, |results| results.len());
            assert_eq!(baseline, kept, "{now:?}");
            assert_eq!(state.evidence.results[0].is_some(), now == ["a", "b"], "{now:?}");
        }
    }

    #[test]
    fn another_worker_is_first_in_its_chain_and_a_turn_that_is_gone_is_not_due() {
        let mut state = StepState::default();
        state.calls.worker_at = 1;
        (state.iteration.purpose, state.verdicts.inquiry) = (Purpose::Diagnosis, Inquiry::Closer);
        let (old, mut new) = (step("work"), step("work"));
        let worker = Worker { command: Some("another".to_owned()), ..script_worker(WorkerKind::Command, "") };
        new.work = StepKind::Worker(worker);
        state.follow_change(&old, &new, Timestamp(0));
        assert_eq!((state.calls.worker_at, state.iteration.purpose), (0, Purpose::Work));
        assert_eq!(state.verdicts.inquiry, Inquiry::Check);
    }
}
