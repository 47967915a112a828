//! Converts each shape to the next version.

use unstuck_core::judge::declared_status::wants_repeat;

use super::convert::Wire as _;
use super::{v1, v2, v3};

/// Reads a shape as one of the next version: fields that stay, and fields that are new or hold something new.
macro_rules! upcast_fields {
    ($($from:ident => $to:ident $name:ident $old:ident { $($same:ident),* } { $($field:ident: $value:expr),* })*) => {$(
        impl From<$from::$name> for $to::$name {
            fn from($old: $from::$name) -> Self {
                Self { $($field: $value,)* $($same: $old.$same),* }
            }
        }
    )*};
}

upcast_fields! {
    v1 => v2 RunStarted old { run, workflow_json, workflow_digest, workflow_file, workspace, parent, program, warnings, secrets } { forked_from: None }
    v1 => v2 RunResumed old { add_iterations, add_time, renews_time, add_micro_usd, add_tokens, accept_unknown_cost, allowance, hint, worker_json, workflow_digest, program, secrets } { workflow_json: None, changes: Vec::new(), change_digest: None, workspace: None }
    v1 => v2 WorkerStarted old { step, iteration, attempt, prompt, limit, check_id, moved_aside, templates, call } { snapshot: old.snapshot.map(Into::into) }
    v1 => v2 WorkerFinished old { step, iteration, attempt, outcome, decision_file, changed, drift, diffstat, answer } { snapshot: old.snapshot.map(Into::into) }
    v1 => v2 CheckFinished old { step, iteration, attempt, check_id, outcome, decision_file, drift, stamp, answer, unsettled_after, changed } { commands: old.commands.into_iter().map(Into::into).collect(), validators: old.validators.into_iter().map(Into::into).collect(), snapshot: old.snapshot.map(Into::into) }
    v1 => v2 ValidatorResult old { validator, outcome, exit, duration, stdout, stderr, stdout_end, stderr_end, error, report, params, unparsed, cached } { failures: old.failures.into_iter().map(Into::into).collect(), numbers: Vec::new() }
    v1 => v2 CommandResult old { run, exit, duration, stdout, stderr, reports, tail, tool, failures_left_out, confidence, tests, listed, observations } { failures: old.failures.into_iter().map(Into::into).collect(), flaky: old.flaky.into_iter().map(Into::into).collect(), numbers: Vec::new() }
    v1 => v2 Failed old { fingerprint, exact, tool, test, location, kind, message, source, places } { remaining: None }
    v1 => v2 SnapshotTaken old { moment } { snapshot: old.snapshot.into() }
    v1 => v2 Snapshot old { id, work, files, bytes, repository, left_out, notes } { open_boxes: None }
    v2 => v3 WorkerStarted old { step, iteration, attempt, prompt, limit, check_id, moved_aside, templates, snapshot, call } { registry: None }
    v2 => v3 WorkerFinished old { step, iteration, attempt, outcome, decision_file, changed, snapshot, drift, diffstat } { wants_repeat: wants_repeat(old.answer.clone().map(|answer| answer.domain()).as_ref()), answer: old.answer }
}

#[cfg(test)]
mod tests {
    use crate::wire::{EventType, SchemaVersion, decode_json};
    use unstuck_core::event::{Fact, Observation};

    #[test]
    fn older_answers_that_ask_for_a_repeat_still_do() {
        let golden =
            include_str!("../../tests/golden/v2/worker_finished.json").lines().next().expect("a line");
        let value: serde_json::Value = serde_json::from_str(golden).expect("JSON");
        for (action, expected) in [("repeat", true), ("retry", true), ("next", false)] {
            let mut finished = value.clone();
            finished["answer"]["value"] = format!(r#"{{"next_action":"{action}"}}"#).into();
            let kind = EventType::WorkerFinished;
            let fact =
                decode_json(kind, SchemaVersion(2), &finished.to_string(), &mut Vec::new()).expect("a fact");
            let Fact::Observed(Observation::WorkerFinished(finished)) = fact else { panic!("{fact:?}") };
            assert_eq!(finished.wants_repeat, expected, "{action}");
        }
    }
}
