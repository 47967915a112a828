//! The workspace before and after a worker or a check: its changes, the drift of the step from its base, and the
//! reverted files.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::diffstat::Diffstat;
use unstuck_core::effect::Turn;
use unstuck_core::event::Outcome;
use unstuck_core::id::{Iteration, RunId, Stage};
use unstuck_core::judge::scope::{self, StepChanges};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::{ExternalChange, LostWork};
use unstuck_core::workflow::{ConvergencePolicy, Step};
use unstuck_core::{RunState, TurnId};
use unstuck_files::error::with_causes;
use unstuck_process::blocking_task::blocking;
use unstuck_process::exhausted;
use unstuck_workspace::diff_base;
use unstuck_workspace::snapshot;

use crate::host::Host;
use crate::repository_changes::{BranchPolicy, file_list};
use crate::snapshots::{ChangedSince, RunSnapshots, WorkerChanges, display};
use crate::task::TurnTask;
use crate::temp_dir::TempDir;
use crate::turn_start::TurnStart;
use crate::workspace_link::recreate_command;

/// Maximum files of a workspace for which taking a snapshot is faster than starting a thread.
const FILES_FEW: u64 = 1000;

/// The workspace before the work, with data of the step that is needed after it.
pub(crate) struct BeforeTurn {
    /// Snapshot of the start of the run.
    first: Box<Snapshot>,
    /// Snapshot of the start of the step.
    of_step: Box<Snapshot>,
    /// Changes that others made between the turns of the step.
    gaps: Vec<ExternalChange>,
    /// Snapshot of the start of the turn.
    before: Box<Snapshot>,
    /// The same, without the changes of a lost attempt of the same work, if its result is unknown.
    from: Box<Snapshot>,
    /// Changes of lost attempts of the same work.
    lost_work: Vec<LostWork>,
    /// Files that only checks have written.
    by_checks: BTreeSet<String>,
    /// Drift after the last work or check.
    differed: StepChanges,
    /// Rules of the step about its changes, if it has any.
    rules: Option<ConvergencePolicy>,
    /// The commit to compare with, if it existed before the work.
    base: Option<String>,
    stage: Stage,
    /// Changes to the branch that the step is allowed to make.
    branch: BranchPolicy,
    is_check: bool,
    /// Whether this is the baseline, before any work.
    is_baseline: bool,
    /// Command that restores the files from before this iteration.
    undo: String,
}

/// The workspace after the work.
#[derive(Default)]
pub(crate) struct AfterTurn {
    pub(crate) changed: Option<bool>,
    pub(crate) drift: Option<StepChanges>,
    pub(crate) diffstat: Option<Diffstat>,
    /// Snapshot of the result, before any file was reverted.
    pub(crate) snapshot: Option<Box<Snapshot>>,
}

/// Takes a snapshot of the workspace before a worker, or before a check of a step with rules, since a check may run
/// files that a worker wrote. If the step has rules about its changes and the snapshot fails, the turn cannot start.
pub(crate) fn capture_before(start: &TurnStart<'_>, task: &mut TurnTask) -> Option<BeforeTurn> {
    if task.in_the_way.is_some() {
        return None;
    }
    match snapshot_before(start, &mut task.notes) {
        Ok(seen) => seen,
        Err(why) => {
            task.in_the_way = Some(why);
            None
        }
    }
}

