//! Acts on the world: files, processes, git, agents. Decides nothing.
//!
//! # Map
//!
//! - Files of people, read into a workflow: [`workflow_file`], [`registry`], [`schema`], [`prompt_template`], [`import`].
//! - Agents: [`clients`] (descriptions of programs, and the decoder of their output), [`prices`], [`reset_time`].
//! - Processes: [`process`], [`environment`], [`inherited`], [`shell`], [`blocking`], [`exhausted`], [`suspension`].
//! - Evidence: [`checks`], [`reports`], [`validators`], [`decision_file`], [`answer`], [`test_command`].
//! - The workspace: [`snapshot`], [`stamp`], [`base`], [`branch`], [`worktree`], [`ignored`], [`own_paths`], `git`.
//! - Other files: `folder` (follows no links, one file per system), [`own_folder`], [`own_output`], [`output_file`],
//!   [`artifacts`], [`context`], `settings`, `awaited`.
//! - Secrets: [`redact`] with `escapes` and `normal`, [`public_values`]. Messages to other programs: [`notify`].
//!
//! Start with `checks.rs`, which runs the commands of a check. Not here: reading the output of tools (`unstuck-failures`) and
//! every decision (`unstuck-core`).

pub mod answer;
pub mod import;
pub mod prompt_template;
pub mod registry;
pub mod schema;
pub mod workflow_file;

pub mod test_command;
