//! How a run is opened: for the first time, or again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use unstuck_core::event::{
    AnswerGiven, Fact, LogRepaired, RunOutcome, RunResumed, RunStarted, SnapshotMoment, SnapshotTaken,
    StepEnd,
};
use unstuck_core::id::{RunId, Seq};
use unstuck_core::plural::count;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::{Gap, StepState};
use unstuck_core::workflow::Step;
use unstuck_core::{Observation, Rejection, RunState};
use unstuck_files::error::with_causes;
use unstuck_process as process;
use unstuck_process::redact::Redactor;
use unstuck_store::event_store::{EventStore as _, ReadError};
use unstuck_store::exchange;
use unstuck_store::lease::{AcquireError, Holder, Lease};
use unstuck_store::opening::{Finding, OpenError, Opening};
use unstuck_store::run_folder::RunFolder;
use unstuck_store::run_log::RunLog;
use unstuck_store::state_dir::{Project, RunEntry};
use unstuck_workspace::branch::Protected;
use unstuck_workspace::environment::{BranchFacts, ParentFacts};
use unstuck_workspace::snapshot::{self, Git, Restored};

use crate::abandoned::{self, Note};
use crate::baselines::Baselines;
use crate::branch_lock::BranchLock;
use crate::child::as_child;
use crate::clock::Clock;
use crate::kick::Kicks;
use crate::machine::{Machine, Place};
use crate::snapshots::{self, Keeper};
use crate::undoing::{Order, Planned};
use crate::{Interrupt, Runner, Watcher, workspace};

/// Where and with what runs are carried out. Cheap to clone.
#[derive(Clone)]
pub struct Site {
    /// The folder of the project's state; `None` keeps runs in memory.
    pub project: Option<Project>,
    /// Who wants to know.
    pub watcher: Arc<dyn Watcher>,
    /// Knows the secrets.
    pub redactor: Redactor,
    /// Wishes to stop.
    pub interrupts: watch::Receiver<Option<Interrupt>>,
    /// What is known of the branch; `None` outside git.
    pub branch: Option<BranchFacts>,
    /// Holds runs to their branch; `None` where nobody asks for that.
    pub branch_lock: Option<BranchLock>,
    /// Branches that are not worked on.
    pub protected_branches: Protected,
    /// Work on them is allowed all the same.
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
pub enum Error {
    /// The log cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Another run works in this workspace.
    #[error("another run works in {}{}", workspace.display(), described(holder.as_ref()))]
    WorkspaceBusy {
        /// The workspace.
        workspace: PathBuf,
        /// Who holds it.
        holder: Option<Holder>,
    },
    /// The right to work in the workspace cannot be taken.
    #[error("run {run} cannot take the workspace")]
    Workspace {
        /// The run.
        run: RunId,
        /// Why not.
        source: AcquireError,
    },
    /// The workspace is where a link leads now.
    #[error("{}, so nothing is done there", workspace::leads(workspace, to))]
    LeadsElsewhere {
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
    /// Somebody has changed files since the run came to rest.
    #[error(
        "{} changed in the workspace since the run came to rest: {}",
        counted(files),
        snapshots::named(files)
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
        counted(files),
        snapshots::named(files)
    )]
    ChangedMeanwhile {
        /// From the root of the workspace.
        files: Vec<String>,
    },
    /// A snapshot cannot be taken or put back.
    #[error(transparent)]
    Snapshots(#[from] snapshot::Error),
    /// The run cannot go on.
    #[error(transparent)]
    Run(#[from] crate::Error),
}

fn counted(files: &[String]) -> String {
    format!("{} {}", count(files.len(), "file"), if files.len() == 1 { "was" } else { "were" })
}

fn described(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(": {}", holder.since_when()))
}

/// A run that came to an end, and where it stands.
pub struct Ended {
    /// How it ended.
    pub outcome: RunOutcome,
    /// Where it stands.
    pub state: RunState,
}

/// What was done to put files back.
pub struct Undone {
    /// The event with the workspace as it was until then.
    pub before: Seq,
    /// The plan.
    pub planned: Planned,
    /// What was done.
    pub restored: Restored,
    /// What its owner could not read until then.
    pub made_readable: Vec<PathBuf>,
    /// Why it could not be recorded, though it was done.
    pub unrecorded: Option<Error>,
}

/// Whether a person was asked before an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// And has agreed.
    Yes,
    /// There was nothing to ask.
    No,
}

