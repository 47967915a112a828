//! The prompts of workers and checkers, derived from the state alone.
//!
//! Because it is derived, a decision can compare an answer with the prompt that was sent, and a
//! replay sees the same prompt as the live run.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::check_feedback;
use crate::event::{Purpose, RegistryText, StallCause};
use crate::evidence::Decision;
use crate::id::{CheckId, Stage};
use crate::interpolate;
use crate::judge::{NamedPaths, failing_test_files};
use crate::plural::count;
use crate::prompt_layout;
use crate::snapshot::single_line;
use crate::state::{Feedback, RunState, StepState};
use crate::text::fence::{escape_markdown, fenced};
use crate::workflow::{Check, CheckMethod, ConvergencePolicy, Gate, Step, StepKind, Worker, WorkerKind};

/// Maximum names, patterns or files that a list of a prompt has.
const LISTED_MAX: usize = 20;
/// Maximum reasons that a prompt lists.
const REASONS_MAX: usize = 12;
/// How a worker says that it is blocked or waits, where something else decides whether it is done.
const OBSTACLE: &str = "## If you cannot go on

If only a person can help: unstuck verdict blocked --needs \"what the person must do\"
If an external job must end first: unstuck verdict waiting --retry-after 600";

/// Returns the prompt of a step's worker in its current iteration.
///
/// A script does not adapt to its prompt, so for `CUSTOM` it is only the findings of the last check. The script may
/// read it from standard input or from `UNSTUCK_PROMPT_FILE`.
pub fn worker_prompt(
    state: &RunState,
    step: &Step,
    at: &StepState,
    check_id: Option<&CheckId>,
    registry: &RegistryText,
) -> String {
    if at.iteration.purpose == Purpose::Diagnosis {
        return diagnosis(state, step, at);
    }
    let claims = step.check.as_ref().filter(|_| step.claims()).zip(check_id);
    let template = step.prompt_template.as_deref().unwrap_or(prompt_layout::DEFAULT);
    prompt_layout::render(template, |name| match name {
        "verdict_error" => claims.map_or_else(String::new, |(_, id)| unread_verdict(&at.feedback, id)),
        "answer" => match claims {
            Some((check, id)) => how_to_answer(check, id),
            None if adapts(step) && step.obstacle_file().is_some() => OBSTACLE.to_owned(),
            None => String::new(),
        },
        "done_when" if adapts(step) => done_when(step),
        "scope" if adapts(step) => scope(step, at),
        "progress" if adapts(step) => position(state, step, at),
        "findings" if adapts(step) && at.feedback.decision.is_none() => before_the_work(at),
        "task" => {
            let worker = step.worker(Purpose::Work).filter(|worker| worker.kind != WorkerKind::Custom);
            let mut task = worker.map_or_else(String::new, |worker| worker.instructions.clone());
            section(&mut task, &registry.task);
            task
        }
        name => value_of(name, state, step, at, registry),
    })
}

/// Returns whether the worker of a step adapts to its prompt; a script does not.
fn adapts(step: &Step) -> bool {
    step.worker(Purpose::Work).is_some_and(|worker| worker.kind != WorkerKind::Custom)
}

/// Returns the commands that decide; empty if none do.
fn done_when(step: &Step) -> String {
    let Some(Check { by: CheckMethod::Commands(commands), .. }) = &step.check else { return String::new() };
    let mut text = String::from("## Done when\n\n");
    for command in commands {
        let condition = match command.gate {
            Gate::Pass => "passes",
            Gate::NoNewFailures => "shows no failure that was not there before",
        };
        let _infallible = writeln!(text, "- `{}` {condition}", single_line(&command.run));
    }
    text
}

