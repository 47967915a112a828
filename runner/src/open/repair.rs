//! Opens a log that may be damaged, and records what was mended.

use std::sync::Arc;

use unstuck_core::Observation;
use unstuck_core::event::LogRepaired;
use unstuck_store::opening::{Finding, Opening};
use unstuck_store::run_folder::RunFolder;
use unstuck_store::run_log::RunLog;

use super::site::{Error, Site};

impl Site {
    /// Opens the log of a run, and brings its store and its mirror together. Damage that was mended is recorded.
    ///
    /// # Errors
    ///
    /// When the log cannot be opened, or somebody works on it.
    pub fn mend(&self, folder: &RunFolder) -> Result<(Arc<RunLog>, Opening), Error> {
        let (log, opening) = RunLog::open_for_writing(folder)?;
        Ok((self.record_repairs(log, &opening)?, opening))
    }

    /// Writes the store of a run anew from its mirror, and records that. The old store is kept aside.
    ///
    /// # Errors
    ///
    /// When the mirror is not whole, or somebody works on the run; nothing is changed then.
    pub fn rebuild_store(&self, folder: &RunFolder) -> Result<Opening, Error> {
        let (log, opening) = RunLog::rebuild_store(folder)?;
        self.record_repairs(log, &opening)?;
        Ok(opening)
    }

    /// Records the damage that was mended when a log was opened.
    fn record_repairs(&self, log: RunLog, opening: &Opening) -> Result<Arc<RunLog>, Error> {
        let log = Arc::new(log);
        let repaired: Vec<&Finding> = opening.findings.iter().filter(|it| it.concerns_events()).collect();
        if repaired.is_empty() {
            return Ok(log);
        }
        let mut runner = self.runner_of(Arc::clone(&log))?;
        for finding in &repaired {
            runner.record(Observation::LogRepaired(LogRepaired { what: finding.to_string() }))?;
        }
        // A checkpoint may be the only one that knew of what is lost. That is recorded now, and said once.
        runner.save_checkpoint();
        Ok(log)
    }
}
