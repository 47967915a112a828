//! The store: what it survives, what it frees, and who may write.

use std::env;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use unstuck_workspace::snapshot::{Git, Limits, Snapshot, SnapshotError, SnapshotOptions, Snapshots};

use crate::world::{DIRTY, World, left_out, sh};

#[test]
fn a_snapshot_is_plain_data() {
    let world = World::new(DIRTY);
    world.sh("mkfifo pipe");
    let first = world.first();
    let mode = fs::metadata(world.store()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "nobody else may read what only the user may read");
    let text = serde_json::to_string(&first).unwrap();
    assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), first);
    assert!(text.len() < 1000, "{text}");
    assert_eq!((first.files, first.bytes), (9, 52), "{text}");
}

#[test]
fn the_same_files_have_the_same_name_wherever_they_are() {
    let worlds = [
        World::new("echo x >x; chmod +x x; mkdir a; ln -s x a/l"),
        World::new("mkdir a; ln -s x a/l; echo x >x; chmod +x x"),
    ];
    let [one, other] = worlds.map(|world| world.first().id);
    assert_eq!(one, other);
}

#[test]
fn any_git_can_look_into_the_store_and_clean_it_up() {
    let world = World::new(DIRTY);
    world.sh("mkdir .GIT; echo x >.GIT/x");
    let snapshots = world.snapshots();
    let (first, before) = (snapshots.take(None).unwrap(), world.listing());
    snapshots.keep("run/1", &first).unwrap();
    let git = |arguments: &str| world.sh(&format!("git --git-dir=../state/snapshots.git {arguments}"));
    assert_eq!(git("rev-parse refs/unstuck/run/1"), format!("{}\n", first.id));
    assert_eq!(git("cat-file -p refs/unstuck/run/1:work/src/a.rs"), "a\n");
    assert_eq!(git("cat-file -p refs/unstuck/run/1:ignored/.env"), "SECRET=1\n");
    assert_eq!(git("cat-file -p refs/unstuck/run/1:repository/HEAD"), "ref: refs/heads/work\n");
    assert!(!git("ls-tree --name-only refs/unstuck/run/1:repository").contains("objects"));
    for pack in fs::read_dir(world.store().join("objects/pack")).unwrap().flatten() {
        if pack.path().extension().is_some_and(|extension| extension == "idx") {
            git(&format!("verify-pack {}", pack.path().display()));
        }
    }
    git("gc --quiet --prune=now; git --git-dir=../state/snapshots.git repack -adq");
    world.sh("rm -rf src one .env");
    world.restore(&first);
    assert_eq!(world.listing(), before);
}

#[test]
fn cleaning_up_the_repository_of_the_user_takes_nothing_away() {
    let world = World::new(DIRTY);
    let (first, before) = (world.first(), world.listing());
    world.sh(
        "git stash --quiet --all; git stash drop --quiet; git reset -q --hard HEAD~2; git branch -qD other",
    );
    world.sh("git reflog expire --expire=now --all; git gc --quiet --prune=now --aggressive");
    world.restore(&first);
    assert_eq!(world.listing(), before);
}

#[test]
fn forgotten_snapshots_are_freed_and_others_stay() {
    let world = World::new("echo one >one; head -c 100000 /dev/urandom >noise");
    let snapshots = world.snapshots();
    let first = snapshots.take(None).unwrap();
    snapshots.keep("a/1", &first).unwrap();
    let size = || -> u64 {
        let packs = fs::read_dir(world.store().join("objects/pack")).unwrap().flatten();
        packs.map(|pack| pack.metadata().unwrap().len()).sum()
    };
    for round in 2..6 {
        world.sh("head -c 100000 /dev/urandom >noise");
        let next = snapshots.take(Some(&first)).unwrap();
        snapshots.keep(&format!("a{}/{round}", if round > 3 { "b" } else { "" }), &next).unwrap();
    }
    assert!(size() > 500_000);
    // The snapshots of another process do not know that packs were merged.
    let other = world.snapshots();
    assert_eq!(Snapshots::forget(&world.store(), "a").unwrap(), 3);
    assert!((200_000..300_000).contains(&size()), "{}", size());
    assert!(matches!(snapshots.keep("c", &first), Err(SnapshotError::Missing { .. })));
    world.sh("rm noise; echo x >>one");
    let now = other.take(None).unwrap();
    assert_eq!(Snapshots::forget(&world.store(), "ab/4").unwrap(), 1);
    assert_eq!(Snapshots::forget(&world.store(), "nothing/like/it").unwrap(), 0);
    assert_eq!(Snapshots::forget(&world.store(), "ab").unwrap(), 1);
    assert!(size() < 10_000);
    // The last snapshot stays, although it was not kept.
    world.sh("rm one");
    world.restore(&now);
    assert_eq!(world.sh("cat one"), "one\nx\n");
}

