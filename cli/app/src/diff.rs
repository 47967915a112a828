//! The difference that an iteration, or a whole run, made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unstuck_core::Event;
use unstuck_core::diffstat::{ChangedFile, Diffstat};
use unstuck_core::event::RunStarted;
use unstuck_core::id::Seq;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::text::shell::quote_word;
use unstuck_replay::snapshots::{self as recorded, SnapshotRef, gaps};
use unstuck_runner::snapshots;
use unstuck_store::Runs;
use unstuck_workspace::snapshot::{
    ChangedExcluded, DiffOptions, ExcludedChange, ExcludedReason, OneSidedPath, Snapshots,
};

pub use unstuck_workspace::snapshot::{ChangeKind, PathChange};

use crate::access;
use crate::error::{AppError, Result};
use crate::launch_errors::{into_app_error, snapshot_error};
use crate::paths;
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;
use crate::run_revision::{self, IterationSide, RecordedSnapshots, Revision};

/// Two moments of a run, and what of their difference is wanted.
#[derive(Clone, Debug, Default)]
pub struct DiffRequest {
    /// The run, perhaps with an event: `RUN@SEQ`.
    pub run: String,
    /// An iteration, `@` and an event, or another run; `None` for the whole run.
    pub from: Option<String>,
    /// The same, for the other side.
    pub to: Option<String>,
    /// The step, where several have such an iteration.
    pub step: Option<String>,
    /// Only these files and folders; empty for all.
    pub paths: Vec<PathBuf>,
    /// Ignored files, too.
    pub ignored: bool,
    /// The form.
    pub form: DiffFormat,
}

/// The form of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffFormat {
    /// A text that `git apply` reads.
    #[default]
    Text,
    /// The files.
    Names,
    /// The files with their lines.
    Counts,
}

/// The difference between two moments.
pub struct RunDiff {
    /// Notes about it.
    pub notes: Vec<String>,
    /// Nothing differs, as far as is known.
    pub is_empty: bool,
    /// The difference.
    pub content: DiffContent,
}

/// A difference in its form.
pub enum DiffContent {
    /// As text.
    Text(Vec<u8>),
    /// The files.
    Names(Vec<PathChange>),
    /// The files with their lines.
    Counts(Vec<(ChangeKind, ChangedFile)>),
}

impl DiffRequest {
    /// Returns the same with a run in its place, where it begins with an iteration of the last run.
    fn with_run(&self) -> Result<Self> {
        let is_run = self.from.as_deref().is_some_and(|from| Revision::parse(from).is_err());
        let (from, to) = if is_run { (self.from.as_deref(), None) } else { (None, self.from.as_deref()) };
        let (run, from) = run_revision::run_and_iteration(&self.run, from)?;
        if let Some(third) = self.to.as_ref().filter(|_| run != self.run) {
            return Err(AppError::usage(format!("{third} is one iteration too many"))
                .hint("unstuck diff 2 4    or: unstuck diff RUN 2 4"));
        }
        Ok(if run == self.run {
            self.clone()
        } else {
            let (from, to) = (from.map(str::to_owned), to.map(str::to_owned));
            Self { run: run.to_owned(), from, to, ..self.clone() }
        })
    }
}

/// So many files are named in a command.
const NAMED_MAX: usize = 20;

/// The two sides of a difference.
struct Sides<'a> {
    from: Revision,
    to: Revision,
    before: Option<SnapshotRef<'a>>,
    after: Option<SnapshotRef<'a>>,
}

impl<'a> Sides<'a> {
    fn find(request: &DiffRequest, past: &RecordedSnapshots<'a>) -> Result<Self> {
        let (_, event) = run_revision::split(&request.run);
        let from = request.from.as_deref().map(Revision::parse).transpose()?;
        let (from, to) = match (event.map(Revision::of_event).transpose()?, from, &request.to) {
            (None, None, _) => (Revision::First, Revision::LastWork),
            (None, Some(from @ Revision::Iteration(_)), None) => (from, from),
            (None, Some(from), None) | (Some(from), None, _) => (from, Revision::Last),
            (None, Some(from), Some(to)) => (from, Revision::parse(to)?),
            (Some(from), Some(to), _) => (from, to),
        };
        let before = past.find(from, IterationSide::Before)?;
        Ok(Self { from, to, before, after: past.find(to, IterationSide::After)? })
    }

