//! tsc: `file(line,col): error TS2322: message`, or with `--pretty` `file:line:col - error TS2322: message`.

use std::sync::LazyLock;

use regex::Regex;

use super::super::draft::{Draft, Found};
use super::Sheet;

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?P<file>[^\s(].*?)(?:\((?P<line>\d+),\d+\): |:(?P<line2>\d+):\d+ - ))?error (?P<code>TS\d+): (?P<what>.*)$").expect("well formed")
});

/// Reads every error; the lines below one only explain it.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for (_, line) in sheet.marked() {
        let Some(error) = ERROR.captures(line) else { continue };
        let number = error.name("line").or(error.name("line2")).and_then(|line| line.as_str().parse().ok());
        let file = error.name("file").map_or("", |file| file.as_str());
        found.push(Draft::diagnostic("tsc", file, number, &error["what"]).kind(&error["code"]).message(line));
    }
}
