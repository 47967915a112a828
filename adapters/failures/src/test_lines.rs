//! Reads the names of tests that tools list, one per line, some below the line of their suite.
//!
//! The table has one line for each tool. A tool's lines are read only from an output with text that the tool always
//! prints, so that the lines of other programs are not read.

use std::sync::LazyLock;

use regex::Regex;

use super::ending::{OnTest, TestOutcome};
use super::format::{playwright, without_time};

/// How a tool lists its tests.
struct TestListSyntax {
    tool: &'static str,
    /// An output without one of these is not the tool's.
    marks: &'static [&'static str],
    /// The line above the tests of a suite, with a group `suite`; empty if there is none.
    head: &'static str,
    /// A test: its `name`, and its `outcome`, without which it passed.
    line: &'static str,
}

#[rustfmt::skip]
const LISTS: &[TestListSyntax] = &[
    TestListSyntax { tool: "forge", marks: &["Suite result: "], head: r"^(?:Ran [0-9]+ tests? for|Encountered [0-9]+ failing tests? in) (?<suite>\S+)$", line: r"^\[(?<ending>PASS|FAIL|SKIP)(?:[:.] .*)?\] (?<name>[A-Za-z_][A-Za-z0-9_]*\([^)]*\))" },
    TestListSyntax { tool: "pest", marks: &["\n   PASS  ", "\n   FAIL  "], head: r"^   (?:PASS|FAIL|WARN)  (?<suite>\S.*?) *$", line: r"^  (?<ending>✓|⨯|-|!) (?<name>\S.*?)(?: → .*?)?(?: +[0-9.]+s)? *$" },
    TestListSyntax { tool: "scalatest", marks: &["Tests: succeeded "], head: r"^(?:\[info\] )?(?<suite>[A-Za-z0-9_.]+):$", line: r"^(?:\[[a-z]+\] )? *- (?<name>\S.*?)(?<ending> \*\*\* FAILED \*\*\*| !!! (?:IGNORED|CANCELED) !!!| \(pending\))?(?: \([0-9]+ (?:milli)?seconds?[^)]*\))?$" },
    TestListSyntax { tool: "munit", marks: &["\n  + ", "] + "], head: r"^(?:\[info\] )?(?<suite>[A-Za-z0-9_.$]+):$", line: r"^(?:\[[a-z]+\] )?(?:  \+ (?<name>\S.*?)|==> (?<ending>X|i) (?<full>\S.*?))(?: +[0-9.]+s\b.*| ignored.*)$" },
    TestListSyntax { tool: "dart-test", marks: &[": All tests passed!", ": Some tests failed."], head: "", line: r"^(?:[0-9]+:)?[0-9][0-9]:[0-9][0-9] \+[0-9]+(?: ~[0-9]+)?(?: -[0-9]+)?: (?<name>\S.*?)(?<ending> \[E\])?$" },
    TestListSyntax { tool: "swift-testing", marks: &[" Test run with "], head: "", line: r#"^\S{1,3} Test (?<name>"[^"]*"|\S+\(.*?\)) (?:with [0-9]+ test cases? )?(?<ending>passed|failed|skipped)(?: after|\.|:|$)"# },
    TestListSyntax { tool: "xctest", marks: &["Test Case '"], head: "", line: r"^Test Case '(?<name>.+)' (?<ending>passed|failed|skipped) \(" },
    TestListSyntax { tool: "tasty", marks: &[" tests passed (", " tests failed (", " test failed (", " test passed ("], head: "", line: r"^ +(?<name>\S.*?): +(?<ending>OK|FAIL)(?: \([0-9.]+s\))?$" },
    TestListSyntax { tool: "eunit", marks: &[" EUnit ="], head: "", line: r"^ *(?<name>\S.*?)\.\.\.(?:\[[0-9.]+ s\] ?)?(?<ending>ok|\*failed\*|\*skipped\*)" },
    TestListSyntax { tool: "pester", marks: &["Tests Passed: "], head: "", line: r"^ *\[(?<ending>[+!-])\] (?<name>\S.*?) [0-9.]+m?s(?: \(.*\))?$" },
    TestListSyntax { tool: "phpunit", marks: &["PHPUnit "], head: "", line: r"^ (?<ending>✔|✘|↩|∅|☢|⚠) (?<name>\S.*?)(?: \[[0-9.]+ ms\])?$" },
    TestListSyntax { tool: "dotnet", marks: &["\n  Passed "], head: "", line: r"^  (?<ending>Passed|Failed|Skipped) (?<name>\S.*?) \[[<0-9][^\]]*\]$" },
    TestListSyntax { tool: "playwright", marks: &[" › "], head: "", line: r"^ +(?<ending>✓|✘|-|ok|x) +[0-9]+ (?<name>\S.* › .+?)(?: \(retry #[0-9]+\))?(?: \([0-9.]+m?s?\))?$" },
    TestListSyntax { tool: "bun-test", marks: &["bun test v", " expect() calls"], head: r"^(?<suite>\S+\.[cm]?[jt]sx?):$", line: r"^(?:\((?<ending>pass|fail|skip|todo)\)|(?<sign>✓|✗|»|✎)) (?<name>\S.*?)(?: \[[0-9.]+ms\])?$" },
    TestListSyntax { tool: "deno-test", marks: &["ok | ", "FAILED | "], head: r"^running [0-9]+ tests? from (?<suite>\S+)$", line: r"^(?<name>\S.*?) \.\.\. (?<ending>ok|FAILED|ignored) \([0-9.]+m?s\)$" },
    TestListSyntax { tool: "minitest", marks: &[" s = ."], head: "", line: r"^(?<name>\S+#\S.*?) = [0-9.]+ s = (?<ending>[.FES])$" },
    TestListSyntax { tool: "robot", marks: &["| PASS |"], head: "", line: r"^(?<name>\S.*?) +\| (?<ending>PASS|FAIL|SKIP) \|$" },
    TestListSyntax { tool: "ctest", marks: &["tests passed"], head: "", line: r"^ *[0-9]+/[0-9]+ Test +#[0-9]+: (?<name>\S+)(?: .*?)??(?: \.+)? *(?<ending>Passed|\*\*\*[A-Za-z]+)\b" },
    TestListSyntax { tool: "meson", marks: &["Full log written to "], head: "", line: r"^ *[0-9]+/[0-9]+ (?<name>\S.*?) +(?<ending>OK|FAIL|SKIP|TIMEOUT|ERROR|EXPECTEDFAIL) +[0-9.]+s" },
    TestListSyntax { tool: "bazel", marks: &["Executed "], head: "", line: r"^(?<name>//\S+) +(?:\(cached\) )?(?<ending>PASSED|FAILED|TIMEOUT|FLAKY)\b" },
    TestListSyntax { tool: "bats", marks: &[" tests, ", "1 test, "], head: "", line: r"^ (?<ending>✓|✗) (?<name>\S.*?)(?: \[[0-9]+\])?$" },
];

/// The patterns of all lists, which few outputs need.
static PATTERNS: LazyLock<Vec<(Option<Regex>, Regex)>> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("a pattern of ours");
    let of = |list: &TestListSyntax| {
        (Some(list.head).filter(|head| !head.is_empty()).map(pattern), pattern(list.line))
    };
    LISTS.iter().map(of).collect()
});

