//! Readers that stop reading the output of a run.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, pipe};

use crate::place::Place;
use crate::watchdog::Watchdog;

const SLEEPS: &str = r#"
name: sleeps
version: "1"
timeout: "5m"
steps:
  work: {worker: COMMAND, command: "sleep 60", instructions: Sleep., capabilities: [EDIT]}
"#;

/// Returns both ends of a pipe that nothing more fits into.
fn full_pipe() -> (OwnedFd, OwnedFd) {
    let (read, write) = pipe().expect("a pipe");
    fcntl(&write, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).expect("it is ours");
    let mut file = fs::File::from(write);
    let full = loop {
        if let Err(error) = file.write_all(&[b'x'; 1]) {
            break error.kind();
        }
    };
    assert_eq!(full, io::ErrorKind::WouldBlock);
    let write = OwnedFd::from(file);
    fcntl(&write, FcntlArg::F_SETFL(OFlag::empty())).expect("it is ours");
    (read, write)
}

#[test]
fn a_reader_that_reads_no_more_holds_neither_the_time_limit_nor_a_signal() {
    for (arguments, signal, status) in [
        (&["run", "sleeps.yaml", "--json", "--max-time", "2s"][..], None, 2),
        (&["run", "sleeps.yaml", "--max-time", "2s"], None, 2),
        (&["run", "sleeps.yaml", "--json"], Some(Signal::SIGTERM), 143),
        (&["run", "sleeps.yaml"], Some(Signal::SIGTERM), 143),
    ] {
        let place = Place::new();
        fs::write(place.work().join("sleeps.yaml"), SLEEPS).expect("the folder is ours");
        let (_reads_nothing, full) = full_pipe();
        let mut command = place.command(arguments);
        let begun = Instant::now();
        let mut child =
            command.stdin(Stdio::null()).stdout(full).stderr(Stdio::null()).spawn().expect("it starts");
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process number"));
        let watchdog = Watchdog::over(pid);
        if let Some(signal) = signal {
            while place.runs().is_empty() && begun.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(50));
            }
            std::thread::sleep(Duration::from_secs(1));
            kill(pid, signal).expect("it is there");
        }
        let ended = child.wait().expect("our own child");
        assert!(!watchdog.had_to_bite(), "it hangs: {arguments:?}");
        assert_eq!(ended.code(), Some(status), "{arguments:?}");
        assert!(begun.elapsed() < Duration::from_secs(45), "{arguments:?}: {:?}", begun.elapsed());
    }
}
