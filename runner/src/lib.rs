//! The loop that performs what the core decides, and records what happened.
//!
//! [`Runner::drive`] starts each pending effect, waits for the first result, appends it with the decisions that follow, and
//! folds. It keeps no state that is not in the log, except for the processes in flight.
//!
//! # Map
//!
//! - [`open`] starts a run, resumes it, undoes it or repairs its log.
//! - `turn` begins and ends each `Turn`. What is known meanwhile is in `turn_start` and `task`; [`effects`] is what the
//!   loop needs of its surroundings, [`host`] is the real one, [`clock`] its time.
//! - Processes: `worker_process` (how one starts), `client_call` (arguments of a client, and its output), `registry_prompts`
//!   (the prompts of a steps registry, with `iteration_summary` and `checklist`).
//! - Evidence: `validation` (validators), `baseline`, [`baseline_cache`] (shared between runs), `vanished_tests`.
//! - The workspace: [`snapshots`], `workspace_diff` (changes of a turn, and reverts), `side_effects` (of checks), `repository_changes`,
//!   `own_decision_file`, `worker_decision_file`, `artifact_copies`, `temp_dir`, [`branch_guard`], [`workspace_link`] (links that
//!   replace it), [`orphaned_work`] (result of a killed supervisor).
//! - [`retry_request`]: the request to stop waiting.
//!
//! Start with this file. Not here: decisions (`unstuck-core`), processes (`unstuck-process`), snapshots
//! (`unstuck-workspace`) and validators (`unstuck-evidence`).

mod artifact_copies;
mod baseline;
pub mod baseline_cache;
pub mod branch_guard;
mod checklist;
mod client_call;
pub mod clock;
pub mod effects;
mod error;
pub mod host;
mod iteration_summary;
pub mod open;
pub mod orphaned_work;
mod own_decision_file;
mod registry_prompts;
mod repository_changes;
pub mod retry_request;
mod run_listener;
mod runner;
mod side_effects;
pub mod snapshots;
mod task;
mod temp_dir;
mod turn;
mod turn_start;
mod validation;
mod vanished_tests;
mod worker_decision_file;
mod worker_process;
mod workspace_diff;
pub mod workspace_link;
mod written;

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use unstuck_core::effect::Turn;
use unstuck_core::event::{RunInterrupted, RunOutcome};
use unstuck_core::{Effect, Observation, TurnId};
use unstuck_process::StopRequest;

pub use crate::error::RunnerError;
pub use crate::run_listener::{Interrupt, RunListener};
pub use crate::runner::Runner;

use crate::effects::EffectHandler;
use crate::error::unstarted_step;
use crate::run_listener::interrupted;

impl<W: EffectHandler> Runner<W> {
    /// Drives the run to its end.
    ///
    /// # Errors
    ///
    /// When the store fails; everything in flight has been ended then.
    pub async fn drive(&mut self) -> Result<RunOutcome, RunnerError> {
        let result = self.run_to_end().await;
        if result.is_err() {
            self.stop_all(StopRequest::StopNow);
            while self.in_flight.join_next().await.is_some() {}
        }
        result
    }

    async fn run_to_end(&mut self) -> Result<RunOutcome, RunnerError> {
        loop {
            if let Some(outcome) = self.state.outcome() {
                self.write()?;
                return Ok(outcome);
            }
            self.start_effects()?;
            self.write()?;
            if let Some(command) = self.next_command().await {
                if let Some(step) = unstarted_step(&command)
                    && let Some(why) = self.host.exhausted()
                {
                    return Err(RunnerError::Exhausted { step: step.clone(), why });
                }
                self.decide(command)?;
            }
        }
    }

