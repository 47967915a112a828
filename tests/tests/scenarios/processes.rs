//! Workspaces and processes of workers, attacks on the supervisor, and leftovers: S16, S32, S46 to S54, S57.

use nix::sys::signal::Signal;

use crate::stage::{Ended, Stage, tell, wait_until, worker};

/// Runs one step whose worker is this script, with more keys of the step.
fn run_script(stage: &Stage, script: &str, keys: &str) -> Ended {
    std::fs::write(stage.scratch("worker.sh"), script).expect("the scratch folder is ours");
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    stage.workflow("", &format!("worker: COMMAND\ncommand: {command}\ninstructions: Work.\n{keys}"));
    stage.unstuck(&["run", "flow.yaml"])
}

#[test]
fn s51_a_second_supervisor_in_the_same_workspace_is_refused_and_a_dead_one_is_not_in_the_way() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1").with_variable("DONE_AT", "2");
    let command = worker("count.sh");
    let arguments = ["run", "count", "--trust-worker", "--with", &command, "--max-iterations", "3"];
    let first = stage.start(&arguments);
    wait_until("the first works", || stage.calls() == 1);

    let second = stage.unstuck(&arguments).with_status(64).complains("another run works in");
    assert!(second.err.contains("process ") && second.err.contains("unstuck stop"), "{second:?}");
    stage
        .unstuck(&["resume"])
        .with_status(64)
        .complains("is being worked on by process")
        .complains("unstuck events");
    assert_eq!(stage.calls(), 1);

    wait_until("its grandchild is there", || stage.calls() >= 1 && stage.processes().len() >= 4);
    first.crash();
    stage.unstuck(&arguments).with_status(0);
    assert_eq!(stage.processes().len(), 0, "what the dead one left must not write beside the new one");
}

#[test]
fn s51_of_two_that_start_at_the_same_moment_one_works() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1").with_variable("DONE_AT", "1");
    let command = worker("count.sh");
    let arguments = ["run", "count", "--trust-worker", "--with", &command, "--max-iterations", "1"];
    let both = [stage.start(&arguments), stage.start(&arguments)];
    wait_until("one works and the other was refused", || {
        stage.calls() == 1
            && both.iter().any(|live| live.complained_so_far().contains("another run works in"))
    });
    tell(&stage.scratch("go"));
    let mut statuses = both.map(|live| live.wait().status);
    statuses.sort_unstable();
    assert_eq!(statuses, [Some(0), Some(64)]);
    assert_eq!(stage.calls(), 1);
}

#[test]
fn s51_two_runs_in_one_repository_work_in_parallel_worktrees() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1").with_variable("DONE_AT", "2");
    stage.write("notes.txt", "of a person, in no commit\n");
    let command = worker("count.sh");
    let arguments =
        ["run", "count", "--trust-worker", "--with", &command, "--max-iterations", "3", "--worktree"];
    let first = stage.start(&arguments);
    wait_until("the first works", || stage.calls() == 1);
    let second = stage.unstuck(&arguments).with_status(0);
    assert!(second.out.contains("without  1 file") && second.out.contains("1 other worktree"), "{second:?}");
    tell(&stage.scratch("go"));
    let first = first.wait().with_status(0);
    let said = first.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("where its work is, on branch unstuck/") && said.contains("next: cd "),
        "{first:?}"
    );

    let branches = stage.git(&["branch", "--list", "unstuck/*"]);
    assert_eq!(branches.lines().count(), 2, "{branches}");
    assert_eq!(stage.git(&["status", "--porcelain"]), "?? notes.txt\n", "nothing happened here");
    assert_eq!(std::fs::read_to_string(stage.workspace().join("notes.txt")).unwrap().lines().count(), 1);
    let left = stage.unstuck(&["doctor", "--json"]).out;
    assert_eq!(left.matches("is left of run").count(), 2, "{left}");
    assert!(left.contains("with 1 changed file in no commit"), "{left}");
    stage.leaves_nothing_running();
    stage.verify();
}

