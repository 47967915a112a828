//! Is the step complete?
//!
//! All that the step configures must hold after the last change of the workspace. The conditions, in their order:
//!
//! 1. The worker, the judge or the command says so: `completion_claim`, which reads exit statuses, decision files and
//!    answers with [`verdict`].
//! 2. Every validator passes: `conditions`.
//! 3. No failure is new since the baseline, and no test of the baseline is gone: [`gate`], [`missing_tests`].
//! 4. Nothing changed outside the scope: [`scope`].
//! 5. The answer has the form that the step asks for: `answer`, [`declared_status`]. The closer agrees: [`reviewer`].
//!
//! The first condition that does not hold gives the reason. Commands, validators and the closer run one after the
//! other. Each of them ends in a `Claim`, and `judge` compares it with everything that is known already.
//! `claim_warnings` are about a valid completion. [`reason`] has the texts. For the consequences of a verdict, see
//! [`decide`](crate::decide).

pub(crate) mod answer;
mod claim_warnings;
pub(crate) mod completion_claim;
pub mod conditions;
pub mod declared_status;
pub mod gate;
pub mod missing_tests;
pub mod reason;
pub mod reviewer;
pub mod scope;
pub mod verdict;

pub(crate) use self::claim_warnings::failing_test_files;
use self::completion_claim::Claim;
use self::reason::{Reason, VerdictWarning};
use crate::event::{Inquiry, Purpose, VerdictReached};
use crate::evidence::Decision;
use crate::id::Seq;
use crate::judge::scope::PathPatterns;
use crate::plural::first;
use crate::state::{StepState, WorkspaceChange};
use crate::workflow::{CheckMethod, Step};

/// Judges a claim about a step. `at` is the state of the step, and `evidence` the events that the claim is based on.
pub(crate) fn judge(step: &Step, at: &StepState, claim: Claim, evidence: Vec<Seq>) -> VerdictReached {
    let mut claim = with_answer(step, at, claim);
    require_change(&mut claim, step, at);
    require_same_check(&mut claim, step, at);
    claim_warnings::add(&mut claim, step, at);
    require_claimed_work(&mut claim, step, at);
    name_cut_off_call(&mut claim, step, at);
    require_scope(&mut claim, step, at);
    VerdictReached {
        step: step.id.clone(),
        iteration: at.iteration(),
        check_id: claim.check_id,
        check_id_match: claim.check_id_match,
        decision: claim.decision,
        claimed: claim.claimed,
        source: claim.source,
        reasons: claim.reasons.iter().map(ToString::to_string).collect(),
        fingerprints: claim.fingerprints,
        problems: claim.problems.iter().map(ToString::to_string).collect(),
        parse_failures: match claim.decision {
            Decision::None => at.verdicts.parse_failures.saturating_add(1),
            _ => 0,
        },
        evidence,
    }
}

/// Condition 5, for a completion from another source: the answer of the worker must agree.
fn with_answer(step: &Step, at: &StepState, claim: Claim) -> Claim {
    let by_conditions = step.check.as_ref().is_some_and(|check| check.by == CheckMethod::Conditions);
    let is_asked =
        at.verdicts.inquiry == Inquiry::Check && !by_conditions && claim.decision == Decision::Complete;
    let completion = step.completion.as_ref().filter(|_| is_asked);
    let asked = completion.and_then(|completion| completion.answer_of(at.iteration()));
    let said =
        asked.map(|format| answer::declaration_claim(step, format, at.verdicts.verified.answer.as_deref()));
    match said.filter(|said| said.decision != Decision::Complete) {
        Some(said) => Claim { check_id: claim.check_id, claimed: Some(Decision::Complete), ..said },
        None => claim,
    }
}

/// A step that requires a change is not complete without one.
fn require_change(claim: &mut Claim, step: &Step, at: &StepState) {
    let is_unchanged = at.workspace.changed == WorkspaceChange::No;
    if claim.decision == Decision::Complete && step.require_change && is_unchanged {
        claim.overrule(Reason::NoChange);
    }
}

