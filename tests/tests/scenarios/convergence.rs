//! Loops that get somewhere, loops that do not, and workers that take a short way.

use std::fs;

use crate::stage::{Ended, Stage};

/// The command that says whether the work is done: a failing test, with its name and what it got.
const TESTS: &str = "sh tests/run.sh";

/// Runs the goal until the tests pass, with a worker that is a line of shell; it counts its calls in `$n`.
fn run(stage: &Stage, worker: &str, more: &[&str]) -> Ended {
    stage.write("../scratch/worker.sh", format!("{COUNT}\n{worker}\ntrue\n"));
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    let arguments = [&["run", "make the tests pass", "--with", &command][..], more].concat();
    stage.unstuck(&arguments)
}

const COUNT: &str = "cat >\"$SCRATCH/prompt\"; cat \"$SCRATCH/prompt\" >>\"$SCRATCH/prompts\"
echo call >>\"$SCRATCH/calls\"; n=$(wc -l <\"$SCRATCH/calls\")";

const MENDED: &str = "echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh";

#[test]
fn s20_a_worker_that_commits_each_time_is_not_stuck() {
    let stage = Stage::repository();
    let work = "echo $n >src/n; git add -A; git commit -qm step; [ $n -ge 8 ] && unstuck verdict complete || \
                unstuck verdict incomplete --reason 'not yet'";
    let flow = format!(
        "worker: COMMAND\ncommand: |\n  {COUNT}\n  {work}\ninstructions: do it\nmax_iterations: 10\n\
         completion_check: {{self_report: true}}\nconvergence: {{enabled: true, stall_threshold: 3}}",
        COUNT = COUNT.replace('\n', "\n  ")
    );
    stage.workflow("", &flow);
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    assert_eq!(stage.calls(), 8);
    assert_eq!(stage.facts("stage_raised").len(), 0);
}

#[test]
fn s21_a_folder_without_git_has_its_baseline_as_it_is() {
    let stage = Stage::new();
    stage.write(
        "tests/run.sh",
        ". ./src/add.sh; [ $(add 2 3) = 5 ] && echo 'ok 1 - add' || { echo 'not ok 1 - add'; exit 1; }\n",
    );
    stage.write("src/add.sh", "add() { echo 0; }\n");
    let ended = run(&stage, &format!("[ $n -ge 2 ] && {MENDED}"), &["--check", TESTS]).with_status(0);
    assert!(ended.out.contains("fail   add"), "{ended:?}");
    assert_eq!(stage.calls(), 2);
}

#[test]
fn runs_that_are_asked_to_share_the_baseline_of_the_same_files() {
    let stage = Stage::repository().with_variable("WORD", "expected 5, got -1");
    stage.git(&["config", "status.showUntrackedFiles", "no"]);
    let counted = format!("echo run >>\"$SCRATCH/checks\"; {TESTS}");
    let mut before = 0;
    let mut check = |command: &str, more: &[&str], runs_for_baseline: usize| {
        let ended = run(&stage, MENDED, &[&["--check", command], more].concat()).with_status(0);
        let runs = stage.noted("checks").lines().count();
        assert_eq!(runs - before, runs_for_baseline + 1, "{more:?} {ended:?}");
        before = runs;
        let baseline = &stage.facts("check_finished")[0];
        assert_eq!(baseline["commands"][0]["failures"].as_array().map(Vec::len), Some(1), "{baseline:?}");
        let notes = baseline["outcome"]["notes"].as_array().expect("notes").iter();
        let taken_over = notes.filter(|note| note.as_str().is_some_and(|text| text.contains("taken over")));
        assert_eq!(taken_over.count(), usize::from(runs_for_baseline == 0), "{baseline:?}");
        stage.verify();
        stage.git(&["checkout", "-q", "."]);
    };
    let reuse = ["--reuse-baseline"];
    check(&counted, &[], 1);
    check(&counted, &reuse, 1);
    check(&counted, &reuse, 0);
    check(&counted, &reuse, 0);
    check(&counted, &[], 1);
    check(&counted, &["--reuse-baseline", "--report", "report.xml"], 1);
    check(&counted, &["--reuse-baseline", "--secret", "WORD"], 1);
    stage.write("untracked", "it may be read by the check\n");
    // There is no clean checkout that is what the workspace is.
    check(&counted, &reuse, 1);
    check(&counted, &reuse, 0);
    let changing = format!("{counted}; r=$?; date +%N >changed; exit $r");
    check(&changing, &reuse, 1);
    check(&changing, &reuse, 1);
    stage.unstuck(&["gc", "--older-than", "1ms", "--yes"]).with_status(0);
    check(&counted, &reuse, 1);
}

#[test]
fn a_baseline_that_could_not_be_used_is_not_shared() {
    let stage = Stage::repository();
    let needs = format!("test -e \"$SCRATCH/up\" || exit 127; {TESTS}");
    let more = ["--no-new-failures", &needs, "--reuse-baseline"];
    run(&stage, MENDED, &more).with_status(5);
    fs::write(stage.scratch("up"), "").expect("the scratch folder is ours");
    run(&stage, MENDED, &more).with_status(0);
}

#[test]
fn s22_the_same_failure_each_time_raises_the_stage_and_then_stops() {
    let stage = Stage::repository();
    let ended =
        run(&stage, "echo \"# try $n $(date)\" >>src/add.sh; date", &["--check", TESTS]).with_status(3);
    let raised = stage.facts("stage_raised");
    let stages: Vec<_> =
        raised.iter().map(|fact| (fact["iteration"].as_u64(), fact["to"].as_u64())).collect();
    assert_eq!(stages, [(Some(3), Some(2)), (Some(6), Some(3))], "{ended:?}");
    assert!(raised.iter().all(|fact| fact["cause"] == "same_failures"), "{raised:?}");
    let end = ended.out.split("STUCK after 6 iterations").nth(1).expect("it says how it ended");
    let end = end.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "failed before the work began, and in every iteration",
        "tried src/add.sh +1 −0 (#1 to #6)",
        "@first",
    ] {
        assert!(end.contains(part), "{part}: {end}");
    }
    stage.verify();
}