    /// Says that the last iteration has left nothing that was recorded.
    fn missing_end(&self, short: &str) -> Option<String> {
        let is_end = matches!(self.to, Revision::LastWork | Revision::Last);
        let (step, iteration) = self.after.as_ref().filter(|seen| seen.before && is_end)?.work?;
        Some(format!(
            "iteration {iteration} of {step} is under way, or nobody could look at what it left; the workspace as it is now: unstuck diff {short} @first @now"
        ))
    }
}

/// Compares two moments of a run.
///
/// # Errors
///
/// There is no such run or moment, or a snapshot of it is gone.
pub fn diff(project: &ProjectRuns, request: &DiffRequest) -> Result<RunDiff> {
    let request = &request.with_run()?;
    if let (Some(other), None) = (&request.from, &request.to)
        && Revision::parse(other).is_err()
    {
        return of_two_runs(project, request, other);
    }
    let found = project.find(run_revision::split(&request.run).0)?;
    drop(access::reconcile_log(project, &found));
    let events = found.known_events()?;
    let started = found.started(&events)?;
    let past = RecordedSnapshots::new(found.short(), &events, request.step.as_deref())?;
    let sides = Sides::find(request, &past)?;
    let has_both = sides.before.is_some() && sides.after.is_some();
    let open = if has_both { access::recorded_snapshots } else { access::snapshots };
    let snapshots = open(project.runs(), &started)?;
    let now =
        if has_both { None } else { Some(take_snapshot(project, &found, &past, &snapshots, &started)?) };
    let unlooked = sides.missing_end(found.short());
    let since = sides.before.as_ref().map(|seen| seen.seq);
    let before = sides.before.as_ref().map(|seen| seen.snapshot).or(now.as_ref());
    let after = sides.after.as_ref().map(|seen| seen.snapshot).or(now.as_ref());
    let (Some(before), Some(after)) = (before, after) else {
        return Ok(RunDiff { notes: Vec::new(), is_empty: false, content: DiffContent::Text(Vec::new()) });
    };
    let of_others = match (sides.from, sides.to, since) {
        (Revision::First, Revision::LastWork, Some(seq)) => {
            changed_by_others(&snapshots, &events, seq, before, after)
        }
        _ => BTreeSet::new(),
    };
    let compared = DiffInputs { request, snapshots: &snapshots, before, after, of_others };
    let mut difference = compared.compare(&found, since)?;
    difference.is_empty &= unlooked.is_none();
    difference.notes.extend(unlooked);
    Ok(difference)
}

/// Compares what two runs have made of the workspace: each at its event, or else at the end of its work.
fn of_two_runs(project: &ProjectRuns, request: &DiffRequest, other: &str) -> Result<RunDiff> {
    let of_run = |text: &str| -> Result<(RunHandle, RunStarted, Snapshot)> {
        let (run, event) = run_revision::split(text);
        let found = project.find(run)?;
        let events = found.known_events()?;
        let moment = event.map_or(Ok(Revision::LastWork), Revision::of_event)?;
        let seen =
            RecordedSnapshots::new(found.short(), &events, None)?.find(moment, IterationSide::After)?;
        let none =
            || AppError::usage("two runs are compared by their snapshots, not by the workspace as it is now");
        let snapshot = seen.ok_or_else(none)?.snapshot.clone();
        let started = found.started(&events)?;
        Ok((found, started, snapshot))
    };
    let (_, _, before) = of_run(&request.run)?;
    let (found, started, after) = of_run(other)?;
    let snapshots = access::recorded_snapshots(project.runs(), &started)?;
    let (snapshots, before, after) = (&snapshots, &before, &after);
    let compared = DiffInputs { request, snapshots, before, after, of_others: BTreeSet::new() };
    compared.compare(&found, None)
}

