//! What a step asks of its work beyond a verdict: conditions that a program verifies, the shape of the answer, a
//! closer, and the prompts that a failure is answered with.
//!
//! Plain data of the workflow: read, resolved and checked in `unstuck-workflow`, recorded with the start of a run,
//! so that a replay knows the very prompts and schemas that the live run had.

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

/// The command of the built-in validator `git-clean`. Whatever the repository is configured to: what is not committed is shown.
pub const GIT_STATUS: &str = "git -c core.fsmonitor=false status --porcelain --untracked-files=normal";

/// What a step asks of its work beyond a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Completion {
    /// All of them must hold, after the last change of the workspace; asked in this order.
    pub conditions: Vec<Condition>,
    /// The first that does not hold ends the asking.
    pub stop_at_first: bool,
    /// What a condition that does not hold means.
    pub on_failure: OnFailed,
    /// At so many occurrences of one failure the step has failed; 0 is no bound.
    pub max_attempts: u32,
    /// What the answer of the worker has to look like.
    pub answer: Option<AnswerFormat>,
    /// The same for the answers after the first, where the file says something else for them.
    pub later_answer: LaterAnswer,
    /// What an answer that declares completion has to look like, too.
    pub final_answer: Option<AnswerFormat>,
    /// A judge that has the last word.
    pub closer: Option<Closer>,
    /// The prompts of the step, from a registry; `None` where the instructions are all.
    pub prompts: Option<StepPrompts>,
    /// Answers a failure whose pattern has no prompt of its own.
    pub fallback: Option<Template>,
    /// The patterns that a failure without one may be given by its words, in the order of the file.
    pub guesses: Vec<Pattern>,
    /// Values of `{uv-name}` in every prompt.
    pub uv: BTreeMap<String, String>,
    /// Validators whose program was not there when the run was begun; it is looked for again before the first work.
    pub doubted: Vec<String>,
}

impl Completion {
    /// Returns the form of the answer of an iteration.
    pub fn answer_of(&self, iteration: Iteration) -> Option<&AnswerFormat> {
        match &self.later_answer {
            _ if iteration <= Iteration(1) => self.answer.as_ref(),
            LaterAnswer::Same => self.answer.as_ref(),
            LaterAnswer::Any => None,
            LaterAnswer::Other(format) => Some(format),
        }
    }

    /// Says whether the first condition that does not hold ends the asking. One that is skipped ends nothing: those behind it
    /// may be of another kind.
    pub fn stops_at_first(&self) -> bool {
        self.stop_at_first && self.on_failure != OnFailed::Skip
    }

    /// Says whether any condition is asked in this phase.
    pub fn asks(&self, phase: Phase) -> bool {
        self.asked(phase).next().is_some()
    }

    /// Returns the conditions that are asked in this phase, in order.
    pub fn asked(&self, phase: Phase) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().filter(move |it| it.validator.phase == phase)
    }

    /// Says whether anything is asked before the first work.
    pub fn asks_first(&self) -> bool {
        self.asks(Phase::Preflight) || !self.doubted.is_empty()
    }

    /// Returns the most time that these conditions may take together: each may be tried twice, and what hangs takes
    /// a while to end.
    pub fn limit(&self, phase: Phase) -> Millis {
        const TO_END: Millis = Millis::from_secs(20);
        let twice = |it: &Condition| it.validator.timeout.plus(it.validator.timeout).plus(TO_END);
        let to_look = if phase == Phase::Preflight && !self.doubted.is_empty() { TO_END } else { Millis(0) };
        self.asked(phase).fold(to_look, |sum, it| sum.plus(twice(it)))
    }
}

/// What a condition that does not hold means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailed {
    /// The worker is told, and tries again.
    #[default]
    Retry,
    /// The step has failed.
    Abort,
    /// It is recorded, and the step goes on as if it held.
    Skip,
}

