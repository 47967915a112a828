//! Finds the processes of a group on Linux: session, process group, processes with the mark, and descendants.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    self as sys, Pid, PidfdFlags, WaitId, WaitIdOptions, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, test_kill_process, test_kill_process_group, waitid,
};

use unstuck_core::client::StopSignal;

use super::end_method::{EndMethod, ProcessIdentity};
use crate::procfs::{self, Process};
use crate::rlimit_mark::RlimitMark;
use crate::spec::clean_mark;

/// Held while children are listed and reaped: removing a child during the listing may hide others.
static ORPHANS: Mutex<()> = Mutex::new(());

/// Number of groups whose processes may still run.
static GROUPS: AtomicUsize = AtomicUsize::new(0);

/// Makes this process the parent of orphans.
pub(crate) fn adopt_orphans() {
    // Without it, one sign of leftover processes is missing.
    let _without_it = sys::set_child_subreaper(Some(sys::getpid()));
}

/// Starts a new session, so that Ctrl-C and the end of the terminal do not end this process.
pub(crate) fn leave_terminal() {
    let _is_leader_already = sys::setsid();
}

/// A process and its descendants. Kills all of them when dropped, unless it was released.
pub(crate) struct ProcessGroup {
    leader: Option<Pid>,
    leader_start: u64,
    leader_runs: bool,
    is_released: bool,
    mark: String,
}

impl ProcessGroup {
    pub(crate) fn new(leader: Option<u32>, mark: &str) -> Self {
        let leader = leader.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let leader_start =
            leader.and_then(|leader| Process::read(leader.as_raw_pid())).map_or(0, |process| process.start);
        GROUPS.fetch_add(1, Ordering::Relaxed);
        Self { leader, leader_start, leader_runs: true, is_released: false, mark: clean_mark(mark) }
    }

    /// Records that the process was waited for, so that its id may be reused.
    pub(crate) fn mark_leader_ended(&mut self) {
        self.leader_runs = false;
    }

    /// Releases the group: dropping it kills nothing.
    pub(crate) fn release(&mut self) {
        self.is_released = true;
    }

    /// Returns whether no process is left, by a cheap check. The leader was waited for.
    pub(crate) fn is_empty(&self) -> bool {
        let Some(leader) = self.leader else { return true };
        let _alone = ORPHANS.lock().unwrap_or_else(PoisonError::into_inner);
        // We reap the zombies of the group; until then the group exists.
        while let Ok(Some(_buried)) =
            waitid(WaitId::Pgid(Some(leader)), WaitIdOptions::NOHANG | WaitIdOptions::EXITED)
        {}
        test_kill_process_group(leader) == Err(Errno::SRCH) && !self.has_orphans(leader)
    }

    /// Returns whether we adopted an orphan of this group.
    fn has_orphans(&self, leader: Pid) -> bool {
        let own_session = own_session();
        let orphans = procfs::adopted()
            .into_iter()
            .filter_map(Process::read)
            .filter(|child| child.session != own_session);
        let (over, alive): (Vec<_>, Vec<_>) = orphans.partition(|child| child.is_zombie);
        over.iter().for_each(reap);
        alive.iter().any(|child| {
            let is_new = child.start >= self.leader_start;
            is_new
                && (child.session == leader.as_raw_pid()
                    || is_stray(child)
                    || child.marks().is_none_or(|marks| marks.any(self.is_own_mark())))
        })
    }

    /// Searches for all processes of the group.
    pub(crate) fn members(&self) -> Vec<ProcessIdentity> {
        self.find_members().iter().map(identity).collect()
    }

    /// Returns the processor time of all processes of the group.
    pub(crate) fn processor_time(&self) -> Option<Duration> {
        Some(self.find_members().iter().map(|process| process.busy).sum())
    }

