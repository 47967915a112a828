//! gotestsum: the end of the output lists the failures again, and some formats list them only there.

use std::collections::{BTreeMap, BTreeSet};

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::{FormatInput, go_test, until, without_time};

/// A line that names the source of the output below.
#[derive(Clone, Copy)]
struct Head<'a> {
    at: usize,
    package: &'a str,
    /// Nothing if the package failed as a whole.
    test: &'a str,
}

/// Reads the failures in the list that are not above it in the form of go test.
pub(crate) fn read<'a>(sheet: &FormatInput<'a>, found: &mut FailureCollector<'_>) {
    let (is_told, named) = (found.told_tests(), wholes(sheet));
    let heads: Vec<Head<'a>> = sheet.marked().filter_map(|(at, line)| head(at, line)).collect();
    let above = |it: Head<'a>| it.test.match_indices('/').map(move |(at, _)| (it.package, &it.test[..at]));
    let parents: BTreeSet<(&str, &str)> = heads.iter().copied().flat_map(above).collect();
    let failed: BTreeSet<&str> = heads.iter().filter(|it| !it.test.is_empty()).map(|it| it.package).collect();
    for Head { at, package, test } in heads {
        let told = until(sheet.lines, at + 1, |line| line.starts_with("=== ") || line.starts_with("DONE "));
        let is_end = |line: &&str| line.trim_start().starts_with("--- FAIL: ");
        let block: Vec<&str> = told.iter().copied().filter(|line| !is_end(line)).collect();
        let whole = named.get(package).copied().unwrap_or(package);
        if test.is_empty() {
            // One that does not build has its diagnostics elsewhere.
            let is_built = !block.iter().any(|line| line.ends_with(" failed]"));
            if is_built && !failed.contains(package) {
                go_test::died(whole, &block, "FAIL", found);
            }
            continue;
        }
        found.printed(told);
        let is_parent = parents.contains(&(package, test)) && block.iter().all(|line| line.trim().is_empty());
        let name = format!("{whole}.{test}");
        if !is_parent && !is_told(&name, "") {
            found.push(RawFailure::test(go_test::TOOL, &name, &block).headed(sheet.lines[at]));
        }
    }
}

/// Reads `=== FAIL: package TestName (0.00s)`; if a test was rerun, a count follows its name.
fn head(at: usize, line: &str) -> Option<Head<'_>> {
    let (package, test) = line.strip_prefix("=== FAIL: ")?.split_once(' ')?;
    let test = without_time(test).trim();
    let test = test.split(" (re-run ").next().unwrap_or(test);
    Some(Head { at, package, test })
}

/// Returns the packages that failed as go test names them, by each of their ends: the list leaves the module out.
fn wholes<'a>(sheet: &FormatInput<'a>) -> BTreeMap<&'a str, &'a str> {
    let failed = sheet.starting(b"F").filter_map(|(_, line)| line.strip_prefix("FAIL\t"));
    let names = failed.filter_map(|rest| rest.split(['\t', ' ']).next());
    names.flat_map(|name| ends(name).map(move |end| (end, name))).collect()
}

/// Returns the names that the list may use for a package, without its module.
pub(super) fn ends(package: &str) -> impl Iterator<Item = &str> {
    package.match_indices('/').map(|(at, _)| &package[at + 1..])
}

/// Returns the packages that are listed, if there is a list.
pub(super) fn packages<'a>(sheet: &FormatInput<'a>) -> BTreeSet<&'a str> {
    sheet.starting(b"=").filter_map(|(at, line)| Some(head(at, line)?.package)).collect()
}
