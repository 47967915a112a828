//! What fails before anybody has worked.
//!
//! The commands of the check are run on a clean checkout of the commit, so that nothing of a person's folder is
//! touched. Where something fails there, they are run in the workspace as well, and that counts: what they need
//! may be in no commit. So it does where the workspace holds uncommitted changes, or is in no repository.

use std::path::PathBuf;
use std::sync::Arc;

use unstuck_adapters::blocking::blocking;
use unstuck_adapters::branch;
use unstuck_adapters::checks::{self, Suite};
use unstuck_adapters::process::StopSignal;
use unstuck_adapters::worktree::{self, Part};
use unstuck_core::error::with_causes;
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::gate::CommandResult;
use unstuck_core::id::Digest;
use unstuck_core::workflow::Step;

use crate::baselines;
use crate::machine::Machine;
use crate::scratch::Scratch;

/// Runs the commands of a check before the first iteration, or takes over what an earlier run found, where that is wanted.
pub(crate) async fn take(
    world: &Arc<Machine>,
    step: &Step,
    suite: Suite,
    stop: StopSignal,
) -> (Outcome, Vec<CommandResult>) {
    let Some(baselines) = &world.baselines else { return run(world, step, suite, stop).await };
    let before = named(world, &suite).await;
    let earlier = {
        let world = Arc::clone(world);
        blocking(move || world.baselines.as_ref()?.take_over(before?, &world)).await
    };
    if let Some(taken) = earlier {
        return taken;
    }
    let taken = run(world, step, suite.clone(), stop).await;
    // What was changed meanwhile was seen by some of the commands only.
    let after = named(world, &suite).await;
    before.filter(|before| after == Some(*before)).iter().for_each(|of| baselines.taken(&step.id, *of));
    taken
}

async fn named(world: &Arc<Machine>, suite: &Suite) -> Option<Digest> {
    let (world, suite) = (Arc::clone(world), suite.clone());
    blocking(move || baselines::of(&world, &suite)).await
}

async fn run(
    world: &Arc<Machine>,
    step: &Step,
    suite: Suite,
    stop: StopSignal,
) -> (Outcome, Vec<CommandResult>) {
    let show = |line: &str| world.watcher.line(&step.id, line);
    let made = {
        let world = Arc::clone(world);
        blocking(move || checkout(&world)).await
    };
    let clean = match made {
        Ok((root, there)) => {
            let mut suite = suite.clone();
            suite.commands.iter_mut().for_each(|command| command.spec.cwd.clone_from(&there));
            let taken = checks::run(suite, &*world.blobs, &world.redactor, stop.clone(), show).await;
            blocking(move || drop(root)).await;
            Ok(taken)
        }
        Err(why) => Err(why),
    };
    let is_enough = |(outcome, results): &(Outcome, Vec<CommandResult>)| {
        outcome.exit == Exit::Stopped || results.iter().all(CommandResult::passed)
    };
    let clean = match clean {
        Ok(taken) if is_enough(&taken) => return taken,
        clean => clean,
    };
    // What the commands need may be in no commit; so what fails there is looked at here, too.
    let (mut outcome, results) = checks::run(suite, &*world.blobs, &world.redactor, stop, show).await;
    let note = match clean {
        Ok((_, there)) if same(&there, &results) => None,
        Ok(_) => Some("a clean checkout shows other failures".to_owned()),
        Err(why) => Some(why),
    };
    outcome.notes.extend(note.map(|why| format!("the baseline was taken in the workspace: {why}")));
    (outcome, results)
}

/// Makes a clean checkout of what the workspace is, or says why there is none. Returns where in it that is.
fn checkout(world: &Machine) -> Result<(Scratch, PathBuf), String> {
    let root = Scratch::new(world.artifacts.join("baseline"));
    match worktree::uncommitted(&world.workspace, Part::Whole) {
        Ok(0) => match worktree::borrow(&world.workspace, root.path()) {
            Ok(there) => Ok((root, there)),
            Err(error) => Err(with_causes(&error)),
        },
        Ok(1) => Err("1 file holds something that is in no commit".to_owned()),
        Ok(files) => Err(format!("{files} files hold something that is in no commit")),
        Err(_) => Err(format!("it is {}", branch::unknown(&world.workspace))),
    }
}

fn same(a: &[CommandResult], b: &[CommandResult]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.set() == b.set() && a.exit == b.exit)
}
