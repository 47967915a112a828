//! Each command that changes something is killed before every call that writes, and then run again.

use crate::place::{Place, said};
use crate::sample;
use crate::tracer::{self, Calls, Fault, Plan};

/// How many calls of each command are tried on every change.
const SAMPLES: usize = 1;

/// A command that is killed.
struct Case {
    name: &'static str,
    /// A script that makes the workspace, with the program as `$U`.
    prepare: &'static str,
    words: &'static [&'static str],
    /// A script that repeats what a person does after the kill.
    again: &'static str,
    /// A script that succeeds if the command did its work.
    done: &'static str,
}

/// Resumes a run, or starts it if the kill came before its first event.
const GO_ON: &str = "$U resume >/dev/null 2>&1 || $U run flow.yaml >/dev/null";

/// Each run can be verified, or never started, and the run that was forked is what it was.
const NO_HALF_FORK: &str = "test -e first.2.out && $U export \"$(cat ../parent)\" | cmp -s - ../parent.jsonl && \
    for run in \"$XDG_STATE_HOME\"/unstuck/*/runs/*; do $U verify \"${run##*/}\" >/dev/null 2>../why || grep -q 'never started' ../why; done";

const CASES: [Case; 13] = [
    Case {
        name: "run",
        prepare: "",
        words: &["run", "flow.yaml"],
        again: GO_ON,
        done: "test -e first.2.out && $U verify >/dev/null",
    },
    Case {
        name: "resume",
        prepare: "! $U run flow.yaml --max-iterations 1 >/dev/null",
        words: &["resume", "--add-iterations", "3"],
        again: "test -e first.2.out && $U show | grep -q COMPLETE || $U resume --add-iterations 3 >/dev/null || $U resume >/dev/null",
        done: "test -e first.2.out && $U verify >/dev/null",
    },
    Case {
        name: "run of a subworkflow",
        prepare: "mv flow.yaml child.yaml; printf 'name: p\\nversion: \"1\"\\ntimeout: 2m\\nsteps: {kid: {workflow: child.yaml}}\\n' > flow.yaml",
        words: &["run", "flow.yaml"],
        again: GO_ON,
        done: "test -e first.2.out && for run in \"$XDG_STATE_HOME\"/unstuck/*/runs/*; do $U verify \"${run##*/}\" >/dev/null 2>../why || grep -q 'never started' ../why; done",
    },
    Case {
        name: "import",
        prepare: "$U run flow.yaml >/dev/null && $U export > ../run.jsonl && rm -rf \"$XDG_STATE_HOME\"/unstuck",
        words: &["import", "../run.jsonl"],
        again: "$U import ../run.jsonl >/dev/null || $U import ../run.jsonl 2>&1 | grep -q already",
        done: "$U verify >/dev/null && $U export | cmp -s - ../run.jsonl",
    },
    Case {
        name: "undo",
        prepare: "$U run flow.yaml >/dev/null",
        words: &["undo", "@last@first"],
        again: "$U undo @last@first >/dev/null",
        done: "! ls *.out 2>/dev/null && $U verify >/dev/null",
    },
    Case {
        name: "undo --git",
        prepare: "$REPOSITORY && git branch lost && printf 'two\\n' > kept && git add kept && git rev-parse lost > ../lost && \
                  printf 'git branch -qD lost; git rm -qf kept; echo x > first.1.out; echo x > first.2.out\\n' > ../worker.sh && \
                  $U run x --with 'sh ../worker.sh' --check true --baseline off --max-iterations 1 >/dev/null",
        words: &["undo", "@last@first", "--git"],
        again: "$U undo @last@first --git >/dev/null",
        done: "git rev-parse lost | cmp -s - ../lost && test \"$(git show :kept)\" = two && git fsck >/dev/null 2>&1",
    },
    Case {
        name: "fork",
        prepare: "! $U run flow.yaml --max-iterations 1 >/dev/null && $U export > ../parent.jsonl && \
                  basename \"$XDG_STATE_HOME\"/unstuck/*/runs/* > ../parent",
        words: &["fork", "--set", "steps.first.max_iterations=3"],
        again: "test -e first.2.out && $U show | grep -q COMPLETE || $U resume --accept-changes >/dev/null 2>&1 || \
                $U fork \"$(cat ../parent)\" --set steps.first.max_iterations=3 >/dev/null",
        done: NO_HALF_FORK,
    },
    Case {
        name: "gc",
        prepare: "$U run flow.yaml >/dev/null && $U run flow.yaml >/dev/null",
        words: &["gc", "--older-than", "0d", "--yes"],
        again: "$U gc --older-than 0d --yes >/dev/null",
        done: "! ls \"$XDG_STATE_HOME\"/unstuck/*/runs/* 2>/dev/null && ! $U show >/dev/null 2>&1",
    },
    Case {
        name: "init",
        prepare: "",
        words: &["init", "fix it", "--with", "sh a.sh", "--registry"],
        again: "$U init 'fix it' --with 'sh a.sh' --registry --force >/dev/null",
        done: "$U check unstuck.yaml >/dev/null",
    },
    Case {
        name: "answer",
        prepare: "printf 'test -e answered || { $U verdict blocked --reason \"log in first\"; exit; }; echo x > first.2.out; $U verdict complete\\n' > ../worker.sh && \
                  ! $U run x --trust-worker --with 'sh ../worker.sh' --max-iterations 3 >/dev/null && touch answered",
        words: &["answer", "@last", "logged in"],
        again: "test -e first.2.out && $U show | grep -q COMPLETE || $U answer @last 'logged in' >/dev/null || $U resume --accept-changes >/dev/null",
        done: "test -e first.2.out && $U verify >/dev/null",
    },
    Case {
        name: "run --worktree",
        prepare: "$REPOSITORY",
        words: &["run", "flow.yaml", "--worktree"],
        again: "$U resume >/dev/null 2>&1 || $U run flow.yaml --worktree >/dev/null",
        done: "git worktree list --porcelain | sed -n 's/^worktree //p' | while read -r at; do ls \"$at\"/first.2.out 2>/dev/null || :; done | grep -q .",
    },
    Case {
        name: "verify --rebuild-store",
        prepare: "$U run flow.yaml >/dev/null && printf garbage | dd of=\"$(ls -d \"$XDG_STATE_HOME\"/unstuck/*/runs/*)\"/store/db \
                  bs=1 seek=2000 conv=notrunc 2>/dev/null",
        words: &["verify", "@last", "--rebuild-store"],
        again: "$U verify @last --rebuild-store >/dev/null",
        done: "$U verify >/dev/null",
    },
    Case {
        name: "checkout",
        prepare: "$U run flow.yaml >/dev/null",
        words: &["checkout", "@last@last", "--to", "../copy"],
        again: "$U checkout @last@last --to ../copy >/dev/null 2>&1 || { rm -rf ../copy; $U checkout @last@last --to ../copy >/dev/null; }",
        done: "test -e ../copy/first.2.out",
    },
];

