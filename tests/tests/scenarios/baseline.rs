//! The baseline: failures found before the work begins, and their use afterwards.

use crate::stage::{Ended, Stage};

/// Runs a goal with a worker that is a line of shell; it counts its calls in `$n`.
fn run(stage: &Stage, worker: &str, more: &[&str]) -> Ended {
    let count = "echo call >>\"$SCRATCH/calls\"; n=$(wc -l <\"$SCRATCH/calls\")";
    stage.write("../scratch/worker.sh", format!("{count}\n{worker}\ntrue\n"));
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    stage.unstuck(&[&["run", "make the tests pass", "--with", &command][..], more].concat())
}

/// Makes a repository of a check that prints what all files `*.tap` hold, and of what else a line of shell makes.
fn of_lists(make: &str) -> Stage {
    let stage = Stage::repository();
    let check = "echo run >>\"$SCRATCH/checks\"; cat a.tap */*.tap 2>/dev/null >\"$SCRATCH/all\"
                 [ -e .env ] || sed -i 's/^not \\(ok.*needs env\\)/\\1 # SKIP/' \"$SCRATCH/all\"
                 cat \"$SCRATCH/all\"; ! grep -q '^not' \"$SCRATCH/all\"";
    stage.write("t.sh", check);
    stage.write("a.tap", "ok 1 - a\n");
    let made = stage.shell(&stage.workspace(), &format!("set -e; {make}; git add -A; git commit -qm made"));
    assert!(made.status.success(), "{made:?}");
    stage
}

/// A repository within another, with a test that fails.
const LIB: &str =
    "git init -q lib; echo 'not ok 2 - b' >lib/b.tap; git -C lib add -A; git -C lib commit -qm lib";

#[test]
fn s30_what_a_clean_checkout_leaves_out_is_looked_at_in_the_workspace() {
    let env = "echo .env >.gitignore; touch .env; echo 'not ok 2 - b needs env' >>a.tap";
    let ignored = format!("echo /lib >.gitignore; {LIB}");
    let linked = "mkdir ../out; echo 'not ok 2 - b' >../out/b.tap; ln -s ../out out";
    let lacks = Some("in a clean checkout lib is empty");
    for (make, remove, note) in [
        (env, "sed -i /needs/d a.tap", None),
        (LIB, "rm lib/b.tap", lacks),
        (&ignored, "rm lib/b.tap", None),
        (linked, "rm ../out/b.tap", Some("in a clean checkout out is empty")),
    ] {
        let stage = of_lists(make);
        let ended = run(&stage, remove, &["--check", "sh t.sh", "--max-iterations", "1"]).with_status(2);
        let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("baseline sh t.sh: 1 failure, 2 tests"), "{make}: {said}");
        let told = note.map(|note| format!("the baseline was taken in the workspace: {note}"));
        assert!(told.is_none_or(|told| said.contains(&told)), "{make}: {said}");
        let reasons = stage.verdict()["reasons"].to_string();
        assert!(reasons.contains("tests_removed: `sh t.sh` ran 1 of the 2 tests"), "{make}: {reasons}");
        // Failures of the baseline are not held against the worker.
        let stage = of_lists(make);
        run(&stage, "echo more >more", &["--no-new-failures", "sh t.sh"]).with_status(0);
        assert_eq!(stage.calls(), 1, "{make}");
    }
}

