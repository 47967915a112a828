//! Puts the files of a workspace back to what they were; what changed after the run stays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unstuck_core::Event;
use unstuck_core::event::{Fact, Observation, SnapshotMoment};
use unstuck_core::id::Seq;
use unstuck_core::snapshot::{Snapshot, on_one_line};
use unstuck_replay::{Seen, gaps};
use unstuck_runner::open::{Asked, Order};
use unstuck_runner::workspace::make_again;
use unstuck_workspace::snapshot::{Git, LeftOut};

pub use unstuck_runner::open::Planned;
pub use unstuck_workspace::snapshot::{ChangedExcluded, ExcludedChange, Plan, Restored};

use crate::error::{Error, Result};
use crate::explained::{explained, of_snapshots};
use crate::person::Person;
use crate::point::{self, Moment, Past, Side};
use crate::project::{Found, Project};
use crate::{access, paths};

/// A moment of a run, and how much goes back.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The run, perhaps with an event: `RUN@SEQ`.
    pub run: String,
    /// The iteration before which the files were so; `None` for the newest.
    pub iteration: Option<String>,
    /// The step, where several have such an iteration.
    pub step: Option<String>,
    /// The repository goes back, too.
    pub git: bool,
    /// Changes of others than the run go back, too.
    pub all: bool,
    /// Another repository or branch in the workspace is accepted.
    pub yes: bool,
}

/// An undo that is about to begin.
pub struct Preview<'a> {
    /// The moment, such as `before iteration 2 of work (event 17)`.
    pub moment: &'a str,
    /// The plan.
    pub planned: &'a Planned,
}

/// An undo that was done.
pub struct Undone {
    /// The short name of the run.
    pub short: String,
    /// The moment, such as `before iteration 2 of work (event 17)`.
    pub moment: String,
    /// The event with the workspace as it was until then.
    pub before: Seq,
    /// The plan.
    pub planned: Planned,
    /// The changes.
    pub restored: Restored,
    /// Files that their owner could not read until then.
    pub made_readable: Vec<PathBuf>,
    /// Differences of the repository that stay without `git`: sentences.
    pub of_repository: Vec<String>,
    /// A sentence about files that are missing from the snapshot.
    pub lacks: Option<String>,
    /// Files that no snapshot holds, and that changed since; or why they are not known.
    pub lost: Result<Vec<ChangedExcluded>>,
    /// Everything that was planned is done.
    pub is_whole: bool,
    /// The same command again.
    pub again: String,
    /// Files that cannot be read, although the snapshot has them.
    pub unreadable: BTreeSet<String>,
    /// Why the end is not in the log.
    pub unrecorded: Option<Error>,
}

