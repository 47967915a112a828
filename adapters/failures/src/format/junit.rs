//! JUnit XML, in the dialects that tools write.
//!
//! | tool | class | name | special features |
//! |---|---|---|---|
//! | pytest | dotted module | test\[param\] | a file that cannot be collected is a case |
//! | nextest | crate or crate::binary | test | the message is only a place, the text is in the body |
//! | node | "test" | bare name, nested in suites | an entry for each parent |
//! | vitest, deno, bats | file | name | |
//! | GoogleTest | suite | test | |
//! | CTest | as the name | name | an output, and the result of the test or nothing; a test that could not start is
//! skipped |
//! | Surefire | class | method(params) | |
//! | Playwright | file | suite › test | a suite for each file and project, which is its host |

use std::borrow::Cow;

use memchr::memmem;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{FailureCollector, FormatInput, OnTest, RawFailure, TestOutcome, gcc_style, is_parent, numbered};

/// A test case while it is read.
#[derive(Default)]
struct Case {
    class: String,
    name: String,
    file: String,
    line: Option<u32>,
    /// The first failure or error: element, type, message, body.
    failure: Option<[String; 4]>,
    /// The result, in the form of CTest and GoogleTest.
    status: String,
    skipped: bool,
    /// The case represents a suite that failed outside of its cases.
    is_suite: bool,
}

/// CTest's reasons for a test that could not start, in the place of a skip reason. Such a test counts as failed.
const NOT_RUN: [&str; 5] = [
    "Unable to find executable",
    "Unable to find required file",
    "Required Files Missing",
    "Fixture dependency failed",
    "Missing Configuration",
];

/// The kind of the failure for a report without an end, which says nothing of the tests after that.
const DAMAGED: &str = "damaged report";

/// Reads every failed case. If a report was cut off, later cases may have failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let Some(start) = begin(input.text) else { return };
    let first = dialect(&input.text[start..]);
    collector.set_tool(first);
    let are_whole = each_report(input.text, &mut |dialect, case, suites| {
        if case.is_suite {
            collector.push(case.of_suite(dialect));
        } else if let Some(diagnostics) = case.diagnostics(dialect) {
            collector.push_errors(diagnostics);
        } else if let Some(draft) = case.draft(dialect, suites) {
            collector.push(draft);
        }
    });
    if !are_whole && collector.is_in_report() {
        collector.push(RawFailure::process(
            first,
            DAMAGED,
            &["the report is not whole: it ends within an element"],
        ));
    }
}

/// Reports the results of the cases.
pub(crate) fn outcomes(text: &str, tell: &mut OnTest<'_>) {
    each_report(text, &mut |dialect, case, suites| {
        if !case.is_suite && !case.is_whole(dialect) && !case.is_finding(dialect) {
            let name = case.full_name(dialect, suites);
            let name = if dialect == "cargo-nextest" { format!("{} {name}", case.class) } else { name };
            tell(dialect, &name, case.outcome());
        }
    });
}

/// Returns the start of the first suite.
fn begin(text: &str) -> Option<usize> {
    memmem::find(text.as_bytes(), b"<testsuite")
}

