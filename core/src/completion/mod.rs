//! Completion rules of a step in addition to a verdict: conditions that a program verifies, the form of the answer, a
//! closer, and the prompts that answer a failure.
//!
//! Plain data of the workflow. `unstuck-workflow` reads, resolves and checks it. The start of a run records it, so that
//! a replay has the same prompts and schemas as the live run.

mod extractor;
mod success_when;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{Iteration, Millis};
use crate::json_text;
use crate::workflow::worker::Worker;
pub use extractor::Extractor;
pub use success_when::{SuccessWhen, SuccessWhenError, regex};

/// Command of the built-in validator `git-clean`. It shows uncommitted changes whatever the repository's configuration.
pub const GIT_STATUS: &str = "git -c core.fsmonitor=false status --porcelain --untracked-files=normal";

/// Completion rules of a step in addition to a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Completion {
    /// Conditions that must all hold after the last change of the workspace, in the order of their checks.
    pub conditions: Vec<Condition>,
    /// Whether the first condition that does not hold ends the check.
    pub stop_at_first: bool,
    /// Action if a condition does not hold.
    pub on_failure: OnValidatorFailure,
    /// Occurrences of one failure at which the step fails; 0 means no limit.
    pub max_attempts: u32,
    /// Required form of the worker's answer.
    pub answer: Option<AnswerFormat>,
    /// Required form of the answers after the first, if the file sets another one.
    pub later_answer: LaterAnswer,
    /// Additional form of an answer that declares completion.
    pub final_answer: Option<AnswerFormat>,
    /// Judge with the final decision.
    pub closer: Option<Reviewer>,
    /// Prompts of the step, from a registry; `None` if the instructions are the only prompt.
    pub prompts: Option<StepPrompts>,
    /// Prompt for a failure whose pattern has none.
    pub fallback: Option<Template>,
    /// Candidate patterns for a failure without one, matched by its text, in the order of the file.
    pub guesses: Vec<FailurePattern>,
    /// Values of `{uv-name}` in every prompt.
    pub uv: BTreeMap<String, String>,
    /// Validators whose program was missing when the run started; it is searched for again before the first work.
    pub doubted: Vec<String>,
}

impl Completion {
    /// Returns the required form of the answer of an iteration.
    pub fn answer_of(&self, iteration: Iteration) -> Option<&AnswerFormat> {
        match &self.later_answer {
            _ if iteration <= Iteration(1) => self.answer.as_ref(),
            LaterAnswer::Same => self.answer.as_ref(),
            LaterAnswer::Any => None,
            LaterAnswer::Other(format) => Some(format),
        }
    }

    /// Returns whether the first condition that does not hold ends the check. A skipped condition does not: later ones
    /// may be of another kind.
    pub fn stops_at_first(&self) -> bool {
        self.stop_at_first && self.on_failure != OnValidatorFailure::Skip
    }

    /// Returns whether this phase has conditions.
    pub fn has_conditions(&self, phase: Timing) -> bool {
        self.conditions_in(phase).next().is_some()
    }

    /// Returns the conditions of this phase, in order.
    pub fn conditions_in(&self, phase: Timing) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().filter(move |condition| condition.validator.phase == phase)
    }

    /// Returns whether a condition is checked before the first work.
    pub fn has_preflight(&self) -> bool {
        self.has_conditions(Timing::Preflight) || !self.doubted.is_empty()
    }

    /// Returns the maximum time for all conditions of this phase: each may run twice, and a hanging one takes a while
    /// to end.
    pub fn limit(&self, phase: Timing) -> Millis {
        const TO_END: Millis = Millis::from_secs(20);
        let twice = |rule: &Condition| rule.validator.timeout.plus(rule.validator.timeout).plus(TO_END);
        let to_look = if phase == Timing::Preflight && !self.doubted.is_empty() { TO_END } else { Millis(0) };
        self.conditions_in(phase).fold(to_look, |sum, condition| sum.plus(twice(condition)))
    }
}

/// Action if a condition does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnValidatorFailure {
    /// Report it to the worker and retry.
    #[default]
    Retry,
    /// Fail the step.
    Abort,
    /// Record it and continue as if the condition held.
    Skip,
}

/// A validator with its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Validator to run.
    pub validator: Validator,
    /// Environment variables of the validator; lists are joined by spaces.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// A question to the workspace that a program answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validator {
    /// Its name in the registry.
    pub name: String,
    /// Command to run, or files to verify.
    pub run: ValidatorKind,
    /// Condition to pass; `None` for files, which exist or not.
    #[serde(default)]
    pub success_when: Option<SuccessWhen>,
    /// Exit codes of a command that ran properly.
    pub exit_codes: Vec<i32>,
    /// Before the first work, or after each.
    #[serde(default)]
    pub phase: Timing,
    /// Maximum time of one run.
    pub timeout: Millis,
    /// Whether the worker can fix a failure; if not, it ends the step.
    pub recoverable: bool,
    /// Name of its failure, with the prompts that answer it.
    pub pattern: FailurePattern,
    /// Values read from its output for the prompt.
    #[serde(default)]
    pub extract: BTreeMap<String, Extractor>,
}

