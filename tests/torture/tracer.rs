//! Runs a program and does something to one of the system calls by which it touches the disk.
//!
//! Counts the calls of all threads together, without the calls of child processes. So "the n-th call" means the same
//! from one run to the next, as far as threads allow. (`strace` can inject faults too, but counts each thread
//! separately. The engine writes from a pool of threads: most of its writes are the first of their thread, and would
//! never be reached.) The code reads the registers of x86-64.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::{self, c_long};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::watchdog::Watchdog;

/// Delay of a slow disk.
const SLOW: Duration = Duration::from_millis(400);

/// A fault of a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is killed before it.
    Kill,
    /// It fails, once.
    Once(Errno),
    /// It fails, and so does every later call of the same kind.
    FromThenOn(Errno),
    /// It moves half of the bytes only, and says so.
    Short,
    /// It takes long.
    Slow,
}

/// Which calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Those that write, make durable, make, rename or remove.
    Writing,
    /// Those that read.
    Reading,
    /// Those that make durable.
    Syncing,
    /// Those that move bytes.
    Moving,
}

/// Where a fault goes.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The fault.
    pub fault: Fault,
    /// The calls that can get it.
    pub calls: Calls,
    /// The number of the call that gets it, from 1. 0 means no call.
    pub at: usize,
}

/// A program that has ended.
#[derive(Debug)]
pub struct Traced {
    /// Its exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// How many calls were counted.
    pub counted: usize,
    /// The call that was hit, with its file.
    pub hit: Option<String>,
    /// It was killed because it took too long.
    pub hung: bool,
    /// Standard error.
    pub err: String,
}

/// Says why programs cannot be traced here, if they cannot.
pub fn unavailable() -> Option<&'static str> {
    let mut child = Command::new("sleep").arg("60").spawn().expect("sleep can be started");
    let pid = pid_of(&child);
    let refused = ptrace::seize(pid, Options::empty()).is_err();
    let _it_sleeps = child.kill();
    let _reaped = child.wait();
    refused.then_some(
        "this machine does not let a process be traced (a container needs the capability SYS_PTRACE)",
    )
}

/// Runs `command`, whose files are below `folder`, and follows `plan`.
pub fn run(command: &Command, folder: &Path, plan: Plan) -> Traced {
    let err = folder.join("stderr");
    let pid = start_when_told(command, &err);
    let watchdog = Watchdog::over(pid);
    let mut tracer = Tracer {
        leader: pid,
        folder: folder.to_owned(),
        plan,
        armed: false,
        failing: Vec::new(),
        counted: 0,
        hit: None,
        status: None,
    };
    tracer.follow();
    let hung = watchdog.had_to_bite();
    let Tracer { status, counted, hit, .. } = tracer;
    let err = fs::read_to_string(err).unwrap_or_default();
    Traced { status, counted, hit, hung, err }
}

/// Starts a shell that waits for a line of input, so that it can be traced, and then becomes the program.
#[expect(clippy::zombie_processes, reason = "whoever traces it waits for it, and learns its status")]
fn start_when_told(command: &Command, err: &Path) -> Pid {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "read -r go; exec \"$0\" \"$@\" </dev/null"])
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(File::create(err).expect("the folder is ours"));
    let mut child = shell.spawn().expect("a shell can be started");
    let pid = pid_of(&child);
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(pid, options).expect("a child of ours can be traced");
    ptrace::interrupt(pid).expect("it is traced");
    // The shell reads on only after the tracer has let it, so this is not too early.
    child.stdin.take().expect("it is a pipe").write_all(b"go\n").expect("the shell listens");
    pid
}

fn pid_of(child: &std::process::Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a process number"))
}

struct Tracer {
    leader: Pid,
    folder: PathBuf,
    plan: Plan,
    /// The shell has become the program.
    armed: bool,
    /// Threads within a call that is to fail.
    failing: Vec<(Pid, Errno)>,
    counted: usize,
    hit: Option<String>,
    status: Option<i32>,
}

