//! Puts the files of a workspace back to what they were; what changed after the run stays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unstuck_core::Event;
use unstuck_core::event::{Fact, Observation, SnapshotMoment};
use unstuck_core::id::Seq;
use unstuck_core::snapshot::{Snapshot, single_line};
use unstuck_replay::snapshots::{SnapshotRef, gaps};
use unstuck_runner::open::{LifecycleError, UndoConsent, UndoOrder};
use unstuck_runner::workspace_link::recreate_folder_command;
use unstuck_workspace::snapshot::{Exclusion, Git};

pub use unstuck_runner::open::UndoPlan;
pub use unstuck_workspace::snapshot::{ChangedExcluded, ExcludedChange, RestoreOutcome, RestorePlan};

use crate::error::{AppError, Result};
use crate::launch_errors::{into_app_error, snapshot_error};
use crate::person::Person;
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;
use crate::run_revision::{self, IterationSide, RecordedSnapshots, Revision};
use crate::{access, paths};

/// A moment of a run, and how much goes back.
#[derive(Clone, Debug, Default)]
pub struct UndoRequest {
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
    /// No question is asked, and another repository or branch in the workspace is accepted.
    pub yes: bool,
    /// Only the plan is shown.
    pub dry_run: bool,
}

/// An undo that is about to begin.
pub struct Preview<'a> {
    /// The moment, such as `before iteration 2 of work (event 17)`.
    pub moment: &'a str,
    /// The plan.
    pub planned: &'a UndoPlan,
}

/// An undo that was done.
pub struct UndoOutcome {
    /// The short name of the run.
    pub short: String,
    /// The moment, such as `before iteration 2 of work (event 17)`.
    pub moment: String,
    /// The event with the workspace as it was until then.
    pub before: Seq,
    /// The plan.
    pub planned: UndoPlan,
    /// The changes.
    pub restored: RestoreOutcome,
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
    pub unrecorded: Option<AppError>,
}