/// Command or files of a validator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidatorKind {
    /// A command line, run by `sh -c` in the root of the workspace.
    Command(String),
    /// The same for a program that reports the result itself, as JSON.
    Custom(String),
    /// No command: these files, and directories with a final `/`, must exist.
    Files(Vec<String>),
    /// No command: every item of this checklist in the workspace must be done.
    Checklist(Checklist),
}

/// A list of items in a file of the workspace, each done or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checklist {
    /// The file: Markdown with boxes (`- [x]`), or JSON.
    pub path: String,
    /// In JSON: a pointer to the value that has to be true, `*` for every item (`/stories/*/passes`).
    #[serde(default)]
    pub pointer: Option<String>,
}

/// When a validator runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Before the first work of the step; a failure ends it.
    Preflight,
    /// After the work.
    #[default]
    AfterWork,
}

/// Name of a failure, with the prompts that answer it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailurePattern {
    /// Its name in the registry.
    pub name: String,
    /// Description for reports, and for the prompt if the pattern has no template.
    pub description: String,
    /// Parameters for its templates, in addition to the common ones.
    #[serde(default)]
    pub params: Vec<String>,
    /// Templates for the first, second, ... occurrence of one failure; the last one repeats. If empty, the fallback of
    /// the step or the built-in text applies.
    #[serde(default)]
    pub templates: Vec<Template>,
    /// Words, and regular expressions between slashes, that suggest this pattern for a failure without one.
    #[serde(default)]
    pub words: Vec<String>,
}

/// A prompt with placeholders, as a file of the prompt tree holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// Path of the file, relative to the prompts directory.
    pub file: String,
    /// Its text without front matter.
    pub text: String,
    /// Variables that are written `{name}` in it, without `uv-`.
    #[serde(default)]
    pub custom: Vec<String>,
}

/// The prompts of a step, from a registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepPrompts {
    /// Prompt of the first iteration.
    pub initial: Template,
    /// Prompt of later iterations that do not repeat; `None` uses `initial` again.
    #[serde(default)]
    pub onward: Option<Template>,
    /// Prompts of the first, second, ... repeat; the last one stays in use unless `bounded`.
    pub continuation: Vec<Template>,
    /// Whether a repeat beyond the last continuation fails the step.
    pub bounded: bool,
    /// Names of `{uv-name}` that require a value.
    #[serde(default)]
    pub variables: Vec<String>,
}

impl StepPrompts {
    /// Returns whether a worker with this number of requested repeats in a row may not have another one.
    pub fn is_exhausted(&self, repeats: u32) -> bool {
        self.bounded && usize::try_from(repeats).is_ok_and(|repeats| repeats > self.continuation.len())
    }

    /// Returns the prompt of an iteration after this number of repeats in a row.
    pub fn template_for(&self, iteration: Iteration, repeats: u32) -> &Template {
        if iteration <= Iteration(1) {
            return &self.initial;
        }
        let onward = self.onward.as_ref().unwrap_or(&self.initial);
        let Some(repeat) = usize::try_from(repeats).unwrap_or(usize::MAX).checked_sub(1) else {
            return onward;
        };
        self.continuation.get(repeat).or(self.continuation.last()).unwrap_or(onward)
    }
}

/// Required form of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFormat {
    /// The form.
    pub form: AnswerSchema,
    /// Prompt that answers a wrong form; `None` for the built-in text.
    #[serde(default)]
    pub template: Option<Template>,
    /// Whether an answer to a schema must declare that the work is complete; otherwise the form is enough.
    #[serde(default = "yes")]
    pub declares: bool,
}

fn yes() -> bool {
    true
}

/// Required form of the answers after the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaterAnswer {
    /// The form of the first answer.
    #[default]
    Same,
    /// Any form: the prompt of these answers requires none.
    Any,
    /// This form.
    Other(AnswerFormat),
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSchema {
    /// JSON that meets a schema, or any JSON without one.
    Json {
        /// Resolved schema, without references to other files.
        #[serde(default, with = "json_text")]
        schema: Option<Value>,
        /// Source of the schema: `issue.schema.json#/$defs/work`.
        source: String,
        /// SHA-256 of each file that the schema was made of, as hexadecimal digits.
        digests: BTreeMap<String, String>,
    },
    /// Text in which this regular expression matches.
    TextPattern(String),
}

/// A judge that runs after completion was declared and the conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewer {
    /// Worker that judges; without write tools unless the file grants them.
    pub worker: Worker,
    /// Prompt of the judge.
    pub prompt: Template,
    /// Ids that its checklist must have.
    #[serde(default)]
    pub required: Vec<String>,
}

/// Returns a pointer without its leading `/`.
///
/// # Errors
///
/// The pointer has no leading `/`.
pub fn check_pointer(pointer: &str) -> Result<&str, &'static str> {
    pointer.strip_prefix('/').ok_or("does not begin with `/`")
}
