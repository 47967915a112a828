//! Workspace as a dead supervisor left it: saved by its guard, recorded by the next supervisor.
//!
//! Without the note, the changes of the lost attempt cannot be separated from changes made by the user before the
//! resume.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use unstuck_core::RunState;
use unstuck_core::event::Parent;
use unstuck_core::id::RunId;
use unstuck_core::snapshot::Snapshot;
use unstuck_store::checkpoint::Checkpoint;
use unstuck_store::event_store::Head;
use unstuck_store::lease::{Holder, Liveness};
use unstuck_store::run_log::ReadLog;
use unstuck_store::state_dir::StateDir;
use unstuck_store::store::Store;

use crate::snapshots::{self, RunSnapshots};
use crate::workspace_link;

/// The version of the note.
const VERSION: u32 = 1;

/// Maximum time between the closing of a process's files and its end.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// Interval at which the process is checked meanwhile.
const ASKED_EVERY: Duration = Duration::from_millis(10);

/// Record of the guard.
#[derive(Serialize, Deserialize)]
pub(crate) struct OrphanedSnapshot {
    /// When the supervisor was gone. Changes between then and the snapshot may be made by others.
    pub(crate) gone_at: SystemTime,
    /// The workspace after all processes of the supervisor were ended.
    pub(crate) snapshot: Box<Snapshot>,
}

/// Says whether another supervisor than `supervisor` works on a run.
pub fn has_new_supervisor(store: &dyn Store, run: &RunId, supervisor: u32) -> bool {
    store.holder(run).is_some_and(|holder| holder.pid != supervisor && holder.liveness() == Liveness::Alive)
}

/// Takes a snapshot of the workspace of a run whose supervisor was gone at `gone_at`, once all its processes are ended.
/// Leaves a note in the directory of the run and of each child run in progress, unless there is nothing to note or the
/// run was resumed meanwhile.
pub fn record(store: &dyn Store, place: &StateDir, run: &RunId, supervisor: u32, gone_at: SystemTime) {
    let Some(held) = unreleased_lease(store, run, supervisor) else { return };
    wait_until_gone(&held);
    let Ok(log) = store.open(run) else { return };
    let Some((state, head)) = fold(&log) else { return };
    let is_still_held = || {
        unreleased_lease(store, run, held.pid)
            .is_some_and(|now| now == held && held.liveness() == Liveness::Gone)
    };
    if let Some(snapshot) = take_snapshot(place, &log, &state, head)
        // A supervisor that took over the run may have started work.
        && is_still_held()
    {
        let _nobody_listens = save(&log, head, &OrphanedSnapshot { gone_at, snapshot });
    }
    for (step, at) in state.in_flight() {
        let (run, step) = (run.clone(), step.id.clone());
        let child = Parent { run, step, iteration: at.iteration() }.child();
        record(store, place, &child, supervisor, gone_at);
    }
}

/// Takes a snapshot of the workspace; `None` if the dead supervisor cannot have changed it, or an earlier note exists.
fn take_snapshot(state_dir: &StateDir, log: &ReadLog, state: &RunState, head: Head) -> Option<Box<Snapshot>> {
    let started = state.started().filter(|_| state.may_have_changed_workspace())?;
    let place = Path::new(&started.workspace);
    if workspace_link::link_target(place, Some(state_dir.path())).is_some() {
        return None;
    }
    let keeper = RunSnapshots::new(snapshots::open(state_dir, place, started).ok()?, started);
    // An earlier note of the same moment is the better one: nothing has been begun since.
    if load(log.orphan_note(), head, &keeper).is_some() {
        return None;
    }
    keeper.take(state.first_snapshot(), state.last_snapshot()).ok().map(Box::new)
}

fn save(log: &ReadLog, head: Head, note: &OrphanedSnapshot) -> io::Result<()> {
    let state = serde_json::to_vec(note)?;
    log.save_orphan_note(&Checkpoint { seq: head.seq, hash: head.hash, reducer_version: VERSION, state })
}

/// Returns the note about the last event of a log, if its snapshot is intact.
pub(crate) fn load(saved: Option<Checkpoint>, head: Head, keeper: &RunSnapshots) -> Option<OrphanedSnapshot> {
    let of_head = |checkpoint: &Checkpoint| {
        (checkpoint.reducer_version, checkpoint.seq, checkpoint.hash) == (VERSION, head.seq, head.hash)
    };
    let saved = saved.filter(of_head)?;
    let note: OrphanedSnapshot = serde_json::from_slice(&saved.state).ok()?;
    keeper.find(&note.snapshot).ok()?;
    Some(note)
}

/// Returns the lease of a run if `supervisor` held it last and did not release it.
fn unreleased_lease(store: &dyn Store, run: &RunId, supervisor: u32) -> Option<Holder> {
    let holder = store.holder(run)?;
    (!holder.released && holder.pid == supervisor).then_some(holder)
}

/// Waits for the rest of a process whose end was seen: its files are closed before it is gone.
fn wait_until_gone(holder: &Holder) {
    let since = Instant::now();
    while holder.liveness() == Liveness::Alive && since.elapsed() < GONE_WITHIN {
        thread::sleep(ASKED_EVERY);
    }
}

/// Folds what is in the mirror, without any right to the run.
fn fold(log: &ReadLog) -> Option<(RunState, Head)> {
    let mut events = log.follow().ok()?;
    let mut state = RunState::default();
    loop {
        let some = events.poll().ok()?;
        if some.is_empty() {
            return Some((state, events.head()));
        }
        state = some.iter().fold(state, RunState::evolve);
    }
}
