//! shunit2: the name of each test, and below it what it asserted in vain.

use std::collections::BTreeSet;

use super::super::draft::{Draft, Found};
use super::{Lines, Sheet, until};

const TOOL: &str = "shunit2";

/// What a line begins with that tells of an assertion, and of the end of a test.
const ASSERTED: &str = "ASSERT:";
const ENDED: &str = "shunit2:ERROR ";

/// Reads the tests with assertions, and those that ended with an error and asserted nothing, as the other stream has it.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let own = asserted(sheet.own);
    let names: BTreeSet<&str> = own.iter().chain(&asserted(sheet.beside)).map(|(name, _)| *name).collect();
    for (name, block) in own {
        let said: Vec<&str> = block.iter().map(|line| line.strip_prefix(ASSERTED).unwrap_or(line)).collect();
        found.push(Draft::test(TOOL, name, &said).kind("assert"));
    }
    for (_, line) in sheet.starting(b"s") {
        let name =
            line.strip_prefix(ENDED).and_then(|told| told.strip_suffix("() returned non-zero return code."));
        if let Some(name) = name.filter(|name| !names.contains(name)) {
            found.push(Draft::test(TOOL, name, &[line]).kind("error"));
        }
    }
}

/// Returns the tests below whose names assertions stand, with these.
fn asserted<'a>(own: Lines<'a>) -> Vec<(&'a str, &'a [&'a str])> {
    let named = own.starting(b"t").filter(|(_, line)| is_name(line));
    let blocks = named.filter_map(|(at, name)| {
        let block =
            until(own.lines, at + 1, |line| is_name(line) || line.starts_with("shunit2:") || line.is_empty());
        let first = block.iter().position(|line| line.starts_with(ASSERTED))?;
        Some((name, &block[first..]))
    });
    blocks.collect()
}

/// Says whether a line is the name of a test alone.
fn is_name(line: &str) -> bool {
    line.starts_with("test") && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
