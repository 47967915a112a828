//! How long a list of many runs takes, and one of them. `cargo bench -p unstuck --bench lists`.
//!
//! Every run is a copy of one real run with another id and start, without its store: the list reads `events.jsonl`.
//! `UNSTUCK_BENCH_RUNS` says how many (100,000). They take 2 GB on a disk, and minutes to make; `TMPDIR=/dev/shm` makes them faster.

mod usage;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use unstuck_core::event::{Event, Fact, Observation};
use unstuck_core::id::{RunId, Seq, Timestamp};
use unstuck_store::{EventStore as _, ExpectedVersion, RunEntry, Store as _, mirror};
use usage::{Usage, ms, spans, unstuck, workspace};

/// Each figure is the median of so many rounds.
const ROUNDS: usize = 21;

/// Rows of a page of `unstuck runs`.
const PAGE: usize = 50;

/// The folder of the runs, for another process: the peak of a child is never below the memory of the process that starts it.
const OF_PAGES: &str = "UNSTUCK_BENCH_PAGES";

fn main() {
    let count = std::env::var("UNSTUCK_BENCH_RUNS").map_or(100_000, |text| text.parse().expect("a number"));
    if let Some(scratch) = std::env::var_os(OF_PAGES) {
        return pages(Path::new(&scratch), count);
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    fs::create_dir(workspace(scratch.path())).expect("a workspace");
    make(scratch.path(), count);
    let mut of_pages = Command::new(std::env::current_exe().expect("a program"));
    let status = of_pages.env(OF_PAGES, scratch.path()).status();
    assert!(status.expect("the program can be started").success());
}

fn pages(scratch: &Path, count: usize) {
    println!("limit: start (--version): {}", median(scratch, &["--version"]));
    let begun = Instant::now();
    run(scratch, &["runs"]);
    println!("the first list of {count} runs, which reads all their logs: {}", ms(begun.elapsed()));
    let used = Usage::of_children();
    println!("processor time so far: {}, peak memory: {:.1} MB", ms(used.cpu), used.peak_mb);
    let middle = id(count / 2);
    for page in [1, count / PAGE / 2, count / PAGE] {
        println!("page {page}: {}", median(scratch, &["runs", "--page", &page.to_string()]));
    }
    println!("show ID: {}", median(scratch, &["show", middle.as_str()]));
    println!("show with the beginning of an id: {}", median(scratch, &["show", &middle.as_str()[..8]]));
    println!("peak memory with these: {:.1} MB", Usage::of_children().peak_mb);
    run(scratch, &["run", "--quiet", "one.yaml"]);
    let begun = Instant::now();
    run(scratch, &["runs"]);
    println!("the list after one more run: {}", ms(begun.elapsed()));
    println!("peak memory with it: {:.1} MB", Usage::of_children().peak_mb);
}

/// Makes so many runs.
fn make(scratch: &Path, count: usize) {
    let text = "name: one\nversion: \"1\"\ntimeout: \"1m\"\nsteps:\n  a: {worker: CUSTOM, instructions: \"true\", capabilities: [READ]}\n";
    fs::write(workspace(scratch).join("one.yaml"), text).expect("a workflow");
    run(scratch, &["run", "--quiet", "one.yaml"]);
    let state = scratch.join("state/unstuck");
    let project = fs::read_dir(state).expect("a state folder").next().expect("a project").expect("an entry");
    let project = unstuck_store_sled::at(project.path());
    let first = project.runs().expect("the runs can be read").pop().expect("a run");
    let events = mirror::read(&project.lines(&first.run), Seq(1)).expect("a log");
    let events: Vec<Event> = events.collect::<Result<_, _>>().expect("a log");
    let ids: Vec<RunId> = (1..count).map(id).collect();
    for (at, run) in ids.iter().enumerate() {
        let started_at = Timestamp(first.started_at.0 - 60_000 * at as u64 - 1);
        copy(&project, run, &events, started_at);
        project.note_started(&RunEntry { run: run.clone(), started_at, ..first.clone() });
    }
}

/// Returns the id of the run with a number, spread as random ids are.
fn id(number: usize) -> RunId {
    let spread = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16;
    RunId::new(format!("{spread:012x}"))
}

fn copy(project: &unstuck_store::Runs, run: &RunId, events: &[Event], started_at: Timestamp) {
    let begun = events[0].at.0;
    let events: Vec<Event> = events
        .iter()
        .map(|event| {
            let mut event = event.clone();
            event.at = Timestamp(event.at.0 - begun + started_at.0);
            if let Fact::Observed(Observation::RunStarted(started)) = &mut event.fact {
                started.run = run.clone();
            }
            event
        })
        .collect();
    let log = project.create(run).expect("a run");
    log.append(&events, ExpectedVersion::Exactly(Seq(0))).expect("events");
    drop(log);
    fs::remove_dir_all(project.path_of(run).join("store")).expect("a store");
}

fn run(scratch: &Path, words: &[&str]) {
    assert!(usage::run(unstuck(scratch).args(words)).success(), "{words:?}");
}

fn median(scratch: &Path, words: &[&str]) -> String {
    let spans = spans(ROUNDS, || run(scratch, words));
    format!("{} (at most {})", ms(spans[ROUNDS / 2]), ms(spans[ROUNDS - 1]))
}