#[test]
fn a_command_that_is_killed_at_any_write_can_be_repeated() {
    if let Some(why) = tracer::unavailable() {
        println!("skipped: {why}");
        return;
    }
    let mut wrong = Vec::new();
    let mut tried = 0;
    for case in &CASES {
        let count = killed(case, 0).0;
        assert!(count > 3, "{}: only {count} calls", case.name);
        let places = sample::cases(case.name, count, SAMPLES);
        tried += places.len();
        println!("{}: {count} calls that write, {} tried", case.name, places.len());
        wrong.extend(places.into_iter().filter_map(|at| {
            let (_, result) = killed(case, at);
            result.err().map(|why| format!("{} killed at call {at}: {why}", case.name))
        }));
    }
    println!("{tried} kills");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Kills the command at a call, or nowhere at 0. Returns how many calls were counted, and what is wrong afterwards.
fn killed(case: &Case, at: usize) -> (usize, Result<(), String>) {
    let place = Place::new();
    place.script(case.prepare).unwrap_or_else(|why| panic!("{}: {why}", case.name));
    let plan = Plan { fault: Fault::Kill, calls: Calls::Writing, at };
    let traced = tracer::run(&place.command(case.words), place.path(), plan);
    let counted = traced.counted;
    let result = (|| {
        if traced.hung {
            return Err("it hangs".to_owned());
        }
        // Commands that only look must neither fail nor hang after the kill.
        for words in [&["runs"][..], &["doctor"], &["gc"]] {
            let (status, text) = said(&place.unstuck(words));
            if !matches!(status, Some(0 | 1 | 6 | 64)) || text.contains("panicked") {
                return Err(format!("{words:?} after {:?}: {status:?}: {text}", traced.hit));
            }
        }
        if traced.status.is_none() {
            place.script(case.again)?;
        } else if traced.status != Some(0) {
            return Err(format!("undisturbed it ends with {:?}: {}", traced.status, traced.err));
        }
        place.script(case.done).map(drop)
    })();
    (counted, result.map_err(|why| format!("{}: {why}", traced.hit.unwrap_or_default())))
}
