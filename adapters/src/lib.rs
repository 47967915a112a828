//! Acts: workflow files, workers, processes, decision files, secrets.
//!
//! Everything that touches the world for a run is here; nothing here decides anything. Suggested
//! reading order: [`workflow_file`], [`prompt_template`], [`registry`], [`schema`], [`answer`], [`clients`],
//! [`prices`], [`process`], [`decision_file`], [`redact`], [`public_values`], [`environment`], [`inherited`], [`branch`], [`worktree`], [`checks`],
//! [`own_folder`], [`output_file`], [`artifacts`], [`context`], [`own_output`], [`snapshot`], [`stamp`], [`test_command`], [`reset_time`], [`validators`],
//! [`import`], [`notify`], [`blocking`], [`shell`]; below them `folder`, which knows what systems do differently with files.

pub mod answer;
pub mod clients;
pub mod import;
pub mod prompt_template;
pub mod registry;
pub mod schema;
pub mod workflow_file;

pub mod decision_file;
pub mod environment;
mod escapes;
pub mod inherited;
mod normal;
pub mod notify;
pub mod prices;
pub mod process;
pub mod public_values;
pub mod redact;

pub mod artifacts;
pub mod base;
pub mod branch;
pub mod checks;
pub mod context;
pub mod exhausted;
pub mod ignored;
pub mod output_file;
pub mod own_folder;
pub mod own_output;
pub mod own_paths;
pub mod reports;
pub mod reset_time;
pub mod snapshot;
pub mod stamp;
pub mod suspension;
pub mod test_command;
pub mod validators;
pub mod worktree;

pub mod blocking;
pub mod shell;

mod awaited;
mod folder;
mod git;
mod settings;
