//! JSON reports of test runners: jest and vitest, mocha, RSpec, GoogleTest, Playwright, Cucumber.

use serde_json::Value;

use super::{
    FailureCollector, FormatInput, OnTest, RawFailure, TestOutcome, cucumber, list, node_test, number, rspec,
    text,
};

pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    // If jest also prints its text output, that contains everything in its JSON, and more.
    let summary = |line: &str| line.starts_with("Test Suites: ");
    let is_told =
        [input.own, input.beside].iter().any(|stream| stream.starting(b"T").any(|(_, line)| summary(line)));
    for document in input.documents() {
        let files = list(&document["testResults"]).iter().filter(|_| !is_told);
        files.for_each(|file| jest(file, collector));
        list(&document["failures"]).iter().for_each(|test| mocha(test, collector));
        list(&document["examples"]).iter().for_each(|example| ruby(example, collector));
        list(&document["testsuites"]).iter().for_each(|suite| googletest(suite, collector));
        each_spec(&document["suites"], &mut |name, spec| playwright(name, spec, collector));
        if document["suites"].is_array() {
            list(&document["errors"]).iter().for_each(|error| outside(error, collector));
        }
        cucumber::report(&document, collector);
        for message in list(&document["messages"]).iter().filter_map(Value::as_str) {
            let lines: Vec<&str> = message.trim().lines().collect();
            if let Some(file) =
                lines.first().and_then(|line| line.strip_prefix("An error occurred while loading "))
            {
                rspec::load(file, &lines, collector);
            } else if lines.first().is_some_and(|line| line.starts_with("An error occurred in ")) {
                rspec::hook(&lines, collector);
            }
        }
    }
    // As a stream, mocha writes a list for each event.
    for (_, line) in input.starting(b"[").filter(|(_, line)| line.starts_with(STREAMED)) {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        mocha(&event[1], collector);
    }
}

/// Reads the result of each test in a document of jest, vitest, mocha or RSpec.
pub(crate) fn outcomes(text: &str, tell: &mut OnTest<'_>) {
    let mut end = 0;
    for (at, _) in text.match_indices('{').filter(|(at, _)| *at == 0 || text.as_bytes()[at - 1] == b'\n') {
        if at < end {
            continue;
        }
        let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        let document = match documents.next() {
            Some(Ok(document)) => document,
            // A document that was cut off is not read again from each of its lines.
            Some(Err(error)) if error.is_eof() => return,
            _ => continue,
        };
        end = at + documents.byte_offset();
        for file in list(&document["testResults"]) {
            for test in list(&file["assertionResults"]) {
                let (tool, name) = jest_name(file, test);
                tell(tool, &name, parse_outcome(&test["status"]));
            }
        }
        each_spec(&document["suites"], &mut |name, spec| {
            for test in list(&spec["tests"]) {
                let outcome = match super::text(&test["status"]) {
                    "expected" | "flaky" => TestOutcome::Passed,
                    "unexpected" => TestOutcome::Failed,
                    _ => TestOutcome::Skipped,
                };
                tell("playwright-json", &in_project(name, test), outcome);
            }
        });
        for example in list(&document["examples"]) {
            tell("rspec", super::text(&example["full_description"]), parse_outcome(&example["status"]));
        }
        let of_mocha = [
            ("passes", TestOutcome::Passed),
            ("failures", TestOutcome::Failed),
            ("pending", TestOutcome::Skipped),
        ];
        for (key, outcome) in of_mocha {
            let titles = list(&document[key]).iter().map(|test| super::text(&test["fullTitle"]));
            titles
                .filter(|title| !title.contains("\" hook"))
                .for_each(|title| tell("mocha-json", title, outcome));
        }
    }
}

fn parse_outcome(status: &Value) -> TestOutcome {
    match text(status) {
        "passed" => TestOutcome::Passed,
        "failed" => TestOutcome::Failed,
        _ => TestOutcome::Skipped,
    }
}

/// Returns the tool and the full name of a jest or vitest test, in the form that each tool writes. vitest's report has
/// the same form, and additionally the notes that a test made.
fn jest_name(file: &Value, test: &Value) -> (&'static str, String) {
    let (tool, between) = if test["meta"].is_object() { ("vitest", " > ") } else { ("jest", " › ") };
    let titles = list(&test["ancestorTitles"]).iter().map(text).chain([text(&test["title"])]);
    let titles = titles.filter(|title| !title.is_empty());
    (tool, [text(&file["name"])].into_iter().chain(titles).collect::<Vec<_>>().join(between))
}

/// The beginning of a failed test in the stream of mocha.
const STREAMED: &str = "[\"fail\",{";

