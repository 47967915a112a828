//! The difference that an iteration, or a whole run, made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unstuck_core::Event;
use unstuck_core::diffstat::{ChangedFile, Diffstat};
use unstuck_core::event::RunStarted;
use unstuck_core::id::Seq;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::text::shell::quoted;
use unstuck_replay::{Seen, gaps, seen};
use unstuck_runner::snapshots;
use unstuck_store_sled::SledStore as Runs;
use unstuck_workspace::snapshot::{
    ChangedExcluded, DiffOptions, ExcludedChange, ExcludedReason, OneSidedPath, Snapshots,
};

pub use unstuck_workspace::snapshot::{Change, ChangeKind};

use crate::access;
use crate::error::Result;
use crate::explained::{explained, of_snapshots};
use crate::paths;
use crate::point::{self, Moment, Past, Side};
use crate::project::{Found, Project};

/// Two moments of a run, and what of their difference is wanted.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The run, perhaps with an event: `RUN@SEQ`.
    pub run: String,
    /// An iteration, or `@` and an event; `None` for the whole run.
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
    pub form: Form,
}

/// The form of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// A text that `git apply` reads.
    #[default]
    Text,
    /// The files.
    Names,
    /// The files with their lines.
    Counts,
}

/// The difference between two moments.
pub struct Difference {
    /// Notes about it.
    pub notes: Vec<String>,
    /// Nothing differs, as far as is known.
    pub is_empty: bool,
    /// The difference.
    pub content: Content,
}

/// A difference in its form.
pub enum Content {
    /// As text.
    Text(Vec<u8>),
    /// The files.
    Names(Vec<Change>),
    /// The files with their lines.
    Counts(Vec<(ChangeKind, ChangedFile)>),
}

/// So many files are named in a command.
const NAMED_MAX: usize = 20;

/// The two sides of a difference.
struct Sides<'a> {
    from: Moment,
    to: Moment,
    before: Option<Seen<'a>>,
    after: Option<Seen<'a>>,
}

impl<'a> Sides<'a> {
    fn find(request: &Request, past: &Past<'a>) -> Result<Self> {
        let (_, event) = point::split(&request.run);
        let from = request.from.as_deref().map(Moment::parse).transpose()?;
        let (from, to) = match (event.map(Moment::of_event).transpose()?, from, &request.to) {
            (None, None, _) => (Moment::First, Moment::WorkOver),
            (None, Some(from @ Moment::Iteration(_)), None) => (from, from),
            (None, Some(from), None) | (Some(from), None, _) => (from, Moment::Last),
            (None, Some(from), Some(to)) => (from, Moment::parse(to)?),
            (Some(from), Some(to), _) => (from, to),
        };
        Ok(Self { from, to, before: past.find(from, Side::Before)?, after: past.find(to, Side::After)? })
    }

    /// Says that the last iteration has left nothing that was recorded.
    fn unlooked(&self, short: &str) -> Option<String> {
        let is_end = matches!(self.to, Moment::WorkOver | Moment::Last);
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
pub fn diff(project: &Project, request: &Request) -> Result<Difference> {
    let found = project.find(point::split(&request.run).0)?;
    drop(access::mend(project, &found));
    let events = found.begun()?;
    let started = found.started(&events)?;
    let past = Past::of(found.short(), &events, request.step.as_deref())?;
    let sides = Sides::find(request, &past)?;
    let has_both = sides.before.is_some() && sides.after.is_some();
    let open = if has_both { access::recorded_snapshots } else { access::snapshots };
    let snapshots = open(project.runs(), started)?;
    let now = if has_both { None } else { Some(look(project, &found, &past, &snapshots, started)?) };
    let unlooked = sides.unlooked(found.short());
    let since = sides.before.as_ref().map(|seen| seen.seq);
    let before = sides.before.as_ref().map(|seen| seen.snapshot).or(now.as_ref());
    let after = sides.after.as_ref().map(|seen| seen.snapshot).or(now.as_ref());
    let (Some(before), Some(after)) = (before, after) else {
        return Ok(Difference { notes: Vec::new(), is_empty: false, content: Content::Text(Vec::new()) });
    };
    let of_others = match (sides.from, sides.to, since) {
        (Moment::First, Moment::WorkOver, Some(seq)) => {
            changed_by_others(&snapshots, &events, seq, before, after)
        }
        _ => BTreeSet::new(),
    };
    let compared = Compared { request, snapshots: &snapshots, before, after, of_others };
    let lost = snapshots.lost(before, after).map_err(|error| of_snapshots(&error))?;
    let (mut notes, is_known) = compared.notes(&found, &lost, since)?;
    notes.extend(unlooked.clone());
    let content = compared.content(&lost)?;
    let is_empty = matches!(&content, Content::Text(text) if text.is_empty())
        && lost.is_empty()
        && is_known
        && unlooked.is_none();
    Ok(Difference { notes, is_empty, content })
}

/// Takes a snapshot of the workspace as it is now.
fn look(
    project: &Project,
    found: &Found,
    past: &Past<'_>,
    snapshots: &Snapshots,
    started: &RunStarted,
) -> Result<Snapshot> {
    let recorded = |moment| past.find(moment, Side::After).map(|seen| seen.map(|seen| seen.snapshot));
    let (first, last) = (recorded(Moment::First)?, recorded(Moment::Last)?);
    access::quiet_site(project.runs())
        .finds_in_place(Path::new(&started.workspace))
        .map_err(|error| explained(&error, found.short(), None))?;
    snapshots.take_after(first, last).map_err(|error| of_snapshots(&error))
}

/// Two snapshots that are compared.
struct Compared<'a> {
    request: &'a Request,
    snapshots: &'a Snapshots,
    before: &'a Snapshot,
    after: &'a Snapshot,
    /// Files that others than the run changed.
    of_others: BTreeSet<PathBuf>,
}

impl Compared<'_> {
    fn is_named(&self, path: &Path) -> bool {
        let paths = &self.request.paths;
        paths.is_empty() || paths.iter().any(|named| path.starts_with(named))
    }

