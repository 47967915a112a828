//! The snapshots of a run's workspace: taken, compared, and kept as long as the run.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::RunStarted;
use unstuck_core::id::RunId;
use unstuck_core::judge::scope::{self, ProtectedPaths};
use unstuck_core::plural::count;
use unstuck_core::snapshot::{Snapshot, single_line};
use unstuck_core::state::ExternalChange;
use unstuck_core::workflow::ConvergencePolicy;
use unstuck_files::error::with_causes;
use unstuck_store::state_dir::StateDir;
use unstuck_workspace::branch;
use unstuck_workspace::snapshot::{
    ChangeKind, ChangedExcluded, ExcludedChange, ExcludedReason, Git, MovedBranch, PathChange,
    RestoreOutcome, RestorePlan, RestoreReport, SnapshotError, SnapshotOptions, Snapshots, StagedFiles,
};
use unstuck_workspace::unstuck_paths::own_paths;
use unstuck_workspace::worktree::{self, CheckoutPart};

use crate::repository_changes::{self, BranchPolicy, file_list};
use crate::temp_dir::TempDir;

/// Takes snapshots for one run.
#[derive(Debug)]
pub struct RunSnapshots {
    snapshots: Snapshots,
    run: RunId,
    workspace: PathBuf,
    /// The commit that a scope is compared with, as it was last looked at.
    base: Mutex<Option<(String, Snapshot)>>,
    /// Snapshot to compare with if earlier snapshots are gone.
    rebased: Mutex<Option<Snapshot>>,
    /// Path from the root of the workspace, if the file is inside it.
    workflow_file: Option<PathBuf>,
    /// State of git at the start of this supervisor; `None` outside git.
    known: OnceLock<Option<TrackedFiles>>,
    /// Uncommitted files outside the workspace at the last look; `None` if the workspace is the whole checkout.
    outside: Mutex<Option<OutsideChanges>>,
}

/// Uncommitted files outside the workspace.
#[derive(Debug)]
struct OutsideChanges {
    files: BTreeMap<String, String>,
    commit: Option<String>,
}

impl OutsideChanges {
    /// Looks at the rest of the checkout that a workspace is a folder of.
    fn read(workspace: &Path) -> io::Result<Option<Self>> {
        let facts = branch::facts(workspace)?.filter(|facts| facts.toplevel != workspace);
        let Some(facts) = facts else { return Ok(None) };
        let files = worktree::status(workspace, CheckoutPart::Outside)?;
        Ok(Some(Self { files, commit: facts.head_sha }))
    }
}

/// Which files git had when a supervisor began.
#[derive(Debug)]
struct TrackedFiles {
    tracked: BTreeSet<PathBuf>,
    /// Those that held work that was in no commit.
    unsaved: BTreeSet<PathBuf>,
    /// Files among them that were staged in a form that neither a commit nor the workspace had, and still are.
    staged: Mutex<StagedFiles>,
}

/// Files that a step has changed, each with the snapshot that it is compared with.
pub type ChangedSince<'a> = BTreeMap<String, &'a Snapshot>;

/// Changes that a worker made to the workspace.
#[derive(Debug, Default)]
pub struct WorkerChanges {
    /// Whether anything differs except git's internal state.
    pub changed: bool,
    /// Changes by file; `None` if there are none.
    pub diffstat: Option<Diffstat>,
    /// Sentences about lost work that is in no commit, and about moves of the repository.
    pub said: Vec<String>,
}

impl WorkerChanges {
    /// Adds what was made of it later.
    pub(crate) fn merge(mut self, later: Self) -> Self {
        self.said.extend(later.said);
        let diffstat = Diffstat::merge_all(self.diffstat, later.diffstat.as_ref());
        Self { changed: self.changed || later.changed, diffstat, said: self.said }
    }
}

/// In so many files changed lines are counted.
const COUNTED_MAX: usize = 1000;

/// Returns the folder that holds the snapshots of a state folder.
pub fn folder(state: &StateDir) -> PathBuf {
    state.path().join("snapshots.git")
}

