//! Decides a recorded run again under another policy.
//!
//! The recorded observations carry only as far as the other policy asks the same of the world: where
//! it would have run a worker that never ran, or would have stopped, the evidence ends.

use serde::Serialize;
use unstuck_core::completion::Phase;
use unstuck_core::event::{CheckFinished, Exit, Inquiry, RunOutcome, RunStarted};
use unstuck_core::id::{Iteration, Seq};
use unstuck_core::prompt::{self, FromRegistry};
use unstuck_core::validator::ValidatorResult;
use unstuck_core::workflow::Baseline;
use unstuck_core::{Event, Observation, RunState, scope};

use crate::batches::Batches;
use crate::change::{Change, ChangeError};
use crate::policy::with_changes;
use crate::recheck::{Difference, difference};

/// What another policy would have made of a run.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIf {
    /// The first decision that would have been another one.
    pub first_difference: Option<Difference>,
    /// The last recorded event that still says something under the other policy.
    pub evidence_until: Seq,
    /// Why the evidence ends there; `None` if it carries to the end of the log.
    pub evidence_ends: Option<String>,
    /// The first worker that would have been asked something else: what it did from there on might have been
    /// something else too.
    pub asked_otherwise: Option<Seq>,
    /// How the run would have ended, if that much can be said.
    pub outcome: Option<RunOutcome>,
    /// How it did end.
    pub recorded_outcome: Option<RunOutcome>,
}

/// Decides the recorded observations again as if the workflow had had these values, and as if each observation
/// had been what `observe` makes of it. Where it says why it cannot tell, the evidence ends.
///
/// # Errors
///
/// A [`ChangeError`] wrapped by the caller's error when the workflow has no such key, or the error
/// of the stream.
pub fn what_if<E: From<ChangeError>>(
    events: impl Iterator<Item = Result<Event, E>>,
    changes: &[Change],
    observe: impl Fn(Observation) -> Result<Observation, String>,
) -> Result<WhatIf, E> {
    let mut recorded = RunState::default();
    let mut other = RunState::default();
    let mut first_difference = None;
    let mut until = Seq(0);
    let mut evidence_ends = None;
    let mut asked_otherwise = None;
    for batch in Batches::new(events) {
        let batch = batch?;
        let asks_otherwise = asked_otherwise.is_none()
            && batch.command().is_some_and(|(command, _)| asks_otherwise(&recorded, &other, command));
        recorded = batch.events.iter().fold(recorded, RunState::evolve);
        let Some((command, at)) = batch.command() else { continue };
        if evidence_ends.is_some() || is_unasked(&other, command) {
            continue;
        }
        if let Some(why) = unknown(&other, command) {
            evidence_ends = Some(format!("event {}: {why}", batch.events[0].seq));
            continue;
        }
        if asks_otherwise {
            asked_otherwise = Some(batch.events[0].seq);
        }
        let command = match observe(changed(command, changes)?) {
            Ok(command) => asked_of(&other, command),
            Err(why) => {
                evidence_ends = Some(format!("event {}: {why}", batch.events[0].seq));
                continue;
            }
        };
        // Numbers of events drift apart once the policies differ, so only the first difference is shown.
        if first_difference.is_none() {
            first_difference = difference(&other, &with_command(&batch, &command), false);
        }
        match other.decide(command, at) {
            Ok(events) => {
                other = events.iter().fold(other, RunState::evolve);
                until = batch.events.last().map_or(until, |event| event.seq);
            }
            Err(why) => evidence_ends = Some(format!("event {}: {why}", batch.events[0].seq)),
        }
        if let (Some(outcome), None, None) = (other.outcome(), recorded.outcome(), &evidence_ends) {
            evidence_ends = Some(format!("the run would have ended here: {}", outcome.as_str()));
        }
    }
    if evidence_ends.is_none() && other.outcome().is_none() && recorded.outcome().is_some() {
        evidence_ends = Some("the run would have gone on, with work that was never done".to_owned());
    }
    let (outcome, recorded_outcome) = (other.outcome(), recorded.outcome());
    let evidence_until = until;
    Ok(WhatIf { first_difference, evidence_until, evidence_ends, asked_otherwise, outcome, recorded_outcome })
}

