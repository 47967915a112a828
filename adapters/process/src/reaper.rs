//! A process that ends what is left of a run when the supervisor dies.
//!
//! The kernel kills a worker together with us, but not what the worker has started. The guard holds one
//! end of a pipe: if it reads the end of the pipe without a word before, nobody is left to stop those. Until then it
//! looks now and then at what the supervisor has below it, since what sheds its marks and leaves its session
//! is found by nothing else once its family is gone.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use crate::group::Descendants;
use crate::spawn::marks;
use crate::spec::MARK;

/// The message of the supervisor before it ends.
const ALL_IS_ENDED: &[u8] = b".";

/// The mark of a guard. That of no run begins so.
const OWN_MARK: &str = "guard";

/// How often the guard looks, which takes a few milliseconds.
const LOOKS_EVERY: Duration = Duration::from_secs(2);

/// How often a guard that was ended is followed by another one. A worker that ends them all is not to be outdone.
const STARTED_AGAIN_MAX: u32 = 5;

/// How long a guard may take to go once it is dismissed. One that was stopped would not go by itself.
const GOES_WITHIN: Duration = Duration::from_secs(2);

/// How often it is asked for meanwhile.
const ASKED_EVERY: Duration = Duration::from_millis(1);

/// How often the reaper is checked.
const LOOKED_AFTER_EVERY: Duration = Duration::from_millis(200);

/// A guard that watches over a run, and is followed by another one if something ends it. Dismissed when dropped.
#[derive(Debug)]
pub struct Reaper {
    /// What tells the keeper that the guard may go, when it is dropped.
    dismiss: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Reaper {
    /// Starts a guard: a command that calls [`serve`]. A guard that ends is told by a warning.
    ///
    /// # Errors
    ///
    /// When the command cannot be made or started, or there is no thread that could keep it. A run can do without: a resume
    /// ends what was left.
    pub fn start(command: impl Fn() -> io::Result<Command> + Send + 'static) -> io::Result<Self> {
        let keeper = Keeper::begin(command()?)?;
        let (dismiss, dismissed) = mpsc::channel();
        let thread = thread::Builder::new().name("unstuck-guard".to_owned());
        let keeper = thread.spawn(move || keeper.keep(&command, &dismissed))?;
        Ok(Self { dismiss: Some(dismiss), keeper: Some(keeper) })
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        drop(self.dismiss.take());
        if let Some(keeper) = self.keeper.take() {
            let _has_panicked = keeper.join();
        }
    }
}

/// Looks after a guard.
struct Keeper {
    child: Child,
    pipe: ChildStdin,
}

impl Keeper {
    /// Starts a guard.
    fn begin(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // It has left our session: without a mark of its own it would be taken for what a worker left behind.
        command.env(MARK, marks(OWN_MARK));
        // It must not keep a file system busy.
        command.current_dir("/");
        let mut child = command.spawn()?;
        let pipe = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, pipe })
    }

    /// Starts another guard where one has ended before it was dismissed.
    fn keep(mut self, command: &impl Fn() -> io::Result<Command>, dismissed: &Receiver<()>) {
        let mut again = 0;
        while dismissed.recv_timeout(LOOKED_AFTER_EVERY) == Err(RecvTimeoutError::Timeout) {
            if !is_over(&mut self.child) {
                // One that was stopped would not notice the end of the supervisor.
                wake(&self.child);
                continue;
            }
            if again == STARTED_AGAIN_MAX {
                return tracing::warn!("{}", NO_GUARD);
            }
            again += 1;
            match command().and_then(Self::begin) {
                Ok(next) => {
                    tracing::warn!("something has ended the guard of this run; another one was started");
                    self = next;
                }
                Err(error) => return tracing::warn!(%error, "{}", NO_GUARD),
            }
        }
        self.let_go();
    }

    fn let_go(self) {
        let Self { mut child, mut pipe } = self;
        let _is_gone = pipe.write_all(ALL_IS_ENDED);
        drop(pipe);
        let since = Instant::now();
        while !is_over(&mut child) {
            if since.elapsed() > GOES_WITHIN {
                let _is_gone = child.kill();
                let _is_over = child.wait();
                return;
            }
            thread::sleep(ASKED_EVERY);
        }
    }
}

/// Continues a guard that something has stopped.
#[cfg(unix)]
fn wake(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    // It may have ended by now; it is not buried yet, so nothing else has its number.
    let _is_gone = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::CONT));
}

/// Nothing stops a process here.
#[cfg(not(unix))]
fn wake(_child: &Child) {}

/// Says whether a guard has ended; somebody else of this process may have buried it.
fn is_over(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// The warning if the reaper is gone.
const NO_GUARD: &str = "something has ended the guard of this run, and there is none now: if this supervisor is killed, \
                        processes of its workers may live on until `unstuck resume`";

/// Waits for the end of the supervisor, which started this process and has the other end of standard input, and then ends
/// what is left of it: the processes whose mark begins with `mark_prefix`, and those that were seen below it. Returns
/// when the supervisor was gone; `None` where it had said that all is ended.
///
/// Another supervisor may go on with the run at once. It ends what bears the mark itself, and what bears it from then on is
/// its own: `is_taken_over` says whether it is there.
pub fn serve(mark_prefix: &str, is_taken_over: impl Fn() -> bool) -> Option<SystemTime> {
    // Ctrl-C and the end of the terminal are for the supervisor.
    crate::group::leave_terminal();
    let mut family = Descendants::of_parent();
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
    let gone_at = SystemTime::now();
    (last_words != ALL_IS_ENDED).then(|| {
        crate::group::end_family(mark_prefix, &family, &is_taken_over);
        gone_at
    })
}
