//! What is printed while a run goes on, by a thread of its own: a terminal that was halted (Ctrl-S) or a reader that reads no
//! more holds neither the run nor its limits.
//!
//! Lines wait in memory up to a bound, and are dropped beyond it, which is said at the end. Of the live view, which is drawn
//! anew all the time, little waits. Where nothing is [installed](install), whoever prints writes itself.

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Where something is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What is printed, which says how much of it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Line,
    /// It is drawn anew soon.
    View,
    /// Nothing comes after it.
    Last,
}

/// So many bytes wait; no more of a view that is drawn anew.
const BYTES_MAX: usize = 16 << 20;
const VIEW_MAX: usize = 64 << 10;
/// At the end, whoever reads has so long for each piece.
const PATIENCE: Duration = Duration::from_secs(3);

static OUTLETS: OnceLock<Outlets> = OnceLock::new();

/// What goes to the same place is in one queue, so that its order stays.
struct Outlets {
    out: Arc<Queue>,
    err: Arc<Queue>,
}

impl Outlets {
    fn of(&self, to: Stream) -> &Queue {
        match to {
            Stream::Out => &self.out,
            Stream::Err => &self.err,
        }
    }
}

/// Lets a thread print from now on, where the system gives one.
pub fn install() {
    let is_one = io::stdout().is_terminal() && io::stderr().is_terminal();
    let outlets = || {
        let out = Queue::start(write)?;
        let err = if is_one { Arc::clone(&out) } else { Queue::start(write)? };
        Ok::<_, io::Error>(Outlets { out, err })
    };
    if OUTLETS.get().is_none()
        && let Ok(outlets) = outlets()
    {
        let _installed_before = OUTLETS.set(outlets);
    }
}

/// Hands something over to be printed. Returns whether there is somebody to hand it to.
pub fn send(to: Stream, bytes: &[u8]) -> bool {
    OUTLETS.get().inspect(|outlets| outlets.of(to).push(to, bytes, Kind::Line)).is_some()
}

/// The same with a view on standard error that is drawn anew soon.
pub fn send_view(bytes: &[u8]) -> bool {
    OUTLETS.get().inspect(|outlets| outlets.err.push(Stream::Err, bytes, Kind::View)).is_some()
}

/// Waits until all is printed, as long as somebody reads.
pub fn finish() {
    let Some(Outlets { out, err }) = OUTLETS.get() else { return };
    let lost = out.finish(PATIENCE) + if Arc::ptr_eq(out, err) { 0 } else { err.finish(PATIENCE) };
    if lost > 0 {
        let note = format!("note: {} not printed, since nobody read on\n", crate::text::count(lost, "line"));
        err.push(Stream::Err, note.as_bytes(), Kind::Last);
        err.finish(PATIENCE);
    }
}

fn write(to: Stream, bytes: &[u8]) -> io::Result<usize> {
    let written = match to {
        Stream::Out => {
            let mut out = io::stdout().lock();
            patiently(|| out.write(bytes)).and_then(|count| patiently(|| out.flush()).map(|()| count))
        }
        Stream::Err => patiently(|| io::stderr().lock().write(bytes)),
    };
    let written =
        written.and_then(|count| if count == 0 { Err(io::ErrorKind::WriteZero.into()) } else { Ok(count) });
    crate::wrote(written.as_ref().map(|_| ()).map_err(|error| error.kind().into()));
    written
}

/// Does it again where it was interrupted, and where somebody has said that no write to this output waits.
fn patiently<T>(mut write: impl FnMut() -> io::Result<T>) -> io::Result<T> {
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
        if send(Stream::Err, bytes) { Ok(bytes.len()) } else { io::stderr().write(bytes) }
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
    waiting: VecDeque<(Stream, Vec<u8>)>,
    /// How many bytes these are, with what is being written now.
    bytes: usize,
    /// Lines that found no room.
    dropped: u64,
    /// Grows with everything that somebody has read.
    progress: u64,
}

impl Queue {
    fn start(
        write: impl FnMut(Stream, &[u8]) -> io::Result<usize> + Send + 'static,
    ) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self::default());
        let own = Arc::clone(&queue);
        thread::Builder::new().name("unstuck-outlet".to_owned()).spawn(move || own.run(write))?;
        Ok(queue)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, to: Stream, bytes: &[u8], kind: Kind) {
        let mut state = self.state();
        let bytes_max = match kind {
            Kind::Line => BYTES_MAX,
            Kind::View => VIEW_MAX,
            Kind::Last => usize::MAX,
        };
        if state.bytes > 0 && state.bytes.saturating_add(bytes.len()) > bytes_max {
            // A view is no line that somebody misses.
            state.dropped += if kind == Kind::View { 0 } else { lines(bytes) };
            return;
        }
        state.bytes += bytes.len();
        state.waiting.push_back((to, bytes.to_vec()));
        self.changed.notify_all();
    }

    /// Prints until the program ends.
    fn run(&self, mut write: impl FnMut(Stream, &[u8]) -> io::Result<usize>) {
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
    fn what_is_read_comes_whole_and_in_order() {
        let (send, read) = mpsc::channel();
        let queue = Queue::start(move |to, bytes| {
            let some = &bytes[..bytes.len().min(2)];
            send.send((to, some.to_vec())).expect("somebody reads");
            Ok(some.len())
        });
        let queue = queue.expect("a thread");
        for (to, text) in [(Stream::Out, "one\n"), (Stream::Err, "two\n"), (Stream::Out, "three\n")] {
            queue.push(to, text.as_bytes(), Kind::Line);
        }
        assert_eq!(queue.finish(PATIENCE), 0);
        let read: Vec<(Stream, Vec<u8>)> = read.try_iter().collect();
        let of = |stream| {
            let bytes = read.iter().filter(|(to, _)| *to == stream).flat_map(|(_, bytes)| bytes.clone());
            String::from_utf8(bytes.collect()).expect("text")
        };
        assert_eq!((of(Stream::Out).as_str(), of(Stream::Err).as_str()), ("one\nthree\n", "two\n"));
    }

    #[test]
    fn a_reader_that_reads_no_more_holds_nobody_and_what_it_missed_is_counted() {
        let queue = Queue::start(|_, _| {
            loop {
                thread::park();
            }
        });
        let queue = queue.expect("a thread");
        let mut line = vec![b'x'; BYTES_MAX / 10];
        line.push(b'\n');
        for _ in 0..100 {
            queue.push(Stream::Out, &line, Kind::Line);
            queue.push(Stream::Err, b"a view\n", Kind::View);
        }
        let begun = Instant::now();
        let missed = queue.finish(Duration::from_millis(50));
        assert!((99..=100).contains(&missed), "{missed}");
        assert!(queue.state().bytes <= BYTES_MAX);
        assert!(begun.elapsed() < PATIENCE);
    }

    #[test]
    fn an_output_that_is_gone_holds_nobody() {
        let queue = Queue::start(|_, _| Err(io::ErrorKind::BrokenPipe.into())).expect("a thread");
        (0..9).for_each(|_| queue.push(Stream::Out, b"a line\n", Kind::Line));
        assert_eq!(queue.finish(PATIENCE), 0);
    }
}
