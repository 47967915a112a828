//! Extractors: lists and texts for a prompt, parsed from the output of a validator.
//!
//! [`unstuck_failures`] parses the output of tools and of `git status`. This module brings the same facts into the
//! shapes that prompts need. A validator that failed never leaves a list of records empty: unrecognized output becomes
//! one record with `unparsed: true`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use unstuck_core::completion::Extractor;
use unstuck_core::event::Exit;
use unstuck_failures::git_status::{self, GitStatusEntry};
use unstuck_failures::{Confidence, FailureClass, Occurrence, OccurrenceReport, ToolOutput};

/// Number of lines from the end that represent unrecognized output.
const TAIL_LINES: usize = 40;

/// Name of the record for unrecognized output.
pub const UNRECOGNIZED: &str = "unrecognized output";

/// The output of a validator.
#[derive(Clone, Copy, Debug)]
pub struct ValidatorOutput<'a> {
    /// The command line; empty for files and checklists.
    pub command: &'a str,
    /// The folder that it ran in, absolute; paths below it become relative.
    pub cwd: &'a str,
    /// How it ended.
    pub exit: &'a Exit,
    /// Standard output.
    pub stdout: &'a [u8],
    /// Standard error.
    pub stderr: &'a [u8],
    /// The validator did not pass. Then unrecognized output is reported as one record.
    pub failed: bool,
    /// The files that were asked for.
    pub asked: &'a [String],
    /// The missing paths.
    pub missing: &'a [String],
    /// The repository when the validator ran, if there is one.
    pub repository: Option<&'a RepositoryInfo>,
    /// The way from the root of the repository to the folder that it ran in, `pkg/app/`; empty at the root.
    pub below_root: &'a str,
}

/// The state of a repository when a validator ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepositoryInfo {
    /// The branch; `None` where HEAD is detached.
    pub branch: Option<String>,
    /// The branch that it follows, as `origin/main`.
    pub upstream: Option<String>,
    /// Commits that the upstream lacks.
    pub ahead: u32,
    /// Commits of the upstream that are lacking here.
    pub behind: u32,
    /// Commits that are not merged into the base, one line each.
    pub unmerged: Vec<String>,
}

/// Where the paths of `git status` begin, of a folder that is not the root of its repository.
struct PathBase<'a> {
    root: &'a str,
    below_root: &'a str,
    cwd: &'a str,
    /// They begin at the root, as in porcelain v1 and with NUL, and not at the folder.
    begin_at_root: bool,
}

impl<'a> PathBase<'a> {
    fn new(raw: &ValidatorOutput<'a>) -> Self {
        let mut words = raw.command.split_whitespace();
        let at_root = |word: &str| {
            let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
            matches!(word, "--porcelain" | "--porcelain=v1" | "--porcelain=1" | "--null")
                || letters.is_some_and(|letters| letters.contains('z'))
        };
        let root = raw.cwd.strip_suffix(raw.below_root.trim_end_matches('/')).unwrap_or(raw.cwd);
        Self { root, below_root: raw.below_root, cwd: raw.cwd, begin_at_root: words.any(at_root) }
    }

    /// Returns a path from the folder, or from the root of the file system where it is outside.
    fn below_folder(&self, path: &str) -> String {
        if self.begin_at_root {
            return match path.strip_prefix(self.below_root) {
                Some("") => "./".to_owned(),
                Some(below) => below.to_owned(),
                None => format!("{}/{path}", self.root.trim_end_matches('/')),
            };
        }
        let (mut folder, mut rest) = (self.cwd.trim_end_matches('/'), path);
        while let Some(above) = rest.strip_prefix("../") {
            (folder, rest) = (folder.rsplit_once('/').map_or("", |(above, _)| above), above);
        }
        if rest.len() == path.len() { path.to_owned() } else { format!("{folder}/{rest}") }
    }
}

/// The parsed output, shared by all extractors.
#[derive(Debug)]
pub struct ParsedOutput<'a> {
    raw: ValidatorOutput<'a>,
    /// The failures, and each of their places.
    pub reading: OccurrenceReport,
    /// The status of each path.
    pub entries: Vec<GitStatusEntry>,
}

/// Returns what an extractor reads.
pub fn extract(extractor: Extractor, raw: ValidatorOutput<'_>) -> Value {
    ParsedOutput::new(raw).extract(extractor)
}

