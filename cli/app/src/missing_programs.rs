//! Programs that a workflow names and that are not installed.

use std::fmt;

use unstuck_core::completion::Condition;
use unstuck_core::evidence::ValidatorResult;
use unstuck_core::id::StepId;
use unstuck_core::workflow::{CheckMethod, Step, StepKind, Worker, Workflow};
use unstuck_evidence::validators;

/// A command whose program is not installed.
pub struct MissingProgram<'a> {
    step: &'a StepId,
    /// Whose it is.
    role: Role,
    /// The command line.
    pub command: &'a str,
    /// The program.
    pub program: &'a str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Check,
    Worker,
    Judge,
    /// The worker that is asked for a diagnosis.
    Diagnosis,
}

impl MissingProgram<'_> {
    /// Returns true for a check, false for a worker of any kind.
    pub fn is_check(&self) -> bool {
        self.role == Role::Check
    }
}

impl fmt::Display for MissingProgram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, role, command, program } = self;
        let what = match role {
            Role::Check => "check",
            Role::Worker => "worker",
            Role::Judge => "judge",
            Role::Diagnosis => "worker of the diagnosis",
        };
        write!(f, "step {step}: the {what} `{command}` cannot run: there is no program {program}")
    }
}

/// Says which workers and checks name one, where no step before theirs may bring it.
pub fn of_commands(workflow: &Workflow) -> Vec<String> {
    missing(workflow).iter().map(MissingProgram::to_string).collect()
}

/// Returns the workers and checks that name one, where no step before theirs may bring it.
pub fn missing(workflow: &Workflow) -> Vec<MissingProgram<'_>> {
    workflow.steps.iter().filter(|step| step.depends_on.is_empty()).flat_map(missing_of_step).collect()
}

/// Says which validators name one.
pub fn of_validators(workflow: &Workflow) -> Vec<String> {
    let of_step = |step: &Step| {
        let nested = match &step.work {
            StepKind::Subworkflow(child) => of_validators(&child.workflow),
            StepKind::Worker(_) => Vec::new(),
        };
        let conditions = step.completion.iter().filter(|_| step.check_wrap().is_none());
        let absent = conditions.flat_map(|condition| &condition.conditions).filter_map(absent);
        let told = absent.map(|absence| format!("step {}: {}", step.id, absence.error)).collect::<Vec<_>>();
        told.into_iter().chain(nested)
    };
    workflow.steps.iter().flat_map(of_step).collect()
}

/// Marks the validators whose programs are not installed: they are looked at again before the first work of their
/// steps, so that a missing program costs nothing and the run continues once it is installed.
pub fn doubt(workflow: &mut Workflow) {
    for step in &mut workflow.steps {
        if let StepKind::Subworkflow(child) = &mut step.work {
            doubt(&mut child.workflow);
        }
        if let Some(completion) = &mut step.completion {
            completion.doubted =
                completion.conditions.iter().filter_map(absent).map(|absence| absence.validator).collect();
        }
    }
}

fn absent(condition: &Condition) -> Option<ValidatorResult> {
    validators::absent(&condition.validator, &[])
}

fn missing_of_step(step: &Step) -> Vec<MissingProgram<'_>> {
    let of_worker = |role, worker| of_worker(step, role, worker);
    let (checks, judge) = match step.check.as_ref().map(|check| &check.by) {
        Some(CheckMethod::Commands(commands)) => (commands.as_slice(), None),
        Some(CheckMethod::Agent(judge)) => (&[][..], Some(judge)),
        _ => (&[][..], None),
    };
    let closer = step.completion.as_ref().and_then(|completion| Some(&completion.closer.as_ref()?.worker));
    let diagnosis = step.convergence.as_ref().and_then(|policy| policy.diagnose_with.as_ref());
    let others = [(Role::Judge, judge), (Role::Judge, closer), (Role::Diagnosis, diagnosis)];
    let work = match &step.work {
        StepKind::Subworkflow(child) => missing(&child.workflow),
        StepKind::Worker(worker) => of_worker(Role::Worker, Some(worker)).into_iter().collect(),
    };
    let checks = checks
        .iter()
        .filter(|_| step.check_wrap().is_none())
        .filter_map(|command| find(step, Role::Check, &command.run));
    checks
        .chain(work)
        .chain(others.into_iter().filter_map(|(role, worker)| of_worker(role, worker)))
        .collect()
}

/// One that is wrapped may be in the container.
fn of_worker<'a>(step: &'a Step, role: Role, worker: Option<&'a Worker>) -> Option<MissingProgram<'a>> {
    let command = worker.filter(|worker| worker.wrap.is_none())?.command.as_deref()?;
    find(step, role, command)
}

fn find<'a>(step: &'a Step, role: Role, command: &'a str) -> Option<MissingProgram<'a>> {
    let program = validators::missing_program(command, &[])?;
    Some(MissingProgram { step: &step.id, role, command, program })
}
