//! The workflow behind a command line that names a goal, a worker and some checks.

use unstuck_core::completion::{Completion, Reviewer, Template};
use unstuck_core::id::{Millis, StepId};
use unstuck_core::workflow::{
    Baseline, BranchRules, Budget, Check, CheckCommand, CheckMethod, ConvergencePolicy, Gate, OnFailure,
    OnIterationsExhausted, OutagePolicy, Session, Step, StepKind, Worker, Workflow,
};

/// Options of a command line besides goal, worker and checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuickOptions {
    /// Bound of the loop; by default [`Workflow::DEFAULT_MAX_ITERATIONS`].
    pub max_iterations: Option<u32>,
    /// Bound of the run; by default [`Workflow::DEFAULT_TIMEOUT`].
    pub timeout: Option<Millis>,
    /// Commands that must show no failure that the baseline did not have.
    pub no_worse: Vec<String>,
    /// Patterns of the machine reports that the commands write.
    pub reports: Vec<String>,
    /// Baseline of the commands before the first iteration; `None` is [`Baseline::Gate`].
    pub baseline: Option<Baseline>,
    /// How often a failing command is run; by default twice, so that a flaky test is not taken for a failure.
    pub observations: Option<u32>,
    /// The worker that decides when all checks pass, or judges alone if there are no checks.
    pub judge: Option<Worker>,
    /// Whether an iteration continues the session of the one before.
    pub session: Session,
    /// Limits on changes, and the worker that looks for the cause in the end. Its `stall_threshold` is ignored.
    pub scope: ConvergencePolicy,
    /// The files of tests that fail before the work may change.
    pub allow_test_edits: bool,
    /// Most time of a check; `None` for the default.
    pub check_timeout: Option<Millis>,
}

/// Default number of runs of a failing command.
const OBSERVATIONS: u32 = 2;
/// Default time limit of a check, of all its commands together.
const CHECK_TIMEOUT: Millis = Millis::from_secs(3600);
/// Number of iterations without progress after which the strategy changes.
const STALL_THRESHOLD: u32 = 3;

/// Decision file of the only step of such a workflow; a fixed name, so that a user finds it.
const DECISION_FILE: &str = ".unstuck/decision.json";

/// Returns a workflow of one step, `work`: the worker gets its instructions until all `checks` pass.
///
/// Without checks the worker itself claims when it is done, and the claim counts only if something
/// has changed.
pub fn quick(worker: &Worker, checks: &[String], options: &QuickOptions) -> Workflow {
    let goal = &worker.instructions;
    let timeout = options.timeout.unwrap_or(Workflow::DEFAULT_TIMEOUT);
    let has_commands = !checks.is_empty() || !options.no_worse.is_empty();
    let claims = !has_commands && options.judge.is_none();
    let step = Step {
        completion: options.judge.as_ref().filter(|_| has_commands).map(|judge| closer(goal, judge)),
        id: StepId::new("work"),
        description: None,
        work: StepKind::Worker(worker.clone()),
        depends_on: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        timeout,
        idle_timeout: Workflow::DEFAULT_IDLE_TIMEOUT,
        max_retries: 2,
        on_failure: OnFailure::Retry,
        check: Some(check(goal, checks, timeout, options)),
        max_iterations: options.max_iterations.unwrap_or(Workflow::DEFAULT_MAX_ITERATIONS).max(1),
        on_exhausted: OnIterationsExhausted::Abort,
        convergence: Some(ConvergencePolicy { stall_threshold: STALL_THRESHOLD, ..options.scope.clone() }),
        require_change: claims,
        prompt_template: None,
        session: options.session,
        probe: None,
    };
    Workflow {
        name: title(goal),
        description: None,
        timeout,
        concurrency: None,
        context_dir: "context".to_owned(),
        on_outage: OutagePolicy::default(),
        outage_budget: Workflow::DEFAULT_OUTAGE_BUDGET,
        budget: Budget::default(),
        prices: None,
        notify: None,
        branch: BranchRules::default(),
        steps: vec![step],
    }
}

fn check(goal: &str, checks: &[String], timeout: Millis, options: &QuickOptions) -> Check {
    let with =
        |gate| move |run: &String| CheckCommand { run: run.clone(), gate, reports: options.reports.clone() };
    let commands: Vec<CheckCommand> = checks
        .iter()
        .map(with(Gate::Pass))
        .chain(options.no_worse.iter().map(with(Gate::NoNewFailures)))
        .collect();
    let says = commands.is_empty();
    let by = match &options.judge {
        Some(judge) if says => {
            CheckMethod::Agent(Worker { instructions: judge_question(goal), ..judge.clone() })
        }
        _ if says => CheckMethod::Claim,
        _ => CheckMethod::Commands(commands),
    };
    let claims = says;
    // As in a file, where nothing else is said.
    let of_agent = || Millis((timeout.0 / 4).max(1000));
    let timeout = if claims { of_agent() } else { options.check_timeout.unwrap_or(CHECK_TIMEOUT) };
    Check {
        by,
        timeout,
        decision_file: claims.then(|| DECISION_FILE.to_owned()),
        max_parse_failures: Check::DEFAULT_MAX_PARSE_FAILURES,
        observations: if claims { 1 } else { options.observations.unwrap_or(OBSERVATIONS) },
        baseline: if claims { Baseline::Off } else { options.baseline.unwrap_or(Baseline::Gate) },
        allow_test_edits: options.allow_test_edits,
    }
}

/// The question for a judge.
fn judge_question(goal: &str) -> String {
    format!(
        "Somebody was to do this in the workspace:\n\n{goal}\n\nLook for yourself whether it is done, all of it. Change \
         nothing. Do not take anybody's word for it: name what you saw."
    )
}

/// A judge that has the last word when all commands pass.
fn closer(goal: &str, judge: &Worker) -> Completion {
    let prompt = Template { file: "--reviewer".to_owned(), text: judge_question(goal), custom: Vec::new() };
    let closer = Reviewer { worker: judge.clone(), prompt, required: Vec::new() };
    Completion { closer: Some(closer), ..Completion::default() }
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
