//! Snapshots of the workspace, undo, git, and the files that Unstuck keeps in the workspace.
//!
//! # Map
//!
//! - [`snapshot`]: taken before and after every iteration, compared and restored.
//! - Git: [`git`] (the only place that starts it), [`branch`], [`worktree`], [`base`], [`ignored`].
//! - [`stamp`]: whether anything that a command may read has changed.
//! - Files of Unstuck: [`context`] (views of a run), [`artifacts`], [`own_paths`]; [`environment`] tells workers where.
//! - [`public_values`]: secrets that the project shows anyway.
//!
//! Start with `snapshot/mod.rs`. Not here: what a change means (`unstuck_core::scope`).

pub mod artifacts;
pub mod base;
pub mod branch;
pub mod context;
pub mod environment;
pub mod git;
pub mod ignored;
pub mod own_paths;
pub mod public_values;
pub mod snapshot;
pub mod stamp;
pub mod worktree;
