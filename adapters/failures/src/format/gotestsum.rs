//! gotestsum: the end of the output lists the failures again, and some formats list them only there.

use std::collections::{BTreeMap, BTreeSet};

use super::go_lines::{ListHead, listed_names};
use super::{FailureCollector, FormatInput, RawFailure, go_test, until};

/// Reads the failures in the list that are not above it in the form of go test.
pub(crate) fn read<'a>(input: &FormatInput<'a>, collector: &mut FailureCollector<'_>) {
    let (is_told, named) = (collector.known_tests(), full_names(input));
    let heads: Vec<ListHead<'a>> =
        input.marked().filter_map(|(at, line)| ListHead::parse(at, line)).collect();
    let above = |head: ListHead<'a>| {
        head.test.match_indices('/').map(move |(at, _)| (head.package, &head.test[..at]))
    };
    let parents: BTreeSet<(&str, &str)> = heads.iter().copied().flat_map(above).collect();
    let failed: BTreeSet<&str> =
        heads.iter().filter(|head| !head.test.is_empty()).map(|head| head.package).collect();
    for ListHead { at, package, test } in heads {
        let told = until(input.lines, at + 1, |line| line.starts_with("=== ") || line.starts_with("DONE "));
        let is_end = |line: &&str| line.trim_start().starts_with("--- FAIL: ");
        let block: Vec<&str> = told.iter().copied().filter(|line| !is_end(line)).collect();
        let whole = named.get(package).copied().unwrap_or(package);
        if test.is_empty() {
            // One that does not build has its diagnostics elsewhere.
            let is_built = !block.iter().any(|line| line.ends_with(" failed]"));
            if is_built && !failed.contains(package) {
                go_test::push_death(whole, &block, "FAIL", collector);
            }
            continue;
        }
        collector.add_printed(told);
        let is_parent = parents.contains(&(package, test)) && block.iter().all(|line| line.trim().is_empty());
        let name = format!("{whole}.{test}");
        if !is_parent && !is_told(&name, "") {
            collector.push(RawFailure::test(go_test::TOOL, &name, &block).with_heading(input.lines[at]));
        }
    }
}

/// Returns the packages that failed as go test names them, by each of their ends: the list leaves the module out.
fn full_names<'a>(input: &FormatInput<'a>) -> BTreeMap<&'a str, &'a str> {
    let failed = input.starting(b"F").filter_map(|(_, line)| line.strip_prefix("FAIL\t"));
    let names = failed.filter_map(|rest| rest.split(['\t', ' ']).next());
    names.flat_map(|name| listed_names(name).map(move |end| (end, name))).collect()
}
