//! A repository that a worker has changed, restored to its earlier state.

use std::path::PathBuf;

use unstuck_workspace::snapshot::{Git, MovedBranch, RestoreOutcome, Snapshot, SnapshotOptions, Snapshots};

use crate::world::{DIRTY, World, sh};

/// Prints the original branches, HEAD and the index, as git reports them.
const STATE: &str =
    "git for-each-ref --format='%(refname) %(objectname)' refs/heads/work refs/heads/other refs/heads/a
    git symbolic-ref -q HEAD || git rev-parse HEAD; git ls-files --stage; git status --porcelain
    cat .git/MERGE_HEAD .git/MERGE_MSG 2>/dev/null || true";

/// Stages half of a file, so that no file and no commit has the staged content.
const HALF: &str = "echo half >src/a.rs; git add src/a.rs; echo more >>src/a.rs";

fn put_back(world: &World, then: &Snapshot) -> RestoreOutcome {
    world.snapshots().restore(then, Git::PutBack).unwrap()
}

/// Puts back what a worker did, and looks at the repository by means of a command, `shown`.
fn comes_back(world: &World, worker: &str, shown: &str, said: &str) {
    let before = world.sh(shown);
    let first = world.first();
    world.sh(worker);
    let restored = put_back(world, &first);
    assert_eq!(restored.files.left, [], "{worker}");
    let done = restored.repository.join("; ");
    assert!(done.contains(said), "{worker}: {done}");
    assert_eq!(world.sh(shown), before, "{worker}");
}

#[test]
fn whatever_a_worker_did_to_the_repository_it_stands_where_it_stood() {
    const CONFLICT: &str = "git stash -qu; git checkout -qb theirs HEAD~2; echo theirs >two; git commit -qam theirs; \
        git checkout -q work; git merge theirs >/dev/null || true";
    for (setup, worker, said) in [
        (HALF, "git add -A; git commit -qm all", "is on work, at"),
        (HALF, "git reset -q --hard", "has staged what it had"),
        (HALF, "git stash -qu", "has staged what it had"),
        (HALF, "rm .git/index", "has staged what it had"),
        ("true", "git checkout -qf -b elsewhere; git commit -qm x --allow-empty", "and was on elsewhere, at"),
        (
            "true",
            "git checkout -qf -b elsewhere; git branch -qD work other",
            "has the branch other again, at",
        ),
        ("true", "git pack-refs --all; git branch -qD other", "has the branch other again, at"),
        ("git branch a/b/c; git pack-refs --all", "git branch -qD a/b/c", "has the branch a/b/c again, at"),
        ("true", "git checkout -q --detach; git commit -qm x --allow-empty", "is on work, at"),
        ("git stash -qu; git checkout -q --detach other", "git checkout -q work", "is on no branch, at"),
        (
            "true",
            "git checkout -q --orphan fresh; git rm -rfq --cached .",
            "and was on fresh, without a commit",
        ),
        (
            "rm -rf .git; git init -qb work; git add one",
            "git add -A; git commit -qm x",
            "is on work, without a commit",
        ),
        ("true", CONFLICT, "is in the midst of what it was, or of nothing"),
        (CONFLICT, "git merge --abort", "is in the midst of what it was, or of nothing"),
        (CONFLICT, "git add -A; git commit -qm merged", "is in the midst of what it was, or of nothing"),
        (
            HALF,
            "git reset -q --hard HEAD~2; git reflog expire --expire=now --all; git gc -q --prune=now",
            "is on work",
        ),
        (
            HALF,
            "git reset -q; git branch -qD other; git reflog expire --expire=now --all; git gc -q --prune=now",
            "staged",
        ),
    ] {
        let world = World::new(DIRTY);
        world.sh(setup);
        let (before, files) = (world.sh(STATE), world.listing());
        let first = world.first();
        world.sh(worker);
        let restored = put_back(&world, &first);
        assert_eq!(restored.files.left, [], "{setup}, {worker}");
        let done = restored.repository.join("; ");
        assert!(done.contains(said), "{setup}, {worker}: {done}");
        assert_eq!((world.sh(STATE), world.listing()), (before, files), "{setup}, {worker}");
        world.sh("git fsck --strict --no-dangling >&2");
        // The undo is undone in the same way.
        let there = restored.before;
        put_back(&world, &there);
        assert_eq!(put_back(&world, &there).repository, [""; 0], "{setup}, {worker}: {done}");
    }
}

