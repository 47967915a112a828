//! Runs one process to its end: a worker, a check, a validator.
//!
//! What counts is the *exit* of the process, not the end of its output. When it has exited, what it
//! left behind is given [`LINGER`] to finish by itself (so that `exec > >(tee log)` works), then it
//! is asked to end (TERM), and after the grace it is made to (KILL). Some clients are asked by another signal first.
//!
//! What belongs to a process, on Linux: all in its session and process group, all that carry its
//! mark in their environment ([`MARK`](crate::MARK)), and all descendants of those. A process that clears its
//! environment *and* leaves the session *and* is given up by its parent is found by its descent, and
//! when its supervisor is dead by its lineage (`rlimit_mark.rs`). On other Unix systems: all in its process
//! group. On Windows: all in its job object, which nothing leaves.
//!
//! A process that leaves nothing behind costs its spawn and a handful of system calls: `/proc` is
//! searched only when there is a sign that something was left (see `group.rs`), and nothing sleeps.
//! Output goes through the redactor into blobs while it is produced; memory does not grow with it.

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

use crate::child::{Child, signal_of};
use crate::group::{self, Group, How};
use crate::idle_timeout::IdleTimer;
use crate::output::{self, Capture};
use crate::redact::Redactor;
use crate::spawn;
use crate::spec::{EndReason, OutputListener, Pipe, ProcessSpec, StopRequest, StopSignal};
use crate::stall_probe::{self, ProbeResult};

/// How long what a process left behind may take to finish by itself.
pub const LINGER: Duration = Duration::from_millis(500);

/// How often it is looked whether what was left behind is gone; never on the normal path.
const POLL: Duration = Duration::from_millis(10);

/// How long a killed process may take to go.
const GIVE_UP: Duration = Duration::from_secs(2);

/// What was printed on two pipes within such a time may have been printed in either order.
const TOGETHER: Duration = Duration::from_millis(100);

/// How long a client that has told its end may take to leave.
const AFTER_END: Duration = Duration::from_secs(10);

/// Far enough in the future to mean never.
const NEVER: Duration = Duration::from_secs(30 * 365 * 86_400);

/// Bytes read at a time.
const CHUNK: usize = 64 * 1024;

/// Runs a process to its end. Never fails: what went wrong is in the outcome. Dropping the future kills the process and its group.
///
/// Must be called on a tokio runtime with time and IO enabled.
pub async fn run(
    spec: ProcessSpec,
    blobs: &dyn BlobStore,
    redactor: &Redactor,
    mut stop: StopSignal,
    audience: &mut impl OutputListener,
) -> Outcome {
    let begun = Instant::now();
    if *stop.borrow() != StopRequest::Run {
        return Outcome::of(Exit::Stopped);
    }
    let child = match spawn::spawn(&spec).await {
        Ok(child) => child,
        Err(reason) => return Outcome::of(Exit::CouldNotStart(reason)),
    };
    let mut supervised = Supervised::new(child, spec, blobs, redactor, begun);
    supervised.watch(&mut stop, audience).await;
    supervised.finish(audience).await
}

/// Where a process stands. Every phase but the last ends at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It runs, until its time is up.
    Working,
    /// It has exited; what it left behind may finish by itself.
    Lingering { until: Instant },
    /// It, or what it left behind, was asked to end.
    Asked { until: Instant },
    /// It, or what it left behind, was killed.
    Killed { until: Instant },
    /// Nothing is left to wait for.
    Over,
}

/// What woke us.
enum Woken {
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
    /// Before the process itself: dropped in this order, it kills while the id is not yet free.
    group: Group,
    child: Child,
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
    /// How many bytes it may still print.
    output_left: u64,
    silence: IdleTimer,
    /// When it printed last, on either pipe: what it asks stands where that was later.
    spoke_at: (Instant, Instant),
    /// How it will be asked to end; TERM is the last way.
    asks: vec::IntoIter<client::StopSignal>,
    grace: Duration,
    phase: Phase,
    /// When its time is up.
    deadline: Instant,
    /// When the phase is looked at again.
    wake: Instant,
    stop_seen: StopRequest,
    ended_by: Option<Exit>,
    /// It has told its end, and was given time to leave.
    has_told: bool,
    status: Option<io::Result<ExitStatus>>,
    /// Nothing was read since the last look.
    idle: bool,
    left_behind: BTreeSet<group::Identity>,
    notes: Vec<String>,
    /// What its probe says.
    ask_probe: mpsc::UnboundedSender<ProbeResult>,
    said: mpsc::UnboundedReceiver<ProbeResult>,
    has_noted_probe: bool,
}

