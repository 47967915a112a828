//! The memory of a supervisor while a worker or a check prints a gigabyte, and how soon it stops while it reads one.
//! `cargo bench -p unstuck --bench output`.
//!
//! A second step asks the system (Linux) for the peak of its parent, which is the supervisor.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const GIGABYTE: u64 = 1 << 30;

/// How often a run is stopped.
const STOPS: u32 = 12;

/// Endless output.
const OUTPUTS: [(&str, &str); 3] = [
    ("in lines", "yes \"a line as long as those that a compiler prints while it works\""),
    ("on one line", "tr \"\\0\" x </dev/zero"),
    ("in short lines", "yes"),
];

/// Output that readers of failures have most work with.
const MARKS: [&str; 3] =
    ["not ok 1 - a.c:1: (FAIL: ", "# Unhandled error between tests", "TS2322 [ERROR]: x"];

fn main() {
    for (name, print) in OUTPUTS {
        for by in ["worker", "check"] {
            let scratch = tempfile::tempdir().expect("a temporary folder");
            let begun = Instant::now();
            supervise(scratch.path(), by, &format!("{print} | head -c {GIGABYTE}"));
            let seconds = begun.elapsed().as_secs_f64();
            let peak = std::fs::read_to_string(scratch.path().join("peak")).unwrap_or_default();
            let peak_kb = peak.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
            let peak = peak_kb.map_or("unknown".to_owned(), |kb| format!("{:.1} MB", kb / 1024.0));
            let speed = GIGABYTE as f64 / seconds / 1e6;
            println!("1 GB {name} from a {by}: peak memory of the supervisor {peak}, {speed:.0} MB/s");
        }
    }
    for mark in MARKS {
        let mut spans: Vec<Duration> = (0..STOPS).map(|at| stopped(mark, at)).collect();
        spans.sort();
        let (median, most) = (spans[spans.len() / 2], spans[spans.len() - 1]);
        println!("SIGTERM while checks print {mark:?}: {median:.0?} until the end, at most {most:.0?}");
    }
}

/// Runs a step whose worker or whose check prints, and then one that looks at the supervisor.
fn supervise(scratch: &Path, by: &str, print: &str) {
    let (work, check) = if by == "worker" { (print, "true") } else { ("true", print) };
    let text = format!(
        "name: loud\nversion: \"1\"\ntimeout: \"1h\"\nsteps:\n  loud:\n    worker: CUSTOM\n    instructions: '{work}'\n    capabilities: [READ]\n    max_iterations: 2\n    \
         completion_check: {{worker: CUSTOM, instructions: '{check}', capabilities: [READ]}}\n  \
         peak: {{worker: CUSTOM, instructions: 'grep VmHWM /proc/$PPID/status >peak', capabilities: [READ], \
         depends_on: [loud]}}\n"
    );
    let status = unstuck(scratch, &text).status();
    assert!(status.expect("the command can be started").success(), "the run is complete");
}

/// Stops a run whose check prints much and fails, and returns how long that takes.
fn stopped(mark: &str, at: u32) -> Duration {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let text = format!(
        "name: loud\nversion: \"1\"\ntimeout: \"1h\"\nsteps:\n  loud:\n    worker: CUSTOM\n    instructions: 'true'\n    capabilities: [READ]\n    \
         max_iterations: 1000\n    completion_check: {{worker: CUSTOM, instructions: 'yes \"{mark}\" | head -c 30000000; exit 1', capabilities: [READ]}}\n"
    );
    let mut child = unstuck(scratch.path(), &text).spawn().expect("the command can be started");
    std::thread::sleep(Duration::from_millis(500 + 37 * u64::from(at)));
    let begun = Instant::now();
    let told = Command::new("kill").arg(child.id().to_string()).status();
    assert!(told.expect("kill").success(), "it still runs");
    child.wait().expect("our own child");
    begun.elapsed()
}

fn unstuck(scratch: &Path, text: &str) -> Command {
    std::fs::write(scratch.join("loud.yaml"), text).expect("a workflow");
    let mut command = Command::new(env!("CARGO_BIN_EXE_unstuck"));
    command.current_dir(scratch).env("XDG_STATE_HOME", scratch.join("state")).env_remove("UNSTUCK_STORE");
    command.args(["run", "--quiet", "loud.yaml"]).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    command
}
