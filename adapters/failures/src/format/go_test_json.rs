//! go test -json: one event per line.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::{FailureCollector, FormatInput, RawFailure, gcc_style, go_test, scan};

static ACTION: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"Action\":"));

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event<'a> {
    #[serde(borrow)]
    action: Cow<'a, str>,
    #[serde(borrow, default, alias = "ImportPath")]
    package: Cow<'a, str>,
    #[serde(borrow, default)]
    test: Cow<'a, str>,
    #[serde(borrow, default)]
    output: Cow<'a, str>,
}

/// The state of a package.
#[derive(Default)]
struct Package<'a> {
    /// The output of each test that has not ended yet, in the order of their names.
    running: BTreeMap<Cow<'a, str>, String>,
    /// The tests that were started, whether they have ended or not.
    begun: BTreeSet<Cow<'a, str>>,
    failed: Vec<(Cow<'a, str>, String)>,
    output: String,
}

/// Reads the failures of each package when it ends, and the lines between the events in the form that go prints.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut packages: BTreeMap<Cow<'_, str>, Package<'_>> = BTreeMap::new();
    for (at, line) in input.starting(b"{#") {
        if line.starts_with("# ") {
            for line in scan(&input.lines[at + 1..]).filter(|line| !line.starts_with("{\"")) {
                if !diagnostic(line, collector) {
                    break;
                }
            }
            continue;
        }
        // Without this check, the JSON of another tool would be read to its end.
        if !line.starts_with("{\"") || ACTION.find(line.as_bytes()).is_none() {
            continue;
        }
        let Ok(event) = serde_json::from_str::<Event<'_>>(line) else { continue };
        let package = packages.entry(event.package.clone()).or_default();
        match (event.action.as_ref(), event.test.is_empty()) {
            ("run", false) => {
                package.running.entry(event.test.clone()).or_default();
                package.begun.insert(event.test);
            }
            ("output", false) => package.running.entry(event.test).or_default().push_str(&event.output),
            ("output" | "build-output", true) => {
                _ = diagnostic(event.output.trim_end(), collector);
                package.output.push_str(&event.output);
            }
            ("pass" | "skip", false) => _ = package.running.remove(&event.test),
            ("fail", false) => {
                let output = package.running.remove(&event.test).unwrap_or_default();
                // A test may print a line like the end of another test, which then becomes an event.
                if package.begun.is_empty() || package.begun.contains(&event.test) {
                    package.failed.push((event.test, output));
                }
            }
            ("fail", true) => {
                packages.remove(&event.package).unwrap_or_default().ended(&event.package, collector)
            }
            ("pass" | "skip", true) => _ = packages.remove(&event.package),
            _ => {}
        }
    }
    // If the stream is cut off, the tests that failed by then have failed.
    for (name, package) in packages.into_iter().filter(|(_, package)| !package.failed.is_empty()) {
        package.ended(&name, collector);
    }
}

fn diagnostic(line: &str, collector: &mut FailureCollector<'_>) -> bool {
    let parsed = gcc_style::parse(line)
        .filter(|diagnostic| diagnostic.file.ends_with(".go") && !line.starts_with([' ', '\t']));
    parsed.map(|diagnostic| collector.push(diagnostic.draft())).is_some()
}

impl Package<'_> {
    fn ended(mut self, name: &str, collector: &mut FailureCollector<'_>) {
        let result = self.output.lines().rev().find(|line| line.starts_with("FAIL\t")).unwrap_or("FAIL");
        let build = result.contains("[build failed]") || result.contains("[setup failed]");
        // A test that started and never ended crashed the binary.
        let panicked = |(_, output): &(&Cow<'_, str>, &String)| output.contains("panic: ");
        let culprit = self.running.iter().find(panicked).or_else(|| self.running.iter().next_back());
        let culprit = culprit.map(|(test, output)| (test.clone(), output.clone()));
        if let Some((test, output)) = culprit.filter(|_| self.failed.is_empty() || self.running.len() == 1) {
            self.lost(name, &test, &output, collector);
            return;
        }
        if self.failed.is_empty() && !build {
            let lines: Vec<&str> = self.output.lines().collect();
            go_test::package(name, result.trim_start_matches("FAIL\t"), &lines, collector);
        }
        for (test, output) in std::mem::take(&mut self.failed) {
            // A parent follows its children. Its output contains only their heads, or nothing.
            let head = format!("--- FAIL: {test} (0.00s)");
            let told: Vec<&str> = output
                .lines()
                .filter(|line| !line.starts_with("=== ") && !line.trim_start().starts_with("--- "))
                .collect();
            let lines: Vec<&str> = std::iter::once(head.as_str()).chain(told).collect();
            let is_parent = lines[1..].iter().all(|line| line.trim().is_empty());
            // Printed output is indented like the log. A panic and the expected output of an example are not indented.
            let is_printed = |line: &&str| {
                !line.starts_with([' ', '\t']) && *line != "got:" && !line.starts_with("panic: ")
            };
            let bare = if lines.get(1).is_some_and(is_printed) { indent(&lines) } else { lines.join("\n") };
            if is_parent {
                self.parent(name, &test, collector);
                continue;
            }
            let lines: Vec<&str> = bare.lines().collect();
            go_test::package(name, "", &lines, collector);
        }
    }

    /// Adds a parent that has no output itself, unless one of its children failed.
    fn parent(&self, package: &str, test: &str, collector: &mut FailureCollector<'_>) {
        let child = format!("{package}.{test}/");
        if !collector.has_test_with_prefix(&child) {
            collector.push(RawFailure::test("go-test", &format!("{package}.{test}"), &[]));
        }
    }

    fn lost(&self, package: &str, test: &str, output: &str, collector: &mut FailureCollector<'_>) {
        let all = format!("{output}{}", self.output);
        let lines: Vec<&str> = all.lines().filter(|line| !line.starts_with("=== ")).collect();
        let name = format!("{package}.{test}");
        let start = lines.iter().position(|line| line.starts_with("panic: "));
        let draft = match start {
            Some(at) => RawFailure::test("go-test", &name, &lines[at..]),
            None => RawFailure::test("go-test", &name, &[]).kind("never ended").message(&lines.join("\n")),
        };
        collector.push(draft);
    }
}

fn indent(lines: &[&str]) -> String {
    let told: Vec<String> = lines[1..].iter().map(|line| format!("    {line}")).collect();
    format!("{}\n{}", lines[0], told.join("\n"))
}
