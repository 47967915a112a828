//! Interface between a run and its environment: a real machine, or one simulated by a test.

use std::io;
use std::sync::Arc;

use unstuck_core::effect::Turn;
use unstuck_core::id::Blob;
use unstuck_core::{Event, Observation, RunState, TurnId};
use unstuck_process::StopReceiver;

pub use crate::client_call::EventSink;

/// Performs effects. It makes no decisions: it observes, acts and reports.
pub trait EffectHandler: Send + Sync + 'static {
    /// Prompt of a worker or a check.
    type Prompt;

    /// An effect that is about to be performed.
    type PreparedEffect: Send + 'static;

    /// Says what is to be asked, by the state, which the log may not have yet, and by what it names.
    fn build_prompt(&self, state: &RunState, turn: Turn, due: &TurnId) -> Self::Prompt;

    /// Keeps what is asked, which an event is going to name, while something else is done, if there is anything to do.
    fn store_while<T>(
        &self,
        prompt: &Self::Prompt,
        meanwhile: Option<impl FnOnce() -> T>,
    ) -> (io::Result<Blob>, Option<T>);

    /// Looks at the world once, and says what is to be recorded before anything runs and what runs then.
    ///
    /// # Errors
    ///
    /// When something cannot be kept that an event is going to name.
    fn prepare(
        &self,
        state: &RunState,
        what: (Turn, &TurnId),
        prompt: Self::Prompt,
        kept: Blob,
    ) -> io::Result<(Observation, Self::PreparedEffect)>;

    /// Performs what was prepared, until it has ended or is to be stopped, and says what is to be recorded; in the
    /// meantime it reports its progress to `sink`.
    fn perform(
        self: Arc<Self>,
        prepared: Self::PreparedEffect,
        stop: StopReceiver,
        sink: EventSink,
    ) -> impl Future<Output = Observation> + Send;

    /// Returns what the machine lacked when an effect failed, if that is why.
    fn exhausted(&self) -> Option<String> {
        None
    }

    /// Waits until the user requests to stop waiting; forever if that is not possible.
    fn retry_requested(&self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }

    /// Takes out of an observation what must not be recorded.
    fn redact(&self, observation: Observation) -> Observation {
        observation
    }

    /// Hears of events that were recorded and led to this state. Display never touches a decision.
    fn on_events(&self, batch: &[Event], state: &RunState);
}
