//! The report on a failed validator for a prompt, without its lists: one sentence, the details, the severity, what to
//! do, the cause, the files.
//!
//! The extractors of a validator decide its topic. If they do not, the failures in its output do.

use unstuck_core::completion::{Extractor, Validator, ValidatorKind};
use unstuck_core::evidence::{FailureReport, Severity, ValidatorOutcome};
use unstuck_core::plural::count;
use unstuck_failures::git_status::{GitStatusEntry, PathStatus};
use unstuck_failures::{FailureClass, Occurrence};

use super::checklist;
use super::extract::{ALL, ParsedOutput, distinct};

/// The topic of a validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidatorTopic {
    /// Paths that are not committed.
    Changes,
    /// Commits that are not merged, or not pushed.
    Branch,
    /// Tests.
    Tests,
    /// Types, and whatever else a compiler checks.
    Types,
    /// The rules of a linter.
    Lint,
    /// The format of files.
    Format,
    /// Required files.
    Files,
    /// A checklist.
    Checklist,
    /// Something else.
    Other,
}

impl ValidatorTopic {
    /// Returns the topic of a validator, by its extractors.
    pub fn from_validator(validator: &Validator) -> Self {
        match validator.run {
            ValidatorKind::Files(_) => return Self::Files,
            ValidatorKind::Checklist(_) => return Self::Checklist,
            ValidatorKind::Command(_) | ValidatorKind::Custom(_) => {}
        }
        // Some extractors fit several subjects, so those that fit one decide.
        let told = validator.extract.values().filter_map(|extractor| Self::from_extractor(*extractor));
        told.reduce(|first, next| if first == Self::Branch { next } else { first }).unwrap_or(Self::Other)
    }

    fn from_extractor(extractor: Extractor) -> Option<Self> {
        match extractor {
            Extractor::ChangedFiles
            | Extractor::StagedFiles
            | Extractor::UnstagedFiles
            | Extractor::UntrackedFiles => Some(Self::Changes),
            Extractor::BranchName | Extractor::RemoteStatus | Extractor::MergeStatus => Some(Self::Branch),
            Extractor::FailedTests => Some(Self::Tests),
            Extractor::TypeErrors => Some(Self::Types),
            Extractor::LintErrors | Extractor::LintFiles => Some(Self::Lint),
            Extractor::FormatFiles | Extractor::Diff => Some(Self::Format),
            Extractor::MissingPaths | Extractor::ExpectedPath => Some(Self::Files),
            Extractor::ErrorOutput
            | Extractor::Files
            | Extractor::Stdout
            | Extractor::Stderr
            | Extractor::ExitCode => None,
        }
    }

    /// Returns the topic by the first failure of the output, if the extractors do not decide it.
    fn refined(self, facts: &ParsedOutput<'_>) -> Self {
        let count = |class: FailureClass| facts.records(&[class]).count();
        let first = facts.records(ALL).next().map(|record| record.class);
        match (self, first) {
            (Self::Other, Some(FailureClass::Test)) => Self::Tests,
            (Self::Other, Some(FailureClass::Diagnostic)) if count(FailureClass::Test) > 0 => Self::Tests,
            (Self::Other, Some(FailureClass::Diagnostic)) => Self::Types,
            (Self::Other, Some(FailureClass::Format)) => Self::Format,
            (subject, _) => subject,
        }
    }
}

