//! The formats, one line each.

use std::ops::Range;
use std::rc::Rc;

use unstuck_core::evidence::{Confidence, Source};

use super::clean_output::{CleanLines, CleanOutput};
use super::format::{self, FormatInput, Lines};
use super::mixed_output::{StreamLines, TrustedRegions, lines_of};
use super::output::{MachineReport, Output};
use super::package::StreamPackages;
use super::prefilter::Prefilter;
use super::raw_failure::{FailureCollector, OutputSpan, RawFailure};
use super::{unread, work};

/// A format that failures are read from.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name that `--format` and a report take.
    pub name: &'static str,
    /// The tool or kind of tool that prints it.
    pub title: &'static str,
    /// The stage in which it is searched for.
    pub stage: Precedence,
    /// One of these strings must occur (a line feed is a line edge). If empty, the stage always searches for it.
    pub marks: &'static [&'static str],
    read: fn(&FormatInput<'_>, &mut FailureCollector<'_>),
}

/// The stage in which a format is searched for.
///
/// A format without a tool's own grammar is read only if nothing was found before: a test runner or a compiler is more
/// reliable than lines of a similar shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// The grammar of a test runner that marks where the output of each failed test begins and ends.
    Runner,
    /// The grammar of one tool. It skips the output of failed tests, whatever that looks like.
    Tool,
    /// The common shape of diagnostics: `file:line: message`.
    Diagnostics,
    /// Last words of a dying process, and marks that many tools use.
    Shape,
}

use Precedence::{Diagnostics, Runner, Shape, Tool};

