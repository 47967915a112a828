//! The closer judges a claim. One that may change nothing works in a copy.

use std::io;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::event::CheckFinished;
use unstuck_core::workflow::Capability;
use unstuck_process::StopSignal;
use unstuck_process::blocking_task::blocking;

use crate::beginning::Beginning;
use crate::call::Tell;
use crate::drift::{self, BeforeTurn};
use crate::host::Host;
use crate::registry_prompts::{self, Sent};
use crate::scratch::Scratch;
use crate::task::Task;
use crate::validation::Looker;
use crate::worker_process::WorkerProcess;

/// A closer that was begun.
pub(super) struct Closer {
    task: Task,
    process: WorkerProcess,
    sent: Sent,
    seen: Option<BeforeTurn>,
    copy: Option<Scratch>,
    /// Looks at the workspace afterwards, wherever the closer worked.
    looker: Looker,
}

impl Closer {
    pub(super) fn begin(begin: &Beginning<'_>) -> io::Result<(Observation, Self)> {
        let mut task = begin.task();
        let closer = begin.step.completion.as_ref().and_then(|completion| completion.closer.as_ref());
        let only_looks = closer.is_some_and(|it| !it.worker.capabilities.contains(&Capability::Edit));
        let (copy, seen) = match only_looks {
            true => (drift::copy(begin, &mut task), None),
            false => (None, drift::before(begin, &mut task)),
        };
        let place = copy.as_ref().map(Scratch::path);
        let (process, call) = WorkerProcess::plan(begin, &mut task.notes, place)?;
        let started = begin.check_started(&task, call);
        let looker = Looker::new(begin.world, begin.state);
        Ok((started, Self { task, process, sent: begin.sent(), seen, copy, looker }))
    }

    pub(super) async fn carry_out(self, world: &Arc<Host>, stop: StopSignal, tell: Tell) -> Observation {
        let Self { mut task, process, sent, seen, copy, looker } = self;
        let (due, stopped) = (task.due.clone(), stop.clone());
        let running = async { (process.run(world, due, stopped, tell).await, ()) };
        let (mut outcome, ()) = task.check(world, running).await;
        let after = drift::after(seen, world, &task.step, &mut outcome).await;
        let answer = registry_prompts::answer_of_closer(&sent, &outcome);
        let (snapshot, stamp) = looker.end(world, &mut outcome.notes).await;
        task.collect_outputs(world, &mut outcome, stop).await;
        blocking(move || drop(copy)).await;
        Observation::CheckFinished(CheckFinished {
            drift: after.drift.map(Box::new),
            snapshot,
            stamp,
            answer,
            ..task.check_finished(outcome)
        })
    }
}
