//! The workflow of a run, after its file has been read, checked and resolved.
//!
//! A [`Workflow`] is valid: names are unique, edges lead to known earlier steps, limits are above zero.
//! `unstuck-workflow` reads the files; the core checks nothing twice.

use serde::{Deserialize, Serialize};

mod check;
mod policy;
pub(crate) mod worker;

pub use self::check::{Baseline, Check, CheckCommand, CheckMethod, Gate};
pub use self::policy::{CI_FILES, ConvergencePolicy, StagePrompt};
pub use self::worker::{Capability, Session, Worker, WorkerKind};
use crate::backoff::ChainSlot;
use crate::completion::Completion;
use crate::cost::Prices;
use crate::event::{Inquiry, Purpose, TurnKind};
use crate::id::{Millis, StepId};

/// One workflow: steps that form a directed acyclic graph, and limits for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// Name for display; not empty.
    pub name: String,
    /// Description for display.
    #[serde(default)]
    pub description: Option<String>,
    /// Time limit of the run, excluding pauses.
    pub timeout: Millis,
    /// The maximum number of active steps; `None` for no limit.
    #[serde(default)]
    pub concurrency: Option<u32>,
    /// Directory for artifacts and views of the run, relative to the workspace root.
    pub context_dir: String,
    /// The reaction to a rate limit or an outage of a worker's service.
    #[serde(default)]
    #[serde(rename = "weather", alias = "on_outage")]
    pub on_outage: OutagePolicy,
    /// Maximum time that the run may wait for such services in all.
    pub outage_budget: Millis,
    /// The budget of the run.
    #[serde(default)]
    pub budget: Budget,
    /// Prices of tokens, for workers that do not report a cost.
    #[serde(default)]
    pub prices: Option<Prices>,
    /// A command that runs when the run ends.
    #[serde(default)]
    pub notify: Option<String>,
    /// Rules about the branch that the work happens on.
    #[serde(default)]
    pub branch: BranchRules,
    /// The steps, in the order of the file.
    pub steps: Vec<Step>,
}

/// Prefixes of most environment variables for workers and checks. Each variable exists with each prefix, so that
/// scripts for the original run unchanged.
pub const VARIABLE_PREFIXES: [&str; 3] = ["UNSTUCK_", "ROBOPPI_", "AGENTCORE_"];

impl Workflow {
    /// Default time limit of a run whose file or command line sets none: 4 hours.
    pub const DEFAULT_TIMEOUT: Millis = Millis::from_secs(4 * 3600);
    /// Default maximum iterations of a loop whose file or command line sets none.
    pub const DEFAULT_MAX_ITERATIONS: u32 = 25;
    /// Default limit of all waits for limited services: 26 hours. It covers the same time tomorrow, with some to spare.
    pub const DEFAULT_OUTAGE_BUDGET: Millis = Millis::from_secs(26 * 3600);
    /// Default time limit of one attempt of a worker: 24 hours.
    pub const DEFAULT_STEP_TIMEOUT: Millis = Millis::from_secs(24 * 3600);
    /// Default idle time of a process.
    pub const DEFAULT_IDLE_TIMEOUT: Millis = Millis::from_secs(30 * 60);
    /// Time between the signals that end a process.
    pub const GRACE: Millis = Millis::from_secs(5);

    /// Returns the step with this name.
    pub fn step(&self, id: &StepId) -> Option<&Step> {
        self.steps.iter().find(|step| step.id == *id)
    }

    /// Replaces the worker of every step that [can be handed over](Step::can_replace_worker).
    pub fn replace_workers(&mut self, other: &Worker) {
        for step in self.steps.iter_mut().filter(|step| step.can_replace_worker()) {
            if let StepKind::Worker(worker) = &mut step.work {
                *worker = worker.with_worker(other);
            }
        }
    }

    /// Returns all workers and checkers of the workflow and of its child runs, each with its step.
    pub fn all_workers(&self) -> Vec<(&Step, &Worker)> {
        let mut all = Vec::new();
        for step in &self.steps {
            let works = [Purpose::Work, Purpose::Diagnosis].into_iter().filter_map(|role| step.worker(role));
            let judges = [Inquiry::Check, Inquiry::Closer].into_iter().filter_map(|kind| step.checker(kind));
            all.extend(works.chain(judges).flat_map(Worker::chain).map(|worker| (step, worker)));
            if let StepKind::Subworkflow(child) = &step.work {
                all.extend(child.workflow.all_workers());
            }
        }
        all
    }
}

/// Budget of a run for all its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Maximum cost, in millionths of a US dollar; `None` for no limit.
    #[serde(default)]
    pub micro_usd: Option<u64>,
    /// Maximum tokens, all kinds together; `None` for no limit.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Whether calls of unknown cost are accepted: the budget counts only what clients report.
    #[serde(default)]
    pub accepts_unknown: bool,
}

