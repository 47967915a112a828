//! The verdict of a check, as it is read.

use super::problem::VerdictProblem;
use crate::evidence::{CheckIdMatch, Decision, DecisionSource};
use crate::text::plain::quote;

/// The verdict of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// Decision.
    pub decision: Decision,
    /// Source of the decision.
    pub source: DecisionSource,
    /// Result of comparing its id with the id of the check.
    pub check_id: CheckIdMatch,
    /// Reasons as given, or both sides of a contradiction. At most 200 of 240 characters.
    pub reasons: Vec<String>,
    /// Identities of failures as given. At most 200 of 240 characters.
    pub fingerprints: Vec<String>,
    /// Action that a person must take; set if blocked.
    pub needs: Option<String>,
    /// Delay before the next check, in milliseconds; optional if waiting.
    pub retry_after_ms: Option<u64>,
    /// End of the wait, as written; optional if waiting.
    pub until: Option<String>,
    /// Problems found, in the order of the sources.
    pub problems: Vec<VerdictProblem>,
}

/// A resolution without a decision.
pub(super) fn no_decision(problems: Vec<VerdictProblem>) -> Resolution {
    Resolution { problems, ..Resolution::default() }
}

pub(super) fn quotation(text: &str) -> String {
    format!("\"{}\"", quote(text.trim()))
}
