//! Test::More of Perl, read by its comments: `prove` hides the points without `-v`, and they never name their file.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::evidence::FAILURES_MAX;

use super::{FailureCollector, FormatInput, LineIndex, RawFailure, indentation, scan_back, until};

/// Reads `#   Failed test 'name'`, the place on the next line, and the values below, more indented. A failed subtest
/// has the names of the tests around it, which are not failures themselves.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let summary = summary(input.lines, input.marked());
    read_deaths(input, &summary, collector);
    // Points come with their plans, unless only failed points are shown.
    let has = |begin: &str| {
        let mut streams = [input.own, input.beside].into_iter();
        streams.any(|stream| {
            stream.beginning(&begin.as_bytes()[..1]).any(|(_, line)| line.trim_start().starts_with(begin))
        })
    };
    if has("not ok ") && (has("1..") || summary.is_empty()) && !reports_all(input) {
        return;
    }
    for Failed { at, depth, path, comment: (_, file, number) } in find_failed(input) {
        let is_value = |line: &str| {
            let told = line.get(depth..).and_then(|line| line.strip_prefix('#'));
            told.is_some_and(|told| indentation(told) > MARGIN)
        };
        let values = until(input.lines, at + 2, |line| !is_value(line));
        let block: Vec<&str> = values.iter().map(|line| line.trim_start_matches(['#', ' '])).collect();
        let draft = RawFailure::test("prove", &path, &block).with_test_file(file).at(file, number);
        let draft = draft.with_line(input.lines[at]).with_heading(input.lines[at].trim_start());
        // A subtest without a failed test may have ended abnormally, and reports that.
        let inner = if depth == 0 { of_subtests(&input.lines[..at]) } else { String::new() };
        let message = [draft.message.trim_end(), &inner].join("\n");
        collector.push(draft.message(message.trim_end()));
    }
    if summary.iter().all(|file| file.failed.is_empty()) {
        return;
    }
    let streams = [input.lines, input.beside.lines];
    let comments = streams.iter().flat_map(|lines| (0..lines.len()).filter_map(|at| comment(lines, at, 0)));
    let by_file: Vec<&str> = comments.map(|(_, file, _)| file).collect();
    let failed = failures(&summary);
    if by_file.len() < failed {
        let told: BTreeSet<&str> = by_file.into_iter().collect();
        let mut heads = BTreeMap::new();
        for (at, line) in input.with(" ..") {
            heads.entry(line.split_once(" ..").map_or("", |(name, _)| name)).or_insert(at);
        }
        let untold = summary.iter().filter(|file| !told.contains(file.name));
        untold.for_each(|file| numbered(input, file, heads.get(file.name).copied(), collector));
    }
}

/// Checks whether comments report all failures, and `-v` points without reasons are above the other stream's summary.
pub(super) fn reports_all(input: &FormatInput<'_>) -> bool {
    let comments =
        |of: LineIndex<'_>| of.starting(b"#").filter(|(at, _)| comment(of.lines, *at, 0).is_some()).count();
    let tells = |points: LineIndex<'_>, beside: LineIndex<'_>| {
        let headline = points.starting(b"T").rfind(|(_, line)| *line == "Test Summary Report");
        headline.is_some_and(|(start, _)| {
            let files = summary(points.lines, points.lines.iter().copied().enumerate().skip(start));
            let failed = failures(&files);
            failed > 0 && comments(beside) >= failed && comments(points) == 0
        })
    };
    tells(input.own, input.beside) || tells(input.beside, input.own)
}

/// Returns the files that are run with `-v`, with the lines where their output begins: `t/a.t .. `.
pub(super) fn files<'a>(input: &FormatInput<'a>) -> Vec<(usize, &'a str)> {
    if !input.starting(b"T").any(|(_, line)| line == "Test Summary Report") {
        return Vec::new();
    }
    let begun = |line: &'a str| {
        let file = line.trim_end().strip_suffix("..")?.trim_end_matches('.').strip_suffix(' ')?;
        (file.contains('.') && !file.contains(' ')).then_some(file)
    };
    input.with(" ..").filter_map(|(at, line)| Some((at, begun(line)?))).collect()
}

