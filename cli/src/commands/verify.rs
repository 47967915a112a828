//! `unstuck verify`: the whole log of a run: chain, payloads, mirror, decisions.

use unstuck_core::event::RunOutcome;
use unstuck_core::id::Seq;
use unstuck_store::event_store::EventStore as _;
use unstuck_store::run_log::RunLog;

use crate::args::Global;
use crate::commands::replay;
use crate::error::{Error, Result};
use crate::exit;
use crate::project::{Project, RunArg};

/// Arguments of `unstuck verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Checks the log.
pub fn verify(global: &Global, args: &Args) -> Result {
    let project = Project::open(global)?;
    let found = project.find(&args.run)?;
    // A live run is checked by its mirror; one that nobody works on by its store as well.
    let (recheck, stored) = if found.is_live() {
        let events = found.log()?.read(Seq(1)).map_err(|error| found.unreadable(&error))?;
        (unstuck_replay::recheck(events, None).map_err(|error| found.unreadable(&error))?, false)
    } else {
        let (log, opening) = RunLog::open_for_writing(&found.folder)
            .map_err(|error| Error::store(&error).hint_if(error.hint()))?;
        for finding in &opening.findings {
            eprintln!("note: {finding}");
        }
        log.verify().map_err(|error| found.unreadable(&error))?;
        let events = log.read(Seq(1)).map_err(|error| found.unreadable(&error))?;
        (unstuck_replay::recheck(events, None).map_err(|error| found.unreadable(&error))?, true)
    };
    if args.json {
        println!(
            "{:#}",
            serde_json::json!({
                "run": found.entry.run, "events": recheck.events, "decisions": recheck.decisions,
                "store_checked": stored, "anomalies": recheck.state.anomalies(),
                "outcome": recheck.state.outcome().map(RunOutcome::as_str),
                "first_difference": recheck.first_difference,
            })
        );
    } else {
        let what = if stored {
            "store, payloads and events.jsonl agree"
        } else {
            "events.jsonl is whole (the run is live)"
        };
        println!("run {}: {} events, the chain is unbroken; {what}", found.short(), recheck.events);
        replay::print_comparison(&recheck, found.short());
    }
    Ok(if recheck.first_difference.is_none() { exit::OK } else { exit::DIFFERENT })
}