/// Reads the cases of all reports in a text, each with its tool and the suites around it.
///
/// A text may contain several reports, with other text between them. Returns whether all of them are complete.
fn each_report(text: &str, take: &mut dyn FnMut(&'static str, Case, &[Suite])) -> bool {
    let (mut rest, mut are_whole, mut last) = (text, true, UNKNOWN);
    while let Some(start) = begin(rest) {
        let report = &rest[start..];
        // A suite directly after another one is from the same tool, unless it names another.
        let own = dialect(report);
        last = if own == UNKNOWN && rest[..start].trim().is_empty() { last } else { own };
        let (is_whole, end) = cases(report, &mut |case, suites| take(last, case, suites));
        are_whole &= is_whole;
        let Some(end) = end else { break };
        rest = report.get(end.max(1)..).unwrap_or_default();
    }
    are_whole
}

/// Reads the cases of the report at the start of a text, each with the suites around it.
///
/// Returns whether each element ends, and the position from which another report may follow.
fn cases(text: &str, take: &mut dyn FnMut(Case, &[Suite])) -> (bool, Option<usize>) {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let (mut suites, mut case, mut in_failure) = (Vec::new(), None::<Case>, false);
    let mut depth = 0_u32;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                depth += 1;
                match tag.name().as_ref() {
                    "testsuite" => suites.push(Suite::from_tag(&tag)),
                    "testcase" => case = Some(Case::from_tag(&tag)),
                    name => in_failure = element(case.as_mut(), &mut suites, name, &tag),
                }
            }
            Ok(Event::Empty(tag)) => {
                match (tag.name().as_ref(), case.as_mut()) {
                    ("testcase", _) => take(Case::from_tag(&tag), &suites),
                    ("testsuite", _) => Suite::from_tag(&tag).ends(&mut suites, take),
                    (name, case) => _ = element(case, &mut suites, name, &tag),
                }
                if depth == 0 {
                    return (true, position(&reader));
                }
            }
            Ok(Event::Text(text)) if in_failure => {
                append(case.as_mut(), &text);
            }
            Ok(Event::CData(text)) if in_failure => append(case.as_mut(), &text),
            Ok(Event::GeneralRef(entity)) if in_failure => {
                let entity = format!("&{};", &*entity);
                append(case.as_mut(), &quick_xml::escape::unescape(&entity).unwrap_or_default());
            }
            Ok(Event::End(tag)) => {
                depth = depth.saturating_sub(1);
                match tag.name().as_ref() {
                    "testsuite" => {
                        suites.pop().into_iter().for_each(|suite: Suite| suite.ends(&mut suites, take))
                    }
                    "testcase" => case.take().into_iter().for_each(|case| {
                        let fails = case.failure.is_some();
                        suites.iter_mut().for_each(|suite| suite.has_failed_case |= fails);
                        take(case, &suites);
                    }),
                    _ => in_failure = false,
                }
                if depth == 0 {
                    return (true, position(&reader));
                }
            }
            ended @ (Ok(Event::Eof) | Err(_)) => {
                case.filter(|case| case.failure.is_some()).into_iter().for_each(|case| take(case, &suites));
                // If an element has no end, the rest of the text was read.
                let follows = matches!(ended, Err(quick_xml::Error::IllFormed(_)));
                return (false, position(&reader).filter(|_| follows));
            }
            Ok(_) => {}
        }
    }
}

/// Returns the position up to which a text was read.
fn position(reader: &Reader<&[u8]>) -> Option<usize> {
    usize::try_from(reader.buffer_position()).ok()
}

fn append(case: Option<&mut Case>, text: &str) {
    if let Some([.., body]) = case.and_then(|case| case.failure.as_mut()) {
        body.push_str(text);
    }
}

/// The tool of a report that does not name one.
const UNKNOWN: &str = "junit";

/// Recognizes the tool that wrote a report.
fn dialect(text: &str) -> &'static str {
    const HEAD: usize = 1500;
    let head = &text[..text.floor_char_boundary(HEAD)];
    let dialects: &[(&str, &'static str)] = &[
        ("name=\"nextest-run\"", "cargo-nextest"),
        ("name=\"pytest", "pytest"),
        ("name=\"deno test\"", "deno-test"),
        ("name=\"vitest tests\"", "vitest"),
        ("name=\"jest tests\"", "jest"),
        ("surefire-test-report", "surefire"),
        ("name=\"AllTests\"", "gtest"),
        ("classname=\"test\"", "node-test"),
        ("name=\"Mocha Tests\"", "mocha"),
        ("name=\"rspec", "rspec"),
        (".bats\" tests=", "bats"),
        // It writes each attribute on a separate line.
        ("\"\n\ttests=\"", "ctest"),
    ];
    // Its hosts are projects.
    if head.starts_with("<testsuites id=") && head.contains(" hostname=") {
        return "playwright";
    }
    dialects.iter().find(|(mark, _)| head.contains(mark)).map_or(UNKNOWN, |(_, name)| name)
}

pub(super) fn attribute(tag: &BytesStart<'_>, name: &str) -> String {
    let attribute = tag.try_get_attribute(name).ok().flatten();
    attribute.map(|attribute| unescape(&attribute.value)).unwrap_or_default()
}

/// Returns the place at the start of a text, in the form of linters: `line 1, col 8, ...`.
fn place_at_start(body: &str) -> Option<(u32, Option<u32>)> {
    let (line, rest) = body.trim_start().strip_prefix("line ")?.split_once(", col ")?;
    Some((line.parse().ok()?, rest.split(',').next().and_then(|column| column.parse().ok())))
}

/// Decodes the escapes once: node escapes the name of a suite twice.
fn unescape(text: &str) -> String {
    quick_xml::escape::unescape(text).map_or_else(|_| text.to_owned(), Cow::into_owned)
}