/// Puts the files of a run back. `preview` gets the plan before anything is changed. Returns `None` if the moment is now.
///
/// # Errors
///
/// There is no such moment, the snapshot is gone, or the person does not agree.
pub fn undo(
    project: &Project,
    request: &Request,
    preview: &mut dyn FnMut(Preview<'_>),
    person: &dyn Person,
) -> Result<Option<Undone>> {
    let (run, event) = point::split(&request.run);
    let found = project.find(run).map_err(|error| match &request.iteration {
        None if is_iteration(&request.run) => error
            .hint(format!("if an iteration of the last run is meant: unstuck undo @last {}", request.run)),
        _ => error,
    })?;
    let log = access::mend(project, &found);
    let events = found.begun()?;
    let past = Past::of(found.short(), &events, request.step.as_deref())?;
    let moment = match (event, &request.iteration) {
        (Some(event), _) => Moment::of_event(event)?,
        (None, Some(iteration)) => Moment::parse(iteration)?,
        (None, None) => past.newest()?,
    };
    let Some(seen) = past.find(moment, Side::Before)? else { return Ok(None) };
    let workspace = Path::new(&found.started(&events)?.workspace);
    is_there(workspace, request)?;
    let unfinished = unfinished(&events);
    if let Some(before) = unfinished {
        let short = found.short();
        person.note(&format!(
            "the undo before this one was ended half-way; the files as they were before it: unstuck undo {short}@{before}"
        ));
    }
    let log = access::opened(project, &found, log)?;
    let moment = named(&seen);
    let again = again(&found, &seen, request);
    let order = Order {
        seq: seen.seq,
        snapshot: seen.snapshot,
        git: if request.git { Git::PutBack } else { Git::Leave },
        gaps: gaps(&events, seen.seq..=point::last_of(&events)),
        is_unfinished: unfinished.is_some(),
        takes_all: request.all,
    };
    let mut refused = None;
    let agree = |planned: &Planned| {
        preview(Preview { moment: &moment, planned });
        let asked = agreed(planned, workspace, &again, request, person);
        asked.map_err(|error| refused = Some(error)).ok()
    };
    let undone = access::quiet_site(project.runs()).undo(log, &order, agree);
    if let Some(refused) = refused {
        return Err(refused);
    }
    let done = undone.map_err(|error| explained(&error, found.short(), Some(project.runs())))?;
    let snapshots = found.started(&events).and_then(|started| access::snapshots(project.runs(), started));
    let lost = snapshots.and_then(|snapshots| {
        let lost = snapshots.lost(seen.snapshot, &done.restored.before);
        let mut lost = lost.map_err(|error| of_snapshots(&error))?;
        lost.retain(|file| !file.comes_back || !request.git || done.planned.keeps_git);
        Ok(lost)
    });
    let (is, was) = (&done.restored.before, seen.snapshot);
    let is_whole = done.restored.files.left.is_empty() && lost.as_ref().is_ok_and(Vec::is_empty);
    Ok(Some(Undone {
        short: found.short().to_owned(),
        moment,
        before: done.before,
        of_repository: if request.git { Vec::new() } else { of_repository(is, was, &done.planned) },
        lacks: was.lacks(),
        lost,
        is_whole,
        again,
        unreadable: &unreadable(is) - &unreadable(was),
        unrecorded: done.unrecorded.map(|error| explained(&error, found.short(), Some(project.runs()))),
        planned: done.planned,
        restored: done.restored,
        made_readable: done.made_readable,
    }))
}

fn is_there(workspace: &Path, request: &Request) -> Result<()> {
    if workspace.exists() {
        return Ok(());
    }
    let git = if request.git { "" } else { ", with --git if a repository was in it" };
    let (place, make) = (paths::shown(workspace), make_again(workspace));
    Err(Error::usage(format!("the workspace {place} is not there any more"))
        .hint(format!("if it was moved, move it back; else: {make}    then the same again{git}")))
}

/// Names a moment for a person.
fn named(seen: &Seen<'_>) -> String {
    match seen.work.filter(|_| seen.before) {
        Some((step, iteration)) => format!("before iteration {iteration} of {step} (event {})", seen.seq),
        None => format!("at event {}", seen.seq),
    }
}

/// Returns the same command, with the event in place of the iteration.
fn again(found: &Found, seen: &Seen<'_>, request: &Request) -> String {
    let typed = format!("unstuck undo {}@{}", found.short(), seen.seq);
    let options = [(request.git, " --git"), (request.all, " --all"), (request.yes, " --yes")];
    options.iter().filter(|(is_given, _)| *is_given).fold(typed, |all, (_, option)| all + option)
}

/// Makes sure that a person wants an undo where the workspace is not what the run left.
fn agreed(
    planned: &Planned,
    workspace: &Path,
    again: &str,
    request: &Request,
    person: &dyn Person,
) -> Result<Asked> {
    let Some(why) = planned.elsewhere.as_ref().filter(|_| !request.yes) else { return Ok(Asked::No) };
    let statement = format!("{} is not what the run left: {}", paths::shown(workspace), on_one_line(why));
    match person.agrees(&format!("{statement}."), "Undo the run there all the same?") {
        Some(true) => Ok(Asked::Yes),
        Some(false) | None => Err(Error::usage(format!("{statement}; nothing was changed"))
            .hint(format!("undo it all the same: {again} --yes"))),
    }
}

/// Says how the repository differs from the snapshot, where it was not to go back.
fn of_repository(is: &Snapshot, was: &Snapshot, planned: &Planned) -> Vec<String> {
    let mut said = Vec::new();
    if let (Some(is), Some(was)) = (&is.repository, &was.repository)
        && is.head() != was.head()
        && planned.later.is_empty()
    {
        said.push(format!("stays on {}, and was on {}: with --git it goes back, too", is.head(), was.head()));
    }
    let is_noted = |of: &Snapshot, what: &str| of.unfinished().any(|noted| noted == what);
    for (of, other, how) in [(was, is, "was so, and is not now"), (is, was, "was not so")] {
        for what in of.unfinished().filter(|what| !is_noted(other, what)) {
            let what = on_one_line(what.split("; ").next().unwrap_or(what));
            said.push(format!("{what}: this {how}; with --git it goes back, too"));
        }
    }
    said
}

fn unreadable(of: &Snapshot) -> BTreeSet<String> {
    let left = of.left_out.iter().filter(|left| left.reason == LeftOut::UNREADABLE);
    left.flat_map(|left| left.examples.clone()).collect()
}

/// Says whether a text looks like the number of an iteration, and not like a run.
fn is_iteration(text: &str) -> bool {
    let number = text.trim_start_matches('#');
    (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the event before the last undo of a run if that undo was cut short: it was killed, or its end could not be
/// recorded.
pub fn unfinished(events: &[Event]) -> Option<Seq> {
    let last = events.last()?;
    let Fact::Observed(Observation::SnapshotTaken(taken)) = &last.fact else { return None };
    (taken.moment == SnapshotMoment::BeforeUndo).then_some(last.seq)
}
