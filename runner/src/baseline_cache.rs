//! Baselines of earlier runs, by what they were taken of.
//!
//! A heavy suite need not be run again where its commands and the files of the workspace are the same. What is remembered is in
//! which event of which run the result stands, so it is forgotten with that run. This is a cache and never the truth: what
//! a run takes over is recorded as its own, and says whose it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::Event;
use unstuck_core::event::{CheckFinished, Exit, Fact, Observation, Outcome};
use unstuck_core::evidence::CommandResult;
use unstuck_core::id::{Blob, Digest, Iteration, Millis, RunId, Seq, StepId};
use unstuck_evidence::checks::Suite;
use unstuck_files::durable;
use unstuck_files::safe_open;
use unstuck_process::redact::Redactor;
use unstuck_store::blobs::BlobStore;
use unstuck_store::state_dir::StateDir;
use unstuck_store::store::Store;

use crate::snapshots::RunSnapshots;

/// Baselines that runs of a project share, if requested.
pub struct BaselineCache {
    store: Arc<dyn Store>,
    state: StateDir,
    run: RunId,
    /// Steps and keys of the baselines that this run has taken and not yet recorded.
    taken: Mutex<Vec<(StepId, Digest)>>,
}

/// Event that holds the result of a baseline.
type BaselineRef = (RunId, Seq);

/// Larger outputs are not taken over.
const BLOB_MAX: u64 = 64 << 20;

impl BaselineCache {
    pub(crate) fn new(store: Arc<dyn Store>, state: StateDir, run: RunId) -> Self {
        Self { store, state, run, taken: Mutex::default() }
    }

    /// Returns the result of an earlier run, if one is known of this.
    pub(crate) fn reuse(
        &self,
        of: Digest,
        to: &dyn BlobStore,
        redactor: &Redactor,
    ) -> Option<(Outcome, Vec<CommandResult>)> {
        let (run, event): BaselineRef =
            serde_json::from_slice(&safe_open::read(&self.file(of)).ok()?).ok()?;
        let log = self.store.open(&run).ok()?;
        let found = log.read(event).ok()?.next()?.ok()?;
        let CheckFinished { mut outcome, commands, .. } = usable(&found)?.clone();
        let of_commands = commands
            .iter()
            .flat_map(|command| command.stdout.iter().chain(&command.stderr).chain(&command.reports));
        let blobs = outcome.stdout.iter().chain(&outcome.stderr).chain(of_commands);
        let from = log.blobs();
        blobs.into_iter().try_for_each(|blob| copy(blob, &*from, to, redactor))?;
        (outcome.duration, outcome.processes_ended, outcome.redactions) = (Millis(0), 0, 0);
        outcome.notes.push(format!(
            "the baseline was taken over from event {event} of run {run}: the same commands on the same files"
        ));
        Some((outcome, commands))
    }

    /// Notes that this run has taken a baseline itself.
    pub(crate) fn note_baseline(&self, step: &StepId, of: Digest) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).push((step.clone(), of));
    }

    /// Remembers where the baselines are recorded that this run has taken.
    pub(crate) fn on_events(&self, batch: &[Event]) {
        for event in batch {
            let Some(CheckFinished { step, .. }) = usable(event) else { continue };
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            for (_, of) in taken.extract_if(.., |(of_step, _)| of_step == step) {
                if let Err(error) = self.remember(of, &(self.run.clone(), event.seq)) {
                    tracing::info!(%error, "where the baseline is recorded was not remembered");
                }
            }
        }
    }

    fn remember(&self, of: Digest, place: &BaselineRef) -> io::Result<()> {
        durable::create_folder(&folder(&self.state))?;
        durable::replace(&self.file(of), &serde_json::to_vec(place)?)
    }

    fn file(&self, of: Digest) -> PathBuf {
        folder(&self.state).join(of.to_string())
    }
}

/// Forgets the baselines of runs that are gone.
///
/// # Errors
///
/// The directory of baselines cannot be read, or a file in it cannot be read or removed.
pub fn forget_lost(store: &dyn Store, state: &StateDir) -> io::Result<()> {
    let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(folder(state)) {
        Err(error) if is_gone(&error) => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let file = entry?.path();
        let place: Option<BaselineRef> = match safe_open::read(&file) {
            Err(error) if is_gone(&error) => None,
            // Ignore a file that is still being written.
            bytes => serde_json::from_slice(&bytes?).ok(),
        };
        if place.is_some_and(|(run, _)| !store.has(&run)) {
            fs::remove_file(file).or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) })?;
        }
    }
    Ok(())
}

fn folder(state: &StateDir) -> PathBuf {
    state.path().join("baselines")
}

/// Returns a key for the commands of a check and the files that they run on; `None` if not all files are known.
pub(crate) fn cache_key(keeper: &RunSnapshots, workspace: &Path, suite: &Suite) -> Option<Digest> {
    let now = keeper.take(None, None).ok()?;
    if now.exclusion_note().is_some() {
        return None;
    }
    let commands: Vec<_> = suite.commands.iter().map(|command| (&command.run, &command.reports)).collect();
    let commit = now.repository.as_ref().map(|repository| &repository.commit);
    let of = (unstuck_core::evidence::VERSION, workspace, now.work, commit, commands, suite.observations);
    Some(Digest::sha256(&serde_json::to_vec(&of).ok()?))
}

/// Returns the end of a baseline that came to its end, and tells what fails.
fn usable(event: &Event) -> Option<&CheckFinished> {
    let Fact::Observed(Observation::CheckFinished(event)) = &event.fact else { return None };
    let is_usable = event.iteration == Iteration::BASELINE
        && event.outcome.fatal.is_none()
        && matches!(event.outcome.exit, Exit::Code(_))
        && !event.commands.is_empty()
        && event.commands.iter().all(CommandResult::is_conclusive);
    is_usable.then_some(event)
}

/// Copies what was printed; `None` where it cannot be had, or holds what is a secret now.
fn copy(blob: &Blob, from: &dyn BlobStore, to: &dyn BlobStore, redactor: &Redactor) -> Option<()> {
    let bytes = from.read(blob, BLOB_MAX).ok()?;
    let has_secret = redactor.redact_bytes(&bytes).1 > 0;
    if has_secret { None } else { to.put(&bytes).ok().map(drop) }
}
