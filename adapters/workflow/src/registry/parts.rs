//! The resolved parts of a registry.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::completion::{Condition, FailurePattern, OnValidatorFailure, Template, Validator};

use super::answer_schemas::StepAnswer;

/// Default number of occurrences of one failure at which a step has failed.
pub(super) const ATTEMPTS: u32 = 3;

/// The content of a registry.
#[derive(Clone, Debug, Default)]
pub(super) struct RegistryParts {
    pub own: BTreeMap<String, PromptStep>,
    pub ends: BTreeMap<String, EndStep>,
    /// By name; nothing for what is not run yet.
    pub validators: BTreeMap<String, Option<Validator>>,
}

/// A step with its prompt.
#[derive(Clone, Debug)]
pub(super) struct PromptStep {
    pub prompt: Option<Template>,
    /// The prompt that was looked for.
    pub missing: Option<String>,
    pub repeats: Option<Vec<Template>>,
    pub bounded: bool,
    /// Those that it declares, and those that its prompt has.
    pub variables: BTreeSet<String>,
    pub max_attempts: Option<u32>,
    pub answer: Option<StepAnswer>,
}

/// A step with conditions.
#[derive(Clone, Debug)]
pub(super) struct EndStep {
    pub conditions: Vec<Condition>,
    /// Some of its conditions are of a type that is not run yet.
    pub has_unsupported: bool,
    pub fallback: Option<Template>,
    pub guesses: Vec<FailurePattern>,
    pub on_failure: OnValidatorFailure,
    pub max_attempts: Option<u32>,
    pub answer: Option<StepAnswer>,
    pub closer: Option<CloserSpec>,
    pub variables: Vec<String>,
    /// The prompt for each pattern in this step.
    pub templates: BTreeMap<String, Vec<Template>>,
}

/// A closer before it is known who works on the step.
#[derive(Clone, Debug)]
pub(super) struct CloserSpec {
    pub prompt: Template,
    pub worker: Option<String>,
    pub model: Option<String>,
    pub capabilities: Vec<String>,
    pub required: Vec<String>,
}

/// Why a registry cannot give what a workflow asks for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {help}")]
pub struct RegistryError {
    /// The problem.
    pub what: String,
    /// How to fix it.
    pub help: String,
}

impl RegistryError {
    pub(super) fn new(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { what: what.into(), help: help.into() }
    }
}
