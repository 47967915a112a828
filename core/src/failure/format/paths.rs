//! Output that is nothing but a list of files: gofmt -l, prettier -l and others name so what they would change.

use super::super::draft::{Draft, Found};
use super::Sheet;
use crate::porcelain;

/// Reads the list, if there is nothing else.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let lines = || sheet.lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty());
    // What git says of paths is no list of them.
    if lines().all(is_path) && porcelain::parse(sheet.text.as_bytes()).is_empty() {
        lines().for_each(|line| found.push(Draft::unformatted("list", line, None, line)));
    }
}

/// Says whether a line is a path and nothing else. A sentence ends in a dot, and its last word is no extension.
fn is_path(line: &str) -> bool {
    const LENGTH_MAX: usize = 4096;
    let name = line.rsplit(['/', '\\']).next().unwrap_or(line);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let extended = (1..=10).contains(&extension.len()) && extension.chars().all(char::is_alphanumeric);
    line.len() <= LENGTH_MAX
        && !line.starts_with([' ', '\t', '"', '{', '<'])
        && !line.contains(['\t', '"', '|', '*', '?', '<', '>'])
        && !line.contains(": ")
        && extended
        && line.matches(' ').count() <= 3
}
