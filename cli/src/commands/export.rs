//! `unstuck export`: a run as JSON lines.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use unstuck_core::error::with_causes;

use crate::args::Global;
use crate::driving;
use crate::error::{Error, Result};
use crate::exit;
use crate::project::{Project, RunArg};

/// Arguments of `unstuck export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write what is good of a damaged log, and succeed.
    #[arg(long)]
    salvage: bool,
}

/// Writes the lines.
pub fn export(global: &Global, args: &Args) -> Result {
    let project = Project::open(global)?;
    let found = project.find(&args.run)?;
    driving::mend(&project, &found);
    let (good, error) = found.good_events()?;
    if let (Some(error), false) = (&error, args.salvage) {
        return Err(found.unreadable(error));
    }
    let failed = |error: io::Error| Error::usage(format!("cannot write the export: {error}"));
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(File::create_new(path).map_err(|error| {
            let is_there = error.kind() == io::ErrorKind::AlreadyExists;
            let hint = is_there.then(|| format!("remove {}, or name another file", path.display()));
            failed(error).hint_if(hint)
        })?),
        None => Box::new(io::stdout().lock()),
    };
    match copy_lines(&found.folder.mirror(), good.len(), &mut out) {
        // Nobody reads any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(exit::OK),
        result => result.map_err(failed)?,
    }
    if let Some(error) = error {
        eprintln!("note: kept {} events; {}", good.len(), with_causes(&error));
    }
    if let Some(path) = &args.output {
        eprintln!("wrote {} events of run {} to {}", good.len(), found.short(), path.display());
    }
    Ok(exit::OK)
}

/// An export is the mirror as far as it is good: the same lines, the same hashes.
fn copy_lines(mirror: &std::path::Path, lines: usize, out: &mut dyn Write) -> io::Result<()> {
    use io::BufRead as _;
    let mut out = BufWriter::new(out);
    let file = io::BufReader::new(File::open(mirror)?);
    for line in file.split(b'\n').take(lines) {
        out.write_all(&line?)?;
        out.write_all(b"\n")?;
    }
    out.flush()
}