/// Reports on a command. `subject` is its topic.
pub fn command_report(subject: ValidatorTopic, facts: &ParsedOutput<'_>) -> FailureReport {
    let records: Vec<&Occurrence> = facts.records(ALL).collect();
    let files = || distinct(records.iter().filter_map(|record| record.file.clone()));
    let common = FailureReport {
        details: records.iter().map(|record| line_of(record)).collect(),
        root_cause: records.first().map(|record| line_of(record)).unwrap_or_default(),
        related_files: files(),
        ..FailureReport::default()
    };
    let subject = subject.refined(facts);
    match subject {
        // A message without a path is not about paths.
        ValidatorTopic::Changes if facts.entries.is_empty() && !facts.is_silent() => other(facts, common),
        ValidatorTopic::Changes => changes(&facts.entries),
        ValidatorTopic::Files => missing(facts.raw().missing),
        ValidatorTopic::Branch => branch(facts),
        ValidatorTopic::Tests => tests(facts, common),
        ValidatorTopic::Types => diagnostics(facts, common, "error"),
        // Code that does not compile was not linted.
        ValidatorTopic::Lint if records.iter().any(|record| is_of_rustc(record)) => {
            diagnostics(facts, common, "error")
        }
        ValidatorTopic::Lint => diagnostics(facts, common, "lint problem"),
        ValidatorTopic::Format => format(facts, common),
        ValidatorTopic::Checklist | ValidatorTopic::Other => other(facts, common),
    }
}

/// Reports on a command that failed without any output: only the command and its exit are known.
pub fn silence_report(what: &str) -> FailureReport {
    FailureReport {
        summary: what.to_owned(),
        details: vec![what.to_owned()],
        suggested_action: "Find out what this command checks, and mend that".to_owned(),
        ..FailureReport::default()
    }
}

/// Reports on a checklist.
pub fn checklist_report(path: &str, reading: &checklist::ChecklistState) -> FailureReport {
    let details: Vec<String> = reading.open.iter().map(|item| item.text.clone()).collect();
    let action = match details.is_empty() {
        false => "Do the open items, and tick each only when it is done",
        true => "Write the checklist with all of its items",
    };
    FailureReport {
        summary: reading.error.clone(),
        root_cause: details.first().cloned().unwrap_or_default(),
        details,
        suggested_action: action.to_owned(),
        related_files: vec![path.to_owned()],
        ..FailureReport::default()
    }
}

/// Reports on a validator that could not run, or adds nothing for one that did.
pub fn could_not_run(name: &str, outcome: &ValidatorOutcome) -> Option<FailureReport> {
    let ValidatorOutcome::CouldNotRun(why) = outcome else { return None };
    Some(FailureReport {
        summary: format!("validator {name} could not run: {why}"),
        severity: Severity::Critical,
        suggested_action: "Mend the validator or its environment; no work of an agent does".to_owned(),
        root_cause: why.clone(),
        ..FailureReport::default()
    })
}

/// Reports on paths in the output of git.
fn changes(entries: &[GitStatusEntry]) -> FailureReport {
    let paths = |wanted: &dyn Fn(&GitStatusEntry) -> bool| -> Vec<String> {
        entries.iter().filter(|entry| wanted(entry)).map(|entry| entry.path.clone()).collect()
    };
    let conflicts = paths(&|entry| entry.status == PathStatus::Conflict);
    let modified = paths(&|entry| matches!(entry.status, PathStatus::Tracked { .. }) && !entry.is_deleted);
    let deleted = paths(&|entry| entry.is_deleted);
    let untracked = paths(&|entry| !entry.is_tracked());
    let counted = [
        (&conflicts, "in conflict"),
        (&modified, "modified"),
        (&deleted, "deleted"),
        (&untracked, "untracked"),
    ];
    let told: Vec<String> = counted
        .iter()
        .filter(|(paths, _)| !paths.is_empty())
        .map(|(paths, how)| format!("{} {how}", count(paths.len(), "file")))
        .collect();
    let action = if !conflicts.is_empty() {
        let all = if conflicts.len() == 1 { "" } else { "s" };
        format!("Resolve the merge conflict{all} in {}", conflicts.join(", "))
    } else if !modified.is_empty() {
        "Stage and commit the modified files".to_owned()
    } else if !deleted.is_empty() {
        "Commit the deletions, or restore the files".to_owned()
    } else if !untracked.is_empty() {
        // New files are more often work than not.
        "Commit the untracked files that belong to the work, and remove or ignore the others".to_owned()
    } else {
        "Clean untracked files".to_owned()
    };
    let tracked: Vec<String> = conflicts.iter().chain(&modified).chain(&deleted).cloned().collect();
    FailureReport {
        summary: if told.is_empty() { "No changes detected".to_owned() } else { told.join(", ") },
        details: entries.iter().map(|entry| format!("{}: {}", name(entry), word(entry))).collect(),
        severity: match (conflicts.is_empty(), modified.is_empty() && deleted.is_empty()) {
            (false, _) => Severity::Critical,
            (true, false) => Severity::Error,
            (true, true) => Severity::Warning,
        },
        suggested_action: action,
        root_cause: told.first().cloned().unwrap_or_default(),
        related_files: tracked,
    }
}

