//! Repositories of every kind, no repository, no git, another user.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use unstuck_workspace::snapshot::{DiffOptions, Git, RepositoryState, SnapshotOptions, Snapshots};

use crate::world::{DIRTY, World, left_out, listing, sh, shown};

/// Kinds of repositories: how they are made of a plain one, the folder that is the workspace, and how they stand.
const KINDS: &[(&str, &str, &str, &str)] = &[
    ("plain", "true", "", "work commit"),
    ("none", "rm -rf .git", "", "none"),
    ("detached", "git checkout -q --detach", "", "- commit"),
    ("unborn", "rm -rf .git; git init -q -b fresh", "", "fresh -"),
    ("shallow", "git commit -qam y --allow-empty; git clone -q --depth 1 file://$PWD s", "s", "work commit"),
    ("linked checkout", "git worktree add -q linked", "linked", "linked commit"),
    ("below the root of the repository", "true", "sub", "work commit"),
    (
        "names of SHA-256",
        "rm -rf .git; git init -q -b work --object-format=sha256; git commit -qm x --allow-empty",
        "",
        "work commit",
    ),
    ("packed", "git gc -q; git pack-refs --all", "", "work commit"),
    ("refs in tables", "mkdir .git/reftable; echo 'ref: refs/heads/.invalid' >.git/HEAD", "", "- -"),
    ("link for .git", "mv .git ../real; ln -s ../real .git", "", "work commit"),
    ("sparse", "git sparse-checkout set sub", "", "work commit"),
    ("partial", "git clone -q --filter=blob:none -n file://$PWD p; cp one p", "p", "work commit"),
    (
        "merge in progress",
        "git checkout -qb other; echo o >one; git commit -qam o; git checkout -q work
         echo w >one; git commit -qam w; git merge other >/dev/null || true",
        "",
        "work commit",
    ),
    (
        "rebase in progress",
        "git checkout -qb other; echo o >one; git commit -qam o; git checkout -q work
         echo w >one; git commit -qam w; git rebase other >/dev/null 2>&1 || true",
        "",
        "- commit",
    ),
    ("broken", "rm -rf .git/objects .git/refs; printf 'ref: ../../../x' >.git/HEAD", "", "- -"),
    ("trap", "rm .git/HEAD .git/index; mkfifo .git/HEAD .git/index", "", "none"),
    ("locked", "touch .git/index.lock .git/HEAD.lock", "", "work commit"),
];

#[test]
fn every_kind_of_repository_will_do() {
    for (kind, setup, workspace, expected) in KINDS {
        let world = World::new(
            "git init -q -b work; echo one >one; mkdir sub; echo s >sub/s; git add -A; git commit -qm x",
        );
        world.sh(setup);
        let folder = world.workspace().join(workspace);
        let snapshots = Snapshots::open(&world.store(), &folder, &SnapshotOptions::default()).unwrap();
        let before = listing(&folder);
        let first = snapshots.take(None).unwrap();
        assert_eq!(standing(first.repository.as_ref()), *expected, "{kind}");
        sh(&folder, "echo x >>s; echo x >new; rm -f one; mkdir d; echo x >d/x");
        let now = snapshots.take(Some(&first)).unwrap();
        assert!(shown(&snapshots.changes(&first, &now).unwrap()).contains("A d/x"), "{kind}");
        let restored = snapshots.restore(&first, Git::PutBack).unwrap();
        // If refs cannot be read, no restore reports them as restored.
        let unread = if *expected == "- -" { vec![Path::new(".git")] } else { Vec::new() };
        let left: Vec<&Path> = restored.files.left.iter().map(|left| &*left.path).collect();
        assert_eq!((left, restored.repository), (unread, vec![]), "{kind}");
        assert_eq!(listing(&folder), before, "{kind}");
    }
}

fn standing(standing: Option<&RepositoryState>) -> String {
    let Some(standing) = standing else { return "none".to_owned() };
    let branch = standing.branch.as_deref().unwrap_or("-");
    format!("{branch} {}", if standing.commit.is_some() { "commit" } else { "-" })
}

#[test]
fn a_bare_repository_is_a_folder_like_others() {
    let world = World::new("git init --quiet --bare -b work; git config x.y z");
    let (first, before) = (world.first(), world.listing());
    assert!(first.repository.is_none());
    world.sh("git config x.y w; rm description");
    assert_eq!(world.changes(&first), "M config, D description");
    world.restore(&first);
    assert_eq!(world.listing(), before);
}

#[test]
fn a_store_in_the_workspace_does_not_swallow_itself() {
    let world = World::new("echo one >one");
    let store = world.workspace().join(".state/snapshots.git");
    let snapshots = Snapshots::open(&store, &world.workspace(), &SnapshotOptions::default()).unwrap();
    let first = snapshots.take(None).unwrap();
    assert_eq!(snapshots.take(Some(&first)).unwrap().id, first.id);
    assert_eq!(first.files, 1);
}

