//! Invariants of the log of a run, which hold under every fault of its supervisors.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::event::{Exit, Fact};
use unstuck_core::id::{Attempt, Digest, Iteration, Seq, StepId};
use unstuck_core::state::RunPhase;
use unstuck_core::{Event, Observation, RunState};
use unstuck_store::event_store::EventStore as _;
use unstuck_store::memory::MemoryStore;

/// Returns what does not hold, if anything.
pub fn violation(store: &MemoryStore, performed: &[Digest]) -> Option<String> {
    let events: Result<Vec<Event>, _> = store.read(Seq(1)).and_then(Iterator::collect);
    let events = match events {
        Ok(events) => events,
        Err(error) => return Some(format!("the log cannot be read: {error}")),
    };
    decided_otherwise(&events)
        .or_else(|| out_of_bounds(&events))
        .or_else(|| repeated(&events))
        .or_else(|| unannounced(&events, performed))
}

/// Deciding again gives what was decided.
fn decided_otherwise(events: &[Event]) -> Option<String> {
    let stream = events.iter().cloned().map(Ok::<_, std::convert::Infallible>);
    let Ok(again) = unstuck_replay::recheck(stream, None);
    again.first_difference.map(|difference| format!("decided otherwise now: {difference:?}"))
}

/// No bound is passed, nothing impossible happens, and time does not run backwards.
fn out_of_bounds(events: &[Event]) -> Option<String> {
    let mut state = RunState::default();
    for event in events {
        let (seq, before) = (event.seq, state.last_at());
        state = state.evolve(event);
        if event.at < before {
            return Some(format!("event {seq} happened before the one before it"));
        }
        if state.anomalies() > 0 {
            return Some(format!("event {seq} is impossible where it stands: {event:?}"));
        }
        let places = state.workflow().and_then(|workflow| workflow.concurrency);
        if places.is_some_and(|places| state.in_flight().count() > places as usize) {
            return Some(format!("too many at a time after event {seq}"));
        }
        if let Some((step, _)) =
            state.steps().find(|(step, at)| at.iteration() > state.max_iterations(step, at))
        {
            return Some(format!("step {} ran beyond its bound after event {seq}", step.id));
        }
    }
    let idle = *state.phase() == RunPhase::Active
        && state.in_flight().next().is_none()
        && state.pending_effects().is_empty()
        && state.next_deadline().is_none();
    idle.then(|| "the run is not over, and waits for nothing".to_owned())
}

/// Returns work that was started again while it was running or after it had ended. A check may be repeated after its
/// end, since a verdict can be to wait and check again.
fn repeated(events: &[Event]) -> Option<String> {
    let mut has_ended: BTreeMap<(StepId, Iteration, Attempt, bool), bool> = BTreeMap::new();
    for event in events {
        let Fact::Observed(observation) = &event.fact else { continue };
        let Some((attempt, what)) = of_attempt(observation) else { continue };
        let is_check = attempt.3;
        match (what, has_ended.get(&attempt)) {
            (What::Begins, Some(has_ended)) if !(*has_ended && is_check) => {
                return Some(format!("event {} begins something again: {observation:?}", event.seq));
            }
            (What::Begins, _) => has_ended.insert(attempt, false),
            (What::Ends, _) => has_ended.insert(attempt, true),
            (What::IsCutShort, _) => has_ended.remove(&attempt),
        };
    }
    None
}

enum What {
    Begins,
    Ends,
    /// It never came to an end, so it may be tried again.
    IsCutShort,
}

/// Returns which attempt of what is meant, and whether that is a check.
fn of_attempt(observation: &Observation) -> Option<((StepId, Iteration, Attempt, bool), What)> {
    let ends = |exit: &Exit| if *exit == Exit::Stopped { What::IsCutShort } else { What::Ends };
    Some(match observation.clone() {
        Observation::WorkerStarted(start) => {
            ((start.step, start.iteration, start.attempt, false), What::Begins)
        }
        Observation::CheckStarted(start) => {
            ((start.step, start.iteration, start.attempt, true), What::Begins)
        }
        Observation::WorkerFinished(end) => {
            ((end.step, end.iteration, end.attempt, false), ends(&end.outcome.exit))
        }
        Observation::CheckFinished(end) => {
            ((end.step, end.iteration, end.attempt, true), ends(&end.outcome.exit))
        }
        Observation::WorkerLost(loss) => ((loss.step, loss.iteration, loss.attempt, false), What::IsCutShort),
        Observation::CheckLost(loss) => ((loss.step, loss.iteration, loss.attempt, true), What::IsCutShort),
        _ => return None,
    })
}

/// Nothing was performed that had not been recorded before.
fn unannounced(events: &[Event], performed: &[Digest]) -> Option<String> {
    let announced: BTreeSet<Digest> = events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Observed(Observation::WorkerStarted(start)) => Some(start.prompt.digest),
            Fact::Observed(Observation::CheckStarted(start)) => Some(start.prompt.digest),
            _ => None,
        })
        .collect();
    let distinct: BTreeSet<&Digest> = performed.iter().collect();
    if distinct.len() < performed.len() {
        return Some("something was performed twice for one event".to_owned());
    }
    let missing = performed.iter().find(|mark| !announced.contains(mark));
    missing.map(|_| "something was performed that no event announces".to_owned())
}
