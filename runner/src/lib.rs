//! The loop that performs what the core decides, and records what happened.
//!
//! [`Runner::drive`] starts each pending effect, waits for the first result, appends it with the decisions that follow, and
//! folds. It keeps no state that is not in the log, except for the processes in flight.
//!
//! # Map
//!
//! - Opening a run: [`launch`] (new or resumed), [`workspace`] (one run per workspace), [`branch_lock`], [`abandoned`] (what a
//!   killed supervisor left), `child` (runs that are steps).
//! - The world: [`world`] is what a run needs; [`machine`] is the real one, [`clock`] its time.
//! - Performing an effect: `perform` starts and ends a process; `job` chooses the process, `call` reads the output of a client,
//!   `prompts` fills the prompts of a registry (with `iteration_summary` and `checklist`), `validation` runs validators until the workspace no longer changes.
//! - Baselines: `baseline`, [`baselines`] (shared between runs), `removed` (looks for tests in files).
//! - The workspace: [`snapshots`], `seen` and `watched` (changes of the agent and of checks), `repository`, `left_by_worker`,
//!   `scratch`, `copies` (artifacts), [`undoing`] (plans an undo).
//! - [`kick`]: the request to stop waiting.
//!
//! Start with this file. Not here: decisions (`unstuck-core`), processes (`unstuck-process`), snapshots
//! (`unstuck-workspace`) and validators (`unstuck-evidence`).

pub mod abandoned;
mod baseline;
pub mod baselines;
pub mod branch_lock;
mod call;
mod checklist;
mod child;
pub mod clock;
mod copies;
mod iteration_summary;
mod job;
pub mod kick;
pub mod launch;
mod left_by_worker;
pub mod machine;
mod perform;
mod prompts;
mod removed;
mod repository;
mod scratch;
mod seen;
pub mod snapshots;
pub mod undoing;
mod validation;
mod watched;
pub mod workspace;
pub mod world;

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use unstuck_core::event::{Exit, Lost, RunInterrupted, RunOutcome, Suspended};
use unstuck_core::id::{Millis, StepId};
use unstuck_core::state::StepPhase;
use unstuck_core::{Due, Effect, Event, Observation, Rejection, RunState};
use unstuck_files::error::with_causes;
use unstuck_process::StopRequest;
use unstuck_store::chain::Head;
use unstuck_store::event_store::{AppendError, EventStore as _, Expected};
use unstuck_store::run_log::RunLog;

use crate::clock::Clock;
use crate::world::World;

/// Who wants to know what happens while it happens. Display never touches a decision.
pub trait Watcher: Send + Sync {
    /// Events were recorded and led to this state.
    fn recorded(&self, events: &[Event], state: &RunState);
    /// A worker or check printed a line: no secrets, no control characters.
    fn line(&self, step: &StepId, line: &str);
    /// Returns who watches the child run of a step. The steps of a child have names of their own: they are shown below
    /// `prefix`, and not at all if there is none.
    fn child(self: Arc<Self>, step: &StepId, prefix: Option<&str>) -> Arc<dyn Watcher>;
}

/// A wish of a person or of the system to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// The signal.
    pub signal: i32,
    /// Do not wait for anything to end by itself.
    pub now: bool,
}