/// Says whether any snapshot of a run is kept here, as far as names tell.
pub fn has_any_of(state: &StateDir, run: &RunId) -> bool {
    folder(state).join("refs/unstuck").join(run.as_str()).exists()
}

/// Opens the snapshots of the workspace of a run. What is Unstuck's in it is not looked at: views and artifacts in the
/// context folder, and the files for verdicts that the workflow names.
///
/// # Errors
///
/// As [`Snapshots::open`].
pub fn open(state: &StateDir, workspace: &Path, started: &RunStarted) -> Result<Snapshots, SnapshotError> {
    let mut skipped = of_run(workspace, started);
    // The workspace may contain Unstuck's state, for example if it is the home directory.
    let own = state.path();
    let of_all = own.parent().filter(|folder| folder.ends_with("unstuck")).unwrap_or(own);
    let root = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let of_all = of_all.canonicalize().unwrap_or_else(|_| of_all.to_owned());
    skipped.extend(of_all.strip_prefix(&root).ok().map(Path::to_owned));
    let options = SnapshotOptions {
        skipped,
        skipped_patterns: scope::decision_files(&started.workflow),
        ..SnapshotOptions::default()
    };
    Snapshots::open(&folder(state), workspace, &options)
}

/// Returns what of the workspace is Unstuck's, but the files for verdicts.
pub(crate) fn of_run(workspace: &Path, started: &RunStarted) -> Vec<PathBuf> {
    let workflow = &started.workflow;
    own_paths(workspace, &workflow.context_dir, &workflow.steps, started.workflow_file.is_some())
}

impl RunSnapshots {
    /// Keeps the snapshots that `snapshots` takes for this run.
    pub fn new(snapshots: Snapshots, started: &RunStarted) -> Self {
        let workspace = Path::new(&started.workspace);
        let within = |file: &String| workspace.join(file).strip_prefix(workspace).ok().map(Path::to_owned);
        let workflow_file = started.workflow_file.as_ref().and_then(within);
        Self {
            snapshots,
            run: started.run.clone(),
            workspace: workspace.to_owned(),
            base: Mutex::default(),
            rebased: Mutex::default(),
            workflow_file,
            known: OnceLock::new(),
            outside: Mutex::default(),
        }
    }

    /// Takes a snapshot; `first` is the run's first one, `last` the one before, if there are any.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::take`].
    pub fn take(&self, first: Option<&Snapshot>, last: Option<&Snapshot>) -> Result<Snapshot, SnapshotError> {
        let snapshot = self.snapshots.take_after(first, last)?;
        if last.is_none_or(|last| last.id != snapshot.id) {
            self.keep(&snapshot)?;
        }
        Ok(snapshot)
    }

    /// Keeps a snapshot as long as the run.
    pub(crate) fn keep(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.snapshots.keep(&format!("{}/{}", self.run, snapshot.id), snapshot)
    }

    /// Takes a snapshot before the workspace is made what it was `then`; as [`Snapshots::take_readable`].
    ///
    /// # Errors
    ///
    /// As [`Snapshots::take_readable`].
    pub fn take_readable(
        &self,
        first: Option<&Snapshot>,
        last: Option<&Snapshot>,
        then: &Snapshot,
    ) -> Result<(Snapshot, Vec<PathBuf>), SnapshotError> {
        let (snapshot, made) = self.snapshots.take_readable(first, last, then)?;
        self.keep(&snapshot)?;
        Ok((snapshot, made))
    }

    /// Finds a snapshot.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::find`].
    pub fn find(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.snapshots.find(snapshot)
    }

    /// Says whether a snapshot is here; as [`Snapshots::has`].
    pub fn has(&self, snapshot: &Snapshot) -> bool {
        self.snapshots.has(snapshot)
    }

    /// Has the work of steps whose snapshots are gone compared with this one.
    pub fn reset_base(&self, on: Snapshot) {
        *self.rebased.lock().unwrap_or_else(PoisonError::into_inner) = Some(on);
    }

