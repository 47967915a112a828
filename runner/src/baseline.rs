//! What fails before anybody has worked.
//!
//! The commands of the check are run on a clean checkout of the commit, so that nothing of a person's folder is
//! touched. Where there is none, or where they show nothing there that can be compared with (what they need
//! may be in no commit), they are run in the workspace as it is.

use std::sync::Arc;

use unstuck_adapters::blocking::blocking;
use unstuck_adapters::checks::{self, Suite};
use unstuck_adapters::process::StopSignal;
use unstuck_adapters::worktree;
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::gate::CommandResult;
use unstuck_core::workflow::Step;

use crate::perform::Machine;

/// Runs the commands of a check before the first iteration.
pub(crate) async fn take(
    world: &Arc<Machine>,
    step: &Step,
    suite: Suite,
    stop: StopSignal,
) -> (Outcome, Vec<CommandResult>) {
    let show = |line: &str| world.watcher.line(&step.id, line);
    let root = world.artifacts.join("baseline");
    let checkout = {
        let (world, root) = (Arc::clone(world), root.clone());
        blocking(move || {
            let _left_by_a_dead_supervisor = std::fs::remove_dir_all(&root);
            worktree::borrow(&world.workspace, &root)
        })
        .await
    };
    let mut why = String::new();
    if let Ok(there) = checkout {
        let mut suite = suite.clone();
        suite.commands.iter_mut().for_each(|(_, spec)| spec.cwd.clone_from(&there));
        let taken = checks::run(suite, &*world.blobs, &world.redactor, stop.clone(), show).await;
        blocking(move || {
            let _is_gone_with_the_run_at_the_latest = std::fs::remove_dir_all(&root);
        })
        .await;
        let is_usable = taken.1.iter().all(CommandResult::is_conclusive);
        if is_usable || taken.0.exit == Exit::Stopped {
            return taken;
        }
        why.push_str(
            "the baseline was taken in the workspace: a clean checkout shows nothing to compare with",
        );
    }
    let (mut outcome, results) = checks::run(suite, &*world.blobs, &world.redactor, stop, show).await;
    outcome.notes.extend((!why.is_empty()).then_some(why));
    (outcome, results)
}
