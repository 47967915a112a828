//! The work of the user comes back, and nothing else is touched.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use unstuck_workspace::snapshot::{DiffOptions, Git, Limits, SnapshotError};

use crate::world::{DIRTY, World, left_out, listing};

/// S66: what a worker does to the edits of the user is noticed and can be undone.
#[test]
fn work_that_a_worker_destroys_comes_back_and_the_index_and_head_stay() {
    for destroy in [
        "git reset --quiet --hard",
        "git reset --quiet --hard HEAD~2",
        "git clean -fdx --quiet",
        "git clean -ffdxq; git checkout --quiet -- .",
        "git stash --quiet --include-untracked",
        "git stash --quiet --all; git stash drop --quiet",
        "git stash --quiet; git switch --quiet other",
        "git checkout --quiet --force other",
        "git checkout --quiet --force --orphan fresh; git rm -rfq --cached .; rm -rf src one",
        "git add -A; git commit --quiet -m oops; git rm -rq .; git commit --quiet -m oops",
        "rm -rf .git one src",
        "rm -rf .git; git init --quiet; rm -rf src new; mkdir one.d",
        "find . -mindepth 1 -delete",
        "rm -rf ../workspace; mkdir ../workspace",
        "git reset -q --hard HEAD~2; git branch -qD other; git reflog expire --expire=now --all; git gc -q --prune=now",
        "chmod -R a-x+w src 2>/dev/null || true; chmod 777 one .env; chmod u+x src",
        "echo '*' >.gitignore; rm -rf *",
        "mv src tmp; mv one src; mv tmp one; mkdir untracked.d; mv new/n empty/n; ln -sfn .. new/up",
        "rm -rf src; echo file >src; rm one; mkdir -p one/two/three; echo x >one/two/three/four",
        "chmod 777 new empty; chmod 500 src; rm one",
        "rm -rf new; mkdir -m 777 new; mkdir -m 700 more; echo x >more/x; rm two -f; echo x >one",
    ] {
        let world = World::new(DIRTY);
        world.sh("chmod 750 new; chmod 700 empty; chmod 775 src");
        let before = world.listing();
        let first = world.first();
        world.sh(destroy);
        let destroyed = world.listing();
        let repository =
            "cat .git/HEAD .git/index 2>/dev/null | sha256sum; git for-each-ref 2>/dev/null || true";
        let stood = world.sh(repository);
        let snapshots = world.snapshots();
        let now = snapshots.take(Some(&first)).unwrap();
        assert!(!snapshots.changes(&first, &now).unwrap().is_empty(), "{destroy} is noticed");

        world.restore(&first);
        assert_eq!(world.listing(), before, "{destroy}");
        assert_eq!(world.sh(repository), stood, "{destroy}: what is in .git is left alone");
        world.restore(&now);
        let mut again = world.listing();
        // An ignored file that a snapshot does not have stays.
        again.retain(|path, _| destroyed.contains_key(path) || !path.ends_with(".env"));
        assert_eq!(again, destroyed, "{destroy}, undone and done again");
    }
}

/// S83: a snapshot of a dirty repository commits and stages nothing.
#[test]
fn a_snapshot_changes_nothing_in_the_workspace() {
    let world = World::new(DIRTY);
    let state = "find . -path ./.git/objects -prune -o -exec stat -c '%n %i %s %Y %Z %a' {} + | sort; \
        GIT_OPTIONAL_LOCKS=0 git status --porcelain=v2 --branch; \
        git for-each-ref; git stash list";
    let before = world.sh(state);
    let first = world.first();
    world.snapshots().take(Some(&first)).unwrap();
    let after = world.sh(state);
    let differs = before.lines().zip(after.lines()).filter(|(before, after)| before != after);
    assert_eq!(differs.collect::<Vec<_>>(), []);
}

#[test]
fn state_of_the_repository_is_reported() {
    for (change, expected) in [
        ("true", "branch commit stash"),
        ("git switch --quiet -c fresh", "commit stash"),
        ("git checkout --quiet --detach", "commit stash"),
        ("git reset --quiet --soft HEAD~1", "branch stash"),
        ("git commit --quiet --allow-empty -m x; git pack-refs --all", "branch stash"),
        ("git stash --quiet; git stash apply --quiet", "branch commit"),
    ] {
        let world = World::new(DIRTY);
        let first = world.first();
        world.sh(change);
        let now = world.snapshots().take(Some(&first)).unwrap();
        let (then, now) = (first.repository.unwrap(), now.repository.unwrap());
        assert_eq!(then.commit.as_deref().map(str::len), Some(40));
        let same = [
            ("branch", then.branch == now.branch),
            ("commit", then.commit == now.commit),
            ("stash", then.stash == now.stash),
        ];
        let same: Vec<_> = same.iter().filter(|(_, same)| *same).map(|(name, _)| *name).collect();
        assert_eq!(same.join(" "), expected, "{change}");
    }
}

