//! `unstuck diff`: what an iteration, or the whole run, changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap_complete::engine::ArgValueCompleter;
use unstuck_core::Event;
use unstuck_core::diffstat::{ChangedFile, Diffstat};
use unstuck_core::event::RunStarted;
use unstuck_core::id::Seq;
use unstuck_core::text::shell::quoted;
use unstuck_replay::{gaps, seen};
use unstuck_runner::snapshots;
use unstuck_store_sled::SledStore as Runs;
use unstuck_workspace::snapshot::{
    Change, ChangeKind, ChangedExcluded, DiffOptions, ExcludedChange, ExcludedReason, OneSidedPath, Snapshot,
    Snapshots,
};

use crate::args::Global;
use crate::commands::undo;
use crate::error::Result;
use crate::exit;
use crate::half_typed;
use crate::moment::{self, Moment, Past, Side};
use crate::project::{Project, RunArg};
use crate::typed::UNSTUCK;
use crate::{driving, explained, screen};

/// Arguments of `unstuck diff`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[arg(default_value = "@last", add = ArgValueCompleter::new(half_typed::run))]
    run: String,
    /// An iteration, or @ and an event (@first, @last, @now); without it the whole run.
    from: Option<String>,
    /// The same, for the other side; without it what that one iteration changed.
    to: Option<String>,
    /// The step, where several have such an iteration.
    #[arg(long, add = ArgValueCompleter::new(half_typed::step))]
    step: Option<String>,
    /// Only these files and folders.
    #[arg(long, value_name = "PATH")]
    path: Vec<PathBuf>,
    /// Ignored files, too.
    #[arg(long)]
    ignored: bool,
    /// Names of files only.
    #[arg(long)]
    name_only: bool,
    /// How many lines of each file were added and removed, and of all of them.
    #[arg(long, conflicts_with_all = ["name_only", "json"])]
    stat: bool,
    /// Print JSON: the files and how they differ.
    #[arg(long)]
    json: bool,
}

/// In a command so many files are named.
const NAMED_MAX: usize = 20;

