//! Contents of the files in a step's `_convergence` directory: views of the state, for people and scripts.
//!
//! Names and meaning follow section 9 of the workflow reference. Unstuck never reads these files.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::event::{DecisionSource, StageRaised};
use crate::id::Timestamp;
use crate::judge::scope;
use crate::state::{RunState, StepState};
use crate::workflow::Step;

/// Returns `state.json`: the state of a step's loop.
pub fn state_json(state: &RunState, step: &Step, at: &StepState) -> Value {
    let policy = step.convergence.as_ref();
    Value::Object(object([
        ("iteration", json!(at.iteration())),
        ("stage", json!(at.convergence.stage())),
        ("stallCount", json!(at.convergence.count())),
        ("stallThreshold", json!(policy.map(|policy| policy.stall_threshold))),
        ("maxStage", json!(policy.map(|policy| policy.max_stage))),
        ("lastStallKey", json!(at.convergence.key())),
        ("decisionSource", json!(at.feedback.source.map(source))),
        ("checkIdMatch", json!(at.feedback.check_id_match)),
        ("fingerprints", json!(at.feedback.fingerprints)),
        ("reasons", json!(at.feedback.reasons)),
        ("updatedAt", json!(state.last_at())),
    ]))
}

/// Returns `scope.json`: the changes of the step, and those outside its scope.
pub fn scope_json(step: &Step, at: &StepState) -> Value {
    let drift = &at.workspace.drift;
    let policy = step.convergence.as_ref();
    let files = scope::without_check_files(&drift.files, &at.workspace.by_checks);
    let all = || files.iter().map(String::as_str);
    let looked_at: BTreeSet<&str> = match policy {
        Some(policy) => scope::paths_in_rules(policy, &files).into_iter().collect(),
        None => all().collect(),
    };
    let ignored: Vec<&str> = all().filter(|file| !looked_at.contains(file)).collect();
    let by_checks: Vec<&String> =
        drift.files.iter().filter(|file| at.workspace.by_checks.contains(*file)).collect();
    let violation = policy
        .and_then(|policy| scope::violation(policy, drift, &at.workspace.by_checks))
        .unwrap_or_default();
    let reasons: Vec<String> = violation.reasons.iter().map(ToString::to_string).collect();
    Value::Object(object([
        ("baseRef", json!(drift.base)),
        ("changedFiles", json!(looked_at)),
        ("changedLines", json!(drift.lines)),
        ("ignoredFiles", json!(ignored)),
        ("checkFiles", json!(by_checks)),
        ("violations", json!(violation.strayed)),
        ("reasons", json!(reasons)),
        ("putBack", json!(drift.put_back)),
    ]))
}

/// Returns `stage-transition.json`: the cause of the last stage change of a step.
pub fn stage_transition_json(raised: &StageRaised, at: Timestamp) -> Value {
    Value::Object(object([
        ("from", json!(raised.from)),
        ("to", json!(raised.to)),
        ("reason", json!(raised.cause)),
        ("stallKey", json!(raised.key)),
        ("count", json!(raised.count)),
        ("iteration", json!(raised.iteration)),
        ("transitionedAt", json!(at)),
    ]))
}

/// Returns an object without its absent values.
pub fn object(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    let there = fields.into_iter().filter(|(_, value)| !value.is_null());
    there.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns the name of a source; `output-json` has a different one in these files.
pub fn source(source: DecisionSource) -> &'static str {
    match source {
        DecisionSource::OutputJson => "stdout-json",
        other => other.as_str(),
    }
}
