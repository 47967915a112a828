//! Takes a stream of events apart into the batches that it was appended in.

use unstuck_core::id::Timestamp;
use unstuck_core::{Event, Fact, Observation};

/// An observation and what was concluded from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventBatch {
    /// At least one; the first is the observation, unless the log is odd.
    pub events: Vec<Event>,
}

impl EventBatch {
    /// Returns the command that the batch answers; `None` for a batch that begins with a conclusion.
    pub fn command(&self) -> Option<(&Observation, Timestamp)> {
        let first = self.events.first()?;
        match &first.fact {
            Fact::Observed(observation) => Some((observation, first.at)),
            Fact::Concluded(_) => None,
        }
    }
}

/// Iterates over batches; an error of the stream is passed on and ends it.
pub struct Batches<I: Iterator> {
    events: std::iter::Peekable<I>,
}

impl<E, I: Iterator<Item = Result<Event, E>>> Batches<I> {
    /// Takes the stream from its beginning.
    pub fn new(events: I) -> Self {
        Self { events: events.peekable() }
    }
}

impl<E, I: Iterator<Item = Result<Event, E>>> Iterator for Batches<I> {
    type Item = Result<EventBatch, E>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = match self.events.next()? {
            Ok(event) => event,
            Err(error) => return Some(Err(error)),
        };
        let mut events = vec![first];
        let is_conclusion =
            |next: &Result<Event, E>| matches!(next, Ok(event) if matches!(event.fact, Fact::Concluded(_)));
        while let Some(Ok(event)) = self.events.next_if(is_conclusion) {
            events.push(event);
        }
        Some(Ok(EventBatch { events }))
    }
}