/// Returns what the worker may change; empty if there are no rules.
fn scope(step: &Step, at: &StepState) -> String {
    let none = ConvergencePolicy::default();
    let policy = step.convergence.as_ref().unwrap_or(&none);
    let (protected, keeps_ci) = policy.protected_by_name();
    let mut kept: Vec<String> = protected.into_iter().map(str::to_owned).collect();
    kept.extend(keeps_ci.then(|| "the configuration of CI".to_owned()));
    if step.check.as_ref().is_some_and(|check| !check.allow_test_edits) {
        let named = NamedPaths::new(step);
        let tests = failing_test_files(at).into_iter().filter(|file| !named.has(file));
        kept.extend(tests.map(|file| format!("{file} (fix the code, not the test)")));
    }
    if kept.is_empty() && !policy.has_rules() {
        return String::new();
    }
    let mut text = String::from("## What may change\n");
    list(&mut text, "Only these paths", &policy.allowed_paths, LISTED_MAX);
    list(&mut text, "Not these paths", &kept, LISTED_MAX);
    if let Some(max) = policy.max_changed_files {
        let _infallible = writeln!(text, "\nAt most {}.", count(max, "file"));
    }
    if let Some(max) = policy.max_changed_lines {
        let _infallible = writeln!(text, "\nAt most {}, added and removed.", count(max, "line"));
    }
    text
}

/// Returns what failed before the work began.
fn before_the_work(at: &StepState) -> String {
    match check_feedback::render_baseline(at) {
        failures if failures.is_empty() => failures,
        failures => format!("## What fails now\n{failures}"),
    }
}

/// Returns the prompt for a diagnosis of a stuck loop.
fn diagnosis(state: &RunState, step: &Step, at: &StepState) -> String {
    let mut prompt = String::new();
    let run = state.run().map_or("", |run| run.as_str());
    let own = step.diagnosis_worker().map_or("", |worker| &worker.instructions);
    section(&mut prompt, own);
    section(
        &mut prompt,
        &format!(
            "## Diagnose, do not edit\n\n{} Nobody works on it after you: find out why it gets nowhere. You \
             work in a copy: nothing that you change stays. End with a few sentences for a person: what the cause is, where it \
             is and how that can be seen, why the attempts did not reach it, and what to do first. What each attempt \
             did is told by: unstuck show {run}",
            repeated_failures(at)
        ),
    );
    if let StepKind::Worker(worker) = &step.work {
        section(&mut prompt, &format!("## What was to be done\n\n{}", fenced(worker.instructions.trim())));
    }
    section(&mut prompt, &feedback_prompt(state, step, at, &RegistryText::default()));
    prompt
}

/// Returns the prompt of a step's checker. Empty for a script.
pub fn check_prompt(state: &RunState, step: &Step, at: &StepState, id: &CheckId) -> String {
    let mut prompt = String::new();
    let Some(check) = &step.check else { return prompt };
    let CheckMethod::Agent(worker) = &check.by else { return prompt };
    section(&mut prompt, &unread_verdict(&at.feedback, id));
    section(&mut prompt, &script_of(worker, id));
    section(&mut prompt, &from_person(&at.feedback));
    section(&mut prompt, &position(state, step, at));
    section(&mut prompt, &how_to_answer(check, id));
    prompt
}

/// Returns the instructions of a checker with its check id inserted.
pub fn script_of(worker: &Worker, id: &CheckId) -> String {
    interpolate::check_id(&worker.instructions, id.as_str())
}

/// Returns the path of the decision file with the check id inserted.
pub fn decision_file(check: &Check, id: &CheckId) -> Option<String> {
    check.decision_file.as_deref().map(|path| interpolate::check_id(path, id.as_str()))
}

/// Returns the findings of the last check, the input of a person and the demands of the stage; empty in a first
/// iteration.
pub fn feedback_prompt(state: &RunState, step: &Step, at: &StepState, registry: &RegistryText) -> String {
    prompt_layout::render(prompt_layout::DEFAULT, |name| value_of(name, state, step, at, registry))
}

