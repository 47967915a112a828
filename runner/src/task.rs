//! Data of a turn from its start to its end, and the tasks that all turns share.

use std::sync::Arc;

use unstuck_core::effect::Turn;
use unstuck_core::event::{CheckFinished, DecisionFile, Exit, Outcome, RunOutcome, WorkerFinished};
use unstuck_core::id::{Blob, CheckId};
use unstuck_core::workflow::Step;
use unstuck_core::{RunState, TurnId};
use unstuck_files::private_dir::PrivateDir;
use unstuck_process::StopReceiver;
use unstuck_workspace::artifacts::{self, IsStopped};

use crate::artifact_copies::{self, CopyResult};
use crate::branch_guard::BranchGuard;
use crate::host::Host;

/// A turn that was started.
pub(crate) struct TurnTask {
    pub(crate) step: Step,
    pub(crate) due: TurnId,
    turn: Turn,
    /// The id that its verdict carries.
    check_id: Option<CheckId>,
    /// Why the workspace does not let it begin.
    pub(crate) in_the_way: Option<String>,
    /// Notes for the user, listed before the ones from the end of the turn.
    pub(crate) notes: Vec<String>,
    /// An older decision file, kept as a blob.
    pub(crate) moved_aside: Option<Blob>,
    context: PrivateDir,
}

impl TurnTask {
    pub(crate) fn new(
        host: &Host,
        state: &RunState,
        (turn, due): (Turn, &TurnId),
        check_id: Option<CheckId>,
    ) -> Self {
        let (step, _) = state.step(&due.step).expect("effects name steps of the workflow");
        Self {
            step: step.clone(),
            due: due.clone(),
            turn,
            check_id,
            in_the_way: host.link_error(),
            notes: Vec::new(),
            moved_aside: None,
            context: host.context(state),
        }
    }

    /// Returns the folder of the artifacts of the run.
    pub(crate) fn context(&self) -> &PrivateDir {
        &self.context
    }

    /// Runs a check, unless something is in its way.
    pub(crate) async fn check<T: Default>(
        &mut self,
        host: &Host,
        running: impl Future<Output = (Outcome, T)>,
    ) -> (Outcome, T) {
        let (mut outcome, found) = match self.in_the_way.take() {
            Some(why) => (failed_to_run(why), T::default()),
            None => running.await,
        };
        self.add_notes(host, &mut outcome);
        (outcome, found)
    }

    /// Runs a worker, unless something is in its way, with its inputs and on its branch.
    pub(crate) async fn work(
        &mut self,
        host: &Host,
        stop: StopReceiver,
        running: impl Future<Output = Outcome>,
    ) -> Outcome {
        let lock = host.branch_lock.as_ref();
        let held = lock.map_or(Ok(()), BranchGuard::check);
        let copied = match self.in_the_way.take().or(held.err()) {
            Some(why) => CopyResult::Refused(why),
            None => self.copy_inputs(host, stop).await,
        };
        let mut outcome = match copied {
            CopyResult::Refused(why) => failed_to_run(why),
            CopyResult::Stopped => Outcome::from_exit(Exit::Stopped),
            CopyResult::Done(missing) => {
                self.notes.extend(missing);
                running.await
            }
        };
        self.add_notes(host, &mut outcome);
        if let (Some(lock), None) = (lock, &outcome.fatal) {
            outcome.fatal = lock.check_after(&self.step.id, is_success(&outcome)).err();
        }
        outcome
    }

    /// Adds what is known besides its end.
    fn add_notes(&mut self, host: &Host, outcome: &mut Outcome) {
        outcome.notes.splice(0..0, self.notes.drain(..));
        // Files read from here on could belong to another directory.
        outcome.fatal = outcome.fatal.take().or_else(|| host.link_error());
    }

    /// Copies the inputs, and returns which of them are missing.
    async fn copy_inputs(&self, host: &Host, stop: StopReceiver) -> CopyResult {
        if self.step.inputs.is_empty() {
            return CopyResult::Done(Vec::new());
        }
        let (workspace, inputs) = (host.workspace.clone(), self.step.inputs.clone());
        let copy = move |context: &PrivateDir, is_stopped: IsStopped<'_>| {
            artifacts::copy_inputs(&workspace, context, &inputs, is_stopped)
        };
        artifact_copies::run(self.context.clone(), self.context.clone(), stop, copy).await
    }

    /// Keeps the outputs of the step, if nothing more runs in this iteration.
    pub(crate) async fn collect_outputs(&self, host: &Arc<Host>, outcome: &mut Outcome, stop: StopReceiver) {
        let has_ended = outcome.fatal.is_none() && !outcome.exit.is_stopped();
        let is_done = has_ended && (self.turn.is_check() || is_success(outcome));
        if !self.turn.is_last(&self.step) || !is_done || self.step.outputs.is_empty() {
            return;
        }
        let (workspace, step) = (host.workspace.clone(), self.step.clone());
        let copy = move |context: &PrivateDir, is_stopped: IsStopped<'_>| {
            artifacts::collect_outputs(&workspace, context, &step.id, &step.outputs, is_stopped)
        };
        let own = self.context.join(self.step.id.as_str());
        artifact_copies::run(self.context.clone(), own, stop, copy).await.note(outcome);
    }

    /// Returns what is recorded of the end of a worker, with nothing seen yet.
    pub(crate) fn worker_finished(self, outcome: Outcome) -> WorkerFinished {
        let TurnId { step, iteration, attempt } = self.due;
        WorkerFinished {
            step,
            iteration,
            attempt,
            outcome,
            decision_file: DecisionFile::NotConfigured,
            changed: None,
            snapshot: None,
            drift: None,
            diffstat: None,
            answer: None,
            wants_repeat: false,
        }
    }

    /// Returns what is recorded of the end of a check, with nothing found yet.
    ///
    /// # Panics
    ///
    /// If the turn is not a check.
    pub(crate) fn check_finished(self, outcome: Outcome) -> CheckFinished {
        let TurnId { step, iteration, attempt } = self.due;
        CheckFinished {
            step,
            iteration,
            attempt,
            check_id: self.check_id.expect("a check has an id"),
            outcome,
            decision_file: DecisionFile::NotConfigured,
            commands: Vec::new(),
            drift: None,
            validators: Vec::new(),
            snapshot: None,
            stamp: None,
            answer: None,
            unsettled_after: None,
            changed: Vec::new(),
        }
    }
}

fn is_success(outcome: &Outcome) -> bool {
    match &outcome.exit {
        Exit::Code(code) => *code == 0,
        Exit::Settled => true,
        Exit::Child(child) => child.end == RunOutcome::Complete,
        _ => false,
    }
}

/// Returns the outcome of what could not be begun, or not be brought to its end.
pub(crate) fn failed_to_run(why: String) -> Outcome {
    Outcome { fatal: Some(why), ..Outcome::from_exit(Exit::Code(0)) }
}
