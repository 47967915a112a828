//! The validators of a step run, before the first work or after it.

use std::io;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::event::CheckFinished;
use unstuck_process::StopReceiver;

use crate::host::Host;
use crate::task::TurnTask;
use crate::turn_start::TurnStart;
use crate::validation::ValidationRun;
use crate::workspace_diff::{self, BeforeTurn};

/// Validators that were begun.
pub(super) struct ConditionsTurn {
    task: TurnTask,
    validation: ValidationRun,
    seen: Option<BeforeTurn>,
}

impl ConditionsTurn {
    pub(super) fn begin(start: &TurnStart<'_>) -> io::Result<(Observation, Self)> {
        let mut task = start.task();
        let seen = workspace_diff::capture_before(start, &mut task);
        let now = seen.as_ref().map(BeforeTurn::start_snapshot);
        let validation = ValidationRun::new(start, now.as_deref())?;
        let started = start.check_started(&task, None);
        // Without rules nothing is compared afterwards: validators look themselves.
        let seen = seen.filter(BeforeTurn::has_rules);
        Ok((started, Self { task, validation, seen }))
    }

    pub(super) async fn execute(self, host: &Arc<Host>, stop: StopReceiver) -> Observation {
        let Self { mut task, validation, seen } = self;
        let step = task.step.id.clone();
        let running = validation.run(host, &step, stop.clone());
        let (mut outcome, validated) = task.check(host, running).await;
        let after = workspace_diff::capture_after(seen, host, &task.step, &mut outcome).await;
        task.collect_outputs(host, &mut outcome, stop).await;
        Observation::CheckFinished(CheckFinished {
            validators: validated.results,
            snapshot: validated.snapshot,
            stamp: validated.stamp,
            unsettled_after: validated.unsettled_after,
            drift: after.drift.map(Box::new),
            ..task.check_finished(outcome)
        })
    }
}
