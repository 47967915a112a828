//! Where runs are carried out, and what opening one needs.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use unstuck_core::event::{RunOutcome, RunStarted, SnapshotMoment, SnapshotTaken};
use unstuck_core::id::{RunId, Seq, Timestamp};
use unstuck_core::plural::count;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::{Observation, Rejection, RunState};
use unstuck_files::error::with_causes;
use unstuck_process::redact::Redactor;
use unstuck_store::event_store::{EventStore as _, ReadError};
use unstuck_store::lease::{AcquireError, Holder, Lease};
use unstuck_store::recovery::OpenError;
use unstuck_store::run_log::RunLog;
use unstuck_store::state_dir::StateDir;
use unstuck_store::store::{RunEntry, Store};
use unstuck_workspace::branch::ProtectedBranches;
use unstuck_workspace::environment::{BranchFacts, ParentFacts};
use unstuck_workspace::snapshot;

use crate::baseline_cache::BaselineCache;
use crate::branch_guard::BranchGuard;
use crate::clock::SystemClock;
use crate::host::Host;
use crate::orphaned_work::{self, OrphanedSnapshot};
use crate::repository_changes;
use crate::retry_request::RetryRequests;
use crate::run_listener::{Interrupt, RunListener};
use crate::runner::Runner;
use crate::snapshots::{self, RunSnapshots};
use crate::workspace_link;

/// Where and with what runs are carried out. Cheap to clone.
#[derive(Clone)]
pub struct RunEnvironment {
    /// Where runs are kept.
    pub store: Arc<dyn Store>,
    /// The folder for what runs of the workspace share; `None` where runs are kept in memory.
    pub state_dir: Option<StateDir>,
    /// Receives events and output.
    pub listener: Arc<dyn RunListener>,
    /// Knows the secrets.
    pub redactor: Redactor,
    /// Requests to stop.
    pub interrupts: watch::Receiver<Option<Interrupt>>,
    /// Facts about the branch; `None` outside git.
    pub branch: Option<BranchFacts>,
    /// Limits runs to their branch; `None` if the lock is off.
    pub branch_lock: Option<BranchGuard>,
    /// Branches that must not be changed.
    pub protected_branches: ProtectedBranches,
    /// Whether changing them is allowed anyway.
    pub allow_protected_branch: bool,
    /// Baselines are shared with other runs, where the commands and the files are the same.
    pub reuse_baseline: bool,
    /// Much is to be said.
    pub verbose: bool,
    /// Time between TERM and KILL.
    pub grace: Duration,
    /// The step that the run is a part of.
    pub parent: Option<ParentFacts>,
    /// The mark of the run that this run is a part of.
    pub parent_mark: Option<String>,
}

/// Why a run cannot be opened or driven.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LifecycleError {
    /// The log cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Another run works in this workspace.
    #[error("another run works in {}{}", workspace.display(), describe(holder.as_ref()))]
    WorkspaceBusy {
        /// The workspace.
        workspace: PathBuf,
        /// Holder of the lease.
        holder: Option<Holder>,
    },
    /// The lease of the workspace cannot be taken.
    #[error("run {run} cannot take the workspace")]
    Workspace {
        /// The run.
        run: RunId,
        /// Why not.
        source: AcquireError,
    },
    /// A link has replaced the workspace.
    #[error("{}, so nothing is done there", workspace_link::link_message(workspace, to))]
    ReplacedByLink {
        /// The workspace.
        workspace: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// The snapshots are gone that the work of a step with rules is compared with.
    #[error(
        "whether this run keeps to its scope cannot be seen any more: the snapshots that its work is compared with are not here (exports hold no snapshots)"
    )]
    BaseGone,
    /// The run was recorded elsewhere, and what it left there is not known here.
    #[error(
        "run {run} was imported, and its snapshots are not here: its commands would run in {} on files that it has not left there",
        workspace.display()
    )]
    Imported {
        /// The run.
        run: RunId,
        /// The workspace that its log names.
        workspace: PathBuf,
    },
    /// Files changed since the run stopped.
    #[error(
        "{} changed in the workspace since the run came to rest: {}",
        file_count(files),
        repository_changes::file_list(files)
    )]
    Drift {
        /// From the root of the workspace.
        files: Vec<String>,
    },
    /// A person was asked, or could not be asked, and did not agree.
    #[error("nothing was changed")]
    Declined,
    /// Files changed while a person was asked.
    #[error(
        "{} changed while the question was open, so nothing was undone: {}",
        file_count(files),
        repository_changes::file_list(files)
    )]
    ChangedMeanwhile {
        /// From the root of the workspace.
        files: Vec<String>,
    },
    /// A snapshot cannot be taken or restored.
    #[error(transparent)]
    Snapshots(#[from] snapshot::SnapshotError),
    /// The run cannot continue.
    #[error(transparent)]
    Run(#[from] crate::RunnerError),
}

fn file_count(files: &[String]) -> String {
    format!("{} {}", count(files.len(), "file"), if files.len() == 1 { "was" } else { "were" })
}

fn describe(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(": {}", holder.since_when()))
}

