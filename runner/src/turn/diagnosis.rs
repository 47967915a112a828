//! A worker finds out why the loop is stuck. It works in a copy, so that nothing that it changes stays.

use std::io;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_process::StopSignal;
use unstuck_process::blocking_task::blocking;

use crate::beginning::Beginning;
use crate::call::Tell;
use crate::drift;
use crate::host::Host;
use crate::scratch::Scratch;
use crate::task::Task;
use crate::worker_process::WorkerProcess;

/// A diagnosis that was begun.
pub(super) struct Diagnosis {
    task: Task,
    process: WorkerProcess,
    copy: Option<Scratch>,
}

impl Diagnosis {
    pub(super) fn begin(begin: &Beginning<'_>) -> io::Result<(Observation, Self)> {
        let mut task = begin.task();
        let copy = drift::copy(begin, &mut task);
        let place = copy.as_ref().map(Scratch::path);
        let (process, call) = WorkerProcess::plan(begin, &mut task.notes, place)?;
        let started = begin.worker_started(&task, call, None);
        Ok((started, Self { task, process, copy }))
    }

    pub(super) async fn carry_out(self, world: &Arc<Host>, stop: StopSignal, tell: Tell) -> Observation {
        let Self { mut task, process, copy } = self;
        let running = process.run(world, task.due.clone(), stop.clone(), tell);
        let outcome = task.work(world, stop, running).await;
        blocking(move || drop(copy)).await;
        Observation::WorkerFinished(task.worker_finished(outcome))
    }
}
