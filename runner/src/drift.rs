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
use unstuck_core::judge::scope::{self, Drift};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::{Gap, LostWork};
use unstuck_core::workflow::{Convergence, Step};
use unstuck_core::{Due, RunState};
use unstuck_files::error::with_causes;
use unstuck_process::blocking_task::blocking;
use unstuck_process::exhausted;
use unstuck_workspace::diff_base;
use unstuck_workspace::snapshot;

use crate::beginning::Beginning;
use crate::host::Host;
use crate::repository::{Branch, named};
use crate::scratch::Scratch;
use crate::snapshots::{Compared, Keeper, Since, shown};
use crate::task::Task;
use crate::workspace::remake;

/// Maximum files of a workspace for which taking a snapshot is faster than starting a thread.
const FILES_FEW: u64 = 1000;

/// The workspace before the work, with data of the step that is needed after it.
pub(crate) struct BeforeTurn {
    /// Snapshot of the start of the run.
    first: Box<Snapshot>,
    /// Snapshot of the start of the step.
    of_step: Box<Snapshot>,
    /// Changes that others made between the turns of the step.
    gaps: Vec<Gap>,
    /// Snapshot of the start of the turn.
    before: Box<Snapshot>,
    /// The same, without the changes of a lost attempt of the same work, if its result is unknown.
    from: Box<Snapshot>,
    /// Changes of lost attempts of the same work.
    lost_work: Vec<LostWork>,
    /// Files that only checks have written.
    by_checks: BTreeSet<String>,
    /// Drift after the last work or check.
    differed: Drift,
    /// Rules of the step about its changes, if it has any.
    rules: Option<Convergence>,
    /// The commit to compare with, if it existed before the work.
    base: Option<String>,
    stage: Stage,
    /// Changes to the branch that the step is allowed to make.
    branch: Branch,
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
    pub(crate) drift: Option<Drift>,
    pub(crate) diffstat: Option<Diffstat>,
    /// Snapshot of the result, before any file was reverted.
    pub(crate) snapshot: Option<Box<Snapshot>>,
}

/// Takes a snapshot of the workspace before a worker, or before a check of a step with rules, since a check may run
/// files that a worker wrote. If the step has rules about its changes and the snapshot fails, the turn cannot start.
pub(crate) fn before(begin: &Beginning<'_>, task: &mut Task) -> Option<BeforeTurn> {
    if task.in_the_way.is_some() {
        return None;
    }
    match looked_before(begin, &mut task.notes) {
        Ok(seen) => seen,
        Err(why) => {
            task.in_the_way = Some(why);
            None
        }
    }
}

