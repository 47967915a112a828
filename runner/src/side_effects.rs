//! Changes that a check makes to tracked files itself, so that later findings are not blamed on the worker.

use std::sync::Arc;

use unstuck_core::snapshot::Snapshot;
use unstuck_evidence::checks::SideEffectCheck;

use crate::host::Host;
use crate::turn_start::TurnStart;

/// The workspace before a check.
pub(crate) struct BeforeCheck {
    first: Snapshot,
    then: Box<Snapshot>,
}

impl BeforeCheck {
    /// Takes the state of the workspace before a check: the snapshot just taken, or else the one after the work.
    /// Returns `None` if others may change the workspace meanwhile, or if it is not in a repository.
    pub(crate) fn new(start: &TurnStart<'_>, now: Option<Box<Snapshot>>) -> Option<Self> {
        let TurnStart { host, state, step, .. } = *start;
        let is_alone = host.parent.is_none()
            && state.steps().all(|(other, at)| other.id == step.id || !at.phase.is_active());
        if !is_alone {
            return None;
        }
        let keeper = host.snapshots.as_ref()?;
        let then = now.or_else(|| state.last_snapshot().cloned().map(Box::new))?;
        then.repository.as_ref()?;
        keeper.ask_git(&then);
        let first = state.first_snapshot().cloned().unwrap_or_else(|| (*then).clone());
        Some(Self { first, then })
    }

    /// Returns the check of the files that have changed since.
    pub(crate) fn witness(self, host: &Arc<Host>) -> SideEffectCheck {
        let host = Arc::clone(host);
        SideEffectCheck(Arc::new(move || {
            let keeper = host.snapshots.as_ref().filter(|_| host.link_error().is_none());
            keeper.and_then(|keeper| keeper.changed_files(&self.first, &self.then)).unwrap_or_default()
        }))
    }
}

/// Returns the files that a check has changed; none if nothing watched it.
pub(crate) async fn changed_files(witness: Option<SideEffectCheck>) -> Vec<String> {
    match witness {
        Some(witness) => witness.changed_files().await,
        None => Vec::new(),
    }
}