#[test]
fn a_worktree_goes_with_its_run_unless_something_in_it_is_in_no_commit() {
    let stage = Stage::repository().with_variable("DONE_AT", "1");
    let noted = worker("count.sh");
    let changes = ["run", "count", "--trust-worker", "--with", &noted, "--worktree"];
    let commits =
        ["run", "commit", "--with", "git commit -qm done --allow-empty", "--check", "true", "--worktree"];
    stage.unstuck(&changes).with_status(0);
    stage.unstuck(&commits).with_status(0);
    let ended = stage.unstuck(&["gc", "--older-than", "0d", "--yes"]).with_status(0);
    assert!(ended.err.contains("stays") && ended.err.contains("modified or untracked files"), "{ended:?}");
    let worktrees = stage.git(&["worktree", "list"]);
    assert_eq!(worktrees.lines().count(), 2, "{worktrees}");
    let branches = stage.git(&["branch", "--list", "unstuck/*"]);
    assert_eq!(branches.lines().count(), 2, "what is not merged stays: {branches}");
}

#[test]
fn doctor_names_what_checkouts_leave_in_the_repository_and_the_command_that_removes_it() {
    let stage = Stage::repository();
    let run = |with: &str| {
        stage.unstuck(&["run", "x", "--with", with, "--check", "true", "--worktree"]);
        let branches = stage.git(&[
            "for-each-ref",
            "--sort=-committerdate",
            "--format=%(refname:short)",
            "refs/heads/unstuck/",
        ]);
        let path = stage.git(&["worktree", "list", "--porcelain"]);
        let path =
            path.lines().filter_map(|line| line.strip_prefix("worktree ")).next_back().expect("a checkout");
        (branches, path.to_owned())
    };
    stage.git(&["branch", "unstuck/mine"]);
    let doctor = || stage.unstuck(&["doctor", "--json"]).out;
    let (_, path) = run("git commit -qm done --allow-empty");
    assert!(!doctor().contains("\"branches\""), "{}", doctor());
    // Removed by hand: git still knows it.
    std::fs::remove_dir_all(&path).expect("it is ours");
    let told = doctor();
    assert!(
        told.contains("git worktree prune") && told.contains("with commits that HEAD has not: unstuck/"),
        "{told}"
    );
    stage.git(&["worktree", "prune"]);
    let told = doctor();
    assert!(!told.contains("worktree prune") && told.contains("git branch -D unstuck/"), "{told}");
    let (_, path) = run("true");
    stage.git(&["worktree", "remove", "--force", &path]);
    let told = doctor();
    let merged =
        told.split("git branch -d ").nth(1).and_then(|text| text.split('"').next()).expect("it is named");
    stage.git(&["branch", "-d", merged]);
    assert!(!doctor().contains("git branch -d ") && !told.contains("unstuck/mine"), "{told}");
}

#[test]
fn doctor_names_a_workspace_that_cannot_be_read() {
    let stage = Stage::repository();
    stage.write("sub/a", "a\n");
    stage
        .unstuck(&["-C", "sub", "run", "x", "--with", "true", "--check", "false", "--max-iterations", "1"])
        .with_status(2);
    assert!(!stage.unstuck(&["doctor"]).out.contains("cannot be read"));
    std::fs::remove_dir_all(stage.workspace().join("sub")).expect("it is ours");
    stage.unstuck(&["doctor"]).says("cannot be read").says("unstuck gc ");
    stage.write("sub", "a file\n");
    stage.unstuck(&["doctor"]).says("cannot be read").says("ls -ld ");
}

#[test]
fn worktree_uses_filters_of_the_user_and_ignores_filters_of_the_repository() {
    for (users, here, shown) in [
        // A filter of the repository may have been planted.
        ("", "planted", "as committed"),
        ("users", "", "AS COMMITTED"),
        ("users", "planted", "AS COMMITTED"),
        ("", "", "as committed"),
    ] {
        let stage = Stage::repository();
        let users_own = stage.scratch("gitconfig").display().to_string();
        let stage = stage.with_variable("GIT_CONFIG_GLOBAL", &users_own);
        let filters = |name: &str, place: &[&str]| {
            for (setting, command) in [("clean", "tr A-Z a-z"), ("smudge", "tr a-z A-Z")] {
                let line = format!("sh -c 'touch $SCRATCH/{name}; {command}'");
                stage.git(&[&["config"], place, &[&format!("filter.e.{setting}"), &line]].concat());
            }
        };
        std::fs::write(&users_own, "").expect("the scratch folder is ours");
        stage.write("file", "as committed\n");
        stage.write(".gitattributes", "file filter=e\n");
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-qm", "filtered"]);
        if !users.is_empty() {
            filters("users", &["--global"]);
        }
        if !here.is_empty() {
            filters("planted", &["--local"]);
        }
        let look = "cat file >\"$SCRATCH/shown\"";
        let ended = stage.unstuck(&["run", "look", "--with", look, "--check", "true", "--worktree"]);
        let ended = ended.with_status(0);
        assert_eq!(stage.noted("shown").trim(), shown, "{users:?} {here:?}");
        let told = format!("{}{}", ended.out, ended.err).split_whitespace().collect::<Vec<_>>().join(" ");
        let is_told = told.contains("the filter e of the configuration of the repository is not run here");
        assert_eq!(is_told, !here.is_empty(), "{ended:#?}");
        stage.unstuck(&["gc", "--older-than", "0d", "--yes"]).with_status(0);
        assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 1, "{users:?} {here:?}");
        assert!(!stage.scratch("planted").exists(), "{users:?} {here:?}");
    }
}

