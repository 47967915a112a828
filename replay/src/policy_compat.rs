//! Which parts of a workflow only decide, and which say what is observed.
//!
//! A recorded observation holds under another policy only if that asks the world for the same: who is run, where, how often
//! and for how long. Whatever is not known to decide only counts as a part of that.

use unstuck_core::completion::OnValidatorFailure;
use unstuck_core::id::{Millis, StepId};
use unstuck_core::workflow::{
    Baseline, Budget, Check, CheckMethod, ConvergencePolicy, Gate, OnFailure, OnIterationsExhausted,
    OutagePolicy, Step, StepKind, WorkerKind, Workflow,
};

use crate::policy_override::{OverrideError, PolicyOverride};

/// Returns the workflow with these changes.
///
/// # Errors
///
/// A change cannot be made, or what would have been observed with it was not recorded.
pub fn with_changes(workflow: &Workflow, changes: &[PolicyOverride]) -> Result<Workflow, OverrideError> {
    let mut now = workflow.clone();
    for change in changes {
        let next = change.apply(&now)?;
        if let Some(why) = missing_record(&next, &now) {
            return Err(why);
        }
        if observed_part(next.clone()) != observed_part(now) {
            return Err(OverrideError::OtherObservations(change.key().to_owned()));
        }
        now = next;
    }
    Ok(now)
}

/// Says which part of a step's record a policy would need that another one did not ask for.
fn missing_record(now: &Workflow, was: &Workflow) -> Option<OverrideError> {
    let first = |differs: &dyn Fn(&Step, &Step) -> bool, why: fn(StepId) -> OverrideError| {
        let step = now.steps.iter().zip(&was.steps).find(|(now, was)| differs(now, was));
        step.map(|(now, _)| why(now.id.clone()))
    };
    let has_baseline = |step: &Step| step.check.as_ref().is_some_and(Check::has_baseline);
    let has_other_base =
        |now: &Step, was: &Step| base(now).is_some_and(|now| now != base(was).unwrap_or_default());
    let has_max_lines = |policy: &ConvergencePolicy| policy.max_changed_lines.is_some();
    let counts = |step: &Step| step.convergence.as_ref().is_some_and(has_max_lines);
    let ignored =
        |step: &Step| step.convergence.clone().map(|policy| policy.ignored_paths).unwrap_or_default();
    first(&|now, was| counts(now) && !counts(was), OverrideError::LinesNotCounted)
        .or_else(|| first(&|now, was| counts(now) && ignored(now) != ignored(was), OverrideError::OtherLines))
        .or_else(|| first(&has_other_base, OverrideError::OtherBase))
        .or_else(|| first(&|now, was| has_baseline(now) && !has_baseline(was), OverrideError::NoBaseline))
}

/// Returns what the changes of a step are compared with, if it has rules about them: a commit of this name, or of the name in
/// this file; else the workspace when the step began.
fn base(step: &Step) -> Option<(Option<&String>, Option<&String>)> {
    let policy = step.convergence.as_ref().filter(|policy| ConvergencePolicy::has_rules(policy))?;
    Some((policy.diff_base_ref.as_ref(), policy.diff_base_ref_file.as_ref()))
}

/// Returns the workflow without what only decides.
fn observed_part(mut workflow: Workflow) -> Workflow {
    workflow.name.clear();
    workflow.description = None;
    workflow.on_outage = OutagePolicy::default();
    workflow.outage_budget = Millis(0);
    workflow.budget = Budget::default();
    workflow.prices = None;
    workflow.notify = None;
    workflow.steps.iter_mut().for_each(keep_observed_part);
    workflow
}

fn keep_observed_part(step: &mut Step) {
    step.description = None;
    (step.max_retries, step.max_iterations) = (0, 0);
    (step.on_failure, step.on_exhausted) = (OnFailure::default(), OnIterationsExhausted::default());
    step.require_change = false;
    // Prompts are compared separately. The instructions of a custom worker are its script, so they stay.
    step.prompt_template = None;
    if let StepKind::Worker(worker) = &mut step.work
        && worker.kind != WorkerKind::Custom
    {
        worker.instructions.clear();
    }
    // The check does not see files that were reverted after the work.
    let puts_back = step.convergence.as_ref().is_some_and(|policy| policy.revert_out_of_scope);
    step.convergence =
        puts_back.then(|| ConvergencePolicy { revert_out_of_scope: true, ..ConvergencePolicy::default() });
    if let Some(check) = &mut step.check {
        check.max_parse_failures = 0;
        check.baseline = Baseline::Off;
        if let CheckMethod::Commands(commands) = &mut check.by {
            commands.iter_mut().for_each(|command| command.gate = Gate::Pass);
        }
    }
    if let Some(completion) = &mut step.completion {
        completion.stop_at_first = false;
        completion.on_failure = OnValidatorFailure::default();
        completion.max_attempts = 0;
        completion.conditions.iter_mut().for_each(|condition| condition.validator.recoverable = true);
    }
}