#[test]
fn many_snapshots_do_not_make_many_packs() {
    let world = World::new("echo 0 >one");
    let snapshots = world.snapshots();
    let mut taken = Vec::new();
    for round in 0..100 {
        fs::write(world.workspace().join("one"), format!("round {round}")).unwrap();
        taken.push(snapshots.take(None).unwrap());
    }
    let packs = fs::read_dir(world.store().join("objects/pack")).unwrap().flatten();
    assert!(
        packs.filter(|pack| pack.path().extension().is_some_and(|extension| extension == "pack")).count()
            <= 33
    );
    for (round, snapshot) in taken.iter().enumerate().step_by(7) {
        snapshots.restore(snapshot, Git::Leave).unwrap();
        assert_eq!(fs::read_to_string(world.workspace().join("one")).unwrap(), format!("round {round}"));
    }
}

#[test]
fn remains_of_a_dead_process_are_harmless() {
    for damage in [
        "touch workspace/.git/index.lock",
        "printf torn >state/snapshots.git/unstuck/*/index",
        "rm -rf state/snapshots.git/unstuck",
        "head -c 100 state/snapshots.git/unstuck/*/index >i; mv i $(ls state/snapshots.git/unstuck/*/index)",
        "for own in state/snapshots.git/unstuck/*; do printf torn >$own/tmp_index; done",
        "printf torn >state/snapshots.git/objects/pack/tmp_1",
        "cd state/snapshots.git/objects/pack; printf torn >pack-00.pack; touch pack-00.keep",
        "mkdir -p state/snapshots.git/refs/unstuck; printf torn >state/snapshots.git/refs/unstuck/tmp_1",
        "touch state/snapshots.git/unstuck.lock state/snapshots.git/index.lock",
        "rm state/snapshots.git/config",
    ] {
        let world = World::new(DIRTY);
        let first = world.first();
        world.snapshots().keep("run/1", &first).unwrap();
        world.sh("echo x >>one");
        sh(world.folder(), damage);
        assert_eq!(world.changes(&first), "M one", "{damage}");
        assert_eq!(Snapshots::forget(&world.store(), "run").unwrap(), 1, "{damage}");
        let packs = world.store().join("objects/pack");
        let names = fs::read_dir(packs).unwrap().flatten().map(|entry| entry.file_name());
        assert!(names.filter(|name| name.to_string_lossy().contains("tmp_")).count() == 0);
    }
}

#[test]
fn a_process_that_is_killed_leaves_snapshots_that_can_be_used() {
    let world = World::new(DIRTY);
    let first = world.first();
    world.snapshots().keep("first", &first).unwrap();
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "stored::takes_until_it_is_killed", "--ignored", "--nocapture"]);
    child.env("SNAPSHOT_FOLDER", world.folder()).stdout(Stdio::piped());
    for round in 0..12 {
        let mut child = child.spawn().unwrap();
        let mut begun = [0];
        // Killed at another place each time: so many snapshots after the first sign of life.
        for _ in 0..=round {
            child.stdout.as_mut().unwrap().read_exact(&mut begun).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let snapshots = world.snapshots();
        let now = snapshots.take(Some(&first)).unwrap();
        let changes = snapshots.changes(&first, &now).unwrap();
        assert!(changes.iter().all(|change| change.path.starts_with("made")), "{changes:?}");
        Snapshots::forget(&world.store(), "loop").unwrap();
    }
    world.restore(&first);
    assert_eq!(world.changes(&first), "");
}

