//! Explains recorded runs. Works on events alone: it cannot start a process or write a file.
//!
//! # Map
//!
//! - [`recheck`]: decides a recorded run again and compares the decisions. [`what_if()`] does so with another policy
//!   (`change`, `policy`), or with outputs that are read again (`read_again`).
//! - [`why`]: the evidence for a decision. `diagnosis`: the evidence for a stall. `describe`: one line for each event.
//! - [`Story`]: the run as people read it. [`report`]: the data of the report page.
//! - [`explore()`]: plays all short histories of a workflow and shows how it can end.
//! - `batches` splits a stream of events into the batches of its appends; `seen` and `proof` follow the workspace through them.
//!
//! Start with `recheck.rs`. Not here: decisions (`unstuck-core`), reading logs (`unstuck-store`), printing (`unstuck`).

mod batches;
mod change;
mod describe;
mod diagnosis;
mod explore;
mod policy;
mod proof;
mod read_again;
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
pub use read_again::ReadAgain;
pub use recheck::{Decided, Difference, Recheck, recheck};
pub use seen::{Seen, around, gaps, seen, seen_at};
pub use story::{CommandStory, FailureStory, IterationStory, StepStory, Story};
pub use what_if::{WhatIf, what_if};
pub use why::{Link, Prompt, Why, why, why_at};
