//! The reducer: event and state to state. This file lists which function folds which event; they are in `run`, `work`,
//! `check`, `verdict` and `workspace`.
//!
//! Total: every decodable event leads to a valid state. An event that cannot happen in the current state changes
//! nothing but the count of anomalies, the version and the clock of the log.
//!
//! The cost of a call counts when its end is recorded, even if the run is stopping by then: the call was in flight
//! until this event, so its money is spent. An end without a call in flight is rejected and costs nothing: that call
//! was counted at its first end.

mod check;
mod run;
mod verdict;
mod work;
mod workspace;

use std::sync::Arc;

use crate::event::{Conclusion, Event, Fact, Observation, TurnKind};
use crate::id::{Attempt, Iteration, Seq, StepId, Timestamp};
use crate::snapshot::Snapshot;
use crate::state::{RunState, StepState};

/// Effect of an event on the state.
enum Fold {
    Done,
    /// The event cannot happen in this state.
    Impossible,
}

/// Position of an event in the stream.
#[derive(Clone, Copy)]
struct Place {
    seq: Seq,
    at: Timestamp,
}

impl RunState {
    /// Folds all events of a log.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        events.into_iter().fold(Self::default(), Self::evolve)
    }

    /// Folds one recorded event. Total: every decodable event leads to a valid state.
    #[must_use]
    pub fn evolve(mut self, event: &Event) -> Self {
        let place = Place { seq: event.seq, at: event.at };
        let in_order = event.seq == self.version.next();
        let fold = match &event.fact {
            Fact::Observed(observation) => self.observe(observation, place),
            Fact::Concluded(conclusion) => self.conclude(conclusion, place),
        };
        if !in_order || matches!(fold, Fold::Impossible) {
            self.anomalies = self.anomalies.saturating_add(1);
        }
        self.version = self.version.max(event.seq);
        self.last_at = self.last_at.max(event.at);
        // The next supervisor repairs a log, and a person restores files, while the run is stopped.
        let while_it_stands_still =
            matches!(event.fact, Fact::Observed(Observation::LogRepaired(_) | Observation::SnapshotTaken(_)));
        if !while_it_stands_still {
            self.clock.alive_until = self.clock.alive_until.max(event.at);
        }
        self
    }

    fn observe(&mut self, observation: &Observation, place: Place) -> Fold {
        let seen = self.workspace_after(observation);
        let fold = self.apply(observation, seen.clone(), place);
        if matches!(fold, Fold::Done) {
            self.remember_snapshot(observation, seen);
        }
        fold
    }

    /// `seen` is the current workspace, if a snapshot was taken; the previous one is still the last snapshot.
    fn apply(&mut self, observation: &Observation, seen: Option<Arc<Snapshot>>, place: Place) -> Fold {
        match observation {
            Observation::RunStarted(event) => self.on_run_started(event, place),
            Observation::RunResumed(event) => self.on_run_resumed(event, place),
            Observation::AnswerGiven(event) => self.on_answer_given(event, place),
            Observation::WorkerStarted(event) => self.on_worker_started(event, seen, place),
            Observation::WorkerProgressed(event) => self.on_worker_progressed(event),
            Observation::WorkerFinished(event) => self.on_worker_finished(event, place),
            Observation::WorkerLost(event) => self.on_lost(event, TurnKind::Work),
            Observation::CheckStarted(event) => self.on_check_started(event, place),
            Observation::CheckFinished(event) => self.on_check_finished(event, seen, place),
            Observation::CheckLost(event) => self.on_lost(event, TurnKind::Check),
            Observation::Kicked => self.on_retry_requested(place),
            Observation::Suspended(event) => self.on_suspended(event.length, place),
            Observation::RunInterrupted(_)
            | Observation::DeadlinePassed
            | Observation::LogRepaired(_)
            | Observation::SnapshotTaken(_) => Fold::Done,
        }
    }

    fn conclude(&mut self, conclusion: &Conclusion, place: Place) -> Fold {
        match conclusion {
            Conclusion::WorkRequested(event) => self.on_work_requested(event),
            Conclusion::CheckRequested(event) => self.on_check_requested(event),
            Conclusion::WaitRequested(event) => self.on_wait_requested(event, place),
            Conclusion::VerdictReached(event) => self.on_verdict_reached(event, place),
            Conclusion::StageRaised(event) => self.on_stage_raised(event, place),
            Conclusion::StepEnded(event) => self.on_step_ended(event, place),
            Conclusion::FallbackTaken(event) => self.on_fallback_taken(event),
            Conclusion::RunStopping(event) => self.on_run_stopping(event.why, place),
            Conclusion::RunEnded(event) => self.on_run_ended(event, place),
        }
    }

    /// Returns whether this attempt of a step is in flight, as work or as a check.
    fn is_in_flight(&self, id: &StepId, what: TurnKind, (iteration, attempt): (Iteration, Attempt)) -> bool {
        self.step(id).is_some_and(|(_, at)| {
            at.phase.is_in_flight() && at.phase.next() == Some(what) && at.iteration.is_at(iteration, attempt)
        })
    }

    fn with_step(&mut self, id: &StepId, fold: impl FnOnce(&mut StepState) -> Fold) -> Fold {
        match self.position(id) {
            Some(at) => fold(&mut self.steps[at]),
            None => Fold::Impossible,
        }
    }
}
