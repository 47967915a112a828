//! Removes the prefixes, times or names, that wrappers print before each line of another tool.
//!
//! Examples are `ts`, CI logs, docker compose, concurrently, turbo, pnpm, lerna and systemd. The lines of tools that
//! ran in parallel are sorted by name. A failure is then the same as without the wrapper, because the name does not
//! become part of it. The exception is a workspace with several packages: the package that printed each line is
//! recorded (`package`).

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::package::PackageLabels;

/// A wrapper's prefix before each line. A name is in the group `label`, and the package in it in `package`.
struct Prefix {
    pattern: Regex,
    /// Minimum share of the lines that have it, in percent.
    share_min: usize,
    /// Minimum number of lines that have it.
    lines_min: usize,
    /// The prefix could belong to the tool itself unless indented text follows it.
    needs_indented: bool,
    /// The lines of each name are grouped together.
    has_label: bool,
}

/// Number of lines that are checked to recognize a wrapper.
const LOOKED_AT: usize = 200;

/// Number of first lines of which some have the prefix; most outputs have none there, so this rejects quickly.
const FIRST: usize = 12;

/// Maximum length of a prefix, in bytes.
const LENGTH_MAX: usize = 400;

/// Maximum nesting of wrappers.
const DEPTH_MAX: usize = 3;

/// A timestamp at the start of a line.
const MOMENT: &str = r"^\u{feff}?\[?(?:(?:\d{4}-\d\d-\d\d[T ])?|[A-Z][a-z]{2} [ \d]\d )\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?:[ \t]|$)";

static PREFIXES: LazyLock<Vec<Prefix>> = LazyLock::new(|| {
    #[rustfmt::skip]
    let prefixes: [(usize, usize, bool, &str); 12] = [
        // systemd and syslog: `Nov 22 21:00:01 host unit[123]: `.
        (90, 1, false, r"^(?:[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) [\w.-]+ (?P<label>[\w@./-]+)\[\d+\]: "),
        // A timestamp: `ts`, CI logs.
        (90, 1, false, MOMENT),
        // `gh run view --log`: the job, the step, and a timestamp.
        (90, 1, false, r"^(?P<label>[^\t]+\t[^\t]+)\t\u{feff}?\d{4}-\d\d-\d\dT[\d:.]+Z ?"),
        // docker compose, foreman: `web-1  | `.
        (80, 1, false, r"^(?P<label>[A-Za-z][\w.-]*[._-]\d+) +\|(?: |$)"),
        (80, 4, false, r"^(?P<label>[A-Za-z][\w.-]*) +\|(?: |$)"),
        // yarn, melos: `[package]: `.
        (80, 2, false, r"^\[(?P<label>(?P<package>[\w@][\w@./-]*))\]:(?: |$)"),
        // concurrently, kubectl: `[web] `.
        (90, 2, false, r"^\[(?P<label>[\w@][\w@./:-]*) *\]:?(?: |$)"),
        // turbo: `package:task: `.
        (60, 2, false, r"^(?P<label>(?P<package>@?[\w./-]+):[a-z][\w.-]*(?::[a-z][\w.-]*)*):(?: |$)"),
        // pnpm: `packages/a test: `.
        (60, 2, false, r"^(?P<label>(?P<package>[\w@.-]*/[\w@./-]*|\.) [a-z][\w:.-]*)[:$](?: |$)"),
        // lerna, nx: `@scope/package: `, or the name alone.
        (60, 2, false, r"^(?P<label>(?P<package>@[\w.-]+/[\w.-]+)):(?: |$)"),
        (70, 8, true, r"^(?P<label>(?P<package>(?:@[\w.-]+/)?[a-z][\w.-]*)):(?: |$)"),
        // A build in docker: `#8 0.543 `.
        (60, 2, false, r"^#(?P<label>\d+) \d+\.\d+(?: |$)"),
    ];
    let prefix = |(share_min, lines_min, needs_indented, pattern): (usize, usize, bool, &str)| Prefix {
        pattern: Regex::new(&of_ascii(pattern)).expect("a pattern of ours"),
        share_min,
        lines_min,
        needs_indented,
        has_label: pattern.contains("<label>"),
    };
    prefixes.into_iter().map(prefix).collect()
});

/// Returns a pattern that matches only ASCII digits and letters: Unicode classes take megabytes.
fn of_ascii(pattern: &str) -> String {
    pattern.replace(r"\d", "[0-9]").replace(r"\w", "[0-9A-Za-z_]")
}

/// All patterns in one set.
static ANY: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(PREFIXES.iter().map(|prefix| prefix.pattern.as_str())).expect("patterns of ours")
});

