//! `unstuck checkout`: writes the workspace as it was at an event to a new directory.

use std::path::{Path, PathBuf};

use unstuck_app::access;
use unstuck_app::launch_errors;
use unstuck_app::paths;
use unstuck_app::run_revision::{self, IterationSide, RecordedSnapshots, Revision};

use crate::args::GlobalArgs;
use crate::commands::undo;
use crate::error::{AppError, Result};
use crate::exit;

/// Arguments of `unstuck checkout`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run and the event: RUN@SEQ, RUN@first, RUN@last.
    #[arg(value_name = "RUN@SEQ")]
    moment: String,
    /// A folder that is empty or not there yet.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

/// Writes the files.
pub fn checkout(global: &GlobalArgs, args: &Args) -> Result {
    let (run, event) = run_revision::split(&args.moment);
    let project = global.project()?;
    let found = project.find(run)?;
    drop(access::reconcile_log(&project, &found));
    let events = found.known_events()?;
    let past = RecordedSnapshots::new(found.short(), &events, None)?;
    let moment = event.map_or(Ok(Revision::Last), Revision::of_event)?;
    let Some(seen) = past.find(moment, IterationSide::Before)? else {
        return Err(AppError::usage("@now is in the workspace already")
            .hint(format!("name an event: unstuck events {}", found.short())));
    };
    let snapshots = access::recorded_snapshots(project.runs(), &found.started(&events)?)?;
    let applied =
        snapshots.checkout(seen.snapshot, &args.to).map_err(|error| launch_errors::snapshot_error(&error))?;
    let but = if applied.left.is_empty() { "" } else { ", but for what is named here" };
    println!("{} holds the workspace of event {}{but}", paths::display(&args.to), seen.seq);
    println!("  written  {}", undo::list_text(&applied.written));
    for left in seen.snapshot.left_out.iter().filter(|left| left.count > 0) {
        let named: Vec<String> =
            left.examples.iter().map(|example| paths::display(Path::new(example))).collect();
        println!("  left out {} {}: {}", left.count, left.reason, named.join(", "));
    }
    for left in &applied.left {
        println!("  left     {}: {}", paths::display(&left.path), left.why);
    }
    if applied.is_full {
        eprintln!("not all of it: free space on the disk, or name a folder on another one");
        return Ok(exit::STORE);
    }
    Ok(if applied.left.is_empty() { exit::OK } else { exit::DIFFERENT })
}
