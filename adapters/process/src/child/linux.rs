//! A child process on Linux, from its start until its exit status is known.
//!
//! Started with `clone(CLONE_VM | CLONE_VFORK)`, as `posix_spawn` does: the child borrows our memory until
//! it becomes the other program. `fork` would copy the page tables and then every page that we touch:
//! 1 ms for a supervisor of 15 MB. The `posix_spawn` of the standard library offers neither a new session
//! nor `PR_SET_PDEATHSIG`.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::{self, c_char};
use nix::sched::{CloneFlags, clone};
use nix::sys::signal::{SigSet, SigmaskHow, pthread_sigmask};
use nix::unistd;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::program::Program;
use crate::rlimit_mark::{Limit, RlimitMark};
use crate::spec::MARK;

/// Stack size of the child, in bytes: enough for a few system calls and the wrappers of the C library.
const STACK: usize = 64 * 1024;

/// Interval between two checks for the exit, if the kernel has no process handles.
const POLL: Duration = Duration::from_millis(10);

/// Folders that are searched without a `PATH`, as the C library does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// A child process. Killed if dropped before its exit status is known.
pub(crate) struct ChildProcess {
    process: UnreapedChild,
    status: Option<ExitStatus>,
    handle: Option<AsyncFd<OwnedFd>>,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

impl ChildProcess {
    /// Returns its process id; `None` once the exit status is known, because the id may be reused.
    pub(crate) fn id(&self) -> Option<u32> {
        u32::try_from(self.process.0?.as_raw_pid()).ok()
    }

    /// Waits for the exit. Cancel safe.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            let ready = match &self.handle {
                Some(handle) => Some(handle.readable().await?),
                None => None,
            };
            if let Some(status) = self.status {
                return Ok(status);
            }
            if let Some((_, status)) = waitpid(self.process.0, WaitOptions::NOHANG)? {
                self.process.0 = None;
                let status = ExitStatus::from_raw(status.as_raw());
                self.status = Some(status);
                return Ok(status);
            }
            match ready {
                Some(mut ready) => ready.clear_ready(),
                None => tokio::time::sleep(POLL).await,
            }
        }
    }

    /// Kills the process itself.
    pub(crate) fn start_kill(&mut self) -> io::Result<()> {
        self.process.0.map_or(Ok(()), |pid| Ok(kill_process(pid, Signal::KILL)?))
    }
}

/// The id of a child that was not waited for yet. Killed and reaped when dropped.
struct UnreapedChild(Option<Pid>);

impl Drop for UnreapedChild {
    fn drop(&mut self) {
        let Some(pid) = self.0 else { return };
        let _already_gone = kill_process(pid, Signal::KILL);
        // It may be in a system call that does not end, so another thread waits for it.
        let bury = move || waitpid(Some(pid), WaitOptions::empty()).map_or((), |_| ());
        let _stays_a_zombie = std::thread::Builder::new().spawn(bury);
    }
}

/// A started child, and our ends of its pipes.
pub(crate) struct StartedChild {
    process: UnreapedChild,
    stdin: Option<PipeWriter>,
    stdout: PipeReader,
    stderr: PipeReader,
}

impl StartedChild {
    /// Registers it with this runtime.
    pub(crate) fn register(self) -> io::Result<ChildProcess> {
        // `None` on a kernel before 5.3, or in a sandbox without the system call.
        let handle = self.process.0.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        let stdin = self.stdin.map(|pipe| ChildStdin::from_std(OwnedFd::from(pipe).into()));
        Ok(ChildProcess {
            process: self.process,
            status: None,
            handle: handle.map(readable).transpose()?,
            stdin: stdin.transpose()?,
            stdout: Some(ChildStdout::from_std(OwnedFd::from(self.stdout).into())?),
            stderr: Some(ChildStderr::from_std(OwnedFd::from(self.stderr).into())?),
        })
    }
}

#[expect(
    unsafe_code,
    reason = "whatever owns a file descriptor could be given, also something that changes it"
)]
fn readable(handle: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open and the same until it is dropped.
    Ok(unsafe { AsyncFd::register_with_interest(handle, Interest::READABLE) }?)
}

/// Starts a program in a new session. The kernel kills it when the calling thread ends.
pub(crate) fn start(program: &Program) -> io::Result<StartedChild> {
    let image = ExecImage::new(program)?;
    let (stdout, its_stdout) = io::pipe()?;
    let (stderr, its_stderr) = io::pipe()?;
    let (its_stdin, stdin) = if program.reads {
        let (reader, writer) = io::pipe()?;
        (OwnedFd::from(reader), Some(writer))
    } else {
        (OwnedFd::from(File::open("/dev/null")?), None)
    };
    let process = image.run([its_stdin.as_fd(), its_stdout.as_fd(), its_stderr.as_fd()])?;
    Ok(StartedChild { process, stdin, stdout, stderr })
}

/// Data for the child, allocated before it starts.
struct ExecImage {
    cwd: CString,
    /// The files to try, in this order.
    files: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    limit: Option<Limit>,
}