#[test]
fn a_worktree_of_no_repository_is_refused_before_anything_is_made() {
    let stage = Stage::new();
    let arguments = ["run", "count", "--trust-worker", "--with", "true", "--worktree"];
    stage.unstuck(&arguments).with_status(64).complains("is in no git repository");
    stage.git(&["init", "-q"]);
    stage.unstuck(&arguments).with_status(64).complains("has no commit yet");
}

#[test]
fn a_crash_and_a_resume_leave_no_process_behind() {
    let stage = Stage::repository().with_variable("HOLD_AT", "2").with_variable("DONE_AT", "3");
    let live = stage.start(&["run", "count", "--trust-worker", "--with", &worker("count.sh")]);
    wait_until("the second iteration works", || stage.calls() == 2);
    // The worker, its grandchild and whatever it waits with.
    wait_until("its grandchild is there", || stage.calls() >= 1 && stage.processes().len() >= 4);
    live.crash();

    tell(&stage.scratch("go"));
    stage.unstuck(&["resume"]).with_status(0);
    assert_eq!(stage.facts("worker_lost").len(), 1);
    stage.leaves_nothing_running();
    stage.verify();
}

#[test]
fn a_container_whose_session_began_outside_is_a_place_to_work_in() {
    let stage = Stage::repository().with_variable("DONE_AT", "2");
    let command = worker("count.sh");
    let namespace = ["unshare", "--pid", "--fork", "--mount-proc"];
    let Some(ended) =
        stage.unstuck_below(&namespace, &["run", "count", "--trust-worker", "--with", &command])
    else {
        return;
    };
    ended.with_status(0);
    assert_eq!(stage.calls(), 2);
    stage.verify();
}

#[test]
fn s16_what_a_worker_leaves_running_is_ended_before_the_check() {
    let stage = Stage::repository();
    let script = "(sleep 5; touch late) >/dev/null 2>&1 & exit 0";
    let check = "completion_check: {worker: CUSTOM, instructions: \"[ ! -e late ]\", capabilities: [READ]}\nmax_iterations: 2";
    run_script(&stage, script, check).with_status(0);
    let finished = stage.facts("worker_finished");
    assert!(finished[0]["outcome"]["processes_ended"].as_u64() >= Some(1), "{finished:?}");
    stage.leaves_nothing_running();
    assert!(!stage.workspace().join("late").exists());
}

#[test]
fn s32_hanging_check_is_killed_and_reported_to_the_worker() {
    let stage = Stage::repository();
    let script = "cat > \"$SCRATCH/prompt\"; echo call >> \"$SCRATCH/calls\"";
    let check = "completion_check: {worker: CUSTOM, instructions: \"[ $(wc -l < $SCRATCH/calls) -ge 2 ] || sleep 999\", \
                 capabilities: [READ], timeout: 1s}\nmax_iterations: 3";
    run_script(&stage, script, check).with_status(0);
    let verdicts = stage.verdicts();
    assert_eq!(verdicts[0]["decision"], "incomplete", "{verdicts:?}");
    assert_eq!(verdicts[0]["fingerprints"][0], "timeout", "{verdicts:?}");
    assert!(stage.noted("prompt").contains("timeout: the check had not ended"), "{}", stage.noted("prompt"));
    stage.leaves_nothing_running();
}

