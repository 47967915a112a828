//! Wakes a flush of sled that would sleep forever.
//!
//! If a write fails for a buffer that was still being filled when it was closed, sled 0.34.7 keeps the error and wakes
//! no thread (`exit_reservation` in its `pagecache/logger.rs`, unlike `maybe_seal_and_write_iobuf`). A thread that
//! waits in `flush` then waits forever. The next call of `flush` finds the error at once and wakes all waiting threads.
//! So a second flush is started if one takes long.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// After so long a flush is helped for the first time; each further time after twice as long.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_MAX: Duration = Duration::from_secs(60);

/// Looks after the flushes of one database.
pub(crate) struct FlushWatchdog {
    /// Odd while a flush is under way; one more at each beginning and end.
    flushes: Arc<AtomicU64>,
    /// Nothing is ever sent: the thread ends when it is gone.
    ended: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FlushWatchdog {
    /// Begins to look after a database, in which `begin_flush` starts another flush.
    pub(crate) fn start(begin_flush: impl Fn() + Send + 'static) -> io::Result<Self> {
        let flushes = Arc::new(AtomicU64::new(0));
        let (ended, when_ended) = mpsc::channel::<()>();
        let seen = Arc::clone(&flushes);
        let watch = move || {
            let (mut last, mut patience) = (0, PATIENCE);
            while when_ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                let now = seen.load(Ordering::Relaxed);
                let takes_long = now % 2 == 1 && now == last;
                if takes_long {
                    begin_flush();
                }
                patience = if takes_long { PATIENCE_MAX.min(2 * patience) } else { PATIENCE };
                last = now;
            }
        };
        let thread = thread::Builder::new().name("unstuck-waker".to_owned()).spawn(watch)?;
        Ok(Self { flushes, ended: Some(ended), thread: Some(thread) })
    }

    /// Runs a flush that is looked after.
    pub(crate) fn guard<T>(&self, flush: impl FnOnce() -> T) -> T {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        let result = flush();
        self.flushes.fetch_add(1, Ordering::Relaxed);
        result
    }
}

impl Drop for FlushWatchdog {
    fn drop(&mut self) {
        self.ended = None;
        if let Some(thread) = self.thread.take() {
            let _panics_nowhere = thread.join();
        }
    }
}
