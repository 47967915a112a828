//! Decides a recorded run again under another policy.
//!
//! The recorded observations apply only as long as the other policy makes the same requests. The evidence ends when it
//! would have started a worker that never ran, or would have stopped.

use std::collections::BTreeSet;

use serde::Serialize;
use unstuck_core::completion::Timing;
use unstuck_core::event::{CheckFinished, Exit, Inquiry, RunOutcome, RunResumed, RunStarted, WorkflowChange};
use unstuck_core::evidence::{TestName, ValidatorResult};
use unstuck_core::id::{Iteration, Seq, StepId};
use unstuck_core::judge::gate;
use unstuck_core::judge::scope::{self, StepChanges};
use unstuck_core::prompt;
use unstuck_core::workflow::{Baseline, CheckMethod};
use unstuck_core::{Event, Observation, Rejection, RunState};

use crate::batches::Batches;
use crate::determinism::{DecisionMismatch, difference};
use crate::policy_compat::with_changes;
use crate::policy_override::{OverrideError, PolicyOverride};
use crate::read_again::ReadAgain;

/// Result of a run under another policy.
#[derive(Clone, Debug, Serialize)]
pub struct WhatIf {
    /// The first decision that would have been different.
    pub first_difference: Option<DecisionMismatch>,
    /// The last recorded event that applies under the other policy.
    pub evidence_until: Seq,
    /// Why the evidence ends there; `None` if it reaches the end of the log.
    pub evidence_ends: Option<String>,
    /// The first worker that would have received another prompt. Its later work might have differed too.
    pub asked_otherwise: Option<Seq>,
    /// Files that only the other policy would have looked at. The decisions above do not include them.
    pub not_looked_at: Option<String>,
    /// How the run would have ended, if known.
    pub outcome: Option<RunOutcome>,
    /// The last recorded event when it would have ended.
    pub outcome_at: Option<Seq>,
    /// How it did end.
    pub recorded_outcome: Option<RunOutcome>,
}

/// Decides the recorded observations again as if the workflow had had these values; with `read_again`, it also
/// reads the outputs of checks again with this version. The evidence ends at an output that cannot be read.
///
/// # Errors
///
/// Returns a [`OverrideError`], converted to the caller's error, if the workflow has no such key. Passes on errors of the
/// stream.
pub fn what_if<E: From<OverrideError>>(
    events: impl Iterator<Item = Result<Event, E>>,
    changes: &[PolicyOverride],
    mut read_again: Option<ReadAgain<'_>>,
) -> Result<WhatIf, E> {
    let mut recorded = RunState::default();
    let mut other = RunState::default();
    let mut first_difference = None;
    let mut until = Seq(0);
    let mut evidence_ends = None;
    let mut asked_otherwise = None;
    let mut outcome_at = None;
    for batch in Batches::new(events) {
        let batch = batch?;
        let asks_otherwise = asked_otherwise.is_none()
            && batch.command().is_some_and(|(command, _)| asks_otherwise(&recorded, &other, command));
        let unknown = batch.command().and_then(|(command, _)| unknown(&recorded, &other, command));
        recorded = batch.events.iter().fold(recorded, RunState::evolve);
        let Some((command, at)) = batch.command() else { continue };
        if evidence_ends.is_some() || is_unasked(&other, command) {
            continue;
        }
        if let Some(why) = unknown {
            evidence_ends = Some(format!("event {}: {why}", batch.events[0].seq));
            continue;
        }
        if asks_otherwise {
            asked_otherwise = Some(batch.events[0].seq);
        }
        let command = changed(command, changes)?;
        let observed = match &mut read_again {
            Some(outputs) => outputs.observation(command),
            None => Ok(command),
        };
        let command = match observed {
            Ok(command) => without_unrequested(&other, command),
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
                outcome_at = other.outcome().map(|_| outcome_at.unwrap_or(until));
            }
            Err(why) => {
                let why = match why {
                    Rejection::NotExpected { .. } => {
                        "the run would have been doing something else by then, of which nothing was recorded"
                            .to_owned()
                    }
                    why => why.to_string(),
                };
                evidence_ends = Some(format!("event {}: {why}", batch.events[0].seq));
            }
        }
        if let (Some(outcome), None, None) = (other.outcome(), recorded.outcome(), &evidence_ends) {
            evidence_ends = Some(format!("the run would have ended here: {}", outcome.as_str()));
        }
    }
    if evidence_ends.is_none() && other.outcome().is_none() && recorded.outcome().is_some() {
        evidence_ends = Some("the run would have continued, with work that was never done".to_owned());
    }
    let (outcome, recorded_outcome) = (other.outcome(), recorded.outcome());
    Ok(WhatIf {
        first_difference,
        evidence_until: until,
        evidence_ends,
        asked_otherwise,
        not_looked_at: not_looked_at(&recorded, &other),
        outcome,
        outcome_at,
        recorded_outcome,
    })
}

/// Returns the files that only the other policy protects. Git ignores them, so the run recorded nothing about them.
fn not_looked_at(recorded: &RunState, other: &RunState) -> Option<String> {
    let protected = |state: &RunState| -> BTreeSet<String> {
        let policies = state.steps().filter_map(|(step, _)| step.convergence.as_ref());
        policies.flat_map(|policy| policy.protected_paths.clone()).collect()
    };
    let new: Vec<String> = protected(other).difference(&protected(recorded)).cloned().collect();
    (!new.is_empty()).then(|| format!("files that git ignores, of {}", new.join(", ")))
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
        && other.check_allowed(command).is_err()
}

