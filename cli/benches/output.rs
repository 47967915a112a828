//! What a supervisor needs of memory while a worker prints a gigabyte. `cargo bench -p unstuck --bench output`.
//!
//! A second step asks the system (Linux) for the peak of its parent, which is the supervisor.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const GIGABYTE: u64 = 1 << 30;

/// What a worker prints, endless, and what becomes of it.
const OUTPUTS: [(&str, &str); 2] = [
    ("in lines", "yes \"a line as long as those that a compiler prints while it works\""),
    ("on one line", "tr \"\\0\" x </dev/zero"),
];

fn main() {
    for (name, print) in OUTPUTS {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let begun = Instant::now();
        supervise(scratch.path(), &format!("{print} | head -c {GIGABYTE}"));
        let seconds = begun.elapsed().as_secs_f64();
        let peak = std::fs::read_to_string(scratch.path().join("peak")).unwrap_or_default();
        let peak_kb = peak.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
        let peak = peak_kb.map_or("unknown".to_owned(), |kb| format!("{:.1} MB", kb / 1024.0));
        let speed = GIGABYTE as f64 / seconds / 1e6;
        println!("1 GB {name}: peak memory of the supervisor {peak}, {speed:.0} MB/s");
    }
}

fn supervise(scratch: &Path, print: &str) {
    let text = format!(
        "name: loud\nversion: \"1\"\ntimeout: \"1h\"\nsteps:\n  loud: {{worker: CUSTOM, instructions: '{print}', capabilities: [READ]}}\n  \
         peak: {{worker: CUSTOM, instructions: 'grep VmHWM /proc/$PPID/status >peak', capabilities: [READ], \
         depends_on: [loud]}}\n"
    );
    std::fs::write(scratch.join("loud.yaml"), text).expect("a workflow");
    let mut command = Command::new(env!("CARGO_BIN_EXE_unstuck"));
    command.current_dir(scratch).env("XDG_STATE_HOME", scratch.join("state")).env_remove("UNSTUCK_STORE");
    let status =
        command.args(["run", "--quiet", "loud.yaml"]).stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert!(status.expect("the command can be started").success(), "the run is complete");
}
