//! `unstuck debug failures`: the failures in the output of any tool.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::PathBuf;

use serde_json::json;
use unstuck_app::probe::failures::{
    self, Confidence, Extraction, ExtractionJson, Failure, Format, RecordedOutput, read, read_optional,
};

use unstuck_core::evidence::headline;

use crate::error::{self, AppError, Result};
use crate::{exit, format};

/// Arguments of `unstuck debug failures`.
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
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Its exit status. Of a command that passed, only the reports are read; when not given, one that counts tests of
    /// which none failed has passed.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    exit_code: Option<i32>,
    /// The format of the output, instead of having it recognized.
    #[arg(long, value_name = "NAME", value_parser = failures::format)]
    format: Option<&'static Format>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn report(value: &str) -> std::result::Result<(String, PathBuf), String> {
    let (format, path) = value.split_once('=').ok_or("not FORMAT=FILE")?;
    Ok((format.to_owned(), path.into()))
}

/// Reads failures and prints them.
pub fn failures(args: &Args) -> Result {
    if args.batch { batch(args.format) } else { one(args) }
}

fn one(args: &Args) -> Result {
    let from_stdin = args.stdout.is_none() && args.stderr.is_none() && args.report.is_empty();
    let mut stdout = read_optional(args.stdout.as_deref())?;
    if from_stdin {
        io::stdin()
            .lock()
            .read_to_end(&mut stdout)
            .map_err(|error| AppError::usage(format!("cannot read standard input: {error}")))?;
    }
    for note in args.report.iter().filter_map(|(format, _)| failures::unknown_format(format)) {
        eprintln!("note: {note}");
    }
    let reports = args.report.iter().map(|(format, path)| Ok((format.clone(), read(path)?)));
    let cwd = args.cwd.clone().or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    let output = RecordedOutput {
        command: args.command.clone(),
        cwd: cwd.to_string_lossy().into_owned(),
        exit_code: args.exit_code,
        stdout,
        stderr: read_optional(args.stderr.as_deref())?,
        reports: reports.collect::<Result<_>>()?,
    };
    let extraction = output.failures(args.format);
    if args.json {
        crate::output::print_json(&ExtractionJson::from(&extraction));
    } else {
        _ = print_table(&extraction); // The reader may have closed the pipe.
    }
    Ok(exit::OK)
}

fn batch(format: Option<&Format>) -> Result {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut refused = 0_usize;
    for (at, line) in io::stdin().lock().split(b'\n').enumerate() {
        let line = line.map_err(|error| AppError::usage(format!("cannot read standard input: {error}")))?;
        if line.trim_ascii().is_empty() {
            continue;
        }
        // The other lines are still read after an invalid one.
        let answer = failures::answer(&line, format).unwrap_or_else(|error| {
            refused += 1;
            let why = error::in_columns(&error, usize::MAX);
            json!({ "line": at + 1, "error": why.trim_start_matches("error: ") }).to_string()
        });
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return Ok(exit::OK); // The reader has closed the pipe.
        }
    }
    match refused {
        0 => Ok(exit::OK),
        _ => Err(AppError::usage(format!(
            "{} of standard input could not be read",
            format::count(refused, "line")
        ))
        .hint("each has an `error` in its answer")),
    }
}

fn print_table(extraction: &Extraction) -> io::Result<()> {
    let mut out = format::SanitizingWriter(io::BufWriter::new(io::stdout().lock()));
    let failures = &extraction.failures;
    if failures.is_empty() {
        return writeln!(out, "no failures").and_then(|()| out.flush());
    }
    let tool = if extraction.tool.is_empty() { "nothing recognized" } else { &extraction.tool };
    writeln!(out, "{} ({tool})", format::count(failures.len(), "failure"))?;
    for failure in failures {
        let place = failure.location.as_ref().map_or_else(String::new, ToString::to_string);
        let name = failure.test.as_deref().unwrap_or(&place);
        let place = if failure.test.is_some() { place.as_str() } else { "" };
        let kind = failure.kind.as_str();
        writeln!(out, "  {}  {name}  {kind}  {place}", failure.fingerprint)?;
        if let Some(line) = message_line(failure) {
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
            "  no format was recognized: this one failure stands for the whole output (--format NAME forces one)"
        )?;
    }
    out.flush()
}

/// Returns what the tool says about a failure, on one line.
fn message_line(failure: &Failure) -> Option<String> {
    const WIDTH: usize = 100;
    let told = headline(&failure.message, failure.test.as_deref().unwrap_or_default())?;
    let mut line: String = told.chars().filter(|c| !c.is_control()).take(WIDTH).collect();
    if line.len() < told.len() {
        line.push('…');
    }
    Some(line)
}
