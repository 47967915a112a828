//! The collector of the failures of an output: it normalizes each, and drops duplicates.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use unstuck_core::evidence::{Confidence, FAILURES_MAX, Failure, FailureSource, Fingerprint, Location};
use unstuck_core::id::Digest;

use super::normalize::Normalizer;
use super::occurrence::{Occurrence, UniqueOccurrences};
use super::output::Extraction;
use super::package::{Packages, StreamPackages};
use super::parts::{FailureClass, MaskingStyle};
use super::raw_failure::{OutputSpan, RawFailure};

/// Maximum bytes of a message.
const MESSAGE_MAX: usize = 4096;

/// Maximum number of lines counted for one failure.
const PLACES_MAX: usize = 1000;
/// Maximum number of failures from which the kept ones are selected.
const HELD_MAX: usize = 5 * FAILURES_MAX;

/// A failure with normalized names and masked values.
struct NormalizedFailure {
    fingerprint: Fingerprint,
    draft: RawFailure,
}

/// Collects the failures of an output.
pub(super) struct FailureCollector<'a> {
    normalizer: &'a Normalizer,
    failures: Vec<Failure>,
    /// Each occurrence in the output, if requested.
    records: Option<UniqueOccurrences>,
    /// The packages in the output.
    packages: Packages,
    /// The addresses of the lines that failed tests printed.
    printed: Vec<Range<usize>>,
    /// The places of all failures, and of warnings that do not count.
    spans: Vec<OutputSpan>,
    /// Failures were already found in the text that is read next.
    ignores_warnings: bool,
    /// The lines of each fingerprint.
    lines: BTreeMap<Fingerprint, BTreeSet<u32>>,
    /// The fingerprint of each identity as printed, up to the maximum that is held.
    fingerprints: BTreeMap<Digest, Fingerprint>,
    /// The tool that printed the output, if it is known although nothing failed.
    tool: &'static str,
    source: FailureSource,
    left_out: u64,
}

impl<'a> FailureCollector<'a> {
    pub(super) fn new(normalizer: &'a Normalizer) -> Self {
        Self {
            normalizer,
            failures: Vec::new(),
            records: None,
            packages: Packages::default(),
            printed: Vec::new(),
            spans: Vec::new(),
            ignores_warnings: false,
            lines: BTreeMap::new(),
            fingerprints: BTreeMap::new(),
            tool: "",
            source: FailureSource::Report,
            left_out: 0,
        }
    }

    /// Creates an empty collector that also keeps each occurrence.
    pub(super) fn with_records(normalizer: &'a Normalizer) -> Self {
        Self { records: Some(UniqueOccurrences::default()), ..Self::new(normalizer) }
    }

    pub(super) fn take_records(&mut self) -> Vec<Occurrence> {
        self.records.take().unwrap_or_default().into_list()
    }

    /// Sets the source of the text that is read next.
    pub(super) fn set_source(&mut self, source: FailureSource) {
        self.source = source;
    }

    /// Checks whether a machine report is being read.
    pub(super) fn is_in_report(&self) -> bool {
        self.source == FailureSource::Report
    }

    /// Searches for packages in the text that is read next.
    pub(super) fn find_packages(&mut self, streams: &[StreamPackages<'_>]) {
        self.packages = Packages::find(streams, self.normalizer);
    }

    /// Returns the package of a line; empty if there is only one package.
    pub(super) fn package_of(&self, line: &str) -> &str {
        self.packages.package_at(line.as_ptr().addr())
    }

    pub(super) fn set_tool(&mut self, tool: &'static str) {
        if self.tool.is_empty() {
            self.tool = tool;
        }
    }

    /// Records lines that a failed test printed: whatever they look like, they are part of its failure.
    pub(super) fn add_printed(&mut self, lines: &[&str]) {
        if let (Some(first), Some(last)) = (lines.first(), lines.last()) {
            self.printed.push(first.as_ptr().addr()..last.as_ptr().addr() + 1);
        }
    }

    /// Takes out the addresses of the lines that failed tests printed.
    pub(super) fn take_printed(&mut self) -> Vec<Range<usize>> {
        std::mem::take(&mut self.printed)
    }

    /// Returns the places of the failures since the last call.
    pub(super) fn take_spans(&mut self) -> Vec<OutputSpan> {
        std::mem::take(&mut self.spans)
    }

    /// Returns a function that checks whether one of these lines contains a failure of this precedence.
    pub(super) fn reported_lines(&self) -> impl Fn(&[&str]) -> bool + use<'a> {
        let told: BTreeSet<usize> = self.spans.iter().map(|told| told.address).collect();
        move |lines| {
            let (Some(first), Some(last)) = (lines.first(), lines.last()) else { return false };
            told.range(first.as_ptr().addr()..=last.as_ptr().addr() + last.len()).next().is_some()
        }
    }

