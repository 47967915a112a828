//! Calls of workers and checkers: whose turn it is, and what the newest call left.

use serde::{Deserialize, Serialize};

use crate::backoff::Backoffs;
use crate::event::{RunOutcome, TurnKind};
use crate::id::{RunId, Timestamp};

/// The fallback chains of a step, and its newest calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallState {
    /// Workers that were started.
    pub started: u32,
    /// Tokens of the newest worker; 0 if its client tells none.
    pub tokens: u64,
    /// The current place in the chain of the worker; 0 is the first.
    pub worker_at: u32,
    /// The current place in the chain of the checker.
    pub checker_at: u32,
    /// The rate limits of the chains, as their services reported them.
    pub rests: Backoffs,
    /// Why the worker was ended for idleness in this iteration.
    pub stalled: Option<String>,
    /// How the call of the worker failed in the middle of its work in this iteration.
    pub broke_off: Option<String>,
    /// Workers in a row that failed and changed nothing, the newest included.
    pub failed_in_vain: u32,
    /// The newest conversation of the worker.
    pub conversation: Option<ClientSession>,
    /// The newest child run that has ended.
    pub child: Option<ChildRunRecord>,
}

/// A child run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildRunRecord {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub end: RunOutcome,
    /// When it was started or resumed.
    pub begun_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// A conversation with a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSession {
    /// The name of the client.
    pub client: String,
    /// The client's id of the conversation.
    pub id: String,
}

impl CallState {
    /// Switches to a place in the chain; 0 is the first.
    pub fn switch_to(&mut self, what: TurnKind, to: u32) {
        match what {
            TurnKind::Work => self.worker_at = to,
            TurnKind::Check => self.checker_at = to,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::TurnKind;

    #[test]
    fn each_chain_has_its_own_turn() {
        let mut calls = CallState::default();
        calls.switch_to(TurnKind::Work, 1);
        assert_eq!((calls.worker_at, calls.checker_at), (1, 0));
        calls.switch_to(TurnKind::Work, 0);
        assert_eq!(calls.worker_at, 0);
    }
}