/// A run that came to an end, and where it stands.
pub struct FinishedRun {
    /// How it ended.
    pub outcome: RunOutcome,
    /// Where it stands.
    pub state: RunState,
}

/// Returns a name for a new run: the random end of a fresh UUIDv7.
pub fn new_run_id() -> RunId {
    let uuid = uuid::Uuid::now_v7();
    RunId::new(uuid.simple().to_string()[20..].to_owned())
}

impl RunEnvironment {
    /// Makes sure that a workspace is where it was, and not where a link leads now.
    ///
    /// # Errors
    ///
    /// It is [elsewhere](LifecycleError::ReplacedByLink).
    pub fn check_not_moved(&self, workspace: &Path) -> Result<(), LifecycleError> {
        let state = self.state_dir.as_ref().map(StateDir::path);
        match workspace_link::link_target(workspace, state) {
            Some(to) => Err(LifecycleError::ReplacedByLink { workspace: workspace.to_owned(), to }),
            None => Ok(()),
        }
    }

    /// Takes over an opened log, together with the lease of its workspace, which may have moved.
    pub(super) fn take_over(
        &self,
        log: Arc<RunLog>,
        moved_to: Option<&str>,
    ) -> Result<(Runner<Host>, Lease), LifecycleError> {
        let runner = self.runner_for(log, moved_to)?;
        self.check_not_moved(&runner.host.workspace)?;
        let workspace = self.take_workspace(&runner.host.workspace, &runner.host.run)?;
        Ok((runner, workspace))
    }

    pub(super) fn runner_for(
        &self,
        log: Arc<RunLog>,
        moved_to: Option<&str>,
    ) -> Result<Runner<Host>, LifecycleError> {
        let state = self.fold(&log)?;
        let Some(mut started) = state.started().cloned() else {
            return Err(crate::RunnerError::Rejected(Rejection::NotStarted).into());
        };
        if let Some(workspace) = moved_to {
            started.move_workspace(workspace);
        }
        Ok(self.runner(log, &started, state))
    }

    /// Returns the workspace as the last child runs of a run left it, and theirs, as far as that can be read.
    pub(super) fn child_snapshots(&self, state: &RunState) -> Vec<Snapshot> {
        let children = state.steps().filter_map(|(_, at)| at.calls.child.as_ref());
        let states = children.filter_map(|child| {
            let mut events = self.store.open(&child.run).ok()?.read(Seq(1)).ok()?;
            events.try_fold(RunState::default(), |state, event| event.map(|event| state.evolve(&event))).ok()
        });
        let left = |state: RunState| {
            let own = state.last_snapshot().cloned();
            own.into_iter().chain(self.child_snapshots(&state)).collect::<Vec<_>>()
        };
        states.flat_map(left).collect()
    }

    /// Adds a run to the index, with what was recorded of it: secrets are taken out by then.
    pub(super) fn index(&self, state: &RunState, started_at: Timestamp) {
        let Some(started) = state.started() else { return };
        let entry = RunEntry {
            run: started.run.clone(),
            started_at,
            workflow: started.workflow.name.clone(),
            workspace: started.workspace.clone(),
            trouble: None,
        };
        self.store.note_started(&entry);
    }

    /// Folds a log, or says what keeps the run from being resumed.
    pub(super) fn fold(&self, log: &RunLog) -> Result<RunState, LifecycleError> {
        fold(log).map_err(|error| match log.run() {
            Some(run) => self.store.unreadable(run, error).into(),
            None => error.into(),
        })
    }

