//! Data of the report page, in addition to the [`RunSummary`]: times of each step, its failures over time, and the events
//! behind them. The caller renders the data.

mod failure_matrix;
mod spans;

use std::collections::BTreeMap;

use serde::Serialize;
use unstuck_core::event::{Conclusion, Observation, Outcome};
use unstuck_core::evidence::Decision;
use unstuck_core::id::{Blob, Iteration, Seq, Stage, StepId};
use unstuck_core::truncate;
use unstuck_core::{Event, Fact};

use crate::describe::stall;
use crate::step_summary::StepSummary;
use crate::summary::RunSummary;

pub use failure_matrix::{CellState, FailureMatrix, MatrixColumn, MatrixRow};
pub use spans::{Activity, Span};

/// A run with all that its report shows.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// The run as a summary for users.
    pub story: RunSummary,
    /// Additional data of each step, in the same order.
    pub steps: Vec<StepReport>,
}

/// Data of a step in addition to its story.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StepReport {
    /// The event that ended it.
    pub ended: Option<Seq>,
    /// The events that its end rests on.
    pub evidence: Vec<Seq>,
    /// How its strategy changed.
    pub raised: Vec<Escalation>,
    /// Which failures were there when.
    pub history: FailureMatrix,
    /// Its iterations; the baseline is one, too.
    pub iterations: BTreeMap<Iteration, IterationReport>,
}

/// Data of an iteration in addition to its story.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IterationReport {
    /// The stage that it worked in; `None` before its work was requested.
    pub stage: Option<Stage>,
    /// Prompts of its workers, reviewers included.
    pub asked: Vec<PromptSent>,
    /// Answers of its workers, reviewers included.
    pub answered: Vec<AnswerTail>,
    /// The claimed decision, if the evidence changed it.
    pub claimed: Option<Decision>,
    /// The events that its verdict rests on.
    pub evidence: Vec<Seq>,
    /// When it did what.
    pub spans: Vec<Span>,
}

/// A prompt.
#[derive(Clone, Debug, Serialize)]
pub struct PromptSent {
    /// The event that names it.
    pub event: Seq,
    /// Where its text is kept.
    pub prompt: Blob,
}

/// The end of an answer.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerTail {
    /// The event that holds it.
    pub event: Seq,
    /// The text; at most [`ANSWER_MAX`] bytes.
    pub text: String,
    /// How many bytes before that are left out.
    pub left_out: usize,
}

/// A change of strategy.
#[derive(Clone, Debug, Serialize)]
pub struct Escalation {
    /// The event.
    pub event: Seq,
    /// The iteration whose verdict raised it.
    pub iteration: Iteration,
    /// The stage before.
    pub from: Stage,
    /// The stage from then on.
    pub to: Stage,
    /// What repeats.
    pub cause: String,
    /// How many times it was seen.
    pub count: u32,
}

/// Most bytes of an answer that a report holds.
pub const ANSWER_MAX: usize = 8 * 1024;

impl RunReport {
    /// Reads the report from the events of a run.
    pub fn from_events(events: &[Event]) -> Self {
        let story = RunSummary::from_events(events);
        let steps = story.steps.iter().map(|step| StepReport::from_events(&step.id, events)).collect();
        Self { story, steps }
    }

    /// Returns the steps, each with its additional data.
    pub fn steps(&self) -> impl Iterator<Item = (&StepSummary, &StepReport)> {
        self.story.steps.iter().zip(&self.steps)
    }
}

impl StepReport {
    fn from_events(step: &StepId, events: &[Event]) -> Self {
        let mut report = Self { history: FailureMatrix::from_events(step, events), ..Self::default() };
        for event in events {
            match &event.fact {
                Fact::Observed(observation) => report.add_observation(step, observation, event.seq),
                Fact::Concluded(conclusion) => report.add_conclusion(step, conclusion, event.seq),
            }
        }
        for (iteration, span) in spans::from_events(step, events) {
            report.iteration(iteration).spans.push(span);
        }
        report
    }

    fn add_observation(&mut self, step: &StepId, observation: &Observation, event: Seq) {
        match observation {
            Observation::WorkerStarted(e) if e.step == *step => self.add_prompt(e.iteration, event, e.prompt),
            Observation::CheckStarted(e) if e.step == *step => self.add_prompt(e.iteration, event, e.prompt),
            Observation::WorkerFinished(e) if e.step == *step => {
                self.add_answer(e.iteration, event, &e.outcome)
            }
            // The output of commands is reported as failures.
            Observation::CheckFinished(e) if e.step == *step && e.commands.is_empty() => {
                self.add_answer(e.iteration, event, &e.outcome);
            }
            _ => {}
        }
    }

    fn add_conclusion(&mut self, step: &StepId, conclusion: &Conclusion, event: Seq) {
        match conclusion {
            Conclusion::WorkRequested(e) if e.step == *step => {
                self.iteration(e.iteration).stage = Some(e.stage);
                (self.ended, self.evidence) = (None, Vec::new());
            }
            Conclusion::VerdictReached(e) if e.step == *step => {
                let iteration = self.iteration(e.iteration);
                (iteration.claimed, iteration.evidence) = (e.claimed, e.evidence.clone());
            }
            Conclusion::StageRaised(e) if e.step == *step => self.raised.push(Escalation {
                event,
                iteration: e.iteration,
                from: e.from,
                to: e.to,
                cause: stall(e.cause),
                count: e.count,
            }),
            Conclusion::StepEnded(e) if e.step == *step => {
                (self.ended, self.evidence) = (Some(event), e.evidence.clone());
            }
            _ => {}
        }
    }

    fn add_prompt(&mut self, iteration: Iteration, event: Seq, prompt: Blob) {
        if prompt.size > 0 {
            self.iteration(iteration).asked.push(PromptSent { event, prompt });
        }
    }

    fn add_answer(&mut self, iteration: Iteration, event: Seq, outcome: &Outcome) {
        let text = outcome.answer.trim_end();
        if !text.is_empty() {
            let end = truncate::tail(text, ANSWER_MAX);
            let (left_out, text) = (text.len() - end.len(), end.to_owned());
            self.iteration(iteration).answered.push(AnswerTail { event, text, left_out });
        }
    }

    fn iteration(&mut self, iteration: Iteration) -> &mut IterationReport {
        self.iterations.entry(iteration).or_default()
    }
}
