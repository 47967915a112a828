//! A writer in a second process that is killed at any moment.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use unstuck_core::event::Event;
use unstuck_core::id::Seq;

use super::{Backend, answer, events, run};
use crate::event_store::{EventStore as _, ExpectedVersion};

/// The folder of the writer. Only its process has the variable.
const FOLDER: &str = "UNSTUCK_TESTING_FOLDER";
/// Events of each append.
pub const BATCH: u64 = 3;

fn batch(after: u64) -> Vec<Event> {
    // Every tenth is large, so that blobs are in it too.
    let size = if after.is_multiple_of(10) { 40_000 } else { 200 };
    events(after + 1, (0..BATCH).map(|n| answer(&format!("{n}{}", "x".repeat(size)))))
}

/// Appends until it is killed, in a process that [`start`] has started. Does nothing in any other process.
pub fn write_until_killed<B: Backend>() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let backend = B::at(Path::new(&folder));
    let log = backend.claim(&run()).unwrap_or_else(|_| backend.create(&run()));
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
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 0..12 {
        let mut child = start(folder.path(), module, &[]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut seen = last;
        for _ in 0..(round * 7) % 40 + 1 {
            seen = lines.by_ref().find_map(|line| acknowledged(&line)).expect("the writer acknowledges");
        }
        // A kill during the next append.
        child.kill().unwrap();
        child.wait().unwrap();
        seen = lines.filter_map(|line| acknowledged(&line)).last().unwrap_or(seen);
        last = check::<B>(folder.path(), seen);
    }
}

/// Starts the test `killed_writer` of a module in another process, with these variables.
pub fn start(folder: &Path, module: &str, variables: &[(&str, &str)]) -> Child {
    let test = module
        .split_once("::")
        .map_or("killed_writer".to_owned(), |(_, path)| format!("{path}::killed_writer"));
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &test, "--nocapture"]).env(FOLDER, folder).envs(variables.iter().copied());
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Reads the number of the last event from a line of the writer.
pub fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// Opens the run after its writer died, and checks it. Returns the last event.
pub fn check<B: Backend>(folder: &Path, acknowledged: u64) -> u64 {
    let backend = B::at(folder);
    assert!(acknowledged == 0 || backend.runs().contains(&run()), "the run is lost");
    let log = backend.claim(&run()).unwrap();
    let head = log.verify().unwrap().seq.0;
    assert!(head >= acknowledged, "acknowledged {acknowledged}, there are {head}");
    assert!(head <= acknowledged + BATCH, "more than one batch was never acknowledged");
    assert_eq!(head % BATCH, 0, "a batch is there as a whole or not at all");
    let expected = (0..head / BATCH).flat_map(|n| batch(n * BATCH));
    assert!(log.read(Seq(1)).unwrap().map(Result::unwrap).eq(expected), "other events were read");
    head
}
