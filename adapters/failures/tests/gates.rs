//! Findings of the gates of a check, with outputs of real tools.

use std::slice;

use unstuck_core::event::Exit;
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::TestName;
use unstuck_core::id::{Blob, Digest, Millis};
use unstuck_core::judge::gate::{BaselineResult, GateReport, findings, no_baseline, to_look_up};
use unstuck_core::judge::missing_tests::reporters_gone_quiet;
use unstuck_core::workflow::{Baseline, CheckCommand, Gate};
use unstuck_failures::{CommandFailures, TestResults, ToolOutput, analyze, list};

/// Returns the result of a command of a check with this exit and output.
fn command_result(run: &str, exit: &Exit, said: &str) -> CommandResult {
    let output =
        ToolOutput { command: run, exit_code: exit.code(), stdout: said.as_bytes(), ..ToolOutput::default() };
    let CommandFailures { extraction, tests, listing } = analyze(&output);
    CommandResult {
        run: run.to_owned(),
        exit: exit.clone(),
        duration: Millis(0),
        stdout: None,
        stderr: None,
        reports: Vec::new(),
        tail: said.to_owned(),
        tool: extraction.tool,
        failures: extraction.failures,
        failures_left_out: 0,
        flaky: Vec::new(),
        confidence: extraction.confidence,
        tests,
        listed: listing.compare_failed(&[], &TestResults::default()),
        observations: 1,
        numbers: Vec::new(),
    }
}

fn before_the_work(base: &CommandResult) -> BaselineResult<'_> {
    BaselineResult { base: Some(base), mode: Baseline::Gate }
}

/// Returns the texts of reasons or problems.
fn texts<T: ToString>(said: &[T]) -> Vec<String> {
    said.iter().map(ToString::to_string).collect()
}

/// Checks the finding of each gate for a command that failed with the output `before`. `want` is the beginning of its
/// reason or problem, or empty.
fn check(before: &str, after: &str, want: &str) {
    let base = command_result("t", &Exit::Code(1), before);
    let mut now = command_result("t", &Exit::Code(0), after);
    let [was, output] =
        [before, after].map(|said| ToolOutput { stdout: said.as_bytes(), ..ToolOutput::default() });
    now.listed = list(&output).compare(&base.listed.failed, &list(&was));
    for gate in [Gate::Pass, Gate::NoNewFailures] {
        let mut findings = GateReport::default();
        findings.add(gate, &now, before_the_work(&base));
        let said = [texts(&findings.reasons), texts(&findings.problems)].concat();
        assert_eq!(said.len(), usize::from(!want.is_empty()), "{after}: {said:?}");
        assert!(said.concat().starts_with(want), "{after}: {said:?}");
    }
}

/// Checks the finding of the gate *no new failures* for a command that fails as before.
fn check_unread(before: &str, after: &str, want: &str) {
    let base = command_result("t", &Exit::Code(1), before);
    let now = command_result("t", &Exit::Code(1), after);
    let mut findings = GateReport::default();
    findings.add(Gate::NoNewFailures, &now, before_the_work(&base));
    let said = texts(&findings.reasons).concat();
    assert!(said.starts_with(want) && said.is_empty() == want.is_empty(), "{after}: {said}");
}

#[test]
fn a_failure_that_is_counted_and_could_not_be_read_goes_through_no_gate() {
    let mocha = |count: u32, listed: &str| format!("  1 passing\n  {count} failing\n\n{listed}");
    let one = "  1) adds:\n     Error: x\n      at t.js:1:1\n";
    check_unread(&mocha(1, one), &mocha(1, one), "");
    check_unread(
        &mocha(1, one),
        &mocha(2, one),
        "`t` is inconclusive, which passes no gate: it counts 2 failed",
    );
    // A failure that could not be read in the baseline is not new.
    check_unread(&mocha(2, one), &mocha(2, one), "");
}