/// What is found in the workspace of a run that is taken up again, where that is to be recorded.
#[derive(Default)]
struct Found {
    /// What an attempt has left that was lost.
    left: Option<Box<Snapshot>>,
    /// What a person has made of the workspace.
    now: Option<Box<Snapshot>>,
}

/// How a run is taken up again.
#[derive(Clone, Debug)]
pub enum TakeUp {
    /// It goes on where it stopped.
    Resume(RunResumed),
    /// A person answered what it needed.
    Answer(AnswerGiven),
    /// It goes on as a part of another run, with what a person has given that one since.
    AsChild(Box<Place>),
}

/// Returns a name for a new run: the random end of a fresh UUIDv7.
pub fn new_run_id() -> RunId {
    let uuid = uuid::Uuid::now_v7();
    RunId::new(uuid.simple().to_string()[20..].to_owned())
}

impl Site {
    /// Starts a run and drives it to its end.
    ///
    /// # Errors
    ///
    /// When the log cannot be made, the workspace is taken, or the store fails later.
    pub async fn start(&self, started: RunStarted) -> Result<Ended, Error> {
        let _workspace = self.take_workspace(Path::new(&started.workspace), &started.run)?;
        let log = match self.folder(&started.run) {
            Some(folder) => RunLog::create(&folder)?,
            None => RunLog::in_memory(),
        };
        let mut runner = self.runner(Arc::new(log), &started, RunState::default());
        runner.record(Observation::RunStarted(Box::new(started)))?;
        self.index(runner.state());
        finish(runner).await
    }

    /// Takes a run up again, of which [`mend`](Self::mend) has opened the log, and drives it to its end.
    ///
    /// What is left of a supervisor that died is ended first; what was in flight is recorded as lost.
    ///
    /// # Errors
    ///
    /// When somebody works in the workspace, the state does not admit it, files were changed since the run came
    /// to rest and that is not accepted, or the store fails later.
    pub async fn take_up(&self, log: Arc<RunLog>, how: TakeUp, accept_drift: bool) -> Result<Ended, Error> {
        let (mut runner, _workspace) = self.take_over(log)?;
        let begins_anew = runner.begins_anew(accept_drift)?;
        let processes_ended = process::end_leftovers(&runner.mark());
        runner.record_abandoned()?;
        let order = match how {
            TakeUp::Resume(order) => Observation::RunResumed(order),
            TakeUp::Answer(answer) => Observation::AnswerGiven(answer),
            TakeUp::AsChild(place) => as_child(runner.state(), *place),
        };
        // Nothing is said of the workspace where the run does not go on.
        runner.state().admits(&order).map_err(crate::Error::from)?;
        // Without the earlier snapshots there is nothing to compare with; a warning says so.
        let Found { left, now } = self.found(&runner, accept_drift || begins_anew)?;
        runner.record(order)?;
        // While the attempt still counts as under way: if this supervisor dies too, the next one must not take for a
        // person's what is the attempt's.
        let resumed = |snapshot| {
            Observation::SnapshotTaken(SnapshotTaken { snapshot, moment: SnapshotMoment::Resumed })
        };
        if let Some(left) = left {
            runner.record(resumed(left))?;
        }
        runner.record_lost(processes_ended)?;
        if let Some(now) = now {
            runner.record(resumed(now))?;
        } else if begins_anew && let Ok(Some(now)) = runner.look() {
            // `found` has warned if the workspace cannot be read.
            runner.record(resumed(now))?;
        }
        if begins_anew {
            tracing::warn!(
                "the snapshots of what this run did before are not here: no undo, diff or scope reaches further back than now"
            );
            runner.rebase();
        }
        finish(runner).await
    }

