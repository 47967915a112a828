//! Reaction to a service that is rate limited or unavailable: the next worker of a chain, or a pause.

use super::Batch;
use crate::backoff::ChainSlot;
use crate::call_report::CallError;
use crate::duration::format_duration;
use crate::event::{Conclusion, ErrorClass, FallbackTaken, Outcome, ProcessFailure, TurnKind};
use crate::id::{Digest, Millis, Timestamp};
use crate::judge::completion_claim::{to_failure, to_message};
use crate::outage;
use crate::state::StepState;
use crate::workflow::{OnFailure, OutagePolicy, Step, Worker};

impl Batch {
    /// Switches to the next worker of the chain that is not limited, and returns `None`. If all are limited, it
    /// switches to the one that is free first, and returns when.
    pub(super) fn try_fallback(
        &mut self,
        step: &Step,
        what: TurnKind,
        then: &StepState,
        failure: &outage::ExitFailure,
        outcome: &Outcome,
    ) -> Option<Timestamp> {
        let tries = self.at(&step.id).tries.outage;
        let free_at = self.available_at(step, failure, outcome, tries);
        let (now, current) = (self.at, then.place_in_chain(what));
        let first = step.first(current).filter(|_| outage::is_outage(failure.class));
        let Some(first) = first else { return Some(free_at) };
        let places = u32::try_from(first.chain().count()).unwrap_or(u32::MAX);
        let limited_until = |place| self.at(&step.id).calls.rests.until(ChainSlot { place, ..current });
        // Even if one service is free early, the whole chain is not called again without a pause.
        let next_round = now.after(self.backoff(step, failure.class, tries));
        let free_at =
            |place| if place == current.place { free_at } else { next_round.max(limited_until(place)) };
        let next = (current.place.saturating_add(1)..places).find(|place| limited_until(*place) <= now);
        let first_free = || (0..places).min_by_key(|place| free_at(*place)).unwrap_or(current.place);
        let to = next.unwrap_or_else(first_free);
        let free_at = next.is_none().then(|| free_at(to));
        if to != current.place {
            let (step, why) = (step.id.clone(), to_failure(failure));
            self.push(Conclusion::FallbackTaken(FallbackTaken { step, what, to, why }));
        }
        free_at
    }

    /// Describes the cause of the wait: the last failure, or another worker of the chain that is free earlier.
    pub(super) fn wait_reason(
        &self,
        step: &Step,
        what: TurnKind,
        then: &StepState,
        failure: &outage::ExitFailure,
    ) -> String {
        let at = self.at(&step.id);
        let current = at.place_in_chain(what);
        if current == then.place_in_chain(what) || at.calls.rests.until(current) <= self.at {
            return to_message(failure);
        }
        let who = if what == TurnKind::Work { "worker" } else { "checker" };
        format!("all of the chain are limited, and {who} {} is free first", current.place + 1)
    }

    /// Returns when a limited or unavailable service is called again. A service may name a later time but not an
    /// earlier one, or the calls would never end.
    pub(super) fn available_at(
        &self,
        step: &Step,
        failure: &outage::ExitFailure,
        outcome: &Outcome,
        tries: u32,
    ) -> Timestamp {
        let pause = self.at.after(self.backoff(step, failure.class, tries));
        outcome.limited_until(failure, self.at).map_or(pause, |until| pause.max(until))
    }

    /// Returns the wait for a service that is free at this time; `None` if waiting is over or not wanted.
    pub(super) fn outage_wait(
        &self,
        step: &Step,
        failure: &outage::ExitFailure,
        outcome: &Outcome,
        free_at: Timestamp,
    ) -> Option<Millis> {
        let workflow = self.state.workflow()?;
        if !should_wait(step, failure, outcome) || workflow.on_outage != OutagePolicy::Wait {
            return None;
        }
        let wait = free_at.since(self.at);
        (self.state.outage_wait.plus(wait) <= workflow.outage_budget).then_some(wait)
    }

    /// Returns a failure as it ends a step, with the reason why a service that could recover is not waited for.
    pub(super) fn outage_failure(
        &self,
        step: &Step,
        failure: &outage::ExitFailure,
        outcome: &Outcome,
        free_at: Timestamp,
    ) -> ProcessFailure {
        let mut ended = to_failure(failure);
        let Some(workflow) = self.state.workflow().filter(|_| should_wait(step, failure, outcome)) else {
            return ended;
        };
        let (waited, budget) = (self.state.outage_wait, format_duration(workflow.outage_budget));
        let next = format_duration(free_at.since(self.at));
        let why = match workflow.on_outage {
            OutagePolicy::Stop => "on_outage: fail".to_owned(),
            OutagePolicy::Wait if waited == Millis(0) => {
                format!("{next} is longer than the outage budget of {budget} (max_outage_wait of a workflow)")
            }
            OutagePolicy::Wait => {
                let used = format_duration(waited);
                format!(
                    "another {next} does not fit in the outage budget of {budget}: {used} of it are used up"
                )
            }
        };
        ended.message.push_str(&format!("; it is not waited for: {why}"));
        ended
    }

    /// Returns the pause before an attempt. It doubles up to a limit, and is spread by up to a fifth, derived from the
    /// names of run, step and attempt instead of chance.
    pub(super) fn backoff(&self, step: &Step, class: ErrorClass, tries: u32) -> Millis {
        let (first, most) = match class {
            ErrorClass::RetryableNetwork | ErrorClass::RetryableService => (2_000, 120_000),
            ErrorClass::RetryableRateLimit => (5_000, 600_000),
            _ => (100, 5_000),
        };
        let pause: u64 = 1_u64.checked_shl(tries).unwrap_or(u64::MAX).saturating_mul(first).min(most);
        let at = self.at(&step.id);
        let run = self.state.run().map_or("", |run| run.as_str());
        let name = format!("{run}/{}/{}/{}", step.id, at.iteration(), at.attempt());
        let spread = u64::from(Digest::sha256(name.as_bytes()).0[0]);
        Millis((pause + pause * spread / (5 * 256)).min(most))
    }
}

/// Returns whether a run waits after a failure: always after a rate limit and an overloaded service, after another
/// outage only if the client reports it or the step retries anyway.
///
/// An outage is waited for or ends the step. Without waiting there is no retry either.
pub(super) fn should_wait(step: &Step, failure: &outage::ExitFailure, outcome: &Outcome) -> bool {
    let says_so = outcome.reading.is_some() || step.on_failure == OnFailure::Retry;
    failure.trouble == Some(CallError::Overloaded)
        || failure.class == ErrorClass::RetryableRateLimit
        || outage::is_outage(failure.class) && says_so
}

/// Returns what a person must do before a retry; `None` if that would not help.
pub(super) fn needs_person(worker: Option<&Worker>, failure: &outage::ExitFailure) -> Option<String> {
    let client = worker.and_then(|worker| worker.client.as_deref());
    let name = client.map_or("the worker", |client| client.title.as_str());
    let said = failure.phrase.as_deref().unwrap_or("it failed");
    let what = match failure.trouble? {
        CallError::Auth => match client.map(|client| client.login.as_str()).filter(|text| !text.is_empty()) {
            Some(login) => format!("a login for {name}: {login}"),
            None => format!("a login, or a valid key, for {name}"),
        },
        CallError::Credit => {
            match client.map(|client| client.credit.as_str()).filter(|text| !text.is_empty()) {
                Some(credit) => format!("credit for {name}: {credit}"),
                None => format!("credit for {name}"),
            }
        }
        _ => return None,
    };
    Some(format!("{what} ({said})"))
}
