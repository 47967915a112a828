//! The workflow behind a command line that names a goal, a worker and some checks.

use unstuck_core::id::{Millis, StepId};
use unstuck_core::scope;
use unstuck_core::workflow::{
    Baseline, BranchRules, Budget, Capability, Check, CheckBy, CheckCommand, Convergence, Gate, OnExhausted,
    OnFailure, Session, Step, Weather, Work, Worker, WorkerKind, Workflow,
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
    /// Commands that must show no failure that the baseline did not have.
    pub no_worse: Vec<String>,
    /// Patterns of the machine reports that the commands write.
    pub reports: Vec<String>,
    /// What is asked of the commands before the first iteration; `None` is [`Baseline::Gate`].
    pub baseline: Option<Baseline>,
    /// How often a failing command is run; by default twice, so that a flaky test is not taken for a failure.
    pub observations: Option<u32>,
    /// What may change, and who looks for the cause in the end; when that is, is not for it to say.
    pub scope: Convergence,
}

/// A failing command is run so often where nothing else is said.
const OBSERVATIONS: u32 = 2;
/// Iterations without progress that change the strategy where nothing else is said.
const STALL_THRESHOLD: u32 = 3;

/// Where the only step of such a workflow gives its verdict: one name, so that a person finds it.
const DECISION_FILE: &str = ".unstuck/decision.json";

/// Returns a workflow of one step, `work`: the command `with` gets `goal` until all `checks` pass.
///
/// Without checks the worker itself claims when it is done, and the claim counts only if something
/// has changed.
pub fn quick(goal: &str, with: &str, checks: &[String], options: &QuickOptions) -> Workflow {
    let timeout = options.timeout.unwrap_or(Workflow::DEFAULT_TIMEOUT);
    let claims = checks.is_empty() && options.no_worse.is_empty();
    let step = Step {
        completion: None,
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
        check: Some(check(checks, Millis((timeout.0 / 4).max(1000)), options)),
        max_iterations: options.max_iterations.unwrap_or(Workflow::DEFAULT_MAX_ITERATIONS).max(1),
        on_exhausted: OnExhausted::Abort,
        convergence: convergence(claims, options),
        require_change: claims,
        prompt_template: None,
        session: Session::Fresh,
    };
    Workflow {
        name: title(goal),
        description: None,
        timeout,
        concurrency: None,
        context_dir: "context".to_owned(),
        weather: options.weather,
        outage_budget: options.outage_budget.unwrap_or(Workflow::DEFAULT_OUTAGE_BUDGET),
        budget: Budget::default(),
        prices: None,
        branch: BranchRules::default(),
        steps: vec![step],
    }
}

/// A worker that is its own check may have nothing to say but "not yet", so only its scope is looked at.
fn convergence(claims: bool, options: &QuickOptions) -> Option<Convergence> {
    (!claims || scope::has_rules(&options.scope)).then(|| Convergence {
        stall_threshold: if claims { u32::MAX } else { STALL_THRESHOLD },
        ..options.scope.clone()
    })
}

fn check(checks: &[String], timeout: Millis, options: &QuickOptions) -> Check {
    let with =
        |gate| move |run: &String| CheckCommand { run: run.clone(), gate, reports: options.reports.clone() };
    let commands: Vec<CheckCommand> = checks
        .iter()
        .map(with(Gate::Pass))
        .chain(options.no_worse.iter().map(with(Gate::NoNewFailures)))
        .collect();
    let claims = commands.is_empty();
    Check {
        by: if claims { CheckBy::Claim } else { CheckBy::Commands(commands) },
        timeout,
        decision_file: claims.then(|| DECISION_FILE.to_owned()),
        max_parse_failures: Workflow::DEFAULT_MAX_PARSE_FAILURES,
        observations: if claims { 1 } else { options.observations.unwrap_or(OBSERVATIONS) },
        baseline: if claims { Baseline::Off } else { options.baseline.unwrap_or(Baseline::Gate) },
    }
}

/// Returns a worker that only looks: a command line that reads its prompt on standard input.
pub fn diagnoser(command: &str) -> Worker {
    let capabilities = vec![Capability::Read];
    Worker { capabilities, ..worker(WorkerKind::Command, String::new(), Some(command.to_owned())) }
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
        client: None,
        wrap: None,
        isolated: false,
        fallback: Vec::new(),
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