#[test]
fn a_baseline_that_was_cut_calls_nothing_new_and_lets_nothing_through_that_it_does_not_know() {
    const UNKNOWN: &str = "`t` is inconclusive, which passes no gate: it showed 5 failures before";
    let tap = |names: &str| names.split(' ').map(|name| format!("not ok 1 - {name}\n")).collect::<String>();
    for ((before, before_out), (after, after_out), want) in [
        (("a b", 3), ("a b", 0), ""),
        (("a b", 3), ("a b", 3), UNKNOWN),
        (("a b", 3), ("a c", 0), UNKNOWN),
        (("a b", 3), ("a c", 3), UNKNOWN),
        (("a b", 3), ("a b", 4), "`t` shows more failures, 6, than the 5 before the work began"),
        (("a b", 3), ("a b c d e f", 0), "`t` shows more failures, 6, than the 5 before the work began"),
        // If the baseline is complete, every other failure is new.
        (("a b", 0), ("a c", 0), "`t` shows new failures: c"),
        (("a b", 0), ("a c", 3), "`t` shows new failures: c"),
    ] {
        let result = |names: &str, left_out: u64| CommandResult {
            failures_left_out: left_out,
            ..command_result("t", &Exit::Code(1), &tap(names))
        };
        let (base, now) = (result(before, before_out), result(after, after_out));
        let mut findings = GateReport::default();
        findings.add(Gate::NoNewFailures, &now, before_the_work(&base));
        let said = texts(&findings.reasons).concat();
        assert!(said.starts_with(want) && said.is_empty() == want.is_empty(), "{after} {after_out}: {said}");
        assert_eq!(findings.fingerprints.is_empty(), want.is_empty(), "{after} {after_out}");
    }
}

#[test]
fn failures_that_were_left_out_are_counted_with_those_that_are_not_named() {
    let said = (1..=9).map(|at| format!("not ok {at} - t{at}\n")).collect::<String>();
    let now = CommandResult { failures_left_out: 20, ..command_result("t", &Exit::Code(1), &said) };
    let mut findings = GateReport::default();
    findings.add(Gate::Pass, &now, BaselineResult { base: None, mode: Baseline::Off });
    assert!(
        texts(&findings.reasons).concat().contains("t8, and 21 more (exit code 1)"),
        "{:?}",
        findings.reasons
    );
}

#[test]
fn an_exit_code_of_0_does_not_make_a_failure_of_the_summary_pass() {
    let said =
        "= short test summary info =\nFAILED t.py::test_b - assert 1 == 2\n1 failed, 1 passed in 0.01s";
    let base = command_result("t", &Exit::Code(1), said);
    let quiet = command_result("t", &Exit::Code(0), said);
    for gate in [Gate::Pass, Gate::NoNewFailures] {
        let found = |base: &CommandResult| {
            let mut findings = GateReport::default();
            findings.add(gate, &quiet, before_the_work(base));
            texts(&findings.reasons).concat()
        };
        let belied = "`t` exits with 0, but counts 1 failed test itself: t.py::test_b; mend";
        assert!(found(&base).starts_with(belied));
        // A failure that the baseline has, too, is not new, but the command does not pass.
        assert!(found(&quiet).starts_with(if gate == Gate::Pass { belied } else { "" }));
        assert_eq!(found(&quiet).is_empty(), gate == Gate::NoNewFailures);
    }
}

#[test]
fn unnamed_failure_counted_behind_a_pipe_does_not_pass() {
    let tail = |failed: u32| {
        let said = format!("{failed} failed, {} passed in 0.01s", 3 - failed);
        command_result("t", &Exit::Code(0), &said)
    };
    for (gate, before, now, want) in [
        (Gate::Pass, 1, 1, "`t` exits with 0, but counts 1 failed test itself; mend"),
        (Gate::Pass, 1, 2, "`t` exits with 0, but counts 2 failed tests itself; mend"),
        (Gate::Pass, 1, 0, ""),
        (Gate::NoNewFailures, 1, 1, "`t` is inconclusive, which passes no gate: it counts 1 failed test,"),
        (Gate::NoNewFailures, 1, 0, ""),
    ] {
        let mut findings = GateReport::default();
        findings.add(gate, &tail(now), before_the_work(&tail(before)));
        let said = texts(&findings.reasons).concat();
        assert!(
            said.starts_with(want) && said.is_empty() == want.is_empty(),
            "{gate:?} {before} {now}: {said}"
        );
    }
    let asks = |gate| [CheckCommand { run: "t".to_owned(), gate, reports: Vec::new() }];
    let why = no_baseline(&asks(Gate::NoNewFailures), &[tail(1)], Baseline::Gate).expect("none is named");
    assert!(why.contains("it counts 1 failed test, and names none; use it with --check"), "{why}");
    assert_eq!(no_baseline(&asks(Gate::Pass), &[tail(1)], Baseline::Gate), None);
}

