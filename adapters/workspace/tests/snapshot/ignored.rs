//! Ignored files are covered while they are small, and no rule of a worker hides anything.

use unstuck_workspace::snapshot::{Limits, SnapshotOptions, Snapshots};

use crate::world::{World, left_out, shown};

const SETUP: &str = "git init --quiet -b work
    printf '.env\\n*.log\\n/target/\\n!keep.log\\n' >.gitignore; mkdir -p src target/debug
    echo a >src/a.rs; echo S=1 >.env; echo x >target/debug/x; echo l >kept.log; git add -A; git add -f kept.log
    git commit --quiet -m init";

#[test]
fn rules_come_from_the_first_snapshot_of_the_run() {
    for (change, expected) in [
        ("echo x >>.env; echo x >y.log", "(M .env), (A y.log)"),
        ("echo x >keep.log", "A keep.log"),
        ("echo x >target/debug/new; rm target/debug/x", "(A target/debug/new), (D target/debug/x)"),
        ("echo x >>kept.log", "M kept.log"),
        ("git rm --quiet --cached kept.log; echo x >>kept.log", "M kept.log"),
        ("echo '*' >>.gitignore; echo x >hidden", "M .gitignore, A hidden"),
        ("echo '*' >src/.gitignore; echo x >src/hidden", "A src/.gitignore, A src/hidden"),
        ("rm .gitignore; echo x >y.log", "D .gitignore, (A y.log)"),
        ("mkdir -p src/target; echo x >src/target/x", "A src/target/x"),
        ("git add -f .env; git commit --quiet -m x; echo x >>.env", "(M .env)"),
        ("mkdir new; echo x >new/y.log", "(A new/y.log)"),
        ("rm -r target; echo file >target", "A target, (D target/debug/x)"),
    ] {
        let world = World::new(SETUP);
        let first = world.first();
        world.sh(change);
        assert_eq!(world.changes(&first), expected, "{change}");
    }
}

#[test]
fn file_that_only_one_run_ignores_is_not_a_change() {
    let world = World::new(SETUP);
    let first = world.first();
    world.sh("echo a.rs >>.gitignore; git rm --quiet --cached src/a.rs");
    let snapshots = world.snapshots();
    let other = snapshots.take(None).unwrap();
    assert_eq!(shown(&snapshots.changes(&first, &other).unwrap()), "M .gitignore");
    world.sh("echo x >>src/a.rs");
    let other = snapshots.take(None).unwrap();
    assert_eq!(shown(&snapshots.changes(&first, &other).unwrap()), "M .gitignore, M src/a.rs");
}

#[test]
fn an_ignored_folder_is_covered_as_a_whole_or_not_at_all() {
    let small = || Limits { ignored_folder_files_max: 2, ignored_folder_bytes_max: 10, ..Limits::default() };
    for (change, expected) in [
        ("true", ""),
        ("echo x >target/y", ""),
        ("echo x >target/y; echo x >target/z", "ignored and full: target"),
        ("mkdir -p target/a/b; echo x >target/a/b/1; echo x >target/a/b/2", "ignored and full: target"),
        ("echo 1234567890 >target/y", "ignored and full: target"),
        ("rm -r target", ""),
    ] {
        let world = World::new(SETUP);
        world.sh(change);
        let snapshots = world.with_limits(small());
        let first = snapshots.take(None).unwrap();
        assert_eq!(left_out(&first), expected, "{change}");
        world.sh("rm -rf target; echo x >>src/a.rs");
        let now = snapshots.take(Some(&first)).unwrap();
        let changes = shown(&snapshots.changes(&first, &now).unwrap());
        assert_eq!(changes.contains("target"), expected.is_empty() && change != "rm -r target", "{changes}");
    }
}

#[test]
fn a_folder_that_grows_too_full_is_not_said_to_be_deleted() {
    let world = World::new(SETUP);
    let snapshots = world.with_limits(Limits { ignored_folder_files_max: 2, ..Limits::default() });
    let first = snapshots.take(None).unwrap();
    world.sh("touch target/1 target/2 target/3");
    let now = snapshots.take(Some(&first)).unwrap();
    assert_eq!(shown(&snapshots.changes(&first, &now).unwrap()), "(? target/debug/x)");
    assert_eq!(shown(&snapshots.changes(&now, &first).unwrap()), "(? target/debug/x)");
}

