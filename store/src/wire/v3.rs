//! The stored shapes, version 3: what a registry put into a prompt, and what the answer of a worker asks for next. Frozen as [`v1`](super::v1) is.

#![expect(missing_docs, reason = "documented where the domain types are, in unstuck_core::event")]

use serde::{Deserialize, Serialize};

use super::v1::{AnswerSeen, Blob, Call, DecisionFile, Diffstat, Drift, Outcome};
use super::v2::Snapshot;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStarted {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub prompt: Blob,
    pub limit: u64,
    pub check_id: Option<String>,
    pub moved_aside: Option<Blob>,
    pub templates: Vec<String>,
    pub snapshot: Option<Snapshot>,
    pub call: Option<Call>,
    pub registry: Option<RegistryText>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryText {
    pub task: String,
    pub findings: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFinished {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub outcome: Outcome,
    pub decision_file: DecisionFile,
    pub changed: Option<bool>,
    pub snapshot: Option<Snapshot>,
    pub drift: Option<Drift>,
    pub diffstat: Option<Diffstat>,
    pub answer: Option<AnswerSeen>,
    pub wants_repeat: bool,
}