    /// Makes the files of the workspace what they were at a snapshot of a run, and records that. What others than the run
    /// changed stays, unless the order takes all. `agree` gets the plan before anything is changed, and whether the person
    /// was asked is what it returns; `None` declines.
    ///
    /// # Errors
    ///
    /// Another process works in the workspace, the snapshot is gone, the plan is declined, or the store fails.
    pub fn undo(
        &self,
        log: Arc<RunLog>,
        order: &Order<'_>,
        agree: impl FnOnce(&Planned) -> Option<Asked>,
    ) -> Result<Undone, Error> {
        let (mut runner, _workspace) = self.take_over(log)?;
        let _left_of_a_dead_supervisor = process::end_leftovers(&runner.mark());
        runner.record_abandoned()?;
        let started = runner.state().started().cloned();
        let (Some(project), Some(started)) = (&self.project, started) else {
            return Err(crate::Error::Rejected(Rejection::NotStarted).into());
        };
        let snapshots = snapshots::open(project, Path::new(&started.workspace), &started)?;
        let (first, last) =
            (runner.state().first_snapshot().cloned(), runner.state().last_snapshot().cloned());
        let keeper = Keeper::new(snapshots, &started);
        keeper.find(order.snapshot)?;
        // Kept first, so that nothing can get lost from now on.
        let (now, made_readable) = keeper.take_readable(first.as_ref(), last.as_ref(), order.snapshot)?;
        let planned = self.plan_undo(&runner, &keeper, order, &now)?;
        match agree(&planned) {
            None => return Err(Error::Declined),
            Some(Asked::No) => {}
            Some(Asked::Yes) => {
                // The person took a while, and may have worked meanwhile.
                let files = keeper.drift(&now, &keeper.take(first.as_ref(), Some(&now))?)?;
                if !files.is_empty() {
                    return Err(Error::ChangedMeanwhile { files });
                }
            }
        }
        let mut record = |snapshot: Snapshot, moment| {
            let taken = SnapshotTaken { snapshot: Box::new(snapshot), moment };
            runner.record(Observation::SnapshotTaken(taken)).map(|()| runner.state().version())
        };
        let before = record(now, SnapshotMoment::BeforeUndo)?;
        let git = if planned.keeps_git { Git::Leave } else { order.git };
        let restored = keeper.restore(order.snapshot, git, &planned.files)?;
        // By now the files are what they are: whoever has asked for that is told so, whatever becomes of the record.
        let taken = keeper.take(first.as_ref(), None).map_err(Error::from);
        let recorded = taken.and_then(|now| Ok(record(now, SnapshotMoment::Undone(order.seq))?));
        runner.save_checkpoint();
        Ok(Undone { before, planned, restored, made_readable, unrecorded: recorded.err() })
    }

    /// Plans an undo. A difference to the last snapshot belongs to others than the run, unless the run may have been at work
    /// since.
    fn plan_undo(
        &self,
        runner: &Runner<Machine>,
        keeper: &Keeper,
        order: &Order<'_>,
        now: &Snapshot,
    ) -> Result<Planned, Error> {
        let state = runner.state();
        let (mut planned, mut gaps) = (Planned::default(), order.gaps.clone());
        // A workspace without files has nothing that could get lost.
        let is_known = |last: &&Snapshot| {
            !order.is_unfinished && !state.may_have_changed_workspace() && (now.files > 0 || last.files == 0)
        };
        if let Some(last) = state.last_snapshot().filter(is_known) {
            planned.look_at_repository(keeper, order, last, now);
            // A child run that was resumed by itself left work that this log does not have.
            let children = self.left_by_children(state).into_iter().filter(|left| keeper.has(left));
            let mut left = last.clone();
            for of_child in children {
                if keeper.drift(&of_child, now)?.is_empty() {
                    left = of_child;
                }
            }
            if left.id != now.id {
                gaps.push(Gap { left: Arc::new(left), found: Arc::new(now.clone()) });
            }
        }
        let files = keeper.plan(order.snapshot, now, &gaps)?;
        planned.files = if order.takes_all { files.with_all() } else { files };
        planned.look_for_links(&runner.world.workspace);
        Ok(planned)
    }

