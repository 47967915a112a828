//! TAP, with the diagnostics in comments (bats, prove) or in YAML blocks (node, ava, tape).

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;
use unstuck_core::text::plain::strip_ansi;

use super::super::clean_output::CleanOutput;
use super::super::words::{begins, indentation, leading_number};
use super::{
    FailureCollector, FormatInput, MaskingStyle, OnTest, RawFailure, TestOutcome, gcc_style, libcheck, mocha,
    node_test, places, prove, scan, until,
};

/// Reads every point that is not ok and not expected to fail.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    if !input.starting(b"T1").any(|(_, line)| is_tap(line)) || prove::reports_all(input) {
        return;
    }
    let lines = stream(input.lines);
    let start = input.lines.len() - lines.len();
    let said = yaml_blocks(lines, input.beginning(b"-").filter_map(|(at, _)| at.checked_sub(start)));
    let points = without_blocks(lines, &said);
    let strays = stray_points(lines, &points, &input.firsts[start..]);
    let is_of_bats =
        |line: &str| line.starts_with("# bats_") || line.starts_with("# (") && line.contains("in test file ");
    let bats = input.starting(b"#").any(|(_, line)| is_of_bats(line));
    let tool = if bats { "bats" } else { "tap" };
    let timed = is_timed(lines);
    let below = |(at, line): (usize, _)| (at >= start).then_some(line);
    let are_plain = is_tape(input.beginning(b"o#").filter_map(below));
    let mut parents = Parents { are_plain, ..Parents::default() };
    let files = prove::files(input);
    let begins = input.begins[start..].iter().enumerate();
    let (mut plans, mut has_failed) = (Plans::default(), false);
    for (at, _) in begins.filter(|(_, begin)| matches!(begin, b'#' | b'1' | b'B' | b'n' | b'o')) {
        let line = points[at];
        plans.take(line);
        if let Some(reason) = line.strip_prefix("Bail out!") {
            collector.push(RawFailure::process(tool, "bail out", &[reason]));
            has_failed = true;
        }
        let (depth, point) = parents.take(line);
        let Some(name) = point.strip_prefix("not ok ").and_then(name) else { continue };
        has_failed = true;
        let is_parent = parents.ends(depth, name) && !has_reason(&lines[at + 1..]);
        if is_parent
            || strays.contains(&at)
            || (begins_block(line) && holds_failure(&points[at + 1..], depth))
        {
            continue;
        }
        let name = if timed { without_elapsed(name).unwrap_or(name) } else { name };
        let before = &input.lines[..start + at];
        let file = files[..files.partition_point(|(of, _)| *of < before.len())].last();
        let file = file.map_or("", |(_, file)| file);
        // prove's message about a file is below its last point, without indentation.
        let is_of_prove = |line: &str| !file.is_empty() && !line.is_empty() && !line.starts_with([' ', '#']);
        let body = until(lines, at + 1, |line| ends(line, depth) || is_of_prove(line));
        // A linter writes a point for each problem, and Check writes everything in the description.
        let bare = Some(name).filter(|_| body.is_empty());
        let problem = || Some(gcc_style::parse(bare?)?.draft().message(line));
        if let Some(draft) = problem().or_else(|| libcheck::point(bare?)) {
            collector.push(draft);
            continue;
        }
        push(tool, &parents.path(depth, name), file, line, body, before, collector);
    }
    // A failed hook, or a first failure that stops the run, already explains why the others are missing.
    let missing = if has_failed { None } else { plans.missing_points(tool, &points) };
    missing.into_iter().for_each(|draft| collector.push(draft));
    said.into_iter().for_each(|said| collector.add_printed(&lines[said]));
}

/// Reports the results of the tests that the points name. Points of tape are assertions, not tests.
pub(crate) fn outcomes(lines: &[&str], tell: &mut OnTest<'_>) {
    if !lines.iter().any(|line| is_tap(line)) || is_tape(lines.iter().copied()) {
        return;
    }
    let lines = stream(lines);
    let mut parents = Parents::default();
    let timed = is_timed(lines);
    let dashed = (0..lines.len()).filter(|at| begins(lines[*at]) == Some(b'-'));
    for line in &without_blocks(lines, &yaml_blocks(lines, dashed)) {
        let (depth, point) = parents.take(line);
        let failed = point.strip_prefix("not ok ").map(|rest| (rest, TestOutcome::Failed));
        let ended = failed.or_else(|| Some((point.strip_prefix("ok ")?, TestOutcome::Passed)));
        let Some((rest, outcome)) = ended.filter(|_| !begins_block(line)) else { continue };
        let (name, excused) = description(rest);
        let outcome = if excused { TestOutcome::Skipped } else { outcome };
        let name = if timed { without_elapsed(name).unwrap_or(name) } else { name };
        let name = bare(name);
        if !name.is_empty() && gcc_style::parse(name).is_none() {
            tell("tap", &parents.path(depth, name), outcome);
        }
    }
}

