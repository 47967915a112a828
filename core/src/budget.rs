//! What a run may spend, and what it has spent.

use crate::call_report::Reading;
use crate::cost::{Ledger, Prices, Spent, dollars};
use crate::event::{Call, Exit, Next, Outcome, RunResumed};
use crate::id::{RunId, StepId};
use crate::plural::count;
use crate::state::{InFlight, RunState, StepState};
use crate::workflow::{Budget, Step, Work, Worker};

/// A bound that is reached, or that cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Overspent {
    /// Of money, in millionths of a US dollar.
    #[error("{} of {}", dollars(*spent), dollars(*bound))]
    Money { spent: u64, bound: u64 },
    /// Of tokens.
    #[error("{spent} of {}", count(*bound, "token"))]
    Tokens { spent: u64, bound: u64 },
    /// Nobody can say: a call was done whose client tells no cost, and there is no price for its model.
    #[error("nobody knows what was spent: {} has no price, and its client tells no money",
        if model.is_empty() { "a model without a name" } else { model })]
    Unknown { model: String },
    /// Nobody can say: a call was done that told no tokens.
    #[error("nobody knows what was used: {client} told no tokens of a call that was done")]
    Uncounted { client: String },
    /// Nobody can say: that many calls worked, broke off, and told nothing of what they cost.
    #[error("nobody knows what was spent: {calls} calls broke off in their work and told no number")]
    BrokenOff { calls: u64 },
}

/// So many calls may work, break off, and tell nothing of what they cost: with more, no bound is one.
const BROKEN_OFF_MAX: u64 = 3;

impl RunState {
    /// Returns what the run has spent; of what is in flight, what it has told so far.
    pub fn spent(&self) -> Spent {
        self.ledger_so_far().spent()
    }

    /// Returns the same for people: a call in flight that has told nothing yet is one of which nothing is known.
    pub fn spent_so_far(&self) -> Spent {
        let mut ledger = self.ledger_so_far();
        for (step, at) in self.in_flight() {
            let has_told = at.phase.in_flight().is_some_and(|it| it.call.is_some() && it.progress.is_some());
            if !has_told && at.is_paid(step) {
                ledger.add_untold();
            }
        }
        ledger.spent()
    }

    fn ledger_so_far(&self) -> Ledger {
        let mut ledger = self.ledger.clone();
        let prices = self.workflow().and_then(|workflow| workflow.prices.as_ref());
        for (_, at) in self.in_flight() {
            let in_flight = at.phase.in_flight();
            if let Some((call, progress)) =
                in_flight.and_then(|it| it.call.as_ref().zip(it.progress.as_ref()))
            {
                add(&mut ledger, Some(call), &progress.so_far(&call.client), prices);
            }
        }
        ledger
    }

    /// Returns what the calls have spent that are over.
    pub fn spent_by_ended_calls(&self) -> Spent {
        self.ledger.spent()
    }

    /// Returns what the run may spend, what a person added included.
    pub fn budget(&self) -> Budget {
        let configured = self.workflow().map(|it| it.budget).unwrap_or_default();
        configured.plus(self.extra_budget).within(self.allowance)
    }

    /// Returns what a person has added to the bounds of the run.
    pub fn extra_budget(&self) -> Budget {
        self.extra_budget
    }

    /// Returns what a child run may spend in its life: what all others have left of the budget.
    pub fn allowance_of(&self, child: &RunId) -> Budget {
        let (budget, others) = (self.budget(), self.ledger_so_far().spent_beside(child));
        Budget {
            micro_usd: budget.micro_usd.map(|bound| bound.saturating_sub(others.micro_usd())),
            tokens: budget.tokens.map(|bound| bound.saturating_sub(others.tokens.total())),
            ..budget
        }
    }

    /// Takes note of what a person gives the run who takes it up again.
    pub(crate) fn add_budget(&mut self, order: &RunResumed) {
        let more = Budget {
            micro_usd: Some(order.add_micro_usd),
            tokens: Some(order.add_tokens),
            accepts_unknown: order.accept_unknown_cost,
        };
        self.extra_budget = more.plus(self.extra_budget);
        self.allowance = order.allowance.unwrap_or_default();
    }

    /// Returns the bound that is still reached if a person who takes the run up again gives it this.
    pub(crate) fn overspent_with(&self, order: &RunResumed) -> Option<Overspent> {
        let mut after = self.clone();
        after.add_budget(order);
        after.overspent()
    }

