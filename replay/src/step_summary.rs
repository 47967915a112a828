//! Steps of a run as people read them, with their iterations, check commands and failures.

use serde::Serialize;
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::{CheckFinished, Exit, StepEnd};
use unstuck_core::evidence::{CommandResult, Decision, Failure, Tests, ValidatorOutcome, ValidatorResult};
use unstuck_core::id::{Iteration, Millis, Seq, Stage, StepId, Timestamp};
use unstuck_core::judge::gate;
use unstuck_core::workflow::{CheckMethod, Step};

/// A step as people read it.
#[derive(Clone, Debug, Serialize)]
pub struct StepSummary {
    /// The step.
    pub id: StepId,
    /// It has a loop; else it has one iteration, and its bound is not worth a word.
    #[serde(skip)]
    pub has_loop: bool,
    /// Bound of its loop.
    pub max_iterations: u32,
    /// Results of the check commands before the first iteration.
    pub baseline: Vec<CommandSummary>,
    /// Its iterations so far.
    pub iterations: Vec<IterationSummary>,
    /// How it ended.
    pub end: Option<StepEnd>,
    /// The same as a sentence.
    pub end_sentence: Option<String>,
    /// When the wait ends, and its reason; `None` if the step is not waiting.
    pub waits: Option<(Timestamp, String)>,
    /// The script of its check, where the exit code of one is the verdict.
    #[serde(skip)]
    pub script: Option<String>,
}

/// Result of a check command, for users.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CommandSummary {
    /// The command line.
    pub run: String,
    /// The command exited with 0, and neither its reports nor its summary contain a named failure.
    pub passed: bool,
    /// The result comes from a validator, so there is no baseline to compare with.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_validator: bool,
    /// The command exited with 0, but its output reports failures.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub belies_itself: bool,
    /// Tests failed in it, and it counts none: one that is removed may not be seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hides_tests: bool,
    /// It came to its end, and it is known what failed.
    pub is_conclusive: bool,
    /// How it ended, where it is a command and that is not known.
    #[serde(skip)]
    pub inconclusive: Option<String>,
    /// What failed; the first so many of them.
    pub failures: Vec<FailureSummary>,
    /// At how many places something failed.
    pub failed: u64,
    /// Failures that occurred in some check attempts but not in all.
    pub flaky: Vec<FailureSummary>,
    /// How many tests there were, where it says so.
    pub tests: Option<Tests>,
    /// Wall time.
    pub duration: Millis,
}

/// A failure as people read it.
#[derive(Clone, Debug, Serialize)]
pub struct FailureSummary {
    /// Name of the failure.
    pub name: String,
    /// Its identity.
    pub fingerprint: String,
    /// Message of the tool.
    pub message: String,
    /// File and line, where they are known.
    pub place: Option<String>,
}

/// Failures of a command beyond this are counted only.
const FAILURES_MAX: usize = 200;

impl CommandSummary {
    pub(crate) fn new(result: &CommandResult) -> Self {
        Self {
            run: result.run.clone(),
            passed: result.passed(),
            is_validator: false,
            belies_itself: result.passes_despite_failures(),
            hides_tests: result.may_hide_removed_tests(),
            is_conclusive: result.is_conclusive(),
            inconclusive: result.inconclusive(),
            failures: result.failures.iter().take(FAILURES_MAX).map(FailureSummary::new).collect(),
            failed: result.failed_places(),
            flaky: result.flaky.iter().take(FAILURES_MAX).map(FailureSummary::new).collect(),
            tests: result.tests,
            duration: result.duration,
        }
    }

    /// Converts the result of a validator, with its name as the command line.
    fn from_validator(result: &ValidatorResult) -> Self {
        Self {
            run: result.validator.clone(),
            passed: result.passed(),
            is_validator: true,
            is_conclusive: !matches!(result.outcome, ValidatorOutcome::CouldNotRun(_)),
            failures: result.failures.iter().take(FAILURES_MAX).map(FailureSummary::new).collect(),
            failed: u64::try_from(result.failures.len()).unwrap_or(u64::MAX),
            duration: result.duration,
            ..Self::default()
        }
    }
}

impl FailureSummary {
    fn new(failure: &Failure) -> Self {
        Self {
            name: gate::name(failure),
            fingerprint: failure.fingerprint.to_string(),
            message: failure.message.clone(),
            place: failure.location.as_ref().map(ToString::to_string),
        }
    }
}

pub(crate) fn failed(commands: &[CommandSummary]) -> Option<u64> {
    (!commands.is_empty()).then(|| commands.iter().map(|command| command.failed).sum())
}