impl ExecImage {
    fn new(program: &Program) -> io::Result<Self> {
        let name = program.argv.first().map_or(OsStr::new(""), |name| name);
        let files: Vec<CString> = if name.as_bytes().contains(&b'/') {
            vec![c_string(name.as_bytes())?]
        } else {
            let path = program.env.get(OsStr::new("PATH")).map_or(OsStr::new(DEFAULT_PATH), |path| path);
            let folders = std::env::split_paths(path);
            folders
                .map(|folder| c_string(folder.join(name).as_os_str().as_bytes()))
                .collect::<io::Result<_>>()?
        };
        let variables = program.env.iter();
        Ok(Self {
            limit: program.env.get(OsStr::new(MARK)).and_then(|marks| RlimitMark::for_marks(marks).limit()),
            cwd: c_string(program.cwd.as_os_str().as_bytes())?,
            files,
            arguments: program
                .argv
                .iter()
                .map(|word| c_string(word.as_bytes()))
                .collect::<io::Result<_>>()?,
            environment: variables
                .map(|(name, value)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat()))
                .collect::<io::Result<_>>()?,
        })
    }

    /// Starts the child and waits until its `exec` succeeds or fails.
    #[expect(
        unsafe_code,
        reason = "there is no safe way to start a process in a session of its own without a fork"
    )]
    fn run(&self, [stdin, stdout, stderr]: [BorrowedFd<'_>; 3]) -> io::Result<UnreapedChild> {
        let arguments = pointers(&self.arguments);
        let environment = pointers(&self.environment);
        // For a script whose first line names no interpreter; `of_shell[1]` becomes the file.
        let shell = c"/bin/sh";
        let mut of_shell = vec![shell.as_ptr(), std::ptr::null()];
        of_shell.extend(arguments.iter().skip(1));

        let mut failed_with = None;
        let supervisor = unistd::getpid();
        let mut exec_program = || -> Result<(), Errno> {
            default_signals();
            unistd::setsid()?;
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::SIGKILL)?;
            // The supervisor may have died before `set_pdeathsig`.
            if unistd::getppid() != supervisor {
                return Err(Errno::ECHILD);
            }
            if let Some(limit) = self.limit {
                limit.set();
            }
            unistd::chdir(self.cwd.as_c_str())?;
            unistd::dup2_stdin(stdin)?;
            unistd::dup2_stdout(stdout)?;
            unistd::dup2_stderr(stderr)?;
            SigSet::empty().thread_set_mask()?;
            let mut refused = Errno::ENOENT;
            for file in &self.files {
                // SAFETY: the strings and the arrays of pointers to them, which end with null, outlive the call.
                unsafe { libc::execve(file.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
                match Errno::last() {
                    Errno::ENOENT | Errno::ENOTDIR => {}
                    Errno::EACCES => refused = Errno::EACCES,
                    Errno::ENOEXEC => {
                        of_shell[1] = file.as_ptr();
                        // SAFETY: as above.
                        unsafe { libc::execve(shell.as_ptr(), of_shell.as_ptr(), environment.as_ptr()) };
                        return Err(Errno::last());
                    }
                    error => return Err(error),
                }
            }
            Err(refused)
        };
        let mut stack = vec![0; STACK];
        let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK;
        // A handler of ours must not run in the child: it would act on our memory.
        let mask = block_signals()?;
        // SAFETY: the child uses its stack and the data borrowed here, and this thread is suspended until
        // the child no longer uses them. It only makes system calls: it allocates nothing and takes no
        // lock.
        let child = unsafe {
            let child = Box::new(|| -> isize {
                failed_with = exec_program().err();
                127
            });
            clone(child, &mut stack, flags, Some(libc::SIGCHLD))
        };
        mask.thread_set_mask()?;
        let pid = Pid::from_raw(child?.as_raw());
        match failed_with {
            None => Ok(UnreapedChild(pid)),
            Some(error) => {
                waitpid(pid, WaitOptions::empty())?;
                Err(error.into())
            }
        }
    }
}

fn block_signals() -> io::Result<SigSet> {
    let mut before = SigSet::empty();
    pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut before))?;
    Ok(before)
}

/// Resets our signal handlers, and `SIGPIPE`, which the runtime of Rust ignores. Signals that were ignored when this
/// process started, such as by `nohup`, stay ignored.
#[expect(unsafe_code, reason = "the safe wrapper forgets what a handler was")]
fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: both calls only read and write the structures given; the table of handlers is our own,
        // for the child was not started with CLONE_SIGHAND.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &raw mut action) != 0 {
                continue;
            }
            if action.sa_sigaction != libc::SIG_IGN || signal == libc::SIGPIPE {
                action.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }
}

fn c_string(text: &[u8]) -> io::Result<CString> {
    Ok(CString::new(text)?)
}

/// Returns pointers to the strings, followed by null.
fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([std::ptr::null()]).collect()
}