/// S68: a worker in a linked checkout that switches the branch of the main one is noticed.
#[test]
fn a_worker_that_leaves_its_checkout_is_noticed() {
    let world = World::new(DIRTY);
    world.sh("git worktree add --quiet trees/mine other");
    let own = world.workspace().join("trees/mine");
    let options = unstuck_workspace::snapshot::SnapshotOptions::default();
    let snapshots = unstuck_workspace::snapshot::Snapshots::open(&world.store(), &own, &options).unwrap();
    let first = snapshots.take(None).unwrap();
    let main = world.first();
    crate::world::sh(&own, "git -C ../.. checkout --quiet -b x; echo x >>../../one");
    let now = snapshots.take(Some(&first)).unwrap();
    assert_eq!(snapshots.changes(&first, &now).unwrap(), []);
    assert_eq!(first.repository.unwrap().elsewhere[""], "ref: refs/heads/work");
    assert_eq!(now.repository.unwrap().elsewhere[""], "ref: refs/heads/x");
    assert_eq!(world.changes(&main), "M one");
}

/// S59: what a person changed between two sessions shows against the last snapshot.
#[test]
fn drift_between_two_sessions_is_seen() {
    let world = World::new(DIRTY);
    let last = world.first();
    assert_eq!(world.changes(&last), "");
    world.sh("echo by hand >>src/a.rs; echo TOKEN=2 >>.env");
    assert_eq!(world.changes(&last), "(M .env), M src/a.rs");
}

#[test]
fn a_deleted_repository_comes_back_with_its_commits_when_asked() {
    for (setup, then) in [
        ("true", "true"),
        ("git gc --quiet", "true"),
        ("git stash --quiet; git stash apply --quiet; git pack-refs --all", "true"),
        ("true", "git gc --quiet; git repack -adfq"),
        ("true", "git reset -q --hard HEAD~2; git reflog expire --expire=now --all; git gc -q --prune=now"),
    ] {
        let world = World::new(DIRTY);
        world.sh(setup);
        let state = "git log --all --format=%H; git stash list; git status --porcelain; git config --list --local; \
            cat .git/HEAD; git ls-files --stage";
        let (before, files) = (world.sh(state), world.listing());
        let first = world.first();
        world.sh(then);
        world.snapshots().take(Some(&first)).unwrap();
        world.sh("rm -rf .git src one");
        let snapshots = world.snapshots();
        let restored = snapshots.restore(&first, Git::Leave).unwrap();
        assert!(restored.repository.is_empty() && restored.before.repository.is_none());
        let restored = snapshots.restore(&first, Git::PutBack).unwrap();
        assert_eq!((restored.repository, restored.files.left), (vec!["is back".to_owned()], vec![]));
        assert_eq!(world.listing(), files);
        assert_eq!(world.sh(state), before, "{setup}, {then}");
        world.sh("git fsck --strict --no-dangling >&2");
        let again = snapshots.restore(&first, Git::PutBack).unwrap();
        assert!(!again.repository.contains(&"is back".to_owned()), "one that is there is not replaced");
    }
}

#[test]
fn the_file_that_leads_a_linked_checkout_to_its_repository_comes_back() {
    let world = World::new(
        "git init --quiet ../main; cd ../main; git commit --quiet --allow-empty -m x
        rmdir ../workspace; git worktree add --quiet ../workspace",
    );
    let first = world.first();
    world.sh("rm .git");
    assert_eq!(world.snapshots().restore(&first, Git::PutBack).unwrap().repository, ["is back"]);
    assert_eq!(world.sh("git status --porcelain; git rev-parse --abbrev-ref HEAD"), "workspace\n");
}

#[test]
fn files_that_did_not_change_are_not_written() {
    let world = World::new(DIRTY);
    let first = world.first();
    let node = || fs::metadata(world.workspace().join("src/a.rs")).unwrap().ino();
    let before = node();
    world.sh("echo x >>one; echo x >more");
    let applied = world.restore(&first);
    assert_eq!(applied.written, [PathBuf::from("one")]);
    assert_eq!(applied.removed, [PathBuf::from("more")]);
    assert_eq!(node(), before);
}

