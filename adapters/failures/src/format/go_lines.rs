//! go test and gotestsum: distinguishes their own lines from similar lines that a test printed.

use std::collections::{BTreeMap, BTreeSet};

use super::{LineIndex, TestOutcome, begins, indentation, without_time};

/// The line that ends the output of a package.
pub(super) struct PackageEnd<'a> {
    /// The index of the line.
    pub(super) at: usize,
    pub(super) package: &'a str,
    /// The text after `FAIL`, if the package failed.
    pub(super) result: Option<&'a str>,
}

impl<'a> PackageEnd<'a> {
    /// Reads a line of this form: a time or a remark in brackets follows the package.
    fn parse(at: usize, line: &'a str) -> Option<Self> {
        let failed = line.strip_prefix("FAIL\t");
        let rest = failed.or_else(|| line.strip_prefix("ok  \t")).or_else(|| line.strip_prefix("?   \t"))?;
        let (package, told) = rest.split_once(['\t', ' '])?;
        let told = told.trim_start();
        let is_end = told.starts_with(['[', '(']) || decimals(told).is_some();
        (is_end && !package.is_empty()).then_some(Self { at, package, result: failed })
    }

    /// Checks whether its time has the three decimals that go prints.
    fn is_exact(&self, lines: &[&str]) -> bool {
        let told = lines[self.at].rsplit_once('\t').map_or("", |(_, told)| told);
        decimals(told).is_none_or(|decimals| decimals == 3)
    }

    /// Checks whether the line above ends the test binary, as in a failed package, unless a test exits silently.
    fn is_sure(&self, lines: &[&str]) -> bool {
        const LAST: [&str; 7] =
            ["FAIL", "PASS", "exit status ", "signal: ", "coverage: ", "created by ", "\t"];
        let above = self.at.checked_sub(1).map_or("", |at| lines[at]);
        let is_built = self.result.is_some_and(|result| result.contains("[build failed]"));
        is_built || self.result.is_some() && LAST.iter().any(|last| above.starts_with(last))
    }

    /// Returns the beginning of its path that the packages of a module share.
    fn root(&self) -> &'a str {
        let mut slashes = self.package.match_indices('/').map(|(at, _)| at);
        let first = slashes.next().unwrap_or(self.package.len());
        let is_host = self.package[..first].contains('.');
        &self.package[..if is_host { slashes.next().unwrap_or(self.package.len()) } else { first }]
    }
}

/// Returns the number of decimals of the time that a text begins with.
fn decimals(text: &str) -> Option<usize> {
    let (whole, rest) = text.split_ascii_whitespace().next()?.strip_suffix('s')?.split_once('.')?;
    let is_number = whole.bytes().chain(rest.bytes()).all(|byte| byte.is_ascii_digit());
    is_number.then_some(rest.len())
}

/// Returns the lines on which packages end. Lines that a test prints while it runs are excluded. If no output shows
/// when a test runs, lines with a path outside of the known modules are also excluded.
pub(super) fn ends(own: LineIndex<'_>) -> Vec<PackageEnd<'_>> {
    let lines = own.lines;
    let mut ends: Vec<PackageEnd<'_>> =
        own.starting(b"Fo?").filter_map(|(at, line)| PackageEnd::parse(at, line)).collect();
    if ends.is_empty() {
        return ends;
    }
    let spans = spans(own, &ends);
    let mut until = 0;
    let mut next = spans.iter().peekable();
    ends.retain(|end| {
        while let Some((_, last)) = next.next_if(|(begin, _)| *begin < end.at) {
            until = until.max(*last);
        }
        end.at >= until
    });
    let surely: BTreeSet<&str> =
        ends.iter().filter(|end| end.is_sure(lines)).map(|end| end.package).collect();
    let roots: BTreeSet<&str> = ends
        .iter()
        .filter(|end| surely.contains(end.package) || end.result.is_none() && lines[end.at].starts_with('?'))
        .map(PackageEnd::root)
        .collect();
    ends.retain(|end| {
        let is_known = || roots.is_empty() || roots.contains(end.root());
        end.result.is_none()
            || end.is_sure(lines)
            || end.is_exact(lines) && !surely.contains(end.package) && is_known()
    });
    ends
}

/// Returns the first and last line of each test that `-v` reports, sorted by the first. A test may print lines like its
/// end, so only the last such line counts.
fn spans(own: LineIndex<'_>, ends: &[PackageEnd<'_>]) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut open: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut sure = ends.iter().filter(|end| end.is_sure(own.lines)).map(|end| end.at).peekable();
    // Packages that failed end in a line with an F.
    for (at, line) in own.beginning(b"=-F") {
        if let Some(name) = line.strip_prefix("=== RUN") {
            spans.extend(open.insert(name.trim(), (at, 0)));
        } else if sure.next_if_eq(&at).is_some() {
            open.retain(|_, span| {
                let has_ended = span.1 > 0;
                spans.extend(Some(*span).filter(|_| has_ended));
                !has_ended
            });
        } else if !open.is_empty()
            && let Some((name, _)) = test_result(line)
            && let Some(span) = open.get_mut(name)
        {
            span.1 = at;
        }
    }
    spans.extend(open.into_values());
    spans.sort_unstable();
    spans
}

