//! Verdicts on the work of a step, and the evidence for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{CheckFinished, DecisionSource, Inquiry, PendingClaim, VerdictReached};
use crate::evidence::{ParsedAnswer, ValidatorResult};
use crate::id::{Digest, Iteration, Seq};
use crate::judge::reason::{is_contradiction, is_of_answer};
use crate::snapshot::Snapshot;
use crate::truncate;

/// The verdicts of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictState {
    /// The kind of check that is next, or was last.
    pub inquiry: Inquiry,
    /// Checks in a row without a readable verdict.
    pub parse_failures: u32,
    /// Their answers; at most the last [`VerdictState::UNREAD_MAX`].
    pub unread: Vec<UnreadableVerdict>,
    /// The claim of completion that is being verified.
    pub claim: Option<Box<PendingClaim>>,
    /// The evidence for or against the claim.
    pub verified: VerificationState,
    /// In how many iterations each failure of the last verdict was seen.
    pub occurrences: BTreeMap<String, u32>,
    /// Answers in a row that asked for a repeat of the step.
    pub repeats: u32,
}

/// An answer that is no readable verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadableVerdict {
    /// The event of the verdict.
    pub seq: Seq,
    /// The iteration.
    pub iteration: Iteration,
    /// The problem with the answer.
    pub problem: String,
}

/// The evidence about the work of an iteration, in addition to a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationState {
    /// The structured answer of the worker, if the step asks for one.
    pub answer: Option<Box<ParsedAnswer>>,
    /// The results of the validators.
    pub validators: Arc<[ValidatorResult]>,
    /// The workspace that they checked.
    pub workspace: Option<Arc<Snapshot>>,
    /// The digest of all its files, with ignored ones.
    pub stamp: Option<Digest>,
    /// The answer of the closer.
    pub closer: Option<Box<ParsedAnswer>>,
    /// The closer has changed the workspace after the validators.
    pub is_outdated: bool,
    /// How often the validators have changed the workspace in this iteration.
    pub unsettled: u32,
}

/// The limit for the problem of an unreadable answer, in bytes.
const UNREAD_BYTES: usize = 300;

impl VerdictState {
    /// The limit for unreadable answers.
    pub const UNREAD_MAX: usize = 100;

    /// Records the answer of a worker.
    pub fn record_answer(&mut self, answer: Option<Box<ParsedAnswer>>, wants_repeat: bool) {
        self.repeats = if wants_repeat { self.repeats.saturating_add(1) } else { 0 };
        self.verified.answer = answer;
        self.verified.closer = None;
        self.verified.unsettled = 0;
    }

    /// Records the results of the validators or of the closer. `changed` says whether the check changed the workspace.
    pub fn record_check(&mut self, event: &CheckFinished, workspace: Option<Arc<Snapshot>>, changed: bool) {
        let verified = &mut self.verified;
        match self.inquiry {
            Inquiry::Check | Inquiry::Preflight => {}
            Inquiry::Conditions => {
                verified.validators = event.validators.clone().into();
                verified.workspace = workspace;
                verified.stamp = event.stamp;
                verified.is_outdated = false;
                verified.unsettled = verified.unsettled.saturating_add(u32::from(changed));
            }
            Inquiry::Closer => {
                verified.closer.clone_from(&event.answer);
                let then = verified.workspace.as_deref();
                let same = workspace.as_deref().zip(then).is_none_or(|(now, then)| now.same_work(then));
                verified.is_outdated = !same || event.stamp != verified.stamp;
            }
        }
    }

    /// Records the verdict of event `seq`. `is_counted` says whether failures are counted.
    pub fn record_verdict(&mut self, event: &VerdictReached, seq: Seq, is_counted: bool) {
        self.parse_failures = event.parse_failures;
        if event.parse_failures == 0 {
            self.unread.clear();
        } else {
            let problem = event
                .problems
                .last()
                .map_or("nothing was said", |problem| truncate::head(problem, UNREAD_BYTES));
            self.unread.push(UnreadableVerdict {
                seq,
                iteration: event.iteration,
                problem: problem.to_owned(),
            });
            self.unread.drain(..self.unread.len().saturating_sub(Self::UNREAD_MAX));
        }
        if is_counted {
            self.count(&event.fingerprints, event.source);
        }
    }

    /// Counts the failures that were seen before. A smaller set is progress and counts nothing; a failure that was gone
    /// begins again. After an answer with an invalid format, earlier failures of conditions still count.
    pub fn count(&mut self, fingerprints: &[String], source: DecisionSource) {
        let of_answers = source == DecisionSource::Answer;
        let (compared, kept): (BTreeMap<String, u32>, BTreeMap<String, u32>) =
            std::mem::take(&mut self.occurrences)
                .into_iter()
                .partition(|(fingerprint, _)| is_of_answer(fingerprint) == of_answers);
        let now: BTreeSet<&String> = fingerprints.iter().collect();
        let shrank = now.len() < compared.len();
        // A contradicted claim counts again only with a failure that was seen before: three different failures are
        // progress.
        let is_back = |failure: &String| !is_contradiction(failure) && compared.contains_key(failure);
        let claim_is_back = now.iter().any(|failure| is_back(failure));
        let count = |failure: &String| match compared.get(failure) {
            Some(count) if claim_is_back || !is_contradiction(failure) => {
                count.saturating_add(u32::from(!shrank))
            }
            _ => 1,
        };
        let counted = now.into_iter().map(|failure| (failure.clone(), count(failure)));
        self.occurrences = counted.chain(kept.into_iter().filter(|_| of_answers)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DecisionSource::Validators;

    #[test]
    fn a_failure_that_went_away_begins_again() {
        let mut verdicts = VerdictState::default();
        for _ in 0..3 {
            verdicts.count(&["pytest:test_a".to_owned()], Validators);
        }
        assert_eq!(verdicts.occurrences["pytest:test_a"], 3);
        verdicts.count(&[], Validators);
        assert!(verdicts.occurrences.is_empty(), "a failure that went away begins again");
    }
}
