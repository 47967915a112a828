//! Changes of the workspace: by the worker of a step, by its checks, and by others between its turns.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{CheckFinished, WorkerFinished};
use crate::judge::scope::{self, StepChanges};
use crate::snapshot::Snapshot;

/// Changes of the workspace since a step began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceState {
    /// Whether the workspace was seen to change since the step began.
    pub changed: WorkspaceChange,
    /// Whether it changed in this iteration; `None` if that is unknown.
    pub changed_now: Option<bool>,
    /// Whether workers of other steps were at work during the newest work of this one: a change may be theirs.
    pub is_beside: bool,
    /// The difference from the base of the step.
    pub drift: StepChanges,
    /// Files that only checks have written. They do not count as changes of the worker.
    pub by_checks: BTreeSet<String>,
    /// Files of the repository that checks have changed.
    pub checks_changed: BTreeSet<String>,
    /// The workspace when the step began.
    pub began_with: Option<Arc<Snapshot>>,
    /// The workspace before the unfinished work. Changes of a lost attempt count with the attempt that replaces it.
    pub works_from: Option<Arc<Snapshot>>,
    /// Changes of lost attempts of that work, if a snapshot was taken after them.
    pub lost_work: Vec<LostWork>,
    /// The workspace after the last turn of the step; only for a step with scope rules.
    pub left: LastSeenWorkspace,
    /// Changes by others between its turns, oldest first.
    pub gaps: Vec<ExternalChange>,
}

/// Whether the workspace has changed since a step began. Of two observations the larger one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceChange {
    /// It has not, or no work was done yet.
    #[default]
    No,
    /// Unknown: no snapshot was taken.
    Unknown,
    /// It has.
    Yes,
}

impl From<Option<bool>> for WorkspaceChange {
    fn from(seen: Option<bool>) -> Self {
        match seen {
            Some(false) => Self::No,
            None => Self::Unknown,
            Some(true) => Self::Yes,
        }
    }
}

/// The workspace after a turn of a step, which is one run of its worker or check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LastSeenWorkspace {
    /// The step has not begun, or is at work.
    #[default]
    Nothing,
    /// The turn has ended, and no snapshot was taken since.
    Unseen,
    /// This snapshot. Differences from it at the next turn are changes by others.
    Seen(Arc<Snapshot>),
}

/// A change by others between two turns of a step: by other steps, or by a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalChange {
    /// The workspace after the turn.
    pub left: Arc<Snapshot>,
    /// The workspace at the next turn.
    pub found: Arc<Snapshot>,
}

/// The work of an attempt that was lost with its supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWork {
    /// The workspace before it.
    pub before: Arc<Snapshot>,
    /// The workspace after its processes were ended.
    pub after: Arc<Snapshot>,
}

impl WorkspaceState {
    /// Begins an iteration.
    pub fn begin_iteration(&mut self) {
        self.clear_lost_work();
        self.changed_now = None;
    }

    /// Begins work. `seen` is the workspace, and `is_beside` says whether workers of other steps run now.
    pub fn begin_work(&mut self, seen: Option<Arc<Snapshot>>, is_beside: bool) {
        self.is_beside = is_beside;
        self.begin_turn(seen.clone());
        self.began_with = self.began_with.take().or_else(|| seen.clone());
        self.works_from = self.works_from.take().or(seen);
    }

    /// Ends the work: there is no lost attempt any longer.
    pub fn clear_lost_work(&mut self) {
        self.works_from = None;
        self.lost_work.clear();
    }

    /// Records the changes of a worker.
    pub fn record_work(&mut self, event: &WorkerFinished) {
        self.changed = self.changed.max(event.changed.into());
        // Another worker may have made the change.
        let own = if self.is_beside { event.changed.filter(|changed| !changed) } else { event.changed };
        self.changed_now = match (self.changed_now, own) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (_, now) => now,
        };
        match &event.drift {
            Some(drift) => {
                scope::clear_worker_files(&mut self.by_checks, drift);
                self.drift = (**drift).clone();
            }
            None => self.drift.put_back.clear(),
        }
    }

    /// Records a lost worker. With a snapshot from before it, the next attempt is compared with that.
    pub fn record_lost_worker(&mut self) {
        if self.works_from.is_none() && self.lost_work.is_empty() {
            self.changed = self.changed.max(WorkspaceChange::Unknown);
        }
    }

    /// Records the workspace that a lost supervisor left.
    pub fn record_abandonment(&mut self, left: &Arc<Snapshot>) {
        let work = self.works_from.take().map(|before| LostWork { before, after: Arc::clone(left) });
        self.lost_work.extend(work);
    }

    /// Records the changes of a check.
    pub fn record_check(&mut self, event: &CheckFinished) {
        self.checks_changed.extend(event.changed.iter().cloned());
        if let Some(drift) = event.drift.as_ref().filter(|_| !event.outcome.exit.is_stopped()) {
            scope::record_check_writes(&mut self.by_checks, &self.drift, drift);
            let put_back = std::mem::take(&mut self.drift.put_back);
            self.drift = StepChanges { put_back, ..(**drift).clone() };
        }
    }

    /// Ends a turn. Others may make the later changes.
    pub fn end_turn(&mut self) {
        if self.began_with.is_some() && self.left == LastSeenWorkspace::Nothing {
            self.left = LastSeenWorkspace::Unseen;
        }
    }

    /// Records a snapshot that was taken before anyone else began.
    pub fn record_snapshot(&mut self, now: &Arc<Snapshot>) {
        if self.left == LastSeenWorkspace::Unseen {
            self.left = LastSeenWorkspace::Seen(Arc::clone(now));
        }
    }

    /// Begins the next turn, with the changes of others since the last one. A diagnosis works on a copy: `found` is `None`.
    pub fn begin_turn(&mut self, found: Option<Arc<Snapshot>>) {
        let Some(found) = found else { return };
        self.gaps.extend(self.external_change(found));
        self.left = LastSeenWorkspace::Nothing;
    }

    /// Returns the change by others, if the step continues with this workspace; `None` without a change.
    pub fn external_change(&self, found: Arc<Snapshot>) -> Option<ExternalChange> {
        let LastSeenWorkspace::Seen(left) = &self.left else { return None };
        (left.id != found.id).then(|| ExternalChange { left: Arc::clone(left), found })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_attempt_leaves_it_unknown_whether_something_changed() {
        let mut workspace = WorkspaceState::default();
        workspace.begin_work(None, false);
        assert_eq!(workspace.changed, WorkspaceChange::No);
        workspace.record_lost_worker();
        assert_eq!(
            workspace.changed,
            WorkspaceChange::Unknown,
            "nobody saw what was there before, or what was left"
        );
    }
}
