//! Counters of a summary line: `2 passed, 1 error`, `Failures: 0`, `# cancelled 1`.
//!
//! A pattern of one tool reads the counters that it knows. All others are read here, by their labels, so that a
//! counter of a newer version is neither lost nor breaks the line.

use std::sync::LazyLock;

use regex::Regex;

/// One counter of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counter<'l> {
    /// The words that name the counted things.
    pub(super) label: &'l str,
    pub(super) number: u64,
    /// The position of the number in the line, in bytes.
    pub(super) at: usize,
}

/// The meaning of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// They passed.
    Pass,
    /// They were not run, passed at another attempt, or are remarks: no failure either way.
    Neutral,
    /// They are neither: something is not green.
    NotGreen,
}

/// Returns the counters of a line.
pub(super) fn of_line(line: &str) -> Vec<Counter<'_>> {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+").expect("well formed"));
    let counter = |number: regex::Match<'_>| {
        let (before, after) = (&line[..number.start()], &line[number.end()..]);
        let is_apart = before.is_empty() || before.ends_with([' ', '\t', '(', '|', ',', ';', ':', '=']);
        let ends =
            after.is_empty() || after.starts_with([' ', '\t', ',', ';', ')', '|']) || is_full_stop(after);
        if !is_apart || !ends {
            return None;
        }
        let label = label_behind(after).or_else(|| label_before(before))?;
        Some(Counter { label, number: number.as_str().parse().ok()?, at: number.start() })
    };
    NUMBER.find_iter(line).filter_map(counter).collect()
}

fn is_full_stop(after: &str) -> bool {
    after.strip_prefix('.').is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Returns the words after a number, up to the next sign or number.
fn label_behind(after: &str) -> Option<&str> {
    let rest = after.strip_prefix(' ')?;
    let end = rest.find(|c: char| !is_of_label(c)).unwrap_or(rest.len());
    let label = rest[..end].trim();
    label.starts_with(|c: char| c.is_alphabetic()).then_some(label)
}

/// Returns the words before a number, back to the last sign or number.
fn label_before(before: &str) -> Option<&str> {
    let rest = before.trim_end().trim_end_matches([':', '=']).trim_end();
    let start = rest.char_indices().rev().find(|(_, c)| !is_of_label(*c));
    let label = rest[start.map_or(0, |(at, c)| at + c.len_utf8())..].trim();
    label.starts_with(|c: char| c.is_alphabetic()).then_some(label)
}

fn is_of_label(c: char) -> bool {
    // Unicode takes the sign for information for a letter.
    c.is_alphabetic() && c != 'ℹ' || matches!(c, ' ' | '-' | '_' | '\'')
}

impl Counter<'_> {
    /// Returns the meaning of its label, by the first word of it that has one.
    pub(super) fn meaning(&self) -> Meaning {
        let words = self.label.split([' ', '-', '_', '\'']).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_lowercase).collect();
        let known = words.iter().find_map(|word| meaning_of(word));
        // Things alone are a total: `Tests: 4`.
        let are_things = || words.iter().all(|word| is_thing(word));
        known.unwrap_or_else(|| if are_things() { Meaning::Neutral } else { Meaning::NotGreen })
    }

    /// Checks whether it counts files or suites: those have failed where a test of theirs has.
    pub(super) fn counts_groups(&self, line: &str) -> bool {
        let title = &line[..self.at];
        let words = [title, self.label].map(str::to_lowercase).join(" ");
        words.split(|c: char| !c.is_alphabetic()).any(|word| starts(word, &GROUPS))
    }
}

/// Words for parts of a run that tests are in.
const GROUPS: [&str; 10] =
    ["file", "suite", "feature", "scenario", "class", "module", "package", "project", "step", "fixture"];
/// Beginnings of words for counted things.
const THINGS: [&str; 21] = [
    "test", "example", "run", "ran", "assertion", "spec", "total", "expectation", "expect", "call", "check",
    "case", "doctest", "propert", "snapshot", "browser", "executed", "count", "thread", "duration",
    "collected",
];
/// Words between numbers.
const LINKS: [&str; 9] = ["of", "out", "in", "with", "across", "containing", "and", "time", "seed"];
/// Units of time.
const UNITS: [&str; 12] =
    ["ms", "s", "m", "h", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes"];
/// Beginnings of words for passed tests.
const PASSES: [&str; 5] = ["pass", "succe", "xpass", "ok", "fixed"];
/// Beginnings of words for tests that did not run or passed at another attempt, and for remarks.
const NEUTRAL: [&str; 39] = [
    "skip", "pending", "todo", "ignor", "disabled", "deselect", "exclu", "filter", "omi", "xfail", "known",
    "expected", "incomplete", "did", "not", "flak", "rerun", "retr", "slow", "leak", "warn", "deprecat",
    "notice", "notif", "risk", "info", "hint", "remark", "measured", "obsolete", "written", "updated",
    "removed", "added", "benchmark", "cached", "unchanged", "inconclusive", "quarantin",
];
/// Beginnings of words for failures; they decide before any word that follows.
const FAILS: [&str; 5] = ["fail", "err", "unexpected", "uncaught", "unhandled"];

fn meaning_of(word: &str) -> Option<Meaning> {
    if starts(word, &FAILS) {
        Some(Meaning::NotGreen)
    } else if starts(word, &PASSES) {
        Some(Meaning::Pass)
    } else {
        starts(word, &NEUTRAL).then_some(Meaning::Neutral)
    }
}

fn is_thing(word: &str) -> bool {
    starts(word, &THINGS) || starts(word, &GROUPS) || LINKS.contains(&word) || UNITS.contains(&word)
}

fn starts(word: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| word.starts_with(beginning))
}

