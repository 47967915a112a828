//! Snapshots of the workspace, undo, git, and the files that Unstuck keeps in the workspace.
//!
//! # Map
//!
//! - [`snapshot`]: taken before and after every iteration, compared and restored.
//! - Git: [`git`] (the only place that starts it), [`branch`], [`worktree`], [`diff_base`], [`git_ignored`].
//! - [`tree_stamp`]: whether anything that a command may read has changed.
//! - Files of Unstuck: [`context_dir`] (views of a run), [`artifacts`], [`unstuck_paths`]; [`environment`] tells workers where.
//! - [`public_values`]: secrets that the project shows anyway.
//!
//! Start with `snapshot/mod.rs`. Not here: what a change means (`unstuck_core::judge::scope`).

pub mod artifacts;
pub mod branch;
pub mod context_dir;
pub mod diff_base;
pub mod environment;
pub mod git;
pub mod git_ignored;
pub mod public_values;
pub mod snapshot;
pub mod tree_stamp;
pub mod unstuck_paths;
pub mod worktree;