/// Reads name, file and line of a failed test from a comment with this indentation; the place may be on the next line.
fn comment<'a>(lines: &[&'a str], at: usize, depth: usize) -> Option<(&'a str, &'a str, Option<u32>)> {
    let told = lines[at].get(depth..)?.strip_prefix("#   Failed test ")?;
    let below = lines.get(at + 1).map_or("", |line| line.trim_start_matches(['#', ' ']));
    let (name, place) = told.split_once("at ").filter(|(name, _)| name.is_empty()).unwrap_or((told, below));
    let (file, number) = place.trim_start_matches("at ").trim_end_matches('.').rsplit_once(" line ")?;
    let name = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap_or(name);
    Some((name, file, number.parse().ok()))
}

struct Failed<'a> {
    /// The number of the line of its comment.
    at: usize,
    depth: usize,
    /// The names of the tests around it, and its name.
    path: String,
    /// The name, the file and the line in the comment.
    comment: (&'a str, &'a str, Option<u32>),
}

/// Returns the failed tests, without the parents of failed subtests. A subtest is more indented than its parent, which
/// follows it and is in the same file.
fn find_failed<'a>(input: &FormatInput<'a>) -> Vec<Failed<'a>> {
    const DEPTH_MAX: usize = 16;
    let mut failed: Vec<(Failed<'a>, bool)> = Vec::new();
    let mut around: Vec<(usize, &str)> = Vec::new();
    for (at, line) in input.marked().rev() {
        let depth = indentation(line);
        let Some(comment) = comment(input.lines, at, depth) else { continue };
        let (name, file, _) = comment;
        let is_inner = failed.last().is_some_and(|(outer, _)| outer.comment.1 == file);
        around.retain(|(outer, _)| is_inner && *outer < depth);
        // A subtest without a parent is output of a test.
        if depth > 0 && (around.is_empty() || around.len() == DEPTH_MAX) {
            continue;
        }
        if let Some((_, has_inner)) = failed.last_mut().filter(|(outer, _)| outer.depth < depth) {
            *has_inner = true;
        }
        let name = if name.is_empty() { file } else { name };
        let names = around.iter().map(|(_, name)| *name).chain([name]);
        let path = names.collect::<Vec<_>>().join(" > ");
        failed.push((Failed { at, depth, path, comment }, false));
        around.push((depth, name));
    }
    failed.into_iter().rev().filter(|(_, has_inner)| !has_inner).map(|(failed, _)| failed).collect()
}

/// Returns the more indented lines above the comment on a test: the comments of its subtests.
fn of_subtests(above: &[&str]) -> String {
    let is_inner =
        |line: &&&str| line.is_empty() || line.starts_with(' ') && line.trim_start().starts_with('#');
    let inner = scan_back(above).take_while(is_inner).count();
    above[above.len() - inner..].join("\n").trim_matches('\n').to_owned()
}

/// A file in the summary.
struct File<'a> {
    name: &'a str,
    line: &'a str,
    /// The numbers of the failed tests.
    failed: Vec<&'a str>,
    /// The status of the process; empty if it exited normally.
    status: &'a str,
    /// The problem with the plan.
    plan: &'a str,
}

impl File<'_> {
    /// Returns the first and the last number of each range of failed tests.
    fn ranges(&self) -> impl Iterator<Item = (usize, usize)> {
        self.failed.iter().filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some((first.parse().ok()?, last.parse().ok()?))
        })
    }
}

