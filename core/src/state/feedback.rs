//! The feedback for the next prompt.

use serde::{Deserialize, Serialize};

use crate::event::{DecisionSource, Outcome, VerdictReached};
use crate::evidence::Decision;
use crate::id::{CheckId, Iteration};
use crate::text::plain::strip_ansi;
use crate::truncate;

/// The last verdict and the messages that the next prompt of a worker contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The iteration of the verdict; 0 for none.
    pub iteration: Iteration,
    /// The decision.
    pub decision: Option<Decision>,
    /// The source of the decision.
    pub source: Option<DecisionSource>,
    /// The id of the check.
    pub check_id: Option<CheckId>,
    /// Whether the verdict has that id; `None` if it has no id.
    pub check_id_match: Option<bool>,
    /// Its reasons.
    pub reasons: Vec<String>,
    /// Its fingerprints.
    pub fingerprints: Vec<String>,
    /// Problems with the answer.
    pub problems: Vec<String>,
    /// The end of the worker's last message; at most [`Feedback::SAID_MAX`] bytes.
    pub said: String,
    /// The end of the output of the check; at most [`Feedback::OUTPUT_MAX`] bytes.
    pub output: String,
    /// Answers and hints of a person, newest last.
    pub from_person: Vec<String>,
}

impl Feedback {
    /// The limit for the output of a check, in bytes.
    pub const OUTPUT_MAX: usize = 4096;
    /// The limit for the message of a worker, in bytes.
    pub const SAID_MAX: usize = 1000;
    /// The limit for a diagnosis, in bytes.
    pub const DIAGNOSIS_MAX: usize = 16 * 1024;

    /// Records a verdict. Earlier messages of worker, check and person stay.
    pub fn record_verdict(&mut self, event: &VerdictReached) {
        self.iteration = event.iteration;
        self.decision = Some(event.decision);
        self.source = Some(event.source);
        self.check_id.clone_from(&event.check_id);
        self.check_id_match = event.check_id_match;
        self.reasons.clone_from(&event.reasons);
        self.fingerprints.clone_from(&event.fingerprints);
        self.problems.clone_from(&event.problems);
    }

    /// Records the last message of a worker.
    pub fn record_worker_message(&mut self, answer: &str) {
        self.said = truncate::tail(strip_ansi(answer).trim(), Self::SAID_MAX).to_owned();
    }

    /// Records the output of a check; its standard error if the output is empty.
    pub fn record_check_output(&mut self, outcome: &Outcome) {
        let text = if outcome.answer.trim().is_empty() { &outcome.stderr_tail } else { &outcome.answer };
        self.output = truncate::tail(strip_ansi(text).trim(), Self::OUTPUT_MAX).to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_workers_have_no_escapes() {
        let mut feedback = Feedback::default();
        feedback.record_worker_message("\u{1b}[1mI fixed the parser.\u{1b}[0m\n");
        assert_eq!(feedback.said, "I fixed the parser.");
    }
}
