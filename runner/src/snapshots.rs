//! The snapshots of a run's workspace: taken, compared, and kept as long as the run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use unstuck_adapters::snapshot::{Change, ChangeKind, Error, GitFolder, Options, Restored, Snapshots};
use unstuck_core::event::RunStarted;
use unstuck_core::id::RunId;
use unstuck_core::snapshot::Snapshot;
use unstuck_store::state_dir::Project;

/// The folder of ours in a workspace.
const OURS: &str = ".unstuck";

/// Takes snapshots for one run.
#[derive(Debug)]
pub struct Keeper {
    snapshots: Snapshots,
    run: RunId,
    /// From the root of the workspace, if it is there.
    workflow_file: Option<PathBuf>,
    /// What git knew when this supervisor began; `None` outside of git.
    known: OnceLock<Option<Known>>,
}

/// Which files git had when a supervisor began.
#[derive(Debug)]
struct Known {
    tracked: BTreeSet<PathBuf>,
    /// Those that held work that was in no commit.
    unsaved: BTreeSet<PathBuf>,
}

/// How many files are named.
const NAMED_MAX: usize = 5;

/// Returns the folder that holds the snapshots of a project.
pub fn folder(project: &Project) -> PathBuf {
    project.path().join("snapshots.git")
}

/// Opens the snapshots of a workspace. `context_dir` is the folder of artifacts in it, which is ours.
///
/// # Errors
///
/// As [`Snapshots::open`].
pub fn open(project: &Project, workspace: &Path, context_dir: &str) -> Result<Snapshots, Error> {
    // The folder of a child run is in that of its parent, which is ours as a whole.
    let context_dir = context_dir.split("/_subworkflows/").next().unwrap_or(context_dir);
    let mut skipped = vec![PathBuf::from(OURS), PathBuf::from(context_dir)];
    // Somebody may work in the folder that our state is in, such as the home folder.
    let state = project.path();
    let of_all = state.parent().filter(|folder| folder.ends_with("unstuck")).unwrap_or(state);
    let root = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let of_all = of_all.canonicalize().unwrap_or_else(|_| of_all.to_owned());
    skipped.extend(of_all.strip_prefix(&root).ok().map(Path::to_owned));
    Snapshots::open(&folder(project), workspace, &Options { skipped, ..Options::default() })
}

impl Keeper {
    /// Keeps the snapshots that `snapshots` takes for this run.
    pub fn new(snapshots: Snapshots, started: &RunStarted) -> Self {
        let workspace = Path::new(&started.workspace);
        let within = |file: &String| workspace.join(file).strip_prefix(workspace).ok().map(Path::to_owned);
        let workflow_file = started.workflow_file.as_ref().and_then(within);
        Self { snapshots, run: started.run.clone(), workflow_file, known: OnceLock::new() }
    }

    /// Takes a snapshot; `first` is the run's first one, `last` the one before, if there are any.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::take`].
    pub fn take(&self, first: Option<&Snapshot>, last: Option<&Snapshot>) -> Result<Snapshot, Error> {
        let snapshot = self.snapshots.take(first)?;
        if last.is_none_or(|last| last.id != snapshot.id) {
            self.snapshots.keep(&format!("{}/{}", self.run, snapshot.id), &snapshot)?;
        }
        Ok(snapshot)
    }

    /// Makes the files of the workspace what they were.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::restore`].
    pub fn restore(&self, snapshot: &Snapshot, git: GitFolder) -> Result<Restored, Error> {
        self.snapshots.restore(snapshot, git)
    }

