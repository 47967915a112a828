//! A process beside the supervisor that ends what is left of a run when the supervisor dies.
//!
//! The kernel kills a worker together with us, but not what the worker has started. The guard holds one
//! end of a pipe: if it reads the end of the pipe without a word before, nobody is left to stop those. Until then it
//! looks now and then at what the supervisor has below it, since what sheds its mark and leaves its session
//! is found by nothing else once its family is gone.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::MARK;
use super::group::Family;
use super::spawn::marks;

/// What the supervisor says before it goes.
const ALL_IS_ENDED: &[u8] = b".";

/// The mark of a guard. That of no run begins so.
const OWN_MARK: &str = "guard";

/// How often the guard looks, which takes a few milliseconds.
const LOOKS_EVERY: Duration = Duration::from_secs(2);

/// A guard that watches over a run. Dismissed when dropped.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Starts a guard: a command that calls [`serve`].
    ///
    /// # Errors
    ///
    /// When the command cannot be started. A run can do without: a resume ends what was left.
    pub fn start(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // It has left our session: without a mark of its own it would be taken for what a worker left behind.
        command.env(MARK, marks(OWN_MARK));
        // It must not keep a file system busy.
        command.current_dir("/");
        Ok(Self(command.spawn()?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _is_gone = pipe.write_all(ALL_IS_ENDED);
        }
        let _is_gone = self.0.wait();
    }
}

/// Waits for the end of the supervisor, which started this process and has the other end of standard input, and then ends
/// what is left of it: the processes whose mark begins with `mark_prefix`, and those that were seen below it. Returns
/// how many.
pub fn serve(mark_prefix: &str) -> u32 {
    // Ctrl-C and the end of the terminal are for the supervisor.
    super::group::leave_terminal();
    let mut family = Family::of_parent();
    let (ended, end) = mpsc::channel();
    thread::spawn(move || {
        let mut last_words = Vec::new();
        let _ends_too = io::stdin().lock().read_to_end(&mut last_words);
        ended.send(last_words)
    });
    let last_words = loop {
        match end.recv_timeout(LOOKS_EVERY) {
            Ok(words) => break words,
            Err(RecvTimeoutError::Timeout) => family.look(),
            Err(RecvTimeoutError::Disconnected) => break Vec::new(),
        }
    };
    if last_words == ALL_IS_ENDED { 0 } else { super::group::end_family(mark_prefix, &family) }
}
