//! The decision file of a check, written for a worker or a checker.

use std::path::Path;

use serde_json::json;
use unstuck_evidence::decision_file;

use crate::env_vars;
use crate::error::{AppError, Result};

/// Seconds until a waiting check is asked again, unless it names them.
const RETRY_AFTER: u64 = 60;

/// A verdict on the work.
#[derive(Clone, Debug, Default)]
pub struct VerdictFile {
    /// `complete`, `incomplete`, `blocked` or `waiting`.
    pub decision: String,
    /// Its reasons.
    pub reasons: Vec<String>,
    /// Names of open problems.
    pub fingerprints: Vec<String>,
    /// The action that a person must take, for `blocked`; `None` for the reasons.
    pub needs: Option<String>,
    /// Seconds until it is asked again, for `waiting`.
    pub retry_after: Option<u64>,
    /// The id of the check; `None` for the id in the environment.
    pub check_id: Option<String>,
}

impl VerdictFile {
    /// Writes the decision file.
    ///
    /// # Errors
    ///
    /// A blocked verdict does not say what a person must do, or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let is_blocked = self.decision == "blocked";
        let needs = self.needs.iter().chain(&self.reasons).find(|text| !text.trim().is_empty());
        if is_blocked && needs.is_none() {
            return Err(AppError::usage("a blocked verdict must say what a person must do")
                .hint("unstuck verdict blocked --needs \"log in to the registry\""));
        }
        let mut verdict = json!({
            "decision": self.decision, "reasons": self.reasons, "fingerprints": self.fingerprints,
        });
        let of_check = || env_vars::text("COMPLETION_CHECK_ID");
        if let Some(id) = self.check_id.clone().map_or_else(of_check, |id| Ok(Some(id)))? {
            verdict["check_id"] = json!(id);
        }
        if is_blocked {
            let said = self.needs.clone().filter(|needs| !needs.trim().is_empty());
            verdict["needs"] = json!(said.unwrap_or_else(|| self.reasons.join("; ")));
        }
        // A waiting verdict must name a time.
        if let Some(seconds) = self.retry_after.or((self.decision == "waiting").then_some(RETRY_AFTER)) {
            verdict["retry_after"] = json!(seconds);
        }
        decision_file::write(path, &verdict).map_err(|error| {
            AppError::usage(format!("cannot write the verdict to {}: {error}", path.display()))
        })
    }
}