#[test]
fn s46_ctrl_c_and_term_end_the_whole_tree_and_a_second_one_does_not_wait() {
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let stage = Stage::repository().with_variable("HOLD_AT", "1");
        let live = stage.start(&["run", "count", "--trust-worker", "--with", &worker("count.sh")]);
        wait_until("its grandchild is there", || stage.calls() >= 1 && stage.processes().len() >= 4);
        live.signal(signal);
        live.wait().with_status(status).says("INTERRUPTED").says("unstuck resume");
        stage.leaves_nothing_running();
        assert_eq!(stage.facts("run_interrupted").len(), 1);
        stage.verify();
    }
    let stage = Stage::repository();
    let stubborn = "sh -c 'trap \"\" TERM INT; echo ready > $SCRATCH/ready; while :; do sleep 1; done'";
    let live = stage.start(&["run", "work on", "--trust-worker", "--with", stubborn]);
    wait_until("it works", || stage.scratch("ready").exists());
    live.signal(Signal::SIGINT);
    wait_until("it is asked to end", || stage.facts("run_interrupted").len() == 1);
    live.signal(Signal::SIGINT);
    live.wait().with_status(130);
    stage.leaves_nothing_running();
}

#[test]
fn s47_nothing_outlives_a_supervisor_that_was_killed() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1");
    let live = stage.start(&["run", "count", "--trust-worker", "--with", &worker("count.sh")]);
    wait_until("its grandchild is there", || stage.calls() >= 1 && stage.processes().len() >= 4);
    let killed = std::time::Instant::now();
    live.crash();
    wait_until("nothing is left", || stage.processes().is_empty());
    assert!(killed.elapsed().as_secs() < 5, "the promise is 5 s");
}

/// Script that starts a process which sheds its mark, leaves its session, loses its parent, and keeps running.
const SHED: &str = "(env -i HOME=/ setsid sh -c \"echo \\$\\$ > $SCRATCH/shed; exec sleep 999\" >/dev/null 2>&1 &)\n\
                    until [ -s $SCRATCH/shed ]; do sleep 0.01; done\n";

#[test]
fn s47_process_without_mark_and_session_does_not_outlive_a_killed_supervisor() {
    let shed = |stage: &Stage| std::path::Path::new("/proc").join(stage.noted("shed").trim()).exists();
    let stage = Stage::repository();
    run_script(&stage, SHED, "").with_status(0);
    assert!(!shed(&stage), "the worker had ended");
    assert_eq!(stage.facts("worker_finished")[0]["outcome"]["processes_ended"], 1);

    let stage = Stage::repository();
    std::fs::write(stage.scratch("worker.sh"), format!("{SHED}sleep 999"))
        .expect("the scratch folder is ours");
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    let live = stage.start(&["run", "work", "--trust-worker", "--with", &command]);
    wait_until("it is there", || !stage.noted("shed").is_empty());
    live.crash();
    wait_until("nothing is left", || !shed(&stage));
}

#[test]
fn processes_of_the_notify_command_do_not_outlive_the_run() {
    let begin = "(env -i HOME=/ setsid sh -c \"echo \\$\\$ > $SCRATCH/shed; exec sleep 999\" >/dev/null 2>&1 &); \
                 until [ -s $SCRATCH/shed ]; do sleep 0.01; done";
    let there = |stage: &Stage| std::path::Path::new("/proc").join(stage.noted("shed").trim()).exists();
    let stage = Stage::repository();
    let arguments = ["run", "go", "--trust-worker", "--with", "echo n >n; echo COMPLETE", "--notify"];
    stage.unstuck(&[&arguments[..], &[begin]].concat()).with_status(0);
    assert!(!stage.noted("shed").is_empty() && !there(&stage));

    let stage = Stage::repository();
    let live = stage.start(&[&arguments[..], &[&format!("{begin}; sleep 20")]].concat());
    wait_until("it is there", || !stage.noted("shed").is_empty());
    live.crash();
    wait_until("nothing is left", || !there(&stage) && stage.processes().is_empty());
}

