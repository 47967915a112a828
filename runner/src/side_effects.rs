//! What a check changes itself of what the repository has: a worker has not done that, and what is found afterwards is not
//! about what the worker has left.

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
    /// Takes down what the workspace is before a check: what was seen of it just now, else after the work. `None` where
    /// somebody else may change it meanwhile, or where no repository has anything.
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
