//! The steps of a workflow in their order, and its maximum cost.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use unstuck_core::completion::{AnswerSchema, Completion, Condition, Timing, Validator, ValidatorKind};
use unstuck_core::id::{Millis, StepId};
use unstuck_core::plural::count;
use unstuck_core::workflow::{
    Check, CheckMethod, OnFailure, OutagePolicy, Step, StepKind, Subworkflow, Worker, Workflow,
};

use unstuck_core::duration::format_duration;

/// The steps of a workflow, and its worst case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowPlan {
    /// Name of the workflow.
    pub name: String,
    /// Bound of the run.
    pub timeout_ms: Millis,
    /// Maximum steps at the same time; unlimited if `None`.
    pub concurrency: Option<u32>,
    /// How long the run may wait for limited services besides; zero if it stops instead.
    pub outage_budget_ms: Millis,
    /// Whether a check may say that an external job still runs, so that it is asked again; the worst case counts none of that.
    pub polls: bool,
    /// The steps; a step comes after all it depends on.
    pub steps: Vec<PlannedStep>,
    /// The worst case of the run, of which [`WorkflowPlan::polls`] and [`WorkflowPlan::outage_budget_ms`] are no part.
    pub worst: WorstCase,
}

/// A step, and its worst case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedStep {
    /// Its name.
    pub id: StepId,
    /// Steps of the same level may run at the same time, but those that work [alone](Self::alone); the first is 1.
    pub level: u32,
    /// The kind of its worker, or `workflow`.
    pub worker: String,
    /// The command line, model or file.
    pub detail: Option<String>,
    /// The steps it waits for.
    pub depends_on: Vec<StepId>,
    /// No step runs at the same time, whatever its level: it is judged by what changes in the workspace.
    pub alone: bool,
    /// Bound of the loop; 1 without a check.
    pub max_iterations: u32,
    /// Attempts of the worker in each iteration.
    pub attempts: u32,
    /// Time limit of one attempt.
    pub timeout_ms: Millis,
    /// The check after the work.
    pub check: Option<PlannedCheck>,
    /// Additional conditions, in the order in which they are checked, such as `tests-pass: make test`.
    pub conditions: Vec<String>,
    /// After how many iterations without progress the stage rises, and where that ends.
    pub convergence: Option<String>,
    /// The workflow that the step calls.
    pub workflow: Option<Box<WorkflowPlan>>,
    /// The worst case of the step.
    pub worst: WorstCase,
}

/// The check after the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedCheck {
    /// `exit code of CUSTOM`, `verdict of CLAUDE_CODE`, `claim of the worker`.
    pub by: String,
    /// Bound of one check; none for a claim, which runs no process.
    pub timeout_ms: Option<Millis>,
    /// Where the verdict is written.
    pub decision_file: Option<String>,
}

/// The most that can happen, if everything fails as late as it can.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorstCase {
    /// Starts of workers.
    pub worker_calls: u64,
    /// Starts of checks.
    pub check_calls: u64,
    /// Time on the clock, pauses for limited services not counted.
    pub wall_time_ms: Millis,
}

/// Returns what a workflow will do, and its worst case.
pub fn plan(workflow: &Workflow) -> WorkflowPlan {
    let levels = levels(workflow);
    let level = |step: &Step| levels.get(&step.id).copied().unwrap_or(1);
    let mut steps: Vec<PlannedStep> =
        workflow.steps.iter().map(|step| planned(step, level(step), workflow.timeout)).collect();
    steps.sort_by_key(|step| step.level);
    let worst = WorstCase {
        worker_calls: steps.iter().fold(0, |sum, step| sum.saturating_add(step.worst.worker_calls)),
        check_calls: steps.iter().fold(0, |sum, step| sum.saturating_add(step.worst.check_calls)),
        wall_time_ms: wall_time(workflow, &steps).at_most(workflow.timeout),
    };
    WorkflowPlan {
        name: workflow.name.clone(),
        timeout_ms: workflow.timeout,
        concurrency: workflow.concurrency,
        outage_budget_ms: match workflow.on_outage {
            OutagePolicy::Wait => workflow.outage_budget,
            OutagePolicy::Stop => Millis(0),
        },
        polls: workflow.steps.iter().filter_map(|step| step.check.as_ref()).any(may_wait)
            || steps.iter().any(|step| step.workflow.as_ref().is_some_and(|plan| plan.polls)),
        steps,
        worst,
    }
}

