//! Compares two recorded runs: the shared events, and both ends.

use serde::Serialize;
use unstuck_core::event::RunOutcome;
use unstuck_core::id::Seq;
use unstuck_core::{Event, Fact, Observation};

use crate::describe::describe;
use crate::summary::RunSummary;

/// Two runs that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunComparison {
    /// The last event that both have; 0 if they begin differently.
    pub shared: Seq,
    /// The first run.
    pub one: ComparedRun,
    /// The second run.
    pub other: ComparedRun,
}

/// One of two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedRun {
    /// The event after the shared ones; `None` if there is none.
    pub next: Option<String>,
    /// How it ended; `None` if it has not.
    pub outcome: Option<RunOutcome>,
    /// The last event.
    pub last: Seq,
    /// The iterations of all steps.
    pub iterations: usize,
}

/// Compares two runs. The first events of a run and its fork differ in names only, so they count as shared.
pub fn compare(one: &[Event], other: &[Event]) -> RunComparison {
    let is_start = |event: &Event| matches!(event.fact, Fact::Observed(Observation::RunStarted(_)));
    let is_shared = |(one, other): &(&Event, &Event)| one == other || is_start(one) && is_start(other);
    let shared = one.iter().zip(other).take_while(is_shared).count();
    // Every run begins with its start.
    let shared = if shared == 1 { 0 } else { shared };
    let side = |events: &[Event]| {
        let story = RunSummary::from_events(events);
        ComparedRun {
            next: events.get(shared).map(describe),
            outcome: story.outcome,
            last: events.last().map_or(Seq(0), |event| event.seq),
            iterations: story.iterations().count(),
        }
    };
    RunComparison { shared: Seq(shared as u64), one: side(one), other: side(other) }
}
