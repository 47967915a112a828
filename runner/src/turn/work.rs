//! A worker or a child run does the work of an iteration. What it says of it is read if it is its own check.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::effect::Turn;
use unstuck_core::event::WorkerFinished;
use unstuck_core::judge::declaration::wants_repeat;
use unstuck_process::StopSignal;

use super::child_run::ChildRun;
use crate::beginning::Beginning;
use crate::call::Tell;
use crate::drift::{self, BeforeTurn};
use crate::host::Host;
use crate::own_decision_file;
use crate::registry_prompts::{self, Sent};
use crate::task::Task;
use crate::worker_process::WorkerProcess;

/// Work that was begun.
pub(super) struct Work {
    task: Task,
    by: By,
    sent: Sent,
    seen: Option<BeforeTurn>,
    /// Where the worker writes its verdict, if it is its own check.
    decision_file: Option<PathBuf>,
}

/// Who works.
enum By {
    Worker(WorkerProcess),
    Child(Box<ChildRun>),
}

impl Work {
    pub(super) fn begin(begin: &Beginning<'_>) -> io::Result<(Observation, Self)> {
        let mut task = begin.task();
        own_decision_file::set_aside(begin, &mut task)?;
        let seen = drift::before(begin, &mut task);
        let (by, call) = match ChildRun::plan(begin) {
            Some(child) => (By::Child(Box::new(child)), None),
            None => {
                let (process, call) = WorkerProcess::plan(begin, &mut task.notes, None)?;
                (By::Worker(process), call)
            }
        };
        let started = begin.worker_started(&task, call, seen.as_ref().map(BeforeTurn::before));
        let (sent, decision_file) = (begin.sent(), begin.decision_file());
        Ok((started, Self { task, by, sent, seen, decision_file }))
    }

    pub(super) async fn carry_out(self, world: &Arc<Host>, stop: StopSignal, tell: Tell) -> Observation {
        let Self { mut task, by, sent, seen, decision_file } = self;
        let (due, context, stopped) = (task.due.clone(), task.context().clone(), stop.clone());
        let running = async {
            match by {
                By::Worker(process) => process.run(world, due, stopped, tell).await,
                By::Child(child) => child.run(world, &due.step, stopped, &context).await,
            }
        };
        let mut outcome = task.work(world, stop.clone(), running).await;
        let file = own_decision_file::read(world, Turn::Claim, decision_file.as_deref(), &outcome);
        let after = drift::after(seen, world, &task.step, &mut outcome).await;
        let answer = registry_prompts::answer_of_worker(&task.step, &sent, &outcome, &file);
        task.collect_outputs(world, &mut outcome, stop).await;
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
