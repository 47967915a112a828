//! What belongs to a process on Linux: its session and group, what bears its mark, and their descendants.

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

use super::{How, Identity, clean_mark};
use crate::procfs::{self, Process};
use crate::rlimit_mark::RlimitMark;

/// Held while children are listed and buried: a list from which somebody is taken may miss others.
static ORPHANS: Mutex<()> = Mutex::new(());

/// How many groups there are, whose processes may still run.
static GROUPS: AtomicUsize = AtomicUsize::new(0);

/// Makes orphans of our processes our children.
pub(crate) fn adopt_orphans() {
    // Without it only a sign is missing that something was left behind.
    let _without_it = sys::set_child_subreaper(Some(sys::getpid()));
}

/// Ctrl-C and the end of the terminal are for others from now on.
pub(crate) fn leave_terminal() {
    let _is_leader_already = sys::setsid();
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
        let leader_start =
            leader.and_then(|leader| Process::read(leader.as_raw_pid())).map_or(0, |process| process.start);
        GROUPS.fetch_add(1, Ordering::Relaxed);
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
        {}
        test_kill_process_group(leader) == Err(Errno::SRCH) && !self.has_orphans(leader)
    }

    /// Returns whether we have adopted one of ours.
    fn has_orphans(&self, leader: Pid) -> bool {
        let own_session = own_session();
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
                    || is_stray(child)
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

impl Drop for Group {
    fn drop(&mut self) {
        if !self.left {
            self.signal(How::Kill);
        }
        GROUPS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns our session, in which is also what other parts of the program start. Its number is 0 where it was begun outside
/// of our pid namespace, which the system call's wrapper takes for impossible.
fn own_session() -> i32 {
    Process::read(sys::getpid().as_raw_pid()).map_or(0, |process| process.session)
}

/// Says whether an orphan that we adopted, and that shed its mark, can only be of the group that asks: there is no other. Of
/// the first process of a system we cannot tell: it adopts orphans of everybody.
fn is_stray(orphan: &Process) -> bool {
    GROUPS.load(Ordering::Relaxed) == 1
        && !sys::getpid().is_init()
        && orphan.marks().is_none_or(|marks| !marks.any(|_| true))
}

/// What a process has started, and what that has, for as long as it is looked at.
pub(crate) struct Descendants {
    of: i32,
    known: BTreeSet<Identity>,
}

impl Descendants {
    /// The family of the process that started this one.
    pub(crate) fn of_parent() -> Self {
        Self { of: sys::getppid().map_or(0, Pid::as_raw_pid), known: BTreeSet::new() }
    }

    /// Remembers who is there, but for this process, and forgets who is gone.
    pub(crate) fn look(&mut self) {
        let all = procfs::all();
        let me = sys::getpid().as_raw_pid();
        let there: BTreeSet<Identity> = all.iter().map(identity).collect();
        self.known.retain(|known| there.contains(known));
        let descendants =
            procfs::with_descendants(all, |process| process.parent == self.of && process.pid != me);
        self.known.extend(descendants.iter().map(identity));
    }
}

pub(crate) fn end_leftovers(mark_prefix: &str) -> u32 {
    end_family(mark_prefix, None, &|| false)
}

pub(crate) fn end_family(
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
    let mut is_told = false;
    loop {
        let (mut left, others): (Vec<_>, Vec<_>) =
            leftovers(Some(mark_prefix), family).into_iter().partition(may_end);
        if !others.is_empty() && !std::mem::replace(&mut is_told, true) {
            let pids: Vec<String> = others.iter().map(|process| process.pid.to_string()).collect();
            tracing::warn!("what runs as another user is not ended: process {}", pids.join(", "));
        }
        if left.is_empty() || Instant::now() > give_up {
            return u32::try_from(ended.len()).unwrap_or(u32::MAX);
        }
        // Asked after the look: whoever has begun something that was seen had the run by then.
        if is_taken_over() {
            left = leftovers(None, family).into_iter().filter(may_end).collect();
        }
        ended.extend(left.iter().map(identity));
        let how = if Instant::now() < grace { How::Ask(StopSignal::Term) } else { How::Kill };
        for process in &left {
            if how == How::Kill || asked.insert(identity(process)) {
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
    leftovers(Some(mark_prefix), None).iter().filter(|process| may_end(process)).count()
}

/// Says whether the system lets us signal a process: not one that runs as another user, as what `sudo` starts does.
fn may_end(process: &Process) -> bool {
    Pid::from_raw(process.pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::PERM))
}

/// Returns what is left of a family, and what bears a mark that begins so, each with its descendants.
fn leftovers(mark_prefix: Option<&str>, family: Option<&Descendants>) -> Vec<Process> {
    let all = procfs::all();
    let ours = ancestors(&all);
    let lineage = mark_prefix.and_then(RlimitMark::of_run);
    let is_marked = |process: &Process| {
        let begins_so = |mark: &[u8]| mark_prefix.is_some_and(|prefix| mark.starts_with(prefix.as_bytes()));
        mark_prefix.is_some() && process.marks().is_some_and(|marks| marks.any(begins_so))
    };
    let found = procfs::with_descendants(all, |process| {
        !ours.contains(&process.pid)
            && (family.is_some_and(|family| family.known.contains(&identity(process)))
                || is_marked(process)
                || lineage.is_some_and(|it| it.has(process)))
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::spec::MARK;

    #[test]
    fn what_bears_the_mark_of_a_run_that_was_taken_over_is_not_ended() {
        let mark = format!("taken-over-{}", std::process::id());
        let mut of_successor = Command::new("sleep").arg("60").env(MARK, &mark).spawn().unwrap();
        assert_eq!(end_family(&mark, None, &|| true), 0);
        assert!(of_successor.try_wait().unwrap().is_none(), "it runs");
        assert_eq!(end_family(&mark, None, &|| false), 1);
        of_successor.wait().unwrap();
    }

    #[test]
    fn what_runs_as_another_user_is_neither_waited_for_nor_counted() {
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let found = Process::read(i32::try_from(other.id()).unwrap()).unwrap();
        let end = move || {
            // Only root can become somebody else.
            let nobody = rustix::thread::set_thread_uid(rustix::process::Uid::from_raw(65_534));
            let family = Descendants { of: 0, known: [identity(&found)].into() };
            (nobody.is_ok(), end_family("nobody-has-this-mark", Some(&family), &|| false))
        };
        let (is_other, ended) = std::thread::spawn(end).join().unwrap();
        assert_eq!(ended, u32::from(!is_other));
        other.kill().unwrap();
        other.wait().unwrap();
    }
}
