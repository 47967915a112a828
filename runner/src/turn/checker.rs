//! Checks by a script or an agent. The verdict of a script is its exit code. The verdict of an agent is its answer or
//! its decision file.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::effect::Turn;
use unstuck_core::event::{CheckFinished, Exit};
use unstuck_evidence::checks::{EndedCommand, READING_MAX};
use unstuck_process::StopReceiver;

use crate::client_call::EventSink;
use crate::host::Host;
use crate::own_decision_file;
use crate::side_effects::{self, BeforeCheck};
use crate::task::TurnTask;
use crate::turn_start::TurnStart;
use crate::worker_process::WorkerProcess;
use crate::workspace_diff::{self, BeforeTurn};

/// A check by a process that was begun.
pub(super) struct AgentCheckTurn {
    task: TurnTask,
    turn: Turn,
    process: WorkerProcess,
    seen: Option<BeforeTurn>,
    watched: Option<BeforeCheck>,
    decision_file: Option<PathBuf>,
}

impl AgentCheckTurn {
    pub(super) fn begin(start: &TurnStart<'_>) -> io::Result<(Observation, Self)> {
        let mut task = start.task();
        own_decision_file::set_aside(start, &mut task)?;
        let seen = workspace_diff::capture_before(start, &mut task);
        let (process, call) = WorkerProcess::plan(start, &mut task.notes, None)?;
        let started = start.check_started(&task, call);
        let watched = BeforeCheck::new(start, seen.as_ref().map(BeforeTurn::start_snapshot));
        let decision_file = start.decision_file();
        Ok((started, Self { task, turn: start.turn, process, seen, watched, decision_file }))
    }

    pub(super) async fn execute(self, host: &Arc<Host>, stop: StopReceiver, sink: EventSink) -> Observation {
        let Self { mut task, turn, process, seen, watched, decision_file } = self;
        let witness = watched.map(|watched| watched.witness(host));
        let (due, stopped) = (task.due.clone(), stop.clone());
        let running = async {
            let cwd = process.cwd();
            let mut outcome = process.run(host, due, stopped.clone(), sink).await;
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
            let read = ended.result_of(&mut outcome, &host.blobs, &stopped).await;
            (outcome, vec![read.unwrap_or_else(|unread| unread)])
        };
        let (mut outcome, commands) = task.check(host, running).await;
        let file = own_decision_file::read(host, turn, decision_file.as_deref(), &outcome);
        let after = workspace_diff::capture_after(seen, host, &task.step, &mut outcome).await;
        let changed = side_effects::changed_files(witness).await;
        task.collect_outputs(host, &mut outcome, stop).await;
        Observation::CheckFinished(CheckFinished {
            decision_file: file,
            commands,
            drift: after.drift.map(Box::new),
            changed,
            ..task.check_finished(outcome)
        })
    }
}