/// All formats, in the order in which they are searched for.
#[rustfmt::skip]
pub const FORMATS: &[Format] = &[
    Format { name: "junit", title: "JUnit XML, in the dialects of pytest, nextest, node, vitest, deno, GoogleTest, CTest, Surefire, bats and others", stage: Tool, marks: &["<testcase"], read: format::junit::read },
    Format { name: "sarif", title: "SARIF", stage: Tool, marks: &["sarif"], read: format::sarif::read },
    Format { name: "go-test-json", title: "go test -json", stage: Tool, marks: &["\"Action\":\"fail\"", "\"Action\":\"build-fail\""], read: format::go_test_json::read },
    Format { name: "cargo-json", title: "cargo and rustc with JSON messages, clippy too; libtest with --format json", stage: Tool, marks: &["\"reason\":\"compiler-message\"", "\"$message_type\":\"diagnostic\"", "\"event\": \"failed\"", "\"event\":\"failed\""], read: format::cargo_json::read },
    Format { name: "test-json", title: "jest, vitest, mocha, RSpec, GoogleTest, Playwright, Cucumber and behave with a JSON report", stage: Tool, marks: &["\"elements\"", "\"assertionResults\"", "\"testsuite\"", "\"full_description\"", "\"errors_outside_of_examples_count\"", "\"fullTitle\"", "\"expectedStatus\""], read: format::test_json::read },
    Format { name: "lint-json", title: "eslint, ruff, pylint, pyright, shellcheck, stylelint, golangci-lint, deno lint and others with a JSON report", stage: Tool, marks: &["\"ruleId\"", "\"messageId\"", "\"message-id\"", "\"end_location\"", "\"generalDiagnostics\"", "\"FromLinter\"", "\"endLine\"", "\"fix_availability\"", "\"check_name\"", "\"errored\"", "\"bytePos\"", "\"end_column\"", "\"diagnostics\": [", "\"cop_name\"", "\"evidence\":", "\"code\":\"DL", "\"code\":\"SC"], read: format::lint_json::read },
    Format { name: "checkstyle", title: "Checkstyle XML, in which many linters write; XML of cppcheck", stage: Tool, marks: &["<checkstyle", "<cppcheck"], read: format::checkstyle::read },
    Format { name: "cargo-nextest", title: "cargo nextest", stage: Runner, marks: &["error: test run failed"], read: format::nextest::read },
    Format { name: "cargo-test", title: "cargo test (libtest)", stage: Runner, marks: &["test result: FAILED", "process didn't exit successfully"], read: format::libtest::read },
    Format { name: "rustc", title: "rustc, clippy, ruff, pyrefly, deno lint: a headline and an arrow", stage: Tool, marks: &["--> ", "error: linking with", "error: could not compile", "error: aborting due to"], read: format::rustc_style::read },
    Format { name: "boxed", title: "a headline and a frame of source text: oxlint, cargo deny, Elixir, what uses miette, ariadne or codespan", stage: Tool, marks: &["╭─[", "╭──[", " ,-[", "┌─ ", "└─ "], read: format::framed_snippet::read },
    Format { name: "rustfmt", title: "cargo fmt --check", stage: Tool, marks: &["Diff in "], read: format::rustfmt::read },
    Format { name: "go-test", title: "go test", stage: Runner, marks: &["--- FAIL: ", "\nFAIL\t", "FAIL    "], read: format::go_test::read },
    Format { name: "gotestsum", title: "gotestsum", stage: Runner, marks: &["\n=== FAIL: "], read: format::gotestsum::read },
    Format { name: "pytest", title: "pytest, pytest-xdist", stage: Runner, marks: &["= FAILURES =", "= ERRORS =", "short test summary info"], read: format::pytest::read },
    Format { name: "pytest-start", title: "pytest that came to no test: an error of its own, a conftest.py that cannot be loaded", stage: Tool, marks: &["INTERNALERROR> ", "while loading conftest "], read: format::pytest_startup_error::read },
    Format { name: "pytest-timeout", title: "pytest-timeout where it ends the run (--timeout-method=thread)", stage: Tool, marks: &[" Stack of MainThread "], read: format::pytest_timeout::read },
    Format { name: "unittest", title: "Python unittest", stage: Runner, marks: &["FAILED ("], read: format::unittest::read },
    Format { name: "trial", title: "trial (Twisted)", stage: Runner, marks: &["\n[FAIL]\n", "\n[ERROR]\n", "\n[SUCCESS!?!]\n"], read: format::twisted_trial::read },
    Format { name: "green", title: "green, zope.testrunner (Python)", stage: Runner, marks: &["\nFailure in ", "\nError in ", "\n  Set up "], read: format::python_green::read },
    Format { name: "subunit", title: "subunit, version 1: cmocka and others", stage: Runner, marks: &["\nfailure: ", "\nerror: "], read: format::subunit::read },
    Format { name: "node-test", title: "node --test (spec)", stage: Tool, marks: &["✖ failing tests:", "\nFailed tests:\n"], read: format::node_test::read },
    Format { name: "vitest", title: "vitest", stage: Tool, marks: &["⎯ Failed ", "⎯ Unhandled ", "⎯⎯ Unhandled "], read: format::vitest::read },
    Format { name: "jest", title: "jest", stage: Tool, marks: &["● "], read: format::jest::read },
    Format { name: "mocha", title: "mocha, jasmine, cypress", stage: Tool, marks: &[" failing\n", " failing (", "\nFailures:", "Failures: \n", "\"fullTitle\"", "<testsuite name=\"Mocha Tests\""], read: format::mocha::read },
    Format { name: "ava", title: "ava", stage: Tool, marks: &["✘ [", "✖ [", " uncaught exception", "Uncaught exception in ", "Unhandled rejection in ", "✘ Exiting due to ", "exited with a non-zero exit code: ", " exited due to SIG", "✘ No tests found in ", "tests failed\n", "test failed\n"], read: format::ava::read },
    Format { name: "bun-test", title: "bun test", stage: Tool, marks: &["\n(fail) ", "\n✗ ", "# Unhandled error between tests"], read: format::bun_test::read },
    Format { name: "deno-test", title: "deno test", stage: Tool, marks: &[" ERRORS \n", "(uncaught error)", "error: Module not found", "error: The module's source code", "error: SyntaxError", "error: Uncaught"], read: format::deno_test::read },
    Format { name: "deno-check", title: "deno check", stage: Tool, marks: &["[ERROR]: "], read: format::deno_check::read },
    Format { name: "deno-fmt", title: "deno fmt --check", stage: Tool, marks: &["not formatted file"], read: format::deno_fmt::read },
    Format { name: "svelte-check", title: "svelte-check for machines", stage: Tool, marks: &[" ERROR \"", " WARNING \"", "{\"type\":\"ERROR\"", "{\"type\":\"WARNING\""], read: format::svelte_check::read },
    Format { name: "tsc", title: "tsc", stage: Tool, marks: &["error TS"], read: format::tsc::read },
    Format { name: "eslint", title: "eslint, stylelint, standard (stylish)", stage: Tool, marks: &[" problem"], read: format::eslint::read },
    Format { name: "eslint-pretty", title: "xo, tsd (eslint-formatter-pretty)", stage: Tool, marks: &["\n  ✖  ", "\n  ×  ", "\n  ⚠  ", "\n  ‼  "], read: format::eslint_pretty::read },
    Format { name: "biome", title: "biome", stage: Tool, marks: &[" ━━━"], read: format::biome::read },
    Format { name: "shellcheck", title: "shellcheck (tty)", stage: Tool, marks: &["shellcheck.net/wiki"], read: format::shellcheck::read },
    Format { name: "compact", title: "deno lint and eslint in their compact formats: a place in words", stage: Tool, marks: &[", col "], read: format::compact::read },
    Format { name: "pyright", title: "pyright", stage: Tool, marks: &[" informations", " notes\n", " note\n"], read: format::pyright::read },
    Format { name: "cmake", title: "CMake", stage: Tool, marks: &["CMake Error"], read: format::cmake::read },
    Format { name: "maven", title: "Maven: Surefire, javac", stage: Tool, marks: &["<<< FAILURE!", "<<< ERROR!", "COMPILATION ERROR", "Failed to execute goal"], read: format::maven::read },
    Format { name: "gradle", title: "Gradle test", stage: Tool, marks: &[" FAILED\n"], read: format::gradle::read },
    Format { name: "ctest", title: "CTest", stage: Runner, marks: &["tests failed out of", "Test #", "Test  "], read: format::ctest::read },
    Format { name: "gtest", title: "GoogleTest", stage: Tool, marks: &["[ RUN      ]", "[  FAILED  ]", "[       OK ]"], read: format::gtest::read },
    Format { name: "tap", title: "TAP: bats, node, node-tap, ava, mocha, prove, tape", stage: Tool, marks: &["not ok ", "Bail out!", "\nok 1"], read: format::tap::read },
    Format { name: "prove", title: "prove: what Test::More says of each failed test in its comments", stage: Tool, marks: &["#   Failed test ", " (Wstat: ", "  Parse errors: "], read: format::prove::read },
    Format { name: "shunit2", title: "shunit2", stage: Tool, marks: &["\nASSERT:", "\nshunit2:ERROR "], read: format::shunit2::read },
    Format { name: "bats", title: "bats (pretty)", stage: Tool, marks: &[" ✗ "], read: format::bats::read },
    Format { name: "phpunit", title: "PHPUnit", stage: Tool, marks: &["FAILURES!", "ERRORS!", "There was ", "There were "], read: format::phpunit::read },
    Format { name: "rspec", title: "RSpec, hspec", stage: Tool, marks: &["\nFailed examples:", "error occurred outside of examples", "errors occurred outside of examples", "An error occurred while loading", " examples, ", "1 example, "], read: format::rspec::read },
    Format { name: "minitest", title: "minitest, test-unit", stage: Tool, marks: &[" assertions, "], read: format::minitest::read },
    Format { name: "exunit", title: "ExUnit", stage: Tool, marks: &[" tests, ", " test, "], read: format::exunit::read },
    Format { name: "busted", title: "busted", stage: Tool, marks: &["Failure → ", "Error → ", "Failure -> ", "Error -> "], read: format::busted::read },
    Format { name: "dotnet", title: "dotnet test", stage: Tool, marks: &["Error Message:", "Failed! "], read: format::dotnet::read },
    Format { name: "catch2", title: "Catch2, doctest (C++)", stage: Tool, marks: &[": FAILED:\n", "TEST CASE:  "], read: format::catch2::read },
    Format { name: "boost-test", title: "Boost.Test (C++)", stage: Tool, marks: &[" error: in \"", " error in \""], read: format::boost::read },
    Format { name: "xctest", title: "XCTest (Swift)", stage: Tool, marks: &["Test Case '"], read: format::xctest::read },
    Format { name: "playwright", title: "Playwright", stage: Tool, marks: &["[chromium] ›", "[firefox] ›", "[webkit] ›", ".spec.ts:", ".spec.js:", ".test.ts:", ".test.js:"], read: format::playwright::read },
    Format { name: "unity", title: "Unity (C)", stage: Tool, marks: &[":FAIL\n", ":FAIL:"], read: format::unity::read },
    Format { name: "criterion", title: "Criterion (C)", stage: Tool, marks: &["[====] Synthesis: Tested"], read: format::criterion::read },
    Format { name: "nim-unittest", title: "unittest of Nim", stage: Tool, marks: &["[FAILED] "], read: format::nim::read },
    Format { name: "teamcity", title: "service messages of TeamCity: PHPUnit and others", stage: Tool, marks: &["##teamcity[testFailed "], read: format::teamcity::read },
    Format { name: "cucumber", title: "Cucumber for JavaScript", stage: Tool, marks: &[" Scenario: "], read: format::cucumber::read },
    Format { name: "poku", title: "poku", stage: Tool, marks: &[" test file(s) failed:"], read: format::poku::read },
    Format { name: "doctest", title: "doctest of Python", stage: Tool, marks: &["Failed example:\n"], read: format::doctest::read },
    Format { name: "bandit", title: "bandit", stage: Tool, marks: &[">> Issue: ["], read: format::bandit::read },
    Format { name: "check", title: "Check (C)", stage: Tool, marks: &["%: Checks: "], read: format::libcheck::read },
    Format { name: "meson", title: "meson test", stage: Tool, marks: &["Full log written to "], read: format::meson::read },
    Format { name: "sqlfluff", title: "sqlfluff", stage: Tool, marks: &["] FAIL\n"], read: format::sqlfluff::read },
    Format { name: "rubocop", title: "RuboCop (simple, quiet)", stage: Tool, marks: &[".rb ==\n", ".rake ==\n", ".gemspec ==\n", "file ==\n"], read: format::rubocop::read },
    Format { name: "knip", title: "knip", stage: Tool, marks: &["\nUnused ", "\nUnlisted ", "\nUnresolved ", "\nDuplicate "], read: format::knip::read },
    Format { name: "zig", title: "zig test", stage: Tool, marks: &["error: the following test command "], read: format::zig::read },
    Format { name: "stestr", title: "stestr", stage: Tool, marks: &[" ... FAILED\n"], read: format::stestr::read },
    Format { name: "behave", title: "behave", stage: Tool, marks: &["Failing scenarios:", "Errored scenarios:"], read: format::behave::read },
    Format { name: "robot", title: "Robot Framework, dotted too", stage: Tool, marks: &["| FAIL |", "\nFAIL: "], read: format::robot_framework::read },
    Format { name: "phpstan", title: "PHPStan (table)", stage: Tool, marks: &["\n  Line   ", "\n     Error"], read: format::phpstan::read },
    Format { name: "phpcs", title: "PHP_CodeSniffer", stage: Tool, marks: &["\nFILE: "], read: format::phpcs::read },
    Format { name: "psalm", title: "Psalm", stage: Tool, marks: &["(see https://psalm.dev/"], read: format::psalm::read },
    Format { name: "pest", title: "Pest; artisan test", stage: Tool, marks: &["\n   FAILED  "], read: format::php_pest::read },
    Format { name: "scalac", title: "the Scala compiler, also in sbt", stage: Tool, marks: &[".scala:"], read: format::scalac::read },
    Format { name: "scalatest", title: "ScalaTest, also in sbt", stage: Tool, marks: &["*** FAILED ***", "*** ABORTED ***"], read: format::scalatest::read },
    Format { name: "munit", title: "MUnit and other test frameworks in sbt", stage: Tool, marks: &["==> X ", "[error] Test ", "[error] Failed tests:"], read: format::munit::read },
    Format { name: "dart-test", title: "dart test, flutter test", stage: Tool, marks: &[" [E]\n", " (failed)\n"], read: format::dart_test::read },
    Format { name: "dart-analyze", title: "dart analyze, flutter analyze", stage: Tool, marks: &["\n  error - ", "\nwarning - ", "\n   info - ", "\n  error • ", "\nwarning • ", "\n   info • "], read: format::dart_analyze::read },
    Format { name: "kotlin", title: "the Kotlin compiler under Gradle and Maven", stage: Tool, marks: &["\ne: file:", "\ne: /"], read: format::kotlin::read },
    Format { name: "swift-testing", title: "Swift Testing", stage: Tool, marks: &[" recorded an issue"], read: format::swift_testing::read },
    Format { name: "terraform", title: "Terraform, OpenTofu, tflint", stage: Tool, marks: &["│ Error: ", ".tf line ", ".hcl line "], read: format::terraform::read },
    Format { name: "clojure", title: "clojure.test, Kaocha and the Clojure compiler", stage: Tool, marks: &["\nFAIL in ", "\nERROR in ", "\nSyntax error ", "\nExecution error "], read: format::clojure::read },
    Format { name: "testthat", title: "testthat (R)", stage: Tool, marks: &["Failure ('", "Error ('"], read: format::testthat::read },
    Format { name: "csv", title: "bandit and PHP_CodeSniffer with commas", stage: Tool, marks: &["issue_text,line_number,", "\nFile,Line,Column,Type,Message,"], read: format::csv::read },
    Format { name: "karma", title: "Karma", stage: Tool, marks: &["): Executed "], read: format::karma::read },
    Format { name: "forge", title: "Foundry", stage: Tool, marks: &["\n[FAIL: ", "\n[FAIL. ", "\n[FAIL] "], read: format::foundry::read },
    Format { name: "tasty", title: "tasty (Haskell)", stage: Tool, marks: &[" tests failed (", " test failed ("], read: format::tasty::read },
    Format { name: "eunit", title: "EUnit (Erlang)", stage: Tool, marks: &["...*failed*", " s] *failed*", "ms] *failed*"], read: format::eunit::read },
    Format { name: "fixable", title: "PHP CS Fixer, Pint, mix format: a list of files that would change", stage: Tool, marks: &["that can be fixed in ", " style issue", "The following files are not formatted"], read: format::formatter_list::read },
    Format { name: "julia", title: "Test of Julia", stage: Tool, marks: &[": Test Failed at ", ": Error During Test at ", ": Unexpected Pass at "], read: format::julia::read },
    Format { name: "pester", title: "Pester (PowerShell)", stage: Tool, marks: &["[-] "], read: format::pester::read },
    Format { name: "elixir", title: "Credo and Dialyxir (Elixir)", stage: Tool, marks: &["\n┃       ", ".ex:", ".exs:"], read: format::elixir::read },
    Format { name: "ansible-lint", title: "ansible-lint", stage: Tool, marks: &["how to ignore specific rule violations"], read: format::ansible_lint::read },
    Format { name: "coverage", title: "bounds of the coverage: pytest-cov, jest, vitest, nyc", stage: Tool, marks: &["Required test coverage of ", "coverage threshold for ", " does not meet "], read: format::coverage::read },
    Format { name: "sanitizer", title: "AddressSanitizer, LeakSanitizer, ThreadSanitizer, UndefinedBehaviorSanitizer, Valgrind", stage: Tool, marks: &["Sanitizer: ", ": runtime error: ", "== ERROR SUMMARY: "], read: format::sanitizer::read },
    Format { name: "reformat", title: "black, isort, prettier, gofmt -l, clang-format: files that would change", stage: Tool, marks: &["would reformat ", "Would reformat: ", "Imports are incorrectly sorted", "Code style issues", "[warn] ", "[error] ", "error: cannot parse: ", "error: Failed to parse "], read: format::formatter_check::read },
    Format { name: "listed", title: "a numbered list of failures, of a tool that is not known: LuaUnit and others", stage: Tool, marks: &["Failed tests:", "Failures:", "failures:", "Failing"], read: format::numbered_failures::read },
    Format { name: "annotations", title: "workflow commands of GitHub (::error file=...) and Azure", stage: Tool, marks: &["::error ", "::warning ", "::notice file=", "##vso[task.logissue type="], read: format::ci_annotations::read },
    Format { name: "automake", title: "make check of Automake", stage: Tool, marks: &["\nTestsuite summary for "], read: format::automake::read },
    Format { name: "pre-commit", title: "pre-commit: hooks whose tools name no place", stage: Tool, marks: &["\n- hook id: "], read: format::pre_commit::read },
    Format { name: "diagnostics", title: "gcc, clang, go build, go vet, mypy, flake8, pylint, ruff, shellcheck, swiftc and others: file:line: message", stage: Diagnostics, marks: &[], read: format::diagnostics::read },
    Format { name: "problems-json", title: "JSON of other linters: objects with a path, a line, and a message or a rule", stage: Diagnostics, marks: &["\"line", "\"start_line\"", "\"start_point\"", "\"posn\""], read: format::lint_json::read },
    Format { name: "grouped", title: "yamllint, ruff and others: a file, and below it line:column and message", stage: Diagnostics, marks: &[], read: format::by_file::read },
    Format { name: "placed", title: "gfortran, OCaml, esbuild, webpack, sass and others: a place alone on its line, and the message near it", stage: Diagnostics, marks: &[], read: format::bare_location::read },
    Format { name: "traceback", title: "stack traces: Python, JavaScript, Java, Ruby, PHP, Lua, Perl, OCaml; errors of Rollup and vite; panics of Rust and Go; assert and uncaught exceptions of C and C++", stage: Shape, marks: &[], read: format::traceback::read },
    Format { name: "markers", title: "lines that begin with FAIL, ✗, ✖, × or [FAIL], of a tool that is not known", stage: Shape, marks: &[], read: format::fail_symbols::read },
    Format { name: "shell", title: "shells and system tools: name: message", stage: Shape, marks: &[], read: format::shell::read },
    Format { name: "errors", title: "lines that begin with error: or fatal:, of a tool that is not known", stage: Shape, marks: &[], read: format::error_prefix::read },
    Format { name: "ruled", title: "lines that begin with a rule in brackets: older versions of deno lint", stage: Shape, marks: &[], read: format::rule_prefix::read },
    Format { name: "unified", title: "a unified difference: gofmt -d, black --diff", stage: Shape, marks: &["\n+++ "], read: format::unified_diff::read },
    Format { name: "paths", title: "nothing but a list of files: gofmt -l, prettier -l; or of places: PHPStan (raw), RSpec (failures)", stage: Shape, marks: &[], read: format::path_list::read },
];

