//! The workflow behind a command line that names a goal, a worker and some checks.

use unstuck_core::id::{Millis, StepId};
use unstuck_core::workflow::{
    BranchRules, Capability, Check, CheckBy, OnExhausted, OnFailure, Step, Weather, Work, Worker, WorkerKind,
    Workflow,
};

/// What a command line may say besides goal, worker and checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuickOptions {
    /// Bound of the loop; by default [`Workflow::DEFAULT_MAX_ITERATIONS`].
    pub max_iterations: Option<u32>,
    /// Bound of the run; by default [`Workflow::DEFAULT_TIMEOUT`].
    pub timeout: Option<Millis>,
    /// What to do when a service is limited or out of order.
    pub weather: Weather,
    /// Bound of all waiting for such services; by default [`Workflow::DEFAULT_OUTAGE_BUDGET`].
    pub outage_budget: Option<Millis>,
}

/// Where the only step of such a workflow gives its verdict: one name, so that a person finds it.
const DECISION_FILE: &str = ".unstuck/decision.json";

/// Returns a workflow of one step, `work`: the command `with` gets `goal` until all `checks` pass.
///
/// Without checks the worker itself claims when it is done, and the claim counts only if something
/// has changed.
pub fn quick(goal: &str, with: &str, checks: &[String], options: &QuickOptions) -> Workflow {
    let timeout = options.timeout.unwrap_or(Workflow::DEFAULT_TIMEOUT);
    let step = Step {
        id: StepId::new("work"),
        description: None,
        work: Work::Worker(worker(WorkerKind::Command, goal.to_owned(), Some(with.to_owned()))),
        depends_on: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        timeout,
        idle_timeout: Workflow::DEFAULT_IDLE_TIMEOUT,
        max_retries: 2,
        on_failure: OnFailure::Retry,
        check: Some(check(checks, Millis((timeout.0 / 4).max(1000)))),
        max_iterations: options.max_iterations.unwrap_or(Workflow::DEFAULT_MAX_ITERATIONS).max(1),
        on_exhausted: OnExhausted::Abort,
        convergence: None,
        require_change: checks.is_empty(),
    };
    Workflow {
        name: title(goal),
        description: None,
        timeout,
        concurrency: None,
        context_dir: "context".to_owned(),
        weather: options.weather,
        outage_budget: options.outage_budget.unwrap_or(Workflow::DEFAULT_OUTAGE_BUDGET),
        branch: BranchRules::default(),
        steps: vec![step],
    }
}

fn check(checks: &[String], timeout: Millis) -> Check {
    let (by, decision_file) = if checks.is_empty() {
        (CheckBy::Claim, Some(DECISION_FILE.to_owned()))
    } else {
        (CheckBy::Exit(worker(WorkerKind::Custom, script(checks), None)), None)
    };
    Check { by, timeout, decision_file, max_parse_failures: Workflow::DEFAULT_MAX_PARSE_FAILURES }
}

/// Returns a script that runs the checks in order and ends with 1 at the first that fails.
///
/// 126 and 127 stay as they are: a command that cannot be run says nothing about the work. Each
/// command has lines of its own, so that a comment at its end harms nothing.
fn script(checks: &[String]) -> String {
    let one = |check: &String| {
        format!("(\n{check}\n) || {{ code=$?; case $code in 126|127) exit $code ;; *) exit 1 ;; esac; }}\n")
    };
    checks.iter().map(one).collect()
}

fn worker(kind: WorkerKind, instructions: String, command: Option<String>) -> Worker {
    Worker {
        kind,
        instructions,
        command,
        // Neither kind can be held back from anything.
        capabilities: vec![Capability::Read, Capability::Edit, Capability::RunTests, Capability::RunCommands],
        model: None,
        variant: None,
        default_args: Vec::new(),
        workspace: ".".to_owned(),
        max_steps: None,
    }
}

/// Returns the first line of the goal, cut to a length that fits on a screen.
fn title(goal: &str) -> String {
    const LONGEST: usize = 60;
    let line = goal.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("work");
    if line.chars().count() <= LONGEST {
        return line.to_owned();
    }
    let cut: String = line.chars().take(LONGEST - 3).collect();
    format!("{}...", cut.trim_end())
}
