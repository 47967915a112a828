//! Runs one process to its end: a worker, a check, a validator.
//!
//! A process ends with its *exit*, not with the end of its output. Processes that it leaves behind get [`LINGER`] to
//! finish on their own (so that `exec > >(tee log)` works), then TERM, and KILL after the grace period. Some clients
//! get another signal first.
//!
//! These processes belong to it:
//!
//! - On Linux, all in its session and process group, all with its mark in their environment ([`MARK`](crate::MARK)),
//!   and all descendants of those. An orphan that cleared its environment *and* left the session is found by its
//!   descent or, if its supervisor is dead, by its resource limit (`rlimit_mark.rs`).
//! - On other Unix systems, all in its process group.
//! - On Windows, all in its job object, which no process can leave.
//!
//! A process that leaves nothing behind costs its spawn and a few system calls: `/proc` is searched only if there is a
//! sign of leftover processes (see `group/mod.rs`). The redactor writes output into blobs while the process runs, so
//! memory does not grow with the output.

use std::collections::BTreeSet;
use std::future;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;
use std::vec;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use unstuck_core::client;
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::id::Millis;
use unstuck_core::interactive_prompt::is_prompt;
use unstuck_store::blobs::BlobStore;

use crate::child::{ChildProcess, signal_of};
use crate::group::{EndMethod, ProcessGroup, ProcessIdentity};
use crate::idle_timeout::IdleTimer;
use crate::output::{self, Capture};
use crate::redact::Redactor;
use crate::spawn;
use crate::spec::{EndReason, OutputListener, Pipe, ProcessSpec, StopReceiver, StopRequest};
use crate::stall_probe::{self, ProbeResult};

/// Time in which leftover processes may finish on their own.
pub const LINGER: Duration = Duration::from_millis(500);

/// Interval between two checks for leftover processes; not used if there are none.
const POLL: Duration = Duration::from_millis(10);

/// Time in which a killed process must end.
const GIVE_UP: Duration = Duration::from_secs(2);

/// Time within which the order of output on two pipes is unknown.
const TOGETHER: Duration = Duration::from_millis(100);

/// Time in which a client must exit after it reported its end.
const AFTER_END: Duration = Duration::from_secs(10);

/// Far enough in the future to mean never.
const NEVER: Duration = Duration::from_secs(30 * 365 * 86_400);

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// Runs a process to its end. Never fails: the outcome holds errors. Dropping the future kills the process and its
/// group.
///
/// Must be called on a tokio runtime with time and IO enabled.
pub async fn run(
    spec: ProcessSpec,
    blobs: &dyn BlobStore,
    redactor: &Redactor,
    mut stop: StopReceiver,
    audience: &mut impl OutputListener,
) -> Outcome {
    let begun = Instant::now();
    if *stop.borrow() != StopRequest::Run {
        return Outcome::from_exit(Exit::Stopped);
    }
    let child = match spawn::spawn(&spec).await {
        Ok(child) => child,
        Err(reason) => return Outcome::from_exit(Exit::CouldNotStart(reason)),
    };
    let mut supervised = Supervised::new(child, spec, blobs, redactor, begun);
    supervised.watch(&mut stop, audience).await;
    supervised.finish(audience).await
}

/// Phase of a process. Every phase but the last has a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It runs until the time limit.
    Working,
    /// It has exited; leftover processes may finish on their own.
    Lingering { until: Instant },
    /// It, or its leftover processes, got a signal to end.
    Signaled { until: Instant },
    /// It, or its leftover processes, were killed.
    Killed { until: Instant },
    /// Nothing is left to wait for.
    Over,
}

/// Event that the supervisor waits for.
enum WakeEvent {
    Output(usize),
    Error(usize),
    Input(Option<usize>),
    Exited(io::Result<ExitStatus>),
    Stop(StopRequest),
    Time,
    Look,
    Probe(ProbeResult),
    Audience,
}

struct Supervised<'a> {
    /// Before the process, because it is dropped first: it kills before the process id is free.
    group: ProcessGroup,
    child: ChildProcess,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    stdin: Option<ChildStdin>,
    input: Vec<u8>,
    written: usize,
    out: Capture<'a>,
    err: Capture<'a>,
    begun: Instant,
    duration: Option<Duration>,
    cwd: PathBuf,
    /// Bytes that it may still print.
    output_left: u64,
    silence: IdleTimer,
    /// Time of the last output on each pipe: a question is on the later one.
    spoke_at: (Instant, Instant),
    /// Remaining signals to end it; TERM is the last one.
    asks: vec::IntoIter<client::StopSignal>,
    grace: Duration,
    phase: Phase,
    /// Time limit.
    deadline: Instant,
    /// Next time to check the phase.
    wake: Instant,
    stop_seen: StopRequest,
    ended_by: Option<Exit>,
    /// Whether it reported its end and got time to exit.
    has_reported_end: bool,
    status: Option<io::Result<ExitStatus>>,
    /// Whether nothing was read since the last check.
    idle: bool,
    left_behind: BTreeSet<ProcessIdentity>,
    notes: Vec<String>,
    /// Results of its probe.
    ask_probe: mpsc::UnboundedSender<ProbeResult>,
    probe_results: mpsc::UnboundedReceiver<ProbeResult>,
    has_noted_probe: bool,
}

