//! What belongs to a process besides itself, and how it is ended.
//!
//! On Linux the supervisor adopts orphans (`PR_SET_CHILD_SUBREAPER`): a process that its parent
//! gives up becomes a child of our main thread, so "was anything left behind?" is answered by asking
//! whether the process group still exists, and by reading one small file, the children of that
//! thread. The search through all of `/proc` (1 to 5 ms) happens only after that answer was yes, or
//! when a pipe is still open, or on an order to end. Signals reach a process by a handle that is
//! compared with its start time first, so a process id that is used again is never hit.

pub(super) use platform::{Group, adopt_orphans};

#[cfg(target_os = "linux")]
use self::linux as platform;
#[cfg(not(target_os = "linux"))]
use self::other as platform;

/// How a process is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Asked to.
    Ask,
    /// Made to.
    Kill,
}

/// Process id and start time: no two processes have both.
pub(super) type Identity = (i32, u64);

/// Returns the mark as it stands in the environment: without blanks and control characters.
pub(super) fn clean_mark(mark: &str) -> String {
    mark.chars().map(|char| if char.is_whitespace() || char.is_control() { '_' } else { char }).collect()
}

/// Ends the processes of this user whose mark begins with `mark_prefix`, and their descendants:
/// what a supervisor that was killed has left. Asks first, kills after a second. Returns how
/// many there were. An empty prefix names nothing.
///
/// Blocks; neither this process nor one that it descends from is touched. Finds nothing on systems
/// other than Linux.
pub fn end_leftovers(mark_prefix: &str) -> u32 {
    platform::end_leftovers(&clean_mark(mark_prefix))
}

