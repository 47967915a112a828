//! A recorded run, decided again.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use unstuck_core::event::RunOutcome;
use unstuck_core::id::{Blob, Seq};
use unstuck_core::text::shell::quote_word;
use unstuck_core::{Event, Fact, Observation};
use unstuck_files::error::with_causes;
use unstuck_replay::{
    Batches, DeterminismReport, EventBatch, OverrideError, PolicyOverride, ReadAgain, RunComparison, WhatIf,
};
use unstuck_store::blobs::BlobStore;
use unstuck_store::event_store::{Events, ReadError};
use unstuck_store::mirror::{self, Tail};
use unstuck_store::store::Store as _;

use crate::error::{AppError, Result};
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;
use crate::{run_revision, what_if_keys};

/// Where the events of a run are.
pub enum RecordedRun {
    /// In the store of its project.
    Kept(Box<RunHandle>),
    /// In an exported file, which is all that is needed to decide again.
    Exported(PathBuf),
}

impl RecordedRun {
    /// Says whether a run is named by an exported file.
    pub fn is_file(name: &str) -> bool {
        Path::new(name).extension().is_some_and(|extension| extension == "jsonl")
    }

    /// Returns what it is called: the shortest name of the run, or the path.
    pub fn name(&self) -> String {
        match self {
            Self::Kept(found) => found.short().to_owned(),
            Self::Exported(file) => file.display().to_string(),
        }
    }

    /// Returns the command that shows its events from this one on.
    pub fn command_to_show(&self, from: Seq) -> String {
        match self {
            Self::Kept(found) => format!("events {} --from {from}", found.short()),
            Self::Exported(file) => format!("import {}", quote_path(file)),
        }
    }

    /// Returns the error for an event that it does not have.
    pub fn no_event(&self, last: Seq, seq: Seq) -> AppError {
        match self {
            Self::Kept(found) => run_revision::no_event(found.short(), last, seq),
            Self::Exported(file) => {
                AppError::usage(format!("{} has no event {seq}; its last is {last}", file.display()))
            }
        }
    }

    fn events(&self) -> Result<Events<'static>> {
        let events = match self {
            Self::Kept(found) => found.log()?.read(Seq(1)),
            Self::Exported(file) => {
                check_whole(file)?;
                mirror::read(file, Seq(1))
            }
        };
        events.map_err(|error| self.unreadable(&error))
    }

    fn unreadable(&self, error: &ReadError) -> AppError {
        match self {
            Self::Kept(found) => found.unreadable(error),
            Self::Exported(file) => AppError::usage(in_file(file, &with_causes(error))).hint(EXPORT_AGAIN),
        }
    }
}

const EXPORT_AGAIN: &str = "export the run again: unstuck export RUN --output FILE";

fn quote_path(path: &Path) -> String {
    quote_word(&path.display().to_string())
}

/// Refuses a file that was cut. The log of a live run may end within a batch, an export may not.
fn check_whole(file: &Path) -> Result<()> {
    let shown = file.display();
    let tail = Tail::read(file).map_err(|error| AppError::usage(format!("cannot read {shown}: {error}")))?;
    let cut = match &tail.last {
        None if tail.unfinished == 0 && file.exists() => "has no events",
        Some(Ok(header)) if header.more > 0 => "ends within a decision",
        _ if tail.unfinished > 0 => "ends within a line",
        _ => return Ok(()),
    };
    Err(AppError::usage(format!("{shown} {cut}: it is not a complete export")).hint(EXPORT_AGAIN))
}

/// Names the file in a complaint that does not.
fn in_file(file: &Path, complaint: &str) -> String {
    let file = file.display().to_string();
    if complaint.contains(&file) { complaint.to_owned() } else { format!("{file}: {complaint}") }
}

/// Decides a run again, up to an event.
///
/// # Errors
///
/// The log cannot be read, or there is no such event.
pub fn recheck(run: &RecordedRun, to: Option<Seq>) -> Result<DeterminismReport> {
    let recheck = unstuck_replay::recheck(run.events()?, to).map_err(|error| run.unreadable(&error))?;
    match to.filter(|to| Seq(recheck.events) < *to) {
        Some(to) => Err(run.no_event(Seq(recheck.events), to)),
        None => Ok(recheck),
    }
}

/// Compares a run with another one, or with the run that it was forked from.
///
/// # Errors
///
/// There is no other run, or a log cannot be read.
pub fn against(
    project: &ProjectRuns,
    run: &RecordedRun,
    other: Option<&str>,
) -> Result<(String, RunComparison)> {
    let events: Vec<Event> =
        run.events()?.collect::<std::result::Result<_, _>>().map_err(|error| run.unreadable(&error))?;
    let parent = || match events.first().map(|event| &event.fact) {
        Some(Fact::Observed(Observation::RunStarted(started))) => {
            started.forked_from.as_ref().map(|fork| fork.run.to_string())
        }
        _ => None,
    };
    let other = other.map(str::to_owned).or_else(parent).ok_or_else(|| {
        AppError::usage(format!("run {} is no fork, so name the run to compare it with", run.name()))
            .hint("unstuck replay RUN --against OTHER")
    })?;
    let found = project.find(&other)?;
    Ok((found.short().to_owned(), unstuck_replay::compare(&found.events()?, &events)))
}

/// Returns the batches of a run in their order.
///
/// # Errors
///
/// The log cannot be read.
pub fn batches(run: &RecordedRun) -> Result<impl Iterator<Item = Result<EventBatch>>> {
    Ok(Batches::new(run.events()?).map(|batch| batch.map_err(|error| run.unreadable(&error))))
}

