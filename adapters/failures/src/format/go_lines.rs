//! go test: which lines are its own, and which a test printed that look the same.

use std::collections::{BTreeMap, BTreeSet};

use super::super::ending::TestOutcome;
use super::super::words::indentation;
use super::Lines;
use super::go_test::ended;

/// The line that ends what stands about a package.
pub(super) struct PackageEnd<'a> {
    /// Which line it is.
    pub(super) at: usize,
    /// The package.
    pub(super) package: &'a str,
    /// What stands behind `FAIL`, if it failed.
    pub(super) result: Option<&'a str>,
}

impl<'a> PackageEnd<'a> {
    /// Reads a line of the shape that it has: behind the package a time, or a remark in brackets.
    fn of(at: usize, line: &'a str) -> Option<Self> {
        let failed = line.strip_prefix("FAIL\t");
        let rest = failed.or_else(|| line.strip_prefix("ok  \t")).or_else(|| line.strip_prefix("?   \t"))?;
        let (package, told) = rest.split_once(['\t', ' '])?;
        let told = told.trim_start();
        let is_end = told.starts_with(['[', '(']) || decimals(told).is_some();
        (is_end && !package.is_empty()).then_some(Self { at, package, result: failed })
    }

    /// Says whether its time has the three decimals that go gives it.
    fn is_exact(&self, lines: &[&str]) -> bool {
        let told = lines[self.at].rsplit_once('\t').map_or("", |(_, told)| told);
        decimals(told).is_none_or(|decimals| decimals == 3)
    }

    /// Says whether the test binary ended above, as it does in all cases but that a test leaves it without a word. Only of a
    /// package that failed it says so.
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

/// Returns how many decimals the time has that a text begins with.
fn decimals(text: &str) -> Option<usize> {
    let (whole, rest) = text.split_ascii_whitespace().next()?.strip_suffix('s')?.split_once('.')?;
    let is_number = whole.bytes().chain(rest.bytes()).all(|byte| byte.is_ascii_digit());
    is_number.then_some(rest.len())
}

/// Returns the lines on which packages end. What a test prints while it runs is none of them, and where nobody tells when it
/// runs, nor what has the path of no module here.
pub(super) fn ends(own: Lines<'_>) -> Vec<PackageEnd<'_>> {
    let lines = own.lines;
    let mut ends: Vec<PackageEnd<'_>> =
        own.starting(b"Fo?").filter_map(|(at, line)| PackageEnd::of(at, line)).collect();
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

/// Returns from where to where each test runs that `-v` tells of, by where it begins. Only the last line that tells of its end
/// is not printed by itself.
fn spans(own: Lines<'_>, ends: &[PackageEnd<'_>]) -> Vec<(usize, usize)> {
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
            && let Some((name, _)) = ended(line)
            && let Some(span) = open.get_mut(name)
        {
            span.1 = at;
        }
    }
    spans.extend(open.into_values());
    spans.sort_unstable();
    spans
}

/// Returns the lines of a package that tell of failed tests, and their names. The name of a test stands below that of the test
/// which runs it, one step further in; and where it is told more than once how a test ended, the last word counts.
pub(super) fn heads(own: Lines<'_>) -> Vec<(usize, &str)> {
    let lines = own.lines;
    let mut last: BTreeMap<&str, (usize, TestOutcome)> = BTreeMap::new();
    let mut failed = Vec::new();
    let mut note = |ended: Option<(usize, TestOutcome)>, name| {
        failed.extend(ended.filter(|(_, ending)| *ending == TestOutcome::Failed).map(|(at, _)| (at, name)));
    };
    let told = own.starting(b"=").any(|(_, line)| line.starts_with("=== RUN"));
    let mut begun = BTreeSet::new();
    for (at, line) in own.beginning(b"=-") {
        if let Some(name) = line.strip_prefix("=== RUN").map(str::trim) {
            note(last.remove(name), name);
            begun.insert(name);
        } else if let Some((name, ending)) = ended(line).filter(|(name, _)| !told || begun.contains(name)) {
            if told {
                last.insert(name, (at, ending));
            } else {
                note(Some((at, ending)), name);
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

/// How far the name of a test is set in below that of the test which runs it.
const STEP: usize = 4;
