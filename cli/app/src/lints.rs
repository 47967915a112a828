//! Warnings about workflows that are valid but hardly meant.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unstuck_core::judge::scope::PathPatterns;
use unstuck_core::workflow::{CI_FILES, CheckMethod, Gate, Workflow};

/// Warns of checks whose exit code says nothing of what they find.
pub fn hidden_exit_codes(workflow: &Workflow) -> Vec<String> {
    let checks = workflow.steps.iter().filter_map(|step| step.check.as_ref());
    let commands = checks.flat_map(|check| match &check.by {
        CheckMethod::Commands(commands) => commands.as_slice(),
        _ => &[],
    });
    let told = commands.filter(|command| command.gate == Gate::Pass).filter_map(|command| {
        let (run, last) = (&command.run, covers_up(&command.run)?);
        Some(format!(
            "`{run}` ends as `{last}` does, whatever fails before that: leave it out, or begin with `set -o pipefail;`"
        ))
    });
    told.collect()
}

/// Programs that print their input and exit with 0 whatever it is.
const PASSERS: [&str; 12] =
    ["cat", "column", "fold", "head", "less", "more", "nl", "sed", "tac", "tail", "tee", "ts"];

/// Returns the last command of a command line if it exits with 0 whatever the commands before it found:
/// `pytest | tail -3`, `make check || true`.
fn covers_up(line: &str) -> Option<String> {
    if line.contains("pipefail") || line.contains("PIPESTATUS") {
        return None;
    }
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, ';' | ')' | '}'));
    let (mut quote, mut last) = (None, None);
    // In a redirection (`2>&1`) or a pipe (`|&`), it does not separate commands.
    let leads = |at: usize| line[..at].ends_with(['>', '|']) && line[at..].starts_with('&');
    for (at, c) in line.char_indices() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if matches!(c, '|' | ';' | '&' | '\n') && !leads(at) => last = Some(at),
            None => {}
        }
    }
    let (before, behind) = line.split_at(last?);
    let command = behind[1..].trim_start_matches('&').trim();
    let is_alternative = behind.starts_with('|') && before.ends_with('|');
    let is_piped = behind.starts_with('|') && !before.ends_with('|');
    let is_next = is_alternative || behind.starts_with([';', '\n']);
    let program = command.split_whitespace().next()?;
    let is_well = is_next && (matches!(command, "true" | ":" | "exit 0") || program == "echo")
        || is_piped && PASSERS.contains(&program);
    is_well.then(|| command.to_owned())
}

/// Warns of protected paths that no file has: one that is misspelt protects nothing. `tracked` are the files that git knows.
pub fn unmatched_protected_paths(
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
        let pattern = PathPatterns::new([*path].into_iter());
        tracked.iter().any(|file| pattern.match_any(&file.to_string_lossy()))
    };
    let empty = named.into_iter().filter(|path| !has_file(path));
    empty.map(|path| format!("no file that git tracks is protected by {path}: is it misspelt?")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_that_hides_an_exit_code_is_named() {
        for (line, expected) in [
            ("pytest -q | tail -3", Some("tail -3")),
            ("npm test 2>&1 | tee log", Some("tee log")),
            ("(cd a && npm test |& tee log 2>&1)", Some("tee log 2>&1")),
            ("make check || true", Some("true")),
            ("pytest; true", Some("true")),
            ("cargo test\necho done\n", Some("echo done")),
            ("set -o pipefail; pytest | tail -3", None),
            ("pytest 2>&1", None),
            ("pytest && echo it passes", None),
            ("cat x | grep -q 'a | tail'", None),
            ("curl -s x | jq -e .ok", None),
            ("a && b || exit 1", None),
            ("test -f x && echo there", None),
            ("sh -c 'pytest | tail'", None),
        ] {
            assert_eq!(covers_up(line).as_deref(), expected, "{line}");
        }
    }
}