/// Returns for each step how many steps lead to it at most, itself counted.
fn levels(workflow: &Workflow) -> BTreeMap<&StepId, u32> {
    let mut after: BTreeMap<&StepId, Vec<&StepId>> = BTreeMap::new();
    let mut waits: BTreeMap<&StepId, usize> = BTreeMap::new();
    for step in &workflow.steps {
        waits.insert(&step.id, step.depends_on.len());
        step.depends_on.iter().for_each(|id| after.entry(id).or_default().push(&step.id));
    }
    let mut levels = BTreeMap::new();
    let mut ready: Vec<&StepId> = waits.iter().filter(|(_, count)| **count == 0).map(|(id, _)| *id).collect();
    for level in 1.. {
        let mut next = Vec::new();
        for id in ready {
            levels.insert(id, level);
            for follower in after.get(id).into_iter().flatten() {
                let count = waits.entry(follower).or_insert(1);
                *count = count.saturating_sub(1);
                if *count == 0 {
                    next.push(*follower);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        ready = next;
    }
    levels
}

/// Returns the time of all steps one after the other, or of the longest path if nothing bounds what runs side by side.
fn wall_time(workflow: &Workflow, steps: &[PlannedStep]) -> Millis {
    if workflow.concurrency.is_some() || steps.iter().any(|step| step.alone) {
        return steps.iter().fold(Millis(0), |sum, step| sum.plus(step.worst.wall_time_ms));
    }
    let mut ends: BTreeMap<&StepId, Millis> = BTreeMap::new();
    for step in steps {
        let start = step.depends_on.iter().filter_map(|id| ends.get(id)).max().copied().unwrap_or(Millis(0));
        ends.insert(&step.id, start.plus(step.worst.wall_time_ms));
    }
    ends.into_values().max().unwrap_or(Millis(0))
}

fn planned(step: &Step, level: u32, run_timeout: Millis) -> PlannedStep {
    let child = match &step.work {
        StepKind::Worker(_) => None,
        StepKind::Subworkflow(call) => Some(Box::new(plan(&call.workflow))),
    };
    let attempts = if step.on_failure == OnFailure::Retry { step.max_retries.saturating_add(1) } else { 1 };
    PlannedStep {
        id: step.id.clone(),
        level,
        worker: kind(step),
        detail: detail(step),
        depends_on: step.depends_on.clone(),
        alone: step.is_exclusive(),
        max_iterations: step.max_iterations,
        attempts,
        timeout_ms: step.timeout.at_most(run_timeout),
        check: step.check.as_ref().map(planned_check),
        conditions: step.completion.as_ref().map(planned_conditions).unwrap_or_default(),
        convergence: step.convergence.as_ref().map(|rules| {
            let end = if rules.fail_on_max_stage { "stops" } else { "goes on" };
            format!(
                "stage rises after {} without progress, {end} at stage {}",
                rules.stall_threshold, rules.max_stage
            )
        }),
        worst: worst(step, attempts, child.as_deref()),
        workflow: child,
    }
}

/// Returns the worst case of a step: all iterations, and in each all attempts of worker and check.
fn worst(step: &Step, attempts: u32, child: Option<&WorkflowPlan>) -> WorstCase {
    let rounds = u64::from(step.max_iterations);
    let works = rounds.saturating_mul(u64::from(attempts));
    let once = child
        .map_or(WorstCase { worker_calls: 1, check_calls: 0, wall_time_ms: step.timeout }, |plan| plan.worst);
    let checks = step.check.as_ref().map_or((0, Millis(0)), |check| match check.by {
        CheckMethod::Claim | CheckMethod::Conditions => (0, Millis(0)),
        _ => (rounds.saturating_mul(u64::from(step.max_retries.max(2)).saturating_add(1)), check.timeout),
    });
    let checks = with_verification(step, rounds, checks);
    let Millis(work_time) = once.wall_time_ms.at_most(step.timeout);
    WorstCase {
        worker_calls: once.worker_calls.saturating_mul(works),
        check_calls: once.check_calls.saturating_mul(works).saturating_add(checks.0),
        wall_time_ms: Millis(
            work_time.saturating_mul(works).saturating_add(checks.1.0.saturating_mul(checks.0)),
        ),
    }
}

/// Says whether a check can say that an external job still runs.
fn may_wait(check: &Check) -> bool {
    match check.by {
        CheckMethod::Agent(_) | CheckMethod::Claim => true,
        CheckMethod::Exit(_) => check.decision_file.is_some(),
        CheckMethod::Commands(_) | CheckMethod::Conditions => false,
    }
}

/// Name of the check if only the conditions decide.
const CONDITIONS: &str = "conditions";

/// Adds the calls for conditions and a closer, after a check or instead of one, and for the preflight conditions.
fn with_verification(step: &Step, rounds: u64, (calls, time): (u64, Millis)) -> (u64, Millis) {
    let Some(completion) = &step.completion else { return (calls, time) };
    let asks = |phase| u64::from(completion.has_conditions(phase));
    let closer = u64::from(completion.closer.is_some());
    let more =
        rounds.saturating_mul(asks(Timing::AfterWork) + closer).saturating_add(asks(Timing::Preflight));
    let longest = completion.limit(Timing::AfterWork).max(completion.limit(Timing::Preflight));
    let longest = if completion.closer.is_some() { longest.max(step.timeout) } else { longest };
    (calls.saturating_add(more), time.max(longest))
}

fn planned_conditions(completion: &Completion) -> Vec<String> {
    let condition = |condition: &Condition| {
        let Validator { name, run, phase, .. } = &condition.validator;
        let when = if *phase == Timing::Preflight { " before the work" } else { "" };
        match run {
            ValidatorKind::Command(command) | ValidatorKind::Custom(command) => {
                format!("{name}{when}: {}", one_line(command))
            }
            ValidatorKind::Files(paths) => format!("{name}{when}: {}", paths.join(", ")),
            ValidatorKind::Checklist(list) => format!("{name}{when}: every item of {}", list.path),
        }
    };
    let answer = completion.answer.iter().map(|format| match &format.form {
        AnswerSchema::Json { source, .. } => format!("answer: JSON of the form {source}"),
        AnswerSchema::TextPattern(pattern) => format!("answer: matches {}", one_line(pattern)),
    });
    let closer = completion.closer.iter().map(|closer| format!("closer: {}", closer.prompt.file));
    answer.chain(completion.conditions.iter().map(condition)).chain(closer).collect()
}

fn planned_check(check: &Check) -> PlannedCheck {
    let (by, timeout_ms) = match &check.by {
        CheckMethod::Exit(worker) => (format!("exit code of {}", worker.kind.as_str()), Some(check.timeout)),
        CheckMethod::Agent(worker) => (format!("verdict of {}", worker.kind.as_str()), Some(check.timeout)),
        CheckMethod::Claim => ("claim of the worker".to_owned(), None),
        CheckMethod::Commands(commands) => {
            let commands: Vec<String> = commands.iter().map(|command| format!("`{}`", command.run)).collect();
            (commands.join(" and "), Some(check.timeout))
        }
        CheckMethod::Conditions => (CONDITIONS.to_owned(), None),
    };
    PlannedCheck { by, timeout_ms, decision_file: check.decision_file.clone() }
}

fn kind(step: &Step) -> String {
    match &step.work {
        StepKind::Worker(worker) => worker.kind.as_str().to_owned(),
        StepKind::Subworkflow(_) => "workflow".to_owned(),
    }
}

fn detail(step: &Step) -> Option<String> {
    match &step.work {
        StepKind::Worker(Worker { command: Some(command), .. }) => Some(command.clone()),
        StepKind::Worker(worker) => worker.model.clone(),
        StepKind::Subworkflow(Subworkflow { path, .. }) => Some(path.clone()),
    }
}

impl fmt::Display for WorkflowPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = self.concurrency.map_or_else(String::new, |count| format!(", at most {count} at a time"));
        writeln!(
            f,
            "{}: {}{side}, bound {}",
            one_line(&self.name),
            count(self.steps.len(), "step"),
            format_duration(self.timeout_ms)
        )?;
        self.write_steps(f, 1)?;
        writeln!(f, "\nworst case: {}; not counted:", self.worst)?;
        if self.outage_budget_ms > Millis(0) {
            let budget = format_duration(self.outage_budget_ms);
            writeln!(f, "  {budget} of waiting for limited services, and the calls that they refuse")?;
        }
        if self.polls {
            writeln!(
                f,
                "  whoever says \"waiting\" is asked again, once a second at most, within the time of the step"
            )?;
        }
        let grace = format_duration(Workflow::GRACE);
        writeln!(f, "  {grace} for each process that has to be ended")
    }
}

impl WorkflowPlan {
    fn write_steps(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        // Two steps of a level can run at the same time, and each may also overlap with a step that follows the other.
        let is_chain = self.steps.windows(2).all(|pair| pair[0].level != pair[1].level);
        for step in &self.steps {
            write!(f, "\n{indent}{}. {}: {}", step.level, step.id, step.worker)?;
            if let Some(detail) = &step.detail {
                write!(f, " ({})", one_line(detail))?;
            }
            writeln!(f)?;
            let facts = format!("{indent}   ");
            if step.alone && !is_chain && self.concurrency != Some(1) {
                writeln!(f, "{facts}alone      judged by what changes, so no other step runs meanwhile")?;
            }
            step.write_facts(f, &facts)?;
            if let Some(child) = &step.workflow {
                child.write_steps(f, depth + 2)?;
            }
        }
        Ok(())
    }
}

impl PlannedStep {
    fn write_facts(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        if !self.depends_on.is_empty() {
            let names: Vec<&str> = self.depends_on.iter().map(StepId::as_str).collect();
            writeln!(f, "{indent}after      {}", names.join(", "))?;
        }
        write!(f, "{indent}bounds     ")?;
        if self.check.is_some() {
            write!(f, "{}, ", count(self.max_iterations, "iteration"))?;
        }
        if self.attempts > 1 {
            write!(f, "{} each, ", count(self.attempts, "attempt"))?;
        }
        writeln!(f, "{} an attempt", format_duration(self.timeout_ms))?;
        let by_conditions = self.check.as_ref().is_some_and(|check| check.by == CONDITIONS);
        if let Some(check) = self.check.as_ref().filter(|_| !by_conditions) {
            write!(f, "{indent}check      {}", check.by)?;
            if let Some(file) = &check.decision_file {
                write!(f, " in {}", one_line(file))?;
            }
            match check.timeout_ms {
                Some(timeout) => writeln!(f, ", {} a check", format_duration(timeout))?,
                None => writeln!(f)?,
            }
        }
        for (at, condition) in self.conditions.iter().enumerate() {
            writeln!(f, "{indent}{:<10} {condition}", if at == 0 { "conditions" } else { "" })?;
        }
        match &self.convergence {
            Some(rules) => writeln!(f, "{indent}converge   {rules}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for WorstCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let workers = count(self.worker_calls, "worker call");
        let checks = count(self.check_calls, "check call");
        write!(f, "{workers}, {checks}, {}", format_duration(self.wall_time_ms))
    }
}

/// Returns the first line, cut to a length that fits on a screen.
fn one_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().filter(|c| !c.is_control()).take(60).collect();
    if cut.len() < text.trim_end().len() { format!("{cut}...") } else { cut }
}
