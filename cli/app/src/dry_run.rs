//! The plan of a run that is not started.

use unstuck_core::event::{Conclusion, Purpose, RegistryText, RunStarted, WorkRequested};
use unstuck_core::id::{Attempt, Iteration, Seq, Stage, StepId, Timestamp};
use unstuck_core::workflow::StepKind;
use unstuck_core::{Event, Observation, RunState, prompt};
use unstuck_workflow::workflow_file::{self, WorkflowPlan};

/// The plan of a run.
pub struct DryRun {
    /// Its steps, with their commands, limits and worst case.
    pub plan: WorkflowPlan,
    /// The first step with a worker, and its prompt before the checks have run. `None` if all steps are child runs.
    pub prompt: Option<(StepId, String)>,
    /// Warnings about it.
    pub warnings: Vec<String>,
}

impl DryRun {
    /// Plans a run.
    pub(crate) fn from_start(started: RunStarted) -> Self {
        let plan = workflow_file::plan(&started.workflow);
        let warnings = started.warnings.clone();
        let is_worker = |step: &&unstuck_core::workflow::Step| matches!(step.work, StepKind::Worker(_));
        let first = started.workflow.steps.iter().find(is_worker).map(|step| step.id.clone());
        Self {
            plan,
            prompt: first.and_then(|step| Some((step.clone(), first_prompt(started, &step)?))),
            warnings,
        }
    }
}

/// Returns the prompt of the first iteration of a step.
fn first_prompt(started: RunStarted, step: &StepId) -> Option<String> {
    let requested = WorkRequested {
        step: step.clone(),
        iteration: Iteration(1),
        attempt: Attempt(1),
        stage: Stage(1),
        purpose: Purpose::Work,
    };
    let facts =
        [Observation::RunStarted(Box::new(started)).into(), Conclusion::WorkRequested(requested).into()];
    let events = (1..).zip(facts).map(|(seq, fact)| Event { seq: Seq(seq), at: Timestamp(0), fact });
    let state = RunState::of(&events.collect::<Vec<_>>());
    let (step, at) = state.step(step)?;
    Some(prompt::worker_prompt(&state, step, at, None, &RegistryText::default()))
}