/// Says whether something was observed that the other policy does not ask for: a baseline.
fn is_unasked(other: &RunState, command: &Observation) -> bool {
    let (step, iteration) = match command {
        Observation::CheckStarted(e) => (&e.step, e.iteration),
        Observation::CheckFinished(e) => (&e.step, e.iteration),
        Observation::CheckLost(e) => (&e.step, e.iteration),
        _ => return false,
    };
    let check = other.step(step).and_then(|(step, _)| step.check.as_ref());
    iteration == Iteration::BASELINE
        && check.is_some_and(|check| check.baseline == Baseline::Off)
        && other.admits(command).is_err()
}

/// Says what of an observation the other policy would need and nobody recorded.
fn unknown(other: &RunState, command: &Observation) -> Option<&'static str> {
    if let Observation::CheckFinished(finished) = command {
        return was_cut(other, finished)
            .then_some("the conditions behind the first that failed were not asked");
    }
    let Observation::WorkerFinished(finished) = command else { return None };
    let left_out = finished.drift.as_ref().is_some_and(|drift| drift.files_left_out > 0);
    let policy = other.step(&finished.step)?.0.convergence.as_ref()?;
    (left_out && scope::has_rules(policy)).then_some("of the files that differ only some were recorded")
}

/// Says whether the other policy asks for conditions that nobody asked, as one that failed ended the asking.
fn was_cut(other: &RunState, finished: &CheckFinished) -> bool {
    let Some((completion, at)) =
        other.step(&finished.step).and_then(|(step, at)| Some((step.completion.as_ref()?, at)))
    else {
        return false;
    };
    let phase = if at.inquiry == Inquiry::Preflight { Phase::Preflight } else { Phase::AfterWork };
    let ended_it = |last: &ValidatorResult| !last.passed() && last.exit != Exit::Stopped;
    !completion.stops_at_first()
        && finished.validators.last().is_some_and(ended_it)
        && finished.validators.len() < completion.asked(phase).count()
}

/// Returns what would have been observed under the other policy: not more conditions than it asks for.
fn asked_of(other: &RunState, command: Observation) -> Observation {
    let Observation::CheckFinished(mut finished) = command else { return command };
    let completion = other.step(&finished.step).and_then(|(step, _)| step.completion.as_ref());
    if completion.is_some_and(|it| it.stops_at_first()) {
        let first = finished.validators.iter().position(|it| !it.passed());
        finished.validators.truncate(first.map_or(usize::MAX, |first| first + 1));
    }
    Observation::CheckFinished(finished)
}

/// Says whether a worker would have got another prompt.
fn asks_otherwise(recorded: &RunState, other: &RunState, command: &Observation) -> bool {
    let Observation::WorkerStarted(started) = command else { return false };
    let asked = |state: &RunState| {
        let (step, at) = state.step(&started.step)?;
        Some(prompt::work(state, step, at, started.check_id.as_ref(), &FromRegistry::default()))
    };
    asked(recorded) != asked(other)
}

fn changed(command: &Observation, changes: &[Change]) -> Result<Observation, ChangeError> {
    let Observation::RunStarted(started) = command else { return Ok(command.clone()) };
    let workflow = with_changes(&started.workflow, changes)?;
    Ok(Observation::RunStarted(Box::new(RunStarted { workflow, ..(**started).clone() })))
}

fn with_command(batch: &crate::Batch, command: &Observation) -> crate::Batch {
    let mut batch = batch.clone();
    if let Some(first) = batch.events.first_mut() {
        first.fact = command.clone().into();
    }
    batch
}