impl Budget {
    /// Returns the budget after a person adds `more`; a missing limit stays missing.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        let sum = |bound: Option<u64>, more: Option<u64>| Some(bound?.saturating_add(more.unwrap_or(0)));
        Self {
            micro_usd: sum(self.micro_usd, more.micro_usd),
            tokens: sum(self.tokens, more.tokens),
            accepts_unknown: self.accepts_unknown || more.accepts_unknown,
        }
    }

    /// Returns the smaller of two budgets, limit by limit: a part may not exceed its whole.
    #[must_use]
    pub fn within(self, whole: Self) -> Self {
        let least = |[a, b]: [Option<u64>; 2]| a.into_iter().chain(b).min();
        Self {
            micro_usd: least([self.micro_usd, whole.micro_usd]),
            tokens: least([self.tokens, whole.tokens]),
            accepts_unknown: self.accepts_unknown || whole.accepts_unknown,
        }
    }
}

/// The reaction to a rate limit or an outage of a worker's service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutagePolicy {
    /// Wait and try again; costs no iteration.
    #[default]
    Wait,
    /// End the step as failed; `fail` in a workflow file.
    #[serde(alias = "fail")]
    Stop,
}

/// Rules about the branch that the work happens on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchRules {
    /// Whether the workflow itself moves to a work branch.
    pub create_branch: bool,
    /// The step after whose success the current branch is the expected one.
    pub transition_step: Option<StepId>,
    /// The branch that the run must start on.
    pub expected_work_branch: Option<String>,
}

/// One node of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Name; unique in the workflow.
    pub id: StepId,
    /// Description for display.
    #[serde(default)]
    pub description: Option<String>,
    /// The worker or child run.
    pub work: StepKind,
    /// Steps that must have ended before this one starts.
    #[serde(default)]
    pub depends_on: Vec<StepId>,
    /// Artifacts of earlier steps that are copied into the workspace before every attempt.
    #[serde(default)]
    pub inputs: Vec<Input>,
    /// Files that are collected as artifacts after the work.
    #[serde(default)]
    pub outputs: Vec<Output>,
    /// Time limit of one attempt of the worker.
    pub timeout: Millis,
    /// Maximum idle time of a worker or check of the step: no output, no processor time, no change of a file.
    pub idle_timeout: Millis,
    /// Retries per iteration with [`OnFailure::Retry`].
    #[serde(default)]
    pub max_retries: u32,
    /// The effect of a failed worker on the run.
    #[serde(default)]
    pub on_failure: OnFailure,
    /// The check after the work; makes the step a loop.
    #[serde(default)]
    pub check: Option<Check>,
    /// Maximum iterations of the loop; 1 without a check.
    pub max_iterations: u32,
    /// The effect of the last iteration.
    #[serde(default)]
    pub on_exhausted: OnIterationsExhausted,
    /// Rules for changing the strategy, and for stopping.
    #[serde(default)]
    pub convergence: Option<ConvergencePolicy>,
    /// Whether COMPLETE requires a change of the workspace since the step began.
    #[serde(default)]
    pub require_change: bool,
    /// Layout of the worker's prompt; `None` is [`template::DEFAULT`](crate::prompt_layout::DEFAULT).
    #[serde(default)]
    pub prompt_template: Option<String>,
    /// Conditions in addition to the verdict.
    #[serde(default)]
    pub completion: Option<Completion>,
    /// Memory of the previous iteration.
    #[serde(default)]
    pub session: Session,
    /// A command that reports on a silent worker.
    #[serde(default)]
    pub probe: Option<StallProbe>,
}

/// A command that reports whether a silent worker makes progress: its first word, or its exit code, means `progressing`
/// (0), `stalled` (1) or `terminal` (2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallProbe {
    /// Command line, run by `sh -c` in the working directory of the worker.
    pub command: String,
    /// Time of silence before the first probe, and interval between probes.
    pub interval: Millis,
    /// Time limit of the command.
    pub timeout: Millis,
    /// Number of `stalled` reports in a row that stop the worker; at least 1.
    pub stall_threshold: u32,
}

impl Step {
    /// Returns whether the worker itself reports when it is done.
    pub fn claims(&self) -> bool {
        self.check.as_ref().is_some_and(|check| check.by == CheckMethod::Claim)
    }

    /// Returns where the worker says that it is blocked or waits, from the workspace root. `None` if the step has no check, if
    /// the worker is its own check, or if a script reads the decision file of the worker.
    pub fn obstacle_file(&self) -> Option<String> {
        let check = self.check.as_ref()?;
        let is_taken = match &check.by {
            CheckMethod::Claim => true,
            CheckMethod::Exit(_) => check.decision_file.is_some(),
            _ => false,
        };
        (!is_taken).then(|| format!(".unstuck/{}.json", self.id))
    }

    /// Returns whether another worker could do the work of this one. A script has no replacement, and a child run has
    /// separate workers.
    pub fn can_replace_worker(&self) -> bool {
        matches!(&self.work, StepKind::Worker(worker) if worker.kind != WorkerKind::Custom)
    }

