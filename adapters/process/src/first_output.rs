//! Reads the first output of a program that answers immediately, such as its version.

use std::io::{self, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Maximum bytes of standard output that are read.
const BYTES_MAX: u64 = 4096;

/// Starts a program, whose environment the caller has [restricted](crate::inherited::restrict), returns its first 4 KiB of standard output, and ends it with its process group. `None` if its output is
/// not closed after `time`. On Windows, its children are not ended.
///
/// # Errors
///
/// The program cannot be started.
pub fn first_output(mut command: Command, time: Duration) -> io::Result<Option<Vec<u8>>> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    own_group(&mut command);
    let mut child = command.spawn()?;
    let (sender, output) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _partial = out.take(BYTES_MAX).read_to_end(&mut bytes);
            let _timed_out = sender.send(bytes);
        });
    }
    let output = output.recv_timeout(time).ok();
    end_group(&mut child);
    let _ended = child.wait();
    Ok(output)
}

#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(windows)]
fn own_group(command: &mut Command) {
    use windows_sys::Win32::System::Threading::CREATE_NEW_PROCESS_GROUP;
    std::os::windows::process::CommandExt::creation_flags(command, CREATE_NEW_PROCESS_GROUP);
}

fn end_group(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _is_empty = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _has_ended = child.kill();
}
