//! The next commands to type about a run.

use std::fs;
use std::path::Path;

use unstuck_core::budget::BudgetExceeded;
use unstuck_core::completion::Completion;
use unstuck_core::event::{RunOutcome, RunStarted, StepEnd};
use unstuck_core::id::{Digest, StepId};
use unstuck_core::text::shell::quote_word;
use unstuck_core::workflow::{Step, StepKind, Workflow};
use unstuck_replay::RunSummary;
use unstuck_runner::open;
use unstuck_workflow::workflow_file::{self, LoadOptions};

use crate::text::clip;
use crate::{workers, worktrees};

/// Characters of a need shown with its command.
const NEEDS_MAX: usize = 40;

/// Returns how to answer a blocked run, each of its steps by itself where several are blocked.
pub fn answers(story: &RunSummary, short: &str) -> Vec<(String, String)> {
    let answer = |step: String, needs: &str| {
        (format!("unstuck answer {short}{step} \"done\""), clip(needs, NEEDS_MAX))
    };
    let blocked: Vec<(&StepId, &str)> = story.state().blocked_steps().collect();
    match blocked[..] {
        [] => vec![answer(String::new(), "an answer")],
        [(_, needs)] => vec![answer(String::new(), needs)],
        _ => {
            let of = |step: &StepId| format!(" --step {}", quote_word(step.as_str()));
            blocked.into_iter().map(|(step, needs)| answer(of(step), needs)).collect()
        }
    }
}

/// Returns the command that continues with another installed client.
pub fn with_another(story: &RunSummary, short: &str) -> Option<(String, String)> {
    let workflow = story.state().workflow()?;
    if !matches!(story.outcome?, RunOutcome::Stuck | RunOutcome::WorkerFailed) {
        return None;
    }
    let another =
        workers::unused_client(workflow).filter(|_| workflow.steps.iter().any(Step::can_replace_worker))?;
    Some((format!("unstuck resume {short} --with {another}"), "the same state, another worker".to_owned()))
}

/// Returns the commands after the end of a run, each with its purpose; none while the run has not ended.
pub fn next(story: &RunSummary, short: &str) -> Vec<(String, String)> {
    let Some(outcome) = story.outcome else { return Vec::new() };
    let more = story.state().steps().map(|(step, _)| step.max_iterations).max().unwrap_or(5).min(5);
    let row = |command: String, what: &str| (command, what.to_owned());
    let ends = || story.steps.iter().filter_map(|step| step.end.as_ref());
    if ends().any(|end| matches!(end, StepEnd::CheckCouldNotRun(_) | StepEnd::NoBaseline(_)))
        && story.iterations().next().is_none()
    {
        // A program can be installed while the run rests; the command of a check cannot be changed in it.
        if story.state().steps().any(|(step, _)| step.completion.is_some()) {
            return vec![row(format!("unstuck resume {short}"), "once it is there")];
        }
        if ends().all(|end| !matches!(end, StepEnd::NoBaseline(_))) {
            return vec![row("unstuck run ...".to_owned(), "again, with a check that can be run here")];
        }
        return vec![row("unstuck run ...".to_owned(), "again, with what the reason asks for")];
    }
    let mut rows = match outcome {
        RunOutcome::Complete => vec![
            row(format!("unstuck show {short}"), "what was done"),
            row(format!("unstuck report {short} --md"), "a receipt for the pull request"),
        ],
        RunOutcome::Blocked => answers(story, short),
        RunOutcome::IterationLimit | RunOutcome::Stuck => {
            let mut rows = vec![row(format!("unstuck resume {short} --add-iterations {more}"), "go on")];
            if outcome == RunOutcome::Stuck {
                rows.insert(
                    0,
                    row(format!("unstuck diagnose {short}"), "what fails, since when, what was tried"),
                );
                let hint = format!("unstuck resume {short} --hint \"what it lacks\"");
                rows.push(row(hint, "tell the worker what it does not know"));
                rows.push(row(format!("unstuck undo {short}@first"), "the files as they were before #1"));
            }
            rows
        }
        _ if outcome == RunOutcome::TimeLimit || lacks_time_of_child(story) => {
            vec![row(format!("unstuck resume {short} --add-time 1h"), "go on")]
        }
        RunOutcome::SpendLimit => {
            let option = more_to_spend(story.state().budget_exceeded().as_ref());
            vec![row(format!("unstuck resume {short} {option}"), "go on")]
        }
        RunOutcome::NotComplete if ends().any(|end| matches!(end, StepEnd::AttemptsExhausted(_))) => {
            vec![row(
                format!("unstuck resume {short} --hint \"what it lacks\""),
                "go on, and tell the worker what it does not know",
            )]
        }
        RunOutcome::TimeLimit
        | RunOutcome::NotComplete
        | RunOutcome::WorkerFailed
        | RunOutcome::Interrupted(_) => {
            vec![row(format!("unstuck resume {short}"), "go on from here")]
        }
    };
    let place = &story.workspace;
    let own = story.run.as_ref().and_then(|run| worktrees::branch_of_own(Path::new(place), run));
    if let Some((word, name)) = own {
        let what =
            format!("where its work is, on {word} {name}: commit it there, then git merge {name} here");
        rows.insert(0, row(format!("cd {}", quote_word(place)), &what));
    }
    if outcome != RunOutcome::Complete
        && let Some((file, _)) = story.state().started().and_then(changed_file)
    {
        rows.push(row(format!("unstuck run {}", quote_word(file)), "anew, with the workflow as it is now"));
    }
    rows.push(row(format!("unstuck why {short}"), "the evidence, event by event"));
    rows
}

