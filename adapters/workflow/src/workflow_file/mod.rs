//! Reads workflow files: YAML in, a valid workflow out, or every complaint at once.
//!
//! One pass over a file, its agent catalogs and its subworkflows finds all that is wrong with them;
//! the first step has not started then. That no symbolic link leads out of the workspace is looked at again when a path is
//! used: a worker can make one.
//!
//! # Map
//!
//! Read in this order: [`keys`] is the table of all keys; `load`, `workflow`, `step`, `graph` and `conditions` say what the keys mean
//! together; `client`, `catalog` and `worker` say who works. [`fn@schema`] and [`fn@reference`] are made from the table. [`fn@quick`] builds the
//! workflow of a command line, [`fn@save`] writes a workflow as a file, [`fn@plan`] says what it may cost, [`fn@value`] reads the value of one
//! key. Not here: the tree with places, and the check of keys and types (`unstuck-document`).

use unstuck_document::{LoadReport, node};

mod catalog;
mod client;
pub(crate) mod conditions;
mod files;
mod from_args;
mod graph;
pub mod keys;
pub(crate) mod load;
mod plan;
mod reference;
mod schema;
mod schema_declares;
mod secret;
pub(crate) mod step;
pub(crate) mod to_yaml;
mod value;
pub(crate) mod worker;
mod workflow;

pub use files::{FileSystem, Files, LoadOptions};
pub use from_args::{QuickOptions, quick};
pub use load::{Loaded, load, parse};
pub use plan::{PlannedCheck, PlannedStep, WorkflowPlan, WorstCase, plan};
pub use reference::reference;
pub use schema::schema;
pub use secret::{named_registry, secret};
pub use to_yaml::save;
pub use value::{current_names, names_below, samples, value};

/// Returns the line of a key in a workflow file, the first being 1; `None` if the file does not have the key.
pub fn line_of_key(bytes: &[u8], keys: &[&str]) -> Option<u32> {
    nearest_line(bytes, keys).filter(|(_, depth)| *depth == keys.len()).map(|(line, _)| line)
}

/// Returns the line of a key in a workflow file, or else the line of the nearest key above it that exists.
/// The first line is 1.
pub fn line_of(bytes: &[u8], keys: &[&str]) -> Option<u32> {
    nearest_line(bytes, keys).map(|(line, _)| line)
}

/// Returns the line of the nearest key that exists, and how many of the keys lead to it.
fn nearest_line(bytes: &[u8], keys: &[&str]) -> Option<(u32, usize)> {
    let text = str::from_utf8(bytes).ok()?;
    let root = node::parse(0, text, &mut LoadReport::default())?;
    let (mut node, mut place, mut depth) = (&root, None, 0);
    for key in keys {
        let Some(entry) = node.entry(key) else { break };
        (node, place, depth) = (&entry.value, Some(entry.place), depth + 1);
    }
    let before = text.get(..usize::try_from(place?.offset).ok()?)?;
    Some((u32::try_from(before.matches('\n').count() + 1).ok()?, depth))
}
