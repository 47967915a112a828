//! Steps registries: which external facts a step has to meet, what their failures are called, and which prompt
//! answers them.
//!
//! A registry is read with all its prompts and schemas before the first step, and everything that is wrong with
//! them is found in one pass. docs/registry.md has the format.
//!
//! # Map
//!
//! Read in this order: [`keys`] is the table of all keys, `read` makes the generations of the format one, `prompt_dir` finds prompts,
//! `load` looks everything up; [`params`] checks the params of commands, [`pattern`] chooses the pattern of a failure,
//! [`retry_prompt`] writes the prompt that answers failures, [`contradiction`] its table of claims, [`builtin`] knows validators without a registry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use unstuck_core::client::Client;
use unstuck_core::completion::{Completion, Condition, FailurePattern, Reviewer, Validator, ValidatorKind};
use unstuck_core::workflow::{Worker, WorkerKind};

mod answer_schema_json;
mod answer_schemas;
pub mod builtin;
pub mod contradiction;
pub mod front_matter;
pub mod keys;
mod load;
pub mod params;
mod parts;
pub mod pattern;
mod prompt_dir;
mod read;
pub mod retry_prompt;
mod scaffold;

use crate::prompt_template::Params;
use crate::workflow_file::worker::{capability, worker_kind};
pub(crate) use answer_schema_json::{json_form, refuse};
use load::near_or_list;
pub use parts::RegistryError;
use parts::{ATTEMPTS, CloserSpec, EndStep, PromptStep, RegistryParts};
pub(crate) use read::SourceLocation;
pub use scaffold::{starter, workflow_file};
use unstuck_document::{Diagnostic, LoadError, LoadReport};

/// A registry that was read, checked and resolved.
#[derive(Clone, Debug)]
pub struct Registry {
    parts: RegistryParts,
}

/// The requirements of a workflow step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepRef {
    /// `issue` for `initial.issue`, `continuation.issue` and `complete.issue` or `closure.issue`; or a full id.
    pub name: String,
    /// Values of `{uv-name}`.
    pub uv: BTreeMap<String, String>,
    /// The worker of the step. It also judges if the closer names no other worker.
    pub worker: Option<Worker>,
}

/// A condition of a workflow step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedCondition {
    /// The name of a validator.
    pub validator: String,
    /// Its parameters: scalars, or lists of them.
    pub params: Params,
}

/// Names of `{uv-name}` that Unstuck supplies in every step.
pub const SUPPLIED: &[&str] =
    &["iteration", "completed_iterations", "max_iterations", "remaining", "previous_summary"];

/// Prefixes of step ids, by the role of the step.
const INITIAL: &str = "initial.";
const CONTINUATION: &str = "continuation.";
const ENDS: &[&str] = &["complete.", "closure."];

impl Registry {
    /// Returns a registry that defines nothing, so that only the built-in validators are known.
    pub fn built_in() -> Self {
        Self { parts: RegistryParts::default() }
    }

    /// Reads a registry with its prompts and schemas, and returns it with its warnings.
    /// `asked` lists the validators that a workflow uses. `None` allows unused validators, to try one piece alone.
    ///
    /// # Errors
    ///
    /// All that is wrong with any of these files.
    pub fn load(
        path: &Path,
        workspace: &Path,
        asked: Option<&[String]>,
    ) -> Result<(Self, Vec<Diagnostic>), LoadError> {
        let mut report = LoadReport::default();
        let before = report.count();
        let root = prompt_dir::source(path, workspace, &mut report)
            .and_then(|(source, text)| unstuck_document::json::parse(source, &text, &mut report));
        let parts = root.map(|root| {
            let top = read::top(&root, &mut report);
            load::resolve(&top, path, workspace, asked, &mut report)
        });
        let failed = report.count() > before;
        let (complaints, warnings) = report.finish(false);
        match parts {
            Some(parts) if !failed => Ok((Self { parts }, warnings)),
            _ => Err(LoadError { complaints }),
        }
    }

    /// Returns what a workflow step asks for.
    ///
    /// # Errors
    ///
    /// A name that the registry does not define, a step without its prompt, or a closer that cannot be started.
    pub fn completion(&self, step: &StepRef) -> Result<Completion, RegistryError> {
        let found = self.find(&step.name)?;
        let spec = found.end.and_then(|end| end.closer.as_ref());
        let closer = spec.map(|spec| closer(spec, step.worker.as_ref())).transpose()?;
        Ok(Completion { closer, uv: step.uv.clone(), ..found.completion(&step.name)? })
    }

    /// Says whether some of the conditions of a step are of a type that is not run yet.
    pub fn has_unsupported(&self, step: &str) -> bool {
        self.find(step).is_ok_and(|found| found.end.is_some_and(|end| end.has_unsupported))
    }