#[test]
fn failing_test_that_may_be_skipped_is_not_fixed() {
    let before =
        "= short test summary info =\nFAILED t.py::test_b - assert 1 == 2\n1 failed, 2 passed in 0.01s";
    let skips =
        "tests_removed: `t` skips 1 test, 0 before the work began, and does not name those that it runs";
    check(before, "3 passed, 1 skipped in 0.01s", skips);
    check(before, "3 passed, 1 xfailed in 0.01s", skips);
    check(before, "3 passed, 1 deselected in 0.01s", skips);
}

#[test]
fn a_failure_that_takes_the_place_of_another_is_new_whatever_the_exit_code() {
    let said = |test: &str| {
        format!(
            "= short test summary info =\nFAILED t.py::{test} - assert 1 == 2\n1 failed, 1 passed in 0.01s"
        )
    };
    let result = |code: i32, test: &str| command_result("t", &Exit::Code(code), &said(test));
    for (before, now) in [(0, 0), (1, 0), (0, 1)] {
        let mut findings = GateReport::default();
        let base = result(before, "test_a");
        findings.add(Gate::NoNewFailures, &result(now, "test_b"), before_the_work(&base));
        assert_eq!(
            texts(&findings.reasons),
            [format!("`t` shows new failures: t.py::test_b (exit code {now})")],
            "{before} {now}"
        );
    }
}

#[test]
fn removed_failing_test_is_not_fixed() {
    const ONE_GONE: &str = "tests_removed: `t` does not run a test that failed before the work began: b; put";
    const ONE_SWAPPED: &str =
        "tests_removed: `t` does not run a test that passed before the work began: a; put";
    const BOTH_SWAPPED: &str =
        "tests_removed: `t` does not run tests that passed or failed before the work began: b, a; put";
    const FEWER: &str = "tests_removed: `t` ran 1 of the 2 tests that ran before the work began; put";
    const NONE: &str = "tests_removed: `t` ran 0 of the 2 tests";
    const SWAPPED: &str = "tests_unseen: `t` does not name the tests that pass, so it is not known whether those that \
         failed before the work began were fixed or replaced by others: T#test_b; let";
    let cargo = "test a ... ok\ntest b ... FAILED\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored;";
    let passed = "test result: ok. 2 passed; 0 failed; 0 ignored;";
    check(cargo, &format!("test a ... ok\ntest b ... ok\n{passed}"), "");
    // The output does not show whether the test was renamed or fixed.
    check(cargo, passed, "tests_unseen: `t` no longer names its tests, as it did");
    check(cargo, &format!("test a ... ok\ntest zzz ... ok\n{passed}"), ONE_GONE);
    check(cargo, &format!("test a ... ok\ntest b ... ignored\ntest c ... ok\n{passed}"), ONE_GONE);
    // A passed test must not be replaced by another either.
    check(cargo, &format!("test b ... ok\ntest c ... ok\n{passed}"), ONE_SWAPPED);
    check(cargo, &format!("test c ... ok\ntest d ... ok\n{passed}"), BOTH_SWAPPED);
    check(cargo, &format!("test m::a ... ok\ntest b ... ok\n{passed}"), "");
    check(cargo, "test result: ok. 1 passed; 0 failed; 0 ignored;", FEWER);
    check(cargo, "test result: ok. 0 passed; 0 failed; 0 ignored;", NONE);
    let minitest = "  1) Failure:\nT#test_b [t.rb:3]:\nExpected: 1\n  Actual: 2\n\n2 runs, 2 assertions, 1 failures, 0 errors, 0 skips";
    check(minitest, "2 runs, 1 assertions, 0 failures, 0 errors, 1 skips", FEWER);
    check(minitest, "2 runs, 2 assertions, 0 failures, 0 errors, 0 skips", SWAPPED);
    let go = "--- FAIL: TestB (0.00s)\n    a_test.go:3: got 3\nFAIL\nFAIL\tm/p\t0.003s\nFAIL";
    check(go, "ok  \tm/p\t0.002s", "tests_unseen: `t` says neither");
    check("a.c:3:1: error: no semicolon", "", "");
    // The error that stopped all tests may have been removed together with some of them.
    check("a.c:3:1: error: no semicolon", passed, "tests_unseen: `t` came to no test before");
    check(
        go,
        "?   \tm/p\t[no test files]",
        "tests_removed: `t` does not run a test that failed before the work began: m/p.TestB;",
    );
}

