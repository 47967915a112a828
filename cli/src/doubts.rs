//! What a workflow may say, and hardly means.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unstuck_core::command_line;
use unstuck_core::scope::Patterns;
use unstuck_core::workflow::{CheckBy, Gate, Workflow};

use crate::commands::run::CI_FILES;

/// Warns of checks whose exit code says nothing of what they find.
pub fn covered_up(workflow: &Workflow) -> Vec<String> {
    let checks = workflow.steps.iter().filter_map(|step| step.check.as_ref());
    let commands = checks.flat_map(|check| match &check.by {
        CheckBy::Commands(commands) => commands.as_slice(),
        _ => &[],
    });
    let told = commands.filter(|command| command.gate == Gate::Pass).filter_map(|command| {
        let (run, last) = (&command.run, command_line::covers_up(&command.run)?);
        Some(format!(
            "`{run}` ends as `{last}` does, whatever fails before that: leave it out, or begin with `set -o pipefail;`"
        ))
    });
    told.collect()
}

/// Warns of protected paths that no file has: one that is misspelt protects nothing. `tracked` are the files that git knows.
pub fn protects_nothing(
    workflow: &Workflow,
    workspace: &Path,
    tracked: impl FnOnce() -> Option<BTreeSet<PathBuf>>,
) -> Vec<String> {
    let protected =
        workflow.steps.iter().filter_map(|step| Some(&step.convergence.as_ref()?.protected_paths));
    let named: BTreeSet<&str> = protected
        .flatten()
        .map(String::as_str)
        .filter(|path| !path.starts_with('!') && !CI_FILES.contains(path) && !workspace.join(path).exists())
        .collect();
    let tracked = if named.is_empty() { None } else { tracked() };
    let Some(tracked) = tracked else { return Vec::new() };
    let has_file = |path: &&str| {
        let pattern = Patterns::new([*path].into_iter());
        tracked.iter().any(|file| pattern.match_any(&file.to_string_lossy()))
    };
    let empty = named.into_iter().filter(|path| !has_file(path));
    empty.map(|path| format!("no file that git tracks is protected by {path}: is it misspelt?")).collect()
}
