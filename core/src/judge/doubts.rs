//! What is odd about a completion, although it stands: nothing changed, or what is checked was changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::scope;
use crate::event::VerdictReached;
use crate::evidence::{CommandResult, Decision, Failure};
use crate::plural::first;
use crate::shell_command;
use crate::state::{Changed, StepState};
use crate::workflow::{Capability, CheckBy, Step, Work, Worker};

/// How many files a sentence names.
const NAMED_MAX: usize = 10;

/// What is said of a completion that shows nothing.
const HELD_BEFORE: &str = "unchanged: nothing in the workspace was changed, so what was asked of it held before the work began, too";
const STILL_FAILING: &str = "unchanged: nothing was changed, so what failed before the work began fails still; a gate that asks for no new \
                             failures lets that through";
const MENDED_ELSEWHERE: &str = "unchanged: what failed before the work began passes now, and nothing in the workspace was changed, so no diff \
                                shows what mended it";
const UNCHANGED: &str = "unchanged: the checks passed before the work began, and nothing was changed";

/// Adds to a verdict what is odd about it.
pub(super) fn add(verdict: &mut VerdictReached, step: &Step, at: &StepState) {
    let is_complete = verdict.decision == Decision::Complete;
    let doubt = unchanged(at).filter(|_| is_complete).map(str::to_owned);
    verdict.problems.extend(doubt.filter(|doubt| !verdict.problems.contains(doubt)));
    if is_complete && is_unchanged(at) && rests_on_conditions(step) {
        verdict.problems.push(HELD_BEFORE.to_owned());
    }
    if is_complete {
        verdict.problems.extend(rewritten(at));
        verdict.problems.extend(edited_tests(at));
    }
    let by_checks = changed_by_checks(at).filter(|said| !verdict.problems.contains(said));
    verdict.problems.extend(by_checks);
}

/// Says whether nobody has changed anything: neither a worker nor a check.
fn is_unchanged(at: &StepState) -> bool {
    at.changed == Changed::No && at.checks_changed.is_empty()
}

/// Says what checks have changed themselves of what the repository has.
fn changed_by_checks(at: &StepState) -> Option<String> {
    let files = &at.checks_changed;
    let named = || first(files, NAMED_MAX, 0);
    (!files.is_empty()).then(|| format!("check_changes_files: the check itself changed {}", named()))
}

/// Says what a completion shows where nobody has changed anything since the baseline.
fn unchanged(at: &StepState) -> Option<&'static str> {
    let passes = |results: &Arc<[CommandResult]>| results.iter().all(CommandResult::passed);
    let before = passes(at.baseline.as_ref().filter(|_| is_unchanged(at))?);
    match (before, at.results[0].as_ref().is_some_and(passes)) {
        (true, true) => Some(UNCHANGED),
        (false, false) => Some(STILL_FAILING),
        (false, true) => Some(MENDED_ELSEWHERE),
        (true, false) => None,
    }
}

/// Says which commands of the check go by files that differ from before the work: who changes these decides what is checked.
fn rewritten(at: &StepState) -> Vec<String> {
    let changed = scope::by_worker(&at.drift.files, &at.by_checks);
    let results = at.results[0].iter().flat_map(|results| results.iter());
    let said = results.filter_map(|result| {
        let files = shell_command::files_behind(&result.run, &changed);
        let run = &result.run;
        (!files.is_empty()).then(|| {
            let files = first(files, NAMED_MAX, 0);
            format!(
                "check_rewritten: `{run}` goes by {files}, which was changed: see that it still checks the same"
            )
        })
    });
    said.collect()
}

/// Says in which files the work changed tests that failed before it: who does that may have changed what is asked instead of
/// what was wrong.
fn edited_tests(at: &StepState) -> Option<String> {
    let changed = scope::by_worker(&at.drift.files, &at.by_checks);
    let failures = at.baseline.iter().flat_map(|results| results.iter()).flat_map(|result| &result.failures);
    let stand_in: BTreeSet<&str> = failures.filter_map(Failure::test_file).collect();
    // A command may have run in a folder of its own.
    let is_in = |file: &str| {
        let is_end =
            |end: &str| file.strip_suffix(end).is_some_and(|head| head.is_empty() || head.ends_with('/'));
        stand_in.iter().any(|end| is_end(end))
    };
    let files: Vec<String> = changed.into_iter().filter(|file| is_in(file)).collect();
    (!files.is_empty()).then(|| {
        let files = first(&files, NAMED_MAX, 0);
        format!("tests_edited: what failed before the work began is tested in {files}, and the work changed that: see that the same is tested")
    })
}

/// Says whether conditions alone judge somebody who is to change something.
fn rests_on_conditions(step: &Step) -> bool {
    let by_conditions = step.check.as_ref().is_some_and(|check| check.by == CheckBy::Conditions);
    let edits = |worker: &Worker| worker.capabilities.contains(&Capability::Edit);
    by_conditions && matches!(&step.work, Work::Worker(worker) if edits(worker))
}