impl<'a> ParsedOutput<'a> {
    /// Reads everything once.
    pub fn new(raw: ValidatorOutput<'a>) -> Self {
        let output = ToolOutput {
            command: raw.command,
            cwd: raw.cwd,
            exit_code: raw.exit.code(),
            stdout: raw.stdout,
            stderr: raw.stderr,
            ..ToolOutput::default()
        };
        let mut entries = git_status::parse(raw.stdout);
        if !raw.below_root.is_empty() {
            let place = PathBase::new(&raw);
            for path in
                entries.iter_mut().flat_map(|entry| [Some(&mut entry.path), entry.from.as_mut()]).flatten()
            {
                *path = place.below_folder(path);
            }
        }
        Self { raw, reading: unstuck_failures::read(&output), entries }
    }

    /// Sets whether the validator failed, which is known only after its output was parsed.
    #[must_use]
    pub fn with_failed(self, failed: bool) -> Self {
        Self { raw: ValidatorOutput { failed, ..self.raw }, ..self }
    }

    /// Returns what it was read from.
    pub fn raw(&self) -> &ValidatorOutput<'a> {
        &self.raw
    }

    /// Returns whether nothing was printed.
    pub fn is_silent(&self) -> bool {
        [self.raw.stdout, self.raw.stderr].iter().all(|stream| stream.trim_ascii().is_empty())
    }

    /// Says whether a tool was recognized that tells what failed.
    pub fn is_recognized(&self) -> bool {
        self.reading.extraction.confidence > Confidence::Low && !self.reading.extraction.failures.is_empty()
    }

    /// Says whether the grammar of a tool tells what failed, and not only the look of a line.
    pub fn is_reported_by_tool(&self) -> bool {
        self.is_recognized() && self.reading.extraction.confidence == Confidence::High
    }

    /// Returns the records of these classes; none for unrecognized output.
    pub fn records(&self, classes: &[FailureClass]) -> impl Iterator<Item = &Occurrence> {
        let known = self.is_recognized();
        self.reading.records.iter().filter(move |record| known && classes.contains(&record.class))
    }

    /// Returns what an extractor reads.
    pub fn extract(&self, extractor: Extractor) -> Value {
        let raw = &self.raw;
        match extractor {
            Extractor::ChangedFiles => self.paths_where(GitStatusEntry::is_tracked),
            Extractor::StagedFiles => self.paths_where(GitStatusEntry::is_staged),
            Extractor::UnstagedFiles => self.paths_where(GitStatusEntry::is_unstaged),
            Extractor::UntrackedFiles => self.paths_where(|entry| !entry.is_tracked()),
            Extractor::FailedTests => self.list(&[FailureClass::Test, FailureClass::Process], test),
            Extractor::TypeErrors => self.list(&[FailureClass::Diagnostic], type_error),
            Extractor::LintErrors => self.list(&[FailureClass::Diagnostic], lint_error),
            Extractor::ErrorOutput => self.error_output().into(),
            Extractor::Files => self.files(ALL, self.bare_places()),
            Extractor::LintFiles => self.files(&[FailureClass::Diagnostic], Vec::new()),
            Extractor::FormatFiles => self.files(&[FailureClass::Format], Vec::new()),
            Extractor::Diff => self.diff().into(),
            Extractor::BranchName => self.branch().into(),
            Extractor::RemoteStatus => self.remote().into(),
            Extractor::MergeStatus => self.unmerged().into(),
            Extractor::Stdout => String::from_utf8_lossy(raw.stdout).into(),
            Extractor::Stderr => String::from_utf8_lossy(raw.stderr).into(),
            Extractor::ExitCode => exit_code(raw.exit),
            Extractor::MissingPaths => raw.missing.into(),
            Extractor::ExpectedPath => raw.asked.first().cloned().unwrap_or_default().into(),
        }
    }

    fn paths_where(&self, wanted: impl Fn(&GitStatusEntry) -> bool) -> Value {
        self.entries.iter().filter(|entry| wanted(entry)).map(|entry| entry.path.clone()).collect()
    }

    /// Returns the files of the records of these classes, and others; each once.
    fn files(&self, classes: &[FailureClass], others: Vec<String>) -> Value {
        let files = self.records(classes).filter_map(|record| record.file.clone());
        distinct(files.chain(others)).into()
    }

    /// Returns records in a shape: the records of the classes, otherwise all records, otherwise the whole output as one
    /// record.
    fn list(&self, classes: &[FailureClass], shape: fn(&Occurrence) -> Value) -> Value {
        let wanted: Vec<Value> = self.records(classes).map(shape).collect();
        let list = if wanted.is_empty() { self.records(ALL).map(shape).collect() } else { wanted };
        if !list.is_empty() || !self.raw.failed {
            return list.into();
        }
        let tail = self.tail();
        json!([{ "name": UNRECOGNIZED, "error": tail, "message": tail, "unparsed": true }])
    }

    /// Returns the end of the output: of standard error if it has any text.
    fn tail(&self) -> String {
        let streams = [self.raw.stdout, self.raw.stderr].map(unstuck_failures::plain);
        let lines: Vec<&str> = streams.iter().flat_map(|text| text.trim().lines()).collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
    }

    /// Returns whether no failure was parsed from the output of a validator that failed.
    pub fn is_unparsed(&self) -> bool {
        self.raw.failed && !self.is_recognized()
    }

    /// Returns the part of the output that shows the failures: the streams that a recognized tool printed them on. A
    /// long output starts at its first failure. If no tool was recognized, returns the end of the output.
    pub fn error_output(&self) -> String {
        const BYTES_MAX: usize = 16 * 1024;
        if !self.is_recognized() {
            return self.tail();
        }
        let told: Vec<String> = [self.raw.stdout, self.raw.stderr]
            .into_iter()
            .filter(|stream| self.tells(stream))
            .map(|stream| unstuck_failures::plain(stream).trim_matches(['\n', ' ']).to_owned())
            .collect();
        let text = told.join("\n");
        if text.len() <= BYTES_MAX {
            return text;
        }
        let start = self.first_mention(&text);
        let end = text.floor_char_boundary(start + BYTES_MAX);
        match text.len() - end {
            0 => text[start..].to_owned(),
            left => format!("{}\n… {left} bytes more", &text[start..end]),
        }
    }

    /// Returns whether the tool prints its failures on this stream.
    fn tells(&self, stream: &[u8]) -> bool {
        let output = ToolOutput { stdout: stream, cwd: self.raw.cwd, ..ToolOutput::default() };
        let alone = unstuck_failures::read(&output);
        let tools = self.reading.records.iter().map(|record| &record.tool);
        let mut all: Vec<&String> = tools.collect();
        all.dedup();
        alone.records.iter().any(|record| all.contains(&&record.tool))
    }

    /// Returns the start of the first line that mentions a failure.
    fn first_mention(&self, text: &str) -> usize {
        const LOOKED_FOR: usize = 20;
        let named = self.records(ALL).take(LOOKED_FOR);
        let places = named.flat_map(|record| [record.name.as_deref(), Some(record.message.as_str())]);
        let first = places.flatten().filter(|word| !word.is_empty()).filter_map(|word| text.find(word)).min();
        first.map_or(0, |at| text[..at].rfind('\n').map_or(0, |line| line + 1))
    }

    /// Returns the files of lines that contain only a place.
    fn bare_places(&self) -> Vec<String> {
        static PLACE: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?m)^(?:(?P<url>(?:[ \t]*at )?file://)|\./)?(?P<file>[^\s:][^:\n]*\.\w+):\d+(?::\d+)?[ \t]*$")
                .expect("well formed")
        });
        // Words that lead to a place are not part of its file.
        const WORDS: [&str; 5] = [" => ", " > ", " at ", " in ", "("];
        let streams = [self.raw.stdout, self.raw.stderr].map(unstuck_failures::plain);
        let root = format!("{}/", self.raw.cwd.trim_end_matches('/'));
        let places = streams.iter().flat_map(|text| PLACE.captures_iter(text));
        let file = |place: regex::Captures<'_>| match place.name("url") {
            Some(_) => unstuck_failures::percent_decode(&place["file"]),
            None => place["file"].to_owned(),
        };
        let files = places.map(file).map(|file| file.trim_start_matches(&root).to_owned());
        files.filter(|file| !WORDS.iter().any(|word| file.contains(word))).collect()
    }

    /// Returns the diff that a formatter printed, otherwise the files that it named.
    fn diff(&self) -> String {
        let formatted = || self.records(&[FailureClass::Format]);
        let streams = [self.raw.stdout, self.raw.stderr].map(unstuck_failures::plain);
        // In rustfmt output, a file is one record and each of its diffs starts with this.
        let rustfmt = streams.iter().find_map(|text| Some((text, text.find("Diff in ")?)));
        if let Some((text, at)) = rustfmt.filter(|(_, at)| *at == 0 || formatted().next().is_some()) {
            return text[at..].trim_end().to_owned();
        }
        let blocks: Vec<&str> = formatted().map(|record| record.block.as_str()).collect();
        if blocks.iter().any(|block| block.contains('\n')) {
            return blocks.join("\n");
        }
        let is_diff = |text: &&String| text.contains("\n+++ ") && text.contains("\n@@ ");
        if let Some(text) = streams.iter().find(is_diff) {
            return text.trim_end().to_owned();
        }
        match distinct(formatted().filter_map(|record| record.file.clone())) {
            files if files.is_empty() && self.raw.failed => self.tail(),
            files => unformatted(&files),
        }
    }

    fn branch(&self) -> String {
        let head = git_status::head(self.raw.stdout).and_then(|head| head.branch);
        let text = unstuck_failures::plain(self.raw.stdout);
        // `git branch` marks the current one; `git branch --show-current` prints nothing else.
        let marked = text.lines().find_map(|line| line.strip_prefix("* "));
        let alone = Some(text.trim()).filter(|word| !word.is_empty() && !word.contains(char::is_whitespace));
        let told = head.or_else(|| marked.map(|name| name.trim().to_owned()));
        let known = || self.raw.repository.and_then(|repository| repository.branch.clone());
        told.or_else(known).or_else(|| alone.map(str::to_owned)).unwrap_or_default()
    }

    fn remote(&self) -> String {
        let told = git_status::head(self.raw.stdout).filter(|head| head.branch.is_some());
        let known = self.raw.repository;
        let (upstream, ahead, behind) = match (&told, known) {
            (Some(head), _) if head.is_gone => {
                return format!("{}, gone", head.upstream.as_deref().unwrap_or_default());
            }
            (Some(head), _) => (head.upstream.as_ref(), head.ahead, head.behind),
            (None, Some(repository)) => (repository.upstream.as_ref(), repository.ahead, repository.behind),
            (None, None) => (None, 0, 0),
        };
        let Some(upstream) = upstream else { return "no upstream".to_owned() };
        match (ahead, behind) {
            (0, 0) => format!("{upstream}, up to date"),
            (ahead, 0) => format!("{upstream}, {ahead} ahead"),
            (0, behind) => format!("{upstream}, {behind} behind"),
            (ahead, behind) => format!("{upstream}, {ahead} ahead, {behind} behind"),
        }
    }

    /// Returns commits as `git log --oneline` prints them, else those that the repository has.
    fn unmerged(&self) -> String {
        static COMMIT: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"^[0-9a-f]{7,40} \S").expect("well formed"));
        let text = unstuck_failures::plain(self.raw.stdout);
        let listed: Vec<&str> = text.lines().filter(|line| COMMIT.is_match(line)).collect();
        match (listed.is_empty(), self.raw.repository) {
            (true, Some(repository)) => repository.unmerged.join("\n"),
            _ => listed.join("\n"),
        }
    }
}