#[test]
fn no_planted_link_leads_out_of_the_workspace() {
    for plant in [
        "rm -rf src; ln -s ../outside src",
        "rm -rf src new; ln -s ../outside src; ln -s src new",
        "rm one; ln -s ../outside/one one; rm -rf src; ln -s $PWD/../outside src",
        "ln -f ../outside/one one",
        "mkdir -p deep/er; ln -s ../../../outside deep/er/src; rm -rf src; ln -s deep/er/src src",
        "mkdir added; ln -s ../../outside added/link; ln -s ../outside added2",
    ] {
        let world = World::new(DIRTY);
        world.sh("mkdir ../outside; echo precious >../outside/a.rs; echo precious >../outside/one");
        let before = world.listing();
        let first = world.first();
        world.sh(plant);
        world.restore(&first);
        assert_eq!(world.listing(), before, "{plant}");
        assert_eq!(world.sh("cd ../outside; ls; cat *"), "a.rs\none\nprecious\nprecious\n", "{plant}");
    }
}

#[test]
fn uncovered_files_are_never_deleted_or_overwritten() {
    let limits = || Limits {
        file_bytes_max: 1000,
        ignored_file_bytes_max: 500,
        ignored_folder_files_max: 3,
        ..Limits::default()
    };
    let world = World::new(
        "printf 'big/\\n*.log\\n' >.gitignore; head -c 2000 /dev/zero >large; head -c 600 /dev/zero >large.log
         echo x >small.log; mkdir big; touch big/1 big/2 big/3 big/4; mkfifo pipe; echo one >one; echo two >two",
    );
    let snapshots = world.with_limits(limits());
    let first = snapshots.take(None).unwrap();
    assert_eq!(
        left_out(&first),
        "larger than a snapshot takes: large; ignored and large: large.log; ignored and full: big; \
         a pipe, socket or device: pipe"
    );
    world.sh(
        "echo less >large; echo less >large.log; echo more >big/5; rm one; mkfifo one; mkdir d; mkfifo d/pipe
         echo built >new.log; head -c 2000 /dev/zero >two; rm small.log; echo x >added; git init --quiet nested",
    );
    let restored = snapshots.restore(&first, Git::Leave).unwrap();
    let left: Vec<_> =
        restored.files.left.iter().map(|left| format!("{} {}", left.path.display(), left.why)).collect();
    assert_eq!(
        left,
        [
            "nested holds what snapshots do not cover",
            "large is not covered by the snapshot, where it was larger than a snapshot takes",
            "d holds what snapshots do not cover",
            "two would be lost: what is there now is larger than a snapshot takes",
        ]
    );
    let stayed: Vec<_> = restored.files.stayed.iter().map(|path| path.display().to_string()).collect();
    assert_eq!(stayed, ["new.log", "d/pipe"]);
    assert_eq!(
        world.sh("cat large large.log small.log new.log one; ls big; ls added 2>/dev/null || true"),
        "less\nless\nx\nbuilt\none\n1\n2\n3\n4\n5\n"
    );
}

#[test]
fn the_files_that_lead_to_repositories_within_are_seen_and_come_back() {
    const SETUP: &str = "git init --quiet ../lib; git -C ../lib commit --quiet --allow-empty -m x
        git init --quiet -b work; git submodule --quiet add ../lib lib; git commit --quiet -m lib
        git worktree add --quiet trees/mine; echo x >trees/mine/x";
    for (destroy, expected) in [
        ("true", ""),
        ("rm lib/.git", "D lib/.git"),
        ("echo 'gitdir: /nowhere' >trees/mine/.git", "M trees/mine/.git"),
        ("ln -sfn ../.git lib/.git", "T lib/.git"),
        ("rm -rf trees", "D trees/mine/.git, D trees/mine/.gitmodules, D trees/mine/x"),
        ("mkdir new; echo 'gitdir: ../../lib/.git' >new/.git", "A new/.git"),
        ("rm lib/.git; mkfifo lib/.git", "? lib/.git"),
    ] {
        let world = World::new(SETUP);
        let state =
            "for it in lib trees/mine; do cat $it/.git; git -C $it rev-parse --git-dir HEAD; done; ls -A";
        let before = world.sh(state);
        let first = world.first();
        world.sh(destroy);
        assert_eq!(world.changes(&first), expected, "{destroy}");
        world.restore(&first);
        assert_eq!(world.sh(state), before, "{destroy}");
        // A copy must not lead its user to the repository of the original.
        let copy = world.folder().join("copy");
        world.snapshots().checkout(&first, &copy).unwrap();
        assert!(copy.join("trees/mine/x").exists() && !copy.join("trees/mine/.git").exists());
    }
    // A folder with its own history is not removed for it.
    let world = World::new(SETUP);
    let first = world.first();
    world.sh("rm lib/.git; git init --quiet lib");
    let left = world.snapshots().restore(&first, Git::Leave).unwrap().files.left;
    assert_eq!(left[0].why, "would be lost: what is there now is the repository of a folder");
}

