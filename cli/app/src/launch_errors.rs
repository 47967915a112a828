//! Explains what stopped the supervisor, with the command that continues.

use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_runner::open;
use unstuck_runner::workspace_link::recreate_command;
use unstuck_store::Runs;
use unstuck_store::lease::Holder;
use unstuck_store::store::{RunEntry, Store as _};
use unstuck_workspace::snapshot;

use crate::error::AppError;
use crate::listing;
use crate::next::more_to_spend;

/// Explains what stopped the supervisor, with the command that continues.
pub fn into_app_error(error: &open::LifecycleError, short: &str, runs: Option<&Runs>) -> AppError {
    use unstuck_core::Rejection;
    use unstuck_store::lease::AcquireError;
    use unstuck_store::recovery::OpenError;
    let message = with_causes(error);
    match error {
        open::LifecycleError::Run(unstuck_runner::RunnerError::Rejected(rejection)) => {
            let hint = match rejection {
                Rejection::NeedsIterations => format!("unstuck resume {short} --add-iterations 5"),
                Rejection::NeedsTime => format!("unstuck resume {short} --add-time 1h"),
                Rejection::NeedsMoney(bound) => {
                    format!("unstuck resume {short} {}", more_to_spend(Some(bound)))
                }
                Rejection::NeedsAnswer | Rejection::NotBlocked(_) => format!("unstuck answer {short} \"done\""),
                _ => format!("unstuck show {short}"),
            };
            AppError::usage(message).hint(hint)
        }
        open::LifecycleError::Run(unstuck_runner::RunnerError::Store(append)) => {
            AppError::store(error).hint_if(append.hint().map(|hint| hint.replace("@last", short)))
        }
        open::LifecycleError::Open(open) => {
            let hint = open.hint();
            match open {
                OpenError::Locked { .. } | OpenError::NotFound { .. } => AppError::usage(message).hint_if(hint),
                _ => AppError::store(error).hint_if(hint),
            }
        }
        open::LifecycleError::Workspace { source: AcquireError::Io { source, .. }, .. } => {
            AppError::store(error).hint(format!("{}, then try again", hint::for_io(source)))
        }
        open::LifecycleError::Drift { .. } => AppError::usage(message).hint(format!(
            "look: unstuck diff {short} @last @now    keep what was changed: unstuck resume {short} --accept-changes    put it back: unstuck undo {short}@last --all"
        )),
        open::LifecycleError::ChangedMeanwhile { .. } => AppError::usage(message).hint(format!("unstuck undo {short}")),
        open::LifecycleError::Declined => AppError::usage(message),
        open::LifecycleError::BaseGone => AppError::store(error).hint(format!(
            "look at what the run has changed yourself (git diff, unstuck show {short}); to go on, and compare with what is there now: unstuck resume {short} --accept-changes"
        )),
        open::LifecycleError::Imported { .. } => AppError::usage(message).hint(format!(
            "look at the commands and the folder: unstuck show {short}; then: unstuck resume {short} --accept-changes"
        )),
        open::LifecycleError::ReplacedByLink { workspace, .. } => {
            let back = match workspace.is_symlink() {
                true => recreate_command(workspace, &format!("unstuck undo {short}@last --git")),
                false => format!("unstuck checkout {short}@last --to FOLDER"),
            };
            AppError::usage(message).hint(format!("put the folder back; where there is none any more: {back}"))
        }
        open::LifecycleError::Snapshots(snapshots) => snapshot_error(snapshots),
        open::LifecycleError::WorkspaceBusy { holder, .. } => {
            let other = holder.as_ref().and_then(|holder| driven_by(runs?, holder));
            let look = other.map_or_else(
                || "see what runs: unstuck runs".to_owned(),
                |run| format!("look on: unstuck events {run} -f    stop it: unstuck stop {run}"),
            );
            AppError::usage(message)
                .hint(format!("{look}    or give this one a checkout of its own: unstuck run --worktree ..."))
        }
        open::LifecycleError::Run(unstuck_runner::RunnerError::Exhausted { .. }) => {
            AppError::store(error).hint(format!("make room on the disk (df -h) or raise the limit (ulimit -a), then: unstuck resume {short}"))
        }
        open::LifecycleError::Run(unstuck_runner::RunnerError::Prepare { source, .. }) => {
            AppError::store(error).hint(format!("{}, then: unstuck resume {short}", hint::for_io(source)))
        }
        _ => AppError::store(error).hint(format!("unstuck resume {short}")),
    }
}

/// Returns the live run of a holder.
fn driven_by(runs: &Runs, holder: &Holder) -> Option<String> {
    let known = runs.runs().ok()?;
    let process = |holder: &Holder| (holder.pid, holder.pid_start);
    let is_driven = |entry: &&RunEntry| {
        let of_run = runs.holder(&entry.run).filter(|other| !other.released);
        of_run.is_some_and(|other| process(&other) == process(holder))
    };
    let run = &known.iter().find(is_driven)?.run;
    Some(listing::shortest(run, known.iter().map(|entry| &entry.run)))
}

/// Says what went wrong with snapshots.
pub fn snapshot_error(error: &snapshot::SnapshotError) -> AppError {
    let about = match error {
        snapshot::SnapshotError::NotEmpty { .. } => AppError::usage(error),
        _ => AppError::store(error),
    };
    about.hint_if(error.hint())
}
