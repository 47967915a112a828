//! When a step worked, checked and waited.

use serde::Serialize;
use unstuck_core::event::{Conclusion, Observation};
use unstuck_core::id::{Iteration, Seq, StepId, Timestamp};
use unstuck_core::{Event, Fact};

/// Something that took time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// What was done.
    pub activity: Activity,
    /// When it began.
    pub from: Timestamp,
    /// When it ended; where it is not known, when it was last heard of.
    pub to: Timestamp,
    /// The event that it began with.
    pub event: Seq,
    /// Whether its end was seen: it goes on, or was lost with its supervisor, if not.
    pub ended: bool,
}

/// What takes time.
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
pub(super) fn of(step: &StepId, events: &[Event]) -> Vec<(Iteration, Span)> {
    let mut spans =
        Spans { step, iteration: Iteration::BASELINE, open: None, last: Timestamp(0), all: vec![] };
    for event in events {
        match &event.fact {
            Fact::Observed(observation) => spans.observed(observation, event),
            Fact::Concluded(conclusion) => spans.concluded(conclusion, event),
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
    fn observed(&mut self, observation: &Observation, event: &Event) {
        match observation {
            Observation::WorkerStarted(e) if e.step == *self.step => {
                self.begin(e.iteration, Activity::Work, event);
            }
            Observation::CheckStarted(e) if e.step == *self.step => {
                self.begin(e.iteration, Activity::Check, event);
            }
            Observation::WorkerFinished(e) if e.step == *self.step => self.end(event.at),
            Observation::CheckFinished(e) if e.step == *self.step => self.end(event.at),
            // Whoever takes the run up again knows only that the other supervisor is gone.
            Observation::RunResumed(_) => self.lose(),
            _ => {}
        }
    }

    fn concluded(&mut self, conclusion: &Conclusion, event: &Event) {
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
