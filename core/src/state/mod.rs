//! Where a run stands: the fold of its events.

mod calls;
mod evidence;
mod feedback;
mod iteration;
mod spending;
mod step;
mod tries;
mod verdicts;
mod workspace;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::effect::{Effect, TurnId};
use crate::event::{RunOutcome, RunStarted, StepEnd};
use crate::id::{Iteration, Millis, RunId, Seq, StepId, Timestamp};
use crate::snapshot::Snapshot;
use crate::workflow::{Step, Workflow};

pub use self::calls::{CallState, ChildRunRecord, ClientSession};
pub use self::evidence::EvidenceState;
pub use self::feedback::Feedback;
pub use self::iteration::IterationState;
pub use self::spending::SpendingState;
pub use self::step::{InFlight, StepPhase, StepState};
pub use self::tries::TryState;
pub use self::verdicts::{UnreadableVerdict, VerdictState, VerificationState};
pub use self::workspace::{ExternalChange, LastSeenWorkspace, LostWork, WorkspaceChange, WorkspaceState};

/// Where a run stands. Begins as [`RunState::default`], an empty stream.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    pub(crate) version: Seq,
    pub(crate) last_at: Timestamp,
    pub(crate) anomalies: u32,
    pub(crate) plan: Option<Arc<RunConfig>>,
    pub(crate) phase: RunPhase,
    pub(crate) clock: RunClock,
    pub(crate) outage_wait: Millis,
    /// Spending of ended calls, and changes of the budget.
    pub(crate) spending: SpendingState,
    pub(crate) extra_iterations: u32,
    /// In the order of the workflow.
    pub(crate) steps: Vec<StepState>,
    pub(crate) first_snapshot: Option<Arc<Snapshot>>,
    pub(crate) last_snapshot: Option<Arc<Snapshot>>,
    /// A process has run since the last snapshot.
    pub(crate) left_unseen: bool,
    /// A supervisor that died began what is in flight, and a snapshot was taken after it.
    pub(crate) is_abandoned: bool,
}

/// The first event of the run. A later resume can only replace its workers and add names of secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunConfig {
    pub(crate) started: RunStarted,
    pub(crate) index: BTreeMap<StepId, usize>,
}

/// Where the run as a whole stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// No event yet.
    #[default]
    Empty,
    /// The run works or waits.
    Active,
    /// No new work begins since this event. What is in flight is stopped, or finishes if the run waits for a person.
    Stopping(RunOutcome, Seq),
    /// It has ended so, at this event.
    Ended(RunOutcome, Seq),
}

impl RunPhase {
    /// Says whether what is in flight may finish. It also may while the run waits for a person, because it is paid for.
    pub fn allows_in_flight(&self) -> bool {
        matches!(self, Self::Active | Self::Stopping(RunOutcome::Blocked, _))
    }

    /// Says whether what is in flight is ended.
    fn stops_in_flight(&self) -> bool {
        matches!(self, Self::Stopping(..)) && !self.allows_in_flight()
    }
}

/// How much of its time a run has used; pauses do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunClock {
    pub(crate) running_since: Timestamp,
    /// The last sign of life of a supervisor.
    pub(crate) alive_until: Timestamp,
    pub(crate) used: Millis,
    /// The time that a person has added.
    pub(crate) extra: Millis,
    /// The time that further attempts of the parent's step have added.
    pub(crate) renewed: Millis,
}

impl RunState {
    /// Version of the reducer: a saved fold of another version is not used.
    pub const REDUCER_VERSION: u32 = 26;

    /// Returns the sequence number of the newest event; 0 for an empty stream.
    pub fn version(&self) -> Seq {
        self.version
    }

    /// Returns the variables whose values are secrets, besides those whose names say so.
    pub fn secrets(&self) -> &[String] {
        self.plan.as_deref().map(|plan| &*plan.started.secrets).unwrap_or_default()
    }

    /// Returns the first snapshot of the run: its rules say what is ignored.
    pub fn first_snapshot(&self) -> Option<&Snapshot> {
        self.first_snapshot.as_deref()
    }

    /// Returns what the workspace was when it was last looked at.
    pub fn last_snapshot(&self) -> Option<&Snapshot> {
        self.last_snapshot.as_deref()
    }

    /// Says whether the run itself may have changed the workspace since it was last looked at.
    pub fn may_have_changed_workspace(&self) -> bool {
        self.left_unseen || !self.is_abandoned && self.in_flight().next().is_some()
    }

