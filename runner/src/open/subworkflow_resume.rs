//! Order with which a child run is resumed.

use unstuck_core::event::{AnswerGiven, RunOutcome, RunResumed};
use unstuck_core::id::Millis;
use unstuck_core::{Observation, RunState};

use super::run_environment::program;
use crate::host::ChildContext;

/// Returns what a child run gets when it is taken up again: what a person has answered or given its parent, and not it yet.
pub(crate) fn resume_observation(state: &RunState, place: ChildContext) -> Observation {
    match answer(state, &place) {
        Some(text) => Observation::AnswerGiven(AnswerGiven { text, steps: Vec::new() }),
        None => Observation::RunResumed(resume_event(state, place)),
    }
}

/// Returns what a person has said since the parent knew that the child is blocked. A later question of it is another one.
fn answer(state: &RunState, place: &ChildContext) -> Option<String> {
    place.hint.clone().filter(|_| already_reported(state, place, RunOutcome::Blocked))
}

/// Says whether a child has ended so, its parent knows of it, and nothing has happened to it since.
fn already_reported(state: &RunState, place: &ChildContext, end: RunOutcome) -> bool {
    let is_known = place.last_end.is_some_and(|(known, at)| known == end && state.last_at() <= at);
    is_known && state.outcome() == Some(end)
}

fn resume_event(state: &RunState, place: ChildContext) -> RunResumed {
    let add_iterations = place.extra_iterations.saturating_sub(state.extra_iterations());
    let (given, had) = (place.extra_budget, state.extra_budget());
    let more = |given: Option<u64>, had: Option<u64>| given.unwrap_or(0).saturating_sub(had.unwrap_or(0));
    let add_micro_usd = more(given.micro_usd, had.micro_usd);
    let add_tokens = more(given.tokens, had.tokens);
    let add_time = place.extra_time.minus(state.extra_time());
    let is_given_more = add_iterations > 0 || add_micro_usd > 0 || add_tokens > 0 || add_time > Millis(0);
    RunResumed {
        add_iterations,
        add_time,
        // As a worker has the whole limit of its step for each attempt.
        renews_time: already_reported(state, &place, RunOutcome::TimeLimit),
        add_micro_usd,
        add_tokens,
        accept_unknown_cost: given.accepts_unknown,
        allowance: Some(place.allowance),
        hint: place.hint.filter(|_| is_given_more),
        program: program(),
        workspace: Some(place.workspace)
            .filter(|now| state.started().is_some_and(|then| then.workspace != *now)),
        ..RunResumed::default()
    }
}
