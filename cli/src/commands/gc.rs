//! `unstuck gc`: forgets old runs, with their snapshots.

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::gc::{Candidates, Forgotten};
use unstuck_app::run_handle::RunHandle;
use unstuck_app::{paths, worktrees};
use unstuck_core::event::RunOutcome;
use unstuck_core::id::{Millis, RunId};

use crate::args::GlobalArgs;
use crate::error::Result;
use crate::invocation::UNSTUCK;
use crate::{completion_values, exit, format};

/// Arguments of `unstuck gc`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Forget these runs only, however young they are, and also if they wait for a person.
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(completion_values::complete_run))]
    runs: Vec<String>,
    /// Forget runs whose last event is older than this, such as 30d.
    #[arg(long, value_name = "DURATION", default_value = "30d", value_parser = age_of)]
    older_than: Millis,
    /// Really do it; without this it is only said what would be freed.
    #[arg(long)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Forgets them, or says what would be forgotten.
pub fn gc(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let mut candidates = Candidates::find(&project, &args.runs, args.older_than)?;
    let waiting = std::mem::take(&mut candidates.waiting);
    let would_free = if args.yes { None } else { candidates.would_free() };
    let lines: Vec<(RunId, String)> =
        candidates.runs.iter().map(|(found, size)| (found.entry.run.clone(), line(found, *size))).collect();
    let done = match args.yes {
        true => candidates.forget(&project),
        false => Forgotten { runs: candidates.runs, ..Forgotten::default() },
    };
    let size: u64 = done.runs.iter().map(|(_, size)| size).sum();
    if args.json {
        let runs: Vec<_> = done.runs.iter().map(|(found, _)| found.entry.run.to_string()).collect();
        let waiting: Vec<_> = waiting.iter().map(|found| found.entry.run.to_string()).collect();
        let bytes = size + would_free.unwrap_or(done.of_snapshots);
        crate::output::print_json(
            &serde_json::json!({"runs": runs, "bytes": bytes, "done": args.yes, "waiting": waiting}),
        );
    } else if !(done.runs.is_empty() && done.failed.is_some()) {
        let is_meant = |run: &RunId| done.runs.iter().any(|(found, _)| found.entry.run == *run);
        for (_, line) in lines.iter().filter(|(run, _)| is_meant(run)) {
            println!("{line}");
        }
        print(done.runs.len(), size, done.of_snapshots, would_free, args);
        tell_waiting(&waiting);
    }
    for kept in done.kept {
        eprintln!("warning: {kept}");
    }
    done.failed.map_or(Ok(exit::OK), Err)
}

/// Says which runs stay because they wait, and how they go.
fn tell_waiting(waiting: &[RunHandle]) {
    if waiting.is_empty() {
        return;
    }
    let names: Vec<&str> = waiting.iter().map(RunHandle::short).collect();
    let one = waiting.len() == 1;
    let (wait, stay) = if one { ("waits", "stays") } else { ("wait", "stay") };
    println!(
        "{} {wait} for a person, and {stay}: {} · {UNSTUCK} show {}    forgotten all the same: {UNSTUCK} gc {}",
        format::count(waiting.len(), "run"),
        names.join(", "),
        names[0],
        names.join(" ")
    );
}

/// Describes a run before it is forgotten, with what goes with its worktree.
fn line(found: &RunHandle, size: u64) -> String {
    let when = format::relative_time(found.entry.started_at, format::now());
    let name = format::cut(&found.entry.workflow, 40);
    let end = found.end().map_or("interrupted", RunOutcome::as_str);
    let mut line = format!("  {:<6} {when:<14} {:>9}  {end:<17} {name}", found.short(), paths::bytes(size));
    if let Some(what) = worktrees::ignored_note(&found.runs, &found.entry.run) {
        line.push_str(&format!("\n         in its worktree, in no commit because git ignores it: {what}"));
    }
    line
}

fn print(runs: usize, size: u64, of_snapshots: u64, would_free: Option<u64>, args: &Args) {
    let than = format::duration(args.older_than);
    if runs == 0 {
        println!("no run at rest is older than {than}");
        if of_snapshots > 0 {
            println!("freed {} of snapshots of runs that were forgotten before", paths::bytes(of_snapshots));
        }
        return;
    }
    let count = format::count(runs, "run");
    if args.yes {
        println!(
            "{count} forgotten; freed {} of runs and {} of snapshots",
            paths::bytes(size),
            paths::bytes(of_snapshots)
        );
        return;
    }
    let older = if args.runs.is_empty() { format!(" older than {than}") } else { String::new() };
    match would_free {
        Some(of_snapshots) => println!(
            "{count}{older}: {} of runs, and about {} of snapshots that no other run needs",
            paths::bytes(size),
            paths::bytes(of_snapshots)
        ),
        None => println!(
            "{count}{older}: {} of runs, and of snapshots what no other run needs, which cannot be counted now",
            paths::bytes(size)
        ),
    }
    println!("next: the same with --yes");
}

/// Parses an age: a duration, or a number of days (`d`) or weeks (`w`).
fn age_of(text: &str) -> std::result::Result<Millis, String> {
    const DAY_S: u64 = 86_400;
    let days = [('d', 1), ('w', 7)].into_iter().find_map(|(unit, days)| {
        let count: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(Millis::from_secs(count.checked_mul(days)?.checked_mul(DAY_S)?))
    });
    days.map_or_else(|| text.parse().map_err(|error| format!("{error} (such as 30d, 2w, 12h)")), Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_given_in_days_or_as_a_duration() {
        for (text, want) in [
            ("30d", Some(2_592_000)),
            ("2w", Some(1_209_600)),
            ("0d", Some(0)),
            ("12h", Some(43_200)),
            ("x", None),
            ("d", None),
        ] {
            assert_eq!(age_of(text).ok(), want.map(Millis::from_secs), "{text}");
        }
    }
}