#[test]
fn tags_the_stash_and_what_is_configured_are_what_they_were() {
    const ALL: &str =
        "git for-each-ref --format='%(refname) %(objectname)'; git stash list; git config --local --list
        ls .git/hooks | grep -v sample || true; git bisect log 2>/dev/null || true; git status --porcelain";
    const SETUP: &str = "git tag old HEAD~1; git tag -am text new; git stash -q; echo 2 >>two; git stash -q
        git config remote.origin.url /nowhere; git update-ref refs/notes/x HEAD; git pack-refs --all";
    const ANEW: &str =
        "rm -rf .git; git init -qb work; git config core.fsmonitor x; git add -A; git commit -qm anew";
    const BISECT: &str = "git stash -qu; git bisect start -q; git bisect bad; git bisect good HEAD~2";
    for (setup, worker, said) in [
        ("true", "git tag -d old new", "has the tag new again, at"),
        ("true", "git tag -f old HEAD", ", and it was at"),
        ("true", "git stash clear", "has the stash again, at"),
        ("true", "git stash clear; git gc -q --prune=now", "has the stash again, at"),
        ("true", "git stash drop -q stash@{1}", "has the older stashes again"),
        ("true", "git stash drop -q stash@{1}; git gc -q --prune=now", "has the older stashes again"),
        ("true", "git update-ref -d refs/notes/x", "has refs/notes/x again, at"),
        ("true", "git config remote.origin.url /there; git config core.fsmonitor x", "the configuration"),
        ("true", "printf '#!/bin/sh\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit", "the hooks"),
        ("true", ANEW, "has the stash again, at"),
        (BISECT, "git bisect reset 2>/dev/null", "is in the midst of what it was"),
    ] {
        let world = World::new(DIRTY);
        world.sh(SETUP);
        world.sh(setup);
        comes_back(&world, worker, ALL, said);
        world.sh("git fsck --strict --no-dangling >&2");
    }
}

#[test]
fn worker_settings_are_seen_but_not_branch_settings_of_git() {
    for (worker, seen) in [
        ("git config core.fsmonitor x", vec!["config"]),
        (
            "printf x >.git/hooks/pre-commit; echo x >>.git/info/exclude",
            vec!["hooks/pre-commit", "info/exclude"],
        ),
        ("git config branch.work.remote origin; git commit -qm x --allow-empty; git tag x", vec![]),
        ("rm -rf .git", vec![]),
    ] {
        let world = World::new(DIRTY);
        world.sh("git config remote.origin.url /nowhere");
        let first = world.first();
        world.sh(worker);
        let now = world.snapshots().take(Some(&first)).unwrap();
        let seen: Vec<PathBuf> = seen.into_iter().map(PathBuf::from).collect();
        assert_eq!(world.snapshots().changed_settings(&first, &now).unwrap(), seen, "{worker}");
    }
}

#[test]
fn pruned_objects_are_restored_at_any_later_time() {
    let world = World::new(DIRTY);
    // Long enough for a folder to count as unchanged.
    world.sh("git gc -q; sleep 3");
    let (before, first) = (world.sh(STATE), world.first());
    world.sh(
        "git reset -q --hard HEAD~2; git reflog expire --expire=now --all; git gc -q --prune=now; sleep 3",
    );
    world.snapshots().take(Some(&first)).unwrap();
    assert_eq!(put_back(&world, &first).files.left, []);
    assert_eq!(world.sh(STATE), before);
}

#[test]
fn a_repository_that_is_another_or_none_is_named_and_not_touched() {
    const LINKED: &str =
        "git init -q -b work ../main; cd ../main; echo one >one; git add one; git commit -qm one
        rmdir ../workspace; git worktree add -q ../workspace";
    for (setup, worker, why) in [
        (DIRTY, "rm .git/HEAD", "is there, but no repository any more"),
        (DIRTY, "mkdir .git/reftable", "stays as it is: where HEAD and the branches are"),
        (DIRTY, "mv .git/refs/heads .git/refs/h; ln -s / .git/refs/heads", "stays as it is"),
        (DIRTY, "git pack-refs --all; rm .git/packed-refs; mkfifo .git/packed-refs", "stays as it is"),
        (LINKED, "echo gitdir: $PWD/../main/.git >.git", "leads to another repository"),
        (LINKED, "git init -q ../x; rm .git; mv ../x/.git .", "leads to another repository"),
    ] {
        let world = World::new(setup);
        let first = world.first();
        world.sh(worker);
        let heads = || sh(world.folder(), "cat workspace/.git/HEAD main/.git/HEAD 2>/dev/null || true");
        let before = heads();
        let restored = put_back(&world, &first);
        let left = restored.files.left.iter().find(|left| left.path.starts_with(".git"));
        assert!(left.is_some_and(|left| left.why.contains(why)), "{worker}: {restored:?}");
        assert_eq!((restored.repository, heads()), (vec![], before), "{worker}");
    }
}

