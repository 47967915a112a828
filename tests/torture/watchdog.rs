//! Ends a program that hangs, so that the test that started it can say so.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A program that takes longer hangs.
const HANG: Duration = Duration::from_secs(90);

/// A thread that kills a process after [`HANG`].
pub struct Watchdog {
    ended: Sender<()>,
    thread: JoinHandle<bool>,
}

impl Watchdog {
    /// Begins to watch over a process.
    pub fn over(pid: Pid) -> Self {
        let (ended, when_ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            let hangs = when_ended.recv_timeout(HANG) == Err(RecvTimeoutError::Timeout);
            if hangs {
                let _may_be_gone = kill(pid, Signal::SIGKILL);
            }
            hangs
        });
        Self { ended, thread }
    }

    /// Says, of a process that has ended, whether it had to be killed.
    pub fn had_to_bite(self) -> bool {
        drop(self.ended);
        self.thread.join().expect("it only waits")
    }
}