/// Prints the difference.
pub fn diff(global: &Global, args: &Args) -> Result {
    let project = Project::open(global)?;
    let (run, event) = moment::split(&args.run);
    let found = project.find(&RunArg { run: run.to_owned() })?;
    drop(driving::mend(&project, &found));
    let events = found.begun()?;
    let past = Past::of(found.short(), &events, args.step.as_deref())?;
    let from = args.from.as_deref().map(Moment::parse).transpose()?;
    let (from, to) = match (event.map(Moment::of_event).transpose()?, from, &args.to) {
        (None, None, _) => (Moment::First, Moment::WorkOver),
        (None, Some(from @ Moment::Iteration(_)), None) => (from, from),
        (None, Some(from), None) | (Some(from), None, _) => (from, Moment::Last),
        (None, Some(from), Some(to)) => (from, Moment::parse(to)?),
        (Some(from), Some(to), _) => (from, to),
    };
    let (before, after) = (past.find(from, Side::Before)?, past.find(to, Side::After)?);
    let open = match (&before, &after) {
        (Some(_), Some(_)) => driving::recorded_snapshots,
        _ => driving::snapshots,
    };
    let snapshots = open(project.runs(), found.started(&events)?)?;
    let recorded = |moment| past.find(moment, Side::After).map(|seen| seen.map(|seen| seen.snapshot));
    let (first, last) = (recorded(Moment::First)?, recorded(Moment::Last)?);
    let failed = |error| explained::of_snapshots(&error);
    let now = match (&before, &after) {
        (Some(_), Some(_)) => None,
        _ => {
            let workspace = Path::new(&found.started(&events)?.workspace);
            driving::quiet_site(project.runs().clone())
                .finds_in_place(workspace)
                .map_err(|error| explained::explained(&error, found.short(), None))?;
            Some(snapshots.take_after(first, last).map_err(failed)?)
        }
    };
    let unlooked = after.as_ref().filter(|seen| seen.before && matches!(to, Moment::WorkOver | Moment::Last));
    let unlooked = unlooked.and_then(|seen| seen.work).map(|(step, iteration)| {
        let short = found.short();
        format!(
            "iteration {iteration} of {step} is under way, or nobody could look at what it left; the workspace as it is now: {UNSTUCK} diff {short} @first @now"
        )
    });
    let since_seq = before.as_ref().map(|seen| seen.seq);
    let since = before.as_ref().map(|seen| format!("@{}", seen.seq)).unwrap_or_default();
    let (before, after) =
        (before.map(|seen| seen.snapshot).or(now.as_ref()), after.map(|seen| seen.snapshot).or(now.as_ref()));
    let (Some(before), Some(after)) = (before, after) else { return Ok(exit::OK) };
    let of_others = match (from, to, since_seq) {
        (Moment::First, Moment::WorkOver, Some(seq)) => {
            changed_by_others(&snapshots, &events, seq, before, after)
        }
        _ => BTreeSet::new(),
    };
    let named: Vec<PathBuf> = of_others.iter().filter(|path| is_named(path, args)).cloned().collect();
    if !named.is_empty() {
        eprintln!(
            "note: not shown, because it was changed while the run was stopped: {}; with it: {UNSTUCK} diff {} @first @last",
            undo::listed(&named),
            found.short()
        );
    }
    let lost = snapshots.lost(before, after).map_err(failed)?;
    for ChangedExcluded { path, how, comes_back, .. } in lost.iter().filter(|it| is_named(&it.path, args)) {
        let path = undo::shown(path);
        match comes_back {
            true => eprintln!(
                "note: the repository {path} was {how}; put it back: {UNSTUCK} undo {}{since} --git",
                found.short()
            ),
            false => {
                eprintln!("note: {path} was {how}; no snapshot holds it, so how it differs is not known")
            }
        }
    }
    let unseen = snapshots.unseen(before, after).map_err(failed)?;
    let unseen: Vec<_> = unseen.into_iter().filter(|it| is_named(&it.path, args)).collect();
    tell(&unseen);
    if let Some(what) = &unlooked {
        eprintln!("note: {what}");
    }
    if args.json || args.name_only || args.stat {
        let mut changes = snapshots.changes(before, after).map_err(failed)?;
        changes.extend(lost.iter().map(change_of));
        changes.sort();
        changes.dedup_by(|next, last| next.path == last.path);
        changes.retain(|change| wanted(change, args) && !of_others.contains(&change.path));
        if args.stat {
            let files: BTreeSet<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
            let lines = snapshots.lines(before, after, &|path| files.contains(path)).map_err(failed)?;
            count(&changes, lines);
        } else {
            list(&changes, args.json);
        }
        return Ok(exit::OK);
    }
    let options = DiffOptions { paths: args.path.clone(), without: of_others, ignored: args.ignored };
    let mut text = Vec::new();
    snapshots.diff(before, after, &options, &mut text).map_err(failed)?;
    if text.is_empty() && lost.is_empty() && unseen.is_empty() && unlooked.is_none() {
        eprintln!("no difference");
    }
    crate::print_exactly(&text);
    Ok(exit::OK)
}

/// Says of what it is not known how it differs, and why.
fn tell(unseen: &[OneSidedPath]) {
    let is_unreadable = |it: &&OneSidedPath| it.is_now && it.reason == ExcludedReason::Unreadable;
    let (unreadable, others): (Vec<&OneSidedPath>, Vec<&OneSidedPath>) =
        unseen.iter().partition(is_unreadable);
    if !unreadable.is_empty() {
        let names: Vec<PathBuf> = unreadable.iter().map(|it| it.path.clone()).collect();
        let paths: Vec<String> =
            names.iter().take(NAMED_MAX).map(|path| quoted(&undo::shown(path))).collect();
        eprintln!(
            "note: became unreadable, so how it differs is not known: {}; where it still is: chmod -R u+rwX {}",
            undo::listed(&names),
            paths.join(" ")
        );
    }
    for OneSidedPath { path, reason, is_now } in others {
        let (path, when) = (undo::shown(path), if *is_now { "is" } else { "was" });
        eprintln!("note: {path} {when} {reason}, so how it differs is not known");
    }
}

