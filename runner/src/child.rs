//! Runs that are a step of another run.

use std::sync::Arc;

use tokio::sync::watch;
use unstuck_core::event::{
    AnswerGiven, ChildEnd, ErrorClass, Exit, Outcome, Parent, RunOutcome, RunResumed, RunStarted, StepEnd,
};
use unstuck_core::id::{Digest, Millis, RunId};
use unstuck_core::workflow::{OnFailure, Step, Subworkflow, Workflow};
use unstuck_core::{Observation, Rejection, RunState};
use unstuck_files::error::with_causes;
use unstuck_process::exhausted;
use unstuck_process::{StopRequest, StopSignal};
use unstuck_store::run_folder::RunFolder;
use unstuck_store::run_log::RunLog;
use unstuck_workspace::environment::ParentFacts;

use crate::Interrupt;
use crate::launch::{Ended, Error, Site, TakeUp, fold, program};
use crate::machine::{ChildRun, Children, Place};

/// Returns the name of the run that carries out an iteration of a step: always the same, so that a
/// resumed parent finds its child.
pub(crate) fn child_run_id(parent: &Parent) -> RunId {
    let name = format!("{}/{}/{}", parent.run, parent.step, parent.iteration);
    RunId::new(Digest::of(name.as_bytes()).to_string()[..12].to_owned())
}

impl Children for Site {
    fn run(&self, parent: Parent, child: Subworkflow, place: Place, stop: StopSignal) -> ChildRun {
        let (send, interrupts) = watch::channel(None);
        let site = Self {
            interrupts,
            watcher: Arc::clone(&self.watcher).child(&parent.step, child.event_prefix.as_deref()),
            parent_mark: Some(place.mark.clone()),
            // The parent looks at the branch before and after; a child may be what moves it.
            branch_lock: None,
            parent: Some(ParentFacts {
                step: parent.step.clone(),
                iteration: parent.iteration,
                run: child_run_id(&parent),
                event_prefix: child.event_prefix.clone(),
            }),
            ..self.clone()
        };
        Box::pin(async move {
            let relay = tokio::spawn(relay(stop, send));
            let outcome = site.child(parent, child, place).await;
            relay.abort();
            outcome
        })
    }
}

impl Site {
    async fn child(&self, parent: Parent, child: Subworkflow, place: Place) -> Result<Outcome, String> {
        let run = child_run_id(&parent);
        let known = self.folder(&run).filter(RunLog::has_begun);
        let ended = match known {
            Some(folder) => self.child_again(&folder, place).await,
            None => {
                let (workflow, file) = (*child.workflow, child.path);
                self.start(child_started(run.clone(), parent, workflow, file, place)).await
            }
        };
        let ended = ended.map_err(|error| {
            match &error {
                Error::Run(crate::Error::Exhausted { why, .. }) => exhausted::remember(why),
                error => {
                    exhausted::report(error);
                }
            }
            // A resume of the parent alone would find the same again.
            let is_of_log = matches!(error, Error::Open(_) | Error::Read(_));
            let see = if is_of_log { format!("; see: unstuck verify {run}") } else { String::new() };
            format!("the child run failed: {}{see}", with_causes(&error))
        })?;
        let fatal = fatal(&ended.state, &run).filter(|_| ended.outcome == RunOutcome::WorkerFailed);
        let end = ChildEnd { run, end: ended.outcome, spent: ended.state.spent() };
        let blocked = ended.state.blocked().filter(|_| end.end == RunOutcome::Blocked);
        let needs: Vec<&str> = blocked.map(|(_, needs)| needs).collect();
        Ok(Outcome { answer: needs.join("; "), fatal, ..Outcome::of(Exit::Child(end)) })
    }

    /// Takes a child run up again, with what a person has given its parent since. One that cannot go on has ended as it
    /// did, or now for the money or the time that it lacks.
    async fn child_again(&self, folder: &RunFolder, place: Place) -> Result<Ended, Error> {
        let (log, _) = self.mend(folder)?;
        let how = TakeUp::AsChild(Box::new(place));
        let refused = match self.take_up(Arc::clone(&log), how, true).await {
            Ok(ended) => return Ok(ended),
            Err(error) => error,
        };
        let Error::Run(crate::Error::Rejected(why)) = &refused else { return Err(refused) };
        let lacks = match why {
            Rejection::NeedsMoney(_) => Some(RunOutcome::SpendLimit),
            Rejection::NeedsTime => Some(RunOutcome::TimeLimit),
            _ => None,
        };
        let state = fold(&log)?;
        let outcome = lacks.or(state.outcome()).ok_or(refused)?;
        Ok(Ended { outcome, state })
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

fn child_started(
    run: RunId,
    parent: Parent,
    mut workflow: Workflow,
    file: String,
    place: Place,
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
    }
}

/// Returns what a child run gets when it is taken up again: what a person has answered or given its parent, and not it yet.
pub(crate) fn as_child(state: &RunState, place: Place) -> Observation {
    match answer(state, &place) {
        Some(text) => Observation::AnswerGiven(AnswerGiven { text, steps: Vec::new() }),
        None => Observation::RunResumed(resumed(state, place)),
    }
}

/// Returns what a person has said since the parent knew that the child is blocked. A later question of it is another one.
fn answer(state: &RunState, place: &Place) -> Option<String> {
    place.hint.clone().filter(|_| ended_as_known(state, place, RunOutcome::Blocked))
}

/// Says whether a child has ended so, its parent knows of it, and nothing has happened to it since.
fn ended_as_known(state: &RunState, place: &Place, end: RunOutcome) -> bool {
    let is_known = place.last_end.is_some_and(|(known, at)| known == end && state.last_at() <= at);
    is_known && state.outcome() == Some(end)
}

fn resumed(state: &RunState, place: Place) -> RunResumed {
    let add_iterations = place.extra_iterations.saturating_sub(state.extra_iterations());
    let (given, had) = (place.extra_budget, state.extra_budget());
    let more = |given: Option<u64>, had: Option<u64>| given.unwrap_or(0).saturating_sub(had.unwrap_or(0));
    let add_micro_usd = more(given.micro_usd, had.micro_usd);
    let add_tokens = more(given.tokens, had.tokens);
    let add_time = place.extra_time.minus(state.extra_time());
    let is_given_more = add_iterations > 0 || add_micro_usd > 0 || add_tokens > 0 || add_time > Millis(0);
    RunResumed {
        add_iterations,
        add_time,
        // As a worker has the whole limit of its step for each attempt.
        renews_time: ended_as_known(state, &place, RunOutcome::TimeLimit),
        add_micro_usd,
        add_tokens,
        accept_unknown_cost: given.accepts_unknown,
        allowance: Some(place.allowance),
        hint: place.hint.filter(|_| is_given_more),
        program: program(),
        ..RunResumed::default()
    }
}

/// Passes a step's stop signal on to the run that carries it out.
async fn relay(mut stop: StopSignal, send: watch::Sender<Option<Interrupt>>) {
    while stop.changed().await.is_ok() {
        let how = *stop.borrow_and_update();
        if how != StopRequest::Run {
            send.send_replace(Some(Interrupt { signal: 15, now: how == StopRequest::StopNow }));
        }
    }
}
