//! `unstuck export`: a run as JSON lines.

use std::io::{self, Write};
use std::path::PathBuf;

use unstuck_core::id::Seq;
use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_files::output_file::{Existing, OutputFile};
use unstuck_store::event_store::ReadError;
use unstuck_store::exchange;
use unstuck_store::opening::PUT_BACK;

use crate::args::Global;
use crate::driving;
use crate::error::{Error, Result};
use crate::exit;
use crate::moment;
use crate::project::{Found, Project, RunArg};

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
    // Whoever writes a log has whole lines.
    if args.salvage && !found.is_live() {
        return salvage(&found, args);
    }
    let (good, error) = found.good_events()?;
    if let Some(error) = error {
        return Err(found.unreadable(&error));
    }
    let (log, last) = (found.log()?, moment::last_of(&good));
    let mut out = open(args)?;
    let written = exchange::export(&log, last, out.writer());
    wrote(written.and_then(|()| out.finish()), last, &found, args)
}

/// Writes what is whole of the lines and of the files of the store, and says what is not.
fn salvage(found: &Found, args: &Args) -> Result {
    let write = |out: &mut dyn Write| {
        found.runs.salvage(&found.entry.run, out).map_err(|error| found.unopened(&error))
    };
    let merged = write(&mut io::sink())?.map_err(|error| found.unreadable(&error))?;
    let last = merged.last();
    if last == Seq(0) {
        let none = format!("nothing of run {} can be kept: no event of it is whole", found.short());
        return Err(Error::damaged(none).hint(PUT_BACK));
    }
    let mut out = open(args)?;
    let written = write(out.writer())?.map(drop).map_err(|error| match error {
        ReadError::Io { source, .. } => source,
        other => io::Error::other(other),
    });
    if let Some(lost) = merged.lost() {
        // Whoever reads the lines knows what is wrong with the first that is not good.
        let why = found.good_events().ok().and_then(|(_, error)| error).unwrap_or(lost);
        eprintln!("note: kept {last} events; {}", with_causes(&why));
    }
    wrote(written.and_then(|()| out.finish()), last, found, args)
}

/// The place that the export is written to.
enum Output {
    Screen(io::StdoutLock<'static>),
    File(OutputFile),
}

impl Output {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Screen(out) => out,
            Self::File(file) => file,
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Screen(_) => Ok(()),
            Self::File(file) => file.finish(),
        }
    }
}

/// Opens what is written to.
fn open(args: &Args) -> Result<Output> {
    let Some(path) = &args.output else { return Ok(Output::Screen(io::stdout().lock())) };
    let file = OutputFile::create(path, Existing::Keep).map_err(|error| {
        let is_there = error.kind() == io::ErrorKind::AlreadyExists;
        let hint = is_there.then(|| format!("remove {}, or name another file", path.display()));
        Error::usage(format!("cannot write the export to {}: {error}", path.display())).hint_if(hint)
    })?;
    Ok(Output::File(file))
}

fn wrote(written: io::Result<()>, last: Seq, found: &Found, args: &Args) -> Result {
    match written {
        // Nobody reads any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(exit::OK),
        Err(error) => {
            return Err(Error::damaged(format!("cannot write the export: {error}"))
                .hint(format!("{}, then try again", hint::for_io(&error))));
        }
        Ok(()) => {}
    }
    if let Some(path) = &args.output {
        eprintln!("wrote {last} events of run {} to {}", found.short(), path.display());
    }
    Ok(exit::OK)
}