/// Returns the result of `t` after two runs of its test `a`.
fn twice(passed: [bool; 2]) -> CommandResult {
    let run = |passed: bool| {
        let said = if passed { "ok 1 - a" } else { "not ok 1 - a" };
        command_result("t", &Exit::Code(i32::from(!passed)), said)
    };
    let [before, now] = passed.map(run);
    let flaky = if passed == [false, true] { before.failures } else { Vec::new() };
    CommandResult { flaky, observations: 2, ..now }
}

#[test]
fn steady_failure_that_becomes_flaky_is_not_fixed() {
    const REASON: &str =
        "`t` passes at one time and fails at another (run 2 times) in what failed each time before";
    const NOTE: &str =
        "flaky: `t` passes at one time and fails at another (run 2 times) in what was steady before";
    let [red, flaky, green] = [[false, false], [false, true], [true, true]].map(twice);
    let once = CommandResult { observations: 1, ..red.clone() };
    for (base, gate, mode, [reason, note]) in [
        (&red, Gate::Pass, Baseline::Gate, [REASON, ""]),
        (&red, Gate::Pass, Baseline::Report, ["", NOTE]),
        (&red, Gate::NoNewFailures, Baseline::Gate, ["", NOTE]),
        (&green, Gate::Pass, Baseline::Gate, ["", NOTE]),
        (&green, Gate::NoNewFailures, Baseline::Gate, ["", NOTE]),
        // It may always have been flaky.
        (&flaky, Gate::Pass, Baseline::Gate, ["", ""]),
        (&once, Gate::Pass, Baseline::Gate, ["", ""]),
    ] {
        let mut findings = GateReport::default();
        findings.add(gate, &flaky, BaselineResult { base: Some(base), mode });
        let [reasons, problems] = [texts(&findings.reasons).concat(), texts(&findings.problems).concat()];
        for (said, want) in [(&reasons, reason), (&problems, note)] {
            assert!(said.starts_with(want), "{gate:?} {mode:?}: {said}");
            assert_eq!(said.is_empty(), want.is_empty(), "{gate:?} {mode:?}: {said}");
            assert!(said.is_empty() || said.contains("began: a"), "{said}");
        }
        // The controller knows the failure from before.
        let known = red.failures.iter().map(|failure| failure.fingerprint.to_string());
        let is_known = findings.fingerprints == known.collect::<Vec<_>>();
        assert_eq!(is_known, !reason.is_empty(), "{:?}", findings.fingerprints);
    }
    // A failure without a name may be a different one.
    let [mut base, mut now] = [1, 0].map(|code| command_result("t", &Exit::Code(code), ""));
    (base.observations, now.observations) = (2, 2);
    now.flaky.clone_from(&base.failures);
    let mut findings = GateReport::default();
    findings.add(Gate::Pass, &now, before_the_work(&base));
    assert!(
        findings.reasons.is_empty() && texts(&findings.problems).concat().starts_with(NOTE),
        "{findings:?}"
    );
}

