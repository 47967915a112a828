//! When a step worked, checked and waited.

use serde::Serialize;
use unstuck_core::event::{Conclusion, Observation};
use unstuck_core::id::{Iteration, Seq, StepId, Timestamp};
use unstuck_core::{Event, Fact};

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Kind of activity.
    pub activity: Activity,
    /// When it began.
    pub from: Timestamp,
    /// When it ended. If the end is unknown: the time of the last event before it was lost.
    pub to: Timestamp,
    /// The event that it began with.
    pub event: Seq,
    /// Whether its end was recorded. If not, it still runs, or was lost with its supervisor.
    pub ended: bool,
}

/// Kind of activity that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// A worker works.
    Work,
    /// A check runs.
    Check,
    /// Nothing is done before a moment.
    Wait,
}

/// Returns what a step spent its time on, with the iteration that it was for.
pub(super) fn from_events(step: &StepId, events: &[Event]) -> Vec<(Iteration, Span)> {
    let mut spans =
        Spans { step, iteration: Iteration::BASELINE, open: None, last: Timestamp(0), all: vec![] };
    for event in events {
        match &event.fact {
            Fact::Observed(observation) => spans.add_observation(observation, event),
            Fact::Concluded(conclusion) => spans.add_conclusion(conclusion, event),
        }
        spans.last = event.at;
    }
    spans.lose();
    spans.all
}

/// A step does one thing at a time.
struct Spans<'a> {
    step: &'a StepId,
    iteration: Iteration,
    open: Option<Span>,
    /// When the newest event before this one was recorded.
    last: Timestamp,
    all: Vec<(Iteration, Span)>,
}

impl Spans<'_> {
    fn add_observation(&mut self, observation: &Observation, event: &Event) {
        match observation {
            Observation::WorkerStarted(e) if e.step == *self.step => {
                self.begin(e.iteration, Activity::Work, event);
            }
            Observation::CheckStarted(e) if e.step == *self.step => {
                self.begin(e.iteration, Activity::Check, event);
            }
            Observation::WorkerFinished(e) if e.step == *self.step => self.end(event.at),
            Observation::CheckFinished(e) if e.step == *self.step => self.end(event.at),
            // The supervisor that resumes the run does not know when the other one ended.
            Observation::RunResumed(_) => self.lose(),
            _ => {}
        }
    }

    fn add_conclusion(&mut self, conclusion: &Conclusion, event: &Event) {
        match conclusion {
            Conclusion::WaitRequested(e) if e.step == *self.step => {
                self.begin(self.iteration, Activity::Wait, event);
            }
            Conclusion::WorkRequested(e) if e.step == *self.step => self.end(event.at),
            Conclusion::CheckRequested(e) if e.step == *self.step => self.end(event.at),
            Conclusion::StepEnded(e) if e.step == *self.step => self.end(event.at),
            Conclusion::RunEnded(_) => self.end(event.at),
            _ => {}
        }
    }

    fn begin(&mut self, iteration: Iteration, activity: Activity, event: &Event) {
        self.end(event.at);
        self.iteration = iteration;
        let (from, to) = (event.at, event.at);
        self.open = Some(Span { activity, from, to, event: event.seq, ended: false });
    }

    fn end(&mut self, at: Timestamp) {
        if let Some(span) = self.open.take() {
            self.all.push((self.iteration, Span { to: at, ended: true, ..span }));
        }
    }

    fn lose(&mut self) {
        if let Some(span) = self.open.take() {
            self.all.push((self.iteration, Span { to: self.last, ..span }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use unstuck_core::testing::{Behavior, Script, World, step};
    use unstuck_core::workflow::{CheckCommand, CheckMethod, Gate, Workflow};

    use super::*;

    /// Plays a step of one iteration whose workers do this, and returns what it spent its time on.
    fn played(work: &[Behavior]) -> Vec<String> {
        let command = CheckCommand { run: "check".to_owned(), gate: Gate::Pass, reports: Vec::new() };
        let step = step("a").with_check(CheckMethod::Commands(vec![command]), 1);
        let script = |acts: Vec<Behavior>| BTreeMap::from([(StepId::from("a"), acts)]);
        let passes = Behavior::Exits(0, String::new());
        let script = Script { work: script(work.to_vec()), checks: script(vec![passes]) };
        let mut world = World::start(Workflow::of_steps(vec![step]), script);
        world.play();
        let spans = from_events(&StepId::from("a"), &world.history.events);
        for pair in spans.windows(2) {
            assert!(pair[0].1.from <= pair[0].1.to && pair[0].1.to <= pair[1].1.from, "{pair:?}");
        }
        let describe = |(iteration, span): &(Iteration, Span)| {
            let lost = if span.ended { "" } else { ", lost" };
            format!("#{iteration} {:?}{lost}", span.activity)
        };
        spans.iter().map(describe).collect()
    }

    #[test]
    fn a_step_does_one_thing_after_the_other() {
        let done = || Behavior::Exits(0, String::new());
        for (work, want) in [
            (vec![done()], &["#1 Work", "#1 Check"][..]),
            (vec![Behavior::IsLost, done()], &["#1 Work, lost", "#1 Work", "#1 Check"]),
            (
                vec![Behavior::Exits(75, "529 overloaded".to_owned()), done()],
                &["#1 Work", "#1 Wait", "#1 Work", "#1 Check"],
            ),
            (vec![Behavior::IsInterrupted, done()], &["#1 Work", "#1 Work", "#1 Check"]),
        ] {
            assert_eq!(played(&work), want, "{work:?}");
        }
    }
}
