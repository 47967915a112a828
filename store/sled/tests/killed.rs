//! A writer that is killed at any time loses no event that was acknowledged as durable.
//!
//! The writer is a second process of this test binary.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "../../tests/common/in_folder.rs"]
mod in_folder;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use unstuck_core::event::Event;
use unstuck_core::id::Seq;
use unstuck_store::testing::facts::{answer, events};
use unstuck_store::{EventStore, ExpectedVersion, OpenError, Repair, RunDir};

const RUNS: &str = "UNSTUCK_TEST_RUNS";
const BATCH: u64 = 3;

fn folder(runs: PathBuf) -> RunDir {
    in_folder::folder(&runs, "killed")
}

fn batch(after: u64) -> Vec<Event> {
    // Every tenth is large, so that blobs are in it too.
    let size = if after.is_multiple_of(10) { 40_000 } else { 200 };
    events(after + 1, (0..BATCH).map(|n| answer(&format!("{n}{}", "x".repeat(size)))))
}

/// Code of the child process, not a separate test.
#[test]
fn child_writer() {
    let Some(runs) = std::env::var_os(RUNS) else { return };
    let folder = folder(runs.into());
    let log = match in_folder::create(&folder) {
        Err(OpenError::Exists { .. }) => in_folder::open_for_writing(&folder).unwrap().0,
        created => created.unwrap(),
    };
    let mut out = std::io::stdout();
    writeln!(out, "\nopen {}", log.head().seq).unwrap();
    loop {
        let head = log.head();
        let head = log.append(&batch(head.seq.0), ExpectedVersion::Exactly(head.seq)).unwrap();
        writeln!(out, "acknowledged {}", head.seq).unwrap();
    }
}

fn start(runs: &std::path::Path, failpoint: Option<&str>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_writer", "--nocapture"]).env(RUNS, runs);
    if let Some(failpoint) = failpoint {
        command.env("UNSTUCK_FAILPOINT", failpoint);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn acknowledged(line: &str) -> Option<u64> {
    line.strip_prefix("acknowledged ")?.parse().ok()
}

/// Opens what is left and checks it. Returns the last event.
fn check(runs: &std::path::Path, acknowledged: u64) -> u64 {
    let (log, opening) = in_folder::open_for_writing(&folder(runs.to_owned())).unwrap();
    let others: Vec<_> = opening
        .repairs
        .iter()
        .filter(|repair| {
            !matches!(
                repair,
                Repair::LeaseTakenOver { .. } | Repair::MirrorCompleted { .. } | Repair::Healed { .. }
            )
        })
        .collect();
    assert!(others.is_empty(), "{others:?}");
    let head = log.verify().unwrap().seq.0;
    assert!(head >= acknowledged, "acknowledged {acknowledged}, there are {head}");
    assert!(head <= acknowledged + BATCH, "more than one batch was never acknowledged");
    assert_eq!(head % BATCH, 0, "a batch is there as a whole or not at all");
    let expected: Vec<_> = (0..head / BATCH).flat_map(|n| batch(n * BATCH)).collect();
    assert!(log.read(Seq(1)).unwrap().map(Result::unwrap).eq(expected));
    head
}

#[test]
fn a_writer_killed_at_any_moment_needs_no_repair_of_its_events() {
    let runs = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 0..12 {
        let mut child = start(runs.path(), None);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let mut seen = last;
        for _ in 0..(round * 7) % 40 + 1 {
            seen = lines.by_ref().find_map(|line| acknowledged(&line)).unwrap();
        }
        // A kill during the next append.
        child.kill().unwrap();
        child.wait().unwrap();
        seen = lines.filter_map(|line| acknowledged(&line)).last().unwrap_or(seen);
        last = check(runs.path(), seen);
    }
}

#[test]
fn a_log_that_another_process_writes_is_locked_until_it_dies() {
    let runs = tempfile::tempdir().unwrap();
    let mut child = start(runs.path(), None);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.by_ref().find_map(|line| acknowledged(&line)).unwrap();
    match in_folder::open_for_writing(&folder(runs.path().to_owned())) {
        Err(OpenError::Locked { holder: Some(holder), .. }) => assert_eq!(holder.pid, child.id()),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
    let reading = in_folder::open_for_reading(&folder(runs.path().to_owned())).unwrap();
    assert!(reading.read(Seq(1)).unwrap().map(Result::unwrap).count() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lines);
    let (_, opening) = in_folder::open_for_writing(&folder(runs.path().to_owned())).unwrap();
    assert!(matches!(&opening.repairs[0], Repair::LeaseTakenOver { from } if from.pid == child.id()));
}

/// Needs `--features failpoints`; without them the child would never end.
#[cfg(feature = "failpoints")]
#[test]
fn a_writer_that_dies_at_every_boundary_of_an_append_loses_nothing_acknowledged() {
    for boundary in ["before", "torn", "after"] {
        let runs = tempfile::tempdir().unwrap();
        let mut last = 0;
        for count in 1..8 {
            let mut child = start(runs.path(), Some(&format!("append:{count}:{boundary}")));
            let mut text = String::new();
            child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
            assert!(!child.wait().unwrap().success());
            let seen = text.lines().filter_map(acknowledged).next_back().unwrap_or(last);
            assert_eq!(seen, last + (count - 1) * BATCH);
            let head = check(runs.path(), seen);
            let expected = if boundary == "after" { seen + BATCH } else { seen };
            assert_eq!(head, expected, "{boundary} {count}");
            last = head;
        }
    }
}

#[cfg(not(feature = "failpoints"))]
#[test]
fn dying_at_every_boundary_of_an_append_is_skipped_without_the_feature_failpoints() {
    let _unused = std::io::empty().read(&mut []);
    println!("skipped: cargo test -p unstuck-store --features failpoints");
}