/// A text without the prefixes of wrappers.
pub(super) struct UnprefixedOutput<'a> {
    pub(super) text: Cow<'a, str>,
    /// The packages that the prefixes name.
    pub(super) labels: PackageLabels,
}

/// Removes the prefixes of wrappers from a text.
pub(super) fn remove_prefixes(mut text: Cow<'_, str>) -> UnprefixedOutput<'_> {
    let mut labels = PackageLabels::default();
    for _ in 0..DEPTH_MAX {
        let candidates = candidates(&text);
        let Some(prefix) = candidates.into_iter().find(|prefix| prefix.is_before(&text)) else { break };
        let (bare, inner) = prefix.without_prefix(&text);
        // A prefix with a name sorts the lines, which makes the recorded positions wrong.
        if prefix.has_label {
            labels = inner;
        }
        text = Cow::Owned(bare);
    }
    UnprefixedOutput { text, labels }
}

/// Returns the prefixes that occur on at least a third of the first lines.
fn candidates(text: &str) -> Vec<&'static Prefix> {
    if text.is_empty() {
        return Vec::new();
    }
    let mut counts = vec![0; PREFIXES.len()];
    let mut lines = 0;
    for line in text.lines().filter(|line| !line.trim_start().is_empty()).take(FIRST) {
        lines += 1;
        ANY.matches(beginning(line)).into_iter().for_each(|at| counts[at] += 1);
    }
    let common = PREFIXES.iter().zip(counts).filter(|(_, count)| *count > 0 && count * 3 >= lines);
    common.map(|(prefix, _)| prefix).collect()
}

fn beginning(line: &str) -> &str {
    &line[..line.floor_char_boundary(LENGTH_MAX)]
}

/// Checks whether a line begins with a timestamp.
pub(super) fn has_timestamp(line: &str) -> bool {
    static STAMP: LazyLock<Regex> = LazyLock::new(|| Regex::new(MOMENT).expect("a pattern of ours"));
    STAMP.is_match(line)
}

impl Prefix {
    /// Checks whether nearly every line has the prefix.
    fn is_before(&self, text: &str) -> bool {
        let (mut lines, mut with, mut indented) = (0, 0, false);
        for line in text.lines().filter(|line| !line.trim().is_empty()).take(LOOKED_AT) {
            lines += 1;
            if let Some((_, rest)) = self.split(line) {
                with += 1;
                indented |= rest.is_empty() || rest.starts_with(' ');
            }
        }
        with >= self.lines_min && with * 100 >= lines * self.share_min && (indented || !self.needs_indented)
    }

    /// Splits a line into the name and the rest.
    fn split<'l>(&self, line: &'l str) -> Option<(&'l str, &'l str)> {
        let found = self.pattern.captures(beginning(line))?;
        let label = found.name("label").map_or("", |label| label.as_str());
        (!is_of_a_tool(label)).then(|| (label, &line[found.get(0).map_or(0, |all| all.end())..]))
    }

    /// Returns the package in the prefix of a line.
    fn package<'l>(&self, line: &'l str) -> Option<&'l str> {
        Some(self.pattern.captures(beginning(line))?.name("package")?.as_str())
    }

    /// Returns the lines without the prefix, by name, and their packages. A line without a name joins the one above.
    fn without_prefix(&self, text: &str) -> (String, PackageLabels) {
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut packages = Vec::new();
        let mut lines = Vec::new();
        let mut last = 0;
        let mut are_several = false;
        for line in text.split_inclusive('\n') {
            let (label, rest) = self.split(line).unwrap_or(("", line));
            if rest.len() < line.len() {
                let next = names.len();
                last = *names.entry(label).or_insert(next);
                if last == next {
                    packages.push(self.package(line));
                }
            } else {
                are_several |= announces_several(line);
            }
            lines.push((last, rest));
        }
        lines.sort_by_key(|(name, _)| *name);
        let mut labels = PackageLabels { lines: Vec::new(), are_several };
        for (at, pair) in lines.iter().enumerate() {
            let begins = at == 0 || lines[at - 1].0 != pair.0;
            if let Some(package) = packages.get(pair.0).copied().flatten().filter(|_| begins) {
                labels.lines.push((at, package.to_owned()));
            }
        }
        (lines.into_iter().map(|(_, line)| line).collect(), labels)
    }
}

