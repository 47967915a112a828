//! Extractors: values read from a validator's output for the prompt that answers its failure.

use serde::{Deserialize, Serialize};

/// A way to read an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "docs/validators.md has the table")]
pub enum Extractor {
    ChangedFiles,
    StagedFiles,
    UnstagedFiles,
    UntrackedFiles,
    FailedTests,
    ErrorOutput,
    TypeErrors,
    Files,
    LintErrors,
    LintFiles,
    FormatFiles,
    Diff,
    BranchName,
    RemoteStatus,
    MergeStatus,
    Stdout,
    Stderr,
    ExitCode,
    MissingPaths,
    ExpectedPath,
}

/// The extractors by the names that registries use for them.
const NAMES: &[(&str, Extractor)] = &[
    ("parseChangedFiles", Extractor::ChangedFiles),
    ("parseStagedFiles", Extractor::StagedFiles),
    ("parseUnstagedFiles", Extractor::UnstagedFiles),
    ("parseUntrackedFiles", Extractor::UntrackedFiles),
    ("parseTestOutput", Extractor::FailedTests),
    ("failedTests", Extractor::FailedTests),
    ("errorOutput", Extractor::ErrorOutput),
    ("parseTypeErrors", Extractor::TypeErrors),
    ("errors", Extractor::TypeErrors),
    ("extractFiles", Extractor::Files),
    ("files", Extractor::Files),
    ("parseLintErrors", Extractor::LintErrors),
    ("lintErrors", Extractor::LintErrors),
    ("lintFiles", Extractor::LintFiles),
    ("parseFormatOutput", Extractor::FormatFiles),
    ("formatFiles", Extractor::FormatFiles),
    ("generateDiff", Extractor::Diff),
    ("diff", Extractor::Diff),
    ("parseBranchName", Extractor::BranchName),
    ("parseRemoteStatus", Extractor::RemoteStatus),
    ("parseMergeStatus", Extractor::MergeStatus),
    ("stdout", Extractor::Stdout),
    ("stderr", Extractor::Stderr),
    ("exitCode", Extractor::ExitCode),
    ("missingPaths", Extractor::MissingPaths),
    ("expectedPath", Extractor::ExpectedPath),
];

impl Extractor {
    /// Returns the extractor with this registry name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, extractor)| *extractor)
    }

    /// Returns all registry names, in the order of the documentation.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}
