//! A child run that does the work of a step.

use std::time::Instant;

use unstuck_core::event::{Exit, Outcome, Parent};
use unstuck_core::id::{Millis, StepId};
use unstuck_core::workflow::{StepKind, Subworkflow};
use unstuck_files::private_dir::PrivateDir;
use unstuck_process::StopReceiver;
use unstuck_workspace::artifacts::{self, IsStopped, Overlap};

use crate::artifact_copies;
use crate::host::{ChildContext, Host};
use crate::task::failed_to_run;
use crate::turn_start::TurnStart;

/// A child run that is about to start.
pub(super) struct SubworkflowTurn {
    parent: Parent,
    child: Subworkflow,
    place: ChildContext,
}

impl SubworkflowTurn {
    /// Plans the child run that a step is; `None` where the step is no child run.
    pub(super) fn plan(start: &TurnStart<'_>) -> Option<Self> {
        let StepKind::Subworkflow(child) = &start.step.work else { return None };
        let TurnStart { host, state, at, .. } = *start;
        let parent =
            Parent { run: host.run.clone(), step: start.step.id.clone(), iteration: start.due.iteration };
        let run = parent.child();
        let place = ChildContext {
            mark: host.mark(),
            limit: start.limit(),
            workspace: host.workspace.to_string_lossy().into_owned(),
            context_dir: state.workflow().map_or_else(String::new, |workflow| workflow.context_dir.clone()),
            extra_iterations: state.extra_iterations(),
            extra_budget: state.extra_budget(),
            allowance: state.allowance_of(&run),
            prices: state.workflow().and_then(|workflow| workflow.prices.clone()),
            extra_time: state.extra_time(),
            secrets: state.secrets().to_vec(),
            hint: at.feedback.from_person.last().cloned(),
            last_end: at
                .calls
                .child
                .as_ref()
                .filter(|last| last.run == run)
                .map(|last| (last.end, last.ended_at)),
        };
        Some(Self { parent, child: child.clone(), place })
    }

    /// Runs it, and copies what it exports.
    pub(super) async fn run(
        self,
        host: &Host,
        step: &StepId,
        stop: StopReceiver,
        context: &PrivateDir,
    ) -> Outcome {
        let Self { parent, child, place } = self;
        let begun = Instant::now();
        let overlap = if child.exports_replace { Overlap::Replace } else { Overlap::Merge };
        let exports = child.exports.clone();
        let running = host.children.run(parent, child, place, stop.clone()).await;
        let mut outcome = running.unwrap_or_else(failed_to_run);
        outcome.duration = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        if let Exit::Child(child) = &outcome.exit
            && !outcome.exit.is_stopped()
        {
            let child_context = context.join("_subworkflows").join(step.as_str()).join(child.run.as_str());
            let (own, step) = (context.join(step.as_str()), step.clone());
            let copy = move |context: &PrivateDir, is_stopped: IsStopped<'_>| {
                artifacts::copy_exports(&child_context, context, &step, &exports, overlap, is_stopped)
            };
            artifact_copies::run(context.clone(), own, stop, copy).await.note(&mut outcome);
        }
        outcome
    }
}