/// Checks whether a line announces several packages: `Scope: 2 of 3 workspace projects`, `Running test in 2 packages`.
fn announces_several(line: &str) -> bool {
    static COUNT: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"^(?:Scope: (?:all )?|.*\bRunning .*(?:in|for) |.*\bExecuting command in )(?<count>[0-9]+)(?: of [0-9]+)? (?:workspace projects|packages|projects)";
        Regex::new(&of_ascii(pattern)).expect("a pattern of ours")
    });
    let count = COUNT.captures(line).and_then(|found| found["count"].parse::<u32>().ok());
    count.is_some_and(|count| count > 1)
}

/// Checks whether a name is a tool's own prefix: a severity, perhaps after a file, a position, a count, a worker.
fn is_of_a_tool(label: &str) -> bool {
    const WEIGHTS: [&str; 17] = [
        "error", "warning", "warn", "info", "debug", "trace", "note", "help", "fatal", "hint", "ok", "fail",
        "failed", "pass", "passed", "skipped", "npm",
    ];
    let (before, last) = label.rsplit_once(':').unwrap_or(("", label));
    let is_position = !before.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    WEIGHTS.iter().any(|word| word.eq_ignore_ascii_case(last))
        || is_position
        || label.strip_prefix("gw").unwrap_or(label).parse::<u32>().is_ok_and(|_| label.starts_with("gw"))
        || (label.contains('/') && label.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(remove_prefixes(text.into()).text, expected, "{text}");
    }

    #[test]
    fn prefix_of_every_line_is_removed() {
        check("21:00:01 a\n21:00:01 b\n21:00:02   c\n21:00:02 d\n", "a\nb\n  c\nd\n");
        check("Nov  2 21:00:01 a\nNov  2 21:00:01 b\nNov  2 21:00:01 c\nNov  2 21:00:01 d", "a\nb\nc\nd");
        check(
            "\u{feff}2026-01-02T21:00:01.1234567Z a\n2026-01-02T21:00:01Z b\n2026-01-02T21:00:01Z c\n2026-01-02T21:00:01Z \n",
            "a\nb\nc\n\n",
        );
        check(
            "test\tRun x\t\u{feff}2026-01-02T21:00:01.12Z a\ntest\tRun x\t2026-01-02T21:00:01.12Z   b\n",
            "a\n  b\n",
        );
        check("web-1  | a\nweb-1  |   b\nweb-1  | \nweb-1  | c\n", "a\n  b\n\nc\n");
        check("packages/a test$ run\npackages/a test: x\npackages/a test:   y\n", "run\nx\n  y\n");
        check(
            "Jan 02 21:00:01 vm job[12]: a\nJan 02 21:00:01 vm job[12]: b\nJan 02 21:00:01 vm job[12]: c\nJan 02 21:00:01 vm job[12]:  d\n",
            "a\nb\nc\n d\n",
        );
        check("#7 [1/2] RUN x\n#7 0.1 a\n#7 1.23   b\n#7 1.24 c\n", "#7 [1/2] RUN x\na\n  b\nc\n");
        check(
            "21:00:01 web.1 | a\n21:00:01 web.1 | b\n21:00:01 web.1 |  c\n21:00:01 web.1 | d\n",
            "a\nb\n c\nd\n",
        );
    }

    #[test]
    fn lines_of_parallel_tools_are_grouped_by_name() {
        check("[a] 1\n[b] 1\n[a] 2\n[b]  2\n", "1\n2\n1\n 2\n");
        check("@x/a:test: 1\nb:test: 1\n@x/a:test: 2\n\n", "1\n2\n\n1\n");
    }

    #[test]
    fn prefixes_of_tools_themselves_are_kept() {
        for text in [
            "21:00:01 a\nb\n",
            "[INFO] a\n[ERROR] b\n[INFO] c\n[INFO]   d\n",
            "[1/2] a\n[2/2] b\n",
            "[gw0] [ 50%] PASSED a\n[gw1] [100%] PASSED b\n",
            "error: a\nerror: b\nerror:\nerror: c\nerror: d\nerror: e\nerror: f\nerror: g\nerror: h\n",
            "ld: a\nld: b\nld: c\nld: d\nld: e\nld: f\nld: g\nld: h\nld: i\n",
            "src/a.c:3:5: error: a\nsrc/a.c:4:5: error: b\n",
            "a.py:3: error: a\nb.py:4: note: b\n",
            "a.yml:error: a\nb.yml:error: a\n",
            "src/a b.py:1:1: F401 a\nsrc/a b.py:5:12: F821 b\n",
            "#0 /a.php(3): f()\n#1 {main}\n",
            "  3 | let a\n  4 | let b\n    |     ^\n  5 | c\n",
        ] {
            check(text, text);
        }
    }
}
