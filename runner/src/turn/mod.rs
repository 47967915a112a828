//! The turns of a step: how each begins, and how it is carried out.
//!
//! | [`Turn`] | file |
//! |---|---|
//! | `Work`, `Claim` | [`work`], with [`subworkflow`] |
//! | `Diagnosis` | [`diagnosis`] |
//! | `Script`, `Agent` | [`checker`] |
//! | `Commands` | [`commands`] |
//! | `Preflight`, `Conditions` | [`conditions`] |
//! | `Closer` | [`reviewer`] |
//!
//! To begin is to look at the workspace, plan the process and record the beginning. To carry out is to run it, look again
//! and record its end. Nothing here decides anything.

mod checker;
mod commands;
mod conditions;
mod diagnosis;
mod reviewer;
mod subworkflow;
mod work;

use std::io;
use std::sync::Arc;

use unstuck_core::effect::Turn;
use unstuck_core::id::Blob;
use unstuck_core::{Event, Observation, RunState, TurnId};
use unstuck_process::{StopReceiver, exhausted};

use self::checker::AgentCheckTurn;
use self::commands::CommandsTurn;
use self::conditions::ConditionsTurn;
use self::diagnosis::DiagnosisTurn;
use self::reviewer::ReviewerTurn;
use self::work::WorkTurn;
use crate::effects::{EffectHandler, EventSink};
use crate::host::Host;
use crate::turn_start::{TurnPrompt, TurnStart};

/// A turn that was begun.
pub struct PreparedTurn(TurnKind);

enum TurnKind {
    Work(Box<WorkTurn>),
    Diagnosis(Box<DiagnosisTurn>),
    Checker(Box<AgentCheckTurn>),
    Commands(Box<CommandsTurn>),
    Conditions(Box<ConditionsTurn>),
    Closer(Box<ReviewerTurn>),
}

fn begin(start: &TurnStart<'_>) -> io::Result<(Observation, PreparedTurn)> {
    /// Begins a turn, and puts it among the others.
    fn boxed<T>(turn: (Observation, T), kind: fn(Box<T>) -> TurnKind) -> (Observation, PreparedTurn) {
        (turn.0, PreparedTurn(kind(Box::new(turn.1))))
    }
    Ok(match start.turn {
        Turn::Work | Turn::Claim => boxed(WorkTurn::begin(start)?, TurnKind::Work),
        Turn::Diagnosis => boxed(DiagnosisTurn::begin(start)?, TurnKind::Diagnosis),
        Turn::Script | Turn::Agent => boxed(AgentCheckTurn::begin(start)?, TurnKind::Checker),
        Turn::Commands => boxed(CommandsTurn::begin(start)?, TurnKind::Commands),
        Turn::Preflight | Turn::Conditions => boxed(ConditionsTurn::begin(start)?, TurnKind::Conditions),
        Turn::Closer => boxed(ReviewerTurn::begin(start)?, TurnKind::Closer),
    })
}

impl EffectHandler for Host {
    type Prompt = TurnPrompt;
    type PreparedEffect = PreparedTurn;

    fn exhausted(&self) -> Option<String> {
        exhausted::take()
    }

    fn build_prompt(&self, state: &RunState, turn: Turn, due: &TurnId) -> TurnPrompt {
        TurnPrompt::new(self, state, turn, due)
    }

    fn store_while<T>(
        &self,
        prompt: &TurnPrompt,
        meanwhile: Option<impl FnOnce() -> T>,
    ) -> (io::Result<Blob>, Option<T>) {
        self.store_while(&prompt.kept, meanwhile)
    }

    fn prepare(
        &self,
        state: &RunState,
        (turn, due): (Turn, &TurnId),
        prompt: TurnPrompt,
        kept: Blob,
    ) -> io::Result<(Observation, PreparedTurn)> {
        let (step, at) = state.step(&due.step).expect("effects name steps of the workflow");
        begin(&TurnStart { host: self, state, step, at, turn, due, question: &prompt, kept })
    }

    async fn perform(
        self: Arc<Self>,
        turn: PreparedTurn,
        stop: StopReceiver,
        sink: EventSink,
    ) -> Observation {
        match turn.0 {
            TurnKind::Work(work) => work.execute(&self, stop, sink).await,
            TurnKind::Diagnosis(diagnosis) => diagnosis.execute(&self, stop, sink).await,
            TurnKind::Checker(checker) => checker.execute(&self, stop, sink).await,
            TurnKind::Commands(commands) => commands.execute(&self, stop).await,
            TurnKind::Conditions(conditions) => conditions.execute(&self, stop).await,
            TurnKind::Closer(closer) => closer.execute(&self, stop, sink).await,
        }
    }

    async fn retry_requested(&self) {
        self.retry_requests.wait().await;
    }

    fn redact(&self, observation: Observation) -> Observation {
        self.without_secrets(observation)
    }

    fn on_events(&self, batch: &[Event], state: &RunState) {
        self.retry_requests.on_events(batch, state);
        self.baselines.iter().for_each(|baselines| baselines.on_events(batch));
        self.listener.on_events(batch, state);
        self.write_views(state, batch);
    }
}