/// Takes, keeps and forgets snapshots of a workspace that changes all the time.
#[test]
#[ignore = "run by another test"]
fn takes_until_it_is_killed() {
    let Some(folder) = env::var_os("SNAPSHOT_FOLDER").map(PathBuf::from) else { return };
    let store = folder.join("state/snapshots.git");
    let snapshots = Snapshots::open(&store, &folder.join("workspace"), &SnapshotOptions::default()).unwrap();
    fs::create_dir_all(folder.join("workspace/made")).unwrap();
    for round in 0.. {
        fs::write(folder.join(format!("workspace/made/{}", round % 50)), format!("{round}")).unwrap();
        let taken = snapshots.take(None).unwrap();
        snapshots.keep(&format!("loop/{round}"), &taken).unwrap();
        if round % 5 == 4 {
            Snapshots::forget(&store, "loop").unwrap();
        }
        print!(".");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn objects_on_another_file_system_are_copied_up_to_a_bound() {
    let other = Path::new("/dev/shm");
    let world = World::new(DIRTY);
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    if device(other).is_none_or(|number| Some(number) == device(world.folder())) {
        return;
    }
    let store = tempfile::tempdir_in(other).unwrap();
    for (history_bytes_max, notes) in [(50, 1), (1_000_000, 0)] {
        let limits = Limits { history_bytes_max, ..Limits::default() };
        let options = SnapshotOptions { limits, ..SnapshotOptions::default() };
        let snapshots = Snapshots::open(store.path(), &world.workspace(), &options).unwrap();
        let first = snapshots.take(None).unwrap();
        assert_eq!(first.notes.len(), notes, "{:?}", first.notes);
    }
    let snapshots = Snapshots::open(store.path(), &world.workspace(), &SnapshotOptions::default()).unwrap();
    let first = snapshots.take(None).unwrap();
    let before = world.sh("git log --format=%H; git status --porcelain");
    world.sh("rm -rf .git");
    assert_eq!(snapshots.restore(&first, Git::PutBack).unwrap().repository, ["is back"]);
    assert_eq!(world.sh("git fsck >&2; git log --format=%H; git status --porcelain"), before);
}

#[test]
fn damage_is_found_and_located() {
    let world = World::new("echo one >one; head -c 3000 /dev/urandom >noise");
    let first = world.first();
    let packs =
        || fs::read_dir(world.store().join("objects/pack")).unwrap().flatten().map(|entry| entry.path());
    let with = |end: &str| -> PathBuf {
        packs().find(|path| path.extension().is_some_and(|extension| extension == end)).unwrap()
    };
    let (pack, index) = (with("pack"), with("idx"));
    let whole = [fs::read(&pack).unwrap(), fs::read(&index).unwrap()];
    let options = SnapshotOptions::default();
    let open = || Snapshots::open(&world.store(), &world.workspace(), &options);
    world.sh("rm one noise");
    for at in (0..whole[0].len() - 32).step_by(37) {
        fs::set_permissions(&pack, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&pack).unwrap();
        file.write_all_at(&[whole[0][at] ^ 0x10], at as u64).unwrap();
        let restored =
            open().and_then(|snapshots| snapshots.checkout(&first, &world.folder().join(format!("to-{at}"))));
        match restored {
            Err(SnapshotError::Damaged { path, .. }) => assert_eq!(path, pack),
            // Some objects are needed for a restore only, and not for a checkout.
            Ok(applied) => assert_eq!((applied.written.len(), applied.left.len()), (2, 0), "byte {at}"),
            Err(error) => panic!("byte {at}: {error:?}"),
        }
        file.write_all_at(&whole[0][at..=at], at as u64).unwrap();
    }
    for at in (0..whole[1].len()).step_by(97) {
        let mut damaged = whole[1].clone();
        damaged[at] ^= 1;
        fs::write(&index, damaged).unwrap();
        let error = open().unwrap_err();
        assert!(
            matches!(&error, SnapshotError::Damaged { path, .. } if *path == pack),
            "byte {at}: {error:?}"
        );
        assert!(error.hint().unwrap().contains("move"));
    }
    fs::write(&index, &whole[1]).unwrap();
    world.restore(&first);
}

#[test]
fn a_folder_that_holds_something_else_is_refused() {
    let world = World::new("git init --quiet --bare ../state/snapshots.git");
    let error = Snapshots::open(&world.store(), &world.workspace(), &SnapshotOptions::default()).unwrap_err();
    assert!(matches!(error, SnapshotError::Foreign { .. }), "{error}");
    let error =
        Snapshots::open(&world.folder().join("s"), &world.folder().join("no"), &SnapshotOptions::default())
            .unwrap_err();
    assert!(error.to_string().starts_with("cannot open the workspace "), "{error}");
}

#[test]
fn several_workspaces_share_a_store_and_take_turns() {
    let worlds: Vec<World> = (0..4).map(|_| World::new(DIRTY)).collect();
    let store = worlds[0].store();
    thread::scope(|scope| {
        for (number, world) in worlds.iter().enumerate() {
            let store = &store;
            scope.spawn(move || {
                let snapshots =
                    Snapshots::open(store, &world.workspace(), &SnapshotOptions::default()).unwrap();
                let before = world.listing();
                let first = snapshots.take(None).unwrap();
                snapshots.keep(&format!("first-{number}"), &first).unwrap();
                for round in 0..10 {
                    fs::write(world.workspace().join("one"), format!("{number} {round}")).unwrap();
                    let next = snapshots.take(Some(&first)).unwrap();
                    snapshots.keep(&format!("run-{number}/{round}"), &next).unwrap();
                    assert_eq!(snapshots.changes(&first, &next).unwrap().len(), 1);
                    if round % 3 == 2 {
                        assert_eq!(Snapshots::forget(store, &format!("run-{number}")).unwrap(), 3);
                    }
                }
                snapshots.restore(&first, Git::Leave).unwrap();
                assert_eq!(world.listing(), before);
            });
        }
    });
}

#[test]
fn limits_leave_out_what_is_beyond_and_say_so() {
    let make = "for i in 1 2 3 4 5; do head -c 100 /dev/zero >f$i; done";
    let limits = Limits::default();
    for (limits, expected, files) in [
        (Limits { file_bytes_max: 99, ..limits.clone() }, "larger than a snapshot takes: f1 f2 f3 f4 f5", 0),
        (Limits { bytes_max: 250, ..limits.clone() }, "beyond the size of a snapshot: f3 f4 f5", 2),
        (Limits { files_max: 3, ..limits.clone() }, "beyond the number of files of a snapshot: ", 3),
    ] {
        let world = World::new(make);
        let snapshots = world.with_limits(limits.clone());
        let first = snapshots.take(None).unwrap();
        assert_eq!((left_out(&first).as_str(), first.files), (expected, files), "{limits:?}");
        // Nothing is deleted that may have been there.
        world.sh("echo x >f9");
        snapshots.restore(&first, Git::Leave).unwrap();
        assert_eq!(world.sh("ls f9 2>/dev/null || true") == "f9\n", limits.files_max == 3);
    }
}

#[test]
fn large_files_are_kept_piece_by_piece() {
    let world =
        World::new("head -c 3000000 /dev/urandom >large; cp large copy; head -c 5000000 /dev/zero >empty");
    let (first, before) = (world.first(), world.listing());
    world.sh("printf changed. | dd of=large bs=1 seek=2000000 conv=notrunc status=none; rm copy empty");
    assert_eq!(world.changes(&first), "D copy, D empty, M large");
    world.restore(&first);
    assert_eq!(world.listing(), before);
    let size = fs::read_dir(world.store().join("objects/pack")).unwrap().flatten();
    assert!(
        size.map(|pack| pack.metadata().unwrap().len()).sum::<u64>() < 7_000_000,
        "the copy is kept once"
    );
}