#[test]
fn s23_two_states_that_alternate_are_a_cycle() {
    let stage = Stage::repository();
    let worker =
        "if [ $((n % 2)) = 1 ]; then echo 'add() { echo 6; }'; else echo 'add() { echo 7; }'; fi >src/add.sh";
    run(&stage, worker, &["--check", TESTS]).with_status(3);
    let causes: Vec<_> = stage.facts("stage_raised").iter().map(|fact| fact["cause"].to_string()).collect();
    assert!(
        causes.iter().all(|cause| cause.contains("same_failures") || cause.contains("cycle")),
        "{causes:?}"
    );
}

#[test]
fn s23_who_undoes_what_was_done_goes_in_a_circle_although_the_check_says_nothing() {
    let stage = Stage::repository();
    let worker = "[ $((n % 2)) = 1 ] && echo more >src/more || rm -f src/more";
    let ended = run(&stage, worker, &["--check", "test -e nowhere"]).with_status(3);
    ended.says("it goes in a circle of 2 iterations");
    assert_eq!(stage.calls(), 7);
    stage.unstuck(&["artifacts"]).with_status(0).says("contradict each other");
}

#[test]
fn s24_slow_honest_progress_is_never_stopped() {
    let stage = Stage::repository();
    let check = "i=1; while [ $i -le 12 ]; do [ -e src/$i ] && echo \"ok $i - item $i\" || \
                 { echo \"not ok $i - item $i\"; bad=1; }; i=$((i+1)); done; [ -z \"$bad\" ]";
    run(&stage, "touch src/$n", &["--check", check]).with_status(0);
    assert_eq!((stage.calls(), stage.facts("stage_raised").len()), (12, 0));
}

#[test]
fn s24_a_check_that_says_nothing_does_not_stop_work_that_moves() {
    let stage = Stage::repository();
    run(&stage, "echo line $n >>src/notes", &["--check", "grep -q 'line 8' src/notes"]).with_status(0);
    assert_eq!((stage.calls(), stage.facts("stage_raised").len()), (8, 0));
}

#[test]
fn s24_slow_progress_that_one_test_counts_is_not_stopped_and_numbers_that_only_move_are() {
    let check = |left: &str| {
        format!(
            "left={left}; echo 1..1; [ $left -le 0 ] && echo 'ok 1 - all' || {{ echo 'not ok 1 - all'; echo \"# $left are left\"; exit 1; }}"
        )
    };
    let stage = Stage::repository();
    run(&stage, "echo $n >>src/done", &["--check", &check("$((12 - $(cat src/done 2>/dev/null | wc -l)))")])
        .with_status(0);
    assert_eq!(stage.calls(), 12);
    assert_eq!(stage.facts("stage_raised").len(), 0);
    let stage = Stage::repository();
    run(&stage, "echo $n >>src/done", &["--check", &check("$((7 + $(cat src/done 2>/dev/null | wc -l)))")])
        .with_status(3)
        .says("the same failures again");
    stage.verify();
}

#[test]
fn s27_a_worker_that_changes_nothing_is_stopped_soon() {
    let stage = Stage::repository();
    let ended = run(&stage, "echo nothing to do", &["--check", TESTS]).with_status(3);
    ended.says("nothing in the workspace changes");
    stage.unstuck(&["artifacts"]).with_status(0).says("The worker changes nothing");
    assert_eq!(stage.calls(), 6);
}

#[test]
fn s27_who_changes_nothing_is_stopped_although_the_judge_finds_something_else_each_time() {
    let stage = Stage::repository();
    let judge = "n=$(date +%s%N); echo \"{\\\"decision\\\":\\\"incomplete\\\",\\\"fingerprints\\\":[\\\"finding-$n\\\"]}\"";
    stage.write("../scratch/judge.sh", judge);
    let judge = format!("sh {}", stage.scratch("judge.sh").display());
    let ended =
        run(&stage, "echo all fine", &["--reviewer", &judge, "--max-iterations", "20"]).with_status(3);
    ended.says("other failures each time, and nothing gets better");
    assert_eq!(stage.calls(), 18);
    stage.verify();
}

#[test]
fn stuck_run_ends_as_stuck_if_no_time_is_left_for_diagnosis() {
    let stage = Stage::repository();
    let more = ["--check", TESTS, "--diagnose-with", "sleep 60", "--max-time", "6s"];
    run(&stage, "echo '# try' >>src/add.sh", &more).with_status(3).says("stuck: the same failures again");
    stage.verify();
}

#[test]
fn s28_stage_2_asks_for_something_else_than_stage_1() {
    let stage = Stage::repository();
    run(&stage, "echo \"# try $n\" >>src/add.sh", &["--check", TESTS, "--allow", "src/**"]).with_status(3);
    let prompts = stage.noted("prompts");
    let (before, after) = prompts.split_once("## Try another way").expect("stage 2 was asked for");
    assert!(before.contains("Only these paths:\n- src/**"), "{prompts}");
    assert!(after.contains("Your last 3 attempts ended with the same failures"), "{prompts}");
    assert!(after.contains("expected 5, got -1"), "the failure itself is told: {prompts}");
}

#[test]
fn s30_what_failed_before_is_no_failure_of_the_work() {
    let stage = Stage::repository();
    let check = "echo 'not ok 1 - old one'; echo 'not ok 2 - old two'; [ -e src/broken ] && echo 'not ok 3 - new'; exit 1";
    let worker = "[ $n = 1 ] && touch src/broken || rm -f src/broken; echo $n >src/n";
    let ended = run(&stage, worker, &["--no-new-failures", check]).with_status(0);
    assert!(ended.out.contains("fail   old one") && ended.out.contains("fail 2 → 3"), "{ended:?}");
    assert_eq!(stage.calls(), 2);
    let reasons = stage.verdicts()[0]["reasons"].to_string();
    assert!(reasons.ends_with("shows new failures: new (exit code 1)\"]"), "{reasons}");
}

#[test]
fn s30_run_without_usable_baseline_starts_no_worker() {
    let stage = Stage::repository();
    let ended = run(&stage, "true", &["--no-new-failures", "exit 1"]).with_status(5);
    assert!(ended.out.contains("there is no baseline"), "{ended:?}");
    assert_eq!(stage.calls(), 0);
}

