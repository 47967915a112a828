//! Finds the processes of a group on macOS and other Unix systems: the process group.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, kill_process_group, setsid, test_kill_process_group};

use super::end_method::{EndMethod, ProcessIdentity};

/// Does nothing: orphans belong to the first process of the system.
pub(crate) fn adopt_orphans() {}

/// Starts a new session, so that Ctrl-C and the end of the terminal do not end this process.
pub(crate) fn leave_terminal() {
    let _is_leader_already = setsid();
}

/// A process and its process group. Kills all of it when dropped, unless it was released.
pub(crate) struct UnixProcessGroup {
    leader: Option<Pid>,
    leader_runs: bool,
    is_released: bool,
}

impl UnixProcessGroup {
    pub(crate) fn new(leader: Option<u32>, _mark: &str) -> Self {
        let leader = leader.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { leader, leader_runs: true, is_released: false }
    }

    /// Records that the process was waited for, so that its id may be reused.
    pub(crate) fn mark_leader_ended(&mut self) {
        self.leader_runs = false;
    }

    /// Releases the group: dropping it kills nothing.
    pub(crate) fn release(&mut self) {
        self.is_released = true;
    }

    /// Returns whether no process is left. The leader was waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.leader.is_none_or(|leader| test_kill_process_group(leader) == Err(Errno::SRCH))
    }

    /// Returns the group as one process, if it exists.
    pub(crate) fn members(&self) -> Vec<ProcessIdentity> {
        let there = self.leader.filter(|_| !self.is_empty());
        there.into_iter().map(|leader| (leader.as_raw_pid(), 0)).collect()
    }

    /// Returns `None`: unknown on this system.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        None
    }

    /// Signals the group and returns it.
    pub(crate) fn signal(&self, how: EndMethod) -> Vec<ProcessIdentity> {
        let members = self.members();
        if let Some(leader) = self.leader.filter(|_| !members.is_empty() || self.leader_runs) {
            let _already_gone = kill_process_group(leader, how.signal());
        }
        members
    }
}

impl Drop for UnixProcessGroup {
    fn drop(&mut self) {
        if !self.is_released {
            self.signal(EndMethod::Kill);
        }
    }
}

pub(crate) fn end_leftovers(_mark_prefix: &str) -> u32 {
    0
}

pub(crate) fn count_leftovers(_mark_prefix: &str) -> usize {
    0
}
