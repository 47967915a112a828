//! A mark that nobody sheds by clearing its environment, leaving its session or losing its parent: a limit that Linux hands down
//! from process to process and does not use (`RLIMIT_LOCKS`, of kernels before 2.4.25).
//!
//! Its value is a number of the run. A process may lower it, which nobody does who does not want to hide. It cannot be
//! raised again, so a supervisor below a worker of another run leaves the hard limit to that run and has the soft one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use unstuck_core::id::Digest;

use crate::procfs::Process;

/// Set in the hard limit of the outermost run, so that the number of any other one is smaller.
const OUTERMOST: u64 = 1 << 62;

/// The limit of the processes of one run.
#[derive(Clone, Copy)]
pub(super) struct RlimitMark {
    number: u64,
}

/// What a process is to be started with.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    soft: u64,
    hard: u64,
}

impl RlimitMark {
    /// Returns that of the run with a mark; `None` of a part of a run, which has none of its own.
    pub(super) fn of_run(mark: &str) -> Option<Self> {
        (!mark.is_empty() && !mark.contains('/')).then(|| Self::of(mark.as_bytes()))
    }

    /// Returns that of what is started with these marks, of which the last is its own.
    pub(super) fn of_started(marks: &OsStr) -> Self {
        let own = marks.as_bytes().rsplit(|&byte| byte == b' ').next().unwrap_or_default();
        Self::of(own.split(|&byte| byte == b'/').next().unwrap_or_default())
    }

    fn of(run: &[u8]) -> Self {
        let number = Digest::of(run).0.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Self { number: number & (OUTERMOST - 1) }
    }

    /// Returns what a process is to be started with by this one; `None` where that cannot be.
    pub(super) fn limit(self) -> Option<Limit> {
        let (_, hard) = getrlimit(Resource::RLIMIT_LOCKS).ok()?;
        self.below(hard)
    }

    fn below(self, hard: u64) -> Option<Limit> {
        let outermost = OUTERMOST | self.number;
        match hard {
            RLIM_INFINITY => Some(Limit { soft: outermost, hard: outermost }),
            hard => (self.number <= hard).then_some(Limit { soft: self.number, hard }),
        }
    }

    /// Says whether a process descends from what was started with it.
    pub(super) fn has(self, process: &Process) -> bool {
        process.lock_limits().is_some_and(|(soft, hard)| self.is_in(soft, hard))
    }

    fn is_in(self, soft: u64, hard: u64) -> bool {
        soft == self.number || hard == OUTERMOST | self.number
    }
}

impl Limit {
    /// Gives it to this process: one system call. Where it cannot be given, other marks have to do.
    pub(super) fn set(self) {
        let _as_far_as_it_goes = setrlimit(Resource::RLIMIT_LOCKS, self.soft, self.hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_below_a_worker_of_another_one_is_of_both() {
        let [outer, inner, innermost] =
            ["outer", "inner", "innermost"].map(|it| RlimitMark::of_run(it).unwrap());
        let of_outer = outer.below(RLIM_INFINITY).unwrap();
        let of_inner = inner.below(of_outer.hard).unwrap();
        let of_innermost = innermost.below(of_inner.hard).unwrap();
        let runs = |limit: Limit| [outer, inner, innermost].map(|run| run.is_in(limit.soft, limit.hard));
        assert_eq!(runs(of_outer), [true, false, false]);
        assert_eq!(runs(of_inner), [true, true, false]);
        assert_eq!(runs(of_innermost), [true, false, true]);
        assert!(outer.below(5).is_none(), "somebody else has set it");
        assert_eq!(runs(Limit { soft: RLIM_INFINITY, hard: RLIM_INFINITY }), [false; 3]);
    }

    #[test]
    fn what_is_started_has_the_lineage_of_its_run_and_not_of_its_step() {
        let number = |lineage: RlimitMark| lineage.number;
        let run = RlimitMark::of_run("unstuck-a").map(number);
        assert_eq!(
            Some(number(RlimitMark::of_started(OsStr::new("unstuck-b/x unstuck-a/unstuck-c/fix")))),
            run
        );
        assert!(RlimitMark::of_run("unstuck-a/unstuck-c").is_none() && RlimitMark::of_run("").is_none());
    }
}
