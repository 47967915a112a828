//! Takes a run up again: where it stopped, after an answer, or as a part of another run.

use std::path::Path;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::event::{AnswerGiven, Fact, RunResumed, SnapshotMoment, SnapshotTaken, StepEnd};
use unstuck_core::id::Seq;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{ConvergencePolicy, Step};
use unstuck_files::error::with_causes;
use unstuck_process as process;
use unstuck_store::event_store::EventStore as _;
use unstuck_store::run_log::RunLog;

use super::run_environment::{FinishedRun, LifecycleError, RunEnvironment};
use super::start::finish;
use super::subworkflow_resume::resume_observation;
use crate::host::{ChildContext, Host};
use crate::repository_changes;
use crate::runner::Runner;
use crate::snapshots::RunSnapshots;

/// Changes in the workspace of a resumed run that are recorded.
#[derive(Default)]
struct WorkspaceState {
    /// Result of a lost attempt.
    left: Option<Box<Snapshot>>,
    /// Workspace with the user's changes.
    now: Option<Box<Snapshot>>,
}

/// How a run is resumed.
#[derive(Clone, Debug)]
pub enum ResumeKind {
    /// It continues where it stopped.
    Resume(Box<RunResumed>),
    /// A person answered what it needed.
    Answer(AnswerGiven),
    /// It continues as a part of another run, with everything that the user gave that run since.
    AsChild(Box<ChildContext>),
}

impl RunEnvironment {
    /// Resumes a run whose log was opened by [`Self::repair`], and drives it to its end.
    ///
    /// First ends the processes of a supervisor that died. Work in flight is recorded as lost.
    ///
    /// # Errors
    ///
    /// If another run works in the workspace, the state does not admit the resume, files changed since the run stopped
    /// and that is not accepted, or the store fails later.
    pub async fn resume(
        &self,
        log: Arc<RunLog>,
        how: ResumeKind,
        accept_drift: bool,
    ) -> Result<FinishedRun, LifecycleError> {
        let moved_to = match &how {
            ResumeKind::Resume(order) => order.workspace.clone(),
            ResumeKind::AsChild(place) => Some(place.workspace.clone()),
            ResumeKind::Answer(_) => None,
        };
        let (mut runner, _workspace) = self.take_over(log, moved_to.as_deref())?;
        let begins_anew = runner.needs_new_base(accept_drift)?;
        let processes_ended = process::end_leftovers(&runner.mark());
        runner.record_abandoned()?;
        let order = match how {
            ResumeKind::Resume(order) => Observation::RunResumed(*order),
            ResumeKind::Answer(answer) => Observation::AnswerGiven(answer),
            ResumeKind::AsChild(place) => resume_observation(runner.state(), *place),
        };
        // Changes are not recorded if the run cannot continue.
        runner.state().check_allowed(&order).map_err(crate::RunnerError::from)?;
        // Without the earlier snapshots there is nothing to compare with; a warning says so.
        let WorkspaceState { left, now } = self.inspect(&runner, accept_drift || begins_anew)?;
        let worked_in = runner.state().started().map(|started| started.workspace.clone()).unwrap_or_default();
        runner.record(order)?;
        if matches!(&runner.state().started(), Some(now) if now.workspace != worked_in) {
            // The moment of its start stays.
            let known =
                self.store.runs().unwrap_or_default().into_iter().find(|entry| entry.run == runner.host.run);
            let started_at = known.map_or(runner.state().last_at(), |known| known.started_at);
            self.index(runner.state(), started_at);
        }
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
        } else if begins_anew && let Ok(Some(now)) = runner.take_snapshot() {
            // `inspect` has warned if the workspace cannot be read.
            runner.record(resumed(now))?;
        }
        if begins_anew {
            tracing::warn!(
                "the snapshots of what this run did before are not here: no undo, diff or scope reaches further back than now"
            );
            runner.reset_base();
        }
        finish(runner).await
    }

    /// Returns the changes since the last snapshot: the result of a lost attempt, and, if accepted, the changes that
    /// the user made since the run stopped.
    fn inspect(&self, runner: &Runner<Host>, accepted: bool) -> Result<WorkspaceState, LifecycleError> {
        let state = runner.state();
        let may_have_changed = state.may_have_changed_workspace();
        // Changes that a child run left without a snapshot are reported by its parent.
        let is_known = self.parent.is_none() || !may_have_changed;
        let Some(last) = state.last_snapshot().filter(|_| is_known) else {
            return Ok(WorkspaceState::default());
        };
        let now = match runner.take_snapshot() {
            Ok(now) => now,
            Err(error) if accepted => {
                let why = with_causes(&error);
                tracing::warn!("nobody knows what has changed in the workspace since the run stopped: {why}");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let Some(now) = now else { return Ok(WorkspaceState::default()) };
        if !may_have_changed {
            return Ok(WorkspaceState { left: None, now: self.edits(runner, last, now, accepted)? });
        }
        // Files that a lost attempt left are not the user's changes, nor are files left while no snapshot could be
        // taken. Only a warning depends on it.
        let files = runner.drift(last, &now).unwrap_or_default();
        if !files.is_empty() {
            let files = repository_changes::file_list(&files);
            match state.in_flight().next() {
                Some(_) => tracing::warn!(
                    "what changed since the lost attempt began counts as its work, whoever changed it: {files}"
                ),
                None => tracing::warn!(
                    "nobody could look at the workspace when the run came to rest, so what changed counts as its work: {files}"
                ),
            }
        }
        Ok(WorkspaceState { left: Some(now).filter(|now| **now != *last), now: None })
    }

    /// Returns what a person has made of the workspace since it `was` so, if that is accepted; `None` if nothing.
    fn edits(
        &self,
        runner: &Runner<Host>,
        was: &Snapshot,
        now: Box<Snapshot>,
        accepted: bool,
    ) -> Result<Option<Box<Snapshot>>, LifecycleError> {
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
            let is_here =
                |left: &Snapshot| runner.host.snapshots.as_ref().is_some_and(|keeper| keeper.has(left));
            for left in self.child_snapshots(state).into_iter().filter(is_here) {
                let others = drift(&left)?;
                files.retain(|file| others.contains(file));
            }
            is_of_children = files.is_empty();
        }
        if !files.is_empty() && !accepted {
            return Err(LifecycleError::Drift { files });
        }
        // Whatever a person changed is recorded as a person's, also where it does not count: the workflow file, ignored files.
        let is_of_person = !files.is_empty() || !is_of_children;
        Ok(Some(now).filter(|now| is_of_person && now.id != was.id))
    }
}