    /// Begins what is owed. Each beginning may change what is: the time of the run may be over by then.
    fn start_effects(&mut self) -> Result<(), RunnerError> {
        loop {
            let (stops, due): (Vec<Effect>, Vec<Effect>) = self
                .state
                .pending_effects()
                .into_iter()
                .partition(|effect| matches!(effect, Effect::Stop(_)));
            for stop in stops {
                self.start_effect(stop)?;
            }
            match due.into_iter().next() {
                Some(effect) => self.start_effect(effect)?,
                None => return Ok(()),
            }
        }
    }

    /// Begins an effect: recorded first, performed then.
    fn start_effect(&mut self, effect: Effect) -> Result<(), RunnerError> {
        let (turn, due) = match effect {
            Effect::Perform(turn, due) => (turn, due),
            Effect::Stop(step) => {
                self.write()?;
                if let Some(stop) = self.stops.get(&step) {
                    stop.send_if_modified(|now| std::mem::replace(now, StopRequest::Stop.max(*now)) != *now);
                }
                return Ok(());
            }
        };
        let (started, prepared) = self.prepare(turn, &due)?;
        self.record(started)?;
        let (stop, stopped) = watch::channel(StopRequest::Run);
        self.stops.insert(due.step, stop);
        self.in_flight.spawn(Arc::clone(&self.host).perform(prepared, stopped, self.event_sink.clone()));
        Ok(())
    }

    /// Prepares an effect. What is asked is kept while the log is written that it is owed by: both wait for the disk. Nothing
    /// else is done before that is written, and it is written whatever becomes of the question.
    fn prepare(&mut self, turn: Turn, due: &TurnId) -> Result<(Observation, W::PreparedEffect), RunnerError> {
        let ask = AssertUnwindSafe(|| self.host.build_prompt(&self.state, turn, due));
        let prompt = match panic::catch_unwind(ask) {
            Ok(prompt) => prompt,
            Err(panic) => {
                self.write()?;
                panic::resume_unwind(panic);
            }
        };
        let unwritten = self.unwritten.take();
        let write = unwritten.as_ref().map(|batch| || batch.write(&self.log));
        let (kept, written) = self.host.store_while(&prompt, write);
        if let (Some(batch), Some(written)) = (&unwritten, written) {
            self.mark_written(batch, written)?;
        }
        let prepared = kept.and_then(|kept| self.host.prepare(&self.state, (turn, due), prompt, kept));
        prepared.map_err(|source| RunnerError::Prepare { step: due.step.clone(), place: self.dir(), source })
    }

    /// Waits for the first thing to happen; `None` if it asks for no decision.
    async fn next_command(&mut self) -> Option<Observation> {
        let deadline = self.state.next_deadline();
        tokio::select! {
            // In a fixed order, so that the same world gives the same run.
            biased;
            interrupt = interrupted(&mut self.interrupts) => {
                if interrupt.now {
                    self.stop_all(StopRequest::StopNow);
                }
                let running = self.state.phase().allows_in_flight();
                running.then_some(Observation::RunInterrupted(RunInterrupted { signal: interrupt.signal }))
            }
            Some(ended) = self.in_flight.join_next() => Some(ended.unwrap_or_else(|error| match error.try_into_panic() {
                Ok(panic) => panic::resume_unwind(panic),
                Err(error) => unreachable!("no task is cancelled while its run goes on: {error}"),
            })),
            // A suspension moves the moment at which the time of the run is over.
            () = self.clock.reach(deadline) => self.suspension().or(Some(Observation::DeadlinePassed)),
            () = self.host.retry_requested(), if self.state.is_waiting() => Some(Observation::Kicked),
            // A report may be about a process that has ended since.
            Some(observation) = self.observations.recv() => Some(observation).filter(|observation| self.state.check_allowed(observation).is_ok()),
        }
    }

    fn dir(&self) -> PathBuf {
        let of_run = self.log.artifacts().and_then(|artifacts| artifacts.parent().map(Path::to_owned));
        of_run.unwrap_or_else(std::env::temp_dir)
    }

    fn stop_all(&self, how: StopRequest) {
        for stop in self.stops.values() {
            stop.send_replace(how);
        }
    }
}