/// Checks whether a line is nothing but counters, perhaps below a title: ` Test Files  1 failed | 2 passed (3)`.
pub(super) fn are_all(line: &str) -> bool {
    static ALL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^(?:# |ℹ )[a-z_]+ \d+$|^[\s#ℹ=*-]*(?:\[\w+\]\s+)?(?:[A-Z]\w*(?: \w+)?:?\s+)?\d+ [A-Za-z][A-Za-z' -]*(?:(?:, | \| |; | \()\d+(?: [A-Za-z][A-Za-z' -]*|m?s)?\)?)*(?:, [a-z ]+)?[\s.=]*$",
        )
        .expect("well formed")
    });
    ALL.is_match(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_counters_say_what_is_green() {
        use Meaning::{Neutral, NotGreen, Pass};
        for (line, want) in [
            ("Test Files  1 failed | 2 passed (3)", &[(1, NotGreen), (2, Pass)][..]),
            ("Test Suites: 1 failed, 1 total", &[(1, NotGreen), (1, Neutral)]),
            (
                "2 examples, 0 failures, 1 error occurred outside of examples",
                &[(2, Neutral), (0, NotGreen), (1, NotGreen)],
            ),
            (
                "[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Flakes: 1",
                &[(3, Neutral), (0, NotGreen), (0, NotGreen), (0, Neutral), (1, Neutral)],
            ),
            ("     Errors  2 errors", &[(2, NotGreen)]),
            ("# cancelled 1", &[(1, NotGreen)]),
            ("ℹ tests 20", &[(20, Neutral)]),
            (
                "== 3 passed, 1 warning, 2 rerun in 61.0s (0:01:01) ==",
                &[(3, Pass), (1, Neutral), (2, Neutral)],
            ),
            (
                "FAILED (failures=1, expected failures=2, unexpected successes=3)",
                &[(1, NotGreen), (2, Neutral), (3, NotGreen)],
            ),
            ("5 tests, 0 failures, 5 invalid", &[(5, Neutral), (0, NotGreen), (5, NotGreen)]),
            (
                "\u{2714} Test run with 3 tests in 1 suite passed after 0.002 seconds.",
                &[(3, Neutral), (1, Pass)],
            ),
            ("  1 error was not a part of any test, see above for details", &[(1, NotGreen)]),
            (
                "Tests: 4, Assertions: 3, Risky: 1, PHPUnit Warnings: 1.",
                &[(4, Neutral), (3, Neutral), (1, Neutral), (1, Neutral)],
            ),
            ("Snapshots:   1 obsolete, 2 written, 3 total", &[(1, Neutral), (2, Neutral), (3, Neutral)]),
            (" 3 expect() calls", &[(3, Neutral)]),
            ("  3 did not run", &[(3, Neutral)]),
            ("1 known failure", &[(1, Neutral)]),
            (
                "0 features passed, 1 failed, 0 skipped, 2 untested",
                &[(0, Pass), (1, NotGreen), (0, Neutral), (2, NotGreen)],
            ),
        ] {
            let found: Vec<(u64, Meaning)> =
                of_line(line).iter().map(|counter| (counter.number, counter.meaning())).collect();
            assert_eq!(found, want, "{line}");
        }
    }

    #[test]
    fn a_line_with_other_words_is_no_list_of_counters() {
        for (line, want) in [
            (" Test Files  1 failed (1)", true),
            ("Test Suites: 1 failed, 1 total", true),
            ("     Errors  1 error", true),
            ("  1 uncaught exception", true),
            (" 1 error", true),
            ("1 scenario (1 failed)", true),
            ("  1 error was not a part of any test, see above for details", true),
            ("   Start at  10:19:18", false),
            ("   Duration  510ms (transform 44ms, setup 0ms)", false),
            ("Randomized with seed 123", false),
            ("    [chromium] › a.spec.ts:3:1 › 2 errors are shown", false),
            ("a.c:3: 2 errors", false),
        ] {
            assert_eq!(are_all(line), want, "{line}");
        }
    }
}