#[test]
fn s31_a_test_that_fails_each_other_time_is_flaky_and_no_failure() {
    let stage = Stage::repository();
    let check = "echo x >>\"$SCRATCH/runs\"; k=$(wc -l <\"$SCRATCH/runs\"); echo 'ok 1 - steady'
        [ $((k % 2)) = 1 ] && echo 'ok 2 - flaky' || { echo 'not ok 2 - flaky'; exit 1; }";
    let ended = run(&stage, "echo $n >src/n", &["--check", check]).with_status(0);
    let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("1 flaky (flaky)"), "{said}");
    assert_eq!(stage.calls(), 1);
}

#[test]
fn s33_a_check_that_does_not_exist_stops_before_the_first_iteration() {
    let stage = Stage::repository();
    stage.write("pyproject.toml", "[tool.pytest.ini_options]\n");
    let ended = run(&stage, "true", &["--check", "pytset"]).with_status(64);
    ended.complains("there is no program pytset").complains("this project has: pytest");
    let ended = run(&stage, "true", &["--check", "./tests/pytset"]).with_status(5);
    assert!(ended.out.contains("No such file"), "{ended:?}");
    assert_eq!(stage.calls(), 0);
}

#[test]
fn s64_tests_that_vanish_are_found_out() {
    let stage = Stage::repository();
    let ended = run(
        &stage,
        "[ $n = 1 ] && echo 'exit 0' >tests/run.sh; [ $n = 2 ] && git checkout -q tests && \
        echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh",
        &["--check", TESTS],
    )
    .with_status(0);
    assert!(ended.out.contains("tests_unseen: "), "{ended:?}");
    assert_eq!(stage.calls(), 2);
}

#[test]
fn s64_modified_check_script_is_reported() {
    let stage = Stage::repository();
    let script = |how: &str, code: u8| format!("printf '{how} 1 - a\\nok 2 - b\\n1..2\\n'; exit {code}\n");
    stage.write("t.sh", script("not ok", 1));
    stage.write("../scratch/passes.sh", script("ok", 0));
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "a check"]);
    let ended = run(&stage, "cp \"$SCRATCH/passes.sh\" t.sh", &["--check", "sh t.sh"]);
    ended.with_status(0).says("check_rewritten: `sh t.sh` goes by t.sh");
}

#[test]
fn a_check_whose_exit_code_is_covered_up_is_named_at_the_start() {
    let said = "whatever fails before that";
    for (check, gate, is_told) in [
        ("sh tests/run.sh | tail -1", "--check", true),
        ("sh tests/run.sh; true", "--check", true),
        ("set -o pipefail; sh tests/run.sh | tail -1", "--check", false),
        ("sh tests/run.sh | tail -1", "--no-new-failures", false),
    ] {
        let stage = Stage::repository();
        let ended = run(&stage, "true", &[gate, check, "--max-iterations", "1"]);
        assert_eq!(ended.out.contains(said), is_told, "{gate} {check}: {ended:?}");
    }
    let stage = Stage::repository();
    let steps = "steps: {a: {worker: COMMAND, command: 'true', instructions: go, max_iterations: 2, completion_check: {commands: ['pytest | tail -1']}}}";
    stage.write("flow.yaml", format!("name: x\nversion: \"1\"\ntimeout: 1m\n{steps}\n"));
    stage.unstuck(&["check", "flow.yaml"]).complains("`pytest | tail -1` ends as `tail -1` does");
}

#[test]
fn s64_edited_failing_test_is_incomplete() {
    let check = "sh spec/cart.bats";
    let failing = "echo 1..1; if [ $(($(cat src/n))) = 3 ]; then echo 'ok 1 adds'; else echo 'not ok 1 adds'; \
                   echo '# (in test file spec/cart.bats, line 1)'; exit 1; fi\n";
    let edit = "sed -i 's/= 3/= 2/' spec/cart.bats";
    let rows: [(&str, &[&str], i32, Option<&str>); 5] = [
        ("echo 3 >src/n", &[], 0, None),
        (edit, &[], 2, Some("tests_edited: spec/cart.bats has tests that failed before the work began")),
        (edit, &["--allow-test-edits"], 0, Some("tests_edited: what failed before")),
        (edit, &["--allow", "spec/**"], 0, Some("tests_edited: what failed before")),
        ("echo 3 >src/n; echo '# more' >>spec/other.bats", &[], 0, None),
    ];
    for (work, options, status, said) in rows {
        let stage = Stage::repository();
        stage.write("spec/cart.bats", failing.replace("\\n", "\n"));
        stage.write("src/n", "2\n");
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-qm", "a test"]);
        let options = [&["--check", check, "--max-iterations", "1"], options].concat();
        let ended = run(&stage, work, &options).with_status(status);
        let out = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(out.contains("tests_edited"), said.is_some(), "{work} {options:?}: {ended:?}");
        assert!(said.is_none_or(|said| out.contains(said)), "{work} {options:?}: {ended:?}");
    }
}

