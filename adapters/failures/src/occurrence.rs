//! Occurrences: each failure as the output shows it, for a prompt.
//!
//! A [`Failure`](super::Failure) is the part that stays the same from run to run, and is listed once. An occurrence is
//! one place in one output: two missing semicolons in one file are two occurrences.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use unstuck_core::evidence::Fingerprint;

use super::normalize::Normalizer;
use super::output::Extraction;
use super::parts::FailureClass;
use super::raw_failure::RawFailure;

/// One failure at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The class of the failure.
    pub class: FailureClass,
    /// The fingerprint of the failure.
    pub fingerprint: Fingerprint,
    /// The tool, or the format, that reports it.
    pub tool: String,
    /// The name of the test, without the file or the package if those are separate.
    pub name: Option<String>,
    /// The package that the test belongs to.
    pub suite: Option<String>,
    /// The file, relative to the directory of the command if it is below that.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, as the tool counts it.
    pub column: Option<u32>,
    /// The code or the rule; for a test the kind of its failure.
    pub code: String,
    /// The message of the tool, as one line.
    pub message: String,
    /// The complete report of this failure, at most 4096 characters.
    pub block: String,
    /// It is a warning, not an error.
    pub is_warning: bool,
}

/// All failures of an output, with every place.
#[derive(Clone, Debug)]
pub struct OccurrenceReport {
    /// The failures, each once.
    pub extraction: Extraction,
    /// The records, in the order of the output.
    pub records: Vec<Occurrence>,
}

/// Occurrences without duplicates.
#[derive(Default)]
pub(super) struct UniqueOccurrences {
    list: Vec<Occurrence>,
    seen: BTreeSet<(Fingerprint, Option<OccurrenceKey>)>,
}

/// The values that distinguish two places of one failure: line, column and message.
type OccurrenceKey = (u32, Option<u32>, String);

impl UniqueOccurrences {
    /// Adds an occurrence. A test fails once, however many lines report it.
    pub(super) fn add(&mut self, record: Occurrence) {
        let place = record.line.filter(|_| record.class == FailureClass::Diagnostic);
        let place = place.map(|line| (line, record.column, record.message.clone()));
        if self.seen.insert((record.fingerprint.clone(), place)) {
            self.list.push(record);
        }
    }

    pub(super) fn into_list(self) -> Vec<Occurrence> {
        self.list
    }
}

impl Occurrence {
    /// Creates an occurrence from the result of a reader; the fingerprint is set later.
    pub(super) fn from_raw(draft: &RawFailure, normalizer: &Normalizer) -> Self {
        let file = draft.file.as_deref().map(|file| normalizer.path(file));
        let test = draft.test.as_deref().map(|name| normalizer.name(name));
        let (suite, name) = split_name(draft.tool, test.as_deref().unwrap_or_default(), file.as_deref());
        let is_whole_file = draft.class == FailureClass::Test && test.is_none();
        Self {
            class: draft.class,
            fingerprint: Fingerprint::from_parts(&[]),
            tool: draft.tool.to_owned(),
            name: if is_whole_file { file.clone() } else { test.as_ref().map(|_| name.to_owned()) },
            suite: suite.map(str::to_owned),
            // A test whose name is a path is that file.
            file: file.or_else(|| test.filter(|test| is_path(test))),
            line: draft.line,
            column: draft.column,
            code: if draft.rule.is_empty() { draft.kind.clone() } else { draft.rule.clone() },
            message: headline(draft),
            block: draft.message.chars().take(BLOCK_CHARS_MAX).collect(),
            is_warning: draft.is_warning,
        }
    }
}

/// Maximum characters kept of the report of one failure.
const BLOCK_CHARS_MAX: usize = 4096;

/// Splits the package or the file off the name of a test.
fn split_name<'t>(tool: &str, test: &'t str, file: Option<&str>) -> (Option<&'t str>, &'t str) {
    if tool == "go-test" {
        // The package ends at the first dot after its last slash; names of subtests contain slashes, too.
        let own = test.find(".Test").or_else(|| test.find(".Example")).or_else(|| test.find(".Fuzz"));
        return own.map_or((None, test), |at| (Some(&test[..at]), &test[at + 1..]));
    }
    let separators = [" > ", " › ", " => "];
    let behind = file.and_then(|file| test.trim_start_matches("./").strip_prefix(file));
    let bare = behind.and_then(|rest| separators.iter().find_map(|separator| rest.strip_prefix(separator)));
    (None, bare.unwrap_or(test))
}

/// Checks whether a text is only a path with an extension.
fn is_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    text.contains('/')
        && !text.contains([' ', ':', '('])
        && (1..=5).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Returns the message as one line: its first line, and the next one if the first ends in a colon.
fn headline(draft: &RawFailure) -> String {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^[\w./-]+\.go:\d+:\s*").expect("well formed"));
    const CHARS_MAX: usize = 1000;
    let told = [&draft.headline, &draft.values, &draft.about, &draft.message];
    let told = told.into_iter().find(|text| !text.trim().is_empty()).map_or("", String::as_str);
    let mut lines = told.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let first = PLACE.replace(first, "");
    let first = match draft.tool {
        // Every assertion failure has this name there.
        "vitest" | "jest" => first.strip_prefix("AssertionError: ").unwrap_or(&first),
        _ => &first,
    };
    let next = lines.next().filter(|_| first.ends_with(':'));
    let line = next.map_or_else(|| first.to_owned(), |next| format!("{first} {next}"));
    line.chars().take(CHARS_MAX).collect()
}