    /// Returns the base of a step's work: the workspace at its start, and the gaps between its turns. If those
    /// snapshots are gone, returns the one that the user accepted instead; `None` if the user accepted none.
    pub fn base_of(
        &self,
        of_step: &Snapshot,
        gaps: &[ExternalChange],
    ) -> Option<(Snapshot, Vec<ExternalChange>)> {
        let is_whole = |gap: &&ExternalChange| self.has(&gap.left) && self.has(&gap.found);
        if self.has(of_step) && gaps.iter().all(|gap| is_whole(&gap)) {
            return Some((of_step.clone(), gaps.to_vec()));
        }
        let rebased = self.rebased.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        Some((rebased, gaps.iter().filter(is_whole).cloned().collect()))
    }

    /// Returns what a file was in a snapshot; `None` where that is not known.
    pub fn read(&self, snapshot: &Snapshot, path: &Path) -> Option<Vec<u8>> {
        self.snapshots.read(snapshot, path).ok().flatten()
    }

    /// Makes the files of the workspace what they were, but what others than the run changed stays as the plan says.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::restore_by`].
    pub fn restore(
        &self,
        snapshot: &Snapshot,
        git: Git,
        plan: &RestorePlan,
    ) -> Result<RestoreOutcome, SnapshotError> {
        self.snapshots.restore_by(snapshot, git, plan)
    }

    /// Plans how the workspace becomes what it was `then`. A gap of which a snapshot is gone counts as none.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::plan`].
    pub fn plan(
        &self,
        then: &Snapshot,
        now: &Snapshot,
        gaps: &[ExternalChange],
    ) -> Result<RestorePlan, SnapshotError> {
        let is_whole = |gap: &&ExternalChange| self.has(&gap.left) && self.has(&gap.found);
        let gaps: Vec<ExternalChange> = gaps.iter().filter(is_whole).cloned().collect();
        self.snapshots.plan(then, now, &gaps)
    }

    /// Says whether git has a commit; `None` where it cannot tell.
    pub fn has_object(&self, commit: &str) -> Option<bool> {
        self.snapshots.has_object(commit)
    }

    /// Returns the branches that are not where they were.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::moved_branches`].
    pub fn branches_moved(
        &self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<Vec<MovedBranch>, SnapshotError> {
        self.snapshots.moved_branches(before, after)
    }

    /// Returns the files that differ and are not ignored, as they can be shown. A file that one snapshot does
    /// not cover is not said to differ.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn drift(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<String>, SnapshotError> {
        if before.work == after.work {
            return Ok(Vec::new());
        }
        let changes = self.snapshots.changes(before, after)?;
        let work = changes.into_iter().filter(is_work);
        Ok(work.map(|change| display(&change.path)).collect())
    }

