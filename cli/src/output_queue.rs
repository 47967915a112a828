//! Prints the output of a run on a separate thread, so that a halted terminal (Ctrl-S) or a stalled reader delays
//! neither the run nor its limits.
//!
//! Lines wait in memory up to a limit. Further lines are dropped, which is reported at the end. The limit for the live
//! view is smaller, since it is redrawn all the time. Without [`install`], callers write directly.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Where something is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdStream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Kind of output, which decides how much of it can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    Line,
    /// A view that is redrawn soon.
    View,
    /// The last output.
    Last,
}

/// Maximum bytes that wait to be printed. [`VIEW_MAX`] is the limit for views.
const BYTES_MAX: usize = 16 << 20;
const VIEW_MAX: usize = 64 << 10;
/// Maximum wait at the end for the reader to take each piece.
const PATIENCE: Duration = Duration::from_secs(3);

static QUEUES: OnceLock<OutputQueues> = OnceLock::new();

/// Queues for both streams. If both are terminals, they share one queue to keep the order.
struct OutputQueues {
    out: Arc<Queue>,
    err: Arc<Queue>,
}

impl OutputQueues {
    fn queue(&self, to: StdStream) -> &Queue {
        match to {
            StdStream::Out => &self.out,
            StdStream::Err => &self.err,
        }
    }
}

/// Lets a thread print from now on, where the system gives one.
pub fn install() {
    let is_one = io::stdout().is_terminal() && io::stderr().is_terminal();
    let queues = || {
        let out = Queue::start(write)?;
        let err = if is_one { Arc::clone(&out) } else { Queue::start(write)? };
        Ok::<_, io::Error>(OutputQueues { out, err })
    };
    if QUEUES.get().is_none()
        && let Ok(queues) = queues()
    {
        let _installed_before = QUEUES.set(queues);
    }
}

/// Queues bytes to be printed. Returns false if no queue is installed.
pub fn send(to: StdStream, bytes: &[u8]) -> bool {
    QUEUES.get().inspect(|queues| queues.queue(to).push(to, bytes, MessageKind::Line)).is_some()
}

/// Queues a view for standard error. Returns false if no queue is installed.
pub fn send_frame(bytes: &[u8]) -> bool {
    QUEUES.get().inspect(|queues| queues.err.push(StdStream::Err, bytes, MessageKind::View)).is_some()
}

/// Waits until everything is printed, as long as the reader keeps reading.
pub fn finish() {
    let Some(OutputQueues { out, err }) = QUEUES.get() else { return };
    let lost = out.finish(PATIENCE) + if Arc::ptr_eq(out, err) { 0 } else { err.finish(PATIENCE) };
    if lost > 0 {
        let note =
            format!("note: {} not printed, since nobody read on\n", crate::format::count(lost, "line"));
        err.push(StdStream::Err, note.as_bytes(), MessageKind::Last);
        err.finish(PATIENCE);
    }
}

fn write(to: StdStream, bytes: &[u8]) -> io::Result<usize> {
    let written = match to {
        StdStream::Out => {
            let mut out = io::stdout().lock();
            write_retrying(|| out.write(bytes))
                .and_then(|count| write_retrying(|| out.flush()).map(|()| count))
        }
        StdStream::Err => write_retrying(|| io::stderr().lock().write(bytes)),
    };
    let written =
        written.and_then(|count| if count == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(count) });
    check_written(written.as_ref().map(|_| ()).map_err(|error| error.kind().into()));
    written
}

/// Set if output was lost although a reader exists, for example because the disk is full.
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

/// Returns whether output was lost although a reader exists, for example because the disk is full.
pub fn is_output_lost() -> bool {
    OUTPUT_LOST.load(Ordering::Relaxed)
}

/// Remembers a failed write to an output. Returns whether it is worth writing more.
pub fn check_written(result: io::Result<()>) -> bool {
    let lost = result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
    OUTPUT_LOST.fetch_or(lost, Ordering::Relaxed);
    result.is_ok()
}

/// Retries a write that was interrupted, or that would block because the output was set to non-blocking.
fn write_retrying<T>(mut write: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match write() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(20))
            }
            written => return written,
        }
    }
}

/// Where the diagnostics of the program itself go.
pub struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if send(StdStream::Err, bytes) { Ok(bytes.len()) } else { io::stderr().write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Pieces that wait to be printed in their order.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(StdStream, Vec<u8>)>,
    /// How many bytes these are, with what is being written now.
    bytes: usize,
    /// Number of lines that were dropped for lack of room.
    dropped: u64,
    /// Counter that grows with every write that succeeds.
    progress: u64,
}

