//! go test: `--- FAIL: Name (0.00s)`, packages that do not build, binaries that die.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::clean_output::{CleanLines, CleanOutput};
use super::go_lines::{PackageEnd, ends, heads, listed_names, listed_packages, test_result};
use super::{
    FailureCollector, FormatInput, OnTest, RawFailure, TestOutcome, gcc_style, indentation, places, until,
    without_time,
};

pub(super) const TOOL: &str = "go-test";

/// Reads the failures of each package, whose line follows them.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let mut start = 0;
    // gotestsum lists the failed tests below.
    let listed = LazyCell::new(|| listed_packages(input.own));
    let is_listed = |package| listed_names(package).chain([package]).any(|end| listed.contains(end));
    for end in ends(input.own) {
        for (at, line) in places(b"#", &input.firsts[start..end.at]).map(|at| (start + at, lines[start + at]))
        {
            if let Some(package) = line.strip_prefix("# ") {
                read_build_errors(package, &lines[at + 1..], collector);
            }
        }
        if let Some(result) = end.result {
            let failed = heads(input.own.part(start..end.at));
            if !failed.is_empty() || !is_listed(end.package) {
                read_results(end.package, result, &lines[start..end.at], &failed, collector);
            }
        }
        collector.add_printed(test_output(input, start..end.at));
        start = end.at + 1;
    }
    for at in places(b"#", &input.firsts[start..]) {
        if let Some(package) = lines[start + at].strip_prefix("# ") {
            read_build_errors(package, &lines[start + at + 1..], collector);
        }
    }
}

/// Returns the output of a package's tests. Without `-v`, that output also precedes the test names. In the first
/// package, those lines may come from another command, so they are left out.
fn test_output<'s>(input: &FormatInput<'s>, own: Range<usize>) -> &'s [&'s str] {
    let follows = own.start > 0;
    let mut begun = places(b"=-", &input.begins[own.clone()]).map(|at| own.start + at);
    let mark =
        begun.find(|at| input.lines[*at].starts_with("=== ") || failed_name(input.lines[*at]).is_some());
    mark.map_or(&[], |mark| &input.lines[if follows { own.start } else { mark }..own.end])
}

/// Reads the diagnostics of a package that does not build.
fn read_build_errors(package: &str, lines: &[&str], collector: &mut FailureCollector<'_>) {
    if !package.starts_with(|c: char| c.is_alphanumeric()) {
        return;
    }
    for diagnostic in lines.iter().map_while(|line| gcc_style::parse(line)) {
        collector.push(diagnostic.draft());
    }
}

/// Reads the output of a package.
pub(super) fn package(package: &str, result: &str, lines: &[&str], collector: &mut FailureCollector<'_>) {
    let was_run = was_run(lines);
    let heads = lines.iter().enumerate().filter_map(|(at, line)| Some((at, failed_name(line)?)));
    let heads: Vec<(usize, &str)> = heads.filter(|(_, name)| was_run(name)).collect();
    read_results(package, result, lines, &heads, collector);
}

/// Reads the lines between the ends of two packages; `heads` are the lines that report failed tests.
fn read_results(
    package: &str,
    result: &str,
    lines: &[&str],
    heads: &[(usize, &str)],
    collector: &mut FailureCollector<'_>,
) {
    let before = collector.len();
    let parents: BTreeSet<&str> =
        heads.iter().flat_map(|(_, name)| name.match_indices('/').map(|(at, _)| &name[..at])).collect();
    let logged = LazyCell::new(|| logs(lines));
    for (at, name) in heads {
        let block = block(lines, *at, |name| logged.get(name).cloned().unwrap_or_default());
        // A parent fails because a subtest fails, unless it prints something itself.
        let own = block.iter().any(|line| !line.trim().is_empty());
        if !parents.contains(name) || own {
            let name = if package.is_empty() { (*name).to_owned() } else { format!("{package}.{name}") };
            collector.push(RawFailure::test(TOOL, &name, &block).message(&format!(
                "{}\n{}",
                lines[*at].trim(),
                block.join("\n")
            )));
        }
    }
    let verdict = result.split_once(['\t', ' ']).map_or("", |(_, verdict)| verdict.trim());
    // `[build failed]` has its diagnostics above; so has `[setup failed]`, except for a missing module.
    if collector.len() == before
        && !verdict.starts_with("[build failed")
        && !verdict.starts_with("[setup failed")
    {
        push_death(package, lines, result, collector);
    }
}