    /// Returns what a person should know, and whether the difference is known of all files.
    fn notes(
        &self,
        found: &Found,
        lost: &[ChangedExcluded],
        since: Option<Seq>,
    ) -> Result<(Vec<String>, bool)> {
        let (short, mut notes) = (found.short(), Vec::new());
        let named: Vec<PathBuf> = self.of_others.iter().filter(|path| self.is_named(path)).cloned().collect();
        if !named.is_empty() {
            notes.push(format!(
                "not shown, because it was changed while the run was stopped: {}; with it: unstuck diff {short} @first @last",
                paths::listed(&named)
            ));
        }
        let since = since.map_or_else(String::new, |seq| format!("@{seq}"));
        for ChangedExcluded { path, how, comes_back, .. } in lost.iter().filter(|it| self.is_named(&it.path))
        {
            let path = paths::shown(path);
            notes.push(match comes_back {
                true => {
                    format!("the repository {path} was {how}; put it back: unstuck undo {short}{since} --git")
                }
                false => format!("{path} was {how}; no snapshot holds it, so how it differs is not known"),
            });
        }
        let unseen = self.snapshots.unseen(self.before, self.after).map_err(|error| of_snapshots(&error))?;
        let unseen: Vec<_> = unseen.into_iter().filter(|it| self.is_named(&it.path)).collect();
        notes.extend(one_sided(&unseen));
        Ok((notes, unseen.is_empty()))
    }

    fn content(&self, lost: &[ChangedExcluded]) -> Result<Content> {
        let Self { request, snapshots, before, after, of_others } = self;
        let failed = |error| of_snapshots(&error);
        if request.form == Form::Text {
            let options = DiffOptions {
                paths: request.paths.clone(),
                without: of_others.clone(),
                ignored: request.ignored,
            };
            let mut text = Vec::new();
            snapshots.diff(before, after, &options, &mut text).map_err(failed)?;
            return Ok(Content::Text(text));
        }
        let mut changes = snapshots.changes(before, after).map_err(failed)?;
        changes.extend(lost.iter().map(change_of));
        changes.sort();
        changes.dedup_by(|next, last| next.path == last.path);
        changes.retain(|change| {
            let is_wanted = self.is_named(&change.path) && (request.ignored || !change.ignored);
            is_wanted && !of_others.contains(&change.path)
        });
        if request.form == Form::Names {
            return Ok(Content::Names(changes));
        }
        let files: BTreeSet<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
        let lines = snapshots.lines(before, after, &|path| files.contains(path)).map_err(failed)?;
        let mut counted: BTreeMap<String, ChangedFile> =
            lines.into_iter().map(|file| (file.path.clone(), file)).collect();
        let count = |change: &Change| {
            let path = change.path.to_string_lossy().into_owned();
            let file = counted.remove(&path).unwrap_or(ChangedFile { path, added: 0, removed: 0 });
            (change.kind, file)
        };
        Ok(Content::Counts(changes.iter().map(count).collect()))
    }
}

/// Says of which files only one side is known, and why.
fn one_sided(unseen: &[OneSidedPath]) -> Vec<String> {
    let is_unreadable = |it: &&OneSidedPath| it.is_now && it.reason == ExcludedReason::Unreadable;
    let (unreadable, others): (Vec<&OneSidedPath>, Vec<&OneSidedPath>) =
        unseen.iter().partition(is_unreadable);
    let mut notes = Vec::new();
    if !unreadable.is_empty() {
        let names: Vec<PathBuf> = unreadable.iter().map(|it| it.path.clone()).collect();
        let quoted: Vec<String> =
            names.iter().take(NAMED_MAX).map(|path| quoted(&paths::shown(path))).collect();
        notes.push(format!(
            "became unreadable, so how it differs is not known: {}; where it still is: chmod -R u+rwX {}",
            paths::listed(&names),
            quoted.join(" ")
        ));
    }
    for OneSidedPath { path, reason, is_now } in others {
        let (path, when) = (paths::shown(path), if *is_now { "is" } else { "was" });
        notes.push(format!("{path} {when} {reason}, so how it differs is not known"));
    }
    notes
}

fn change_of(lost: &ChangedExcluded) -> Change {
    let kind = if lost.how == ExcludedChange::Removed { ChangeKind::Deleted } else { ChangeKind::NotCovered };
    Change { path: lost.path.clone(), kind, ignored: !lost.is_work }
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
/// or unknown.
pub fn in_all(runs: &Runs, started: &RunStarted, events: &[Event]) -> Option<Diffstat> {
    let past = Past::of("", events, None).ok()?;
    let snapshot = |moment| Some(past.find(moment, Side::After).ok()??.snapshot);
    let (before, after) = (snapshot(Moment::First)?, snapshot(Moment::WorkOver)?);
    let snapshots = access::kept_snapshots(runs, started).ok()?;
    let mut changes = snapshots.changes(before, after).ok()?;
    let first = seen(events).next().map(|seen| seen.seq)?;
    let of_others = changed_by_others(&snapshots, events, first, before, after);
    changes.retain(|change| !of_others.contains(&change.path));
    snapshots::diffstat(&snapshots, before, after, &changes).ok()?
}
