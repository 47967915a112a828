//! Explains what stopped the supervisor, with the command that continues.

use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_runner::open;
use unstuck_runner::workspace::remake;
use unstuck_store::lease::Holder;
use unstuck_store::store::{RunEntry, Store as _};
use unstuck_store_sled::SledStore as Runs;
use unstuck_workspace::snapshot;

use crate::error::Error;
use crate::listing;
use crate::next::more_to_spend;

/// Explains what stopped the supervisor, with the command that continues.
pub fn explained(error: &open::Error, short: &str, runs: Option<&Runs>) -> Error {
    use unstuck_core::Rejection;
    use unstuck_store::lease::AcquireError;
    use unstuck_store::opening::OpenError;
    let message = with_causes(error);
    match error {
        open::Error::Run(unstuck_runner::Error::Rejected(rejection)) => {
            let hint = match rejection {
                Rejection::NeedsIterations => format!("unstuck resume {short} --add-iterations 5"),
                Rejection::NeedsTime => format!("unstuck resume {short} --add-time 1h"),
                Rejection::NeedsMoney(bound) => {
                    format!("unstuck resume {short} {}", more_to_spend(Some(bound)))
                }
                Rejection::NeedsAnswer | Rejection::NotBlocked(_) => format!("unstuck answer {short} \"done\""),
                _ => format!("unstuck show {short}"),
            };
            Error::usage(message).hint(hint)
        }
        open::Error::Run(unstuck_runner::Error::Store(append)) => {
            Error::store(error).hint_if(append.hint().map(|hint| hint.replace("@last", short)))
        }
        open::Error::Open(open) => {
            let hint = open.hint();
            match open {
                OpenError::Locked { .. } | OpenError::NotFound { .. } => Error::usage(message).hint_if(hint),
                _ => Error::store(error).hint_if(hint),
            }
        }
        open::Error::Workspace { source: AcquireError::Io { source, .. }, .. } => {
            Error::store(error).hint(format!("{}, then try again", hint::for_io(source)))
        }
        open::Error::Drift { .. } => Error::usage(message).hint(format!(
            "look: unstuck diff {short} @last @now    keep what was changed: unstuck resume {short} --accept-changes    put it back: unstuck undo {short}@last --all"
        )),
        open::Error::ChangedMeanwhile { .. } => Error::usage(message).hint(format!("unstuck undo {short}")),
        open::Error::Declined => Error::usage(message),
        open::Error::BaseGone => Error::store(error).hint(format!(
            "look at what the run has changed yourself (git diff, unstuck show {short}); to go on, and compare with what is there now: unstuck resume {short} --accept-changes"
        )),
        open::Error::Imported { .. } => Error::usage(message).hint(format!(
            "look at the commands and the folder: unstuck show {short}; then: unstuck resume {short} --accept-changes"
        )),
        open::Error::LeadsElsewhere { workspace, .. } => {
            let back = match workspace.is_symlink() {
                true => remake(workspace, &format!("unstuck undo {short}@last --git")),
                false => format!("unstuck checkout {short}@last --to FOLDER"),
            };
            Error::usage(message).hint(format!("put the folder back; where there is none any more: {back}"))
        }
        open::Error::Snapshots(snapshots) => of_snapshots(snapshots),
        open::Error::WorkspaceBusy { holder, .. } => {
            let other = holder.as_ref().and_then(|holder| driven_by(runs?, holder));
            let look = other.map_or_else(
                || "see what runs: unstuck runs".to_owned(),
                |run| format!("look on: unstuck events {run} -f    stop it: unstuck stop {run}"),
            );
            Error::usage(message)
                .hint(format!("{look}    or give this one a checkout of its own: unstuck run --worktree ..."))
        }
        open::Error::Run(unstuck_runner::Error::Exhausted { .. }) => {
            Error::store(error).hint(format!("make room on the disk (df -h) or raise the limit (ulimit -a), then: unstuck resume {short}"))
        }
        open::Error::Run(unstuck_runner::Error::Prepare { source, .. }) => {
            Error::store(error).hint(format!("{}, then: unstuck resume {short}", hint::for_io(source)))
        }
        _ => Error::store(error).hint(format!("unstuck resume {short}")),
    }
}

/// Returns the live run of a holder.
fn driven_by(runs: &Runs, holder: &Holder) -> Option<String> {
    let known = runs.runs().ok()?;
    let process = |holder: &Holder| (holder.pid, holder.pid_start);
    let is_driven = |entry: &&RunEntry| {
        let of_run = runs.holder(&entry.run).filter(|it| !it.released);
        of_run.is_some_and(|it| process(&it) == process(holder))
    };
    let run = &known.iter().find(is_driven)?.run;
    Some(listing::shortest(run, known.iter().map(|entry| &entry.run)))
}

/// Says what went wrong with snapshots.
pub fn of_snapshots(error: &snapshot::Error) -> Error {
    let about = match error {
        snapshot::Error::NotEmpty { .. } => Error::usage(error),
        _ => Error::store(error),
    };
    about.hint_if(error.hint())
}
