//! Decides a recorded run again and compares.

use serde::Serialize;
use unstuck_core::id::{Seq, Timestamp};
use unstuck_core::{Command, Conclusion, Event, Fact, RunState};

use crate::batches::{Batches, EventBatch};

/// Result of deciding a run again.
#[derive(Clone, Debug, Default)]
pub struct DeterminismReport {
    /// The fold of all events, as recorded.
    pub state: RunState,
    /// How many events were read.
    pub events: u64,
    /// How many decisions were taken again.
    pub decisions: u64,
    /// The first decision that would be different today.
    pub first_difference: Option<DecisionMismatch>,
}

/// A decision that was recorded one way and is now taken another way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DecisionMismatch {
    /// The observation that the decision followed.
    pub at: Seq,
    /// Recorded conclusions.
    pub recorded: Vec<Conclusion>,
    /// Result of deciding now.
    pub now: RecomputedBatch,
}

/// Result of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RecomputedBatch {
    /// These conclusions.
    Concludes(Vec<Conclusion>),
    /// The command is refused, for this reason.
    Refuses(String),
}

/// Decides every recorded observation again, up to and including event `to`.
///
/// # Errors
///
/// Passes on the first error of the stream.
pub fn recheck<E>(
    events: impl Iterator<Item = Result<Event, E>>,
    to: Option<Seq>,
) -> Result<DeterminismReport, E> {
    let within = |event: &Result<Event, E>| match (event, to) {
        (Ok(event), Some(to)) => event.seq <= to,
        _ => true,
    };
    let mut result = DeterminismReport::default();
    for batch in Batches::new(events.take_while(within)) {
        let batch = batch?;
        let cut = to.is_some_and(|to| batch.events.last().is_some_and(|event| event.seq == to));
        if result.first_difference.is_none() {
            // A batch at the wanted end may be cut short: compare what there is.
            result.first_difference = difference(&result.state, &batch, cut);
        }
        result.events += u64::try_from(batch.events.len()).unwrap_or(u64::MAX);
        result.decisions += 1;
        result.state = batch.events.iter().fold(std::mem::take(&mut result.state), RunState::evolve);
    }
    Ok(result)
}

/// Compares one batch with what is decided now.
pub(crate) fn difference(state: &RunState, batch: &EventBatch, may_be_cut: bool) -> Option<DecisionMismatch> {
    let recorded: Vec<Conclusion> = conclusions(&batch.events);
    let at = batch.events.first().map(|event| event.seq)?;
    let now = match batch.command() {
        Some((command, at)) => decide(state, command, at),
        None => RecomputedBatch::Refuses("no observation stands before these conclusions".to_owned()),
    };
    let same = match &now {
        RecomputedBatch::Concludes(now) if may_be_cut => now.starts_with(&recorded),
        RecomputedBatch::Concludes(now) => *now == recorded,
        RecomputedBatch::Refuses(_) => false,
    };
    (!same).then_some(DecisionMismatch { at, recorded, now })
}

pub(crate) fn decide(state: &RunState, command: &Command, at: Timestamp) -> RecomputedBatch {
    match state.decide(command.clone(), at) {
        Ok(events) => RecomputedBatch::Concludes(conclusions(&events)),
        Err(rejection) => RecomputedBatch::Refuses(rejection.to_string()),
    }
}

fn conclusions(events: &[Event]) -> Vec<Conclusion> {
    events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Concluded(conclusion) => Some(conclusion.clone()),
            Fact::Observed(_) => None,
        })
        .collect()
}
