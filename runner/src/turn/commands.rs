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
use unstuck_core::workflow::CheckMethod;
use unstuck_evidence::checks::{self, Suite};
use unstuck_failures::check_command::BaselineOutput;
use unstuck_process::StopReceiver;
use unstuck_process::shell_quote::wrap_command;

use crate::baseline;
use crate::host::Host;
use crate::own_decision_file;
use crate::side_effects::{self, BeforeCheck};
use crate::task::TurnTask;
use crate::turn_start::TurnStart;
use crate::vanished_tests::VanishedTests;
use crate::worker_process;
use crate::workspace_diff::{self, BeforeTurn};

/// Commands that were begun.
pub(super) struct CommandsTurn {
    task: TurnTask,
    suite: Suite,
    removed: Option<VanishedTests>,
    seen: Option<BeforeTurn>,
    watched: Option<BeforeCheck>,
}

impl CommandsTurn {
    pub(super) fn begin(start: &TurnStart<'_>) -> io::Result<(Observation, Self)> {
        let mut task = start.task();
        own_decision_file::set_aside(start, &mut task)?;
        let seen = workspace_diff::capture_before(start, &mut task);
        let (suite, removed) = (suite(start)?, VanishedTests::new(start));
        let started = start.check_started(&task, None);
        let watched = BeforeCheck::new(start, seen.as_ref().map(BeforeTurn::start_snapshot));
        Ok((started, Self { task, suite, removed, seen, watched }))
    }

    pub(super) async fn execute(self, host: &Arc<Host>, stop: StopReceiver) -> Observation {
        let Self { mut task, mut suite, removed, seen, watched } = self;
        let witness = watched.map(|watched| watched.witness(host));
        suite.witness.clone_from(&witness);
        let (step, stopped) = (task.step.id.clone(), stop.clone());
        let is_baseline = task.due.iteration == Iteration::BASELINE;
        let running = async {
            if is_baseline {
                return baseline::take(host, &step, suite, stopped).await;
            }
            let show = |line: &str| host.listener.line(&step, line);
            let (outcome, mut commands) =
                checks::run(suite, &host.blobs, &host.redactor, stopped, show).await;
            if let Some(removed) = removed {
                removed.note(host, &mut commands).await;
            }
            (outcome, commands)
        };
        let (mut outcome, commands) = task.check(host, running).await;
        let after = workspace_diff::capture_after(seen, host, &task.step, &mut outcome).await;
        let changed = side_effects::changed_files(witness).await;
        task.collect_outputs(host, &mut outcome, stop).await;
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
fn suite(start: &TurnStart<'_>) -> io::Result<Suite> {
    let check = start.step.check.as_ref().expect("a step that is checked");
    let CheckMethod::Commands(commands) = &check.by else { panic!("it is the turn of commands") };
    let facts = worker_process::environment(start)?;
    let baseline = start.at.evidence.baseline.as_deref().unwrap_or_default();
    let mut suite = Vec::new();
    for (at, command) in commands.iter().enumerate() {
        let argv = ["bash", "-c", &command.run].iter().map(OsString::from).collect();
        let argv = wrap_command(start.step.check_wrap(), argv);
        let spec = worker_process::spec(start, facts.clone(), argv, start.host.workspace.clone());
        let before = baseline.get(at).map(|result| {
            let removed = files_removed(start.host, start.at, result);
            Arc::new(BaselineOutput::new(result.clone(), removed))
        });
        let last = start.at.evidence.results[0].as_deref().and_then(|results| results.get(at)).cloned();
        let (run, reports, gate) = (command.run.clone(), command.reports.clone(), command.gate);
        suite.push(checks::SuiteCommand { run, spec, reports, before, last, gate });
    }
    let limit = Duration::from_millis(start.limit().0);
    // Before the work, flaky failures decide nothing.
    let is_baseline = start.due.iteration == Iteration::BASELINE;
    let observations = if is_baseline { 1 } else { check.observations };
    Ok(Suite { commands: suite, observations, limit, witness: None })
}

/// Returns the files of tests that could not be loaded before the work began and that were removed since. One that was moved
/// is there under another path, where nothing was before.
fn files_removed(host: &Host, at: &StepState, before: &CommandResult) -> Vec<TestName> {
    let (Some(keeper), Some(began)) = (&host.snapshots, &at.workspace.began_with) else { return Vec::new() };
    let was_there = |file: &str| keeper.read(began, Path::new(file)).is_some();
    let is_there = |file: &str| host.workspace.join(file).exists();
    let was_moved = |file: &str| {
        let name = Path::new(file).file_name();
        let mut named = at.workspace.drift.files.iter().filter(|path| Path::new(path).file_name() == name);
        named.any(|path| is_there(path) && !was_there(path))
    };
    let is_removed = |file: &str| !is_there(file) && was_there(file) && !was_moved(file);
    before.unloadable_test_files().into_iter().filter(|test| is_removed(&test.name)).collect()
}
