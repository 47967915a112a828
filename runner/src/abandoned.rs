//! What a supervisor that died has left in the workspace: noted by its guard, recorded by the next supervisor.
//!
//! Without the note nobody can tell what the lost attempt has changed from what a person changed before the run went on.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use unstuck_core::RunState;
use unstuck_core::snapshot::Snapshot;
use unstuck_store::chain::Head;
use unstuck_store::checkpoint::Checkpoint;
use unstuck_store::lease::{Holder, Lease, Liveness};
use unstuck_store::run_folder::RunFolder;
use unstuck_store::run_log::RunLog;
use unstuck_store::state_dir::Project;

use crate::snapshots::{self, Keeper};
use crate::workspace;

/// The version of the note.
const VERSION: u32 = 1;

/// How long a process may take from the end of its files to its own.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// How often it is asked for meanwhile.
const ASKED_EVERY: Duration = Duration::from_millis(10);

/// Says whether another supervisor than `supervisor` works on a run.
pub fn is_taken_over(folder: &RunFolder, supervisor: u32) -> bool {
    let holder = Lease::holder(&folder.lease());
    holder.is_some_and(|it| it.pid != supervisor && it.liveness() == Liveness::Alive)
}

/// Looks at the workspace of a run whose supervisor has died, when all that it had started is ended, and leaves a note in the
/// folder of the run; `None` where there is nothing to note, or somebody goes on with the run by now.
pub fn note(project: &Project, folder: &RunFolder, supervisor: u32) -> Option<Snapshot> {
    let held = not_given_back(folder, supervisor)?;
    wait_until_gone(&held);
    let (state, head) = fold(folder)?;
    // An earlier note of the same moment is the better one: nothing has been begun since.
    let is_noted = Checkpoint::load(&folder.abandoned()).is_some_and(|it| is_of(&it, head));
    if is_noted || !state.may_have_changed_workspace() {
        return None;
    }
    let started = state.started()?;
    let place = Path::new(&started.workspace);
    if workspace::leads_elsewhere(place, Some(project.path())).is_some() {
        return None;
    }
    let keeper = Keeper::new(snapshots::open(project, place, &started.workflow).ok()?, started);
    let snapshot = keeper.take(state.first_snapshot(), state.last_snapshot()).ok()?;
    // Who has taken the run over meanwhile may have begun something.
    if not_given_back(folder, supervisor)? != held || held.liveness() != Liveness::Gone {
        return None;
    }
    let text = serde_json::to_vec(&snapshot).ok()?;
    let note = Checkpoint { seq: head.seq, hash: head.hash, reducer_version: VERSION, state: text };
    note.save(&folder.abandoned()).ok()?;
    Some(snapshot)
}

/// Returns what was noted after the last event of a log, if the snapshot is whole.
pub(crate) fn noted(folder: &RunFolder, head: Head, keeper: &Keeper) -> Option<Box<Snapshot>> {
    let note = Checkpoint::load(&folder.abandoned()).filter(|it| is_of(it, head))?;
    let snapshot: Snapshot = serde_json::from_slice(&note.state).ok()?;
    keeper.find(&snapshot).ok()?;
    Some(Box::new(snapshot))
}

fn is_of(note: &Checkpoint, head: Head) -> bool {
    (note.reducer_version, note.seq, note.hash) == (VERSION, head.seq, head.hash)
}

/// Returns how a supervisor holds its run, if it did not give it back and nobody has held it since.
fn not_given_back(folder: &RunFolder, supervisor: u32) -> Option<Holder> {
    let holder = Lease::holder(&folder.lease())?;
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
fn fold(folder: &RunFolder) -> Option<(RunState, Head)> {
    let mut events = RunLog::open_for_reading(folder).ok()?.follow().ok()?;
    let mut state = RunState::default();
    loop {
        let some = events.poll().ok()?;
        if some.is_empty() {
            return Some((state, events.head()));
        }
        state = some.iter().fold(state, RunState::evolve);
    }
}