impl Runner<Host> {
    /// Finds out, before anything is recorded, whether there is still what the run's work is compared with. Returns whether it
    /// is to be compared with what is there now instead.
    fn needs_new_base(&self, is_accepted: bool) -> Result<bool, LifecycleError> {
        let keeper = self.host.snapshots.as_ref();
        let is_last_known =
            keeper.zip(self.state.last_snapshot()).is_some_and(|(keeper, last)| keeper.has(last));
        let is_imported = self.log.imported_up_to() > Seq(0);
        if is_imported && !is_last_known && !is_accepted {
            let (run, workspace) = (self.host.run.clone(), self.host.workspace.clone());
            return Err(LifecycleError::Imported { run, workspace });
        }
        let Some(keeper) = keeper else { return Ok(false) };
        if !self.has_bases(keeper)
            && let Some(accepted) = self.accept(keeper)?
        {
            keeper.reset_base(accepted);
        }
        let has_bases = self.has_bases(keeper);
        if !has_bases && !is_accepted {
            return Err(LifecycleError::BaseGone);
        }
        let is_last_here = self.state.last_snapshot().is_none_or(|last| keeper.has(last));
        Ok(!has_bases || !is_last_here)
    }

    fn has_bases(&self, keeper: &RunSnapshots) -> bool {
        let has_rules = |step: &Step| step.convergence.as_ref().is_some_and(ConvergencePolicy::has_rules);
        let is_open = |at: &StepState| at.phase.end() != Some(&StepEnd::Complete);
        let mut ruled = self.state.steps().filter(|(step, at)| has_rules(step) && is_open(at));
        ruled.all(|(_, at)| match &at.workspace.began_with {
            Some(of_step) => keeper.base_of(of_step, &at.workspace.gaps).is_some(),
            None => true,
        })
    }

    /// Returns what a person has accepted when the run was taken up without its snapshots: the first such that is here.
    fn accept(&self, keeper: &RunSnapshots) -> Result<Option<Snapshot>, LifecycleError> {
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

    /// Compares the work of steps with the last snapshot from now on, if their own snapshots are gone.
    fn reset_base(&self) {
        if let (Some(keeper), Some(last)) = (&self.host.snapshots, self.state.last_snapshot()) {
            keeper.reset_base(last.clone());
        }
    }
}