#[test]
fn unreadable_ref_is_noted_and_never_counts_as_absent() {
    const FILES: &str = "find .git -type f | sort | xargs sha256sum";
    for (file, breaks) in [
        ("HEAD", "ln -s HEAD .git/HEAD"),
        ("packed-refs", "mkfifo .git/packed-refs"),
        ("packed-refs", "ln -s kept .git/packed-refs"),
        ("refs/heads", "ln -s heads .git/refs/heads"),
    ] {
        let world = World::new(&format!("{DIRTY}; git pack-refs --all; git branch loose"));
        let (snapshots, first) = (world.snapshots(), world.first());
        let before = world.sh(FILES);
        world.sh(&format!("mv .git/{file} ../kept; {breaks}"));
        let now = snapshots.take(Some(&first)).unwrap();
        assert_eq!(
            now.repository.as_ref().map(|standing| standing.is_known()),
            Some(false),
            "{breaks}: {now:?}"
        );
        assert!(now.unread().count() > 0, "{breaks}: {:?}", now.notes);
        assert_eq!(snapshots.moved_branches(&first, &now).unwrap(), [], "{breaks}");
        // That snapshot is no reason to take anything away.
        world.sh(&format!("rm .git/{file}; mv ../kept .git/{file}"));
        let restored = put_back(&world, &now);
        assert!(
            restored.files.left.iter().any(|left| left.why.contains("is not known (")),
            "{breaks}: {restored:?}"
        );
        assert_eq!(world.sh(FILES), before, "{breaks}");
    }
}

#[test]
fn operation_in_progress_and_lock_file_are_noted() {
    const CONFLICT: &str =
        "git stash -q -u; git checkout -q other; echo x >one; git commit -qam x; git checkout -q work
        echo y >one; git commit -qam y;";
    for (begins, noted) in [
        ("git merge -q other >/dev/null || :", "a merge is in progress"),
        ("git rebase -q other >/dev/null 2>&1 || :", "a rebase is in progress"),
        ("git rebase -q --apply other >/dev/null 2>&1 || :", "a rebase is in progress"),
        ("git cherry-pick other >/dev/null 2>&1 || :", "a cherry-pick is in progress"),
        ("git revert --no-edit HEAD~1 HEAD~3 >/dev/null 2>&1 || :", "in progress"),
        (
            "git format-patch -1 --stdout other >../p; git am ../p >/dev/null 2>&1 || :",
            "git am is in progress",
        ),
        ("git bisect start >/dev/null", "a bisect is in progress"),
        ("touch .git/index.lock", ".git/index.lock exists"),
        ("touch .git/refs/heads/work.lock", ".git/refs/heads/work.lock exists"),
    ] {
        let world = World::new(&format!("{DIRTY}; {CONFLICT}"));
        let first = world.first();
        assert_eq!(first.unfinished().count(), 0, "{begins}");
        world.sh(begins);
        let now = world.snapshots().take(Some(&first)).unwrap();
        let said: Vec<&str> = now.unfinished().collect();
        assert!(matches!(said[..], [one] if one.contains(noted)), "{begins}: {said:?}");
    }
}

#[test]
fn pack_that_newer_packs_hold_is_kept_once_and_others_stay() {
    let world = World::new(DIRTY);
    let packs = || {
        let files =
            sh(world.folder(), "find state -path '*/objects/pack/*' -name 'pack-*.pack' -path '*unstuck*'");
        files.lines().count()
    };
    for round in 0..3 {
        world.sh(&format!("echo {round} >>one; git commit -qam {round}; git repack -adq; git prune"));
        world.snapshots().take(None).unwrap();
        assert_eq!(packs(), 1, "{round}");
    }
    // A commit that the repository forgets is in no newer pack.
    let (lost, first) = (world.sh("git rev-parse HEAD"), world.first());
    world.sh("git reset -q --hard HEAD~1; git reflog expire --expire=now --all; git repack -adq; git prune --expire=now");
    world.snapshots().take(Some(&first)).unwrap();
    assert_eq!(packs(), 2);
    put_back(&world, &first);
    assert_eq!(world.sh("git rev-parse HEAD"), lost);
    world.sh("git fsck --no-dangling");
}