/// Puts the files of a run back. `preview` gets the plan before anything is changed. Returns `None` if the moment is
/// now, or only the plan was wanted.
///
/// # Errors
///
/// There is no such moment, the snapshot is gone, or the person does not agree.
pub fn undo(
    project: &ProjectRuns,
    request: &UndoRequest,
    preview: &mut dyn FnMut(Preview<'_>),
    person: &dyn Person,
) -> Result<Option<UndoOutcome>> {
    let (run, iteration) = run_revision::run_and_iteration(&request.run, request.iteration.as_deref())?;
    let (run, event) = run_revision::split(run);
    let found = project.find(run)?;
    let log = access::reconcile_log(project, &found);
    let events = found.known_events()?;
    let past = RecordedSnapshots::new(found.short(), &events, request.step.as_deref())?;
    let moment = match (event, iteration) {
        (Some(event), _) => Revision::of_event(event)?,
        (None, Some(iteration)) => Revision::parse(iteration)?,
        (None, None) => past.newest()?,
    };
    let Some(seen) = past.find(moment, IterationSide::Before)? else { return Ok(None) };
    let started = found.started(&events)?;
    let workspace = Path::new(&started.workspace);
    check_workspace(workspace, request)?;
    let unfinished = unfinished_undo(&events);
    if let Some(before) = unfinished {
        let short = found.short();
        person.note(&format!(
            "the undo before this one was ended half-way; the files as they were before it: unstuck undo {short}@{before}"
        ));
    }
    let log = access::open_log(project, &found, log)?;
    let moment = describe(&seen);
    let again = repeat_command(&found, &seen, request);
    let order = UndoOrder {
        seq: seen.seq,
        snapshot: seen.snapshot,
        git: if request.git { Git::PutBack } else { Git::Leave },
        gaps: gaps(&events, seen.seq..=run_revision::last_of(&events)),
        is_unfinished: unfinished.is_some(),
        takes_all: request.all,
    };
    let mut refused = None;
    let agree = |planned: &UndoPlan| {
        preview(Preview { moment: &moment, planned });
        if request.dry_run {
            return None;
        }
        let asked = ask_consent(planned, workspace, &again, request, person);
        asked.map_err(|error| refused = Some(error)).ok()
    };
    let undone = access::read_only_environment(project.runs()).undo(log, &order, agree);
    if let Some(refused) = refused {
        return Err(refused);
    }
    if request.dry_run && matches!(undone, Err(LifecycleError::Declined)) {
        return Ok(None);
    }
    let done = undone.map_err(|error| into_app_error(&error, found.short(), Some(project.runs())))?;
    let snapshots = found.started(&events).and_then(|started| access::snapshots(project.runs(), &started));
    let lost = snapshots.and_then(|snapshots| {
        let lost = snapshots.changed_excluded(seen.snapshot, &done.restored.before);
        let mut lost = lost.map_err(|error| snapshot_error(&error))?;
        lost.retain(|file| !file.comes_back || !request.git || done.planned.keeps_git);
        Ok(lost)
    });
    let (is, was) = (&done.restored.before, seen.snapshot);
    let is_whole = done.restored.files.left.is_empty() && lost.as_ref().is_ok_and(Vec::is_empty);
    Ok(Some(UndoOutcome {
        short: found.short().to_owned(),
        moment,
        before: done.before,
        of_repository: if request.git { Vec::new() } else { repository_differences(is, was, &done.planned) },
        lacks: was.exclusion_note(),
        lost,
        is_whole,
        again,
        unreadable: &unreadable(is) - &unreadable(was),
        unrecorded: done.unrecorded.map(|error| into_app_error(&error, found.short(), Some(project.runs()))),
        planned: done.planned,
        restored: done.restored,
        made_readable: done.made_readable,
    }))
}

fn check_workspace(workspace: &Path, request: &UndoRequest) -> Result<()> {
    if workspace.exists() {
        return Ok(());
    }
    let git = if request.git { "" } else { ", with --git if a repository was in it" };
    let (place, make) = (paths::display(workspace), recreate_folder_command(workspace));
    Err(AppError::usage(format!("the workspace {place} is not there any more"))
        .hint(format!("if it was moved, move it back; else: {make}    then the same again{git}")))
}

/// Names a moment for a person.
fn describe(seen: &SnapshotRef<'_>) -> String {
    match seen.work.filter(|_| seen.before) {
        Some((step, iteration)) => format!("before iteration {iteration} of {step} (event {})", seen.seq),
        None => format!("at event {}", seen.seq),
    }
}

/// Returns the same command, with the event in place of the iteration.
fn repeat_command(found: &RunHandle, seen: &SnapshotRef<'_>, request: &UndoRequest) -> String {
    let typed = format!("unstuck undo {}@{}", found.short(), seen.seq);
    let options = [(request.git, " --git"), (request.all, " --all"), (request.yes, " --yes")];
    options.iter().filter(|(is_given, _)| *is_given).fold(typed, |all, (_, option)| all + option)
}

/// Makes sure that a person wants an undo where the workspace is not what the run left.
fn ask_consent(
    planned: &UndoPlan,
    workspace: &Path,
    again: &str,
    request: &UndoRequest,
    person: &dyn Person,
) -> Result<UndoConsent> {
    if request.yes {
        return Ok(UndoConsent::NotNeeded);
    }
    let Some(why) = planned.elsewhere.as_ref() else {
        return match person.agrees("", "Undo this?") {
            Some(true) => Ok(UndoConsent::Given),
            Some(false) => Err(AppError::usage("nothing was changed").hint(format!("{again} --yes"))),
            None => Ok(UndoConsent::NotNeeded),
        };
    };
    let statement = format!("{} is not what the run left: {}", paths::display(workspace), single_line(why));
    match person.agrees(&format!("{statement}."), "Undo the run there all the same?") {
        Some(true) => Ok(UndoConsent::Given),
        Some(false) | None => Err(AppError::usage(format!("{statement}; nothing was changed"))
            .hint(format!("undo it all the same: {again} --yes"))),
    }
}

/// Says how the repository differs from the snapshot, where it was not to go back.
fn repository_differences(is: &Snapshot, was: &Snapshot, planned: &UndoPlan) -> Vec<String> {
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
            let what = single_line(what.split("; ").next().unwrap_or(what));
            said.push(format!("{what}: this {how}; with --git it goes back, too"));
        }
    }
    said
}

fn unreadable(of: &Snapshot) -> BTreeSet<String> {
    let left = of.left_out.iter().filter(|left| left.reason == Exclusion::UNREADABLE);
    left.flat_map(|left| left.examples.clone()).collect()
}

/// Returns the event before the last undo of a run if that undo was cut short: it was killed, or its end could not be
/// recorded.
pub fn unfinished_undo(events: &[Event]) -> Option<Seq> {
    let last = events.last()?;
    let Fact::Observed(Observation::SnapshotTaken(taken)) = &last.fact else { return None };
    (taken.moment == SnapshotMoment::BeforeUndo).then_some(last.seq)
}
