//! Rate limits of the workers of a fallback chain, as their services reported them.

use serde::{Deserialize, Serialize};

use crate::event::{Inquiry, TurnKind};
use crate::id::Timestamp;

/// One worker or checker of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainSlot {
    /// For what.
    pub what: TurnKind,
    /// The kind of check: a check and a closer have separate chains.
    pub inquiry: Inquiry,
    /// Its place in the chain; 0 is the first.
    pub place: u32,
}

/// The newest limit of each; only those whose service named a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoffs(Vec<(ChainSlot, Timestamp)>);

impl Backoffs {
    /// Remembers the moment that one of them has named; `None` forgets an earlier one.
    pub(crate) fn record(&mut self, place: ChainSlot, until: Option<Timestamp>) {
        self.0.retain(|(other, _)| *other != place);
        self.0.extend(until.map(|until| (place, until)));
    }

    /// Returns the moment before which one of them is limited; 0 where it has named none.
    pub(crate) fn until(&self, place: ChainSlot) -> Timestamp {
        self.0.iter().find(|(other, _)| *other == place).map(|(_, until)| *until).unwrap_or_default()
    }

    /// Forgets all of it: a person has them tried.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
