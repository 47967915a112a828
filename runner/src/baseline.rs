//! Baseline of a check: the failures before the first work.
//!
//! The commands of the check run once. If the workspace holds nothing but a commit, they run on a clean checkout of it, so
//! that the directory of the user stays untouched. Otherwise they run in the workspace: uncommitted and ignored files,
//! such as installed packages, decide what they show.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::event::Outcome;
use unstuck_core::evidence::CommandResult;
use unstuck_core::id::{Digest, StepId};
use unstuck_evidence::checks::{self, SideEffectCheck, Suite};
use unstuck_files::error::with_causes;
use unstuck_process::StopReceiver;
use unstuck_process::blocking_task::blocking;
use unstuck_workspace::branch;
use unstuck_workspace::worktree::{self, CheckoutPart};

use crate::baseline_cache;
use crate::host::Host;
use crate::temp_dir::TempDir;

/// Runs the commands of a check before the first iteration, or takes over what an earlier run found, where that is wanted.
pub(crate) async fn take(
    host: &Arc<Host>,
    step: &StepId,
    suite: Suite,
    stop: StopReceiver,
) -> (Outcome, Vec<CommandResult>) {
    let Some(baselines) = &host.baselines else { return run(host, step, suite, stop).await };
    let before = suite_key(host, &suite).await;
    let earlier = {
        let host = Arc::clone(host);
        blocking(move || host.baselines.as_ref()?.reuse(before?, &*host.blobs, &host.redactor)).await
    };
    if let Some(taken) = earlier {
        return taken;
    }
    let taken = run(host, step, suite.clone(), stop).await;
    // If the files changed meanwhile, some of the commands saw other files than the rest.
    let after = suite_key(host, &suite).await;
    before.filter(|before| after == Some(*before)).iter().for_each(|of| baselines.note_baseline(step, *of));
    taken
}

async fn suite_key(host: &Arc<Host>, suite: &Suite) -> Option<Digest> {
    let (host, suite) = (Arc::clone(host), suite.clone());
    blocking(move || baseline_cache::cache_key(host.snapshots.as_deref()?, &host.workspace, &suite)).await
}

async fn run(
    host: &Arc<Host>,
    step: &StepId,
    mut suite: Suite,
    stop: StopReceiver,
) -> (Outcome, Vec<CommandResult>) {
    let show = |line: &str| host.listener.line(step, line);
    let clean = {
        let host = Arc::clone(host);
        blocking(move || checkout(&host)).await
    };
    let note = match &clean {
        Ok((_, there)) => {
            suite.commands.iter_mut().for_each(|command| command.spec.cwd.clone_from(there));
            suite.witness = Some(witness(there));
            None
        }
        Err(why) => why.clone(),
    };
    let (mut outcome, results) = checks::run(suite, &host.blobs, &host.redactor, stop, show).await;
    outcome.notes.extend(note.map(|why| format!("the baseline was taken in the workspace: {why}")));
    (outcome, results)
}

/// Makes a clean checkout of the workspace, if it shows all that the workspace does. Otherwise the error says why not, where
/// that is of interest. Returns where in it the folder of the workspace is.
fn checkout(host: &Host) -> Result<(TempDir, PathBuf), Option<String>> {
    match worktree::uncommitted(&host.workspace, CheckoutPart::Whole) {
        Ok(0) => {}
        Ok(1) => return Err(Some("1 file holds something that is in no commit".to_owned())),
        Ok(files) => return Err(Some(format!("{files} files hold something that is in no commit"))),
        Err(error) => {
            return Err(Some(match branch::facts(&host.workspace) {
                Ok(None) => format!("it is {}", branch::unknown(&host.workspace)),
                _ => format!("what is in no commit is not known: {error}"),
            }));
        }
    }
    // A checkout would lack installed packages, and would build everything again.
    if worktree::has_ignored(&host.workspace).map_err(|error| Some(error.to_string()))? {
        return Err(None);
    }
    let root = TempDir::new(host.artifacts.join("baseline"));
    let there = worktree::borrow(&host.workspace, root.path()).map_err(|error| Some(with_causes(&error)))?;
    let unfilled = worktree::unfilled(&host.workspace, root.path());
    match unfilled.map_err(|error| Some(with_causes(&error)))?.first() {
        Some(folder) => Err(Some(format!("in a clean checkout {folder} is empty"))),
        None => Ok((root, there)),
    }
}

/// Sees what the commands change of what the commit has, in a clean checkout of it.
fn witness(there: &Path) -> SideEffectCheck {
    let there = there.to_owned();
    SideEffectCheck(Arc::new(move || {
        let mut files = worktree::status(&there, CheckoutPart::Whole).unwrap_or_default();
        files.retain(|_, said| !said.starts_with("??"));
        files.into_keys().collect()
    }))
}