impl<'a> Supervised<'a> {
    fn new(
        mut child: Child,
        spec: ProcessSpec,
        blobs: &'a dyn BlobStore,
        redactor: &Redactor,
        begun: Instant,
    ) -> Self {
        let (ask_probe, said) = mpsc::unbounded_channel();
        let mut asks = spec.asks;
        if !asks.contains(&client::StopSignal::Term) {
            asks.push(client::StopSignal::Term);
        }
        Self {
            asks: asks.into_iter(),
            ask_probe,
            said,
            group: Group::new(child.id(), &spec.mark),
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
            has_told: false,
            has_noted_probe: false,
            status: None,
            idle: false,
            left_behind: BTreeSet::new(),
            notes: Vec::new(),
        }
    }

    /// Waits until nothing is left to wait for.
    async fn watch(&mut self, stop: &mut StopSignal, audience: &mut dyn OutputListener) {
        let mut out = vec![0; CHUNK];
        let mut err = vec![0; CHUNK];
        while self.phase != Phase::Over {
            let woken = tokio::select! {
                size = read(&mut self.stdout, &mut out) => Woken::Output(size),
                size = read(&mut self.stderr, &mut err) => Woken::Error(size),
                size = write(&mut self.stdin, &self.input[self.written..]) => Woken::Input(size),
                status = self.child.wait(), if self.status.is_none() => Woken::Exited(status),
                asked = next_stop(stop, self.stop_seen) => Woken::Stop(asked),
                () = sleep_until(self.wake) => Woken::Time,
                () = look_at(self.silence.next_look()), if self.phase == Phase::Working => Woken::Look,
                Some(says) = self.said.recv(), if self.phase == Phase::Working => Woken::Probe(says),
                () = look_at(audience.wake_at()) => Woken::Audience,
            };
            self.idle &= !matches!(woken, Woken::Output(_) | Woken::Error(_));
            match woken {
                Woken::Output(0) => self.stdout = None,
                Woken::Error(0) => self.stderr = None,
                Woken::Output(size) | Woken::Error(size) if !self.affords(size) => {}
                Woken::Output(size) => {
                    self.spoke_at.0 = Instant::now();
                    self.out.take(&out[..size], audience);
                    self.on_output(audience);
                }
                Woken::Error(size) => {
                    self.spoke_at.1 = Instant::now();
                    self.silence.broken(self.spoke_at.1);
                    self.err.take(&err[..size], audience);
                }
                Woken::Input(size) => self.on_written(size),
                Woken::Exited(status) => self.on_exit(status),
                Woken::Stop(asked) => self.on_stop(asked),
                Woken::Time => self.on_time(),
                Woken::Look => self.on_look(),
                Woken::Probe(says) => self.on_probe(says),
                Woken::Audience => audience.woken(),
            }
            if self.is_quiet() {
                self.phase = Phase::Over;
            }
        }
    }

    /// Counts what was printed; who prints too much is ended.
    fn affords(&mut self, size: usize) -> bool {
        let left = self.output_left.checked_sub(u64::try_from(size).unwrap_or(u64::MAX));
        self.output_left = left.unwrap_or(0);
        if left.is_none() && self.ended_by.is_none() {
            self.ended_by = Some(Exit::Flooded);
            self.ask();
        }
        left.is_some()
    }

    /// What only tells that it waits is silence too: some clients would wait for ever.
    fn on_output(&mut self, audience: &mut dyn OutputListener) {
        if audience.has_moved() {
            self.silence.broken(Instant::now());
        }
        match audience.enough() {
            Some(EndReason::Hopeless) if self.phase == Phase::Working => {
                self.ended_by = Some(Exit::Hopeless);
                self.ask();
            }
            Some(EndReason::Told) if self.phase == Phase::Working && !self.has_told => {
                self.has_told = true;
                self.wake = self.deadline.min(Instant::now() + AFTER_END);
            }
            // Some tell an end, and go on after all.
            None if self.phase == Phase::Working && self.has_told => {
                self.has_told = false;
                self.wake = self.deadline;
            }
            _ => {}
        }
    }

    fn on_written(&mut self, size: Option<usize>) {
        self.written += size.unwrap_or(0);
        // A process that does not want its input is no failure.
        if size.is_none() || self.written == self.input.len() {
            self.stdin = None;
        }
    }