/// Removes the result that Check and cmocka append to the name of a test.
fn bare(description: &str) -> &str {
    let of_check = libcheck::point(description).and_then(|_| description.split_once(": "));
    let of_cmocka = || description.split_once(" Could not run test: ");
    of_check.or_else(of_cmocka).map_or(description, |(name, _)| name)
}

/// Checks whether a line is a point that a linter wrote for a problem, and not a test.
pub(crate) fn is_problem(line: &str) -> bool {
    line.strip_prefix("not ok ").and_then(name).is_some_and(|name| gcc_style::parse(name).is_some())
}

/// Returns the lines from the version on, if there is one: the lines above are printed by the tests themselves.
pub(crate) fn stream<'s, 'a>(lines: &'s [&'a str]) -> &'s [&'a str] {
    let start = lines.iter().position(|line| line.starts_with("TAP version"));
    &lines[start.unwrap_or_default()..]
}

/// Returns the blocks of YAML, each of which belongs to the point above it. `dashed` are lines that begin with a dash.
fn yaml_blocks(lines: &[&str], dashed: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut blocks: Vec<Range<usize>> = Vec::new();
    for at in dashed {
        let is_said = blocks.last().is_some_and(|block| at < block.end);
        let above = || lines[at - 1].trim_start();
        let opens = !is_said
            && at > 0
            && lines[at].trim() == "---"
            && (above().starts_with("ok ") || above().starts_with("not ok "));
        let closes = |line: &&&str| line.trim() == "..." && indentation(line) == indentation(lines[at]);
        if opens && let Some(length) = scan(&lines[at..]).position(|line| closes(&line)) {
            blocks.push(at..at + length + 1);
        }
    }
    blocks
}

/// Returns the lines; those in these blocks become empty.
fn without_blocks<'a>(lines: &[&'a str], said: &[Range<usize>]) -> Vec<&'a str> {
    let mut points = lines.to_vec();
    said.iter().for_each(|said| points[said.clone()].fill(""));
    points
}

/// Returns the lines of points that a test printed.
///
/// Such a point has no details below it, and its number is above the plan or repeats the number of a point in its
/// place, since points are numbered in order. Other points that are out of order may belong to the tool itself: node
/// numbers each file separately.
fn stray_points(lines: &[&str], points: &[&str], firsts: &[u8]) -> BTreeSet<usize> {
    let plans = places(b"1", firsts).map(|at| lines[at]).filter(|line| is_plan(line));
    let planned = plans.map(|line| leading(&line["1..".len()..])).max();
    let (mut strays, mut out_of_order, mut next) = (BTreeSet::new(), Vec::new(), 1);
    let firsts = firsts.iter().enumerate();
    for (at, _) in firsts.filter(|(_, first)| matches!(first, b'T' | b'1' | b'n' | b'o')) {
        let line = points[at];
        if is_tap(line) {
            // Another stream begins, or one has ended.
            strays.extend(out_of_order.drain(..).filter(|(_, number)| *number < next).map(|(at, _)| at));
            next = 1;
        }
        let number = line.strip_prefix("not ok ").or_else(|| line.strip_prefix("ok ")).map_or(0, leading);
        if number == 0 {
            continue;
        }
        let below = lines.get(at + 1).filter(|below| below.starts_with([' ', '\t', '#']));
        let is_told = below.is_some_and(|below| !is_counter(below));
        let above = planned.is_some_and(|planned| number > planned);
        if number == next && !above {
            next += 1;
        } else if above && !is_told {
            strays.insert(at);
        } else if number + 1 != next && !is_told {
            out_of_order.push((at, number));
        }
    }
    strays.extend(out_of_order.into_iter().filter(|(_, number)| *number < next).map(|(at, _)| at));
    strays
}

/// The kind of failure for a plan with missing points.
pub(crate) const UNFULFILLED: &str = "plan";

