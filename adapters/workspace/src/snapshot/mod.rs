//! Snapshots of the workspace: taken before and after every iteration, compared and restored.
//!
//! A snapshot is a tree of everything in the workspace, whatever git thinks of it: committed, staged,
//! untracked, marked `assume-unchanged` or `skip-worktree`, in a nested repository or a submodule.
//! Unstuck walks the folders and reads the files itself. So no hook, filter, attribute, `fsmonitor`,
//! `textconv` or exclude of a repository can run or hide anything, a workspace without a repository
//! or a machine without git is no special case, and names are bytes. Nothing is written to the
//! workspace but by [`Snapshots::restore`]; the index, HEAD and branches are touched by it only if it is asked to.
//!
//! **Where it is kept.** In a bare git directory of our own, in git's format with SHA-256 names, which
//! any git since 2.29 can look into (`git --git-dir=... ls-tree -r unstuck/<run>/<n>`). It has no
//! alternates: nothing that a snapshot needs is in a place where a `git gc` of the user or a
//! worker could reach it, and no object of a worker is believed. Every object is checked against its
//! name when it is read.
//!
//! **What is quick.** Beside the objects, each workspace has an index with what the last snapshot
//! saw of every file (size, node, `mtime`, `ctime`). A file is read again unless all of it is the
//! same and the file had been left alone for a moment when it was read. So an edit of the same size
//! with its time put back (`touch -r`) is noticed: no program sets `ctime`.
//!
//! **What is ignored.** Judged by the `.gitignore` files of the *first* snapshot of a run, so that a
//! worker cannot hide a change behind a new rule, and by `.git/info/exclude` and the list of the user as they were then.
//! Each repository in the workspace has its own rules. What git tracked at the first snapshot is not ignored. Ignored files are
//! covered too as long as they are small (a `.env`), and marked in [`Change::ignored`]; an ignored folder
//! is covered as a whole or, with masses in it (`target`, `node_modules`), left out as a whole.
//!
//! **What is left out** is said in [`Snapshot::left_out`]: what exceeds [`Limits`], cannot be read, or is
//! no file, or is on another file system that is mounted in the workspace. The list is kept with the snapshot: what it does not cover is never deleted or
//! overwritten. What it looked like is kept, too, so that a change of it is seen ([`Snapshots::lost`]), though not what it
//! was; what changes in a folder that is left out is not seen. What our own output
//! is written to is left out too, for the whole run once a snapshot has found it, and never differs. A second name that it
//! is given later is a file like others.
//!
//! **What of git is kept.** Where HEAD, the stash and other checkouts stand is in
//! [`Snapshot::repository`], and all branches are a part of the snapshot. If `.git` is a folder in the workspace, its
//! small files (HEAD, refs, index, configuration) are a part, too, and its objects get a second name (`object_hardlinks`), and so do
//! those of submodules and of repositories in folders of the workspace (`nested_repos`); so a
//! `.git` that a worker has deleted can be [put back](Git::PutBack) with all commits, and what was staged as well
//! (`git_restore`). Not kept: what is staged where `.git` is no folder in the workspace, a `.git` above the workspace,
//! tags and the stash of refs in tables, and what `git lfs` and `git annex` store. A bare repository as workspace is a folder
//! like others.
//!
//! **What is assumed.** Nobody works in the workspace while files are put back: what is written at that
//! moment may be lost, though never outside of the workspace. Memory maps are written when the system
//! does so. Owners are not kept, nor which names belong to the same file. Access lists and attributes of users are, on Linux.
//!
//! # Map
//!
//! - [`snapshots`](Snapshots): opens them. `options`: limits.
//! - Take: `create`, `walk`, `mounts`, `rules`, `gitignore`, `paths`, `limits`, `excluded`, `index`, `content`.
//! - Store: `object`, `pack`, `store`, `tree`, `root_tree`, `permissions`, `attributes`, `keep`.
//! - Compare: `change`, `diff`, `word_index`, `compare`.
//! - Restore: `plan`, `restore`, `put_back`, `restore_read_access`.
//! - Git: `repository`, `progress`, `reftable`, `refs`, `object_hardlinks`, `superseded`, `nested_repos`, `tracked`, `git_restore`.

mod attributes;
mod change;
mod compare;
mod content;
mod create;
mod diff;
mod error;
mod excluded;
mod git_restore;
mod gitignore;
mod index;
mod keep;
mod limits;
mod mounts;
mod nested_repos;
mod object;
mod object_hardlinks;
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

pub use change::{Change, ChangeKind};
pub use diff::DiffOptions;
pub use error::Error;
pub use excluded::{ChangedExcluded, ExcludedChange, ExcludedReason, OneSidedPath};
pub use keep::size_alone;
pub use nested_repos::InnerBranch;
pub use options::{Branches, Git, Limits, MovedBranch, Options, Staged};
pub use plan::{Plan, has_other_names};
pub use put_back::Restored;
pub use repository::unfinished;
pub use restore::{NotRestored, RestoreReport};
pub use snapshots::Snapshots;
pub use unstuck_core::snapshot::{LeftOut, Snapshot, Standing};