/// Formats that show the changes a formatter would make, for formatters that print nothing else.
const SHOWN: [&str; 2] = ["unified", "paths"];

/// Returns the format of this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// Reads a machine report by the name of its format, or by its form.
pub(super) fn read_report(report: &MachineReport<'_>, found: &mut FailureCollector<'_>) {
    found.reading(Source::Report);
    let before = found.len();
    let bytes = unread::decoded(report.bytes);
    let page = CleanOutput::new(&bytes);
    let prepared = ScannedOutput::new(&page);
    let named = FORMATS.iter().position(|format| format.name == report.format);
    let alike = || (0..FORMATS.len()).find(|at| prepared.may_be(*at));
    if let Some(at) = named.or_else(alike) {
        work::begin(prepared.own().lines.len());
        (FORMATS[at].read)(&prepared.sheet(at, None), found);
    }
    if found.len() == before
        && let Some(why) = unread::why(page.text())
    {
        let said = format!(
            "a report could not be read: {why}; have the check write JUnit XML or another format of docs/failures.md"
        );
        found.push(RawFailure::process("report", unread::UNREAD_REPORT, &[]).about(&why).message(&said));
    }
}

/// A page, and the indexes that all formats use.
#[derive(Clone)]
struct ScannedOutput<'p> {
    page: &'p CleanOutput<'p>,
    cut: CleanLines<'p>,
    marks: Rc<Prefilter>,
}