    /// Signals all processes of the group and returns them.
    pub(crate) fn signal(&self, how: EndMethod) -> Vec<ProcessIdentity> {
        let members = self.find_members();
        match self.leader.filter(|_| self.leader_runs) {
            Some(leader) => {
                // Also reaches processes that start during the search.
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

    fn find_members(&self) -> Vec<Process> {
        let Some(leader) = self.leader.map(Pid::as_raw_pid) else { return Vec::new() };
        let me = sys::getpid().as_raw_pid();
        let own_session = own_session();
        procfs::with_descendants(procfs::all(), |process| {
            let follows = process.start >= self.leader_start && process.pid != me;
            let is_adopted = process.parent == me && process.session != own_session;
            follows
                && (process.session == leader
                    || process.group == leader
                    || process.marks().is_some_and(|marks| marks.any(self.is_own_mark()))
                    || is_adopted && is_stray(process))
        })
    }

    fn is_own_mark(&self) -> impl Fn(&[u8]) -> bool {
        |mark| mark == self.mark.as_bytes()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if !self.is_released {
            self.signal(EndMethod::Kill);
        }
        GROUPS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns our session, which other parts of the program also start processes in. It is 0 if it was created outside of
/// our pid namespace, a value that the wrapper of the system call rejects.
fn own_session() -> i32 {
    Process::read(sys::getpid().as_raw_pid()).map_or(0, |process| process.session)
}

/// Returns whether an adopted orphan without a mark must belong to the calling group, because there is no other group.
/// Never true in the first process of a system, which adopts every orphan.
fn is_stray(orphan: &Process) -> bool {
    GROUPS.load(Ordering::Relaxed) == 1
        && !sys::getpid().is_init()
        && orphan.marks().is_none_or(|marks| !marks.any(|_| true))
}

/// Descendants of a process, as far as they were seen.
pub(crate) struct Descendants {
    ancestor: i32,
    known: BTreeSet<ProcessIdentity>,
}

impl Descendants {
    /// Tracks the descendants of the process that started this one.
    pub(crate) fn of_parent() -> Self {
        Self { ancestor: sys::getppid().map_or(0, Pid::as_raw_pid), known: BTreeSet::new() }
    }

    /// Adds new descendants, except for this process, and removes those that have ended.
    pub(crate) fn update(&mut self) {
        let all = procfs::all();
        let me = sys::getpid().as_raw_pid();
        let running: BTreeSet<ProcessIdentity> = all.iter().map(identity).collect();
        self.known.retain(|known| running.contains(known));
        let descendants =
            procfs::with_descendants(all, |process| process.parent == self.ancestor && process.pid != me);
        self.known.extend(descendants.iter().map(identity));
    }
}

pub(crate) fn end_leftovers(mark_prefix: &str) -> u32 {
    end_run_processes(mark_prefix, None, &|| false)
}

pub(crate) fn end_run_processes(
    mark_prefix: &str,
    family: Option<&Descendants>,
    is_taken_over: &dyn Fn() -> bool,
) -> u32 {
    if mark_prefix.is_empty() {
        return 0;
    }
    let grace = Instant::now() + Duration::from_secs(1);
    let give_up = grace + Duration::from_secs(2);
    let mut ended = BTreeSet::new();
    let mut asked = BTreeSet::new();
    let mut is_logged = false;
    loop {
        let (mut left, others): (Vec<_>, Vec<_>) =
            leftovers(Some(mark_prefix), family).into_iter().partition(can_signal);
        if !others.is_empty() && !std::mem::replace(&mut is_logged, true) {
            let pids: Vec<String> = others.iter().map(|process| process.pid.to_string()).collect();
            tracing::warn!("what runs as another user is not ended: process {}", pids.join(", "));
        }
        if left.is_empty() || Instant::now() > give_up {
            return u32::try_from(ended.len()).unwrap_or(u32::MAX);
        }
        // Checked after the search: a supervisor that started a process of the list held the run by then.
        if is_taken_over() {
            left = leftovers(None, family).into_iter().filter(can_signal).collect();
        }
        ended.extend(left.iter().map(identity));
        let how = if Instant::now() < grace { EndMethod::Ask(StopSignal::Term) } else { EndMethod::Kill };
        for process in &left {
            if how == EndMethod::Kill || asked.insert(identity(process)) {
                send(process, how);
            }
        }
        sleep(Duration::from_millis(10));
    }
}

pub(crate) fn count_leftovers(mark_prefix: &str) -> usize {
    if mark_prefix.is_empty() {
        return 0;
    }
    leftovers(Some(mark_prefix), None).iter().filter(|process| can_signal(process)).count()
}

/// Returns whether the system lets us signal a process. Not if it runs as another user, such as a child of `sudo`.
fn can_signal(process: &Process) -> bool {
    Pid::from_raw(process.pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::PERM))
}

/// Returns the known descendants that still run and the processes with such a mark, each with its descendants.
fn leftovers(mark_prefix: Option<&str>, family: Option<&Descendants>) -> Vec<Process> {
    let all = procfs::all();
    let ours = ancestors(&all);
    let lineage = mark_prefix.and_then(RlimitMark::for_run);
    let is_marked = |process: &Process| {
        let begins_so = |mark: &[u8]| mark_prefix.is_some_and(|prefix| mark.starts_with(prefix.as_bytes()));
        mark_prefix.is_some() && process.marks().is_some_and(|marks| marks.any(begins_so))
    };
    let found = procfs::with_descendants(all, |process| {
        !ours.contains(&process.pid)
            && (family.is_some_and(|family| family.known.contains(&identity(process)))
                || is_marked(process)
                || lineage.is_some_and(|mark| mark.has(process)))
    });
    found.into_iter().filter(|process| !ours.contains(&process.pid)).collect()
}

/// Returns this process and its ancestors.
fn ancestors(all: &[Process]) -> BTreeSet<i32> {
    let mut ours = BTreeSet::new();
    let mut next = Some(sys::getpid().as_raw_pid());
    while let Some(pid) = next.filter(|&pid| pid > 0 && ours.insert(pid)) {
        next = all.iter().find(|process| process.pid == pid).map(|process| process.parent);
    }
    ours
}

fn identity(process: &Process) -> ProcessIdentity {
    (process.pid, process.start)
}

/// Signals this process, but no later one with the same id.
fn send(process: &Process, how: EndMethod) {
    let Some(pid) = Pid::from_raw(process.pid) else { return };
    let handle = pidfd_open(pid, PidfdFlags::empty());
    if Process::read(process.pid).is_none_or(|now| now.start != process.start) {
        return;
    }
    let _already_gone = match handle {
        Ok(handle) => pidfd_send_signal(handle, how.signal()),
        // A kernel before 5.3 has no process handles.
        Err(Errno::NOSYS) => kill_process(pid, how.signal()),
        Err(error) => Err(error),
    };
}

/// Reaps a zombie.
fn reap(process: &Process) {
    if let Some(pid) = Pid::from_raw(process.pid) {
        let _not_ours = waitid(WaitId::Pid(pid), WaitIdOptions::NOHANG | WaitIdOptions::EXITED);
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::spec::MARK;

    #[test]
    fn marked_process_of_a_resumed_run_is_not_ended() {
        let mark = format!("taken-over-{}", std::process::id());
        let mut of_successor = Command::new("sleep").arg("60").env(MARK, &mark).spawn().unwrap();
        assert_eq!(end_run_processes(&mark, None, &|| true), 0);
        assert!(of_successor.try_wait().unwrap().is_none(), "it runs");
        assert_eq!(end_run_processes(&mark, None, &|| false), 1);
        of_successor.wait().unwrap();
    }

    #[test]
    fn process_of_another_user_is_neither_awaited_nor_counted() {
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let found = Process::read(i32::try_from(other.id()).unwrap()).unwrap();
        let end = move || {
            // Only root can become another user.
            let nobody = rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534));
            let family = Descendants { ancestor: 0, known: [identity(&found)].into() };
            (nobody.is_ok(), end_run_processes("nobody-has-this-mark", Some(&family), &|| false))
        };
        let (is_other, ended) = std::thread::spawn(end).join().unwrap();
        assert_eq!(ended, u32::from(!is_other));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