    /// Says whether anything in the workspace differs but what git notes for itself.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn differ(&self, before: &Snapshot, after: &Snapshot) -> Result<bool, Error> {
        Ok(!before.same_work(after) || !self.snapshots.changes(before, after)?.is_empty())
    }

    /// Returns the files that differ and are not ignored, as they can be shown. A file that one snapshot does
    /// not cover is not said to differ.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn drift(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<String>, Error> {
        if before.work == after.work {
            return Ok(Vec::new());
        }
        let changes = self.snapshots.changes(before, after)?;
        let work = changes.into_iter().filter(|it| !it.ignored && it.kind != ChangeKind::NotCovered);
        Ok(work.map(|change| change.path.to_string_lossy().into_owned()).collect())
    }

    /// Asks git what it has, once, before a worker can change that.
    pub fn ask_git(&self, before: &Snapshot) {
        self.known.get_or_init(|| {
            before.repository.as_ref()?;
            let (tracked, unsaved) = self.snapshots.tracked()?;
            Some(Known { tracked, unsaved })
        });
    }

    /// Says in sentences what a worker threw away that is in no commit, and where it moved the repository.
    /// `first` is the first snapshot of the run: what the worker itself made may go.
    ///
    /// # Errors
    ///
    /// As [`Snapshots::changes`].
    pub fn thrown_away(
        &self,
        first: &Snapshot,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<Vec<String>, Error> {
        let mut said = moved(before, after);
        let lost = self.lost(first, before, after)?;
        if let Some(file) = &self.workflow_file
            && self.snapshots.changes(before, after)?.iter().any(|change| change.path == *file)
        {
            said.push(format!(
                "edited {}, but the workflow file was read when the run began",
                file.display()
            ));
        }
        if !lost.is_empty() {
            said.push(format!("{} that no commit has: {}", counted(lost.len()), named(&lost)));
        }
        Ok(said.into_iter().map(|what| format!("the worker {what}; put it back: unstuck undo")).collect())
    }

    fn lost(&self, first: &Snapshot, before: &Snapshot, after: &Snapshot) -> Result<Vec<PathBuf>, Error> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let now: BTreeSet<PathBuf> =
            self.snapshots.changes(before, after)?.into_iter().map(|change| change.path).collect();
        let of_run = self.snapshots.changes(first, after)?.into_iter().filter(|it| now.contains(&it.path));
        let known = self.known.get().and_then(Option::as_ref);
        let committed =
            |path: &PathBuf| known.is_some_and(|it| it.tracked.contains(path) && !it.unsaved.contains(path));
        let still_unsaved = self.snapshots.tracked().map(|(_, unsaved)| unsaved).unwrap_or_default();
        let commit = |it: &Snapshot| it.repository.as_ref().and_then(|it| it.commit.clone());
        let same_commit = commit(before) == commit(after);
        let is_lost = |change: &Change| match change.kind {
            ChangeKind::Deleted => !committed(&change.path),
            // Like the last commit again, without a commit.
            ChangeKind::Modified => {
                let was_unsaved = known.is_some_and(|it| it.unsaved.contains(&change.path));
                was_unsaved && same_commit && !still_unsaved.contains(&change.path)
            }
            _ => false,
        };
        Ok(of_run.filter(is_lost).map(|change| change.path).collect())
    }
}

fn counted(files: usize) -> String {
    if files == 1 {
        "threw away 1 file or change".to_owned()
    } else {
        format!("threw away {files} files or changes")
    }
}

fn named(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths.iter().take(NAMED_MAX).map(|path| path.to_string_lossy()).collect();
    let more = if paths.len() > NAMED_MAX { ", ..." } else { "" };
    format!("{}{more}", names.join(", "))
}

/// Says where the repository stands now, if that is not where it stood. Commits are work.
fn moved(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let Some(was) = &before.repository else { return Vec::new() };
    let Some(is) = &after.repository else { return vec!["removed .git (unstuck undo --git)".to_owned()] };
    let mut said = Vec::new();
    let name = |branch: &Option<String>| branch.clone().unwrap_or_else(|| "no branch".to_owned());
    if was.branch != is.branch {
        said.push(format!("went from {} to {}", name(&was.branch), name(&is.branch)));
    }
    if was.stash != is.stash && is.stash.is_some() {
        said.push("put work on the stash".to_owned());
    }
    for (checkout, commit) in &is.elsewhere {
        if was.elsewhere.get(checkout).is_some_and(|it| it != commit) {
            let name = if checkout.is_empty() { "the main checkout" } else { checkout };
            said.push(format!("moved {name} of the repository, which is not its workspace, to {commit}"));
        }
    }
    said
}
