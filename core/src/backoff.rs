//! Until when those of a chain are not to be asked, by what they said themselves.

use serde::{Deserialize, Serialize};

use crate::event::{Inquiry, Next};
use crate::id::Timestamp;

/// One of those who may be asked in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// For what.
    pub what: Next,
    /// About what: a check and a closer have chains of their own.
    pub inquiry: Inquiry,
    /// Its place in the chain; 0 is the first.
    pub place: u32,
}

/// What one of a chain has said of its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rest {
    /// Who.
    pub turn: Turn,
    /// The moment before which it is limited, if it named one.
    pub until: Option<Timestamp>,
}

/// What those of a chain have said last; only those that have named a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rests(Vec<Rest>);

impl Rests {
    /// Takes note of what one of them has said.
    pub(crate) fn note(&mut self, rest: Option<Rest>) {
        let Some(rest) = rest else { return };
        self.0.retain(|it| it.turn != rest.turn);
        self.0.extend(rest.until.is_some().then_some(rest));
    }

    /// Returns the moment before which one of them is limited; 0 where it has named none.
    pub(crate) fn until(&self, turn: Turn) -> Timestamp {
        let rest = self.0.iter().find(|it| it.turn == turn);
        rest.and_then(|it| it.until).unwrap_or_default()
    }

    /// Forgets all of it: a person has them tried.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
