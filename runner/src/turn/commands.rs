//! The commands of a check run: before the first iteration as its baseline, then after each one.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::Observation;
use unstuck_core::event::CheckFinished;
use unstuck_core::evidence::{CommandResult, TestName};
use unstuck_core::id::Iteration;
use unstuck_core::state::StepState;
use unstuck_core::workflow::CheckBy;
use unstuck_evidence::checks::{self, Suite};
use unstuck_failures::check_command::BaselineOutput;
use unstuck_process::StopSignal;
use unstuck_process::shell_quote::wrapped;

use crate::baseline;
use crate::beginning::Beginning;
use crate::drift::{self, BeforeTurn};
use crate::host::Host;
use crate::own_decision_file;
use crate::side_effects::{self, SideEffects};
use crate::task::Task;
use crate::vanished_tests::VanishedTests;
use crate::worker_process;

/// Commands that were begun.
pub(super) struct Commands {
    task: Task,
    suite: Suite,
    removed: Option<VanishedTests>,
    seen: Option<BeforeTurn>,
    watched: Option<SideEffects>,
}

impl Commands {
    pub(super) fn begin(begin: &Beginning<'_>) -> io::Result<(Observation, Self)> {
        let mut task = begin.task();
        own_decision_file::set_aside(begin, &mut task)?;
        let seen = drift::before(begin, &mut task);
        let (suite, removed) = (suite(begin)?, VanishedTests::of(begin));
        let started = begin.check_started(&task, None);
        let watched = SideEffects::of(begin, seen.as_ref().map(BeforeTurn::before));
        Ok((started, Self { task, suite, removed, seen, watched }))
    }

    pub(super) async fn carry_out(self, world: &Arc<Host>, stop: StopSignal) -> Observation {
        let Self { mut task, mut suite, removed, seen, watched } = self;
        let witness = watched.map(|watched| watched.witness(world));
        suite.witness.clone_from(&witness);
        let (step, stopped) = (task.step.id.clone(), stop.clone());
        let is_baseline = task.due.iteration == Iteration::BASELINE;
        let running = async {
            if is_baseline {
                return baseline::take(world, &step, suite, stopped).await;
            }
            let show = |line: &str| world.watcher.line(&step, line);
            let (outcome, mut commands) =
                checks::run(suite, &world.blobs, &world.redactor, stopped, show).await;
            if let Some(removed) = removed {
                removed.note(world, &mut commands).await;
            }
            (outcome, commands)
        };
        let (mut outcome, commands) = task.check(world, running).await;
        let after = drift::after(seen, world, &task.step, &mut outcome).await;
        let changed = side_effects::changed(witness).await;
        task.collect_outputs(world, &mut outcome, stop).await;
        Observation::CheckFinished(CheckFinished {
            commands,
            drift: after.drift.map(Box::new),
            changed,
            ..task.check_finished(outcome)
        })
    }
}

/// Returns how the commands are run.
///
/// # Panics
///
/// If the step is not checked by commands.
fn suite(begin: &Beginning<'_>) -> io::Result<Suite> {
    let check = begin.step.check.as_ref().expect("a step that is checked");
    let CheckBy::Commands(commands) = &check.by else { panic!("it is the turn of commands") };
    let facts = worker_process::environment(begin)?;
    let baseline = begin.at.evidence.baseline.as_deref().unwrap_or_default();
    let mut suite = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let argv = ["bash", "-c", &command.run].iter().map(OsString::from).collect();
        let argv = wrapped(begin.step.check_wrap(), argv);
        let spec = worker_process::spec(begin, facts.clone(), argv, begin.world.workspace.clone());
        let before = baseline.get(at).map(|result| {
            let removed = files_removed(begin.world, begin.at, result);
            Arc::new(BaselineOutput::new(result.clone(), removed))
        });
        let (run, reports) = (command.run.clone(), command.reports.clone());
        suite.push(checks::Command { run, spec, reports, before });
    }
    let limit = Duration::from_millis(begin.limit().0);
    Ok(Suite { commands: suite, observations: check.observations, limit, witness: None })
}

/// Returns the files of tests that could not be loaded before the work began and that were removed since. One that was moved
/// is there under another path, where nothing was before.
fn files_removed(world: &Host, at: &StepState, before: &CommandResult) -> Vec<TestName> {
    let (Some(keeper), Some(began)) = (&world.snapshots, &at.workspace.began_with) else { return Vec::new() };
    let was_there = |file: &str| keeper.read(began, Path::new(file)).is_some();
    let is_there = |file: &str| world.workspace.join(file).exists();
    let was_moved = |file: &str| {
        let name = Path::new(file).file_name();
        let mut named = at.workspace.drift.files.iter().filter(|path| Path::new(path).file_name() == name);
        named.any(|path| is_there(path) && !was_there(path))
    };
    let is_removed = |file: &str| !is_there(file) && was_there(file) && !was_moved(file);
    before.unloaded().into_iter().filter(|test| is_removed(&test.name)).collect()
}