impl Queue {
    fn start(
        write: impl FnMut(StdStream, &[u8]) -> io::Result<usize> + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self::default());
        let own = Arc::clone(&queue);
        thread::Builder::new().name("unstuck-output".to_owned()).spawn(move || own.run(write))?;
        Ok(queue)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, to: StdStream, bytes: &[u8], kind: MessageKind) {
        let mut state = self.state();
        let bytes_max = match kind {
            MessageKind::Line => BYTES_MAX,
            MessageKind::View => VIEW_MAX,
            MessageKind::Last => usize::MAX,
        };
        if state.bytes > 0 && state.bytes.saturating_add(bytes.len()) > bytes_max {
            // Dropped views are not counted, since a newer view replaces them.
            state.dropped += if kind == MessageKind::View { 0 } else { lines(bytes) };
            return;
        }
        state.bytes += bytes.len();
        state.waiting.push_back((to, bytes.to_vec()));
        self.changed.notify_all();
    }

    /// Prints until the program ends.
    fn run(&self, mut write: impl FnMut(StdStream, &[u8]) -> io::Result<usize>) {
        let mut is_gone = [false; 2];
        loop {
            let mut state = self.state();
            let (to, bytes) = loop {
                match state.waiting.pop_front() {
                    Some(piece) => break piece,
                    None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                }
            };
            drop(state);
            let mut rest = &bytes[..];
            while !rest.is_empty() && !is_gone[to as usize] {
                match write(to, rest) {
                    Ok(count) => rest = &rest[count.min(rest.len())..],
                    // A disk that is full may have room for what comes later.
                    Err(error) => {
                        is_gone[to as usize] = error.kind() == io::ErrorKind::BrokenPipe;
                        break;
                    }
                }
                self.state().progress += 1;
            }
            self.state().bytes -= bytes.len();
            self.changed.notify_all();
        }
    }

    /// Waits until nothing is left, as long as it becomes less. Returns how many lines were not printed.
    fn finish(&self, patience: Duration) -> u64 {
        let mut state = self.state();
        let (mut since, mut seen) = (Instant::now(), state.progress);
        while state.bytes > 0 && since.elapsed() < patience {
            let left = patience.saturating_sub(since.elapsed());
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            if state.progress != seen {
                (since, seen) = (Instant::now(), state.progress);
            }
        }
        let left: u64 = state.waiting.iter().map(|(_, bytes)| lines(bytes)).sum();
        state.dropped + left
    }
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn output_arrives_complete_and_in_order() {
        let (send, read) = mpsc::channel();
        let queue = Queue::start(move |to, bytes| {
            let some = &bytes[..bytes.len().min(2)];
            send.send((to, some.to_vec())).expect("somebody reads");
            Ok(some.len())
        });
        let queue = queue.expect("a thread");
        for (to, text) in [(StdStream::Out, "one\n"), (StdStream::Err, "two\n"), (StdStream::Out, "three\n")]
        {
            queue.push(to, text.as_bytes(), MessageKind::Line);
        }
        assert_eq!(queue.finish(PATIENCE), 0);
        let read: Vec<(StdStream, Vec<u8>)> = read.try_iter().collect();
        let of = |stream| {
            let bytes = read.iter().filter(|(to, _)| *to == stream).flat_map(|(_, bytes)| bytes.clone());
            String::from_utf8(bytes.collect()).expect("text")
        };
        assert_eq!((of(StdStream::Out).as_str(), of(StdStream::Err).as_str()), ("one\nthree\n", "two\n"));
    }

    #[test]
    fn stalled_reader_blocks_nothing_and_lost_lines_are_counted() {
        let queue = Queue::start(|_, _| {
            loop {
                thread::park();
            }
        });
        let queue = queue.expect("a thread");
        let mut line = vec![b'x'; BYTES_MAX / 10];
        line.push(b'\n');
        for _ in 0..100 {
            queue.push(StdStream::Out, &line, MessageKind::Line);
            queue.push(StdStream::Err, b"a view\n", MessageKind::View);
        }
        let begun = Instant::now();
        let missed = queue.finish(Duration::from_millis(50));
        assert!((99..=100).contains(&missed), "{missed}");
        assert!(queue.state().bytes <= BYTES_MAX);
        assert!(begun.elapsed() < PATIENCE);
    }

    #[test]
    fn closed_output_blocks_nothing() {
        let queue = Queue::start(|_, _| Err(io::ErrorKind::BrokenPipe.into())).expect("a thread");
        (0..9).for_each(|_| queue.push(StdStream::Out, b"a line\n", MessageKind::Line));
        assert_eq!(queue.finish(PATIENCE), 0);
    }
}
