//! What a supervisor that died has left in the workspace: noted by its guard, recorded by the next supervisor.
//!
//! Without the note nobody can tell what the lost attempt has changed from what a person changed before the run went on.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use unstuck_core::RunState;
use unstuck_core::event::Parent;
use unstuck_core::id::RunId;
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

/// What a guard has seen.
#[derive(Serialize, Deserialize)]
pub(crate) struct Note {
    /// When the supervisor was gone. What changes from then on, and before the snapshot, may be anybody's work.
    pub(crate) gone_at: SystemTime,
    /// The workspace, once all that the supervisor had started was ended.
    pub(crate) snapshot: Box<Snapshot>,
}

/// Says whether another supervisor than `supervisor` works on a run.
pub fn is_taken_over(folder: &RunFolder, supervisor: u32) -> bool {
    let holder = Lease::holder(&folder.lease());
    holder.is_some_and(|it| it.pid != supervisor && it.liveness() == Liveness::Alive)
}

/// Looks at the workspace of a run whose supervisor was gone at `gone_at`, when all that it had started is ended, and leaves a
/// note in the folder of the run and of each child run that was under way. None where there is nothing to note, or somebody
/// goes on with the run by now.
pub fn note(project: &Project, run: &RunId, supervisor: u32, gone_at: SystemTime) {
    let folder = project.run(run);
    let Some(held) = not_given_back(&folder, supervisor) else { return };
    wait_until_gone(&held);
    let Some((state, head)) = fold(&folder) else { return };
    let _nobody_listens = note_one(project, &folder, &held, &state, head, gone_at);
    for (step, at) in state.in_flight() {
        let (run, step) = (run.clone(), step.id.clone());
        let child = Parent { run, step, iteration: at.iteration }.child();
        note(project, &child, supervisor, gone_at);
    }
}

fn note_one(
    project: &Project,
    folder: &RunFolder,
    held: &Holder,
    state: &RunState,
    head: Head,
    gone_at: SystemTime,
) -> Option<()> {
    let started = state.started().filter(|_| state.may_have_changed_workspace())?;
    let place = Path::new(&started.workspace);
    if workspace::leads_elsewhere(place, Some(project.path())).is_some() {
        return None;
    }
    let keeper = Keeper::new(snapshots::open(project, place, started).ok()?, started);
    // An earlier note of the same moment is the better one: nothing has been begun since.
    if noted(folder, head, &keeper).is_some() {
        return None;
    }
    let snapshot = keeper.take(state.first_snapshot(), state.last_snapshot()).ok()?;
    // Who has taken the run over meanwhile may have begun something.
    if not_given_back(folder, held.pid)? != *held || held.liveness() != Liveness::Gone {
        return None;
    }
    let text = serde_json::to_vec(&Note { gone_at, snapshot: Box::new(snapshot) }).ok()?;
    let note = Checkpoint { seq: head.seq, hash: head.hash, reducer_version: VERSION, state: text };
    note.save(&folder.abandoned()).ok()
}

/// Returns what was noted after the last event of a log, if the snapshot is whole.
pub(crate) fn noted(folder: &RunFolder, head: Head, keeper: &Keeper) -> Option<Note> {
    let of_head = |it: &Checkpoint| (it.reducer_version, it.seq, it.hash) == (VERSION, head.seq, head.hash);
    let saved = Checkpoint::load(&folder.abandoned()).filter(of_head)?;
    let note: Note = serde_json::from_slice(&saved.state).ok()?;
    keeper.find(&note.snapshot).ok()?;
    Some(note)
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