/// An iteration as people read it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IterationSummary {
    /// Its number.
    pub iteration: Iteration,
    /// When its first worker was started.
    pub started_at: Timestamp,
    /// Time of its workers and checks.
    pub busy: Millis,
    /// How often a worker was started.
    pub worker_calls: u32,
    /// How often a check was started.
    pub check_calls: u32,
    /// How its newest process ended.
    pub exit: Option<Exit>,
    /// The last line that its check printed.
    pub said: Option<String>,
    /// Results of the commands of its check.
    pub commands: Vec<CommandSummary>,
    /// How many failures there were before it, where that is known.
    pub failed_before: Option<u64>,
    /// Whether the worker changed anything; `None` if the workspace could not be compared.
    pub changed: Option<bool>,
    /// The event that says that it did.
    #[serde(skip)]
    pub changed_at: Option<Seq>,
    /// How many files differ from the base of the step; `None` where that is not known.
    pub files: Option<u64>,
    /// Changes of its attempts, by file; `None` if there are none or they are unknown.
    pub diffstat: Option<Diffstat>,
    /// Files changed out of scope that were reverted after the work.
    pub put_back: Vec<String>,
    /// Diagnosis of why the loop is stuck, made after this iteration.
    pub diagnosis: Option<String>,
    /// Decision of the verdict.
    pub decision: Option<Decision>,
    /// Where the claim was read.
    pub source: Option<&'static str>,
    /// Why.
    pub reasons: Vec<String>,
    /// What failed.
    pub fingerprints: Vec<String>,
    /// Problems of the answer.
    pub problems: Vec<String>,
    /// Money that its calls cost, in millionths of a US dollar; `None` where not all of them tell.
    pub micro_usd: Option<u64>,
    /// Tokens that its calls used; `None` where not all of them tell.
    pub tokens: Option<u64>,
    #[serde(skip)]
    pub(crate) paid_calls: u64,
    /// The event of the verdict.
    pub verdict: Option<Seq>,
    /// The stage after it, where it was raised.
    pub raised_to: Option<Stage>,
}

impl StepSummary {
    pub(crate) fn new(step: &Step) -> Self {
        let (has_loop, max_iterations) = (step.check.is_some(), step.max_iterations);
        let (baseline, iterations) = (Vec::new(), Vec::new());
        let (end, end_sentence, waits) = (None, None, None);
        let script = match step.check.as_ref().map(|check| &check.by) {
            Some(CheckMethod::Exit(checker)) => Some(checker.instructions.clone()),
            _ => None,
        };
        let id = step.id.clone();
        Self { waits, id, has_loop, max_iterations, baseline, iterations, end, end_sentence, script }
    }

    /// Returns the word for what one of its iterations was judged.
    pub fn verdict(&self, iteration: &IterationSummary) -> &'static str {
        let unjudged = if self.end == Some(StepEnd::Complete) { "done" } else { "not judged" };
        iteration.decision.map_or(unjudged, Decision::in_words)
    }
}

impl IterationSummary {
    pub(crate) fn new(iteration: Iteration, started_at: Timestamp) -> Self {
        Self { iteration, started_at, ..Self::default() }
    }

    /// Says whether it has changed something, and an exit code is all that says that it failed.
    pub(crate) fn is_unchecked(&self) -> bool {
        self.changed == Some(true) && matches!(self.exit, Some(Exit::Code(1..=125)))
    }

    /// Takes note of what the commands of a check, or the validators after it, have shown. Who is asked again
    /// counts for the last time: what a check showed before is none of it.
    pub(crate) fn add_results(&mut self, check: &CheckFinished, is_of_check: bool) {
        let commands = check.commands.iter().map(CommandSummary::new);
        let now: Vec<_> =
            commands.chain(check.validators.iter().map(CommandSummary::from_validator)).collect();
        let is_over = |before: &CommandSummary| is_of_check && !before.is_validator;
        self.commands.retain(|before| !is_over(before) && now.iter().all(|new| new.run != before.run));
        self.commands.extend(now);
    }

    /// Returns how many failures the commands of its check showed; `None` if it has none.
    pub fn failed(&self) -> Option<u64> {
        failed(&self.commands)
    }

    /// Returns a short reason for the decision: the first reason of the verdict. If there is none: a doubt about the
    /// completion, the problem that made the answer unreadable, or the last line that the check printed.
    pub fn why(&self) -> Option<&str> {
        let otherwise = match self.decision {
            Some(Decision::Complete) => self.problems.first(),
            Some(Decision::Blocked | Decision::Waiting) => None,
            // The sources are read in order, so the newest problem says most.
            Some(Decision::None) => self.problems.last(),
            _ => self.said.as_ref(),
        };
        self.reasons.first().or(otherwise).map(String::as_str)
    }
}
