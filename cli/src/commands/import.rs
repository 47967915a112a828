//! `unstuck import`: reads a run that was exported, or what drives another loop.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;
use unstuck_app::transfer::{self, ImportedRun, OpenError};
use unstuck_app::{file_suggestions, loop_file};
use unstuck_core::id::{RunId, Seq};
use unstuck_files::error::with_causes;

use crate::args::{self, GlobalArgs};
use crate::error::{AppError, Result};
use crate::exit;
use crate::invocation::UNSTUCK;

mod workflow;

/// Arguments of `unstuck import`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  unstuck import prd.json\n  unstuck import docs/plans/x.md --output x.yaml\n  \
    unstuck import PROMPT.md --with 'sh ./agent.sh' --output -\n  unstuck import run.jsonl"
)]
pub struct Args {
    /// An exported run, or a PROMPT.md, a prd.json, a plan with boxes, a ralph.yml, a steps registry, a workflow; - for a run on
    /// standard input.
    file: PathBuf,
    /// File to write the workflow to; - for standard output [default: NAME.unstuck.yaml next to the file].
    #[arg(short, long, alias = "out", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Worker: a client, or a command line that reads a prompt on standard input [default: the worker that the file
    /// names, or Claude Code].
    #[arg(long, value_name = "WORKER", value_parser = args::non_blank)]
    with: Option<String>,
    /// Print the workflow and what was carried over as JSON.
    #[arg(long)]
    json: bool,
}

/// Reads the file by what it holds.
pub fn import(global: &GlobalArgs, args: &Args) -> Result {
    let is_input = args.file.as_os_str() == "-";
    if !is_input {
        look_at(&args.file)?;
    }
    let input: Box<dyn Read> = if is_input {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(&args.file).map_err(|error| unreadable(args, &error))?)
    };
    let mut input = BufReader::new(input);
    let mut first = Vec::new();
    input
        .by_ref()
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut first)
        .map_err(|error| unreadable(args, &error))?;
    match run_of(&first) {
        Some(run) => a_run(global, args, &run, first.as_slice().chain(input)),
        None if is_input || is_event(&first) => Err(AppError::usage(format!(
            "{}:1: this is no exported run: its first line is no run_started event",
            args.file.display()
        ))),
        None => {
            let (with, out) = (args.with.as_deref(), args.output.as_deref());
            workflow::import(&global.place().directory()?, &args.file, with, out, args.json)
        }
    }
}

/// Sees whether there is a file to read.
fn look_at(file: &Path) -> Result<()> {
    const WHAT: &str = "unstuck import --help   says which files can be read";
    match fs::metadata(file) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(AppError::usage(format!("{} is not a file", file.display())).hint(WHAT)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(file_suggestions::not_found(file, file, "import", WHAT))
        }
        Err(error) => Err(loop_file::unreadable(file, &error)),
    }
}

/// Bytes of a first line that are read to see what a file is: an event is far smaller.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn unreadable(args: &Args, error: &io::Error) -> AppError {
    loop_file::unreadable(&args.file, error)
}

/// Reads the lines into a run of the same name.
fn a_run(global: &GlobalArgs, args: &Args, run: &RunId, input: impl Read) -> Result {
    let imported = transfer::import(&global.project()?, run, input, |error| refused(error, args))?;
    let ImportedRun { before, last, has_ended, has_snapshots } = imported;
    if let Some((first, last)) = left_out_lines(&args.file, last) {
        let lines =
            if first == last { format!("line {first} was") } else { format!("lines {first} to {last} were") };
        eprintln!("note: {}: the last batch is not whole: {lines} left out", args.file.display());
    }
    if !has_ended {
        eprintln!("note: it has not ended: the export was cut short, or it was made while the run went on");
    }
    let events = match before {
        Seq(0) => format!("{last} events"),
        before => format!("events {} to {last} were added", before.next()),
    };
    println!("imported run {run}: {events}, the chain is unbroken");
    if !has_snapshots {
        println!(
            "an export holds no snapshots of the workspace: diff, undo and checkout cannot reach back to before now"
        );
    }
    println!("next: {UNSTUCK} show {run}");
    Ok(exit::OK)
}

/// Says what is wrong in the words of the file.
fn refused(error: &OpenError, args: &Args) -> AppError {
    match error {
        OpenError::Lines { at, detail } => {
            let line = filled_lines(&args.file).nth(usize::try_from(at.0 - 1).unwrap_or(usize::MAX));
            let line = line.unwrap_or(at.0);
            AppError::usage(format!("{}:{line}: {detail}; nothing was imported", args.file.display()))
                .hint_if(error.hint())
        }
        _ => AppError::usage(with_causes(error)).hint_if(error.hint()),
    }
}

/// Returns the first and the last line after the line of the event `last`, if there are any.
fn left_out_lines(file: &Path, last: Seq) -> Option<(u64, u64)> {
    let mut behind = filled_lines(file).skip(usize::try_from(last.0).unwrap_or(usize::MAX));
    let first = behind.next()?;
    Some((first, behind.last().unwrap_or(first)))
}

/// Returns the numbers of the lines that are not empty, including an unfinished last line. The line of event n is at
/// position n. Returns none for standard input.
fn filled_lines(file: &Path) -> impl Iterator<Item = u64> {
    let file = File::open(file).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()));
    let lines =
        file.into_iter().flat_map(|file| BufReader::new(file).split(b'\n').map_while(|line| line.ok()));
    (1..).zip(lines).filter(|(_, line)| !line.trim_ascii().is_empty()).map(|(number, _)| number)
}

/// Returns the run that a first line names.
fn run_of(line: &[u8]) -> Option<RunId> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let run = line.get("event")?.get("run")?.as_str()?;
    let fits = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (line.get("type")? == "run_started" && fits).then(|| RunId::from(run))
}

/// Says whether a line is an event, though not the first of a run.
fn is_event(line: &[u8]) -> bool {
    serde_json::from_slice(line)
        .is_ok_and(|line: Value| line.get("event").is_some() && line.get("type").is_some())
}
