//! Which steps may run at the same time, and what follows from that for the files of their verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::id::StepId;
use crate::interpolate;
use crate::workflow::Step;

/// Returns the steps that may run at the same time as this one and have the same file for their verdict: what is in it
/// without a check id may be from any of them.
///
/// The steps are those of a workflow with this bound of steps at a time; edges that lead nowhere count for nothing.
pub fn shares_decision_file<'a>(
    steps: &'a [Step],
    concurrency: Option<u32>,
    step: &'a Step,
) -> impl Iterator<Item = &'a Step> {
    let own = file(step).filter(|_| concurrency != Some(1));
    let others = steps.iter().filter(|other| other.id != step.id);
    let sharing = others.filter(move |other| own.is_some() && file(other) == own);
    sharing.filter(move |other| may_meet(steps, step, other))
}

/// Returns where a verdict is written, however that is put; `None` where each check has a file of its own.
fn file(step: &Step) -> Option<PathBuf> {
    let path = step.check.as_ref()?.decision_file.as_deref()?;
    let is_fixed = interpolate::check_id(path, "") == path;
    is_fixed.then(|| Path::new(path).components().filter(|it| *it != Component::CurDir).collect())
}

/// Says whether two steps may run at the same time, as far as their order and what they are judged by tell.
fn may_meet(steps: &[Step], one: &Step, other: &Step) -> bool {
    if one.works_alone() || other.works_alone() {
        return false;
    }
    let edges = steps.iter().map(|step| (&step.id, &step.depends_on)).collect();
    !comes_after(&edges, &one.id, &other.id) && !comes_after(&edges, &other.id, &one.id)
}

fn comes_after(edges: &BTreeMap<&StepId, &Vec<StepId>>, step: &StepId, other: &StepId) -> bool {
    let mut seen = BTreeSet::from([step]);
    let mut open = vec![step];
    while let Some(at) = open.pop() {
        for next in edges.get(at).into_iter().copied().flatten() {
            if next == other {
                return true;
            }
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    false
}