#[test]
fn interrupted_command_is_not_a_baseline_and_unnamed_failure_only_for_gate_pass() {
    let said = "not ok 1 - a\ntest result: FAILED. 1 passed; 130 failed; 0 ignored;";
    for (exit, said, [pass, report, compared]) in [
        (Exit::TimedOut, "", ["it had not ended after 0.0 s and was ended; give", "", "it had not ended"]),
        (Exit::Idle, "", ["it did nothing any more after 0.0 s", "", "it did nothing any more"]),
        (
            Exit::Signal(9),
            "",
            ["it was ended by signal 9; mend it, or begin", "", "it was ended by signal 9; mend it"],
        ),
        (Exit::Code(137), "", ["it was ended by signal 9; mend", "", "it was ended by signal 9; mend"]),
        // It exits with the number of failures.
        (Exit::Code(130), said, ["", "", ""]),
        (Exit::Code(131), said, ["it was ended by signal 3", "", "it was ended by signal 3"]),
        (
            Exit::Code(3),
            "",
            ["", "", "it fails with exit code 3, and nothing in its output says what; use it with --check"],
        ),
        (Exit::Code(1), "not ok 1 - a", ["", "", ""]),
        (Exit::Code(0), "", ["", "", ""]),
    ] {
        let result = [command_result("t", &exit, said)];
        for (gate, mode, want) in [
            (Gate::Pass, Baseline::Gate, pass),
            (Gate::Pass, Baseline::Report, report),
            (Gate::NoNewFailures, Baseline::Gate, compared),
            (Gate::NoNewFailures, Baseline::Report, compared),
        ] {
            let command = CheckCommand { run: "t".to_owned(), gate, reports: Vec::new() };
            let why = no_baseline(&[command], &result, mode).unwrap_or_default();
            let why = why.strip_prefix("`t` has no baseline to compare with: ").unwrap_or(&why);
            assert!(why.starts_with(want), "{exit:?} {gate:?} {mode:?}: {why}");
            assert_eq!(why.is_empty(), want.is_empty(), "{exit:?} {gate:?} {mode:?}: {why}");
            assert_eq!(why.contains("--baseline off"), gate == Gate::Pass && !want.is_empty(), "{why}");
        }
    }
}

#[test]
fn a_command_that_failed_without_a_result_is_no_baseline_and_passes_no_gate() {
    let asks = [CheckCommand { run: "t".to_owned(), gate: Gate::NoNewFailures, reports: Vec::new() }];
    let base = command_result("t", &Exit::Code(1), "not ok 1 - a");
    for said in [
        "curl: (6) Could not resolve host: registry.example.test",
        "fatal: unable to access 'https://example.test/r.git/': Could not resolve host: example.test",
        "error: No space left on device (os error 28)",
        "npm error code ENOTFOUND",
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        "error: failed to get `serde` as a dependency of package `a v0.1.0`",
    ] {
        let result = command_result("t", &Exit::Code(1), said);
        let why = no_baseline(&asks, slice::from_ref(&result), Baseline::Gate);
        assert!(why.as_ref().is_some_and(|why| why.contains("with --check")), "{said}: {why:?}");
        let mut findings = GateReport::default();
        findings.add(Gate::NoNewFailures, &result, before_the_work(&base));
        assert!(!findings.reasons.is_empty(), "{said}");
    }
    for (code, said) in [
        (1, "not ok 1 - a"),
        (1, "a.c:3:1: error: no semicolon"),
        (1, "1 failed, 2 passed in 0.1s\nFAILED t.py::a"),
        (0, ""),
    ] {
        let result = command_result("t", &Exit::Code(code), said);
        assert!(result.has_result(), "{said}");
    }
}

#[test]
fn unnamed_test_that_is_in_no_file_was_removed() {
    let said = |failed: &str| format!("{failed}\n1 failed, 1 passed in 0.1s");
    let base = command_result(
        "t",
        &Exit::Code(1),
        &said("= short test summary info =\nFAILED t.py::test_b - assert 0"),
    );
    let command = |gate| [CheckCommand { run: "t".to_owned(), gate, reports: Vec::new() }];
    let now = command_result("t", &Exit::Code(0), "2 passed in 0.1s");
    let unnamed: Vec<TestName> = base.test_names().collect();
    for (gate, mode, now, asked) in [
        (Gate::Pass, Baseline::Gate, &now, unnamed.len()),
        (Gate::NoNewFailures, Baseline::Report, &now, 1),
        (Gate::Pass, Baseline::Report, &now, 0),
        // Tests are not looked up if the gate does not pass.
        (Gate::Pass, Baseline::Gate, &base, 0),
        (Gate::NoNewFailures, Baseline::Gate, &base, 0),
    ] {
        let [now, base] = [now, &base].map(slice::from_ref);
        let names = to_look_up(&command(gate), now, base, mode).concat();
        assert_eq!(names.len(), asked, "{gate:?} {mode:?}");
    }
    let mut gone = now;
    gone.listed.gone = unnamed;
    let mut findings = GateReport::default();
    findings.add(Gate::Pass, &gone, before_the_work(&base));
    assert_eq!(
        texts(&findings.reasons),
        [
            "tests_removed: `t` does not run a test that failed before the work began: t.py::test_b, and no file has such \
          a name any more; put back what was removed or renamed, and mend it"
        ]
    );
}