/// Decides a run again as if its workflow had been another. With `read_again`, the recorded outputs of check commands are read
/// by this version.
///
/// # Errors
///
/// A workflow file has no such key or value, the log cannot be read, or a file has no outputs to read again.
pub fn what_if(run: &RecordedRun, changes: &[String], read_again: bool) -> Result<WhatIf> {
    let parsed = parse_changes(run, changes)?;
    let events = run.events()?.map(|event| event.map_err(Failed::Read));
    let answer = match run {
        RecordedRun::Kept(found) if read_again => {
            let blobs = found.runs.blobs(&found.entry.run);
            let kept = |blob: &Blob, max| blobs.end(blob, max);
            let outputs = ReadAgain::new(&found.entry.workspace, &kept);
            unstuck_replay::what_if(events, &parsed, Some(outputs))
        }
        RecordedRun::Exported(file) if read_again => {
            let file = file.display();
            return Err(AppError::usage(format!("{file} has no outputs of commands to read again"))
                .hint("name the run: only its store has them"));
        }
        _ => unstuck_replay::what_if(events, &parsed, None),
    };
    answer.map_err(|failed| match failed {
        Failed::Change(error) => AppError::usage(error),
        Failed::Read(error) => run.unreadable(&error),
    })
}

/// Either error of a what-if.
enum Failed {
    Change(OverrideError),
    Read(ReadError),
}

impl From<OverrideError> for Failed {
    fn from(error: OverrideError) -> Self {
        Self::Change(error)
    }
}

/// Reads the changes as a workflow file would have them.
fn parse_changes(run: &RecordedRun, changes: &[String]) -> Result<Vec<PolicyOverride>> {
    let parsed: std::result::Result<Vec<PolicyOverride>, OverrideError> =
        changes.iter().map(|change| change.parse()).collect();
    let parsed = parsed.map_err(AppError::usage)?;
    if parsed.is_empty() {
        return Ok(parsed);
    }
    let first = run.events()?.next().transpose().map_err(|error| run.unreadable(&error))?;
    let Some(Fact::Observed(Observation::RunStarted(started))) = first.map(|event| event.fact) else {
        return Err(AppError::usage(format!("{} does not begin with the start of a run", run.name())));
    };
    let change = |parsed| what_if_keys::in_file(parsed, &started.workflow).map_err(AppError::usage);
    parsed.iter().map(change).collect()
}

/// The end that a replay is expected to have: `stuck`, `stuck@48`, or `48`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedEnd {
    outcome: Option<RunOutcome>,
    /// The last recorded event at the end.
    at: Option<Seq>,
}

/// The outcomes that can be expected. The signal of an interrupt does not matter.
const OUTCOMES: [RunOutcome; 9] = [
    RunOutcome::Complete,
    RunOutcome::NotComplete,
    RunOutcome::Stuck,
    RunOutcome::Blocked,
    RunOutcome::IterationLimit,
    RunOutcome::TimeLimit,
    RunOutcome::SpendLimit,
    RunOutcome::WorkerFailed,
    RunOutcome::Interrupted(0),
];

/// Returns the word for an outcome, such as `out-of-time`.
fn word(outcome: RunOutcome) -> String {
    outcome.as_str().to_lowercase().replace(' ', "-")
}

impl FromStr for ExpectedEnd {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || {
            let words = OUTCOMES.map(word).join(", ");
            format!("an end is one of {words}, the number of an event, or both, such as stuck@48")
        };
        let (outcome, at) = match text.split_once('@') {
            Some((outcome, at)) => (outcome, Some(at)),
            None if text.starts_with(|c: char| c.is_ascii_digit()) => ("", Some(text)),
            None => (text, None),
        };
        let at = at.map(|at| at.parse().map(Seq).map_err(|_| wrong())).transpose()?;
        let named = OUTCOMES.into_iter().find(|known| word(*known) == outcome.to_lowercase());
        if named.is_none() && (!outcome.is_empty() || at.is_none()) {
            return Err(wrong());
        }
        Ok(Self { outcome: named, at })
    }
}

impl ExpectedEnd {
    /// Says whether a replay ends like this.
    pub fn is_met(self, answer: &WhatIf) -> bool {
        let has_outcome = self.outcome.is_none() || self.outcome.map(word) == answer.outcome.map(word);
        has_outcome && (self.at.is_none() || self.at == answer.outcome_at)
    }

    /// Returns the end of a replay; `None` if it is not known.
    pub fn from_answer(answer: &WhatIf) -> Option<Self> {
        answer.outcome.map(|outcome| Self { outcome: Some(outcome), at: answer.outcome_at })
    }
}

impl fmt::Display for ExpectedEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.outcome.map(word), self.at) {
            (Some(outcome), Some(at)) => write!(f, "{outcome}@{at}"),
            (Some(outcome), None) => f.write_str(&outcome),
            (None, at) => write!(f, "event {}", at.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expected_end_is_an_outcome_an_event_or_both() {
        let table = [
            ("stuck@48", Some("stuck@48")),
            ("STUCK", Some("stuck")),
            ("complete", Some("complete")),
            ("48", Some("event 48")),
            ("@48", Some("event 48")),
            ("out-of-time", Some("out-of-time")),
            ("", None),
            ("@", None),
            ("stuck@", None),
            ("stuck@x", None),
            ("done", None),
        ];
        for (text, shown) in table {
            let end = text.parse::<ExpectedEnd>();
            assert_eq!(end.as_ref().ok().map(ToString::to_string).as_deref(), shown, "{text}");
            assert!(
                end.is_ok()
                    || end.is_err_and(|why| why.starts_with("an end is one of complete, not-complete"))
            );
        }
    }
}
