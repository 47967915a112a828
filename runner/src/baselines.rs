//! Baselines of earlier runs, by what they were taken of.
//!
//! A heavy suite need not be run again where its commands and the tree of the commit are the same. What is remembered is in
//! which event of which run the result stands, so it is forgotten with that run. This is a cache and never the truth: what
//! a run takes over is recorded as its own, and says whose it was.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use unstuck_adapters::checks::Suite;
use unstuck_adapters::worktree::{self, Part};
use unstuck_core::Event;
use unstuck_core::event::{CheckFinished, Exit, Fact, Observation, Outcome};
use unstuck_core::failure;
use unstuck_core::gate::CommandResult;
use unstuck_core::id::{Blob, Digest, Iteration, RunId, Seq, StepId};
use unstuck_store::blobs::BlobStore;
use unstuck_store::durable;
use unstuck_store::event_store::ReadError;
use unstuck_store::run_log::RunLog;
use unstuck_store::state_dir::Project;

use crate::machine::Machine;

/// What is known of the baselines of a project.
pub struct Baselines {
    project: Project,
    run: RunId,
    /// Earlier ones are taken over.
    reuse: bool,
    /// What those are of that this run takes now.
    taken: Mutex<BTreeMap<StepId, Digest>>,
}

/// Where the result of a baseline stands: in which event of which run.
type Place = (RunId, Seq);

impl Baselines {
    pub(crate) fn new(project: Project, run: RunId, reuse: bool) -> Self {
        Self { project, run, reuse, taken: Mutex::default() }
    }

    /// Returns the result of the same commands on the same tree, if that is wanted and known.
    pub(crate) fn earlier(
        &self,
        world: &Machine,
        step: &StepId,
        suite: &Suite,
    ) -> Option<(Outcome, Vec<CommandResult>)> {
        let of = of(world, suite)?;
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).insert(step.clone(), of);
        if self.reuse { self.take_over(of, &*world.blobs) } else { None }
    }

    fn take_over(&self, of: Digest, blobs: &dyn BlobStore) -> Option<(Outcome, Vec<CommandResult>)> {
        let (run, event): Place = serde_json::from_slice(&fs::read(self.file(of)).ok()?).ok()?;
        let log = RunLog::open_for_reading(&self.project.run(&run)).ok()?;
        let found = log.read(event).ok()?.next()?;
        let CheckFinished { mut outcome, commands, .. } = conclusive(found)?;
        let of_commands =
            commands.iter().flat_map(|it| it.stdout.iter().chain(&it.stderr).chain(&it.reports));
        let kept = outcome.stdout.iter().chain(&outcome.stderr).chain(of_commands);
        kept.copied().try_for_each(|blob| copy(blob, &*log.blobs(), blobs)).ok()?;
        outcome.notes.push(format!(
            "the baseline was taken over from event {event} of run {run}: the same commands on the same tree"
        ));
        Some((outcome, commands))
    }

    /// Remembers where the baselines are recorded that this run has taken.
    pub(crate) fn recorded(&self, batch: &[Event]) {
        for event in batch {
            let Some(CheckFinished { step, .. }) = conclusive(Ok(event.clone())) else { continue };
            let of = self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&step);
            let Some(of) = of else { continue };
            if let Err(error) = self.remember(of, &(self.run.clone(), event.seq)) {
                tracing::info!(%error, "where the baseline is recorded was not remembered");
            }
        }
    }

    fn remember(&self, of: Digest, place: &Place) -> io::Result<()> {
        let file = self.file(of);
        file.parent().map_or(Ok(()), durable::create_folder)?;
        durable::replace(&file, &serde_json::to_vec(place)?)
    }

    fn file(&self, of: Digest) -> PathBuf {
        folder(&self.project).join(of.to_string())
    }
}

/// Forgets the baselines of runs that are gone.
///
/// # Errors
///
/// What is remembered cannot be read or removed.
pub fn forget_lost(project: &Project) -> io::Result<()> {
    let entries = match fs::read_dir(folder(project)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let file = entry?.path();
        let place: Option<Place> = serde_json::from_slice(&fs::read(&file)?).ok();
        if !place.is_some_and(|(run, _)| project.run(&run).path().exists()) {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

fn folder(project: &Project) -> PathBuf {
    project.path().join("baselines")
}

/// Returns a name for the commands and the tree that they are run on; `None` where the workspace is not just a commit.
fn of(world: &Machine, suite: &Suite) -> Option<Digest> {
    if worktree::uncommitted(&world.workspace, Part::Whole).ok()? > 0 {
        return None;
    }
    let tree = worktree::tree(&world.workspace).ok()?;
    let commands: Vec<_> = suite.commands.iter().map(|it| (&it.run, &it.reports)).collect();
    let of = serde_json::json!([failure::VERSION, tree, commands, suite.observations]);
    Some(Digest::of(of.to_string().as_bytes()))
}

/// Returns the end of a baseline that nothing has cut short.
fn conclusive(event: Result<Event, ReadError>) -> Option<CheckFinished> {
    let Fact::Observed(Observation::CheckFinished(event)) = event.ok()?.fact else { return None };
    let is_whole = |exit: &Exit| matches!(exit, Exit::Code(_));
    let is_conclusive = event.iteration == Iteration::BASELINE
        && event.outcome.fatal.is_none()
        && is_whole(&event.outcome.exit)
        && !event.commands.is_empty()
        && event.commands.iter().all(|it| is_whole(&it.exit));
    is_conclusive.then_some(event)
}

fn copy(blob: Blob, from: &dyn BlobStore, to: &dyn BlobStore) -> io::Result<()> {
    let mut writer = to.writer()?;
    io::copy(&mut from.open(&blob)?, &mut writer)?;
    writer.finish().map(drop)
}