#[test]
fn s105_checks_run_as_often_as_they_must() {
    for make in [
        "echo /target >.gitignore; mkdir -p target/deep; touch target/deep/x .git/info/exclude",
        "mkdir full; touch full/x; ln -s full link; ln -s nowhere nothing",
        "mkdir lib; echo 'ok 2 - b # SKIP for ever' >lib/b.tap",
    ] {
        let stage = of_lists(make);
        let ended = run(&stage, "touch more", &["--check", "sh t.sh"]).with_status(0);
        assert_eq!(stage.noted("checks").lines().count(), 2, "{make}: {ended:?}");
        assert!(!ended.out.contains("the baseline was taken in the workspace"), "{make}: {ended:?}");
    }
    // A failure that was there before runs once more in each iteration, a new one twice.
    let red = "echo 'not ok 2 - b' >>a.tap";
    for (worker, checks) in [
        ("[ $n = 3 ] && sed -i 's/^not //' a.tap || echo >>other", 1 + 3),
        ("sed -i 's/^not //' a.tap; [ $n = 1 ] && echo 'not ok 3 - c' >>a.tap", 1 + 2 + 1),
    ] {
        let stage = of_lists(red);
        let ended = run(&stage, worker, &["--check", "sh t.sh"]).with_status(0);
        assert_eq!(stage.noted("checks").lines().count(), checks, "{worker}: {ended:?}");
    }
}

#[test]
fn s30_check_cut_short_before_the_work_is_rejected_as_baseline() {
    let later = |before: &str| format!("test -e \"$SCRATCH/up\" || {before}; echo 'ok 1 - a'");
    let worker = "touch \"$SCRATCH/up\"; echo $n >src/n";
    for (before, told) in [
        ("sleep 99", "it had not ended after 1.0 s and was ended; give it more time"),
        ("kill -9 $$", "it was ended by signal 9; mend it, or begin again with `--baseline off`"),
        ("exit 137", "it was ended by signal 9; mend it, or begin again with `--baseline off`"),
    ] {
        let check = later(before);
        let more = ["--check", &check, "--check-timeout", "1s"];
        let stage = Stage::repository();
        let ended = run(&stage, worker, &more).with_status(5);
        let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(told) && !said.contains("0 failures"), "{said}");
        assert_eq!(stage.calls(), 0, "{said}");
        if before != "sleep 99" {
            for mode in ["report", "off"] {
                let stage = Stage::repository();
                run(&stage, worker, &[&more[..], &["--baseline", mode]].concat()).with_status(0);
                assert_eq!(stage.calls(), 1, "{mode}");
            }
        }
    }
    // So most plain scripts fail.
    let stage = Stage::repository();
    let ended = run(&stage, worker, &["--check", &later("exit 3")]).with_status(0);
    let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains(": fails with exit code 3, and nothing in its output says what"), "{said}");
}

#[test]
fn s31_failing_test_made_flaky_is_not_fixed() {
    let at_times = "echo x >>\"$SCRATCH/runs\"; [ $(($(wc -l <\"$SCRATCH/runs\") % 2)) = 0 ]";
    let tests = "for t in a b; do sh $t.sh && echo \"ok - $t\" || { echo \"not ok - $t\"; bad=1; }; done; [ -z \"$bad\" ]";
    let stage_of = |a: &str, b: &str| {
        let stage = Stage::repository();
        [("a.sh", a), ("b.sh", b), ("t.sh", tests)].iter().for_each(|(name, text)| stage.write(name, text));
        stage.write("../scratch/at_times.sh", at_times);
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-qm", "made"]);
        stage
    };
    let check = ["--check", "sh t.sh"];
    let stage = stage_of("exit 1", "exit 0");
    let worker = "[ $n = 1 ] && cp \"$SCRATCH/at_times.sh\" a.sh || echo exit 0 >a.sh";
    run(&stage, worker, &check).with_status(0);
    assert_eq!(stage.calls(), 2);
    let reasons = stage.verdicts()[0]["reasons"].to_string();
    assert!(reasons.contains("fails: a (exit code 1, 1 of them failed before the work began)"), "{reasons}");
    let stage = stage_of("exit 1", "exit 0");
    let worker = "echo exit 0 >a.sh; cp \"$SCRATCH/at_times.sh\" b.sh; echo >>a.sh";
    let ended = run(&stage, worker, &check).with_status(0).says("1 flaky (b)");
    assert_eq!((stage.calls(), stage.facts("stage_raised").len()), (1, 0));
    let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "note work #1: flaky: `sh t.sh` passes at one time and fails at another (run 2 times)";
    assert!(said.contains(note), "{said}");
}
