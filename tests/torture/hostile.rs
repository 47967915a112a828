//! Hostile workers and repositories: workers that do not end, planted programs, odd repositories, and endless files.
//!
//! A run still ends and reports how, runs only its worker and its checks, and leaves no process.

use std::fs;

use crate::place::{self, Place};

/// Workers of one iteration, and how a run with each of them ends.
const WORKERS: [(&str, &str, i32); 6] = [
    // The shell starts the processes that it needs before the bomb: bash retries a failing fork for 15 s and then
    // exits with 254.
    (
        "a bomb",
        "ulimit -u 100; bomb() { bomb | bomb & }; sleep 0.3 & nap=$!; bomb 2>/dev/null & wait $nap; exit 0",
        0,
    ),
    ("a daemon", "setsid sh -c 'sleep 600 & sleep 600' </dev/null >/dev/null 2>&1 & exit 0", 0),
    ("a crowd", "for each in $(seq 300); do sleep 600 & done; exit 0", 0),
    ("one that ignores SIGTERM", "trap '' TERM INT HUP; while :; do sleep 600; done", 5),
    ("one that closes its outputs", "exec >&- 2>&-; : > first.1.out", 0),
    ("one that never reads", "exit 0", 0),
];

#[test]
fn run_with_hostile_worker_ends_and_leaves_no_process() {
    for (what, script, status) in WORKERS {
        let place = Place::new();
        fs::write(place.work().join("worker.sh"), script).expect("the workspace is ours");
        // A pipe holds 64 KiB.
        let prompt = "All work and no play. ".repeat(10_000);
        // A worker that ends on its own gets enough time, even on a busy machine.
        let limit = if status == 0 { "2m" } else { "3s" };
        place.write_flow(&format!(
            "worker: COMMAND\n    command: bash worker.sh\n    instructions: {prompt}\n    timeout: {limit}\n    capabilities: [EDIT]"
        ));
        // Root has no process limit.
        let command = place.command_of_nobody_else("exec \"$0\" \"$@\"", &["run", "flow.yaml"]);
        let Some(command) = command else { return };
        let ended = place::output(command);
        assert_eq!(ended.status.code(), Some(status), "{what}: {ended:?}");
        assert_eq!(place.processes_left(), 0, "{what}");
    }
}

/// All programs that a repository can make git run. Each would create the file `ran` next to the workspace.
const PLANTED: &str = r#"
printf '#!/bin/sh\necho "$0" >> "%s/../ran"; cat\n' "$PWD" > ../planted; chmod +x ../planted
planted=$(cd .. && pwd)/planted
for hook in pre-commit post-commit post-checkout post-index-change post-rewrite reference-transaction pre-auto-gc; do
  cp ../planted .git/hooks/$hook
done
for key in core.fsmonitor core.sshCommand core.pager core.editor core.askPass diff.external filter.planted.clean \
  filter.planted.smudge filter.planted.process diff.planted.textconv diff.planted.command merge.planted.driver \
  gpg.program gpg.ssh.program credential.helper core.gitProxy core.alternateRefsCommand uploadpack.packObjectsHook \
  remote.origin.uploadpack remote.origin.receivepack remote.origin.proxy submodule.sub.update trailer.x.command \
  sequence.editor difftool.x.cmd mergetool.x.cmd alias.status core.unknownCommand interactive.diffFilter; do
  git config $key "$planted"
done
git config log.showSignature true
# Git fetches an object that is missing of a partial clone by a program that the repository names.
git config core.repositoryFormatVersion 1; git config extensions.partialClone origin
git config remote.origin.promisor true; git config remote.origin.url "$PWD/nothing"
echo 1234567890123456789012345678901234567890 > .git/refs/heads/lost
mkdir -p .git/refs/heads/unstuck; cp .git/refs/heads/lost .git/refs/heads/unstuck/aaaaaaaaaaaa
git config filter.planted.required true
printf '* filter=planted diff=planted merge=planted\n' > .gitattributes
cp .gitattributes .git/info/attributes
"#;

#[test]
fn nothing_that_a_repository_names_is_run() {
    let place = Place::new();
    sh(
        &place,
        "git init -q . && git checkout -q -b work && echo one > kept && git add . && git commit -qm one",
    );
    place.write_flow(
        "worker: CUSTOM\n    instructions: echo two > kept; echo new > first.1.out\n    capabilities: [EDIT]",
    );
    sh(&place, PLANTED);
    sh(&place, "touch kept");
    let copy = place.path().join("copy").display().to_string();
    fs::write(place.work().join("clean.yaml"), CLEAN).expect("the workspace is ours");
    for command in [
        &["run", "clean.yaml"][..],
        &["run", "flow.yaml", "--base-branch", "lost"],
        &["run", "flow.yaml"],
        &["show"],
        &["diff"],
        &["checkout", "@last@last", "--to", &copy],
        &["report", "--md"],
        &["undo", "@last", "1"],
        &["undo", "--git", "@last@first"],
        &["verify"],
        &["doctor"],
        &["gc", "--older-than", "0d"],
    ] {
        let ended = place.unstuck(command);
        assert!(matches!(ended.status.code(), Some(0 | 1 | 2 | 64)), "{command:?}: {ended:?}");
        let ran = fs::read_to_string(place.path().join("ran")).unwrap_or_default();
        assert_eq!(ran, "", "{command:?}");
    }
    assert_eq!(fs::read_to_string(place.work().join("kept")).expect("it is there"), "one\n");
    // A plain call of git does run the planted programs.
    sh(&place, "git -c core.pager=cat diff >/dev/null 2>&1 || git status >/dev/null 2>&1 || :");
    assert!(place.path().join("ran").exists(), "nothing was planted");
}

