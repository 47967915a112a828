//! Runs one validator without a run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use unstuck_core::completion::{Completion, Condition};
use unstuck_core::evidence::ValidatorResult;
use unstuck_evidence::validators::{self, ValidatorContext};
use unstuck_process::redact::Redactor;
use unstuck_process::{ProcessSpec, StopRequest};
use unstuck_store::blobs::{BlobStore, MemoryBlobs};
use unstuck_workflow::registry::{Registry, RequestedCondition};
use unstuck_workspace::unstuck_paths::own_paths;

use crate::error::{AppError, Result};
use crate::person::Person;
use crate::project_location::ProjectLocation;

/// The validator to run.
#[derive(Clone, Copy, Debug)]
pub struct ValidatorRequest<'a> {
    /// Its name in the registry, or the name of a built-in validator.
    pub name: &'a str,
    /// The file of the registry; `None` for the only one of the project.
    pub registry: Option<&'a Path>,
    /// The step whose condition it is; `None` for the only one with this validator.
    pub step: Option<&'a str>,
    /// Parameters that replace the ones in the registry: JSON, or text.
    pub params: &'a [(String, String)],
}

/// Runs a validator, and returns its condition with the result.
///
/// # Errors
///
/// The registry is invalid, the request does not name one condition of it, or no temporary folder can be made.
pub fn validator(
    place: &ProjectLocation,
    request: &ValidatorRequest<'_>,
    person: &dyn Person,
) -> Result<(Condition, ValidatorResult)> {
    let workspace = place.directory()?;
    // Five validators need no registry.
    let registry =
        super::registry::registry(request.registry, &workspace, person)?.unwrap_or_else(Registry::built_in);
    let condition = condition(request, &registry, &workspace)?;
    let result = run(&condition, workspace)?;
    Ok((condition, result))
}

fn run(condition: &Condition, workspace: PathBuf) -> Result<ValidatorResult> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| AppError::usage(format!("cannot start: {error}")))?;
    let scratch = tempfile::tempdir()
        .map_err(|error| AppError::usage(format!("cannot make a temporary folder: {error}")))?;
    let alone = Completion { conditions: vec![condition.clone()], ..Completion::default() };
    let limit = alone.limit(condition.validator.phase);
    let of_runs = own_paths(&workspace, "context", &[], false);
    let hidden = of_runs.into_iter().chain([PathBuf::from(".unstuck")]);
    let place = ValidatorContext {
        wrap: None,
        environment: Vec::new(),
        limit: Duration::from_millis(limit.0),
        output_max: validators::OUTPUT_MAX,
        grace: ProcessSpec::GRACE,
        mark: format!("unstuck-probe-{}", std::process::id()),
        hidden: hidden.map(|path| workspace.join(path)).collect(),
        scratch: scratch.path().to_owned(),
        base: None,
        checklists: BTreeMap::new(),
        stop_at_first: false,
        workspace,
    };
    let (_running, stop) = tokio::sync::watch::channel(StopRequest::Run);
    let blobs: Arc<dyn BlobStore> = Arc::new(MemoryBlobs::default());
    let redactor = Redactor::from_environment(std::env::vars_os(), &[]);
    let conditions = std::slice::from_ref(condition);
    let found =
        runtime.block_on(validators::run(conditions, &place, Vec::new(), &blobs, &redactor, stop, |_| {}));
    found.into_iter().next().ok_or_else(|| AppError::usage("nothing was run"))
}

/// Returns the condition as a step of the registry has it, with the parameters that are given.
fn condition(request: &ValidatorRequest<'_>, registry: &Registry, workspace: &Path) -> Result<Condition> {
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
    let params: Map<String, Value> =
        request.params.iter().map(|(name, text)| (name.clone(), value(text))).collect();
    let of_registry = of_registry(request, registry)?;
    if let (Some(condition), true) = (of_registry, params.is_empty()) {
        return Ok(condition.clone());
    }
    let wanted = RequestedCondition { validator: request.name.to_owned(), params };
    let given = registry
        .condition(&wanted, None, workspace)
        .map_err(|refused| AppError::usage(&refused.what).hint(refused.help))?;
    let Some(given) = given else {
        return Err(AppError::usage(format!("validator {} is of a type that is not run yet", request.name)));
    };
    let Some(condition) = of_registry else { return Ok(given) };
    // The parameter `paths` is part of what is run.
    let validator =
        if given.params.contains_key("paths") { given.validator } else { condition.validator.clone() };
    Ok(Condition { validator, params: condition.params.clone().into_iter().chain(given.params).collect() })
}

/// Returns the condition of the step that is named, or the only one; none is fine where no step is named.
fn of_registry<'a>(request: &ValidatorRequest<'_>, registry: &'a Registry) -> Result<Option<&'a Condition>> {
    let all = registry.conditions_with(request.name);
    let is_named =
        |id: &str, name: &str| id == name || id.split_once('.').is_some_and(|(_, rest)| rest == name);
    let fits = |ids: &[&str]| request.step.is_none_or(|name| ids.iter().any(|id| is_named(id, name)));
    let mut fitting = all.iter().filter(|(ids, _)| fits(ids));
    let ids = || all.iter().flat_map(|(ids, _)| ids.iter().copied()).collect::<Vec<_>>().join(", ");
    match (fitting.next(), fitting.next(), request.step) {
        (Some(_), Some(_), _) => {
            let what = format!("steps ask for {} with different parameters", request.name);
            Err(AppError::usage(what).hint(format!("name one of them with --step: {}", ids())))
        }
        (None, _, Some(step)) => {
            let error = AppError::usage(format!("no step {step} has the condition {}", request.name));
            Err(if all.is_empty() { error } else { error.hint(format!("steps that have it: {}", ids())) })
        }
        (found, ..) => Ok(found.map(|(_, condition)| *condition)),
    }
}