/// Returns how many tests failed in all files.
fn failures(files: &[File<'_>]) -> usize {
    let counts = files.iter().flat_map(File::ranges).map(|(first, last)| last.saturating_sub(first));
    counts.fold(0, |all, more| all.saturating_add(more).saturating_add(1))
}

/// Reads the summary, in which each file has its own lines below it.
fn summary<'a>(lines: &[&'a str], marked: impl Iterator<Item = (usize, &'a str)>) -> Vec<File<'a>> {
    let mut files = Vec::new();
    for (at, line) in marked {
        let Some((name, _)) = line.split_once(" (Wstat: ") else { continue };
        let mut file = File { name: name.trim_end(), line, failed: Vec::new(), status: "", plan: "" };
        let mut numbers = false;
        for line in until(lines, at + 1, |line| !line.starts_with("  ")) {
            let (title, said) = line.split_once(": ").unwrap_or(("", line));
            match title.trim_start() {
                // A long list continues below.
                "" if numbers => {}
                title => numbers = title.starts_with("Failed test"),
            }
            match title.trim_start() {
                _ if numbers => {
                    file.failed.extend(said.split(',').map(str::trim).filter(|number| !number.is_empty()))
                }
                "Non-zero exit status" | "Non-zero wait status" => file.status = said,
                "Parse errors" => file.plan = said,
                _ => {}
            }
        }
        files.push(file);
    }
    files
}

/// Reads the files whose plan is wrong, or that died although all their tests passed. Perl prints where.
fn read_deaths(input: &FormatInput<'_>, summary: &[File<'_>], collector: &mut FailureCollector<'_>) {
    let causes = LazyCell::new(|| causes(input));
    for file in summary {
        let (kind, what) = match (file.plan, file.status) {
            ("", "") => continue,
            ("", _) if !file.failed.is_empty() => continue,
            ("", status) => ("exit status", status),
            (plan, _) if plan.starts_with("No plan found") => ("no plan", plan),
            (plan, _) => ("bad plan", plan),
        };
        let draft = RawFailure::diagnostic("prove", file.name, None, what).kind(kind).with_line(file.line);
        collector.push(match causes.get(file.name) {
            Some((cause, number)) => {
                let number = number.trim_end().trim_end_matches('.').parse().ok();
                draft.at(file.name, number).about(cause).message(&format!("{cause}\n{what}"))
            }
            None => draft.message(&format!("{what}\n{}", file.line)),
        });
    }
}

/// Returns Perl's first message about a line of each file, and the text after `line`: `cause at t/a.t line 4.`.
fn causes<'a>(input: &FormatInput<'a>) -> BTreeMap<&'a str, (&'a str, &'a str)> {
    const LENGTH_MAX: usize = 4096;
    let mut causes = BTreeMap::new();
    let lines = input.lines.iter().chain(input.beside.lines);
    for line in lines.filter(|line| line.len() <= LENGTH_MAX && !line.starts_with(['#', ' '])) {
        for (at, _) in line.match_indices(" at ") {
            let Some((file, number)) = line[at + " at ".len()..].split_once(" line ") else { break };
            causes.entry(file).or_insert((&line[..at], number));
        }
    }
    causes
}

/// Names tests by the numbers in the summary, or by the names that `--failures` prints below `head`, the file's line.
fn numbered(
    input: &FormatInput<'_>,
    file: &File<'_>,
    head: Option<usize>,
    collector: &mut FailureCollector<'_>,
) {
    let below = head
        .map_or(&[][..], |at| until(input.lines, at + 1, |line| line.is_empty() || line.contains(" .. ")));
    let names: BTreeMap<&str, &str> =
        below.iter().filter_map(|line| line.strip_prefix("not ok ")?.split_once(" - ")).collect();
    for (first, last) in file.ranges() {
        for number in (first..=last).take(FAILURES_MAX) {
            let number = number.to_string();
            let name = names.get(number.as_str()).map_or(format!("test {number}"), |name| (*name).to_owned());
            let draft = RawFailure::test("prove", &name, &[]).with_line(file.line);
            collector.push(draft.with_test_file(file.name).at(file.name, None).message(file.line));
        }
    }
}

/// Minimum indentation of values is more than this.
const MARGIN: usize = 3;
