//! Programs that a workflow names and that are not installed.

use std::fmt;

use unstuck_core::completion::Condition;
use unstuck_core::evidence::ValidatorResult;
use unstuck_core::id::StepId;
use unstuck_core::workflow::{CheckBy, Step, Work, Worker, Workflow};
use unstuck_evidence::validators;

/// A command whose program is not installed.
pub struct Missing<'a> {
    step: &'a StepId,
    /// Whose it is.
    whose: Whose,
    /// The command line.
    pub command: &'a str,
    /// The program.
    pub program: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Check,
    Worker,
    Judge,
    /// The worker that is asked for a diagnosis.
    Diagnosis,
}

impl Missing<'_> {
    /// Returns true for a check, false for a worker of any kind.
    pub fn is_check(&self) -> bool {
        self.whose == Whose::Check
    }
}

impl fmt::Display for Missing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, whose, command, program } = self;
        let what = match whose {
            Whose::Check => "check",
            Whose::Worker => "worker",
            Whose::Judge => "judge",
            Whose::Diagnosis => "worker of the diagnosis",
        };
        write!(f, "step {step}: the {what} `{command}` cannot run: there is no program {program}")
    }
}

/// Says which workers and checks name one, where no step before theirs may bring it.
pub fn of_commands(workflow: &Workflow) -> Vec<String> {
    missing(workflow).iter().map(Missing::to_string).collect()
}

/// Returns the workers and checks that name one, where no step before theirs may bring it.
pub fn missing(workflow: &Workflow) -> Vec<Missing<'_>> {
    workflow.steps.iter().filter(|step| step.depends_on.is_empty()).flat_map(missing_of_step).collect()
}

/// Says which validators name one.
pub fn of_validators(workflow: &Workflow) -> Vec<String> {
    let of_step = |step: &Step| {
        let nested = match &step.work {
            Work::Subworkflow(child) => of_validators(&child.workflow),
            Work::Worker(_) => Vec::new(),
        };
        let conditions = step.completion.iter().filter(|_| step.check_wrap().is_none());
        let absent = conditions.flat_map(|it| &it.conditions).filter_map(absent);
        let told = absent.map(|it| format!("step {}: {}", step.id, it.error)).collect::<Vec<_>>();
        told.into_iter().chain(nested)
    };
    workflow.steps.iter().flat_map(of_step).collect()
}

/// Marks the validators whose programs are not installed: they are looked at again before the first work of their
/// steps, so that a missing program costs nothing and the run continues once it is installed.
pub fn doubt(workflow: &mut Workflow) {
    for step in &mut workflow.steps {
        if let Work::Subworkflow(child) = &mut step.work {
            doubt(&mut child.workflow);
        }
        if let Some(completion) = &mut step.completion {
            completion.doubted =
                completion.conditions.iter().filter_map(absent).map(|it| it.validator).collect();
        }
    }
}

fn absent(condition: &Condition) -> Option<ValidatorResult> {
    validators::absent(&condition.validator, &[])
}

fn missing_of_step(step: &Step) -> Vec<Missing<'_>> {
    let of_worker = |whose, worker| of_worker(step, whose, worker);
    let (checks, judge) = match step.check.as_ref().map(|check| &check.by) {
        Some(CheckBy::Commands(commands)) => (commands.as_slice(), None),
        Some(CheckBy::Agent(judge)) => (&[][..], Some(judge)),
        _ => (&[][..], None),
    };
    let closer = step.completion.as_ref().and_then(|it| Some(&it.closer.as_ref()?.worker));
    let diagnosis = step.convergence.as_ref().and_then(|it| it.diagnose_with.as_ref());
    let others = [(Whose::Judge, judge), (Whose::Judge, closer), (Whose::Diagnosis, diagnosis)];
    let work = match &step.work {
        Work::Subworkflow(child) => missing(&child.workflow),
        Work::Worker(worker) => of_worker(Whose::Worker, Some(worker)).into_iter().collect(),
    };
    let checks = checks
        .iter()
        .filter(|_| step.check_wrap().is_none())
        .filter_map(|command| of(step, Whose::Check, &command.run));
    checks
        .chain(work)
        .chain(others.into_iter().filter_map(|(whose, worker)| of_worker(whose, worker)))
        .collect()
}

/// One that is wrapped may be in the container.
fn of_worker<'a>(step: &'a Step, whose: Whose, worker: Option<&'a Worker>) -> Option<Missing<'a>> {
    let command = worker.filter(|worker| worker.wrap.is_none())?.command.as_deref()?;
    of(step, whose, command)
}

fn of<'a>(step: &'a Step, whose: Whose, command: &'a str) -> Option<Missing<'a>> {
    let program = validators::missing_program(command, &[])?;
    Some(Missing { step: &step.id, whose, command, program })
}