#[test]
fn s64_tools_of_the_check_and_their_settings_stay_as_they_are() {
    let tool = "#!/bin/sh\ntest -e mylint.toml || grep -q fixed src/add.sh || { echo 'src/add.sh:1: L1 bad'; exit 1; }\n";
    let settings = "echo 'ignore = [\"L1\"]' >mylint.toml";
    let fake = "mkdir -p tools; printf '#!/bin/sh\\nexit 0\\n' >tools/mylint; chmod +x tools/mylint";
    let fix = "echo '# fixed' >>src/add.sh";
    let said = "check_tool_changed: ";
    let rows: [(&str, &str, &[&str], Option<&str>); 7] = [
        (fix, "make the tests pass", &[], None),
        (settings, "make the tests pass", &[], Some("mylint.toml has the name of a tool")),
        (settings, "make the tests pass", &["--allow", "mylint.toml"], None),
        (settings, "write a mylint.toml", &[], None),
        (fake, "make the tests pass", &[], Some("tools/mylint has the name of a tool")),
        (fake, "make mylint pass", &[], Some("tools/mylint has the name of a tool")),
        (
            "mkdir expected; echo 3 >expected/sum.txt; echo '# fixed' >>src/add.sh",
            "make the tests pass",
            &[],
            None,
        ),
    ];
    for (work, goal, options, why) in rows {
        let stage = Stage::repository();
        stage.write("../bin/mylint", tool);
        stage.shell(&stage.workspace(), "chmod +x ../bin/mylint");
        stage.write("../scratch/worker.sh", format!("{COUNT}\n{work}\n"));
        let worker = format!("sh {}", stage.scratch("worker.sh").display());
        let check = "PATH=$PWD/tools:$PATH; mylint";
        let words = ["run", goal, "--with", &worker, "--check", check, "--max-iterations", "1"];
        let ended =
            stage.unstuck(&[&words[..], options].concat()).with_status(if why.is_some() { 2 } else { 0 });
        let out = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(out.contains(said), why.is_some(), "{work} {options:?}: {out}");
        assert!(why.is_none_or(|why| out.contains(why)), "{work}: {out}");
        let expected = "expected_results: expected/sum.txt holds what a test compares with";
        assert_eq!(out.contains(expected), work.contains("expected"), "{work}: {out}");
    }
}

#[test]
fn s24_what_comes_nearer_without_fewer_failures_is_not_stuck() {
    let passing = "k=$(cat src/k); for i in $(seq $k); do echo \"ok $i - t$i\"; done; n=$((k + 1)); [ $k -ge 12 ] && exit 0; echo";
    for check in [
        // The runner stops at the first failing test. Another check always fails.
        format!("{passing} \"not ok $n - t$n\"; echo 'not ok 99 - lint'; exit 1"),
        "k=$(cat src/k); [ $k -ge 12 ] || { echo \"error: only $k of 12 stories are done\"; exit 1; }"
            .to_owned(),
    ] {
        let stage = Stage::repository();
        stage.write("src/k", "0\n");
        stage.write("t.sh", &check);
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-qm", "a check"]);
        run(&stage, "echo $n >src/k", &["--check", "bash t.sh"]).with_status(0);
        assert_eq!(stage.calls(), 12, "{check}");
    }
}

#[test]
fn work_whose_worker_failed_is_said_to_be_unchecked() {
    for (script, is_told) in [("echo 1 >src/new; exit 1", true), ("exit 1", false)] {
        let stage = Stage::repository();
        let check = format!("completion_check: {{commands: ['{TESTS}']}}");
        stage.workflow(
            "",
            &format!(
                "worker: CUSTOM\ninstructions: {script}\ncapabilities: [EDIT]\nmax_iterations: 2\n{check}"
            ),
        );
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(5);
        assert_eq!(ended.out.contains("so what it did was not checked"), is_told, "{ended:?}");
    }
}

#[test]
fn s64_skipped_failing_test_is_not_fixed() {
    let stage = Stage::repository();
    // Names what fails, and counts the rest, as pytest -q does.
    let check = "if [ -e src/skip ]; then echo '2 passed, 1 skipped in 0.01s'; else \
                 printf '= short test summary info =\\nFAILED t.py::test_b - assert 1 == 2\\n1 failed, 1 passed in 0.01s\\n'; exit 1; fi";
    run(&stage, "touch src/skip", &["--check", check, "--max-iterations", "1"]).with_status(2);
    let reasons = stage.verdicts()[0]["reasons"].to_string();
    assert!(reasons.contains("tests_removed: ") && reasons.contains("skips 1 test, 0 before"), "{reasons}");
}

#[test]
fn s64_what_a_pipe_hides_is_not_believed_whatever_was_counted_before() {
    let check = "cat src/said";
    for now in ["1 failed, 2 passed in 0.01s", "2 failed, 1 passed in 0.01s"] {
        let stage = Stage::repository();
        stage.write("src/said", "1 failed, 2 passed in 0.01s\n");
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-qm", "said"]);
        let worker = format!("echo '{now}' >src/said; echo $n >src/n");
        run(&stage, &worker, &["--check", check, "--max-iterations", "1"]).with_status(2);
        let reasons = stage.verdicts()[0]["reasons"].to_string();
        assert!(reasons.contains("exits with 0, but counts"), "{now}: {reasons}");
        // Failures without names cannot be compared with the baseline.
        let refused = run(&stage, &worker, &["--no-new-failures", check]);
        refused.with_status(5).says("has no baseline to compare with: it counts");
    }
}

#[test]
fn a_completion_that_shows_nothing_says_so() {
    let none = "echo 'test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured'; test -e done";
    for (worker, check, doubt) in [
        (
            "true",
            ["--no-new-failures", TESTS],
            "note work #1: unchanged: nothing was changed, so what failed",
        ),
        ("true", ["--check", "true"], "note work #1: unchanged: the checks passed before"),
        ("touch done", ["--check", none], "ran no test: that it passes says little"),
    ] {
        let stage = Stage::repository();
        let ended = run(&stage, worker, &check).with_status(0);
        let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(doubt), "{doubt}: {said}");
    }
}

#[test]
fn s64_a_test_that_passed_is_not_swapped_for_another() {
    let stage = Stage::repository();
    // The fix breaks a test that passed, which is then replaced by one that says nothing.
    let tests = "for t in tests/*.t; do n=$(basename $t .t); \
                 if sh $t; then echo test $n ... ok; else echo test $n ... FAILED; fi; done | tee out.log; ! grep -q FAILED out.log";
    stage.write("tests/run.sh", tests);
    stage.write("tests/adds.t", ". ./src/add.sh; [ $(add 2 3) = 5 ]\n");
    stage.write("tests/takes.t", ". ./src/add.sh; [ $(add 2 2) = 0 ]\n");
    stage.write(".gitignore", "out.log\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "tests"]);
    let worker = format!(
        "[ $n = 1 ] && git rm -q tests/takes.t && echo true >tests/more.t && {MENDED}; \
         [ $n = 2 ] && git checkout -q HEAD tests && echo '[ 1 = 1 ]' >tests/takes.t"
    );
    let ended = run(&stage, &worker, &["--check", "sh tests/run.sh"]).with_status(0);
    assert_eq!(stage.calls(), 2, "{ended:?}");
    let reasons = stage.verdicts()[0]["reasons"].to_string();
    assert!(
        reasons.contains("does not run a test that passed before the work began: takes; put back"),
        "{reasons}"
    );
}

/// A repository with three tests in one file, of which one fails, and a script that runs what it finds there as pytest does.
fn counted(stage: &Stage, check: &str) {
    stage.write("tests/run.sh", check);
    stage.write(
        "tests/sums.sh",
        ". ./src/add.sh\ntest_adds() { [ $(add 2 3) = 5 ]; }\ntest_none() { [ $(add 2 0) = 2 ]; }\ntest_zero() { [ $(add 0 0) = 0 ]; }\n",
    );
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "tests"]);
}

