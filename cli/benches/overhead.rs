//! Overhead of Unstuck on the work that it supervises. `cargo bench -p unstuck --bench overhead`.
//!
//! Each figure is printed with a lower bound measured in the same run: the spawn of the same shell, and a bare
//! `write` + `fdatasync` for every append.

mod usage;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use usage::{Usage, ms, run, spans, unstuck, workspace};

/// Appends that one iteration makes durable: worker started and finished, check started and finished.
const APPENDS: u32 = 4;

const ROUNDS: u32 = 5;

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    std::fs::create_dir(workspace(scratch.path())).expect("a workspace");
    let start = median(31, || run(unstuck(scratch.path()).arg("--version")));
    println!("start (--version): {}", ms(start));

    let single =
        median(11, || run(unstuck(scratch.path()).args(["run", "--quiet", &single(scratch.path())])));
    println!("one-step workflow: {}", ms(single));

    for round in 1..=ROUNDS {
        println!("round {round} of {ROUNDS}");
        iteration(scratch.path(), single);
    }
}

/// Measures an iteration early and late in a run, with its limits before and after it: a machine that is shared is
/// not always as fast.
fn iteration(scratch: &Path, single: Duration) {
    let before = (spawn(), durable_append(scratch));
    let five = median_of(11, || iterations(scratch, 5).wall);
    let early = median_of(11, || iterations(scratch, 15).each(5, 15));
    let long = iterations(scratch, 1000);
    let after = (spawn(), durable_append(scratch));
    let (spawn, append) = ((before.0 + after.0) / 2, (before.1 + after.1) / 2);
    println!("  limit: spawn of `bash -e -c true`: {}", ms(spawn));
    println!("  limit: write + fdatasync of 400 bytes: {}", ms(append));
    let limit = spawn * 2 + append * APPENDS;
    println!("  limit: two spawns and {APPENDS} durable appends: {}", ms(limit));
    let late = long.each(15, 1000);
    for (when, each) in [("around the 10th", early), ("from there to the 1,000th", late)] {
        let beyond = ms(each.saturating_sub(limit));
        println!("  iteration of `true` and a failing check, {when}: {}, {beyond} beyond", ms(each));
    }
    println!("  what the first is made ready with, once: {}", ms(five.saturating_sub(single + early * 4)));
    println!("  CPU: {}, of which the two shells {}", ms(long.cpu / 1000), ms(cpu_of_shells() * 2));
    println!("  peak memory of 1,000 iterations: {:.1} MB", long.peak_mb);
}

fn spawn() -> Duration {
    median(101, || run(Command::new("bash").args(["-e", "-c", "true"])))
}

struct Measured {
    wall: Duration,
    cpu: Duration,
    peak_mb: f64,
    /// When the worker of each iteration was started, by the log, in milliseconds.
    started: Vec<u64>,
}

impl Measured {
    /// Returns the time per iteration between the starts of two iterations. Excludes the start and the end of the run,
    /// which vary by more than one iteration takes.
    fn each(&self, from: usize, to: usize) -> Duration {
        let span = Duration::from_millis(self.started[to - 1] - self.started[from - 1]);
        span / u32::try_from(to - from).expect("a small number")
    }
}

fn median<T>(times: usize, work: impl FnMut() -> T) -> Duration {
    spans(times, work)[times / 2]
}

fn median_of(times: usize, measure: impl FnMut() -> Duration) -> Duration {
    let mut spans: Vec<Duration> = std::iter::repeat_with(measure).take(times).collect();
    spans.sort();
    spans[times / 2]
}

fn durable_append(scratch: &Path) -> Duration {
    let mut file = File::create(scratch.join("appends")).expect("a file");
    let payload = [b'x'; 400];
    median(201, || {
        file.write_all(&payload).expect("a write");
        file.sync_data().expect("a sync");
    })
}

fn single(scratch: &Path) -> String {
    let text = "name: one\nversion: \"1\"\ntimeout: \"1m\"\nsteps:\n  a: {worker: CUSTOM, instructions: \"true\", capabilities: [READ]}\n";
    std::fs::write(workspace(scratch).join("one.yaml"), text).expect("a workflow");
    "one.yaml".to_owned()
}

fn iterations(scratch: &Path, count: u32) -> Measured {
    let text = format!(
        "name: many\nversion: \"1\"\ntimeout: \"1h\"\nsteps:\n  a:\n    worker: CUSTOM\n    instructions: \"true\"\n    \
         capabilities: [READ]\n    max_iterations: {count}\n    completion_check: {{worker: CUSTOM, instructions: \"false\", \
         capabilities: [READ]}}\n"
    );
    let file = format!("many-{count}.yaml");
    std::fs::write(workspace(scratch).join(&file), text).expect("a workflow");
    let before = Usage::of_children();
    let begun = Instant::now();
    run(unstuck(scratch).args(["run", "--quiet", &file]));
    let wall = begun.elapsed();
    let after = Usage::of_children();
    Measured { wall, cpu: after.cpu - before.cpu, peak_mb: after.peak_mb, started: starts(scratch) }
}

/// Reads from the log of the last run when its workers were started.
fn starts(scratch: &Path) -> Vec<u64> {
    let output = unstuck(scratch).args(["events", "@last", "--json"]).output().expect("the log can be read");
    let events = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<serde_json::Value>();
    let started =
        events.map(|event| event.expect("an event")).filter(|event| event["type"] == "worker_started");
    started.map(|event| event["at"].as_u64().expect("a time")).collect()
}

fn cpu_of_shells() -> Duration {
    let before = Usage::of_children();
    for _ in 0..100 {
        run(Command::new("bash").args(["-e", "-c", "true"]));
    }
    let after = Usage::of_children();
    (after.cpu - before.cpu) / 100
}
