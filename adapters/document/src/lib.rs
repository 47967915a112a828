//! YAML, TOML and JSON as one tree in which every value has its place, so that all that is wrong with a file can be said at
//! once, each with its line and column.
//!
//! # Map
//!
//! - [`file`](mod@file): a file becomes a tree, or is rejected with all complaints.
//! - Formats: [`node`] (the tree, and YAML), [`toml`], [`json`]; `yaml_error` explains errors of the YAML parser.
//! - [`diagnostic`]: one problem with its place, and the report that gathers them.
//! - [`keys`]: tables of known keys; [`type_check`] checks a tree against one, after `old_keys` has renamed old keys.
//! - [`map_view`]: typed access to a map that was checked.
//!
//! Start with `node.rs`, then `keys.rs` and `type_check.rs`. Not here: what the keys mean.

pub mod diagnostic;
pub mod file;
pub mod json;
pub mod keys;
pub mod map_view;
pub mod node;
mod old_keys;
pub mod toml;
pub mod type_check;
mod yaml_error;

pub use diagnostic::{Diagnostic, FileOffset, KeyPath, LoadReport, OnceNote, quote, quote_name};
pub use file::LoadError;
pub use map_view::MapView;
pub use node::{MapEntry, NodeKind, TreeNode};
pub use old_keys::rename_old_keys;
pub use type_check::{nearest, path_within, pattern, segment};
