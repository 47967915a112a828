//! Test::More of Perl, by its comments: `prove` without `-v` keeps the points for itself, and with it does not say in them of
//! which file they are.

use std::collections::{BTreeMap, BTreeSet};

use super::super::FAILURES_MAX;
use super::super::draft::{Draft, Found};
use super::super::reason::indentation;
use super::{Sheet, until};

/// Reads `#   Failed test 'name'`, the place on the next line, and the values below, further in. What a subtest says is
/// part of the test around it.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let summary = summary(sheet);
    died(sheet, &summary, found);
    // With the points come their plans, but where only those that failed are shown.
    let has = |begin: &str| {
        let mut streams = [sheet.own, sheet.beside].into_iter();
        streams.any(|it| {
            it.beginning(&begin.as_bytes()[..1]).any(|(_, line)| line.trim_start().starts_with(begin))
        })
    };
    if has("not ok ") && (has("1..") || summary.is_empty()) && !tells(sheet) {
        return;
    }
    for (at, line) in sheet.marked() {
        let Some((name, file, number)) = comment(sheet.lines, at) else { continue };
        let is_value = |line: &str| line.strip_prefix('#').is_some_and(|told| indentation(told) > MARGIN);
        let values = until(sheet.lines, at + 2, |line| !is_value(line));
        let block: Vec<&str> = values.iter().map(|line| line.trim_start_matches(['#', ' '])).collect();
        let draft = Draft::test("prove", if name.is_empty() { file } else { name }, &block);
        found.push(draft.within(file).at(file, number).headed(line));
    }
    if summary.iter().all(|file| file.failed.is_empty()) {
        return;
    }
    let streams = [sheet.lines, sheet.beside.lines];
    let comments = streams.iter().flat_map(|lines| (0..lines.len()).filter_map(|at| comment(lines, at)));
    let by_file: Vec<&str> = comments.map(|(_, file, _)| file).collect();
    let failed: usize = summary.iter().map(|file| file.failed.len()).sum();
    if by_file.len() < failed {
        let told: BTreeSet<&str> = by_file.into_iter().collect();
        let untold = summary.iter().filter(|file| !told.contains(file.name));
        untold.for_each(|file| numbered(sheet, file, found));
    }
}

/// Says whether it sums up several files, of which comments tell what failed.
pub(super) fn tells(sheet: &Sheet<'_>) -> bool {
    let streams = [sheet.own, sheet.beside];
    let mut headlines = streams.iter().flat_map(|it| it.starting(b"T"));
    let mut comments = streams.iter().flat_map(|it| it.starting(b"#").map(|(at, _)| comment(it.lines, at)));
    headlines.any(|(_, line)| line == "Test Summary Report") && comments.any(|it| it.is_some())
}

/// Reads the name, the file and the line of a test that failed, of which the place may stand on the next line.
fn comment<'a>(lines: &[&'a str], at: usize) -> Option<(&'a str, &'a str, Option<u32>)> {
    let told = lines[at].strip_prefix("#   Failed test ")?;
    let below = lines.get(at + 1).map_or("", |line| line.trim_start_matches(['#', ' ']));
    let (name, place) = told.split_once("at ").filter(|(name, _)| name.is_empty()).unwrap_or((told, below));
    let (file, number) = place.trim_start_matches("at ").trim_end_matches('.').rsplit_once(" line ")?;
    let name = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap_or(name);
    Some((name, file, number.parse().ok()))
}

/// What the summary says of a file.
struct File<'a> {
    name: &'a str,
    line: &'a str,
    /// The numbers of the tests that failed.
    failed: Vec<&'a str>,
    /// How the process ended, where not well.
    status: &'a str,
    /// What is wrong with the plan.
    plan: &'a str,
}

/// Reads the summary, in which each file has its own lines below it.
fn summary<'a>(sheet: &Sheet<'a>) -> Vec<File<'a>> {
    let mut files = Vec::new();
    for (at, line) in sheet.marked() {
        let Some((name, _)) = line.split_once(" (Wstat: ") else { continue };
        let mut file = File { name: name.trim_end(), line, failed: Vec::new(), status: "", plan: "" };
        let mut numbers = false;
        for line in until(sheet.lines, at + 1, |line| !line.starts_with("  ")) {
            let (title, said) = line.split_once(": ").unwrap_or(("", line));
            match title.trim_start() {
                // A long list goes on below.
                "" if numbers => {}
                title => numbers = title.starts_with("Failed test"),
            }
            match title.trim_start() {
                _ if numbers => {
                    file.failed.extend(said.split(',').map(str::trim).filter(|it| !it.is_empty()))
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

/// Reads which files do not keep their plan, or end badly although all their tests passed: those that died. Perl says where.
fn died(sheet: &Sheet<'_>, summary: &[File<'_>], found: &mut Found<'_>) {
    for file in summary {
        let (kind, what) = match (file.plan, file.status) {
            ("", "") => continue,
            ("", _) if !file.failed.is_empty() => continue,
            ("", status) => ("exit status", status),
            (plan, _) if plan.starts_with("No plan found") => ("no plan", plan),
            (plan, _) => ("bad plan", plan),
        };
        let place = format!(" at {} line ", file.name);
        let lines = sheet.lines.iter().chain(sheet.beside.lines);
        let cause =
            lines.filter(|line| !line.starts_with(['#', ' '])).find_map(|line| line.split_once(&place));
        let draft = Draft::diagnostic("prove", file.name, None, what).kind(kind).told_by(file.line);
        found.push(match cause {
            Some((cause, number)) => {
                let number = number.trim_end().trim_end_matches('.').parse().ok();
                draft.at(file.name, number).about(cause).message(&format!("{cause}\n{what}"))
            }
            None => draft.message(&format!("{what}\n{}", file.line)),
        });
    }
}

/// Tells of tests of which only the summary does, by their numbers; with `--failures` their names stand below the file.
fn numbered(sheet: &Sheet<'_>, file: &File<'_>, found: &mut Found<'_>) {
    let head = |line: &&str| line.split_once(" ..").is_some_and(|(name, _)| name == file.name);
    let below =
        sheet.lines.iter().position(head).map_or(&[][..], |at| {
            until(sheet.lines, at + 1, |line| line.is_empty() || line.contains(" .. "))
        });
    let names: BTreeMap<&str, &str> =
        below.iter().filter_map(|line| line.strip_prefix("not ok ")?.split_once(" - ")).collect();
    for range in &file.failed {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else { continue };
        for number in (first..=last).take(FAILURES_MAX) {
            let number = number.to_string();
            let name = names.get(number.as_str()).map_or(format!("test {number}"), |name| (*name).to_owned());
            let draft = Draft::test("prove", &name, &[]).told_by(file.line);
            found.push(draft.within(file.name).at(file.name, None).message(file.line));
        }
    }
}

/// Values stand further in than this.
const MARGIN: usize = 3;