    fn on_exit(&mut self, status: io::Result<ExitStatus>) {
        self.group.leader_is_gone();
        self.duration = Some(self.begun.elapsed());
        self.status = Some(status);
        self.stdin = None;
        let now = Instant::now();
        self.wake = now + POLL;
        match self.phase {
            Phase::Working => self.phase = Phase::Lingering { until: now + LINGER },
            // What a client leaves behind does not know its signals.
            Phase::Asked { .. } if self.asks.len() > 0 => self.ask(),
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
                self.ended_by = Some(if self.has_told { Exit::Settled } else { Exit::TimedOut });
                self.ask();
            }
            Phase::Lingering { until } if now >= until => self.ask(),
            Phase::Lingering { .. } => self.wake = now + POLL,
            Phase::Asked { until } => self.look_again(until, Self::ask),
            Phase::Killed { until } => self.look_again(until, Self::give_up),
            Phase::Over => {}
        }
    }

    fn on_probe(&mut self, says: ProbeResult) {
        if let ProbeResult::Nothing(why) = &says
            && !std::mem::replace(&mut self.has_noted_probe, true)
        {
            self.notes.push(format!(
                "its probe told nothing: {why}, and printed no word that says `progressing` (0), `stalled` (1) or `terminal` (2)"
            ));
        }
        if let Some(exit) = self.silence.hear(&says, Instant::now()) {
            self.ended_by = Some(exit);
            self.ask();
        }
    }

    /// Ends it when there is nothing more to wait for.
    fn on_look(&mut self) {
        if let Some(probe) = self.silence.probe(Instant::now()) {
            stall_probe::ask(probe, self.cwd.clone(), self.ask_probe.clone());
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
        self.ended_by = self.silence.look(Instant::now(), busy, &last_line, &self.cwd);
        if self.ended_by.is_some() {
            self.ask();
        }
    }

    fn look_again(&mut self, until: Instant, otherwise: fn(&mut Self)) {
        let now = Instant::now();
        if self.is_there_something_left() {
            if now >= until {
                otherwise(self);
            } else {
                self.wake = if self.status.is_some() { now + POLL } else { until };
            }
        } else {
            self.phase = Phase::Over;
        }
    }

    /// Asks it to end in the next way, and makes it if there is none left.
    fn ask(&mut self) {
        let Some(signal) = self.next_ask() else { return self.kill() };
        self.signal(How::Ask(signal));
        self.wake = Instant::now() + if self.status.is_some() { POLL } else { self.grace };
        self.phase = Phase::Asked { until: Instant::now() + self.grace };
        self.idle = false;
    }

    fn next_ask(&mut self) -> Option<client::StopSignal> {
        match self.status {
            Some(_) => self.asks.by_ref().last().map(|_| client::StopSignal::Term),
            None => self.asks.next(),
        }
    }

    fn kill(&mut self) {
        self.signal(How::Kill);
        let _already_gone = self.child.start_kill();
        self.wake = Instant::now() + POLL;
        self.phase = Phase::Killed { until: Instant::now() + GIVE_UP };
        self.idle = false;
    }

    fn signal(&mut self, how: How) {
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

    /// Looks at what is left after an order to end.
    fn is_there_something_left(&mut self) -> bool {
        if self.status.is_none() {
            return true;
        }
        let left = match self.phase {
            // Those that were begun since the last look must go too.
            Phase::Killed { .. } => self.group.signal(How::Kill),
            _ => self.group.members(),
        };
        let nobody = left.is_empty();
        self.left_behind.extend(left);
        // What the last ones wrote is still read.
        let was_idle = std::mem::replace(&mut self.idle, true);
        if nobody && was_idle && (self.stdout.is_some() || self.stderr.is_some()) {
            let note = "a process that is not one of its own still holds its output open; it was left alone";
            self.notes.push(note.to_owned());
        }
        !(nobody && was_idle)
    }

    /// Returns whether the process and all that it may have left behind are gone, as far as a cheap look tells.
    fn is_quiet(&self) -> bool {
        self.status.is_some() && self.stdout.is_none() && self.stderr.is_none() && self.group.is_empty()
    }

    async fn finish(mut self, audience: &mut dyn OutputListener) -> Outcome {
        self.group.leave();
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
            exit: self.ended_by.unwrap_or_else(|| exit_of(self.status)),
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

fn exit_of(status: Option<io::Result<ExitStatus>>) -> Exit {
    match status {
        Some(Ok(status)) => match (status.code(), signal_of(status)) {
            (Some(code), _) => Exit::Code(code),
            (None, signal) => Exit::Signal(signal),
        },
        Some(Err(error)) => Exit::CouldNotStart(format!("lost track of the process: {error}")),
        None => Exit::Stopped,
    }
}

async fn look_at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => future::pending().await,
    }
}

/// Reads a piece; 0 is the end. Waits for ever where there is nothing to read from.
async fn read(pipe: &mut Option<impl AsyncRead + Unpin>, buffer: &mut [u8]) -> usize {
    match pipe {
        Some(pipe) => pipe.read(buffer).await.unwrap_or(0),
        None => future::pending().await,
    }
}

/// Writes a piece; `None` if nobody will read it. Waits for ever where there is nothing to write to.
async fn write(pipe: &mut Option<ChildStdin>, bytes: &[u8]) -> Option<usize> {
    match pipe {
        Some(pipe) => pipe.write(bytes).await.ok(),
        None => future::pending().await,
    }
}

/// Waits until more is asked than was `seen`.
async fn next_stop(stop: &mut StopSignal, seen: StopRequest) -> StopRequest {
    let asked = stop.wait_for(|asked| *asked > seen).await.map(|asked| *asked);
    match asked {
        Ok(asked) => asked,
        Err(_sender_is_gone) => future::pending().await,
    }
}