#[test]
fn s64_unnamed_test_cannot_be_replaced_by_another() {
    let stage = Stage::repository();
    counted(
        &stage,
        "f=0; n=0; echo == short test summary info ==
        for t in $(sed -n 's/^\\(test_[a-z]*\\)().*/\\1/p' tests/*s.sh); do n=$((n + 1))
            sh -c \"for file in tests/*s.sh; do . ./\\$file; done; $t\" || { f=$((f + 1)); echo \"FAILED t.py::$t - assert 0\"; }
        done
        [ $f = 0 ] && echo \"$n passed in 0.01s\" || { echo \"$f failed, $((n - f)) passed in 0.01s\"; exit 1; }",
    );
    // The count of the baseline stays, and once there are even more than that.
    let worker = format!(
        "[ $n = 1 ] && sed -i 's/test_adds.*/test_more() {{ true; }}/' tests/sums.sh
        [ $n = 2 ] && git checkout -q tests && printf 'test_b() {{ true; }}\\ntest_c() {{ true; }}\\n' >>tests/sums.sh
        [ $n = 3 ] && sed -i /test_adds/d tests/sums.sh
        [ $n = 4 ] && git checkout -q tests && git mv tests/sums.sh tests/numbers.sh && {MENDED}"
    );
    let ended = run(&stage, &worker, &["--check", "sh tests/run.sh"]).with_status(0);
    assert_eq!(stage.calls(), 4, "{ended:?}");
    let verdicts = stage.verdicts();
    let removed =
        "does not run a test that failed before the work began: t.py::test_adds, and no file has such a name";
    for (at, want) in [(0, removed), (1, "fails: t.py::test_adds"), (2, removed)] {
        let reasons = verdicts[at]["reasons"].to_string();
        assert!(reasons.contains(want), "{want}: {reasons}");
    }
    let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "fixed or replaced by others: t.py::test_adds; let it name them";
    assert!(said.contains("note work #4: tests_unseen: ") && said.contains(note), "{said}");
}

#[test]
fn s64_check_has_to_keep_naming_its_tests_and_writing_its_report() {
    let named = "rm -f r.xml; f=ok; . ./tests/sums.sh; test_adds || f=FAILED
        [ -e quiet ] || echo \"test test_adds ... $f\ntest test_none ... ok\"
        [ $f = ok ] && f=\"ok. 2 passed; 0\" || f=\"FAILED. 1 passed; 1\"
        [ -e silent ] || echo '<testsuite/>' >r.xml
        echo \"test result: $f failed; 0 ignored\"; case $f in F*) exit 1;; esac";
    for (file, more, want) in [
        ("quiet", &[][..], "no longer names its tests"),
        ("silent", &["--report", "r.xml"], "no longer writes a report"),
    ] {
        let stage = Stage::repository();
        counted(&stage, named);
        let worker = format!("[ $n = 1 ] && touch {file}; [ $n = 2 ] && rm {file}; {MENDED}");
        let ended = run(&stage, &worker, &[&["--check", "sh tests/run.sh"], more].concat()).with_status(0);
        assert_eq!(stage.calls(), 2, "{ended:?}");
        let reasons = stage.verdicts()[0]["reasons"].to_string();
        assert!(reasons.contains("tests_unseen") && reasons.contains(want), "{reasons}");
    }
}

#[test]
fn s64_a_file_of_tests_that_could_not_be_loaded_has_to_stay_or_be_moved() {
    let stage = Stage::repository();
    stage.write("tests/add_test.c", "int main() { return 0 }\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "a test"]);
    let check = "grep -qs ' }' tests/add_test.c && { echo 'tests/add_test.c:1:23: error: no semicolon'; exit 1; }; true";
    stage.write("src/add_test.c", "int main() { return 0; }\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "a file of the same name"]);
    let worker = "[ $n = 1 ] && rm tests/add_test.c && echo >>src/add_test.c; \
                  [ $n = 2 ] && git checkout -q tests && mkdir more && git mv tests/add_test.c more";
    let ended = run(&stage, worker, &["--check", check]).with_status(0);
    assert_eq!(stage.calls(), 2, "{ended:?}");
    let reasons = stage.verdicts()[0]["reasons"].to_string();
    assert!(reasons.contains("before the work began: tests/add_test.c; put back"), "{reasons}");
}

#[test]
fn s64_a_test_that_fails_without_an_exit_code_is_found_out() {
    let stage = Stage::repository();
    let test = ". ./src/add.sh; r=$(add 2 3); [ $r = 5 ] && exit; echo FAIL add: expected 5, got $r; exit 1";
    stage.write("tests/add.sh", test);
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "a test"]);
    let worker = format!(
        "[ $n = 1 ] && sed -i 's/exit 1/exit 0/' tests/add.sh; [ $n = 2 ] && git checkout -q tests && {MENDED}"
    );
    let ended = run(&stage, &worker, &["--check", "sh tests/add.sh"]).with_status(0);
    assert_eq!(stage.calls(), 2, "{ended:?}");
    let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "a removed one may not be seen",
        "exits with 0, but tells of 1 failure itself: add",
        "note work #2: tests_unseen: ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn s65_a_change_of_too_many_files_is_incomplete() {
    let stage = Stage::repository();
    let worker = format!("[ $n = 1 ] && touch src/a src/b src/c || rm -f src/a src/b src/c; {MENDED}");
    let ended = run(&stage, &worker, &["--check", TESTS, "--max-files", "2"]).with_status(0);
    assert!(ended.out.contains("diff_budget"), "{ended:?}");
    assert_eq!(stage.calls(), 2);
}

#[test]
fn s34_a_stuck_run_leaves_a_diagnosis_that_can_be_made_again() {
    let stage = Stage::repository();
    let ended = run(&stage, "echo \"# try $n\" >>src/add.sh", &["--check", TESTS]).with_status(3);
    let line = ended.out.lines().find(|line| line.contains("diagnosis ")).expect("it says where");
    let page = std::path::PathBuf::from(line.split_whitespace().nth(1).expect("a path"));
    let again = stage.scratch("again");
    stage.unstuck(&["artifacts", "--to", &again.to_string_lossy()]).with_status(0);
    let files = crate::stage::files(page.parent().expect("a folder"));
    assert_eq!(files.len(), 8, "{files:?}");
    for file in files {
        let name = file.file_name().expect("a name");
        let text = fs::read_to_string(&file).expect("it can be read");
        assert_eq!(text, fs::read_to_string(again.join("work").join(name)).expect("it was made again"));
        if file.extension().is_some_and(|extension| extension == "json") {
            serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
        }
    }
    let page = fs::read_to_string(page).expect("it can be read");
    for part in [
        "stuck: the same failures again",
        "in every iteration",
        "expected 5, got -1",
        "src/add.sh +1 −0",
        "--no-new-failures",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn s29_reviewer_with_new_findings_each_time_is_not_progress() {
    let stage = Stage::repository();
    let review = "n=$(wc -l <\\\"$SCRATCH/calls\\\"); echo '{\\\"decision\\\": \\\"incomplete\\\", \\\"fingerprints\\\": \
                  [\\\"finding '$n'\\\"], \\\"check_id\\\": \\\"'$UNSTUCK_CHECK_ID'\\\"}'";
    let work = "echo call >>\\\"$SCRATCH/calls\\\"; seq 1 50 >>src/more";
    stage.workflow(
        "",
        &format!(
            "worker: COMMAND\ncommand: \"{work}\"\ninstructions: do it\nmax_iterations: 20\n\
             completion_check: {{worker: COMMAND, command: \"{review}\", instructions: review it, decision_file: v.json}}\n\
             convergence: {{enabled: true, stall_threshold: 2}}"
        ),
    );
    stage
        .unstuck(&["run", "flow.yaml"])
        .with_status(3)
        .says("other failures each time, and nothing gets better");
    let raised = stage.facts("stage_raised");
    assert!(raised.iter().all(|fact| fact["cause"] == "diverging"), "{raised:?}");
    assert_eq!(raised.len(), 2);
}

#[test]
fn s35_every_stop_has_a_reason_of_a_closed_set() {
    let order =
        fs::read_to_string(crate::stage::repository("store/tests/golden/v1/order.txt")).expect("pinned");
    let closed = |name: &str| -> Vec<String> {
        let line = order
            .lines()
            .find_map(|line| line.strip_prefix(&format!("enum {name}: ")))
            .expect("it is pinned");
        line.split_whitespace().map(str::to_owned).collect()
    };
    let word = |value: &serde_json::Value| match value {
        serde_json::Value::Object(map) => map.keys().next().cloned().unwrap_or_default(),
        other => other.as_str().unwrap_or_default().to_owned(),
    };
    for (worker, more, status) in [
        ("date >>src/add.sh", &["--check", TESTS][..], 3),
        ("true", &["--check", TESTS], 3),
        (MENDED, &["--check", TESTS], 0),
        ("date >>src/add.sh", &["--check", TESTS, "--max-iterations", "1"], 2),
        ("exit 7", &["--check", TESTS], 5),
        ("true", &["--check", "./no-such-program"], 5),
    ] {
        let stage = Stage::repository();
        run(&stage, worker, more).with_status(status);
        for (kind, key, name) in [
            ("stage_raised", "cause", "StallCause"),
            ("step_ended", "end", "StepEnd"),
            ("run_ended", "outcome", "RunOutcome"),
        ] {
            for fact in stage.facts(kind) {
                assert!(closed(name).contains(&word(&fact[key])), "{name}: {fact}");
            }
        }
    }
}

#[test]
fn s74_a_policy_that_would_have_let_it_through_ends_where_the_run_did() {
    let stage = Stage::repository();
    let rules = ["--check", "true", "--max-lines", "3", "--allow", "docs/**", "--max-iterations", "1"];
    run(&stage, "seq 9 >docs.txt", &rules).with_status(2);
    let ask = |changes: &[&str]| {
        let changes =
            changes.iter().flat_map(|change| ["--what-if".to_owned(), format!("steps.work.{change}")]);
        let words: Vec<String> = ["replay".to_owned()].into_iter().chain(changes).collect();
        stage.unstuck(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let all = ["convergence.max_changed_lines=100", "convergence.allowed_paths=[\"**\"]"];
    let answer = ask(&all).with_status(0);
    let ends = answer.out.contains("recorded OUT OF ITERATIONS, then COMPLETE");
    assert!(ends && !answer.out.contains("ends there"), "{answer:?}");
    ask(&all[..1]).with_status(0).says("then OUT OF ITERATIONS");
    // Without a baseline the earlier failures are unknown.
    let rest = "worker: CUSTOM\ncapabilities: [EDIT]\ninstructions: date >>src/new\nmax_iterations: 2\n\
                completion_check: {commands: ['true']}";
    stage.workflow("", rest);
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    ask(&["completion_check.baseline=gate"]).with_status(64).complains("was run without a baseline");
}

#[test]
fn s74_replay_says_where_evidence_ends_under_another_policy() {
    let stage = Stage::repository();
    let step = |id: &str, more: &str| {
        format!(
            "  {id}:\n    worker: CUSTOM\n    capabilities: [EDIT]\n    instructions: echo x >>{id}.txt\n    max_iterations: 5\n    \
             completion_check: {{commands: ['test $(grep -c x {id}.txt) -gt 2'], baseline: 'off'}}\n    \
             on_iterations_exhausted: continue\n{more}"
        )
    };
    let steps = step("a", "") + &step("b", "    depends_on: [a]\n");
    stage.write("flow.yaml", format!("name: two\nversion: \"1\"\ntimeout: 5m\nsteps:\n{steps}"));
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    // The recorded run continues a step that the other policy would have given up by then.
    stage
        .unstuck(&["replay", "--what-if", "steps.a.max_iterations=2"])
        .with_status(0)
        .says("b #1: work is due")
        .says("the run would have been doing something else by then, of which nothing was recorded")
        .says("then not known");
}

#[test]
fn s74_a_decision_is_debugged_with_another_policy_and_a_better_reader() {
    let stage = Stage::repository();
    run(&stage, "date >>src/add.sh", &["--check", TESTS, "--max-iterations", "4"]).with_status(2);
    let ask = |more: &[&str]| stage.unstuck(&[&["replay"][..], more].concat()).with_status(0);
    assert_eq!(ask(&["--json"]).out, ask(&["--json"]).out, "the same log gives the same bytes");
    ask(&["--to", "9"]).says("9 events folded");
    let raised =
        stage.events().into_iter().find(|event| event["type"] == "stage_raised").expect("it was raised");
    let seq = raised["seq"].to_string();
    stage
        .unstuck(&["why", "@last", "--at", &seq])
        .with_status(0)
        .says("stage 1 -> 2")
        .says("workspace changed");
    // Would less patience have stopped it? That changes the prompt, which is said.
    let stopped = ask(&["--what-if", "steps.work.convergence.stall_threshold=2"]);
    stopped.says("stage 1 -> 2").says("would have been asked something else").says("then STUCK");
    ask(&["--what-if", "steps.work.max_iterations=3"]).says("then OUT OF ITERATIONS");
    ask(&["--what-if", "steps.work.completion_check.baseline=off"])
        .says("end: recorded OUT OF ITERATIONS, then OUT OF ITERATIONS");
    ask(&["--what-if", "steps.work.convergence.allowed_paths=[\"docs/**\"]"])
        .says("scope: undo what was changed");
    let uncounted = ["replay", "--what-if", "steps.work.convergence.max_changed_lines=3"];
    stage.unstuck(&uncounted).with_status(64).complains("were not counted");
    ask(&["--what-if", "steps.work.convergence.protected_paths=[\".env\"]"])
        .says("nobody looked at files that git ignores, of .env");
    // Refuses changes that would run something else, which was not recorded, and values that a file may not have.
    let refused = |change: &str, why: &str| {
        let change = format!("steps.work.{change}");
        stage.unstuck(&["replay", "--what-if", &change]).with_status(64).complains(why);
    };
    for change in [
        "completion_check.observations=1",
        "completion_check.observations=5",
        "completion_check.commands.1.run=true",
        "completion_check.timeout=1ms",
        "command=rm",
        "timeout=1s",
    ] {
        refused(change, "was not recorded");
    }
    refused("completion_check.commands=[]", "an empty list");
    // Only keys of the file format are accepted, not the names and fields that a policy has internally.
    let bad = |change: &str, why: &str| {
        stage.unstuck(&["replay", "--what-if", change]).with_status(64).complains(why);
    };
    bad("accepts_unknown=true", "no key accepts_unknown; at this place there are: ");
    bad("budget.max_usd=1", "no key budget.max_usd; at this place there are: ");
    bad("max_iterations=3", "did you mean steps.work.max_iterations? ");
    bad("max_iterations.x=3", "no key max_iterations.x");
    bad("sentinel.enabled=true", "does not record sentinel.enabled by itself");
    refused("check.baseline=off", "no key steps.work.check.baseline");
    refused("max_iterations.x=3", "nothing stands at this place");
    refused("max_iteration=3", "did you mean steps.work.max_iterations? ");
    refused("stall_threshold=3", "did you mean steps.work.convergence.stall_threshold? ");
    refused("convergence.stall_treshold=3", "did you mean steps.work.convergence.stall_threshold? ");
    refused("convergence.overlays=[]", "no key steps.work.convergence.overlays");
    // Nothing is named that would be refused, too.
    let listed = stage.unstuck(&["replay", "--what-if", "steps.work.qwertz=3"]).with_status(64);
    assert!(!listed.err.contains("timeout") && listed.err.contains("max_retries"), "{listed:?}");
    refused("convergence.allowed_paths=[\"../x\"]", "leads out");
    refused("convergence.stages=2", "expected");
    ask(&["--what-if", "steps.work.convergence.stages=[{stage: 2, append_instructions: less}]"])
        .says("every decision would have been the same");
    ask(&["--reparse"]).says("every decision would have been the same");
    // An output that is gone or damaged is not taken for one that says nothing.
    let finished = stage.facts("check_finished");
    let mut output = finished
        .iter()
        .flat_map(|check| check["commands"].as_array())
        .flatten()
        .map(|command| &command["stdout"]);
    let kept = output.next_back().expect("there are commands");
    let digest = kept["digest"].as_str().expect("an output is kept");
    let blob = stage.kept().into_iter().find(|path| path.ends_with(digest)).expect("it is kept");
    let whole = fs::read(&blob).expect("it is there");
    for (what, said) in [(None, "its output was not kept"), (Some(b"forged"), "its output cannot be read")] {
        fs::remove_file(&blob).expect("it is there");
        if let Some(content) = what {
            fs::write(&blob, content).expect("it is ours");
        }
        ask(&["--reparse"]).says("and ends there").says(said);
        stage.unstuck(&["verify"]).with_status(6).complains(digest);
        fs::write(&blob, &whole).expect("it is ours");
    }
    stage.verify();
}

#[test]
fn s64_a_machine_report_tells_what_the_output_does_not() {
    let stage = Stage::repository();
    let report = "<testsuite><testcase classname='shop' name='pays'><failure message='3 is not 4'/></testcase></testsuite>";
    let passed = "<testsuite><testcase classname='shop' name='pays'/></testsuite>";
    stage.write(
        "check.sh",
        format!(
            "mkdir -p out; [ -e src/done ] && {{ echo \"{passed}\" >out/junit.xml; exit 0; }}; \
             echo \"{report}\" >out/junit.xml; exit 1\n"
        ),
    );
    stage.write("out/old.xml", report.replace("pays", "stale"));
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "check"]);
    let more = &["--check", "sh check.sh", "--report", "out/*.xml", "--check-attempts", "1"];
    run(&stage, "[ $n -ge 2 ] && touch src/done", more).with_status(0);
    let prompts = stage.noted("prompts");
    assert!(prompts.contains("pays") && prompts.contains("3 is not 4"), "{prompts}");
    assert!(!prompts.contains("stale"), "{prompts}");
}

/// Runs a worker that does `by` in each iteration, on a file with 24 places that violate one rule.
fn mends_places(stage: &Stage, by: &str) -> Ended {
    let places: String = (1..=24).map(|at| format!("line {at} bad\n")).collect();
    stage.write("places.txt", places);
    stage.write(
        "lint.sh",
        "awk '/bad/ { print \"places.txt:\" NR \":1: E711 Comparison to None\"; n++ } END { if (n) print \"Found \" n \" errors.\"; exit n > 0 }' places.txt",
    );
    let worker = format!("cat >\"$SCRATCH/prompt\"; {by}");
    stage.unstuck(&["run", "mend", "--check", "sh lint.sh", "--with", &worker, "--max-iterations", "14"])
}

#[test]
fn s24_one_rule_that_is_broken_at_fewer_places_each_time_is_progress_and_at_as_many_is_none() {
    let stage = Stage::repository();
    let three = "for i in 1 2 3; do sed -i '0,/bad/s/bad/good/' places.txt; done";
    mends_places(&stage, three).with_status(0).says("fail 24 → 21");
    let swings = "if grep -q bad.*x places.txt; then sed -i 's/ x$//; 0,/good/s/good/bad/' places.txt; else sed -i '0,/bad/s/bad/good/; s/$/ x/' places.txt; fi";
    mends_places(&Stage::repository(), swings).with_status(3).says("STUCK");
}

#[test]
fn test_that_could_not_run_is_not_reported_as_fixed() {
    let stage = Stage::repository();
    let panicked = "\\n\\nfailures:\\n\\n---- adds stdout ----\\nthread 'adds' panicked at src/lib.rs:3:5:\\nboom\\n\\n\\nfailures:\\n    adds\\n";
    let result = |passed: u8, failed: u8| {
        format!(
            "\\ntest result: {}. {passed} passed; {failed} failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\\n",
            if failed > 0 { "FAILED" } else { "ok" }
        )
    };
    stage.write(
        "check.sh",
        format!(
            "case $(cat src/state) in\n\
             broken) printf 'error[E0425]: cannot find value `x` in this scope\\n --> src/lib.rs:1:5\\n' >&2; exit 101;;\n\
             half) printf \"running 2 tests\\ntest adds ... ok\\ntest cuts ... FAILED{}{}\"; exit 101;;\n\
             done) printf 'running 2 tests\\ntest adds ... ok\\ntest cuts ... ok\\n{}';;\n\
             *) printf \"running 2 tests\\ntest adds ... FAILED\\ntest cuts ... ok{panicked}{}\"; exit 101;;\n\
             esac",
            panicked.replace("adds", "cuts"),
            result(1, 1),
            result(2, 0),
            result(1, 1),
        ),
    );
    stage.write("src/state", "failing\n");
    let worker = "case $n in 1) echo more >src/more;; 2) echo broken >src/state;; 3) echo failing >src/state;; \
                  4) echo half >src/state;; *) echo done >src/state;; esac; cp \"$SCRATCH/prompt\" \"$SCRATCH/prompt.$n\"";
    run(&stage, worker, &["--check", "sh check.sh", "--max-iterations", "6"]).with_status(0);
    let prompt = |n: u8| stage.noted(&format!("prompt.{n}"));
    for (n, told, not_told) in [
        (3, "Not seen in this check (may not have run): adds", "Fixed since"),
        (5, "Fixed since the last check: adds", "Not seen in this check"),
    ] {
        let prompt = prompt(n);
        assert!(prompt.contains(told) && !prompt.contains(not_told), "{n}: {prompt}");
    }
}

#[test]
fn output_of_two_commands_is_shown_to_the_worker_once() {
    let stage = Stage::repository();
    stage.write("check.sh", "printf 'a.py:%s:1: E501 line too long\\n' $*; test -e done");
    let worker = "[ $n = 2 ] && touch done; date >>src/new; cp \"$SCRATCH/prompt\" \"$SCRATCH/prompt.$n\"";
    run(&stage, worker, &["--check", "sh check.sh 3", "--check", "sh check.sh 3 # again"]).with_status(0);
    let prompt = stage.noted("prompt.2");
    assert_eq!(prompt.matches("```\na.py:3:1: E501 line too long").count(), 1, "{prompt}");
    assert!(prompt.contains("Failing here, too, and shown above: "), "{prompt}");
    assert!(!prompt.contains("f1:"), "no fingerprint is of use to a worker: {prompt}");
}

#[test]
fn the_files_of_continuous_integration_stay_as_they_are_unless_all_may_change() {
    let strays = "mkdir -p .github/workflows; [ $n = 1 ] && echo 'on: never' >.github/workflows/ci.yml || rm -rf .github; touch done";
    let more: [(&[&str], u32); 3] =
        [(&[], 2), (&["--allow", "**"], 1), (&["--allow", ".github/**", "--allow", "done"], 1)];
    for (options, calls) in more {
        let stage = Stage::repository();
        let ended = run(&stage, strays, &[&["--check", "test -e done"], options].concat()).with_status(0);
        assert_eq!(stage.calls(), calls, "{options:?} {ended:?}");
        assert_eq!(ended.out.contains("not the files of CI"), calls == 2, "{ended:?}");
        let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.contains("protected paths: .github/workflows/ci.yml"), calls == 2, "{said}");
    }
    // A store in memory keeps no snapshots, so changed CI files are not detected.
    let stage = Stage::repository();
    let words = ["--store", "memory:", "run", "go", "--check", "test -e done", "--with", "touch done"];
    stage.unstuck(&words).with_status(0);
}
