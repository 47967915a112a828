//! A writer that is killed at any time loses no event that was acknowledged as durable.
//!
//! The writer is a second process of this test binary.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "../../tests/common/in_folder.rs"]
mod in_folder;
#[path = "../../tests/common/sled_backend.rs"]
mod sled_backend;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use sled_backend::Sled;
use unstuck_core::id::Seq;
use unstuck_store::testing::facts::RUN;
#[cfg(feature = "failpoints")]
use unstuck_store::testing::killed::{BATCH, check};
use unstuck_store::testing::killed::{acknowledged, start, write_until_killed};
use unstuck_store::{OpenError, Repair, RunDir};

fn folder(runs: &Path) -> RunDir {
    in_folder::folder(runs, RUN)
}

/// Code of the child process, not a separate test.
#[test]
fn killed_writer() {
    write_until_killed::<Sled>();
}

#[test]
fn a_log_that_another_process_writes_is_locked_until_it_dies() {
    let runs = tempfile::tempdir().unwrap();
    let mut child = start(runs.path(), module_path!(), &[]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    lines.by_ref().find_map(|line| acknowledged(&line)).unwrap();
    match in_folder::open_for_writing(&folder(runs.path())) {
        Err(OpenError::Locked { holder: Some(holder), .. }) => assert_eq!(holder.pid, child.id()),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("opened"),
    }
    let reading = in_folder::open_for_reading(&folder(runs.path())).unwrap();
    assert!(reading.read(Seq(1)).unwrap().map(Result::unwrap).count() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lines);
    let (_, opening) = in_folder::open_for_writing(&folder(runs.path())).unwrap();
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
            let mut child = start(
                runs.path(),
                module_path!(),
                &[("UNSTUCK_FAILPOINT", &format!("append:{count}:{boundary}"))],
            );
            let mut text = String::new();
            child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
            assert!(!child.wait().unwrap().success());
            let seen = text.lines().filter_map(acknowledged).next_back().unwrap_or(last);
            assert_eq!(seen, last + (count - 1) * BATCH);
            let head = check::<Sled>(runs.path(), seen);
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
