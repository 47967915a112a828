//! Table of the failures read from the output of each tool, and tests of the guarantees of fingerprints.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use expect_test::{Expect, expect, expect_file};
use proptest::prelude::*;
use serde_json::json;
use unstuck_failures::formats::{self, FORMATS};
use unstuck_failures::{
    self, Confidence, Extraction, Failure, FailureSet, FailureSource, FailureSubject, MachineReport,
    ToolOutput, UNPARSED, count, extract, extract_as,
};

fn read(text: &[u8]) -> Extraction {
    extract(&ToolOutput { cwd: "/srv/ci/shop", exit_code: Some(1), stdout: text, ..ToolOutput::default() })
}

fn read_report(format: &str, bytes: &[u8]) -> Extraction {
    let reports = vec![MachineReport { format, bytes }];
    extract(&ToolOutput { exit_code: Some(1), reports, ..ToolOutput::default() })
}

/// Returns one line for each failure: tool, name, kind, place.
fn shown(extraction: &Extraction) -> String {
    let mut text = String::new();
    for failure in &extraction.failures {
        let place = failure.location.as_ref();
        let line = place.and_then(|place| place.line).map_or_else(String::new, |line| format!(":{line}"));
        let place = place.map_or("-", |place| place.file.as_str());
        let test = failure.test.as_deref().unwrap_or("-");
        let _infallible = writeln!(text, "{} | {test} | {} | {place}{line}", failure.tool, failure.kind);
    }
    text
}

fn check(extraction: &Extraction, expected: &Expect) {
    expected.assert_eq(&shown(extraction));
}

/// The samples: outputs of tools, one file each.
macro_rules! samples {
    ($($file:literal)*) => {
        const SAMPLES: &[(&str, &[u8])] =
            &[$(($file, include_bytes!(concat!("fixtures/failures/", $file)))),*];
    };
}

samples! {
    "ansible-lint.txt"
    "asan.txt"
    "automake-verbose.txt"
    "automake.txt"
    "ava-exit.txt"
    "ava-uncaught.txt"
    "ava.txt"
    "azure.txt"
    "bandit-csv.txt"
    "bandit.txt"
    "basedpyright.txt"
    "bats-number-sign.txt"
    "bats-pretty.txt"
    "bats-timing-setup.txt"
    "bats-timing.txt"
    "bats-unloaded.txt"
    "bats.txt"
    "behave-errors.txt"
    "behave-hook.txt"
    "behave-json.txt"
    "behave.txt"
    "biome-format.txt"
    "biome.json"
    "biome.txt"
    "black-diff.txt"
    "black.txt"
    "boost-test-suite.txt"
    "boost-test.txt"
    "brittle.txt"
    "bun-tty.txt"
    "bun.txt"
    "busted.txt"
    "busted.xml"
    "cargo-build.jsonl"
    "cargo-build.txt"
    "cargo-clippy.txt"
    "cargo-fmt.txt"
    "cargo-link.txt"
    "cargo-manifest.txt"
    "cargo-nextest-error.txt"
    "cargo-nextest-final.txt"
    "cargo-nextest-no-capture.txt"
    "cargo-nextest-terminal.txt"
    "cargo-nextest-unlisted.txt"
    "cargo-nextest.txt"
    "cargo-test-caught.txt"
    "cargo-test-quoted-panic.txt"
    "cargo-test.txt"
    "catch2-sections.txt"
    "catch2.txt"
    "check.txt"
    "checkstyle.xml"
    "clojure-compile.txt"
    "clojure-test.txt"
    "cmake.txt"
    "cmocka.txt"
    "commitlint.txt"
    "cpp-main.txt"
    "cppcheck.xml"
    "credo.txt"
    "criterion.txt"
    "ctest-googletest.txt"
    "ctest-names.txt"
    "ctest.txt"
    "cucumber.json"
    "cucumber.txt"
    "dart-analyze.txt"
    "dart-load.txt"
    "dart-test.txt"
    "deno-check.txt"
    "deno-fmt.txt"
    "deno-lint.txt"
    "deno-test-tap.txt"
    "deno-test.txt"
    "dialyxir.txt"
    "djlint.txt"
    "dotnet-main.txt"
    "dotnet.txt"
    "elixir-main.txt"
    "elixirc.txt"
    "esbuild-two.txt"
    "eslint-json.json"
    "eslint-pretty.txt"
    "eslint.txt"
    "eunit.txt"
    "exception-group.txt"
    "exunit-setup-all.txt"
    "exunit-umbrella.txt"
    "exunit.txt"
    "flake8.txt"
    "flutter-analyze.txt"
    "flutter-test.txt"
    "forge.txt"
    "gfortran.txt"
    "ghc.txt"
    "git.txt"
    "github-annotations.txt"
    "go-build.txt"
    "go-main.txt"
    "go-test-bait.jsonl"
    "go-test-bait-package.txt"
    "go-test-bait.txt"
    "go-test-no-newline-v.txt"
    "go-test-no-newline.txt"
    "go-test-panic-log.txt"
    "go-test-subtest-panic.jsonl"
    "go-test.jsonl"
    "go-test.txt"
    "go-timeout-main.txt"
    "go-timeout.txt"
    "golangci.txt"
    "gotestsum.txt"
    "gradle.txt"
    "green.txt"
    "gtest-brief-bait.txt"
    "gtest-no-newline.txt"
    "gtest-report.json"
    "gtest-throw.txt"
    "gtest.txt"
    "hspec-one.txt"
    "hspec.txt"
    "jasmine-suite.txt"
    "jasmine.txt"
    "java-main.txt"
    "jest-exit.txt"
    "jest-json-words.txt"
    "jest-node-crash.txt"
    "jest-open-handles.txt"
    "jest-settings.txt"
    "jest-thrown-late.txt"
    "jest.txt"
    "jshint.txt"
    "julia.txt"
    "karma.txt"
    "lld.txt"
    "knip.txt"
    "kotlin-gradle.txt"
    "kotlin-javac.txt"
    "kotlin-old.txt"
    "lab.txt"
    "lua-main.txt"
    "luacheck.txt"
    "luaunit.txt"
    "make-gcc.txt"
    "make-rule.txt"
    "markdownlint.json"
    "markdownlint.txt"
    "maven.txt"
    "meson.txt"
    "minitest-bait.txt"
    "minitest-teardown.txt"
    "minitest.txt"
    "mix-format.txt"
    "mocha-module.txt"
    "mocha-tap-bait.txt"
    "mocha.txt"
    "moments.txt"
    "msvc.txt"
    "munit.txt"
    "mypy-pretty.txt"
    "mypy-wrapped.txt"
    "mypy.jsonl"
    "mypy.txt"
    "nextest-json.jsonl"
    "nim.txt"
    "node-main.txt"
    "node-syntax.txt"
    "node-tap.txt"
    "node-test-tap-file.txt"
    "node-test-tap.txt"
    "node-test.txt"
    "nose2.txt"
    "npm-script.txt"
    "ocaml-main.txt"
    "ocaml.txt"
    "oxlint-github.txt"
    "oxlint-stylish.txt"
    "oxlint.json"
    "oxlint.txt"
    "perl-main.txt"
    "pest.txt"
    "pester.txt"
    "php-cs-fixer.txt"
    "php-main.txt"
    "phpcs-csv.txt"
    "phpcs.txt"
    "phpstan-raw.txt"
    "phpstan.txt"
    "phpunit-data.txt"
    "phpunit-testdox.txt"
    "phpunit.txt"
    "pint.txt"
    "playwright-bait.txt"
    "playwright-flaky.txt"
    "playwright-github.txt"
    "playwright-step.txt"
    "playwright.json"
    "playwright.txt"
    "playwright.xml"
    "poku.txt"
    "pre-commit-silent.txt"
    "pre-commit.txt"
    "prettier-syntax.txt"
    "prettier.txt"
    "prove-failures.txt"
    "prove-plan.txt"
    "prove-quiet.txt"
    "prove-summary.txt"
    "prove.txt"
    "psalm-lines.txt"
    "psalm.txt"
    "pydocstyle.txt"
    "pylint.txt"
    "pyrefly.txt"
    "pyright.json"
    "pytest-chained.txt"
    "pytest-collect-class.txt"
    "pytest-conftest.txt"
    "pytest-describe.txt"
    "pytest-instafail.txt"
    "pytest-internal.txt"
    "pytest-line.txt"
    "pytest-pretty.txt"
    "pytest-segv-progress.txt"
    "pytest-short.txt"
    "pytest-sugar.txt"
    "pytest-timeout.txt"
    "pytest-warning.txt"
    "pytest-warnings.txt"
    "pytest-xdist-collect.txt"
    "pytest-xpass-line.txt"
    "pytest.txt"
    "python-doctest.txt"
    "python-main.txt"
    "python-warning.txt"
    "qunit-bait.txt"
    "rails.txt"
    "rebar3-eunit.txt"
    "robot-dotted.txt"
    "robot.txt"
    "rollup.txt"
    "rspec-bait.jsonl"
    "rspec-bait.txt"
    "rspec-failures.txt"
    "rspec-fixed.txt"
    "rspec.txt"
    "rubocop-simple.txt"
    "rubocop.txt"
    "ruby-main.txt"
    "ruff-config.txt"
    "ruff-format-diff.txt"
    "ruff-grouped.txt"
    "ruff-junit.xml"
    "ruff-mypy.txt"
    "ruff.txt"
    "sarif-echoed.txt"
    "sarif-index.json"
    "sarif.json"
    "sbt-classes.txt"
    "sbt-junit.txt"
    "scalac-sbt.txt"
    "scalac3-sbt.txt"
    "scalatest.txt"
    "shell.txt"
    "shellcheck-tty.txt"
    "shellcheck.txt"
    "shunit2.txt"
    "sqlfluff.txt"
    "standard.txt"
    "stestr.txt"
    "stylelint-narrow.txt"
    "subunit.txt"
    "svelte-check.txt"
    "swift-testing.txt"
    "swift.txt"
    "tap-plan-short.txt"
    "tape-groups.txt"
    "tape.txt"
    "tasty.txt"
    "teamcity.txt"
    "terraform-apply.txt"
    "terraform-plain.txt"
    "terraform-test.txt"
    "terraform.txt"
    "test-unit-class.txt"
    "test-unit-line.txt"
    "test-unit-verbose.txt"
    "test-unit.txt"
    "testthat-summary.txt"
    "testthat.txt"
    "testtools.txt"
    "tflint.txt"
    "trial.txt"
    "tsan.txt"
    "tsc.txt"
    "tsd.txt"
    "ty-concise.txt"
    "typos.jsonl"
    "typos.txt"
    "unittest-doctest.txt"
    "unittest-locals.txt"
    "unittest-tsc.txt"
    "unittest-unexpected.txt"
    "unittest.txt"
    "unity.txt"
    "unknown-endings.txt"
    "unknown-lines.txt"
    "unknown-tool.txt"
    "usage.txt"
    "uvu.txt"
    "valgrind.txt"
    "vite-build.txt"
    "vite-rolldown.txt"
    "vitest-annotation.txt"
    "vitest-github.txt"
    "vitest-hook.json"
    "vitest-syntax.txt"
    "vitest-tap-braces.txt"
    "vitest-tap.txt"
    "vitest.json"
    "vitest.txt"
    "ward.txt"
    "webpack.txt"
    "workspace-make.txt"
    "workspace-npm.txt"
    "workspace-pnpm.txt"
    "workspace-turbo.txt"
    "yamllint.txt"
    "zig.txt"
    "zizmor.json"
    "zope-testrunner.txt"
}

#[test]
fn each_sample_is_read_as_the_table_says() {
    let table = SAMPLES.iter().map(|(file, text)| format!("## {file}\n{}", shown(&read(text))));
    expect_file!["fixtures/failures.expected"].assert_eq(&table.collect::<String>());
}

