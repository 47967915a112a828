//! What is done about services that are limited or out of order: the next of a chain, or a pause.

use super::Batch;
use crate::claim::recorded;
use crate::event::{Conclusion, FallbackTaken, Next, Outcome, Purpose};
use crate::id::{Digest, Millis};
use crate::reading::Trouble;
use crate::state::StepState;
use crate::weather::{self, ErrorClass};
use crate::workflow::{OnFailure, Step, Weather, Worker};

impl Batch {
    /// Hands what is done to the next in its chain, where a service is limited or out of order; says whether there
    /// is one. After the last one the first is asked again, when all have been waited for.
    pub(super) fn falls_back(
        &mut self,
        step: &Step,
        what: Next,
        then: &StepState,
        failure: &weather::Failure,
    ) -> bool {
        let (first, place) = match what {
            Next::Work => (step.worker(Purpose::Work), then.worker_at),
            Next::Check => (step.checker(then.inquiry), then.checker_at),
        };
        let Some(first) = first.filter(|_| weather::is_weather(failure.class)) else { return false };
        let is_last = first.chain().nth(place.saturating_add(1) as usize).is_none();
        let to = if is_last { 0 } else { place + 1 };
        if to != place {
            let (step, why) = (step.id.clone(), recorded(failure));
            self.push(Conclusion::FallbackTaken(FallbackTaken { step, what, to, why }));
        }
        to > place
    }

    /// Returns how long to wait for a service that is limited or out of order; `None` where waiting is over or not
    /// wanted.
    pub(super) fn weather_wait(
        &self,
        step: &Step,
        failure: &weather::Failure,
        outcome: &Outcome,
        tries: u32,
    ) -> Option<Millis> {
        let workflow = self.state.workflow()?;
        if !is_waited_for(step, failure, outcome) || workflow.weather != Weather::Wait {
            return None;
        }
        // A service may name a later moment, never an earlier one: it would be asked without an end.
        let pause = self.backoff(step, failure.class, tries);
        let asked = failure.retry_after_ms.map_or(Millis(0), Millis);
        let until_reset = outcome.resets_at.map_or(Millis(0), |moment| moment.since(self.at));
        let wait = pause.max(asked).max(until_reset);
        (self.state.weather_wait.plus(wait) <= workflow.outage_budget).then_some(wait)
    }

    /// Returns the pause before a try: it doubles, is bounded, and is spread by up to a fifth, by
    /// the names of run, step and try instead of by chance.
    pub(super) fn backoff(&self, step: &Step, class: ErrorClass, tries: u32) -> Millis {
        let (first, most) = match class {
            ErrorClass::RetryableNetwork | ErrorClass::RetryableService => (2_000, 120_000),
            ErrorClass::RetryableRateLimit => (5_000, 600_000),
            _ => (100, 5_000),
        };
        let pause: u64 = 1_u64.checked_shl(tries).unwrap_or(u64::MAX).saturating_mul(first).min(most);
        let at = self.at(&step.id);
        let run = self.state.run().map_or("", |run| run.as_str());
        let name = format!("{run}/{}/{}/{}", step.id, at.iteration, at.attempt);
        let spread = u64::from(Digest::of(name.as_bytes()).0[0]);
        Millis((pause + pause * spread / (5 * 256)).min(most))
    }
}

/// Says whether a failure is the weather: a limit always; a service or connection that is out of order where the client
/// says so, or where the step tries again anyway.
fn is_waited_for(step: &Step, failure: &weather::Failure, outcome: &Outcome) -> bool {
    let says_so = outcome.reading.is_some() || step.on_failure == OnFailure::Retry;
    failure.class == ErrorClass::RetryableRateLimit || weather::is_weather(failure.class) && says_so
}

/// Returns what a person has to do before anything can be tried again; `None` if that would not help.
pub(super) fn needs_person(worker: Option<&Worker>, failure: &weather::Failure) -> Option<String> {
    let client = worker.and_then(|worker| worker.client.as_deref());
    let name = client.map_or("the worker", |client| client.title.as_str());
    let said = failure.phrase.as_deref().unwrap_or("it failed");
    let what = match failure.trouble? {
        Trouble::Auth => match client.map(|client| client.login.as_str()).filter(|it| !it.is_empty()) {
            Some(login) => format!("a login for {name}: {login}"),
            None => format!("a login, or a valid key, for {name}"),
        },
        Trouble::Credit => match client.map(|client| client.credit.as_str()).filter(|it| !it.is_empty()) {
            Some(credit) => format!("credit for {name}: {credit}"),
            None => format!("credit for {name}"),
        },
        _ => return None,
    };
    Some(format!("{what} ({said})"))
}
