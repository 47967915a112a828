//! The plan of an undo: what the run did goes back, what a person did since stays.
//!
//! It is separate from the launching because a person reads the plan, and may decline it, before anything is changed.

use std::path::{Path, PathBuf};

use unstuck_core::id::Seq;
use unstuck_core::snapshot::{RepositoryState, Snapshot, short_name};
use unstuck_core::state::ExternalChange;
use unstuck_files::error::with_causes;
use unstuck_workspace::snapshot::{self, Git, RestorePlan};

use crate::snapshots::RunSnapshots;

/// A request to undo.
pub struct UndoOrder<'a> {
    /// The event of the snapshot.
    pub seq: Seq,
    /// The snapshot that the files go back to.
    pub snapshot: &'a Snapshot,
    /// Whether the repository goes back, too.
    pub git: Git,
    /// The times since then in which others than the run changed the workspace, as far as the log knows them.
    pub gaps: Vec<ExternalChange>,
    /// Nothing says who did what since the last snapshot: an undo was ended half-way.
    pub is_unfinished: bool,
    /// Changes of others go back, too.
    pub takes_all: bool,
}

/// The plan that a person reads first.
#[derive(Debug, Default)]
pub struct UndoPlan {
    /// The changes to files.
    pub files: RestorePlan,
    /// Why the workspace may not be what the run left: a clause, such as "it holds another repository".
    pub elsewhere: Option<String>,
    /// Changes of the repository after the run, each a sentence whose subject is the repository.
    pub later: Vec<String>,
    /// The repository stays as it is because of that, although it was to go back.
    pub keeps_git: bool,
    /// Files that go back and have other names: only this one gets the old content.
    pub linked: Vec<PathBuf>,
}

impl UndoPlan {
    /// Looks at how the repository stands now, and how the run `left` it.
    pub(crate) fn look_at_repository(
        &mut self,
        keeper: &RunSnapshots,
        order: &UndoOrder<'_>,
        left: &Snapshot,
        now: &Snapshot,
    ) {
        let (Some(was), Some(is)) = (&left.repository, &now.repository) else { return };
        self.elsewhere = mismatch(keeper, order.snapshot.repository.as_ref(), was, is);
        if (&was.branch, &was.commit) != (&is.branch, &is.commit) {
            self.later.push(format!("is on {}, and the run left it on {}", is.head(), was.head()));
        }
        if was.stash != is.stash {
            self.later.push("has another stash than the run left".to_owned());
        }
        let moved = keeper.branches_moved(left, now).unwrap_or_else(|error| {
            self.later.push(format!("has branches that cannot be compared: {}", with_causes(&error)));
            Vec::new()
        });
        let others = moved.into_iter().filter(|branch| Some(&branch.name) != is.branch.as_ref());
        self.later.extend(others.map(|branch| match branch.to {
            Some(to) => format!(
                "has {} at {}, and the run left it at {}",
                branch.name,
                short_name(&to),
                short_name(&branch.from)
            ),
            None => format!("has no branch {}, and the run left one", branch.name),
        }));
        self.keeps_git = order.git == Git::PutBack && !order.takes_all && !self.later.is_empty();
    }

    /// Finds the files that go back and have other names.
    pub(crate) fn look_for_links(&mut self, workspace: &Path) {
        let linked =
            self.files.reverts.iter().filter(|path| snapshot::has_other_names(&workspace.join(path)));
        self.linked = linked.cloned().collect();
    }
}

/// Says why the repository may be another one than the run left, or is on another branch.
fn mismatch(
    keeper: &RunSnapshots,
    then: Option<&RepositoryState>,
    was: &RepositoryState,
    is: &RepositoryState,
) -> Option<String> {
    let is_another = |commit: &String| keeper.has_object(commit) == Some(false);
    if let Some(commit) = was.commit.as_ref().filter(|commit| is_another(commit)) {
        return Some(format!(
            "it holds another repository: commit {}, which the run left, is not in it",
            short_name(commit)
        ));
    }
    let is_known = is.branch == was.branch || then.is_some_and(|then| then.branch == is.branch);
    let name = |standing: &RepositoryState| standing.branch.clone().unwrap_or_else(|| "no branch".to_owned());
    (!is_known).then(|| format!("it is on {}, and the run left it on {}", name(is), name(was)))
}