/// Returns how many such processes there are; nothing is done to them.
pub fn count_leftovers(mark_prefix: &str) -> usize {
    platform::count_leftovers(&clean_mark(mark_prefix))
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use rustix::io::Errno;
    use rustix::process::{
        self as sys, Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group,
        pidfd_open, pidfd_send_signal, test_kill_process_group, waitid,
    };

    use super::super::procfs::{self, Process};
    use super::{How, Identity, clean_mark};

    /// Held while children are listed and buried: a list from which somebody is taken may miss others.
    static ORPHANS: Mutex<()> = Mutex::new(());

    /// Makes orphans of our processes our children.
    pub(crate) fn adopt_orphans() {
        // Without it only a sign is missing that something was left behind.
        let _without_it = sys::set_child_subreaper(Some(sys::getpid()));
    }

    /// A process and what belongs to it. Kills all of it when dropped, unless it was left.
    pub(crate) struct Group {
        leader: Option<Pid>,
        leader_start: u64,
        leader_runs: bool,
        left: bool,
        mark: String,
    }

    impl Group {
        pub(crate) fn new(leader: Option<u32>, mark: &str) -> Self {
            let leader = leader.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
            let leader_start = leader
                .and_then(|leader| Process::read(leader.as_raw_pid()))
                .map_or(0, |process| process.start);
            Self { leader, leader_start, leader_runs: true, left: false, mark: clean_mark(mark) }
        }

        /// The process was waited for: from now on its id may be used again.
        pub(crate) fn leader_is_gone(&mut self) {
            self.leader_runs = false;
        }

        /// Nothing more is to be done about it.
        pub(crate) fn leave(&mut self) {
            self.left = true;
        }

        /// Returns whether nothing is left, as far as a cheap look tells. The process was waited for.
        pub(crate) fn is_empty(&self) -> bool {
            let Some(leader) = self.leader else { return true };
            let _alone = ORPHANS.lock().unwrap_or_else(PoisonError::into_inner);
            // Orphans of the group that are over are ours to bury; until then the group exists.
            while let Ok(Some(_buried)) =
                waitid(WaitId::Pgid(Some(leader)), WaitIdOptions::NOHANG | WaitIdOptions::EXITED)
            {
            }
            test_kill_process_group(leader) == Err(Errno::SRCH) && !self.has_orphans(leader)
        }

        /// Returns whether we have adopted one of ours.
        fn has_orphans(&self, leader: Pid) -> bool {
            // What other parts of the program start is in our session. Its number is 0 where it was begun
            // outside of our pid namespace, which the system call's wrapper takes for impossible.
            let own_session = Process::read(sys::getpid().as_raw_pid()).map_or(0, |process| process.session);
            let orphans = procfs::adopted()
                .into_iter()
                .filter_map(Process::read)
                .filter(|child| child.session != own_session);
            let (over, alive): (Vec<_>, Vec<_>) = orphans.partition(|child| child.is_zombie);
            over.iter().for_each(bury);
            alive.iter().any(|child| {
                let is_new = child.start >= self.leader_start;
                is_new
                    && (child.session == leader.as_raw_pid()
                        || child.marks().is_none_or(|marks| marks.any(self.is_own_mark())))
            })
        }

        /// Searches for all that belongs to the process.
        pub(crate) fn members(&self) -> Vec<Identity> {
            self.find().iter().map(identity).collect()
        }

        /// Returns how much time all that belongs to the process has spent on a processor.
        pub(crate) fn processor_time(&self) -> Option<Duration> {
            Some(self.find().iter().map(|process| process.busy).sum())
        }

        /// Signals all that belongs to the process, and returns what that was.
        pub(crate) fn signal(&self, how: How) -> Vec<Identity> {
            let members = self.find();
            match self.leader.filter(|_| self.leader_runs) {
                Some(leader) => {
                    // Reaches those too that are begun while we search.
                    let _already_gone = kill_process_group(leader, how.signal());
                    members
                        .iter()
                        .filter(|member| member.group != leader.as_raw_pid())
                        .for_each(|member| send(member, how));
                }
                None => members.iter().for_each(|member| send(member, how)),
            }
            members.iter().map(identity).collect()
        }

        fn find(&self) -> Vec<Process> {
            let Some(leader) = self.leader.map(Pid::as_raw_pid) else { return Vec::new() };
            let me = sys::getpid().as_raw_pid();
            procfs::with_descendants(procfs::all(), |process| {
                let follows = process.start >= self.leader_start && process.pid != me;
                follows
                    && (process.session == leader
                        || process.group == leader
                        || process.marks().is_some_and(|marks| marks.any(self.is_own_mark())))
            })
        }

        fn is_own_mark(&self) -> impl Fn(&[u8]) -> bool {
            |mark| mark == self.mark.as_bytes()
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            if !self.left {
                self.signal(How::Kill);
            }
        }
    }

    pub(crate) fn end_leftovers(mark_prefix: &str) -> u32 {
        if mark_prefix.is_empty() {
            return 0;
        }
        let grace = Instant::now() + Duration::from_secs(1);
        let give_up = grace + Duration::from_secs(2);
        let mut ended = BTreeSet::new();
        let mut asked = BTreeSet::new();
        loop {
            let left = leftovers(mark_prefix);
            ended.extend(left.iter().map(identity));
            if left.is_empty() || Instant::now() > give_up {
                return u32::try_from(ended.len()).unwrap_or(u32::MAX);
            }
            let how = if Instant::now() < grace { How::Ask } else { How::Kill };
            for process in &left {
                if how == How::Kill || asked.insert(identity(process)) {
                    send(process, how);
                }
            }
            sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn count_leftovers(mark_prefix: &str) -> usize {
        if mark_prefix.is_empty() { 0 } else { leftovers(mark_prefix).len() }
    }

    fn leftovers(mark_prefix: &str) -> Vec<Process> {
        let all = procfs::all();
        let ours = ancestors(&all);
        let found = procfs::with_descendants(all, |process| {
            !ours.contains(&process.pid)
                && process
                    .marks()
                    .is_some_and(|marks| marks.any(|mark| mark.starts_with(mark_prefix.as_bytes())))
        });
        found.into_iter().filter(|process| !ours.contains(&process.pid)).collect()
    }

    /// Returns this process and those that it descends from.
    fn ancestors(all: &[Process]) -> BTreeSet<i32> {
        let mut ours = BTreeSet::new();
        let mut next = Some(sys::getpid().as_raw_pid());
        while let Some(pid) = next.filter(|&pid| pid > 0 && ours.insert(pid)) {
            next = all.iter().find(|process| process.pid == pid).map(|process| process.parent);
        }
        ours
    }

    fn identity(process: &Process) -> Identity {
        (process.pid, process.start)
    }

    /// Signals this process and no later one with the same id.
    fn send(process: &Process, how: How) {
        let Some(pid) = Pid::from_raw(process.pid) else { return };
        let handle = pidfd_open(pid, PidfdFlags::empty());
        if Process::read(process.pid).is_none_or(|now| now.start != process.start) {
            return;
        }
        let _already_gone = match handle {
            Ok(handle) => pidfd_send_signal(handle, how.signal()),
            // A kernel before 5.3 has no handles.
            Err(Errno::NOSYS) => kill_process(pid, how.signal()),
            Err(error) => Err(error),
        };
    }

    /// Takes the last word of an orphan that is over.
    fn bury(process: &Process) {
        if let Some(pid) = Pid::from_raw(process.pid) {
            let _not_ours = waitid(WaitId::Pid(pid), WaitIdOptions::NOHANG | WaitIdOptions::EXITED);
        }
    }

    impl How {
        fn signal(self) -> Signal {
            match self {
                Self::Ask => Signal::TERM,
                Self::Kill => Signal::KILL,
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    use super::{How, Identity};

    pub(crate) fn adopt_orphans() {}

    /// A process group, where there is such a thing.
    pub(crate) struct Group {
        leader: Option<u32>,
        leader_runs: bool,
        left: bool,
    }

    impl Group {
        pub(crate) fn new(leader: Option<u32>, _mark: &str) -> Self {
            Self { leader, leader_runs: true, left: false }
        }

        pub(crate) fn leader_is_gone(&mut self) {
            self.leader_runs = false;
        }

        pub(crate) fn leave(&mut self) {
            self.left = true;
        }

        #[cfg(unix)]
        fn id(&self) -> Option<rustix::process::Pid> {
            rustix::process::Pid::from_raw(i32::try_from(self.leader?).ok()?)
        }

        #[cfg(unix)]
        pub(crate) fn is_empty(&self) -> bool {
            self.id()
                .is_none_or(|id| rustix::process::test_kill_process_group(id) == Err(rustix::io::Errno::SRCH))
        }

        #[cfg(not(unix))]
        pub(crate) fn is_empty(&self) -> bool {
            true
        }

        /// Unknown here.
        pub(crate) fn processor_time(&self) -> Option<std::time::Duration> {
            None
        }

        /// Returns the group as one, if it is there.
        pub(crate) fn members(&self) -> Vec<Identity> {
            let id = self.leader.and_then(|id| i32::try_from(id).ok());
            if self.is_empty() { Vec::new() } else { id.into_iter().map(|id| (id, 0)).collect() }
        }

        #[cfg(unix)]
        pub(crate) fn signal(&self, how: How) -> Vec<Identity> {
            use rustix::process::Signal;
            let members = self.members();
            if let Some(id) = self.id().filter(|_| !members.is_empty() || self.leader_runs) {
                let signal = if how == How::Kill { Signal::KILL } else { Signal::TERM };
                let _already_gone = rustix::process::kill_process_group(id, signal);
            }
            members
        }

        #[cfg(not(unix))]
        pub(crate) fn signal(&self, _how: How) -> Vec<Identity> {
            Vec::new()
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
}
