//! The closer judges a claim. One that may change nothing works in a copy.

use std::io;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::event::CheckFinished;
use unstuck_core::workflow::Capability;
use unstuck_process::StopReceiver;
use unstuck_process::blocking_task::blocking;

use crate::client_call::EventSink;
use crate::host::Host;
use crate::registry_prompts::{self, SentPrompt};
use crate::task::TurnTask;
use crate::temp_dir::TempDir;
use crate::turn_start::TurnStart;
use crate::validation::WorkspaceProbe;
use crate::worker_process::WorkerProcess;
use crate::workspace_diff::{self, BeforeTurn};

/// A closer that was begun.
pub(super) struct ReviewerTurn {
    task: TurnTask,
    process: WorkerProcess,
    sent: SentPrompt,
    seen: Option<BeforeTurn>,
    copy: Option<TempDir>,
    /// Looks at the workspace afterwards, wherever the closer worked.
    probe: WorkspaceProbe,
}

impl ReviewerTurn {
    pub(super) fn begin(start: &TurnStart<'_>) -> io::Result<(Observation, Self)> {
        let mut task = start.task();
        let closer = start.step.completion.as_ref().and_then(|completion| completion.closer.as_ref());
        let only_looks = closer.is_some_and(|closer| !closer.worker.capabilities.contains(&Capability::Edit));
        let (copy, seen) = match only_looks {
            true => (workspace_diff::copy(start, &mut task), None),
            false => (None, workspace_diff::capture_before(start, &mut task)),
        };
        let place = copy.as_ref().map(TempDir::path);
        let (process, call) = WorkerProcess::plan(start, &mut task.notes, place)?;
        let started = start.check_started(&task, call);
        let probe = WorkspaceProbe::new(start.host, start.state);
        Ok((started, Self { task, process, sent: start.sent(), seen, copy, probe }))
    }

    pub(super) async fn execute(self, host: &Arc<Host>, stop: StopReceiver, sink: EventSink) -> Observation {
        let Self { mut task, process, sent, seen, copy, probe } = self;
        let (due, stopped) = (task.due.clone(), stop.clone());
        let running = async { (process.run(host, due, stopped, sink).await, ()) };
        let (mut outcome, ()) = task.check(host, running).await;
        let after = workspace_diff::capture_after(seen, host, &task.step, &mut outcome).await;
        let answer = registry_prompts::reviewer_answer(&sent, &outcome);
        let (snapshot, stamp) = probe.end(host, &mut outcome.notes).await;
        task.collect_outputs(host, &mut outcome, stop).await;
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
