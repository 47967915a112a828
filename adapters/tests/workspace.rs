//! The fingerprint changes with the workspace, and with nothing else.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use unstuck_adapters::workspace::fingerprint;
use unstuck_core::id::Digest;

const IGNORED: &[&str] = &["context", "./deep/ignored"];

fn sh(folder: &Path, script: &str) {
    let script = format!("export GIT_CONFIG_GLOBAL=/dev/null; {script}");
    let status = Command::new("bash").args(["-e", "-c", &script]).current_dir(folder).status().unwrap();
    assert!(status.success(), "{script}");
}

fn make(folder: &Path) {
    sh(
        folder,
        "git init --quiet -b main; git config user.name t; git config user.email t@example.invalid
         echo one >one; mkdir -p deep/ignored context .unstuck empty; echo two >deep/two; ln -s one link; mkfifo pipe
         git add -A; git commit --quiet -m one; git tag first; git branch other",
    );
    fs::write(folder.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "no text").unwrap();
    fs::set_permissions(folder.join("one"), fs::Permissions::from_mode(0o644)).unwrap();
}

fn of(folder: &Path) -> Digest {
    fingerprint(folder, IGNORED).unwrap()
}

#[test]
fn every_change_changes_it() {
    for change in [
        "echo more >>one",
        "printf 'ONE\\n' >one",
        "chmod +x one",
        "rm one",
        "mv one three",
        "touch new",
        "mkdir new",
        "rmdir empty",
        "ln -sfn deep/two link",
        "rm link; cp one link",
        "rm pipe; touch pipe",
        "echo x >deep/new",
        "mv deep/two two",
        "echo x >deep/context",
        "git commit --quiet --allow-empty -m two",
        "git switch --quiet other",
        "git switch --quiet --detach",
        "git branch new",
        "git branch -D other",
        "git tag second",
        "mkdir nested; cd nested; git init --quiet",
    ] {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        let before = of(folder.path());
        sh(folder.path(), change);
        assert_ne!(of(folder.path()), before, "{change}");
    }
}

#[test]
fn what_is_no_change_leaves_it_alone() {
    for no_change in [
        "true",
        "touch -d 2001-01-01 one",
        "echo x >context/file",
        "mkdir context/folder; echo x >.unstuck/state; echo x >deep/ignored/x",
        "cp one tmp; mv tmp one",
        "git pack-refs --all",
        "git gc --quiet",
        "git status >/dev/null; git add -A; git stash list",
        "git update-ref refs/remotes/origin/main HEAD",
        "echo x >.git/COMMIT_EDITMSG",
    ] {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        let before = of(folder.path());
        sh(folder.path(), no_change);
        assert_eq!(of(folder.path()), before, "{no_change}");
    }
}

#[test]
fn it_does_not_depend_on_the_place() {
    let prints = ["a", "b"].map(|_| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        fs::write(folder.path().join("folder/file"), "x").unwrap();
        of(folder.path())
    });
    assert_eq!(prints[0], prints[1]);
}

#[test]
fn a_commit_in_a_linked_worktree_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    let main = folder.path().join("main");
    fs::create_dir(&main).unwrap();
    make(&main);
    sh(&main, "git worktree add --quiet ../tree -b tree");
    let tree = folder.path().join("tree");
    let before = of(&tree);
    sh(&tree, "git commit --quiet --allow-empty -m two");
    assert_ne!(of(&tree), before);
}

#[test]
fn a_commit_above_a_workspace_that_is_a_folder_of_the_repository_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let deep = folder.path().join("deep");
    let before = of(&deep);
    sh(folder.path(), "echo more >>one");
    assert_eq!(of(&deep), before, "a file outside of the workspace");
    sh(folder.path(), "git commit --quiet --all -m two");
    assert_ne!(of(&deep), before);
}

#[test]
fn nothing_in_the_git_folder_can_hold_us_up() {
    for trap in [
        "ln -sfn /dev/zero .git/HEAD",
        "rm .git/HEAD; mkfifo .git/HEAD",
        "rm -rf .git; mkfifo .git",
        "rm -rf .git; ln -s .git .git",
    ] {
        let folder = tempfile::tempdir().unwrap();
        make(folder.path());
        let before = of(folder.path());
        sh(folder.path(), trap);
        assert_ne!(of(folder.path()), before, "{trap}");
    }
}

#[test]
fn a_workspace_that_is_not_there_is_an_error() {
    assert!(fingerprint(Path::new("/nonexistent"), &[]).is_err());
}
