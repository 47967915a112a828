//! `unstuck probe failures`: what failed, from the output of any tool.

use std::fs;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use unstuck_document::nearest;
use unstuck_failures::formats::{self, Format};
use unstuck_failures::{Confidence, Extraction, Failure, MachineReport, Output, Source, count, extract_as};

use crate::error::{self, Error, Result};
use crate::{exit, text};

/// Arguments of `unstuck probe failures`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Read many: one JSON object a line on standard input, one answer a line.
    ///
    /// Input: {"id", "command", "cwd", "exit_code", "stdout": path or null, "stderr": path or null,
    /// "reports": [{"format", "path"}]}. The answer to a line that cannot be read is {"line", "error"}.
    #[arg(long, conflicts_with_all = ["stdout", "stderr", "report", "exit_code", "json"])]
    batch: bool,
    /// The file with standard output; standard input when neither this nor another file is given.
    #[arg(long, value_name = "FILE")]
    stdout: Option<PathBuf>,
    /// The file with standard error.
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,
    /// A machine report.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report)]
    report: Vec<(String, PathBuf)>,
    /// The command that printed it.
    #[arg(long, default_value = "")]
    command: String,
    /// The folder that it ran in; this one when not given.
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// Its exit status. Of a command that passed, only the reports are read; when not given, one that counts tests of
    /// which none failed has passed.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i32>,
    /// The format of the output, instead of having it recognised.
    #[arg(long, value_name = "NAME", value_parser = format)]
    format: Option<Chosen>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A format that was chosen by its name.
#[derive(Clone, Copy)]
struct Chosen(&'static Format);

impl std::fmt::Debug for Chosen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

fn format(name: &str) -> std::result::Result<Chosen, String> {
    let names = || formats::FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ");
    let near = || match nearest_format(name) {
        Some(near) => format!("did you mean {near}? It is "),
        None => String::new(),
    };
    formats::format(name).map(Chosen).ok_or_else(|| format!("{}not one of {}", near(), names()))
}

fn nearest_format(name: &str) -> Option<&'static str> {
    nearest(name, formats::FORMATS.iter().map(|format| format.name))
}

fn report(value: &str) -> std::result::Result<(String, PathBuf), String> {
    let (format, path) = value.split_once('=').ok_or("not FORMAT=FILE")?;
    Ok((format.to_owned(), path.into()))
}

/// Reads failures and prints them.
pub fn failures(args: &Args) -> Result {
    let format = args.format.map(|chosen| chosen.0);
    if args.batch { batch(format) } else { one(args, format) }
}

/// The bytes of one output, and of its reports.
struct Files {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    reports: Vec<(String, Vec<u8>)>,
}

impl Files {
    fn extract(
        &self,
        command: &str,
        cwd: &str,
        exit_code: Option<i32>,
        format: Option<&Format>,
    ) -> Extraction {
        let reports = self.reports.iter().map(|(format, bytes)| MachineReport { format, bytes });
        let output = Output {
            command,
            cwd,
            exit_code,
            stdout: &self.stdout,
            stderr: &self.stderr,
            reports: reports.collect(),
            failed_before: None,
        };
        extract_as(&output, format)
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))
}

fn read_optional(path: Option<&Path>) -> Result<Vec<u8>> {
    path.map_or_else(|| Ok(Vec::new()), read)
}

fn one(args: &Args, format: Option<&Format>) -> Result {
    let from_stdin = args.stdout.is_none() && args.stderr.is_none() && args.report.is_empty();
    let mut stdout = read_optional(args.stdout.as_deref())?;
    if from_stdin {
        io::stdin()
            .lock()
            .read_to_end(&mut stdout)
            .map_err(|error| Error::usage(format!("cannot read standard input: {error}")))?;
    }
    let stderr = read_optional(args.stderr.as_deref())?;
    for (format, _) in args.report.iter().filter(|(format, _)| formats::format(format).is_none()) {
        let near = nearest_format(format).map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
        eprintln!("note: no format is called {format}{near}, so the report is read as what it looks like");
    }
    let reports = args.report.iter().map(|(format, path)| Ok((format.clone(), read(path)?)));
    let files = Files { stdout, stderr, reports: reports.collect::<Result<_>>()? };
    let cwd = args.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let extract = |exit_code| files.extract(&args.command, &cwd.to_string_lossy(), exit_code, format);
    let mut extraction = extract(args.exit_code);
    // Nobody said how the command ended, and it counts tests of which none failed: it passed.
    let is_unread = args.exit_code.is_none() && extraction.confidence == Confidence::Low;
    if is_unread && count(&files.stdout, &files.stderr).is_some_and(|tests| tests.failed == 0) {
        extraction = extract(Some(0));
    }
    let printed = if args.json { print_json(&extraction) } else { print_table(&extraction) };
    _ = printed; // Nobody may read any more.
    Ok(exit::OK)
}

/// One line of the input of a batch.
#[derive(Deserialize)]
struct Request {
    id: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    cwd: String,
    exit_code: Option<i32>,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
    #[serde(default)]
    reports: Vec<RequestedReport>,
}

#[derive(Deserialize)]
struct RequestedReport {
    #[serde(default)]
    format: String,
    path: PathBuf,
}

