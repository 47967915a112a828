//! `unstuck import`: reads a run that was exported.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use unstuck_core::id::{RunId, Seq};
use unstuck_core::{Event, Fact, Observation};
use unstuck_store::event_store::EventStore as _;
use unstuck_store::exchange;
use unstuck_store::opening::OpenError;
use unstuck_store::state_dir::RunEntry;

use crate::args::Global;
use crate::error::{Error, Result, chain};
use crate::exit;
use crate::project::Project;

/// Arguments of `unstuck import`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The exported file, or - for standard input.
    file: PathBuf,
}

/// Reads the lines into a run of the same name.
pub fn import(global: &Global, args: &Args) -> Result {
    let project = Project::open(global)?;
    let failed = |error: io::Error| Error::usage(format!("cannot read {}: {error}", args.file.display()));
    let input: Box<dyn Read> = if args.file.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(failed)?)
    };
    let mut input = BufReader::new(input);
    let mut first = Vec::new();
    input.read_until(b'\n', &mut first).map_err(failed)?;
    let run = run_of(&first).ok_or_else(|| {
        Error::usage(format!(
            "{}:1: this is no exported run: its first line is no run_started event",
            args.file.display()
        ))
    })?;
    let folder = project.runs().run(&run);
    let log = exchange::import(&mut first.as_slice().chain(input), &folder)
        .map_err(|error| refused(&error, args, &run))?;
    let started = log.read(Seq(1)).ok().and_then(|mut events| events.next()?.ok());
    if let Some(Event { at, fact: Fact::Observed(Observation::RunStarted(started)), .. }) = started {
        let (workflow, workspace) = (started.workflow.name.clone(), started.workspace.clone());
        let entry = RunEntry { run: run.clone(), started_at: at, workflow, workspace };
        project.runs().record(&entry).map_err(failed)?;
    }
    if let Some(lines) = lines_of(&args.file).filter(|lines| *lines > log.head().seq.0) {
        eprintln!(
            "note: {}: the last batch is not whole: lines {} to {lines} were left out",
            args.file.display(),
            log.head().seq.0 + 1
        );
    }
    println!("imported run {run}: {} events, the chain is unbroken", log.head().seq);
    println!("next: unstuck show {run}");
    Ok(exit::OK)
}

/// Says what is wrong in the words of the file: an event stands on the line of its number.
fn refused(error: &OpenError, args: &Args, run: &RunId) -> Error {
    match error {
        OpenError::Corrupt { at, detail, .. } => {
            Error::usage(format!("{}:{at}: {detail}; nothing was imported", args.file.display()))
                .hint("export it again where it comes from")
        }
        OpenError::Exists { .. } => {
            Error::usage(format!("run {run} is here already")).hint(format!("unstuck show {run}"))
        }
        _ => Error::usage(chain(error)).hint_if(error.hint()),
    }
}

/// Counts the lines of a file, a last one that is not ended included; `None` for standard input.
fn lines_of(file: &Path) -> Option<u64> {
    let lines = BufReader::new(File::open(file).ok()?).split(b'\n').map_while(|line| line.ok());
    u64::try_from(lines.count()).ok()
}

/// Returns the run that a first line names.
fn run_of(line: &[u8]) -> Option<RunId> {
    let line: serde_json::Value = serde_json::from_slice(line).ok()?;
    let run = line.get("event")?.get("run")?.as_str()?;
    let fits = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (line.get("type")? == "run_started" && fits).then(|| RunId::from(run))
}
