//! A worker or a child run does the work of an iteration. What it says of it is read if it is its own check.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::effect::Turn;
use unstuck_core::event::WorkerFinished;
use unstuck_core::judge::declared_status::wants_repeat;
use unstuck_process::StopReceiver;

use super::subworkflow::SubworkflowTurn;
use crate::client_call::EventSink;
use crate::host::Host;
use crate::own_decision_file;
use crate::registry_prompts::{self, SentPrompt};
use crate::task::TurnTask;
use crate::turn_start::TurnStart;
use crate::worker_process::WorkerProcess;
use crate::workspace_diff::{self, BeforeTurn};

/// Work that was begun.
pub(super) struct WorkTurn {
    task: TurnTask,
    by: WorkBy,
    sent: SentPrompt,
    seen: Option<BeforeTurn>,
    /// Where the worker writes its verdict, if it is its own check.
    decision_file: Option<PathBuf>,
}

/// Who works.
enum WorkBy {
    Worker(WorkerProcess),
    Child(Box<SubworkflowTurn>),
}

impl WorkTurn {
    pub(super) fn begin(start: &TurnStart<'_>) -> io::Result<(Observation, Self)> {
        let mut task = start.task();
        own_decision_file::set_aside(start, &mut task)?;
        let seen = workspace_diff::capture_before(start, &mut task);
        let (by, call) = match SubworkflowTurn::plan(start) {
            Some(child) => (WorkBy::Child(Box::new(child)), None),
            None => {
                let (process, call) = WorkerProcess::plan(start, &mut task.notes, None)?;
                (WorkBy::Worker(process), call)
            }
        };
        let started = start.worker_started(&task, call, seen.as_ref().map(BeforeTurn::start_snapshot));
        let (sent, decision_file) = (start.sent(), start.decision_file());
        Ok((started, Self { task, by, sent, seen, decision_file }))
    }

    pub(super) async fn execute(self, host: &Arc<Host>, stop: StopReceiver, sink: EventSink) -> Observation {
        let Self { mut task, by, sent, seen, decision_file } = self;
        let (due, context, stopped) = (task.due.clone(), task.context().clone(), stop.clone());
        let running = async {
            match by {
                WorkBy::Worker(process) => process.run(host, due, stopped, sink).await,
                WorkBy::Child(child) => child.run(host, &due.step, stopped, &context).await,
            }
        };
        let mut outcome = task.work(host, stop.clone(), running).await;
        let file = own_decision_file::read(host, Turn::Claim, decision_file.as_deref(), &outcome);
        let after = workspace_diff::capture_after(seen, host, &task.step, &mut outcome).await;
        let answer = registry_prompts::worker_answer(&task.step, &sent, &outcome, &file);
        task.collect_outputs(host, &mut outcome, stop).await;
        Observation::WorkerFinished(WorkerFinished {
            decision_file: file,
            changed: after.changed,
            snapshot: after.snapshot,
            drift: after.drift.map(Box::new),
            diffstat: after.diffstat.map(Box::new),
            wants_repeat: wants_repeat(answer.as_deref()),
            answer,
            ..task.worker_finished(outcome)
        })
    }
}
