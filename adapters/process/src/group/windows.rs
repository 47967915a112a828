//! What belongs to a process on Windows: all in its job object. What a process of the job starts is in the job.

use std::time::Duration;

use unstuck_files::platform;

use super::job::{Job, interrupt, resume};
use super::{How, Identity};

/// The job keeps them.
pub(crate) fn adopt_orphans() {}

/// Does nothing: who is started in a group of its own gets no Ctrl-C.
pub(crate) fn leave_terminal() {}

/// A process and its job. Ends all of it when dropped; where the supervisor dies, the system does.
pub(crate) struct Group {
    leader: Option<u32>,
    leader_runs: bool,
    /// None where the system refused one; then there is only the process itself.
    job: Option<Job>,
}

impl Group {
    /// Puts a process that has not taken its first step into a job, and lets it go.
    pub(crate) fn new(leader: Option<u32>, _mark: &str) -> Self {
        let job = leader.and_then(|id| match Job::of(id) {
            Ok(job) => Some(job),
            Err(error) => {
                tracing::warn!("what process {id} leaves behind will not be ended: {error}");
                None
            }
        });
        if let Some(Err(error)) = leader.map(resume) {
            tracing::warn!("a process does not begin: {error}");
        }
        Self { leader, leader_runs: true, job }
    }

    /// The process was waited for: from now on its id may be used again.
    pub(crate) fn leader_is_gone(&mut self) {
        self.leader_runs = false;
    }

    /// Nothing more is to be done about it, but to close the job.
    pub(crate) fn leave(&mut self) {}

    /// Returns whether nothing is left. The process was waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.job.as_ref().and_then(|job| job.usage().ok()).is_none_or(|usage| usage.processes == 0)
    }

    /// Returns all in the job.
    pub(crate) fn members(&self) -> Vec<Identity> {
        let ids = self.job.as_ref().and_then(|job| job.members().ok()).unwrap_or_default();
        let identity = |id| Some((i32::try_from(id).ok()?, platform::process_start(id)?));
        ids.into_iter().filter_map(identity).collect()
    }

    /// Returns how much time all in the job have spent on a processor.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        self.job.as_ref()?.usage().ok().map(|usage| usage.processor)
    }

    /// Asks the group of the process to end, or ends the job; returns what was in it.
    pub(crate) fn signal(&self, how: How) -> Vec<Identity> {
        let members = self.members();
        match (how, self.leader.filter(|_| self.leader_runs), &self.job) {
            // Who has no terminal in common with us does not hear it, and is ended after the grace.
            (How::Ask(_), Some(leader), _) => drop(interrupt(leader)),
            (How::Ask(_), None, _) | (How::Kill, _, None) => {}
            (How::Kill, _, Some(job)) => drop(job.end()),
        }
        members
    }
}

/// Returns 0: nothing outlives the supervisor that holds its job.
pub(crate) fn end_leftovers(_mark_prefix: &str) -> u32 {
    0
}

/// Returns 0, as above.
pub(crate) fn count_leftovers(_mark_prefix: &str) -> usize {
    0
}
