//! Starts the program and others, and tells what they have used of the machine.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The workspace; the state folder is next to it.
pub fn workspace(scratch: &Path) -> PathBuf {
    scratch.join("work")
}

/// Returns the program in the workspace.
pub fn unstuck(scratch: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unstuck"));
    let state = scratch.join("state");
    command.current_dir(workspace(scratch)).env("XDG_STATE_HOME", state).env_remove("UNSTUCK_STORE");
    command
}

/// Runs a command to its end, in silence.
pub fn run(command: &mut Command) -> ExitStatus {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("the command can be started")
}

/// Measures so often, and returns what each took, the shortest first.
pub fn spans<T>(times: usize, mut work: impl FnMut() -> T) -> Vec<Duration> {
    let once = || {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    let mut spans: Vec<Duration> = std::iter::repeat_with(once).take(times).collect();
    spans.sort();
    spans
}

/// Returns a time as it is printed.
pub fn ms(span: Duration) -> String {
    format!("{:.2} ms", span.as_secs_f64() * 1e3)
}

/// Resource usage of all child processes that have been waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Time on a processor.
    pub cpu: Duration,
    /// Maximum memory of one child, in MB.
    pub peak_mb: f64,
}

impl Usage {
    /// Asks the system. What it does not know is zero.
    #[cfg(unix)]
    pub fn of_children() -> Self {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::{TimeVal, TimeValLike as _};
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage");
        let span = |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
        Self {
            cpu: span(usage.user_time()) + span(usage.system_time()),
            peak_mb: usage.max_rss() as f64 / 1024.0,
        }
    }

    /// Returns zero: here only handles that are still open could tell.
    #[cfg(windows)]
    pub fn of_children() -> Self {
        Self::default()
    }
}
