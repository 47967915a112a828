//! `unstuck verify`: the whole log of a run: chain, payloads, mirror, decisions.

use unstuck_app::verify::{CheckedSnapshots, VerifyReport};
use unstuck_core::event::RunOutcome;

use crate::args::GlobalArgs;
use crate::commands::replay;
use crate::error::Result;
use crate::run_args::RunArg;
use crate::{exit, format};

/// Arguments of `unstuck verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Rebuild a damaged store from events.jsonl if that is intact, and from the readable part of the old store, which is kept.
    #[arg(long)]
    rebuild_store: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Checks the log.
pub fn verify(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let found = project.find(&args.run.run)?;
    let VerifyReport { recheck, is_store_checked, payloads, payloads_missing, snapshots: kept } =
        unstuck_app::verify::verify(&project, &found, args.rebuild_store)?;
    if args.json {
        crate::output::print_json(&serde_json::json!({
            "run": found.entry.run, "events": recheck.events, "payloads": payloads, "payloads_missing": payloads_missing,
            "snapshots": kept.snapshots, "snapshots_missing": kept.missing, "snapshot_objects": kept.objects,
            "snapshots_damaged": kept.damaged.as_ref().map(ToString::to_string),
            "decisions": recheck.decisions, "store_checked": is_store_checked,
            "anomalies": recheck.state.anomalies(),
            "outcome": recheck.state.outcome().map(RunOutcome::as_str),
            "first_difference": recheck.first_difference,
        }));
    } else {
        let what = match is_store_checked {
            true => "store and events.jsonl agree",
            false => "events.jsonl is whole (the run is live)",
        };
        let payloads = format::count(payloads, "payload");
        println!(
            "run {}: {} events, the chain is unbroken; {what}; {payloads} whole",
            found.short(),
            recheck.events
        );
        if payloads_missing > 0 {
            let missing = format::count(payloads_missing, "payload");
            println!(
                "{missing} not there: prompts, outputs and reports, which an export leaves out; no decision rests on them, but \
                 `replay --reparse` does"
            );
        }
        print_snapshots(&kept);
        replay::print_comparison(&recheck, |at| format!("events {} --from {at}", found.short()));
    }
    if let Some(error) = kept.damaged {
        return Err(error);
    }
    Ok(if recheck.first_difference.is_none() { exit::OK } else { exit::DIFFERENT })
}

/// Prints what was found of the snapshots.
fn print_snapshots(kept: &CheckedSnapshots) {
    if kept.snapshots > 0 && kept.damaged.is_none() {
        let (count, objects) = (format::count(kept.snapshots, "snapshot"), kept.objects);
        println!("{count} of the workspace, all of their {objects} objects whole");
    }
    if kept.missing > 0 {
        let missing = format::count(kept.missing, "snapshot");
        println!("{missing} not there, which an export leaves out: no diff, undo and checkout can use them");
    }
}
