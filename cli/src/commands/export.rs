//! `unstuck export`: a run as JSON lines.

use std::io::{self, Write};
use std::path::PathBuf;

use unstuck_app::error::hint_for;
use unstuck_app::regression_test;
use unstuck_app::run_handle::RunHandle;
use unstuck_app::transfer::LogExport;
use unstuck_core::id::Seq;
use unstuck_core::text::shell::quote_word;
use unstuck_files::output_file::{Existing, OutputFile};

use crate::args::GlobalArgs;
use crate::error::{AppError, Result};
use crate::exit;
use crate::run_args::RunArg;

/// Arguments of `unstuck export`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Write to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the run and a test of its end to this folder.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "salvage"])]
    test: Option<PathBuf>,
    /// Write what is good of a damaged log, and succeed.
    #[arg(long)]
    salvage: bool,
}

/// Writes the lines.
pub fn export(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let found = project.find(&args.run.run)?;
    if let Some(folder) = &args.test {
        let short = found.short().to_owned();
        let test = regression_test::write(&project, found, folder)?;
        println!("wrote a test of run {short} to {}; it expects {}", folder.display(), test.end);
        if let Some(recorded) = test.recorded {
            println!("note: the run ended as {}; this version decides otherwise", recorded.as_str());
        }
        println!("next: sh -- {}", quote_word(&test.script.display().to_string()));
        return Ok(exit::OK);
    }
    let export = LogExport::new(&project, &found, args.salvage)?;
    let mut out = open(args)?;
    let written = export.write(out.writer())?;
    if let Some(why) = &export.lost {
        eprintln!("note: kept {} events; {why}", export.last);
    }
    check_written(written.and_then(|()| out.finish()), export.last, &found, args)
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
        AppError::usage(format!("cannot write the export to {}: {error}", path.display())).hint_if(hint)
    })?;
    Ok(Output::File(file))
}

fn check_written(written: io::Result<()>, last: Seq, found: &RunHandle, args: &Args) -> Result {
    match written {
        // The reader is gone.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(exit::OK),
        Err(error) => {
            return Err(AppError::damaged(format!("cannot write the export: {error}"))
                .hint(format!("{}, then try again", hint_for(&error))));
        }
        Ok(()) => {}
    }
    if let Some(path) = &args.output {
        eprintln!("wrote {last} events of run {} to {}", found.short(), path.display());
    }
    Ok(exit::OK)
}
