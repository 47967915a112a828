//! Opens a log that may be damaged, and records the repairs.

use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::event::LogRepaired;
use unstuck_core::id::RunId;
use unstuck_store::recovery::{RecoveryReport, Repair};
use unstuck_store::run_log::RunLog;

use super::run_environment::{LifecycleError, RunEnvironment};

impl RunEnvironment {
    /// Opens the log of a run, and synchronizes its store and its mirror. Repairs are recorded.
    ///
    /// # Errors
    ///
    /// If the log cannot be opened, or another process holds it.
    pub fn repair(&self, run: &RunId) -> Result<(Arc<RunLog>, RecoveryReport), LifecycleError> {
        let (log, opening) = self.store.claim(run)?;
        Ok((self.record_repairs(log, &opening)?, opening))
    }

    /// Records the damage that was repaired when a log was opened.
    ///
    /// # Errors
    ///
    /// When the log cannot be read, or does not take the event.
    pub fn record_repairs(
        &self,
        log: RunLog,
        opening: &RecoveryReport,
    ) -> Result<Arc<RunLog>, LifecycleError> {
        let log = Arc::new(log);
        let repaired: Vec<&Repair> =
            opening.repairs.iter().filter(|finding| finding.concerns_events()).collect();
        if repaired.is_empty() {
            return Ok(log);
        }
        let mut runner = self.runner_for(Arc::clone(&log), None)?;
        for finding in &repaired {
            runner.record(Observation::LogRepaired(LogRepaired { what: finding.to_string() }))?;
        }
        // A checkpoint may be the only one that knew of what is lost. That is recorded now, and said once.
        runner.save_checkpoint();
        Ok(log)
    }
}
