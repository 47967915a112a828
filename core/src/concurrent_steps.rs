//! Steps that may run at the same time, and the effect on the files of their verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::id::StepId;
use crate::interpolate;
use crate::workflow::{Step, StepKind};

/// Returns the steps that may run at the same time as this one and write to its verdict file, directly or by a step of
/// their child runs. A verdict without a check id in that file may be from any of them.
///
/// `concurrency` is the workflow's limit of concurrent steps. Edges that lead nowhere are ignored.
pub fn decision_file_conflicts<'a>(
    steps: &'a [Step],
    concurrency: Option<u32>,
    step: &'a Step,
) -> impl Iterator<Item = &'a Step> {
    shares(steps, concurrency, step, BTreeSet::from_iter(file(step)))
}

/// Returns the steps that [share](decision_file_conflicts) the decision file of this one, or one of a step of its child
/// runs.
pub fn decision_file_conflicts_with_children<'a>(
    steps: &'a [Step],
    concurrency: Option<u32>,
    step: &'a Step,
) -> impl Iterator<Item = &'a Step> {
    shares(steps, concurrency, step, files(step))
}

fn shares<'a>(
    steps: &'a [Step],
    concurrency: Option<u32>,
    step: &'a Step,
    own: BTreeSet<PathBuf>,
) -> impl Iterator<Item = &'a Step> {
    let can_share = concurrency != Some(1) && !step.is_exclusive() && !own.is_empty();
    let others = can_share.then(|| concurrent_with(steps, step)).into_iter().flatten();
    others.filter(move |other| !other.is_exclusive() && !files(other).is_disjoint(&own))
}

/// Returns the verdict files of a step and of its child runs, which share its workspace.
fn files(step: &Step) -> BTreeSet<PathBuf> {
    let of_children = match &step.work {
        StepKind::Worker(_) => &[],
        StepKind::Subworkflow(child) => child.workflow.steps.as_slice(),
    };
    file(step).into_iter().chain(of_children.iter().flat_map(files)).collect()
}

/// Returns the normalized path of a step's verdict file; `None` if each check has a separate one.
fn file(step: &Step) -> Option<PathBuf> {
    let path = step.check.as_ref()?.decision_file.as_deref()?;
    let is_fixed = interpolate::check_id(path, "") == path;
    is_fixed.then(|| Path::new(path).components().filter(|part| *part != Component::CurDir).collect())
}

/// Returns the steps that neither precede nor follow this one.
fn concurrent_with<'a>(steps: &'a [Step], step: &'a Step) -> impl Iterator<Item = &'a Step> {
    let mut before: BTreeMap<&StepId, Vec<&StepId>> = BTreeMap::new();
    let mut after: BTreeMap<&StepId, Vec<&StepId>> = BTreeMap::new();
    for step in steps {
        for needed in &step.depends_on {
            before.entry(&step.id).or_default().push(needed);
            after.entry(needed).or_default().push(&step.id);
        }
    }
    let ordered: BTreeSet<&StepId> =
        [before, after].iter().flat_map(|edges| reached(edges, &step.id)).collect();
    steps.iter().filter(move |other| !ordered.contains(&other.id))
}

/// Returns the steps that the edges reach from `from`, itself included.
fn reached<'a>(edges: &BTreeMap<&'a StepId, Vec<&'a StepId>>, from: &'a StepId) -> BTreeSet<&'a StepId> {
    let mut seen = BTreeSet::from([from]);
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        open.extend(edges.get(at).into_iter().flatten().copied().filter(|next| seen.insert(next)));
    }
    seen
}
