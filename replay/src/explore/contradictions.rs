//! Settings that make other settings meaningless.

use std::collections::BTreeSet;

use serde::Serialize;
use unstuck_core::id::{Stage, StepId};
use unstuck_core::judge::scope::{self, ProtectedPaths, StepChanges};
use unstuck_core::workflow::{ConvergencePolicy, Step, Workflow};

use super::results::StepExploration;

/// A setting that has no effect, or cannot be met, because of other settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConflictingSettings {
    /// The step.
    pub step: StepId,
    /// The key, as a path from the step.
    pub key: &'static str,
    /// Description of the problem, with advice.
    pub what: String,
}

/// Finds settings of a workflow that contradict each other, or that the exploration shows to be unused.
pub fn contradictions(workflow: &Workflow, explored: &[StepExploration]) -> Vec<ConflictingSettings> {
    let of_step = |(step, explored): (&Step, &StepExploration)| {
        let own = of_check(workflow, step);
        let policy = step.convergence.as_ref();
        let rules = policy.map(|policy| of_convergence(step, policy, explored)).unwrap_or_default();
        let conflict = |(key, what)| ConflictingSettings { step: step.id.clone(), key, what };
        own.into_iter().chain(rules).map(conflict).collect::<Vec<_>>()
    };
    workflow.steps.iter().zip(explored).flat_map(of_step).collect()
}

type Conflicts = Vec<(&'static str, String)>;

fn of_check(workflow: &Workflow, step: &Step) -> Conflicts {
    let mut conflicts = Conflicts::new();
    if let Some(check) = &step.check
        && check.timeout >= workflow.timeout
    {
        conflicts.push((
            "completion_check.timeout",
            "one check may take all the time of the run; make it shorter than the timeout of the workflow"
                .to_owned(),
        ));
    }
    conflicts
}

fn of_convergence(step: &Step, policy: &ConvergencePolicy, explored: &StepExploration) -> Conflicts {
    let mut conflicts = Conflicts::new();
    let threshold = policy.stall_threshold;
    if threshold > step.max_iterations {
        conflicts.push((
            "convergence.stall_threshold",
            format!(
                "{threshold} iterations without progress cannot be seen in {}; raise max_iterations, or lower it",
                step.max_iterations
            ),
        ));
    }
    for overlay in &policy.overlays {
        if let Some(why) = unused(overlay.stage, policy, explored) {
            conflicts.push((
                "convergence.stages",
                format!("the text of stage {} is never used: {why}", overlay.stage),
            ));
        }
    }
    let protected = ProtectedPaths::from_policy(policy);
    for allowed in &policy.allowed_paths {
        if is_ignored(policy, allowed) {
            let what = format!("{allowed} is ignored as well, so nobody looks at what changes there");
            conflicts.push(("convergence.allowed_paths", what));
        } else if is_protected(&protected, allowed) {
            let what =
                format!("{allowed} is protected as well, so nothing may change there; leave one of them out");
            conflicts.push(("convergence.allowed_paths", what));
        }
    }
    let counts = [
        ("convergence.max_changed_files", policy.max_changed_files, "files"),
        ("convergence.max_changed_lines", policy.max_changed_lines, "lines"),
    ];
    if is_ignored(policy, "**") {
        for (key, _, what) in counts.into_iter().filter(|(_, most, _)| most.is_some()) {
            conflicts.push((key, format!("every path is ignored, so no {what} are counted; ignore less")));
        }
    }
    let has_paths = !policy.allowed_paths.is_empty() || !policy.protected_paths.is_empty();
    if policy.revert_out_of_scope && !has_paths {
        let what = "every path may change, so nothing is ever put back; name allowed or protected paths";
        conflicts.push(("convergence.revert_out_of_scope", what.to_owned()));
    }
    if policy.diagnose_with.is_some() && !policy.fail_on_max_stage {
        let what =
            "nobody looks for the cause, because the loop goes on in its last stage; set fail_on_max_stage";
        conflicts.push(("convergence.diagnose_with", what.to_owned()));
    }
    let is_shut =
        policy.allowed_paths.is_empty() && ["**", "*"].iter().all(|all| is_protected(&protected, all));
    if is_shut && step.require_change {
        let what =
            "every path is protected, and COMPLETE needs a change; protect less, or leave require_change out";
        conflicts.push(("convergence.protected_paths", what.to_owned()));
    }
    if policy.max_changed_files == Some(0) && step.require_change {
        let what = "no file may change, and COMPLETE needs a change; allow one, or leave require_change out";
        conflicts.push(("convergence.max_changed_files", what.to_owned()));
    }
    conflicts
}

fn unused(stage: Stage, policy: &ConvergencePolicy, explored: &StepExploration) -> Option<String> {
    if stage > policy.max_stage {
        return Some(format!("max_stage is {}", policy.max_stage));
    }
    if explored.stages.contains(&stage) || explored.search.is_cut {
        return None;
    }
    Some(if stage == policy.max_stage && policy.fail_on_max_stage {
        "reaching max_stage ends the step; with fail_on_max_stage: false it would go on there".to_owned()
    } else {
        "no history gets there within max_iterations".to_owned()
    })
}

/// Says whether what a pattern allows is not looked at.
fn is_ignored(policy: &ConvergencePolicy, allowed: &str) -> bool {
    scope::paths_in_rules(policy, &samples(allowed)).is_empty()
}

/// Says whether nothing may change of what a pattern allows. A plain path is a file or a folder, and one of them is enough.
fn is_protected(protected: &ProtectedPaths, allowed: &str) -> bool {
    let files = samples(allowed);
    let mut has = files.iter().map(|file| protected.has(file));
    if allowed.contains(['*', '?', '[', '{']) { has.all(|yes| yes) } else { has.any(|yes| yes) }
}

/// Returns files that a pattern is about: by names that no other pattern has in mind.
fn samples(pattern: &str) -> Vec<String> {
    let sample = pattern.trim_end_matches('/').replace("**", "any-folder/any-name").replace('*', "any");
    let files = [format!("{sample}/any-name"), sample];
    let only = ConvergencePolicy { allowed_paths: vec![pattern.to_owned()], ..ConvergencePolicy::default() };
    let is_meant = |file: &String| {
        scope::violation(
            &only,
            &StepChanges { files: vec![file.clone()], ..StepChanges::default() },
            &BTreeSet::new(),
        )
        .is_none()
    };
    let meant: Vec<String> = files.iter().filter(|file| is_meant(file)).cloned().collect();
    // If no sample matches the pattern, use all of them.
    if meant.is_empty() { files.to_vec() } else { meant }
}
