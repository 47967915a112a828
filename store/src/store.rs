//! A store of runs: what the runner and the read models need of it.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use unstuck_core::id::{RunId, Timestamp};

use crate::blobs::{BlobStore, MemoryBlobs};
use crate::event_store::ReadError;
use crate::lease::Holder;
use crate::recovery::{OpenError, RecoveryReport};
use crate::run_log::{ReadLog, RunLog};

/// A run in a list of runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEntry {
    /// The run.
    pub run: RunId,
    /// When it began.
    pub started_at: Timestamp,
    /// The name of its workflow.
    pub workflow: String,
    /// Its workspace.
    pub workspace: String,
    /// The reason why its first event cannot be read; `None` if the entry is from that event or from the index.
    #[serde(skip)]
    pub trouble: Option<String>,
}

/// A place where runs are kept.
pub trait Store: Send + Sync {
    /// Creates the log of a new run, with the right to append to it.
    ///
    /// # Errors
    ///
    /// There is a run of this name, or may be one.
    fn create(&self, run: &RunId) -> Result<RunLog, OpenError>;

    /// Opens the log of a run to read it, also while another process appends to it.
    ///
    /// # Errors
    ///
    /// There is no such run, or it cannot be read.
    fn open(&self, run: &RunId) -> Result<ReadLog, OpenError>;

    /// Takes the right to append to the log of a run, and says what was found and repaired.
    ///
    /// # Errors
    ///
    /// There is no such run, another process holds its lease, or the log is damaged.
    fn claim(&self, run: &RunId) -> Result<(RunLog, RecoveryReport), OpenError>;

    /// Returns the runs, the latest first, also those that cannot be read.
    ///
    /// # Errors
    ///
    /// The list cannot be read.
    fn runs(&self) -> io::Result<Vec<RunEntry>>;

    /// Returns the blobs of a run.
    fn blobs(&self, run: &RunId) -> Arc<dyn BlobStore>;

    /// Says whether there is a run of this name, or may be one.
    fn has(&self, run: &RunId) -> bool;

    /// Returns who has the right to append to a run, or had it last.
    fn holder(&self, run: &RunId) -> Option<Holder>;

    /// Adds a run that has started to the list. A list that is derived from the logs needs no such entry.
    fn note_started(&self, entry: &RunEntry) {
        let _derived_from_the_log = entry;
    }

    /// Returns the error of a run whose log cannot be read to its end.
    fn unreadable(&self, run: &RunId, error: ReadError) -> OpenError;
}

/// Runs in memory. Each log is known only to the code that creates it, and ends with the process.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

impl Store for InMemory {
    fn create(&self, _: &RunId) -> Result<RunLog, OpenError> {
        Ok(RunLog::in_memory())
    }

    fn open(&self, run: &RunId) -> Result<ReadLog, OpenError> {
        Err(not_kept(run))
    }

    fn claim(&self, run: &RunId) -> Result<(RunLog, RecoveryReport), OpenError> {
        Err(not_kept(run))
    }

    fn runs(&self) -> io::Result<Vec<RunEntry>> {
        Ok(Vec::new())
    }

    fn blobs(&self, _: &RunId) -> Arc<dyn BlobStore> {
        Arc::new(MemoryBlobs::default())
    }

    fn has(&self, _: &RunId) -> bool {
        false
    }

    fn holder(&self, _: &RunId) -> Option<Holder> {
        None
    }

    fn unreadable(&self, run: &RunId, error: ReadError) -> OpenError {
        let detail = error.to_string();
        OpenError::Unreadable { run: run.to_string(), detail }
    }
}

fn not_kept(run: &RunId) -> OpenError {
    OpenError::NotKept { run: run.to_string() }
}
