//! Test::More of Perl, where only its comments are shown: `prove` without `-v` keeps the points for itself.

use super::super::draft::{Draft, Found};
use super::super::reason::indentation;
use super::{Sheet, until};

/// Reads `#   Failed test 'name'`, the place on the next line, and the values below, further in. What a subtest says is
/// part of the test around it.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let is_point = |line: &&str| line.trim_start().starts_with("not ok ");
    if sheet.lines.iter().chain(sheet.beside).any(is_point) {
        return;
    }
    plans(sheet, found);
    for (at, line) in sheet.marked() {
        let Some(told) = line.strip_prefix("#   Failed test ") else { continue };
        let below = sheet.lines.get(at + 1).map_or("", |line| line.trim_start_matches(['#', ' ']));
        let (name, place) =
            told.split_once("at ").filter(|(name, _)| name.is_empty()).unwrap_or((told, below));
        let Some((file, number)) =
            place.trim_start_matches("at ").trim_end_matches('.').rsplit_once(" line ")
        else {
            continue;
        };
        let number = number.parse().ok();
        let is_value = |line: &str| line.strip_prefix('#').is_some_and(|told| indentation(told) > MARGIN);
        let values = until(sheet.lines, at + 2, |line| !is_value(line));
        let block: Vec<&str> = values.iter().map(|line| line.trim_start_matches(['#', ' '])).collect();
        let name = name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap_or(name);
        let draft = Draft::test("prove", if name.is_empty() { file } else { name }, &block);
        found.push(draft.within(file).at(file, number).headed(line));
    }
}

/// Reads of which files the plan is not kept, in the summary: those of a file that died say so otherwise.
fn plans(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let mut file = "";
    for (_, line) in sheet.marked() {
        if let Some((name, _)) = line.split_once(" (Wstat: ") {
            file = name.trim_end();
        } else if let Some(what) = line.strip_prefix("  Parse errors: ").filter(|_| !file.is_empty()) {
            let kind = if what.starts_with("No plan found") { "no plan" } else { "bad plan" };
            found.push(Draft::diagnostic("prove", file, None, what).kind(kind).message(line));
        }
    }
}

/// Values stand further in than this.
const MARGIN: usize = 3;
