//! Reads the processes of Linux from `/proc`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::time::Duration;

/// A process, as `/proc/<pid>/stat` describes it. Its id and start time together are unique.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    pub(super) session: i32,
    /// Clock ticks since the system started.
    pub(super) start: u64,
    pub(super) is_zombie: bool,
    /// Processor time of the process and of the children that it has waited for.
    pub(super) busy: Duration,
}

/// Clock tick: `sysconf(_SC_CLK_TCK)` is 100 on all current systems.
const TICK: Duration = Duration::from_millis(10);

impl Process {
    /// Reads one process; `None` if it does not exist.
    pub(super) fn read(pid: i32) -> Option<Self> {
        Self::parse(pid, &contents(&format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        // The name may hold anything, including spaces and parentheses.
        let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let fields = std::str::from_utf8(&stat[after_name..]).ok()?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let number = |index: usize| fields.get(index)?.parse().ok();
        Some(Self {
            pid,
            parent: number(1)?,
            group: number(2)?,
            session: number(3)?,
            start: fields.get(19)?.parse().ok()?,
            busy: TICK
                * (11..=14)
                    .filter_map(|index| number(index).and_then(|ticks| u32::try_from(ticks).ok()))
                    .sum::<u32>(),
            is_zombie: matches!(*fields.first()?, "Z" | "X"),
        })
    }

    /// Returns the marks that the process was started with. `None` if its environment is empty, as during an
    /// `exec`.
    pub(super) fn marks(&self) -> Option<EnvMarks> {
        let environment = contents(&format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        (!environment.is_empty()).then_some(EnvMarks(environment))
    }

    /// Returns the soft and hard limit of file locks, which Linux does not use. `None` if the process has no limit.
    pub(super) fn lock_limits(&self) -> Option<(u64, u64)> {
        parse_limits(&contents(&format!("/proc/{}/limits", self.pid)).ok()?)
    }
}

fn parse_limits(limits: &[u8]) -> Option<(u64, u64)> {
    let limits = std::str::from_utf8(limits).ok()?;
    let mut words = limits.lines().find_map(|line| line.strip_prefix("Max file locks"))?.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

/// The marks in the environment of a process.
pub(super) struct EnvMarks(Vec<u8>);

impl EnvMarks {
    pub(super) fn any(&self, wanted: impl Fn(&[u8]) -> bool) -> bool {
        self.0
            .split(|&byte| byte == 0)
            .filter_map(|entry| entry.strip_prefix(crate::spec::MARK.as_bytes())?.strip_prefix(b"="))
            .any(|marks| marks.split(|&byte| byte == b' ').any(&wanted))
    }
}

/// Reads a file of size 0. The initial capacity saves four of six system calls.
fn contents(file: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(1024);
    File::open(file)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns all visible processes.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::read)
        .collect()
}

/// Returns the children of the main thread: adopted orphans, and processes that this thread started.
///
/// Empty if the kernel was built without `CONFIG_PROC_CHILDREN`.
pub(super) fn adopted() -> Vec<i32> {
    let pids = contents(&format!("/proc/self/task/{}/children", std::process::id())).unwrap_or_default();
    let pids = String::from_utf8_lossy(&pids);
    pids.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Returns the wanted processes and all their descendants, without zombies.
pub(super) fn with_descendants(all: Vec<Process>, wanted: impl Fn(&Process) -> bool) -> Vec<Process> {
    let mut found: BTreeSet<i32> =
        all.iter().filter(|process| wanted(process)).map(|process| process.pid).collect();
    loop {
        let children: Vec<i32> = all
            .iter()
            .filter(|process| found.contains(&process.parent) && !found.contains(&process.pid))
            .map(|process| process.pid)
            .collect();
        if children.is_empty() {
            break;
        }
        found.extend(children);
    }
    all.into_iter().filter(|process| found.contains(&process.pid) && !process.is_zombie).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = b"42 (a) R 1 (b c) S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";
        let process = Process::parse(42, stat).unwrap();
        assert_eq!((process.parent, process.group, process.session, process.start), (7, 42, 41, 987_654));
        assert!(!process.is_zombie);
        assert!(Process::parse(42, b"nonsense").is_none());
        assert!(Process::parse(42, b"42 (x) Z 1").is_none());
    }

    #[test]
    fn limits_are_read_where_there_are_any() {
        let limits = |soft, hard| {
            format!(
                "Max processes  7  8  processes\nMax file locks            {soft:<20} {hard:<20} locks     \n"
            )
        };
        assert_eq!(parse_limits(limits("5", "4611686018427387905").as_bytes()), Some((5, (1 << 62) + 1)));
        assert_eq!(parse_limits(limits("unlimited", "unlimited").as_bytes()), None);
        assert_eq!(parse_limits(b"Max processes  7  8  processes\n"), None);
    }

    #[test]
    fn this_process_is_there() {
        let me = i32::try_from(std::process::id()).unwrap();
        assert!(all().iter().any(|process| process.pid == me && process.start > 0));
    }
}
