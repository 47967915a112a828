//! `unstuck probe schema`: what a schema comes to, and what is wrong with an answer.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use unstuck_core::completion::Form;
use unstuck_core::evidence::AnswerSeen;
use unstuck_workflow::answer;
use unstuck_workflow::answer::AnswerSources;
use unstuck_workflow::schema::{self, Diagnostic, ResolvedSchema};

use crate::error::{Error, Result};
use crate::{exit, text};

/// Arguments of `unstuck probe schema`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file and the schema in it: FILE for the whole file, FILE#name, FILE#/$defs/name.
    #[arg(value_name = "FILE[#NAME]")]
    schema: String,
    /// The folder of the schemas, which FILE is named from; the folder of FILE when not given.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Print the copy for workers that accept closed objects only.
    #[arg(long, conflicts_with = "check")]
    closed: bool,
    /// Read an answer as a run would, with text around the JSON or not, and say what is wrong with it.
    ///
    /// `-` is standard input. The exit status is 1 if it does not meet the schema.
    #[arg(long, value_name = "ANSWER")]
    check: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Resolves the schema; prints it, or checks an answer.
pub fn schema(args: &Args) -> Result {
    let (file, name) = schema::named(&args.schema);
    let (folder, file) = place(args.folder.as_deref(), file)?;
    let resolved = schema::resolve(&folder, &file, &name).map_err(|problems| refusal(&problems))?;
    for warning in &resolved.warnings {
        eprint!("warning: {}", warning.render(text::width()));
    }
    match &args.check {
        Some(path) => check(args, resolved, path),
        None => {
            _ = print(args, &resolved); // Nobody may read any more.
            Ok(exit::OK)
        }
    }
}

/// Returns the folder of the schemas, and the file as it is named from there.
fn place(folder: Option<&Path>, file: &str) -> Result<(PathBuf, String)> {
    if let Some(folder) = folder {
        return Ok((folder.to_owned(), file.to_owned()));
    }
    let path = Path::new(file);
    let name = path.file_name().ok_or_else(|| {
        Error::usage(format!("\"{file}\" names no file")).hint("unstuck probe schema answers.json#name")
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder.to_owned(), name.to_string_lossy().into_owned()))
}

fn refusal(problems: &[Diagnostic]) -> Error {
    let told: String = problems.iter().map(|it| it.render(text::width())).collect();
    Error::usage(format!("{}\n{}", text::count(problems.len(), "problem"), told.trim_end()))
}

/// A schema as JSON.
#[derive(Serialize)]
struct Told<'a> {
    source: &'a str,
    schema: &'a Value,
    closed: &'a Value,
    digests: &'a std::collections::BTreeMap<String, String>,
    warnings: &'a [Diagnostic],
}

fn print(args: &Args, resolved: &ResolvedSchema) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let ResolvedSchema { schema, closed, warnings, source, digests, .. } = resolved;
    if args.json {
        serde_json::to_writer_pretty(&mut out, &Told { source, schema, closed, digests, warnings })?;
    } else {
        serde_json::to_writer_pretty(&mut out, if args.closed { closed } else { schema })?;
    }
    writeln!(out)?;
    out.flush()
}

fn check(args: &Args, resolved: ResolvedSchema, path: &Path) -> Result {
    let messages = [read(path)?];
    let ResolvedSchema { schema, source, digests, .. } = resolved;
    let form = Form::Json { schema: Some(schema), source: source.clone(), digests };
    let seen = answer::read(&form, &AnswerSources { messages: &messages, ..AnswerSources::default() });
    let printed = if args.json { print_json(&seen) } else { print_answer(&seen, &source) };
    _ = printed; // Nobody may read any more.
    Ok(if seen.value.is_some() { exit::OK } else { exit::DIFFERENT })
}

fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let done = if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        fs::read(path).map(|read| bytes = read)
    };
    done.map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn print_json(seen: &AnswerSeen) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, seen)?;
    writeln!(out)?;
    out.flush()
}

fn print_answer(seen: &AnswerSeen, source: &str) -> io::Result<()> {
    let mut out = text::Plain(io::BufWriter::new(io::stdout().lock()));
    match &seen.value {
        Some(value) => writeln!(out, "meets {source}: {value}")?,
        None => writeln!(out, "does not meet {source}")?,
    }
    for violation in &seen.violations {
        writeln!(out, "  {}", violation)?;
    }
    for refused in seen.refused.iter().filter(|_| seen.value.is_some() || seen.refused.len() > 1) {
        writeln!(out, "  refused, in line {}: {}", refused.line, refused.reason)?;
    }
    out.flush()
}