#[test]
fn folders_may_be_deep_but_not_without_end() {
    let world = World::new("for i in {1..300}; do mkdir d; cd d; done; echo x >x");
    let first = world.first();
    assert!(left_out(&first).starts_with("too deep: d/d/d"), "{}", left_out(&first));
    world.sh("rm -rf d/d/d/d/d");
    let restored = world.snapshots().restore(&first, Git::Leave).unwrap();
    assert_eq!(restored.files.left, []);
    assert_eq!(world.sh("find d -type d | wc -l"), "256\n");
}

/// Runs in another process: works with a workspace and prints what it saw.
#[test]
#[ignore = "run by another test"]
fn another_process() {
    let Some(folder) = env::var_os("SNAPSHOT_FOLDER") else { return };
    let folder = Path::new(&folder);
    let snapshots = Snapshots::open(
        &folder.join("other-state/snapshots.git"),
        &folder.join("workspace"),
        &SnapshotOptions::default(),
    );
    let snapshots = snapshots.unwrap();
    let first = snapshots.take(None).unwrap();
    fs::write(folder.join("workspace/more.log"), "x").unwrap();
    fs::write(folder.join("workspace/more"), "x").unwrap();
    let now = snapshots.take(Some(&first)).unwrap();
    let restored = snapshots.restore(&first, Git::Leave).unwrap();
    println!("> changes: {}", shown(&snapshots.changes(&first, &now).unwrap()));
    println!("> left out: {:?}", left_out(&first));
    println!("> notes: {:?}", first.notes);
    println!("> left: {:?}", restored.files.left);
    println!("> standing: {}", standing(first.repository.as_ref()));
}

/// Runs in another process: removes its own right to read its files, and restores them.
#[test]
#[ignore = "run by another test"]
fn a_process_without_rights() {
    let Some(folder) = env::var_os("SNAPSHOT_FOLDER") else { return };
    let folder = Path::new(&folder);
    let own = folder.join("workspace/own");
    fs::create_dir(&own).unwrap();
    sh(
        &own,
        "echo x >x; mkdir -p d/deep e; echo y >d/deep/y; echo e >e/e; chmod 750 e; echo 0 >never; chmod 000 never",
    );
    let store = folder.join("other-state/snapshots.git");
    let snapshots = Snapshots::open(&store, &own, &SnapshotOptions::default()).unwrap();
    let first = snapshots.take(None).unwrap();
    let before = listing(&own);
    for takes in [
        "chmod 000 d e x",
        "find . -mindepth 1 -depth -exec chmod 000 {} +",
        "echo new >new; mkdir more; echo m >more/m; chmod 000 new more .",
        "chmod 600 d; chmod 200 e/e",
        "echo other >d/deep/y; chmod 000 d/deep/y; chmod 400 d",
    ] {
        sh(&own, takes);
        let (now, made) = snapshots.take_readable(Some(&first), None, &first).unwrap();
        assert!(!made.is_empty(), "{takes}");
        assert_eq!(left_out(&now), "not readable: never", "{takes}");
        let restored = snapshots.restore(&first, Git::Leave).unwrap();
        assert_eq!(restored.files.left, [], "{takes}");
        assert_eq!(listing(&own), before, "{takes}");
    }
    let (_, made) = snapshots.take_readable(Some(&first), None, &first).unwrap();
    assert_eq!(made, Vec::<std::path::PathBuf>::new());
    println!("> all is back");
}

#[test]
fn files_that_became_unreadable_are_restored() {
    let world = World::new("mkdir ../other-state; chmod 777 . .. ../other-state");
    if is_root() && !may_give_away() {
        return;
    }
    let text = run_elsewhere(&world, "surroundings::a_process_without_rights", |command| {
        if is_root() {
            command.uid(65534).gid(65534);
        }
    });
    assert_eq!(text, "all is back");
}