    /// Returns a condition that a workflow step names itself, with the prompts of the step of the registry that it asks
    /// for, if any; `None` for a validator that is not run yet.
    ///
    /// # Errors
    ///
    /// A validator that the registry does not define, and that is no built-in one of this project.
    pub fn condition(
        &self,
        requested: &RequestedCondition,
        step: Option<&str>,
        project: &Path,
    ) -> Result<Option<Condition>, RegistryError> {
        let RequestedCondition { validator: name, params } = requested;
        let end = step.map(|name| self.find(name)).transpose()?.and_then(|found| found.end);
        let mut validator = match self.parts.validators.get(name) {
            Some(Some(validator)) => with_prompts(validator, end),
            Some(None) => return Ok(None), // A semantic one counts neither as passed nor as failed.
            None => match builtin::from_params(name, params) {
                Some(described) => described?,
                None => builtin::validator(name, project).map_err(|why| self.refused_validator(name, why))?,
            },
        };
        if let (ValidatorKind::Files(paths), Some(more)) = (&mut validator.run, params.get("paths")) {
            paths.extend(read::paths(more));
        }
        if matches!(&validator.run, ValidatorKind::Files(paths) if paths.is_empty()) {
            return Err(RegistryError::new(format!("{name} asks for no file"), load::NO_PATHS));
        }
        let texts = params.iter().map(|(param, value)| match read::join_scalars(value) {
            Some(text) => Ok((param.clone(), text)),
            None => Err(RegistryError::new(
                format!("parameter {param} of validator {name} is neither a scalar nor a list of scalars"),
                "expected text, a number, true or false, or a list of these",
            )),
        });
        let params: BTreeMap<String, String> = texts.collect::<Result<_, _>>()?;
        params::check_values(&params).map_err(|error| RegistryError::new(error.to_string(), ""))?;
        Ok(Some(Condition { validator, params }))
    }

    /// Returns the conditions with this validator, each with the ids of the steps that ask for it with the same parameters.
    pub fn conditions_with(&self, validator: &str) -> Vec<(Vec<&str>, &Condition)> {
        let mut found: Vec<(Vec<&str>, &Condition)> = Vec::new();
        for (id, end) in &self.parts.ends {
            for condition in end.conditions.iter().filter(|condition| condition.validator.name == validator) {
                let same = |other: &&mut (Vec<&str>, &Condition)| {
                    other.1.params == condition.params && other.1.validator.run == condition.validator.run
                };
                match found.iter_mut().find(same) {
                    Some((ids, _)) => ids.push(id),
                    None => found.push((vec![id], condition)),
                }
            }
        }
        found
    }

    /// Returns the names that a workflow may ask for.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let ids = self.parts.own.keys().chain(self.parts.ends.keys());
        for id in ids {
            let prefixes = [INITIAL, CONTINUATION].into_iter().chain(ENDS.iter().copied());
            let name = prefixes.into_iter().find_map(|prefix| id.strip_prefix(prefix)).unwrap_or(id);
            if !names.iter().any(|other| other == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    /// Returns the ids of steps with conditions that none of these names asks for: what they verify is never verified.
    pub fn unused_steps(&self, asked: &[&str]) -> Vec<String> {
        let is_asked = |id: &str| {
            asked
                .iter()
                .any(|name| *name == id || ENDS.iter().any(|prefix| id.strip_prefix(prefix) == Some(name)))
        };
        let with_conditions = self.parts.ends.iter().filter(|(_, end)| !end.conditions.is_empty());
        with_conditions.map(|(id, _)| id).filter(|id| !is_asked(id)).cloned().collect()
    }

    /// Returns the prompt files that answer a failure of a pattern in a step, to try one prompt alone.
    ///
    /// # Errors
    ///
    /// A name that the registry does not define.
    pub fn pattern(
        &self,
        step: &str,
        pattern: &str,
    ) -> Result<(Completion, Option<FailurePattern>), RegistryError> {
        let completion = self.find(step)?.completion(step)?;
        let mut patterns = completion.conditions.iter().map(|condition| &condition.validator.pattern);
        let found = patterns.find(|known| known.name == pattern).cloned();
        if found.is_none() && !pattern.is_empty() {
            let names = completion.conditions.iter().map(|known| known.validator.pattern.name.as_str());
            let help = near_or_list(pattern, names);
            return Err(RegistryError::new(
                format!("no condition of {step} has the pattern {pattern}"),
                help,
            ));
        }
        Ok((completion, found))
    }

    fn find(&self, name: &str) -> Result<NamedSteps<'_>, RegistryError> {
        let RegistryParts { own, ends, .. } = &self.parts;
        if own.contains_key(name) || ends.contains_key(name) {
            return Ok(NamedSteps { initial: own.get(name), continuation: None, end: ends.get(name) });
        }
        let named = |prefix: &str| format!("{prefix}{name}");
        let mut both = ENDS.iter().filter_map(|prefix| ends.get(&named(prefix)));
        let (end, other) = (both.next(), both.next());
        if other.is_some() {
            let what = format!("the registry defines both complete.{name} and closure.{name}");
            return Err(RegistryError::new(what, "name one of them in full"));
        }
        let (initial, continuation) = (own.get(&named(INITIAL)), own.get(&named(CONTINUATION)));
        let found = NamedSteps { initial, continuation, end };
        if found.initial.is_none() && found.continuation.is_none() && end.is_none() {
            let names = self.names();
            let help = near_or_list(name, names.iter().map(String::as_str));
            return Err(RegistryError::new(format!("the registry defines no step \"{name}\""), help));
        }
        Ok(found)
    }

    fn refused_validator(&self, name: &str, builtin: RegistryError) -> RegistryError {
        if builtin::NAMES.contains(&name) {
            return builtin;
        }
        let own: BTreeSet<&str> = self.parts.validators.keys().map(String::as_str).collect();
        let ours = builtin::NAMES.iter().chain(builtin::DESCRIBED).copied().filter(|key| !own.contains(key));
        let names = own.iter().copied().chain(ours);
        RegistryError::new(format!("the registry defines no validator \"{name}\""), near_or_list(name, names))
    }
}

/// Returns a validator with the prompts that answer its failure in a step.
fn with_prompts(validator: &Validator, end: Option<&EndStep>) -> Validator {
    let mut validator = validator.clone();
    let templates = end.and_then(|end| end.templates.get(&validator.pattern.name));
    validator.pattern.templates = templates.cloned().unwrap_or_default();
    validator
}

/// The prompts of a name.
struct NamedSteps<'a> {
    initial: Option<&'a PromptStep>,
    continuation: Option<&'a PromptStep>,
    end: Option<&'a EndStep>,
}