    /// Opens the log of a run, and brings its store and its mirror together. Damage that was mended is recorded.
    ///
    /// # Errors
    ///
    /// When the log cannot be opened, or somebody works on it.
    pub fn mend(&self, folder: &RunFolder) -> Result<(Arc<RunLog>, Opening), Error> {
        let (log, opening) = RunLog::open_for_writing(folder)?;
        Ok((self.record_repairs(log, &opening)?, opening))
    }

    /// Writes the store of a run anew from its mirror, and records that. The old store is kept aside.
    ///
    /// # Errors
    ///
    /// When the mirror is not whole, or somebody works on the run; nothing is changed then.
    pub fn rebuild_store(&self, folder: &RunFolder) -> Result<Opening, Error> {
        let (log, opening) = RunLog::rebuild_store(folder)?;
        self.record_repairs(log, &opening)?;
        Ok(opening)
    }

    /// Records the damage that was mended when a log was opened.
    fn record_repairs(&self, log: RunLog, opening: &Opening) -> Result<Arc<RunLog>, Error> {
        let log = Arc::new(log);
        let repaired: Vec<&Finding> = opening.findings.iter().filter(|it| it.concerns_events()).collect();
        if repaired.is_empty() {
            return Ok(log);
        }
        let mut runner = self.runner_of(Arc::clone(&log))?;
        for finding in &repaired {
            runner.record(Observation::LogRepaired(LogRepaired { what: finding.to_string() }))?;
        }
        // A checkpoint may be the only one that knew of what is lost. That is recorded now, and said once.
        runner.save_checkpoint();
        Ok(log)
    }

    /// Makes sure that a workspace is where it was, and not where a link leads now.
    ///
    /// # Errors
    ///
    /// It is [elsewhere](Error::LeadsElsewhere).
    pub fn finds_in_place(&self, workspace: &Path) -> Result<(), Error> {
        let state = self.project.as_ref().map(Project::path);
        match workspace::leads_elsewhere(workspace, state) {
            Some(to) => Err(Error::LeadsElsewhere { workspace: workspace.to_owned(), to }),
            None => Ok(()),
        }
    }

    /// Goes on with a log that was opened, with the right to work in the workspace.
    fn take_over(&self, log: Arc<RunLog>) -> Result<(Runner<Machine>, Option<Lease>), Error> {
        let runner = self.runner_of(log)?;
        self.finds_in_place(&runner.world.workspace)?;
        let workspace = self.take_workspace(&runner.world.workspace, &runner.world.run)?;
        Ok((runner, workspace))
    }

    fn runner_of(&self, log: Arc<RunLog>) -> Result<Runner<Machine>, Error> {
        let state = fold(&log)?;
        let Some(started) = state.started().cloned() else {
            return Err(crate::Error::Rejected(Rejection::NotStarted).into());
        };
        Ok(self.runner(log, &started, state))
    }