fn batch(format: Option<&Format>) -> Result {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut refused = 0_usize;
    for (at, line) in io::stdin().lock().split(b'\n').enumerate() {
        let line = line.map_err(|error| Error::usage(format!("cannot read standard input: {error}")))?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let written = match answered(&line, format, &mut out) {
            Ok(written) => written,
            // One that cannot be read costs nobody the others.
            Err(error) => {
                refused += 1;
                let why = error::in_columns(&error, usize::MAX);
                let why = why.trim_start_matches("error: ");
                let refusal = Refusal { line: at + 1, error: why };
                serde_json::to_writer(&mut out, &refusal).map_err(io::Error::from)
            }
        };
        if written.and_then(|()| writeln!(out)).and_then(|()| out.flush()).is_err() {
            return Ok(exit::OK); // Nobody reads any more.
        }
    }
    match refused {
        0 => Ok(exit::OK),
        _ => {
            Err(Error::usage(format!("{} of standard input could not be read", text::count(refused, "line")))
                .hint("each has an `error` in its answer"))
        }
    }
}

/// Answers one line of a batch. What is returned within says whether the answer could be written.
fn answered(line: &[u8], format: Option<&Format>, out: &mut impl io::Write) -> Result<io::Result<()>> {
    let request: Request =
        serde_json::from_slice(line).map_err(|error| Error::usage(format!("not a request: {error}")))?;
    let files = requested(&request)?;
    let extraction = files.extract(&request.command, &request.cwd, request.exit_code, format);
    Ok(serde_json::to_writer(out, &Answer::new(Some(&request.id), &extraction)).map_err(io::Error::from))
}

/// The answer to a line of a batch that cannot be read.
#[derive(Serialize)]
struct Refusal<'a> {
    line: usize,
    error: &'a str,
}

fn requested(request: &Request) -> Result<Files> {
    let reports = request.reports.iter().map(|report| Ok((report.format.clone(), read(&report.path)?)));
    Ok(Files {
        stdout: read_optional(request.stdout.as_deref())?,
        stderr: read_optional(request.stderr.as_deref())?,
        reports: reports.collect::<Result<_>>()?,
    })
}

/// An extraction as JSON.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    tool: &'a str,
    confidence: Confidence,
    /// The key of the set.
    key: String,
    failures: Vec<Told<'a>>,
    bytes_left_out: u64,
    failures_left_out: u64,
}

#[derive(Serialize)]
struct Told<'a> {
    fingerprint: &'a str,
    exact: &'a str,
    tool: &'a str,
    test: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    kind: &'a str,
    message: &'a str,
    source: Source,
}

impl<'a> Answer<'a> {
    fn new(id: Option<&'a str>, extraction: &'a Extraction) -> Self {
        Self {
            id,
            tool: &extraction.tool,
            confidence: extraction.confidence,
            key: extraction.set().key().to_string(),
            failures: extraction.failures.iter().map(Told::new).collect(),
            bytes_left_out: extraction.bytes_left_out,
            failures_left_out: extraction.failures_left_out,
        }
    }
}

impl<'a> Told<'a> {
    fn new(failure: &'a Failure) -> Self {
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

fn print_json(extraction: &Extraction) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, &Answer::new(None, extraction))?;
    writeln!(out)?;
    out.flush()
}

fn print_table(extraction: &Extraction) -> io::Result<()> {
    let mut out = text::Plain(io::BufWriter::new(io::stdout().lock()));
    let failures = &extraction.failures;
    if failures.is_empty() {
        return writeln!(out, "no failures").and_then(|()| out.flush());
    }
    let tool = if extraction.tool.is_empty() { "nothing recognised" } else { &extraction.tool };
    writeln!(out, "{} ({tool})", text::count(failures.len(), "failure"))?;
    for failure in failures {
        let place = failure.location.as_ref().map_or_else(String::new, ToString::to_string);
        let name = failure.test.as_deref().unwrap_or(&place);
        let place = if failure.test.is_some() { place.as_str() } else { "" };
        let kind = failure.kind.as_str();
        writeln!(out, "  {}  {name}  {kind}  {place}", failure.fingerprint)?;
        if let Some(line) = headline(failure) {
            writeln!(out, "      {line}")?;
        }
    }
    if extraction.failures_left_out > 0 {
        writeln!(out, "  and {} more that are not shown", extraction.failures_left_out)?;
    }
    if extraction.bytes_left_out > 0 {
        writeln!(out, "  {} bytes in the middle of the output were left out", extraction.bytes_left_out)?;
    }
    if extraction.confidence == Confidence::Low {
        writeln!(
            out,
            "  no format was recognised: this one failure stands for the whole output (--format NAME forces one)"
        )?;
    }
    out.flush()
}

/// Returns the line of the message that says most: the first that is not the name again.
fn headline(failure: &Failure) -> Option<String> {
    const WIDTH: usize = 100;
    let name = failure.test.as_deref().unwrap_or("\0");
    // The head of a panic says where, which is told already.
    let tells = |line: &&str| {
        !line.is_empty() && !line.contains("panicked at ") && !name.ends_with(*line) && !line.ends_with(name)
    };
    let told = failure.message.lines().map(str::trim).find(tells)?;
    let mut line: String = told.chars().filter(|c| !c.is_control()).take(WIDTH).collect();
    if line.len() < told.len() {
        line.push('…');
    }
    Some(line)
}