#[test]
fn a_folder_is_never_wider_than_it_was() {
    for (setup, destroy) in [
        ("chmod 700 src", "rm -rf src"),
        ("chmod 700 . src; chmod 711 new", "rm -rf ../workspace; mkdir -m 777 ../workspace"),
        ("chmod 500 src", "chmod 700 src; rm src/*"),
        ("chmod 500 src; chmod 700 empty", "rm -rf src empty; mkdir -m 777 src empty"),
        ("chmod 700 .git; chmod 750 .git/refs", "rm -rf .git"),
        ("chmod g+s src; chmod 750 src", "chmod 777 src"),
        ("chmod 2775 src; chmod 1777 new", "chmod g-s src; chmod 700 src new"),
        ("chmod 2775 src; chmod 1777 empty", "rm -rf src empty; mkdir -m 777 src empty"),
        (
            "mkdir -p private/deep; echo x >private/deep/x; chmod 700 private",
            "mv private/deep .; rmdir private",
        ),
    ] {
        let world = World::new(DIRTY);
        world.sh(setup);
        let state =
            "find . .git .git/refs -maxdepth 2 -type d ! -path './.git/*' -exec stat -c '%n %a' {} + | sort";
        let (before, files) = (world.sh(state), world.listing());
        let first = world.first();
        world.sh(destroy);
        let restored = world.snapshots().restore(&first, Git::PutBack).unwrap();
        assert_eq!(restored.files.left, [], "{destroy}");
        assert_eq!(world.listing(), files, "{destroy}");
        assert_eq!(world.sh(state), before, "{destroy}");
    }
}

#[test]
fn set_id_bits_are_seen_and_restored_for_the_same_owner() {
    let world = World::new("echo a >a; echo b >b; chmod 755 a; chmod 6755 b; echo c >c; chmod 4755 c");
    let first = world.first();
    let before = world.listing();
    world.sh("chmod u+s a; chmod 755 b");
    assert_eq!(world.changes(&first), "P a, P b");
    world.restore(&first);
    assert_eq!(world.listing(), before);
    // The snapshot does not record the owner of the file.
    world.sh("rm c");
    let files = world.snapshots().restore(&first, Git::Leave).unwrap().files;
    assert_eq!((files.written, files.left.len()), (vec!["c".into()], 1));
    assert!(files.left[0].why.contains("without its set-user-id"), "{:?}", files.left);
    assert_eq!(world.listing()[Path::new("c")], "755 c\\n");
}

#[test]
fn entries_without_content_do_not_block_a_restore() {
    const SOCKET: &str = "python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])'";
    for plant in [
        "rm one; mkfifo one",
        "rm -r src; mkfifo src",
        "rm -r src; mkdir src; mkfifo src/a.rs src/b.rs",
        "rm one; SOCKET one",
        "rm -r new; SOCKET new",
        "rm .env link; mkfifo .env link",
        "rm one; mknod one c 1 3 || mkfifo one",
        "rm -r empty; mkfifo empty; rm -r src; ln -s one src",
    ] {
        let world = World::new(DIRTY);
        let before = world.listing();
        let first = world.first();
        world.sh(&plant.replace("SOCKET", SOCKET));
        let snapshots = world.snapshots();
        let now = snapshots.take(Some(&first)).unwrap();
        assert!(!snapshots.changes(&first, &now).unwrap().is_empty() || plant.contains("empty"), "{plant}");
        let mut text = Vec::new();
        snapshots.diff(&first, &now, &DiffOptions::default(), &mut text).unwrap();
        let restored = snapshots.restore(&first, Git::Leave).unwrap().files;
        assert_eq!((restored.left, restored.stayed), (vec![], vec![]), "{plant}");
        assert_eq!(world.listing(), before, "{plant}");
    }
}

