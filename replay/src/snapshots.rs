//! Snapshots of the workspace that the events of a run name.

use std::ops::RangeInclusive;
use std::sync::Arc;

use unstuck_core::RunState;
use unstuck_core::event::{Event, Fact, Observation, SnapshotMoment, SnapshotTaken};
use unstuck_core::id::{Iteration, Seq, StepId};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::ExternalChange;

/// A snapshot, and the event that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotRef<'a> {
    /// The event.
    pub seq: Seq,
    /// The workspace then.
    pub snapshot: &'a Snapshot,
    /// The work that it was taken before or after, if any.
    pub work: Option<(&'a StepId, Iteration)>,
    /// It was taken before that work.
    pub before: bool,
    /// It was taken before or after an undo, not for work.
    pub of_undo: bool,
}

/// Returns all snapshots of a run, in order.
pub fn list(events: &[Event]) -> impl DoubleEndedIterator<Item = SnapshotRef<'_>> {
    events.iter().filter_map(|event| {
        let seq = event.seq;
        let Fact::Observed(observation) = &event.fact else { return None };
        let (snapshot, work, before) = match observation {
            Observation::WorkerStarted(e) => (e.snapshot.as_deref()?, Some((&e.step, e.iteration)), true),
            Observation::WorkerFinished(e) => (e.snapshot.as_deref()?, Some((&e.step, e.iteration)), false),
            Observation::SnapshotTaken(e) => (&*e.snapshot, None, false),
            _ => return None,
        };
        let of_undo = matches!(
            observation,
            Observation::SnapshotTaken(SnapshotTaken {
                moment: SnapshotMoment::BeforeUndo | SnapshotMoment::Undone(_),
                ..
            })
        );
        Some(SnapshotRef { seq, snapshot, work, before, of_undo })
    })
}

/// Returns what the workspace was at an event: the last snapshot that is not younger.
pub fn at(events: &[Event], seq: Seq) -> Option<SnapshotRef<'_>> {
    list(events).take_while(|snapshot| snapshot.seq <= seq).last()
}

/// Returns the times between two events in which others than the run changed the workspace: a person, while the run was stopped
/// or after it had ended. What an undo did is none of them, and the time since the last snapshot is not one yet.
pub fn gaps(events: &[Event], between: RangeInclusive<Seq>) -> Vec<ExternalChange> {
    let (mut state, mut gaps) = (RunState::default(), Vec::new());
    let mut last: Option<(&Snapshot, bool)> = None;
    for event in events {
        let is_of_others = match &event.fact {
            Fact::Observed(Observation::SnapshotTaken(taken)) => {
                let begins = matches!(taken.moment, SnapshotMoment::Resumed | SnapshotMoment::BeforeUndo);
                begins && !state.may_have_changed_workspace()
            }
            _ => false,
        };
        if let Some(seen) = list(std::slice::from_ref(event)).next() {
            let is_meant = is_of_others && event.seq > *between.start() && event.seq <= *between.end();
            if let Some((left, false)) = last.filter(|_| is_meant) {
                let (left, found) = (Arc::new(left.clone()), Arc::new(seen.snapshot.clone()));
                gaps.extend((left.id != found.id).then_some(ExternalChange { left, found }));
            }
            // Nothing says who did what after an undo that was ended half-way.
            last = Some((seen.snapshot, is_before_undo(event)));
        }
        state = state.evolve(event);
    }
    gaps
}

/// Says whether an event has the workspace as it was before an undo.
fn is_before_undo(event: &Event) -> bool {
    match &event.fact {
        Fact::Observed(Observation::SnapshotTaken(taken)) => taken.moment == SnapshotMoment::BeforeUndo,
        _ => false,
    }
}

/// Returns the snapshots before the first and after the last attempt of an iteration, where there are
/// such; the second is missing while it runs, or when its supervisor died.
pub fn before_and_after<'a>(
    events: &'a [Event],
    step: &StepId,
    iteration: Iteration,
) -> (Option<SnapshotRef<'a>>, Option<SnapshotRef<'a>>) {
    let is_of_iteration = |snapshot: &SnapshotRef<'_>| snapshot.work == Some((step, iteration));
    let before = list(events).find(|snapshot| is_of_iteration(snapshot) && snapshot.before);
    let after = list(events).rfind(|snapshot| is_of_iteration(snapshot) && !snapshot.before);
    (before, after)
}

#[cfg(test)]
mod tests {
    use unstuck_core::id::{Digest, Timestamp};

    use super::*;

    fn snapshot(name: u8) -> Snapshot {
        let digest = Digest([name; 32]);
        Snapshot { id: digest, work: digest, ..Snapshot::default() }
    }

    #[test]
    fn at_an_event_the_workspace_is_what_was_last_seen() {
        let event =
            |seq: u64, fact: Observation| Event { seq: Seq(seq), at: Timestamp(0), fact: fact.into() };
        let taken = |seq: u64| {
            let moment = SnapshotMoment::Ended;
            let snapshot = Box::new(snapshot(u8::try_from(seq).unwrap()));
            event(seq, Observation::SnapshotTaken(SnapshotTaken { snapshot, moment }))
        };
        let events = [
            event(1, Observation::DeadlinePassed),
            taken(2),
            event(3, Observation::DeadlinePassed),
            taken(4),
        ];
        for (at, want) in [(1, None), (2, Some(2)), (3, Some(2)), (4, Some(4)), (9, Some(4))] {
            assert_eq!(super::at(&events, Seq(at)).map(|snapshot| snapshot.seq.0), want, "event {at}");
        }
    }

    #[test]
    fn a_person_has_the_time_before_an_undo_and_before_a_run_is_resumed() {
        let moments = [
            SnapshotMoment::Ended,
            SnapshotMoment::BeforeUndo,
            SnapshotMoment::Undone(Seq(1)),
            SnapshotMoment::Resumed,
            SnapshotMoment::Ended,
            SnapshotMoment::BeforeUndo,
            SnapshotMoment::BeforeUndo,
        ];
        let events: Vec<Event> = (1..)
            .zip(moments)
            .map(|(seq, moment)| {
                let snapshot = Box::new(snapshot(seq));
                let taken = Observation::SnapshotTaken(SnapshotTaken { snapshot, moment });
                Event { seq: Seq(seq.into()), at: Timestamp(0), fact: taken.into() }
            })
            .collect();
        for (from, to, want) in
            [(1, 7, vec![(1, 2), (3, 4), (5, 6)]), (4, 7, vec![(5, 6)]), (1, 5, vec![(1, 2), (3, 4)])]
        {
            let gaps = gaps(&events, Seq(from)..=Seq(to));
            let named: Vec<_> = gaps.iter().map(|gap| (gap.left.id.0[0], gap.found.id.0[0])).collect();
            assert_eq!(named, want, "from {from} to {to}");
        }
    }
}
