//! Runs git for what only git knows, or only git may do.
//!
//! The only place where a program is started. Nothing that the repository, the system or the user
//! has configured runs, nothing is waited for on a terminal or a network, and git has an end.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long git may take. It reads or writes a few files.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs git in the workspace and returns what it prints; what it complains of is the error.
pub(super) fn run(workspace: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    run_with(workspace, arguments, Vec::new())
}

/// Runs git with something to read; it is to read all of that before it prints much.
pub(super) fn run_with(workspace: &Path, arguments: &[&str], input: Vec<u8>) -> io::Result<Vec<u8>> {
    let mut child = command(workspace, arguments).spawn()?;
    let (Some(mut stdin), Some(mut stdout), Some(mut stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("git cannot be spoken to"));
    };
    let (send, received) = mpsc::channel();
    let reader = thread::Builder::new().spawn(move || {
        // Whoever does not read it says why.
        let _unread = stdin.write_all(&input);
        drop(stdin);
        let (mut output, mut complaint) = (Vec::new(), Vec::new());
        let read = stdout.read_to_end(&mut output).and_then(|_| stderr.read_to_end(&mut complaint));
        let _nobody_waits = send.send(read.map(|_| (output, complaint)));
    });
    // Without a thread the channel is closed, and git is ended at once.
    let received = received.recv_timeout(if reader.is_ok() { PATIENCE } else { Duration::ZERO });
    if received.is_err() {
        child.kill()?;
    }
    let status = child.wait()?;
    let (output, complaint) =
        received.map_err(|_| io::Error::other(format!("git did not end in {} s", PATIENCE.as_secs())))??;
    if status.success() {
        Ok(output)
    } else {
        let complaint = String::from_utf8_lossy(&complaint);
        let line = complaint.lines().next().unwrap_or("git failed");
        Err(io::Error::other(line.chars().take(300).collect::<String>()))
    }
}

fn command(workspace: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(workspace).args(["--no-optional-locks", "--no-pager"]);
    for setting in ["core.fsmonitor=false", "core.hooksPath=/dev/null", "safe.directory=*"] {
        command.args(["-c", setting]);
    }
    command.args(arguments);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        command.env_remove(name);
    }
    command
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