/// Removes the line from a class of busted, which is a place and therefore moves: `spec/a_spec.lua:3`.
fn without_line(class: String) -> String {
    match numbered(&class) {
        Some((file, _)) if file.ends_with(".lua") => file.to_owned(),
        _ => class,
    }
}

/// A suite around a case.
struct Suite {
    name: String,
    host: String,
    /// Number of errors and failures that it counts.
    counted: u64,
    /// A case in it failed.
    has_failed_case: bool,
    /// The message of a failure outside of its cases.
    own: Option<String>,
}

impl Suite {
    fn from_tag(tag: &BytesStart<'_>) -> Self {
        let count = |name: &str| attribute(tag, name).parse::<u64>().unwrap_or(0);
        Self {
            name: attribute(tag, "name"),
            host: attribute(tag, "hostname"),
            counted: count("errors").saturating_add(count("failures")),
            has_failed_case: false,
            own: None,
        }
    }

    /// Passes on the suite's failure if no case explains it. The suites around it include it in their counts.
    fn ends(self, around: &mut [Self], take: &mut dyn FnMut(Case, &[Self])) {
        if self.own.is_none() && (self.counted == 0 || self.has_failed_case) {
            return;
        }
        around.iter_mut().for_each(|suite| suite.has_failed_case = true);
        let said = self
            .own
            .unwrap_or_else(|| format!("the suite counts {} errors, and no test has them", self.counted));
        let failure = Some(["error".to_owned(), String::new(), said, String::new()]);
        take(Case { name: self.name, failure, is_suite: true, ..Case::default() }, around);
    }
}

/// Adds an element to a case or a suite. Returns whether the text that follows belongs to the failure of a case.
fn element(case: Option<&mut Case>, suites: &mut [Suite], name: &str, tag: &BytesStart<'_>) -> bool {
    if let Some(case) = case {
        return case.element(name, tag);
    }
    if let ("failure" | "error", Some(suite)) = (name, suites.last_mut()) {
        suite.own.get_or_insert_with(|| attribute(tag, "message"));
    }
    false
}

fn host(suites: &[Suite]) -> &str {
    suites.last().map_or("", |suite| &suite.host)
}

impl Case {
    fn from_tag(tag: &BytesStart<'_>) -> Self {
        Self {
            class: without_line(attribute(tag, "classname")),
            name: attribute(tag, "name"),
            file: attribute(tag, "file"),
            line: attribute(tag, "line").parse().ok(),
            status: attribute(tag, "status"),
            ..Self::default()
        }
    }

    /// Adds an element to the case. Returns whether the text that follows belongs to the failure.
    fn element(&mut self, name: &str, tag: &BytesStart<'_>) -> bool {
        match name {
            "failure" | "error" if self.failure.is_none() => {
                self.failure =
                    Some([name.to_owned(), attribute(tag, "type"), attribute(tag, "message"), String::new()]);
                true
            }
            "skipped" => {
                let why = attribute(tag, "message");
                let could_not = self.status == "notrun" && NOT_RUN.iter().any(|begin| why.starts_with(begin));
                if could_not {
                    self.failure = Some([name.to_owned(), "Not Run".to_owned(), why, String::new()]);
                }
                self.skipped = !could_not;
                false
            }
            // CTest writes only the output of the test.
            "system-out" => self.failure.is_some() && matches!(self.status.as_str(), "fail" | "notrun"),
            _ => false,
        }
    }

    /// Creates a draft of a suite that failed outside of its cases.
    fn of_suite(self, dialect: &'static str) -> RawFailure {
        let [_, _, said, _] = self.failure.unwrap_or_default();
        let said = if said.trim().is_empty() { "failed outside of its tests".to_owned() } else { said };
        let block: Vec<&str> = said.lines().collect();
        RawFailure::process(dialect, "suite", &block).with_test_file(&self.name).with_heading(&self.name)
    }

    fn outcome(&self) -> TestOutcome {
        match (self.skipped, &self.failure) {
            (true, _) => TestOutcome::Skipped,
            (false, Some(_)) => TestOutcome::Failed,
            (false, None) => TestOutcome::Passed,
        }
    }

    /// Checks whether the case is a file that vitest could not load.
    fn is_file(&self, dialect: &str) -> bool {
        dialect == "vitest" && self.class == self.name && gcc_style::is_path(&self.name)
    }