impl<'p> ScannedOutput<'p> {
    fn new(page: &'p CleanOutput<'p>) -> Self {
        let mut cut = page.cut();
        let mut marks = Prefilter::new(page.text(), cut.own().lines);
        let glued = format::missing_newline::places(cut.own().lines, &marks);
        if !glued.is_empty() {
            cut = cut.cut_at(&glued);
            marks = Prefilter::new(page.text(), cut.own().lines);
        }
        Self { page, cut, marks: Rc::new(marks) }
    }

    /// Makes the lines empty that begin at these addresses.
    fn hide(&mut self, printed: &Range<usize>) {
        let begins = |line: &&str| line.as_ptr().addr();
        let lines = self.own().lines;
        let first = lines.partition_point(|line| begins(line) < printed.start);
        let end = lines.partition_point(|line| begins(line) < printed.end);
        (first..end).for_each(|at| self.cut.empty(at));
    }

    /// Makes the lines that report failures empty, and returns the positions of the lines of tests.
    fn hide_told(&mut self, told: &[OutputSpan]) -> Vec<Range<usize>> {
        let lines =
            |told: &OutputSpan| Some((told.is_test, lines_of(told, self.page.text(), self.own().lines)?));
        let mut lines: Vec<(bool, Range<usize>)> = told.iter().filter_map(lines).collect();
        lines.sort_by_key(|(_, lines)| lines.start);
        let mut next = 0;
        for (_, lines) in &lines {
            (lines.start.max(next)..lines.end).for_each(|at| self.cut.empty(at));
            next = next.max(lines.end);
        }
        lines.into_iter().filter(|(is_test, _)| *is_test).map(|(_, lines)| lines).collect()
    }