impl<'a> Supervised<'a> {
    fn new(
        mut child: ChildProcess,
        spec: ProcessSpec,
        blobs: &'a dyn BlobStore,
        redactor: &Redactor,
        begun: Instant,
    ) -> Self {
        let (ask_probe, probe_results) = mpsc::unbounded_channel();
        let mut asks = spec.asks;
        if !asks.contains(&client::StopSignal::Term) {
            asks.push(client::StopSignal::Term);
        }
        Self {
            asks: asks.into_iter(),
            ask_probe,
            probe_results,
            group: ProcessGroup::new(child.id(), &spec.mark),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            stdin: child.stdin.take(),
            child,
            input: spec.stdin,
            written: 0,
            out: Capture::new(Pipe::Output, Outcome::ANSWER_MAX, blobs, redactor),
            err: Capture::new(Pipe::Error, 4 * Outcome::TAIL_MAX, blobs, redactor),
            begun,
            duration: None,
            cwd: spec.cwd,
            output_left: spec.output_max,
            silence: IdleTimer::new(spec.patience, begun),
            spoke_at: (begun, begun),
            grace: spec.grace,
            phase: Phase::Working,
            deadline: begun + spec.limit.min(NEVER),
            wake: begun + spec.limit.min(NEVER),
            stop_seen: StopRequest::Run,
            ended_by: None,
            has_reported_end: false,
            has_noted_probe: false,
            status: None,
            idle: false,
            left_behind: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    /// Waits until all processes have ended.
    async fn watch(&mut self, stop: &mut StopReceiver, audience: &mut dyn OutputListener) {
        let mut out = vec![0; CHUNK];
        let mut err = vec![0; CHUNK];
        while self.phase != Phase::Over {
            let woken = tokio::select! {
                size = read(&mut self.stdout, &mut out) => WakeEvent::Output(size),
                size = read(&mut self.stderr, &mut err) => WakeEvent::Error(size),
                size = write(&mut self.stdin, &self.input[self.written..]) => WakeEvent::Input(size),
                status = self.child.wait(), if self.status.is_none() => WakeEvent::Exited(status),
                asked = next_stop(stop, self.stop_seen) => WakeEvent::Stop(asked),
                () = sleep_until(self.wake) => WakeEvent::Time,
                () = sleep_until_if(self.silence.next_check()), if self.phase == Phase::Working => WakeEvent::Look,
                Some(result) = self.probe_results.recv(), if self.phase == Phase::Working => WakeEvent::Probe(result),
                () = sleep_until_if(audience.wake_at()) => WakeEvent::Audience,
            };
            self.idle &= !matches!(woken, WakeEvent::Output(_) | WakeEvent::Error(_));
            match woken {
                WakeEvent::Output(0) => self.stdout = None,
                WakeEvent::Error(0) => self.stderr = None,
                WakeEvent::Output(size) | WakeEvent::Error(size) if !self.count_output(size) => {}
                WakeEvent::Output(size) => {
                    self.spoke_at.0 = Instant::now();
                    self.out.take(&out[..size], audience);
                    self.on_output(audience);
                }
                WakeEvent::Error(size) => {
                    self.spoke_at.1 = Instant::now();
                    self.silence.restart(self.spoke_at.1);
                    self.err.take(&err[..size], audience);
                }
                WakeEvent::Input(size) => self.on_written(size),
                WakeEvent::Exited(status) => self.on_exit(status),
                WakeEvent::Stop(asked) => self.on_stop(asked),
                WakeEvent::Time => self.on_time(),
                WakeEvent::Look => self.on_look(),
                WakeEvent::Probe(result) => self.on_probe(result),
                WakeEvent::Audience => audience.woken(),
            }
            if self.is_quiet() {
                self.phase = Phase::Over;
            }
        }
    }

    /// Counts printed bytes, and ends a process that prints too much.
    fn count_output(&mut self, size: usize) -> bool {
        let left = self.output_left.checked_sub(u64::try_from(size).unwrap_or(u64::MAX));
        self.output_left = left.unwrap_or(0);
        if left.is_none() && self.ended_by.is_none() {
            self.ended_by = Some(Exit::Flooded);
            self.ask();
        }
        left.is_some()
    }

    /// Output that only reports waiting counts as silence, because some clients would wait forever.
    fn on_output(&mut self, audience: &mut dyn OutputListener) {
        if audience.has_moved() {
            self.silence.restart(Instant::now());
        }
        match audience.enough() {
            Some(EndReason::Hopeless) if self.phase == Phase::Working => {
                self.ended_by = Some(Exit::Hopeless);
                self.ask();
            }
            Some(EndReason::Reported) if self.phase == Phase::Working && !self.has_reported_end => {
                self.has_reported_end = true;
                self.wake = self.deadline.min(Instant::now() + AFTER_END);
            }
            // Some clients report their end and then continue.
            None if self.phase == Phase::Working && self.has_reported_end => {
                self.has_reported_end = false;
                self.wake = self.deadline;
            }
            _ => {}
        }
    }

    fn on_written(&mut self, size: Option<usize>) {
        self.written += size.unwrap_or(0);
        // A process may ignore its input.
        if size.is_none() || self.written == self.input.len() {
            self.stdin = None;
        }
    }

    fn on_exit(&mut self, status: io::Result<ExitStatus>) {
        self.group.mark_leader_ended();
        self.duration = Some(self.begun.elapsed());
        self.status = Some(status);
        self.stdin = None;
        let now = Instant::now();
        self.wake = now + POLL;
        match self.phase {
            Phase::Working => self.phase = Phase::Lingering { until: now + LINGER },
            // Leftover processes of a client do not handle its signals.
            Phase::Signaled { .. } if self.asks.len() > 0 => self.ask(),
            _ => {}
        }
    }

    fn on_stop(&mut self, asked: StopRequest) {
        self.stop_seen = asked;
        if self.status.is_none() && self.ended_by.is_none() {
            self.ended_by = Some(Exit::Stopped);
        }
        match (asked, self.phase) {
            (StopRequest::StopNow, _) => self.kill(),
            (StopRequest::Stop, Phase::Working | Phase::Lingering { .. }) => self.ask(),
            _ => {}
        }
    }

    fn on_time(&mut self) {
        let now = Instant::now();
        match self.phase {
            Phase::Working => {
                self.ended_by = Some(if self.has_reported_end { Exit::Settled } else { Exit::TimedOut });
                self.ask();
            }
            Phase::Lingering { until } if now >= until => self.ask(),
            Phase::Lingering { .. } => self.wake = now + POLL,
            Phase::Signaled { until } => self.check_again(until, Self::ask),
            Phase::Killed { until } => self.check_again(until, Self::give_up),
            Phase::Over => {}
        }
    }

    fn on_probe(&mut self, result: ProbeResult) {
        if let ProbeResult::Nothing(why) = &result
            && !std::mem::replace(&mut self.has_noted_probe, true)
        {
            self.notes.push(format!(
                "its probe told nothing: {why}, and printed no word that says `progressing` (0), `stalled` (1) or `terminal` (2)"
            ));
        }
        if let Some(exit) = self.silence.on_probe_result(&result, Instant::now()) {
            self.ended_by = Some(exit);
            self.ask();
        }
    }

    /// Checks a silent process, and ends it if it waits for nothing.
    fn on_look(&mut self) {
        if let Some(probe) = self.silence.probe(Instant::now()) {
            stall_probe::run_probe(probe, self.cwd.clone(), self.ask_probe.clone());
        }
        let (out_at, err_at) = self.spoke_at;
        let mut lines = [self.out.last_line(), self.err.last_line()];
        if err_at > out_at {
            lines.reverse();
        }
        let mut lines = lines.into_iter().flatten();
        let is_together = out_at.max(err_at) - out_at.min(err_at) < TOGETHER;
        let prompt = lines.clone().find(|line| is_together && is_prompt(line));
        let last_line = prompt.or_else(|| lines.next()).unwrap_or_default();
        let busy = self.group.processor_time();
        self.ended_by = self.silence.check(Instant::now(), busy, &last_line, &self.cwd);
        if self.ended_by.is_some() {
            self.ask();
        }
    }

    fn check_again(&mut self, until: Instant, otherwise: fn(&mut Self)) {
        let now = Instant::now();
        if self.has_processes_left() {
            if now >= until {
                otherwise(self);
            } else {
                self.wake = if self.status.is_some() { now + POLL } else { until };
            }
        } else {
            self.phase = Phase::Over;
        }
    }

    /// Sends the next signal, or kills it if there is none left.
    fn ask(&mut self) {
        let Some(signal) = self.next_ask() else { return self.kill() };
        self.signal(EndMethod::Ask(signal));
        self.wake = Instant::now() + if self.status.is_some() { POLL } else { self.grace };
        self.phase = Phase::Signaled { until: Instant::now() + self.grace };
        self.idle = false;
    }

    fn next_ask(&mut self) -> Option<client::StopSignal> {
        match self.status {
            Some(_) => self.asks.by_ref().last().map(|_| client::StopSignal::Term),
            None => self.asks.next(),
        }
    }

    fn kill(&mut self) {
        self.signal(EndMethod::Kill);
        let _already_gone = self.child.start_kill();
        self.wake = Instant::now() + POLL;
        self.phase = Phase::Killed { until: Instant::now() + GIVE_UP };
        self.idle = false;
    }

    fn signal(&mut self, how: EndMethod) {
        let reached = self.group.signal(how);
        if self.status.is_some() {
            self.left_behind.extend(reached);
        }
    }

    fn give_up(&mut self) {
        let count = self.left_behind.len().max(usize::from(self.status.is_none()));
        self.notes.push(format!("could not end {count} of its processes: they do not go when killed"));
        self.phase = Phase::Over;
    }

    /// Returns whether processes are left after a signal to end.
    fn has_processes_left(&mut self) -> bool {
        if self.status.is_none() {
            return true;
        }
        let left = match self.phase {
            // Also ends those that started since the last check.
            Phase::Killed { .. } => self.group.signal(EndMethod::Kill),
            _ => self.group.members(),
        };
        let nobody = left.is_empty();
        self.left_behind.extend(left);
        // Read once more: the last processes may have written.
        let was_idle = std::mem::replace(&mut self.idle, true);
        if nobody && was_idle && (self.stdout.is_some() || self.stderr.is_some()) {
            let note = "a process that is not one of its own still holds its output open; it was left alone";
            self.notes.push(note.to_owned());
        }
        !(nobody && was_idle)
    }

    /// Returns whether the process and its descendants are gone, by a cheap check.
    fn is_quiet(&self) -> bool {
        self.status.is_some() && self.stdout.is_none() && self.stderr.is_none() && self.group.is_empty()
    }

    async fn finish(mut self, audience: &mut dyn OutputListener) -> Outcome {
        self.group.release();
        let out = self.out.finish(audience).await;
        let err = self.err.finish(audience).await;
        let mut notes = self.notes;
        if out.cut && !audience.reads_output() {
            notes.push(format!(
                "the answer is the last {} KiB of standard output",
                Outcome::ANSWER_MAX / 1024
            ));
        }
        let duration = self.duration.unwrap_or_else(|| self.begun.elapsed());
        Outcome {
            exit: self.ended_by.unwrap_or_else(|| exit_from_status(self.status)),
            duration: Millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)),
            answer: output::text(&out.tail, out.cut, Outcome::ANSWER_MAX),
            stderr_tail: output::text(output::plain(&err.tail).as_bytes(), err.cut, Outcome::TAIL_MAX),
            stdout: out.blob,
            stderr: err.blob,
            processes_ended: u32::try_from(self.left_behind.len()).unwrap_or(u32::MAX),
            redactions: out.redactions.saturating_add(err.redactions),
            notes,
            fatal: out.trouble.or(err.trouble),
            reading: None,
            resets_at: None,
        }
    }
}

fn exit_from_status(status: Option<io::Result<ExitStatus>>) -> Exit {
    match status {
        Some(Ok(status)) => match (status.code(), signal_of(status)) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal),
        },
        Some(Err(error)) => Exit::CouldNotStart(format!("lost track of the process: {error}")),
        None => Exit::Stopped,
    }
}

async fn sleep_until_if(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => future::pending().await,
    }
}

/// Reads a piece; 0 is the end. Waits forever without a pipe.
async fn read(pipe: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => future::pending().await,
    }
}

/// Writes a piece; `None` if the reader is gone. Waits forever without a pipe.
async fn write(pipe: &mut Option<ChildStdin>, bytes: &[u8]) -> Option<usize> {
    match pipe {
        Some(pipe) => pipe.write(bytes).await.ok(),
        None => future::pending().await,
    }
}

/// Waits for a request that goes beyond the one that was `seen`.
async fn next_stop(stop: &mut StopReceiver, seen: StopRequest) -> StopRequest {
    let asked = stop.wait_for(|asked| *asked > seen).await.map(|asked| *asked);
    match asked {
        Ok(asked) => asked,
        Err(_sender_is_gone) => future::pending().await,
    }
}