#[test]
fn unreadable_file_is_not_reported_as_deleted() {
    let world = World::new("echo x >x; echo y >y");
    let first = world.first();
    // No user can read a pipe either.
    world.sh("rm x; mkfifo x; echo more >>y");
    let snapshots = world.snapshots();
    let now = snapshots.take(Some(&first)).unwrap();
    for (before, after, told) in [(&first, &now, "x true"), (&now, &first, "x false")] {
        let mut text = Vec::new();
        snapshots.diff(before, after, &DiffOptions::default(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("a/y") && !text.contains("a/x"), "{text}");
        let lines = snapshots.lines(before, after, &|_| true).unwrap();
        assert_eq!(lines.iter().map(|file| &*file.path).collect::<Vec<_>>(), ["y"]);
        let unseen = snapshots.one_sided_paths(before, after).unwrap();
        let unseen: Vec<_> =
            unseen.iter().map(|path| format!("{} {}", path.path.display(), path.is_now)).collect();
        assert_eq!(unseen, [told]);
    }
}

/// Runs [`another_process`] as a program next to the workspace, where every user can read it.
fn elsewhere(world: &World, adapt: impl FnOnce(&mut Command)) -> String {
    run_elsewhere(world, "surroundings::another_process", adapt)
}

fn run_elsewhere(world: &World, test: &str, adapt: impl FnOnce(&mut Command)) -> String {
    let program = world.folder().join("program");
    // Copy with another process: a test may start a process while this one writes, and then the file is busy.
    let copied = Command::new("cp").arg(env::current_exe().unwrap()).arg(&program).status();
    assert!(copied.unwrap().success());
    let mut command = Command::new(&program);
    command.args(["--exact", test, "--ignored", "--nocapture"]);
    command.env("SNAPSHOT_FOLDER", world.folder());
    adapt(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let own = text.lines().filter_map(|line| line.strip_prefix("> "));
    own.collect::<Vec<_>>().join("\n")
}

const WITH_LOG: &str =
    "echo '*.log' >>.gitignore; echo t >tracked.log; git add -f tracked.log; git commit --quiet -m log";

#[test]
fn without_git_only_what_it_tracks_is_not_known() {
    let world = World::new(DIRTY);
    world.sh(WITH_LOG);
    let text = elsewhere(&world, |command| {
        command.env("PATH", world.folder()).env_remove("HOME");
    });
    expect_test::expect![[r#"
        changes: A more, (A more.log)
        left out: ""
        notes: ["which files git tracks is not known (git is not installed): those that .gitignore names count as ignored"]
        left: []
        standing: work commit"#]]
    .assert_eq(&text);
}

#[test]
fn no_program_of_the_user_runs_and_only_the_list_of_ignored_files_counts() {
    let world = World::new(DIRTY);
    world.sh(WITH_LOG);
    world.sh("cd ..; mkdir home; printf '#!/bin/sh\\ntouch %s/ran\\n' $PWD >home/trap; chmod +x home/trap
         git config --file home/.gitconfig core.fsmonitor $PWD/home/trap
         git config --file home/.gitconfig core.excludesFile $PWD/home/excludes; echo '*' >home/excludes");
    let text = elsewhere(&world, |command| {
        command.env("HOME", world.folder().join("home")).env("XDG_CONFIG_HOME", world.folder().join("home"));
        command.env("GIT_CONFIG_SYSTEM", world.folder().join("home/.gitconfig"));
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
            command.env(name, "/nonexistent");
        }
        command.env("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=/nonexistent/trap'");
    });
    expect_test::expect![[r#"
        changes: (A more), (A more.log)
        left out: ""
        notes: []
        left: []
        standing: work commit"#]]
    .assert_eq(&text);
    assert_eq!(world.sh("ls .. | grep ran || true"), "");
}

#[test]
fn another_user_sees_what_it_may_read_and_says_the_rest() {
    let world = World::new(DIRTY);
    world.sh(WITH_LOG);
    world
        .sh("mkdir secret ../other-state; echo x >secret/x; chmod 700 secret; chmod 777 . .. ../other-state");
    if is_root() && !may_give_away() {
        return;
    }
    let text = elsewhere(&world, |command| {
        if is_root() {
            command.uid(65534).gid(65534);
        } else {
            // A user other than the superuser can remove its own right to read.
            for path in ["secret", ".env"] {
                fs::set_permissions(world.workspace().join(path), fs::Permissions::from_mode(0o000)).unwrap();
            }
        }
        command.env_remove("HOME");
    });
    assert!(text.contains("changes: A more, (A more.log)"), "{text}");
    assert!(text.contains("left out: \"not readable: .env secret\""), "{text}");
    assert!(text.contains("left: []"), "{text}");
    for path in ["secret", ".env"] {
        fs::set_permissions(world.workspace().join(path), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

/// Says whether a file can be given to another user: the superuser of a container may know none.
fn may_give_away() -> bool {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::chown(file.path(), Some(1234), Some(1234)).is_ok()
}

/// The owner of a file that we have just made is who we are.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    tempfile::tempfile().unwrap().metadata().unwrap().uid() == 0
}

#[test]
fn the_superuser_gives_files_back_to_their_owner() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    if !may_give_away() {
        return;
    }
    let world = World::new("mkdir src; echo a >src/a; ln -s a src/l; mkdir src/deep; echo b >src/deep/b");
    let owned = world.sh("find src").lines().map(|path| world.workspace().join(path)).collect::<Vec<_>>();
    let owners = || owned.iter().map(|path| fs::symlink_metadata(path).unwrap().uid()).collect::<Vec<_>>();
    chown(world.workspace(), Some(1234), Some(1234)).unwrap();
    let first = world.first();
    world.sh("rm -rf src");
    world.restore(&first);
    assert_eq!(owners(), vec![1234; owned.len()]);
}
