//! One run that is driven: its state, its log, and what is in flight.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use unstuck_core::event::{AttemptLost, MachineSuspended};
use unstuck_core::id::{Millis, StepId};
use unstuck_core::state::StepPhase;
use unstuck_core::{Event, Observation, RunState};
use unstuck_files::error::with_causes;
use unstuck_process::StopRequest;
use unstuck_store::event_store::{AppendError, EventStore as _, ExpectedVersion, Head};
use unstuck_store::run_log::RunLog;

use crate::clock::SystemClock;
use crate::effects::{EffectHandler, EventSink};
use crate::error::RunnerError;
use crate::run_listener::Interrupt;

/// So many events are folded again at most when a run is opened.
const CHECKPOINT_EVERY: usize = 10_000;

/// Minimum suspension to record. Clocks differ by less than this.
const SUSPENDED_MIN: Millis = Millis::from_secs(5);

/// Events that were decided together.
pub(crate) struct PendingEvents {
    events: Vec<Event>,
    /// Position in the log that they follow.
    expected: ExpectedVersion,
}

/// Drives one run.
pub struct Runner<W> {
    pub(crate) log: Arc<RunLog>,
    pub(crate) head: Option<Head>,
    pub(crate) since_checkpoint: usize,
    pub(crate) host: Arc<W>,
    pub(crate) state: RunState,
    /// Events that led to this state and are not in the log yet.
    pub(crate) unwritten: Option<PendingEvents>,
    pub(crate) clock: SystemClock,
    /// Total of the recorded suspensions of the machine.
    pub(crate) suspended: Millis,
    pub(crate) interrupts: watch::Receiver<Option<Interrupt>>,
    pub(crate) in_flight: JoinSet<Observation>,
    pub(crate) stops: BTreeMap<StepId, watch::Sender<StopRequest>>,
    pub(crate) event_sink: EventSink,
    pub(crate) observations: mpsc::UnboundedReceiver<Observation>,
}

impl<W: EffectHandler> Runner<W> {
    /// Takes a run up where `state` stands.
    pub fn new(
        log: Arc<RunLog>,
        host: Arc<W>,
        state: RunState,
        clock: SystemClock,
        interrupts: watch::Receiver<Option<Interrupt>>,
    ) -> Self {
        let (in_flight, stops) = (JoinSet::new(), BTreeMap::new());
        let (head, since_checkpoint) = (None, 0);
        let (event_sink, observations) = mpsc::unbounded_channel();
        let suspended = Millis(0);
        Self {
            log,
            head,
            since_checkpoint,
            host,
            state,
            unwritten: None,
            clock,
            suspended,
            interrupts,
            in_flight,
            stops,
            event_sink,
            observations,
        }
    }

    /// Returns where the run stands.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Returns where the run stands, for good.
    pub fn into_state(self) -> RunState {
        self.state
    }

    /// Records a command together with what is decided about it; before it, that the machine was suspended, if it was.
    ///
    /// # Errors
    ///
    /// When the state does not admit the command, or the store does not take the batch.
    pub fn record(&mut self, command: Observation) -> Result<(), RunnerError> {
        self.decide(command)?;
        self.write()
    }

    /// The same, but for the last batch, which is written with what it owes, or [next](Self::write).
    pub(crate) fn decide(&mut self, command: Observation) -> Result<(), RunnerError> {
        if !matches!(command, Observation::Suspended(_))
            && let Some(suspension) = self.suspension()
        {
            self.fold(suspension)?;
        }
        self.fold(command)
    }

    /// Returns what there is to record of the machine having been suspended while this run was under way.
    pub(crate) fn suspension(&self) -> Option<Observation> {
        let length = self.clock.suspended().minus(self.suspended);
        let suspension = Observation::Suspended(MachineSuspended { length });
        (length >= SUSPENDED_MIN && self.state.check_allowed(&suspension).is_ok()).then_some(suspension)
    }

    fn fold(&mut self, command: Observation) -> Result<(), RunnerError> {
        self.write()?;
        if let Observation::Suspended(event) = &command {
            self.suspended = self.suspended.plus(event.length);
        }
        let command = self.host.redact(without_changes_of_others(&self.state, command));
        let events = self.state.decide(command, self.clock.now())?;
        let expected = ExpectedVersion::Exactly(self.state.version());
        self.state = events.iter().fold(std::mem::take(&mut self.state), RunState::evolve);
        self.unwritten = Some(PendingEvents { events, expected });
        Ok(())
    }

    /// Writes what was decided, if that is not in the log yet.
    pub(crate) fn write(&mut self) -> Result<(), RunnerError> {
        let Some(batch) = self.unwritten.take() else { return Ok(()) };
        let written = batch.write(&self.log);
        self.mark_written(&batch, written)
    }

    pub(crate) fn mark_written(
        &mut self,
        batch: &PendingEvents,
        written: Result<Head, AppendError>,
    ) -> Result<(), RunnerError> {
        // No checkpoint is of a state that the log does not lead to.
        self.head = written.as_ref().ok().copied();
        written?;
        self.host.on_events(&batch.events, &self.state);
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

    /// Records what was in flight when the supervisor before this one died, after what was left of
    /// it has been ended.
    ///
    /// # Errors
    ///
    /// As [`Runner::record`].
    pub fn record_lost(&mut self, processes_ended: u32) -> Result<(), RunnerError> {
        let lost: Vec<(AttemptLost, bool)> = self
            .state
            .in_flight()
            .map(|(step, at)| {
                let (step, iteration, attempt) = (step.id.clone(), at.iteration(), at.attempt());
                let is_check = matches!(at.phase, StepPhase::Checking(_));
                (AttemptLost { step, iteration, attempt, processes_ended }, is_check)
            })
            .collect();
        for (lost, is_check) in lost {
            self.record(if is_check { Observation::CheckLost(lost) } else { Observation::WorkerLost(lost) })?;
        }
        Ok(())
    }
}

impl PendingEvents {
    pub(crate) fn write(&self, log: &RunLog) -> Result<Head, AppendError> {
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