/// Returns the value of a placeholder about the progress so far; empty for any other placeholder.
fn value_of(name: &str, state: &RunState, step: &Step, at: &StepState, registry: &RegistryText) -> String {
    let feedback = &at.feedback;
    let judged = feedback.decision.is_some();
    match name {
        "progress" if judged => position(state, step, at),
        // The text of the registry contains it.
        "last_message" if judged && !feedback.said.is_empty() && registry.findings.is_empty() => {
            format!(
                "## What you said at the end of iteration {}\n\n{}",
                feedback.iteration,
                fenced(&feedback.said)
            )
        }
        "findings" if judged && !registry.findings.is_empty() => registry.findings.clone(),
        "findings" if judged => findings(step, at),
        "user_input" => from_person(feedback),
        "diagnosis" => at.diagnosis.as_deref().map_or_else(String::new, |diagnosis| {
            format!("## A diagnosis by somebody else\n\n{}", fenced(diagnosis))
        }),
        "stage" if at.convergence.stage() > Stage(1) && at.iteration.purpose == Purpose::Work => {
            stage_rules(step, at)
        }
        _ => String::new(),
    }
}

/// Returns the answer of a person.
fn from_person(feedback: &Feedback) -> String {
    match &feedback.from_person[..] {
        [] => String::new(),
        said => format!("## From the person in charge\n\n{}", said.join("\n\n")),
    }
}

fn position(state: &RunState, step: &Step, at: &StepState) -> String {
    let max = state.displayed_iterations(step, at);
    let mut text = format!("Iteration {} of at most {max}.", at.iteration());
    for what in state.last_snapshot().iter().flat_map(|snapshot| snapshot.unfinished()) {
        let _infallible = write!(text, "\nGit in the workspace: {}", single_line(what));
    }
    text
}

fn findings(step: &Step, at: &StepState) -> String {
    let feedback = &at.feedback;
    let mut text = format!("## What the check of iteration {} found\n", feedback.iteration);
    let decision = feedback.decision.unwrap_or(Decision::None);
    let _infallible = writeln!(text, "\nVerdict: {}", decision.in_words());
    list(&mut text, "Reasons", &feedback.reasons, REASONS_MAX);
    // The names that an agent gave to the problems. The failures of a command are shown below, with their messages.
    if step.check.as_ref().is_some_and(|check| !matches!(check.by, CheckMethod::Commands(_))) {
        let mut told = BTreeSet::new();
        let names: Vec<String> =
            feedback.fingerprints.iter().filter(|name| told.insert(*name)).cloned().collect();
        list(&mut text, "Open problems", &names, LISTED_MAX);
    }
    list(&mut text, "About the answer", &feedback.problems, REASONS_MAX);
    list(&mut text, "Changed outside of the scope, and put back", &at.workspace.drift.put_back, LISTED_MAX);
    let shown = check_feedback::render(at);
    if !shown.is_empty() {
        text.push_str(&shown);
    } else if !feedback.output.is_empty() {
        let shown = fenced(&feedback.output);
        let _infallible = write!(text, "\nThe end of what the check printed:\n\n{shown}\n");
    }
    text
}

/// Describes the repetition that raised the stage.
fn repeated_failures(at: &StepState) -> String {
    match at.convergence.escalation_cause() {
        Some((cause, count)) => stall(cause, count),
        None => "The same failures came back.".to_owned(),
    }
}

/// Returns why the stage rose, for the worker: the common result of its last `count` attempts.
fn stall(cause: StallCause, count: u32) -> String {
    match cause {
        StallCause::SameFailures => format!("Your last {count} attempts ended with the same failures."),
        StallCause::Cycle(period) => {
            format!("Your attempts go in a circle of {period}: one breaks what another one fixed.")
        }
        StallCause::PersistentFailure => {
            format!("One failure stayed in your last {count} attempts, while others came and went.")
        }
        StallCause::NoReasons => {
            format!("Your last {count} attempts were incomplete, and no failure was named.")
        }
        StallCause::NoChange => format!("Your last {count} attempts changed nothing in the workspace."),
        StallCause::Growing => {
            format!("There were fewer failures before your last {count} attempts.")
        }
        StallCause::Diverging => {
            format!("None of your last {count} attempts made anything better: other failures came each time.")
        }
    }
}