#[test]
fn no_branch_is_moved_through_a_symbolic_one() {
    let world = World::new(DIRTY);
    let first = world.first();
    world.sh("git symbolic-ref refs/heads/other refs/heads/work");
    let at = world.sh("git rev-parse work other");
    let now = world.snapshots().take(Some(&first)).unwrap();
    let moved = world.snapshots().moved_branches(&first, &now).unwrap();
    assert_eq!(moved[0].to.as_deref(), Some("ref: refs/heads/work"), "it is not gone");
    assert_eq!(put_back(&world, &first).repository, [""; 0]);
    world.sh("git checkout -qf -b x; git symbolic-ref refs/heads/work refs/heads/x; git commit -qm x --allow-empty");
    let restored = put_back(&world, &first);
    assert!(restored.files.left.iter().any(|left| left.why.contains("a symbolic one now")), "{restored:?}");
    assert_ne!(world.sh("git rev-parse x"), at);
}

#[test]
fn failed_part_of_a_restore_is_named_and_the_rest_is_restored() {
    for (worker, place, why) in [
        (
            "git checkout -qf -b x; git worktree add -q ../w work",
            ".git: HEAD",
            "the checkout \"w\" of the repository is on work",
        ),
        ("git reset -q; touch .git/index.lock", ".git/index", "a git is at work, or was killed"),
        ("git checkout -qf -b x; touch .git/HEAD.lock", ".git: HEAD", "HEAD.lock': File exists"),
    ] {
        let world = World::new(DIRTY);
        let (first, files) = (world.first(), world.listing());
        world.sh(&format!("git branch -qD other; {worker}"));
        let restored = put_back(&world, &first);
        let left: Vec<_> =
            restored.files.left.iter().map(|left| (left.path.display().to_string(), &*left.why)).collect();
        assert!(
            matches!(&left[..], [(path, reason)] if path == place && reason.contains(why)),
            "{worker}: {left:?}"
        );
        assert_eq!(world.listing(), files, "{worker}");
        assert!(restored.repository.iter().any(|line| line.contains("the branch other again")), "{worker}");
    }
}

#[test]
fn where_the_repository_is_elsewhere_its_head_goes_back_and_what_is_staged_stays() {
    let setup = "git init -q -b work ../main; cd ../main; echo one >one; git add one; git commit -qm one
        rmdir ../workspace; git worktree add -q ../workspace";
    let world = World::new(setup);
    let (first, head) = (world.first(), world.sh("git rev-parse HEAD"));
    world.sh("echo two >one; git commit -qam two; echo three >one; git add one; git branch -qD work || true");
    let restored = put_back(&world, &first);
    assert_eq!(world.sh("git rev-parse HEAD; git rev-parse --abbrev-ref HEAD"), format!("{head}workspace\n"));
    assert!(restored.files.left.iter().any(|left| left.why.contains("git reset")), "{restored:?}");
    assert_eq!(world.sh("git show :one; cat one"), "three\none\n");
}

