//! Completes what is half typed in a shell, for the folder and the store that are named on the same line.

use std::ffi::OsStr;
use std::sync::OnceLock;

use clap::{ArgMatches, Command, FromArgMatches as _};
use clap_complete::engine::CompletionCandidate;
use unstuck_app::project::ProjectRuns;

use crate::args::GlobalArgs;

/// Makes the definition of the command line.
static DEFINITION: OnceLock<fn() -> Command> = OnceLock::new();

/// Sets the definition of the command line, which the completion of a value parses.
pub fn init(definition: fn() -> Command) {
    _ = DEFINITION.set(definition);
}

/// Completes a run.
pub fn complete_run(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let project = line().and_then(|line| project(&line));
    let entries = project.and_then(|project| project.entries().ok()).unwrap_or_default();
    let fits = entries.into_iter().filter(|entry| entry.run.as_str().starts_with(&*typed));
    let candidates =
        fits.map(|entry| CompletionCandidate::new(entry.run.to_string()).help(Some(entry.workflow.into())));
    let last = "@last".starts_with(&*typed).then(|| CompletionCandidate::new("@last"));
    last.into_iter().chain(candidates).collect()
}

/// Completes a step of the run that is named on the same line.
pub fn complete_step(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let steps = steps().unwrap_or_default();
    steps.into_iter().filter(|step| step.starts_with(&*typed)).map(CompletionCandidate::new).collect()
}

fn steps() -> Option<Vec<String>> {
    let line = line()?;
    let (_, command) = line.subcommand()?;
    let run = command.try_get_one::<String>("run").ok().flatten().cloned();
    let found = project(&line)?.find(run.as_deref().unwrap_or("@last")).ok()?;
    let events = found.events().ok()?;
    let steps = &found.started(&events).ok()?.workflow.steps;
    Some(steps.iter().map(|step| step.id.to_string()).collect())
}

/// Returns the typed command line, which follows the first `--` of the completion request.
fn line() -> Option<ArgMatches> {
    let typed = std::env::args_os().skip_while(|word| word != "--").skip(1);
    DEFINITION.get()?().ignore_errors(true).try_get_matches_from(typed).ok()
}

fn project(line: &ArgMatches) -> Option<ProjectRuns> {
    GlobalArgs::from_arg_matches(line).ok()?.project().ok()
}
