//! The keys of a what-if: keys of a workflow file that a recorded run can be decided again with.

use unstuck_core::workflow::Workflow;
use unstuck_replay::{OverrideError, PolicyOverride, with_changes};
use unstuck_workflow::workflow_file::{current_names, names_below, samples, value};

/// Returns a change as a file would write it.
///
/// # Errors
///
/// A file has no such key, or may not have this value.
pub fn in_file(change: &PolicyOverride, workflow: &Workflow) -> Result<PolicyOverride, OverrideError> {
    let given = change.names();
    let (names, value) = current_names(&given, change.value());
    let change = if names == given { change.clone() } else { PolicyOverride::for_names(&names, value) };
    for place in 0..names.len() {
        let (before, name) = (&names[..place], names[place]);
        if names_below(before).is_some_and(|known| !known.contains(&name)) {
            let known = below(before, workflow);
            let can_change = |key: &String| changes(&[before, &[key.as_str()]].concat(), workflow);
            let known: Vec<String> = known.into_iter().filter(can_change).collect();
            return Err(change.unknown_key(
                &names,
                place,
                further_in(&names, place, &known, workflow),
                known,
            ));
        }
    }
    normalize(change)
}

/// Reads a list or a map as a file would.
fn normalize(change: PolicyOverride) -> Result<PolicyOverride, OverrideError> {
    if change.value() == "none" {
        return Ok(change);
    }
    match value(&change.names(), change.value()) {
        Ok(Some(json)) => Ok(change.with_value(json.to_string())),
        Ok(None) => Ok(change),
        Err(why) => Err(change.bad_value(&why)),
    }
}

/// Returns the key with what stands around the name at this place, where that was left out.
fn further_in(names: &[&str], place: usize, known: &[String], workflow: &Workflow) -> Option<PolicyOverride> {
    let (before, after) = names.split_at(place);
    let with = |around: &[&str]| [before, around, after].concat().iter().map(ToString::to_string).collect();
    let around = |name: &String| -> Vec<Vec<String>> {
        let inner = [before, &[name.as_str()]].concat();
        let own = if names_below(&inner).is_none() { below(&inner, workflow) } else { Vec::new() };
        let of_own = own.iter().map(|own| with(&[name, own]));
        std::iter::once(with(&[name])).chain(of_own).collect()
    };
    let as_change = |keys: Vec<String>| {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        changes(&keys, workflow).then(|| PolicyOverride::for_names(&keys, ""))
    };
    known.iter().flat_map(around).find_map(as_change)
}

/// Says whether a recorded run can be decided again with another value of the key, or of one below it.
fn changes(keys: &[&str], workflow: &Workflow) -> bool {
    let changes_to = |value: &str| {
        let change = normalize(PolicyOverride::for_names(keys, value));
        let changed = change.and_then(|change| with_changes(workflow, &[change]));
        changed.is_ok_and(|changed| changed != *workflow)
    };
    samples(keys).iter().any(|sample| changes_to(sample))
        || changes_to("none")
        || below(keys, workflow).iter().any(|name| changes(&[keys, &[name.as_str()]].concat(), workflow))
}

/// Returns the names that are possible below a key; a list has the number of its first entry.
fn below(keys: &[&str], workflow: &Workflow) -> Vec<String> {
    match names_below(keys) {
        Some(names) => names.into_iter().map(str::to_owned).collect(),
        None if keys == ["steps"] => workflow.steps.iter().map(|step| step.id.to_string()).collect(),
        None => vec!["1".to_owned()],
    }
}
