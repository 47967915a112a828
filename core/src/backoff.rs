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

/// What those of a chain have said last; only those that have named a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rests(Vec<(Turn, Timestamp)>);

impl Rests {
    /// Remembers the moment that one of them has named; `None` forgets an earlier one.
    pub(crate) fn note(&mut self, turn: Turn, until: Option<Timestamp>) {
        self.0.retain(|(other, _)| *other != turn);
        self.0.extend(until.map(|until| (turn, until)));
    }

    /// Returns the moment before which one of them is limited; 0 where it has named none.
    pub(crate) fn until(&self, turn: Turn) -> Timestamp {
        self.0.iter().find(|(other, _)| *other == turn).map(|(_, until)| *until).unwrap_or_default()
    }

    /// Forgets all of it: a person has them tried.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
