//! Marks processes with a resource limit that children inherit and Linux ignores (`RLIMIT_LOCKS`, of kernels before
//! 2.4.25).
//!
//! A process keeps the mark if it clears its environment, leaves its session or loses its parent. The value is one
//! number per run. Only a process that wants to hide would lower it. It cannot be raised again, so a supervisor below a
//! worker of another run leaves the hard limit to that run and uses the soft limit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use unstuck_core::id::Digest;

use crate::procfs::Process;

/// Bit that is set in the hard limit of the outermost run, so that the number of any other run is smaller.
const OUTERMOST: u64 = 1 << 62;

/// Number of the limit of one run.
#[derive(Clone, Copy)]
pub(super) struct RlimitMark {
    number: u64,
}

/// Resource limit for a new process.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    soft: u64,
    hard: u64,
}

impl RlimitMark {
    /// Returns the number of the run with a mark; `None` for a part of a run, which shares its number.
    pub(super) fn for_run(mark: &str) -> Option<Self> {
        (!mark.is_empty() && !mark.contains('/')).then(|| Self::for_run_name(mark.as_bytes()))
    }

    /// Returns the number for a process with these marks. The last mark is its own.
    pub(super) fn for_marks(marks: &OsStr) -> Self {
        let own = marks.as_bytes().rsplit(|&byte| byte == b' ').next().unwrap_or_default();
        Self::for_run_name(own.split(|&byte| byte == b'/').next().unwrap_or_default())
    }

    fn for_run_name(run: &[u8]) -> Self {
        let number = Digest::sha256(run).0.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        Self { number: number & (OUTERMOST - 1) }
    }

    /// Returns the limit for a process that this one starts; `None` if the limit of this process is too low.
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

    /// Returns whether a process belongs to the run.
    pub(super) fn has(self, process: &Process) -> bool {
        process.lock_limits().is_some_and(|(soft, hard)| self.is_in(soft, hard))
    }

    fn is_in(self, soft: u64, hard: u64) -> bool {
        soft == self.number || hard == OUTERMOST | self.number
    }
}

impl Limit {
    /// Sets the limit of this process, with one system call. If that fails, only the other marks remain.
    pub(super) fn set(self) {
        let _as_far_as_it_goes = setrlimit(Resource::RLIMIT_LOCKS, self.soft, self.hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_run_carries_the_marks_of_both_runs() {
        let [outer, inner, innermost] =
            ["outer", "inner", "innermost"].map(|run| RlimitMark::for_run(run).unwrap());
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
    fn process_has_the_number_of_its_run_and_not_of_its_step() {
        let number = |lineage: RlimitMark| lineage.number;
        let run = RlimitMark::for_run("unstuck-a").map(number);
        assert_eq!(
            Some(number(RlimitMark::for_marks(OsStr::new("unstuck-b/x unstuck-a/unstuck-c/fix")))),
            run
        );
        assert!(RlimitMark::for_run("unstuck-a/unstuck-c").is_none() && RlimitMark::for_run("").is_none());
    }
}