    /// Returns when the newest event was recorded.
    pub fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// Returns how many events could not happen in the state they met. Such events change nothing.
    pub fn anomalies(&self) -> u32 {
        self.anomalies
    }

    /// Returns where the run as a whole stands.
    pub fn phase(&self) -> &RunPhase {
        &self.phase
    }

    /// Returns how the run has ended, if it has.
    pub fn outcome(&self) -> Option<RunOutcome> {
        match self.phase {
            RunPhase::Ended(outcome, _) => Some(outcome),
            RunPhase::Empty | RunPhase::Active | RunPhase::Stopping(..) => None,
        }
    }

    /// Returns what the first event said.
    pub fn started(&self) -> Option<&RunStarted> {
        self.plan.as_deref().map(|plan| &plan.started)
    }

    /// Returns the name of the run.
    pub fn run(&self) -> Option<&RunId> {
        self.started().map(|started| &started.run)
    }

    /// Returns the workflow.
    pub fn workflow(&self) -> Option<&Workflow> {
        self.started().map(|started| &started.workflow)
    }

    /// Returns the time that a person has added.
    pub fn extra_time(&self) -> Millis {
        self.clock.extra
    }

    pub(crate) fn is_blocked(&self, step: &StepId) -> bool {
        self.blocked_steps().any(|(blocked, _)| blocked == step)
    }

    /// Returns the steps that are blocked, each with what a person must do for it.
    pub fn blocked_steps(&self) -> impl Iterator<Item = (&StepId, &str)> {
        self.steps().filter_map(|(step, at)| match &at.phase {
            StepPhase::Ended(StepEnd::Blocked(needs)) => Some((&step.id, needs.as_str())),
            _ => None,
        })
    }

    /// Returns each step with where it stands, in the order of the workflow.
    pub fn steps(&self) -> impl Iterator<Item = (&Step, &StepState)> {
        self.workflow().into_iter().flat_map(|workflow| &workflow.steps).zip(&self.steps)
    }

    /// Returns a step with where it stands.
    pub fn step(&self, id: &StepId) -> Option<(&Step, &StepState)> {
        let at = self.position(id)?;
        Some((&self.workflow()?.steps[at], &self.steps[at]))
    }

    /// Returns how many iterations a person has given every loop beyond its bound.
    pub fn extra_iterations(&self) -> u32 {
        self.extra_iterations
    }

    /// Returns how long a supervisor has worked on this run, up to its last sign of life: pauses do not count.
    pub fn worked_for(&self) -> Millis {
        let since = match self.phase {
            RunPhase::Active | RunPhase::Stopping(..) => {
                self.clock.alive_until.since(self.clock.running_since)
            }
            RunPhase::Empty | RunPhase::Ended(..) => Millis(0),
        };
        self.clock.used.plus(since)
    }

    /// Returns how many iterations a step may run, those that a person added included.
    pub fn max_iterations(&self, step: &Step, state: &StepState) -> Iteration {
        Iteration(
            step.max_iterations
                .saturating_add(self.extra_iterations)
                .saturating_add(state.tries.extra_iterations),
        )
    }

    /// Returns how many iterations a step is said to have: [as many as it may run](Self::max_iterations) where it loops,
    /// else its one, or as many as it has had, since what a person adds is for loops.
    pub fn displayed_iterations(&self, step: &Step, state: &StepState) -> Iteration {
        match step.check {
            Some(_) => self.max_iterations(step, state),
            None => Iteration(step.max_iterations).max(state.iteration()),
        }
    }

    /// Returns what the shell still owes this run, in order. Derived from the state alone, so a
    /// resume needs nothing else.
    pub fn pending_effects(&self) -> Vec<Effect> {
        let due = |step: &Step, state: &StepState| TurnId {
            step: step.id.clone(),
            iteration: state.iteration(),
            attempt: state.attempt(),
        };
        // Steps that are taken up again may all be due at once; who works alone and has begun is not interrupted.
        let alone = self
            .steps()
            .find(|(step, at)| step.is_exclusive() && at.phase.is_active() && at.begun_at.is_some());
        let mut at_work: Vec<&Step> = self.in_flight().chain(alone).map(|(step, _)| step).collect();
        let mut begins = |step| {
            let fits =
                Self::can_run_concurrently(step, at_work.iter().copied().filter(|other| other.id != step.id));
            at_work.extend(fits.then_some(step));
            fits
        };
        let stops = self.phase.stops_in_flight();
        let effects = self.steps().filter_map(|(step, state)| match (&self.phase, &state.phase) {
            (RunPhase::Active, StepPhase::WorkDue | StepPhase::CheckDue) if begins(step) => {
                Some(Effect::Perform(state.turn(step)?, due(step, state)))
            }
            (_, StepPhase::Working(_) | StepPhase::Checking(_)) if stops => {
                Some(Effect::Stop(step.id.clone()))
            }
            _ => None,
        });
        let places = match self.phase {
            RunPhase::Active => self.concurrency_limit().saturating_sub(self.in_flight().count()),
            _ => usize::MAX,
        };
        effects.take(places).collect()
    }

