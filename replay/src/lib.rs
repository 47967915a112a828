//! Explains recorded runs. Works on events alone: it cannot start a process or write a file.
//!
//! # Map
//!
//! - [`recheck`]: decides a recorded run again and compares the decisions. [`what_if()`] does so with another policy
//!   (`policy_override`, `policy_compat`), or with outputs that are read again (`read_again`).
//! - [`evidence_chain`]: the evidence for a decision. `diagnosis`: that for a stall. `describe`: one line for each event.
//! - [`RunSummary`]: the run as people read it. [`report`]: the data of the report page.
//! - [`explore()`]: plays all short histories of a workflow and shows how it can end.
//! - `batches` splits the events into the batches of their appends; [`snapshots`] and `stale_checks` follow the workspace.
//!
//! Start with `determinism.rs`. Not here: decisions (`unstuck-core`), reading logs (`unstuck-store`), printing (`unstuck`).

mod batches;
mod compare;
mod describe;
mod determinism;
mod diagnosis;
mod explore;
mod policy_compat;
mod policy_override;
mod read_again;
pub mod report;
pub mod snapshots;
mod stale_checks;
mod step_summary;
mod summary;
mod what_if;
mod why;

pub use batches::{Batches, EventBatch};
pub use compare::{ComparedRun, RunComparison, compare};
pub use describe::{describe, describe_exit, kind, sentence_of_end};
pub use determinism::{DecisionMismatch, DeterminismReport, RecomputedBatch, recheck};
pub use diagnosis::{attempts, current_failures, current_fingerprints, diagnosis};
pub use explore::{
    ConflictingSettings, IterationOutcome, ReachableEnd, SearchStats, StepExploration, StepWorstCase,
    contradictions, explore,
};
pub use policy_compat::with_changes;
pub use policy_override::{OverrideError, PolicyOverride};
pub use read_again::ReadAgain;
pub use step_summary::{CommandSummary, FailureSummary, IterationSummary, StepSummary};
pub use summary::RunSummary;
pub use what_if::{WhatIf, what_if};
pub use why::{
    CompletionArgument, EvidenceChain, EvidenceLink, Prompt, StallRule, evidence_chain, evidence_chain_at,
};