    pub(super) fn runner(&self, log: Arc<RunLog>, started: &RunStarted, state: RunState) -> Runner<Host> {
        let temporary = || std::env::temp_dir().join(format!("unstuck-{}", started.run));
        let artifacts = log.artifacts().unwrap_or_else(temporary);
        let retry_requests = RetryRequests::new(&artifacts);
        let clock = SystemClock::start(state.last_at());
        let machine = Host {
            run: started.run.clone(),
            workspace: PathBuf::from(&started.workspace),
            state_folder: self.state_dir.as_ref().map(|state| state.path().to_owned()),
            artifacts,
            blobs: Arc::clone(log.blobs()),
            redactor: self.redactor.clone(),
            listener: Arc::clone(&self.listener),
            children: Arc::new(self.clone()),
            baselines: self
                .state_dir
                .clone()
                .filter(|_| self.reuse_baseline)
                .map(|state| BaselineCache::new(Arc::clone(&self.store), state, started.run.clone())),
            snapshots: self.keeper(started),
            branch: self.branch.clone(),
            branch_lock: self.branch_lock.clone(),
            protected_branches: self.protected_branches.clone(),
            allow_protected_branch: self.allow_protected_branch,
            parent: self.parent.clone(),
            parent_mark: self.parent_mark.clone(),
            verbose: self.verbose,
            grace: self.grace,
            retry_requests,
            clock,
        };
        Runner::new(log, Arc::new(machine), state, clock, self.interrupts.clone())
    }

    fn keeper(&self, started: &RunStarted) -> Option<Arc<RunSnapshots>> {
        let state = self.state_dir.as_ref()?;
        match snapshots::open(state, Path::new(&started.workspace), started) {
            Ok(snapshots) => Some(Arc::new(RunSnapshots::new(snapshots, started))),
            Err(error) => {
                let why = with_causes(&error);
                tracing::warn!("no snapshots of the workspace are taken, so nothing can be undone: {why}");
                None
            }
        }
    }
}

impl Runner<Host> {
    /// Returns the text by which the processes of this run are found again.
    pub(super) fn mark(&self) -> String {
        self.host.mark()
    }

    /// Takes a snapshot of the workspace, if any are taken.
    pub(super) fn take_snapshot(&self) -> Result<Option<Box<Snapshot>>, snapshot::SnapshotError> {
        let keeper = self.host.snapshots.as_ref().filter(|_| self.host.link_error().is_none());
        let look =
            |keeper: &Arc<RunSnapshots>| keeper.take(self.state.first_snapshot(), self.state.last_snapshot());
        keeper.map(look).transpose().map(|seen| seen.map(Box::new))
    }

    /// Records the workspace as the previous supervisor left it when it died, if its guard took a snapshot. That comes
    /// first, so that later changes of the user are not counted as work, even if this supervisor dies too.
    pub(super) fn record_abandoned(&mut self) -> Result<(), crate::RunnerError> {
        if !self.state.may_have_changed_workspace() {
            return Ok(());
        }
        let Some(keeper) = self.host.snapshots.as_deref() else { return Ok(()) };
        let noted = orphaned_work::load(self.log.orphan_note(), self.log.head(), keeper);
        let Some(OrphanedSnapshot { gone_at, snapshot }) = noted else { return Ok(()) };
        let before = self.state.last_snapshot();
        // Only a warning depends on it.
        let mut files = before.and_then(|before| self.drift(before, &snapshot).ok()).unwrap_or_default();
        files.retain(|file| changed_at(&self.host.workspace.join(file)) >= Some(gone_at));
        if !files.is_empty() {
            let files = repository_changes::file_list(&files);
            tracing::warn!(
                "what changed while the guard of the lost attempt was at work counts as its work, whoever changed it: {files}"
            );
        }
        let moment = SnapshotMoment::Abandoned;
        self.record(Observation::SnapshotTaken(SnapshotTaken { snapshot, moment }))
    }

    /// Returns the files that differ between two snapshots; none where none are taken.
    pub(super) fn drift(
        &self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<Vec<String>, snapshot::SnapshotError> {
        self.host.snapshots.as_ref().map_or(Ok(Vec::new()), |keeper| keeper.drift(before, after))
    }
}

/// Returns when what a path names was changed; `None` where nothing tells.
fn changed_at(path: &Path) -> Option<SystemTime> {
    path.symlink_metadata().and_then(|metadata| metadata.modified()).ok()
}

/// Folds a log: from its checkpoint if it has one, and every record checked.
///
/// # Errors
///
/// When a record cannot be read, or is not the one that was written.
pub fn fold(log: &RunLog) -> Result<RunState, ReadError> {
    let saved = log.checkpoint(RunState::REDUCER_VERSION);
    let restored = saved.and_then(|saved| {
        let state: RunState = serde_json::from_slice(&saved.state).ok()?;
        (state.version() == saved.seq).then_some(state)
    });
    let mut state = restored.unwrap_or_default();
    for event in log.read(Seq(state.version().0 + 1))? {
        state = state.evolve(&event?);
    }
    Ok(state)
}

/// Returns the version of this program, as it is recorded.
pub fn program() -> String {
    format!("unstuck {}", env!("CARGO_PKG_VERSION"))
}