    /// Returns the files that differ under the rules of a scope. Protected files count even if they are ignored. A file
    /// that a snapshot no longer covers counts as changed, since it cannot be compared.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn drift_of_scope(
        &self,
        rules: &ConvergencePolicy,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<Vec<String>, SnapshotError> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let protected = ProtectedPaths::from_policy(rules);
        let is_meant = |change: &PathChange| !change.ignored || protected.has(&change.path.to_string_lossy());
        let changes = self.snapshots.changes(before, after)?.into_iter();
        let changes = changes.filter(is_meant).map(|change| change.path);
        let uncovered = self.snapshots.newly_uncovered(before, after)?;
        let lost = self.snapshots.changed_excluded(before, after)?.into_iter();
        let lost = lost
            .filter(|file| file.is_work || protected.has(&file.path.to_string_lossy()))
            .map(|file| file.path);
        let mut files: Vec<String> =
            changes.chain(uncovered).chain(lost).map(|path| display(&path)).collect();
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }

    /// Writes the files of a snapshot to a folder that is not there yet.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::checkout`].
    pub fn checkout(&self, snapshot: &Snapshot, to: &Path) -> Result<RestoreReport, SnapshotError> {
        self.snapshots.checkout(snapshot, to)
    }

    /// Returns the files that a step has changed since it began, each with the snapshot that it is compared with. What
    /// others changed in a gap between its turns is theirs: such a file is compared with what the step found after the
    /// gap.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn drift_since<'a>(
        &self,
        rules: &ConvergencePolicy,
        of_step: &'a Snapshot,
        gaps: &'a [ExternalChange],
        after: &Snapshot,
    ) -> Result<ChangedSince<'a>, SnapshotError> {
        let files = self.drift_of_scope(rules, of_step, after)?;
        let mut since: ChangedSince<'a> = files.into_iter().map(|file| (file, of_step)).collect();
        for gap in gaps {
            let by_others = self.drift_of_scope(rules, &gap.left, &gap.found)?;
            let after_it: BTreeSet<String> =
                self.drift_of_scope(rules, &gap.found, after)?.into_iter().collect();
            for file in by_others {
                if after_it.contains(&file) {
                    since.insert(file, &gap.found);
                } else {
                    since.remove(&file);
                }
            }
        }
        Ok(since)
    }

    /// Returns which of some files are new: in no repository when the supervisor started. Protected files, and files
    /// outside any repository, must also be missing at the start of the step.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn new_files(
        &self,
        rules: &ConvergencePolicy,
        (of_step, after): (&Snapshot, &Snapshot),
        mut files: Vec<String>,
    ) -> Result<Vec<String>, SnapshotError> {
        if files.is_empty() {
            return Ok(files);
        }
        let changes = self.snapshots.changes(of_step, after)?;
        let added =
            changes.iter().filter(|file| file.kind == ChangeKind::Added).map(|file| display(&file.path));
        let added: BTreeSet<String> = added.collect();
        let known = self.known.get().and_then(Option::as_ref);
        let protected = ProtectedPaths::from_policy(rules);
        files.retain(|file| match known {
            Some(known) if known.tracked.contains(Path::new(file)) => false,
            Some(_) if !protected.has(file) => true,
            _ => added.contains(file),
        });
        Ok(files)
    }

    /// Returns the files that the repository had when the supervisor started and that differ from `then`; `None` if
    /// that is unknown.
    pub fn changed_files(&self, first: &Snapshot, then: &Snapshot) -> Option<Vec<String>> {
        let known = self.known.get()?.as_ref()?;
        let now = self.take(Some(first), Some(then)).ok()?;
        if now.work == then.work {
            return Some(Vec::new());
        }
        let changes = self.snapshots.changes(then, &now).ok()?;
        let is_meant = |change: &&PathChange| {
            change.kind != ChangeKind::NotCovered && known.tracked.contains(change.path.as_path())
        };
        Some(changes.iter().filter(is_meant).map(|change| display(&change.path)).collect())
    }

    /// Returns the files that differ from a commit, but what was in no commit when the step began, or was taken up
    /// again, and is as it was then.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn drift_from_commit(
        &self,
        rules: &ConvergencePolicy,
        of_commit: &Snapshot,
        since: &ChangedSince<'_>,
        after: &Snapshot,
    ) -> Result<Vec<String>, SnapshotError> {
        let mut files = self.drift_of_scope(rules, of_commit, after)?;
        if let (Some(tracked), Some(unstaged)) = (self.snapshots.tracked(), self.snapshots.unstaged()) {
            let is_committed = |path: &Path| tracked.contains(path) && !unstaged.contains(path);
            let was_deleted = |path: &Path| !tracked.contains(path) && !self.workspace.join(path).exists();
            files.retain(|file| {
                let path = Path::new(file);
                since.contains_key(file) || is_committed(path) || was_deleted(path)
            });
        }
        Ok(files)
    }

    /// Returns a snapshot of a commit, which is checked out at `root` for a short time. The ignored files follow
    /// the rules of `first`, the first snapshot of the run.
    ///
    /// # Errors
    ///
    /// Git does not check it out, or no snapshot can be taken. The sentence says which.
    pub fn of_commit(&self, commit: &str, root: &Path, first: &Snapshot) -> Result<Snapshot, String> {
        let mut known = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, snapshot)) = known.as_ref().filter(|(of, _)| of == commit) {
            return Ok(snapshot.clone());
        }
        let root = TempDir::new(root.to_owned());
        let taken = worktree::borrow_commit(&self.workspace, root.path(), commit)
            .map_err(|error| with_causes(&error))
            .and_then(|there| {
                let name = format!("{}/{commit}", self.run);
                self.snapshots.of_checkout(&there, first, &name).map_err(|error| with_causes(&error))
            });
        Ok(known.insert((commit.to_owned(), taken?)).1.clone())
    }

    /// Counts the lines that were added and removed in all of some files.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::lines`].
    pub fn lines(&self, before: &Snapshot, after: &Snapshot, files: &[&str]) -> Result<u64, SnapshotError> {
        let files: BTreeSet<&str> = files.iter().copied().collect();
        let files = self.snapshots.lines(before, after, &|path| files.contains(&*path.to_string_lossy()))?;
        let lines = files.iter().flat_map(|file| [file.added, file.removed]);
        Ok(lines.fold(0, u64::saturating_add))
    }

    /// Returns the words that files of one snapshot have and none of a later one.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::lost_words`].
    pub fn lost_words<'w>(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        words: &BTreeSet<&'w str>,
    ) -> Result<BTreeSet<&'w str>, SnapshotError> {
        self.snapshots.lost_words(before, after, words)
    }

    /// Makes some files what they were.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::put_back`].
    pub fn put_back(
        &self,
        now: &Snapshot,
        then: &Snapshot,
        files: &[&str],
    ) -> Result<RestoreReport, SnapshotError> {
        let files: BTreeSet<&str> = files.iter().copied().collect();
        self.snapshots.put_back(now, then, &|path| files.contains(&*path.to_string_lossy()))
    }

    /// Asks git what it has, once, before a worker can change that.
    pub fn ask_git(&self, before: &Snapshot) {
        self.known.get_or_init(|| {
            before.repository.as_ref()?;
            *self.outside.lock().unwrap_or_else(PoisonError::into_inner) =
                OutsideChanges::read(&self.workspace).ok().flatten();
            let (tracked, unstaged) = (self.snapshots.tracked()?, self.snapshots.unstaged()?);
            let unsaved = match commit_of(before) {
                Some(commit) => self.snapshots.unsaved(commit)?,
                None => tracked.clone(),
            };
            // Files that match the workspace are in the snapshots.
            let staged =
                if unstaged.is_empty() { StagedFiles::new() } else { self.snapshots.staged(&unstaged)? };
            Some(TrackedFiles { tracked, unsaved, staged: Mutex::new(staged) })
        });
    }

    /// Compares the workspace before and after a worker. `first` is the first snapshot of the run: what the
    /// worker itself made may go. `branch` is what its step may do to the branch; `undo` is the command that brings back
    /// the files that were there before.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn compare(
        &self,
        first: &Snapshot,
        before: &Snapshot,
        after: &Snapshot,
        branch: BranchPolicy,
        undo: &str,
    ) -> Result<WorkerChanges, SnapshotError> {
        let changes = self.snapshots.changes(before, after)?;
        let said = self.discarded_work(first, before, after, &changes, branch, undo).unwrap_or_default();
        let has_lost = self.snapshots.changed_excluded(before, after)?.iter().any(|file| file.is_work);
        let changed = !before.same_work(after) || !changes.is_empty() || has_lost;
        let diffstat = diffstat(&self.snapshots, before, after, &changes)?;
        Ok(WorkerChanges { changed, diffstat, said })
    }

    fn discarded_work(
        &self,
        first: &Snapshot,
        before: &Snapshot,
        after: &Snapshot,
        changes: &[PathChange],
        branch: BranchPolicy,
        undo: &str,
    ) -> Result<Vec<String>, SnapshotError> {
        let has_commit = |tip: &str, commit: &str| self.snapshots.has_commit(tip, commit);
        let has_object = |commit: &str| self.snapshots.has_object(commit);
        let forgotten = repository_changes::missing_commits(has_object, before, after, undo);
        let is_known = forgotten.is_none();
        let mut said: Vec<String> = forgotten.into_iter().collect();
        // If git lacks the commit, git cannot restore anything.
        if is_known {
            said.extend(repository_changes::head_changes(before, after, branch, undo));
            said.extend(repository_changes::new_operations(before, after, undo));
            said.extend(repository_changes::commits(has_commit, first, before, after, undo));
            said.extend(self.unstaged(before, after, undo));
        }
        let settings = self.snapshots.changed_settings(before, after)?;
        let of_git = settings.iter().map(|setting| Path::new(".git").join(setting));
        let leads_elsewhere = |change: &&PathChange| {
            change.path.ends_with(".git") && !matches!(change.kind, ChangeKind::Added | ChangeKind::Deleted)
        };
        let within = changes.iter().filter(leads_elsewhere).map(|change| change.path.clone());
        let inner = self.snapshots.changed_settings_within(before, after)?;
        let settings: Vec<PathBuf> = of_git.chain(inner).chain(within).collect();
        said.extend(repository_changes::settings(&settings, undo));
        let lost = self.lost_work(first, before, after, changes)?;
        if !lost.is_empty() {
            let (what, files) = (count(lost.len(), "change"), file_list(&lost));
            said.push(format!("threw away {what} that no commit has: {files}; put it back: {undo}"));
        }
        said.extend(self.lost_uncovered(first, before, after, undo)?);
        said.extend(self.unreadable(before, after, undo)?);
        let mut said: Vec<String> = said.into_iter().map(|what| format!("the worker {what}")).collect();
        // A person may have it open while the worker works.
        if let Some(file) = &self.workflow_file
            && changes.iter().any(|change| change.path == *file)
        {
            let file = file.display();
            said.push(format!(
                "{file} was edited during the iteration, but the workflow file was read when the run began"
            ));
        }
        if is_known {
            let moved = self.moved_branches(first, before, after)?;
            said.extend(repository_changes::branches(&moved, has_commit, before, after, undo));
        }
        let mut gone = self.snapshots.gone_branches_within(before, after)?;
        if !gone.is_empty() {
            let of_run = self.snapshots.gone_branches_within(first, after)?;
            gone.retain(|branch| {
                of_run
                    .iter()
                    .any(|of_run| (&of_run.repository, &of_run.name) == (&branch.repository, &branch.name))
            });
        }
        said.extend(repository_changes::branches_within(&gone));
        said.extend(self.lost_outside());
        // A worker may have chosen the names.
        Ok(said.iter().map(|what| single_line(what)).collect())
    }

    /// Says what has become of what snapshots leave out of the work, and was as it was when the run began: of that, the worker
    /// of today.
    fn lost_uncovered(
        &self,
        first: &Snapshot,
        before: &Snapshot,
        after: &Snapshot,
        undo: &str,
    ) -> Result<Vec<String>, SnapshotError> {
        let told = self.snapshots.changed_excluded(first, before)?;
        let mut lost = self.snapshots.changed_excluded(first, after)?;
        lost.retain(|file| !told.contains(file));
        let (repositories, lost): (Vec<_>, Vec<_>) = lost.into_iter().partition(|file| file.comes_back);
        let (removed, other): (Vec<_>, Vec<_>) =
            lost.into_iter().partition(|file| file.how == ExcludedChange::Removed);
        let removed: Vec<String> = removed.iter().map(|file| display(&file.path)).collect();
        let (perhaps, other): (Vec<_>, Vec<_>) =
            other.into_iter().partition(|file| file.how == ExcludedChange::PerhapsChanged);
        let perhaps: Vec<String> = perhaps.iter().map(|file| display(&file.path)).collect();
        let other: Vec<String> = other.iter().map(describe).collect();
        let mut said = Vec::new();
        for how in [ExcludedChange::Removed, ExcludedChange::Replaced] {
            let paths = repositories.iter().filter(|file| file.how == how).map(|file| display(&file.path));
            let paths: Vec<String> = paths.collect();
            let (what, them) = match paths.len() {
                0 => continue,
                1 => ("the repository".to_owned(), "it"),
                more => (format!("{more} repositories"), "them"),
            };
            said.push(format!("{how} {what} {}; put {them} back: {undo} --git", file_list(&paths)));
        }
        if !removed.is_empty() {
            let files = file_list(&removed);
            said.push(format!("removed what no snapshot holds and nothing brings back: {files}"));
        }
        if !other.is_empty() {
            let files = file_list(&other);
            said.push(format!("changed what no snapshot holds, so nothing brings back what it was: {files}"));
        }
        if !perhaps.is_empty() {
            let files = file_list(&perhaps);
            said.push(format!(
                "wrote to what no snapshot holds, or only touched it; nothing brings back what it was: {files}"
            ));
        }
        Ok(said)
    }

    /// Returns a message about files that became unreadable, so that their changes are unknown.
    fn unreadable(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        undo: &str,
    ) -> Result<Option<String>, SnapshotError> {
        let unseen = self.snapshots.one_sided_paths(before, after)?.into_iter();
        let unseen = unseen.filter(|file| file.is_now && file.reason == ExcludedReason::Unreadable);
        let files: Vec<String> = unseen.map(|file| display(&file.path)).collect();
        Ok((!files.is_empty()).then(|| {
            let files = file_list(&files);
            format!("made unreadable, so how it differs is not known: {files}; put it back: {undo}")
        }))
    }

    /// Returns the branches of before the run that are not where they were before the worker.
    fn moved_branches(
        &self,
        first: &Snapshot,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<Vec<MovedBranch>, SnapshotError> {
        let mut moved = self.snapshots.moved_branches(before, after)?;
        if !moved.is_empty() {
            let of_run = self.snapshots.moved_branches(first, after)?;
            moved.retain(|branch| of_run.iter().any(|of_run| of_run.name == branch.name));
        }
        Ok(moved)
    }

    /// Returns a message about files that were staged in a form that nothing else has, and no longer are. A commit does
    /// not count, since it contains the staged form.
    fn unstaged(&self, before: &Snapshot, after: &Snapshot, undo: &str) -> Option<String> {
        let known = self.known.get()?.as_ref()?;
        let mut staged = known.staged.lock().unwrap_or_else(PoisonError::into_inner);
        if staged.is_empty() {
            return None;
        }
        let index = self.snapshots.index()?;
        let lost: Vec<_> = staged.extract_if(.., |path, id| index.get(path) != Some(id)).collect();
        let (path, id) = lost.first().filter(|_| commit_of(before) == commit_of(after))?;
        let files: Vec<String> = lost.iter().map(|(path, _)| display(path)).collect();
        let files = file_list(&files);
        // Elsewhere no snapshot holds the index.
        let back = match self.workspace.join(".git").is_dir() {
            true => format!("put it back: {undo} --git"),
            false => format!("what it was of {}: git cat-file -p {id}", display(path)),
        };
        Some(format!("threw away what was staged in a form of its own: {files}; {back}"))
    }

    /// Returns a message about uncommitted work outside the workspace that is gone or differs. It is in no snapshot. A
    /// commit does not count, since it contains the work.
    fn lost_outside(&self) -> Option<String> {
        let mut known = self.outside.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.take()?;
        let now = match OutsideChanges::read(&self.workspace) {
            Ok(now) => now?,
            Err(error) => {
                return Some(format!(
                    "what was uncommitted outside of the workspace is not looked at any more: {error}"
                ));
            }
        };
        let lost = before.files.iter().filter(|(path, word)| now.files.get(*path) != Some(*word));
        let lost: Vec<String> = lost.map(|(path, _)| path.clone()).collect();
        let is_committed = before.commit != now.commit;
        *known = Some(now);
        (!lost.is_empty() && !is_committed).then(|| {
            let files = file_list(&lost);
            format!(
                "uncommitted work outside of the workspace, which no snapshot holds, was changed: {files}"
            )
        })
    }

    /// Says whether a pipe, socket or device has taken the place of a file.
    fn is_no_file(&self, path: &Path) -> bool {
        self.workspace.join(path).symlink_metadata().is_ok_and(|metadata| {
            let kind = metadata.file_type();
            !kind.is_file() && !kind.is_dir() && !kind.is_symlink()
        })
    }

    fn lost_work(
        &self,
        first: &Snapshot,
        before: &Snapshot,
        after: &Snapshot,
        changes: &[PathChange],
    ) -> Result<Vec<String>, SnapshotError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let now: BTreeSet<&Path> = changes.iter().map(|change| change.path.as_path()).collect();
        let known = self.known.get().and_then(Option::as_ref);
        let committed = |path: &Path| {
            known.is_some_and(|files| files.tracked.contains(path) && !files.unsaved.contains(path))
        };
        // Asks git, which few iterations need.
        let as_committed = LazyCell::new(|| {
            let (mut tracked, unsaved) =
                (self.snapshots.tracked()?, self.snapshots.unsaved(commit_of(before)?)?);
            tracked.retain(|path| !unsaved.contains(path));
            Some(tracked)
        });
        let is_lost = |change: &PathChange| match change.kind {
            ChangeKind::Deleted | ChangeKind::TypeChanged => !committed(&change.path),
            ChangeKind::NotCovered if self.is_no_file(&change.path) => !committed(&change.path),
            // The file matched a commit before, independent of HEAD now, or git no longer has that commit.
            ChangeKind::Modified => {
                let was_unsaved = known.is_some_and(|files| files.unsaved.contains(&change.path));
                was_unsaved && as_committed.as_ref().is_none_or(|paths| paths.contains(&change.path))
            }
            _ => false,
        };
        let of_run = self.snapshots.changes(first, after)?.into_iter();
        let lost = of_run.filter(|change| now.contains(change.path.as_path()) && is_lost(change));
        Ok(lost.map(|change| display(&change.path)).collect())
    }
}

