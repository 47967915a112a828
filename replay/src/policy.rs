//! Which parts of a workflow only decide, and which say what is observed.
//!
//! A recorded observation holds under another policy only if that asks the world for the same: who is run, where, how often
//! and for how long. Whatever is not known to decide only counts as a part of that.

use unstuck_core::completion::OnFailed;
use unstuck_core::id::Millis;
use unstuck_core::workflow::{
    Baseline, Budget, Check, CheckBy, Convergence, Gate, OnExhausted, OnFailure, OutagePolicy, Step, Work,
    WorkerKind, Workflow,
};

use crate::change::{Change, ChangeError};

/// Returns the workflow with these changes.
///
/// # Errors
///
/// A change cannot be made, or what would have been observed with it was not recorded.
pub fn with_changes(workflow: &Workflow, changes: &[Change]) -> Result<Workflow, ChangeError> {
    let mut now = workflow.clone();
    for change in changes {
        let next = change.apply(&now)?;
        if let Some(why) = unknown(&next, &now) {
            return Err(why);
        }
        if observed(next.clone()) != observed(now) {
            return Err(ChangeError::OtherObservations(change.key().to_owned()));
        }
        now = next;
    }
    Ok(now)
}

/// Says which part of a step's record a policy would need that another one did not ask for.
fn unknown(now: &Workflow, was: &Workflow) -> Option<ChangeError> {
    let pairs = || now.steps.iter().zip(&was.steps);
    let of = |found: Option<(&Step, &Step)>, why: fn(_) -> ChangeError| Some(why(found?.0.id.clone()));
    let counts = |step: &Step| step.convergence.as_ref().is_some_and(|it| it.max_changed_lines.is_some());
    let has_other_base =
        |now: &Step, was: &Step| base(now).is_some_and(|now| now != base(was).unwrap_or_default());
    let has_baseline = |step: &Step| step.check.as_ref().is_some_and(Check::has_baseline);
    let ignored =
        |step: &Step| step.convergence.as_ref().map(|it| it.ignored_paths.clone()).unwrap_or_default();
    let counts_others = |now: &Step, was: &Step| counts(now) && ignored(now) != ignored(was);
    of(pairs().find(|(now, was)| counts(now) && !counts(was)), ChangeError::LinesNotCounted)
        .or_else(|| of(pairs().find(|(now, was)| counts_others(now, was)), ChangeError::OtherLines))
        .or_else(|| of(pairs().find(|(now, was)| has_other_base(now, was)), ChangeError::OtherBase))
        .or_else(|| {
            of(pairs().find(|(now, was)| has_baseline(now) && !has_baseline(was)), ChangeError::NoBaseline)
        })
}

/// Returns what the changes of a step are compared with, if it has rules about them: a commit of this name, or of the name in
/// this file; else the workspace when the step began.
fn base(step: &Step) -> Option<(Option<&String>, Option<&String>)> {
    let policy = step.convergence.as_ref().filter(|policy| Convergence::has_rules(policy))?;
    Some((policy.diff_base_ref.as_ref(), policy.diff_base_ref_file.as_ref()))
}

/// Returns the workflow without what only decides.
fn observed(mut workflow: Workflow) -> Workflow {
    workflow.name.clear();
    workflow.description = None;
    workflow.on_outage = OutagePolicy::default();
    workflow.outage_budget = Millis(0);
    workflow.budget = Budget::default();
    workflow.prices = None;
    workflow.notify = None;
    workflow.steps.iter_mut().for_each(observed_step);
    workflow
}

fn observed_step(step: &mut Step) {
    step.description = None;
    (step.max_retries, step.max_iterations) = (0, 0);
    (step.on_failure, step.on_exhausted) = (OnFailure::default(), OnExhausted::default());
    step.require_change = false;
    // Prompts are compared separately. The instructions of a custom worker are its script, so they stay.
    step.prompt_template = None;
    if let Work::Worker(worker) = &mut step.work
        && worker.kind != WorkerKind::Custom
    {
        worker.instructions.clear();
    }
    // The check does not see files that were reverted after the work.
    let puts_back = step.convergence.as_ref().is_some_and(|it| it.revert_out_of_scope);
    step.convergence = puts_back.then(|| Convergence { revert_out_of_scope: true, ..Convergence::default() });
    if let Some(check) = &mut step.check {
        check.max_parse_failures = 0;
        check.baseline = Baseline::Off;
        if let CheckBy::Commands(commands) = &mut check.by {
            commands.iter_mut().for_each(|command| command.gate = Gate::Pass);
        }
    }
    if let Some(completion) = &mut step.completion {
        completion.stop_at_first = false;
        completion.on_failure = OnFailed::default();
        completion.max_attempts = 0;
        completion.conditions.iter_mut().for_each(|it| it.validator.recoverable = true);
    }
}
