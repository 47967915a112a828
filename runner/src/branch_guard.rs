//! Holds a run to the branch that it began on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::id::StepId;
use unstuck_workspace::branch::{self, GitFacts};

/// The repository and branch that work must find and leave. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BranchGuard {
    workspace: PathBuf,
    expected: Arc<Mutex<GitFacts>>,
    /// The step after whose success the branch is the one that it left.
    transition: Option<StepId>,
}

impl BranchGuard {
    /// Locks the branch that the workspace is on.
    pub fn new(workspace: &Path, now: GitFacts, transition: Option<StepId>) -> Self {
        Self { workspace: workspace.to_owned(), expected: Arc::new(Mutex::new(now)), transition }
    }

    /// Returns the branch that is expected.
    pub fn branch(&self) -> Option<String> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).branch.clone()
    }

    /// Compares the workspace with what is expected.
    ///
    /// # Errors
    ///
    /// A sentence that says what is, and what was expected.
    pub fn check(&self) -> Result<(), String> {
        let now = self.now()?;
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        branch::check_expected(&expected, now.as_ref())
    }

    /// The same after the work of a step, which may be the one that moves to the work branch.
    ///
    /// # Errors
    ///
    /// As [`BranchGuard::check`].
    pub fn check_after(&self, step: &StepId, succeeded: bool) -> Result<(), String> {
        if succeeded && self.transition.as_ref() == Some(step) {
            if let Some(now) = self.now()? {
                *self.expected.lock().unwrap_or_else(PoisonError::into_inner) = now;
            }
            return Ok(());
        }
        self.check()
    }

    fn now(&self) -> Result<Option<GitFacts>, String> {
        branch::facts(&self.workspace)
            .map_err(|error| format!("git does not say where the workspace is: {error}"))
    }
}
