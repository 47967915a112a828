//! Converts shapes of version 1 to version 2.

use super::{v1, v2};

/// Reads a shape of version 1 as one of version 2: fields that stay, and fields that are new or hold something new.
macro_rules! from_v1 {
    ($($name:ident $old:ident { $($same:ident),* } { $($field:ident: $value:expr),* })*) => {$(
        impl From<v1::$name> for v2::$name {
            fn from($old: v1::$name) -> Self {
                Self { $($field: $value,)* $($same: $old.$same),* }
            }
        }
    )*};
}

from_v1! {
    WorkerStarted old { step, iteration, attempt, prompt, limit, check_id, moved_aside, templates, call } { snapshot: old.snapshot.map(Into::into) }
    WorkerFinished old { step, iteration, attempt, outcome, decision_file, changed, drift, diffstat, answer } { snapshot: old.snapshot.map(Into::into) }
    CheckFinished old { step, iteration, attempt, check_id, outcome, decision_file, drift, stamp, answer, unsettled_after, changed } { commands: old.commands.into_iter().map(Into::into).collect(), validators: old.validators.into_iter().map(Into::into).collect(), snapshot: old.snapshot.map(Into::into) }
    ValidatorResult old { validator, outcome, exit, duration, stdout, stderr, stdout_end, stderr_end, error, report, params, unparsed, cached } { failures: old.failures.into_iter().map(Into::into).collect(), numbers: Vec::new() }
    CommandResult old { run, exit, duration, stdout, stderr, reports, tail, tool, failures_left_out, confidence, tests, listed, observations } { failures: old.failures.into_iter().map(Into::into).collect(), flaky: old.flaky.into_iter().map(Into::into).collect(), numbers: Vec::new() }
    Failed old { fingerprint, exact, tool, test, location, kind, message, source, places } { remaining: None }
    SnapshotTaken old { moment } { snapshot: old.snapshot.into() }
    Snapshot old { id, work, files, bytes, repository, left_out, notes } { open_boxes: None }
}