    /// Returns what the workspace has become since the last snapshot: what a lost attempt has left, and what a person has
    /// made of it since the run came to rest, if that is accepted.
    fn found(&self, runner: &Runner<Machine>, accepted: bool) -> Result<Found, Error> {
        let state = runner.state();
        let may_have_changed = state.may_have_changed_workspace();
        // What a child run has left without anybody looking is said by its parent.
        let is_known = self.parent.is_none() || !may_have_changed;
        let Some(last) = state.last_snapshot().filter(|_| is_known) else { return Ok(Found::default()) };
        let now = match runner.look() {
            Ok(now) => now,
            Err(error) if accepted => {
                let why = with_causes(&error);
                tracing::warn!("nobody knows what has changed in the workspace since the run stopped: {why}");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let Some(now) = now else { return Ok(Found::default()) };
        if !may_have_changed {
            return Ok(Found { left: None, now: self.edits(runner, last, now, accepted)? });
        }
        // What a lost attempt left is nobody's edit, nor what was left when no snapshot could be taken.
        // Only a warning depends on it.
        let files = runner.drift(last, &now).unwrap_or_default();
        if !files.is_empty() {
            let files = snapshots::named(&files);
            match state.in_flight().next() {
                Some(_) => tracing::warn!(
                    "what changed since the lost attempt began counts as its work, whoever changed it: {files}"
                ),
                None => tracing::warn!(
                    "nobody could look at the workspace when the run came to rest, so what changed counts as its work: {files}"
                ),
            }
        }
        Ok(Found { left: Some(now).filter(|now| **now != *last), now: None })
    }

    /// Returns what a person has made of the workspace since it `was` so, if that is accepted; `None` if nothing.
    fn edits(
        &self,
        runner: &Runner<Machine>,
        was: &Snapshot,
        now: Box<Snapshot>,
        accepted: bool,
    ) -> Result<Option<Box<Snapshot>>, Error> {
        let state = runner.state();
        let drift = |was: &Snapshot| match runner.drift(was, &now) {
            // Whatever differs is accepted.
            Err(_) if accepted => Ok(Vec::new()),
            files => files,
        };
        let mut files = drift(was)?;
        // That a person edits the workflow file is said elsewhere, and changes nothing here.
        let of_workflow = state.started().and_then(|started| started.workflow_file.clone());
        files.retain(|file| !of_workflow.as_ref().is_some_and(|path| Path::new(path).ends_with(file)));
        // A child run that was taken up by itself has left what it left.
        let mut is_of_children = false;
        if !files.is_empty() {
            let is_here = |left: &Snapshot| runner.world.snapshots.as_ref().is_some_and(|it| it.has(left));
            for left in self.left_by_children(state).into_iter().filter(is_here) {
                let others = drift(&left)?;
                files.retain(|file| others.contains(file));
            }
            is_of_children = files.is_empty();
        }
        if !files.is_empty() && !accepted {
            return Err(Error::Drift { files });
        }
        // Whatever a person changed is recorded as a person's, also where it does not count: the workflow file, ignored files.
        let is_of_person = !files.is_empty() || !is_of_children;
        Ok(Some(now).filter(|now| is_of_person && now.id != was.id))
    }

    /// Returns the workspace as the last child runs of a run left it, and theirs, as far as that can be read.
    fn left_by_children(&self, state: &RunState) -> Vec<Snapshot> {
        let children = state.steps().filter_map(|(_, at)| at.calls.child.as_ref());
        let folders = children.filter_map(|child| self.folder(&child.run));
        let states = folders.filter_map(|folder| {
            let mut events = RunLog::open_for_reading(&folder).ok()?.read(Seq(1)).ok()?;
            events.try_fold(RunState::default(), |state, event| event.map(|it| state.evolve(&it))).ok()
        });
        let left = |state: RunState| {
            let own = state.last_snapshot().cloned();
            own.into_iter().chain(self.left_by_children(&state)).collect::<Vec<_>>()
        };
        states.flat_map(left).collect()
    }

    /// Adds a run to the index, with what was recorded of it: secrets are taken out by then.
    fn index(&self, state: &RunState) {
        let (Some(project), Some(started)) = (&self.project, state.started()) else { return };
        let entry = RunEntry {
            run: started.run.clone(),
            started_at: state.last_at(),
            workflow: started.workflow.name.clone(),
            workspace: started.workspace.clone(),
            trouble: None,
        };
        project.record(&entry);
    }

    pub(crate) fn folder(&self, run: &RunId) -> Option<RunFolder> {
        let project = self.project.as_ref()?;
        Some(project.run(run))
    }

    fn runner(&self, log: Arc<RunLog>, started: &RunStarted, state: RunState) -> Runner<Machine> {
        let artifacts = match log.folder() {
            Some(folder) => folder.artifacts(),
            None => std::env::temp_dir().join(format!("unstuck-{}", started.run)),
        };
        let kicks = Kicks::new(&artifacts);
        let clock = Clock::start(state.last_at());
        let machine = Machine {
            run: started.run.clone(),
            workspace: PathBuf::from(&started.workspace),
            state_folder: self.project.as_ref().map(|project| project.path().to_owned()),
            artifacts,
            blobs: Arc::clone(log.blobs()),
            redactor: self.redactor.clone(),
            watcher: Arc::clone(&self.watcher),
            children: Arc::new(self.clone()),
            baselines: self
                .project
                .clone()
                .filter(|_| self.reuse_baseline)
                .map(|project| Baselines::new(project, started.run.clone())),
            snapshots: self.keeper(started),
            branch: self.branch.clone(),
            branch_lock: self.branch_lock.clone(),
            protected_branches: self.protected_branches.clone(),
            allow_protected_branch: self.allow_protected_branch,
            parent: self.parent.clone(),
            parent_mark: self.parent_mark.clone(),
            verbose: self.verbose,
            grace: self.grace,
            kicks,
            clock,
        };
        Runner::new(log, Arc::new(machine), state, clock, self.interrupts.clone())
    }

    fn keeper(&self, started: &RunStarted) -> Option<Arc<Keeper>> {
        let project = self.project.as_ref()?;
        match snapshots::open(project, Path::new(&started.workspace), started) {
            Ok(snapshots) => Some(Arc::new(Keeper::new(snapshots, started))),
            Err(error) => {
                let why = with_causes(&error);
                tracing::warn!("no snapshots of the workspace are taken, so nothing can be undone: {why}");
                None
            }
        }
    }
}

impl Runner<Machine> {
    /// Removes prompts and scripts of a run whose log is gone with the process.
    fn remove_what_memory_does_not_keep(&self) {
        if self.log.folder().is_none() {
            let _may_be_gone = std::fs::remove_dir_all(&self.world.artifacts);
        }
    }

    /// Returns the text by which the processes of this run are found again.
    fn mark(&self) -> String {
        self.world.mark()
    }

    /// Finds out, before anything is recorded, whether there is still what the run's work is compared with. Returns whether it
    /// is to be compared with what is there now instead.
    fn begins_anew(&self, is_accepted: bool) -> Result<bool, Error> {
        let keeper = self.world.snapshots.as_ref();
        let is_last_known =
            keeper.zip(self.state.last_snapshot()).is_some_and(|(keeper, last)| keeper.has(last));
        let is_imported = self.log.folder().is_some_and(|folder| exchange::imported_up_to(folder) > Seq(0));
        if is_imported && !is_last_known && !is_accepted {
            let (run, workspace) = (self.world.run.clone(), self.world.workspace.clone());
            return Err(Error::Imported { run, workspace });
        }
        let Some(keeper) = keeper else { return Ok(false) };
        if !self.has_bases(keeper)
            && let Some(accepted) = self.accepted(keeper)?
        {
            keeper.rebase(accepted);
        }
        let has_bases = self.has_bases(keeper);
        if !has_bases && !is_accepted {
            return Err(Error::BaseGone);
        }
        let is_last_here = self.state.last_snapshot().is_none_or(|last| keeper.has(last));
        Ok(!has_bases || !is_last_here)
    }

    fn has_bases(&self, keeper: &Keeper) -> bool {
        let has_rules = |step: &Step| {
            step.convergence.as_ref().is_some_and(unstuck_core::workflow::Convergence::has_rules)
        };
        let is_open = |at: &StepState| at.phase.end() != Some(&StepEnd::Complete);
        let mut ruled = self.state.steps().filter(|(step, at)| has_rules(step) && is_open(at));
        ruled.all(|(_, at)| match &at.workspace.began_with {
            Some(of_step) => keeper.base_of(of_step, &at.workspace.gaps).is_some(),
            None => true,
        })
    }

    /// Returns what a person has accepted when the run was taken up without its snapshots: the first such that is here.
    fn accepted(&self, keeper: &Keeper) -> Result<Option<Snapshot>, Error> {
        for event in self.log.read(Seq(1))? {
            if let Fact::Observed(Observation::SnapshotTaken(taken)) = event?.fact
                && taken.moment == SnapshotMoment::Resumed
                && keeper.has(&taken.snapshot)
            {
                return Ok(Some(*taken.snapshot));
            }
        }
        Ok(None)
    }

    /// Compares the work of steps from now on with the last snapshot, where those of before are gone.
    fn rebase(&self) {
        if let (Some(keeper), Some(last)) = (&self.world.snapshots, self.state.last_snapshot()) {
            keeper.rebase(last.clone());
        }
    }

    /// Takes a snapshot of the workspace, if any are taken.
    fn look(&self) -> Result<Option<Box<Snapshot>>, snapshot::Error> {
        let keeper = self.world.snapshots.as_ref().filter(|_| self.world.led_away().is_none());
        let look =
            |keeper: &Arc<Keeper>| keeper.take(self.state.first_snapshot(), self.state.last_snapshot());
        keeper.map(look).transpose().map(|seen| seen.map(Box::new))
    }

    /// Records what was left when the supervisor before this one died, if its guard could look: before anything else, so that
    /// what a person changed since is a person's, whatever becomes of this supervisor.
    fn record_abandoned(&mut self) -> Result<(), crate::Error> {
        if !self.state.may_have_changed_workspace() {
            return Ok(());
        }
        let (Some(folder), Some(keeper)) = (self.log.folder(), self.world.snapshots.as_deref()) else {
            return Ok(());
        };
        let Some(Note { gone_at, snapshot }) = abandoned::noted(folder, self.log.head(), keeper) else {
            return Ok(());
        };
        let before = self.state.last_snapshot();
        // Only a warning depends on it.
        let mut files = before.and_then(|before| self.drift(before, &snapshot).ok()).unwrap_or_default();
        files.retain(|file| changed_at(&self.world.workspace.join(file)) >= Some(gone_at));
        if !files.is_empty() {
            let files = snapshots::named(&files);
            tracing::warn!(
                "what changed while the guard of the lost attempt was at work counts as its work, whoever changed it: {files}"
            );
        }
        let moment = SnapshotMoment::Abandoned;
        self.record(Observation::SnapshotTaken(SnapshotTaken { snapshot, moment }))
    }

    /// Returns the files that differ between two snapshots; none where none are taken.
    fn drift(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<String>, snapshot::Error> {
        self.world.snapshots.as_ref().map_or(Ok(Vec::new()), |keeper| keeper.drift(before, after))
    }
}

/// Returns when what a path names was changed; `None` where nothing tells.
fn changed_at(path: &Path) -> Option<SystemTime> {
    path.symlink_metadata().and_then(|it| it.modified()).ok()
}

/// Folds a log: from its checkpoint if it has one, and every record checked.
///
/// # Errors
///
/// When a record cannot be read, or is not the one that was written.
pub fn fold(log: &RunLog) -> Result<RunState, Error> {
    read_on(log).map_err(|error| match log.folder() {
        // What keeps it from being gone on with, and what mends that.
        Some(folder) => OpenError::from_read(folder, error).into(),
        None => error.into(),
    })
}

fn read_on(log: &RunLog) -> Result<RunState, ReadError> {
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

async fn finish(mut runner: Runner<Machine>) -> Result<Ended, Error> {
    let outcome = runner.drive().await?;
    // What a person changes from now on is to be told from what the run has left. A check is not looked at when it
    // ends, so that it changed nothing has to be recorded, too. What it has changed itself belongs to what the run has.
    let seen = runner.look().unwrap_or_else(|error| {
        let why = with_causes(&error);
        tracing::warn!("nobody could look at the workspace when the run came to rest: {why}");
        None
    });
    if let Some(snapshot) = seen
        && (runner.state().may_have_changed_workspace() || runner.state().last_snapshot() != Some(&snapshot))
    {
        let taken = SnapshotTaken { snapshot, moment: SnapshotMoment::Ended };
        runner.record(Observation::SnapshotTaken(taken))?;
    }
    runner.save_checkpoint();
    runner.remove_what_memory_does_not_keep();
    Ok(Ended { outcome, state: runner.into_state() })
}

/// Returns the version of this program, as it is recorded.
pub fn program() -> String {
    format!("unstuck {}", env!("CARGO_PKG_VERSION"))
}
