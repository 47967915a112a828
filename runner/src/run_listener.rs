//! Receivers of a run's events, and requests to stop it.

use std::sync::Arc;

use tokio::sync::watch;
use unstuck_core::id::StepId;
use unstuck_core::{Event, RunState};

/// Receives events and output while a run works. It never affects a decision.
pub trait RunListener: Send + Sync {
    /// Events were recorded and led to this state.
    fn on_events(&self, events: &[Event], state: &RunState);
    /// A worker or check printed a line: no secrets, no control characters.
    fn line(&self, step: &StepId, line: &str);
    /// Returns the watcher for the child run of a step. A child has its own step names: they are shown below `prefix`,
    /// or hidden if there is none.
    fn child(self: Arc<Self>, step: &StepId, prefix: Option<&str>) -> Arc<dyn RunListener>;
}

/// A request to stop, from the user or the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// The signal.
    pub signal: i32,
    /// Do not wait for anything to end by itself.
    pub now: bool,
}

/// Waits for the next interrupt; forever if the sender is gone.
pub(crate) async fn interrupted(interrupts: &mut watch::Receiver<Option<Interrupt>>) -> Interrupt {
    loop {
        if interrupts.changed().await.is_err() {
            return std::future::pending().await;
        }
        if let Some(interrupt) = *interrupts.borrow_and_update() {
            return interrupt;
        }
    }
}
