//! Changes that a snapshot sees, whatever the settings of the repository are.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use unstuck_files::own_stdout;
use unstuck_workspace::snapshot::{DiffOptions, Git, Limits, Snapshot, SnapshotOptions, Snapshots};

use crate::world::{DIRTY, World, left_out, shown};

const CLEAN: &str = "git init --quiet -b work; echo one >one; mkdir src; echo a >src/a.rs; ln -s one link
    echo '*.log' >.gitignore; git add -A; git commit --quiet -m init";

#[test]
fn the_recipes_of_the_original_change_these_files() {
    let table: Value = serde_json::from_str(include_str!("../fixtures/snapshot/scope.json")).unwrap();
    let cases = table["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 17);
    for case in cases {
        let world = World::new(table["setup"].as_str().unwrap());
        let workspace = world.workspace().join(case["workspace"].as_str().unwrap_or(""));
        let snapshots = Snapshots::open(&world.store(), &workspace, &SnapshotOptions::default()).unwrap();
        let first = snapshots.take(None).unwrap();
        world.sh(case["change"].as_str().unwrap());
        let now = snapshots.take(Some(&first)).unwrap();
        let changes = snapshots.changes(&first, &now).unwrap();
        let changed: Vec<_> = changes
            .iter()
            .filter(|change| !change.ignored)
            .map(|change| change.path.to_string_lossy().into_owned())
            .collect();
        assert_eq!(Value::from(changed), case["changed"], "{case}");
        let differs = case["changed"] != case["original"];
        assert_eq!(case["differs"].is_string(), differs, "{case}");
    }
}

#[test]
fn every_change_is_seen() {
    for (change, expected) in [
        ("true", ""),
        ("touch -d 2001-01-01 one; git add -A; git commit --quiet --allow-empty -m x", ""),
        ("echo x >>one", "M one"),
        ("echo x >>one; git commit --quiet -am x", "M one"),
        ("echo x >new; git add new", "A new"),
        ("git mv src/a.rs b.rs; git commit --quiet -m x", "A b.rs, D src/a.rs"),
        ("mv src other", "A other/a.rs, D src/a.rs"),
        ("git update-index --assume-unchanged one; echo x >>one", "M one"),
        ("git update-index --skip-worktree one; rm one", "D one"),
        ("echo hidden >.git/info/exclude; echo x >hidden", "A hidden"),
        ("echo hidden >.git/e; git config core.excludesFile .git/e; echo x >hidden", "A hidden"),
        ("chmod +x one", "P one"),
        ("chmod 600 one", "P one"),
        ("git config core.fileMode false; chmod +x one", "P one"),
        ("chmod +x one; echo x >>one", "M one"),
        ("ln -sfn src/a.rs link", "M link"),
        ("rm link; cp one link", "T link"),
        ("rm one; mkdir one; echo x >one/x", "D one, A one/x"),
        (
            "git init --quiet nested; echo x >nested/x; mkdir nested/d; echo y >nested/d/y",
            "A nested/d/y, A nested/x",
        ),
        ("mkdir -p src/.git; echo x >src/.git/config; echo x >>src/a.rs", "M src/a.rs"),
        (
            "mkdir .GIT; echo x >.GIT/x; echo x >git~1; ln -s one .gitmodules",
            "A .GIT/x, A .gitmodules, A git~1",
        ),
        ("mkdir empty", ""),
        ("printf x >$'a\\nb'; printf x >$'\\xff\\xfe'; printf x >' x '", "A  x , A a\\nb, A \\xff\\xfe"),
        ("printf x >'-rf'; printf x >':(top)'; printf x >'*'", "A *, A -rf, A :(top)"),
        ("echo x >a.log; echo '*' >>.gitignore; echo x >b", "M .gitignore, (A a.log), A b"),
        ("rm -rf .git; echo x >>one", "M one"),
        ("rm -rf .git; git init --quiet; echo x >>one", "M one"),
        ("cp -r src src2; rm -r src2", ""),
        ("cp -p one tmp; mv tmp one", ""),
        ("mkfifo pipe", ""),
        ("rm one; mkfifo one", "? one"),
    ] {
        let world = World::new(CLEAN);
        let first = world.first();
        world.sh(change);
        assert_eq!(sorted(&world.changes(&first)), sorted(expected), "{change}");
    }
}

/// Orders changes by the text of their paths.
fn sorted(expected: &str) -> String {
    let path = |change: &&str| change.trim_matches(['(', ')'])[2..].to_owned();
    let mut changes: Vec<&str> = expected.split(", ").filter(|change| !change.is_empty()).collect();
    changes.sort_by_key(path);
    changes.join(", ")
}

#[test]
fn same_size_edit_with_its_old_time_is_seen() {
    let world = World::new(CLEAN);
    // Only a file that was left alone for a moment is believed to be the same without being read.
    thread::sleep(Duration::from_millis(150));
    let first = world.first();
    world.sh("touch -r one .git/time; printf 'ONE\\n' >one; touch -r .git/time one");
    assert_eq!(world.changes(&first), "M one");
}

#[test]
fn a_file_that_changes_right_after_it_was_read_is_seen() {
    let world = World::new(CLEAN);
    let snapshots = world.snapshots();
    let mut last = snapshots.take(None).unwrap();
    for round in 0..50 {
        fs::write(world.workspace().join("one"), format!("{round:02}")).unwrap();
        let now = snapshots.take(Some(&last)).unwrap();
        assert_eq!(shown(&snapshots.changes(&last, &now).unwrap()), "M one", "round {round}");
        last = now;
    }
}

#[test]
fn changes_in_a_submodule_are_seen() {
    let world = World::new(CLEAN);
    world.sh("git init --quiet ../lib; (cd ../lib; echo l >l; git add -A; git commit --quiet -m l)
         git submodule --quiet add ../lib lib; git commit --quiet -m lib");
    let first = world.first();
    world.sh("echo x >>lib/l; echo x >lib/new; cd lib; git add -A; git commit --quiet -m x");
    assert_eq!(world.changes(&first), "M lib/l, A lib/new");
    world.restore(&first);
    assert_eq!(world.sh("cat lib/l; ls lib"), "l\nl\n");
}

/// Everything that a repository can make git run; each would leave a trace.
const TRAPS: &str = "
    for hook in pre-commit post-checkout post-index-change pre-auto-gc reference-transaction post-commit; do
        printf '#!/bin/sh\\ntouch %s/ran-hook\\n' \"$PWD/..\" >.git/hooks/$hook; chmod +x .git/hooks/$hook
    done
    printf '#!/bin/sh\\ntouch %s/ran-$1\\ncat\\n' \"$PWD/..\" >.git/trap; chmod +x .git/trap
    git config core.fsmonitor \"$PWD/.git/trap fsmonitor\"
    git config core.hooksPath \"$PWD/.git/hooks\"
    git config filter.trap.clean \"$PWD/.git/trap clean\"
    git config filter.trap.smudge \"$PWD/.git/trap smudge\"
    git config filter.trap.process \"$PWD/.git/trap process\"
    git config filter.trap.required true
    git config diff.trap.textconv \"$PWD/.git/trap textconv\"
    git config diff.trap.command \"$PWD/.git/trap command\"
    git config diff.external \"$PWD/.git/trap external\"
    git config core.pager \"$PWD/.git/trap pager\"
    git config core.autocrlf true
    printf '* filter=trap diff=trap text eol=crlf ident working-tree-encoding=UTF-16\\n' >.gitattributes
    cp .gitattributes .git/info/attributes
    mkdir -p sub; printf '* -text ident\\n' >sub/.gitattributes";

#[test]
fn nothing_that_a_repository_has_configured_runs_or_changes_a_byte() {
    let world = World::new(CLEAN);
    world.sh(TRAPS);
    let bytes = b"a\r\nb\n$Id$ $Id: 123 $\r\xff\xfe\0\x80\n";
    let file = world.workspace().join("sub/bytes");
    fs::write(&file, bytes).unwrap();
    let before = world.listing();
    let snapshots = world.snapshots();
    let first = snapshots.take(None).unwrap();
    world.sh("rm sub/bytes; printf 'x\\r\\n' >one");
    let now = snapshots.take(Some(&first)).unwrap();
    assert_eq!(shown(&snapshots.changes(&first, &now).unwrap()), "M one, D sub/bytes");
    snapshots.diff(&first, &now, &DiffOptions::default(), &mut Vec::new()).unwrap();
    snapshots.restore(&first, Git::Leave).unwrap();
    snapshots.checkout(&first, &world.folder().join("copy")).unwrap();
    assert_eq!(fs::read(&file).unwrap(), bytes);
    assert_eq!(world.listing(), before);
    assert_eq!(world.sh("ls .. | grep ran || true"), "");
}

#[test]
fn git_state_of_a_file_depends_on_its_content_and_runs_no_filter() {
    for (change, unstaged, unsaved) in [
        ("true", vec![], vec![]),
        // An index that is older than its files says nothing about them.
        ("touch -t 200101010000 .git/index", vec![], vec![]),
        ("touch -t 200101010000 one src/a.rs", vec![], vec![]),
        ("echo more >>one; touch -t 200101010000 one .git/index", vec!["one"], vec!["one"]),
        ("echo eno >one; touch -r two one; touch -t 200101010000 .git/index", vec!["one"], vec!["one"]),
        ("echo more >>one; git add one; touch -t 200101010000 one", vec![], vec!["one"]),
        ("rm one; ln -s two one", vec!["one"], vec!["one"]),
        ("chmod +x one; rm two", vec!["one", "two"], vec!["one", "two"]),
        ("git reset -q --soft HEAD~1; touch one", vec![], vec![]),
    ] {
        let world = World::new(CLEAN);
        let commit = world.sh("echo two >two; git add two; git commit -qm two; git rev-parse HEAD");
        world.sh(&format!(
            "{change}; printf '#!/bin/sh\ntouch %s/ran\ncat\n' \"$PWD/..\" >.git/trap; chmod +x .git/trap
             git config filter.trap.clean \"$PWD/.git/trap\"; git config core.fsmonitor \"$PWD/.git/trap\"
             echo '* filter=trap' >.git/info/attributes"
        ));
        let snapshots = world.snapshots();
        let set = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
        assert_eq!(snapshots.unstaged(), Some(set(&unstaged)), "{change}");
        assert_eq!(snapshots.unsaved(commit.trim()), Some(set(&unsaved)), "{change}");
        assert_eq!(world.sh("ls .. | grep ran || true"), "", "{change}");
    }
}

#[test]
fn the_difference_is_a_patch_for_git() {
    for (change, options, expected) in [
        ("echo x >>one", "", "M one"),
        (
            "rm -r src; chmod +x one; echo x >more; ln -sfn two link",
            "",
            "P one, D src/a.rs, D src/b.rs, A more, M link",
        ),
        ("rm link; echo file >link", "", "T link"),
        (
            "printf 'no line feed' >one; printf x >$'a\\nb\\xff'; printf x >'a b'",
            "",
            "M one, A a b, A a\\nb\\xff",
        ),
        ("git mv src lib", "", "D src/a.rs, D src/b.rs, A lib/a.rs, A lib/b.rs"),
        ("echo x >>one; echo x >>src/a.rs; echo x >srcs", "src", "M src/a.rs"),
    ] {
        let world = World::new(DIRTY);
        let snapshots = world.snapshots();
        let first = snapshots.take(None).unwrap();
        snapshots.checkout(&first, &world.folder().join("copy")).unwrap();
        world.sh(change);
        let now = snapshots.take(Some(&first)).unwrap();
        let paths = options.split_whitespace().map(Into::into).collect();
        let mut patch = Vec::new();
        snapshots.diff(&first, &now, &DiffOptions { paths, ..DiffOptions::default() }, &mut patch).unwrap();
        fs::write(world.folder().join("patch"), &patch).unwrap();
        world.sh("cd ../copy; git init --quiet; git apply ../patch; rm -rf .git");
        let copy = Snapshots::open(&world.store(), &world.folder().join("copy"), &SnapshotOptions::default())
            .unwrap();
        let patched = copy.take(Some(&first)).unwrap();
        let changes = shown(&snapshots.changes(&first, &patched).unwrap());
        assert_eq!(sorted(&changes), sorted(expected), "{change}\n{}", String::from_utf8_lossy(&patch));
    }
}

#[test]
fn files_that_are_no_text_are_said_to_differ() {
    let world = World::new("printf 'a\\0b' >binary; echo text >text");
    let snapshots = world.snapshots();
    let first = snapshots.take(None).unwrap();
    world.sh("printf 'a\\0c' >binary; echo other >text; chmod 600 text");
    let now = snapshots.take(Some(&first)).unwrap();
    let mut text = Vec::new();
    snapshots.diff(&first, &now, &DiffOptions::default(), &mut text).unwrap();
    expect_test::expect![[r#"
        diff --git a/binary b/binary
        Binary files a/binary and b/binary differ
        diff --git a/text b/text
        old mode 100644
        new mode 100600
        --- a/text
        +++ b/text
        @@ -1 +1 @@
        -text
        +other
    "#]]
    .assert_eq(&String::from_utf8(text).unwrap());
}

#[test]
fn own_output_is_left_out_of_all_later_snapshots() {
    const OURS: &str = "written by Unstuck itself: out";
    let all = [
        // Whether each process (of the first, second and third snapshot) prints into `out`, and the last action of the
        // worker.
        ([true, false, false], "true", ["", ""], OURS),
        ([false, true, false], "true", ["", ""], OURS),
        ([false, false, false], "true", ["M out", "M out"], ""),
        ([true, true, true], "rm out; mkdir out; echo x >out/x", ["", "? out/x"], ""),
        ([true, false, false], "echo x >new", ["", "A new"], OURS),
    ];
    for (prints, work, expected, left) in all {
        let world = World::new("echo 0 >out");
        let out = world.workspace().join("out");
        let mut taken: Vec<Snapshot> = Vec::new();
        let mut found = Vec::new();
        for prints in prints {
            own_stdout::hold(if prints { std::slice::from_ref(&out) } else { &[] });
            if taken.len() == 2 {
                world.sh(work);
            }
            let snapshots = world.snapshots();
            let now = snapshots.take_after(taken.first(), taken.last()).unwrap();
            found.extend(taken.first().map(|first| shown(&snapshots.changes(first, &now).unwrap())));
            taken.push(now);
            world.sh("[ -d out ] || echo 1 >>out");
        }
        assert_eq!(
            (&found[..], &*left_out(&taken[2])),
            (&expected.map(str::to_owned)[..], left),
            "{prints:?}, {work}"
        );
    }

    // A second name that comes later hides nothing.
    let world = World::new("echo 0 >out; echo a >a");
    own_stdout::hold(&[world.workspace().join("out")]);
    let snapshots = world.snapshots();
    let first = snapshots.take(None).unwrap();
    world.sh("ln out new; ln -f out a");
    let now = snapshots.take_after(Some(&first), Some(&first)).unwrap();
    assert_eq!(shown(&snapshots.changes(&first, &now).unwrap()), "M a, A new");
    own_stdout::hold::<PathBuf>(&[]);
}

#[test]
fn changes_of_excluded_paths_are_seen_in_their_metadata() {
    let limits = || Limits {
        file_bytes_max: 1000,
        bytes_max: 3000,
        ignored_file_bytes_max: 500,
        ignored_folder_files_max: 2,
        ..Limits::default()
    };
    for (change, expected) in [
        ("true", ""),
        ("echo x >>more; echo x >>.git/config; touch large2 sub/new masses/new", ""),
        ("truncate -s 3000 large", "large changed work"),
        ("truncate -s 10 large", "large changed work"),
        ("cp -p large copy; cat copy >large; touch -r copy large", "large perhaps changed work"),
        ("touch large", "large perhaps changed work"),
        ("cp -p large copy; mv copy large", "large changed work"),
        ("rm large; mkdir large", "large replaced work"),
        ("rm large big.log; rm -r masses", "big.log removed, large removed work, masses removed"),
        ("mv masses m; cp -r m masses", "masses replaced"),
        ("rm masses/1 masses/2", "masses emptied"),
        ("rm -r inner/.git", "inner/.git removed"),
        // It had nothing, and has nothing.
        ("rm -r inner/.git; git init -q --template= inner", ""),
        // There is room for what was too much: that is no change of it.
        ("rm a b", ""),
        ("rm pipe", ""),
    ] {
        let world = World::new(
            "git init -q --template=; git init -q --template= inner; printf 'masses/\n*.log\n' >.gitignore; mkdir masses sub; touch masses/1 masses/2 masses/3
             head -c 2000 /dev/zero >large; head -c 600 /dev/zero >big.log; mkfifo pipe
             for it in a b c d; do head -c 900 /dev/urandom >$it; done",
        );
        let snapshots = world.with_limits(limits());
        let first = snapshots.take(None).unwrap();
        assert!(left_out(&first).contains("beyond the size of a snapshot: d"), "{}", left_out(&first));
        world.sh(change);
        let now = snapshots.take(Some(&first)).unwrap();
        let lost = snapshots.changed_excluded(&first, &now).unwrap();
        let lost = lost.iter().map(|path| {
            format!("{} {}{}", path.path.display(), path.how, if path.is_work { " work" } else { "" })
        });
        assert_eq!(lost.collect::<Vec<_>>().join(", "), expected, "{change}");
        assert_eq!(snapshots.changed_excluded(&now, &now).unwrap(), []);
    }
}
