//! Given a history, when something happens, then the core concludes this.

use super::findings::Findings;
use super::world::{Behavior, Script, World, run_started};
use crate::decide::Rejection;
use crate::event::{Conclusion, Event, Fact, Observation, RunOutcome, StepEnd};
use crate::evidence::Decision;
use crate::id::{Iteration, Stage, StepId};
use crate::state::RunState;
use crate::workflow::Workflow;

/// Something that happens to a run. An [`Observation`] and a recorded [`Event`] can be one, too.
#[derive(Clone, Debug)]
pub enum Happening {
    /// The worker of a step ends.
    WorkerFinished(StepId, Behavior),
    /// The check of a step ends.
    CheckFinished(StepId, Findings),
    /// Any other observation.
    Observed(Box<Observation>),
    /// An event of a log, which is not decided again.
    Recorded(Box<Event>),
}

impl From<Observation> for Happening {
    fn from(observation: Observation) -> Self {
        Self::Observed(Box::new(observation))
    }
}

impl From<Event> for Happening {
    fn from(event: Event) -> Self {
        Self::Recorded(Box::new(event))
    }
}

/// A run of this workflow starts.
pub fn started(workflow: Workflow) -> Happening {
    Observation::RunStarted(Box::new(run_started(workflow))).into()
}

/// The worker of a step starts, if it is due, and ends like this.
pub fn worker_finished(step: &str, behavior: impl Into<Behavior>) -> Happening {
    Happening::WorkerFinished(step.into(), behavior.into())
}

/// The check of a step starts, if it is due, and shows this.
pub fn check_finished(step: &str, findings: Findings) -> Happening {
    Happening::CheckFinished(step.into(), findings)
}

/// A run to which something has happened.
#[derive(Debug)]
pub struct Given(World);

/// Lets this happen, one after the other. Observations are decided; recorded events are taken as they are.
///
/// # Panics
///
/// When one of them is not possible where it stands.
pub fn given<H: Into<Happening>>(happenings: impl IntoIterator<Item = H>) -> Given {
    let mut world = World::new(Script::default());
    for happening in happenings {
        let happening = happening.into();
        if let Err(rejection) = let_happen(&mut world, &happening) {
            panic!("given: {happening:?} is not possible here: {rejection}");
        }
    }
    Given(world)
}

impl Given {
    /// Lets this happen.
    pub fn when(mut self, happening: impl Into<Happening>) -> Then {
        let conclusion = |event: Event| match event.fact {
            Fact::Concluded(conclusion) => Some(conclusion),
            Fact::Observed(_) => None,
        };
        let happened = let_happen(&mut self.0, &happening.into());
        let conclusions = happened.map(|batch| batch.into_iter().filter_map(conclusion).collect());
        Then { conclusions, state: self.0.state }
    }

    /// Returns the state of the run.
    pub fn state(&self) -> &RunState {
        &self.0.state
    }
}

/// The decision of the core.
#[derive(Debug)]
pub struct Then {
    /// Its conclusions in order, or the rejection.
    pub conclusions: Result<Vec<Conclusion>, Rejection>,
    /// The state after it.
    pub state: RunState,
}

impl Then {
    /// Compares what the core concluded.
    ///
    /// # Panics
    ///
    /// When it is something else.
    #[track_caller]
    pub fn then<E: Into<Expected>>(&self, expected: impl IntoIterator<Item = E>) {
        let expected: Vec<Expected> = expected.into_iter().map(Into::into).collect();
        let concluded = match &self.conclusions {
            Ok(concluded) => concluded,
            Err(rejection) => panic!("then: it was refused: {rejection}"),
        };
        let is_same = expected.len() == concluded.len();
        let fits = is_same && expected.iter().zip(concluded).all(|(expected, actual)| expected.fits(actual));
        assert!(fits, "then: expected {expected:#?}\nconcluded {concluded:#?}");
    }
}