/// Condition 3, for what decides the check: a completion stands if the files of failing tests, and the tools of the check, are
/// as they were, or may change.
fn require_same_check(claim: &mut Claim, step: &Step, at: &StepState) {
    let may_change = step.check.as_ref().is_none_or(|check| check.allow_test_edits);
    if claim.decision != Decision::Complete || may_change {
        return;
    }
    let named = NamedPaths::new(step);
    let mut tests = claim_warnings::edited_tests(at);
    tests.retain(|file| !named.has(file));
    let mut tools = claim_warnings::changed_tools(at);
    tools.retain(|file| !named.has(file));
    if !tests.is_empty() {
        claim.overrule(Reason::TestsEdited(first(&tests, claim_warnings::NAMED_MAX, 0)));
    } else if !tools.is_empty() {
        claim.overrule(Reason::ToolChanged(first(&tools, claim_warnings::NAMED_MAX, 0)));
    }
}

/// The paths that may change because the user named them: with an allowed pattern, or in the goal.
pub(crate) struct NamedPaths<'a> {
    allowed: Option<PathPatterns>,
    goal: &'a str,
}

impl<'a> NamedPaths<'a> {
    pub(crate) fn new(step: &'a Step) -> Self {
        let goal = step.worker(Purpose::Work).map_or("", |worker| &worker.instructions);
        Self { allowed: step.convergence.as_ref().map(scope::named_as_allowed), goal }
    }

    /// Returns whether a file is named. In the goal only a name with a dot counts: `pytest` is also a word.
    pub(crate) fn has(&self, file: &str) -> bool {
        let is_file = |word: &str| {
            let word = word.trim_end_matches('.');
            word.contains('.')
                && (file == word || file.strip_suffix(word).is_some_and(|head| head.ends_with('/')))
        };
        let mut words = self.goal.split(|c: char| c.is_whitespace() || "`'\"(),:;!?".contains(c));
        self.allowed.as_ref().is_some_and(|allowed| allowed.match_any(file)) || words.any(is_file)
    }
}

/// Rejects a completion if part of the work was reverted: the worker claimed completion of the original work.
fn require_claimed_work(claim: &mut Claim, step: &Step, at: &StepState) {
    if claim.decision == Decision::Complete && step.claims() && !at.workspace.drift.put_back.is_empty() {
        claim.overrule(Reason::PutBack);
    }
}

/// Names the stall or cut of a worker's call, because the worker may not have finished.
fn name_cut_off_call(claim: &mut Claim, step: &Step, at: &StepState) {
    if claim.decision == Decision::Incomplete
        && let Some(stalled) = &at.calls.stalled
    {
        claim.reasons.insert(0, Reason::Said(stalled.clone()));
        claim.fingerprints.push("stall:idle".to_owned());
    }
    let Some(why) = &at.calls.broke_off else { return };
    match claim.decision {
        Decision::Incomplete => claim.reasons.insert(0, Reason::BrokeOff(why.clone())),
        Decision::None if step.claims() => claim.problems.push(VerdictWarning::BrokeOff(why.clone())),
        _ => {}
    }
}

/// Condition 4. Changes outside the scope are the first reasons.
fn require_scope(claim: &mut Claim, step: &Step, at: &StepState) {
    let is_judged = matches!(claim.decision, Decision::Complete | Decision::Incomplete);
    let Some(policy) = step.convergence.as_ref().filter(|_| is_judged) else { return };
    if let Some(violation) = scope::violation(policy, &at.workspace.drift, &at.workspace.by_checks) {
        claim.claimed = claim.claimed.or(Some(claim.decision));
        claim.decision = Decision::Incomplete;
        claim.reasons.splice(0..0, violation.reasons);
        claim.fingerprints.extend(violation.fingerprints);
    }
}
