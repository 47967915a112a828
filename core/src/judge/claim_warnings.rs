//! Warnings about a valid completion: nothing changed, or the checked files were changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::completion_claim::Claim;
use super::reason::VerdictWarning;
use super::scope;
use crate::evidence::{CommandResult, Decision, Failure};
use crate::plural::first;
use crate::shell_command;
use crate::state::{StepState, WorkspaceChange};
use crate::workflow::{Capability, CheckMethod, Step, StepKind, Worker};

/// Maximum files that a sentence names.
pub(super) const NAMED_MAX: usize = 10;

/// Adds the warnings to a verdict.
pub(super) fn add(claim: &mut Claim, step: &Step, at: &StepState) {
    // A recorded claim may have some of them already.
    let is_new = |claim: &Claim, problem: &VerdictWarning| {
        let sentence = problem.to_string();
        claim.problems.iter().all(|problem| problem.to_string() != sentence)
    };
    if claim.decision == Decision::Complete {
        claim.problems.extend(unchanged_warning(at).filter(|warning| is_new(claim, warning)));
        if is_unchanged(at) && rests_on_conditions(step) {
            claim.problems.push(VerdictWarning::HeldBefore);
        }
        if let Some(warning) = changed_expectations(at) {
            claim.problems.insert(0, warning);
        }
        claim.problems.extend(modified_scripts(at));
        let edited = edited_tests(at);
        if !edited.is_empty() {
            claim.problems.push(VerdictWarning::TestsEdited(first(&edited, NAMED_MAX, 0)));
        }
    }
    claim.problems.extend(changed_by_checks(at).filter(|warning| is_new(claim, warning)));
}

/// Returns whether neither a worker nor a check changed anything.
fn is_unchanged(at: &StepState) -> bool {
    at.workspace.changed == WorkspaceChange::No && at.workspace.checks_changed.is_empty()
}

/// Returns a warning about repository files that checks changed.
fn changed_by_checks(at: &StepState) -> Option<VerdictWarning> {
    let files = &at.workspace.checks_changed;
    (!files.is_empty()).then(|| VerdictWarning::ChangedByCheck(first(files, NAMED_MAX, 0)))
}

/// Returns a warning about a completion without any change since the baseline.
fn unchanged_warning(at: &StepState) -> Option<VerdictWarning> {
    let passes = |results: &Arc<[CommandResult]>| results.iter().all(CommandResult::passed);
    let before = passes(at.evidence.baseline.as_ref().filter(|_| is_unchanged(at))?);
    match (before, at.evidence.results[0].as_ref().is_some_and(passes)) {
        (true, true) => Some(VerdictWarning::Unchanged),
        (false, false) => Some(VerdictWarning::StillFailing),
        (false, true) => Some(VerdictWarning::MendedElsewhere),
        (true, false) => None,
    }
}

/// Returns warnings about check commands that depend on changed files: changes to these alter the check.
fn modified_scripts(at: &StepState) -> Vec<VerdictWarning> {
    let changed = scope::without_check_files(&at.workspace.drift.files, &at.workspace.by_checks);
    let results = at.evidence.results[0].iter().flat_map(|results| results.iter());
    let said = results.filter_map(|result| {
        let files = shell_command::files_behind(&result.run, &changed);
        let run = result.run.clone();
        (!files.is_empty()).then(|| VerdictWarning::CheckRewritten { run, files: first(files, NAMED_MAX, 0) })
    });
    said.collect()
}

/// Returns the changed files that have the name of a tool of the check, as the tool itself or its settings.
pub(super) fn changed_tools(at: &StepState) -> Vec<String> {
    let changed = scope::without_check_files(&at.workspace.drift.files, &at.workspace.by_checks);
    let results = at.evidence.results[0].iter().flat_map(|results| results.iter());
    let files: BTreeSet<String> =
        results.flat_map(|result| shell_command::named_after_tools(&result.run, &changed)).collect();
    files.into_iter().collect()
}

/// Returns a warning about changed files that hold what a test compares with.
fn changed_expectations(at: &StepState) -> Option<VerdictWarning> {
    let changed = scope::without_check_files(&at.workspace.drift.files, &at.workspace.by_checks);
    let expected = scope::expected_results();
    let files: Vec<String> = changed.into_iter().filter(|file| expected.match_any(file)).collect();
    (!files.is_empty()).then(|| VerdictWarning::ExpectedResults(first(&files, NAMED_MAX, 0)))
}

/// Returns the files of the tests that failed before the work began, as far as the output of the check names them. Rust keeps
/// unit tests in the files of the code, which has to change.
pub(crate) fn failing_test_files(at: &StepState) -> BTreeSet<&str> {
    let results = at.evidence.baseline.iter().flat_map(|results| results.iter());
    let has_code = |file: &&str| file.ends_with(".rs") && file.split('/').any(|folder| folder == "src");
    let files = results.flat_map(|result| &result.failures).filter_map(Failure::test_file);
    files.filter(|file| !has_code(file)).collect()
}

/// Returns the changed files with tests that failed before the work began: the change may have altered the test instead of
/// the code.
pub(super) fn edited_tests(at: &StepState) -> Vec<String> {
    let stand_in = failing_test_files(at);
    if stand_in.is_empty() {
        return Vec::new();
    }
    let changed = scope::without_check_files(&at.workspace.drift.files, &at.workspace.by_checks);
    // A command may have run in another directory.
    let is_in = |file: &str| {
        let is_end =
            |end: &str| file.strip_suffix(end).is_some_and(|head| head.is_empty() || head.ends_with('/'));
        stand_in.iter().any(|end| is_end(end))
    };
    changed.into_iter().filter(|file| is_in(file)).collect()
}

/// Returns whether a worker that edits files is judged by conditions alone.
fn rests_on_conditions(step: &Step) -> bool {
    let by_conditions = step.check.as_ref().is_some_and(|check| check.by == CheckMethod::Conditions);
    let edits = |worker: &Worker| worker.capabilities.contains(&Capability::Edit);
    by_conditions && matches!(&step.work, StepKind::Worker(worker) if edits(worker))
}
