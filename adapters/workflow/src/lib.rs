//! Files of people, read into a valid workflow, or every complaint at once.
//!
//! # Map
//!
//! - [`workflow_file`]: YAML in, a workflow out. [`registry`]: steps registries. [`import`]: files of other tools.
//! - [`prompt_template`]: prompts with placeholders. [`test_command`]: how a project is tested.
//! - [`schema`]: JSON Schemas, resolved and closed. [`answer`]: finds the answer in what a worker printed, by its schema.
//!
//! Start with `workflow_file/keys.rs`, the table of all keys, then `workflow_file/mod.rs`. Not here: trees and complaints
//! (`unstuck-document`), and the descriptions of clients (`unstuck-workers`).

pub mod answer;
pub mod import;
pub mod prompt_template;
pub mod registry;
pub mod schema;
pub mod test_command;
pub mod workflow_file;