/// Checks whether a plan of either page is incomplete although no point failed. If the exit status is lost in a pipe,
/// only this shows that a program ended in the middle of its tests.
pub(crate) fn is_incomplete(pages: &[CleanOutput<'_>; 2]) -> bool {
    pages.iter().filter(|page| page.text().contains("1..")).any(|page| {
        let lines = page.lines();
        let lines = stream(&lines);
        let dashed = (0..lines.len()).filter(|at| begins(lines[*at]) == Some(b'-'));
        let points = without_blocks(lines, &yaml_blocks(lines, dashed));
        let mut plans = Plans::default();
        points.iter().for_each(|line| plans.take(line));
        plans.missing_points("tap", &points).is_some()
    })
}

/// Number of points that were planned in all streams, and number of points that were reported.
#[derive(Default)]
struct Plans<'l> {
    planned: u64,
    told: u64,
    /// Number of points reported since the last plan.
    since: u64,
    last: Option<&'l str>,
    are_numbered: bool,
}

impl<'l> Plans<'l> {
    /// Adds a line that is a point or a plan of the outermost tests.
    fn take(&mut self, line: &'l str) {
        if let Some(rest) = line.strip_prefix("ok").or_else(|| line.strip_prefix("not ok")) {
            self.are_numbered |= rest.strip_prefix(' ').is_some_and(|rest| leading(rest) > 0);
            (self.told, self.since) = (self.told + 1, self.since + 1);
        } else if is_plan(line) {
            // A plan after points counts them. If they already have a plan, it begins another stream.
            if self.since == 0 || self.last.is_some() {
                self.planned = self.planned.saturating_add(leading(&line["1..".len()..]));
                self.last = Some(line);
            }
            self.since = 0;
        }
    }

    /// Returns the failure for missing points. If the exit status is lost, only the plan shows that a program died.
    fn missing_points(&self, tool: &'static str, points: &[&str]) -> Option<RawFailure> {
        let plan = self.last.filter(|_| self.are_numbered && self.told < self.planned)?;
        // A point may follow the output of a test without a line feed: `loading... ok 3 - adds`.
        let is_behind = |line: &str| {
            line.match_indices("ok ").any(|(at, word)| at > 0 && leading(&line[at + word.len()..]) > 0)
        };
        let is_point = |line: &str| line.starts_with("ok") || line.starts_with("not ok");
        let behind = points.iter().filter(|line| !is_point(line) && is_behind(line)).count();
        let told = self.told + behind as u64;
        if told >= self.planned {
            return None;
        }
        let text = format!("planned {} tests, of which {told} were told", self.planned);
        let draft = RawFailure::process(tool, UNFULFILLED, &[]).message(&text).with_line(plan);
        Some(RawFailure { values: text, ..draft })
    }
}

/// Checks whether a comment counts tests: `# fail 3`, as node, tape and QUnit end a stream.
pub(crate) fn is_counter(line: &str) -> bool {
    let counted =
        line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")).and_then(|rest| rest.split_once(' '));
    counted.is_some_and(|(what, number)| {
        what.bytes().all(|byte| byte.is_ascii_lowercase())
            && number.trim_start().parse::<f64>().is_ok_and(|number| number >= 0.0)
    })
}

fn leading(text: &str) -> u64 {
    leading_number(text).and_then(|(number, _)| number.parse().ok()).unwrap_or_default()
}

/// Checks whether tape printed the lines: node names operators as well, but also its subtests.
fn is_tape<'l>(lines: impl Iterator<Item = &'l str>) -> bool {
    let mut names_operators = false;
    for line in lines.map(str::trim_start) {
        if line.starts_with("# Subtest: ") {
            return false;
        }
        names_operators |= line.starts_with("operator: ");
    }
    names_operators
}

/// The open subtests at a line, with their depths.
#[derive(Default)]
struct Parents<'l> {
    within: Vec<Parent<'l>>,
    /// Only comments name them, as in tape, whose points are the assertions of a test.
    are_plain: bool,
}

/// A test with tests in it.
struct Parent<'l> {
    depth: usize,
    name: &'l str,
    /// A more indented point was not ok.
    has_failed: bool,
}

