//! `unstuck events`: what was recorded, and what is being recorded.

use std::io::{self, BufRead as _, Write};
use std::time::Duration;

use unstuck_app::run_handle::RunHandle;
use unstuck_app::run_revision;
use unstuck_core::Event;
use unstuck_core::id::Seq;

use crate::args::GlobalArgs;
use crate::error::{AppError, Result};
use crate::invocation::UNSTUCK;
use crate::run_args::RunArg;
use crate::{exit, format};

/// Arguments of `unstuck events`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Print the lines of events.jsonl as they are.
    #[arg(long)]
    json: bool,
    /// Follow the run until it ends.
    #[arg(short, long)]
    follow: bool,
    /// Begin with this event.
    #[arg(long, value_name = "EVENT", default_value_t = 1)]
    from: u64,
}

/// How often a live log is looked at.
const POLL: Duration = Duration::from_millis(200);

/// Prints the events.
pub fn events(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let found = project.find(&args.run.run)?;
    let mut reader = found.log()?.follow().map_err(|error| found.unreadable(&error))?;
    let lines = io::BufReader::new(open(&found)?).lines();
    let mut lines = lines.filter(|line| !matches!(line, Ok(line) if line.is_empty()));
    let (mut state, mut last) = (unstuck_core::RunState::default(), Seq(0));
    loop {
        let events = reader.poll().map_err(|error| found.unreadable(&error))?;
        let idle = events.is_empty();
        let mut out = io::BufWriter::new(io::stdout().lock());
        for event in events {
            // The reader has checked the line, so --json prints it unchanged.
            let line = lines.next().unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()));
            let line = line.map_err(|error| AppError::usage(format!("cannot read the log: {error}")))?;
            (state, last) = (state.evolve(&event), event.seq);
            if event.seq < Seq(args.from) {
                continue;
            }
            let shown = if args.json { writeln!(out, "{line}") } else { print(&mut out, &event) };
            if !crate::output_queue::check_written(shown) {
                return Ok(exit::OK);
            }
        }
        if !crate::output_queue::check_written(out.flush()) {
            return Ok(exit::OK);
        }
        drop(out);
        let over = !args.follow || state.outcome().is_some() || !found.is_live();
        if idle && over {
            if args.follow && state.outcome().is_none() {
                eprintln!("note: its supervisor is gone\n  next: {UNSTUCK} resume {}", found.short());
            }
            let status = whole(&found)?;
            // With --follow, --from may name an event that is not recorded yet.
            return if args.follow { Ok(status) } else { check(&found, args.from, last).map(|()| status) };
        }
        if idle {
            std::thread::sleep(POLL);
        }
    }
}

/// Refuses to begin with an event that there is not.
fn check(found: &RunHandle, from: u64, last: Seq) -> Result<()> {
    let is_there = from <= 1 || Seq(from) <= last;
    if is_there { Ok(()) } else { Err(run_revision::no_event(found.short(), last, Seq(from))) }
}

/// Says after the last event if there were more.
fn whole(found: &RunHandle) -> Result {
    found.log()?.missing_events().map_or(Ok(exit::OK), |error| Err(found.unreadable(&error)))
}

fn open(found: &RunHandle) -> Result<std::fs::File> {
    let path = found.runs.lines(&found.entry.run);
    unstuck_files::safe_open::open(&path)
        .map_err(|error| AppError::usage(format!("cannot read {}: {error}", path.display())))
}

fn print(out: &mut impl Write, event: &Event) -> io::Result<()> {
    let (moment, kind) = (format::timestamp(event.at), unstuck_replay::kind(event));
    let what = format::sanitize(&unstuck_replay::describe(event));
    let head = format!("{:>5}  {moment}  {kind:<16}", event.seq);
    let (columns, room) = (format::columns(&head) + 2, format::width());
    if columns + 30 <= room {
        return writeln!(out, "{head}  {}", format::wrap(&what, room, columns));
    }
    let time = moment.split_once(' ').map_or(moment.as_str(), |(_day, time)| time);
    writeln!(out, "{:>5}  {time}  {kind}\n       {}", event.seq, format::wrap(&what, room, 7))
}
