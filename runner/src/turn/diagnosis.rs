//! A worker finds out why the loop is stuck. It works in a copy, so that nothing that it changes stays.

use std::io;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_process::StopReceiver;
use unstuck_process::blocking_task::blocking;

use crate::client_call::EventSink;
use crate::host::Host;
use crate::task::TurnTask;
use crate::temp_dir::TempDir;
use crate::turn_start::TurnStart;
use crate::worker_process::WorkerProcess;
use crate::workspace_diff;

/// A diagnosis that was begun.
pub(super) struct DiagnosisTurn {
    task: TurnTask,
    process: WorkerProcess,
    copy: Option<TempDir>,
}

impl DiagnosisTurn {
    pub(super) fn begin(start: &TurnStart<'_>) -> io::Result<(Observation, Self)> {
        let mut task = start.task();
        let copy = workspace_diff::copy(start, &mut task);
        let place = copy.as_ref().map(TempDir::path);
        let (process, call) = WorkerProcess::plan(start, &mut task.notes, place)?;
        let started = start.worker_started(&task, call, None);
        Ok((started, Self { task, process, copy }))
    }

    pub(super) async fn execute(self, host: &Arc<Host>, stop: StopReceiver, sink: EventSink) -> Observation {
        let Self { mut task, process, copy } = self;
        let running = process.run(host, task.due.clone(), stop.clone(), sink);
        let outcome = task.work(host, stop, running).await;
        blocking(move || drop(copy)).await;
        Observation::WorkerFinished(task.worker_finished(outcome))
    }
}
