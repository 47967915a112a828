//! Which moment of a run is meant: `RUN@27`, an iteration, `@last`, `@now`.

use unstuck_core::id::{Iteration, Seq, StepId};
use unstuck_core::{Event, RunState};
use unstuck_replay::snapshots::{self, SnapshotRef};

use crate::error::{AppError, Result};

/// Splits `RUN@SEQ` into the run and the event; `@last` and `@last@27` are runs, too.
pub fn split(text: &str) -> (&str, Option<&str>) {
    match text.rfind('@') {
        Some(at) if at > 0 => (&text[..at], Some(&text[at + 1..])),
        _ => (text, None),
    }
}

/// Returns the run that is meant, and its iteration: a number of at most three digits is an iteration of the last run.
///
/// # Errors
///
/// A run is named by fewer than four characters: a slip of a finger would mean another run.
pub fn run_and_iteration<'t>(run: &'t str, iteration: Option<&'t str>) -> Result<(&'t str, Option<&'t str>)> {
    const RUN_MIN: usize = 4;
    let is_number = is_iteration(run);
    let id = split(run).0;
    match iteration {
        None if is_number => Ok(("@last", Some(run))),
        _ if id.starts_with('@') || id.len() >= RUN_MIN => Ok((run, iteration)),
        _ => Err(AppError::usage(format!(
            "{run} is too short for a run: at least {RUN_MIN} characters of its id"
        ))
        .hint("unstuck runs")),
    }
}

/// Says whether a text is the number of an iteration, and not a run.
fn is_iteration(text: &str) -> bool {
    let number = text.trim_start_matches('#');
    (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// Before, or after, an iteration.
    Iteration(Iteration),
    /// At an event.
    Event(Seq),
    /// At the first snapshot.
    First,
    /// At the last snapshot.
    Last,
    /// At the last snapshot that no undo has taken.
    LastWork,
    /// The workspace as it is now.
    Now,
}

impl Revision {
    /// Parses the part after the `@` of `RUN@SEQ`.
    pub fn of_event(text: &str) -> Result<Self> {
        match text {
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            "now" => Ok(Self::Now),
            _ => text.parse().map(|seq| Self::Event(Seq(seq))).map_err(|_| {
                AppError::usage(format!("@{text} is no event: use its number, @first, @last or @now"))
                    .hint("unstuck events @last")
            }),
        }
    }

    /// Reads the number of an iteration: `3` or `#3`.
    pub fn iteration(text: &str) -> Result<Iteration> {
        match Self::parse(text)? {
            Self::Iteration(iteration) => Ok(iteration),
            _ => Err(AppError::usage(format!("{text} is no iteration: use its number")).hint("unstuck show")),
        }
    }

    /// Reads an iteration, or `@` and an event.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(event) = text.strip_prefix('@') {
            return Self::of_event(event);
        }
        text.trim_start_matches('#').parse().map(|number| Self::Iteration(Iteration(number))).map_err(|_| {
            AppError::usage(format!(
                "{text} is no iteration: use its number, or @ and the number of an event"
            ))
            .hint("unstuck show @last")
        })
    }
}

/// The side of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationSide {
    /// Before it.
    Before,
    /// After it.
    After,
}

/// The recorded past of a run's workspace.
pub struct RecordedSnapshots<'a> {
    /// Its short name, for messages.
    short: &'a str,
    /// All of its events.
    events: &'a [Event],
    /// The step whose iterations are meant; it is one of the run.
    step: Option<StepId>,
}

/// Finds a step of a run by its name.
///
/// # Errors
///
/// When the run has no such step; the error names those that it has.
pub fn known_step(events: &[Event], name: &str) -> Result<StepId> {
    let state = RunState::of(events);
    let step = StepId::from(name);
    if state.step(&step).is_some() {
        return Ok(step);
    }
    let names: Vec<&str> = state.steps().map(|(step, _)| step.id.as_str()).collect();
    Err(AppError::usage(format!("the run has no step {step}; its steps are: {}", names.join(", "))))
}

/// Returns the error for an event that a run does not have.
pub fn no_event(short: &str, last: Seq, seq: Seq) -> AppError {
    AppError::usage(format!("run {short} has no event {seq}; its last is {last}"))
        .hint(format!("unstuck events {short}"))
}

/// Returns the number of the last event; 0 where there is none.
pub fn last_of(events: &[Event]) -> Seq {
    events.last().map_or(Seq(0), |event| event.seq)
}

