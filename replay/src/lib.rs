//! Looks back: re-decides, explains, asks "what if". Works on events alone and cannot touch the world.
//!
//! [`recheck`] compares what was decided with what would be decided now, [`what_if()`] does so under
//! another policy, [`why`] prints the chain of evidence for a decision, [`Story`] is the run as
//! people read it, [`report`] all that is told of it on a page. [`explore()`] looks ahead instead: at all that a
//! workflow can come to.

mod batches;
mod change;
mod describe;
mod diagnosis;
mod explore;
mod policy;
mod proof;
mod recheck;
pub mod report;
mod seen;
mod story;
mod what_if;
mod why;

pub use batches::{Batch, Batches};
pub use change::{Change, ChangeError};
pub use describe::{describe, kind, left, sentence_of_end};
pub use diagnosis::{attempts, diagnosis, failing, named};
pub use explore::{Contradiction, End, Explored, Letter, Search, Worst, contradictions, explore};
pub use policy::with_changes;
pub use recheck::{Decided, Difference, Recheck, recheck};
pub use seen::{Seen, around, gaps, seen, seen_at};
pub use story::{CommandStory, FailureStory, IterationStory, StepStory, Story};
pub use what_if::{WhatIf, what_if};
pub use why::{Link, Prompt, Why, why, why_at};