fn stage_rules(step: &Step, at: &StepState) -> String {
    let (stage, what) = (at.convergence.stage(), repeated_failures(at));
    let mut text = format!(
        "## Try another way\n\n{what} The diagnosis behind them is probably wrong: look for another cause \
         first. Then make the smallest change that resolves the failures, refactor nothing, and undo what is \
         out of scope.\n"
    );
    let Some(policy) = &step.convergence else { return text };
    if policy.revert_out_of_scope {
        text.push_str("\nWhat is changed outside of what may change is put back.\n");
    }
    let overlay = policy.overlays.iter().find(|overlay| overlay.stage == stage);
    if let Some(more) = overlay.and_then(|overlay| overlay.append_instructions.as_deref()) {
        let _infallible = writeln!(text, "\n{}", more.trim());
    }
    text
}

/// Explains how to give a verdict. The example is an incomplete one on purpose: a worker that only
/// repeats its prompt must never complete a step.
fn how_to_answer(check: &Check, id: &CheckId) -> String {
    let mut text = String::from("## How to give the verdict\n\n");
    match decision_file(check, id) {
        Some(path) => {
            let _infallible =
                write!(text, "Write one JSON object to the file {path} (or end your answer with it):");
        }
        None => text.push_str("End your answer with one JSON object:"),
    }
    let _infallible = write!(
        text,
        "\n\n    {}\n\n\"decision\" is one of complete, incomplete, blocked (say in \"needs\" what a person must do), \
         waiting (an external job still runs; \"retry_after\" in seconds). \"fingerprints\" may name each open problem, \
         with the same text as long as the problem is the same.\nWith a shell: unstuck verdict incomplete --reason \
         \"what is missing\"\n\nCompletionCheckID: {id}",
        example(id)
    );
    text
}

fn example(id: &CheckId) -> String {
    format!(r#"{{"decision": "incomplete", "check_id": "{id}", "reasons": ["what is missing"]}}"#)
}

/// Explains the problems of the last verdict, with an example of a valid one; empty if it had none.
fn unread_verdict(feedback: &Feedback, id: &CheckId) -> String {
    if feedback.decision != Some(Decision::None) {
        return String::new();
    }
    let mut text = String::from("The last verdict could not be read:\n");
    for problem in feedback.problems.iter().take(REASONS_MAX) {
        let _infallible = writeln!(text, "- {}", escape_markdown(problem));
    }
    let _infallible = writeln!(text, "This is one that can be, all of it: {}", example(id));
    text
}

fn list(text: &mut String, title: &str, items: &[String], max: usize) {
    if items.is_empty() {
        return;
    }
    let _infallible = writeln!(text, "\n{title}:");
    for item in items.iter().take(max) {
        let _infallible = writeln!(text, "- {}", escape_markdown(item));
    }
    if items.len() > max {
        let _infallible = writeln!(text, "- and {} more", items.len() - max);
    }
}

fn section(text: &mut String, part: &str) {
    let part = part.trim_end();
    if part.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(part);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_of_a_list_opens_nothing() {
        for (text, want) in [
            ("t.py::test_a", "t.py::test_a"),
            ("~~~", "\\~~~"),
            ("``` x", "\\``` x"),
            ("  ````", "\\````"),
            ("`a` is red", "`a` is red"),
            ("~~gone~~", "~~gone~~"),
            ("#12 is open", "#12 is open"),
            ("# From the person in charge", "\\# From the person in charge"),
            ("one\n## two\n```\nthree", "one\n  \\## two\n  \\```\n  three"),
            ("", ""),
        ] {
            assert_eq!(escape_markdown(text), want, "{text:?}");
        }
    }

    #[test]
    fn stall_sentence_describes_each_cause() {
        for (cause, expected) in [
            (StallCause::SameFailures, "Your last 3 attempts ended with the same failures."),
            (StallCause::Cycle(2), "Your attempts go in a circle of 2: one breaks what another one fixed."),
            (
                StallCause::PersistentFailure,
                "One failure stayed in your last 3 attempts, while others came and went.",
            ),
            (StallCause::NoReasons, "Your last 3 attempts were incomplete, and no failure was named."),
            (StallCause::NoChange, "Your last 3 attempts changed nothing in the workspace."),
            (StallCause::Growing, "There were fewer failures before your last 3 attempts."),
            (
                StallCause::Diverging,
                "None of your last 3 attempts made anything better: other failures came each time.",
            ),
        ] {
            assert_eq!(stall(cause, 3), expected, "{cause:?}");
        }
    }
}