    /// Makes the lines outside of these parts empty.
    fn keep(&mut self, parts: &[Range<usize>]) {
        let mut is_kept = vec![false; self.own().lines.len()];
        parts.iter().for_each(|part| is_kept[part.clone()].fill(true));
        for at in (0..is_kept.len()).filter(|at| !is_kept[*at]) {
            self.cut.empty(at);
        }
    }

    /// Checks whether every line is empty or hidden.
    fn is_blank(&self) -> bool {
        self.own().begins.iter().all(|begin| *begin == 0)
    }

    fn hide_indented(&mut self) {
        for at in 0..self.own().lines.len() {
            if self.own().firsts[at].is_ascii_whitespace() {
                self.cut.empty(at);
            }
        }
    }

    fn own(&self) -> Lines<'_> {
        self.cut.own()
    }

    fn stream(&self) -> StreamPackages<'_> {
        self.page.stream(self.own())
    }

    /// Checks whether the text contains a mark of a format.
    fn may_be(&self, format: usize) -> bool {
        !self.marks.of(format).is_empty()
    }

    /// Returns the input for the reader of a format; `beside` is the other stream.
    fn sheet<'s>(&'s self, format: usize, beside: Option<&'s Self>) -> FormatInput<'s> {
        let marked = self.marks.of(format);
        let beside = beside.map_or_else(Lines::default, Self::own);
        FormatInput { text: self.page.text(), own: self.own(), marked, beside }
    }
}