#[test]
fn tracked_files_in_a_full_ignored_folder_are_covered() {
    let world = World::new(SETUP);
    world.sh("mkdir target/deep; echo t >target/deep/t; git add -f target/deep/t; touch target/{1..20}");
    let snapshots = world.with_limits(Limits { ignored_folder_files_max: 2, ..Limits::default() });
    let first = snapshots.take(None).unwrap();
    world.sh("echo x >>target/deep/t");
    let now = snapshots.take(Some(&first)).unwrap();
    assert_eq!(shown(&snapshots.changes(&first, &now).unwrap()), "M target/deep/t");
}

#[test]
fn rules_above_the_workspace_hold_in_it() {
    let world = World::new(SETUP);
    world.sh("mkdir -p src/deep; printf '!y.log\\n/deep/out\\n' >src/.gitignore");
    let deep = world.workspace().join("src/deep");
    let snapshots = Snapshots::open(&world.store(), &deep, &SnapshotOptions::default()).unwrap();
    let first = snapshots.take(None).unwrap();
    world.sh("echo '*' >>.gitignore; cd src/deep; echo x >x.log; echo x >y.log; echo x >out; echo x >in");
    let now = snapshots.take(Some(&first)).unwrap();
    assert_eq!(shown(&snapshots.changes(&first, &now).unwrap()), "A in, (A out), (A x.log), A y.log");
}

#[test]
fn braces_are_plain_characters() {
    let world = World::new("git init --quiet -b work; echo '*.{log,tmp}' >.gitignore");
    let first = world.first();
    world.sh("touch a.log b.tmp 'c.{log,tmp}'");
    assert_eq!(world.changes(&first), "A a.log, A b.tmp, (A c.{log,tmp})");
}

#[test]
fn lists_of_the_repository_and_of_the_user_hold_as_they_were_at_the_first_snapshot() {
    let world = World::new(
        "git init --quiet -b work; echo '/of-repository' >.git/info/exclude; echo '!of-all' >.gitignore
        printf 'of-user\\nof-all\\n' >../ignore; git config core.excludesFile $PWD/../ignore",
    );
    let first = world.first();
    world.sh("touch of-repository of-user of-all other; mkdir d; touch d/of-repository d/of-user");
    let expected = "A d/of-repository, (A d/of-user), A of-all, (A of-repository), (A of-user), A other";
    assert_eq!(world.changes(&first), expected);
    world.sh("echo '*' | tee .git/info/exclude ../ignore; git config --unset core.excludesFile");
    assert_eq!(world.changes(&first), expected);
}

#[test]
fn each_repository_has_its_own_rules_and_tracks_its_own_files() {
    const SETUP: &str = "
        for name in ../origin nested ignored many/deep; do
            git init -q -b main $name; echo v >$name/app.cfg; echo v >$name/x.log; echo '*.cfg' >$name/.gitignore
            git -C $name add -f .; git -C $name commit -qm s
        done
        git init -q -b work; printf '*.log\\nignored/\\nmany/\\n' >.gitignore
        git submodule --quiet add ../origin lib; git add .gitignore; git commit -qm s";
    for (change, expected) in [
        ("echo x >F/app.cfg", "M F/app.cfg"),
        ("echo x >F/x.log", "M F/x.log"),
        ("rm F/x.log", "D F/x.log"),
        ("echo x >F/new.log", "A F/new.log"),
        ("echo x >F/new.cfg", "(A F/new.cfg)"),
        ("echo '*' >>.gitignore; echo x >F/new", "M .gitignore, A F/new"),
        ("git -C F rm -q --cached app.cfg; echo x >F/app.cfg", "M F/app.cfg"),
    ] {
        for folder in ["lib", "nested", "ignored", "many/deep"] {
            let world = World::new(SETUP);
            let first = world.first();
            world.sh(&change.replace("F/", &format!("{folder}/")).replace("-C F", &format!("-C {folder}")));
            assert_eq!(
                world.changes(&first),
                expected.replace("F/", &format!("{folder}/")),
                "{change} {folder}"
            );
        }
    }
}

#[test]
fn folder_that_is_no_repository_has_the_rules_of_the_repository_around_it() {
    for made in
        ["mkdir sub/.git", "echo 'gitdir: nowhere' >sub/.git", "git init -q later; mv later/.git sub/"]
    {
        let world = World::new("git init --quiet -b work; echo '*.log' >.gitignore; mkdir sub");
        let is_later = made.contains("later");
        if !is_later {
            world.sh(made);
        }
        let first = world.first();
        if is_later {
            world.sh(made);
        }
        world.sh("touch sub/x.log sub/y");
        let changes = world.changes(&first);
        assert!(changes.contains("(A sub/x.log), A sub/y"), "{made}: {changes}");
    }
}