/// Reads how each test ended that an output lists.
pub(super) fn outcomes(text: &str, lines: &[&str], tell: &mut OnTest<'_>) {
    for (at, list) in LISTS.iter().enumerate() {
        if !list.marks.iter().any(|mark| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some()) {
            continue;
        }
        let (head, pattern) = &PATTERNS[at];
        let mut suite = String::new();
        for line in lines {
            if let Some(found) = head.as_ref().and_then(|head| head.captures(line)) {
                found["suite"].clone_into(&mut suite);
                continue;
            }
            let Some(found) = pattern.captures(line) else { continue };
            let group = |name: &str| found.name(name).map(|group| group.as_str().trim());
            let outcome = group("ending").or_else(|| group("sign"));
            let Some(name) = group("name").or_else(|| group("full")).filter(|name| is_test(list.tool, name))
            else {
                continue;
            };
            let name = match (list.tool, group("full")) {
                ("playwright", _) => playwright::without_place(name),
                (_, None) if !suite.is_empty() => format!("{suite} > {}", without_time(name)),
                ("munit", Some(full)) => {
                    full.rsplit_once('.').map_or(full.to_owned(), |(suite, name)| format!("{suite} > {name}"))
                }
                _ => without_time(name).to_owned(),
            };
            let outcome = match (list.tool, outcome) {
                (_, None) => TestOutcome::Passed,
                // Other tools mark a skipped test with it.
                ("pester", Some("-")) => TestOutcome::Failed,
                (_, Some(word)) => parse_outcome(word),
            };
            tell(list.tool, &name, outcome);
        }
    }
}

/// Checks whether a name belongs to a test, and not to a file, a summary, or a step around the tests.
fn is_test(tool: &str, name: &str) -> bool {
    match tool {
        "dart-test" => {
            !["loading ", "All tests passed", "Some tests failed"].iter().any(|begin| name.starts_with(begin))
                && !name.ends_with("(setUpAll)")
                && !name.ends_with("(tearDownAll)")
        }
        "pester" => !name.ends_with(".ps1"),
        _ => true,
    }
}

fn parse_outcome(word: &str) -> TestOutcome {
    const PASSED: [&str; 14] =
        ["PASS", "PASSED", "FLAKY", "✓", "✔", "passed", "OK", "ok", "+", "Passed", "pass", ".", "∅", "☢"];
    const EXCUSED: [&str; 20] = [
        "SKIP", "-", "!", "i", "skipped", "*skipped*", "↩", "Skipped", "skip", "todo", "ignored", "S", "»",
        "✎", "!!! IGNORED !!!", "!!! CANCELED !!!", "(pending)", "EXPECTEDFAIL", "***Skipped", "***Not",
    ];
    match word {
        _ if PASSED.contains(&word) => TestOutcome::Passed,
        _ if EXCUSED.contains(&word) => TestOutcome::Skipped,
        _ => TestOutcome::Failed,
    }
}