/// Returns the path; for a renamed file, both paths.
fn name(entry: &GitStatusEntry) -> String {
    match &entry.from {
        Some(from) => format!("{from} -> {}", entry.path),
        None => entry.path.clone(),
    }
}

fn word(entry: &GitStatusEntry) -> &'static str {
    match entry.status {
        PathStatus::Tracked { unstaged: false, .. } if entry.is_deleted => "deleted, not committed",
        PathStatus::Tracked { .. } if entry.is_deleted => "deleted",
        PathStatus::Tracked { .. } if entry.from.is_some() => "renamed, not committed",
        PathStatus::Conflict => "in conflict",
        PathStatus::Untracked => "untracked",
        PathStatus::Tracked { staged: true, unstaged: false } => "staged, not committed",
        PathStatus::Tracked { .. } => "modified",
    }
}

fn missing(paths: &[String]) -> FailureReport {
    FailureReport {
        summary: format!("{} missing", count(paths.len(), "file")),
        details: paths.iter().map(|path| format!("{path} is not there")).collect(),
        suggested_action: format!("Create {}", paths.join(", ")),
        root_cause: paths.first().map(|path| format!("{path} is not there")).unwrap_or_default(),
        related_files: paths.to_vec(),
        ..FailureReport::default()
    }
}

fn branch(facts: &ParsedOutput<'_>) -> FailureReport {
    let text = |extractor| facts.extract(extractor).as_str().unwrap_or_default().to_owned();
    let (name, unmerged) = (text(Extractor::BranchName), text(Extractor::MergeStatus));
    let name = if name.is_empty() { "the branch".to_owned() } else { format!("the branch {name}") };
    let commits: Vec<String> = unmerged.lines().map(str::to_owned).collect();
    let (summary, action) = match commits.len() {
        0 => (
            format!("{name} is not as it has to be: {}", text(Extractor::RemoteStatus)),
            "Push or merge the branch",
        ),
        1 => (format!("1 commit of {name} is not merged"), "Merge the branch"),
        count => (format!("{count} commits of {name} are not merged"), "Merge the branch"),
    };
    FailureReport {
        summary,
        root_cause: commits.first().cloned().unwrap_or_default(),
        details: commits,
        suggested_action: action.to_owned(),
        ..FailureReport::default()
    }
}

fn tests(facts: &ParsedOutput<'_>, common: FailureReport) -> FailureReport {
    let failed = facts.records(&[FailureClass::Test]).count();
    let counted = unstuck_failures::count(facts.raw().stdout, facts.raw().stderr);
    if failed == 0 && !common.details.is_empty() {
        // Code that does not build has no tests.
        let report = diagnostics(facts, common, "error");
        let summary = format!("the tests could not be built or loaded: {}", report.summary);
        return FailureReport { summary, severity: Severity::Critical, ..report };
    }
    if failed == 0 && facts.is_unparsed() {
        return other(facts, common);
    }
    let tests = format!("{} failed", count(failed, "test"));
    let total = counted.map(|counts| counts.total().max(u64::try_from(failed).unwrap_or(u64::MAX)));
    FailureReport {
        summary: total.map_or_else(|| tests.clone(), |total| format!("{tests} out of {total}")),
        suggested_action: tests_action(facts).to_owned(),
        ..common
    }
}