/// Returns the files that others than the run changed between two of its snapshots, and not the run; none where a snapshot is
/// gone.
fn changed_by_others(
    snapshots: &Snapshots,
    events: &[Event],
    since: Seq,
    before: &Snapshot,
    after: &Snapshot,
) -> BTreeSet<PathBuf> {
    let until = seen(events).rfind(|seen| !seen.of_undo).map_or(since, |seen| seen.seq);
    let gaps = gaps(events, since..=until);
    if gaps.is_empty() {
        return BTreeSet::new();
    }
    snapshots.plan(before, after, &gaps).map(|plan| plan.stays.into_iter().collect()).unwrap_or_default()
}

/// Counts the lines that differ between the first snapshot of a run and the last of its work; `None` where nothing does,
/// or where it cannot be told.
pub fn in_all(runs: &Runs, started: &RunStarted, events: &[Event]) -> Option<Diffstat> {
    let past = Past::of("", events, None).ok()?;
    let snapshot = |moment| Some(past.find(moment, Side::After).ok()??.snapshot);
    let (before, after) = (snapshot(Moment::First)?, snapshot(Moment::WorkOver)?);
    let snapshots = driving::kept_snapshots(runs, started).ok()?;
    let mut changes = snapshots.changes(before, after).ok()?;
    let first = seen(events).next().map(|seen| seen.seq)?;
    let of_others = changed_by_others(&snapshots, events, first, before, after);
    changes.retain(|change| !of_others.contains(&change.path));
    snapshots::diffstat(&snapshots, before, after, &changes).ok()?
}

/// Prints the lines of each file, and what has become of one in which no line has changed.
fn count(changes: &[Change], counted: Vec<ChangedFile>) {
    let mut counted: BTreeMap<String, ChangedFile> =
        counted.into_iter().map(|file| (file.path.clone(), file)).collect();
    let mut files = Vec::new();
    for change in changes {
        let path = change.path.to_string_lossy().into_owned();
        let file = counted.remove(&path).unwrap_or(ChangedFile { path, added: 0, removed: 0 });
        let what = match (file.added, file.removed) {
            (0, 0) => word(change.kind).to_owned(),
            (added, removed) => format!("+{added} −{removed}"),
        };
        println!("{what:<12} {}", undo::shown(&change.path));
        files.push(file);
    }
    println!("{} in all", screen::changed(&Diffstat::of(files)));
}

fn wanted(change: &Change, args: &Args) -> bool {
    is_named(&change.path, args) && (args.ignored || !change.ignored)
}

fn is_named(path: &Path, args: &Args) -> bool {
    args.path.is_empty() || args.path.iter().any(|named| path.starts_with(named))
}

fn change_of(lost: &ChangedExcluded) -> Change {
    let kind = if lost.how == ExcludedChange::Removed { ChangeKind::Deleted } else { ChangeKind::NotCovered };
    Change { path: lost.path.clone(), kind, ignored: !lost.is_work }
}

fn list(changes: &[Change], json: bool) {
    if json {
        let all: Vec<_> = changes
            .iter()
            .map(|change| {
                serde_json::json!({
                    "path": change.path.to_string_lossy(),
                    "change": word(change.kind),
                    "ignored": change.ignored,
                })
            })
            .collect();
        crate::print_json(&all);
        return;
    }
    for change in changes {
        println!("{:<12} {}", word(change.kind), undo::shown(&change.path));
    }
}

fn word(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Modified => "modified",
        ChangeKind::Deleted => "deleted",
        ChangeKind::ModeChanged => "mode",
        ChangeKind::TypeChanged => "type",
        ChangeKind::NotCovered => "not covered",
    }
}
