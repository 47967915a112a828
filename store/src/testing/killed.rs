//! A writer in a second process that is killed at any moment.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use unstuck_core::event::Event;

use super::{Backend, answer, events, read_all, run};
use crate::event_store::ExpectedVersion;

/// The folder of the writer. Only its process has the variable.
const FOLDER: &str = "UNSTUCK_TESTING_FOLDER";
const BATCH: u64 = 3;

fn batch(after: u64) -> Vec<Event> {
    // Every tenth is large, so that blobs are in it too.
    let size = if after.is_multiple_of(10) { 40_000 } else { 200 };
    events(after + 1, (0..BATCH).map(|n| answer(&format!("{n}{}", "x".repeat(size)))))
}

/// Appends until it is killed, in a process that the rule has started. Does nothing in any other process.
pub fn write_until_killed<B: Backend>() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let backend = B::at(Path::new(&folder));
    let is_known = backend.runs().contains(&run());
    let log = if is_known { backend.claim(&run()) } else { backend.create(&run()) };
    let mut out = std::io::stdout();
    // The test harness leaves its line unfinished.
    writeln!(out).unwrap();
    loop {
        let head = log.head();
        let head = log.append(&batch(head.seq.0), ExpectedVersion::Exactly(head.seq)).unwrap();
        writeln!(out, "acknowledged {}", head.seq).unwrap();
    }
}

/// If the process is killed, no acknowledged event is lost, and no half batch is stored. `module` is the module of
/// the test `killed_writer`.
pub fn a_killed_writer_loses_nothing_acknowledged<B: Backend>(module: &str) {
    if !B::IS_DURABLE {
        return;
    }
    let (_, path) = module.split_once("::").unwrap_or(("", ""));
    let test = if path.is_empty() { "killed_writer".to_owned() } else { format!("{path}::killed_writer") };
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 0..6 {
        let mut child = start(folder.path(), &test);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut seen = last;
        for _ in 0..(round * 7) % 40 + 1 {
            seen = lines.by_ref().find_map(|line| acknowledged(&line)).expect("the writer acknowledges");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        seen = lines.filter_map(|line| acknowledged(&line)).last().unwrap_or(seen);
        last = check::<B>(folder.path(), seen);
    }
}

fn start(folder: &Path, test: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(FOLDER, folder);
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// Opens what is left and checks it. Returns the last event.
fn check<B: Backend>(folder: &Path, acknowledged: u64) -> u64 {
    let backend = B::at(folder);
    assert!(backend.runs().contains(&run()), "the run is lost");
    let read = read_all(&*backend.claim(&run()));
    let last = read.len() as u64;
    assert!(last >= acknowledged, "acknowledged {acknowledged}, there are {last}");
    let expected: Vec<Event> = (0..last.div_ceil(BATCH)).flat_map(|n| batch(n * BATCH)).collect();
    assert_eq!(read, expected, "all batches are whole");
    last
}
