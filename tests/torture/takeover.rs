//! A supervisor that is stopped, presumed dead and replaced, and then continues.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::place::{self, Place};

/// Maximum wait, more than enough on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A worker that waits in its second iteration until the file `go` exists.
const WORKFLOW: &str = r#"
name: held
version: "1"
timeout: "5m"
steps:
  first:
    worker: CUSTOM
    instructions: |
      if [ "$UNSTUCK_ITERATION" = 2 ] && ! [ -e ../go ]; then : > ../holds; while ! [ -e ../go ]; do sleep 0.02; done; fi
      echo done > "first.$UNSTUCK_ITERATION.out"
    capabilities: [EDIT]
    completion_check: {worker: CUSTOM, instructions: "[ \"$UNSTUCK_ITERATION\" -ge 3 ]", capabilities: [READ]}
    max_iterations: 5
"#;

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < end, "waited {} s until {what}", DEADLINE.as_secs());
        sleep(Duration::from_millis(20));
    }
}

/// Starts a run and stops its supervisor, not its worker, within the second iteration.
fn stopped_supervisor(place: &Place) -> (Child, Pid) {
    fs::write(place.work().join("flow.yaml"), WORKFLOW).expect("the workspace is ours");
    let mut command = place.command(&["run", "flow.yaml"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.expect("unstuck can be started");
    wait_until("the second iteration works", || place.path().join("holds").exists());
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process number"));
    kill(pid, Signal::SIGSTOP).expect("it is ours");
    wait_until("it is stopped", || {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('T'))
    });
    (child, pid)
}

/// Replaces a directory by a copy, as a person might do to get rid of a lock.
fn put_copy_in_place(folder: &Path, aside: &Path) {
    fs::rename(folder, aside).expect("the folder is ours");
    place::copy(aside, folder);
}

/// Continues the old supervisor, and checks that it was fenced off and changed nothing.
fn goes_on_fenced(place: &Place, child: Child, pid: Pid) {
    let run = place.runs().pop().expect("a run");
    let before = fs::read(run.join("events.jsonl")).expect("a mirror");
    fs::write(place.path().join("go"), "").expect("the folder is ours");
    kill(pid, Signal::SIGCONT).expect("it is there");
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(6), "{said}");
    assert!(said.contains("was taken over by another (epoch 2)"), "{said}");
    assert!(said.contains("\n  next: see who works on it: unstuck runs"), "{said}");
    assert_eq!(fs::read(run.join("events.jsonl")).expect("a mirror"), before, "it wrote nothing more");
}

#[test]
fn stopped_supervisor_keeps_its_run_and_continues_it() {
    let place = Place::new();
    let (child, pid) = stopped_supervisor(&place);
    let refused = place.unstuck(&["resume"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(64), "{said}");
    assert!(said.contains(&format!("is being worked on by process {pid}")), "{said}");
    for command in [&[][..], &["runs"], &["show"], &["doctor"]] {
        let told = String::from_utf8_lossy(&place.unstuck(command).stdout).into_owned();
        assert!(told.contains("stopped (state T)") && told.contains(&format!("kill -CONT {pid}")), "{told}");
    }
    fs::write(place.path().join("go"), "").expect("the folder is ours");
    kill(pid, Signal::SIGCONT).expect("it is there");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    place.check(&place.end().expect("it has ended")).expect("it is whole");
}

#[test]
fn a_supervisor_that_was_overtaken_while_it_was_stopped_writes_nothing_more() {
    let place = Place::new();
    let (child, pid) = stopped_supervisor(&place);
    let run = place.runs().pop().expect("a run");
    put_copy_in_place(&run, &place.path().join("aside"));
    let project = run.parent().and_then(Path::parent).expect("a project");
    fs::remove_file(project.join("workspace.lease")).expect("it is there");
    // The other supervisor ends the processes of the stopped one, and starts the iteration again.
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| sender.send(place.unstuck(&["resume"])).expect("somebody waits"));
        let log = || fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
        wait_until("the other one works", || log().contains("\"run_resumed\""));
        fs::write(place.path().join("go"), "").expect("the folder is ours");
        let other = receiver.recv_timeout(DEADLINE).expect("it ends");
        assert_eq!(other.status.code(), Some(0), "{other:?}");
    });
    let end = place.end().expect("it has ended");
    goes_on_fenced(&place, child, pid);
    place.check(&end).expect("it is whole");
}

#[test]
fn run_of_stopped_supervisor_without_lease_is_refused_until_it_ends() {
    let place = Place::new();
    let (child, pid) = stopped_supervisor(&place);
    let run = place.runs().pop().expect("a run");
    let project = run.parent().and_then(Path::parent).expect("a project");
    fs::remove_file(project.join("workspace.lease")).expect("it is there");
    fs::remove_file(run.join("lease")).expect("it is there");
    // The engine has another lock, which the stopped process still holds.
    let refused = place.unstuck(&["resume"]);
    assert_eq!(refused.status.code(), Some(64), "{refused:?}");
    fs::write(place.path().join("go"), "").expect("the folder is ours");
    kill(pid, Signal::SIGCONT).expect("it is there");
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(6), "{}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(place.unstuck(&["resume"]).status.code(), Some(0));
    place.check(&place.end().expect("it has ended")).expect("it is whole");
}