#[test]
fn a_report_is_read_by_its_dialect() {
    for (bytes, expected) in [
        (
            &include_bytes!("fixtures/failures/pytest.xml")[..],
            expect![[r#"
            pytest | tests/test_cart.py::TestTotals::test_sum | AssertionError | tests/test_cart.py:15
            pytest | tests/test_cart.py::test_discount[100-10-91] | AssertionError | tests/test_cart.py:36
            pytest | tests/test_cart.py::test_discount[80-25-61] | AssertionError | tests/test_cart.py:36
            pytest | tests/test_config.py::test_matrix_rows | AssertionError | tests/test_config.py:46
        "#]],
        ),
        (
            include_bytes!("fixtures/failures/cargo-nextest.xml"),
            expect![[r#"
            cargo-nextest | money::tests::adds_cents | panic | src/money.rs:38
            cargo-nextest | money::tests::withdraws_within_balance | panic | src/money.rs:16
            cargo-nextest | queue::tests::reads_by_index | panic | src/queue.rs:28
            cargo-nextest | reads_fixture | panic | tests/report.rs:22
        "#]],
        ),
        (
            include_bytes!("fixtures/failures/node-test.xml"),
            expect![[r#"
            node-test | sum > case 1 | AssertionError | /workspace/js-cart/test/lib.test.js:17
            node-test | profile shape | AssertionError | /workspace/js-cart/test/lib.test.js:27
            node-test | lookup of known key | TypeError | /workspace/js-cart/test/lib.test.js:37
            node-test | parent with subtests > first child | AssertionError | /workspace/js-cart/test/lib.test.js:57
        "#]],
        ),
        (
            include_bytes!("fixtures/failures/gtest.xml"),
            expect![[r#"
            gtest | Calc.Adds | expectation | test/t.cpp:10
            gtest | Text.Adds | expectation | test/t.cpp:18
            gtest | File.Exists | expectation | test/t.cpp:34
            gtest | Small/Even.IsEven/3 | expectation | test/t.cpp:24
            gtest | Small/Even.IsEven/1 | expectation | test/t.cpp:24
        "#]],
        ),
        (
            include_bytes!("fixtures/failures/surefire.xml"),
            expect![[r#"
            surefire | demo.MapTest.cast | ClassCastException | MapTest.java:10
            surefire | demo.MapTest.addsLines | AssertionFailedError | MapTest.java:9
        "#]],
        ),
        (
            include_bytes!("fixtures/failures/ctest.xml"),
            expect![[r#"
            ctest | suite.alpha | Failed | -
            ctest | gone | Not Run | -
        "#]],
        ),
        (
            b"<testsuite name=\"s\" tests=\"2\"><testcase classname=\"c\" name=\"says nothing\"><failure/></testcase><testcase classname=\"c\" name=\"b\"/></testsuite>",
            expect![[r#"
                junit | c.says nothing |  | -
            "#]],
        ),
        (
            // A test whose message is only a place is a test.
            b"<testsuites><testsuite name=\"m/b\"><testcase classname=\"m/b\" name=\"TestB\"><failure message=\"Failed\">b_test.go:3: boom</failure></testcase></testsuite></testsuites>",
            expect![[r#"
                junit | m/b.TestB | Failed | -
            "#]],
        ),
        (
            b"<testsuites><testsuite name=\"A &amp;quot;b&amp;quot;\"><testcase classname=\"test\" name=\"is &quot;c&quot;\"><failure type=\"testCodeFailure\" message=\"boom\">[Error [ERR_TEST_FAILURE]: boom]</failure></testcase></testsuite></testsuites>",
            expect![[r#"
                node-test | A "b" > is "c" |  | -
            "#]],
        ),
        (include_bytes!("fixtures/failures/mypy.xml"), expect![[r#"
            diagnostics | - |  | src/core.py:15
            diagnostics | - | attr-defined | src/core.py:19
        "#]]),
        (include_bytes!("fixtures/failures/cpplint.xml"), expect![[r#"
            diagnostics | - | whitespace/end_of_line | src/q.cc:3
            diagnostics | - | build/namespaces | src/q.cc:4
        "#]]),
    ] {
        let extraction = read_report("junit", bytes);
        check(&extraction, &expected);
        assert_eq!(extraction, read_report("", bytes), "the format is recognized");
    }
}

#[test]
fn a_command_that_exits_with_0_has_only_the_failures_that_it_counts_itself() {
    let mut outside = String::new();
    for (file, text) in SAMPLES {
        let output = ToolOutput { exit_code: Some(0), stdout: text, ..ToolOutput::default() };
        let extraction = extract(&output);
        let counts = count(text, b"").is_some_and(|tests| tests.failed > 0);
        // The last line of Go about a package is reliable.
        let is_go = text.windows(6).any(|part| part == b"\nFAIL\t");
        let breaks_off = *file == "tap-plan-short.txt";
        let all_are_tests = extraction.failures.iter().all(|failure| failure.test.is_some());
        if !is_go && !breaks_off && !(all_are_tests && (counts || extraction.failures.is_empty())) {
            outside += &format!("{file}\n");
        }
        assert_eq!(extraction.confidence, Confidence::High, "{file}");
    }
    // Their summaries count files, suites or errors outside of tests that failed.
    expect![[r#"
        ava-exit.txt
        ava-uncaught.txt
        behave-errors.txt
        behave-hook.txt
        behave-json.txt
        behave.txt
        cucumber.txt
        dotnet.txt
        exunit-setup-all.txt
        green.txt
        jest-node-crash.txt
        luaunit.txt
        pytest-pretty.txt
        pytest-sugar.txt
        robot-dotted.txt
        robot.txt
        sbt-classes.txt
        swift-testing.txt
        vitest-syntax.txt
        zig.txt
    "#]]
    .assert_eq(&outside);
}

#[test]
fn a_summary_is_not_green_where_any_of_its_counters_is_not() {
    for (text, fails) in [
        (
            " FAIL  b.test.js [ b.test.js ]\nError: port still open\n\n Test Files  1 failed (1)\n      Tests  2 passed (2)\n",
            true,
        ),
        (
            " Test Files  1 passed (1)\n      Tests  2 passed (2)\n     Errors  1 error\n   Start at  10:19:18\n",
            true,
        ),
        ("Test Suites: 1 failed, 1 total\nTests:       2 passed, 2 total\nSnapshots:   0 total\n", true),
        (
            "Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\nSnapshots:   1 failed, 1 total\n",
            true,
        ),
        ("2 examples, 0 failures, 1 error occurred outside of examples\n", true),
        ("5 tests, 0 failures, 5 invalid\n", true),
        ("# tests 2\n# pass 1\n# fail 0\n# cancelled 1\n# skipped 0\n# todo 0\n# duration_ms 12\n", true),
        ("\n 2 pass\n 0 fail\n 1 error\n 3 expect() calls\nRan 2 tests across 1 file. [12ms]\n", true),
        ("  1 error was not a part of any test, see above for details\n  3 passed (1.2s)\n", true),
        ("[ERROR] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Crashes: 1\n", true),
        // No reader knows the tool, but its counters are sufficient.
        ("1 feature passed, 1 failed, 0 skipped\n3 scenarios passed, 0 failed, 0 skipped\n", true),
        ("2 scenarios (1 undefined, 1 passed)\n4 steps (4 passed)\n0m00.012s\n", true),
        // All of these are green.
        (
            " Test Files  1 passed | 1 skipped (2)\n      Tests  2 passed | 1 expected fail (3)\n   Start at  10:19:18\n   Duration  510ms\n",
            false,
        ),
        (
            "Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total\nSnapshots:   1 obsolete, 2 passed, 3 total\nTime:        5 s\n",
            false,
        ),
        ("2 examples, 0 failures, 1 pending\n", false),
        (
            "Running ExUnit with seed: 0, max_cases: 8\n\n2 tests, 0 failures, 1 excluded\nRandomized with seed 123\n",
            false,
        ),
        ("[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Flakes: 1\n", false),
        ("== 3 passed, 1 warning, 2 rerun in 61.0s (0:01:01) ==\n", false),
        (
            "test result: ok. 5 passed; 0 failed; 1 ignored; 2 measured; 3 filtered out; finished in 0.00s\n",
            false,
        ),
        ("     Summary [   0.123s] 12 tests run: 12 passed (1 slow, 1 flaky, 1 leaky), 3 skipped\n", false),
        ("  1 flaky\n    [chromium] › a.spec.ts:3:1 › 2 errors are shown\n  3 passed (1.2s)\n", false),
        ("ℹ tests 20\nℹ suites 0\nℹ pass 20\nℹ fail 0\nℹ cancelled 0\nℹ duration_ms 12\n", false),
        ("3 scenarios (3 passed)\n9 steps (9 passed)\n", false),
        ("\n✖ 12 problems (0 errors, 12 warnings)\n", false),
        ("100% tests passed, 0 tests failed out of 3\n", false),
    ] {
        let output = ToolOutput { exit_code: Some(0), stdout: text.as_bytes(), ..ToolOutput::default() };
        let found = extract(&output).failures;
        assert_eq!(!found.is_empty(), fails, "{text}: {found:#?}");
    }
}

#[test]
fn an_error_of_a_report_that_belongs_to_no_test_is_a_failure() {
    for (report, want) in [
        (
            "<testsuites><testsuite name=\"a\" tests=\"1\" errors=\"1\"><testcase name=\"x\"/></testsuite></testsuites>",
            1,
        ),
        ("<testsuite name=\"a\" tests=\"0\" failures=\"1\"/>", 1),
        (
            "<testsuite name=\"a\" tests=\"1\"><error message=\"beforeAll threw\">at a.js:3</error><testcase name=\"x\"/></testsuite>",
            1,
        ),
        (
            "<testsuites><testsuite name=\"a\" errors=\"1\"><testcase name=\"x\"/></testsuite><testsuite name=\"b\" failures=\"1\"><testcase name=\"y\"><failure message=\"no\"/></testcase></testsuite></testsuites>",
            2,
        ),
        (
            "<testsuite name=\"a\" errors=\"1\"><testsuite name=\"b\" errors=\"1\"><testcase name=\"y\"><error message=\"no\"/></testcase></testsuite></testsuite>",
            1,
        ),
        (
            "<testsuite name=\"a\" tests=\"1\" errors=\"0\"><testcase name=\"x\"/><system-err>error: noise</system-err></testsuite>",
            0,
        ),
        (
            "{\"suites\":[],\"errors\":[{\"message\":\"Error: globalSetup failed\",\"location\":{\"file\":\"setup.ts\",\"line\":2}}]}",
            1,
        ),
        ("{\"suites\":[],\"errors\":[]}", 0),
        ("<?xml version=\"1.0\"?><TestRun><Results/></TestRun>", 1),
        ("<html><body>Internal error</body></html>", 1),
    ] {
        let found = read_report("", report.as_bytes()).failures;
        let found: Vec<_> = found.iter().filter(|failure| failure.source == FailureSource::Report).collect();
        assert_eq!(found.len(), want, "{report}: {found:#?}");
    }
}

#[test]
fn a_line_about_a_test_that_has_not_ended_is_no_failure_of_it() {
    let [first, last] = ["(───)", "(1/1)"].map(|count| {
        format!(" TRY 1 SLOW [>  1.000s] {count} app::it b\nTRY 1 TRMNTG [>  2.000s] {count} app::it b\n   TRY 1 TMT [   2.010s] {count} app::it b\n  stdout ───\n\n    (test timed out)\n\n")
    });
    let summary = "────────────\n     Summary [   4.1s] 1 test run: 0 passed, 1 timed out, 0 skipped\n   TRY 2 TMT [   2.002s] (1/1) app::it b\nerror: test run failed\n";
    for tries in [first.clone() + &last.replace("TRY 1", "TRY 2"), last] {
        let found = read(format!("{tries}{summary}").as_bytes());
        let kinds: Vec<&str> = found.failures.iter().map(|failure| failure.kind.as_str()).collect();
        assert_eq!(kinds, ["timeout"], "{tries}");
    }
}

#[test]
fn last_line_of_go_about_a_package_counts_with_any_exit_code() {
    let failed = "--- FAIL: TestAdd (0.00s)\n    a_test.go:5: got 3\nFAIL\nFAIL\tm/p\t0.003s\n";
    for (text, want) in [
        (format!("{failed}FAIL\n"), &["m/p.TestAdd"][..]),
        (
            format!("ok  \tm\t0.1s\n{failed}FAIL\nmake: [Makefile:2: test] Error 1 (ignored)\n"),
            &["m/p.TestAdd"],
        ),
        // It was retried.
        (format!("{failed}FAIL\nok  \tm/p\t0.003s\n"), &[]),
        // A test may print it.
        ("--- FAIL: TestAdd (0.00s)\nok  \tm/p\t0.003s\n".to_owned(), &[]),
    ] {
        let output = ToolOutput { exit_code: Some(0), stdout: text.as_bytes(), ..ToolOutput::default() };
        let failures = extract(&output).failures;
        let names: Vec<&str> = failures.iter().filter_map(|failure| failure.test.as_deref()).collect();
        assert_eq!(names, want, "{text}");
        assert_eq!(failures.is_empty(), want.is_empty(), "{text}");
    }
}

#[test]
fn repeated_failure_counts_with_any_exit_code() {
    let failed = "PASS mul\nFAIL add: expected 3, got -1\n";
    let go = "--- FAIL: TestB (0.00s)\n    b_test.go:9: got 1\nFAIL\nFAIL\tm/p\t0.01s\nFAIL\n";
    let before = [failed, go].map(|text| read(text.as_bytes()).set());
    let before = FailureSet::new(before.iter().flat_map(FailureSet::iter).cloned());
    for (text, want) in [
        (failed, 1),
        (&format!("{go}ok  \tm/p\t0.02s\n"), 0),
        ("FAIL: add (expected)\n", 0),
        ("FAIL add: expected failure\n", 0),
        ("PASS mul\nPASS add\n", 0),
        // Something else may be printed by a test.
        ("FAIL sub: expected 3, got -1\n", 0),
        // It was retried.
        ("FAIL add: expected 3, got -1\nonce more\nPASS add\n", 0),
        ("FAIL add: expected 3, got -1\nonce more\nadd ... ok (0.1s)\n", 0),
        ("FAIL add: expected 3, got -1\nPASS add_all\n", 1),
        // A tool that counts its tests is trusted.
        ("FAIL add: expected 3, got -1\n2 passed in 0.1s\n", 0),
    ] {
        let output = |failed_before| {
            extract(&ToolOutput {
                exit_code: Some(0),
                stdout: text.as_bytes(),
                failed_before,
                ..ToolOutput::default()
            })
        };
        assert_eq!(output(Some(&before)).failures.len(), want, "{text}");
        assert_eq!(output(None).failures.len(), 0, "{text}");
    }
}

#[test]
fn a_failing_command_is_never_the_empty_set() {
    for (exit_code, text, kind) in [
        (Some(1), "", UNPARSED),
        (Some(3), "all is well", UNPARSED),
        (None, "something", UNPARSED),
        (Some(124), "working", "timeout"),
        (Some(139), "", "SIGSEGV"),
        (Some(-9), "working", "SIGKILL"),
    ] {
        let extraction = extract(&ToolOutput { exit_code, stdout: text.as_bytes(), ..ToolOutput::default() });
        assert_eq!(extraction.failures.len(), 1, "{text}");
        assert_eq!(extraction.failures[0].kind, kind, "{text}");
    }
}

/// A change of these values requires a higher `failure::VERSION`: stored sets would no longer compare.
#[test]
fn fingerprints_of_this_version_are_what_they_were() {
    let sets = SAMPLES.iter().map(|(file, text)| format!("{file} {}\n", read(text).set().key()));
    expect_file!["fixtures/failures.keys"].assert_eq(&sets.collect::<String>());
}

#[test]
fn every_format_has_a_unique_name_and_is_documented() {
    let page = include_str!("../../../docs/failures.md");
    for format in FORMATS {
        assert_eq!(formats::format(format.name).map(|format| format.title), Some(format.title));
        assert!(page.contains(&format!("| `{}` | {} |", format.name, format.title)), "{}", format.name);
    }
}

#[test]
fn source_text_above_a_pointer_is_no_part_of_what_failed_whatever_number_its_lines_have() {
    let said = |line: u32| {
        let text = format!(
            "⎯⎯⎯ Failed Suites 1 ⎯⎯⎯\n\n FAIL  a.test.js [ a.test.js ]\nRolldownError: Parse failed with 1 error:\n\
             Unexpected token\n{line}: test('a', () => {{ const a = ; }})\n{:>30}\nAt file: /a.test.js:{line}:26\n",
            "^"
        );
        read(text.as_bytes()).set()
    };
    assert_eq!(said(2), said(5));
}

#[test]
fn a_format_can_be_forced() {
    let text = b"not ok 1 - total\n";
    assert_eq!(read(text).tool, "markers", "a line alone is no TAP");
    let format = formats::format("diagnostics");
    let output = ToolOutput { exit_code: Some(1), stdout: b"a.py:3: error: no\n", ..ToolOutput::default() };
    assert_eq!(extract_as(&output, format).tool, "diagnostics");
}

/// Reads a text, and returns the number of identities of its failures.
fn identities(text: &str) -> usize {
    read(text.as_bytes()).set().iter().count()
}

#[test]
fn the_same_test_of_two_packages_is_two_failures() {
    let tap = "TAP version 13\nnot ok 1 - adds\n  ---\n  error: 'no'\n  ...\n1..1\n";
    let behind = |label: &str| tap.lines().map(|line| format!("{label}{line}\n")).collect::<String>();
    let gradle =
        "ATest > adds() FAILED\n    java.lang.AssertionError at ATest.java:9\n\n1 test completed, 1 failed\n";
    let maven = "[ERROR] shop.ATest.adds -- Time elapsed: 0.01 s <<< FAILURE!\njava.lang.AssertionError: no\n\tat shop.ATest.adds(ATest.java:9)\n\n";
    let (rule, thin) = ("=".repeat(70), "-".repeat(70));
    let unittest = format!(
        "F\n{rule}\nFAIL: test_b (t.A.test_b)\n{thin}\nTraceback (most recent call last):\n  File \"t.py\", line 3, in test_b\nAssertionError: 1\n\n{thin}\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n"
    );
    let tsc = "src/a.ts(1,2): error TS2304: Cannot find name 'x'.\n";
    let mocha = "\n\n  1) adds\n\n  0 passing (2ms)\n  1 failing\n\n  1) adds:\n     Error: boom\n      at Context.<anonymous> (test/a.js:3:5)\n\n\n\n";
    for (one, other) in [
        (format!("\n> @x/a@1.0.0 test\n> tap\n\n{tap}"), format!("\n> @x/b@1.0.0 test\n> tap\n\n{tap}")),
        (
            format!("> @x/a\nyarn run v1.22.19\n$ tap\n{tap}"),
            format!("> @x/b\nyarn run v1.22.19\n$ tap\n{tap}"),
        ),
        (format!("> nx run a:test\n\n{tap}"), format!("> nx run b:test  [local cache]\n\n{tap}")),
        (behind("@x/a:test: "), behind("@x/b:test: ")),
        (behind("packages/a test: "), behind("packages/b test: ")),
        (behind("@x/a: "), behind("@x/b: ")),
        (behind("[@x/a]: "), behind("[@x/b]: ")),
        (format!("> Task :a:test FAILED\n\n{gradle}"), format!("> Task :b:test FAILED\n\n{gradle}")),
        (format!("[INFO] ------< g:a >------\n{maven}"), format!("[INFO] ------< g:b >------\n{maven}")),
        (
            format!(
                "make[1]: Entering directory '/srv/ci/shop/a'\n{unittest}make[1]: Leaving directory '/srv/ci/shop/a'\n"
            ),
            format!(
                "make[1]: Entering directory '/srv/ci/shop/b'\n{unittest}make[1]: Leaving directory '/srv/ci/shop/b'\n"
            ),
        ),
        (
            format!(
                "make[1]: Entering directory '/srv/ci/shop/a'\n{tsc}make[1]: Leaving directory '/srv/ci/shop/a'\n"
            ),
            format!(
                "make[1]: Entering directory '/srv/ci/shop/b'\n{tsc}make[1]: Leaving directory '/srv/ci/shop/b'\n"
            ),
        ),
        (format!("> a@1.0.0 build\n> tsc\n\n{tsc}"), format!("> b@1.0.0 build\n> tsc\n\n{tsc}")),
        (format!("==> a\n{tap}"), format!("==> b\n{tap}")),
        (
            format!("\n> @x/a@1.0.0 test\n> mocha\n\n{mocha}"),
            format!("\n> @x/b@1.0.0 test\n> mocha\n\n{mocha}"),
        ),
        (format!("::group::a:test\n{tap}::endgroup::\n"), format!("::group::b:test\n{tap}::endgroup::\n")),
    ] {
        let both = read(format!("{one}{other}").as_bytes()).set();
        assert_eq!(both.iter().count(), 2, "{one}{other}");
        // The order of the packages, and the one that fails, are not part of a failure.
        assert_eq!(read(format!("{other}{one}").as_bytes()).set(), both, "{other}{one}");
        let mended =
            other.replace("not ok", "ok").replace("FAIL", "PASS").replace("<<<", "").replace("error", "note");
        let mended = mended.replace("1 failing", "");
        let left = read(format!("{one}{mended}").as_bytes()).set();
        assert_eq!(left.iter().count(), 1, "{one}{mended}");
        assert!(left.iter().all(|failure| both.contains(failure)), "{one}{mended}");
        // A single package is the same with and without the tool that runs it.
        let bare: String = one
            .lines()
            .map(|line| line.trim_start_matches("@x/a:test: "))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_eq!(identities(&bare), 1, "{bare}");
    }
}

#[test]
fn failure_in_two_forms_is_named_once() {
    let panic = "thread 'adds' panicked at tests/one.rs:1:21:\nboom\n";
    let json = json!({"type": "test", "event": "failed", "name": "shop::one$adds", "stdout": panic});
    let told = format!(
        "        FAIL [   0.067s] (1/1) shop::one adds\n  output ───\n\n    {}\n\n     Summary [   0.068s] 1 test run: 0 passed, 1 failed, 0 skipped\n        FAIL [   0.067s] (1/1) shop::one adds\nerror: test run failed\n",
        panic.replace('\n', "\n    ")
    );
    let (json, told) = (format!("{json}\n"), told.as_str());
    check_forms("nextest", &[[&json, told, ""], [&json, "", ""], ["", told, ""]]);
}

#[test]
fn failure_around_the_tests_of_a_suite_is_one_failure_of_the_suite() {
    let suite = |before: &str, behind: &str| {
        format!(
            "[----------] 1 test from Suite\n{before}[ RUN      ] Suite.B\n[       OK ] Suite.B (0 ms)\n{behind}[----------] 1 test from Suite (0 ms total)\n\n[  PASSED  ] 1 test.\n[  FAILED  ] Suite: SetUpTestSuite or TearDownTestSuite\n\n 1 FAILED TEST SUITE\n"
        )
    };
    let broke = "t.cpp:2: Failure\nFailed\nsuite broke\n";
    for text in [suite(broke, ""), suite("", broke)] {
        check(&read(text.as_bytes()), &expect!["gtest | Suite | setup | t.cpp:2\n"]);
    }
    // The report has only the cases.
    let report = "<testsuites name=\"AllTests\"><testsuite name=\"Cart\"><testcase name=\"Adds\" classname=\"Cart\"><failure message=\"t.cc:3&#x0A;no\"/></testcase></testsuite></testsuites>";
    let both = read_streams([&suite(broke, ""), "", report]);
    assert_eq!(both.failures.len(), 2, "{both:#?}");
}

#[test]
fn a_package_alone_is_no_part_of_a_failure() {
    let tap = "TAP version 13\nnot ok 1 - adds\n  ---\n  error: 'no'\n  ...\n1..1\n";
    let plain = read(tap.as_bytes()).set();
    let behind = |label: &str| tap.lines().map(|line| format!("{label}{line}\n")).collect::<String>();
    for text in [
        format!("\n> @x/a@1.0.0 pretest\n> true\n\n> @x/a@1.0.0 test\n> tap\n\n{tap}"),
        behind("@x/a:test: "),
        format!(
            "make: Entering directory '/srv/ci/shop'\nmake[1]: Entering directory '/srv/ci/shop/a'\n{tap}make[1]: Leaving directory '/srv/ci/shop/a'\nmake: Leaving directory '/srv/ci/shop'\n"
        ),
        format!("> Task :compileJava\n> Task :test FAILED\n{tap}"),
        // Two at once: the output does not show which of them printed a line.
        format!(
            "make[1]: Entering directory '/srv/ci/shop/a'\nmake[1]: Entering directory '/srv/ci/shop/b'\n{tap}make[1]: Leaving directory '/srv/ci/shop/a'\nmake[1]: Leaving directory '/srv/ci/shop/b'\n"
        ),
        // Outside of the command's directory: a test runs make.
        format!(
            "make[1]: Entering directory '/tmp/x1/a'\nmake[1]: Leaving directory '/tmp/x1/a'\nmake[1]: Entering directory '/tmp/x1/b'\n{tap}make[1]: Leaving directory '/tmp/x1/b'\n"
        ),
    ] {
        assert_eq!(read(text.as_bytes()).set(), plain, "{text}");
    }
    // A tool that announces several packages distinguishes them, although only one printed something.
    let scoped = format!("Scope: 2 of 3 workspace projects\n{}", behind("packages/a test: "));
    assert_ne!(read(scoped.as_bytes()).set(), plain);
}

// ---- guarantees of fingerprints ----

/// Checks whether two texts are the same failure, by identity and exactly.
fn compare(one: &str, other: &str, identity: bool, exact: bool) {
    let panic = |message: &str| {
        let text = format!(
            "---- a::b stdout ----\n\nthread 'a::b' (7) panicked at src/a.rs:1:1:\n{message}\n\n\nfailures:\n    a::b\n\ntest result: FAILED. 0 passed; 1 failed\n"
        );
        let failures = read(text.as_bytes()).failures;
        assert_eq!(failures.len(), 1, "{message}");
        failures.into_iter().next().expect("one")
    };
    let (one_failure, other_failure) = (panic(one), panic(other));
    let (is_same, is_exact) =
        (one_failure.fingerprint == other_failure.fingerprint, one_failure.exact == other_failure.exact);
    assert_eq!((is_same, is_exact), (identity, exact), "{one:?} and {other:?}");
}

#[test]
fn volatile_values_are_masked() {
    for (one, other) in [
        ("took 150.125168ms", "took 3s"),
        ("at 2026-11-21T21:52:11.995329174Z", "at 2027-01-02 03:04:05"),
        ("item 0x55ae636bd880 moved", "item 0x7ffe5b6f6df0 moved"),
        ("id 3f2b8c1e-0000-4000-8000-0123456789ab", "id 99999999-1111-4222-8333-abcdefabcdef"),
        ("no /tmp/ledger-29966-932475283/missing.csv", "no /var/folders/x/T/ledger-1/missing.csv"),
        ("no /tmp/tmppzgttw8m of mine", "no /tmp/tmpab_3d9fg of mine"),
        ("no /tmp/tmpab3defgh.json", "no /tmp/tmpqrstuvwx.json"),
        ("no config in /tmp/.tmpAbC123", "no config in /tmp/.tmpzyXwvU"),
        ("no /srv/ci/shop/src/a.rs:12:5 here", "no src/a.rs:99:1 here"),
        ("no manifest in `/srv/ci/shop` or above", "no manifest in `.` or above"),
        ("dial 127.0.0.1:43121", "dial 10.0.0.7:80"),
        ("worker pid 4711 left", "worker pid 12 left"),
        ("stack of MainThread (140334980646592)", "stack of MainThread (140318055672704)"),
        ("stack of Thread-1 (serve) (140334980646592)", "stack of Thread-1 (serve) (140318055672704)"),
        ("commit 9f8e7d6c5b4a39281706", "commit 0123456789abcdef0123"),
        ("seed: 871236", "seed: 4"),
    ] {
        compare(one, other, true, true);
    }
}

#[test]
fn text_next_to_a_message_is_not_part_of_the_failure() {
    let vite = include_str!("fixtures/failures/vitest-syntax.txt");
    let report = r#"{"ok":1,"startTime":1795406515945,"endTime":1795406518380.8782,"duration":0.352}"#;
    for (one, other) in [
        // The source text around the place, and a timestamp that only its key identifies.
        (vite, vite.replace("assert.ok(true)", "assert.ok(is(1))")),
        (report, report.replace("17954065", "17954077").replace("0.352", "12")),
    ] {
        assert_ne!(one, other);
        let exact = |text: &str| {
            read(text.as_bytes()).failures.into_iter().map(|failure| failure.exact).collect::<Vec<_>>()
        };
        assert_eq!(exact(one), exact(&other), "{other}");
    }
}

#[test]
fn a_warning_or_a_name_in_an_annotation_counts_only_where_nothing_else_was_found() {
    let warning = "::warning file=a.js,line=1::no\n";
    let test = "::error file=/srv/ci/shop/a.js,title=a.js > b,line=1::no\n";
    for (text, tools) in [
        (warning.to_owned(), vec!["annotations"]),
        (test.to_owned(), vec!["annotations"]),
        (format!("{warning}a.ts(1,2): error TS1: no\n"), vec!["tsc"]),
        (format!("{test}a.ts(1,2): error TS1: no\n"), vec!["tsc"]),
        (format!("{warning}::error file=b.js,line=1::no\n"), vec!["annotations"]),
    ] {
        let found: Vec<String> =
            read(text.as_bytes()).failures.into_iter().map(|failure| failure.tool).collect();
        assert_eq!(found, tools, "{text}");
    }
}

#[test]
fn values_are_exact_and_no_identity() {
    for (one, other) in [
        ("expected 3 got 4", "expected 3 got 5"),
        ("expected \"a\" to equal \"b\"", "expected \"a\" to equal \"c\""),
        (
            "assertion `left == right` failed\n  left: 2\n right: 3",
            "assertion `left == right` failed\n  left: 2\n right: 4",
        ),
    ] {
        compare(one, other, true, false);
    }
}

#[test]
fn another_assertion_is_another_identity() {
    for (one, other) in [
        (
            "called `Result::unwrap()` on an `Err` value: PosOverflow",
            "called `Result::unwrap()` on an `Err` value: InvalidDigit",
        ),
        ("index out of bounds", "attempt to subtract with overflow"),
        ("no method 'titel'", "no method 'title'"),
        (
            "assertion `left == right` failed\n  left: Usd\n right: Eur",
            "assertion `left == right` failed\n  left: 1\n right: 2",
        ),
    ] {
        compare(one, other, false, false);
    }
}

#[test]
fn numbers_in_names_codes_and_parameters_are_kept() {
    let key = |line: &str| read(format!("{line}\n").as_bytes()).set().key();
    for (one, other) in [
        ("FAIL: case_01", "FAIL: case_02"),
        ("FAIL: square 2", "FAIL: square 3"),
        ("FAIL: Label/10", "FAIL: Label/11"),
        ("FAIL: total[80-25-61]", "FAIL: total[80-25-60]"),
        ("FAIL: is 50% off 1", "FAIL: is 50% off 2"),
        ("a.c:1:1: error: E0308 no", "a.c:1:1: error: E0309 no"),
        ("a.c:1:1: error: takes 0 arguments", "a.c:1:1: error: takes 1 arguments"),
    ] {
        assert_ne!(key(one), key(other), "{one} and {other}");
    }
}

/// Checks whether two unrecognized outputs are the same failure.
fn compare_unparsed(exit_code: i32, one: &str, other: &str, is_same: bool) {
    let set = |text: &str| {
        let output =
            ToolOutput { exit_code: Some(exit_code), stderr: text.as_bytes(), ..ToolOutput::default() };
        extract(&output).set().key()
    };
    assert_eq!(set(one) == set(other), is_same, "{one:?} and {other:?}");
}

#[test]
fn all_of_what_nothing_recognises_counts() {
    let dump = "\n  a dump of the memory\n  and of the rest\n  to the end";
    for (exit_code, one, other, is_same) in [
        (1, "a.txt is bad\nlooked\nat\n3 files", "b.txt is bad\nlooked\nat\n3 files", false),
        (1, "looked at 3 files", "looked at 2 files", false),
        (1, "so\n[10:00:01] a is bad\ndone", "so\n[10:00:01] b is bad\ndone", false),
        (1, "app / a FAIL with the exit status 1", "app / b FAIL with the exit status 1", false),
        (1, "npm error Missing script: \"a\"", "npm error Missing script: \"b\"", false),
        (1, "a is bad\nb is bad", "b is bad\na is bad", true),
        (1, "a is bad\nit took 1s 20ms", "a is bad\nit took 1m2s", true),
        (1, "a is bad, line 5", "a is bad, line 9", true),
        (1, "a is bad\nexit 1", "a is bad", true),
        (1, "+ sh ci.sh\n++ date\na is bad", "a is bad", true),
        (1, "- a is bad\n+ b is bad", "- a is bad\n+ c is bad", false),
        (1, "> app@1.0.0 test\n> sh ci.sh\n\na is bad", "a is bad", true),
        (1, "#<FD {1001348003}> is bad", "#<FD {10013480AB}> is bad", true),
        (1, "[10:00:01] job 7 on vm\na is bad", "[10:00:02] job 8 on pc\na is bad", true),
        (1, "done Jan 1, 2024, 10:00:00 AM", "done May 12, 2025, 1:02:03 PM", true),
        (
            134,
            &format!("Unhandled exception. A: no{dump}"),
            &format!("Unhandled exception. B: no{dump}"),
            false,
        ),
        (134, &format!("gave up{dump}"), "gave up", true),
        (137, "working on a", "working on b", true),
    ] {
        compare_unparsed(exit_code, one, other, is_same);
    }
}

#[test]
fn prefix_of_a_wrapper_is_not_part_of_a_failure() {
    for prefix in [
        "Nov 22 21:00:01 ",
        "2026-11-22T21:00:01.123Z ",
        "test (linux)\tRun tests\t2026-11-22T21:00:01.1234567Z ",
        "web-1  | ",
        "@acme/app:test: ",
        "packages/app test: ",
        "@acme/app: ",
        "Nov 22 21:00:01 vm1 job[1234]: ",
    ] {
        let samples = SAMPLES.iter().filter(|(_, text)| text.split(|byte| *byte == b'\n').count() > 3);
        for (file, text) in samples.filter(|(_, text)| !text.contains(&b'\r')) {
            let text = String::from_utf8_lossy(text);
            let wrapped: String = text.lines().map(|line| format!("{prefix}{line}\n")).collect();
            assert_eq!(read(wrapped.as_bytes()).set(), read(text.as_bytes()).set(), "{prefix}{file}");
        }
    }
}

#[test]
fn outputs_of_parallel_tools_are_read_separately() {
    let one = include_str!("fixtures/failures/node-test-tap.txt");
    let other = include_str!("fixtures/failures/pytest.txt");
    let lines =
        |label: &'static str, text: &'static str| text.lines().map(move |line| format!("[{label}] {line}\n"));
    let (mut one_lines, mut other_lines) = (lines("js", one), lines("py", other));
    let mut mixed = String::new();
    loop {
        let beside = [one_lines.next(), other_lines.next()];
        if beside.iter().all(Option::is_none) {
            break;
        }
        mixed.extend(beside.into_iter().flatten());
    }
    let keys = |text: &str| read(text.as_bytes()).failures.into_iter().map(|failure| failure.fingerprint);
    let apart = FailureSet::new(keys(one).chain(keys(other)));
    assert_eq!(read(mixed.as_bytes()).set(), apart);
}

// ---- properties ----

proptest! {
    #[test]
    fn any_bytes_give_an_answer(
        stdout in proptest::collection::vec(any::<u8>(), 0..400),
        report in proptest::collection::vec(any::<u8>(), 0..400),
    ) {
        let reports = vec![MachineReport { format: "junit", bytes: &report }, MachineReport { format: "", bytes: &report }];
        let output = ToolOutput { cwd: "/a", exit_code: Some(1), stdout: &stdout, reports, ..ToolOutput::default() };
        prop_assert!(!extract(&output).failures.is_empty());
    }

    #[test]
    fn samples_that_are_cut_and_mixed_give_an_answer(
        one in 0..SAMPLES.len(), other in 0..SAMPLES.len(), cut in any::<prop::sample::Index>(),
    ) {
        let (one, other) = (SAMPLES[one].1, SAMPLES[other].1);
        let text = [&one[cut.index(one.len())..], &other[..cut.index(other.len())]].concat();
        let first = read(&text);
        prop_assert!(!first.failures.is_empty() || text.is_empty() || first.confidence == Confidence::Low);
        prop_assert_eq!(first, read(&text));
    }

    /// Neither the order of the tests nor noise between them is part of a set.
    #[test]
    fn order_and_noise_leave_the_key_unchanged(
        (names, shuffled) in proptest::collection::btree_set("[a-z]{3,8}_[0-9]{1,2}", 1..8)
            .prop_map(|names| names.into_iter().collect::<Vec<_>>())
            .prop_flat_map(|names| (Just(names.clone()), Just(names).prop_shuffle())),
        noise in "[a-zA-Z0-9 .,]{0,60}", millis in 0..5000_u32, base in 1..90_u32,
    ) {
        let text = |names: &[String], noise: &str, millis: u32| {
            let mut text = String::from("TAP version 13\n");
            for (at, name) in names.iter().enumerate() {
                let _infallible = writeln!(text, "# {noise}\nok {} - fine ({millis}ms)\nnot ok {} - {name} ({millis}ms)\n  ---\n  message: 'after {millis}ms at 0x{:x}'\n  ...", 2 * at + 1, 2 * at + 2, millis + 4096);
            }
            let _infallible = writeln!(text, "1..{}", 2 * names.len());
            text
        };
        let (one, other) = (read(text(&names, "", base).as_bytes()), read(text(&shuffled, &noise, millis).as_bytes()));
        prop_assert_eq!(one.failures.len(), names.len());
        prop_assert_eq!(one.set().key(), other.set().key());
        prop_assert_eq!(one.set(), other.set());
    }
}

#[test]
fn more_failures_than_are_kept_are_counted() {
    let mut text = String::from("1..11000\n");
    for at in 0..11_000 {
        let _infallible = writeln!(text, "not ok {at} - case {at}");
    }
    let extraction = read(text.as_bytes());
    assert_eq!((extraction.failures.len(), extraction.failures_left_out), (10_000, 1_000));
}

#[test]
fn dropped_failures_stay_dropped_after_others_are_fixed() {
    let cases = |from: u32| {
        let text: String = (from..11_000).map(|at| format!("not ok {at} - case {at}\n")).collect();
        read(text.as_bytes())
    };
    let (all, fewer) = (cases(0), cases(20));
    assert_eq!(fewer.failures_left_out, 980);
    let (all, fewer) = (all.set(), fewer.set());
    // Every kept failure that still fails is kept; at most as many appear as kept ones were fixed.
    let mended = all.without(&fewer).len();
    assert!(mended <= 20, "{mended}");
    assert_eq!(fewer.without(&all).len(), mended);
}

#[test]
fn many_failures_are_distinct_but_shortened() {
    let told = |name: &str| -> Vec<Failure> {
        let failures = (0..3000)
            .map(|at| Failure::synthetic("t", "k", FailureSubject::Item(&at.to_string(), name), "one\ntwo"));
        failures.collect()
    };
    let mut short = told("f");
    assert_eq!(unstuck_failures::shorten(&mut short), 0);
    let messages: Vec<&str> = short.iter().map(|failure| failure.message.as_str()).collect();
    assert_eq!((short.len(), messages[999], messages[1000]), (3000, "one\ntwo", "one"));
    let (mut long, name) = (told(&"f".repeat(8192)), 3000);
    let left_out = unstuck_failures::shorten(&mut long);
    assert!(left_out > 0 && long.len() as u64 + left_out == name, "{left_out}");
}

#[test]
fn failure_that_prevents_tests_differs_from_a_failed_test() {
    let unittest = |test: &str, kind: &str| {
        format!(
            "E\n======================================================================\nERROR: {test}\n----------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/w/m.py\", line 1, in f\n    x\n{kind}: what\n\n----------------------------------------------------------------------\nRan 2 tests in 0.000s\n\nFAILED (errors=1)\n"
        )
    };
    for (said, want) in [
        (unittest("test_m (unittest.loader._FailedTest.test_m)", "NameError"), true),
        (unittest("test_m (unittest.loader._FailedTest.test_m)", "SyntaxError"), true),
        (unittest("test_x (test_m.T.test_x)", "NameError"), false),
        (
            "= short test summary info =\nERROR test_a.py - SyntaxError: invalid syntax\n1 error in 0.01s"
                .to_owned(),
            true,
        ),
        (
            "= short test summary info =\nFAILED test_a.py::test_b - assert 1 == 2\n1 failed in 0.01s"
                .to_owned(),
            false,
        ),
        ("src/a.c:3:1: error: no semicolon".to_owned(), true),
        ("not ok 1 - a".to_owned(), false),
        ("not ok 1 - src/a.test.js".to_owned(), true),
        ("not ok 1 - com.shop.CartTest.adds".to_owned(), false),
        ("not ok 1 - src/a.test.js > adds 1.5".to_owned(), false),
        ("something went wrong".to_owned(), false),
    ] {
        let failures = read(said.as_bytes()).failures;
        assert_eq!(
            failures.iter().map(Failure::is_early).collect::<Vec<_>>(),
            [want],
            "{said}: {failures:?}"
        );
    }
}

#[test]
fn one_long_line_gives_an_answer() {
    for part in ["a.c:1: ", "(", "\"'", "E   ", "not ok ", "\u{1b}[", "/tmp/", "0x", "1.1.", "FAIL: "] {
        let text = part.repeat((256 << 10) / part.len());
        assert!(!read(text.as_bytes()).failures.is_empty(), "{part}");
    }
}

/// Reads two streams, and optionally a report.
fn read_streams([out, err, report]: [&str; 3]) -> Extraction {
    let reports = Some(MachineReport { format: "junit", bytes: report.as_bytes() })
        .filter(|report| !report.bytes.is_empty());
    let (stdout, stderr) = (out.as_bytes(), err.as_bytes());
    let reports = reports.into_iter().collect();
    extract(&ToolOutput {
        cwd: "/srv/ci/shop",
        exit_code: Some(1),
        stdout,
        stderr,
        reports,
        ..ToolOutput::default()
    })
}

#[test]
fn unloadable_file_in_report_and_text_is_one_failure() {
    let file = |name: &str, message: &str, tests: &str| {
        format!(
            r#"{{"name":"/srv/ci/shop/{name}","status":"failed","message":"{message}","assertionResults":[{tests}]}}"#
        )
    };
    let test = r#"{"ancestorTitles":[],"title":"bad","fullName":"bad","status":"failed","failureMessages":["Error: boom"]}"#;
    let files =
        [file("a.test.js", "", test), file("b.test.js", "Cannot find module './nope' from 'b.test.js'", "")];
    let report = format!(
        r#"{{"numFailedTests":1,"numTotalTests":1,"success":false,"testResults":[{}]}}"#,
        files.join(",")
    );
    let told = "FAIL a.test.js\n  ● bad\n\n    boom\n\n";
    let failed = "FAIL b.test.js\n  ● Test suite failed to run\n\n    Cannot find module './nope' from 'b.test.js'\n\n";
    for out in [told.to_owned(), format!("{told}{failed}")] {
        let out = format!("{out}Tests:       1 failed, 1 total\n");
        let reports = vec![MachineReport { format: "test-json", bytes: report.as_bytes() }];
        let output = ToolOutput {
            cwd: "/srv/ci/shop",
            exit_code: Some(1),
            stdout: out.as_bytes(),
            reports,
            ..ToolOutput::default()
        };
        let files: Vec<_> = extract(&output)
            .failures
            .into_iter()
            .filter_map(|failure| Some(failure.location?.file))
            .collect();
        assert_eq!(BTreeSet::from_iter(&files).len(), 2, "{files:?}");
        assert_eq!(files.len(), 2, "{files:?}");
    }
}

/// Checks that a test is a different one in another file; `printed` returns the output of a tool for these files.
fn check_namesakes(tool: &str, printed: impl Fn(&[&str]) -> [String; 3]) {
    let keys = |files: &[&str]| {
        let printed = printed(files);
        let found = read_streams(printed.each_ref().map(String::as_str)).failures;
        found.into_iter().map(|failure| failure.fingerprint).collect::<Vec<_>>()
    };
    let [one, other] = [keys(&["a"]), keys(&["b"])];
    assert_eq!((one.len(), other.len()), (1, 1), "{tool}");
    assert_ne!(one, other, "{tool}");
    assert_eq!(keys(&["a", "b"]), [one, other].concat(), "{tool}");
}

/// Joins the outputs of all files.
fn each(files: &[&str], printed: impl Fn(&str) -> String) -> String {
    files.iter().map(|file| printed(file)).collect()
}

/// Returns the output of a cargo test binary with a failed test.
fn libtest() -> String {
    "running 1 test\ntest t::works ... FAILED\n\nfailures:\n\n---- t::works stdout ----\n\nthread 't::works' (7) panicked at /x/p.rs:2:9:\nboom\n\nfailures:\n    t::works\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n\n".to_owned()
}

fn to_rerun(target: &str) -> String {
    format!(
        "     Running tests/{target}.rs (target/debug/deps/{target}-3f2e)\nerror: test failed, to rerun pass `--test {target}`\n"
    )
}

#[test]
fn the_same_name_in_another_file_is_another_test() {
    let none = String::new;
    check_namesakes("cargo", |files| [each(files, |_| libtest()), each(files, to_rerun), none()]);
    check_namesakes("cargo, one stream", |files| {
        [each(files, |name| libtest() + &to_rerun(name)), none(), none()]
    });
    check_namesakes("cargo, whose words a test prints", |files| {
        let quotes = libtest().replace("boom", "boom\n+error: test failed, to rerun pass `-p inner --lib`");
        [each(files, |_| quotes.clone()), each(files, to_rerun), none()]
    });
    check_namesakes("cargo, behind what tests printed", |files| {
        let glued = |name: &str| to_rerun(name).replace("error: ", "printed by a test.error: ");
        [each(files, |_| libtest()), each(files, glued), none()]
    });
    check_namesakes("cargo, and a binary that died", |files| {
        let died = "error: test failed, to rerun pass `--test c`\n\nCaused by:\n  process didn't exit successfully: `/x/c-3f` (signal: 6, SIGABRT: process abort signal)\n";
        let streams = [each(files, |_| libtest()), each(files, to_rerun) + died];
        // The binary is a separate failure, which this case does not test.
        let streams = streams
            .map(|stream| stream.replace("     Running", "Running").replace("`/x/c-3f`", "`/x/rustc`"));
        let [out, err] = streams;
        [out, err, none()]
    });
    check_namesakes("prove -v, one stream", |files| {
        let said = |name: &str| {
            format!(
                "t/{name}.t .. \n1..1\nnot ok 1 - works\n#   Failed test 'works'\n#   at t/{name}.t line 2.\n#          got: '2'\nFailed 1/1 subtests \n"
            )
        };
        let sum = |name: &str| {
            format!(
                "t/{name}.t (Wstat: 256 (exited 1) Tests: 1 Failed: 1)\n  Failed test:  1\n  Non-zero exit status: 1\n"
            )
        };
        [
            each(files, said) + "\nTest Summary Report\n-------------------\n" + &each(files, sum),
            none(),
            none(),
        ]
    });
    check_namesakes("libtest as JSON", |files| {
        let test = r#"{ "type": "test", "event": "failed", "name": "t::works", "stdout": "boom" }"#;
        let suite = r#"{ "type": "suite", "event": "failed", "passed": 0, "failed": 1 }"#;
        let passed = r#"{ "type": "suite", "event": "ok", "passed": 2, "failed": 0 }"#;
        [each(files, |_| format!("{passed}\n{test}\n{suite}\n")), each(files, to_rerun), none()]
    });
    check_namesakes("nextest", |files| {
        let line = |name: &str| format!("        FAIL [   0.005s] (1/2) shop::{name} t::works\n");
        let told = each(files, |name| line(name) + "    thread 't::works' panicked at p.rs:2:9:\n    boom\n");
        let summary = "     Summary [   0.1s] 2 tests run: 0 passed, 2 failed, 0 skipped\n";
        [
            none(),
            format!("{told}────────────\n{summary}{}error: test run failed\n", each(files, line)),
            none(),
        ]
    });
    check_namesakes("node", |files| {
        let tree = each(files, |_| "✖ works (1ms)\n".to_owned());
        let told = each(files, |name| {
            format!(
                "test at test/{name}.test.js:3:1\n✖ works (1ms)\n  Error: boom\n      at lib (/srv/ci/shop/lib.js:2:2)\n\n"
            )
        });
        [format!("{tree}ℹ tests 2\n\n✖ failing tests:\n\n{told}"), none(), none()]
    });
    check_namesakes("node, TAP", |files| {
        let point = |name: &str| {
            format!(
                "not ok 1 - works\n  ---\n  location: '/srv/ci/shop/test/{name}.test.js:3:1'\n  error: 'boom'\n  ...\n"
            )
        };
        [format!("TAP version 13\n{}1..2\n", each(files, point)), none(), none()]
    });
    check_namesakes("mocha", |files| {
        let count = files.len();
        let mut nth = 0;
        let items = files.iter().map(|name| {
            nth += 1;
            format!("  {nth}) works:\n     Error: boom\n      at lib (lib.js:2:2)\n      at Context.<anonymous> (test/{name}.js:3:5)\n\n")
        });
        [format!("\n  0 passing (5ms)\n  {count} failing\n\n{}", items.collect::<String>()), none(), none()]
    });
    check_namesakes("RSpec", |files| {
        let mut nth = 0;
        let items = files.iter().map(|_| {
            nth += 1;
            format!(
                "  {nth}) works\n     Failure/Error: boom\n       boom\n     # ./spec/help.rb:3:in `x'\n\n"
            )
        });
        let items: String = items.collect();
        let reruns = each(files, |name| format!("rspec ./spec/{name}_spec.rb:2 # works\n"));
        [
            format!(
                "FF\n\nFailures:\n\n{items}Finished in 0.1 seconds\n2 examples, 2 failures\n\nFailed examples:\n\n{reruns}"
            ),
            none(),
            none(),
        ]
    });
    check_namesakes("bats", |files| {
        let point = |name: &str| {
            format!("not ok 1 works\n# (in test file test/{name}.bats, line 3)\n#   `false' failed\n")
        };
        [format!("1..2\n{}", each(files, point)), none(), none()]
    });
    check_namesakes("bats, pretty", |files| {
        let told = each(files, |name| {
            format!(" ✗ works\n   (in test file test/{name}.bats, line 3)\n     `false' failed\n")
        });
        [format!("{told}\n2 tests, 2 failures\n"), none(), none()]
    });
}

/// Checks that a test is the same in every form of its tool: two streams, and optionally a report.
fn check_forms(tool: &str, forms: &[[&str; 3]]) {
    let found: Vec<_> = forms.iter().map(|form| read_streams(*form)).collect();
    assert!(found.iter().all(|read| read.failures.len() == 1), "{tool}: {found:#?}");
    assert!(found.iter().all(|read| read.set() == found[0].set()), "{tool}: {found:#?}");
}

#[test]
fn a_test_is_the_same_in_every_form_that_its_tool_has() {
    let (list, target) = (libtest(), to_rerun("a"));
    let (_, quiet) = target.split_once('\n').expect("two lines");
    let passed = "test result: ok. 3 passed; 0 failed; 0 ignored\n";
    let dart =
        "  Expected: <8>\n    Actual: <7>\n  package:matcher  expect\n  test/a_test.dart 14:7  main.<fn>\n";
    // With `-v`, the points are above the summary, and do not name their file.
    let said = "\n#   Failed test 'adds'\n#   at t/a.t line 2.\n#          got: '2'\n#     expected: '3'\n";
    let summary = "\nTest Summary Report\n-------------------\nt/a.t (Wstat: 256 (exited 1) Tests: 2 Failed: 1)\n  Failed test:  1\n  Non-zero exit status: 1\nResult: FAIL\n";
    let failed = "Dubious, test returned 1 (wstat 256, 0x100)\nFailed 1/2 subtests \n";
    check_forms(
        "prove",
        &[
            [&format!("t/a.t .. \n{failed}{summary}"), said, ""],
            [&format!("t/a.t .. \n1..2\nnot ok 1 - adds\nok 2\n{failed}{summary}"), said, ""],
        ],
    );
    check_forms(
        "dart",
        &[
            [
                &format!("00:00 +1 -1: test/a_test.dart: adds [E]\n{dart}00:00 +1 -1: Some tests failed.\n"),
                "",
                "",
            ],
            [&format!("00:00 +1 -1: adds [E]\n{dart}00:00 +1 -1: Some tests failed.\n"), "", ""],
            [
                &format!("❌ test/a_test.dart: adds (failed)\n{dart}::error::1 test passed, 1 failed.\n"),
                "",
                "",
            ],
        ],
    );
    check_forms(
        "cargo",
        &[
            [&list, &target, ""],
            [&list, quiet, ""],
            [&list, &target.replace('`', "'"), ""],
            [&format!("{passed}{list}{target}{passed}"), "", ""],
            [
                &format!("{passed}{list}{passed}"),
                &format!("{target}error: 1 target failed:\n    `--test a`\n"),
                "",
            ],
        ],
    );
    let told = "(in test file test/a.bats, line 3)\n";
    let case = format!(
        "<testcase classname=\"a.bats\" name=\"works\"><failure type=\"failure\">{told}  `false&#39; failed</failure></testcase>"
    );
    check_forms(
        "bats",
        &[
            [&format!("1..1\nnot ok 1 works\n# {told}#   `false' failed\n"), "", ""],
            [&format!(" ✗ works\n   {told}     `false' failed\n\n1 test, 1 failure\n"), "", ""],
            [&format!(" ✗ works [12]\n   {told}     `false' failed\n\n1 test, 1 failure in 1 sec\n"), "", ""],
            [
                "",
                "",
                &format!(
                    "<testsuites><testsuite name=\"a.bats\" tests=\"1\">{case}</testsuite></testsuites>"
                ),
            ],
        ],
    );
    let told = "t.cc:3\nValue of: false\n  Actual: false\nExpected: true";
    let (ran, escaped) = (told.replacen('\n', ": Failure\n", 1), told.replace('\n', "&#x0A;"));
    check_forms(
        "gtest",
        &[
            [&format!("[ RUN      ] Cart.Adds\n{ran}\n[  FAILED  ] Cart.Adds (0 ms)\n"), "", ""],
            [
                "",
                "",
                &format!(
                    "<testsuites name=\"AllTests\"><testsuite name=\"Cart\"><testcase name=\"Adds\" file=\"t.cc\" line=\"3\" classname=\"Cart\"><failure message=\"{escaped}\" type=\"\"></failure></testcase></testsuite></testsuites>"
                ),
            ],
            [
                &json!({"testsuites": [{"name": "Cart", "testsuite": [
                    {"name": "Adds", "classname": "Cart", "file": "t.cc", "line": 3, "failures": [{"failure": told, "type": ""}]},
                ]}]})
                .to_string(),
                "",
                "",
            ],
        ],
    );
    let trace = "Error: boom\n    at lib (/srv/ci/shop/lib.js:2:2)\n    at TestContext.&lt;anonymous> (file:///srv/ci/shop/test/a.test.js:3:5)\n    at Test.run (node:internal/test_runner/test:796:25)";
    let case = format!(
        "<testcase name=\"works\" classname=\"test\"><failure type=\"testCodeFailure\" message=\"boom\">\n[Error [ERR_TEST_FAILURE]: boom] {{\n  cause: {trace}\n}}</failure></testcase>"
    );
    let trace = trace.replace("&lt;", "<");
    check_forms(
        "node",
        &[
            [
                &format!(
                    "✖ works (1ms)\nℹ tests 1\n\n✖ failing tests:\n\ntest at test/a.test.js:3:1\n✖ works (1ms)\n  {trace}\n"
                ),
                "",
                "",
            ],
            ["", "", &format!("<testsuites>{case}</testsuites>")],
        ],
    );
    let trace = "Error: boom\n      at lib (lib.js:2:2)\n      at Context.<anonymous> (test/a.js:3:5)";
    let json = trace.replace('\n', "\\n");
    check_forms(
        "mocha",
        &[
            [&format!("\n  0 passing (5ms)\n  1 failing\n\n  1) works:\n     {trace}\n"), "", ""],
            [
                &format!(
                    "{{\n  \"failures\": [{{\"fullTitle\": \"works\", \"file\": \"/srv/ci/shop/test/a.js\", \"err\": {{\"stack\": \"{json}\"}}}}]\n}}"
                ),
                "",
                "",
            ],
            [&format!("not ok 1 works\n  boom\n  {trace}\n# tests 1\n# pass 0\n# fail 1\n1..1\n"), "", ""],
            [
                "",
                "",
                &format!(
                    "<testsuite name=\"Mocha Tests\"><testcase classname=\"\" name=\"works\"><failure>boom\n\n{}</failure></testcase></testsuite>",
                    trace.replace('<', "&lt;")
                ),
            ],
        ],
    );
}

#[test]
fn runs_of_pytest_in_one_output_have_each_their_own_names() {
    let line = "=".repeat(28);
    let run = |file: &str| {
        format!(
            "F\n{line} FAILURES {line}\n{0} test_v {0}\n\n    def test_v():\n>       assert 1 == 2\nE       assert 1 == 2\n\n{file}:2: AssertionError\n\
             {line} short test summary info {line}\nFAILED {file}::test_v - assert 1 == 2\n1 failed in 0.02s\n",
            "_".repeat(30)
        )
    };
    for files in
        [&["test_v.py"][..], &["test_v.py", "test_w.py"], &["test_w.py", "test_v.py", "tests/test_x.py"]]
    {
        let text: String = files.iter().map(|file| run(file)).collect();
        let names: Vec<String> =
            read(text.as_bytes()).failures.iter().filter_map(|failure| failure.test.clone()).collect();
        let wanted: Vec<String> = files.iter().map(|file| format!("{file}::test_v")).collect();
        assert_eq!(names, wanted);
    }
}

#[test]
fn which_of_several_processes_ran_a_test_is_no_part_of_its_failure() {
    let printed = |worker: u32| {
        format!(
            "=========== FAILURES ===========\n________ test_b ________\n[gw{worker}] linux -- Python 3.11.7 /bin/python\n[XPASS(strict)] not yet\n________ test_c.py ________\n[gw{worker}] linux -- Python 3.11.7 /bin/python\nworker 'gw{worker}' crashed while running 'test_c.py::test_c'\n======= short test summary info =======\nFAILED test_b.py::test_b - [XPASS(strict)] not yet\nFAILED test_c.py::test_c - worker 'gw{worker}' crashed while running 'test_c.py::test_c'\nSUBFAILED(i=0) test_d.py::test_d\nSUBFAILED(i=1) test_d.py::test_d\n======= 4 failed in 0.1s =======\n"
        )
    };
    let [one, other] = [0, 7].map(|worker| read(printed(worker).as_bytes()));
    let names: Vec<_> = one.failures.iter().filter_map(|failure| failure.test.as_deref()).collect();
    assert_eq!(
        names,
        ["test_b.py::test_b", "test_c.py::test_c", "test_d.py::test_d (i=0)", "test_d.py::test_d (i=1)"]
    );
    assert_eq!(one.set(), other.set(), "{one:#?}{other:#?}");
}

#[test]
fn reports_of_linters_are_read_by_their_shape() {
    for (report, expected) in [
        (
            r#"{"files":[{"path":"a.rb","offenses":[{"severity":"warning","message":"Useless assignment.","cop_name":"Lint/UselessAssignment","location":{"start_line":3,"line":3,"column":1}}]}]}"#,
            "lint | - | Lint/UselessAssignment | a.rb:3\n",
        ),
        (
            r#"[{"code":"DL3003","column":1,"file":"Dockerfile","level":"warning","line":3,"message":"Use WORKDIR"},{"code":"SC2086","column":1,"file":"Dockerfile","level":"info","line":4,"message":"Double quote"}]"#,
            "lint | - | DL3003 | Dockerfile:3\nlint | - | SC2086 | Dockerfile:4\n",
        ),
        (
            r#"[{"file":"a.html","messages":[{"type":"error","message":"No doctype.","evidence":"<html>","line":1,"col":1,"rule":{"id":"doctype-first"}}]}]"#,
            "lint | - | doctype-first | a.html:1\n",
        ),
        (
            "{\"check_name\":\"DL3003\",\"description\":\"a\",\"location\":{\"path\":\"D\",\"lines\":{\"begin\":3}}}\0{\"check_name\":\"DL3008\",\"description\":\"b\",\"location\":{\"path\":\"D\",\"lines\":{\"begin\":4}}}\0",
            "lint | - | DL3003 | D:3\nlint | - | DL3008 | D:4\n",
        ),
        (
            r#"{"results":[{"code":"1 a\n2 b\n","filename":"a.py","issue_severity":"LOW","issue_text":"Use of eval.","line_number":2,"test_id":"B307"}]}"#,
            "lint | - | B307 | a.py:2\n",
        ),
        (
            r#"[{"kind":"error","message":"no member","locations":[{"caret":{"file":"a.c","line":5,"column":4}}],"children":[{"kind":"note","message":"here","locations":[{"caret":{"file":"a.c","line":6}}]}]}]"#,
            "lint | - |  | a.c:5\n",
        ),
        (
            "{\"path\":\"a.proto\",\"start_line\":3,\"type\":\"ENUM_ZERO\",\"message\":\"one\"}\n{\"path\":\"a.proto\",\"start_line\":5,\"type\":\"ENUM_NAME\",\"message\":\"two\"}\n",
            "lint | - | ENUM_ZERO | a.proto:3\nlint | - | ENUM_NAME | a.proto:5\n",
        ),
        (
            "{\"level\":\"info\",\"message\":\"listening\",\"file\":\"a.go\",\"line\":3}\n",
            "process | - | unparsed | -\n",
        ),
    ] {
        assert_eq!(shown(&read(report.as_bytes())), expected, "{report}");
    }
}

#[test]
fn a_diagnostic_is_a_place_and_a_message_but_no_frame_of_a_stack() {
    for (printed, expected) in [
        ("a/a.proto:3:9:Name \"user\" is no type.", "diagnostics | - |  | a/a.proto:3\n"),
        ("hadolint:Dockerfile:1: DL3006 warning: Tag it", "diagnostics | - | DL3006 | Dockerfile:1\n"),
        (
            "src/a b.py:1:1: F401 unused\nsrc/a b.py:5:2: F821 undefined",
            "diagnostics | - | F401 | src/a b.py:1\ndiagnostics | - | F821 | src/a b.py:5\n",
        ),
        ("a.py:3:some text", "process | - | unparsed | -\n"),
        ("a.zig:3:5: 0x1252c44 in main (a.zig)", "process | - | unparsed | -\n"),
        ("Makefile:3: target 'lint' does not exist", "process | - | unparsed | -\n"),
        ("│ a.py:12 in f │", "process | - | unparsed | -\n"),
        (
            "1..1\nnot ok 1 - t.c:core:test_push: Assertion '2 == 1' failed",
            "check | core:test_push |  | t.c\n",
        ),
        ("1..2\nnot ok 1 a.lua:2:9: unused variable 'x'\nok 2 b.lua", "diagnostics | - |  | a.lua:2\n"),
        (
            "Rakefile:3:in `block in <top (required)>': no luck (RuntimeError)",
            "traceback | - | RuntimeError | Rakefile:3\n",
        ),
        ("-e:1:in `<main>': no luck (RuntimeError)", "traceback | - | RuntimeError | -\n"),
    ] {
        assert_eq!(shown(&read(format!("{printed}\n").as_bytes())), expected, "{printed}");
    }
}

#[test]
fn a_folder_with_a_blank_is_the_folder_of_the_command() {
    let stack = |root: &str| format!("Error: no\n    at f ({root}/t.js:1:2)\n    at g ({root}/a.js:3:4)\n");
    let read = |cwd: &str| {
        let text = stack(cwd);
        let output = ToolOutput { cwd, exit_code: Some(1), stderr: text.as_bytes(), ..ToolOutput::default() };
        (extract(&output).set().key(), shown(&extract(&output)))
    };
    assert_eq!(read("/srv/ci/my shop"), read("/srv/ci/shop"));
    assert!(read("/srv/ci/my shop").1.contains("t.js:1"));
}

#[test]
fn a_bound_of_coverage_is_a_failure_whatever_was_reached() {
    for (one, other) in [
        (
            "FAIL Required test coverage of 90% not reached. Total coverage: 71.43%",
            "FAIL Required test coverage of 90% not reached. Total coverage: 68.00%",
        ),
        (
            "Jest: \"global\" coverage threshold for statements (90%) not met: 71.4%",
            "Jest: \"global\" coverage threshold for statements (90%) not met: 68%",
        ),
        (
            "ERROR: Coverage for lines (71.4%) does not meet global threshold (90%)",
            "ERROR: Coverage for lines (68%) does not meet global threshold (90%)",
        ),
    ] {
        let [one, other] = [one, other]
            .map(|line| read(format!("FAILED t.py::test_b - assert 1 == 2\n\n{line}\n").as_bytes()));
        assert_eq!(one.failures.iter().filter(|failure| failure.kind == "coverage").count(), 1, "{one:#?}");
        assert_eq!(one.set(), other.set(), "{one:#?}{other:#?}");
    }
}

#[test]
fn row_of_marks_is_not_a_failure() {
    let found = |row: &str| read(format!("{row}\n\n   FAIL  Calc  \"adds\"\n    boom\n").as_bytes()).set();
    assert_eq!(found("✘ •   (1 / 3)"), found("✘ • •   (2 / 4)"));
}

#[test]
fn excused_point_is_not_a_failure() {
    for directive in ["# TODO later", "#TODO later", "#todo", "# SKIP no network", "#skip"] {
        for head in ["1..2\n", ""] {
            let found = read(format!("{head}not ok 1 - adds {directive}\nnot ok 2 - takes #3\n").as_bytes());
            let named: Vec<Option<&str>> =
                found.failures.iter().map(|failure| failure.test.as_deref()).collect();
            assert_eq!(named, [Some("takes #3")], "{head}{directive}");
        }
    }
}

#[test]
fn a_plan_that_is_not_fulfilled_fails_whatever_the_exit_code() {
    for (text, fails) in [
        ("1..3\nok 1 - a\nok 2 - b\n", true),
        ("TAP version 13\n1..2\nok 1 - a # SKIP no network\n", true),
        ("1..2\nok 1 - a\nok 2 - b\n1..3\nok 1 - c\n# it dies\n", true),
        ("1..2\nok 1 - a\nnot ok 2 - b # TODO later\n", false),
        // Output before a point has no line feed.
        ("1..3\nok 1 - a\nloading... ok 2 - b\nok 3\n", false),
        // A plan after its points counts them, and some of the points may be cut off.
        ("ok 2 - b\nok 3 - c\n1..3\n", false),
        ("ok 1 - a\n1..1\n1..2\nok 1 - b\nok 2 - c\n", false),
        // In parallel.
        ("1..2\n1..1\nok 1 - a\nok 1 - c\nok 2 - b\n", false),
        ("1..0 # SKIP no compiler\n", false),
        ("ok 1 - a\n    1..3\n    ok 1 - b\nok 2 - c\n", false),
        // Not TAP.
        ("1..3\nok\n", false),
        ("1..3\nok  \tm/p\t0.1s\n", false),
    ] {
        let output = ToolOutput { exit_code: Some(0), stdout: text.as_bytes(), ..ToolOutput::default() };
        let kinds: Vec<String> = extract(&output).failures.into_iter().map(|failure| failure.kind).collect();
        assert_eq!(kinds, if fails { &["plan"][..] } else { &[] }, "{text}");
    }
    // A failed hook prevents the other tests.
    let hook = read(b"1..3\nok 1 - a\nnot ok 2 - \"before all\" hook\n  no\n");
    assert_eq!(hook.failures.len(), 1, "{hook:?}");
}

/// A function that returns the output of a tool whose failed test printed a text.
type Printer = fn(&str) -> String;

#[test]
fn output_of_a_failed_test_is_not_a_failure_of_another_tool() {
    let baits = [
        "error[E0308]: mismatched types\n --> src/x.rs:3:5\n  |\n3 |     1\n  |     ^ expected `()`\n",
        "x.c:3:5: error: 'y' undeclared\n",
        "TAP version 13\nnot ok 1 - y\n1..1\n",
        "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x60\n    #0 0x1 in f x.c:3\n",
        "src/x.ts(3,5): error TS2322: Type 'a' is not assignable to type 'b'.\n",
        "::error file=x.js,line=3::y\n",
        "[ RUN      ] A.b\n[  FAILED  ] A.b (0 ms)\n",
        "Diff in /x/y.rs:3:\n-a\n+b\n",
        "would reformat x.py\n",
    ];
    let printers: [(&str, Printer); 5] = [
        ("cargo", |bait| libtest().replace("\n\nthread ", &format!("\n\n{bait}\nthread "))),
        ("nextest", |bait| {
            let line = "        FAIL [   0.005s] (1/2) shop t::works";
            let bait: String = bait.lines().map(|line| format!("    {line}\n")).collect();
            format!(
                "{line}\n  stdout ───\n\n{bait}\n  stderr ───\n\n    thread 't::works' panicked at p.rs:2:9:\n    boom\n\n────────────\n     Summary [   0.1s] 1 test run: 0 passed, 1 failed, 0 skipped\n{line}\nerror: test run failed\n"
            )
        }),
        ("go", |bait| {
            format!(
                "ok  \tm/a\t0.1s\n{bait}--- FAIL: TestB (0.00s)\n    b_test.go:3: boom\nFAIL\nFAIL\tm/b\t0.1s\nFAIL\n"
            )
        }),
        ("pytest", |bait| {
            format!(
                "=========== FAILURES ===========\n________ test_b ________\n\n    def test_b():\n>       assert f() == 2\nE       assert 1 == 2\n\nt.py:3: AssertionError\n-------- Captured stdout call --------\n{bait}======= short test summary info =======\nFAILED t.py::test_b - assert 1 == 2\n======= 1 failed in 0.1s =======\n"
            )
        }),
        ("unittest", |bait| {
            format!(
                "F\n{}\nFAIL: test_b (t.A.test_b)\n{}\nTraceback (most recent call last):\n  File \"t.py\", line 3, in test_b\n    self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\nStdout:\n{bait}\n{}\nRan 1 test in 0.1s\n\nFAILED (failures=1)\n",
                "=".repeat(70),
                "-".repeat(70),
                "-".repeat(70)
            )
        }),
    ];
    for (tool, printed) in printers {
        let plain = read(printed("said\n").as_bytes());
        assert_eq!(plain.failures.len(), 1, "{tool}: {plain:#?}");
        for bait in baits {
            let baited = read(printed(bait).as_bytes());
            assert_eq!(baited.set(), plain.set(), "{tool}: {bait}{:#?}", baited.failures);
            // Output of another command is a failure.
            let beside = read(format!("{bait}\n{}", printed("said\n")).as_bytes());
            let alone = read(bait.as_bytes());
            let is_read = alone.confidence == Confidence::High;
            assert_eq!(beside.failures.len() > 1, is_read, "{tool}: {bait}{:#?}", beside.failures);
        }
    }
}

#[test]
fn failures_of_another_command_are_read_in_addition() {
    const PYTHON: &str = "Traceback (most recent call last):\n  File \"mig.py\", line 1, in <module>\n    raise RuntimeError('no')\nRuntimeError: no\n";
    const NODE: &str = "/srv/ci/shop/b.js:1\nthrow new TypeError('no')\n^\n\nTypeError: no\n    at Object.<anonymous> (/srv/ci/shop/b.js:1:7)\n\nNode.js v20.20.2\n";
    const MYPY: &str =
        "a.py:3: error: no such thing  [attr-defined]\nFound 1 error in 1 file (checked 1 source file)\n";
    const FLAKE8: &str = "a.py:1:1: F401 'os' imported but unused\n";
    const GCC: &str =
        "x.c:3:5: error: 'y' undeclared\n    3 |     y\n      |     ^\nmake: *** [Makefile:2: x.o] Error 1\n";
    const TSC: &str = "t.ts(1,5): error TS2322: Type 'string' is not assignable to type 'number'.\n";
    const MAKE: &str = "make: *** [Makefile:9: test] Error 1\n";
    const MISSING: &str = "make: ./b.sh: No such file or directory\n";
    let jest = "FAIL a.test.js\n  ● adds\n\n    no\n\n      at Object.toBe (a.test.js:1:34)\n\nTests:       1 failed, 1 total\n";
    let mocha = "\n  0 passing (5ms)\n  1 failing\n\n  1) adds:\n     Error: no\n      at Context.<anonymous> (test/a.js:3:5)\n\n";
    let tape = "TAP version 13\n# a\nnot ok 1 adds\n  ---\n    operator: equal\n  ...\n";
    let pytest = "FAILED t.py::test_b - assert 1 == 2\n======= 1 failed in 0.1s =======\n";
    let pytest = format!("======= short test summary info =======\n{pytest}");
    let tests = [jest, mocha, tape, &*pytest];
    let alone = |text: &str| read(text.as_bytes()).set().iter().cloned().collect::<Vec<_>>();
    let set = |out: &str, err: &str| read_streams([out, err, ""]).set();
    let both = |one: &str, other: &str| FailureSet::new([alone(one), alone(other)].concat());
    // The other command is below all output of the tests, or on the other stream and shows its own end.
    for test in tests {
        for other in [PYTHON, NODE, MYPY, FLAKE8, TSC] {
            assert_eq!(set(&format!("{test}{other}"), ""), both(test, other), "{test}{other}");
        }
        for other in [PYTHON, NODE, MYPY, TSC] {
            assert_eq!(set(test, other), both(test, other), "{test}{other}");
        }
        for other in [PYTHON, MISSING, GCC] {
            let err = format!("{MAKE}{other}{MAKE}");
            assert_eq!(set(test, &err), both(test, other), "{test}{err}");
        }
    }
    // Without tests, it may be anywhere.
    for other in [PYTHON, NODE, MYPY, FLAKE8, GCC] {
        for (out, err) in
            [(format!("{TSC}{other}"), ""), (format!("{other}{TSC}"), ""), (TSC.to_owned(), other)]
        {
            assert_eq!(set(&out, err), both(TSC, other), "{out}{err}");
        }
    }
    // Possible output of a test is not a failure, nor is a warning next to errors.
    for (out, err) in [
        (format!("{FLAKE8}{PYTHON}said\n{mocha}"), ""),
        (mocha.to_owned(), FLAKE8),
        (mocha.to_owned(), &*format!("{PYTHON}said\n")),
        (mocha.to_owned(), &*format!("{FLAKE8}\nsaid\n{MAKE}")),
        (format!("{mocha}a.c:3:1: warning: unused [-Wunused]\n"), ""),
    ] {
        assert_eq!(set(&out, err), FailureSet::new(alone(mocha)), "{out}{err}");
    }
    let quoted = format!("\"\"\"\n{PYTHON}\"\"\"\nwould reformat a.py\n");
    assert_eq!(set("", &quoted), FailureSet::new(alone("would reformat a.py\n")));
}

#[test]
fn final_error_of_node_is_read_instead_of_logged_errors() {
    let logged = "Error: handled\n    at file:///srv/ci/shop/main.mjs:2:15\n    at ModuleJob.run (node:internal/modules/esm/module_job:325:25)\n";
    for (ended, expected) in [
        (
            "file:///srv/ci/shop/main.mjs:16\nthrow new MyErr('cust');\n^\n\nMyErr: cust\n    at file:///srv/ci/shop/main.mjs:16:116\n",
            expect!["traceback | - | MyErr | main.mjs:16\n"],
        ),
        (
            "\nnode:internal/modules/run_main:123\n    triggerUncaughtException(\n    ^\n{ a: 1 }\n",
            expect!["traceback | - | uncaught | -\n"],
        ),
    ] {
        let [with, without] = [logged, ""].map(|before| {
            let text = format!("{before}{ended}\nNode.js v20.20.2\n");
            read_streams(["", &text, ""])
        });
        check(&with, &expected);
        assert_eq!(with.set(), without.set());
    }
}

#[test]
fn syntax_error_of_node_has_the_shown_file() {
    let stack = "    at wrapSafe (node:internal/modules/cjs/loader:1464:18)\n    at Object.f (/srv/ci/shop/index.js:3:4)\n";
    let shown = |file: &str| {
        format!(
            "{file}:2\nconst = 1\n      ^\n\nSyntaxError: Unexpected token '='\n{stack}\nNode.js v20.20.2\n"
        )
    };
    let one = read(shown("/srv/ci/shop/x.js").as_bytes());
    assert_eq!(self::shown(&one), "traceback | - | SyntaxError | x.js:2\n");
    let other = |text: String| read(text.as_bytes()).set();
    assert_ne!(one.set(), other(shown("/srv/ci/shop/y.js")));
    assert_eq!(one.set(), other(format!("\n Exception during run: {}", shown("/srv/ci/shop/x.js"))));
    let module = |file: &str| {
        format!("\n Exception during run: SyntaxError[ @/srv/ci/shop/{file} ]: Unexpected token '='\n{stack}")
    };
    assert_eq!(one.set(), other(module("x.js")));
    assert_ne!(one.set(), other(module("x.mjs")));
}

#[test]
fn numbers_and_times_behind_a_name_are_no_part_of_it() {
    for (printed, expected) in [
        (
            "--- FAIL: BenchmarkAdd-8\n    a_test.go:8: no\nFAIL\nexit status 1\nFAIL\tm/p\t0.008s\nFAIL\n",
            "go-test | m/p.BenchmarkAdd |  | a_test.go:8\n",
        ),
        (
            " FAIL  a.test.js 2 failed 1 todo of 8 205ms\n\n✖ parent > adds\n  a.test.js\n\n FAIL  b.test.js 0 1.746s\n",
            "markers | parent > adds |  | -\nmarkers | b.test.js |  | -\n",
        ),
        (
            "reporter/format ━━━━━━\n\n  i The following files need to be formatted:\n  \n  - src/b c.ts\n  \nreporter/violations ━━━━━━\n\n  i The following files have violations:\n  \n  - src/a.ts (1 error, 7 warnings)\n  - src/b.ts (2 warnings)\n  \n  lint/style/useConst     2 (2 warnings)\n\nFound 1 error.\ncheck ━━━━━━\n\n  × Some errors were emitted while running checks.\n",
            "biome | - | format | src/b c.ts\nbiome | - | violations | src/a.ts\n",
        ),
    ] {
        assert_eq!(shown(&read(printed.as_bytes())), expected, "{printed}");
    }
}

#[test]
fn each_of_several_runs_of_a_tool_is_read() {
    for (file, name, other) in [
        ("cargo-nextest.txt", "survives_bad_input", "survives_no_input"),
        ("ctest.txt", "unit.parse", "unit.print"),
        ("minitest.txt", "ShelfTest", "TableTest"),
        ("deno-test.txt", "splits a path", "splits a line"),
        ("gtest.txt", "Calc", "Sum"),
        ("mocha.txt", "Queue", "Stack"),
        ("node-test.txt", "profile shape", "profile form"),
        ("rspec.txt", "Shelf", "Table"),
    ] {
        let sample = SAMPLES.iter().find(|(sample, _)| *sample == file).expect("a sample").1;
        let first = String::from_utf8_lossy(sample);
        let second = first.replace(name, other);
        let told = |text: &str| -> BTreeSet<_> {
            read(text.as_bytes()).failures.into_iter().map(|failure| failure.fingerprint).collect()
        };
        let each: BTreeSet<_> = [told(&first), told(&second)].into_iter().flatten().collect();
        assert!(each.len() > told(&first).len(), "{file}");
        assert_eq!(told(&format!("{first}{second}")), each, "{file}");
    }
}

#[test]
fn a_run_behind_another_hides_nothing_and_what_a_test_prints_is_none() {
    const RSPEC: &str = "F.\n\nFailures:\n\n  1) A adds\n     Failure/Error: raise 'no'\n     # ./a_spec.rb:2\n\nFinished in 0.1 seconds\n2 examples, 1 failure\n\nFailed examples:\n\nrspec ./a_spec.rb:2 # A adds\n\n";
    const RSPEC_PASSES: &str = ".said by a test\n.\n\nFinished in 0.1 seconds\n2 examples, 0 failures\n";
    const MOCHA: &str = "\n  cart\n    ✔ adds\n    1) removes\n\n  1 passing (3ms)\n  1 failing\n\n  1) cart\n       removes:\n     Error: no\n\n";
    const NODE: &str = "✖ adds (1ms)\nℹ tests 1\nℹ suites 0\nℹ pass 0\nℹ fail 1\n\n✖ failing tests:\n\ntest at a.js:2:1\n✖ adds (1ms)\n  Error: no\n";
    const DENO: &str = "\n ERRORS \n\none => ./a.ts:6:6\nerror: Error: no\n\n FAILURES \n\none => ./a.ts:6:6\n\nFAILED | 0 passed | 1 failed (3ms)\n";
    const GTEST_DIES: &str =
        "[==========] Running 1 test from 1 test suite.\n[ RUN      ] A.Two\nSegmentation fault\n";
    let gtest = |starts: &str| {
        format!(
            "[==========] Running 1 test from 1 test suite.\n[ RUN      ] B.One\n{starts}b.cc:3: Failure\nFailed\n[  FAILED  ] B.One (0 ms)\n[==========] 1 test from 1 test suite ran. (0 ms total)\n"
        )
    };
    let indented = MOCHA.replace("\n  ", "\n    ");
    for (printed, expected) in [
        (format!("{RSPEC}{RSPEC_PASSES}"), "rspec | A adds | ExpectationNotMet | a_spec.rb:2\n"),
        (format!("{RSPEC_PASSES}{RSPEC}"), "rspec | A adds | ExpectationNotMet | a_spec.rb:2\n"),
        (
            format!(".{RSPEC}{}", RSPEC.replace("2 ex", "3 ex").replace("A adds", "B prints")),
            "rspec | B prints | ExpectationNotMet | a_spec.rb:2\n",
        ),
        (
            format!("{MOCHA}{}", MOCHA.replace("cart", "shop").replace("    1)", "  1)")),
            "mocha | cart removes | Error | -\nmocha | shop removes | Error | -\n",
        ),
        // The lines above are output of a test, below its suite.
        (
            format!(
                "\n  outer\n{indented}    1) prints\n\n  0 passing (3ms)\n  1 failing\n\n  1) outer\n       prints:\n     Error: no\n"
            ),
            "mocha | outer prints | Error | -\n",
        ),
        (
            format!("{NODE}{}", NODE.replace("adds", "opens")),
            "node-test | adds | Error | a.js:2\nnode-test | opens | Error | a.js:2\n",
        ),
        (
            format!("{NODE}{}", NODE.replace("adds", "opens").replace("tests 1", "tests 2")),
            "node-test | opens | Error | a.js:2\n",
        ),
        (
            format!("{DENO}{}", DENO.replace("one", "two")),
            "deno-test | a.ts => one | Error | a.ts:6\ndeno-test | a.ts => two | Error | a.ts:6\n",
        ),
        (
            format!(
                "prints ...\n------- output -------\n------- output -------\nhi\n----- output end -----\n{DENO}----- output end -----\n{}",
                DENO.replace("one", "two")
            ),
            "deno-test | a.ts => two | Error | a.ts:6\n",
        ),
        // A process that died while a test printed leaves the block open.
        (
            format!("dies ...\n------- output -------\nrunning 1 test from ./b.ts\n{DENO}"),
            "deno-test | a.ts => one | Error | a.ts:6\n",
        ),
        // The output of the first test is above the entire tree.
        (format!("Failed tests:\n{NODE}"), "node-test | adds | Error | a.js:2\n"),
        (
            format!("{GTEST_DIES}{}", gtest("")),
            "gtest | A.Two | crash | -\ngtest | B.One | expectation | b.cc:3\n",
        ),
        (
            gtest(
                "[==========] Running 1 test from 1 test suite.\n[ RUN      ] C.One\n[       OK ] C.One (0 ms)\n",
            ),
            "gtest | B.One | expectation | b.cc:3\n",
        ),
    ] {
        assert_eq!(shown(&read(printed.as_bytes())), expected, "{printed}");
    }
}

/// With `-rs` and `-rN`, the summary names no tests.
#[test]
fn a_test_of_pytest_has_the_same_name_with_and_without_a_summary() {
    let block = |title: &str, file: &str| {
        format!("____ {title} ____\n\n>   assert 1 == 2\nE   assert 1 == 2\n\n{file}:3: AssertionError\n")
    };
    let blocks = ["a", "b"].map(|file| block("TestS.test_s[1.5]", &format!("d/test_{file}.py"))).concat();
    let report = format!("==== FAILURES ====\n{blocks}");
    let summary =
        ["a", "b"].map(|file| format!("FAILED d/test_{file}.py::TestS::test_s[1.5] - assert 1 == 2\n"));
    let named = read(format!("{report}==== short test summary info ====\n{}", summary.concat()).as_bytes());
    assert_eq!(named.failures.len(), 2);
    assert_eq!(read(format!("{report}==== 2 failed in 0.1s ====\n").as_bytes()).failures, named.failures);
    // The place of a library function or of a fixture is not the place of the test.
    let elsewhere = format!("==== FAILURES ====\n{}", block("test_s", "/usr/lib/python3/asyncio/tasks.py"));
    assert_eq!(read(elsewhere.as_bytes()).failures[0].test.as_deref(), Some("test_s"));
    let setup = format!("==== ERRORS ====\n{}", block("ERROR at setup of test_s", "d/conftest.py"));
    assert_eq!(read(setup.as_bytes()).failures[0].test.as_deref(), Some("test_s"));
}

#[test]
fn the_list_of_gotestsum_adds_what_go_test_did_not_tell() {
    let list =
        |package: &str, test: &str| format!("=== FAIL: {package} {test} (0.00s)\n    a_test.go:3: no\n\n");
    let verbose = "=== RUN   TestP\n    a_test.go:3: no\n--- FAIL: TestP (0.00s)\nFAIL\nFAIL\tex/b\t0.010s\n";
    for (printed, expected) in [
        (format!("✖  b (5ms)\n\n{}", list("b", "TestP (re-run 1)")), "go-test | b.TestP |  | a_test.go:3\n"),
        // The module and the test are named above.
        (format!("{verbose}{}", list("b", "TestP")), "go-test | ex/b.TestP |  | a_test.go:3\n"),
        (format!("FAIL\tex/b\t0.010s\n{}", list("b", "TestP")), "go-test | ex/b.TestP |  | a_test.go:3\n"),
        // A package that is not listed died.
        (
            format!("FAIL\tex/a\t0.010s\n{}", list("b", "TestP")),
            "go-test | - | package failed | ex/a\ngo-test | b.TestP |  | a_test.go:3\n",
        ),
        // Output of a test is not a failure of another tool.
        (
            list("b", "TestP").replace("no\n", "no\nsrc/a.ts(3,5): error TS2322: no\n"),
            "go-test | b.TestP |  | a_test.go:3\n",
        ),
    ] {
        let told = format!("{printed}DONE 1 tests, 1 failure in 0.1s\n");
        assert_eq!(shown(&read(told.as_bytes())), expected, "{told}");
    }
}

#[test]
fn a_logged_exception_hides_no_test_that_a_runner_marks() {
    const LOGGED: &str = "Traceback (most recent call last):\n  File \"a.py\", line 2, in f\nKeyError: 'x'\n";
    for (printed, expected) in [
        (format!("ok a\nFAIL b: no\n{LOGGED}FAIL c\n"), "markers | b: no |  | -\nmarkers | c |  | -\n"),
        // One mark may be a word of the program that died.
        (format!("✗ Build failed in 38ms\n{LOGGED}"), "traceback | - | KeyError | a.py:2\n"),
        (format!("FAIL b\nFAIL b\n{LOGGED}"), "traceback | - | KeyError | a.py:2\n"),
    ] {
        assert_eq!(shown(&read(printed.as_bytes())), expected, "{printed}");
    }
    let streams = [LOGGED, "✖ adds\n✖ removes\n", ""];
    assert_eq!(shown(&read_streams(streams)), "markers | adds |  | -\nmarkers | removes |  | -\n");
}

#[test]
fn each_of_several_reports_in_a_text_is_read_by_its_own_dialect() {
    let reports =
        [include_str!("fixtures/failures/gtest.xml"), include_str!("fixtures/failures/surefire.xml")];
    let told = |text: &str| shown(&read(text.as_bytes()));
    let each = reports.map(told).concat();
    assert_eq!(told(&reports.join("next: a <- b && c <br>\n")), each);
    assert_eq!(told(&reports.concat()), each);
    // A suite directly after another one that does not name its tool.
    let suite = |name: &str| {
        format!(
            "<testsuite name=\"{name}\"><testcase classname=\"a\" name=\"{name}\"><failure message=\"b\"/></testcase></testsuite>\n"
        )
    };
    let two = [suite("pytest"), suite("other")].concat();
    let tools: Vec<_> = read(two.as_bytes()).failures.into_iter().map(|failure| failure.tool).collect();
    assert_eq!(tools, ["pytest", "pytest"]);
}

#[test]
fn quick_rejection_of_lines_drops_no_failure() {
    for (printed, expected) in [
        (
            "{{cookiecutter.slug}}/main.py:3:1: E501 line too long\n",
            "diagnostics | - | E501 | {{cookiecutter.slug}}/main.py:3\n",
        ),
        ("src/a.css:3:5:.button is declared twice\n", "diagnostics | - |  | src/a.css:3\n"),
        ("File \"a.ml\", lines 3:\nError: Unbound value x\n", "diagnostics | - |  | a.ml:3\n"),
        (
            "compiled src/a.ts:3:5\nfoo\n  at src/b.ts:4:1\n  at src/c.ts:4:1\nwarn\nError: cannot open config\n",
            "errors | - | error | -\n",
        ),
        // A test only summarizes its subtests if one of them failed, and it has no message itself.
        (
            "TAP version 14\n# Subtest: a.js\n    not ok 1 - later # TODO not yet\n    1..1\nnot ok 1 - a.js # time=30000ms\n  ---\n  signal: SIGTERM\n  timeout: 30000\n  ...\n1..1\n",
            "tap | a.js |  | -\n",
        ),
        (
            "TAP version 14\n# Subtest: cart\n    not ok 1 - later # TODO not yet\n    1..1\nnot ok 1 - cart\n1..1\n",
            "tap | cart |  | -\n",
        ),
        (
            "TAP version 14\n# Subtest: cart\n    not ok 1 - adds\n    1..1\nnot ok 1 - cart\nnot ok 2 - cart\n1..2\n",
            "tap | cart > adds |  | -\ntap | cart |  | -\n",
        ),
    ] {
        assert_eq!(shown(&read(printed.as_bytes())), expected, "{printed}");
    }
}

#[test]
fn one_line_with_a_version_is_no_list_of_files() {
    for (out, err, expected) in [
        ("Running Foo v9.0.4\n", "disk is full\n", "process | - | unparsed | -\n"),
        ("build.log\n", "disk is full\n", "process | - | unparsed | -\n"),
        (
            "a.go\nb c.go\n",
            "make: *** [Makefile:2: fmt] Error 1\n",
            "list | - | format | a.go\nlist | - | format | b c.go\n",
        ),
    ] {
        assert_eq!(shown(&read_streams([out, err, ""])), expected, "{out}{err}");
    }
}

/// Text of a program or a test that looks like a failure of another one, before the real message.
#[test]
fn text_similar_to_last_words_is_not_a_failure() {
    for (bait, real, expected) in [
        (
            "panic: this is only a log line\n",
            "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/p/m.go:3 +0x1\nexit status 2\n",
            "traceback | - | panic | /p/m.go:3\n",
        ),
        (
            "Traceback (most recent call last): none today\n",
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nValueError: no\n",
            "traceback | - | ValueError | a.py:3\n",
        ),
        (
            "Exception in thread \"fake\": only a log line\n",
            "Exception in thread \"main\" java.lang.Boom: no\n\tat p.A.main(A.java:3)\n",
            "traceback | - | Boom | A.java:3\n",
        ),
        (
            "============ FAILURES ============\n____________ test_b ______________\n\n>       assert f() == 2\nE       assert 1 == 2\n\nt.py:3: AssertionError\n------ Captured stdout call ------\n=== FAILURES ===\n____ test_fake ____\nE   assert 3 == 4\n\nu.py:3: AssertionError\n",
            "==================================\nFAILED t.py::test_b - assert 1 == 2\n======== 1 failed in 0.1s ========\n",
            "pytest | t.py::test_b | AssertionError | t.py:3\n",
        ),
        (
            "ERROR: AddressSanitizer: not really, a log line\n",
            "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x60\n    #0 0x1 in f x.c:3:1\n",
            "sanitizer | - | heap-use-after-free | x.c:3\n",
        ),
        (
            "There was 1 failure:\n\n1) Fake::testFake\nno\n\n/p/F.php:3\n\n",
            "Time: 00:00.1, Memory: 4.00 MB\n\nThere was 1 failure:\n\n1) A::testB\nno\n\n/p/A.php:3\n\nFAILURES!\nTests: 2, Assertions: 2, Failures: 1.\n",
            "phpunit | A::testB |  | /p/A.php:3\n",
        ),
        (
            "Failures:\n\n  1) Fake fails\n     Failure/Error: no\n\n",
            "Pending:\n  1) Kite FAILED - later\n\nFinished in 0.1 seconds\n2 examples, 0 failures, 1 pending\n",
            "process | - | unparsed | -\n",
        ),
        (
            "TAP version 13\n1..2\nok 1 a\n  ---\n  message: |\n    not ok 1 fake\n  ...\n",
            "not ok 2 b\n  ---\n  message: |\n    not ok 1 fake\n  ...\n",
            "tap | b |  | -\n",
        ),
    ] {
        let found = read(format!("{bait}{real}").as_bytes());
        assert_eq!(shown(&found), expected, "{bait}{real}");
        if !expected.contains("unparsed") && !bait.starts_with("TAP") && !bait.starts_with('=') {
            assert_eq!(found.set(), read(real.as_bytes()).set(), "{bait}");
        }
    }
}

#[test]
fn repeated_failure_is_one_and_streams_are_read() {
    let stream = r#"["start",{"total":2}]
["pass",{"title":"a","fullTitle":"s a","file":"/p/t.js","duration":1}]
["fail",{"title":"b","fullTitle":"s b","file":"/p/t.js","err":"no","stack":"Error: no\n    at Context.<anonymous> (t.js:3:1)"}]
["end",{"failures":1}]
"#;
    assert_eq!(shown(&read(stream.as_bytes())), "mocha | s b | Error | /p/t.js\n");
    let json = r#"{"testResults":[{"name":"/p/w.test.js","status":"failed","assertionResults":[{"ancestorTitles":[],"title":"a","status":"failed","failureMessages":["Error: no"]}]}]}"#;
    let text = "FAIL ./w.test.js\n  ● a\n\n    no\n\nTest Suites: 1 failed, 1 total\nTests:       1 failed, 1 total\n";
    let both = read_streams([json, text, ""]);
    assert_eq!(shown(&both), "jest | w.test.js › a |  | w.test.js\n");
}

#[test]
fn a_warning_of_a_linter_is_none_in_any_form_that_it_has() {
    for text in [
        "/p/a.js:3:1: Unexpected console statement. [Warning/no-console]\n/p/a.js:4:1: 'x' is not defined. [Error/no-undef]\n\n2 problems\n",
        "a.js(3,1): warning no-console : Unexpected console statement.\na.js(4,1): error no-undef : 'x' is not defined.\n\n2 problems\n",
        "TAP version 13\n1..1\nnot ok 1 - /p/a.js\n  ---\n  message: Unexpected console statement.\n  severity: warning\n  data:\n    line: 3\n    ruleId: no-console\n  messages:\n    - message: '''x'' is not defined.'\n      severity: error\n      data:\n        line: 4\n        ruleId: no-undef\n  ...\n",
    ] {
        let found = read(text.as_bytes());
        let kinds: Vec<&str> = found.failures.iter().map(|failure| failure.kind.as_str()).collect();
        assert_eq!(kinds, ["no-undef"], "{text}");
        assert_eq!(found.failures[0].location.as_ref().and_then(|place| place.line), Some(4), "{text}");
    }
}

#[test]
fn a_file_that_could_not_be_run_has_its_own_reason() {
    let printed = |why: &str| {
        let other = "# AssertionError [ERR_ASSERTION]: fake\n# Subtest: a\nok 1 - a\n  ---\n  duration_ms: 1\n  ...\nok 2 - b\n  ---\n  ...\nok 3 - c\n  ---\n  ...\n";
        let own = "# Subtest: /srv/ci/shop/t/two.mjs\nnot ok 2 - /srv/ci/shop/t/two.mjs\n  ---\n  failureType: 'testCodeFailure'\n  exitCode: 1\n  error: 'test failed'\n  ...\n1..4\n";
        format!("TAP version 13\n{other}{why}{own}")
    };
    let syntax =
        read(printed("# file:///srv/ci/shop/t/two.mjs:5\n# SyntaxError: Unexpected token\n").as_bytes());
    assert_eq!(shown(&syntax), "tap | - | SyntaxError | t/two.mjs\n");
    assert_ne!(read(printed("").as_bytes()).set(), syntax.set());
}

#[test]
fn two_errors_without_a_symbol_are_two() {
    let error = |line: u32, source: &str| {
        format!(
            "error: variable does not need to be mutable\n --> src/lib.rs:{line}:9\n  |\n{line} |     {source}\n  |         ----^^^^\n  |         |\n  |         help: remove this `mut`\n\n"
        )
    };
    let (left, right) = (error(6, "let mut left = 1;"), error(7, "let mut right = 2;"));
    let both = read(format!("{left}{right}").as_bytes());
    assert_eq!(both.failures.len(), 2, "{both:#?}");
    assert_ne!(read(left.as_bytes()).set(), read(right.as_bytes()).set());
    assert_eq!(read(left.as_bytes()).set(), read(error(60, "let mut left = 1;").as_bytes()).set());
}

#[test]
fn a_set_has_no_order() {
    let prints: Vec<_> = read(SAMPLES[0].1).failures.into_iter().map(|failure| failure.fingerprint).collect();
    let there = FailureSet::new(prints.iter().cloned());
    let back = FailureSet::new(prints.iter().rev().chain(&prints).cloned());
    assert_eq!(there.key(), back.key());
    assert!(there.without(&back).is_empty());
    assert_eq!(there.len(), prints.len());
}

#[test]
fn a_script_has_a_place_and_the_command_line_of_a_shell_has_none() {
    for (line, want) in [
        ("sh: 1: lintt: not found", None),
        ("/bin/bash: line 1: lintt: command not found", None),
        ("ci.sh: line 13: lintt: command not found", Some("ci.sh:13")),
        ("./ci.sh: 13: lintt: not found", Some("ci.sh:13")),
        ("ci.sh: line 3: PORT: is not set", Some("ci.sh:3")),
        ("ci.sh: 3: PORT: give it", Some("ci.sh:3")),
    ] {
        let output = ToolOutput { exit_code: Some(1), stderr: line.as_bytes(), ..ToolOutput::default() };
        let places: Vec<Option<String>> = extract(&output)
            .failures
            .iter()
            .map(|failure| failure.location.as_ref().map(ToString::to_string))
            .collect();
        assert_eq!(places, [want.map(str::to_owned)], "{line}");
    }
}

#[test]
fn distinguishing_text_of_a_failure_is_kept() {
    let keys = |of: &dyn Fn(&str) -> String, two: [&str; 2]| two.map(|text| read(of(text).as_bytes()).set());
    let throws = |actual: &str| {
        format!(
            "[ RUN      ] Calc.Throws\nt.cpp:9: Failure\nExpected: chk(-1) throws an exception of type std::out_of_range.\n  \
             Actual: {actual}\n\n[  FAILED  ] Calc.Throws (0 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Calc.Throws\n"
        )
    };
    let [nothing, other] =
        keys(&throws, ["it throws nothing.", "it throws std::runtime_error with description \"a\"."]);
    assert_ne!(nothing, other);
    let other_words = "it throws std::runtime_error with description \"b\".";
    assert_eq!(other, read(throws(other_words).as_bytes()).set(), "what it said is a value");

    let waits = |why: &str| {
        format!("\u{2716} failing tests:\n\ntest at t/a.test.js:3:1\n\u{2716} waits (201.3ms)\n  '{why}'\n")
    };
    let [late, cancelled] = keys(
        &waits,
        ["test timed out after 200ms", "test did not finish before its parent and was cancelled"],
    );
    assert_ne!(late, cancelled);

    // A narrow terminal shows less of the line.
    let lint = |source: &str| {
        let at = source.find("v.len").unwrap_or_default();
        let carets = " ".repeat(at);
        format!(
            "error: length comparison to zero\n --> src/lib.rs:2:41\n  |\n2 | {source}\n  | {carets}^^^^^^^^^^^^ help: using \
             is_empty is clearer\n\nerror: could not compile `kit` (lib) due to 1 previous error\n"
        )
    };
    let [wide, narrow] = keys(
        &lint,
        [
            "pub fn empty(v: &[u8]) -> usize { if v.len() == 0 { return 0; } v.len() }",
            "... -> usize { if v.len() == 0 { return 0; } v.len() }",
        ],
    );
    assert_eq!(wide, narrow);

    // Without capture the names are on one stream, and the panics on the other.
    let list = "running 1 test\ntest a ... FAILED\n\nfailures:\n    a\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    let died = |why: &str| {
        read_streams([list, &format!("thread 'a' (7) panicked at src/lib.rs:3:9:\n{why}\n"), ""]).set()
    };
    assert_ne!(died("index out of bounds"), died("called `Option::unwrap()` on a `None` value"));
}

#[test]
fn text_of_another_failure_is_not_included() {
    // The panic belongs to a test that runs in parallel with the one whose log ends above.
    let go = "--- FAIL: TestA (0.00s)\n    a_test.go:8: got 1, want 2\npanic: boom in worker of TestB\n\ngoroutine 21 [running]:\n\
              example.com/x.worker(...)\n\t/src/x/worker.go:12\ncreated by example.com/x.TestB in goroutine 20\n\t/src/x/b_test.go:9 +0x1d\n\
              FAIL\texample.com/x\t0.004s\nFAIL\n";
    assert_eq!(shown(&read(go.as_bytes())), "go-test | example.com/x.TestA |  | a_test.go:8\n");

    // A list of cargo itself after a run of nextest, with a test of the same name.
    let both = "        FAIL [   0.003s] (1/2) liba tests::works\n  stderr ───\n\n    thread 'tests::works' (1) panicked at src/lib.rs:5:9:\n    boom\n\n\
                ────────────\n     Summary [   0.004s] 2 tests run: 1 passed, 1 failed, 0 skipped\n        FAIL [   0.003s] (1/2) liba tests::works\n\
                error: test run failed\nrunning 1 test\ntest tests::works ... FAILED\n\nfailures:\n\n---- tests::works stdout ----\n\n\
                thread 'tests::works' (2) panicked at b/src/lib.rs:50:9:\nlibb broke\n\n\nfailures:\n    tests::works\n\n\
                test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\nerror: test failed, to rerun pass `-p libb --lib`\n";
    let files: Vec<_> =
        read(both.as_bytes()).failures.into_iter().filter_map(|failure| failure.location).collect();
    assert!(files.iter().map(|place| place.file.as_str()).eq(["src/lib.rs", "b/src/lib.rs"]), "{files:?}");

    // The carets point at the same text, but the text before it differs.
    let macros = |line: u32, name: &str| {
        let blanks = " ".repeat(name.len());
        format!(
            "error: format argument must be a string literal\n --> src/main.rs:{line}:14\n  |\n{line} |     {name}!(msg);\n  |     {blanks}  ^^^\n  |\n\n"
        )
    };
    let two = format!(
        "{}{}error: could not compile `x` (bin \"x\") due to 2 previous errors\n",
        macros(3, "println"),
        macros(9, "eprintln")
    );
    assert_eq!(read(two.as_bytes()).failures.len(), 2);
    // With `--nocapture`, the compiler's output about a doc test follows cargo's output about the tests.
    let behind = format!("{}{two}", to_rerun("a"));
    assert_eq!(read(behind.as_bytes()).failures.len(), 2);
}

#[test]
fn process_that_dies_is_identified_by_its_test() {
    let overflow = |test: &str| {
        format!(
            "thread '{test}' (123) has overflowed its stack\nfatal runtime error: stack overflow, aborting\n"
        )
    };
    let cargo = "error: test failed, to rerun pass `--lib`\n\nCaused by:\n  process didn't exit successfully: `/x/deps/a-0a1b2c3d4e5f6071` (signal: 6, SIGABRT: process abort signal)\n";
    let python = |file: &str, test: &str| {
        format!(
            "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f18 (most recent call first):\n  File \"/usr/lib/ctypes/__init__.py\", line 519 in string_at\n  File \"/srv/ci/shop/{file}\", line 4 in {test}\n  File \"/usr/lib/unittest/case.py\", line 579 in _callTestMethod\n"
        )
    };
    let lib = "     Running unittests src/lib.rs (target/debug/deps/a-0a1b2c3d4e5f6071)\n";
    for (text, other, expected) in [
        (
            lib.to_owned() + &overflow("t::deep") + cargo,
            lib.to_owned() + &overflow("t::deeper") + cargo,
            expect![["cargo-test | t::deep | stack overflow | src/lib.rs\n"]],
        ),
        // If the test has no own thread, only the binary is known.
        (
            lib.to_owned() + &overflow("main") + cargo,
            lib.replace("lib.rs", "other.rs") + &overflow("main") + cargo,
            expect![["cargo-test | - | SIGABRT | src/lib.rs\n"]],
        ),
        (overflow("t::deep"), overflow("t::deeper"), expect![["traceback | - | stack overflow | -\n"]]),
        (
            python("test_a.py", "test_one"),
            python("test_a.py", "test_two"),
            expect![["traceback | - | Segmentation fault | test_a.py\n"]],
        ),
    ] {
        let extraction = read(text.as_bytes());
        check(&extraction, &expected);
        assert_ne!(extraction.set().key(), read(other.as_bytes()).set().key(), "{text}");
    }
}

/// Checks whether a sample is the same set of failures after a replacement.
fn check_edited(file: &str, from: &str, to: &str, is_same: bool) {
    let sample = SAMPLES.iter().find(|(name, _)| *name == file).expect("a sample");
    let text = String::from_utf8_lossy(sample.1);
    let edited = text.replace(from, to);
    assert_ne!(text, edited, "{file} has {from:?}");
    let [one, other] = [&*text, &*edited].map(|text| read(text.as_bytes()));
    assert_eq!(one.failures.len(), other.failures.len(), "{file}: {from:?} to {to:?}: {other:#?}");
    assert_eq!(one.set() == other.set(), is_same, "{file}: {from:?} to {to:?}: {other:#?}");
}

#[test]
fn a_failure_is_the_same_with_other_values_places_and_times_and_with_nothing_else() {
    const SAME: bool = true;
    const OTHER: bool = false;
    for (file, from, to, is_same) in [
        ("ava.txt", "  ✔ explicit\n", "  1 test failed\n  ✔ explicit\n", SAME),
        (
            "ava.txt",
            "  ✔ explicit\n",
            "  ✘ [fail]: fake\n  ─\n\n  fake\n\n  fake.js:3\n\n  1 test failed\n  ✔ explicit\n",
            SAME,
        ),
        ("robot.txt", "Third   ", "Third\nfake :: x | FAIL |\n1 != 2\n", SAME),
        ("robot.txt", "Adds One      ", "Adds Other    ", OTHER),
        ("robot-dotted.txt", "Rob2.No Keyword", "Rob2.Other", OTHER),
        ("robot-dotted.txt", "FFFFF\n", "F\nfake :: x | FAIL |\n1 != 2\nFFFF\n", SAME),
        ("playwright-bait.txt", "Error: x\n", "Error: x\n  1 failed\nSummary: 1 failed\n", SAME),
        (
            "playwright-bait.txt",
            "Error: x\n",
            "  1) fake.spec.ts:3:1 › bait ───\n\n    Error: bait\n\n  1 failed\n    fake.spec.ts:3:1 › bait\n",
            SAME,
        ),
        (
            "playwright-bait.txt",
            "a.spec.ts:3:1 › sum error › throws",
            "a.spec.ts:3:1 › sum error › other",
            OTHER,
        ),
        ("phpstan.txt", "  12     Param", "  212    Param", SAME),
        ("phpstan.txt", "expects int,\n         string given.", "expects int, string given.", SAME),
        ("phpstan.txt", "Ledger::revert()", "Ledger::undo()", OTHER),
        ("phpstan.txt", "src/Stock/Rate.php", "src/Rate.php", OTHER),
        ("phpstan-raw.txt", "Ledger.php:12:", "Ledger.php:13:", SAME),
        ("phpstan-raw.txt", "method.notFound", "method.private", OTHER),
        ("phpcs.txt", " 4 | ERROR", "40 | ERROR", SAME),
        ("phpcs.txt", "at least 4\n   |       |     spaces, found 2", "at least 4 spaces, found 2", SAME),
        ("phpcs.txt", "method \"a\"", "method \"b\"", OTHER),
        ("phpcs-csv.txt", ",3,14,", ",5,14,", SAME),
        ("phpcs-csv.txt", "ScopeIndent.Incorrect", "ScopeIndent.IncorrectExact", OTHER),
        ("bandit-csv.txt", ",3,0,33,[3],", ",4,0,33,[4],", SAME),
        ("bandit-csv.txt", "B607", "B606", OTHER),
        ("psalm.txt", ":12:20 - ", ":15:2 - ", SAME),
        ("psalm.txt", "UndefinedMethod - ", "UndefinedClass - ", OTHER),
        ("psalm-lines.txt", "Page.php:17:18", "Page.php:18:1", SAME),
        ("psalm-lines.txt", "Page.php:17:18", "View.php:17:18", OTHER),
        ("pest.txt", "identical to 8", "identical to 9", SAME),
        ("pest.txt", "0.01s", "3.20s", SAME),
        ("pest.txt", "> it books an amount", "> it books amounts", OTHER),
        ("pest.txt", "one and the sam…", "one and the sum…", OTHER),
        ("scalatest.txt", "7 did not equal 8", "6 did not equal 8", SAME),
        ("scalatest.txt", "*** FAILED ***\n", "*** FAILED *** (12 milliseconds)\n", SAME),
        ("scalatest.txt", "should revert", "should undo", OTHER),
        ("scalatest.txt", "IllegalState", "IllegalArgument", OTHER),
        ("scalatest.txt", "LedgerSpec:", "OtherSpec:", OTHER),
        ("munit.txt", "0.045s", "1.2s", SAME),
        ("munit.txt", "=> Obtained\n7", "=> Obtained\n9", SAME),
        ("munit.txt", ":12\n11:    ledger.book(7)\n12:", ":15\n14:    ledger.book(7)\n15:", SAME),
        ("munit.txt", "12:    assertEquals(ledger.sum", "12:    assertEquals(ledger.count", OTHER),
        ("sbt-junit.txt", "<7>, took 0.012 sec", "<6>, took 1.5 sec", SAME),
        ("sbt-junit.txt", "booksAnAmount failed", "books failed", OTHER),
        ("scalac-sbt.txt", ":12:20:", ":13:2:", SAME),
        ("scalac-sbt.txt", "found   : String", "found   : Double", OTHER),
        ("scalac3-sbt.txt", "Ledger.scala:15:4 -------", "Ledger.scala:9:4 --", SAME),
        ("scalac3-sbt.txt", "Not found: revert", "Not found: undo", OTHER),
        ("dart-test.txt", "00:0", "00:1", SAME),
        ("dart-test.txt", "Expected: <8>", "Expected: <9>", SAME),
        ("dart-test.txt", "_test.dart 14:7 ", "_test.dart 20:7 ", SAME),
        ("dart-test.txt", "ledger reverts [E]", "ledger undoes [E]", OTHER),
        (
            "dart-test.txt",
            "test/ledger_test.dart: ledger reverts [E]",
            "test/b_test.dart: ledger reverts [E]",
            OTHER,
        ),
        ("dart-load.txt", ":14:9: ", ":15:9: ", SAME),
        ("dart-load.txt", "'revert'", "'undo'", OTHER),
        ("flutter-test.txt", "line 17", "line 20", SAME),
        ("flutter-test.txt", "TestFailure", "StateError", OTHER),
        ("dart-analyze.txt", "12:17", "13:17", SAME),
        ("dart-analyze.txt", "undefined_method", "undefined_function", OTHER),
        ("flutter-analyze.txt", "12:17", "13:17", SAME),
        ("kotlin-gradle.txt", ":15:5 ", ":16:5 ", SAME),
        ("kotlin-gradle.txt", "'revert'", "'undo'", OTHER),
        ("kotlin-old.txt", "(15, 5)", "(16, 5)", SAME),
        ("swift-testing.txt", "(ledger.sum → 7)", "(ledger.sum → 6)", SAME),
        ("swift-testing.txt", "swift:12:9", "swift:13:9", SAME),
        ("swift-testing.txt", "days → 3 at", "days → 4 at", OTHER),
        ("swift-testing.txt", "(ledger.sum → 7)", "(ledger.count → 7)", OTHER),
        ("terraform.txt", "line 5, in", "line 6, in", SAME),
        ("terraform.txt", "\"regio\" has", "\"zone\" has", OTHER),
        ("terraform-apply.txt", "with terraform_data.a[\"x\"]", "with terraform_data.a[\"z\"]", OTHER),
        ("terraform-test.txt", "in run \"works\"", "in run \"plans\"", OTHER),
        ("tflint.txt", "main.tf line 3", "main.tf line 4", SAME),
        ("tflint.txt", "aws_instance_invalid_type", "aws_instance_previous_type", OTHER),
        ("clojure-test.txt", "(books-an-amount) (t.clj:3)", "(books-an-amount) (t.clj:30)", SAME),
        ("clojure-test.txt", "(not (= 8 7))", "(not (= 8 6))", SAME),
        ("clojure-test.txt", "Testing shop.ledger-test", "Testing shop.other-test", OTHER),
        ("clojure-test.txt", "expected: (pos? -1)", "expected: (neg? 1)", OTHER),
        ("clojure-compile.txt", "bad.clj:2:13", "bad.clj:3:13", SAME),
        ("clojure-compile.txt", "undefined-thing", "other-thing", OTHER),
        ("testthat.txt", "7 not equal to 8.", "6 not equal to 8.", SAME),
        ("testthat.txt", "'test-ledger.R:2'", "'test-ledger.R:20:3'", SAME),
        ("testthat.txt", "books an amount", "books amounts", OTHER),
        ("hspec.txt", "but got: 7", "but got: 6", SAME),
        ("hspec.txt", "seed 149332378", "seed 7", SAME),
        ("hspec.txt", "Spec.hs:14:19", "Spec.hs:15:19", SAME),
        ("hspec.txt", "5) Rate rounds", "5) Rate rounds up", OTHER),
        ("ghc.txt", "Bad3.hs:3:9", "Bad3.hs:5:9", SAME),
        ("ghc.txt", "not used: ‘unused’", "not used: ‘other’", OTHER),
        ("karma.txt", "Expected 7 to be 8", "Expected 6 to be 8", SAME),
        ("karma.txt", "WebKit 537.36 (linux 0.0.0)", "WebKit 600.1 (linux 6.1)", SAME),
        ("karma.txt", "Ledger books an amount", "Ledger books amounts", OTHER),
        ("karma.txt", "WebKit 537.36", "Firefox 120.0", OTHER),
        ("forge.txt", "7 != 8", "6 != 8", SAME),
        ("forge.txt", "(gas: 12345)", "(gas: 99)", SAME),
        ("forge.txt", "test_Book", "test_Books", OTHER),
        ("forge.txt", "test/Ledger.t.sol", "test/Other.t.sol", OTHER),
        ("tasty.txt", "but got: 7", "but got: 6", SAME),
        ("tasty.txt", "T.hs:7:", "T.hs:70:", SAME),
        ("tasty.txt", "  ledger\n", "  other\n", OTHER),
        ("eunit.txt", "{value,7}", "{value,6}", SAME),
        ("eunit.txt", ", line 4)", ", line 40)", SAME),
        ("eunit.txt", "\"3 + 4\"", "\"3 + 5\"", OTHER),
        ("eunit.txt", "error:nothing_to_revert", "error:no_ledger", OTHER),
        ("php-cs-fixer.txt", "(braces, indentation_type)", "(braces)", SAME),
        ("php-cs-fixer.txt", "src/Rate.php", "src/Other.php", OTHER),
        ("pint.txt", "app/Ledger.php", "app/Other.php", OTHER),
        ("mix-format.txt", "lib/rate.ex", "lib/other.ex", OTHER),
        ("julia.txt", "runtests.jl:9", "runtests.jl:10", SAME),
        ("julia.txt", "Evaluated: 7 == 8", "Evaluated: 6 == 8", SAME),
        ("julia.txt", "Expression: book(7) == 8", "Expression: book(6) == 8", OTHER),
        ("pester.txt", "but got 7", "but got 6", SAME),
        ("pester.txt", "12ms (10ms|2ms)", "1.2s (1s|200ms)", SAME),
        ("pester.txt", "books an amount", "books amounts", OTHER),
        ("credo.txt", "ledger.ex:12:5", "ledger.ex:13:5", SAME),
        ("credo.txt", "IO.inspect/1", "IO.inspect/2", OTHER),
        ("dialyxir.txt", "ledger.ex:12:", "ledger.ex:13:", SAME),
        ("dialyxir.txt", "no_return", "no_match", OTHER),
        ("ansible-lint.txt", "site.yml:12 ", "site.yml:13 ", SAME),
        ("ansible-lint.txt", "name[missing]", "name[casing]", OTHER),
        ("rebar3-eunit.txt", "got: 7", "got: 6", SAME),
        ("vite-rolldown.txt", "m.js:1:15 ", "m.js:7:15 ", SAME),
        ("vite-rolldown.txt", "[ m.js:", "[ n.js:", OTHER),
        ("vite-rolldown.txt", "UNRESOLVED_IMPORT", "MISSING_EXPORT", OTHER),
        (
            "webpack.txt",
            "b.js 1:10\nModule parse failed: Unexpected token (1:10)",
            "b.js 2:10\nModule parse failed: Unexpected token (2:10)",
            SAME,
        ),
        ("webpack.txt", "missing2", "missing3", OTHER),
        ("ava-exit.txt", "exit.test.js", "end.test.js", OTHER),
        ("rspec-failures.txt", "spec.rb:3:", "spec.rb:4:", SAME),
        ("rspec-failures.txt", "reverts", "undoes", OTHER),
    ] {
        check_edited(file, from, to, is_same);
    }
}

/// Checks that the first text has all failures of the second, and one more.
fn check_one_more(all: &str, less: &str) {
    let [all, less] = [all, less].map(|text| read(text.as_bytes()));
    assert_eq!(all.failures.len(), less.failures.len() + 1, "{all:#?}");
    assert!(less.set().without(&all.set()).is_empty(), "{all:#?}{less:#?}");
}

#[test]
fn a_diagnostic_is_the_same_in_every_form_that_its_tool_has() {
    let unused = "'width' is assigned a value but never used";
    for (tool, forms) in [
        (
            "ruff",
            vec![
                "a.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n".to_owned(),
                "F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n  |        ^^\n  |\nhelp: Remove unused import: `os`\n\nFound 1 error.\n".to_owned(),
                json!([{"code": "F401", "end_location": {"column": 10, "row": 1}, "filename": "/srv/ci/shop/a.py", "location": {"column": 8, "row": 1}, "message": "`os` imported but unused"}]).to_string(),
                json!([{"check_name": "F401", "description": "F401: `os` imported but unused", "location": {"path": "a.py", "positions": {"begin": {"line": 1, "column": 8}}}}]).to_string(),
            ],
        ),
        (
            "mypy",
            vec![
                "a.py:4: error: Missing return statement  [return]\nFound 1 error in 1 file (checked 1 source file)\n".to_owned(),
                json!({"file": "a.py", "line": 4, "column": 0, "message": "Missing return statement", "hint": null, "code": "return", "severity": "error"}).to_string(),
            ],
        ),
        (
            "eslint",
            vec![
                format!("\n/srv/ci/shop/a.js\n  9:9  error  {unused}  no-unused-vars\n\n✖ 1 problem (1 error, 0 warnings)\n"),
                json!([{"filePath": "/srv/ci/shop/a.js", "messages": [{"ruleId": "no-unused-vars", "severity": 2, "message": format!("{unused}."), "line": 9, "column": 9}]}]).to_string(),
                format!("/srv/ci/shop/a.js: line 9, col 9, Error - {unused}. (no-unused-vars)\n\n1 problem\n"),
                format!("\n  a.js:9:9\n  ✖  9:9  {unused}.  no-unused-vars\n\n  1 error\n"),
                format!(
                    "<?xml version=\"1.0\"?><checkstyle version=\"4.3\"><file name=\"/srv/ci/shop/a.js\"><error line=\"9\" column=\"9\" severity=\"error\" message=\"{unused}. (no-unused-vars)\" source=\"eslint.rules.no-unused-vars\" /></file></checkstyle>"
                ),
            ],
        ),
        (
            "pylint",
            vec![
                "a.py:14:4: W0123: Use of eval (eval-used)\n".to_owned(),
                "a.py:14: [W0123(eval-used), f] Use of eval\n".to_owned(),
                "a.py(14): [W0123(eval-used)f] Use of eval\n".to_owned(),
                "::warning file=a.py,line=14,endline=14,col=4,title=W0123::Use of eval\n".to_owned(),
            ],
        ),
        (
            "pyright",
            vec![
                "/srv/ci/shop/a.py\n  /srv/ci/shop/a.py:15:12 - error: Type \"int\" is not assignable\n    \"int\" is not assignable to \"str\" (reportReturnType)\n1 error, 0 warnings, 0 informations\n".to_owned(),
                json!({"generalDiagnostics": [{"file": "/srv/ci/shop/a.py", "severity": "error", "message": "Type \"int\" is not assignable\n\u{a0}\u{a0}\"int\" is not assignable to \"str\"", "range": {"start": {"line": 14, "character": 11}}, "rule": "reportReturnType"}]}).to_string(),
            ],
        ),
        (
            "pyrefly",
            vec![
                "ERROR Cannot find module `c` [missing-import]\n --> a b/c.py:2:8\n  |\n2 | import c\n  |        ^\n  |\n  Looked in these locations:\n".to_owned(),
                "ERROR a b/c.py:2:8-9: Cannot find module `c` [missing-import]\n".to_owned(),
                "::error file=/srv/ci/shop/a b/c.py,line=2,col=8,title=Pyrefly missing-import::Cannot find module `c`%0A  Looked in these locations:\n".to_owned(),
                json!({"errors": [{"line": 2, "column": 8, "path": "a b/c.py", "code": -2, "name": "missing-import", "description": "Cannot find module `c`\n  Looked in these locations:", "severity": "error"}]}).to_string(),
                json!({"$schema": "sarif-2.1.0.json", "runs": [{"results": [{"ruleId": "missing-import", "level": "error", "message": {"text": "Cannot find module `c`"}, "locations": [{"physicalLocation": {"artifactLocation": {"uri": "a%20b/c.py"}, "region": {"startLine": 2, "startColumn": 8}}}]}]}]}).to_string(),
                "<testsuites><testsuite name=\"pyrefly\"><testcase classname=\"a b/c.py\" name=\"missing-import:L2\" file=\"a b/c.py\" line=\"2\"><failure type=\"missing-import\" message=\"Cannot find module `c`\">Cannot find module `c`</failure></testcase></testsuite></testsuites>".to_owned(),
            ],
        ),
        (
            "yamllint",
            vec![
                "y.yaml\n  1:5       error    too many spaces after colon  (colons)\n\n".to_owned(),
                "./y.yaml:1:5: [error] too many spaces after colon (colons)\n".to_owned(),
                "::group::./y.yaml\n::error file=./y.yaml,line=1,col=5::1:5 [colons] too many spaces after colon\n::endgroup::\n".to_owned(),
            ],
        ),
        (
            "rustc",
            vec![
                "error[E0609]: no field `radius` on type `&Shape`\n --> src/area.rs:8:53\n  |\n8 |     self.radius\n  |          ^^^^^^ unknown field\n\nerror: could not compile `shapes`\n".to_owned(),
                "src/area.rs:8:53: error[E0609]: no field `radius` on type `&Shape`: unknown field\nerror: could not compile `shapes`\n".to_owned(),
            ],
        ),
    ] {
        let forms: Vec<[&str; 3]> = forms.iter().map(|form| [form.as_str(), "", ""]).collect();
        check_forms(tool, &forms);
    }
    let sample = |file: &str| SAMPLES.iter().find(|(name, _)| *name == file).expect("a sample").1;
    for (one, other) in [("terraform.txt", "terraform-plain.txt"), ("testthat.txt", "testthat-summary.txt")] {
        assert_eq!(read(sample(one)).set(), read(sample(other)).set(), "{one} and {other}");
    }
    let sbt = include_str!("fixtures/failures/scalac3-sbt.txt");
    let bare = sbt.replace("[error] ", "").replace("[info] ", "");
    assert_eq!(read(sbt.as_bytes()).set(), read(bare.as_bytes()).set());
    // In a CI log, PHPStan prints everything twice.
    let table = include_str!("fixtures/failures/phpstan.txt");
    let annotated =
        format!("{table}::error file=src/Stock/Ledger.php,line=31,col=0::Call to an undefined method\n");
    assert_eq!(read(table.as_bytes()).set(), read(annotated.as_bytes()).set());
}

#[test]
fn the_last_failure_of_a_list_is_the_same_before_another_one() {
    let hspec = include_str!("fixtures/failures/hspec.txt");
    let last = hspec.find("  Spec.hs:14:19: ").expect("the last item");
    let end = hspec.find("Randomized").expect("the end");
    check_one_more(hspec, &format!("{}{}", &hspec[..last], &hspec[end..]));
    let terraform = include_str!("fixtures/failures/terraform.txt");
    let last = terraform.rfind('╷').expect("the last box");
    check_one_more(terraform, &terraform[..last]);
    let pest = include_str!("fixtures/failures/pest.txt");
    let (last, end) = (pest.rfind("  ────").expect("a line"), pest.find("  Tests: ").expect("the end"));
    check_one_more(pest, &format!("{}{}", &pest[..last], &pest[end..]));
}

#[test]
fn text_like_a_failed_test_is_ignored_if_none_is_counted() {
    for text in [
        "00:00 +1: a prints\n00:00 +1 -1: fake [E]\n  Expected: <8>\n00:00 +2: All tests passed!\n",
        "[info] ASpec:\n- fake *** FAILED ***\n[info] - prints\n[info] Tests: succeeded 1, failed 0, canceled 0, ignored 0, pending 0\n",
        "  + prints 0.01s\n==> X A.fake  0.1s a.BException: no\n[info] Passed: Total 1, Failed 0, Errors 0, Passed 1\n",
        "  ────\n   FAILED  Tests\\A > fake\n  no\n\n  Tests:    1 passed (1 assertions)\n  Duration: 0.09s\n",
        "Failures:\n\n  A.hs:3:1: \n  1) fake\n       no\n\n  To rerun use: --match \"/fake/\"\n\n1 example, 0 failures\n",
        "Edge 1 (Linux): Executed 0 of 1\nEdge 1 (Linux) fake FAILED\nTOTAL: 1 SUCCESS\n",
        "Ran 1 test for a.sol:A\n[FAIL: no] fake()\nSuite result: ok. 1 passed; 0 failed; 0 skipped; finished in 1ms\n",
        "a\n  prints: fake:  FAIL\nOK\n\nAll 1 tests passed (0.00s)\n",
        "a_tests: fake_test...*failed*\n**error:no\n\n  All 2 tests passed.\n",
        "[-] fake 12ms\n no\nTests Passed: 1, Failed: 0, Skipped: 0 NotRun: 0\n",
        "  run \"works\"... pass\nSuccess! 1 passed, 0 failed.\n",
    ] {
        let output = ToolOutput { exit_code: Some(0), stdout: text.as_bytes(), ..ToolOutput::default() };
        assert_eq!(shown(&extract(&output)), "", "{text}");
    }
    // Next to a failed test, it is not a failure either.
    let sbt = "[info] ASpec:\n- fake *** FAILED ***\n[info] - adds *** FAILED ***\n[info]   no (A.scala:3)\n";
    assert_eq!(shown(&read(sbt.as_bytes())), "scalatest | ASpec adds |  | A.scala:3\n");
}

#[test]
fn cut_off_report_is_read_partially_and_does_not_pass() {
    let whole = "<testsuites><testsuite name=\"a\"><testcase name=\"x\" classname=\"c\"><failure message=\"m\">text\
                 </failure></testcase><testcase name=\"y\" classname=\"c\"/></testsuite></testsuites>";
    let names = |bytes: &[u8]| {
        let reports = vec![MachineReport { format: "junit", bytes }];
        let read = extract(&ToolOutput { exit_code: Some(0), reports, ..ToolOutput::default() });
        read.failures.into_iter().map(|failure| failure.test.unwrap_or(failure.kind)).collect::<Vec<_>>()
    };
    for (ends_behind, expected) in [
        ("</testsuites>", &["c.x"][..]),
        ("\"c\"/>", &["c.x", "damaged report"]),
        ("<failure message=\"m\">te", &["c.x", "damaged report"]),
        ("<testcase name=\"x\" class", &["damaged report"]),
        ("<testsuites><testsuite name=\"a\">", &["damaged report"]),
    ] {
        let end = whole.rfind(ends_behind).expect("a part of it") + ends_behind.len();
        assert_eq!(names(&whole.as_bytes()[..end]), expected, "{ends_behind}");
    }
}

#[test]
fn where_else_in_a_file_something_stands_is_no_part_of_what_is_said_of_it() {
    for message in [
        "a.py:9:1: F811 redefinition of unused 'os' from line @",
        "a.py:9:0: W0404: Reimport 'os' (imported line @) (reimported)",
        "a.py:9:0: E0102: function already defined line @ (function-redefined)",
        "a.py:9: error: Name \"f\" already defined on line @  [no-redef]",
        "a.c:9:1: error: conflicts with the one at line @, column @",
    ] {
        let [one, other] = ["1", "37"].map(|number| read(message.replace('@', number).as_bytes()));
        assert_eq!(one.failures[0].exact, other.failures[0].exact, "{message}");
    }
    let [one, other] = ["1", "2"].map(|number| format!("a.py:9: error: there is no line_{number}  [misc]"));
    assert_ne!(read(one.as_bytes()).set(), read(other.as_bytes()).set());
}

#[test]
fn a_test_of_node_that_may_fail_has_not_failed() {
    let point = |name: &str| format!("✖ {name}\n  Error: oops\n\n");
    let told = format!(
        "{}ℹ tests 2\nℹ fail 1\nℹ todo 1\n\n✖ failing tests:\n\ntest at a.mjs:1:1\n{}test at a.mjs:2:1\n{}",
        point("works (0.4ms)"),
        point("works (0.4ms)"),
        point("later (0.2ms) # TODO"),
    );
    assert_eq!(shown(&read(told.as_bytes())), "node-test | works | Error | a.mjs:1\n");
}

#[test]
fn a_program_that_dies_below_what_another_tool_said_is_read() {
    let told: String =
        (1..20).map(|at| format!("a.ts({at},1): error TS2304: Cannot find name 'x{at}'.\n")).collect();
    let dies = "/srv/a.js:3\nthrow new RangeError(\"far\")\n^\n\nRangeError: far\n    at f (/srv/a.js:3:7)\n";
    // A message that may be on any line is searched for in the last lines only.
    let out_of_memory = "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory";
    for dies in [dies.to_owned(), format!("{out_of_memory}\n{dies}"), format!("{dies}\n{out_of_memory}")] {
        let read = read(format!("{told}\n{dies}\nNode.js v22.1.0\n").as_bytes());
        assert_eq!(read.failures.len(), 20, "{}", shown(&read));
    }
}

/// The XML of pytest has each failed subtest, without its name.
#[test]
fn subtests_are_named_as_the_text_names_them_whatever_the_report_says() {
    let text = |failed: &[&str]| {
        let part = |name: &&str| {
            format!(
                "____ TestS.test_many [row] ({name}) ____\n\n    def test_many(self):\n>       self.assertEqual(1, 2)\nE       \
                 AssertionError: 1 != 2\n\ntest_s.py:6: AssertionError\n"
            )
        };
        let line = |name: &&str| {
            format!("SUBFAILED[row] ({name}) test_s.py::TestS::test_many - AssertionError: 1 != 2\n")
        };
        format!(
            "=== FAILURES ===\n{}=== short test summary info ===\n{}=== 1 failed in 0.54s ===\n",
            failed.iter().map(part).collect::<String>(),
            failed.iter().map(line).collect::<String>(),
        )
    };
    let failure = "<failure message=\"AssertionError: 1 != 2\">E   AssertionError: 1 != 2\n\ntest_s.py:6: AssertionError</failure>";
    for failed in [&["i=1", "i=3"][..], &["i=2"]] {
        let report = format!(
            "<testsuites name=\"pytest tests\"><testsuite name=\"pytest\" failures=\"2\"><testcase classname=\"test_s.TestS\" \
             name=\"test_many\" time=\"0.02\">{}</testcase></testsuite></testsuites>",
            failure.repeat(failed.len())
        );
        let text = text(failed);
        let reports = vec![MachineReport { format: "junit", bytes: report.as_bytes() }];
        let output = ToolOutput { exit_code: Some(1), stdout: text.as_bytes(), ..ToolOutput::default() };
        let alone = extract(&output);
        let with_report = extract(&ToolOutput { reports, ..output });
        assert_eq!(shown(&with_report), shown(&alone), "{failed:?}");
        assert_eq!(alone.failures.len(), failed.len(), "{}", shown(&alone));
    }
}

#[test]
fn output_on_the_other_stream_is_not_a_unittest_failure() {
    let block = |name: &str| {
        let (double, single) = ("=".repeat(70), "-".repeat(70));
        format!(
            "{double}\nFAIL: {name} (tests.test_a.A.{name})\n{single}\nTraceback (most recent call last):\nAssertionError: x\n\n"
        )
    };
    let bait = block("test_fake") + "FAILED (failures=1)\n";
    let report =
        format!("{}{}\nRan 2 tests in 0.000s\n\nFAILED (failures=1)\n", block("test_real"), "-".repeat(70));
    let output = ToolOutput {
        exit_code: Some(1),
        stdout: bait.as_bytes(),
        stderr: report.as_bytes(),
        ..ToolOutput::default()
    };
    check(
        &extract(&output),
        &expect![[r#"
            unittest | tests.test_a.A.test_real | AssertionError | -
        "#]],
    );
}

#[test]
fn a_rule_as_wide_as_the_terminal_makes_no_other_failure() {
    let key = |width: usize| {
        let text = format!(
            "{0} session starts {0}\ncollected 0 items\n\n{0} no tests ran in 0.0{width}s {0}\n",
            "=".repeat(width)
        );
        let output = ToolOutput { exit_code: Some(5), stdout: text.as_bytes(), ..ToolOutput::default() };
        extract(&output).failures[0].fingerprint.to_string()
    };
    assert_eq!(key(20), key(31));
}

#[test]
fn pylint_fails_by_what_it_annotates_as_a_notice() {
    let line =
        "::notice file=pkg/a.py,line=4,endline=4,col=0,title=C0116::Missing function or method docstring\n";
    let other = "::notice file=pkg/a.py,line=4,title=Coverage::Fell to 80 %\n";
    check(
        &read(format!("************* Module a\n{line}{other}").as_bytes()),
        &expect![[r#"
            annotations | - | C0116 | pkg/a.py:4
        "#]],
    );
}

#[test]
fn compilers_coverage_and_make_say_the_same_in_other_words() {
    let key = |text: &str| {
        let found = read(text.as_bytes());
        assert_eq!(found.failures.len(), 1, "{text}: {}", shown(&found));
        assert_ne!(found.failures[0].kind, UNPARSED, "{text}");
        found.failures[0].fingerprint.to_string()
    };
    for (one, other) in [
        (
            "a.c:3:5: error: ‘x’ undeclared (first use in this function)\n",
            "a.c:3:5: error: 'x' undeclared (first use in this function)\n",
        ),
        (
            "make: *** No rule to make target 'b.in', needed by 'a'.  Stop.\n",
            "make: *** No rule to make target 'b.in', needed by 'a'.\n",
        ),
        (
            "Jest: Coverage for branches (50%) does not meet \"global\" threshold (90%)\n",
            "Jest: Coverage for branches (70.5%) does not meet \"global\" threshold (90%)\n",
        ),
        (
            "ninja: error: 'b', needed by 'a', missing and no known rule to make it\n",
            "ninja: error: 'b', needed by 'a', missing and no known rule to make it\n\n",
        ),
    ] {
        assert_eq!(key(one), key(other), "{one}{other}");
    }
}

/// The options of pytest for verbosity and tracebacks decide whether the kind precedes the comparison.
#[test]
fn a_comparison_of_pytest_is_the_same_under_all_of_its_options() {
    let key = |told: &str| {
        let text = format!(
            "=== FAILURES ===\n____ test_list ____\n{told}\n=== short test summary info ===\nFAILED t.py::test_list - x\n=== 1 failed in 0.1s ===\n"
        );
        let found = read(text.as_bytes());
        assert_eq!(found.failures.len(), 1, "{told}: {}", shown(&found));
        found.failures[0].fingerprint.to_string()
    };
    let short = key(
        ">   assert f() == [1, 2]\nE   assert [1, 3] == [1, 2]\nE\nE     At index 1 diff: 3 != 2\n\nt.py:3: AssertionError",
    );
    let verbose = key(
        ">   assert f() == [1, 2]\nE   AssertionError: assert [1, 3] == [1, 2]\nE\nE     At index 1 diff: 3 != 2\n\nt.py:3: AssertionError",
    );
    let native = key(
        "Traceback (most recent call last):\n  File \"/srv/t.py\", line 3, in test_list\n    assert f() == [1, 2]\nAssertionError: assert [1, 3] == [1, 2]\n  \n  At index 1 diff: 3 != 2",
    );
    assert_eq!((&verbose, &native), (&short, &short));
}

/// The XML of vitest has a case with the name of the file.
#[test]
fn a_file_that_vitest_could_not_load_is_the_same_by_report_and_text() {
    let error = "Error: Cannot find module './nope' imported from '/srv/ci/shop/src/a.test.ts'";
    let report = format!(
        "<testsuites name=\"vitest tests\"><testsuite name=\"src/a.test.ts\"><testcase classname=\"src/a.test.ts\" \
         name=\"src/a.test.ts\" time=\"0\"><failure message=\"Cannot find module\" type=\"Error\">\n{error}\n ❯ src/a.test.ts:2:1\n\
         </failure></testcase></testsuite></testsuites>"
    );
    let text = format!(
        "\n⎯⎯ Failed Suites 1 ⎯⎯\n\n FAIL  src/a.test.ts [ src/a.test.ts ]\n{error}\n ❯ src/a.test.ts:2:1\n\n⎯⎯[1/1]⎯\n\n Test Files  1 failed (1)\n"
    );
    let output = ToolOutput { cwd: "/srv/ci/shop", exit_code: Some(1), ..ToolOutput::default() };
    let of = |stdout: &[u8], reports: Vec<MachineReport<'_>>| {
        let found = extract(&ToolOutput { stdout, reports, ..output.clone() });
        found.set().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let reports = || vec![MachineReport { format: "junit", bytes: report.as_bytes() }];
    let alone = of(text.as_bytes(), Vec::new());
    assert_eq!(alone.len(), 1);
    assert_eq!(of(text.as_bytes(), reports()), alone);
    assert_eq!(of(b"", reports()), alone);
}

#[test]
fn the_same_test_of_two_suites_of_robot_framework_is_two_failures() {
    let (double, thin) = ("=".repeat(78), "-".repeat(78));
    let head = |name: &str| format!("{name:<78}\n{double}\n");
    let adds = |status: &str, told: &str| format!("{:<70}| {status} |\n{told}{thin}\n", "Adds");
    let suite = |name: &str, adds: &str, sum: &str| {
        format!("{}{adds}{:<70}| FAIL |\n2 tests, {sum}\n{double}\n", head(name), name)
    };
    let loud = format!("{:<70}| FAIL |\n| PASS |\n{thin}\n", "Loud");
    let failing = adds("FAIL", "2 != 3\n");
    let whole = |b: &str| {
        format!(
            "{double}\n{}{}{}{}Rob{}| FAIL |\n4 tests, 2 passed, 2 failed\n{double}\n",
            head("Rob"),
            suite("Rob.A", &format!("{failing}{loud}"), "1 passed, 1 failed"),
            suite("Rob.B", b, "1 passed, 1 failed"),
            "",
            " ".repeat(67),
        )
    };
    let both = read(whole(&failing).as_bytes());
    assert_eq!(shown(&both).lines().count(), 2, "{}", shown(&both));
    let one = read(whole(&adds("PASS", "")).as_bytes());
    assert_eq!(shown(&one).lines().count(), 1, "{}", shown(&one));
    assert!(both.set().iter().any(|fingerprint| one.set().contains(fingerprint)), "{}", shown(&one));
}

#[test]
fn the_same_test_of_two_suites_of_doctest_is_two_failures() {
    let rule = "=".repeat(79);
    let case = |suite: &str, line: u32| {
        format!(
            "{rule}\nt.cpp:{line}:\nTEST SUITE: {suite}\nTEST CASE:  adds\n\nt.cpp:{line}: ERROR: CHECK( 1 == 2 ) is NOT correct!\n  values: CHECK( 1 == 2 )\n\n"
        )
    };
    let text =
        format!("{}{}[doctest] test cases: 2 | 0 passed | 2 failed\n", case("cart", 4), case("cart2", 5));
    assert_eq!(identities(&text), 2);
}

#[test]
fn similar_failures_are_distinguished_and_complete() {
    let rule = "=".repeat(76);
    let see = format!("{rule}\nSee ./test-suite.log\n{rule}\n");
    let suite = |list: &str, counted: &str| {
        format!("{list}{rule}\nTestsuite summary for a 1\n{rule}\n{counted}{see}")
    };
    let log = "=======\n   a 1: ./test-suite.log\n=======\n\nFAIL: b\n=======\n\nb.c:3: x\nFAIL b (exit status: 1)\n\n";
    let once = "= test session starts =\n\nt/a.py F\n_________ test_x _________\n\nE   KeyError: 1\n\nt/a.py:3: KeyError\nsrc/a.ts(3,5): error TS1: no\n\
                t/b.py F\n_________ test_x _________\n\nE   OSError: 2\n\nt/b.py:4: OSError\n\n= short test summary info =\n\
                FAILED t/b.py::test_x - OSError: 2\nFAILED t/a.py::test_x - KeyError: 1\n= 2 failed in 0.1s =\n";
    let printed = "= test session starts =\n\n_________ test_x _________\nE   OSError: inner\ninner.py:3: OSError\n\n= short test summary info =\n\
                   FAILED t/a.py::test_x - KeyError: 1\n= 1 failed in 0.1s =\n";
    let stack = |frames: &str| {
        format!(
            "+++ Timeout +++\n~~~~ Stack of MainThread (1) ~~~~\n  File \"/srv/ci/shop/run_tests.py\", line 2, in test_all\n  \
                 File \"/v/site-packages/_pytest/python.py\", line 187, in pytest_pyfunc_call\n{frames}+++ Timeout +++\n"
        )
    };
    let behave = "Scenario: Login # a.feature:3\n\nFailing scenarios:\n  a.feature:3  Login\n\nErrored scenarios:\n  b.feature:3  Login\n\n";
    let step = |status: &str| json!([{"keyword": "Given ", "name": "a db", "result": {"status": status}}]);
    let background = |status: &str| json!({"type": "background", "name": "", "steps": step(status)});
    let scenario =
        |name: &str| json!({"type": "scenario", "name": name, "line": 6, "steps": step("skipped")});
    let elements = json!([
        background("failed"),
        scenario("X"),
        background("passed"),
        scenario("Y"),
        background("failed"),
        scenario("Z")
    ]);
    for (text, expected) in [
        // Make continues in the next directory.
        (
            suite("PASS: a\nFAIL: b\n", "# TOTAL: 2\n# FAIL: 1\n") + &suite("FAIL: c\nERROR: d\n", "# FAIL: 1\n# ERROR: 1\n"),
            "automake | b |  | -\nautomake | c |  | -\nautomake | d | ERROR | -\n",
        ),
        (
            suite("FAIL: b\n", "# FAIL: 1\n") + log + &suite("PASS: c\nFAIL: d\n", "# FAIL: 1\n"),
            "automake | b |  | -\nautomake | d |  | -\n",
        ),
        // Another command shows the log below, which includes an expected failure.
        (
            suite("FAIL: b\n", "# FAIL: 1\n") + "FAIL: b\n=======\nsrc/u.py:3: ValueError\nFAIL b (exit status: 1)\n\nXFAIL: x\n========\n\nsaid\n",
            "automake | b |  | -\n",
        ),
        // A result that the summary does not count is not one of its tests.
        (suite("ERROR: ld.so: no\nPASS: a\nFAIL: b\n", "# TOTAL: 2\n# FAIL: 1\n"), "automake | b |  | -\n"),
        // The number of a test changes with the tests before it.
        (suite("FAIL: t/a.test 2 - reads\n", "# FAIL: 1\n"), "automake | t/a.test - reads |  | -\n"),
        (
            once.to_owned(),
            "pytest | t/a.py::test_x | KeyError | t/a.py:3\npytest | t/b.py::test_x | OSError | t/b.py:4\ntsc | - | TS1 | src/a.ts:3\n",
        ),
        // A class has its name in the title.
        (
            "= FAILURES =\n____ it_a ____\nE   KeyError: 1\n____ test_x ____\nE   OSError: 2\n= short test summary info =\n\
             FAILED a.py::describe_b::it_a - KeyError: 1\nFAILED a.py::TestA::test_x - ValueError: 3\n".to_owned(),
            "pytest | a.py::describe_b::it_a | KeyError | a.py\npytest | test_x | OSError | -\npytest | a.py::TestA::test_x | ValueError | -\n",
        ),
        (printed.to_owned(), "pytest | t/a.py::test_x | KeyError | -\ndiagnostics | - |  | inner.py:3\n"),
        (
            stack("  File \"/srv/ci/shop/t/a.py\", line 9, in test_x\n"),
            "pytest | t/a.py::test_x | Timeout | t/a.py:9\n",
        ),
        // A fixture hangs.
        (
            stack("  File \"/srv/ci/shop/conftest.py\", line 4, in db\n"),
            "pytest | conftest.py::db | Timeout | conftest.py:4\n",
        ),
        (behave.to_owned(), "behave | Login |  | a.feature:3\nbehave | Login |  | b.feature:3\n"),
        (
            json!([{"uri": "a.feature", "elements": elements}]).to_string(),
            "cucumber | X |  | a.feature:6\ncucumber | Z |  | a.feature:6\n",
        ),
        (
            json!([{"path": "a.py", "line": 3, "code": "E501", "message": "", "description": "long"}, {"path": "b.py", "line": 4, "code": "E9", "message": ""}]).to_string(),
            "lint | - | E501 | a.py:3\nlint | - | E9 | b.py:4\n",
        ),
        (
            "testA\nsaid\n\nASSERT:one\nit_adds\nASSERT:two\n\nRan 2 tests.\n".to_owned(),
            "shunit2 | testA | assert | -\nshunit2 | it_adds | assert | -\n",
        ),
    ] {
        assert_eq!(shown(&read(text.as_bytes())), expected, "{text}");
    }
}

#[test]
fn files_that_a_formatter_lists_next_to_a_syntax_error_are_read() {
    let check = |stdout: &str, stderr: &str, expected: &[&str]| {
        let output = ToolOutput {
            exit_code: Some(2),
            stdout: stdout.as_bytes(),
            stderr: stderr.as_bytes(),
            ..ToolOutput::default()
        };
        let failures = extract(&output).failures;
        let shown = failures.iter().map(|failure| {
            let file = failure.location.as_ref().map_or("", |place| &place.file);
            format!("{file} {}", failure.kind)
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{stdout:?} {stderr:?}");
    };
    let broken = "bad.go:3:1: expected declaration, found x\n";
    check("a.go\nlib/b.go\n", broken, &["bad.go ", "a.go format", "lib/b.go format"]);
    check(&format!("a.go\n{broken}lib/b.go\n"), "", &["bad.go ", "a.go format", "lib/b.go format"]);
    check("a.go\n", &format!("{broken}make: *** [Makefile:2: fmt] Error 2\n"), &["bad.go ", "a.go format"]);
    // A compiler that names the file being read, and one with additional text.
    check("bad.go\n", broken, &["bad.go "]);
    check("Building a.go\n", broken, &["bad.go "]);
}

#[test]
fn a_message_that_clang_breaks_for_a_narrow_terminal_is_the_same_failure() {
    let fingerprints = |text: &str| {
        let output = ToolOutput { exit_code: Some(1), stderr: text.as_bytes(), ..ToolOutput::default() };
        extract(&output).failures.into_iter().map(|failure| failure.fingerprint).collect::<Vec<_>>()
    };
    let message = "error: use of undeclared identifier 'totl'; did you mean 'total'?";
    let wide = format!("a.c:3:5: {message}\n    3 |     totl = 1;\n      |     ^~~~\n");
    for narrow in [
        "a.c:3:5: error: use of undeclared\n      identifier 'totl'; did you mean\n      'total'?\n    3 |     totl = 1;\n      |     ^~~~\n",
        "a.c:3:5: error: use of undeclared\n      identifier 'totl'; did you mean 'total'?\n    totl = 1;\n    ^~~~\n",
        "a.c:3:5: error: use of undeclared\n      identifier 'totl'; did you mean 'total'?\n      totl = 1;\n      ^~~~\n",
    ] {
        assert_eq!(fingerprints(narrow), fingerprints(&wide), "{narrow}");
    }
    // FailureSource text after six spaces is not part of the message.
    let plain = format!("a.c:3:5: {message}\n      totl = 1;\n      ^~~~\n");
    assert_eq!(fingerprints(&plain), fingerprints(&wide));
}

#[test]
fn the_seed_of_a_shuffled_run_of_busted_is_no_part_of_a_failure() {
    let fingerprints = |seed: &str| {
        let text = format!(
            "0 successes / 1 failure / 0 errors / 0 pending : 0.1 seconds\n\nFailure → spec/a_spec.lua @ 12\ncart sums\n{seed}spec/a_spec.lua:14: Expected objects to be equal.\n"
        );
        let output = ToolOutput { exit_code: Some(1), stdout: text.as_bytes(), ..ToolOutput::default() };
        extract(&output).failures.into_iter().map(|failure| failure.exact).collect::<Vec<_>>()
    };
    let plain = fingerprints("");
    assert_eq!(plain.len(), 1);
    for seed in ["Random seed: 61234\n", "Random seed: 7\n"] {
        assert_eq!(fingerprints(seed), plain, "{seed}");
    }
}
