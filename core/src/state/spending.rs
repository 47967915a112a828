//! Spending of a run, and the changes of its limits.

use serde::{Deserialize, Serialize};

use crate::call_report::CallReport;
use crate::cost::{CostLedger, Prices};
use crate::event::{Call, RunResumed};
use crate::workflow::Budget;

/// The spending of a run, and the changes of the budget that its workflow configures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendingState {
    /// The spending of ended calls and child runs.
    pub ledger: CostLedger,
    /// The budget that a person added.
    pub extra_budget: Budget,
    /// The budget that the parent run allows.
    pub allowance: Budget,
}

impl SpendingState {
    /// Returns the limits of a run with this configured budget.
    pub fn budget(&self, configured: Budget) -> Budget {
        configured.plus(self.extra_budget).within(self.allowance)
    }

    /// Adds the budget that a person grants when resuming the run, and replaces the allowance of the parent run.
    pub fn resume(&mut self, order: &RunResumed) {
        let more = Budget {
            micro_usd: Some(order.add_micro_usd),
            tokens: Some(order.add_tokens),
            accepts_unknown: order.accept_unknown_cost,
        };
        self.extra_budget = more.plus(self.extra_budget);
        self.allowance = order.allowance.unwrap_or_default();
    }

    /// Adds a call; without a report it counts as unknown. A call that did not continue a conversation started it.
    pub fn add_call(&mut self, call: Option<&Call>, report: Option<&CallReport>, prices: Option<&Prices>) {
        let Some(report) = report else { return self.ledger.add_unreported() };
        let session = call.and_then(|call| call.session.as_deref());
        if call.is_some_and(|call| !call.continues) {
            self.ledger.begin(&report.client, session, report);
        }
        self.ledger.add(&report.client, session, report, prices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resume_raises_the_limit() {
        let configured = Budget { tokens: Some(100), ..Budget::default() };
        let mut spending = SpendingState::default();
        spending.resume(&RunResumed { add_tokens: 50, add_micro_usd: 1, ..RunResumed::default() });
        assert_eq!(spending.budget(configured), Budget { tokens: Some(150), ..Budget::default() });
        let allowance = Some(Budget { tokens: Some(120), ..Budget::default() });
        spending.resume(&RunResumed { allowance, ..RunResumed::default() });
        assert_eq!(spending.budget(configured).tokens, Some(120));
    }
}