impl<'a> RecordedSnapshots<'a> {
    /// Looks at the events of a run, and at one of its steps if `step` names one.
    ///
    /// # Errors
    ///
    /// When the run has no such step.
    pub fn new(short: &'a str, events: &'a [Event], step: Option<&str>) -> Result<Self> {
        let step = step.map(|name| known_step(events, name)).transpose()?;
        Ok(Self { short, events, step })
    }

    /// Finds the snapshot of a moment; `None` for now.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn find(&self, moment: Revision, side: IterationSide) -> Result<Option<SnapshotRef<'a>>> {
        let found = match moment {
            Revision::Now => return Ok(None),
            Revision::First => snapshots::list(self.events).next(),
            Revision::Last => snapshots::list(self.events).next_back(),
            Revision::LastWork => snapshots::list(self.events).rfind(|seen| !seen.of_undo),
            Revision::Event(seq) if self.events.last().is_none_or(|last| last.seq < seq) => {
                return Err(no_event(self.short, last_of(self.events), seq));
            }
            Revision::Event(seq) => snapshots::at(self.events, seq),
            Revision::Iteration(iteration) => {
                let (before, after) =
                    snapshots::before_and_after(self.events, &self.step_with(iteration)?, iteration);
                if side == IterationSide::Before { before } else { after }
            }
        };
        let nothing = || {
            AppError::usage(format!("run {} has no snapshot {}", self.short, describe(moment, side)))
                .hint(format!("unstuck show {}    unstuck events {}", self.short, self.short))
        };
        found.map(Some).ok_or_else(nothing)
    }

    /// Returns the newest iteration that was begun; where no step is named and none was begun, the first snapshot.
    ///
    /// # Errors
    ///
    /// When the step that is named was not begun.
    pub fn newest(&self) -> Result<Revision> {
        let of_step = |step: &StepId| self.step.as_ref().is_none_or(|wanted| wanted == step);
        let newest =
            snapshots::list(self.events).rev().filter_map(|seen| seen.work).find(|(step, _)| of_step(step));
        match (newest, &self.step) {
            (Some((_, iteration)), _) => Ok(Revision::Iteration(iteration)),
            (None, None) => Ok(Revision::First),
            (None, Some(step)) => {
                Err(AppError::usage(format!("run {} has no snapshot of step {step}", self.short))
                    .hint(format!("unstuck show {}", self.short)))
            }
        }
    }

    fn step_with(&self, iteration: Iteration) -> Result<StepId> {
        if let Some(step) = &self.step {
            return Ok(step.clone());
        }
        let mut steps: Vec<&StepId> = snapshots::list(self.events)
            .filter_map(|seen| seen.work)
            .filter(|work| work.1 == iteration)
            .map(|work| work.0)
            .collect();
        steps.sort();
        steps.dedup();
        match steps.as_slice() {
            [step] => Ok((*step).clone()),
            [] => Err(AppError::usage(format!(
                "run {} has no snapshot of an iteration {iteration}",
                self.short
            ))
            .hint(format!("unstuck show {}", self.short))),
            several => {
                let names: Vec<&str> = several.iter().map(|step| step.as_str()).collect();
                Err(AppError::usage(format!(
                    "several steps have an iteration {iteration}: {}",
                    names.join(", ")
                ))
                .hint(format!("name one: --step {}", names[0])))
            }
        }
    }
}

fn describe(moment: Revision, side: IterationSide) -> String {
    match (moment, side) {
        (Revision::Iteration(iteration), IterationSide::Before) => format!("before iteration {iteration}"),
        (Revision::Iteration(iteration), IterationSide::After) => format!("after iteration {iteration}"),
        (Revision::Event(seq), _) => format!("at or before event {seq}"),
        _ => "at all".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_after_the_at_sign_is_an_event() {
        for (text, want) in [
            ("f13a", ("f13a", None)),
            ("f13a@27", ("f13a", Some("27"))),
            ("@last", ("@last", None)),
            ("@last@27", ("@last", Some("27"))),
            ("f13a@last", ("f13a", Some("last"))),
        ] {
            assert_eq!(split(text), want);
        }
    }

    #[test]
    fn a_moment_is_an_iteration_or_an_event() {
        for (text, want) in [
            ("3", Some(Revision::Iteration(Iteration(3)))),
            ("#3", Some(Revision::Iteration(Iteration(3)))),
            ("@27", Some(Revision::Event(Seq(27)))),
            ("@now", Some(Revision::Now)),
            ("@first", Some(Revision::First)),
            ("three", None),
            ("@three", None),
        ] {
            assert_eq!(Revision::parse(text).ok(), want, "{text}");
        }
    }
}