fn looked_before(begin: &Beginning<'_>, notes: &mut Vec<String>) -> Result<Option<BeforeTurn>, String> {
    let Beginning { world, state, step, at, turn, due, .. } = *begin;
    let rules = step.convergence.clone().filter(Convergence::has_rules);
    // The findings of validators are only valid for this workspace.
    let is_check = turn.is_check();
    if is_check && turn != Turn::Conditions && rules.is_none() {
        return Ok(None);
    }
    let is_baseline = is_check && due.iteration == Iteration::BASELINE;
    let base = match &rules {
        Some(_) if at.workspace.drift.base.is_some() => at.workspace.drift.base.clone(),
        Some(rules) if !is_baseline || turn == Turn::Preflight => base_before(world, rules)?,
        _ => None,
    };
    let before = match look(world, state.first_snapshot(), state.last_snapshot()) {
        Ok(Some(before)) => before,
        Ok(None) if rules.is_some() => return Err(unseen(step, "no snapshots are kept of this workspace")),
        Ok(None) => return Ok(None),
        Err(why) if rules.is_some() => return Err(unseen(step, &why)),
        Err(why) => {
            notes.push(format!("no snapshot of the workspace was taken: {why}"));
            return Ok(None);
        }
    };
    notes.extend(before.unread().cloned());
    let is_here = |snapshot: &Snapshot| world.snapshots.as_ref().is_some_and(|keeper| keeper.has(snapshot));
    let or_now = |earlier: Option<&Snapshot>| {
        let earlier = earlier.filter(|it| is_here(it));
        earlier.map_or_else(|| before.clone(), |it| Box::new(it.clone()))
    };
    let first = or_now(state.first_snapshot());
    let from = or_now(at.workspace.works_from.as_deref());
    let mut lost_work = at.workspace.lost_work.clone();
    lost_work.retain(|it| is_here(&it.before) && is_here(&it.after));
    let gaps: Vec<Gap> =
        at.workspace.gaps.iter().cloned().chain(at.workspace.gap(Arc::new((*before).clone()))).collect();
    let base_of_step = match (&at.workspace.began_with, &world.snapshots) {
        (Some(of_step), Some(keeper)) => keeper.base_of(of_step, &gaps),
        _ => Some(((*before).clone(), gaps)),
    };
    let (of_step, gaps) = match base_of_step {
        Some((of_step, gaps)) => (Box::new(of_step), gaps),
        None if rules.is_some() => {
            return Err(unseen(step, "the snapshots that its work is compared with are gone"));
        }
        None => (before.clone(), Vec::new()),
    };
    let stage = at.convergence.stage();
    let branch = state.workflow().map_or(Branch::Stays, |workflow| Branch::of(workflow, &step.id));
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
fn undo(state: &RunState, due: &Due) -> String {
    let run = state.run().map_or("@last", RunId::as_str);
    let is_only = state.workflow().is_some_and(|it| it.steps.len() == 1);
    let step = if is_only { String::new() } else { format!(" --step {}", due.step) };
    format!("unstuck undo {run} {}{step}", due.iteration)
}

/// Help for a base that git cannot find.
const NO_BASE: &str = "see which there are: git log --oneline --all; make it and go on: unstuck resume; or name another one in \
                       diff_base_ref and run again";

/// Returns the commit to compare with, read before a worker can move it. A commit that is counted from HEAD is only
/// known after the work.
fn base_before(world: &Host, rules: &Convergence) -> Result<Option<String>, String> {
    let found = match &rules.diff_base_ref {
        Some(name) if diff_base::is_of_head(name) => {
            diff_base::foresee(&world.workspace, name).map(|()| None)
        }
        _ => diff_base::name(&world.workspace, rules)
            .and_then(|name| name.map(|name| diff_base::commit(&world.workspace, &name)).transpose()),
    };
    found.map_err(|why| format!("{why}; {NO_BASE}"))
}

/// Makes a copy of the workspace for a worker that only reads: changes to the copy are discarded. If there is none, the
/// turn cannot start.
pub(crate) fn copy(begin: &Beginning<'_>, task: &mut Task) -> Option<Scratch> {
    if task.in_the_way.is_some() {
        return None;
    }
    match copied(begin.world, begin.state) {
        Ok(copy) => Some(copy),
        Err(why) => {
            task.in_the_way = Some(why);
            None
        }
    }
}

fn copied(world: &Host, state: &RunState) -> Result<Scratch, String> {
    let cannot = |why: &str| format!("no copy of the workspace can be made for a diagnosis: {why}");
    let Some(keeper) = &world.snapshots else { return Err(cannot("no snapshots are kept of it")) };
    let now = look(world, state.first_snapshot(), state.last_snapshot()).map_err(|why| cannot(&why))?;
    let now = now.ok_or_else(|| cannot("it cannot be read"))?;
    let root = Scratch::new(world.artifacts.join("copy"));
    keeper.checkout(&now, root.path()).map_err(|error| cannot(&with_causes(&error)))?;
    Ok(root)
}

/// Takes a snapshot of the workspace; `None` where none can be kept.
pub(crate) fn look(
    world: &Host,
    first: Option<&Snapshot>,
    last: Option<&Snapshot>,
) -> Result<Option<Box<Snapshot>>, String> {
    let Some(keeper) = &world.snapshots else { return Ok(None) };
    world.led_away().map_or(Ok(()), Err)?;
    let snapshot = keeper.take(first, last).map_err(|error| {
        exhausted::report(&error);
        with_causes(&error)
    })?;
    keeper.ask_git(&snapshot);
    Ok(Some(Box::new(snapshot)))
}

fn unseen(step: &Step, why: &str) -> String {
    format!("whether step {} keeps to its scope cannot be seen: {why}", step.id)
}

/// Looks at the workspace after a turn, unless a link leads elsewhere now, and says in the outcome what a person should know.
pub(crate) async fn after(
    seen: Option<BeforeTurn>,
    world: &Arc<Host>,
    step: &Step,
    outcome: &mut Outcome,
) -> AfterTurn {
    match seen {
        Some(seen) if world.led_away().is_none() => seen.after(world, step, outcome).await,
        _ => AfterTurn::default(),
    }
}

impl BeforeTurn {
    /// Says whether the step has rules about what it changes.
    pub(crate) fn has_rules(&self) -> bool {
        self.rules.is_some()
    }

    /// Returns what is recorded of the workspace before the work.
    pub(crate) fn before(&self) -> Box<Snapshot> {
        self.before.clone()
    }

    async fn after(self, world: &Arc<Host>, step: &Step, outcome: &mut Outcome) -> AfterTurn {
        let world = Arc::clone(world);
        let (root, undo, has_rules) = (world.workspace.clone(), self.undo.clone(), self.has_rules());
        let is_small = self.before.files <= FILES_FEW;
        let compare = move || {
            let mut notes = Vec::new();
            (self.compare(&world, &mut notes), notes)
        };
        let (after, notes) = if is_small { compare() } else { blocking(compare).await };
        outcome.notes.extend(notes);
        after.unwrap_or_else(|why| {
            if !root.is_dir() {
                outcome.notes.push(removed(&root, &undo));
            } else if root.read_dir().is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
                outcome.notes.push(format!(
                    "the worker made the workspace unreadable, so what it changed cannot be seen; put it back: {undo}"
                ));
                if has_rules {
                    outcome.fatal.get_or_insert(unseen(step, &why));
                }
            } else if has_rules {
                outcome.fatal.get_or_insert(unseen(step, &why));
            } else {
                outcome.notes.push(format!("what was changed cannot be seen: {why}"));
            }
            AfterTurn::default()
        })
    }

    fn compare(&self, world: &Host, notes: &mut Vec<String>) -> Result<AfterTurn, String> {
        let again = || look(world, Some(&self.first), Some(&self.before));
        let (Some(keeper), Some(after)) = (&world.snapshots, again()?) else {
            return Ok(AfterTurn::default());
        };
        let drift = self.drift(world, keeper, &after)?;
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
            drift = self.drift(world, keeper, &now)?.map(|drift| Drift { put_back, ..drift });
        }
        let (changed, diffstat) = (Some(compared.changed), compared.diffstat);
        Ok(AfterTurn { changed, drift, diffstat, snapshot: Some(after) })
    }

    /// Returns the changes of this attempt, and of lost attempts of the same work.
    fn work(&self, keeper: &Keeper, after: &Snapshot) -> Result<Compared, String> {
        let lost = self.lost_work.iter().map(|it| (&*it.before, &*it.after));
        let mut parts = lost.chain([(&*self.from, after)]);
        parts.try_fold(Compared::default(), |all, (before, after)| {
            let part = keeper.compare(&self.first, before, after, self.branch, &self.undo).map_err(told)?;
            Ok(all.and(part))
        })
    }

    /// Reverts files that changed out of scope if the rules require that, and adds a note. Returns the reverted files.
    /// Their content is in the snapshot that was taken before. No other step runs meanwhile: a step with rules runs
    /// alone.
    fn put_back(
        &self,
        keeper: &Keeper,
        now: &Snapshot,
        drift: Option<&Drift>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<String>, String> {
        let (Some(rules), Some(drift)) = (&self.rules, drift) else { return Ok(Vec::new()) };
        let by_worker = scope::by_worker(&drift.files, &self.by_checks_with(drift));
        let strayed = scope::to_put_back(rules, self.stage, &by_worker);
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
            notes.push(format!("what was changed out of scope was put back: {}", named(&done)));
        }
        Ok(done)
    }

    /// Returns what only checks have written by now.
    fn by_checks_with(&self, drift: &Drift) -> BTreeSet<String> {
        let mut by_checks = self.by_checks.clone();
        if self.is_check {
            scope::checked(&mut by_checks, &self.differed, drift);
        } else {
            scope::worked(&mut by_checks, drift);
        }
        by_checks
    }

    /// Returns what a check has written, or what the work has changed of what only checks had written.
    fn by_check(
        &self,
        keeper: &Keeper,
        rules: &Convergence,
        since: &Since<'_>,
        after: &Snapshot,
    ) -> Result<Vec<String>, String> {
        if self.is_check {
            let is_new =
                |file: &&String| !self.differed.files.contains(file) && !self.by_checks.contains(*file);
            let files = since.keys().filter(is_new).cloned().collect();
            return keeper.new_files(rules, (&self.of_step, after), files).map_err(told);
        }
        if self.by_checks.is_empty() {
            return Ok(Vec::new());
        }
        let mut touched = BTreeSet::new();
        let lost = self.lost_work.iter().map(|it| (&*it.before, &*it.after));
        for (before, after) in lost.chain([(&*self.from, after)]) {
            touched.extend(keeper.drift_of_scope(rules, before, after).map_err(told)?);
        }
        Ok(touched.intersection(&self.by_checks).cloned().collect())
    }

    /// Returns what the files of the step are compared with.
    fn bases(&self) -> impl Iterator<Item = &Snapshot> {
        std::iter::once(&*self.of_step).chain(self.gaps.iter().map(|gap| &*gap.found))
    }

    /// Returns the files that the step has changed, and what they were before.
    fn since(&self, keeper: &Keeper, rules: &Convergence, now: &Snapshot) -> Result<Since<'_>, String> {
        keeper.drift_since(rules, &self.of_step, &self.gaps, now).map_err(told)
    }

    /// Compares with the base of the step; `None` where that is as it was after the work before.
    fn drift(&self, world: &Host, keeper: &Keeper, after: &Snapshot) -> Result<Option<Drift>, String> {
        let Some(rules) = &self.rules else {
            if after.work == self.before.work && self.before.work != self.of_step.work {
                return Ok(None);
            }
            let mut files = keeper.drift(&self.of_step, after).map_err(told)?;
            let files_left_out =
                u64::try_from(files.len().saturating_sub(Drift::FILES_MAX)).unwrap_or(u64::MAX);
            files.truncate(Drift::FILES_MAX);
            return Ok(Some(Drift { files, files_left_out, ..Drift::default() }));
        };
        if self.is_baseline {
            let by_check = keeper.drift_of_scope(rules, &self.before, after).map_err(told)?;
            return Ok(Some(Drift { by_check, ..Drift::default() }));
        }
        let base = match &self.base {
            Some(commit) => Some(commit.clone()),
            None => match diff_base::name(&world.workspace, rules)? {
                Some(name) => Some(diff_base::commit(&world.workspace, &name)?),
                None => None,
            },
        };
        let of_base = match &base {
            Some(commit) => Some(keeper.of_commit(commit, &world.artifacts.join("base"), &self.first)?),
            None => None,
        };
        let mut since = self.since(keeper, rules, after)?;
        if let Some(of_base) = &of_base {
            let files = keeper.drift_from_commit(rules, of_base, &since, after).map_err(told)?;
            since = files.into_iter().map(|file| (file, of_base)).collect();
        }
        let by_check = self.by_check(keeper, rules, &since, after)?;
        let mut drift = Drift { base, files: since.keys().cloned().collect(), by_check, ..Drift::default() };
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
        keeper: &Keeper,
        rules: &Convergence,
        since: &Since<'_>,
        (of_base, after): (Option<&Snapshot>, &Snapshot),
    ) -> Result<u64, String> {
        let files: Vec<String> = since.keys().cloned().collect();
        let looked_at = scope::looked_at(rules, &files);
        let by_base = by_base(of_base.into_iter().chain(self.bases()), since, &looked_at);
        by_base.iter().map(|(then, files)| keeper.lines(then, after, files).map_err(told)).sum()
    }
}