fn snapshot_before(start: &TurnStart<'_>, notes: &mut Vec<String>) -> Result<Option<BeforeTurn>, String> {
    let TurnStart { host, state, step, at, turn, due, .. } = *start;
    let rules = step.convergence.clone().filter(ConvergencePolicy::has_rules);
    // The findings of validators are only valid for this workspace.
    let is_check = turn.is_check();
    if is_check && turn != Turn::Conditions && rules.is_none() {
        return Ok(None);
    }
    let is_baseline = is_check && due.iteration == Iteration::BASELINE;
    let base = match &rules {
        Some(_) if at.workspace.drift.base.is_some() => at.workspace.drift.base.clone(),
        Some(rules) if !is_baseline || turn == Turn::Preflight => base_before(host, rules)?,
        _ => None,
    };
    let before = match take_snapshot(host, state.first_snapshot(), state.last_snapshot()) {
        Ok(Some(before)) => before,
        Ok(None) if rules.is_some() => {
            return Err(scope_unknown(step, "no snapshots are kept of this workspace"));
        }
        Ok(None) => return Ok(None),
        Err(why) if rules.is_some() => return Err(scope_unknown(step, &why)),
        Err(why) => {
            notes.push(format!("no snapshot of the workspace was taken: {why}"));
            return Ok(None);
        }
    };
    notes.extend(before.unread().cloned());
    let is_here = |snapshot: &Snapshot| host.snapshots.as_ref().is_some_and(|keeper| keeper.has(snapshot));
    let or_now = |earlier: Option<&Snapshot>| {
        let earlier = earlier.filter(|snapshot| is_here(snapshot));
        earlier.map_or_else(|| before.clone(), |snapshot| Box::new(snapshot.clone()))
    };
    let first = or_now(state.first_snapshot());
    let from = or_now(at.workspace.works_from.as_deref());
    let mut lost_work = at.workspace.lost_work.clone();
    lost_work.retain(|lost| is_here(&lost.before) && is_here(&lost.after));
    let gaps: Vec<ExternalChange> = at
        .workspace
        .gaps
        .iter()
        .cloned()
        .chain(at.workspace.external_change(Arc::new((*before).clone())))
        .collect();
    let base_of_step = match (&at.workspace.began_with, &host.snapshots) {
        (Some(of_step), Some(keeper)) => keeper.base_of(of_step, &gaps),
        _ => Some(((*before).clone(), gaps)),
    };
    let (of_step, gaps) = match base_of_step {
        Some((of_step, gaps)) => (Box::new(of_step), gaps),
        None if rules.is_some() => {
            return Err(scope_unknown(step, "the snapshots that its work is compared with are gone"));
        }
        None => (before.clone(), Vec::new()),
    };
    let stage = at.convergence.stage();
    let branch =
        state.workflow().map_or(BranchPolicy::Fixed, |workflow| BranchPolicy::for_step(workflow, &step.id));
    let undo = undo(state, due);
    let (by_checks, differed) = (at.workspace.by_checks.clone(), at.workspace.drift.clone());
    Ok(Some(BeforeTurn {
        first,
        of_step,
        gaps,
        before,
        from,
        lost_work,
        by_checks,
        differed,
        rules,
        base,
        stage,
        branch,
        is_check,
        is_baseline,
        undo,
    }))
}

/// Returns the command that brings back the files as they were before an iteration, whatever came after it.
fn undo(state: &RunState, due: &TurnId) -> String {
    let run = state.run().map_or("@last", RunId::as_str);
    let is_only = state.workflow().is_some_and(|workflow| workflow.steps.len() == 1);
    let step = if is_only { String::new() } else { format!(" --step {}", due.step) };
    format!("unstuck undo {run} {}{step}", due.iteration)
}

/// Help for a base that git cannot find.
const NO_BASE: &str = "see which there are: git log --oneline --all; make it and go on: unstuck resume; or name another one in \
                       diff_base_ref and run again";

/// Returns the commit to compare with, read before a worker can move it. A commit that is counted from HEAD is only
/// known after the work.
fn base_before(host: &Host, rules: &ConvergencePolicy) -> Result<Option<String>, String> {
    let found = match &rules.diff_base_ref {
        Some(name) if diff_base::is_of_head(name) => {
            diff_base::check_resolvable(&host.workspace, name).map(|()| None)
        }
        _ => diff_base::name(&host.workspace, rules)
            .and_then(|name| name.map(|name| diff_base::commit(&host.workspace, &name)).transpose()),
    };
    found.map_err(|why| format!("{why}; {NO_BASE}"))
}

/// Makes a copy of the workspace for a worker that only reads: changes to the copy are discarded. If there is none, the
/// turn cannot start.
pub(crate) fn copy(start: &TurnStart<'_>, task: &mut TurnTask) -> Option<TempDir> {
    if task.in_the_way.is_some() {
        return None;
    }
    match checkout_copy(start.host, start.state) {
        Ok(copy) => Some(copy),
        Err(why) => {
            task.in_the_way = Some(why);
            None
        }
    }
}