#[test]
fn a_guard_that_a_worker_ends_is_followed_by_another() {
    const ENDS_THE_GUARD: &str = "for it in /proc/[0-9]*; do \
         tr '\\0' ' ' <$it/cmdline 2>/dev/null | grep -q \"reap $UNSTUCK_RUN_ID\" && kill -9 ${it#/proc/}; done\n\
         (env -i HOME=/ setsid sh -c \"echo \\$\\$ > $SCRATCH/shed; exec sleep 999\" >/dev/null 2>&1 &)\n\
         echo begun >>$SCRATCH/calls\n";
    let stage = Stage::repository();
    std::fs::write(stage.scratch("worker.sh"), format!("{ENDS_THE_GUARD}sleep 999"))
        .expect("the scratch folder is ours");
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    let live = stage.start(&["run", "work", "--trust-worker", "--with", &command]);
    wait_until("it is there", || !stage.noted("shed").is_empty());
    wait_until("it is told", || live.complained_so_far().contains("another one was started"));
    live.crash();
    let shed = || std::path::Path::new("/proc").join(stage.noted("shed").trim()).exists();
    wait_until("nothing is left", || !shed() && stage.processes().is_empty());

    // A run whose guard is killed again and again still ends, and leaves no process.
    let stage = Stage::repository();
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8; do {ENDS_THE_GUARD}sleep 0.3; done; echo done >work.txt; echo COMPLETE"
    );
    std::fs::write(stage.scratch("worker.sh"), script).expect("the scratch folder is ours");
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    let ended = stage.unstuck(&["run", "work", "--trust-worker", "--with", &command]).with_status(0);
    ended.complains("there is none now");
    stage.leaves_nothing_running();

    // Nor does one that is stopped keep it from its end.
    let stage = Stage::repository();
    let script =
        format!("{}echo done >work.txt; echo COMPLETE", ENDS_THE_GUARD.replace("kill -9", "kill -STOP"));
    std::fs::write(stage.scratch("worker.sh"), script).expect("the scratch folder is ours");
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    stage.unstuck(&["run", "work", "--trust-worker", "--with", &command]).with_status(0);
    wait_until("nothing is left", || stage.processes().is_empty());
}

#[test]
fn s48_a_worker_that_wrote_its_verdict_and_stays_is_ended() {
    let stage = Stage::repository();
    let script = "echo done > work.txt; unstuck verdict complete; sleep 999";
    run_script(&stage, script, "completion_check: {self_report: true}\nmax_iterations: 2\nidle_timeout: 1s")
        .with_status(0);
    assert_eq!(stage.facts("worker_finished")[0]["outcome"]["exit"], "settled");
    stage.leaves_nothing_running();
    stage.verify();
}

#[test]
fn s49_a_worker_that_says_nothing_and_computes_is_left_alone() {
    let stage = Stage::repository();
    let busy = "end=$(($(date +%s) + 5)); while [ $(date +%s) -lt $end ]; do :; done";
    run_script(&stage, busy, "idle_timeout: 2s").with_status(0);
    let asleep = Stage::repository();
    run_script(&asleep, "sleep 999", "idle_timeout: 1s").with_status(5).says("it had done nothing");
    asleep.leaves_nothing_running();
}

#[test]
fn a_worker_that_stalls_is_a_failure_that_the_controller_counts() {
    let stage = Stage::repository();
    let check = "completion_check: {commands: ['false']}\nmax_iterations: 9\nidle_timeout: 1s\n\
                 convergence: {enabled: true, stall_threshold: 2, max_stage: 2}";
    run_script(&stage, "echo begun >> work.txt; sleep 999", check).with_status(3).says("stall");
    let verdicts = stage.verdicts();
    let stalls = |verdict: &serde_json::Value| {
        verdict["fingerprints"]
            .as_array()
            .is_some_and(|all| all.iter().any(|fingerprint| fingerprint == "stall:idle"))
    };
    assert!(!verdicts.is_empty() && verdicts.iter().all(stalls), "{verdicts:#?}");
    // The work of the killed worker is still checked.
    let done = Stage::repository();
    let check = "completion_check: {commands: ['test -e work.txt']}\nmax_iterations: 2\nidle_timeout: 1s";
    run_script(&done, "echo done > work.txt; sleep 999", check).with_status(0);
    assert_eq!(done.facts("worker_finished")[0]["outcome"]["exit"], "idle");
    done.verify();
}

#[test]
fn a_probe_says_that_a_silent_worker_is_lost() {
    let stage = Stage::repository();
    let probe = "stall: {probe: {command: echo terminal, interval: 1s}}\n\
                 completion_check: {commands: ['true']}\nmax_iterations: 2";
    run_script(&stage, "sleep 999", probe).with_status(0);
    assert_eq!(stage.facts("worker_finished")[0]["outcome"]["exit"]["probed"], "terminal");
    stage.unstuck(&["why", "@last"]).says("was ended: its probe said `terminal`");
    stage.leaves_nothing_running();
}

