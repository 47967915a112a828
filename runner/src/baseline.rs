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
use unstuck_process::StopSignal;
use unstuck_process::blocking_task::{blocking, within};
use unstuck_store::blobs::BlobStore as _;
use unstuck_workspace::branch;
use unstuck_workspace::worktree::{self, Part};

use crate::baselines;
use crate::host::Host;
use crate::scratch::Scratch;

/// Runs the commands of a check before the first iteration, or takes over what an earlier run found, where that is wanted.
pub(crate) async fn take(
    world: &Arc<Host>,
    step: &StepId,
    suite: Suite,
    stop: StopSignal,
) -> (Outcome, Vec<CommandResult>) {
    let Some(baselines) = &world.baselines else { return run(world, step, suite, stop).await };
    let before = named(world, &suite).await;
    let earlier = {
        let world = Arc::clone(world);
        blocking(move || world.baselines.as_ref()?.take_over(before?, &*world.blobs, &world.redactor)).await
    };
    if let Some(taken) = earlier {
        return taken;
    }
    let taken = run(world, step, suite.clone(), stop).await;
    // If the files changed meanwhile, some of the commands saw other files than the rest.
    let after = named(world, &suite).await;
    before.filter(|before| after == Some(*before)).iter().for_each(|of| baselines.taken(step, *of));
    taken
}

async fn named(world: &Arc<Host>, suite: &Suite) -> Option<Digest> {
    let (world, suite) = (Arc::clone(world), suite.clone());
    blocking(move || baselines::of(world.snapshots.as_deref()?, &world.workspace, &suite)).await
}

async fn run(
    world: &Arc<Host>,
    step: &StepId,
    suite: Suite,
    stop: StopSignal,
) -> (Outcome, Vec<CommandResult>) {
    let clean = match in_checkout(world, step, suite.clone(), stop.clone()).await {
        Ok(Clean { taken, shown }) if shown.is_enough() => return taken,
        clean => clean,
    };
    // The commands may need files that are not committed, so failed or skipped tests are checked here too.
    let show = |line: &str| world.watcher.line(step, line);
    let (mut outcome, results) = checks::run(suite, &world.blobs, &world.redactor, stop, show).await;
    let note = clean.map_or_else(Some, |clean| clean.shown.differs_from(&results));
    outcome.notes.extend(note.map(|why| format!("the baseline was taken in the workspace: {why}")));
    (outcome, results)
}

/// A baseline that was taken on a clean checkout.
struct Clean {
    taken: (Outcome, Vec<CommandResult>),
    shown: CleanCheckout,
}

async fn in_checkout(
    world: &Arc<Host>,
    step: &StepId,
    mut suite: Suite,
    stop: StopSignal,
) -> Result<Clean, String> {
    let (root, there) = {
        let world = Arc::clone(world);
        blocking(move || checkout(&world)).await?
    };
    suite.commands.iter_mut().for_each(|command| command.spec.cwd.clone_from(&there));
    suite.witness = Some(witness(&there));
    let show = |line: &str| world.watcher.line(step, line);
    let taken = checks::run(suite, &world.blobs, &world.redactor, stop.clone(), show).await;
    let world = Arc::clone(world);
    let look = move || {
        // The commands may have filled them.
        let unfilled =
            worktree::unfilled(&world.workspace, root.path()).map_err(|error| with_causes(&error))?;
        let kept = |blob: &Blob, max| world.blobs.end(blob, max);
        let leaves_tests_out =
            taken.1.iter().any(|result| leaves_tests_out(result, &there.to_string_lossy(), &kept));
        let is_stopped = taken.0.exit == Exit::Stopped;
        let shown = CleanCheckout { results: taken.1.clone(), is_stopped, unfilled, leaves_tests_out };
        Ok(Clean { taken, shown })
    };
    let looked = within(checks::READING_MAX, &stop, look).await;
    looked.unwrap_or_else(|_| Err("the output of a clean checkout was not read in time".to_owned()))
}

/// Makes a clean checkout of what the workspace is, or says why there is none. Returns where in it that is.
fn checkout(world: &Host) -> Result<(Scratch, PathBuf), String> {
    let root = Scratch::new(world.artifacts.join("baseline"));
    match worktree::uncommitted(&world.workspace, Part::Whole) {
        Ok(0) => match worktree::borrow(&world.workspace, root.path()) {
            Ok(there) => Ok((root, there)),
            Err(error) => Err(with_causes(&error)),
        },
        Ok(1) => Err("1 file holds something that is in no commit".to_owned()),
        Ok(files) => Err(format!("{files} files hold something that is in no commit")),
        Err(error) => Err(match branch::facts(&world.workspace) {
            Ok(None) => format!("it is {}", branch::unknown(&world.workspace)),
            _ => format!("what is in no commit is not known: {error}"),
        }),
    }
}

/// Sees what the commands change of what the commit has, in a clean checkout of it.
fn witness(there: &Path) -> SideEffectCheck {
    let there = there.to_owned();
    SideEffectCheck(Arc::new(move || {
        let mut files = worktree::status(&there, Part::Whole).unwrap_or_default();
        files.retain(|_, said| !said.starts_with("??"));
        files.into_keys().collect()
    }))
}