fn checkout_copy(host: &Host, state: &RunState) -> Result<TempDir, String> {
    let cannot = |why: &str| format!("no copy of the workspace can be made for a diagnosis: {why}");
    let Some(keeper) = &host.snapshots else { return Err(cannot("no snapshots are kept of it")) };
    let now =
        take_snapshot(host, state.first_snapshot(), state.last_snapshot()).map_err(|why| cannot(&why))?;
    let now = now.ok_or_else(|| cannot("it cannot be read"))?;
    let root = TempDir::new(host.artifacts.join("copy"));
    keeper.checkout(&now, root.path()).map_err(|error| cannot(&with_causes(&error)))?;
    Ok(root)
}

/// Takes a snapshot of the workspace; `None` where none can be kept.
pub(crate) fn take_snapshot(
    host: &Host,
    first: Option<&Snapshot>,
    last: Option<&Snapshot>,
) -> Result<Option<Box<Snapshot>>, String> {
    let Some(keeper) = &host.snapshots else { return Ok(None) };
    host.link_error().map_or(Ok(()), Err)?;
    let snapshot = keeper.take(first, last).map_err(|error| {
        exhausted::report(&error);
        with_causes(&error)
    })?;
    keeper.ask_git(&snapshot);
    Ok(Some(Box::new(snapshot)))
}

fn scope_unknown(step: &Step, why: &str) -> String {
    format!("whether step {} keeps to its scope cannot be seen: {why}", step.id)
}

/// Looks at the workspace after a turn, unless a link leads elsewhere now, and says in the outcome what a person should know.
pub(crate) async fn capture_after(
    seen: Option<BeforeTurn>,
    host: &Arc<Host>,
    step: &Step,
    outcome: &mut Outcome,
) -> AfterTurn {
    match seen {
        Some(seen) if host.link_error().is_none() => seen.compare_after(host, step, outcome).await,
        _ => AfterTurn::default(),
    }
}

impl BeforeTurn {
    /// Says whether the step has rules about what it changes.
    pub(crate) fn has_rules(&self) -> bool {
        self.rules.is_some()
    }

    /// Returns what is recorded of the workspace before the work.
    pub(crate) fn start_snapshot(&self) -> Box<Snapshot> {
        self.before.clone()
    }