    /// Marks the text that is read next as one with failures already found, where warnings are not failures.
    pub(super) fn ignore_warnings(&mut self) {
        self.ignores_warnings = true;
    }

    /// Checks whether a test was found.
    pub(super) fn has_tests(&self) -> bool {
        self.failures.iter().any(|failure| failure.test.is_some())
    }

    /// Checks whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }

    /// Returns how many were found.
    pub(super) fn len(&self) -> usize {
        self.failures.len()
    }

    /// Checks whether all failures after the first `reported` are files that cannot be parsed.
    pub(super) fn are_syntax_errors(&self, reported: usize) -> bool {
        let read = &self.failures[reported..];
        !read.is_empty() && read.iter().all(|failure| failure.test.is_none() && failure.kind == "syntax")
    }

    /// Checks whether a failure in one of these files was found.
    pub(super) fn has_problem_in<'f>(&self, files: impl Iterator<Item = &'f str>) -> bool {
        let places = self.failures.iter().filter_map(|failure| failure.location.as_ref());
        let places: BTreeSet<&str> = places.map(|place| place.file.as_str()).collect();
        files.into_iter().any(|file| places.contains(self.normalizer.path(file).as_str()))
    }

    /// Checks whether only problems at places, without rule or test, were found, as for files that cannot be parsed.
    pub(super) fn are_all_plain(&self) -> bool {
        let is_plain = |failure: &Failure| {
            failure.test.is_none()
                && failure.location.is_some()
                && matches!(failure.kind.as_str(), "" | "syntax")
        };
        self.failures.iter().all(is_plain)
    }

    /// Checks whether a test in this file was found.
    pub(super) fn has_test_in(&self, file: &str) -> bool {
        let file = self.normalizer.path(file);
        let is_in = |failure: &Failure| failure.location.as_ref().is_some_and(|place| place.file == file);
        self.failures.iter().any(|failure| failure.test.is_some() && is_in(failure))
    }

    /// Returns a function that checks whether a diagnostic of a place was found.
    pub(super) fn known_places(&self) -> impl Fn(&str, Option<u32>) -> bool + use<'a> {
        let places = self.failures.iter().filter(|failure| failure.test.is_none());
        let places = places
            .filter_map(|failure| failure.location.as_ref().map(|place| (place.file.clone(), place.line)));
        let (places, normalizer): (BTreeSet<_>, _) = (places.collect(), self.normalizer);
        move |file, line| line.is_some() && places.contains(&(normalizer.path(file), line))
    }

    /// Returns a function that checks whether a test of this name was found, in a file if one is given.
    pub(super) fn known_tests(&self) -> impl Fn(&str, &str) -> bool + use<'a> {
        let file =
            |failure: &Failure| failure.location.as_ref().map(|place| place.file.clone()).unwrap_or_default();
        let tests = self.failures.iter().filter_map(|failure| Some((failure.test.clone()?, file(failure))));
        let (tests, normalizer): (BTreeSet<(String, String)>, _) = (tests.collect(), self.normalizer);
        move |name, file| {
            let test = (name.to_owned(), normalizer.path(file));
            match file {
                "" => tests.range(test..).next().is_some_and(|(known, _)| known == name),
                _ => tests.contains(&test),
            }
        }
    }

    /// Checks whether a test whose name begins with this was found.
    pub(super) fn has_test_with_prefix(&self, prefix: &str) -> bool {
        self.failures.iter().any(|failure| failure.test.as_ref().is_some_and(|test| test.starts_with(prefix)))
    }

    /// Chooses between a report, whose failures end at `reported`, and the text after it.
    ///
    /// The report names every test, so the text adds only failures outside of tests. The text says more in these cases:
    ///
    /// - jest: it contains as many tests as the JSON report.
    /// - CTest: the XML says little more of a test than its name.
    /// - pytest: the XML does not name subtests.
    ///
    /// Returns the new end of the report.
    pub(super) fn choose_source(&mut self, reported: usize) -> usize {
        let tests = |failures: &[Failure]| failures.iter().filter(|failure| failure.test.is_some()).count();
        let (report, text) = self.failures.split_at(reported);
        let tool = text.first().map_or("", |failure| failure.tool.as_str());
        let same = report.iter().all(|other| other.tool == tool);
        if same && tool == "pytest" {
            return self.take_subtests(reported);
        }
        if same && (tool == "ctest" || tool == "jest" && tests(text) >= tests(report)) {
            let subject = |failure: &Failure| {
                let file = failure.location.as_ref().map(|place| place.file.clone());
                (failure.test.clone(), file.filter(|_| failure.test.is_none()))
            };
            // A failure that the text reports with the same words was already added once, by the report.
            let told: BTreeSet<_> = text.iter().map(subject).collect();
            let names_tests = tool == "ctest";
            let is_kept = |failure: &Failure| {
                (names_tests || failure.test.is_none()) && !told.contains(&subject(failure))
            };
            let kept = report.iter().filter(|failure| is_kept(failure)).count();
            let mut at = 0;
            self.failures.retain(|failure| {
                at += 1;
                at > reported || is_kept(failure)
            });
            return kept;
        }
        // A failure outside of a suite's tests is not one of its cases.
        let names_alike = same && ["node-test", "gtest"].contains(&tool);
        let named: BTreeSet<String> = report.iter().filter_map(|failure| failure.test.clone()).collect();
        let is_new = |test: &String| names_alike && !named.contains(test);
        self.retain_new(reported, |failure| failure.test.as_ref().is_none_or(is_new));
        reported
    }

    /// Replaces tests of pytest in the report by their subtests in the text, and keeps failures that belong to no test.
    ///
    /// The first `reported` failures name the tests as a whole. Returns the new end of the report.
    fn take_subtests(&mut self, reported: usize) -> usize {
        let (report, text) = self.failures.split_at(reported);
        let whole: BTreeSet<&str> = report.iter().filter_map(|failure| failure.test.as_deref()).collect();
        let test_of = |name: &str| {
            let ends = name.match_indices(' ').map(|(at, _)| at);
            let mut wholes = ends.filter(|at| name[at + 1..].starts_with(['[', '('])).map(|at| &name[..at]);
            wholes.find(|prefix| whole.contains(prefix)).filter(|_| !whole.contains(name)).map(str::to_owned)
        };
        let parts = text
            .iter()
            .filter_map(|failure| Some((failure.test.clone()?, test_of(failure.test.as_deref()?)?)));
        let parts: BTreeMap<String, String> = parts.collect();
        let told: BTreeSet<&String> = parts.values().collect();
        let is_told = |failure: &Failure| failure.test.as_ref().is_some_and(|test| told.contains(test));
        let kept = report.iter().filter(|failure| !is_told(failure)).count();
        let mut at = 0;
        self.failures.retain(|failure| {
            at += 1;
            match at <= reported {
                true => !is_told(failure),
                false => failure.test.as_ref().is_none_or(|test| parts.contains_key(test)),
            }
        });
        kept
    }

    /// Keeps only these of the failures after the first `reported`.
    pub(super) fn retain_new(&mut self, reported: usize, is_kept: impl Fn(&Failure) -> bool) {
        let mut at = 0;
        self.failures.retain(|failure| {
            at += 1;
            at <= reported || is_kept(failure)
        });
    }

    /// Adds a failure unless it is already present.
    pub(super) fn push(&mut self, draft: RawFailure) {
        self.add_span(&draft);
        if self.ignores_warnings && draft.is_warning {
            return;
        }
        self.set_tool(draft.tool);
        if self.failures.len() >= HELD_MAX {
            self.left_out += 1;
            return;
        }
        let line = draft.line.filter(|_| draft.test.is_none());
        let record = self.records.is_some().then(|| {
            let package = Some(self.package(&draft)).filter(|package| !package.is_empty()).map(str::to_owned);
            let record = Occurrence::from_raw(&draft, self.normalizer);
            Occurrence { suite: record.suite.or(package), ..record }
        });
        let fingerprint = self.insert(draft);
        if let (Some(records), Some(record)) = (&mut self.records, record) {
            records.add(Occurrence { fingerprint: fingerprint.clone(), ..record });
        }
        let lines = self.lines.entry(fingerprint).or_default();
        if lines.len() < PLACES_MAX {
            lines.extend(line);
        }
    }

    /// Adds failures that a summary only counts, as one failure at that many places. A higher count is a new failure.
    pub(super) fn push_counted(&mut self, label: &str, number: u64, line: &str) {
        let draft = RawFailure::process("summary", "counted", &[line]).about(label.trim_end_matches('s'));
        let places =
            u32::try_from(number).unwrap_or(u32::MAX).min(u32::try_from(PLACES_MAX).unwrap_or(u32::MAX));
        (1..=places).for_each(|place| self.push(RawFailure { line: Some(place), ..draft.clone() }));
    }

    /// Adds a failure if it is new, and returns its fingerprint. Repeated text is normalized only once.
    fn insert(&mut self, draft: RawFailure) -> Fingerprint {
        let printed = self.identity_as_printed(&draft);
        if let Some(known) = self.fingerprints.get(&printed) {
            return known.clone();
        }
        let identified = self.normalize(draft);
        let fingerprint = identified.fingerprint.clone();
        if !self.lines.contains_key(&fingerprint) {
            let failure = self.to_failure(identified);
            self.failures.push(failure);
        }
        if self.fingerprints.len() < HELD_MAX {
            self.fingerprints.insert(printed, fingerprint.clone());
        }
        fingerprint
    }

    /// Adds the errors of a tool, or its warnings if there are no errors: then they are why it failed.
    pub(super) fn push_errors(&mut self, drafts: Vec<RawFailure>) {
        let errors = drafts.iter().any(|draft| !draft.is_warning);
        for draft in drafts {
            if errors && draft.is_warning {
                self.add_span(&draft);
            } else {
                self.push(draft);
            }
        }
    }

    /// Records where the output reports a failure, or a warning that does not count.
    fn add_span(&mut self, draft: &RawFailure) {
        let is_test = draft.class == FailureClass::Test;
        self.spans.push(OutputSpan { address: draft.address, end: draft.end, is_test });
    }

    /// Returns the package of a failure. A failure with an absolute path needs none.
    fn package(&self, draft: &RawFailure) -> &str {
        let is_whole =
            draft.test.is_none() && draft.file.as_deref().is_some_and(|file| file.starts_with('/'));
        if is_whole { "" } else { self.packages.package_at(draft.address) }
    }

    /// Hashes the input of [`identified`](Self::normalize) before it is normalized.
    fn identity_as_printed(&self, draft: &RawFailure) -> Digest {
        /// A byte that no name contains: a line feed.
        const ABSENT: &str = "\n";
        let style = match draft.style {
            MaskingStyle::Diagnostic => "diagnostic",
            MaskingStyle::Values => "values",
            MaskingStyle::Lines => "lines",
        };
        let test = draft.test.as_deref().unwrap_or(ABSENT);
        let file = draft.file.as_deref().unwrap_or(ABSENT);
        let (package, tool, test_file) =
            (self.package(draft), draft.identifying_tool(), draft.test_file.as_str());
        Digest::sha256_parts(&[package, tool, test_file, test, file, &draft.kind, &draft.about, style])
    }

    /// Makes the identity of a draft.
    fn normalize(&self, mut draft: RawFailure) -> NormalizedFailure {
        let (package, tool) = (self.package(&draft), draft.identifying_tool());
        // Text that is searched for patterns is limited in length, whatever the tool printed.
        let about = Some(&mut draft.about).filter(|_| draft.style != MaskingStyle::Lines);
        for text in [&mut draft.values, &mut draft.kind].into_iter().chain(about) {
            text.truncate(text.floor_char_boundary(MESSAGE_MAX));
        }
        let names = [&mut draft.test, &mut draft.file].into_iter().flatten();
        for name in names.chain([&mut draft.test_file]) {
            name.truncate(name.floor_char_boundary(MESSAGE_MAX));
        }
        let test = draft.test.map(|name| self.normalizer.name(&name));
        let file = draft.file.map(|file| self.normalizer.path(&file));
        let place = file.as_deref().map(Normalizer::stable_path_part);
        let subject = test.as_deref().or(place.as_deref()).unwrap_or_default();
        let told = match draft.style {
            MaskingStyle::Lines => self.normalizer.lines(&draft.about),
            MaskingStyle::Diagnostic | MaskingStyle::Values => self.normalizer.volatile(&draft.about),
        };
        let about = match draft.style {
            MaskingStyle::Diagnostic => Normalizer::diagnostic_text(&told, &draft.kind),
            MaskingStyle::Lines => Cow::Owned(Normalizer::placeless(&told)),
            MaskingStyle::Values => Cow::Owned(Normalizer::values(&told, &draft.kind)),
        };
        let subject = match draft.test_file.as_str() {
            "" => Cow::Borrowed(subject),
            test_file => Cow::Owned(format!("{}\n{subject}", self.normalizer.path(test_file))),
        };
        let subject = match package {
            "" => subject,
            package => Cow::Owned(format!("{package}\n{subject}")),
        };
        let fingerprint = Fingerprint::from_parts(&[tool, &subject, &draft.kind, &about]);
        NormalizedFailure { fingerprint, draft: RawFailure { test, file, about: told, ..draft } }
    }

    fn to_failure(&self, NormalizedFailure { fingerprint, draft }: NormalizedFailure) -> Failure {
        let values = self.normalizer.volatile(&draft.values);
        let exact = Fingerprint::from_parts(&[fingerprint.as_str(), &draft.about, &values]);
        Failure {
            fingerprint,
            exact,
            tool: draft.tool.to_owned(),
            test: draft.test,
            location: draft.file.map(|file| Location { file, line: draft.line }),
            kind: draft.kind,
            message: truncate_message(draft.message),
            source: self.source,
            places: 1,
            remaining: None,
        }
    }

    /// Drops failures above the maximum. The selection does not depend on the order of the output, so fixing an early
    /// failure does not bring up one that was dropped before.
    fn limit_number(&mut self) {
        if self.failures.len() <= FAILURES_MAX {
            return;
        }
        let mut all: Vec<Fingerprint> =
            self.failures.iter().map(|failure| failure.fingerprint.clone()).collect();
        let (_, first_out, _) = all.select_nth_unstable(FAILURES_MAX);
        let before = self.failures.len();
        self.failures.retain(|failure| failure.fingerprint < *first_out);
        self.left_out += u64::try_from(before - self.failures.len()).unwrap_or(u64::MAX);
    }

    /// Ends the search.
    pub(super) fn into_extraction(mut self, confidence: Confidence, bytes_left_out: u64) -> Extraction {
        self.limit_number();
        for failure in &mut self.failures {
            let places = self.lines.get(&failure.fingerprint).map_or(1, BTreeSet::len).max(1);
            failure.places = u32::try_from(places).unwrap_or(u32::MAX);
        }
        Extraction {
            tool: self.tool.to_owned(),
            failures: self.failures,
            confidence,
            bytes_left_out,
            failures_left_out: self.left_out,
        }
    }
}

/// Cuts a message at a character.
fn truncate_message(mut message: String) -> String {
    if message.len() > MESSAGE_MAX {
        message.truncate(message.floor_char_boundary(MESSAGE_MAX));
        message.push('…');
    }
    message
}