fn commit_of(snapshot: &Snapshot) -> Option<&str> {
    snapshot.repository.as_ref()?.commit.as_deref()
}

/// Counts the changed lines of each file that is not ignored, among the changes between two snapshots; `None` if there
/// are none. Of many files the first are looked at.
///
/// # Errors
///
/// As [`Snapshots::lines`].
pub fn diffstat(
    snapshots: &Snapshots,
    before: &Snapshot,
    after: &Snapshot,
    changes: &[PathChange],
) -> Result<Option<Diffstat>, SnapshotError> {
    let mut asked: BTreeSet<&Path> =
        changes.iter().filter(|change| is_work(change)).map(|change| change.path.as_path()).collect();
    let left_out = asked.len().saturating_sub(COUNTED_MAX) as u64;
    if let Some(first) = asked.iter().nth(COUNTED_MAX).copied() {
        _ = asked.split_off(first);
    }
    if asked.is_empty() {
        return Ok(None);
    }
    let stat = Diffstat::from_files(snapshots.lines(before, after, &|path| asked.contains(path))?);
    Ok(Some(Diffstat { files_left_out: stat.files_left_out + left_out, ..stat }))
}

/// Says whether a change is one of the work: not of what is ignored, nor of what cannot be looked at.
fn is_work(change: &PathChange) -> bool {
    !change.ignored && change.kind != ChangeKind::NotCovered
}

/// Names what no snapshot holds, and what has become of it where that is more than a change.
fn describe(lost: &ChangedExcluded) -> String {
    match lost.how {
        ExcludedChange::Changed => display(&lost.path),
        how => format!("{} ({how})", display(&lost.path)),
    }
}

/// Returns a path as it is recorded and shown.
pub(crate) fn display(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
