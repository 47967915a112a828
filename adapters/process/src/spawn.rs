//! Starts a process, or returns in one sentence why it cannot start.
//!
//! Workers, checks and validators are started from one thread that lives as long as the supervisor: on Linux a child
//! asks to be killed when its parent dies (`PR_SET_PDEATHSIG`), and the kernel takes the *thread*
//! that forked for the parent. The request does not survive the start of a set-uid program, and it
//! covers the direct child only; a resume finds the others by their mark
//! ([`end_leftovers`](crate::end_leftovers)).

use std::ffi::OsString;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::child::{self, ChildProcess, StartedChild};
use crate::exhausted;
use crate::group;
use crate::program::Program;
use crate::spec::ProcessSpec;

/// Maximum retries of a program that is open for writing, because another thread forked while it wrote
/// the script.
const BUSY_TRIES: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

struct SpawnRequest {
    program: Program,
    reply: oneshot::Sender<io::Result<StartedChild>>,
}

/// Starts the process in a new session.
pub(super) async fn spawn(spec: &ProcessSpec) -> Result<ChildProcess, String> {
    let Some(program) = spec.argv.first() else { return Err("no program is named".to_owned()) };
    let (reply, answer) = oneshot::channel();
    let order = SpawnRequest { program: Program::new(spec), reply };
    let result = match spawner().map(|spawner| spawner.send(order)) {
        Ok(Ok(())) => answer.await.unwrap_or_else(|_| Err(spawner_gone())),
        Ok(Err(_)) => Err(spawner_gone()),
        Err(error) => Err(error),
    };
    result.and_then(StartedChild::register).map_err(|error| {
        exhausted::report(&error);
        start_error(spec, program, &error)
    })
}

fn spawner_gone() -> io::Error {
    io::Error::other("the thread that starts processes is gone")
}

/// Returns the channel to the thread, which starts with the first order. If the system has no
/// thread, the next order tries again.
fn spawner() -> io::Result<mpsc::Sender<SpawnRequest>> {
    static SPAWNER: Mutex<Option<mpsc::Sender<SpawnRequest>>> = Mutex::new(None);
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*spawner {
        return Ok(sender.clone());
    }
    let (sender, orders) = mpsc::channel::<SpawnRequest>();
    let thread = thread::Builder::new().name("unstuck-spawn".to_owned());
    thread.spawn(move || orders.into_iter().for_each(start_program))?;
    group::adopt_orphans();
    Ok(spawner.insert(sender).clone())
}

fn start_program(order: SpawnRequest) {
    // If this thread ended, the kernel would kill all processes that it started.
    let result = panic::catch_unwind(AssertUnwindSafe(|| retry_while_busy(|| child::start(&order.program))));
    let result = result.unwrap_or_else(|_| Err(io::Error::other("starting a process failed")));
    // If the receiver is gone, dropping the process kills it.
    let _nobody_waits = order.reply.send(result);
}

fn retry_while_busy(mut start: impl FnMut() -> io::Result<StartedChild>) -> io::Result<StartedChild> {
    for _ in 0..BUSY_TRIES {
        match start() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(BUSY_PAUSE),
            result => return result,
        }
    }
    start()
}

/// Returns why the process cannot start and, if known, the fix.
fn start_error(spec: &ProcessSpec, program: &OsString, error: &io::Error) -> String {
    let name = program.display();
    let cwd = spec.cwd.display();
    if !spec.cwd.is_dir() {
        let what = if spec.cwd.exists() { "is not a folder" } else { "does not exist" };
        return format!("cannot start {name}: its working folder {cwd} {what}");
    }
    let path = find_program(spec, program);
    match (error.kind(), &path) {
        // An unreadable folder of PATH turns "not found" into "permission denied".
        (io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied, None) => {
            format!("cannot start {name}: not found; install it, or add its folder to PATH")
        }
        (io::ErrorKind::NotFound, Some(path)) if path.exists() => format!(
            "cannot start {name}: the interpreter that its first line names was not found; install it, or correct that line"
        ),
        (io::ErrorKind::NotFound, Some(_)) => {
            format!("cannot start {name}: there is no such file; check the path (seen from {cwd})")
        }
        (io::ErrorKind::PermissionDenied, Some(path)) => {
            format!("cannot start {name}: no permission to run it; chmod +x {} may help", path.display())
        }
        (io::ErrorKind::ArgumentListTooLong, _) => {
            format!(
                "cannot start {name}: its arguments and environment are longer than the system allows; pass long texts on standard input"
            )
        }
        (io::ErrorKind::InvalidInput, _) => {
            format!("cannot start {name}: an argument or variable holds a NUL byte")
        }
        _ => format!("cannot start {name}: {error}"),
    }
}

/// Returns the file at a path, or the file of that name in `PATH`; `None` if there is none.
fn find_program(spec: &ProcessSpec, program: &OsString) -> Option<PathBuf> {
    let program = Path::new(program);
    if program.components().count() > 1 {
        return Some(spec.cwd.join(program));
    }
    let changed = spec.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let folders = changed.unwrap_or_else(|| std::env::var_os("PATH"))?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.exists())
}
