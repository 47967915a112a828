//! YAML, TOML and JSON as one tree in which every value has its place, so that all that is wrong with a file can be said at
//! once, each with its line and column.
//!
//! # Map
//!
//! - [`file`](mod@file): a file becomes a tree, or is rejected with all complaints.
//! - Formats: [`node`] (the tree, and YAML), [`toml`], [`json`]; `broken` explains errors of the YAML parser.
//! - [`complaint`]: one problem with its place, and the report that gathers them.
//! - [`keys`]: tables of known keys; [`shape`] checks a tree against one.
//! - [`view`]: typed access to a map that was checked.
//!
//! Start with `node.rs`, then `keys.rs` and `shape.rs`. Not here: what the keys mean.

mod broken;
pub mod complaint;
pub mod file;
pub mod json;
pub mod keys;
pub mod node;
pub mod shape;
pub mod toml;
pub mod view;

pub use complaint::{Complaint, Report};
pub use file::Rejected;
pub use shape::{nearest, path_within, pattern, segment};