/// Returns which data of an observation the other policy needs and the log lacks.
fn unknown(recorded: &RunState, other: &RunState, command: &Observation) -> Option<&'static str> {
    match command {
        Observation::CheckFinished(finished) if was_cut(other, finished) => {
            Some("the conditions behind the first that failed were not asked")
        }
        Observation::CheckFinished(finished) if looks_up_others(recorded, other, finished) => Some(
            "whether the tests that failed before the work are still there was not looked up in the files",
        ),
        Observation::WorkerFinished(finished) => {
            let drift = finished.drift.as_deref()?;
            let policy = other.step(&finished.step)?.0.convergence.as_ref()?;
            let [then, now] = [recorded, other].map(|state| put_back(state, &finished.step, drift));
            if drift.files_left_out > 0 && unstuck_core::workflow::ConvergencePolicy::has_rules(policy) {
                Some("of the files that differ only some were recorded")
            } else {
                (then != now).then_some("what was put back after the work would have been something else")
            }
        }
        _ => None,
    }
}

/// Returns whether the other policy looks up tests in the files that the run did not look up.
fn looks_up_others(recorded: &RunState, other: &RunState, finished: &CheckFinished) -> bool {
    let asked = |state: &RunState| -> Option<Vec<TestName>> {
        let (step, at) = state.step(&finished.step)?;
        let check = step.check.as_ref()?;
        let CheckMethod::Commands(commands) = &check.by else { return None };
        let names =
            gate::to_look_up(commands, &finished.commands, at.evidence.baseline.as_deref()?, check.baseline);
        Some(names.concat())
    };
    let then = asked(recorded).unwrap_or_default();
    asked(other).unwrap_or_default().iter().any(|name| !then.contains(name))
}

/// Returns the files that a policy reverts after the work of a step.
fn put_back(state: &RunState, step: &StepId, drift: &StepChanges) -> Vec<String> {
    let Some((step, at)) = state.step(step) else { return Vec::new() };
    let Some(policy) = &step.convergence else { return Vec::new() };
    let files: Vec<String> = drift.files.iter().chain(&drift.put_back).cloned().collect();
    let mut files = scope::without_check_files(&files, &at.workspace.by_checks);
    files.sort();
    scope::paths_to_revert(policy, at.convergence.stage(), &files)
}

/// Returns whether the other policy needs conditions that were skipped because an earlier one failed.
fn was_cut(other: &RunState, finished: &CheckFinished) -> bool {
    let Some((completion, at)) =
        other.step(&finished.step).and_then(|(step, at)| Some((step.completion.as_ref()?, at)))
    else {
        return false;
    };
    let phase = if at.verdicts.inquiry == Inquiry::Preflight { Timing::Preflight } else { Timing::AfterWork };
    let ended_it = |last: &ValidatorResult| !last.passed() && last.exit != Exit::Stopped;
    !completion.stops_at_first()
        && finished.validators.last().is_some_and(ended_it)
        && finished.validators.len() < completion.conditions_in(phase).count()
}

/// Returns what would have been observed under the other policy: not more conditions than it asks for.
fn without_unrequested(other: &RunState, command: Observation) -> Observation {
    let Observation::CheckFinished(mut finished) = command else { return command };
    let completion = other.step(&finished.step).and_then(|(step, _)| step.completion.as_ref());
    if completion.is_some_and(|completion| completion.stops_at_first()) {
        let first = finished.validators.iter().position(|result| !result.passed());
        finished.validators.truncate(first.map_or(usize::MAX, |first| first + 1));
    }
    Observation::CheckFinished(finished)
}

/// Says whether a worker would have got another prompt.
fn asks_otherwise(recorded: &RunState, other: &RunState, command: &Observation) -> bool {
    let Observation::WorkerStarted(started) = command else { return false };
    let asked = |state: &RunState| {
        let (step, at) = state.step(&started.step)?;
        Some(prompt::worker_prompt(
            state,
            step,
            at,
            started.check_id.as_ref(),
            &started.registry.as_deref().cloned().unwrap_or_default(),
        ))
    };
    asked(recorded) != asked(other)
}

fn changed(command: &Observation, changes: &[PolicyOverride]) -> Result<Observation, OverrideError> {
    match command {
        Observation::RunStarted(started) => {
            let workflow = with_changes(&started.workflow, changes)?;
            Ok(Observation::RunStarted(Box::new(RunStarted { workflow, ..(**started).clone() })))
        }
        Observation::RunResumed(RunResumed { change: Some(change), .. }) => {
            let mut command = command.clone();
            if let Observation::RunResumed(resumed) = &mut command {
                let workflow = with_changes(&change.workflow, changes)?;
                resumed.change = Some(Box::new(WorkflowChange { workflow, ..(**change).clone() }));
            }
            Ok(command)
        }
        other => Ok(other.clone()),
    }
}

fn with_command(batch: &crate::EventBatch, command: &Observation) -> crate::EventBatch {
    let mut batch = batch.clone();
    if let Some(first) = batch.events.first_mut() {
        first.fact = command.clone().into();
    }
    batch
}
