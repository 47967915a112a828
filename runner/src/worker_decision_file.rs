//! The decision file of a worker whose work a script checks.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use unstuck_core::event::{Bytes, DecisionFile};
use unstuck_core::evidence::Refusal;
use unstuck_core::workflow::Step;
use unstuck_evidence::decision_file;
use unstuck_files::safe_open;

use crate::host::Host;

/// The decision file as the worker of a step left it. A script that checks may read it, and may overwrite it. Every
/// attempt of the check finds the same file as the first one, even if an attempt or its supervisor crashed in between.
pub(crate) struct SavedDecisionFile<'a> {
    workspace: &'a Path,
    /// Its bytes, from the first try of the check on; empty where there was none to read.
    kept: PathBuf,
}

impl<'a> SavedDecisionFile<'a> {
    pub(crate) fn for_step(host: &'a Host, step: &Step) -> Self {
        let kept = host.artifacts.join(step.id.as_str()).join("decision-left-by-worker");
        Self { workspace: &host.workspace, kept }
    }

    /// Takes away what an earlier try has made of it, and returns that.
    pub(crate) fn restore(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let now = match decision_file::read(self.workspace, path) {
            DecisionFile::Read(Bytes(bytes)) => bytes,
            DecisionFile::Refused(Refusal::Missing | Refusal::Empty) => Vec::new(),
            // An unreadable file cannot hold a verdict.
            _ => return Ok(None),
        };
        let left = match safe_open::read(&self.kept) {
            Ok(left) => left,
            Err(_) => return self.save(&now).map(|()| None),
        };
        if left == now {
            return Ok(None);
        }
        let moved = decision_file::move_aside(self.workspace, path)?;
        if !left.is_empty() {
            decision_file::put_back(self.workspace, path, &left)?;
        }
        Ok(moved.map(|_| now))
    }

    fn save(&self, bytes: &[u8]) -> io::Result<()> {
        self.kept.parent().map_or(Ok(()), fs::create_dir_all)?;
        safe_open::create(&self.kept)?.write_all(bytes)
    }

    /// The worker begins again.
    pub(crate) fn forget(&self) {
        let _was_never_kept = fs::remove_file(&self.kept);
    }
}
