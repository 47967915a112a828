//! Starts a process, or says in one sentence why it cannot be started.
//!
//! Workers, checks and validators are started from one thread that lives as long as the supervisor: on Linux a child
//! asks to be killed when its parent dies (`PR_SET_PDEATHSIG`), and the kernel takes the *thread*
//! that forked for the parent. The request does not survive the start of a set-uid program, and it
//! covers the direct child only; the rest is found on resume by its mark
//! ([`end_leftovers`](crate::end_leftovers)).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::child::{self, Child, Started};
use crate::exhausted;
use crate::group;
use crate::inherited;
use crate::spec::{MARK, ProcessSpec};

/// How often a program is tried again that somebody is still writing. Happens when another thread
/// forks while a script is open for writing.
const BUSY_TRIES: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// What is to be started, with all that would be inherited spelled out.
pub(super) struct Program {
    /// The program and its arguments.
    pub(super) argv: Vec<OsString>,
    pub(super) cwd: PathBuf,
    /// The whole environment.
    pub(super) env: BTreeMap<OsString, OsString>,
    /// It gets something on standard input.
    pub(super) reads: bool,
}

impl Program {
    fn new(spec: &ProcessSpec) -> Self {
        let mut env = inherited::environment();
        // Some programs believe it rather than ask the system, and would work in our folder.
        env.insert("PWD".into(), spec.cwd.clone().into());
        for (name, value) in &spec.env {
            match value {
                Some(value) => env.insert(name.clone(), value.clone()),
                None => env.remove(name),
            };
        }
        env.insert(MARK.into(), marks(&spec.mark));
        Self { argv: spec.argv.clone(), cwd: spec.cwd.clone(), env, reads: !spec.stdin.is_empty() }
    }
}

struct Order {
    program: Program,
    reply: oneshot::Sender<io::Result<Started>>,
}

/// Starts the process in a session of its own.
pub(super) async fn spawn(spec: &ProcessSpec) -> Result<Child, String> {
    let Some(program) = spec.argv.first() else { return Err("no program is named".to_owned()) };
    let (reply, answer) = oneshot::channel();
    let order = Order { program: Program::new(spec), reply };
    let result = match spawner().map(|spawner| spawner.send(order)) {
        Ok(Ok(())) => answer.await.unwrap_or_else(|_| Err(is_gone())),
        Ok(Err(_)) => Err(is_gone()),
        Err(error) => Err(error),
    };
    result.and_then(Started::watch).map_err(|error| {
        exhausted::report(&error);
        why_not(spec, program, &error)
    })
}

fn is_gone() -> io::Error {
    io::Error::other("the thread that starts processes is gone")
}

/// Returns the way to the thread, which is begun with the first order; where the system had no
/// room for it, the next order tries again.
fn spawner() -> io::Result<mpsc::Sender<Order>> {
    static SPAWNER: Mutex<Option<mpsc::Sender<Order>>> = Mutex::new(None);
    let mut spawner = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(sender) = &*spawner {
        return Ok(sender.clone());
    }
    let (sender, orders) = mpsc::channel::<Order>();
    let thread = thread::Builder::new().name("unstuck-spawn".to_owned());
    thread.spawn(move || orders.into_iter().for_each(carry_out))?;
    group::adopt_orphans();
    Ok(spawner.insert(sender).clone())
}

fn carry_out(order: Order) {
    // If this thread ended, the kernel would kill all that it has started.
    let result = panic::catch_unwind(AssertUnwindSafe(|| patiently(|| child::start(&order.program))));
    let result = result.unwrap_or_else(|_| Err(io::Error::other("starting a process failed")));
    // If nobody waits for it any more, dropping it kills it.
    let _nobody_waits = order.reply.send(result);
}

fn patiently(mut start: impl FnMut() -> io::Result<Started>) -> io::Result<Started> {
    for _ in 0..BUSY_TRIES {
        match start() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(BUSY_PAUSE),
            result => return result,
        }
    }
    start()
}

/// Returns our own mark behind those of the runs that we are a part of.
pub(super) fn marks(own: &str) -> OsString {
    let mut marks = std::env::var_os(MARK).unwrap_or_default();
    if !marks.is_empty() {
        marks.push(" ");
    }
    marks.push(group::clean_mark(own));
    marks
}

/// Says why the process cannot be started, and what to do where that is known.
fn why_not(spec: &ProcessSpec, program: &OsString, error: &io::Error) -> String {
    let name = program.display();
    let cwd = spec.cwd.display();
    if !spec.cwd.is_dir() {
        let what = if spec.cwd.exists() { "is not a folder" } else { "does not exist" };
        return format!("cannot start {name}: its working folder {cwd} {what}");
    }
    let path = path_of(spec, program);
    match (error.kind(), &path) {
        // A folder of PATH that may not be looked into makes "not found" a "no permission".
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

/// Returns the file that a path names, or that is found in `PATH` under the name; `None` if none is.
fn path_of(spec: &ProcessSpec, program: &OsString) -> Option<PathBuf> {
    let program = Path::new(program);
    if program.components().count() > 1 {
        return Some(spec.cwd.join(program));
    }
    let changed = spec.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let folders = changed.unwrap_or_else(|| std::env::var_os("PATH"))?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.exists())
}
