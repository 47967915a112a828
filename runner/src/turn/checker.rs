//! Checks by a script or an agent. The verdict of a script is its exit code. The verdict of an agent is its answer or
//! its decision file.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::effect::Turn;
use unstuck_core::event::{CheckFinished, Exit};
use unstuck_evidence::checks::{EndedCommand, READING_MAX};
use unstuck_process::StopSignal;

use crate::beginning::Beginning;
use crate::call::Tell;
use crate::drift::{self, BeforeTurn};
use crate::host::Host;
use crate::own_decision_file;
use crate::side_effects::{self, SideEffects};
use crate::task::Task;
use crate::worker_process::WorkerProcess;

/// A check by a process that was begun.
pub(super) struct Checker {
    task: Task,
    turn: Turn,
    process: WorkerProcess,
    seen: Option<BeforeTurn>,
    watched: Option<SideEffects>,
    decision_file: Option<PathBuf>,
}

impl Checker {
    pub(super) fn begin(begin: &Beginning<'_>) -> io::Result<(Observation, Self)> {
        let mut task = begin.task();
        own_decision_file::set_aside(begin, &mut task)?;
        let seen = drift::before(begin, &mut task);
        let (process, call) = WorkerProcess::plan(begin, &mut task.notes, None)?;
        let started = begin.check_started(&task, call);
        let watched = SideEffects::of(begin, seen.as_ref().map(BeforeTurn::before));
        let decision_file = begin.decision_file();
        Ok((started, Self { task, turn: begin.turn, process, seen, watched, decision_file }))
    }

    pub(super) async fn carry_out(self, world: &Arc<Host>, stop: StopSignal, tell: Tell) -> Observation {
        let Self { mut task, turn, process, seen, watched, decision_file } = self;
        let witness = watched.map(|watched| watched.witness(world));
        let (due, stopped) = (task.due.clone(), stop.clone());
        let running = async {
            let cwd = process.cwd();
            let mut outcome = process.run(world, due, stopped.clone(), tell).await;
            if turn != Turn::Script || outcome.exit == Exit::Code(0) {
                return (outcome, Vec::new());
            }
            let ended = EndedCommand {
                run: "the check",
                cwd: &cwd,
                reports: Vec::new(),
                before: None,
                limit: READING_MAX,
            };
            let read = ended.result_of(&mut outcome, &world.blobs, &stopped).await;
            (outcome, vec![read.unwrap_or_else(|unread| unread)])
        };
        let (mut outcome, commands) = task.check(world, running).await;
        let file = own_decision_file::read(world, turn, decision_file.as_deref(), &outcome);
        let after = drift::after(seen, world, &task.step, &mut outcome).await;
        let changed = side_effects::changed(witness).await;
        task.collect_outputs(world, &mut outcome, stop).await;
        Observation::CheckFinished(CheckFinished {
            decision_file: file,
            commands,
            drift: after.drift.map(Box::new),
            changed,
            ..task.check_finished(outcome)
        })
    }
}