impl NamedSteps<'_> {
    /// Returns all but the closer.
    fn completion(&self, name: &str) -> Result<Completion, RegistryError> {
        let Self { initial, continuation, end } = *self;
        for own in [initial, continuation].into_iter().flatten() {
            if let (None, Some(file)) = (&own.prompt, &own.missing) {
                return Err(RegistryError::new(format!("there is no prompt {file} for {name}"), "write it"));
            }
        }
        let own = initial.or(continuation).map(|own| own.answer.as_ref());
        let later = initial.and(continuation).map(|own| own.answer.as_ref());
        let forms = answer_schemas::forms(own.flatten(), later, end.and_then(|end| end.answer.as_ref()))
            .map_err(|(what, help)| RegistryError::new(format!("{name}: {what}"), help))?;
        // A step has one limit: the limit of its end, else the limit of its first prompt.
        let bounds = [initial, continuation].into_iter().flatten().map(|own| own.max_attempts);
        let max_attempts =
            std::iter::once(end.and_then(|end| end.max_attempts)).chain(bounds).flatten().next();
        let completion = Completion {
            prompts: load::step_prompts(initial, continuation, end),
            answer: forms.first,
            later_answer: forms.later,
            final_answer: forms.last,
            max_attempts: max_attempts.unwrap_or(ATTEMPTS),
            ..Completion::default()
        };
        let Some(end) = end else { return Ok(completion) };
        Ok(Completion {
            conditions: end.conditions.clone(),
            on_failure: end.on_failure,
            fallback: end.fallback.clone(),
            guesses: end.guesses.clone(),
            ..completion
        })
    }
}

/// Returns the built-in client of a kind of worker.
fn client_of_kind(kind: WorkerKind) -> Option<Box<Client>> {
    let name = kind.client_name()?;
    unstuck_workers::all().find(|client| client.name == name).map(|client| Box::new(client.client()))
}

/// Makes a judge of what the file says and who works on the step.
fn closer(spec: &CloserSpec, worker: Option<&Worker>) -> Result<Reviewer, RegistryError> {
    let named = spec.worker.as_deref().and_then(worker_kind);
    let Some(kind) = named.or_else(|| worker.map(|worker| worker.kind)) else {
        return Err(RegistryError::new(
            "the closer names no worker",
            "add worker to it, one of those of the workflow",
        ));
    };
    // Settings of a worker of another kind do not apply to this one.
    let same = worker.filter(|worker| worker.kind == kind).cloned();
    let mut base = same.unwrap_or_else(|| Worker::new(kind, ""));
    base.client = base.client.or_else(|| client_of_kind(kind));
    if !base.can_be_started() {
        let what = format!("the closer's worker {} is nobody that can be started", kind.as_str());
        return Err(RegistryError::new(
            what,
            "name one of those of the workflow, or CLAUDE_CODE, CODEX_CLI or OPENCODE",
        ));
    }
    Ok(Reviewer {
        worker: Worker {
            instructions: String::new(),
            capabilities: spec.capabilities.iter().filter_map(|name| capability(name)).collect(),
            model: spec.model.clone().or(base.model),
            workspace: worker.map_or(base.workspace, |worker| worker.workspace.clone()),
            fallback: Vec::new(),
            ..base
        },
        prompt: spec.prompt.clone(),
        required: spec.required.clone(),
    })
}
