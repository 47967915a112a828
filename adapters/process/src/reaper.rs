//! A process that ends what is left of a run when the supervisor dies.
//!
//! The kernel kills a worker together with the supervisor, but not the processes that the worker started. The reaper
//! holds one end of a pipe. If the pipe closes without a message, the supervisor is dead and the reaper ends those
//! processes. It also lists the descendants of the supervisor every two seconds: once its ancestors are gone, a process
//! that removed its marks and left its session cannot be found in another way.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use crate::group::Descendants;
use crate::program::marks;
use crate::spec::MARK;

/// The message that the supervisor sends before it ends.
const ALL_ENDED: &[u8] = b".";

/// The mark of a reaper. The mark of a run never starts with it.
const OWN_MARK: &str = "guard";

/// Interval between two searches, each of which takes a few milliseconds.
const SEARCH_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum number of restarts, for a worker that ends every reaper.
const RESTARTS_MAX: u32 = 5;

/// Time in which a dismissed reaper must exit. A stopped one does not exit on its own.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// Interval between two checks whether it has exited.
const EXIT_POLL: Duration = Duration::from_millis(1);

/// Interval between two checks whether the reaper runs.
const CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// A reaper process of a run, which is restarted if something ends it. Dismissed when dropped.
#[derive(Debug)]
pub struct Reaper {
    /// Dropped to tell the keeper to dismiss the reaper.
    dismiss: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Reaper {
    /// Starts a reaper: a command that calls [`serve`]. Logs a warning if the reaper ends too early.
    ///
    /// # Errors
    ///
    /// The command cannot be built or started, or the system has no thread to watch it. A run works without a reaper: a
    /// resume ends the processes that are left.
    pub fn start(command: impl Fn() -> io::Result<Command> + Send + 'static) -> io::Result<Self> {
        let keeper = Keeper::start(command()?)?;
        let (dismiss, dismissed) = mpsc::channel();
        let thread = thread::Builder::new().name("unstuck-guard".to_owned());
        let keeper = thread.spawn(move || keeper.watch(&command, &dismissed))?;
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

/// Watches a reaper process.
struct Keeper {
    child: Child,
    pipe: ChildStdin,
}

impl Keeper {
    /// Starts a reaper process.
    fn start(mut command: Command) -> io::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // It leaves our session: without its mark it would be mistaken for a process that a worker left behind.
        command.env(MARK, marks(OWN_MARK));
        // It must not keep a file system from being unmounted.
        command.current_dir("/");
        let mut child = command.spawn()?;
        let pipe = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, pipe })
    }

    /// Starts another reaper if one ends before it is dismissed.
    fn watch(mut self, command: &impl Fn() -> io::Result<Command>, dismissed: &Receiver<()>) {
        let mut again = 0;
        while dismissed.recv_timeout(CHECK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if !has_ended(&mut self.child) {
                // A stopped reaper would not notice the end of the supervisor.
                wake(&self.child);
                continue;
            }
            if again == RESTARTS_MAX {
                return tracing::warn!("{}", NO_GUARD);
            }
            again += 1;
            match command().and_then(Self::start) {
                Ok(next) => {
                    tracing::warn!("something has ended the guard of this run; another one was started");
                    self = next;
                }
                Err(error) => return tracing::warn!(%error, "{}", NO_GUARD),
            }
        }
        self.dismiss_reaper();
    }

    fn dismiss_reaper(self) {
        let Self { mut child, mut pipe } = self;
        let _is_gone = pipe.write_all(ALL_ENDED);
        drop(pipe);
        let since = Instant::now();
        while !has_ended(&mut child) {
            if since.elapsed() > EXIT_TIMEOUT {
                let _is_gone = child.kill();
                let _is_over = child.wait();
                return;
            }
            thread::sleep(EXIT_POLL);
        }
    }
}

/// Continues a reaper that something has stopped.
#[cfg(unix)]
fn wake(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    // It may have ended, but was not waited for yet, so no other process has its id.
    let _is_gone = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::CONT));
}

/// Does nothing: no signal stops a process on this system.
#[cfg(not(unix))]
fn wake(_child: &Child) {}

/// Returns whether a reaper has ended. Other code of this process may have waited for it already.
fn has_ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// The warning if the reaper is gone.
const NO_GUARD: &str = "something has ended the guard of this run, and there is none now: if this supervisor is killed, \
                        processes of its workers may live on until `unstuck resume`";

/// Waits until the supervisor, which started this process and holds the other end of standard input, exits. Then ends
/// the processes whose mark starts with `mark_prefix`, and the known descendants of the supervisor. Returns the time of
/// its exit, or `None` if it reported that everything has ended.
///
/// Another supervisor may resume the run immediately. It ends marked processes itself, and later ones belong to it:
/// `is_taken_over` returns whether there is such a supervisor.
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
        match end.recv_timeout(SEARCH_INTERVAL) {
            Ok(words) => break words,
            Err(RecvTimeoutError::Timeout) => family.update(),
            Err(RecvTimeoutError::Disconnected) => break Vec::new(),
        }
    };
    let gone_at = SystemTime::now();
    (last_words != ALL_ENDED).then(|| {
        crate::group::end_run_processes(mark_prefix, &family, &is_taken_over);
        gone_at
    })
}
