//! The verdict of a check, as it is read.

use super::problem::VerdictProblem;
use crate::evidence::{CheckIdMatch, Decision, DecisionSource};
use crate::text::plain::quote;

/// The verdict of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// What was decided.
    pub decision: Decision,
    /// Where that was read.
    pub source: DecisionSource,
    /// How the id there relates to the id of the check.
    pub check_id: CheckIdMatch,
    /// Reasons as given, or both sides of a contradiction. At most 200 of 240 characters.
    pub reasons: Vec<String>,
    /// Identities of failures as given. At most 200 of 240 characters.
    pub fingerprints: Vec<String>,
    /// What a person must do; there when blocked.
    pub needs: Option<String>,
    /// When to ask again, in milliseconds; may be there when waiting.
    pub retry_after_ms: Option<u64>,
    /// Until when to wait, as it was written; may be there when waiting.
    pub until: Option<String>,
    /// What was noticed, in the order of the sources.
    pub problems: Vec<VerdictProblem>,
}

/// A resolution without a decision.
pub(super) fn undecided(problems: Vec<VerdictProblem>) -> Resolution {
    Resolution { problems, ..Resolution::default() }
}

pub(super) fn in_quotes(text: &str) -> String {
    format!("\"{}\"", quote(text.trim()))
}
