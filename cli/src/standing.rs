//! How a run stands, in a word.

use serde::{Deserialize, Serialize};
use unstuck_core::event::RunOutcome;
use unstuck_replay::Story;

use crate::text;

/// What a run is doing, those that need a person first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Standing {
    /// Its log is of a newer version, or cannot be opened.
    Unreadable,
    Damaged,
    Blocked,
    Interrupted,
    /// It has ended, and is not complete.
    Short,
    Waiting,
    Running,
    Complete,
}

impl Standing {
    /// Returns how a run stands of which a whole log tells this, and on which a supervisor works or not.
    pub fn of(story: &Story, is_live: bool) -> Self {
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

    /// Returns the word for it, which is that of the end where there is one.
    pub fn word(self, end: Option<RunOutcome>) -> &'static str {
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