/// Takes a snapshot of the workspace as it is now.
fn take_snapshot(
    project: &ProjectRuns,
    found: &RunHandle,
    past: &RecordedSnapshots<'_>,
    snapshots: &Snapshots,
    started: &RunStarted,
) -> Result<Snapshot> {
    let recorded =
        |moment| past.find(moment, IterationSide::After).map(|seen| seen.map(|seen| seen.snapshot));
    let (first, last) = (recorded(Revision::First)?, recorded(Revision::Last)?);
    access::read_only_environment(project.runs())
        .check_not_moved(Path::new(&started.workspace))
        .map_err(|error| into_app_error(&error, found.short(), None))?;
    snapshots.take_after(first, last).map_err(|error| snapshot_error(&error))
}

/// Two snapshots that are compared.
struct DiffInputs<'a> {
    request: &'a DiffRequest,
    snapshots: &'a Snapshots,
    before: &'a Snapshot,
    after: &'a Snapshot,
    /// Files that others than the run changed.
    of_others: BTreeSet<PathBuf>,
}

impl DiffInputs<'_> {
    /// Compares the snapshots. `found` is the run that hints are about.
    fn compare(&self, found: &RunHandle, since: Option<Seq>) -> Result<RunDiff> {
        let lost = self.snapshots.changed_excluded(self.before, self.after);
        let lost = lost.map_err(|error| snapshot_error(&error))?;
        let (notes, is_known) = self.notes(found, &lost, since)?;
        let content = self.content(&lost)?;
        let is_empty =
            matches!(&content, DiffContent::Text(text) if text.is_empty()) && lost.is_empty() && is_known;
        Ok(RunDiff { notes, is_empty, content })
    }

    fn is_named(&self, path: &Path) -> bool {
        let paths = &self.request.paths;
        paths.is_empty() || paths.iter().any(|named| path.starts_with(named))
    }

    /// Returns what a person should know, and whether the difference is known of all files.
    fn notes(
        &self,
        found: &RunHandle,
        lost: &[ChangedExcluded],
        since: Option<Seq>,
    ) -> Result<(Vec<String>, bool)> {
        let (short, mut notes) = (found.short(), Vec::new());
        let named: Vec<PathBuf> = self.of_others.iter().filter(|path| self.is_named(path)).cloned().collect();
        if !named.is_empty() {
            notes.push(format!(
                "not shown, because it was changed while the run was stopped: {}; with it: unstuck diff {short} @first @last",
                paths::list_text(&named)
            ));
        }
        let since = since.map_or_else(String::new, |seq| format!("@{seq}"));
        for ChangedExcluded { path, how, comes_back, .. } in
            lost.iter().filter(|file| self.is_named(&file.path))
        {
            let path = paths::display(path);
            notes.push(match comes_back {
                true => {
                    format!("the repository {path} was {how}; put it back: unstuck undo {short}{since} --git")
                }
                false => format!("{path} was {how}; no snapshot holds it, so how it differs is not known"),
            });
        }
        let unseen = self
            .snapshots
            .one_sided_paths(self.before, self.after)
            .map_err(|error| snapshot_error(&error))?;
        let unseen: Vec<_> = unseen.into_iter().filter(|file| self.is_named(&file.path)).collect();
        notes.extend(one_sided(&unseen));
        Ok((notes, unseen.is_empty()))
    }

    fn content(&self, lost: &[ChangedExcluded]) -> Result<DiffContent> {
        let Self { request, snapshots, before, after, of_others } = self;
        let failed = |error| snapshot_error(&error);
        if request.form == DiffFormat::Text {
            let options = DiffOptions {
                paths: request.paths.clone(),
                without: of_others.clone(),
                ignored: request.ignored,
            };
            let mut text = Vec::new();
            snapshots.diff(before, after, &options, &mut text).map_err(failed)?;
            return Ok(DiffContent::Text(text));
        }
        let mut changes = snapshots.changes(before, after).map_err(failed)?;
        changes.extend(lost.iter().map(change_of));
        changes.sort();
        changes.dedup_by(|next, last| next.path == last.path);
        changes.retain(|change| {
            let is_wanted = self.is_named(&change.path) && (request.ignored || !change.ignored);
            is_wanted && !of_others.contains(&change.path)
        });
        if request.form == DiffFormat::Names {
            return Ok(DiffContent::Names(changes));
        }
        let files: BTreeSet<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
        let lines = snapshots.lines(before, after, &|path| files.contains(path)).map_err(failed)?;
        let mut counted: BTreeMap<String, ChangedFile> =
            lines.into_iter().map(|file| (file.path.clone(), file)).collect();
        let count = |change: &PathChange| {
            let path = change.path.to_string_lossy().into_owned();
            let file = counted.remove(&path).unwrap_or(ChangedFile { path, added: 0, removed: 0 });
            (change.kind, file)
        };
        Ok(DiffContent::Counts(changes.iter().map(count).collect()))
    }
}