#[test]
fn s50_a_worker_that_asks_blocks_the_run_with_its_question_and_never_gets_a_terminal() {
    let stage = Stage::repository();
    for asks in [
        "read -r x </dev/tty && echo a terminal; printf 'Overwrite? [y/N] '; sleep 999",
        "printf 'Overwrite? [y/N] '; read -r x </dev/tty || exit 2; echo a terminal",
        "printf 'Overwrite? [y/N] '; read -r x || exit 1; echo an answer",
        "echo begun; printf 'Overwrite? [y/N] ' >&2; exit 1",
        "printf 'Overwrite? [y/N] ' >&2",
    ] {
        let script = format!("if grep -q 'yes, overwrite' ; then exit 0; fi; {asks}");
        let ended = run_script(&stage, &script, "idle_timeout: 1s").with_status(4);
        ended.says("an answer to its question: Overwrite? [y/N]").says("unstuck answer");
        stage.leaves_nothing_running();
        stage.unstuck(&["answer", "@last", "yes, overwrite"]).with_status(0);
        stage.verify();
    }
}

#[test]
fn s50_a_worker_that_asked_and_went_on_without_an_answer_is_judged_by_its_work() {
    for (worker, status) in [
        ("printf 'Overwrite? [y/N] '; read -r x; echo no; echo mended >notes", 0),
        ("printf 'Overwrite? [y/N] ' >&2; echo mended >notes", 0),
        ("printf 'Which port shall I use? '; echo; echo 'I took 80.'; exit 1", 5),
    ] {
        let stage = Stage::repository();
        run_script(&stage, worker, "idle_timeout: 5s").with_status(status);
        stage.verify();
    }
}

#[test]
fn s52_a_prompt_of_a_megabyte_arrives_whole() {
    let stage = Stage::repository();
    stage.write(
        "worker.sh",
        "wc -c > \"$SCRATCH/size\"; wc -c < \"$UNSTUCK_PROMPT_FILE\" >> \"$SCRATCH/size\"",
    );
    let text = "All work and no play. ".repeat(46_000);
    stage.workflow("", &format!("worker: COMMAND\ncommand: sh worker.sh\ninstructions: {text}"));
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let sizes: Vec<usize> = stage.noted("size").lines().filter_map(|line| line.trim().parse().ok()).collect();
    assert!(sizes.len() == 2 && sizes[0] >= 1_000_000 && sizes[0] == sizes[1], "{sizes:?}");
    stage.verify();
}

#[test]
fn s53_megabytes_on_one_line_are_kept_whole_and_shown_in_part() {
    let stage = Stage::repository();
    let ended =
        run_script(&stage, "yes | tr -d '\\n' | head -c 20000000; echo; echo the end", "").with_status(0);
    assert!(ended.out.len() < 10_000, "{}", ended.out.len());
    let outcome = stage.facts("worker_finished")[0]["outcome"].take();
    assert_eq!(outcome["stdout"]["size"], 20_000_009, "{}", outcome["stdout"]);
    assert!(
        outcome["answer"]
            .as_str()
            .is_some_and(|answer| answer.len() <= 300_000 && answer.ends_with("the end\n"))
    );
    stage.verify();
}

#[test]
fn s54_bytes_of_any_kind_are_kept_as_they_are_and_shown_as_text() {
    let stage = Stage::repository();
    let bytes = b"\x1b[31mred\x1b[0m\0nul \xff\xfe 10%\r20%\r100%\n\x1b]0;title\x07done\n";
    std::fs::write(stage.scratch("bytes"), bytes).expect("the scratch folder is ours");
    // That nothing but text is printed is checked for every command of every scenario.
    run_script(&stage, "cat \"$SCRATCH/bytes\"", "").with_status(0);
    let finished = stage.facts("worker_finished");
    assert_eq!(stage.blob(&finished[0]["outcome"]["stdout"]), bytes);
    stage.unstuck(&["events"]).with_status(0);
    stage.unstuck(&["show"]).with_status(0);
}

#[test]
fn s57_nothing_is_left_in_the_workspace_that_another_agent_could_read() {
    let stage = Stage::repository();
    let before = crate::stage::files(&stage.workspace());
    let command = worker("claim.sh");
    stage.unstuck(&["run", "mend add", "--trust-worker", "--with", &command, "--max-iterations", "2"]);
    let left = crate::stage::files(&stage.workspace());
    assert_eq!(left, before);
}