#[test]
fn no_hook_runs_when_a_repository_is_restored() {
    let world = World::new(DIRTY);
    world.sh("for hook in reference-transaction post-index-change post-checkout; do
            printf '#!/bin/sh\\ntouch $PWD/../ran' >.git/hooks/$hook; chmod +x .git/hooks/$hook; done");
    let first = world.first();
    world.sh(
        "git -c core.hooksPath=/dev/null branch -qD other; git -c core.hooksPath=/dev/null checkout -qf -b x",
    );
    let done = put_back(&world, &first).repository;
    assert_eq!(done.len(), 3, "{done:?}");
    assert!(!world.folder().join("ran").exists());
}

#[test]
fn branches_are_seen_wherever_their_repository_is() {
    let world = World::new(DIRTY);
    world.sh("git worktree add -q ../linked; git branch gone; git branch far; git pack-refs --all; git branch f/a/r");
    let folders = [world.workspace(), world.workspace().join("src"), world.folder().join("linked")];
    let all: Vec<Snapshots> = folders
        .iter()
        .map(|folder| Snapshots::open(&world.store(), folder, &SnapshotOptions::default()).unwrap())
        .collect();
    let before: Vec<Snapshot> = all.iter().map(|snapshots| snapshots.take(None).unwrap()).collect();
    let at = |name: &str| sh(&world.workspace(), &format!("git rev-parse {name}")).trim().to_owned();
    let (work, other) = (at("work"), at("other"));
    world.sh("git branch -qD gone f/a/r; git branch -qf far other; git branch new");
    let expected = ["f/a/r", "far", "gone"].map(|name| MovedBranch {
        name: name.to_owned(),
        from: work.clone(),
        to: (name == "far").then(|| other.clone()),
    });
    for (snapshots, before) in all.iter().zip(&before) {
        let after = snapshots.take(Some(before)).unwrap();
        assert_eq!(snapshots.moved_branches(before, &after).unwrap(), expected);
        assert_eq!(snapshots.moved_branches(&after, &after).unwrap(), []);
    }
}

#[test]
fn refs_in_tables_are_seen_and_restored() {
    const STATE: &str =
        "git for-each-ref --format='%(refname) %(objectname)' refs/heads/work refs/heads/other
        git symbolic-ref -q HEAD || git rev-parse HEAD; git ls-files --stage; git status --porcelain";
    for (worker, moved, standing) in [
        ("true", "", "work"),
        ("git branch -qD other", "other", "work"),
        (
            "git checkout -qf -b elsewhere; git commit -qm x --allow-empty; git branch -qf work other",
            "work",
            "elsewhere",
        ),
        ("git checkout -q --detach; git branch -qD work other", "other work", "-"),
        ("git reset -q --hard HEAD~2", "work", "work"),
        ("rm -rf .git", "", "-"),
    ] {
        let world =
            World::new("git init -q --ref-format=reftable ../try 2>/dev/null && touch ../can || true");
        if !world.folder().join("can").exists() {
            return println!("skipped: this git keeps no refs in tables");
        }
        world.sh(&DIRTY.replace("git init", "git init --ref-format=reftable"));
        let before = world.sh(STATE);
        let first = world.first();
        let stood = first.repository.clone().unwrap();
        assert_eq!(
            (stood.branch.as_deref(), stood.commit.map(|commit| commit.len())),
            (Some("work"), Some(40))
        );
        assert!(first.notes.iter().any(|note| note.contains("reftable")), "{:?}", first.notes);
        world.sh(worker);
        let snapshots = world.snapshots();
        let now = snapshots.take(Some(&first)).unwrap();
        let stands = now.repository.clone().and_then(|standing| standing.branch).unwrap_or("-".to_owned());
        let names = snapshots.moved_branches(&first, &now).unwrap().into_iter().map(|branch| branch.name);
        assert_eq!(
            (names.collect::<Vec<_>>().join(" ").as_str(), stands.as_str()),
            (moved, standing),
            "{worker}"
        );
        let restored = put_back(&world, &first);
        assert_eq!(restored.files.left, [], "{worker}");
        assert_eq!(world.sh(STATE), before, "{worker}");
    }
}

/// A submodule with a commit that is nowhere else, and a repository in a folder, with its own commits, tag and stash.
const WITH_INNER: &str = "git init -q ../lib; (cd ../lib; echo l >l; git add -A; git commit -qm l)
    git submodule --quiet add ../lib sub; git commit -qm sub -- sub .gitmodules
    (cd sub; git checkout -qb topic; echo p >p; git add p; git commit -qm unpushed; git branch keep)
    git init -qb main inner; (cd inner; echo i >i; git add i; git commit -qm i; git branch keep; git tag v1
        echo two >>i; git stash -q; echo j >j; git add j; git commit -qm j; echo staged >k; git add k)";

#[test]
fn submodule_is_restored_with_its_unpushed_commits() {
    const STANDS: &str = "cd sub; git for-each-ref; git symbolic-ref -q HEAD || git rev-parse HEAD; cat l p
        git status --porcelain; git config --list --local; git log --format=%s topic; cd ..; git status --porcelain";
    const PRUNED: &str = "cd sub; git checkout -q --detach HEAD~1; git branch -qD topic keep
        git reflog expire --expire=now --all; git gc -q --prune=now";
    for (worker, said) in [
        ("rm -rf .git", "is back"),
        ("rm -rf .git/modules", "has .git/modules/sub again"),
        ("rm -rf .git/modules/sub sub", "has .git/modules/sub again"),
        (PRUNED, "has the branch topic again"),
        ("cd sub; git commit -q --allow-empty -m more", "has HEAD of .git/modules/sub where it was"),
        ("cd sub; git checkout -q keep", "has HEAD of .git/modules/sub where it was"),
        ("git -C sub config core.fsmonitor x", "the hooks that it had in .git/modules/sub"),
        ("cd sub; echo s >l; git add l", "has staged what it had in .git/modules/sub"),
    ] {
        let world = World::new(DIRTY);
        world.sh(WITH_INNER);
        comes_back(&world, worker, STANDS, said);
        world.sh("git -C sub fsck --strict --no-dangling >&2");
    }
}

#[test]
fn a_repository_in_a_folder_comes_back_with_its_history() {
    const STANDS: &str = "cd inner; git for-each-ref; git symbolic-ref -q HEAD || git rev-parse HEAD; cat i j k
        git status --porcelain; git config --list --local; git log --format=%s; git stash list; git stash show -p";
    const PRUNED: &str = "cd inner; git stash clear; git tag -d v1 >&2; git checkout -q --detach HEAD~1; git branch -qD main keep
        git reflog expire --expire=now --all; git gc -q --prune=now";
    for (worker, said) in [
        ("rm -rf inner", "has inner/.git again"),
        ("mv inner/.git ../away", "has inner/.git again"),
        ("rm -rf inner .git", "has inner/.git again"),
        ("rm -rf inner; echo x >inner", "has inner/.git again"),
        (PRUNED, "has the branch main again"),
        (PRUNED, "has the tag v1 again"),
        (PRUNED, "has the stash again"),
        (
            "cd inner; git reset -q --hard HEAD~1; git gc -q --prune=now",
            "has HEAD of inner/.git where it was",
        ),
        ("cd inner; rm -rf .git; git init -qb main; git add -A; git commit -qm all", "where it was"),
        ("cd inner; git reset -q", "has staged what it had in inner/.git"),
        ("git -C inner config core.hooksPath x", "the hooks that it had in inner/.git"),
    ] {
        let world = World::new(DIRTY);
        world.sh(WITH_INNER);
        comes_back(&world, worker, STANDS, said);
        world.sh("git -C inner fsck --strict --no-dangling >&2");
    }
}

/// A repository outside of the workspace, and what must not change of it.
const OUTSIDE: &str = "git init -qb other ../outside; cd ../outside; echo x >x; git add x; git commit -qm x; git branch main; git branch topic
    cp -r .git/refs ../refs; : >../log";
const OF_OUTSIDE: &str =
    "cd ..; cat outside/.git/HEAD log; git -C outside for-each-ref; find outside refs -type f | sort";

#[test]
fn nothing_outside_is_changed_whatever_a_worker_puts_into_a_repository() {
    for plant in [
        "echo garbage >R/HEAD",
        "rm R/HEAD; ln -s /etc/passwd R/HEAD",
        "echo 'gitdir: ../../outside/.git' >R/.git",
        "rm -rf R/objects; ln -s ../../outside/.git/objects R/objects",
        "echo ../../../outside/.git >R/commondir",
        "rm -rf R/refs/heads; ln -s ../../../refs/heads R/refs/heads",
        "rm R/logs/HEAD; ln -s ../../../../log R/logs/HEAD; git --git-dir=R config user.name 'x;touch ran'; touch R/index.lock",
        "rm R/logs/HEAD; mkfifo R/logs/HEAD",
        "rm -f R/packed-refs; mkfifo R/packed-refs",
        "chmod 500 R; rm -rf R/refs; ln -s ../../refs R/refs",
    ] {
        for repository in ["inner/.git", ".git"] {
            let world = World::new(DIRTY);
            world.sh(OUTSIDE);
            world.sh(WITH_INNER);
            let outside = world.sh(OF_OUTSIDE);
            let first = world.first();
            let folder = repository.strip_suffix(".git").unwrap();
            world.sh(&format!(
                "git -C ./{folder} checkout -qfb x; git -C ./{folder} branch -qD keep topic || true; {}",
                plant.replace('R', repository)
            ));
            let begun = std::time::Instant::now();
            world.snapshots().restore(&first, Git::PutBack).unwrap();
            assert!(begun.elapsed().as_secs() < 25, "{plant}, {repository}");
            assert_eq!(world.sh(OF_OUTSIDE), outside, "{plant}, {repository}");
        }
    }
}

#[test]
fn repository_that_cannot_be_restored_does_not_block_others() {
    let world = World::new(DIRTY);
    world.sh(WITH_INNER);
    world.sh("cp -a inner zeta");
    let first = world.first();
    world
        .sh("git -C inner branch -qD keep; rm -rf inner/.git/objects; touch inner/.git/objects; rm -rf zeta");
    let restored = put_back(&world, &first);
    let left: Vec<_> = restored.files.left.iter().map(|left| left.path.display().to_string()).collect();
    assert_eq!(left, ["inner/.git"], "{restored:?}");
    assert_eq!(world.sh("git -C zeta log --format=%s"), "j\ni\n");
}

#[test]
fn a_lock_of_the_index_keeps_nothing_else_from_coming_back() {
    let world = World::new(DIRTY);
    world.sh(WITH_INNER);
    const STANDS: &str =
        "git -C inner config --list --local; git -C inner symbolic-ref HEAD; git config --list --local";
    let (before, first) = (world.sh(STANDS), world.first());
    world.sh("for it in . inner; do git -C $it checkout -qfb x; git -C $it config core.fsmonitor x; touch $it/.git/index.lock; done");
    let restored = put_back(&world, &first);
    let left: Vec<_> = restored.files.left.iter().map(|left| left.path.display().to_string()).collect();
    assert_eq!(
        (left, world.sh(STANDS)),
        (vec![".git/index".to_owned(), "inner/.git/index".to_owned()], before)
    );
}

#[test]
fn inner_repository_that_looks_unchanged_is_restored() {
    const STANDS: &str =
        "cd inner; git for-each-ref; git symbolic-ref -q HEAD || git rev-parse HEAD; git log --format=%s";
    for (setup, worker, said) in [
        ("true", "rm -rf inner/.git/objects/*", "has the objects of inner/.git again"),
        ("true", "rm -rf inner/.git/objects", "has the objects of inner/.git again"),
        (
            "cd inner; git checkout -q --detach; git commit -qm lone --allow-empty",
            "cd inner; git checkout -q main; git reflog expire --expire=now --all; git gc -q --prune=now",
            "has HEAD of inner/.git where it was",
        ),
        (
            "cd inner; rm .git/HEAD; ln -s refs/heads/keep .git/HEAD",
            "git -C inner checkout -qf main",
            "has HEAD of",
        ),
        ("chmod 500 inner", "chmod 700 inner; rm -rf inner", "has inner/.git again"),
        ("rm -rf inner/.git/logs", "rm inner/.git/config", "the hooks that it had in inner/.git"),
    ] {
        let world = World::new(DIRTY);
        world.sh(WITH_INNER);
        world.sh(setup);
        comes_back(&world, worker, STANDS, said);
        world.sh("git -C inner fsck --strict --no-dangling >&2; chmod 700 inner");
    }
    // Without a commit, and with one by now.
    let world = World::new("git init -qb main un; echo q >un/q; git -C un add q");
    comes_back(&world, "git -C un commit -qm c", "git -C un status --porcelain", "has HEAD of un/.git");
}

#[test]
fn a_repository_that_came_back_is_not_told_to_be_another_one() {
    let world = World::new(DIRTY);
    world.sh(WITH_INNER);
    let first = world.first();
    let lost = |world: &World| {
        let snapshots = world.snapshots();
        let now = snapshots.take(Some(&first)).unwrap();
        let lost = snapshots.changed_excluded(&first, &now).unwrap();
        lost.iter().map(|path| format!("{} {}", path.path.display(), path.how)).collect::<Vec<_>>()
    };
    world.sh("rm -rf inner/.git");
    assert_eq!(lost(&world), ["inner/.git removed"]);
    put_back(&world, &first);
    world.sh("git -C inner commit -qm later --allow-empty");
    assert_eq!(lost(&world), [""; 0]);
    world.sh("rm -rf inner/.git; git init -q inner; git -C inner commit -qm anew --allow-empty");
    assert_eq!(lost(&world), ["inner/.git replaced"]);
}

#[test]
fn a_log_is_no_repository() {
    let world = World::new(DIRTY);
    world.sh(WITH_INNER);
    world.sh("rm inner/.git/HEAD; git rev-parse HEAD >inner/.git/logs/HEAD");
    let (first, head) = (world.first(), world.sh("cat .git/HEAD"));
    world.sh("echo x >inner/.git/logs/HEAD");
    assert_eq!(put_back(&world, &first).repository, [""; 0]);
    assert_eq!(world.sh("cat .git/HEAD"), head);
}

#[test]
fn planted_temporary_folders_are_not_used() {
    let world = World::new(DIRTY);
    world.sh("echo '*.tmp' >>.gitignore");
    let first = world.first();
    world.sh("rm -rf .git; for it in $(seq 0 40); do for of in $(seq 1 3); do
        mkdir -p .unstuck-$(printf %016x $it).tmp/hooks .unstuck-$PPID-$it.tmp/hooks; done; done
        for it in .unstuck-*; do touch $it/hooks/planted; done");
    put_back(&world, &first);
    assert_eq!(world.sh("find .git -name planted; ls -d .unstuck-0* 2>/dev/null || true"), "");
}

#[test]
fn repositories_come_back_where_the_workspace_itself_is_none() {
    let world = World::new(
        "for it in a b/c; do git init -qb main $it; git -C $it commit -q --allow-empty -m $it; done",
    );
    comes_back(
        &world,
        "rm -rf a; rm -rf b",
        "for it in a b/c; do git -C $it log --format=%s; done",
        "has b/c/.git again",
    );
}

#[test]
fn only_a_few_of_many_restored_repositories_are_named() {
    let world = World::new(
        "for it in 1 2 3 4 5 6 7; do git init -qb main $it; git -C $it commit -qm $it --allow-empty; done",
    );
    comes_back(&world, "rm -rf [1-7]", "git -C 7 log --format=%s", "has 2 more of them again");
}

#[test]
fn a_repository_within_comes_back_with_its_submodules_and_with_its_permissions() {
    let world = World::new(DIRTY);
    world.sh("git init -q ../lib; git -C ../lib commit -qm l --allow-empty; git init -qb main inner; cd inner
        git submodule --quiet add ../../lib sub; git commit -qm sub; cd sub; git commit -qm unpushed --allow-empty; chmod 700 ../.git");
    let state = "stat -c %a inner/.git; git -C inner/sub log --format=%s; git -C inner status --porcelain";
    comes_back(&world, "rm -rf inner", state, "has inner/.git again");
}

#[test]
fn changes_of_inner_repositories_are_seen_and_their_settings_restored() {
    for (worker, settings, gone) in [
        ("git -C inner config core.hooksPath /there", "inner/.git/config", ""),
        ("echo x >inner/.git/hooks/pre-commit", "inner/.git/hooks/pre-commit", ""),
        ("git -C inner branch -qD keep", "", "inner/.git keep"),
        ("git -C inner pack-refs --all; git -C inner branch -qD keep", "", "inner/.git keep"),
        ("git -C sub config core.fsmonitor x", ".git/modules/sub/config", ""),
        ("git -C sub branch -qD keep", "", ".git/modules/sub keep"),
        ("git -C inner branch new; git -C inner commit -qm x --allow-empty; git -C inner gc -q", "", ""),
        ("git init -q other; git -C other config core.fsmonitor x; rm -rf inner", "", ""),
    ] {
        let world = World::new(DIRTY);
        world.sh(WITH_INNER);
        let first = world.first();
        world.sh(worker);
        let snapshots = world.snapshots();
        let now = snapshots.take(Some(&first)).unwrap();
        let shown: Vec<String> = snapshots
            .changed_settings_within(&first, &now)
            .unwrap()
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        assert_eq!(shown.join(", "), settings, "{worker}");
        let found = snapshots.gone_branches_within(&first, &now).unwrap();
        let found: Vec<String> =
            found.iter().map(|branch| format!("{} {}", branch.repository.display(), branch.name)).collect();
        assert_eq!(found.join(", "), gone, "{worker}");
        put_back(&world, &first);
        let now = snapshots.take(Some(&first)).unwrap();
        assert_eq!(
            snapshots.changed_settings_within(&first, &now).unwrap(),
            [""; 0].map(PathBuf::from),
            "{worker}"
        );
    }
}

#[test]
fn lfs_and_annex_content_is_reported_as_not_covered() {
    let world = World::new(DIRTY);
    world.sh("mkdir -p .git/lfs/objects/aa .git/annex; echo x >.git/lfs/objects/aa/x");
    let first = world.first();
    let lacks = first.exclusion_note().unwrap_or_default();
    assert!(lacks.contains(".git/annex, .git/lfs (what git lfs or git annex keeps)"), "{lacks}");
    world.sh("rm -rf .git");
    let restored = put_back(&world, &first);
    assert_eq!(restored.repository, ["is back"]);
    let lost = world.snapshots().changed_excluded(&first, &restored.before).unwrap();
    let lost: Vec<PathBuf> = lost.into_iter().map(|path| path.path).collect();
    assert_eq!(lost, [".git/annex", ".git/lfs"].map(PathBuf::from));
}

#[test]
fn a_repository_that_git_does_not_read_is_not_said_to_be_back_as_it_was() {
    for (setup, worker) in [
        ("true", "find .git/objects -type f | while read it; do chmod u+w $it; echo >$it; done; rm -rf .git"),
        ("git gc -q", "for it in .git/objects/pack/*; do chmod u+w $it; echo >$it; done; rm -rf .git"),
        (
            "true",
            "for it in $(git rev-parse HEAD~1); do it=.git/objects/${it:0:2}/${it:2}; chmod u+w $it; echo >$it; done",
        ),
    ] {
        let world = World::new(DIRTY);
        world.sh(setup);
        let first = world.first();
        world.sh(worker);
        let restored = put_back(&world, &first);
        let left: Vec<String> =
            restored.files.left.iter().map(|left| format!("{} {}", left.path.display(), left.why)).collect();
        assert!(left.join("; ").contains(".git cannot be read whole"), "{worker}: {left:?}");
    }
}