    /// Checks whether the case is a file that could not be loaded, and not a test.
    fn is_whole(&self, dialect: &str) -> bool {
        let [.., message, _] =
            self.failure.as_ref().map_or(["", "", "", ""], |parts| parts.each_ref().map(String::as_str));
        message.starts_with("collection failure")
            || self.name.contains("Test suite failed to run")
            || self.is_file(dialect)
    }

    /// Checks whether the case is a linter's finding, which disappears when it is fixed. Its text is a diagnostic, or
    /// begins with the place in the case's name, or with line and column.
    fn is_finding(&self, dialect: &str) -> bool {
        let Some([.., message, body]) = self.failure.as_ref().filter(|_| dialect == "junit") else {
            return false;
        };
        let names_place = |text: &str| {
            let behind = text.trim_start().strip_prefix(&*self.class).filter(|_| !self.class.is_empty());
            let line = behind.and_then(|rest| rest.strip_prefix(':'));
            let is_number = |character: char| character.is_ascii_digit();
            line.is_some_and(|rest| rest.starts_with(is_number) || self.class.ends_with(is_number))
        };
        self.rule_at_line().is_some()
            || place_at_start(body).is_some()
            || names_place(message)
            || names_place(body)
            || self.diagnostics(dialect).is_some()
    }

    /// Returns rule and line of a finding from the name of its case, `bad-return:L5`.
    fn rule_at_line(&self) -> Option<(&str, u32)> {
        let (rule, number) = self.name.rsplit_once(":L")?;
        let line = self.line.filter(|line| number == line.to_string() && self.class == self.file)?;
        Some((rule, line))
    }

    /// Reads the lines of a case that is a file or a linter run, if each line is a diagnostic. Some lines name the
    /// file, others rely on the case. The message of a test may contain a place, too, but nothing more.
    fn diagnostics(&self, dialect: &str) -> Option<Vec<RawFailure>> {
        let [.., body] = self.failure.as_ref().filter(|_| dialect == "junit" && !self.skipped)?;
        let is_file = gcc_style::is_path(&self.name);
        let read = |line: &str| {
            let placed = is_file.then(|| format!("{}:{line}", self.name));
            let diagnostic = gcc_style::parse(placed.as_deref().unwrap_or(line))?;
            (is_file || !diagnostic.severity.is_empty()).then(|| (diagnostic.is_remark(), diagnostic.draft()))
        };
        let lines = body.lines().filter(|line| !line.trim().is_empty());
        let read: Vec<_> = lines.map(read).collect::<Option<_>>()?;
        let told: Vec<RawFailure> =
            read.into_iter().filter(|(is_remark, _)| !is_remark).map(|(_, failure)| failure).collect();
        (!told.is_empty()).then_some(told)
    }

    fn draft(self, dialect: &'static str, suites: &[Suite]) -> Option<RawFailure> {
        let [_, class, message, body] = self.failure.as_ref().filter(|_| !self.skipped)?;
        if dialect == "ctest" {
            let status = if class.is_empty() { message } else { class };
            let status = if status.is_empty() { "Failed" } else { status };
            return Some(super::ctest::draft(&self.name, status, &body.lines().collect::<Vec<_>>()));
        }
        let whole_file = dialect == "node-test" && super::node_test::is_file(&self.name, message);
        if is_parent(message) || whole_file || is_warning(dialect, body) || class.ends_with("RiskyTestError")
        {
            return None;
        }
        let suite = suites.last().map(|suite| &*suite.name);
        let file = suite.filter(|suite| dialect == "junit" && gcc_style::is_path(suite));
        if let (Some(file), Some((line, column))) = (file, place_at_start(body)) {
            // The rule follows the name of the tool; a file that ESLint cannot parse has no rule.
            let rule = self.name.strip_prefix("org.").and_then(|name| name.split_once('.'));
            let rule = rule.map_or(&*self.name, |(_, rule)| rule);
            return Some(finding(file, line, column, if rule == "unknown" { "" } else { rule }, message));
        }
        if let Some((rule, line)) = self.rule_at_line() {
            return Some(finding(&self.file, line, None, rule, message));
        }
        if dialect == "playwright" {
            return Some(super::playwright::of_report(host(suites), &self.class, &self.name, body));
        }
        let lines: Vec<&str> = block(dialect, message, body);
        let name = self.full_name(dialect, suites);
        if dialect == "bats" {
            return Some(super::tap::of_bats(&name, &lines));
        }
        if let Some(draft) = Some(&lines)
            .filter(|_| dialect == "mocha")
            .and_then(|lines| super::mocha::from_report(&name, lines))
        {
            return Some(draft);
        }
        let mut draft = RawFailure::test(dialect, &name, &lines);
        if dialect == "pytest" {
            draft = super::pytest::from_report(draft, &self.class, &self.name, message);
        }
        // The text output of node has no kind for a thrown value that is not an error.
        if draft.kind.is_empty() && dialect != "node-test" {
            draft.kind = class.rsplit(['.', ':']).next().unwrap_or_default().to_owned();
        }
        let within = match dialect {
            "cargo-nextest" => &self.class,
            // A thrown value that is not an error has no stack; newer versions name the file.
            "node-test" | "mocha" => match super::node_test::caller_file(&lines) {
                "" => &self.file,
                file => file,
            },
            _ => "",
        };
        draft = draft.with_test_file(within);
        if dialect == "cargo-nextest" {
            draft = super::nextest::process_kind(draft, class, &format!("{message}\n{body}"));
        }
        let suite = suite.filter(|suite| self.class.is_empty() && gcc_style::is_path(suite));
        if !self.file.is_empty() {
            draft = draft.at(&self.file, self.line);
        } else if let Some(file) = suite {
            draft = draft.with_test_file(file).at(file, self.line);
        } else if matches!(dialect, "deno-test" | "vitest") {
            draft = draft.at(&self.class, self.line);
        }
        if self.is_file(dialect) {
            draft.test = None;
        }
        Some(draft)
    }

