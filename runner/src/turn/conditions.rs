//! The validators of a step run, before the first work or after it.

use std::io;
use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::event::CheckFinished;
use unstuck_process::StopSignal;

use crate::beginning::Beginning;
use crate::drift::{self, BeforeTurn};
use crate::host::Host;
use crate::task::Task;
use crate::validation::Validation;

/// Validators that were begun.
pub(super) struct Conditions {
    task: Task,
    validation: Validation,
    seen: Option<BeforeTurn>,
}

impl Conditions {
    pub(super) fn begin(begin: &Beginning<'_>) -> io::Result<(Observation, Self)> {
        let mut task = begin.task();
        let seen = drift::before(begin, &mut task);
        let now = seen.as_ref().map(BeforeTurn::before);
        let validation = Validation::new(begin, now.as_deref())?;
        let started = begin.check_started(&task, None);
        // Without rules nothing is compared afterwards: validators look themselves.
        let seen = seen.filter(BeforeTurn::has_rules);
        Ok((started, Self { task, validation, seen }))
    }

    pub(super) async fn carry_out(self, world: &Arc<Host>, stop: StopSignal) -> Observation {
        let Self { mut task, validation, seen } = self;
        let step = task.step.id.clone();
        let running = validation.run(world, &step, stop.clone());
        let (mut outcome, validated) = task.check(world, running).await;
        let after = drift::after(seen, world, &task.step, &mut outcome).await;
        task.collect_outputs(world, &mut outcome, stop).await;
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
