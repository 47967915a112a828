//! Baseline of a check: the failures before the first work.
//!
//! The commands of the check run on a clean checkout of the commit, so that the user's directory stays untouched. If
//! something fails there, or tests are skipped, the commands also run in the workspace, and that result counts: their
//! inputs may not be committed. The same happens if the workspace has uncommitted changes or is not in a repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::event::{Exit, Outcome};
use unstuck_core::evidence::CommandResult;
use unstuck_core::id::{Blob, Digest, StepId};
use unstuck_core::judge::baseline::CleanCheckout;
use unstuck_evidence::checks::{self, SideEffectCheck, Suite};
use unstuck_failures::check_command::leaves_tests_out;
use unstuck_files::error::with_causes;
use unstuck_process::StopReceiver;
use unstuck_process::blocking_task::{blocking, run_with_limit};
use unstuck_store::blobs::BlobStore as _;
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
    suite: Suite,
    stop: StopReceiver,
) -> (Outcome, Vec<CommandResult>) {
    let clean = match in_checkout(host, step, suite.clone(), stop.clone()).await {
        Ok(CleanCheckoutResult { taken, shown }) if shown.is_enough() => return taken,
        clean => clean,
    };
    // The commands may need files that are not committed, so failed or skipped tests are checked here too.
    let show = |line: &str| host.listener.line(step, line);
    let (mut outcome, results) = checks::run(suite, &host.blobs, &host.redactor, stop, show).await;
    let note = clean.map_or_else(Some, |clean| clean.shown.differs_from(&results));
    outcome.notes.extend(note.map(|why| format!("the baseline was taken in the workspace: {why}")));
    (outcome, results)
}

/// A baseline that was taken on a clean checkout.
struct CleanCheckoutResult {
    taken: (Outcome, Vec<CommandResult>),
    shown: CleanCheckout,
}

async fn in_checkout(
    host: &Arc<Host>,
    step: &StepId,
    mut suite: Suite,
    stop: StopReceiver,
) -> Result<CleanCheckoutResult, String> {
    let (root, there) = {
        let host = Arc::clone(host);
        blocking(move || checkout(&host)).await?
    };
    suite.commands.iter_mut().for_each(|command| command.spec.cwd.clone_from(&there));
    suite.witness = Some(witness(&there));
    let show = |line: &str| host.listener.line(step, line);
    let taken = checks::run(suite, &host.blobs, &host.redactor, stop.clone(), show).await;
    let host = Arc::clone(host);
    let look = move || {
        // The commands may have filled them.
        let unfilled =
            worktree::unfilled(&host.workspace, root.path()).map_err(|error| with_causes(&error))?;
        let kept = |blob: &Blob, max| host.blobs.end(blob, max);
        let leaves_tests_out =
            taken.1.iter().any(|result| leaves_tests_out(result, &there.to_string_lossy(), &kept));
        let is_stopped = taken.0.exit == Exit::Stopped;
        let shown = CleanCheckout { results: taken.1.clone(), is_stopped, unfilled, leaves_tests_out };
        Ok(CleanCheckoutResult { taken, shown })
    };
    let looked = run_with_limit(checks::READING_MAX, &stop, look).await;
    looked.unwrap_or_else(|_| Err("the output of a clean checkout was not read in time".to_owned()))
}

/// Makes a clean checkout of what the workspace is, or says why there is none. Returns where in it that is.
fn checkout(host: &Host) -> Result<(TempDir, PathBuf), String> {
    let root = TempDir::new(host.artifacts.join("baseline"));
    match worktree::uncommitted(&host.workspace, CheckoutPart::Whole) {
        Ok(0) => match worktree::borrow(&host.workspace, root.path()) {
            Ok(there) => Ok((root, there)),
            Err(error) => Err(with_causes(&error)),
        },
        Ok(1) => Err("1 file holds something that is in no commit".to_owned()),
        Ok(files) => Err(format!("{files} files hold something that is in no commit")),
        Err(error) => Err(match branch::facts(&host.workspace) {
            Ok(None) => format!("it is {}", branch::unknown(&host.workspace)),
            _ => format!("what is in no commit is not known: {error}"),
        }),
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
