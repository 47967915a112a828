//! What a process that says nothing is up to: busy, done, waiting for a person, or stuck.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use unstuck_core::event::Exit;
use unstuck_core::interactive_prompt::is_prompt;
use unstuck_core::workflow::Probe;

use crate::stall_probe::ProbeResult;

/// How long a verdict or a prompt must have been the last sign of life.
const SETTLED: Duration = Duration::from_secs(60);

/// How often a process is looked at, at most and at least.
const LOOK_MAX: Duration = Duration::from_secs(5);
const LOOK_MIN: Duration = Duration::from_millis(20);

/// Less of a processor than one part in so many is no activity: a program that waits looks at the clock.
const IDLE_SHARE: u32 = 100;

/// When a silent process is ended.
#[derive(Clone, Debug)]
pub struct IdlePolicy {
    /// How long it may do nothing: no output, no processor time, no change of a file in its working folder.
    pub idle: Duration,
    /// Where it writes its verdict. When that is there, it need not be waited for much longer.
    pub verdict: Option<PathBuf>,
    /// Who knows what it is up to while it is silent.
    pub probe: Option<Probe>,
}

impl IdlePolicy {
    /// Never ends a process for its silence.
    pub const ENDLESS: Self = Self { idle: Duration::MAX, verdict: None, probe: None };
}

fn interval(probe: &Probe) -> Duration {
    Duration::from_millis(probe.interval.0)
}

/// The silence of one process.
pub(super) struct IdleTimer {
    patience: IdlePolicy,
    since: Instant,
    looked: Instant,
    /// Processor time of all that belongs to it, at the last look.
    busy: Duration,
    /// When a probe was asked last, and how often in a row it has said that the process stalls.
    probed: Instant,
    stalled: u32,
}

impl IdleTimer {
    pub(super) fn new(patience: IdlePolicy, now: Instant) -> Self {
        Self { patience, since: now, looked: now, busy: Duration::ZERO, probed: now, stalled: 0 }
    }

    /// It has printed something.
    pub(super) fn broken(&mut self, now: Instant) {
        self.since = now;
    }

    /// Returns the probe, if it is time to ask it.
    pub(super) fn probe(&mut self, now: Instant) -> Option<Probe> {
        let probe = self.patience.probe.clone()?;
        let quiet_since = self.since.max(self.probed);
        (now - quiet_since >= interval(&probe)).then(|| {
            self.probed = now;
            probe
        })
    }

    /// Takes what a probe says; returns how the process ends, if it does.
    pub(super) fn hear(&mut self, says: &ProbeResult, now: Instant) -> Option<Exit> {
        let most = self.patience.probe.as_ref().map_or(1, |probe| probe.stall_threshold);
        match says {
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

    /// Returns when to look again, if ever.
    pub(super) fn next_look(&self) -> Option<Instant> {
        let shortest = self.patience.probe.as_ref().map_or(Duration::MAX, interval);
        let shortest = shortest.min(self.patience.idle);
        let pause = (shortest / 8).clamp(LOOK_MIN, LOOK_MAX);
        (shortest < Duration::MAX).then(|| self.looked + pause)
    }

    /// Looks at it. `busy` is the processor time that it and its descendants have used; where that is not
    /// known it counts as busy.
    pub(super) fn look(
        &mut self,
        now: Instant,
        busy: Option<Duration>,
        last_line: &str,
        cwd: &Path,
    ) -> Option<Exit> {
        let used = busy.map(|busy| busy.abs_diff(self.busy) * IDLE_SHARE);
        if used.is_none_or(|used| used > now - self.looked) {
            self.since = now;
        }
        (self.looked, self.busy) = (now, busy.unwrap_or_default());
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

/// Says whether a file or folder below `folder` was changed so lately.
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
