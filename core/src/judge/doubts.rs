//! What is odd about a completion, although it stands: nothing changed, or what is checked was changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::claim::Claim;
use super::reason::Problem;
use super::scope;
use crate::evidence::{CommandResult, Decision, Failure};
use crate::plural::first;
use crate::shell_command;
use crate::state::{Changed, StepState};
use crate::workflow::{Capability, CheckBy, Step, Work, Worker};

/// How many files a sentence names.
const NAMED_MAX: usize = 10;

/// Adds to a verdict what is odd about it.
pub(super) fn add(claim: &mut Claim, step: &Step, at: &StepState) {
    // A claim that was recorded may have some of them already.
    let is_new = |claim: &Claim, problem: &Problem| {
        let sentence = problem.to_string();
        claim.problems.iter().all(|it| it.to_string() != sentence)
    };
    if claim.decision == Decision::Complete {
        claim.problems.extend(unchanged(at).filter(|it| is_new(claim, it)));
        if is_unchanged(at) && rests_on_conditions(step) {
            claim.problems.push(Problem::HeldBefore);
        }
        claim.problems.extend(rewritten(at));
        claim.problems.extend(edited_tests(at));
    }
    claim.problems.extend(changed_by_checks(at).filter(|it| is_new(claim, it)));
}

/// Says whether nobody has changed anything: neither a worker nor a check.
fn is_unchanged(at: &StepState) -> bool {
    at.workspace.changed == Changed::No && at.workspace.checks_changed.is_empty()
}

/// Says what checks have changed themselves of what the repository has.
fn changed_by_checks(at: &StepState) -> Option<Problem> {
    let files = &at.workspace.checks_changed;
    (!files.is_empty()).then(|| Problem::ChangedByCheck(first(files, NAMED_MAX, 0)))
}

/// Says what a completion shows where nobody has changed anything since the baseline.
fn unchanged(at: &StepState) -> Option<Problem> {
    let passes = |results: &Arc<[CommandResult]>| results.iter().all(CommandResult::passed);
    let before = passes(at.evidence.baseline.as_ref().filter(|_| is_unchanged(at))?);
    match (before, at.evidence.results[0].as_ref().is_some_and(passes)) {
        (true, true) => Some(Problem::Unchanged),
        (false, false) => Some(Problem::StillFailing),
        (false, true) => Some(Problem::MendedElsewhere),
        (true, false) => None,
    }
}

/// Says which commands of the check go by files that differ from before the work: who changes these decides what is checked.
fn rewritten(at: &StepState) -> Vec<Problem> {
    let changed = scope::by_worker(&at.workspace.drift.files, &at.workspace.by_checks);
    let results = at.evidence.results[0].iter().flat_map(|results| results.iter());
    let said = results.filter_map(|result| {
        let files = shell_command::files_behind(&result.run, &changed);
        let run = result.run.clone();
        (!files.is_empty()).then(|| Problem::CheckRewritten { run, files: first(files, NAMED_MAX, 0) })
    });
    said.collect()
}

/// Says in which files the work changed tests that failed before it: who does that may have changed what is asked instead of
/// what was wrong.
fn edited_tests(at: &StepState) -> Option<Problem> {
    let changed = scope::by_worker(&at.workspace.drift.files, &at.workspace.by_checks);
    let failures =
        at.evidence.baseline.iter().flat_map(|results| results.iter()).flat_map(|result| &result.failures);
    let stand_in: BTreeSet<&str> = failures.filter_map(Failure::test_file).collect();
    // A command may have run in a folder of its own.
    let is_in = |file: &str| {
        let is_end =
            |end: &str| file.strip_suffix(end).is_some_and(|head| head.is_empty() || head.ends_with('/'));
        stand_in.iter().any(|end| is_end(end))
    };
    let files: Vec<String> = changed.into_iter().filter(|file| is_in(file)).collect();
    (!files.is_empty()).then(|| Problem::TestsEdited(first(&files, NAMED_MAX, 0)))
}

/// Says whether conditions alone judge somebody who is to change something.
fn rests_on_conditions(step: &Step) -> bool {
    let by_conditions = step.check.as_ref().is_some_and(|check| check.by == CheckBy::Conditions);
    let edits = |worker: &Worker| worker.capabilities.contains(&Capability::Edit);
    by_conditions && matches!(&step.work, Work::Worker(worker) if edits(worker))
}
