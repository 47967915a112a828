//! Budget of a run: its limits and its spending.

use crate::cost::{CostLedger, Spend, dollars};
use crate::event::{Exit, Outcome, RunResumed, TurnKind};
use crate::id::{RunId, StepId};
use crate::plural::count;
use crate::state::{InFlight, RunState, StepState};
use crate::workflow::{Budget, Step, StepKind, Worker};

/// A budget limit that is reached or cannot be enforced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum BudgetExceeded {
    /// The money limit, in millionths of a US dollar.
    #[error("{} of {}", dollars(*spent), dollars(*bound))]
    Money { spent: u64, bound: u64 },
    /// The token limit.
    #[error("{spent} of {}", count(*bound, "token"))]
    Tokens { spent: u64, bound: u64 },
    /// The spending is unknown: a completed call reported no cost, and its model has no price.
    #[error("nobody knows what was spent: {} has no price, and its client tells no money",
        if model.is_empty() { "a model without a name" } else { model })]
    Unknown { model: String },
    /// The token use is unknown: a completed call reported no tokens.
    #[error("nobody knows what was used: {client} told no tokens of a call that was done")]
    Uncounted { client: String },
    /// The spending is unknown: this many calls worked, were cut off, and reported no cost.
    #[error("nobody knows what was spent: {calls} calls broke off in their work and told no number")]
    BrokenOff { calls: u64 },
}

/// Number of calls cut off without a reported cost at which no limit can be enforced.
const BROKEN_OFF_MAX: u64 = 3;

impl RunState {
    /// Returns the spending of the run, including what calls in flight have reported so far.
    pub fn spent(&self) -> Spend {
        self.ledger_so_far().spent()
    }

    /// Returns the same for display: a call in flight without a report yet counts as unknown.
    pub fn spent_so_far(&self) -> Spend {
        let mut ledger = self.ledger_so_far();
        for (step, at) in self.in_flight() {
            let has_told =
                at.phase.in_flight().is_some_and(|now| now.call.is_some() && now.progress.is_some());
            if !has_told && at.is_paid(step) {
                ledger.add_unreported();
            }
        }
        ledger.spent()
    }

    fn ledger_so_far(&self) -> CostLedger {
        let mut spending = self.spending.clone();
        let prices = self.workflow().and_then(|workflow| workflow.prices.as_ref());
        for (_, at) in self.in_flight() {
            let in_flight = at.phase.in_flight();
            if let Some((call, progress)) =
                in_flight.and_then(|running| running.call.as_ref().zip(running.progress.as_ref()))
            {
                spending.add_call(Some(call), Some(&progress.so_far(&call.client)), prices);
            }
        }
        spending.ledger
    }

    /// Returns the spending of ended calls.
    pub fn spent_by_ended_calls(&self) -> Spend {
        self.spending.ledger.spent()
    }

    /// Returns the budget of the run, including what a person added.
    pub fn budget(&self) -> Budget {
        let configured = self.workflow().map(|workflow| workflow.budget).unwrap_or_default();
        self.spending.budget(configured)
    }

    /// Returns the budget that a person added to the run.
    pub fn extra_budget(&self) -> Budget {
        self.spending.extra_budget
    }

    /// Returns the lifetime budget of a child run: what the budget leaves after all other spending.
    pub fn allowance_of(&self, child: &RunId) -> Budget {
        let (budget, others) = (self.budget(), self.ledger_so_far().spend_without_child(child));
        Budget {
            micro_usd: budget.micro_usd.map(|bound| bound.saturating_sub(others.micro_usd())),
            tokens: budget.tokens.map(|bound| bound.saturating_sub(others.tokens.total())),
            ..budget
        }
    }

    /// Returns the limit that is still reached after this resume, if any.
    pub(crate) fn budget_exceeded_after(&self, order: &RunResumed) -> Option<BudgetExceeded> {
        let mut after = self.clone();
        after.spending.resume(order);
        after.budget_exceeded()
    }

    /// Returns the limit that is reached or cannot be enforced, if any.
    pub fn budget_exceeded(&self) -> Option<BudgetExceeded> {
        let budget = self.budget();
        if (budget.micro_usd, budget.tokens) == (None, None) {
            return None;
        }
        let spent = self.spent();
        let (money, tokens) = (spent.micro_usd(), spent.tokens.total());
        let reached = |bound: Option<u64>, spent: u64| bound.filter(|bound| spent >= *bound);
        reached(budget.micro_usd, money)
            .map(|bound| BudgetExceeded::Money { spent: money, bound })
            .or_else(|| {
                reached(budget.tokens, tokens).map(|bound| BudgetExceeded::Tokens { spent: tokens, bound })
            })
            .or_else(|| self.unknown(budget))
    }

    /// Returns why a limit cannot be enforced.
    fn unknown(&self, budget: Budget) -> Option<BudgetExceeded> {
        if budget.accepts_unknown {
            return None;
        }
        let (unpriced, uncounted) = (self.spending.ledger.unpriced(), self.spending.ledger.uncounted());
        let money = unpriced.filter(|_| budget.micro_usd.is_some());
        let tokens = uncounted.filter(|_| budget.tokens.is_some());
        money
            .map(|model| BudgetExceeded::Unknown { model: model.to_owned() })
            .or_else(|| tokens.map(|client| BudgetExceeded::Uncounted { client: client.to_owned() }))
            .or_else(|| {
                let calls = self.spending.ledger.unreported_cut_off_calls();
                (calls >= BROKEN_OFF_MAX).then_some(BudgetExceeded::BrokenOff { calls })
            })
    }

    /// Returns whether the current or next activity costs anything although no budget is left. Free activity continues:
    /// the check of work that is paid for may find it complete.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.steps().any(|(step, at)| at.phase.next().is_some() && at.is_paid(step))
            && self.budget_exceeded().is_some()
    }

    /// Counts the cost of a step's call that ends now. A call without an outcome was lost, and only what it had
    /// reported is known. A child run reports its total spending when it ends.
    pub(crate) fn count_cost(&mut self, id: &StepId, outcome: Option<&Outcome>) {
        let plan = self.plan.clone();
        let Some((step, at)) = self.step(id) else { return };
        let Some(InFlight { call, progress, .. }) = at.phase.in_flight() else { return };
        if let Some(Exit::Child(child)) = outcome.map(|outcome| &outcome.exit) {
            return self.spending.ledger.add_child(&child.run, child.spent);
        }
        let never_ran = outcome.is_some_and(|outcome| matches!(outcome.exit, Exit::CouldNotStart(_)));
        if !at.current_worker(step).is_some_and(Worker::is_paid) || never_ran {
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
        self.spending.ledger.retain_sessions(|client, id| {
            steps
                .iter()
                .filter_map(|at| at.calls.conversation.as_ref())
                .any(|session| session.client == client && session.id == id)
        });
        self.spending.add_call(call.as_ref(), reading.as_ref(), prices);
    }
}

impl StepState {
    /// Returns whether the current activity of the step runs a paid worker.
    fn is_paid(&self, step: &Step) -> bool {
        match (self.current_worker(step), &step.work) {
            (Some(worker), _) => worker.is_paid(),
            (None, StepKind::Subworkflow(child)) if self.phase.next() == Some(TurnKind::Work) => {
                child.workflow.all_workers().into_iter().any(|(_, worker)| worker.is_paid())
            }
            (None, _) => false,
        }
    }
}
