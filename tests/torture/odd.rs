//! What is no file where a file of the state folder must be: a pipe, a link, a folder, or masses of nothing.

use std::fs;
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::place::Place;

/// Commands that look, and that go on.
const COMMANDS: [&[&str]; 8] =
    [&[], &["runs"], &["show"], &["events"], &["doctor"], &["verify"], &["resume"], &["run", "flow.yaml"]];

/// Puts something in place of a file.
type Plant = fn(&Path);

fn pipe(at: &Path) {
    mkfifo(at, Mode::S_IRWXU).expect("the folder is ours");
}

fn link_to_itself(at: &Path) {
    std::os::unix::fs::symlink(at, at).expect("the folder is ours");
}

fn folder(at: &Path) {
    fs::create_dir(at).expect("the folder is ours");
}

fn ten_gigabytes_of_nothing(at: &Path) {
    fs::File::create(at).and_then(|file| file.set_len(10 << 30)).expect("the folder is ours");
}

#[test]
fn no_command_waits_for_what_is_no_file_in_the_state_folder() {
    const OF_RUN: [&str; 4] = ["events.jsonl", "lease", "format", "checkpoint"];
    const OF_PROJECT: [&str; 3] = ["index", "workspace.lease", "snapshots.git/unstuck.lock"];
    let place = Place::new();
    assert!(place.unstuck(&["run", "flow.yaml"]).status.success());
    let run = place.runs().pop().expect("a run");
    let project = run.parent().and_then(Path::parent).expect("a project");
    let files =
        OF_RUN.map(|name| run.join(name)).into_iter().chain(OF_PROJECT.map(|name| project.join(name)));
    let plants: [(&str, Plant); 4] = [
        ("a pipe", pipe),
        ("a link", link_to_itself),
        ("a folder", folder),
        ("nothing but zeros", ten_gigabytes_of_nothing),
    ];
    for file in files {
        for (what, plant) in plants {
            let aside = place.path().join("aside");
            let was_there = fs::rename(&file, &aside).is_ok();
            plant(&file);
            // What keeps nobody waiting is tried with fewer.
            let commands = if what == "a pipe" { &COMMANDS[..] } else { &COMMANDS[4..6] };
            for command in commands {
                // The watchdog bites what hangs.
                let ended = place.unstuck(command);
                let said = String::from_utf8_lossy(&ended.stderr);
                assert!(ended.status.code().is_some(), "{what} at {}: {command:?}: {said}", file.display());
                assert!(!said.contains("panicked"), "{what} at {}: {command:?}: {said}", file.display());
            }
            let gone = fs::remove_file(&file).or_else(|_| fs::remove_dir_all(&file));
            if was_there {
                gone.and_then(|()| fs::rename(&aside, &file)).expect("the folder is ours");
            }
        }
    }
}

#[test]
fn what_is_no_file_is_named_where_a_run_is_opened() {
    for name in ["events.jsonl", "lease", "format"] {
        let place = Place::new();
        assert!(place.unstuck(&["run", "flow.yaml"]).status.success());
        let run = place.runs().pop().expect("a run");
        fs::remove_file(run.join(name)).expect("it is there");
        pipe(&run.join(name));
        let refused = place.unstuck(&["verify"]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success(), "{name}");
        assert!(
            said.contains("a pipe, socket or device is where a file of Unstuck must be"),
            "{name}: {said}"
        );
    }
}

#[test]
fn doctor_opens_what_a_resume_would_open() {
    let cases: [(&str, Plant); 3] = [
        ("the blobs are gone", |run| fs::remove_dir_all(run.join("blobs")).expect("they are there")),
        ("the store is a file", |run| {
            fs::remove_dir_all(run.join("store")).expect("it is there");
            fs::write(run.join("store"), "x").expect("the folder is ours");
        }),
        ("the store is overwritten", |run| {
            let database = run.join("store/db");
            let mut bytes = fs::read(&database).expect("it is there");
            let bytes_len = bytes.len();
            bytes[bytes_len / 4..bytes_len / 2].fill(0x5a);
            fs::write(&database, bytes).expect("the folder is ours");
        }),
    ];
    for (what, damage) in cases {
        let place = Place::new();
        assert!(place.unstuck(&["run", "flow.yaml"]).status.success());
        let run = place.runs().pop().expect("a run");
        let well = place.unstuck(&["doctor"]);
        assert!(String::from_utf8_lossy(&well.stdout).contains("none of them needs anything"), "{what}");
        damage(&run);
        let verified = place.unstuck(&["verify"]).status.success();
        let told = String::from_utf8_lossy(&place.unstuck(&["doctor"]).stdout).into_owned();
        assert_eq!(told.contains("none of them needs anything"), verified, "{what}: {told}");
    }
}