/// A test binary that exits early names no test.
pub(super) fn push_death(package: &str, lines: &[&str], result: &str, collector: &mut FailureCollector<'_>) {
    let panic =
        lines.iter().rposition(|line| line.starts_with("panic: ") || line.starts_with("fatal error: "));
    let status =
        lines.iter().rev().find(|line| line.starts_with("exit status ") || line.starts_with("signal: "));
    let running = panic.map(|at| running_tests(package, &lines[at..])).unwrap_or_default();
    if let Some(at) = panic.filter(|_| !running.is_empty()) {
        for test in running {
            let draft = RawFailure::test(TOOL, &format!("{package}.{test}"), &lines[at..]);
            collector.push(draft.at(package, None));
        }
        return;
    }
    let draft = match (panic, status) {
        (Some(at), _) => RawFailure::process(TOOL, "", &lines[at..]),
        (None, Some(status)) => {
            RawFailure::process(TOOL, status.split(" (").next().unwrap_or_default(), &[]).message(status)
        }
        (None, None) => RawFailure::process(TOOL, "package failed", &[]).message(result),
    };
    let file = draft.file.clone().unwrap_or_else(|| package.to_owned());
    let line = draft.line;
    collector.push(draft.at(&file, line));
}

/// Returns the tests in a time limit panic, which lists them. Older versions print only their stacks.
fn running_tests<'a>(package: &str, lines: &[&'a str]) -> Vec<&'a str> {
    if !lines[0].contains("test timed out after") {
        return Vec::new();
    }
    if lines.get(1) == Some(&"running tests:") {
        let names =
            until(lines, 2, |line| !line.starts_with('\t')).iter().map(|line| without_time(line.trim()));
        let names: Vec<&str> = names.collect();
        // A parent waits for its subtests.
        let waits = |name: &str| {
            names.iter().any(|other| other.strip_prefix(name).is_some_and(|other| other.starts_with('/')))
        };
        return names.iter().copied().filter(|name| !waits(name)).collect();
    }
    // Below a test is the runner; below `TestMain` is the program.
    let own = lines
        .windows(3)
        .filter(|frame| frame[1].contains("_test.go:") && frame[2].starts_with("testing.tRunner("));
    let named = own.filter_map(|frame| frame[0].strip_prefix(package)?.strip_prefix('.'));
    let named = named.map(|name| name.split(['.', '(']).next().unwrap_or_default());
    let tests: BTreeSet<&str> = named.filter(|name| name.starts_with("Test")).collect();
    tests.into_iter().collect()
}

/// Returns a function that checks whether `-v` shows a test as run: a test may print lines like the end of another.
pub(crate) fn was_run<'a>(lines: &[&'a str]) -> impl Fn(&str) -> bool + use<'a> {
    let begun = lines.iter().filter_map(|line| line.strip_prefix("=== RUN")).map(str::trim);
    let begun: BTreeSet<&str> = begun.collect();
    move |name| begun.is_empty() || begun.contains(name)
}

/// Returns the packages that report that they have no tests, or ran none.
pub(crate) fn packages_without_tests<'a>(lines: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let said = |line: &'a str| {
        let without = line.strip_prefix("?   \t").and_then(|rest| rest.strip_suffix("\t[no test files]"));
        let ran_none = || line.strip_prefix("ok  \t")?.strip_suffix("[no tests to run]")?.split('\t').next();
        without.or_else(ran_none)
    };
    lines.iter().filter_map(move |line| said(line)).collect::<Vec<_>>().into_iter()
}

/// Checks whether a test, by its full name, belongs to this package and not to one below it.
pub(crate) fn is_in(test: &str, package: &str) -> bool {
    let name = test.strip_prefix(package).and_then(|rest| rest.strip_prefix('.'));
    name.is_some_and(|name| {
        ["Test", "Example", "Fuzz", "Benchmark"].iter().any(|begin| name.starts_with(begin))
    })
}