impl<'l> Parents<'l> {
    /// Reads a line, and returns its depth and the line without indentation.
    fn take(&mut self, line: &'l str) -> (usize, &'l str) {
        let depth = indentation(line);
        let point = if depth > 0 { line.trim_start() } else { line };
        if point.strip_prefix("not ok ").and_then(name).is_some() {
            let around = self.within.iter_mut().filter(|parent| parent.depth < depth);
            around.for_each(|parent| parent.has_failed = true);
        }
        if self.are_plain {
            if let Some(name) = line.strip_prefix("# ") {
                self.within = vec![Parent { depth: 0, name, has_failed: false }];
            }
        } else {
            let begun = || point.strip_prefix("not ok ").or_else(|| point.strip_prefix("ok "));
            let opened = || {
                begun().filter(|_| begins_block(line)).map(|rest| description(rest).0.trim_end_matches(" {"))
            };
            if let Some(name) = point.strip_prefix("# Subtest: ").or_else(opened) {
                self.within.retain(|parent| parent.depth < depth);
                self.within.push(Parent { depth, name, has_failed: false });
            }
        }
        (depth, point)
    }

    /// Checks whether a point summarizes a test whose own points precede it, and which is then complete. brittle ends
    /// each test like this, and node-tap each subtest.
    fn ends(&mut self, depth: usize, name: &str) -> bool {
        let summed_up = |parent: &Parent<'_>| parent.depth == depth && parent.name == name;
        let ends = self.within.iter().any(|parent| parent.has_failed && summed_up(parent));
        if ends {
            self.within.retain(|parent| parent.depth < depth);
        }
        ends
    }

    fn path(&self, depth: usize, name: &str) -> String {
        let is_above = |parent: &&Parent<'_>| self.are_plain || parent.depth < depth;
        let parents = self.within.iter().filter(is_above).map(|parent| parent.name);
        parents.chain([name]).collect::<Vec<_>>().join(" > ").replace("\\#", "#")
    }
}

/// Checks whether the block of YAML below a point says why it failed, and not only where it is.
fn has_reason(below: &[&str]) -> bool {
    const WHY: [&str; 9] = [
        "error:", "message:", "diff:", "found:", "failureType:", "signal:", "timeout:", "exitCode:",
        "tapError:",
    ];
    let mut block = scan(below).map(|line| line.trim()).take_while(|line| *line != "...");
    block.next() == Some("---") && block.any(|line| WHY.iter().any(|field| line.starts_with(field)))
}

/// Checks whether the points of a parent follow in braces, as vitest writes them.
fn begins_block(point: &str) -> bool {
    point.ends_with(" {")
}

/// Checks whether a more indented point failed below a parent that has opened.
fn holds_failure(below: &[&str], depth: usize) -> bool {
    let inner = scan(below).take_while(|line| line.trim().is_empty() || indentation(line) > depth);
    inner
        .map(|line| line.trim_start())
        .any(|line| line.strip_prefix("not ok ").is_some_and(|rest| name(rest).is_some()))
}

/// A version or a plan makes it TAP; a point alone is not enough.
fn is_tap(line: &str) -> bool {
    line.starts_with("TAP version") || is_plan(line)
}