/// Returns the workflow file of a run and how it differs from the version that the run uses.
pub fn changed_file(started: &RunStarted) -> Option<(&str, &'static str)> {
    let file = started.workflow_file.as_deref()?;
    let (then, now) = (started.workflow_digest?, digest_now(Some(file))?);
    if then != now {
        return Some((file, "the workflow file has changed"));
    }
    // Another version may read the same files in another way.
    let changed = started.program == open::program() && refers_to_changed(started, Path::new(file));
    changed.then_some((
        file,
        "what the workflow takes from other files (registry, prompts, schemas) has changed",
    ))
}

/// Says whether the files that a workflow file refers to hold something else than they did.
fn refers_to_changed(started: &RunStarted, file: &Path) -> bool {
    let options = LoadOptions { workspace: started.workspace.clone().into(), ..LoadOptions::default() };
    let now = workflow_file::load(file, &options);
    now.is_ok_and(|now| from_files(&now.workflow) != from_files(&started.workflow))
}

/// The parts of steps that come from other files than the workflow's own, subworkflows included.
fn from_files(workflow: &Workflow) -> Vec<(Option<Completion>, Option<&str>)> {
    let mut all = Vec::new();
    for step in &workflow.steps {
        // Whether programs are installed does not depend on the files.
        let completion =
            step.completion.clone().map(|completion| Completion { doubted: Vec::new(), ..completion });
        all.push((completion, step.prompt_template.as_deref()));
        if let StepKind::Subworkflow(child) = &step.work {
            all.extend(from_files(&child.workflow));
        }
    }
    all
}

/// Says whether a run has failed since the time of a child run is over, which grows with its own.
fn lacks_time_of_child(story: &RunSummary) -> bool {
    let of_step = story.deciding_step.as_ref().and_then(|id| story.state().step(id));
    let child = of_step.and_then(|(_, at)| at.calls.child.as_ref());
    story.outcome == Some(RunOutcome::WorkerFailed)
        && child.is_some_and(|child| child.end == RunOutcome::TimeLimit)
}

/// Returns the option that raises the bound a run has reached.
pub fn more_to_spend(bound: Option<&BudgetExceeded>) -> &'static str {
    match bound {
        Some(BudgetExceeded::Tokens { .. }) => "--add-tokens 1000000",
        Some(
            BudgetExceeded::Unknown { .. }
            | BudgetExceeded::Uncounted { .. }
            | BudgetExceeded::BrokenOff { .. },
        ) => "--accept-unknown-cost",
        Some(BudgetExceeded::Money { .. }) | None => "--add-usd 5",
    }
}

/// Returns the digest of a workflow file as it is now.
pub fn digest_now(file: Option<&str>) -> Option<Digest> {
    fs::read(file?).ok().map(|bytes| Digest::sha256(&bytes))
}
