//! `unstuck gc`: forgets old runs, with their snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use clap_complete::engine::ArgValueCompleter;
use unstuck_core::event::RunOutcome;
use unstuck_core::id::{Millis, RunId};
use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_runner::baselines;
use unstuck_store::opening::OpenError;
use unstuck_workspace::snapshot::Snapshots;

use crate::args::Global;
use crate::error::{Error, Result};
use crate::half_typed;
use crate::project::{self, Found, Project, RunArg};
use crate::typed::UNSTUCK;
use crate::{exit, explained, text, worktrees};

/// Arguments of `unstuck gc`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Forget these runs only, however young they are, and also if they wait for a person.
    #[arg(value_name = "RUN", add = ArgValueCompleter::new(half_typed::run))]
    runs: Vec<String>,
    /// Forget runs whose last event is older than this, such as 30d.
    #[arg(long, value_name = "AGE", default_value = "30d", value_parser = age_of)]
    older_than: Millis,
    /// Really do it; without this it is only said what would be freed.
    #[arg(long)]
    yes: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Forgets them, or says what would be forgotten.
pub fn gc(global: &Global, args: &Args) -> Result {
    let project = Project::open(global)?;
    let (waiting, old) = chosen(&project, args)?;
    let old: Vec<(Found, u64)> = old
        .into_iter()
        .map(|found| {
            let size = size_of(&found.runs.path_of(&found.entry.run));
            (found, size)
        })
        .collect();
    let snapshots = unstuck_runner::snapshots::folder(project.runs().state());
    let snapshots_before = size_of(&snapshots);
    let names: Vec<&str> = old.iter().map(|(found, _)| found.entry.run.as_str()).collect();
    let would_free = if args.yes { None } else { Snapshots::would_free(&snapshots, &names).ok() };
    let listed: Vec<(RunId, String)> =
        old.iter().map(|(found, size)| (found.entry.run.clone(), line(&project, found, *size))).collect();
    let Done { runs: old, kept, failed } = match args.yes {
        true => forget_all(&project, &snapshots, old),
        false => Done { runs: old, ..Done::default() },
    };
    let size: u64 = old.iter().map(|(_, size)| size).sum();
    let of_snapshots = snapshots_before.saturating_sub(size_of(&snapshots));
    if args.json {
        let runs: Vec<_> = old.iter().map(|(found, _)| found.entry.run.to_string()).collect();
        let waiting: Vec<_> = waiting.iter().map(|found| found.entry.run.to_string()).collect();
        let bytes = size + would_free.unwrap_or(of_snapshots);
        crate::print_json(
            &serde_json::json!({"runs": runs, "bytes": bytes, "done": args.yes, "waiting": waiting}),
        );
    } else if !(old.is_empty() && failed.is_some()) {
        let is_meant = |run: &RunId| old.iter().any(|(found, _)| found.entry.run == *run);
        for (_, line) in listed.iter().filter(|(run, _)| is_meant(run)) {
            println!("{line}");
        }
        print(old.len(), size, of_snapshots, would_free, args);
        tell_waiting(&waiting);
    }
    for kept in kept {
        eprintln!("warning: {kept}");
    }
    failed.map_or(Ok(exit::OK), Err)
}

/// Returns the runs that nobody works on and that are so old. A child run is a part of its parent's work, and stays with it.
fn at_rest(all: Vec<Found>, older_than: Duration) -> Vec<Found> {
    let there: BTreeSet<RunId> = all.iter().map(|found| found.entry.run.clone()).collect();
    let mut rest: Vec<Found> =
        all.into_iter().filter(|found| !found.is_live() && age(found) >= older_than).collect();
    let parent =
        |found: &Found| Some((found.entry.run.clone(), project::parent(&found.runs, &found.entry.run)?));
    let mut parents: BTreeMap<RunId, RunId> = rest.iter().filter_map(parent).collect();
    // Who has forgotten its parent goes alone.
    parents.retain(|_, parent| there.contains(parent));
    loop {
        let resting: BTreeSet<RunId> = rest.iter().map(|found| found.entry.run.clone()).collect();
        let before = rest.len();
        rest.retain(|found| parents.get(&found.entry.run).is_none_or(|parent| resting.contains(parent)));
        if rest.len() == before {
            return rest;
        }
    }
}

