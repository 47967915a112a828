//! How a run stands, in a word.

use serde::{Deserialize, Serialize};
use unstuck_core::event::RunOutcome;
use unstuck_replay::RunSummary;

use crate::text;

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// Its log is of a newer version, or cannot be opened.
    Unreadable,
    /// Its log is damaged.
    Damaged,
    /// It waits for a person.
    Blocked,
    /// It was stopped before its end.
    Interrupted,
    /// It has ended, and is not complete.
    Short,
    /// It waits for a moment.
    Waiting,
    /// It runs.
    Running,
    /// It is complete.
    Complete,
}

impl Status {
    /// Returns the place of a run in a list, where runs of the same rank follow each other from the newest on: runs at work
    /// first, then those that need a person, then all others.
    pub fn rank(self) -> u32 {
        match self {
            Self::Running => 0,
            Self::Waiting => 1,
            Self::Blocked => 2,
            Self::Damaged | Self::Unreadable => 3,
            Self::Interrupted | Self::Short | Self::Complete => 4,
        }
    }

    /// Returns how a run stands of which a whole log tells this, and on which a supervisor works or not.
    pub fn from_story(story: &RunSummary, is_live: bool) -> Self {
        match story.outcome {
            Some(RunOutcome::Complete) => Self::Complete,
            Some(RunOutcome::Blocked) => Self::Blocked,
            Some(RunOutcome::Interrupted(_)) => Self::Interrupted,
            Some(_) => Self::Short,
            None if !is_live => Self::Interrupted,
            None if story.waits().is_some_and(|(until, _)| until > text::now()) => Self::Waiting,
            None => Self::Running,
        }
    }

    /// Returns its word; for a run that has ended, the word of the outcome.
    pub fn label(self, end: Option<RunOutcome>) -> &'static str {
        match (self, end) {
            (Self::Unreadable, _) => "UNREADABLE",
            (Self::Damaged, _) => "DAMAGED",
            (Self::Waiting, _) => "WAITING",
            (Self::Running, _) => "RUNNING",
            (_, Some(outcome)) => outcome.as_str(),
            (_, None) => "INTERRUPTED",
        }
    }
}
