//! `unstuck debug schema`: a schema with its references replaced, and the errors of an answer.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;
use unstuck_app::probe::schema::{self, ResolvedSchema};
use unstuck_core::evidence::ParsedAnswer;

use crate::error::{AppError, Result};
use crate::{exit, format};

/// Arguments of `unstuck debug schema`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file and the schema in it: FILE for the whole file, FILE#name, FILE#/$defs/name.
    #[arg(value_name = "FILE[#NAME]")]
    schema: String,
    /// The folder of the schemas, which FILE is named from; the folder of FILE when not given.
    #[arg(long, value_name = "DIR")]
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
    let resolved = schema::resolve(&args.schema, args.folder.as_deref())?;
    for warning in &resolved.warnings {
        eprint!("warning: {}", warning.render(format::width()));
    }
    match &args.check {
        Some(path) => check(args, resolved, path),
        None => {
            print(args, &resolved);
            Ok(exit::OK)
        }
    }
}

fn print(args: &Args, resolved: &ResolvedSchema) {
    let ResolvedSchema { schema, closed, warnings, source, digests, .. } = resolved;
    match (args.json, args.closed) {
        (true, _) => crate::output::print_json(&json!({
            "source": source, "schema": schema, "closed": closed, "digests": digests, "warnings": warnings,
        })),
        (false, true) => crate::output::print_json(closed),
        (false, false) => crate::output::print_json(schema),
    }
}

fn check(args: &Args, resolved: ResolvedSchema, path: &Path) -> Result {
    let source = resolved.source.clone();
    let seen = schema::check(resolved, read(path)?);
    if args.json {
        crate::output::print_json(&seen);
    } else {
        _ = print_answer(&seen, &source); // The reader may have closed the pipe.
    }
    Ok(if seen.value.is_some() { exit::OK } else { exit::DIFFERENT })
}

fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let done = if path == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        fs::read(path).map(|read| bytes = read)
    };
    done.map_err(|error| AppError::usage(format!("cannot read {}: {error}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn print_answer(seen: &ParsedAnswer, source: &str) -> io::Result<()> {
    let mut out = format::SanitizingWriter(io::BufWriter::new(io::stdout().lock()));
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
