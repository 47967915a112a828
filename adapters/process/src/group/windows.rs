//! Finds the processes of a group on Windows: the members of a job object, which children of members join.

use std::time::Duration;

use unstuck_files::platform;

use super::end_method::{EndMethod, ProcessIdentity};
use super::job::{Job, interrupt, resume};

/// Does nothing: the job holds orphans.
pub(crate) fn adopt_orphans() {}

/// Does nothing: a process in a new group gets no Ctrl-C.
pub(crate) fn leave_terminal() {}

/// A process and its job. Ends all of it when dropped; if the supervisor dies, the system does.
pub(crate) struct JobGroup {
    leader: Option<u32>,
    leader_runs: bool,
    /// `None` if the system refused a job; then only the process itself is known.
    job: Option<Job>,
}

impl JobGroup {
    /// Puts a suspended process into a job and resumes it.
    pub(crate) fn new(leader: Option<u32>, _mark: &str) -> Self {
        let job = leader.and_then(|id| match Job::with_process(id) {
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

    /// Records that the process was waited for, so that its id may be reused.
    pub(crate) fn mark_leader_ended(&mut self) {
        self.leader_runs = false;
    }

    /// Does nothing: dropping the group closes the job.
    pub(crate) fn release(&mut self) {}

    /// Returns whether no process is left. The leader was waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.job.as_ref().and_then(|job| job.usage().ok()).is_none_or(|usage| usage.processes == 0)
    }

    /// Returns all processes of the job.
    pub(crate) fn members(&self) -> Vec<ProcessIdentity> {
        let ids = self.job.as_ref().and_then(|job| job.members().ok()).unwrap_or_default();
        let identity = |id| Some((i32::try_from(id).ok()?, platform::process_start(id)?));
        ids.into_iter().filter_map(identity).collect()
    }

    /// Returns the processor time of all processes of the job.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        self.job.as_ref()?.usage().ok().map(|usage| usage.processor)
    }

    /// Asks the group of the process to end, or ends the job. Returns its processes.
    pub(crate) fn signal(&self, how: EndMethod) -> Vec<ProcessIdentity> {
        let members = self.members();
        match (how, self.leader.filter(|_| self.leader_runs), &self.job) {
            // A process without our console does not receive it, and is ended after the grace period.
            (EndMethod::Ask(_), Some(leader), _) => drop(interrupt(leader)),
            (EndMethod::Ask(_), None, _) | (EndMethod::Kill, _, None) => {}
            (EndMethod::Kill, _, Some(job)) => drop(job.end()),
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
