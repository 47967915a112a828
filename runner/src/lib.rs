//! The loop that performs what the core decides, and records what happened.
//!
//! [`Runner::drive`] starts each pending effect, waits for the first result, appends it with the decisions that follow, and
//! folds. It keeps no state that is not in the log, except for the processes in flight.
//!
//! # Map
//!
//! - [`open`] starts a run, resumes it, undoes it or repairs its log.
//! - `turn` begins and ends each `Turn`. What is known meanwhile is in `beginning` and `task`; [`world`] is what the
//!   loop needs of its surroundings, [`host`] is the real one, [`clock`] its time.
//! - Processes: `worker_process` (how one starts), `call` (arguments of a client, and its output), `registry_prompts`
//!   (the prompts of a steps registry, with `iteration_summary` and `checklist`).
//! - Evidence: `validation` (validators), `baseline`, [`baselines`] (shared between runs), `vanished_tests`.
//! - The workspace: [`snapshots`], `drift` (changes of a turn, and reverts), `side_effects` (of checks), `repository`,
//!   `own_decision_file`, `left_by_worker`, `artifact_copies`, `scratch`, [`branch_lock`], [`workspace`] (links that
//!   replace it), [`orphan_note`] (result of a killed supervisor).
//! - [`kick`]: the request to stop waiting.
//!
//! Start with this file. Not here: decisions (`unstuck-core`), processes (`unstuck-process`), snapshots
//! (`unstuck-workspace`) and validators (`unstuck-evidence`).

mod artifact_copies;
mod baseline;
pub mod baselines;
mod beginning;
pub mod branch_lock;
mod call;
mod checklist;
pub mod clock;
mod drift;
mod error;
pub mod host;
mod iteration_summary;
pub mod kick;
mod left_by_worker;
pub mod open;
pub mod orphan_note;
mod own_decision_file;
mod registry_prompts;
mod repository;
mod runner;
mod scratch;
mod side_effects;
pub mod snapshots;
mod task;
mod turn;
mod validation;
mod vanished_tests;
mod watcher;
mod worker_process;
pub mod workspace;
pub mod world;
mod written;

use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use unstuck_core::effect::Turn;
use unstuck_core::event::{RunInterrupted, RunOutcome};
use unstuck_core::{Due, Effect, Observation};
use unstuck_process::StopRequest;

pub use crate::error::Error;
pub use crate::runner::Runner;
pub use crate::watcher::{Interrupt, Watcher};

use crate::error::not_begun;
use crate::watcher::interrupted;
use crate::world::World;

impl<W: World> Runner<W> {
    /// Drives the run to its end.
    ///
    /// # Errors
    ///
    /// When the store fails; everything in flight has been ended then.
    pub async fn drive(&mut self) -> Result<RunOutcome, Error> {
        let result = self.until_ended().await;
        if result.is_err() {
            self.stop_all(StopRequest::StopNow);
            while self.in_flight.join_next().await.is_some() {}
        }
        result
    }

    async fn until_ended(&mut self) -> Result<RunOutcome, Error> {
        loop {
            if let Some(outcome) = self.state.outcome() {
                self.write()?;
                return Ok(outcome);
            }
            self.begin_what_is_due()?;
            self.write()?;
            if let Some(command) = self.next_command().await {
                if let Some(step) = not_begun(&command)
                    && let Some(why) = self.world.exhausted()
                {
                    return Err(Error::Exhausted { step: step.clone(), why });
                }
                self.decide(command)?;
            }
        }
    }

    /// Begins what is owed. Each beginning may change what is: the time of the run may be over by then.
    fn begin_what_is_due(&mut self) -> Result<(), Error> {
        loop {
            let (stops, due): (Vec<Effect>, Vec<Effect>) = self
                .state
                .pending_effects()
                .into_iter()
                .partition(|effect| matches!(effect, Effect::Stop(_)));
            for stop in stops {
                self.begin(stop)?;
            }
            match due.into_iter().next() {
                Some(effect) => self.begin(effect)?,
                None => return Ok(()),
            }
        }
    }

    /// Begins an effect: recorded first, performed then.
    fn begin(&mut self, effect: Effect) -> Result<(), Error> {
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
        self.in_flight.spawn(Arc::clone(&self.world).perform(prepared, stopped, self.tell.clone()));
        Ok(())
    }

    /// Prepares an effect. What is asked is kept while the log is written that it is owed by: both wait for the disk. Nothing
    /// else is done before that is written, and it is written whatever becomes of the question.
    fn prepare(&mut self, turn: Turn, due: &Due) -> Result<(Observation, W::Prepared), Error> {
        let ask = AssertUnwindSafe(|| self.world.ask(&self.state, turn, due));
        let asked = match panic::catch_unwind(ask) {
            Ok(asked) => asked,
            Err(panic) => {
                self.write()?;
                panic::resume_unwind(panic);
            }
        };
        let unwritten = self.unwritten.take();
        let write = unwritten.as_ref().map(|batch| || batch.write(&self.log));
        let (kept, written) = self.world.keep_beside(&asked, write);
        if let (Some(batch), Some(written)) = (&unwritten, written) {
            self.written(batch, written)?;
        }
        let prepared = kept.and_then(|kept| self.world.prepare(&self.state, (turn, due), asked, kept));
        prepared.map_err(|source| Error::Prepare { step: due.step.clone(), place: self.place(), source })
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
                let running = self.state.phase().lets_run_on();
                running.then_some(Observation::RunInterrupted(RunInterrupted { signal: interrupt.signal }))
            }
            Some(ended) = self.in_flight.join_next() => Some(ended.unwrap_or_else(|error| match error.try_into_panic() {
                Ok(panic) => panic::resume_unwind(panic),
                Err(error) => unreachable!("no task is cancelled while its run goes on: {error}"),
            })),
            // A suspension moves the moment at which the time of the run is over.
            () = self.clock.reach(deadline) => self.suspension().or(Some(Observation::DeadlinePassed)),
            () = self.world.kicked(), if self.state.is_waiting() => Some(Observation::Kicked),
            // A report may be about a process that has ended since.
            Some(told) = self.told.recv() => Some(told).filter(|it| self.state.admits(it).is_ok()),
        }
    }

    fn place(&self) -> PathBuf {
        let of_run = self.log.artifacts().and_then(|artifacts| artifacts.parent().map(Path::to_owned));
        of_run.unwrap_or_else(std::env::temp_dir)
    }

    fn stop_all(&self, how: StopRequest) {
        for stop in self.stops.values() {
            stop.send_replace(how);
        }
    }
}