    /// Returns the bound that is reached, or cannot be kept, if there is one.
    pub fn overspent(&self) -> Option<Overspent> {
        let budget = self.budget();
        if (budget.micro_usd, budget.tokens) == (None, None) {
            return None;
        }
        let spent = self.spent();
        let (money, tokens) = (spent.micro_usd(), spent.tokens.total());
        let reached = |bound: Option<u64>, spent: u64| bound.filter(|bound| spent >= *bound);
        reached(budget.micro_usd, money)
            .map(|bound| Overspent::Money { spent: money, bound })
            .or_else(|| {
                reached(budget.tokens, tokens).map(|bound| Overspent::Tokens { spent: tokens, bound })
            })
            .or_else(|| self.unknown(budget))
    }

    /// Returns why a bound cannot be kept.
    fn unknown(&self, budget: Budget) -> Option<Overspent> {
        if budget.accepts_unknown {
            return None;
        }
        let (unpriced, uncounted) = (self.ledger.unpriced(), self.ledger.uncounted());
        let money = unpriced.filter(|_| budget.micro_usd.is_some());
        let tokens = uncounted.filter(|_| budget.tokens.is_some());
        money
            .map(|model| Overspent::Unknown { model: model.to_owned() })
            .or_else(|| tokens.map(|client| Overspent::Uncounted { client: client.to_owned() }))
            .or_else(|| {
                let calls = self.ledger.broke_off();
                (calls >= BROKEN_OFF_MAX).then_some(Overspent::BrokenOff { calls })
            })
    }

    /// Says whether the next thing that is done, or is being done, costs anything although nothing is left. What
    /// costs nothing goes on: the check of work that is paid for may find it complete.
    pub(crate) fn is_broke(&self) -> bool {
        self.steps().any(|(step, at)| at.phase.next().is_some() && at.is_paid(step))
            && self.overspent().is_some()
    }

    /// Counts what the call has cost that a step has in flight and that ends now; one without an outcome was lost, and
    /// only what it had told is known. A child run tells all that it has ever spent when it ends.
    pub(crate) fn count_cost(&mut self, id: &StepId, outcome: Option<&Outcome>) {
        let plan = self.plan.clone();
        let Some((step, at)) = self.step(id) else { return };
        let Some(InFlight { call, progress, .. }) = at.phase.in_flight() else { return };
        if let Some(Exit::Child(child)) = outcome.map(|it| &it.exit) {
            return self.ledger.add_child(&child.run, child.spent);
        }
        let never_ran = outcome.is_some_and(|it| matches!(it.exit, Exit::CouldNotStart(_)));
        if !at.whom(step).is_some_and(Worker::is_paid) || never_ran {
            return;
        }
        let so_far = || call.as_ref().zip(progress.as_ref()).map(|(call, told)| told.so_far(&call.client));
        let reading = match outcome {
            Some(outcome) => outcome.reading.as_deref().cloned(),
            None => so_far(),
        };
        let call = call.as_deref().cloned();
        let prices = plan.as_ref().and_then(|plan| plan.started.workflow.prices.as_ref());
        let steps = &self.steps;
        self.ledger.keep_conversations(|client, id| {
            steps
                .iter()
                .filter_map(|at| at.calls.conversation.as_ref())
                .any(|it| it.client == client && it.id == id)
        });
        match reading {
            Some(reading) => add(&mut self.ledger, call.as_ref(), &reading, prices),
            None => self.ledger.add_untold(),
        }
    }
}

/// Adds what a call told. One that did not go on with a conversation began it.
fn add(ledger: &mut Ledger, call: Option<&Call>, reading: &Reading, prices: Option<&Prices>) {
    let session = call.and_then(|call| call.session.as_deref());
    if call.is_some_and(|call| !call.continues) {
        ledger.begin(&reading.client, session, reading);
    }
    ledger.add(&reading.client, session, reading, prices);
}

impl StepState {
    /// Says whether somebody has to be paid for what the step does now.
    fn is_paid(&self, step: &Step) -> bool {
        match (self.whom(step), &step.work) {
            (Some(worker), _) => worker.is_paid(),
            (None, Work::Subworkflow(child)) if self.phase.next() == Some(Next::Work) => {
                child.workflow.everybody().into_iter().any(|(_, worker)| worker.is_paid())
            }
            (None, _) => false,
        }
    }
}
