//! A workflow whose events are in redb, from the command line, and a process that is killed.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A folder with a workspace and a store.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        fs::create_dir(place.0.path().join("work")).expect("the folder is ours");
        place
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redb-store"));
        command.args(["--store", &format!("redb:{}", self.0.path().join("runs").display())]).args(arguments);
        command.current_dir(self.0.path().join("work")).env_remove("UNSTUCK_STORE");
        command.env("XDG_STATE_HOME", self.0.path().join("state")).stdin(Stdio::null());
        command
    }

    fn unstuck(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Returns what a command prints, which has to succeed.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.unstuck(arguments);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }

    fn work(&self) -> std::path::PathBuf {
        self.0.path().join("work")
    }
}

/// The worker needs two iterations.
const WORKER: &str = "sh -c 'cat >/dev/null; test ! -e a || touch b; touch a'";

#[test]
fn every_command_works_on_a_store_that_unstuck_does_not_know() {
    let place = Place::new();
    place.says(&["run", "make it work", "--with", WORKER, "--check", "test -e b", "--here"]);
    let events = place.says(&["events", "@last", "--json"]);
    assert!(events.lines().last().expect("events").contains("\"snapshot_taken\""), "{events}");
    let run = place.says(&["runs", "--json"]);
    assert!(run.contains("\"COMPLETE\""), "{run}");
    for (arguments, wanted) in [
        (&["why", "@last"][..], "because of"),
        (&["show", "@last"], "complete"),
        (&["replay", "@last"], "all the same"),
        (&["verify", "@last"], "store and events.jsonl agree"),
        (&["report", "@last"], "complete"),
        (&["diff", "@last"], "b"),
    ] {
        let text = place.says(arguments);
        assert!(text.contains(wanted), "{arguments:?}: {text}");
    }
    // An import is refused, with the command that can do it.
    let exported = place.0.path().join("run.jsonl");
    fs::write(&exported, &events).expect("the folder is ours");
    let refused = place.unstuck(&["import", &exported.to_string_lossy()]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        said.contains("this store cannot read an export") && said.contains("--store sled:PATH"),
        "{said}"
    );
    place.says(&["gc", "@last", "--yes"]);
    assert_eq!(fs::read_dir(place.0.path().join("runs/runs")).expect("the store").count(), 0);
}

#[test]
fn a_lost_database_is_not_taken_for_an_empty_run() {
    let place = Place::new();
    place.says(&["run", "make it work", "--with", WORKER, "--check", "test -e b", "--here"]);
    let folder = fs::read_dir(place.0.path().join("runs/runs")).expect("the store").next().expect("a run");
    let folder = folder.expect("a run").path();
    let lines = fs::read(folder.join("events.jsonl")).expect("the mirror");
    fs::remove_file(folder.join("records.redb")).expect("it is there");
    let verified = place.unstuck(&["verify", "@last"]);
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(!verified.status.success() && said.contains("restore the store from a backup"), "{said}");
    assert_eq!(fs::read(folder.join("events.jsonl")).expect("the mirror"), lines);
    assert!(place.says(&["show", "@last"]).contains("complete"));
}

#[cfg(unix)]
#[test]
fn a_run_whose_supervisor_was_killed_is_resumed() {
    let place = Place::new();
    let worker = "sh -c 'cat >/dev/null; echo x >>calls; test -e go || sleep 60; touch b'";
    let mut run = place.command(&["run", "make it work", "--with", worker, "--check", "test -e b", "--here"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    wait_for(&place.work().join("calls"));
    run.kill().expect("it runs");
    run.wait().expect("it was started here");
    fs::write(place.work().join("go"), "").expect("the folder is ours");
    // The mirror is a cache: the events are in redb.
    let lines = fs::read_dir(place.0.path().join("runs/runs")).expect("the store").next().expect("a run");
    let lines = lines.expect("a run").path().join("events.jsonl");
    let cut = fs::read_to_string(&lines).expect("the mirror");
    fs::write(&lines, &cut[..cut.len() / 2]).expect("the folder is ours");
    place.says(&["resume", "@last", "--accept-changes"]);
    assert!(place.says(&["events", "@last"]).contains("run_resumed"));
    assert!(place.says(&["verify", "@last"]).contains("store and events.jsonl agree"));
}

#[cfg(unix)]
fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "{} is not there", path.display());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_page_about_stores_shows_this_program() {
    let page = include_str!("../../../docs/stores.md");
    for file in
        [include_str!("../src/lib.rs"), include_str!("../src/main.rs"), include_str!("conformance.rs")]
    {
        assert!(
            page.contains(&format!("```rust\n{file}```\n")),
            "docs/stores.md has another text than:\n{file}"
        );
    }
}