#[test]
fn a_folder_that_cannot_be_emptied_stays_with_what_is_in_it() {
    let world = World::new(DIRTY);
    let first = world.first();
    world.sh("rm -r src; git init --quiet src; echo x >src/x");
    let restored = world.snapshots().restore(&first, Git::Leave).unwrap();
    assert_eq!(restored.files.left, []);
    assert_eq!(world.sh("ls -A src"), ".git\na.rs\nb.rs\n");
}

#[test]
fn a_checkout_goes_to_an_empty_folder_only() {
    let world = World::new(DIRTY);
    let (first, before) = (world.first(), world.listing());
    world.sh("rm -rf src one");
    let snapshots = world.snapshots();
    let to = |name: &str| world.folder().join(name);
    world.sh("mkdir ../there ../full; touch ../full/x ../file; ln -s full ../link");
    for name in ["absent/deep", "there"] {
        let applied = snapshots.checkout(&first, &to(name)).unwrap();
        assert_eq!(applied.left, []);
        assert_eq!(listing(&to(name)), before, "{name}");
    }
    for name in ["full", "file", "link", "workspace"] {
        let refused = snapshots.checkout(&first, &to(name)).unwrap_err();
        assert!(matches!(refused, SnapshotError::NotEmpty { .. }), "{name}: {refused}");
    }
}

/// An access list: for its owner, user 1234, its group, the most of these and others.
#[cfg(target_os = "linux")]
fn access_list(group: u8, mask: u8) -> Vec<u8> {
    let rows: [(u8, u8, u32); 5] =
        [(1, 6, u32::MAX), (2, 6, 1234), (4, group, u32::MAX), (16, mask, u32::MAX), (32, 0, u32::MAX)];
    let rows = rows
        .iter()
        .flat_map(|(tag, allowed, who)| [&[*tag, 0, *allowed, 0][..], &who.to_le_bytes()].concat());
    [2, 0, 0, 0].into_iter().chain(rows).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn access_lists_and_attributes_come_back_and_give_no_more_access_than_before() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    const LIST: &str = "system.posix_acl_access";
    let get = |path: &Path, name: &str| {
        let mut value = vec![0; 256];
        getxattr(path, name, &mut value[..]).map(|size| value[..size].to_vec()).ok()
    };
    for change in [
        "echo x >F",
        "rm F",
        "cp F t; rm F; mv t F; echo x >>F",
        "setfattr -x user.a F 2>/dev/null || rm F",
        "chmod 600 F; echo x >F",
        "rm -r d; mkdir d; chmod 777 d; echo x >d/f",
    ] {
        for name in ["f", "d/f"] {
            let world = World::new("echo secret >f; chmod 600 f; mkdir -m 700 d; cp -p f d/f");
            let (file, folder) = (world.workspace().join(name), world.workspace().join("d"));
            let set =
                |path: &Path, name: &str, value: &[u8]| setxattr(path, name, value, XattrFlags::empty());
            if set(&file, LIST, &access_list(0, 6)).is_err() || set(&file, "user.a", b"b").is_err() {
                println!("skipped: no attributes here");
                return;
            }
            set(&folder, LIST, &access_list(0, 7)).unwrap();
            let (first, before) = (world.first(), world.listing());
            world.sh(&change.replace('F', name));
            world.restore(&first);
            assert_eq!(world.listing(), before, "{change} {name}");
            assert_eq!(get(&file, LIST), Some(access_list(0, 6)), "{change} {name}");
            assert_eq!(get(&file, "user.a"), Some(b"b".to_vec()), "{change} {name}");
            assert_eq!(get(&folder, LIST), Some(access_list(0, 7)), "{change} {name}");
        }
    }
    // A list that is new, or that a folder hands down, goes.
    let world = World::new("echo x >f; chmod 640 f; mkdir d; echo y >d/g; chmod 640 d/g");
    let (first, before) = (world.first(), world.listing());
    let (file, inner) = (world.workspace().join("f"), world.workspace().join("d/g"));
    setxattr(&file, LIST, &access_list(4, 4), XattrFlags::empty()).unwrap();
    setxattr(
        world.workspace().join("d"),
        "system.posix_acl_default",
        &access_list(6, 6),
        XattrFlags::empty(),
    )
    .unwrap();
    world.sh("rm d/g; echo z >d/g");
    assert!(get(&inner, LIST).is_some(), "it is handed down");
    world.restore(&first);
    assert_eq!((get(&file, LIST), get(&inner, LIST), world.listing()), (None, None, before));
}
