//! What a run may spend, and what it has spent.

use crate::event::{Call, Exit, Outcome, RunResumed};
use crate::id::{Attempt, Iteration, StepId};
use crate::money::{Prices, Spent};
use crate::reading::Reading;
use crate::state::{InFlight, RunState, StepState};
use crate::workflow::{Budget, Step, WorkerKind};

/// A bound that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overspent {
    /// Of money, in millionths of a US dollar.
    Money {
        /// What was spent, as far as it is known.
        spent: u64,
        /// The bound.
        bound: u64,
    },
    /// Of tokens.
    Tokens {
        /// What was used, as far as it is known.
        spent: u64,
        /// The bound.
        bound: u64,
    },
}

impl Overspent {
    /// Says whether a person who takes the run up again gives it enough to go on.
    pub(crate) fn is_mended_by(&self, order: &RunResumed) -> bool {
        let (spent, bound, more) = match *self {
            Self::Money { spent, bound } => (spent, bound, order.add_micro_usd),
            Self::Tokens { spent, bound } => (spent, bound, order.add_tokens),
        };
        spent < bound.saturating_add(more)
    }
}

impl RunState {
    /// Returns what the run has spent; of what is in flight, what it has told so far.
    pub fn spent(&self) -> Spent {
        let mut spent = self.spent.clone();
        let prices = self.workflow().and_then(|workflow| workflow.prices.as_ref());
        for (_, at) in self.in_flight() {
            let in_flight = at.phase.in_flight();
            if let Some((call, progress)) =
                in_flight.and_then(|it| it.call.as_ref().zip(it.progress.as_ref()))
            {
                add(&mut spent, Some(call), &progress.so_far(&call.client), prices);
            }
        }
        spent
    }

    /// Returns what the calls have spent that are over.
    pub fn spent_by_ended_calls(&self) -> &Spent {
        &self.spent
    }

    /// Returns what the run may spend, what a person added included.
    pub fn budget(&self) -> Budget {
        let Budget { micro_usd, tokens } = self.workflow().map(|it| it.budget).unwrap_or_default();
        let more = |bound: Option<u64>, extra: Option<u64>| Some(bound?.saturating_add(extra.unwrap_or(0)));
        Budget {
            micro_usd: more(micro_usd, self.extra_budget.micro_usd),
            tokens: more(tokens, self.extra_budget.tokens),
        }
    }

    /// Returns the bound that is reached, if one is.
    pub fn overspent(&self) -> Option<Overspent> {
        let budget = self.budget();
        if budget == Budget::default() {
            return None;
        }
        let spent = self.spent();
        let (money, tokens) = (spent.micro_usd(), spent.tokens.total());
        let reached = |bound: Option<u64>, spent: u64| bound.filter(|bound| spent >= *bound);
        reached(budget.micro_usd, money).map(|bound| Overspent::Money { spent: money, bound }).or_else(|| {
            reached(budget.tokens, tokens).map(|bound| Overspent::Tokens { spent: tokens, bound })
        })
    }

    /// Says whether the next thing that is done, or is being done, costs anything although nothing is left. What
    /// costs nothing goes on: the check of work that is paid for may find it complete.
    pub(crate) fn is_broke(&self) -> bool {
        self.steps().any(|(step, at)| at.phase.turn().is_some() && at.is_paid(step))
            && self.overspent().is_some()
    }

    /// Counts what the call has cost that is in flight as this try of a step; one without an outcome was lost, and
    /// only what it had told is known.
    pub(crate) fn count_cost(
        &mut self,
        id: &StepId,
        (iteration, attempt): (Iteration, Attempt),
        outcome: Option<&Outcome>,
    ) {
        let plan = self.plan.clone();
        let Some((step, at)) = self.step(id) else { return };
        let is_meant = at.iteration == iteration && at.attempt == attempt;
        let Some(InFlight { call, progress, .. }) = at.phase.in_flight().filter(|_| is_meant) else { return };
        let never_ran = outcome.is_some_and(|it| matches!(it.exit, Exit::CouldNotStart(_)));
        if !at.is_paid(step) || never_ran {
            return;
        }
        let so_far = || call.as_ref().zip(progress.as_ref()).map(|(call, told)| told.so_far(&call.client));
        let reading = match outcome {
            Some(outcome) => outcome.reading.as_deref().cloned(),
            None => so_far(),
        };
        let call = call.as_deref().cloned();
        let prices = plan.as_ref().and_then(|plan| plan.started.workflow.prices.as_ref());
        match reading {
            Some(reading) => add(&mut self.spent, call.as_ref(), &reading, prices),
            None => self.spent.add_untold(),
        }
    }
}

/// Adds what a call told. One that did not go on with a conversation began it.
fn add(spent: &mut Spent, call: Option<&Call>, reading: &Reading, prices: Option<&Prices>) {
    let session = call.and_then(|call| call.session.as_deref());
    if call.is_some_and(|call| !call.continues) {
        spent.begin(&reading.client, session, reading);
    }
    spent.add(&reading.client, session, reading, prices);
}

impl StepState {
    /// Says whether somebody has to be paid for what the step does now: a script of one's own costs nothing.
    fn is_paid(&self, step: &Step) -> bool {
        self.whom(step).is_some_and(|worker| worker.kind != WorkerKind::Custom)
    }
}