fn is_plan(line: &str) -> bool {
    line.strip_prefix("1..").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns the name after the number; `None` for a point that is skipped or marked as to do.
fn name(rest: &str) -> Option<&str> {
    let (name, excused) = description(rest);
    (!excused).then_some(name)
}

/// Returns the name after the number, and whether the point is skipped or marked as to do.
fn description(rest: &str) -> (&str, bool) {
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = rest.rsplit_once(" #").unwrap_or((rest, ""));
    // A number sign may be part of the name.
    let behind = directive.trim_start_matches([' ', '(']);
    let timed = ["time=", "time ="].iter().any(|head| behind.starts_with(head))
        || behind.starts_with("in ") && behind.contains("ms");
    match (is_skip_directive(directive), timed) {
        (true, _) => (super::without_time(name), true),
        (_, true) => (name.trim(), false),
        _ => (super::without_time(rest), false),
    }
}

/// Checks whether the text after the `#` of a point means that it is skipped or to do.
pub(crate) fn is_skip_directive(directive: &str) -> bool {
    let word = directive.trim_start().get(..4);
    word.is_some_and(|word| word.eq_ignore_ascii_case("skip") || word.eq_ignore_ascii_case("todo"))
}

/// Checks whether a duration follows every name, as `bats --timing` writes it: `not ok 1 adds in 8ms`.
fn is_timed(lines: &[&str]) -> bool {
    let points = || lines.iter().filter_map(|line| line.strip_prefix("not ok ").or(line.strip_prefix("ok ")));
    // Failures of setup and teardown of a file have no duration.
    let is_untimed = |name: &str| matches!(name, "setup_file failed" | "teardown_file failed");
    let is_timed = |point: &str| {
        let name = description(point).0;
        point.contains(" # skip") || is_untimed(name) || without_elapsed(name).is_some()
    };
    points().next().is_some()
        && points().all(is_timed)
        && !lines.iter().any(|line| line.starts_with("TAP version"))
}

fn without_elapsed(name: &str) -> Option<&str> {
    let (name, time) = name.rsplit_once(" in ")?;
    let unit = time.trim_start_matches(|c: char| c.is_ascii_digit());
    (unit.len() < time.len() && matches!(unit, "ms" | "s" | "sec")).then_some(name)
}

fn ends(line: &str, depth: usize) -> bool {
    let bare = line.trim_start();
    let point = bare.starts_with("ok ") || bare.starts_with("not ok ") || bare.starts_with("# Subtest: ");
    (point && indentation(line) <= depth) || is_plan(line)
}

fn push(
    tool: &'static str,
    name: &str,
    within: &str,
    line: &str,
    body: &[&str],
    before: &[&str],
    collector: &mut FailureCollector<'_>,
) {
    let yaml = body.iter().position(|line| line.trim() == "---");
    let block: Vec<&str> = match yaml {
        Some(start) => until(body, start + 1, |line| line.trim() == "...").to_vec(),
        None => body
            .iter()
            .map(|line| line.strip_prefix("# ").or(line.strip_prefix('#')).unwrap_or(line))
            .collect(),
    };
    if yaml.is_some() && block.iter().any(|line| line.trim_start().starts_with("ruleId:")) {
        let drafts = of_linter(name, &block).into_iter().map(|draft| draft.with_line(line));
        return collector.push_errors(drafts.collect());
    }
    let draft = match yaml {
        Some(_) => of_yaml(tool, name, &block),
        None => mocha::from_report(name, &block).or_else(|| of_comments(tool, name, &block)),
    };
    let Some(draft) = draft else { return };
    let draft = draft.with_heading(line.trim()).with_line(line);
    let draft = if yaml.is_some() { node_test::file_of_its_own(draft, name, before) } else { draft };
    let draft = if within.is_empty() { draft } else { draft.with_test_file(within) };
    // The process of a file fails with its tests.
    let is_told =
        draft.test.is_none() && draft.file.as_deref().is_some_and(|file| collector.has_test_in(file));
    if !is_told {
        collector.push(draft);
    }
}

/// Reads the problems of ESLint in a file: the first one from the fields themselves, the others from a list below.
fn of_linter(file: &str, block: &[&str]) -> Vec<RawFailure> {
    let mut drafts: Vec<RawFailure> = Vec::new();
    for line in block {
        let line = line.trim_start();
        let Some((key, value)) = line.strip_prefix("- ").unwrap_or(line).split_once(": ") else { continue };
        let value = unquote(value).replace("''", "'");
        match (key, drafts.last_mut()) {
            ("message", _) => {
                drafts.push(RawFailure::diagnostic("eslint", file, None, &value).message(&value))
            }
            ("severity", Some(draft)) => draft.is_warning = value == "warning",
            ("line", Some(draft)) => draft.line = value.parse().ok(),
            ("ruleId", Some(draft)) => draft.kind = value,
            _ => {}
        }
    }
    drafts
}

/// Reads the fields with the reason; a block of a field is indented below it.
fn of_yaml(tool: &'static str, name: &str, block: &[&str]) -> Option<RawFailure> {
    let fields = block.iter().enumerate().filter_map(|(at, line)| {
        let (name, value) = line.trim_start().split_once(':')?;
        Some((at, name, value.trim())).filter(|(.., value)| !value.is_empty())
    });
    let fields: Vec<(usize, &str, &str)> = fields.collect();
    let field = |wanted: &[&str]| {
        // vitest writes the name and the message of an error below it.
        let (at, _, value) = *fields.iter().find(|(_, name, _)| wanted.contains(name))?;
        let below = until(block, at + 1, |line| {
            indentation(line) <= indentation(block[at]) && !line.trim().is_empty()
        });
        let is_open = value.starts_with('"') && (value.len() == 1 || !value.ends_with('"'));
        Some(if value.starts_with('|') || value.starts_with('>') {
            below.join("\n")
        } else if is_open {
            let closes = block[at + 1..].iter().position(|line| line.ends_with('"'));
            let end = closes.map_or(block.len(), |closes| at + closes + 2);
            unquote(&[&[value], &block[at + 1..end]].concat().join("\n"))
        } else {
            unquote(value)
        })
    };
    if let Some(draft) = of_json(tool, name, block) {
        return Some(draft).filter(|draft| !super::super::words::is_parent(&draft.message));
    }
    let error = field(&["error", "message"]).unwrap_or_default();
    if super::super::words::is_parent(&error) {
        return None;
    }
    let kind = [
        field(&["name"]),
        field(&["failureType"]),
        field(&["code"]),
        field(&["assertion"]),
        field(&["severity"]),
    ];
    let kind = kind.into_iter().flatten().find(|kind| kind != "testCodeFailure").unwrap_or_default();
    let lines: Vec<&str> = error.lines().map(str::trim_start).collect();
    if lines.first().is_some_and(|line| line.starts_with('(') && line.contains(" test file ")) {
        return Some(of_bats(name, &lines));
    }
    let lines: Vec<&str> = error.lines().collect();
    let values: Vec<&str> = block
        .iter()
        .copied()
        .filter(|line| !line.contains("duration_ms:") && !line.contains("stack:") && !line.contains("at:"))
        .collect();
    let draft = RawFailure::test(tool, name, &lines);
    let place = field(&["location", "at"]).unwrap_or_default();
    let mut parts = place.rsplitn(3, ':').skip(1);
    let number = parts.next().and_then(|number| number.parse().ok());
    let file = parts.next().unwrap_or_default().rsplit('(').next().unwrap_or_default().to_owned();
    Some(draft.kind(&kind).at(&file, number).with_test_file(&file).message(&values.join("\n")))
}

/// Reads a block that is one JSON object, as deno writes it.
fn of_json(tool: &'static str, name: &str, block: &[&str]) -> Option<RawFailure> {
    let line = block.iter().map(|line| line.trim()).find(|line| !line.is_empty())?;
    let fields: Value = line.starts_with('{').then(|| serde_json::from_str(line).ok())??;
    let message = strip_ansi(fields["message"].as_str()?);
    let file = fields["at"]["file"].as_str().unwrap_or_default().trim_start_matches("./");
    let number = fields["at"]["line"].as_u64().and_then(|number| number.try_into().ok());
    let lines: Vec<&str> = message.lines().collect();
    Some(RawFailure::test(tool, name, &lines).at(file, number).with_test_file(file).message(&message))
}

/// Removes the quotation marks around a value.
fn unquote(value: &str) -> String {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    match (inner('"'), inner('\'')) {
        (Some(inner), _) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        (_, Some(inner)) => inner.replace("\\'", "'"),
        _ => value.to_owned(),
    }
}

/// Reads comments: bats comments name the place and the command; other comments are the message themselves.
fn of_comments(tool: &'static str, name: &str, block: &[&str]) -> Option<RawFailure> {
    let Some(at) = block.iter().position(|line| line.starts_with('(')) else {
        return Some(RawFailure::test(tool, name, block));
    };
    Some(of_bats(name, &block[at..]))
}

/// Reads `(in test file a.bats, line 3)` and the command below.
pub(super) fn of_bats(name: &str, block: &[&str]) -> RawFailure {
    let place =
        until(block, 0, |line| !line.trim_start().starts_with(['(', ' ']) && !line.contains("in test file "));
    let place_text = place.join(" ");
    let (_, behind) = place_text.rsplit_once("file ").unwrap_or_default();
    let (file, number) = behind.split_once(", line ").unwrap_or((behind, ""));
    let command = block[place.len().min(block.len())..].first().copied().unwrap_or_default();
    let function = place_text
        .contains("`setup")
        .then_some("setup ")
        .or(place_text.contains("`teardown").then_some("teardown "))
        .unwrap_or_default();
    let draft = RawFailure::test("bats", name, block)
        .about(command.trim())
        .with_test_file(file)
        .at(file, number.trim_end_matches([')', ' ']).parse().ok());
    RawFailure { style: MaskingStyle::Diagnostic, values: block.join("\n"), ..draft }
        .kind(format!("{function}command").trim())
}