/// A conclusion, by what tells it from others. A [`Conclusion`] is compared as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// A worker must run in this iteration.
    Work(StepId, Iteration),
    /// A check must run in this iteration.
    Check(StepId, Iteration),
    /// The step waits.
    Wait(StepId),
    /// The iteration is judged.
    Verdict(StepId, Decision),
    /// The stage rises to this.
    Stage(StepId, Stage),
    /// The step ends.
    StepEnd(StepId, StepEnd),
    /// No new work starts.
    Stopping(RunOutcome),
    /// The run ends.
    RunEnd(RunOutcome),
    /// Exactly this.
    Exactly(Box<Conclusion>),
}

impl From<Conclusion> for Expected {
    fn from(conclusion: Conclusion) -> Self {
        Self::Exactly(Box::new(conclusion))
    }
}

impl Expected {
    fn fits(&self, actual: &Conclusion) -> bool {
        if let Self::Exactly(expected) = self {
            return **expected == *actual;
        }
        let short = match actual.clone() {
            Conclusion::WorkRequested(work) => Self::Work(work.step, work.iteration),
            Conclusion::CheckRequested(check) => Self::Check(check.step, check.iteration),
            Conclusion::WaitRequested(wait) => Self::Wait(wait.step),
            Conclusion::VerdictReached(verdict) => Self::Verdict(verdict.step, verdict.decision),
            Conclusion::StageRaised(raised) => Self::Stage(raised.step, raised.to),
            Conclusion::StepEnded(ended) => Self::StepEnd(ended.step, ended.end),
            Conclusion::RunStopping(stopping) => Self::Stopping(stopping.why),
            Conclusion::RunEnded(ended) => Self::RunEnd(ended.outcome),
            Conclusion::FallbackTaken(_) => return false,
        };
        *self == short
    }
}

/// A worker must run.
pub fn work_requested(step: &str, iteration: u32) -> Expected {
    Expected::Work(step.into(), Iteration(iteration))
}

/// A check must run.
pub fn check_requested(step: &str, iteration: u32) -> Expected {
    Expected::Check(step.into(), Iteration(iteration))
}

/// An iteration is judged.
pub fn verdict(step: &str, decision: Decision) -> Expected {
    Expected::Verdict(step.into(), decision)
}

/// The stage rises to this.
pub fn stage_raised(step: &str, to: u32) -> Expected {
    Expected::Stage(step.into(), Stage(to))
}

/// A step ends.
pub fn step_ended(step: &str, end: StepEnd) -> Expected {
    Expected::StepEnd(step.into(), end)
}

/// The run ends.
pub fn run_ended(outcome: RunOutcome) -> Expected {
    Expected::RunEnd(outcome)
}

/// Lets this happen, and returns the last batch of events. Every event is saved and read again.
fn let_happen(world: &mut World, happening: &Happening) -> Result<Vec<Event>, Rejection> {
    let before = world.history.events.len();
    world.let_happen(happening)?;
    let events = &world.history.events;
    events[before..].iter().for_each(assert_serializes);
    let last = world.history.batches.last().copied().unwrap_or_default();
    Ok(events[events.len() - last..].to_vec())
}

fn assert_serializes(event: &Event) {
    let saved = serde_json::to_string(event).expect("an event can be saved");
    let read: Event = serde_json::from_str(&saved).unwrap_or_else(|error| panic!("{error}: {saved}"));
    assert_eq!(read, *event, "an event is read as it was saved");
}

impl World {
    /// Lets this happen, and starts a process that is due for it.
    fn let_happen(&mut self, happening: &Happening) -> Result<(), Rejection> {
        match happening {
            Happening::WorkerFinished(step, behavior) => self.let_finish(step, false, behavior),
            Happening::CheckFinished(step, findings) => {
                let check = self.state.step(step).map(|(step, _)| findings.check(step));
                self.let_finish(step, true, &check.unwrap_or(Behavior::IsMissing))
            }
            Happening::Observed(observation) => self.give((**observation).clone()),
            Happening::Recorded(event) => {
                self.record((**event).clone());
                Ok(())
            }
        }
    }
}

impl From<super::world::Work> for Behavior {
    fn from(work: super::world::Work) -> Self {
        Self::Works(Box::new(work))
    }
}
