//! A child process on systems other than Linux: started by tokio in a new session or group.

use std::io;
use std::process::{Command, Stdio};

use crate::program::Program;

pub(crate) type TokioChild = tokio::process::Child;

/// A child that is ready to start.
pub(crate) struct ChildCommand(Command);

impl ChildCommand {
    /// Starts it on this runtime.
    pub(crate) fn register(self) -> io::Result<TokioChild> {
        tokio::process::Command::from(self.0).kill_on_drop(true).spawn()
    }
}

/// Prepares a program to start in a new session.
pub(crate) fn start(program: &Program) -> io::Result<ChildCommand> {
    let Some((name, arguments)) = program.argv.split_first() else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let mut command = Command::new(name);
    command.args(arguments).current_dir(&program.cwd).env_clear().envs(&program.env);
    command.stdin(if program.reads { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    lead_own_session(&mut command);
    Ok(ChildCommand(command))
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "a session of its own can only be asked for between fork and exec")]
fn lead_own_session(command: &mut Command) {
    use std::os::unix::process::CommandExt as _;

    let between_fork_and_exec = || Ok(rustix::process::setsid().map(drop)?);
    // SAFETY: the closure makes one system call: it allocates no memory and takes no lock.
    unsafe {
        command.pre_exec(between_fork_and_exec);
    }
}

#[cfg(windows)]
fn lead_own_session(command: &mut Command) {
    use std::os::windows::process::CommandExt as _;

    use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, CREATE_SUSPENDED};

    // It resumes once it is in its job (`group/windows.rs`), so that all its children are in the job.
    command.creation_flags(CREATE_NEW_PROCESS_GROUP | CREATE_SUSPENDED);
}