/// A check that asks git for changes.
const CLEAN: &str = r#"
name: clean
version: "1"
timeout: 1m
steps:
  work:
    worker: CUSTOM
    instructions: "touch kept"
    capabilities: [EDIT]
    completion_conditions: [git-clean]
    max_iterations: 2
    on_iterations_exhausted: continue
"#;

/// How the workspace of a run may stand.
const REPOSITORIES: [(&str, &str); 7] = [
    ("no repository", ":"),
    ("one without a commit", "git init -q . && git checkout -q -b work"),
    ("a detached HEAD", "$COMMITTED && git checkout -q --detach"),
    ("a shallow one", "$COMMITTED && git commit -q --allow-empty -m two && $SHALLOW"),
    ("a worktree", "$COMMITTED && $WORKTREE"),
    ("a merge in progress", "$COMMITTED && $MERGE"),
    ("staged and unstaged work", "$COMMITTED && echo two > kept && git add kept && echo three > kept"),
];

#[test]
fn a_run_works_and_is_taken_back_in_every_kind_of_repository() {
    let steps = [
        (
            "$COMMITTED",
            "git init -q . && git checkout -q -b work && echo one > kept && git add . && git commit -qm one",
        ),
        ("$SHALLOW", "git clone -q --depth 1 file://$PWD ../shallow && rm -rf .git && mv ../shallow/.git ."),
        (
            "$WORKTREE",
            "mv .git ../main.git && git --git-dir=../main.git --work-tree=. config core.bare true \
            && git --git-dir=../main.git worktree add -q -b other ../tree && mv ../tree/.git . && echo gitdir: $PWD/.git > ../main.git/worktrees/tree/gitdir",
        ),
        (
            "$MERGE",
            "git checkout -q -b other && echo two > kept && git commit -qam two && git checkout -q work \
            && echo three > kept && git commit -qam three && ! git merge -q other >/dev/null",
        ),
    ];
    for (what, script) in REPOSITORIES {
        let place = Place::new();
        let script = steps.iter().fold(script.to_owned(), |script, (name, step)| script.replace(name, step));
        sh(&place, &script);
        let standing = |place: &Place| {
            sh(
                place,
                "set +e; git status --porcelain=v2 --branch | grep -v first; git rev-parse HEAD MERGE_HEAD; cat kept; true",
            )
        };
        let before = standing(&place);
        let base: &[&str] = if what == "a detached HEAD" { &["--base-branch", "work"] } else { &[] };
        let ended = place.unstuck(&[&["run", "flow.yaml"], base].concat());
        assert_eq!(ended.status.code(), Some(0), "{what}: {ended:?}");
        place.check(&place.end().expect("it has ended")).unwrap_or_else(|why| panic!("{what}: {why}"));
        let undone = place.unstuck(&["undo", "@last@first"]);
        assert_eq!(undone.status.code(), Some(0), "{what}: {undone:?}");
        assert!(!place.work().join("first.1.out").exists(), "{what}: {undone:?}");
        assert_eq!(standing(&place), before, "{what}");
    }
}

#[test]
fn a_repository_without_files_to_work_on_is_refused_with_what_to_do() {
    let place = Place::new();
    sh(&place, "git init -q --bare .");
    let (status, text) = place::said(&place.unstuck(&["run", "flow.yaml"]));
    assert_eq!(status, Some(64), "{text}");
    assert!(text.contains("is a bare repository") && text.contains("\n  next: "), "{text}");
}

#[test]
fn files_that_are_made_to_be_read_for_ever_are_refused_at_once() {
    const DEEP: usize = 200_000;
    let place = Place::new();
    let deep = format!("{{\"decision\": {}\"complete\"", "[".repeat(DEEP));
    let closed = format!("{}1{}", "[".repeat(DEEP), "]".repeat(DEEP));
    let levels = (1..30)
        .map(|level| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(",")));
    let bomb = format!("a0: &a0 [x,x,x]\n{}", levels.collect::<String>());
    for (name, text) in [
        ("bomb.yaml", &bomb),
        ("deep.yaml", &closed),
        ("deep.json", &closed),
        ("steps_registry.json", &format!("{{\"steps\": {closed}}}")),
        ("answer", &deep),
    ] {
        fs::write(place.work().join(name), text).expect("the workspace is ours");
    }
    for (command, status) in [
        (&["check", "bomb.yaml"][..], 64),
        (&["run", "bomb.yaml"], 64),
        (&["check", "deep.yaml"], 64),
        (&["import", "deep.json"], 64),
        (&["import", "steps_registry.json"], 64),
        (&["probe", "schema", "deep.json#x"], 64),
        // A verdict in the decision file, and in the answer.
        (
            &[
                "run",
                "x",
                "--trust-worker",
                "--max-iterations",
                "1",
                "--with",
                "cat answer > \"$UNSTUCK_DECISION_FILE\"",
            ],
            2,
        ),
        (&["run", "x", "--trust-worker", "--max-iterations", "1", "--with", "cat answer"], 2),
    ] {
        let ended = place.unstuck(command);
        assert_eq!(ended.status.code(), Some(status), "{command:?}: {:?}", place::said(&ended));
    }
}

/// Runs a script in the workspace, as a user of no configuration, and returns what it prints.
pub fn sh(place: &Place, script: &str) -> String {
    place.script(script).unwrap_or_else(|why| panic!("{why}"))
}