fn jest(file: &Value, collector: &mut FailureCollector<'_>) {
    let path = text(&file["name"]);
    let tests = list(&file["assertionResults"]);
    for test in tests.iter().filter(|test| test["status"] == "failed") {
        let told = clean(list(&test["failureMessages"]).iter().map(text).collect::<Vec<_>>().join("\n"));
        let block: Vec<&str> = told.lines().collect();
        let (tool, name) = jest_name(file, test);
        let draft = RawFailure::test(tool, &name, &block);
        let at = number(&test["location"]["line"]);
        let at = at.or(draft.line.filter(|_| draft.file.as_deref() == Some(path)));
        collector.push(draft.at(path, at));
    }
    // A file that could not be run has no tests; if a hook failed, none of them ran.
    if file["status"] == "failed" && !tests.iter().any(|test| test["status"] == "failed") {
        let told = clean(text(&file["message"]).to_owned());
        let block: Vec<&str> = told
            .lines()
            .skip_while(|line| line.contains("Test suite failed to run") || line.trim().is_empty())
            .collect();
        let kind = if block.is_empty() { "suite" } else { "" };
        let draft = RawFailure::process("jest", kind, &block).at(path, None);
        let message = format!("{path}: failed outside of its tests");
        collector.push(if block.is_empty() { draft.message(&message) } else { draft });
    }
}

fn mocha(test: &Value, collector: &mut FailureCollector<'_>) {
    let told = [&test["err"]["stack"], &test["err"]["message"], &test["stack"], &test["err"]]
        .map(text)
        .into_iter()
        .find(|told| !told.is_empty())
        .unwrap_or_default();
    let block: Vec<&str> = told.lines().collect();
    let draft = RawFailure::test("mocha", text(&test["fullTitle"]), &block)
        .with_test_file(node_test::caller_file(&block));
    collector.push(match text(&test["file"]) {
        "" => draft,
        file => draft.at(file, None),
    });
}

fn ruby(example: &Value, collector: &mut FailureCollector<'_>) {
    if example["status"] != "failed" {
        return;
    }
    let exception = &example["exception"];
    let told = format!("{}: {}", text(&exception["class"]), text(&exception["message"]).trim());
    let block: Vec<&str> = told.lines().map(str::trim).filter(|line| *line != "Diff:").collect();
    collector.push(
        RawFailure::test("rspec", text(&example["full_description"]), &block)
            .with_test_file(text(&example["file_path"]))
            .at(text(&example["file_path"]), number(&example["line_number"])),
    );
}

/// Calls back with each test of Playwright below these suites, and its full name, which begins with its file.
fn each_spec(suites: &Value, take: &mut dyn FnMut(&str, &Value)) {
    fn each_spec_below(suite: &Value, above: &str, take: &mut dyn FnMut(&str, &Value)) {
        let name =
            |title: &str| if above.is_empty() { title.to_owned() } else { format!("{above} › {title}") };
        let own = name(text(&suite["title"]));
        for spec in list(&suite["specs"]) {
            take(&format!("{own} › {}", text(&spec["title"])), spec);
        }
        list(&suite["suites"]).iter().for_each(|suite| each_spec_below(suite, &own, take));
    }
    list(suites).iter().for_each(|suite| each_spec_below(suite, "", take));
}

/// Adds the failures of a test, which Playwright reports once for each project and try.
fn playwright(name: &str, spec: &Value, collector: &mut FailureCollector<'_>) {
    let failed = list(&spec["tests"]).iter().filter(|test| test["status"] == "unexpected");
    for test in failed {
        let errors = list(&test["results"]).first().map_or(&[][..], |result| list(&result["errors"]));
        let told = errors.first().map_or("", |error| text(&error["message"]));
        let told = clean(told.to_owned());
        let block: Vec<&str> = told.lines().collect();
        let name = in_project(name, test);
        collector.push(
            RawFailure::test("playwright", &name, &block).at(text(&spec["file"]), number(&spec["line"])),
        );
    }
}

/// Reads an error of a Playwright run that belongs to no test.
fn outside(error: &Value, collector: &mut FailureCollector<'_>) {
    let told = [&error["stack"], &error["message"], &error["value"]].map(text);
    let told = clean(
        told.into_iter().find(|told| !told.is_empty()).unwrap_or("an error outside of tests").to_owned(),
    );
    let block: Vec<&str> = told.lines().collect();
    let draft = RawFailure::process("playwright", "", &block);
    let place = &error["location"];
    collector.push(match text(&place["file"]) {
        "" => draft,
        file => draft.at(file, number(&place["line"])),
    });
}

/// Names a test of Playwright with its project: the same test in another browser is another test.
fn in_project(name: &str, test: &Value) -> String {
    match text(&test["projectName"]) {
        "" => name.to_owned(),
        project => format!("[{project}] › {name}"),
    }
}

/// Adds the failed tests of a suite, each with its first failure, as in the XML.
fn googletest(suite: &Value, collector: &mut FailureCollector<'_>) {
    for test in list(&suite["testsuite"]) {
        let Some(first) = list(&test["failures"]).first() else { continue };
        let name = format!("{}.{}", text(&test["classname"]), text(&test["name"]));
        let block: Vec<&str> = text(&first["failure"]).lines().collect();
        collector
            .push(RawFailure::test("gtest", &name, &block).at(text(&test["file"]), number(&test["line"])));
    }
}

/// Removes the colors that messages contain within JSON.
fn clean(told: String) -> String {
    if !told.contains('\u{1b}') {
        return told;
    }
    super::super::clean_output::CleanOutput::plain(told.as_bytes()).text().to_owned()
}
