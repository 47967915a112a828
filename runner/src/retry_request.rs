//! The sign of a person who does not want to wait any longer: a file among the artifacts of a run.
//!
//! It holds the last event that the person has seen. One that was left too late, when what it was meant for was over,
//! is older than the next wait and does not end that.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use unstuck_core::id::Seq;
use unstuck_core::state::StepPhase;
use unstuck_core::{Conclusion, Event, Fact, RunState};
use unstuck_files::durable;
use unstuck_files::safe_open;

/// Name of the file.
const NAME: &str = "kick";
/// How often a run that waits looks for it.
const POLL: Duration = Duration::from_secs(1);

/// Creates the file for the supervisor of a run. `seen` is the last known event.
///
/// # Errors
///
/// The file cannot be written.
pub fn request(artifacts: &Path, seen: Seq) -> io::Result<()> {
    fs::create_dir_all(artifacts)?;
    durable::replace(&artifacts.join(NAME), seen.to_string().as_bytes())
}

/// Removes the file if no supervisor will read it.
pub fn withdraw(artifacts: &Path) {
    let _was_never_left = fs::remove_file(artifacts.join(NAME));
}

/// Looks for the sign, for one run.
#[derive(Debug)]
pub(crate) struct RetryRequests {
    sign: PathBuf,
    /// The event with which the run began to wait; 0 where it waited before it was taken up.
    waits_since: AtomicU64,
}

impl RetryRequests {
    pub(crate) fn new(artifacts: &Path) -> Self {
        Self { sign: artifacts.join(NAME), waits_since: AtomicU64::new(0) }
    }

    /// Hears of events that led to this state.
    pub(crate) fn on_events(&self, batch: &[Event], state: &RunState) {
        let is_wait = |event: &&Event| matches!(event.fact, Fact::Concluded(Conclusion::WaitRequested(_)));
        let mut new = batch.iter().filter(is_wait);
        let Some(first) = new.next() else { return };
        let waiting = state.steps().filter(|(_, at)| matches!(at.phase, StepPhase::Waiting { .. })).count();
        // Where another step waits already, a sign may be meant for that.
        if waiting <= 1 + new.count() {
            self.waits_since.store(first.seq.0, Ordering::Relaxed);
        }
    }

    /// Waits for a sign that is meant for what is waited for now.
    pub(crate) async fn wait(&self) {
        while !self.is_requested() {
            tokio::time::sleep(POLL).await;
        }
    }

    /// Takes the sign, and says whether it is meant for what is waited for now.
    fn is_requested(&self) -> bool {
        let Ok(seen) = safe_open::read(&self.sign) else { return false };
        let is_taken = fs::remove_file(&self.sign).is_ok();
        let is_for_this = |seen: u64| seen >= self.waits_since.load(Ordering::Relaxed);
        let seen = String::from_utf8_lossy(&seen);
        is_taken && seen.trim().parse().is_ok_and(is_for_this)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_that_is_older_than_the_wait_is_taken_and_ends_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let artifacts = folder.path().join("artifacts");
        let retry_requests = RetryRequests::new(&artifacts);
        for (waits_since, seen, ends_it) in
            [(0, 7, true), (7, 7, true), (7, 12, true), (8, 7, false), (100, 20, false)]
        {
            retry_requests.waits_since.store(waits_since, Ordering::Relaxed);
            request(&artifacts, Seq(seen)).unwrap();
            assert_eq!(retry_requests.is_requested(), ends_it, "{seen} and a wait since {waits_since}");
            assert!(!retry_requests.is_requested(), "it counts once");
        }
        request(&artifacts, Seq(200)).unwrap();
        withdraw(&artifacts);
        assert!(!retry_requests.is_requested());
    }
}
