//! The cost of a snapshot of a large workspace. `cargo bench -p unstuck-workspace --bench snapshot`.
//!
//! Each figure is printed next to the time that git needs in the same run with its own index: `git add --all` and
//! `git write-tree`. `TMPDIR` sets the scratch folder.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use unstuck_workspace::snapshot::{Git, SnapshotOptions, Snapshots};

const FOLDERS: usize = 1000;
const FILES: usize = 50;
const CHANGED: usize = 20;
/// Target times of the first and of later snapshots.
const FIRST_MAX: Duration = Duration::from_secs(3);
const LATER_MAX: Duration = Duration::from_millis(300);

fn main() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let workspace = scratch.path().join("workspace");
    let bytes = fill(&workspace);
    println!("{} files in {FOLDERS} folders, {:.0} MB", FOLDERS * FILES, bytes as f64 / 1e6);
    git(&workspace, &["init", "--quiet"]);
    // Whatever was written last must not count as racing with the snapshot.
    std::thread::sleep(Duration::from_millis(200));

    let limit_first = timed(|| git_snapshot(&workspace, scratch.path()));
    let limit_later = timed(|| git_snapshot(&workspace, scratch.path()));
    println!("limit: git, first: {}; nothing changed: {}", ms(limit_first), ms(limit_later));

    let snapshots =
        Snapshots::open(&scratch.path().join("snapshots.git"), &workspace, &SnapshotOptions::default());
    let snapshots = snapshots.expect("snapshots");
    let mut first = None;
    let span = timed(|| first = Some(snapshots.take(None).expect("a snapshot")));
    let first = first.expect("a snapshot");
    report("first", span, limit_first, FIRST_MAX);
    println!("  on disk: {:.0} MB", size(&scratch.path().join("snapshots.git/objects")) as f64 / 1e6);

    let span = median(5, |_| drop(snapshots.take(Some(&first)).expect("a snapshot")));
    report("nothing changed", span, limit_later, LATER_MAX);
    let change = |round: usize| {
        for file in 0..CHANGED {
            fs::write(path(&workspace, file * 7, round), format!("changed {round}")).expect("a file");
        }
    };
    let span = median(5, |round| {
        change(round);
        snapshots.take(Some(&first)).expect("a snapshot");
    });
    report(&format!("{CHANGED} files changed"), span, limit_later, LATER_MAX);

    let last = snapshots.take(Some(&first)).expect("a snapshot");
    let mut changes = 0;
    let span = timed(|| changes = snapshots.changes(&first, &last).expect("changes").len());
    println!("changes ({changes} files): {}", ms(span));
    let span = timed(|| drop(snapshots.restore(&first, Git::Leave).expect("a restored workspace")));
    println!("restore of {changes} files, with the snapshot before it: {}", ms(span));
    let span = timed(|| drop(snapshots.checkout(&first, &scratch.path().join("copy")).expect("a copy")));
    println!("checkout of everything: {}", ms(span));
    git(&workspace, &["add", "--all"]);
    git(
        &workspace,
        &["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "--quiet", "-m", "x"],
    );
    let span = timed(|| drop(snapshots.take(Some(&first)).expect("a snapshot")));
    println!("after a commit of everything (50,000 objects of the repository are kept): {}", ms(span));
    let span = median(5, |_| drop(snapshots.take(Some(&first)).expect("a snapshot")));
    report("nothing changed since", span, limit_later, LATER_MAX);
    println!("peak memory: {:.0} MB", peak_mb());
}

/// Fills a workspace with files of some hundred to some thousand bytes, half text, half noise.
fn fill(workspace: &Path) -> u64 {
    let mut seed = 1_u64;
    let mut total = 0;
    for folder in 0..FOLDERS {
        fs::create_dir_all(path(workspace, folder, 0).parent().expect("a folder")).expect("a folder");
        for file in 0..FILES {
            let mut text = String::new();
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            for line in 0..(seed >> 33) % 80 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(line);
                text.push_str(&format!("    let value_{line} = compute({seed:x}, \"some text\");\n"));
            }
            total += text.len() as u64;
            fs::write(path(workspace, folder, file), text).expect("a file");
        }
    }
    total
}

fn path(workspace: &Path, folder: usize, file: usize) -> std::path::PathBuf {
    workspace.join(format!("part_{:02}/module_{folder:03}/file_{file:02}.rs", folder % 40))
}

fn git(workspace: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(workspace).args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().expect("git can be started").success());
}

fn git_snapshot(workspace: &Path, scratch: &Path) {
    fs::create_dir_all(scratch.join("git-objects")).expect("a folder");
    for arguments in [&["add", "--all"][..], &["write-tree"]] {
        let mut command = Command::new("git");
        command.arg("-C").arg(workspace).env("GIT_INDEX_FILE", scratch.join("index"));
        command.env("GIT_OBJECT_DIRECTORY", scratch.join("git-objects"));
        command.args(["-c", "core.fsync=none"]).args(arguments).stdout(Stdio::null());
        assert!(command.status().expect("git can be started").success());
    }
}

fn report(what: &str, span: Duration, limit: Duration, asked: Duration) {
    let ratio = span.as_secs_f64() / limit.as_secs_f64();
    let verdict = if span <= asked { "within" } else { "MORE THAN" };
    println!("{what}: {}, {ratio:.2} of git's; {verdict} the {} asked for", ms(span), ms(asked));
}

fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median(times: usize, mut work: impl FnMut(usize)) -> Duration {
    let mut spans: Vec<Duration> = (0..times).map(|round| timed(|| work(round))).collect();
    spans.sort();
    spans[times / 2]
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let size = |entry: fs::DirEntry| match entry.metadata().expect("metadata") {
        metadata if metadata.is_dir() => size(&entry.path()),
        metadata => metadata.len(),
    };
    entries.map(size).sum()
}

fn peak_mb() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or_default() / 1024.0
}

fn ms(span: Duration) -> String {
    format!("{:.1} ms", span.as_secs_f64() * 1e3)
}