    /// Returns the name in the form that the tool itself prints.
    fn full_name(&self, dialect: &str, suites: &[Suite]) -> String {
        let file = |path: &str| path.trim_start_matches("./").to_owned();
        match dialect {
            "cargo-nextest" => self.name.clone(),
            "node-test" => {
                let parents =
                    suites.iter().map(|suite| unescape(&suite.name)).filter(|name| !name.is_empty());
                parents.chain([self.name.clone()]).collect::<Vec<_>>().join(" > ")
            }
            "vitest" if self.is_file(dialect) => self.name.clone(),
            "vitest" => format!("{} > {}", self.class, self.name),
            "deno-test" => format!("{} => {}", file(&self.class), self.name.replace(" > ", " ... ")),
            "playwright" => super::playwright::name_of_case(host(suites), &self.class, &self.name),
            "gtest" => format!("{}.{}", self.class, self.name),
            // mocha's own reporter writes suites and title; mocha-junit-reporter writes full name and title.
            "mocha" if !self.class.is_empty() && !self.name.ends_with(&self.class) => {
                format!("{} {}", self.class, self.name)
            }
            "pytest" => super::pytest::name_of_case(&self.class, &self.name),
            _ if self.class.ends_with(".bats") || self.class == self.name || self.class.is_empty() => {
                self.name.clone()
            }
            _ if self.name.starts_with(&self.class) => self.name.clone(),
            _ => format!("{}.{}", self.class, self.name),
        }
    }
}

/// Creates the failure for a linter's finding.
fn finding(file: &str, line: u32, column: Option<u32>, rule: &str, message: &str) -> RawFailure {
    let draft = RawFailure::diagnostic("diagnostics", file, Some(line), message).kind(rule);
    draft.with_column(column, "").message(&format!("{rule} {message}"))
}

/// Checks whether the text of a case is a warning of ESLint: `line 1, col 2, Warning - ...`.
fn is_warning(dialect: &str, body: &str) -> bool {
    let place = body.trim_start().strip_prefix("line ").and_then(|rest| rest.split_once(", Warning - "));
    dialect == "junit" && place.is_some_and(|(place, _)| place.contains(", col ") && place.len() < 40)
}

/// Returns the message or the body, whichever says more.
fn block<'c>(dialect: &str, message: &'c str, body: &'c str) -> Vec<&'c str> {
    let body_says_more = !body.trim().is_empty()
        && (message.trim().is_empty()
            || matches!(
                dialect,
                "cargo-nextest" | "pytest" | "deno-test" | "surefire" | "vitest" | "rspec" | "jest"
            ));
    let text = if body_says_more { body } else { message };
    if dialect == "node-test" {
        // The body wraps the cause in an error of the runner.
        if let Some(at) = body.find("cause: ") {
            let cause = body[at + "cause: ".len()..].trim_end();
            // For a thrown value that is not an error, the brace closes on the same line.
            let quoted = cause
                .strip_suffix('}')
                .map(str::trim_end)
                .filter(|word| word.starts_with('\'') && word.ends_with('\''));
            return quoted.unwrap_or(cause).lines().collect();
        }
    }
    text.lines().collect()
}