#[test]
fn a_report_that_was_written_is_written_again() {
    let report = Blob { digest: Digest::sha256(b"<testsuites/>"), size: 13 };
    let [mut base, mut now] = ["", ""].map(|said| command_result("t", &Exit::Code(0), said));
    base.reports = vec![report];
    for (reports, is_missed) in [(Vec::new(), true), (vec![report], false)] {
        now.reports = reports;
        let mut findings = GateReport::default();
        findings.add(Gate::Pass, &now, before_the_work(&base));
        let reasons = texts(&findings.reasons).concat();
        assert_eq!(
            reasons.starts_with("tests_unseen: `t` no longer writes a report"),
            is_missed,
            "{reasons}"
        );
    }
}

#[test]
fn a_test_may_be_moved_to_a_file_of_another_name() {
    for (before, after) in [
        (
            "test_calc.py::test_a PASSED [ 50%]\ntest_calc.py::test_b FAILED [100%]\n=== FAILURES ===\n____ test_b ____\n\n    def test_b():\n>       assert 0\nE       assert 0\n\ntest_calc.py:4: AssertionError\n= short test summary info =\nFAILED test_calc.py::test_b - assert 0\n1 failed, 1 passed in 0.1s",
            "test_sums.py::test_a PASSED [ 50%]\ntest_sums.py::test_b PASSED [100%]\n2 passed in 0.1s",
        ),
        (
            "test_a (tests.test_calc.T.test_a) ... ok\ntest_b (tests.test_calc.T.test_b) ... FAIL\n\n======================================================================\nFAIL: test_b (tests.test_calc.T.test_b)\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/w/tests/test_calc.py\", line 9, in test_b\nAssertionError: 5 != 1\n\n----------------------------------------------------------------------\nRan 2 tests in 0.1s\n\nFAILED (failures=1)",
            "test_a (tests.test_sums.T.test_a) ... ok\ntest_b (tests.test_sums.T.test_b) ... ok\n\nRan 2 tests in 0.1s\n\nOK",
        ),
    ] {
        let base = command_result("t", &Exit::Code(1), before);
        assert_eq!(base.unloadable_test_files(), [], "{:?}", base.failures);
        check(before, after, "");
    }
}

#[test]
fn command_without_tests_is_reported() {
    let command = CheckCommand { run: "t".to_owned(), gate: Gate::Pass, reports: Vec::new() };
    for (said, want) in [
        ("test result: ok. 0 passed; 0 failed; 0 ignored;", "no_tests: `t` ran no test: that"),
        ("test result: ok. 0 passed; 0 failed; 3 ignored;", "no_tests: `t` ran no test, and skipped 3: that"),
        (
            "test result: ok. 0 passed; 0 failed; 0 ignored;\ntest result: ok. 1 passed; 0 failed; 0 ignored;",
            "",
        ),
        ("all fine", ""),
    ] {
        let now = [command_result("t", &Exit::Code(0), said)];
        let findings = findings(slice::from_ref(&command), &now, None, Baseline::Off);
        let problems = texts(&findings.problems).concat();
        assert!(problems.starts_with(want) && problems.is_empty() == want.is_empty(), "{said}: {problems}");
    }
}

#[test]
fn a_file_of_tests_that_cannot_be_loaded_is_known() {
    for (said, want) in [
        ("tests/it.rs:3:1: error: no semicolon\nsrc/a.rs:3:1: error: no semicolon", &["tests/it.rs"][..]),
        (
            "==== ERRORS ====\n____ ERROR collecting test_a.py ____\n  File \"/w/test_a.py\", line 1\n    def test_a(:\n               ^\nE   SyntaxError: invalid syntax\n=== short test summary info ===\nERROR test_a.py\n1 error in 0.1s",
            &["test_a.py"],
        ),
        (
            "= short test summary info =\nFAILED test_a.py::test_b - assert 1 == 2\n1 failed, 1 passed in 0.01s",
            &[],
        ),
    ] {
        let result = command_result("t", &Exit::Code(1), said);
        let files: Vec<String> = result.unloadable_test_files().into_iter().map(|test| test.name).collect();
        assert_eq!(files, want, "{said}: {:?}", result.failures);
    }
}

