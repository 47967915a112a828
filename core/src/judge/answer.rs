//! Condition 5: the answer has the form that the step asks for, and declares completion.

use super::claim::Claim;
use super::declaration::Declaration;
use super::reason::Reason;
use crate::completion::{AnswerFormat, Form};
use crate::event::DecisionSource;
use crate::evidence::{self, AnswerSeen, Decision};
use crate::workflow::Step;

/// Returns the claim of an answer with a required form; `last` is the additional form of an answer that declares
/// completion.
pub(crate) fn declared(step: &Step, format: &AnswerFormat, answer: Option<&AnswerSeen>) -> Claim {
    let mut claim = Claim::new(Decision::Incomplete, DecisionSource::Answer);
    let Some(value) = answer.and_then(AnswerSeen::parsed) else {
        let departures = evidence::departures(answer, "the answer");
        claim.reasons = departures.into_iter().map(Reason::Said).collect();
        claim.fingerprints = answer.map(AnswerSeen::fingerprints).unwrap_or_default();
        return claim;
    };
    let last = step.completion.as_ref().and_then(|it| it.final_answer.as_ref());
    let formats = || [Some(format), last].into_iter().flatten();
    // Without a field that declares completion the form is enough, whatever its fields are called.
    if !formats().any(|it| it.declares) {
        return Claim { decision: Decision::Complete, ..claim };
    }
    let has_schema = |it: &AnswerFormat| matches!(it.form, Form::Json { schema: Some(_), .. });
    match Declaration::of(&value) {
        Declaration::Complete => claim.decision = Decision::Complete,
        Declaration::None if !formats().any(|it| it.declares && has_schema(it)) => {
            claim.decision = Decision::Complete;
        }
        Declaration::NotComplete => claim.because(Reason::DeclaredIncomplete),
        Declaration::None => claim.because(Reason::NotDeclared),
        Declaration::Contradiction(why) => claim.because(Reason::Contradiction(why)),
        Declaration::Unknown(why) => claim.because(Reason::UnknownWord(why)),
    }
    claim
}
