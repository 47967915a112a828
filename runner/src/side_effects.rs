//! Changes that a check makes to tracked files itself, so that later findings are not blamed on the worker.

use std::sync::Arc;

use unstuck_core::snapshot::Snapshot;
use unstuck_evidence::checks::SideEffectCheck;

use crate::beginning::Beginning;
use crate::host::Host;

/// The workspace before a check.
pub(crate) struct SideEffects {
    first: Snapshot,
    then: Box<Snapshot>,
}

impl SideEffects {
    /// Takes the state of the workspace before a check: the snapshot just taken, or else the one after the work.
    /// Returns `None` if others may change the workspace meanwhile, or if it is not in a repository.
    pub(crate) fn of(begin: &Beginning<'_>, now: Option<Box<Snapshot>>) -> Option<Self> {
        let Beginning { world, state, step, .. } = *begin;
        let is_alone = world.parent.is_none()
            && state.steps().all(|(other, at)| other.id == step.id || !at.phase.is_active());
        if !is_alone {
            return None;
        }
        let keeper = world.snapshots.as_ref()?;
        let then = now.or_else(|| state.last_snapshot().cloned().map(Box::new))?;
        then.repository.as_ref()?;
        keeper.ask_git(&then);
        let first = state.first_snapshot().cloned().unwrap_or_else(|| (*then).clone());
        Some(Self { first, then })
    }

    /// Returns the check of the files that have changed since.
    pub(crate) fn witness(self, world: &Arc<Host>) -> SideEffectCheck {
        let world = Arc::clone(world);
        SideEffectCheck(Arc::new(move || {
            let keeper = world.snapshots.as_ref().filter(|_| world.led_away().is_none());
            keeper.and_then(|keeper| keeper.changed_files(&self.first, &self.then)).unwrap_or_default()
        }))
    }
}

/// Returns the files that a check has changed; none if nothing watched it.
pub(crate) async fn changed(witness: Option<SideEffectCheck>) -> Vec<String> {
    match witness {
        Some(witness) => witness.look().await,
        None => Vec::new(),
    }
}