    async fn compare_after(self, host: &Arc<Host>, step: &Step, outcome: &mut Outcome) -> AfterTurn {
        let host = Arc::clone(host);
        let (root, undo, has_rules) = (host.workspace.clone(), self.undo.clone(), self.has_rules());
        let is_small = self.before.files <= FILES_FEW;
        let compare = move || {
            let mut notes = Vec::new();
            (self.compare(&host, &mut notes), notes)
        };
        let (after, notes) = if is_small { compare() } else { blocking(compare).await };
        outcome.notes.extend(notes);
        after.unwrap_or_else(|why| {
            if !root.is_dir() {
                outcome.notes.push(removed_message(&root, &undo));
            } else if root.read_dir().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
                outcome.notes.push(format!(
                    "the worker made the workspace unreadable, so what it changed cannot be seen; put it back: {undo}"
                ));
                if has_rules {
                    outcome.fatal.get_or_insert(scope_unknown(step, &why));
                }
            } else if has_rules {
                outcome.fatal.get_or_insert(scope_unknown(step, &why));
            } else {
                outcome.notes.push(format!("what was changed cannot be seen: {why}"));
            }
            AfterTurn::default()
        })
    }

    fn compare(&self, host: &Host, notes: &mut Vec<String>) -> Result<AfterTurn, String> {
        let again = || take_snapshot(host, Some(&self.first), Some(&self.before));
        let (Some(keeper), Some(after)) = (&host.snapshots, again()?) else {
            return Ok(AfterTurn::default());
        };
        let drift = self.drift(host, keeper, &after)?;
        if self.is_check {
            return Ok(AfterTurn { drift, ..AfterTurn::default() });
        }
        let mut compared = self.work(keeper, &after)?;
        notes.append(&mut compared.said);
        let mut drift = drift;
        let put_back = self.put_back(keeper, &after, drift.as_ref(), notes)?;
        if !put_back.is_empty()
            && let Some(now) = again()?
        {
            compared = self.work(keeper, &now)?;
            drift = self.drift(host, keeper, &now)?.map(|drift| StepChanges { put_back, ..drift });
        }
        let (changed, diffstat) = (Some(compared.changed), compared.diffstat);
        Ok(AfterTurn { changed, drift, diffstat, snapshot: Some(after) })
    }

    /// Returns the changes of this attempt, and of lost attempts of the same work.
    fn work(&self, keeper: &RunSnapshots, after: &Snapshot) -> Result<WorkerChanges, String> {
        let lost = self.lost_work.iter().map(|lost| (&*lost.before, &*lost.after));
        let mut parts = lost.chain([(&*self.from, after)]);
        parts.try_fold(WorkerChanges::default(), |all, (before, after)| {
            let part =
                keeper.compare(&self.first, before, after, self.branch, &self.undo).map_err(message)?;
            Ok(all.merge(part))
        })
    }

    /// Reverts files that changed out of scope if the rules require that, and adds a note. Returns the reverted files.
    /// Their content is in the snapshot that was taken before. No other step runs meanwhile: a step with rules runs
    /// alone.
    fn put_back(
        &self,
        keeper: &RunSnapshots,
        now: &Snapshot,
        drift: Option<&StepChanges>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<String>, String> {
        let (Some(rules), Some(drift)) = (&self.rules, drift) else { return Ok(Vec::new()) };
        let by_worker = scope::without_check_files(&drift.files, &self.by_checks_with(drift));
        let strayed = scope::paths_to_revert(rules, self.stage, &by_worker);
        if strayed.is_empty() {
            return Ok(strayed);
        }
        let since = self.since(keeper, rules, now)?;
        let mut done = Vec::new();
        let strayed: Vec<&str> = strayed.iter().map(String::as_str).collect();
        for (then, files) in by_base(self.bases(), &since, &strayed) {
            done.extend(put_back_to(keeper, now, then, &files, notes)?);
        }
        if !done.is_empty() {
            notes.push(format!("what was changed out of scope was put back: {}", file_list(&done)));
        }
        Ok(done)
    }

    /// Returns what only checks have written by now.
    fn by_checks_with(&self, drift: &StepChanges) -> BTreeSet<String> {
        let mut by_checks = self.by_checks.clone();
        if self.is_check {
            scope::record_check_writes(&mut by_checks, &self.differed, drift);
        } else {
            scope::clear_worker_files(&mut by_checks, drift);
        }
        by_checks
    }

    /// Returns what a check has written, or what the work has changed of what only checks had written.
    fn by_check(
        &self,
        keeper: &RunSnapshots,
        rules: &ConvergencePolicy,
        since: &ChangedSince<'_>,
        after: &Snapshot,
    ) -> Result<Vec<String>, String> {
        if self.is_check {
            let is_new =
                |file: &&String| !self.differed.files.contains(file) && !self.by_checks.contains(*file);
            let files = since.keys().filter(is_new).cloned().collect();
            return keeper.new_files(rules, (&self.of_step, after), files).map_err(message);
        }
        if self.by_checks.is_empty() {
            return Ok(Vec::new());
        }
        let mut touched = BTreeSet::new();
        let lost = self.lost_work.iter().map(|lost| (&*lost.before, &*lost.after));
        for (before, after) in lost.chain([(&*self.from, after)]) {
            touched.extend(keeper.drift_of_scope(rules, before, after).map_err(message)?);
        }
        Ok(touched.intersection(&self.by_checks).cloned().collect())
    }

    /// Returns what the files of the step are compared with.
    fn bases(&self) -> impl Iterator<Item = &Snapshot> {
        std::iter::once(&*self.of_step).chain(self.gaps.iter().map(|gap| &*gap.found))
    }

    /// Returns the files that the step has changed, and what they were before.
    fn since(
        &self,
        keeper: &RunSnapshots,
        rules: &ConvergencePolicy,
        now: &Snapshot,
    ) -> Result<ChangedSince<'_>, String> {
        keeper.drift_since(rules, &self.of_step, &self.gaps, now).map_err(message)
    }

    /// Compares with the base of the step; `None` where that is as it was after the work before.
    fn drift(
        &self,
        host: &Host,
        keeper: &RunSnapshots,
        after: &Snapshot,
    ) -> Result<Option<StepChanges>, String> {
        let Some(rules) = &self.rules else {
            if after.work == self.before.work && self.before.work != self.of_step.work {
                return Ok(None);
            }
            let mut files = keeper.drift(&self.of_step, after).map_err(message)?;
            let files_left_out =
                u64::try_from(files.len().saturating_sub(StepChanges::FILES_MAX)).unwrap_or(u64::MAX);
            files.truncate(StepChanges::FILES_MAX);
            return Ok(Some(StepChanges { files, files_left_out, ..StepChanges::default() }));
        };
        if self.is_baseline {
            let by_check = keeper.drift_of_scope(rules, &self.before, after).map_err(message)?;
            return Ok(Some(StepChanges { by_check, ..StepChanges::default() }));
        }
        let base = match &self.base {
            Some(commit) => Some(commit.clone()),
            None => match diff_base::name(&host.workspace, rules)? {
                Some(name) => Some(diff_base::commit(&host.workspace, &name)?),
                None => None,
            },
        };
        let of_base = match &base {
            Some(commit) => Some(keeper.of_commit(commit, &host.artifacts.join("base"), &self.first)?),
            None => None,
        };
        let mut since = self.since(keeper, rules, after)?;
        if let Some(of_base) = &of_base {
            let files = keeper.drift_from_commit(rules, of_base, &since, after).map_err(message)?;
            since = files.into_iter().map(|file| (file, of_base)).collect();
        }
        let by_check = self.by_check(keeper, rules, &since, after)?;
        let mut drift =
            StepChanges { base, files: since.keys().cloned().collect(), by_check, ..StepChanges::default() };
        if rules.max_changed_lines.is_some() {
            let by_checks = self.by_checks_with(&drift);
            since.retain(|file, _| !by_checks.contains(file));
            drift.lines = Some(self.lines(keeper, rules, &since, (of_base.as_ref(), after))?);
        }
        Ok(Some(drift))
    }

    /// Counts the lines that were added and removed, of each file since what it is compared with.
    fn lines(
        &self,
        keeper: &RunSnapshots,
        rules: &ConvergencePolicy,
        since: &ChangedSince<'_>,
        (of_base, after): (Option<&Snapshot>, &Snapshot),
    ) -> Result<u64, String> {
        let files: Vec<String> = since.keys().cloned().collect();
        let looked_at = scope::paths_in_rules(rules, &files);
        let by_base = by_base(of_base.into_iter().chain(self.bases()), since, &looked_at);
        by_base.iter().map(|(then, files)| keeper.lines(then, after, files).map_err(message)).sum()
    }
}