/// All classes.
pub(super) const ALL: &[FailureClass] =
    &[FailureClass::Test, FailureClass::Diagnostic, FailureClass::Format, FailureClass::Process];

/// Returns a sentence about the files that are not formatted.
pub fn unformatted(files: &[String]) -> String {
    match files {
        [] => "No formatting issues found.".to_owned(),
        [file] => format!("1 file needs formatting:\n  - {file}"),
        files => format!("{} files need formatting:\n  - {}", files.len(), files.join("\n  - ")),
    }
}

/// Returns each item once, in the order in which they come.
pub(super) fn distinct(items: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    items.filter(|item| seen.insert(item.clone())).collect()
}

/// Returns an exit code; of a signal the one that shells make of it.
fn exit_code(exit: &Exit) -> Value {
    match exit {
        Exit::Code(code) => (*code).into(),
        Exit::Signal(signal) => (128 + signal).into(),
        _ => Value::Null,
    }
}

/// `{name, error, message, file?, line?, column?, suite?}`.
fn test(record: &Occurrence) -> Value {
    let name = record.name.as_ref().or(record.file.as_ref()).unwrap_or(&record.message);
    let mut fields = Map::new();
    fields.insert("name".into(), name.as_str().into());
    fields.insert("error".into(), record.message.as_str().into());
    fields.insert("message".into(), record.message.as_str().into());
    place(record, &mut fields);
    if let Some(suite) = &record.suite {
        fields.insert("suite".into(), suite.as_str().into());
    }
    fields.into()
}

/// `{file?, line?, column?, code?, message, severity}`.
fn type_error(record: &Occurrence) -> Value {
    diagnostic(record, "code")
}

/// `{rule?, message, file?, line?, column?, severity}`.
fn lint_error(record: &Occurrence) -> Value {
    diagnostic(record, "rule")
}

fn diagnostic(record: &Occurrence, code: &str) -> Value {
    let mut fields = Map::new();
    place(record, &mut fields);
    if !record.code.is_empty() {
        fields.insert(code.into(), record.code.as_str().into());
    }
    fields.insert("message".into(), record.message.as_str().into());
    fields.insert("severity".into(), if record.is_warning { "warning" } else { "error" }.into());
    fields.into()
}

fn place(record: &Occurrence, fields: &mut Map<String, Value>) {
    if let Some(file) = &record.file {
        fields.insert("file".into(), file.as_str().into());
    }
    for (name, number) in [("line", record.line), ("column", record.column)] {
        if let Some(number) = number {
            fields.insert(name.into(), number.into());
        }
    }
}