/// A validator, and what it is asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// What is run.
    pub validator: Validator,
    /// Given to it as environment variables; lists are joined by blanks.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// A question to the workspace that a program answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validator {
    /// Its name in the registry.
    pub name: String,
    /// What is run.
    pub run: Run,
    /// When it has passed; `None` for files, which are there or not.
    #[serde(default)]
    pub success_when: Option<SuccessWhen>,
    /// Exit codes that say that a command ran properly.
    pub exit_codes: Vec<i32>,
    /// Before the first work, or after each.
    #[serde(default)]
    pub phase: Phase,
    /// Most time of one run.
    pub timeout: Millis,
    /// A failure can be mended by the worker; if not, it ends the step.
    pub recoverable: bool,
    /// What its failure is called, and answered with.
    pub pattern: Pattern,
    /// What is read from its output, for the prompt.
    #[serde(default)]
    pub extract: BTreeMap<String, Extractor>,
}

/// What a validator runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    /// A command line, run by `sh -c` in the root of the workspace.
    Command(String),
    /// The same for a program that says the outcome itself, as JSON.
    Custom(String),
    /// Nothing: these files, and folders with a final `/`, have to be there.
    Files(Vec<String>),
    /// Nothing: in this checklist of the workspace every item has to be done.
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
pub enum Phase {
    /// Before the first work of the step; a failure ends it.
    Preflight,
    /// After the work.
    #[default]
    AfterWork,
}

/// What a failure is called, and which prompt answers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// Its name in the registry.
    pub name: String,
    /// For people, and for the prompt where there is no template.
    pub description: String,
    /// What its templates may use, besides what every prompt has.
    #[serde(default)]
    pub params: Vec<String>,
    /// The templates for the first, second, ... occurrence of one failure; the last one stays. Empty: the
    /// fallback of the step, or the built-in text.
    #[serde(default)]
    pub templates: Vec<Template>,
    /// Words, and regular expressions between slashes, that speak for it in a failure without a pattern.
    #[serde(default)]
    pub words: Vec<String>,
}

/// A prompt with placeholders, as a file of the prompt tree holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// The file, from the folder of the prompts.
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
    /// For the first iteration.
    pub initial: Template,
    /// For those after it that go on; `None` for `initial` again.
    #[serde(default)]
    pub onward: Option<Template>,
    /// For those that repeat: the first, second, ... repeat; the last one stays unless `bounded`.
    pub continuation: Vec<Template>,
    /// A repeat beyond the last continuation ends the step as failed.
    pub bounded: bool,
    /// Names of `{uv-name}` that have to have a value.
    #[serde(default)]
    pub variables: Vec<String>,
}

impl StepPrompts {
    /// Says whether a worker that has asked for so many repeats in a row may have no other.
    pub fn is_exhausted(&self, repeats: u32) -> bool {
        self.bounded && usize::try_from(repeats).is_ok_and(|repeats| repeats > self.continuation.len())
    }

    /// Returns the prompt of an iteration, after so many repeats in a row.
    pub fn of(&self, iteration: Iteration, repeats: u32) -> &Template {
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

/// What an answer has to look like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerFormat {
    /// The form.
    pub form: Form,
    /// Answers an answer of another form; `None` for the built-in text.
    #[serde(default)]
    pub template: Option<Template>,
    /// Whether an answer to a schema has to declare that the work is complete; else the form is all.
    #[serde(default = "yes")]
    pub declares: bool,
}

fn yes() -> bool {
    true
}

/// What the answers after the first have to look like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaterAnswer {
    /// As the first one.
    #[default]
    Same,
    /// Like nothing: the prompt that is sent for them asks for no form.
    Any,
    /// Like this.
    Other(AnswerFormat),
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// JSON that meets a schema, or any JSON without one.
    Json {
        /// Resolved: it refers to no other file.
        #[serde(default, with = "json_text")]
        schema: Option<Value>,
        /// Where it comes from: `issue.schema.json#/$defs/work`.
        source: String,
        /// SHA-256 of each file that it was made of, as hexadecimal digits.
        digests: BTreeMap<String, String>,
    },
    /// Text in which this regular expression matches.
    TextPattern(String),
}

/// A judge that is asked when completion was declared and the conditions hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closer {
    /// Who judges; without write tools unless the file says so.
    pub worker: Worker,
    /// What it is asked.
    pub prompt: Template,
    /// Ids that its checklist must have.
    #[serde(default)]
    pub required: Vec<String>,
}

/// Returns a pointer without the sign that it begins with.
///
/// # Errors
///
/// It does not begin so.
pub fn check_pointer(pointer: &str) -> Result<&str, &'static str> {
    pointer.strip_prefix('/').ok_or("does not begin with `/`")
}