/// Says of which files only one side is known, and why.
fn one_sided(unseen: &[OneSidedPath]) -> Vec<String> {
    let is_unreadable = |file: &&OneSidedPath| file.is_now && file.reason == ExcludedReason::Unreadable;
    let (unreadable, others): (Vec<&OneSidedPath>, Vec<&OneSidedPath>) =
        unseen.iter().partition(is_unreadable);
    let mut notes = Vec::new();
    if !unreadable.is_empty() {
        let names: Vec<PathBuf> = unreadable.iter().map(|file| file.path.clone()).collect();
        let quoted: Vec<String> =
            names.iter().take(NAMED_MAX).map(|path| quote_word(&paths::display(path))).collect();
        notes.push(format!(
            "became unreadable, so how it differs is not known: {}; where it still is: chmod -R u+rwX {}",
            paths::list_text(&names),
            quoted.join(" ")
        ));
    }
    for OneSidedPath { path, reason, is_now } in others {
        let (path, when) = (paths::display(path), if *is_now { "is" } else { "was" });
        notes.push(format!("{path} {when} {reason}, so how it differs is not known"));
    }
    notes
}

fn change_of(lost: &ChangedExcluded) -> PathChange {
    let kind = if lost.how == ExcludedChange::Removed { ChangeKind::Deleted } else { ChangeKind::NotCovered };
    PathChange { path: lost.path.clone(), kind, ignored: !lost.is_work }
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
    let until = recorded::list(events).rfind(|seen| !seen.of_undo).map_or(since, |seen| seen.seq);
    let gaps = gaps(events, since..=until);
    if gaps.is_empty() {
        return BTreeSet::new();
    }
    snapshots.plan(before, after, &gaps).map(|plan| plan.stays.into_iter().collect()).unwrap_or_default()
}

/// Counts the lines that differ between the first snapshot of a run and the last of its work; `None` where nothing does,
/// or unknown.
pub fn in_all(runs: &Runs, started: &RunStarted, events: &[Event]) -> Option<Diffstat> {
    let past = RecordedSnapshots::new("", events, None).ok()?;
    let snapshot = |moment| Some(past.find(moment, IterationSide::After).ok()??.snapshot);
    let (before, after) = (snapshot(Revision::First)?, snapshot(Revision::LastWork)?);
    let snapshots = access::kept_snapshots(runs, started).ok()?;
    let mut changes = snapshots.changes(before, after).ok()?;
    let first = recorded::list(events).next().map(|seen| seen.seq)?;
    let of_others = changed_by_others(&snapshots, events, first, before, after);
    changes.retain(|change| !of_others.contains(&change.path));
    snapshots::diffstat(&snapshots, before, after, &changes).ok()?
}
