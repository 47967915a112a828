//! `unstuck export`: a run as JSON lines.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use unstuck_core::error::with_causes;
use unstuck_store::{exchange, hint};

use crate::args::Global;
use crate::driving;
use crate::error::{Error, Result};
use crate::exit;
use crate::moment;
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
    drop(driving::mend(&project, &found));
    let (good, error) = found.good_events()?;
    if let (Some(error), false) = (&error, args.salvage) {
        return Err(found.unreadable(error));
    }
    let failed = |error: io::Error| {
        Error::damaged(format!("cannot write the export: {error}"))
            .hint(format!("{}, then try again", hint::for_io(&error)))
    };
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(File::create_new(path).map_err(|error| {
            let is_there = error.kind() == io::ErrorKind::AlreadyExists;
            let hint = is_there.then(|| format!("remove {}, or name another file", path.display()));
            Error::usage(format!("cannot write the export to {}: {error}", path.display())).hint_if(hint)
        })?),
        None => Box::new(io::stdout().lock()),
    };
    let last = moment::last_of(&good);
    match exchange::export(&found.log()?, last, &mut out) {
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