impl Tracer {
    /// Follows every thread to its end.
    fn follow(&mut self) {
        // Wait only for children that this thread traces: other tests have children too.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(flags)) {
                Err(Errno::EINTR) => {}
                Err(_nothing_is_left) => return,
                Ok(WaitStatus::Exited(pid, code)) if pid == self.leader => self.status = Some(code),
                Ok(WaitStatus::PtraceSyscall(thread)) => {
                    // A thread that is killed while it is looked at cannot be looked at.
                    let _may_be_gone = self.at_call(thread);
                    let _may_be_gone = ptrace::syscall(thread, None);
                }
                Ok(WaitStatus::PtraceEvent(thread, _, event)) => {
                    if event == libc::PTRACE_EVENT_EXEC {
                        self.armed = true;
                    }
                    let _may_be_gone = ptrace::syscall(thread, None);
                }
                Ok(WaitStatus::Stopped(thread, signal)) => {
                    let _may_be_gone = ptrace::syscall(thread, signal);
                }
                Ok(_) => {}
            }
        }
    }

    /// A thread is about to begin a call, or has ended one.
    fn at_call(&mut self, thread: Pid) -> nix::Result<()> {
        let mut registers = ptrace::getregs(thread)?;
        let result = |errno: Errno| i64::from(-(errno as i32)).cast_unsigned();
        if let Some(at) = self.failing.iter().position(|(failing, _)| *failing == thread) {
            let (_, errno) = self.failing.swap_remove(at);
            registers.rax = result(errno);
            return ptrace::setregs(thread, registers);
        }
        // Where a call begins the system has put this there as its result; where it ends, its own.
        if registers.rax != result(Errno::ENOSYS) {
            return Ok(());
        }
        let arguments = [registers.rdi, registers.rsi, registers.rdx, registers.r10];
        let Some(call) = self.counts(thread, registers.orig_rax.cast_signed(), arguments) else {
            return Ok(());
        };
        self.hit.get_or_insert(call);
        match self.plan.fault {
            Fault::Kill => return kill(self.leader, Signal::SIGKILL),
            Fault::Slow => thread::sleep(SLOW),
            Fault::Short if registers.rdx < 2 => {}
            Fault::Short => registers.rdx /= 2,
            Fault::Once(errno) | Fault::FromThenOn(errno) => {
                registers.orig_rax = u64::MAX; // No such call: the system does nothing.
                self.failing.push((thread, errno));
            }
        }
        ptrace::setregs(thread, registers)
    }

    /// Counts a call if it is one of those that are counted; returns it if it is to be hit.
    fn counts(&mut self, thread: Pid, number: c_long, arguments: [u64; 4]) -> Option<String> {
        if !self.armed {
            return None;
        }
        let (name, by) = named(number, arguments).filter(|(name, _)| is_of(self.plan.calls, name))?;
        let file = match by {
            By::Descriptor(number) => fs::read_link(format!("/proc/{thread}/fd/{number}")).ok()?,
            By::Path(address) => text_at(thread, address).ok()?,
            By::In(descriptor, address) => {
                folder_of(thread, descriptor)?.join(text_at(thread, address).ok()?)
            }
        };
        if !file.starts_with(&self.folder) || file.file_name().is_some_and(|name| name == "stderr") {
            return None;
        }
        self.counted += 1;
        let hit = match self.plan.fault {
            Fault::FromThenOn(_) => self.plan.at > 0 && self.counted >= self.plan.at,
            _ => self.counted == self.plan.at,
        };
        hit.then(|| {
            let file = file.strip_prefix(&self.folder).unwrap_or(&file);
            format!("{name} {}", file.display())
        })
    }
}

/// How a call names its file.
enum By {
    Descriptor(u64),
    /// The address of a text.
    Path(u64),
    /// The descriptor of a folder, and the address of a text.
    In(u64, u64),
}

/// Returns the folder that a path is relative to.
fn folder_of(thread: Pid, descriptor: u64) -> Option<PathBuf> {
    // A descriptor is a C `int`, so only the lower half of the register counts.
    let descriptor = descriptor as libc::c_int;
    let link = match descriptor {
        libc::AT_FDCWD => format!("/proc/{thread}/cwd"),
        _ => format!("/proc/{thread}/fd/{descriptor}"),
    };
    fs::read_link(link).ok()
}

/// Returns the name of a call that touches a file.
fn named(number: c_long, [first, second, third, fourth]: [u64; 4]) -> Option<(&'static str, By)> {
    let (descriptor, path) = (By::Descriptor(first), By::Path(first));
    let named = match number {
        libc::SYS_write => ("write", descriptor),
        libc::SYS_pwrite64 => ("pwrite64", descriptor),
        libc::SYS_writev => ("writev", descriptor),
        libc::SYS_read => ("read", descriptor),
        libc::SYS_pread64 => ("pread64", descriptor),
        libc::SYS_fsync => ("fsync", descriptor),
        libc::SYS_fdatasync => ("fdatasync", descriptor),
        libc::SYS_sync_file_range => ("sync_file_range", descriptor),
        libc::SYS_ftruncate => ("ftruncate", descriptor),
        libc::SYS_getdents64 => ("getdents64", descriptor),
        libc::SYS_mkdir => ("mkdir", path),
        libc::SYS_rename => ("rename", path),
        libc::SYS_unlink => ("unlink", path),
        libc::SYS_mkdirat => ("mkdirat", By::In(first, second)),
        libc::SYS_renameat2 => ("renameat2", By::In(first, second)),
        libc::SYS_unlinkat => ("unlinkat", By::In(first, second)),
        libc::SYS_linkat => ("linkat", By::In(third, fourth)),
        libc::SYS_symlinkat => ("symlinkat", By::In(second, third)),
        libc::SYS_openat
            if i32::try_from(third).is_ok_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY) =>
        {
            ("openat for writing", By::In(first, second))
        }
        libc::SYS_openat => ("openat", By::In(first, second)),
        _ => return None,
    };
    Some(named)
}

fn is_of(calls: Calls, name: &str) -> bool {
    let reads = ["read", "pread64", "openat", "getdents64"].contains(&name);
    match calls {
        Calls::Writing => !reads,
        Calls::Reading => reads,
        Calls::Syncing => ["fsync", "fdatasync", "sync_file_range"].contains(&name),
        Calls::Moving => ["read", "pread64", "write", "pwrite64", "writev"].contains(&name),
    }
}

/// Reads a path out of the memory of a traced process.
fn text_at(thread: Pid, address: u64) -> io::Result<PathBuf> {
    let memory = File::open(format!("/proc/{thread}/mem"))?;
    let mut bytes = [0; 4096];
    let length = memory.read_at(&mut bytes, address)?;
    let text = CStr::from_bytes_until_nul(&bytes[..length]).map_err(io::Error::other)?;
    Ok(PathBuf::from(CString::from(text).into_string().map_err(io::Error::other)?))
}
