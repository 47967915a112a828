//! Acts: workflow files, workers, processes, decision files, secrets.

pub mod process;
pub mod redact;
pub mod workflow_file;
pub mod artifacts;
pub mod branch;
pub mod decision_file;
pub mod environment;
pub mod workspace;