#[test]
fn exit_code_of_go_in_a_pipe_is_not_trusted() {
    let failed = "--- FAIL: TestB (0.00s)\n    a_test.go:3: got 3\nFAIL\nFAIL\tm/p\t0.003s\nFAIL";
    let [base, now] = [failed, failed].map(|said| command_result("t", &Exit::Code(0), said));
    let mut findings = GateReport::default();
    findings.add(Gate::Pass, &now, before_the_work(&base));
    let said = texts(&findings.reasons).concat();
    assert!(said.starts_with("`t` exits with 0, but tells of 1 failure itself: m/p.TestB; mend"), "{said}");
}

#[test]
fn missing_count_does_not_prove_a_removed_test() {
    const UNCOUNTED: &str =
        "tests_unseen: `t` does not say any more how many tests it ran (2 before); let it say so (no `-q`";
    let maven = "[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0";
    check(maven, "", UNCOUNTED);
    check(maven, "\nBUILD SUCCESSFUL in 2s\n", UNCOUNTED);
    // If it names the tests that failed before, numbers are not needed.
    let cargo = "test a ... ok\ntest b ... FAILED\n\nfailures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored;";
    check(cargo, "test a ... ok\ntest b ... ok\n", "");
    check(cargo, "test a ... ok\ntest c ... ok\n", "tests_removed: `t` does not run a test that failed");
    check(cargo, "", UNCOUNTED);
}

#[test]
fn a_baseline_that_is_only_to_be_shown_asks_for_no_test() {
    let base = command_result("t", &Exit::Code(1), "1 failed, 3 passed in 0.1s");
    for (gate, mode, is_asked) in [
        (Gate::Pass, Baseline::Gate, true),
        (Gate::Pass, Baseline::Report, false),
        (Gate::NoNewFailures, Baseline::Report, true),
    ] {
        for now in ["3 passed in 0.1s", ""] {
            let mut findings = GateReport::default();
            let now = command_result("t", &Exit::Code(0), now);
            findings.add(gate, &now, BaselineResult { base: Some(&base), mode });
            assert_eq!(!findings.reasons.is_empty(), is_asked, "{gate:?} {mode:?} {:?}", findings.reasons);
        }
    }
}

#[test]
fn tool_that_stops_naming_tests_is_reported() {
    let pytest = "t.py::test_a PASSED [ 50%]\nt.py::test_b FAILED [100%]\n1 failed, 1 passed in 0.1s";
    let one = "t.py::test_b FAILED [100%]\n1 failed in 0.1s";
    let quiet = "..  [100%]\n2 passed in 0.1s";
    let vitest = " ✓ a.test.js > top 0ms\n × a.test.js > adds 7ms\n\n      Tests  1 failed | 1 passed (2)";
    let go = "--- FAIL: TestB (0.00s)\nFAIL\tm/p\t0.003s\nFAIL";
    // One test prints text that looks like the names of others.
    let printed = "ok 1 - nested\n1..1\nFAILED t.py::test_b - assert 0\n1 failed, 7 passed in 0.1s";
    for (before, now, silent_now) in [
        (pytest, quiet, &["pytest"][..]),
        (pytest, "t.py::test_a PASSED [ 50%]\n2 passed in 0.1s", &[]),
        (pytest, "t.py::test_a SKIPPED [100%]\n1 skipped in 0.1s", &[]),
        (one, "1 passed in 0.1s", &["pytest"]),
        (quiet, quiet, &[]),
        (vitest, " ✓ a.test.js (2 tests) 3ms\n ✓ b.test.js (1 test) 3ms\n\n      Tests  3 passed (3)", &[]),
        (go, "ok  \tm/p\t0.003s", &[]),
        (printed, "8 passed in 0.1s", &[]),
    ] {
        let [base, now] = [before, now].map(|said| command_result("t", &Exit::Code(0), said));
        assert_eq!(reporters_gone_quiet(&base, &now), silent_now, "{before}: {:?}", base.listed);
    }
}