/// Reads both streams in a format; skips an empty stream.
fn read_both(format: usize, [out, err]: &[ScannedOutput<'_>; 2], found: &mut FailureCollector<'_>) {
    for (page, beside) in
        [(out, err), (err, out)].into_iter().filter(|(page, _)| !page.own().lines.is_empty())
    {
        work::begin(page.own().lines.len() + beside.own().lines.len());
        (FORMATS[format].read)(&page.sheet(format, Some(beside)), found);
    }
}

/// Reads the output, stage after stage.
pub(super) fn read_pages(
    pages: &[CleanOutput<'_>; 2],
    forced: Option<&Format>,
    output: &Output<'_>,
    found: &mut FailureCollector<'_>,
) -> Confidence {
    found.reading(Source::Text);
    let mut pages = pages.each_ref().map(ScannedOutput::new);
    found.look_for_packages(&pages.each_ref().map(ScannedOutput::stream));
    let reported = found.len();
    let mut printed_is_known = false;
    let mut told = Vec::new();
    for stage in [Runner, Tool, Diagnostics, Shape] {
        for (at, format) in FORMATS.iter().enumerate() {
            // A tool may write its names to one stream and its reasons to the other.
            let wanted = match forced {
                Some(forced) => forced.name == format.name,
                None => format.marks.is_empty() || pages.iter().any(|page| page.may_be(at)),
            };
            // An exception that a runner caught or a test logged is not a failure if the runner marks failures itself.
            let is_logged = || {
                let are_marked =
                    |page: &ScannedOutput<'_>| format::fail_symbols::are_several(page.own().lines);
                format.name == "traceback" && forced.is_none() && pages.iter().any(are_marked)
            };
            if wanted && format.stage == stage && !is_logged() {
                read_both(at, &pages, found);
                let printed = found.take_printed();
                pages.iter_mut().for_each(|page| printed.iter().for_each(|printed| page.hide(printed)));
            }
            // A shape alone is weak evidence, so the first format that finds something ends the stage.
            if stage == Shape && !found.is_empty() {
                break;
            }
        }
        let mut new = found.take_told();
        // The printed output is known only for the tests of a runner. A file that fails to load counts as a test.
        if stage == Runner {
            new.iter_mut().for_each(|told| told.is_test = true);
        }
        printed_is_known = match stage {
            Runner => found.len() > reported && reported == 0,
            _ => printed_is_known && !new.iter().any(|told| told.is_test),
        };
        told.extend(new);
        if stage == Runner {
            continue;
        }
        let reported = if reported > 0 { found.choose(reported) } else { 0 };
        if !found.is_empty() {
            if forced.is_none() && stage != Shape {
                // A formatter lists on one stream what it cannot read, and shows on the other what it would change.
                if stage == Tool && found.are_unreadable(reported) {
                    for (at, format) in FORMATS.iter().enumerate().filter(|(_, it)| SHOWN.contains(&it.name))
                    {
                        (format.read)(&pages[0].sheet(at, None), found);
                    }
                }
                if stage == Diagnostics && found.are_plain() {
                    pages.iter_mut().for_each(|page| {
                        page.hide_told(&told);
                    });
                    format::path_list::read_rest(pages.each_ref().map(|page| page.own().lines), found);
                }
                read_beside(&mut pages, &told, stage, printed_is_known, found);
            }
            return if stage == Shape { Confidence::Medium } else { Confidence::High };
        }
    }
    let lines: Vec<&[&str]> = pages.iter().map(|page| page.own().lines).collect();
    format::unrecognized::read(&lines, output, found)
}

/// Reads the failures of other commands, next to the failures found up to a stage. `told` locates the failures found.
fn read_beside(
    pages: &mut [ScannedOutput<'_>; 2],
    told: &[OutputSpan],
    stage: Precedence,
    printed_is_known: bool,
    found: &mut FailureCollector<'_>,
) {
    let has_tests = found.has_tests() || told.iter().any(|told| told.is_test);
    let of_tests = pages.each_mut().map(|page| page.hide_told(told));
    let beside = has_tests.then(|| {
        let printed = [0, 1].map(|at| StreamLines { own: pages[at].own(), of_tests: &of_tests[at] });
        TrustedRegions::of(printed, printed_is_known)
    });
    found.reading_beside();
    for (at, page) in pages.iter().enumerate() {
        let mut view = page.clone();
        if let Some(beside) = &beside {
            view.keep(&beside[at].last_words);
        }
        if !view.is_blank() {
            work::begin(view.own().lines.len());
            format::traceback::read_beside(&view.sheet(0, None), found);
            format::shell::read_beside(&view.sheet(0, None), found);
        }
    }
    if stage == Diagnostics {
        return;
    }
    let (told, printed) = (found.take_told(), found.take_printed());
    for (at, page) in pages.iter_mut().enumerate() {
        page.hide_told(&told);
        printed.iter().for_each(|printed| page.hide(printed));
        if let Some(beside) = beside.as_ref().filter(|_| !printed_is_known) {
            page.keep(&beside[at].diagnostics);
        }
    }
    let mut outdented = pages.clone();
    outdented.iter_mut().for_each(ScannedOutput::hide_indented);
    for (at, format) in FORMATS.iter().enumerate().filter(|(_, format)| format.stage == Diagnostics) {
        // Problems and places are indented below the name of a file, but so is the output of a test.
        let are_set_in = ["grouped", "placed"].contains(&format.name) && !(has_tests && printed_is_known);
        if format.marks.is_empty() || pages.iter().any(|page| page.may_be(at)) {
            read_both(at, if are_set_in { pages } else { &outdented }, found);
        }
    }
}