/// Returns the files that are compared with each of these snapshots, where there are any.
fn by_base<'a, 'f>(
    bases: impl Iterator<Item = &'a Snapshot>,
    since: &Since<'_>,
    files: &[&'f str],
) -> Vec<(&'a Snapshot, Vec<&'f str>)> {
    let of = |then: &'a Snapshot| {
        let is_of = |path: &&str| since.get(*path).is_some_and(|it| std::ptr::eq(*it, then));
        (then, files.iter().copied().filter(is_of).collect::<Vec<_>>())
    };
    bases.map(of).filter(|(_, files)| !files.is_empty()).collect()
}

/// Makes some files what they were in a snapshot, and returns those that were not so.
fn put_back_to(
    keeper: &Keeper,
    now: &Snapshot,
    then: &Snapshot,
    files: &[&str],
    notes: &mut Vec<String>,
) -> Result<Vec<String>, String> {
    let applied = keeper.put_back(now, then, files).map_err(told)?;
    for left in &applied.left {
        notes.push(format!("{} was not put back: it {}", left.path.display(), left.why));
    }
    let done = applied.written.iter().chain(&applied.removed).map(|path| shown(path));
    Ok(done.filter(|path| files.contains(&path.as_str())).collect())
}

/// Returns the message for a removed workspace, with the command that restores it.
fn removed(root: &Path, undo: &str) -> String {
    format!("the worker removed the workspace; put it back: {}", remake(root, &format!("{undo} --git")))
}

fn told(error: snapshot::Error) -> String {
    with_causes(&error)
}
