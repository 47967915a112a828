//! node --test with the reporter for people.

use std::collections::{BTreeMap, VecDeque};

use memchr::memmem;

use super::super::draft::{Draft, Found, Style};
use super::super::listing::{Ending, Tell};
use super::super::reason::{exception, indentation};
use super::{Sheet, until, without_time};

const TOOL: &str = "node-test";

/// Reads the list at the end; the tree above it knows the parents of each test.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let lines = sheet.lines;
    let is_list = |line: &&str| matches!(*line, "✖ failing tests:" | "Failed tests:");
    let Some(list) = lines.iter().rposition(is_list) else { return };
    let mut names = names(&lines[..list], sheet.begins);
    for (at, line) in sheet.starting(&["✖".as_bytes()[0]]).skip_while(|(at, _)| *at <= list) {
        let named = line.strip_prefix("✖ ").filter(|name| !is_excused(name));
        let Some(name) = named.map(without_time) else { continue };
        let block = until(lines, at + 1, |line| line.starts_with("✖ ") || line.starts_with("test at "));
        // Parents are not in the list, but a file that failed as a whole is.
        let full = names.get_mut(name).and_then(VecDeque::pop_front);
        let first = block.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
        if super::junit::is_parent(first.trim_matches('\'')) {
            continue;
        }
        let draft = Draft::test(TOOL, full.as_deref().unwrap_or(name), block);
        let draft = match place(lines[at - 1]) {
            Some((file, line)) => draft.at(file, line).within(file),
            None => draft,
        };
        found.push(file_of_its_own(draft, name, &lines[..list]).headed(name));
    }
}

/// Says whether a test may fail, behind its name and time: `(1.2ms) # TODO for a reason`.
fn is_excused(name: &str) -> bool {
    name.contains("ms) # TODO")
}

/// Reads `test at a.js:1:2`.
fn place(line: &str) -> Option<(&str, Option<u32>)> {
    let mut parts = line.strip_prefix("test at ")?.rsplitn(3, ':').skip(1);
    let number = parts.next()?.parse().ok();
    Some((parts.next()?, number))
}

/// Returns the file of the function that a runner called, by the stack trace of node --test or mocha; empty where
/// there is none.
pub(super) fn called_from<'b>(block: &[&'b str]) -> &'b str {
    let file = |line: &&'b str| {
        let (function, place) = line.trim_start().strip_prefix("at ")?.split_once(" (")?;
        let mut parts = place.strip_suffix(')')?.rsplitn(3, ':').skip(2);
        let file = parts.next().filter(|_| function.contains("Context."))?;
        (!file.starts_with("node:")).then(|| file.strip_prefix("file://").unwrap_or(file))
    };
    block.iter().rev().find_map(file).unwrap_or_default()
}

/// Says whether the failure is that of a whole file: the runner only knows that its process failed.
pub(super) fn is_file(name: &str, reason: &str) -> bool {
    let ends = [".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx", ".tsx"];
    ends.iter().any(|end| name.ends_with(end)) && reason.contains("test failed")
}

/// Says whether a line tells how a test ended.
fn is_point(line: &str) -> bool {
    let entry = line.trim_start();
    ["✔ ", "✖ ", "﹣ ", "ok ", "not ok "].iter().any(|mark| entry.starts_with(mark))
}

/// A file that could not be run says why before its own point.
pub(super) fn file_of_its_own(draft: Draft, name: &str, lines: &[&str]) -> Draft {
    /// So far above its point a file may say why.
    const LINES: usize = 2000;
    if !is_file(name, &draft.about) {
        return draft;
    }
    let draft = Draft { test: None, ..draft }.at(name, None);
    let near = &lines[lines.len().saturating_sub(LINES)..];
    // What stands above another point is of that one.
    let named = memmem::Finder::new(name);
    let is_own = |line: &&str| named.find(line.as_bytes()).is_some() && is_point(line);
    let own = near.iter().rposition(is_own).unwrap_or(near.len());
    let above = near[..own].iter().rposition(|line| is_point(line)).map_or(0, |at| at + 1);
    let told: Vec<&str> =
        near[above..own].iter().map(|line| line.trim_start_matches("# ").trim_start()).collect();
    let raised = |line: &&str| exception(line).is_some_and(|(kind, _)| kind.ends_with("Error"));
    let Some(at) = told.iter().rposition(raised) else { return draft };
    let why = Draft::process(TOOL, "", until(&told, at, str::is_empty));
    let message = format!("{}\n{}", draft.message, why.message);
    Draft { kind: why.kind, about: why.about, values: why.values, style: Style::Diagnostic, ..draft }
        .message(&message)
}

/// Returns the full names of the failed tests by their last parts, from a tree that shows depth by indentation.
fn names<'a>(lines: &[&'a str], begins: &[u8]) -> BTreeMap<&'a str, VecDeque<String>> {
    let mut parents: Vec<&str> = Vec::new();
    let mut names: BTreeMap<&str, VecDeque<String>> = BTreeMap::new();
    for (line, _) in lines.iter().zip(begins).filter(|(_, begin)| !begin.is_ascii()) {
        let depth = indentation(line) / 2;
        let entry = line.trim_ascii_start();
        if let Some(name) = entry.strip_prefix("▶ ") {
            parents.truncate(depth);
            parents.push(without_time(name));
        } else if let Some(name) = entry.strip_prefix("✖ ").map(without_time) {
            let mut path = parents[..depth.min(parents.len())].to_vec();
            path.push(name);
            names.entry(name).or_default().push_back(path.join(" > "));
        }
    }
    names
}

/// Tells how the tests of the tree ended, which the numbers stand below.
pub(in crate::failure) fn endings(lines: &[&str], tell: &mut Tell<'_>) {
    let Some(end) = lines.iter().position(|line| line.starts_with("ℹ tests ")) else { return };
    let marks = [("✔ ", Ending::Passed), ("✖ ", Ending::Failed), ("﹣ ", Ending::Excused)];
    let mut parents: Vec<&str> = Vec::new();
    for line in &lines[..end] {
        let depth = indentation(line) / 2;
        let entry = line.trim_ascii_start();
        if let Some(name) = entry.strip_prefix("▶ ") {
            parents.truncate(depth);
            parents.push(without_time(name));
            continue;
        }
        let found = marks.iter().find_map(|(mark, ending)| Some((entry.strip_prefix(mark)?, *ending)));
        let Some((name, ending)) = found else { continue };
        let excused = [" # SKIP", " # TODO"].iter().find_map(|it| name.split_once(it));
        let (name, ending) = excused.map_or((name, ending), |(name, _)| (name, Ending::Excused));
        let path = parents.iter().take(depth).copied().chain([without_time(name)]);
        tell(TOOL, &path.collect::<Vec<_>>().join(" > "), ending);
    }
}