/// Returns the lines of a package that report failed tests, and the names of these tests. A subtest is below its
/// parent, indented by one step. If a result occurs more than once, the last one counts.
pub(super) fn heads(own: LineIndex<'_>) -> Vec<(usize, &str)> {
    let lines = own.lines;
    let mut last: BTreeMap<&str, (usize, TestOutcome)> = BTreeMap::new();
    let mut failed = Vec::new();
    let mut note = |ended: Option<(usize, TestOutcome)>, name| {
        failed.extend(ended.filter(|(_, outcome)| *outcome == TestOutcome::Failed).map(|(at, _)| (at, name)));
    };
    let told = own.starting(b"=").any(|(_, line)| line.starts_with("=== RUN"));
    let mut begun = BTreeSet::new();
    for (at, line) in own.beginning(b"=-") {
        if let Some(name) = line.strip_prefix("=== RUN").map(str::trim) {
            note(last.remove(name), name);
            begun.insert(name);
        } else if let Some((name, outcome)) =
            test_result(line).filter(|(name, _)| !told || begun.contains(name))
        {
            if told {
                last.insert(name, (at, outcome));
            } else {
                note(Some((at, outcome)), name);
            }
        }
    }
    last.into_iter().for_each(|(name, ended)| note(Some(ended), name));
    failed.sort_unstable();
    let margin = failed.iter().map(|(at, _)| indentation(lines[*at])).min().unwrap_or_default();
    let mut above: Vec<(usize, &str)> = Vec::new();
    failed.retain(|(at, name)| {
        let depth = indentation(lines[*at]);
        let outer = above.iter().rposition(|(of, _)| *of < depth);
        let is_own = match outer.map(|outer| above[outer]) {
            None => depth == margin && (!name.contains('/') || name.starts_with("Benchmark")),
            Some((of, outer)) => {
                let inner = name.strip_prefix(outer);
                depth == of + STEP && inner.is_some_and(|inner| inner.is_empty() || inner.starts_with('/'))
            }
        };
        if is_own {
            above.truncate(outer.map_or(0, |outer| outer + 1));
            above.push((depth, name));
        }
        is_own
    });
    failed
}

/// Indentation of a subtest relative to its parent.
const STEP: usize = 4;

/// Returns the name on a line like `--- PASS: Name (0.00s)`, and the result of the test.
pub(super) fn test_result(line: &str) -> Option<(&str, TestOutcome)> {
    if begins(line) != Some(b'-') {
        return None;
    }
    let (word, name) = line.trim_start_matches(' ').strip_prefix("--- ")?.split_once(": ")?;
    let outcome = match word {
        "PASS" => TestOutcome::Passed,
        "FAIL" => TestOutcome::Failed,
        "SKIP" => TestOutcome::Skipped,
        _ => return None,
    };
    let bare = without_time(name);
    let ended = (bare.len() < name.len()).then_some((bare, outcome));
    ended.or_else(|| Some((benchmark(name)?, outcome)))
}

/// Returns the name of a benchmark, which has no time after it, but may have a number of processors.
fn benchmark(name: &str) -> Option<&str> {
    let name = name.trim_end();
    let is_one = name.starts_with("Benchmark") && !name.contains(char::is_whitespace);
    let behind = name.rsplit_once('-').filter(|(_, count)| count.bytes().all(|byte| byte.is_ascii_digit()));
    is_one.then(|| behind.map_or(name, |(name, _)| name))
}

/// A line in the list of gotestsum, which names the source of the output below.
#[derive(Clone, Copy)]
pub(super) struct ListHead<'a> {
    /// The index of the line.
    pub(super) at: usize,
    /// The package, without its module.
    pub(super) package: &'a str,
    /// Nothing if the package failed as a whole.
    pub(super) test: &'a str,
}

impl<'a> ListHead<'a> {
    /// Reads `=== FAIL: package TestName (0.00s)`; if a test was rerun, a count follows its name.
    pub(super) fn parse(at: usize, line: &'a str) -> Option<Self> {
        let (package, test) = line.strip_prefix("=== FAIL: ")?.split_once(' ')?;
        let test = without_time(test).trim();
        let test = test.split(" (re-run ").next().unwrap_or(test);
        Some(Self { at, package, test })
    }
}

/// Returns the names that the list of gotestsum may use for a package, without its module.
pub(super) fn listed_names(package: &str) -> impl Iterator<Item = &str> {
    package.match_indices('/').map(|(at, _)| &package[at + 1..])
}

/// Returns the packages that gotestsum lists, if there is a list.
pub(super) fn listed_packages<'a>(own: LineIndex<'a>) -> BTreeSet<&'a str> {
    own.starting(b"=").filter_map(|(at, line)| Some(ListHead::parse(at, line)?.package)).collect()
}