/// Why a run cannot go on. What was recorded is safe, and a resume goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The event store does not take events.
    #[error("the event store does not take events")]
    Store(#[from] AppendError),
    /// The state does not admit a command.
    #[error("{0}")]
    Rejected(#[from] Rejection),
    /// The machine lacks what an effect needs. The attempt is in flight in the log, so it is made again.
    #[error("step {step} cannot go on: {why}")]
    Exhausted {
        /// The step.
        step: StepId,
        /// The error of the system.
        why: String,
    },
    /// The machine does not let an effect begin.
    #[error("cannot prepare step {step} in {}", place.display())]
    Prepare {
        /// What was to begin.
        step: StepId,
        /// The folder of the run, in which its prompt and what was in its way are kept.
        place: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// Returns the step of an effect that could not be begun, or not be brought to its end, for no fault of its worker.
fn not_begun(ended: &Observation) -> Option<&StepId> {
    let (step, outcome) = match ended {
        Observation::WorkerFinished(it) => (&it.step, &it.outcome),
        Observation::CheckFinished(it) => (&it.step, &it.outcome),
        _ => return None,
    };
    (outcome.fatal.is_some() || matches!(outcome.exit, Exit::CouldNotStart(_))).then_some(step)
}

/// So many events are folded again at most when a run is opened.
const CHECKPOINT_EVERY: usize = 10_000;

/// Clocks differ by a little; less than this is no suspension.
const SUSPENDED_MIN: Millis = Millis::from_secs(5);

/// Events that were decided together.
struct Batch {
    events: Vec<Event>,
    /// What is in the log before them.
    expected: Expected,
}

/// Drives one run.
pub struct Runner<W> {
    log: Arc<RunLog>,
    head: Option<Head>,
    since_checkpoint: usize,
    world: Arc<W>,
    state: RunState,
    /// What led to this state and is not in the log yet.
    unwritten: Option<Batch>,
    clock: Clock,
    /// The suspensions of the machine that are recorded, in all.
    suspended: Millis,
    interrupts: watch::Receiver<Option<Interrupt>>,
    in_flight: JoinSet<Observation>,
    stops: BTreeMap<StepId, watch::Sender<StopRequest>>,
    tell: world::Tell,
    told: mpsc::UnboundedReceiver<Observation>,
}

impl<W: World> Runner<W> {
    /// Takes a run up where `state` stands.
    pub fn new(
        log: Arc<RunLog>,
        world: Arc<W>,
        state: RunState,
        clock: Clock,
        interrupts: watch::Receiver<Option<Interrupt>>,
    ) -> Self {
        let (in_flight, stops) = (JoinSet::new(), BTreeMap::new());
        let (head, since_checkpoint) = (None, 0);
        let (tell, told) = mpsc::unbounded_channel();
        let suspended = Millis(0);
        Self {
            log,
            head,
            since_checkpoint,
            world,
            state,
            unwritten: None,
            clock,
            suspended,
            interrupts,
            in_flight,
            stops,
            tell,
            told,
        }
    }

    /// Returns where the run stands.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Goes on until the run has ended.
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
        let (due, is_check) = match effect {
            Effect::RunWorker(due) => (due, false),
            Effect::RunCheck(due) => (due, true),
            Effect::Stop(step) => {
                self.write()?;
                if let Some(stop) = self.stops.get(&step) {
                    stop.send_if_modified(|now| std::mem::replace(now, StopRequest::Stop.max(*now)) != *now);
                }
                return Ok(());
            }
        };
        let (started, prepared) = self.prepare(&due, is_check)?;
        self.record(started)?;
        let (stop, stopped) = watch::channel(StopRequest::Run);
        self.stops.insert(due.step, stop);
        self.in_flight.spawn(Arc::clone(&self.world).perform(prepared, stopped, self.tell.clone()));
        Ok(())
    }

    /// Prepares an effect. What is asked is kept while the log is written that it is owed by: both wait for the disk. Nothing
    /// else is done before that is written, and it is written whatever becomes of the question.
    fn prepare(&mut self, due: &Due, is_check: bool) -> Result<(Observation, W::Prepared), Error> {
        let ask = AssertUnwindSafe(|| self.world.ask(&self.state, due, is_check));
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
        let prepared = kept.and_then(|kept| self.world.prepare(&self.state, due, is_check, asked, kept));
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
            // What is told of something that has ended since is old.
            Some(told) = self.told.recv() => Some(told).filter(|it| self.state.admits(it).is_ok()),
        }
    }

    fn place(&self) -> PathBuf {
        self.log.folder().map_or_else(std::env::temp_dir, |folder| folder.path().to_owned())
    }

    /// Records a command together with what is decided about it; before it, that the machine was suspended, if it was.
    ///
    /// # Errors
    ///
    /// When the state does not admit the command, or the store does not take the batch.
    pub fn record(&mut self, command: Observation) -> Result<(), Error> {
        self.decide(command)?;
        self.write()
    }

    /// The same, but for the last batch, which is written with what it owes, or [next](Self::write).
    fn decide(&mut self, command: Observation) -> Result<(), Error> {
        if !matches!(command, Observation::Suspended(_))
            && let Some(suspension) = self.suspension()
        {
            self.fold(suspension)?;
        }
        self.fold(command)
    }

    /// Returns what there is to record of the machine having been suspended while this run was under way.
    fn suspension(&self) -> Option<Observation> {
        let length = self.clock.suspended().minus(self.suspended);
        let suspension = Observation::Suspended(Suspended { length });
        (length >= SUSPENDED_MIN && self.state.admits(&suspension).is_ok()).then_some(suspension)
    }

    fn fold(&mut self, command: Observation) -> Result<(), Error> {
        self.write()?;
        if let Observation::Suspended(event) = &command {
            self.suspended = self.suspended.plus(event.length);
        }
        let command = self.world.redact(without_changes_of_others(&self.state, command));
        let events = self.state.decide(command, self.clock.now())?;
        let expected = Expected::Exactly(self.state.version());
        self.state = events.iter().fold(std::mem::take(&mut self.state), RunState::evolve);
        self.unwritten = Some(Batch { events, expected });
        Ok(())
    }

    /// Writes what was decided, if that is not in the log yet.
    fn write(&mut self) -> Result<(), Error> {
        let Some(batch) = self.unwritten.take() else { return Ok(()) };
        let written = batch.write(&self.log);
        self.written(&batch, written)
    }

    fn written(&mut self, batch: &Batch, written: Result<Head, AppendError>) -> Result<(), Error> {
        // No checkpoint is of a state that the log does not lead to.
        self.head = written.as_ref().ok().copied();
        written?;
        self.world.recorded(&batch.events, &self.state);
        self.since_checkpoint += batch.events.len();
        if self.since_checkpoint >= CHECKPOINT_EVERY {
            self.save_checkpoint();
        }
        Ok(())
    }

    /// Saves the fold, so that the next one who opens the log need not read all of it. A cache: what
    /// goes wrong here costs time and nothing else.
    pub fn save_checkpoint(&mut self) {
        let Some(head) = self.head else { return };
        self.since_checkpoint = 0;
        let state = serde_json::to_vec(&self.state).expect("a state is plain data");
        if let Err(error) = self.log.save_checkpoint(head, RunState::REDUCER_VERSION, state) {
            tracing::warn!(error = with_causes(&error), "the checkpoint was not saved");
        }
    }

    /// Returns where the run stands, for good.
    pub fn into_state(self) -> RunState {
        self.state
    }

    /// Records what was in flight when the supervisor before this one died, after what was left of
    /// it has been ended.
    ///
    /// # Errors
    ///
    /// As [`Runner::record`].
    pub fn record_lost(&mut self, processes_ended: u32) -> Result<(), Error> {
        let lost: Vec<(Lost, bool)> = self
            .state
            .in_flight()
            .map(|(step, at)| {
                let (step, iteration, attempt) = (step.id.clone(), at.iteration, at.attempt);
                let is_check = matches!(at.phase, StepPhase::Checking(_));
                (Lost { step, iteration, attempt, processes_ended }, is_check)
            })
            .collect();
        for (lost, is_check) in lost {
            self.record(if is_check { Observation::CheckLost(lost) } else { Observation::WorkerLost(lost) })?;
        }
        Ok(())
    }

    fn stop_all(&self, how: StopRequest) {
        for stop in self.stops.values() {
            stop.send_replace(how);
        }
    }
}

impl Batch {
    fn write(&self, log: &RunLog) -> Result<Head, AppendError> {
        log.append(&self.events, self.expected)
    }
}

/// Takes out how much a worker changed, where the workers of other steps were at work at the same time: that may be theirs.
fn without_changes_of_others(state: &RunState, command: Observation) -> Observation {
    match command {
        Observation::WorkerFinished(mut event) => {
            let is_beside = state.step(&event.step).is_some_and(|(_, at)| at.workspace.is_beside);
            event.diffstat = event.diffstat.filter(|_| !is_beside);
            Observation::WorkerFinished(event)
        }
        command => command,
    }
}

/// Waits for the next interrupt; for ever if nobody can send one any more.
async fn interrupted(interrupts: &mut watch::Receiver<Option<Interrupt>>) -> Interrupt {
    loop {
        if interrupts.changed().await.is_err() {
            return std::future::pending().await;
        }
        if let Some(interrupt) = *interrupts.borrow_and_update() {
            return interrupt;
        }
    }
}
