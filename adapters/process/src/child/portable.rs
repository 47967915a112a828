//! A process on systems other than Linux: what tokio offers, in a session or group of its own.

use std::io;
use std::process::{Command, Stdio};

use crate::spawn::Program;

pub(crate) type Child = tokio::process::Child;

/// A child that is about to be started.
pub(crate) struct Started(Command);

impl Started {
    /// Starts it, as something to wait for on this runtime.
    pub(crate) fn watch(self) -> io::Result<Child> {
        tokio::process::Command::from(self.0).kill_on_drop(true).spawn()
    }
}

/// Prepares a program to be started in a session of its own.
pub(crate) fn start(program: &Program) -> io::Result<Started> {
    let Some((name, arguments)) = program.argv.split_first() else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let mut command = Command::new(name);
    command.args(arguments).current_dir(&program.cwd).env_clear().envs(&program.env);
    command.stdin(if program.reads { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    lead_own_session(&mut command);
    Ok(Started(command))
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

    // It takes its first step when it is in its job (`group/windows.rs`), so that it cannot start anything before.
    command.creation_flags(CREATE_NEW_PROCESS_GROUP | CREATE_SUSPENDED);
}
