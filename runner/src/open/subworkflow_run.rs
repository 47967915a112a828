//! Runs that are a step of another run.

use std::sync::Arc;

use tokio::sync::watch;
use unstuck_core::event::{ChildEnd, ErrorClass, Exit, Outcome, Parent, RunOutcome, RunStarted, StepEnd};
use unstuck_core::id::RunId;
use unstuck_core::workflow::{OnFailure, Step, Subworkflow, Workflow};
use unstuck_core::{Rejection, RunState};
use unstuck_files::error::with_causes;
use unstuck_process::exhausted;
use unstuck_process::{StopReceiver, StopRequest};
use unstuck_workspace::environment::ParentFacts;

use super::resume::ResumeKind;
use super::run_environment::{FinishedRun, LifecycleError, RunEnvironment, program};
use crate::Interrupt;
use crate::host::{ChildContext, ChildFuture, SubworkflowRunner};

impl SubworkflowRunner for RunEnvironment {
    fn run(
        &self,
        parent: Parent,
        child: Subworkflow,
        place: ChildContext,
        stop: StopReceiver,
    ) -> ChildFuture {
        let (send, interrupts) = watch::channel(None);
        let site = Self {
            interrupts,
            listener: Arc::clone(&self.listener).child(&parent.step, child.event_prefix.as_deref()),
            parent_mark: Some(place.mark.clone()),
            // The parent looks at the branch before and after; a child may be what moves it.
            branch_lock: None,
            parent: Some(ParentFacts {
                step: parent.step.clone(),
                iteration: parent.iteration,
                run: parent.child(),
                event_prefix: child.event_prefix.clone(),
            }),
            ..self.clone()
        };
        Box::pin(async move {
            let relay = tokio::spawn(forward_stop(stop, send));
            let outcome = site.run_child(parent, child, place).await;
            relay.abort();
            outcome
        })
    }
}

impl RunEnvironment {
    async fn run_child(
        &self,
        parent: Parent,
        child: Subworkflow,
        place: ChildContext,
    ) -> Result<Outcome, String> {
        let run = parent.child();
        let ended = match self.store.has(&run) {
            true => self.resume_child(&run, place).await,
            false => {
                let (workflow, file) = (*child.workflow, child.path);
                self.start(start_event(run.clone(), parent, workflow, file, place)).await
            }
        };
        let ended = ended.map_err(|error| {
            match &error {
                LifecycleError::Run(crate::RunnerError::Exhausted { why, .. }) => exhausted::remember(why),
                error => {
                    exhausted::report(error);
                }
            }
            // A resume of the parent alone would find the same again.
            let is_of_log = matches!(error, LifecycleError::Open(_) | LifecycleError::Read(_));
            let see = if is_of_log { format!("; see: unstuck verify {run}") } else { String::new() };
            format!("the child run failed: {}{see}", with_causes(&error))
        })?;
        let fatal = fatal(&ended.state, &run).filter(|_| ended.outcome == RunOutcome::WorkerFailed);
        let end = ChildEnd { run, end: ended.outcome, spent: ended.state.spent() };
        let blocked = ended.state.blocked_steps().filter(|_| end.end == RunOutcome::Blocked);
        let needs: Vec<&str> = blocked.map(|(_, needs)| needs).collect();
        Ok(Outcome { answer: needs.join("; "), fatal, ..Outcome::from_exit(Exit::Child(end)) })
    }

    /// Resumes a child run with everything that the user gave its parent since. A child that cannot continue keeps its
    /// end, or now ends because it lacks money or time.
    async fn resume_child(&self, run: &RunId, place: ChildContext) -> Result<FinishedRun, LifecycleError> {
        let (log, _) = self.repair(run)?;
        let how = ResumeKind::AsChild(Box::new(place));
        let refused = match self.resume(Arc::clone(&log), how, true).await {
            Ok(ended) => return Ok(ended),
            Err(error) => error,
        };
        let LifecycleError::Run(crate::RunnerError::Rejected(why)) = &refused else { return Err(refused) };
        let lacks = match why {
            Rejection::NeedsMoney(_) => Some(RunOutcome::SpendLimit),
            Rejection::NeedsTime => Some(RunOutcome::TimeLimit),
            _ => None,
        };
        let state = self.fold(&log)?;
        let outcome = lacks.or(state.outcome()).ok_or(refused)?;
        Ok(FinishedRun { outcome, state })
    }
}

/// Says what kept a step of a child run from being done at all: then whatever depends on its parent's step cannot start.
fn fatal(state: &RunState, run: &RunId) -> Option<String> {
    let goes_on = |step: &Step| step.on_failure == OnFailure::Continue;
    state.steps().filter(|(step, _)| !goes_on(step)).find_map(|(step, at)| {
        let why = match at.phase.end()? {
            StepEnd::Fatal(why) => why.clone(),
            StepEnd::WorkerFailed(failure) if failure.class == ErrorClass::Fatal => failure.message.clone(),
            _ => return None,
        };
        Some(format!("step {} of child run {run}: {why}", step.id))
    })
}

fn start_event(
    run: RunId,
    parent: Parent,
    mut workflow: Workflow,
    file: String,
    place: ChildContext,
) -> RunStarted {
    workflow.timeout = workflow.timeout.at_most(place.limit);
    workflow.budget = workflow.budget.within(place.allowance);
    workflow.prices = workflow.prices.or(place.prices);
    workflow.context_dir = format!("{}/_subworkflows/{}/{run}", place.context_dir, parent.step);
    RunStarted {
        run,
        workflow,
        workflow_digest: None,
        workflow_file: Some(file),
        workspace: place.workspace,
        parent: Some(parent),
        program: program(),
        warnings: Vec::new(),
        secrets: place.secrets,
        forked_from: None,
    }
}

/// Passes a step's stop signal on to the run that carries it out.
async fn forward_stop(mut stop: StopReceiver, send: watch::Sender<Option<Interrupt>>) {
    while stop.changed().await.is_ok() {
        let how = *stop.borrow_and_update();
        if how != StopRequest::Run {
            send.send_replace(Some(Interrupt { signal: 15, now: how == StopRequest::StopNow }));
        }
    }
}
