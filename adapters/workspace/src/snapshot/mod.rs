//! Snapshots of the workspace: taken before and after every iteration, compared and restored.
//!
//! A snapshot is a tree of everything in the workspace, whatever its state in git: committed, staged,
//! untracked, marked `assume-unchanged` or `skip-worktree`, in a nested repository or a submodule.
//! Unstuck walks the folders and reads the files itself. So no hook, filter, attribute, `fsmonitor`,
//! `textconv` or exclude of a repository can run or hide anything. A workspace without a repository and a machine
//! without git are no special cases, and names are bytes. Only [`Snapshots::restore`] writes to the workspace. It changes
//! the index, HEAD and branches only on request.
//!
//! **Storage.** A bare git directory outside of the workspace, in git's format with SHA-256 names. Any git since 2.29 can
//! read it (`git --git-dir=... ls-tree -r unstuck/<run>/<n>`). It has no alternates, so neither `git gc` nor a worker can
//! damage a snapshot, and no object of a worker is trusted. Every object is checked against its name when it is read.
//!
//! **Speed.** Each workspace has an index with the metadata of every file in the last snapshot (size, node, `mtime`, `ctime`).
//! A file is read again unless its metadata is the same and it had not just been changed when it was read. So an edit of the
//! same size with a restored time (`touch -r`) is noticed, because no program can set `ctime`.
//!
//! **Ignored files.** The `.gitignore` files of the *first* snapshot of a run count, so that a worker cannot hide a change
//! behind a new rule. So do `.git/info/exclude` and the list of the user at that time.
//! Each repository in the workspace has its own rules. What git tracked at the first snapshot is not ignored. Ignored files are
//! covered too as long as they are small (a `.env`), and marked in [`PathChange::ignored`]; an ignored folder
//! is covered as a whole or, with masses in it (`target`, `node_modules`), left out as a whole.
//!
//! **Excluded paths** are in [`Snapshot::left_out`]: paths that exceed [`Limits`], cannot be read, are not files, or
//! are on another mounted file system. The list is kept with the snapshot, and an excluded path is never deleted or
//! overwritten. Its metadata is kept, so that a change is seen ([`Snapshots::changed_excluded`]), but not what changed.
//! Changes in an excluded folder are not seen. Files that Unstuck itself prints into are excluded for the run once a
//! snapshot has found them, and never differ. A second name that such a file gets later is a normal file.
//!
//! **Git.** HEAD, the stash and other checkouts are in [`Snapshot::repository`], and all branches are a part of the snapshot. If
//! `.git` is a folder in the workspace, its small files (HEAD, refs, index, configuration) are a part too, and its objects get a
//! hard link (`object_hardlinks`). The same goes for submodules and for repositories in folders (`nested_repos`). So a `.git` that
//! a worker has deleted can be [restored](Git::PutBack) with all commits and the staged files (`git_restore`). Not kept: staged
//! files where `.git` is not a folder in the workspace, a `.git` above the workspace, tags and stash in a reftable, and the
//! storage of `git lfs` and `git annex`. A bare repository as a workspace is a normal folder.
//!
//! **Assumptions.** No other process writes to the workspace during a restore: its changes may be lost, though never outside of
//! the workspace. Memory maps are written when the system does so. Owners and hard links are not kept. Access lists and
//! user attributes are, on Linux.
//!
//! # Map
//!
//! - [`snapshots`](Snapshots): opens them. `options`: limits.
//! - Take: `create`, `walk`, `mounts`, `rules`, `gitignore`, `paths`, `limits`, `excluded`, `index`, `content`.
//! - Store: `object`, `pack`, `store`, `tree`, `root_tree`, `permissions`, `attributes`, `keep`.
//! - Compare: `change`, `diff`, `word_index`, `compare`.
//! - Restore: `plan`, `restore`, `put_back`, `restore_read_access`.
//! - Git: `repository`, `git_files`, `progress`, `reftable`, `refs`, `object_hardlinks`, `superseded`, `nested_repos`,
//!   `tracked`, `git_restore`.

mod attributes;
mod change;
mod compare;
mod content;
mod create;
mod diff;
mod error;
mod excluded;
mod git_files;
mod git_restore;
mod gitignore;
mod index;
mod keep;
mod limits;
mod mounts;
mod nested_repos;
mod object;
mod object_hardlinks;
mod open_boxes;
mod options;
mod pack;
mod paths;
mod permissions;
mod plan;
mod progress;
mod put_back;
mod refs;
mod reftable;
mod repository;
mod restore;
mod restore_read_access;
mod root_tree;
mod rules;
mod snapshots;
mod store;
mod superseded;
mod tracked;
mod tree;
mod walk;
mod word_index;

pub use change::{ChangeKind, PathChange};
pub use diff::DiffOptions;
pub use error::SnapshotError;
pub use excluded::{ChangedExcluded, ExcludedChange, ExcludedReason, OneSidedPath};
pub use keep::size_alone;
pub use nested_repos::InnerBranch;
pub use options::{BranchTargets, Git, Limits, MovedBranch, SnapshotOptions, StagedFiles};
pub use plan::{RestorePlan, has_other_names};
pub use put_back::RestoreOutcome;
pub use repository::unfinished;
pub use restore::{NotRestored, RestoreReport};
pub use snapshots::Snapshots;
pub use unstuck_core::snapshot::{Exclusion, RepositoryState, Snapshot};