/// Checks whether the last line about a package is a failure. It is reliable; the exit code is lost in a pipe.
pub(crate) fn has_failed_package(pages: &[CleanOutput<'_>; 2]) -> bool {
    packages(pages).values().any(|fails| *fails)
}

/// Returns the packages that passed according to their last line, whatever precedes it: they were retried.
pub(crate) fn passed_packages(pages: &[CleanOutput<'_>; 2]) -> Vec<String> {
    let passed = packages(pages).into_iter().filter(|(_, fails)| !fails);
    passed.map(|(package, _)| package).collect()
}

fn packages(pages: &[CleanOutput<'_>; 2]) -> BTreeMap<String, bool> {
    let mut packages = BTreeMap::new();
    for page in pages {
        let cut = page.cut();
        packages
            .extend(ends(cut.own()).into_iter().map(|end| (end.package.to_owned(), end.result.is_some())));
    }
    packages
}

/// Returns the name on a line `--- FAIL: Name (0.00s)`, or `--- FAIL: BenchmarkName-8`.
fn failed_name(line: &str) -> Option<&str> {
    test_result(line).filter(|(_, outcome)| *outcome == TestOutcome::Failed).map(|(name, _)| name)
}

/// Reports the results of the named tests, under the names of their packages, whose lines follow. The result of a
/// started test may follow its output on the same line.
pub(crate) fn outcomes(lines: &[&str], tell: &mut OnTest<'_>) {
    let mut named: BTreeMap<&str, TestOutcome> = BTreeMap::new();
    let was_run = was_run(lines);
    let cut = CleanLines::new(lines.to_vec());
    let mut ends = ends(cut.own()).into_iter().peekable();
    for (at, line) in lines.iter().enumerate() {
        if let Some(PackageEnd { package, .. }) = ends.next_if(|end| end.at == at) {
            for (name, outcome) in std::mem::take(&mut named) {
                tell(TOOL, &format!("{package}.{name}"), outcome);
            }
        }
        if let Some(name) = line.strip_prefix("=== RUN") {
            named.entry(name.trim()).or_insert(TestOutcome::Unknown);
        }
        named.extend(test_result(line).filter(|(name, _)| was_run(name)));
    }
    named.into_iter().for_each(|(name, outcome)| tell(TOOL, name, outcome));
}

/// Returns the log below a head. With `-v` the log is above, after the line that starts the test.
fn block<'a>(lines: &[&'a str], head: usize, logged: impl FnOnce(&str) -> Vec<&'a str>) -> Vec<&'a str> {
    let depth = indentation(lines[head]);
    let is_mark = |line: &str| {
        ["--- ", "=== ", "FAIL", "PASS", "ok  \t", "coverage:"]
            .iter()
            .any(|mark| line.trim_start().starts_with(mark))
    };
    // The output of a failed example follows without indentation.
    let example = lines.get(head + 1).is_some_and(|line| *line == "got:");
    let panic = lines.get(head + 1).is_some_and(|line| line.starts_with("panic: "));
    let below = until(lines, head + 1, |line| {
        is_mark(line) || (!example && !panic && indentation(line) <= depth && !line.trim().is_empty())
    });
    if below.iter().any(|line| !line.trim().is_empty()) {
        let behind = &lines[head + 1 + below.len()..];
        return [below, panic_after(failed_name(lines[head]).unwrap_or_default(), behind)].concat();
    }
    failed_name(lines[head]).map(logged).unwrap_or_default()
}

/// Returns the panic of the test whose log ends here.
///
/// It is not indented, and the runner passed it on or its stack names the test. Any other panic belongs to a test that
/// runs in parallel.
fn panic_after<'s, 'a>(test: &str, lines: &'s [&'a str]) -> &'s [&'a str] {
    const STACK: usize = 40;
    let function = test.split('/').next().unwrap_or_default();
    let called = [format!(".{function}("), format!(".{function}.func")];
    let is_own =
        |line: &str| line.contains("[recovered") || called.iter().any(|call| line.contains(call.as_str()));
    let is_panic = lines.first().is_some_and(|line| line.starts_with("panic: "));
    if is_panic && lines.iter().take(STACK).any(|line| is_own(line)) {
        until(lines, 0, |line| line.starts_with("FAIL") || line.starts_with("--- "))
    } else {
        &[]
    }
}

/// Returns the log that follows a test's output without a line feed: `loading...    a_test.go:3: got 1`.
fn log_after_print(line: &str) -> Option<&str> {
    let place = line.find("_test.go:")?;
    line[..place].rfind("    ").map(|at| &line[at..])
}

/// Returns the log of each test while it ran, which `-v` prints above the results.
fn logs<'a>(lines: &[&'a str]) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut logged: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut inside = "";
    for line in lines {
        if let Some(marked) = line.strip_prefix("=== ") {
            inside = marked.split_ascii_whitespace().nth(1).unwrap_or_default();
        } else if test_result(line).is_some_and(|(name, _)| inside.starts_with(name)) {
            inside = "";
        } else if !inside.is_empty() && line.starts_with("    ") {
            logged.entry(inside).or_default().push(line);
        } else if let Some(line) = log_after_print(line).filter(|_| !inside.is_empty()) {
            logged.entry(inside).or_default().push(line);
        }
    }
    logged
}