fn tests_action(facts: &ParsedOutput<'_>) -> &'static str {
    let kinds: Vec<&str> = facts.records(&[FailureClass::Test]).map(|record| record.code.as_str()).collect();
    let all =
        |kind: &str| !kinds.is_empty() && kinds.iter().all(|name| name.to_ascii_lowercase().contains(kind));
    if all("timeout") {
        "Find what the tests wait for"
    } else if all("setup") {
        "Mend the setup that the tests share"
    } else {
        "Fix the failing test assertions"
    }
}

/// Reports on the output of a compiler or a linter; `noun` is one of its findings.
fn diagnostics(facts: &ParsedOutput<'_>, common: FailureReport, noun: &str) -> FailureReport {
    if common.details.is_empty() {
        return other(facts, common);
    }
    let warnings = facts.records(ALL).all(|record| record.is_warning);
    let noun = if warnings && noun == "error" { "warning" } else { noun };
    let files = match &common.related_files[..] {
        [] => String::new(),
        [file] => format!(" in {file}"),
        files => format!(" in {}", count(files.len(), "file")),
    };
    let action = match noun {
        "lint problem" => "Correct what the linter names; do not switch its rules off",
        _ => "Correct the first error first: others may follow from it",
    };
    FailureReport {
        summary: format!("{}{files}", count(common.details.len(), noun)),
        severity: if warnings { Severity::Warning } else { Severity::Error },
        suggested_action: action.to_owned(),
        ..common
    }
}

fn format(facts: &ParsedOutput<'_>, common: FailureReport) -> FailureReport {
    let files = distinct(facts.records(&[FailureClass::Format]).filter_map(|record| record.file.clone()));
    let summary = match files.len() {
        0 if !common.details.is_empty() => return diagnostics(facts, common, "error"),
        0 if facts.is_unparsed() => return other(facts, common),
        0 => "All files are properly formatted.".to_owned(),
        1 => "1 file needs formatting".to_owned(),
        count => format!("{count} files need formatting"),
    };
    FailureReport {
        summary,
        severity: if files.is_empty() { Severity::Info } else { Severity::Warning },
        suggested_action: "Run the formatter on these files".to_owned(),
        details: files.iter().map(|file| format!("{file}: not formatted")).collect(),
        root_cause: String::new(),
        related_files: files,
    }
}

/// Reports on any other output: by its recognized failures, otherwise by its last line.
fn other(facts: &ParsedOutput<'_>, common: FailureReport) -> FailureReport {
    let raw = facts.raw();
    let tail = facts.error_output();
    let last = tail.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let ended = match raw.exit {
        unstuck_core::event::Exit::Code(0) => {
            "the command printed what it should not, or not what it should".to_owned()
        }
        unstuck_core::event::Exit::Code(code) => format!("the command exited with {code}"),
        _ => "the command did not come to its end".to_owned(),
    };
    let cause = if common.root_cause.is_empty() { last.to_owned() } else { common.root_cause };
    let details =
        if common.details.is_empty() { tail.lines().map(str::to_owned).collect() } else { common.details };
    FailureReport {
        summary: if cause.is_empty() {
            ended
        } else {
            format!("{ended}: {}", cause.lines().next().unwrap_or_default())
        },
        details,
        suggested_action: "Read the output, and mend its cause".to_owned(),
        root_cause: cause,
        ..common
    }
}

/// Returns whether an error has a code of the Rust compiler, such as `E0308`.
fn is_of_rustc(record: &Occurrence) -> bool {
    let digits = record.code.strip_prefix("E0").unwrap_or_default();
    digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns what failed and where, in one line.
fn line_of(record: &Occurrence) -> String {
    let place = record.file.as_ref().map(|file| match (record.line, record.column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(line), None) => format!("{file}:{line}"),
        (None, _) => file.clone(),
    });
    let code = Some(record.code.as_str())
        .filter(|code| !code.is_empty() && record.class == FailureClass::Diagnostic);
    let code = code.map(|code| format!(" [{code}]")).unwrap_or_default();
    match (&record.name, place) {
        (Some(name), Some(place)) if *name != place => format!("{name} ({place}): {}", record.message),
        (Some(name), _) => format!("{name}: {}", record.message),
        (None, Some(place)) => format!("{place}: {}{code}", record.message),
        (None, None) => format!("{}{code}", record.message),
    }
}
