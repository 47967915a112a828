//! A process beside the supervisor that ends what is left of a run when the supervisor dies.
//!
//! The kernel kills a worker together with us, but not what the worker has started. The guard holds one
//! end of a pipe: if it reads the end of the pipe without a word before, nobody is left to stop those. Until then it
//! looks now and then at what the supervisor has below it, since what sheds its mark and leaves its session
//! is found by nothing else once its family is gone.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
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

/// How often a guard that was ended is followed by another one. A worker that ends them all is not to be outdone.
const STARTED_AGAIN_MAX: u32 = 5;

/// A guard that watches over a run, and is followed by another one if something ends it. Dismissed when dropped.
#[derive(Debug)]
pub struct Guard {
    /// The way to the guard; `None` once it is dismissed, or there is none any more.
    pipe: Arc<Mutex<Option<ChildStdin>>>,
    keeper: Option<JoinHandle<()>>,
}

impl Guard {
    /// Starts a guard: a command that calls [`serve`]. A guard that ends is told by a warning.
    ///
    /// # Errors
    ///
    /// When the command cannot be made or started. A run can do without: a resume ends what was left.
    pub fn start(command: impl Fn() -> io::Result<Command> + Send + 'static) -> io::Result<Self> {
        let (child, pipe) = begin(command()?)?;
        let pipe = Arc::new(Mutex::new(Some(pipe)));
        let keeper = Keeper { child, pipe: Arc::clone(&pipe) };
        let keeper =
            thread::Builder::new().name("unstuck-guard".to_owned()).spawn(move || keeper.keep(command));
        // Without the thread it is a guard all the same.
        Ok(Self { pipe, keeper: keeper.ok() })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut pipe) = lock(&self.pipe).take() {
            let _is_gone = pipe.write_all(ALL_IS_ENDED);
        }
        if let Some(keeper) = self.keeper.take() {
            let _has_panicked = keeper.join();
        }
    }
}

/// Starts a guard, and returns the way to it.
fn begin(mut command: Command) -> io::Result<(Child, ChildStdin)> {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // It has left our session: without a mark of its own it would be taken for what a worker left behind.
    command.env(MARK, marks(OWN_MARK));
    // It must not keep a file system busy.
    command.current_dir("/");
    let mut child = command.spawn()?;
    let pipe = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    Ok((child, pipe))
}

fn lock(pipe: &Mutex<Option<ChildStdin>>) -> MutexGuard<'_, Option<ChildStdin>> {
    pipe.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the guard, and starts another one where nobody has dismissed it.
struct Keeper {
    child: Child,
    pipe: Arc<Mutex<Option<ChildStdin>>>,
}

impl Keeper {
    fn keep(mut self, command: impl Fn() -> io::Result<Command>) {
        for _ in 0..STARTED_AGAIN_MAX {
            // Somebody else of this process may bury it; then it is over, too.
            let _is_over = self.child.wait();
            let mut pipe = lock(&self.pipe);
            if pipe.is_none() {
                return;
            }
            match command().and_then(begin) {
                Ok((child, to_it)) => {
                    tracing::warn!("something has ended the guard of this run; another one was started");
                    (self.child, *pipe) = (child, Some(to_it));
                }
                Err(error) => return tracing::warn!(%error, "{}", NO_GUARD),
            }
        }
        let _is_over = self.child.wait();
        if lock(&self.pipe).is_some() {
            tracing::warn!("{}", NO_GUARD);
        }
    }
}

/// What is said where no guard is left.
const NO_GUARD: &str = "something has ended the guard of this run, and there is none now: if this supervisor is killed, \
                        processes of its workers may live on until `unstuck resume`";

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
