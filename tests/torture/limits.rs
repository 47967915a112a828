//! Limits of the system: little room, little of everything else, and a state folder that cannot be
//! written or goes away.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Output, Stdio};

use crate::place::{self, Place};
use crate::sample;

/// Number of sizes of each limit that are tried on every change.
const SAMPLES: usize = 4;

/// Accepts other ends of a limited run, besides success and status 6 with a hint.
type AlsoFine = fn(Option<i32>, &str) -> bool;

/// Runs under each size of a limit, and resumes without it.
fn check(row: &str, sizes: usize, limited: impl Fn(&Place, usize) -> Output, also_fine: AlsoFine) {
    let undisturbed = Place::new();
    assert_eq!(undisturbed.unstuck(&["run", "flow.yaml"]).status.code(), Some(0));
    let want = undisturbed.end().expect("an undisturbed run has an end");
    let (mut wrong, mut statuses) = (Vec::new(), BTreeMap::new());
    for size in sample::cases(row, sizes, SAMPLES) {
        let place = Place::new();
        let (status, text) = place::said(&limited(&place, size));
        *statuses
            .entry(status.map_or("a signal".to_owned(), |code| format!("status {code}")))
            .or_insert(0) += 1;
        let is_fine = match status {
            Some(0) => true,
            Some(6) if text.contains("\n  next: ") => true,
            Some(101) => false, // It panicked.
            _ => also_fine(status, &text),
        };
        let result = if is_fine { Ok(()) } else { Err(format!("{status:?}: {text}")) };
        let result = result.and_then(|()| if status == Some(0) { Ok(()) } else { place.go_on() });
        if let Err(why) = result.and_then(|()| place.check(&want)) {
            wrong.push(format!("{row} {size}: {why}"));
        }
    }
    println!("{row}: tried: {statuses:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs with a limit of the shell.
fn with_ulimit(place: &Place, limit: &str) -> Output {
    let script = format!("ulimit {limit}; exec \"$0\" \"$@\"");
    place::output(place.command_through(&["bash", "-c", &script], &["run", "flow.yaml"]))
}

/// Says whether a worker, git or the loader of programs said what it lacked.
fn is_named(text: &str) -> bool {
    [
        "Too many open files",
        "Resource temporarily unavailable",
        "Cannot allocate memory",
        "cannot open shared object",
    ]
    .iter()
    .any(|words| text.contains(words))
}

#[test]
fn a_limit_of_file_size_stops_a_run_and_does_not_kill_it() {
    check("ulimit -f", 12, |place, size| with_ulimit(place, &format!("-f {size}")), |_, _| false);
}

#[test]
fn a_limit_of_open_files_stops_a_run_and_is_named() {
    let few = |place: &Place, size: usize| with_ulimit(place, &format!("-n {}", size + 3));
    check("ulimit -n, less 3,", 29, few, |_, text| is_named(text));
}

#[test]
fn a_limit_of_processes_stops_a_run_and_is_named() {
    if Place::new().command_of_nobody_else("", &[]).is_none() {
        return;
    }
    let few = |place: &Place, size: usize| {
        let limit = format!("ulimit -u {}; exec \"$0\" \"$@\"", size - 1);
        place::output(
            place.command_of_nobody_else(&limit, &["run", "flow.yaml"]).expect("it can be done here"),
        )
    };
    check("ulimit -u, and 1,", 24, few, |_, text| is_named(text));
}

#[test]
fn a_limit_of_memory_loses_nothing() {
    // An allocation that fails ends a process, and says so; nothing can be done about that in it.
    let fine = |status: Option<i32>, text: &str| {
        status.is_none() || text.contains("memory allocation") || status == Some(127) || is_named(text)
    };
    check("ulimit -v, in 10 MB,", 40, |place, size| with_ulimit(place, &format!("-v {size}0000")), fine);
}

/// A separate file system for the state, mounted until dropped.
struct Mounted {
    keeper: Child,
    /// Where commands are run.
    work: String,
}

impl Mounted {
    /// Mounts something over the state folder, for the commands that go through it; says why it cannot.
    fn new(place: &Place, mount: &str) -> Result<Self, String> {
        let script = format!("{mount} && echo mounted && read -r over");
        let mut shell = Command::new("unshare");
        shell.args(["-m", "sh", "-c", &script, "sh"]).arg(place.state());
        let started = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut keeper = started.map_err(|error| format!("unshare: {error}"))?;
        let mut line = String::new();
        let out = keeper.stdout.take().expect("it is a pipe");
        let read = std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line);
        if read.is_ok() && line == "mounted\n" {
            return Ok(Self { keeper, work: place.work().to_string_lossy().into_owned() });
        }
        let _ended = keeper.wait();
        Err("nothing can be mounted here (that needs root and its own mounts)".to_owned())
    }

    /// Returns what commands are run through.
    fn through(&self) -> Vec<String> {
        let pid = self.keeper.id().to_string();
        let enter = ["nsenter", "-t", &pid, "-m", "--", "sh", "-c", "cd \"$0\" && exec \"$@\"", &self.work];
        enter.map(str::to_owned).to_vec()
    }

    /// Runs a script where the mount is seen.
    fn sh(&self, script: &str) {
        let through = self.through();
        let _as_far_as_it_goes =
            Command::new(&through[0]).args(&through[1..]).args(["sh", "-c", script]).status();
    }

    fn make_room(&self, place: &Place) {
        let through = self.through();
        let mut remount = Command::new(&through[0]);
        remount.args(&through[1..]).args(["mount", "-o", "remount,size=64m"]).arg(place.state());
        assert!(remount.status().is_ok_and(|status| status.success()), "{remount:?}");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _may_be_gone = self.keeper.kill();
        let _reaped = self.keeper.wait();
    }
}

#[test]
fn full_disk_stops_a_run_that_can_be_resumed_with_more_room() {
    let undisturbed = Place::new();
    assert_eq!(undisturbed.unstuck(&["run", "flow.yaml"]).status.code(), Some(0));
    let want = undisturbed.end().expect("an undisturbed run has an end");
    let mut statuses = BTreeMap::new();
    for pages in sample::cases("pages of a disk", 30, SAMPLES) {
        let mut place = Place::new();
        let mount = format!("mount -t tmpfs -o size={}k none \"$1\"", pages * 4);
        let mounted = match Mounted::new(&place, &mount) {
            Ok(mounted) => mounted,
            Err(why) => return println!("skipped: {why}"),
        };
        place.go_through(mounted.through());
        let (status, text) = place::said(&place.unstuck(&["run", "flow.yaml"]));
        *statuses.entry(status).or_insert(0) += 1;
        // Even a log that is complete cannot be opened on a full disk: its engine writes when it opens.
        mounted.make_room(&place);
        match status {
            Some(0) => {}
            Some(6) => {
                assert!(text.contains("next: make room on the disk"), "{pages} pages: {text}");
                place.go_on().unwrap_or_else(|why| panic!("{pages} pages: {why}"));
            }
            _ => panic!("{pages} pages: {status:?}: {text}"),
        }
        place.check(&want).unwrap_or_else(|why| panic!("{pages} pages: {why}"));
    }
    println!("pages of a disk: tried: {statuses:?}");
}

#[test]
fn a_state_folder_that_cannot_be_written_is_named_before_anything_runs() {
    let mut place = Place::new();
    let readonly = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\"";
    let mounted = match Mounted::new(&place, readonly) {
        Ok(mounted) => Some(mounted),
        Err(_) if nix::unistd::getuid().is_root() => {
            return println!("skipped: root may write everywhere but on such a mount");
        }
        Err(_) => None,
    };
    match &mounted {
        Some(mounted) => place.go_through(mounted.through()),
        None => place.let_nobody_write(),
    }
    let (status, text) = place::said(&place.unstuck(&["run", "flow.yaml"]));
    assert_eq!(status, Some(6), "{text}");
    assert!(text.contains("state/unstuck"), "it names the place: {text}");
    assert!(text.contains("next: make the folder writable"), "{text}");
    assert!(!place.work().join("first.1.out").exists(), "nothing has run");
}

/// A command that writes a file which fills a good part of a small disk when it is kept.
const LARGE: &str = "head -c 300000 /dev/urandom >large; echo COMPLETE";

#[test]
fn gc_frees_what_it_can_on_a_full_disk() {
    let mut place = Place::new();
    let mounted = match Mounted::new(&place, "mount -t tmpfs -o size=16m none \"$1\"") {
        Ok(mounted) => mounted,
        Err(why) => return println!("skipped: {why}"),
    };
    place.go_through(mounted.through());
    for _ in 0..3 {
        let ran = place.unstuck(&["run", "go on", "--trust-worker", "--with", LARGE]);
        assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    }
    mounted.sh("cat /dev/zero >../state/fill; rm -f large");
    let gc = ["gc", "--older-than", "0d", "--yes"];
    let (status, text) = place::said(&place.unstuck(&gc));
    assert!(matches!(status, Some(0 | 6)), "{status:?}: {text}");
    assert!(text.contains("3 runs forgotten; freed"), "{text}");
    assert!(status == Some(0) || text.contains("next: make room on the disk"), "{text}");
    let (_, text) = place::said(&place.unstuck(&["runs"]));
    assert!(text.contains("nothing has run here yet"), "{text}");
    // The next run has room once the file that fills the disk is gone.
    mounted.sh("rm ../state/fill");
    assert_eq!(place::said(&place.unstuck(&gc)).0, Some(0));
    assert_eq!(place.unstuck(&["run", "flow.yaml"]).status.code(), Some(0));
}

/// A command that throws a large file away, changes others and leaves hardly any room.
const FILLS: &str =
    "rm large; echo worker | tee a z >new; head -c 4500000 /dev/zero >.git/fill; echo COMPLETE";

#[test]
fn undo_on_a_full_disk_restores_what_fits_and_the_rest_later() {
    let mut place = Place::new();
    let mount = "mount -t tmpfs -o size=6m none \"$1/../work\"";
    let mounted = match Mounted::new(&place, mount) {
        Ok(mounted) => mounted,
        Err(why) => return println!("skipped: {why}"),
    };
    place.go_through(mounted.through());
    mounted.sh("git init -q .; head -c 3000000 /dev/urandom >large; echo mine | tee a >z; cp large ../kept");
    let ran = place.unstuck(&["run", "go on", "--trust-worker", "--with", FILLS]);
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let (status, text) = place::said(&place.unstuck(&["undo", "@last@first"]));
    assert_eq!(status, Some(6), "{text}");
    for told in
        [", but for what is named here", "left     large: cannot be written: No space", "to undo this: "]
    {
        assert!(text.contains(told), "{told}: {text}");
    }
    assert!(!text.contains("nothing in the workspace was changed"), "{text}");
    mounted.sh("cat a z >../read; test -e new || echo gone >>../read");
    assert_eq!(fs::read_to_string(place.path().join("read")).unwrap(), "mine\nmine\ngone\n");
    let (status, text) = place::said(&place.unstuck(&["checkout", "@last@first", "--to", "copy"]));
    assert_eq!(status, Some(6), "{text}");
    assert!(text.contains("left     large: cannot be written: No space"), "{text}");
    mounted.sh("rm -r .git/fill copy");
    let (status, text) = place::said(&place.unstuck(&["undo", "@last@first"]));
    assert_eq!(status, Some(0), "{text}");
    mounted.sh("cmp large ../kept && echo same >../read");
    assert_eq!(fs::read_to_string(place.path().join("read")).unwrap(), "same\n");
}

#[test]
fn gc_says_that_nothing_can_be_freed_where_nothing_can_be_written() {
    let mut place = Place::new();
    assert_eq!(place.unstuck(&["run", "flow.yaml"]).status.code(), Some(0));
    let readonly = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\"";
    let mounted = match Mounted::new(&place, readonly) {
        Ok(mounted) => mounted,
        Err(why) => return println!("skipped: {why}"),
    };
    place.go_through(mounted.through());
    let (status, text) = place::said(&place.unstuck(&["gc", "--older-than", "0d", "--yes"]));
    assert_eq!(status, Some(6), "{text}");
    assert!(text.contains("next: make the folder writable") && !text.contains("older than"), "{text}");
    assert!(place::said(&place.unstuck(&["runs"])).1.contains("short"), "it is still there");
}

/// A worker that moves the state folder away in its second iteration.
const MOVES_THE_STATE: &str = r#"
name: short
version: "1"
timeout: "5m"
steps:
  first:
    worker: CUSTOM
    instructions: |
      echo "said in $UNSTUCK_ITERATION"; echo done > "first.$UNSTUCK_ITERATION.out"
      if [ "$UNSTUCK_ITERATION" = 2 ] && ! [ -e ../moved ]; then : > ../moved; mv ../state ../elsewhere; fi
    capabilities: [EDIT]
    completion_check: {worker: CUSTOM, instructions: "[ \"$UNSTUCK_ITERATION\" -ge 2 ]", capabilities: [READ]}
    max_iterations: 5
"#;

#[test]
fn missing_state_folder_stops_a_run_that_can_be_resumed_after_its_return() {
    let undisturbed = Place::new();
    assert_eq!(undisturbed.unstuck(&["run", "flow.yaml"]).status.code(), Some(0));
    let want = undisturbed.end().expect("an undisturbed run has an end");
    let place = Place::new();
    fs::write(place.work().join("flow.yaml"), MOVES_THE_STATE).expect("the workspace is ours");
    let (status, text) = place::said(&place.unstuck(&["run", "flow.yaml"]));
    assert_eq!(status, Some(6), "{text}");
    assert!(text.contains("state/unstuck"), "it names the place: {text}");
    assert!(text.contains("next: put"), "{text}");
    assert!(!place.state().join("unstuck").exists(), "no second log begins where the first one was");
    fs::rename(place.path().join("elsewhere"), place.state()).expect("the folder is ours");
    place.go_on().expect("it is back");
    place.check(&want).expect("it is whole");
}
