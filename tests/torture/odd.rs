//! A pipe, device, link, directory or huge sparse file in place of a file of the state directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::place::Place;
use crate::sample;

/// Commands that read the state folder, and those that write to it.
const COMMANDS: [&[&str]; 18] = [
    &[],
    &["runs"],
    &["show"],
    &["why"],
    &["events"],
    &["replay"],
    &["report", "--md"],
    &["diff"],
    &["artifacts"],
    &["export"],
    &["doctor"],
    &["verify"],
    &["gc"],
    &["stop"],
    &["undo", "@last@first"],
    &["checkout", "@last@last", "--to", "../copy"],
    &["resume"],
    &["run", "flow.yaml"],
];

/// How many of the cases are tried on every change.
const SAMPLES: usize = 150;

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
    // The engine looks through its own file for records, which takes time in proportion.
    let gigabytes = if at.ends_with("store/db") { 1 } else { 10 };
    fs::File::create(at).and_then(|file| file.set_len(gigabytes << 30)).expect("the folder is ours");
}

/// A character device that never ends. Only root can make one.
fn device(at: &Path) {
    let made =
        std::process::Command::new("mknod").arg(at).args(["c", "1", "5"]).stderr(Stdio::null()).status();
    if !made.is_ok_and(|status| status.success()) {
        pipe(at);
    }
}

/// Returns all files below a folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is ours") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() { files.extend(files_in(&path)) } else { files.push(path) }
    }
    files
}

#[test]
fn no_command_waits_for_what_is_no_file_in_the_state_folder() {
    const MISSING: [&str; 3] = ["consents.jsonl", "listing", "index"];
    let plants: [(&str, Plant); 5] = [
        ("a pipe", pipe),
        ("a device", device),
        ("a link", link_to_itself),
        ("a folder", folder),
        ("nothing but zeros", ten_gigabytes_of_nothing),
    ];
    let place = Place::new();
    assert!(place.unstuck(&["run", "flow.yaml"]).status.success());
    assert!(place.unstuck(&["runs"]).status.success());
    let run = place.runs().pop().expect("a run");
    let project = run.parent().and_then(Path::parent).expect("a project");
    let is_meant = |path: &PathBuf| !path.components().any(|part| part.as_os_str() == "objects");
    let mut files: Vec<PathBuf> = files_in(project).into_iter().filter(is_meant).collect();
    files.extend(MISSING.map(|name| project.join(name)));
    files.sort();
    files.dedup();
    let cases: Vec<_> = files
        .iter()
        .flat_map(|file| plants.iter().map(move |plant| (file, plant)))
        .flat_map(|(file, plant)| COMMANDS.iter().map(move |command| (file, plant, *command)))
        .collect();
    let tried = sample::cases("odd files", cases.len(), SAMPLES);
    println!("{} files, {} cases, {} tried", files.len(), cases.len(), tried.len());
    for (file, (what, plant), command) in tried.into_iter().map(|at| cases[at - 1]) {
        let aside = place.path().join("aside");
        let was_there = fs::rename(file, &aside).is_ok();
        plant(file);
        // The watchdog bites what hangs.
        let ended = place.unstuck(command);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code().is_some(), "{what} at {}: {command:?}: {said}", file.display());
        assert!(!said.contains("panicked"), "{what} at {}: {command:?}: {said}", file.display());
        let _may_be_gone = fs::remove_file(file).or_else(|_| fs::remove_dir_all(file));
        if was_there {
            fs::rename(&aside, file).expect("the folder is ours");
        }
        let _may_be_missing = fs::remove_dir_all(place.path().join("copy"));
    }
}

#[test]
fn special_file_is_named_when_a_run_is_opened() {
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