    /// Returns the steps that keep this one from beginning: those that it depends on, all of which have to end, else those
    /// at work, of which some have to. None where it has begun.
    pub fn waits_for<'a>(&'a self, step: &'a Step) -> Vec<&'a StepId> {
        if self.step(&step.id).is_none_or(|(_, at)| at.phase != StepPhase::Pending) {
            return Vec::new();
        }
        let is_open = |id: &&StepId| self.step(id).is_some_and(|(_, at)| at.phase.end().is_none());
        let before: Vec<&StepId> = step.depends_on.iter().filter(is_open).collect();
        if before.is_empty() { self.active().map(|step| &step.id).collect() } else { before }
    }

    /// Says whether a step may run at the same time as all of those.
    pub(crate) fn can_run_concurrently<'a>(step: &Step, mut others: impl Iterator<Item = &'a Step>) -> bool {
        if step.is_exclusive() { others.next().is_none() } else { !others.any(Step::is_exclusive) }
    }

    /// Returns when `Command::DeadlinePassed` is due, if ever.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        if !self.phase.allows_in_flight() {
            return None;
        }
        let waits = self.steps.iter().filter_map(|step| match step.phase {
            StepPhase::Waiting { until, .. } if self.phase == RunPhase::Active => Some(until),
            _ => None,
        });
        waits.chain(self.time_limit()).min()
    }

    /// Returns the moment at which the run's time is over.
    pub fn time_limit(&self) -> Option<Timestamp> {
        Some(self.clock.running_since.after(self.time_allowed()?.minus(self.clock.used)))
    }

    /// Returns the time limit of the run. Waits for a service have a separate limit.
    pub(crate) fn time_allowed(&self) -> Option<Millis> {
        let RunClock { extra, renewed, .. } = self.clock;
        Some(self.workflow()?.timeout.plus(extra).plus(renewed).plus(self.outage_wait))
    }

    /// Says whether any step waits for a moment.
    pub fn is_waiting(&self) -> bool {
        self.phase == RunPhase::Active && self.has_waiting_step()
    }

    /// Says whether the run was interrupted, and taken up again has a step that waits for a moment as before.
    pub fn waits_when_resumed(&self) -> bool {
        self.is_interrupted() && self.has_waiting_step()
    }

    /// Says whether the run was ended before it was over, in an orderly way.
    pub fn is_interrupted(&self) -> bool {
        matches!(self.phase, RunPhase::Ended(RunOutcome::Interrupted(_), _))
    }

    fn has_waiting_step(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.phase, StepPhase::Waiting { .. }))
    }

    /// Says whether taking the run up again gives steps that had not ended well another chance: not
    /// after a crash or an interruption, when the run was not over, unless a person adds iterations.
    pub(crate) fn reopens(&self, add_iterations: u32) -> bool {
        match self.phase {
            RunPhase::Ended(RunOutcome::Interrupted(_), _) | RunPhase::Active | RunPhase::Stopping(..) => {
                add_iterations > 0
            }
            RunPhase::Ended(..) => true,
            RunPhase::Empty => false,
        }
    }

    /// Returns how many steps may be active at the same time.
    pub(crate) fn concurrency_limit(&self) -> usize {
        let bound = self.workflow().and_then(|workflow| workflow.concurrency);
        bound.map_or(usize::MAX, |bound| usize::try_from(bound).unwrap_or(usize::MAX))
    }

    /// Returns the steps with a process in flight.
    pub fn in_flight(&self) -> impl Iterator<Item = (&Step, &StepState)> {
        self.steps().filter(|(_, state)| state.phase.is_in_flight())
    }

    /// Returns the steps that take up a place among those that may be active at the same time.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Step> {
        self.steps().filter(|(_, state)| state.phase.is_active()).map(|(step, _)| step)
    }

    pub(crate) fn position(&self, id: &StepId) -> Option<usize> {
        self.plan.as_ref()?.index.get(id).copied()
    }
}
