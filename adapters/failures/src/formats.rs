//! The formats, one line each.

use super::collector::FailureCollector;
use super::format::{self, FormatInput};

/// A format that failures are read from.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name that `--format` and a report take.
    pub name: &'static str,
    /// The tool or kind of tool that prints it.
    pub title: &'static str,
    /// The stage in which it is searched for.
    pub precedence: Precedence,
    /// One of these strings must occur (a line feed is a line edge). If empty, the stage always searches for it.
    pub marks: &'static [&'static str],
    pub(super) read: fn(&FormatInput<'_>, &mut FailureCollector<'_>),
}

/// The stage in which a format is searched for.
///
/// A format without a tool's own grammar is read only if nothing was found before: a test runner or a compiler is more
/// reliable than lines of a similar shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precedence {
    /// The grammar of a test runner that marks where the output of each failed test begins and ends.
    TestRunner,
    /// The grammar of one tool. It skips the output of failed tests, whatever that looks like.
    Tool,
    /// The common shape of diagnostics: `file:line: message`.
    Diagnostic,
    /// Last words of a dying process, and marks that many tools use.
    Heuristic,
}

use Precedence::{Diagnostic, Heuristic, TestRunner, Tool};

/// All formats, in the order in which they are searched for.
#[rustfmt::skip]
pub const FORMATS: &[Format] = &[
    Format { name: "junit", title: "JUnit XML, in the dialects of pytest, nextest, node, vitest, deno, GoogleTest, CTest, Surefire, bats and others", precedence: Tool, marks: &["<testcase"], read: format::junit::read },
    Format { name: "sarif", title: "SARIF", precedence: Tool, marks: &["sarif"], read: format::sarif::read },
    Format { name: "go-test-json", title: "go test -json", precedence: Tool, marks: &["\"Action\":\"fail\"", "\"Action\":\"build-fail\""], read: format::go_test_json::read },
    Format { name: "cargo-json", title: "cargo and rustc with JSON messages, clippy too; libtest with --format json", precedence: Tool, marks: &["\"reason\":\"compiler-message\"", "\"$message_type\":\"diagnostic\"", "\"event\": \"failed\"", "\"event\":\"failed\""], read: format::cargo_json::read },
    Format { name: "test-json", title: "jest, vitest, mocha, RSpec, GoogleTest, Playwright, Cucumber and behave with a JSON report", precedence: Tool, marks: &["\"elements\"", "\"assertionResults\"", "\"testsuite\"", "\"full_description\"", "\"errors_outside_of_examples_count\"", "\"fullTitle\"", "\"expectedStatus\""], read: format::test_json::read },
    Format { name: "lint-json", title: "eslint, ruff, pylint, pyright, shellcheck, stylelint, golangci-lint, deno lint and others with a JSON report", precedence: Tool, marks: &["\"ruleId\"", "\"messageId\"", "\"message-id\"", "\"end_location\"", "\"generalDiagnostics\"", "\"FromLinter\"", "\"endLine\"", "\"fix_availability\"", "\"check_name\"", "\"errored\"", "\"bytePos\"", "\"end_column\"", "\"diagnostics\": [", "\"cop_name\"", "\"evidence\":", "\"code\":\"DL", "\"code\":\"SC"], read: format::lint_json::read },
    Format { name: "checkstyle", title: "Checkstyle XML, in which many linters write; XML of cppcheck", precedence: Tool, marks: &["<checkstyle", "<cppcheck"], read: format::checkstyle::read },
    Format { name: "cargo-nextest", title: "cargo nextest", precedence: TestRunner, marks: &["error: test run failed"], read: format::nextest::read },
    Format { name: "cargo-test", title: "cargo test (libtest)", precedence: TestRunner, marks: &["test result: FAILED", "process didn't exit successfully"], read: format::libtest::read },
    Format { name: "rustc", title: "rustc, clippy, ruff, pyrefly, deno lint: a headline and an arrow", precedence: Tool, marks: &["--> ", "error: linking with", "error: could not compile", "error: aborting due to"], read: format::rustc_style::read },
    Format { name: "boxed", title: "a headline and a frame of source text: oxlint, cargo deny, Elixir, what uses miette, ariadne or codespan", precedence: Tool, marks: &["╭─[", "╭──[", " ,-[", "┌─ ", "└─ "], read: format::framed_snippet::read },
    Format { name: "rustfmt", title: "cargo fmt --check", precedence: Tool, marks: &["Diff in "], read: format::rustfmt::read },
    Format { name: "go-test", title: "go test", precedence: TestRunner, marks: &["--- FAIL: ", "\nFAIL\t", "FAIL    "], read: format::go_test::read },
    Format { name: "gotestsum", title: "gotestsum", precedence: TestRunner, marks: &["\n=== FAIL: "], read: format::gotestsum::read },
    Format { name: "pytest", title: "pytest, pytest-xdist", precedence: TestRunner, marks: &["= FAILURES =", "= ERRORS =", "short test summary info"], read: format::pytest::read },
    Format { name: "pytest-start", title: "pytest that ran no test: an internal error, or a conftest.py that cannot be loaded", precedence: Tool, marks: &["INTERNALERROR> ", "while loading conftest "], read: format::pytest_startup_error::read },
    Format { name: "pytest-timeout", title: "pytest-timeout where it ends the run (--timeout-method=thread)", precedence: Tool, marks: &[" Stack of MainThread "], read: format::pytest_timeout::read },
    Format { name: "unittest", title: "Python unittest", precedence: TestRunner, marks: &["FAILED ("], read: format::unittest::read },
    Format { name: "trial", title: "trial (Twisted)", precedence: TestRunner, marks: &["\n[FAIL]\n", "\n[ERROR]\n", "\n[SUCCESS!?!]\n"], read: format::twisted_trial::read },
    Format { name: "green", title: "green, zope.testrunner (Python)", precedence: TestRunner, marks: &["\nFailure in ", "\nError in ", "\n  Set up "], read: format::python_green::read },
    Format { name: "subunit", title: "subunit, version 1: cmocka and others", precedence: TestRunner, marks: &["\nfailure: ", "\nerror: "], read: format::subunit::read },
    Format { name: "node-test", title: "node --test (spec)", precedence: Tool, marks: &["✖ failing tests:", "\nFailed tests:\n"], read: format::node_test::read },
    Format { name: "vitest", title: "vitest", precedence: Tool, marks: &["⎯ Failed ", "⎯ Unhandled ", "⎯⎯ Unhandled "], read: format::vitest::read },
    Format { name: "jest", title: "jest", precedence: Tool, marks: &["● "], read: format::jest::read },
    Format { name: "mocha", title: "mocha, jasmine, cypress", precedence: Tool, marks: &[" failing\n", " failing (", "\nFailures:", "Failures: \n", "\"fullTitle\"", "<testsuite name=\"Mocha Tests\""], read: format::mocha::read },
    Format { name: "ava", title: "ava", precedence: Tool, marks: &["✘ [", "✖ [", " uncaught exception", "Uncaught exception in ", "Unhandled rejection in ", "✘ Exiting due to ", "exited with a non-zero exit code: ", " exited due to SIG", "✘ No tests found in ", "tests failed\n", "test failed\n"], read: format::ava::read },
    Format { name: "bun-test", title: "bun test", precedence: Tool, marks: &["\n(fail) ", "\n✗ ", "# Unhandled error between tests"], read: format::bun_test::read },
    Format { name: "deno-test", title: "deno test", precedence: Tool, marks: &[" ERRORS \n", "(uncaught error)", "error: Module not found", "error: The module's source code", "error: SyntaxError", "error: Uncaught"], read: format::deno_test::read },
    Format { name: "deno-check", title: "deno check", precedence: Tool, marks: &["[ERROR]: "], read: format::deno_check::read },
    Format { name: "deno-fmt", title: "deno fmt --check", precedence: Tool, marks: &["not formatted file"], read: format::deno_fmt::read },
    Format { name: "svelte-check", title: "svelte-check for machines", precedence: Tool, marks: &[" ERROR \"", " WARNING \"", "{\"type\":\"ERROR\"", "{\"type\":\"WARNING\""], read: format::svelte_check::read },
    Format { name: "tsc", title: "tsc", precedence: Tool, marks: &["error TS"], read: format::tsc::read },
    Format { name: "eslint", title: "eslint, stylelint, standard (stylish)", precedence: Tool, marks: &[" problem"], read: format::eslint::read },
    Format { name: "eslint-pretty", title: "xo, tsd (eslint-formatter-pretty)", precedence: Tool, marks: &["\n  ✖  ", "\n  ×  ", "\n  ⚠  ", "\n  ‼  "], read: format::eslint_pretty::read },
    Format { name: "biome", title: "biome", precedence: Tool, marks: &[" ━━━"], read: format::biome::read },
    Format { name: "shellcheck", title: "shellcheck (tty)", precedence: Tool, marks: &["shellcheck.net/wiki"], read: format::shellcheck::read },
    Format { name: "compact", title: "deno lint and eslint in their compact formats, with `line 1, col 2`", precedence: Tool, marks: &[", col "], read: format::compact::read },
    Format { name: "pyright", title: "pyright", precedence: Tool, marks: &[" informations", " notes\n", " note\n"], read: format::pyright::read },
    Format { name: "cmake", title: "CMake", precedence: Tool, marks: &["CMake Error"], read: format::cmake::read },
    Format { name: "maven", title: "Maven: Surefire, javac", precedence: Tool, marks: &["<<< FAILURE!", "<<< ERROR!", "COMPILATION ERROR", "Failed to execute goal"], read: format::maven::read },
    Format { name: "gradle", title: "Gradle test", precedence: Tool, marks: &[" FAILED\n"], read: format::gradle::read },
    Format { name: "ctest", title: "CTest", precedence: TestRunner, marks: &["tests failed out of", "Test #", "Test  "], read: format::ctest::read },
    Format { name: "gtest", title: "GoogleTest", precedence: Tool, marks: &["[ RUN      ]", "[  FAILED  ]", "[       OK ]"], read: format::gtest::read },
    Format { name: "tap", title: "TAP: bats, node, node-tap, ava, mocha, prove, tape", precedence: Tool, marks: &["not ok ", "Bail out!", "\nok 1"], read: format::tap::read },
    Format { name: "prove", title: "prove: what Test::More says of each failed test in its comments", precedence: Tool, marks: &["#   Failed test ", " (Wstat: ", "  Parse errors: "], read: format::prove::read },
    Format { name: "shunit2", title: "shunit2", precedence: Tool, marks: &["\nASSERT:", "\nshunit2:ERROR "], read: format::shunit2::read },
    Format { name: "bats", title: "bats (pretty)", precedence: Tool, marks: &[" ✗ "], read: format::bats::read },
    Format { name: "phpunit", title: "PHPUnit", precedence: Tool, marks: &["FAILURES!", "ERRORS!", "There was ", "There were "], read: format::phpunit::read },
    Format { name: "rspec", title: "RSpec, hspec", precedence: Tool, marks: &["\nFailed examples:", "error occurred outside of examples", "errors occurred outside of examples", "An error occurred while loading", " examples, ", "1 example, "], read: format::rspec::read },
    Format { name: "minitest", title: "minitest, test-unit", precedence: Tool, marks: &[" assertions, "], read: format::minitest::read },
    Format { name: "exunit", title: "ExUnit", precedence: Tool, marks: &[" tests, ", " test, "], read: format::exunit::read },
    Format { name: "busted", title: "busted", precedence: Tool, marks: &["Failure → ", "Error → ", "Failure -> ", "Error -> "], read: format::busted::read },
    Format { name: "dotnet", title: "dotnet test", precedence: Tool, marks: &["Error Message:", "Failed! "], read: format::dotnet::read },
    Format { name: "catch2", title: "Catch2, doctest (C++)", precedence: Tool, marks: &[": FAILED:\n", "TEST CASE:  "], read: format::catch2::read },
    Format { name: "boost-test", title: "Boost.Test (C++)", precedence: Tool, marks: &[" error: in \"", " error in \""], read: format::boost::read },
    Format { name: "xctest", title: "XCTest (Swift)", precedence: Tool, marks: &["Test Case '"], read: format::xctest::read },
    Format { name: "playwright", title: "Playwright", precedence: Tool, marks: &["[chromium] ›", "[firefox] ›", "[webkit] ›", ".spec.ts:", ".spec.js:", ".test.ts:", ".test.js:"], read: format::playwright::read },
    Format { name: "unity", title: "Unity (C)", precedence: Tool, marks: &[":FAIL\n", ":FAIL:"], read: format::unity::read },
    Format { name: "criterion", title: "Criterion (C)", precedence: Tool, marks: &["[====] Synthesis: Tested"], read: format::criterion::read },
    Format { name: "nim-unittest", title: "unittest of Nim", precedence: Tool, marks: &["[FAILED] "], read: format::nim::read },
    Format { name: "teamcity", title: "service messages of TeamCity: PHPUnit and others", precedence: Tool, marks: &["##teamcity[testFailed "], read: format::teamcity::read },
    Format { name: "cucumber", title: "Cucumber for JavaScript", precedence: Tool, marks: &[" Scenario: "], read: format::cucumber::read },
    Format { name: "poku", title: "poku", precedence: Tool, marks: &[" test file(s) failed:"], read: format::poku::read },
    Format { name: "doctest", title: "doctest of Python", precedence: Tool, marks: &["Failed example:\n"], read: format::doctest::read },
    Format { name: "bandit", title: "bandit", precedence: Tool, marks: &[">> Issue: ["], read: format::bandit::read },
    Format { name: "check", title: "Check (C)", precedence: Tool, marks: &["%: Checks: "], read: format::libcheck::read },
    Format { name: "meson", title: "meson test", precedence: Tool, marks: &["Full log written to "], read: format::meson::read },
    Format { name: "sqlfluff", title: "sqlfluff", precedence: Tool, marks: &["] FAIL\n"], read: format::sqlfluff::read },
    Format { name: "rubocop", title: "RuboCop (simple, quiet)", precedence: Tool, marks: &[".rb ==\n", ".rake ==\n", ".gemspec ==\n", "file ==\n"], read: format::rubocop::read },
    Format { name: "knip", title: "knip", precedence: Tool, marks: &["\nUnused ", "\nUnlisted ", "\nUnresolved ", "\nDuplicate "], read: format::knip::read },
    Format { name: "zig", title: "zig test", precedence: Tool, marks: &["error: the following test command "], read: format::zig::read },
    Format { name: "stestr", title: "stestr", precedence: Tool, marks: &[" ... FAILED\n"], read: format::stestr::read },
    Format { name: "behave", title: "behave", precedence: Tool, marks: &["Failing scenarios:", "Errored scenarios:"], read: format::behave::read },
    Format { name: "robot", title: "Robot Framework, dotted too", precedence: Tool, marks: &["| FAIL |", "\nFAIL: "], read: format::robot_framework::read },
    Format { name: "phpstan", title: "PHPStan (table)", precedence: Tool, marks: &["\n  Line   ", "\n     Error"], read: format::phpstan::read },
    Format { name: "phpcs", title: "PHP_CodeSniffer", precedence: Tool, marks: &["\nFILE: "], read: format::phpcs::read },
    Format { name: "psalm", title: "Psalm", precedence: Tool, marks: &["(see https://psalm.dev/"], read: format::psalm::read },
    Format { name: "pest", title: "Pest; artisan test", precedence: Tool, marks: &["\n   FAILED  "], read: format::php_pest::read },
    Format { name: "scalac", title: "the Scala compiler, also in sbt", precedence: Tool, marks: &[".scala:"], read: format::scalac::read },
    Format { name: "scalatest", title: "ScalaTest, also in sbt", precedence: Tool, marks: &["*** FAILED ***", "*** ABORTED ***"], read: format::scalatest::read },
    Format { name: "munit", title: "MUnit and other test frameworks in sbt", precedence: Tool, marks: &["==> X ", "[error] Test ", "[error] Failed tests:"], read: format::munit::read },
    Format { name: "dart-test", title: "dart test, flutter test", precedence: Tool, marks: &[" [E]\n", " (failed)\n"], read: format::dart_test::read },
    Format { name: "dart-analyze", title: "dart analyze, flutter analyze", precedence: Tool, marks: &["\n  error - ", "\nwarning - ", "\n   info - ", "\n  error • ", "\nwarning • ", "\n   info • "], read: format::dart_analyze::read },
    Format { name: "kotlin", title: "the Kotlin compiler under Gradle and Maven", precedence: Tool, marks: &["\ne: file:", "\ne: /"], read: format::kotlin::read },
    Format { name: "swift-testing", title: "Swift Testing", precedence: Tool, marks: &[" recorded an issue"], read: format::swift_testing::read },
    Format { name: "terraform", title: "Terraform, OpenTofu, tflint", precedence: Tool, marks: &["│ Error: ", ".tf line ", ".hcl line "], read: format::terraform::read },
    Format { name: "clojure", title: "clojure.test, Kaocha and the Clojure compiler", precedence: Tool, marks: &["\nFAIL in ", "\nERROR in ", "\nSyntax error ", "\nExecution error "], read: format::clojure::read },
    Format { name: "testthat", title: "testthat (R)", precedence: Tool, marks: &["Failure ('", "Error ('"], read: format::testthat::read },
    Format { name: "csv", title: "bandit and PHP_CodeSniffer with commas", precedence: Tool, marks: &["issue_text,line_number,", "\nFile,Line,Column,Type,Message,"], read: format::csv::read },
    Format { name: "karma", title: "Karma", precedence: Tool, marks: &["): Executed "], read: format::karma::read },
    Format { name: "forge", title: "Foundry", precedence: Tool, marks: &["\n[FAIL: ", "\n[FAIL. ", "\n[FAIL] "], read: format::foundry::read },
    Format { name: "tasty", title: "tasty (Haskell)", precedence: Tool, marks: &[" tests failed (", " test failed ("], read: format::tasty::read },
    Format { name: "eunit", title: "EUnit (Erlang)", precedence: Tool, marks: &["...*failed*", " s] *failed*", "ms] *failed*"], read: format::eunit::read },
    Format { name: "fixable", title: "PHP CS Fixer, Pint, mix format: a list of files that would change", precedence: Tool, marks: &["that can be fixed in ", " style issue", "The following files are not formatted"], read: format::formatter_list::read },
    Format { name: "julia", title: "Test of Julia", precedence: Tool, marks: &[": Test Failed at ", ": Error During Test at ", ": Unexpected Pass at "], read: format::julia::read },
    Format { name: "pester", title: "Pester (PowerShell)", precedence: Tool, marks: &["[-] "], read: format::pester::read },
    Format { name: "elixir", title: "Credo and Dialyxir (Elixir)", precedence: Tool, marks: &["\n┃       ", ".ex:", ".exs:"], read: format::elixir::read },
    Format { name: "ansible-lint", title: "ansible-lint", precedence: Tool, marks: &["how to ignore specific rule violations"], read: format::ansible_lint::read },
    Format { name: "coverage", title: "bounds of the coverage: pytest-cov, jest, vitest, nyc", precedence: Tool, marks: &["Required test coverage of ", "coverage threshold for ", " does not meet "], read: format::coverage::read },
    Format { name: "sanitizer", title: "AddressSanitizer, LeakSanitizer, ThreadSanitizer, UndefinedBehaviorSanitizer, Valgrind", precedence: Tool, marks: &["Sanitizer: ", ": runtime error: ", "== ERROR SUMMARY: "], read: format::sanitizer::read },
    Format { name: "reformat", title: "black, isort, prettier, gofmt -l, clang-format: files that would change", precedence: Tool, marks: &["would reformat ", "Would reformat: ", "Imports are incorrectly sorted", "Code style issues", "[warn] ", "[error] ", "error: cannot parse: ", "error: Failed to parse "], read: format::formatter_check::read },
    Format { name: "listed", title: "a numbered list of failures, of a tool that is not known: LuaUnit and others", precedence: Tool, marks: &["Failed tests:", "Failures:", "failures:", "Failing"], read: format::numbered_failures::read },
    Format { name: "annotations", title: "workflow commands of GitHub (::error file=...) and Azure", precedence: Tool, marks: &["::error ", "::warning ", "::notice file=", "##vso[task.logissue type="], read: format::ci_annotations::read },
    Format { name: "automake", title: "make check of Automake", precedence: Tool, marks: &["\nTestsuite summary for "], read: format::automake::read },
    Format { name: "pre-commit", title: "pre-commit: hooks whose tools name no place", precedence: Tool, marks: &["\n- hook id: "], read: format::pre_commit::read },
    Format { name: "diagnostics", title: "gcc, clang, go build, go vet, mypy, flake8, pylint, ruff, shellcheck, swiftc and others: file:line: message", precedence: Diagnostic, marks: &[], read: format::diagnostics::read },
    Format { name: "problems-json", title: "JSON of other linters: objects with a path, a line, and a message or a rule", precedence: Diagnostic, marks: &["\"line", "\"start_line\"", "\"start_point\"", "\"posn\""], read: format::lint_json::read },
    Format { name: "grouped", title: "yamllint, ruff and others: a file, and below it line:column and message", precedence: Diagnostic, marks: &[], read: format::by_file::read },
    Format { name: "placed", title: "gfortran, OCaml, esbuild, webpack, sass and others: a place alone on its line, and the message near it", precedence: Diagnostic, marks: &[], read: format::bare_location::read },
    Format { name: "traceback", title: "stack traces: Python, JavaScript, Java, Ruby, PHP, Lua, Perl, OCaml; errors of Rollup and vite; panics of Rust and Go; assert and uncaught exceptions of C and C++", precedence: Heuristic, marks: &[], read: format::traceback::read },
    Format { name: "markers", title: "lines that begin with FAIL, ✗, ✖, × or [FAIL], of a tool that is not known", precedence: Heuristic, marks: &[], read: format::fail_symbols::read },
    Format { name: "shell", title: "shells and system tools: name: message", precedence: Heuristic, marks: &[], read: format::shell::read },
    Format { name: "errors", title: "lines that begin with error: or fatal:, of a tool that is not known", precedence: Heuristic, marks: &[], read: format::error_prefix::read },
    Format { name: "ruled", title: "lines that begin with a rule in brackets: older versions of deno lint", precedence: Heuristic, marks: &[], read: format::rule_prefix::read },
    Format { name: "unified", title: "a unified difference: gofmt -d, black --diff", precedence: Heuristic, marks: &["\n+++ "], read: format::unified_diff::read },
    Format { name: "paths", title: "nothing but a list of files: gofmt -l, prettier -l; or of places: PHPStan (raw), RSpec (failures)", precedence: Heuristic, marks: &[], read: format::path_list::read },
];

/// Returns the format of this name.
pub fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
