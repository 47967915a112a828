//! Starts a process, or says in one sentence why it cannot be started.
//!
//! All processes are started from one thread that lives as long as the supervisor: on Linux a child
//! asks to be killed when its parent dies (`PR_SET_PDEATHSIG`), and the kernel takes the *thread*
//! that forked for the parent. The request does not survive the start of a set-uid program, and it
//! covers the direct child only; the rest is found on resume by its mark
//! ([`end_leftovers`](super::end_leftovers)).

use std::ffi::OsString;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::{MARK, Spec, group};

/// How often a program is tried again that somebody is still writing. Happens when another thread
/// forks while a script is open for writing.
const BUSY_TRIES: u32 = 20;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

struct Order {
    command: Command,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts the process in a session of its own.
pub(super) async fn spawn(spec: &Spec) -> Result<Child, String> {
    let Some(program) = spec.argv.first() else { return Err("no program is named".to_owned()) };
    let (reply, answer) = oneshot::channel();
    let order = Order { command: command(spec, program), runtime: Handle::current(), reply };
    let sent = spawner().is_some_and(|spawner| spawner.send(order).is_ok());
    let result = if sent { answer.await.ok() } else { None };
    match result {
        Some(Ok(child)) => Ok(child),
        Some(Err(error)) => Err(why_not(spec, program, &error)),
        None => Err(format!("cannot start {}: the thread that starts processes is gone", program.display())),
    }
}

fn spawner() -> Option<&'static mpsc::Sender<Order>> {
    static SPAWNER: OnceLock<Option<mpsc::Sender<Order>>> = OnceLock::new();
    let start = || {
        let (sender, orders) = mpsc::channel::<Order>();
        let thread = thread::Builder::new().name("unstuck-spawn".to_owned());
        thread.spawn(move || orders.into_iter().for_each(carry_out)).ok()?;
        group::adopt_orphans();
        Some(sender)
    };
    SPAWNER.get_or_init(start).as_ref()
}

fn carry_out(order: Order) {
    let Order { mut command, runtime, reply } = order;
    // If this thread ended, the kernel would kill all that it has started.
    let result = panic::catch_unwind(AssertUnwindSafe(|| {
        let _entered = runtime.enter();
        patiently(|| command.spawn())
    }));
    let result = result.unwrap_or_else(|_| Err(io::Error::other("the program is shutting down")));
    // If nobody waits for it any more, dropping the child kills it.
    let _nobody_waits = reply.send(result);
}

fn patiently(mut spawn: impl FnMut() -> io::Result<Child>) -> io::Result<Child> {
    for _ in 0..BUSY_TRIES {
        match spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => thread::sleep(BUSY_PAUSE),
            result => return result,
        }
    }
    spawn()
}

fn command(spec: &Spec, program: &OsString) -> Command {
    let mut command = std::process::Command::new(program);
    command.args(&spec.argv[1..]).current_dir(&spec.cwd);
    for (name, value) in &spec.env {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env(MARK, marks(&spec.mark));
    command.stdin(if spec.stdin.is_empty() { Stdio::null() } else { Stdio::piped() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    lead_own_session(&mut command);
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    command
}

/// Returns our own mark behind those of the runs that we are a part of.
fn marks(own: &str) -> OsString {
    let mut marks = std::env::var_os(MARK).unwrap_or_default();
    if !marks.is_empty() {
        marks.push(" ");
    }
    marks.push(group::clean_mark(own));
    marks
}

#[cfg(unix)]
#[expect(
    unsafe_code,
    reason = "a session of its own and the wish to die with us can only be asked for between fork and exec"
)]
fn lead_own_session(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt as _;

    #[cfg(target_os = "linux")]
    let supervisor = rustix::process::getpid();
    let between_fork_and_exec = move || {
        rustix::process::setsid()?;
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // It may have died before we asked.
            if rustix::process::getppid() != Some(supervisor) {
                return Err(io::Error::from(rustix::io::Errno::CHILD));
            }
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls and nothing else: it allocates no memory, takes no lock
    // and touches no memory that it shares with other threads, so it may run after a fork.
    unsafe {
        command.pre_exec(between_fork_and_exec);
    }
}

#[cfg(windows)]
fn lead_own_session(command: &mut std::process::Command) {
    use std::os::windows::process::CommandExt as _;

    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    command.creation_flags(CREATE_NEW_PROCESS_GROUP);
}

/// Says why the process cannot be started, and what to do where that is known.
fn why_not(spec: &Spec, program: &OsString, error: &io::Error) -> String {
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
fn path_of(spec: &Spec, program: &OsString) -> Option<PathBuf> {
    let program = Path::new(program);
    if program.components().count() > 1 {
        return Some(spec.cwd.join(program));
    }
    let changed = spec.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
    let folders = changed.unwrap_or_else(|| std::env::var_os("PATH"))?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.exists())
}
