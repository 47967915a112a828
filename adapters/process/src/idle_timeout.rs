//! Decides whether a silent process is busy, done, waiting for input, or stuck.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use unstuck_core::event::Exit;
use unstuck_core::interactive_prompt::is_prompt;
use unstuck_core::workflow::StallProbe;

use crate::stall_probe::ProbeResult;

/// Time without activity after a verdict or a prompt until the process is ended.
const SETTLED: Duration = Duration::from_secs(60);

/// Longest and shortest interval between two checks.
const CHECK_MAX: Duration = Duration::from_secs(5);
const CHECK_MIN: Duration = Duration::from_millis(20);

/// A process that uses less than 1/100 of a processor is idle: even a waiting program checks the clock.
const IDLE_SHARE: u32 = 100;

/// Rules for ending a silent process.
#[derive(Clone, Debug)]
pub struct IdlePolicy {
    /// Maximum time without output, processor time, or a changed file in its working folder.
    pub idle: Duration,
    /// Verdict file. Once it exists, a silent process is ended after a minute.
    pub verdict: Option<PathBuf>,
    /// Command that reports whether a silent process makes progress.
    pub probe: Option<StallProbe>,
}

impl IdlePolicy {
    /// Never ends a silent process.
    pub const ENDLESS: Self = Self { idle: Duration::MAX, verdict: None, probe: None };
}

fn interval(probe: &StallProbe) -> Duration {
    Duration::from_millis(probe.interval.0)
}

/// The silence of one process.
pub(super) struct IdleTimer {
    patience: IdlePolicy,
    since: Instant,
    checked_at: Instant,
    /// Processor time of its group at the last check.
    busy: Duration,
    /// Time of the last probe, and how often in a row it reported a stall.
    probed: Instant,
    stalled: u32,
}

impl IdleTimer {
    pub(super) fn new(patience: IdlePolicy, now: Instant) -> Self {
        Self { patience, since: now, checked_at: now, busy: Duration::ZERO, probed: now, stalled: 0 }
    }

    /// Restarts the timer after output.
    pub(super) fn restart(&mut self, now: Instant) {
        self.since = now;
    }

    /// Returns the probe if it is time to run it.
    pub(super) fn probe(&mut self, now: Instant) -> Option<StallProbe> {
        let probe = self.patience.probe.clone()?;
        let quiet_since = self.since.max(self.probed);
        (now - quiet_since >= interval(&probe)).then(|| {
            self.probed = now;
            probe
        })
    }

    /// Records the result of a probe. Returns the exit if it ends the process.
    pub(super) fn on_probe_result(&mut self, result: &ProbeResult, now: Instant) -> Option<Exit> {
        let most = self.patience.probe.as_ref().map_or(1, |probe| probe.stall_threshold);
        match result {
            ProbeResult::Nothing(_) => None,
            ProbeResult::Progressing => {
                self.stalled = 0;
                self.since = now;
                None
            }
            ProbeResult::Stalled => {
                self.stalled = self.stalled.saturating_add(1);
                (self.stalled >= most).then(|| Exit::Probed("stalled".to_owned()))
            }
            ProbeResult::Terminal => Some(Exit::Probed("terminal".to_owned())),
        }
    }

    /// Returns the time of the next check, if there is one.
    pub(super) fn next_check(&self) -> Option<Instant> {
        let shortest = self.patience.probe.as_ref().map_or(Duration::MAX, interval);
        let shortest = shortest.min(self.patience.idle);
        let pause = (shortest / 8).clamp(CHECK_MIN, CHECK_MAX);
        (shortest < Duration::MAX).then(|| self.checked_at + pause)
    }

    /// Checks the process, and returns the exit if it is to end. `busy` is the processor time of it and its
    /// descendants; without it, the process counts as active.
    pub(super) fn check(
        &mut self,
        now: Instant,
        busy: Option<Duration>,
        last_line: &str,
        cwd: &Path,
    ) -> Option<Exit> {
        let used = busy.map(|busy| busy.abs_diff(self.busy) * IDLE_SHARE);
        if used.is_none_or(|used| used > now - self.checked_at) {
            self.since = now;
        }
        (self.checked_at, self.busy) = (now, busy.unwrap_or_default());
        let silent = now - self.since;
        let settled = silent >= SETTLED.min(self.patience.idle);
        if settled && self.patience.verdict.as_deref().is_some_and(is_written) {
            return Some(Exit::Settled);
        }
        if settled && is_prompt(last_line) {
            return Some(Exit::Asks(last_line.trim().to_owned()));
        }
        if silent < self.patience.idle {
            return None;
        }
        if has_changed_within(cwd, silent) {
            self.since = now;
            return None;
        }
        Some(Exit::Idle)
    }
}

fn is_written(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Returns whether a file or folder below `folder` changed within the time span.
fn has_changed_within(folder: &Path, span: Duration) -> bool {
    let Some(since) = SystemTime::now().checked_sub(span) else { return true };
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.modified().is_ok_and(|modified| modified > since) {
                return true;
            }
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    false
}