/// Returns the runs that wait for a person, which stay, and those that are to be forgotten.
fn chosen(project: &Project, args: &Args) -> Result<(Vec<Found>, Vec<Found>)> {
    let named: Vec<RunId> = args
        .runs
        .iter()
        .map(|run| Ok(project.find(&RunArg { run: run.clone() })?.entry.run))
        .collect::<Result<_>>()?;
    let mut all = project.every_run()?;
    all.extend(project.unfinished()?);
    if named.is_empty() {
        let old = at_rest(all, Duration::from_millis(args.older_than.0));
        return Ok(old.into_iter().partition(is_waiting));
    }
    let meant = at_rest(all, Duration::ZERO).into_iter().filter(|found| named.contains(&found.entry.run));
    Ok((Vec::new(), meant.collect()))
}

/// Says whether somebody has to answer before a run goes on.
fn is_waiting(found: &Found) -> bool {
    found.end() == Some(RunOutcome::Blocked)
}

/// Says which runs stay because they wait, and how they go.
fn tell_waiting(waiting: &[Found]) {
    if waiting.is_empty() {
        return;
    }
    let names: Vec<&str> = waiting.iter().map(Found::short).collect();
    let one = waiting.len() == 1;
    let (wait, stay) = if one { ("waits", "stays") } else { ("wait", "stay") };
    println!(
        "{} {wait} for a person, and {stay}: {} · {UNSTUCK} show {}    forgotten all the same: {UNSTUCK} gc {}",
        text::count(waiting.len(), "run"),
        names.join(", "),
        names[0],
        names.join(" ")
    );
}

/// Describes a run before it is forgotten, with what goes with its worktree.
fn line(project: &Project, found: &Found, size: u64) -> String {
    let when = text::ago(found.entry.started_at, text::now());
    let name = text::cut(&found.entry.workflow, 40);
    let end = found.end().map_or("interrupted", RunOutcome::as_str);
    let mut line = format!("  {:<6} {when:<14} {:>9}  {end:<17} {name}", found.short(), bytes(size));
    if let Some(what) = worktrees::ignored(project.runs(), &found.entry.run) {
        line.push_str(&format!("\n         in its worktree, in no commit because git ignores it: {what}"));
    }
    line
}

fn print(runs: usize, size: u64, of_snapshots: u64, would_free: Option<u64>, args: &Args) {
    let than = text::span(args.older_than);
    if runs == 0 {
        println!("no run at rest is older than {than}");
        if of_snapshots > 0 {
            println!("freed {} of snapshots of runs that were forgotten before", bytes(of_snapshots));
        }
        return;
    }
    let count = text::count(runs, "run");
    if args.yes {
        println!("{count} forgotten; freed {} of runs and {} of snapshots", bytes(size), bytes(of_snapshots));
        return;
    }
    let older = if args.runs.is_empty() { format!(" older than {than}") } else { String::new() };
    match would_free {
        Some(of_snapshots) => println!(
            "{count}{older}: {} of runs, and about {} of snapshots that no other run needs",
            bytes(size),
            bytes(of_snapshots)
        ),
        None => println!(
            "{count}{older}: {} of runs, and of snapshots what no other run needs, which cannot be counted now",
            bytes(size)
        ),
    }
    println!("next: the same with --yes");
}

/// Runs that were forgotten, with their sizes, or would be.
#[derive(Default)]
struct Done {
    runs: Vec<(Found, u64)>,
    /// What stays, and why.
    kept: Vec<String>,
    /// What went wrong first.
    failed: Option<Error>,
}

