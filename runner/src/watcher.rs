//! Who watches a run, and who wants it to stop.

use std::sync::Arc;

use tokio::sync::watch;
use unstuck_core::id::StepId;
use unstuck_core::{Event, RunState};

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

/// Waits for the next interrupt; for ever if nobody can send one any more.
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
