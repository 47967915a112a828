//! What belongs to a process on macOS and other Unix systems: its process group.

use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, kill_process_group, setsid, test_kill_process_group};

use super::{How, Identity};

/// Orphans belong to the first process of the system, and nobody can change that here.
pub(crate) fn adopt_orphans() {}

/// Ctrl-C and the end of the terminal are for others from now on.
pub(crate) fn leave_terminal() {
    let _is_leader_already = setsid();
}

/// A process and those in its group. Kills all of it when dropped, unless it was left.
pub(crate) struct Group {
    leader: Option<Pid>,
    leader_runs: bool,
    left: bool,
}

impl Group {
    pub(crate) fn new(leader: Option<u32>, _mark: &str) -> Self {
        let leader = leader.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { leader, leader_runs: true, left: false }
    }

    /// The process was waited for: from now on its id may be used again.
    pub(crate) fn leader_is_gone(&mut self) {
        self.leader_runs = false;
    }

    /// Nothing more is to be done about it.
    pub(crate) fn leave(&mut self) {
        self.left = true;
    }

    /// Returns whether nothing is left. The process was waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.leader.is_none_or(|leader| test_kill_process_group(leader) == Err(Errno::SRCH))
    }

    /// Returns the group as one, if it is there.
    pub(crate) fn members(&self) -> Vec<Identity> {
        let there = self.leader.filter(|_| !self.is_empty());
        there.into_iter().map(|leader| (leader.as_raw_pid(), 0)).collect()
    }

    /// Unknown here.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        None
    }

    /// Signals the group, and returns it.
    pub(crate) fn signal(&self, how: How) -> Vec<Identity> {
        let members = self.members();
        if let Some(leader) = self.leader.filter(|_| !members.is_empty() || self.leader_runs) {
            let _already_gone = kill_process_group(leader, how.signal());
        }
        members
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.left {
            self.signal(How::Kill);
        }
    }
}

pub(crate) fn end_leftovers(_mark_prefix: &str) -> u32 {
    0
}

pub(crate) fn count_leftovers(_mark_prefix: &str) -> usize {
    0
}
