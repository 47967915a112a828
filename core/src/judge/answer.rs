//! Condition 5: the answer has the form that the step asks for, and declares completion.

use super::completion_claim::Claim;
use super::declared_status::DeclaredStatus;
use super::reason::Reason;
use crate::completion::{AnswerFormat, AnswerSchema};
use crate::event::DecisionSource;
use crate::evidence::{self, Decision, ParsedAnswer};
use crate::workflow::Step;

/// Returns the claim of an answer with a required form; `last` is the additional form of an answer that declares
/// completion.
pub(crate) fn declaration_claim(step: &Step, format: &AnswerFormat, answer: Option<&ParsedAnswer>) -> Claim {
    let mut claim = Claim::new(Decision::Incomplete, DecisionSource::Answer);
    let Some(value) = answer.and_then(ParsedAnswer::to_value) else {
        let departures = evidence::format_violations(answer, "the answer");
        claim.reasons = departures.into_iter().map(Reason::Said).collect();
        claim.fingerprints = answer.map(ParsedAnswer::fingerprints).unwrap_or_default();
        return claim;
    };
    let last = step.completion.as_ref().and_then(|rules| rules.final_answer.as_ref());
    let formats = || [Some(format), last].into_iter().flatten();
    // Without a field that declares completion the form is enough, whatever its fields are called.
    if !formats().any(|format| format.declares) {
        return Claim { decision: Decision::Complete, ..claim };
    }
    let has_schema = |own: &AnswerFormat| matches!(own.form, AnswerSchema::Json { schema: Some(_), .. });
    match DeclaredStatus::from_answer(&value) {
        DeclaredStatus::Complete => claim.decision = Decision::Complete,
        DeclaredStatus::None if !formats().any(|format| format.declares && has_schema(format)) => {
            claim.decision = Decision::Complete;
        }
        DeclaredStatus::NotComplete => claim.set_reason(Reason::DeclaredIncomplete),
        DeclaredStatus::None => claim.set_reason(Reason::NotDeclared),
        DeclaredStatus::Contradiction(why) => claim.set_reason(Reason::Contradiction(why)),
        DeclaredStatus::Unknown(why) => claim.set_reason(Reason::UnknownWord(why)),
    }
    claim
}