    /// Returns whether no other step may run at the same time. Changes of the workspace count for or against this
    /// step, and changes by another one would be indistinguishable.
    pub fn is_exclusive(&self) -> bool {
        let of_child = match &self.work {
            StepKind::Subworkflow(child) => child.workflow.steps.iter().any(Self::is_exclusive),
            StepKind::Worker(_) => false,
        };
        self.require_change || self.convergence.as_ref().is_some_and(ConvergencePolicy::has_rules) || of_child
    }

    /// Returns the worker that diagnoses a stall before the step ends as stuck.
    pub fn diagnosis_worker(&self) -> Option<&Worker> {
        self.convergence.as_ref()?.diagnose_with.as_ref()
    }

    /// Returns the worker for this purpose; `None` for a child run.
    pub fn worker(&self, purpose: Purpose) -> Option<&Worker> {
        match (purpose, &self.work) {
            (Purpose::Diagnosis, _) => self.diagnosis_worker(),
            (Purpose::Work, StepKind::Worker(worker)) => Some(worker),
            (Purpose::Work, StepKind::Subworkflow(_)) => None,
        }
    }

    /// Says whether another step has the same workers and checkers. Their instructions do not count.
    pub fn has_same_workers(&self, other: &Self) -> bool {
        let who = |worker: Option<&Worker>| {
            worker.map(|worker| Worker { instructions: String::new(), ..worker.clone() })
        };
        let both = |step: &Self| (who(step.worker(Purpose::Work)), who(step.checker(Inquiry::Check)));
        both(self) == both(other)
    }

    /// Returns what its check runs: command lines, or the names of validators.
    pub fn checks(&self) -> Vec<&str> {
        let commands = match self.check.as_ref().map(|check| &check.by) {
            Some(CheckMethod::Commands(commands)) => &commands[..],
            _ => &[],
        };
        let conditions = self.completion.iter().flat_map(|completion| &completion.conditions);
        let commands = commands.iter().map(|command| command.run.as_str());
        commands.chain(conditions.map(|condition| condition.validator.name.as_str())).collect()
    }

    /// Returns the command line that wraps the commands of its check and its conditions.
    pub fn check_wrap(&self) -> Option<&str> {
        self.worker(Purpose::Work).filter(|worker| worker.wraps_checks)?.wrap.as_deref()
    }

    /// Returns the worker that answers an inquiry; `None` if only commands answer, or nothing does.
    pub fn checker(&self, inquiry: Inquiry) -> Option<&Worker> {
        match inquiry {
            Inquiry::Check => match &self.check.as_ref()?.by {
                CheckMethod::Exit(worker) | CheckMethod::Agent(worker) => Some(worker),
                CheckMethod::Claim | CheckMethod::Commands(_) | CheckMethod::Conditions => None,
            },
            Inquiry::Closer => Some(&self.completion.as_ref()?.closer.as_ref()?.worker),
            Inquiry::Preflight | Inquiry::Conditions => None,
        }
    }

    /// Returns the first worker of a chain; `None` for a child run, and for an inquiry without a worker. A diagnosis
    /// has no chain.
    pub(crate) fn first(&self, place: ChainSlot) -> Option<&Worker> {
        match place.what {
            TurnKind::Work => self.worker(Purpose::Work),
            TurnKind::Check => self.checker(place.inquiry),
        }
    }
}

/// The work of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// A process.
    Worker(Worker),
    /// A child run, in the same workspace.
    Subworkflow(Subworkflow),
}

/// A step that is a child run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subworkflow {
    /// Path of the file, as the parent names it.
    pub path: String,
    /// The child workflow, read and checked.
    pub workflow: Box<Workflow>,
    /// Artifacts of the child that become artifacts of the step.
    #[serde(default)]
    pub exports: Vec<ArtifactExport>,
    /// Whether exports replace earlier ones instead of joining them.
    #[serde(default)]
    pub exports_replace: bool,
    /// Prefix for displaying the steps of the child; `None` hides them.
    #[serde(default)]
    pub event_prefix: Option<String>,
}

/// An artifact that is copied into the workspace before every attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the file format")]
pub struct Input {
    pub from: StepId,
    pub artifact: String,
    pub r#as: String,
}

/// A file or folder that becomes an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the file format")]
pub struct Output {
    pub name: String,
    pub path: String,
    #[serde(default)]
    pub r#type: Option<String>,
}

/// An artifact of a child run that becomes one of the step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of the file format")]
pub struct ArtifactExport {
    pub from: StepId,
    pub artifact: String,
    pub r#as: String,
}

/// The effect of a failed step on the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Steps that depend on it are skipped.
    #[default]
    Abort,
    /// The worker is tried again first, as often as `max_retries` says.
    Retry,
    /// Steps that depend on it run anyway.
    Continue,
}

/// The effect of the last allowed iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnIterationsExhausted {
    /// The step has failed.
    #[default]
    Abort,
    /// The step is incomplete, and the run continues.
    Continue,
}
