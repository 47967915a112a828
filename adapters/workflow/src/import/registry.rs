//! A steps registry: a workflow that does its steps one after the other, each with its prompts and conditions.

use unstuck_core::workflow::{Worker, WorkerKind};
use unstuck_document::{LoadError, TreeNode, segment};

use super::input::Import;
use super::write::{DoneCondition, DraftStep};
use crate::registry::{Registry, StepRef};
use crate::workflow_file::conditions::names_without_value;

/// Says whether a tree is one.
pub(super) fn is_one(tree: &TreeNode) -> bool {
    let is_map = |key: &str| tree.entry(key).is_some_and(|entry| !entry.value.entries().is_empty());
    let parts = [
        "steps",
        "completionSteps",
        "validationSteps",
        "validators",
        "failurePatterns",
        "completionPatterns",
    ];
    tree.entry("agentId").is_some() && parts.iter().any(|part| is_map(part))
}

/// Reads one, with its prompts and schemas.
pub(super) fn read(input: &mut Import<'_>) -> Result<(), LoadError> {
    let (options, path) = (input.options, input.source.path);
    let file = options.workspace.join(path);
    let (registry, warnings) = input.files.registry(Some(&file), &options.workspace, &[])?;
    for warning in warnings {
        input.omit(
            (warning.line > 0).then_some(warning.line),
            warning.what,
            warning.help.as_deref().unwrap_or("-"),
        );
    }
    let names = registry.names();
    if names.is_empty() {
        return Err(input.rejected(0, "the registry has no step", "add one under steps"));
    }
    let mut before: Option<String> = None;
    input.draft.steps.clear();
    for name in names {
        let id = if segment(&name).is_ok() {
            name.clone()
        } else {
            format!("step-{}", input.draft.steps.len() + 1)
        };
        input.carry(None, format!("the step {name}"));
        let uv = variables_without_value(&registry, &name);
        if !uv.is_empty() {
            let what = format!("values for {} of the step {name}: they are empty", uv.join(", "));
            input.omit(None, what, "write them under registry_step");
        }
        let done = DoneCondition::Registry { name: name.clone(), uv };
        let instructions = format!("Do the step {name}.");
        input.draft.steps.push(DraftStep {
            depends_on: before.replace(id.clone()),
            instructions,
            done,
            ..DraftStep::new(&id)
        });
    }
    input.omit(None, "what is to be done in each step", "write it under instructions");
    let what = "the steps are done one after the other, in the order of the file";
    input.omit(None, what, "change depends_on where they need not wait");
    input.draft.registry = Some(path.to_owned());
    Ok(())
}

/// Returns the variables of the prompts of a step that have no value.
fn variables_without_value(registry: &Registry, name: &str) -> Vec<String> {
    // A closer without a worker uses the worker of the step. Any worker will do here.
    let worker = Some(Worker::new(WorkerKind::ClaudeCode, ""));
    let step = StepRef { name: name.to_owned(), worker, ..StepRef::default() };
    registry.completion(&step).map(|completion| names_without_value(&completion)).unwrap_or_default()
}
