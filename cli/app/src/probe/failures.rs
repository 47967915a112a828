//! Reads the failures in the output of any command.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_document::nearest;
use unstuck_failures::formats::{self, FORMATS};
use unstuck_failures::{FailureSource, MachineReport, ToolOutput, count, extract_as};

use crate::error::{AppError, Result};

pub use unstuck_failures::formats::Format;
pub use unstuck_failures::{Confidence, Extraction, Failure};

/// Returns the format of this name.
///
/// # Errors
///
/// No format has this name: a sentence that lists the names, the nearest first.
pub fn format(name: &str) -> std::result::Result<&'static Format, String> {
    formats::format(name).ok_or_else(|| {
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        let near =
            nearest_format(name).map_or_else(String::new, |near| format!("did you mean {near}? It is "));
        format!("{near}not one of {}", names.join(", "))
    })
}

fn nearest_format(name: &str) -> Option<&'static str> {
    nearest(name, FORMATS.iter().map(|format| format.name))
}

/// Returns a note about a report format of an unknown name, whose reports are recognized by their content.
pub fn unknown_format(name: &str) -> Option<String> {
    if formats::format(name).is_some() {
        return None;
    }
    let near = nearest_format(name).map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
    Some(format!("no format is called {name}{near}, so the report is read as what it looks like"))
}

/// A command that ended, with the bytes of its output and of its reports.
#[derive(Clone, Debug, Default)]
pub struct RecordedOutput {
    /// The command line.
    pub command: String,
    /// The directory that it ran in.
    pub cwd: String,
    /// Its exit code, if it is known.
    pub exit_code: Option<i32>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
    /// Its reports with the names of their formats.
    pub reports: Vec<(String, Vec<u8>)>,
}

impl RecordedOutput {
    /// Returns the failures. `format` is used instead of the one that is recognized.
    ///
    /// A command of unknown exit code that counts tests, none of which failed, has passed.
    pub fn failures(&self, format: Option<&Format>) -> Extraction {
        let extraction = self.extract(self.exit_code, format);
        let is_unread = self.exit_code.is_none() && extraction.confidence == Confidence::Low;
        if is_unread && count(&self.stdout, &self.stderr).is_some_and(|tests| tests.failed == 0) {
            return self.extract(Some(0), format);
        }
        extraction
    }

    fn extract(&self, exit_code: Option<i32>, format: Option<&Format>) -> Extraction {
        let reports = self.reports.iter().map(|(format, bytes)| MachineReport { format, bytes });
        let output = ToolOutput {
            command: &self.command,
            cwd: &self.cwd,
            exit_code,
            stdout: &self.stdout,
            stderr: &self.stderr,
            reports: reports.collect(),
            failed_before: None,
        };
        extract_as(&output, format)
    }
}

/// Reads a file.
///
/// # Errors
///
/// It cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| AppError::usage(format!("cannot read {}: {error}", path.display())))
}

/// Reads a file; no path gives no bytes.
///
/// # Errors
///
/// It cannot be read.
pub fn read_optional(path: Option<&Path>) -> Result<Vec<u8>> {
    path.map_or_else(|| Ok(Vec::new()), read)
}

/// One line of the input of a batch.
#[derive(Deserialize)]
struct FailuresRequest {
    id: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    cwd: String,
    exit_code: Option<i32>,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
    #[serde(default)]
    reports: Vec<ReportFile>,
}

#[derive(Deserialize)]
struct ReportFile {
    #[serde(default)]
    format: String,
    path: PathBuf,
}

/// Returns the answer to one line of a batch.
///
/// # Errors
///
/// The line is not a request, or one of its files cannot be read.
pub fn answer(line: &[u8], format: Option<&Format>) -> Result<String> {
    let request: FailuresRequest =
        serde_json::from_slice(line).map_err(|error| AppError::usage(format!("not a request: {error}")))?;
    let reports = request.reports.into_iter().map(|report| Ok((report.format, read(&report.path)?)));
    let output = RecordedOutput {
        command: request.command,
        cwd: request.cwd,
        exit_code: request.exit_code,
        stdout: read_optional(request.stdout.as_deref())?,
        stderr: read_optional(request.stderr.as_deref())?,
        reports: reports.collect::<Result<_>>()?,
    };
    // The exit code of a line is read as it is: null is unknown.
    let extraction = output.extract(output.exit_code, format);
    let answer = ExtractionJson { id: Some(&request.id), ..ExtractionJson::from(&extraction) };
    Ok(serde_json::to_string(&answer).expect("an extraction is plain data"))
}

/// An extraction as JSON.
#[derive(Serialize)]
pub struct ExtractionJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    tool: &'a str,
    confidence: Confidence,
    /// The key of the set.
    key: String,
    failures: Vec<FailureJson<'a>>,
    bytes_left_out: u64,
    failures_left_out: u64,
}

#[derive(Serialize)]
struct FailureJson<'a> {
    fingerprint: &'a str,
    exact: &'a str,
    tool: &'a str,
    test: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    kind: &'a str,
    message: &'a str,
    source: FailureSource,
}

impl<'a> From<&'a Extraction> for ExtractionJson<'a> {
    fn from(extraction: &'a Extraction) -> Self {
        Self {
            id: None,
            tool: &extraction.tool,
            confidence: extraction.confidence,
            key: extraction.set().key().to_string(),
            failures: extraction.failures.iter().map(FailureJson::from).collect(),
            bytes_left_out: extraction.bytes_left_out,
            failures_left_out: extraction.failures_left_out,
        }
    }
}

impl<'a> From<&'a Failure> for FailureJson<'a> {
    fn from(failure: &'a Failure) -> Self {
        Self {
            fingerprint: failure.fingerprint.as_str(),
            exact: failure.exact.as_str(),
            tool: &failure.tool,
            test: failure.test.as_deref(),
            file: failure.location.as_ref().map(|location| location.file.as_str()),
            line: failure.location.as_ref().and_then(|location| location.line),
            kind: &failure.kind,
            message: &failure.message,
            source: failure.source,
        }
    }
}