/// Returns the files that are compared with each of these snapshots, where there are any.
fn by_base<'a, 'f>(
    bases: impl Iterator<Item = &'a Snapshot>,
    since: &ChangedSince<'_>,
    files: &[&'f str],
) -> Vec<(&'a Snapshot, Vec<&'f str>)> {
    let of = |then: &'a Snapshot| {
        let is_of = |path: &&str| since.get(*path).is_some_and(|base| std::ptr::eq(*base, then));
        (then, files.iter().copied().filter(is_of).collect::<Vec<_>>())
    };
    bases.map(of).filter(|(_, files)| !files.is_empty()).collect()
}

/// Makes some files what they were in a snapshot, and returns those that were not so.
fn put_back_to(
    keeper: &RunSnapshots,
    now: &Snapshot,
    then: &Snapshot,
    files: &[&str],
    notes: &mut Vec<String>,
) -> Result<Vec<String>, String> {
    let applied = keeper.put_back(now, then, files).map_err(message)?;
    for left in &applied.left {
        notes.push(format!("{} was not put back: it {}", left.path.display(), left.why));
    }
    let done = applied.written.iter().chain(&applied.removed).map(|path| display(path));
    Ok(done.filter(|path| files.contains(&path.as_str())).collect())
}

/// Returns the message for a removed workspace, with the command that restores it.
fn removed_message(root: &Path, undo: &str) -> String {
    format!(
        "the worker removed the workspace; put it back: {}",
        recreate_command(root, &format!("{undo} --git"))
    )
}

fn message(error: snapshot::SnapshotError) -> String {
    with_causes(&error)
}