/// Forgets runs. What goes wrong with one of them, or afterwards, keeps nothing else from being freed: this is what a person
/// types when the disk is full.
fn forget_all(project: &Project, snapshots: &Path, old: Vec<(Found, u64)>) -> Done {
    let mut done = Done::default();
    for (found, size) in old {
        match forget(snapshots, &found) {
            Ok(true) => {
                done.kept.extend(checkout_kept(project, &found));
                done.runs.push((found, size));
            }
            Ok(false) => done.kept.push(format!("run {} stays: somebody works on it now", found.short())),
            Err(error) => done.failed = done.failed.or(Some(error)),
        }
    }
    let runs = project.runs();
    let cannot = |what: &str, error: &io::Error| {
        Error::damaged(format!("cannot {what}: {error}"))
            .hint(format!("{}, then the same again", hint::for_io(error)))
    };
    let unfinished =
        runs.remove_unfinished().map_err(|error| cannot("remove what is left of forgotten runs", &error));
    let is_quiet = project.every_run().is_ok_and(|all| !all.iter().any(Found::is_live));
    let freed = Snapshots::free(snapshots, is_quiet).map_err(|error| match error.is_full() {
        true => explained::of_snapshots(&error)
            .hint("make room on the disk: it takes some to free the rest; then the same again"),
        false => explained::of_snapshots(&error),
    });
    let index = runs.rebuild_index().map_err(|error| cannot("write the index", &error));
    let lost = baselines::forget_lost(runs, runs.state())
        .map_err(|error| cannot("forget the baselines of forgotten runs", &error));
    let then = [unfinished, freed, index.map(drop), lost];
    done.failed = done.failed.or(then.into_iter().find_map(std::result::Result::err));
    done
}

/// Removes the checkout that a run was given for itself, or says why it stays.
fn checkout_kept(project: &Project, found: &Found) -> Option<String> {
    let error = worktrees::remove(project.runs(), &found.entry.run).err()?;
    Some(format!("the worktree of run {} stays: {}", found.short(), with_causes(&error)))
}

/// Removes a run: the names of its snapshots first, so that what is left after a crash is a run that can be removed again. Its
/// workspace and its log are not needed for that. Returns false where somebody works on it.
fn forget(snapshots: &Path, found: &Found) -> Result<bool> {
    let failed = |error: &dyn std::error::Error| {
        let why = with_causes(error);
        Error::damaged(format!("cannot forget run {}: {why}", found.short())).hint("unstuck doctor")
    };
    let lease = match found.runs.lease(&found.entry.run) {
        Ok(lease) => lease,
        Err(OpenError::Locked { .. }) => return Ok(false),
        Err(error) => {
            let hint = match &error {
                OpenError::Io { source, .. } => {
                    Some(format!("{}, then the same again", hint::for_io(source)))
                }
                _ => None,
            };
            return Err(failed(&error).hint_if(hint));
        }
    };
    Snapshots::forget_names(snapshots, found.entry.run.as_str())
        .map_err(|error| explained::of_snapshots(&error))?;
    found.runs.delete(&found.entry.run, lease).map_err(|error| failed(&error))?;
    Ok(true)
}

/// Reads an age: days and weeks beside what durations have.
fn age_of(text: &str) -> std::result::Result<Millis, String> {
    const DAY_S: u64 = 86_400;
    let days = [('d', 1), ('w', 7)].into_iter().find_map(|(unit, days)| {
        let count: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(Millis::from_secs(count.checked_mul(days)?.checked_mul(DAY_S)?))
    });
    days.map_or_else(|| text.parse().map_err(|error| format!("{error} (such as 30d, 2w, 12h)")), Ok)
}

/// Returns the time since the last event of a run; where its events are lost, since the last change of its folder. A run of
/// unknown age is new: it stays.
fn age(found: &Found) -> Duration {
    let modified = |path: &Path| fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    let modified = modified(&found.runs.lines(&found.entry.run))
        .or_else(|_| modified(&found.runs.path_of(&found.entry.run)));
    modified.ok().and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default()
}

/// Returns how many bytes the files below a folder have.
pub fn size_of(folder: &Path) -> u64 {
    // A size for people: where it is not known, none is claimed.
    unstuck_workspace::snapshot::size_alone(folder).unwrap_or(0)
}

/// Returns a size as people read it.
#[expect(clippy::cast_precision_loss, reason = "a size for people")]
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
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
