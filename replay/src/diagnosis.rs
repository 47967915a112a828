//! Diagnosis of a stuck step: what fails and since when, the attempts, the reason for the stop, and advice.
//!
//! It is made from the log alone, so a later call returns the same bytes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Value, json};
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::{Conclusion, StageRaised, StallCause, StepEnd};
use unstuck_core::id::{Iteration, Seq, StepId, Timestamp};
use unstuck_core::judge::reason::is_tests_removed;
use unstuck_core::plural::{count, first};
use unstuck_core::snapshot::single_line;
use unstuck_core::text::fence::fenced;
use unstuck_core::{Event, Fact, convergence_files};

use crate::describe::stall;
use crate::step_summary::{CommandSummary, FailureSummary, IterationSummary, StepSummary};
use crate::summary::RunSummary;

/// Maximum failures that the page shows with the message of the tool.
const SHOWN_MAX: usize = 10;

/// Maximum characters of the name of a failure, and of a reason.
const NAME_MAX: usize = 200;

/// Maximum characters of the message of one failure.
const MESSAGE_MAX: usize = 2000;

/// Maximum changed files that are named for an iteration.
const CHANGED_MAX: usize = 5;

/// Maximum characters of the changes of an iteration, and of the reason why it was incomplete.
const CHANGED_CHARS_MAX: usize = 400;
const WHY_MAX: usize = 160;

/// Returns the files of a diagnosis by their names: `diagnosis.md`, and what it rests on as JSON. `short` names
/// the run in commands. `None` if there is no such step.
pub fn diagnosis(events: &[Event], step: &StepId, short: &str) -> Option<BTreeMap<&'static str, String>> {
    let summary = RunSummary::from_events(events);
    let of_step = summary.steps.iter().find(|summary| summary.id == *step)?;
    let state = summary.state();
    let (policy, at) = state.step(step)?;
    let raises = raises(events, step);
    let newest = of_step.iterations.last();
    let pretty = |value: Value| format!("{value:#}\n");
    Some(BTreeMap::from([
        ("diagnosis.md", page(&summary, of_step, &raises, short)),
        ("baseline_failures.json", pretty(json!(of_step.baseline))),
        ("current_failures.json", pretty(json!(newest.map(|newest| &newest.commands)))),
        ("failure_fingerprint_history.json", pretty(of_step.iterations.iter().map(history).collect())),
        ("completion_reasons.json", pretty(of_step.iterations.iter().map(reasons).collect())),
        ("state.json", pretty(convergence_files::state_json(state, policy, at))),
        ("scope.json", pretty(convergence_files::scope_json(policy, at))),
        (
            "stage-transition.json",
            pretty(
                raises
                    .last()
                    .map_or(Value::Null, |last| convergence_files::stage_transition_json(last.1, last.2)),
            ),
        ),
    ]))
}

/// A change of strategy: the event, what it says, and when.
type StageRaise<'a> = (Seq, &'a StageRaised, Timestamp);

fn raises<'a>(events: &'a [Event], step: &StepId) -> Vec<StageRaise<'a>> {
    let of_step = |event: &'a Event| match &event.fact {
        Fact::Concluded(Conclusion::StageRaised(raised)) if raised.step == *step => {
            Some((event.seq, raised, event.at))
        }
        _ => None,
    };
    events.iter().filter_map(of_step).collect()
}

fn history(iteration: &IterationSummary) -> Value {
    json!({"iteration": iteration.iteration, "fingerprints": iteration.fingerprints, "event": iteration.verdict})
}

fn reasons(iteration: &IterationSummary) -> Value {
    json!({
        "iteration": iteration.iteration,
        "decision": iteration.decision,
        "source": iteration.source,
        "reasons": iteration.reasons,
        "problems": iteration.problems,
        "event": iteration.verdict,
    })
}

fn page(summary: &RunSummary, step: &StepSummary, raises: &[StageRaise<'_>], short: &str) -> String {
    let run = summary.run.as_ref().map_or("", |run| run.as_str());
    let mut text = format!("# Run {run}, step {}\n\n", step.id);
    let end = step.end_sentence.as_deref().unwrap_or("not ended");
    let _infallible = writeln!(text, "{end}, after {}.", count(step.iterations.len(), "iteration"));
    for what in summary.state().last_snapshot().iter().flat_map(|snapshot| snapshot.unfinished()) {
        let _infallible = writeln!(text, "\nGit in the workspace: {}", single_line(what));
    }
    let failures = newest_failures(step);
    push_failures(&mut text, step, &failures);
    push_attempts(&mut text, step, raises);
    push_stall(&mut text, step, raises, short);
    if let Some(cause) = step.iterations.iter().rev().find_map(|iteration| iteration.diagnosis.as_ref()) {
        let _infallible = writeln!(text, "\n## What a second look found\n\n{}", fenced(cause));
    }
    push_advice(&mut text, step, raises, &failures, short);
    text
}

/// Returns what failed in the newest check of a step, each with the sentence that says since when.
pub fn current_failures(step: &StepSummary) -> impl Iterator<Item = (&FailureSummary, String)> {
    newest_failures(step).into_iter().map(|(_, failure)| (failure, since(step, &failure.fingerprint)))
}

/// Returns the fingerprints of the newest verdict of a step where no command shows what fails, each with the sentence that says
/// since when.
pub fn current_fingerprints(step: &StepSummary) -> impl Iterator<Item = (&str, String)> {
    let last = step.iterations.last().filter(|_| newest_failures(step).is_empty());
    let names = last.map_or(&[][..], |iteration| &iteration.fingerprints).iter();
    names.map(|name| {
        let has = |iteration: &&IterationSummary| iteration.fingerprints.contains(name);
        (name.as_str(), in_iterations(step.iterations.iter().filter(has), step.iterations.len()))
    })
}

/// Says in which of so many iterations something was.
fn in_iterations<'a>(there: impl Iterator<Item = &'a IterationSummary>, all: usize) -> String {
    let named: Vec<String> = there.map(|iteration| format!("#{}", iteration.iteration)).collect();
    if named.len() == all { "in every iteration".to_owned() } else { format!("in {}", named.join(", ")) }
}

/// Describes the changes of a step's iterations. Groups consecutive iterations with the same changes.
pub fn attempts(step: &StepSummary) -> Vec<(String, Vec<Iteration>)> {
    let mut all: Vec<(String, Vec<Iteration>)> = Vec::new();
    for iteration in &step.iterations {
        let what = describe_changes(iteration);
        match all.last_mut() {
            Some((last, of)) if *last == what => of.push(iteration.iteration),
            _ => all.push((what, vec![iteration.iteration])),
        }
    }
    all
}

/// Returns what failed in the newest check.
fn newest_failures(step: &StepSummary) -> Vec<(&CommandSummary, &FailureSummary)> {
    let commands = step.iterations.iter().rev().find(|iteration| !iteration.commands.is_empty());
    let commands = commands.map_or(&[][..], |iteration| &iteration.commands);
    commands.iter().flat_map(|command| std::iter::repeat(command).zip(&command.failures)).collect()
}

fn push_failures(text: &mut String, step: &StepSummary, failures: &[(&CommandSummary, &FailureSummary)]) {
    text.push_str("\n## What fails\n");
    if step.end == Some(StepEnd::Complete) {
        text.push_str("\nNothing: the step is complete.\n");
        return;
    }
    if failures.is_empty() {
        let reasons = step.iterations.last().map_or(&[][..], |iteration| &iteration.reasons);
        reasons.iter().for_each(|reason| {
            let _infallible = write!(text, "\n- {}", words(reason, NAME_MAX));
        });
        for (name, since) in current_fingerprints(step).take(SHOWN_MAX) {
            let _infallible = write!(text, "\n- **{}**: {since}", words(name, NAME_MAX));
        }
        text.push('\n');
    }
    for (command, failure) in failures.iter().take(SHOWN_MAX) {
        let place = failure.place.as_ref();
        let place =
            place.map_or_else(String::new, |place| format!(", {}", words(&place.to_string(), NAME_MAX)));
        let name = words(&failure.name, NAME_MAX);
        let _infallible = writeln!(text, "\n- **{name}**{place}: {}", since(step, &failure.fingerprint));
        let _infallible = writeln!(text, "  `{}` {}", command.run, failure.fingerprint);
        let message = failure.message.trim();
        if !message.is_empty() {
            let _infallible = writeln!(text, "\n{}", fenced(&cut(message, MESSAGE_MAX)));
        }
    }
    if failures.len() > SHOWN_MAX {
        let _infallible =
            writeln!(text, "\nand {} more, in current_failures.json", failures.len() - SHOWN_MAX);
    }
}

/// Returns the fingerprints of all failures of some commands.
fn failures_of(commands: &[CommandSummary]) -> impl Iterator<Item = &str> {
    commands.iter().flat_map(|command| &command.failures).map(|failure| failure.fingerprint.as_str())
}

/// Says when a failure was there.
fn since(step: &StepSummary, fingerprint: &str) -> String {
    let has = |commands: &[CommandSummary]| failures_of(commands).any(|name| name == fingerprint);
    let all: Vec<_> = step.iterations.iter().filter(|iteration| !iteration.commands.is_empty()).collect();
    let before = if has(&step.baseline) { "failed before the work began, and " } else { "" };
    let there = all.iter().copied().filter(|iteration| has(&iteration.commands));
    format!("{before}{}", in_iterations(there, all.len()))
}

fn push_attempts(text: &mut String, step: &StepSummary, raises: &[StageRaise<'_>]) {
    text.push_str("\n## What was tried\n\n| iteration | changed | failures | verdict |\n|---|---|---|---|\n");
    for iteration in &step.iterations {
        let mut changed = words(&describe_changes(iteration), CHANGED_CHARS_MAX);
        if !iteration.put_back.is_empty() {
            changed += &format!(
                "; put back: {}",
                words(&first(&iteration.put_back, CHANGED_MAX, 0), CHANGED_CHARS_MAX)
            );
        }
        let failures = match (iteration.failed_before, iteration.failed()) {
            (Some(before), Some(now)) => format!("{before} → {now}"),
            (None, Some(now)) => now.to_string(),
            (_, None) if iteration.decision.is_none() => "?".to_owned(),
            (_, None) => iteration.fingerprints.len().to_string(),
        };
        let stage = raises.iter().find(|(_, raise, _)| raise.iteration == iteration.iteration);
        let stage = stage.map_or_else(String::new, |(_, raise, _)| format!("; stage {} from here", raise.to));
        let why = words(iteration.why().unwrap_or_else(|| step.verdict(iteration)), WHY_MAX);
        let _infallible =
            writeln!(text, "| #{} | {changed} | {failures} | {why}{stage} |", iteration.iteration);
    }
}

/// Returns at most `most` characters of a text as one line, with Markdown escaped. Words such as paths and test names
/// stay unescaped, so that a search finds them.
fn words(text: &str, most: usize) -> String {
    let mut line = String::new();
    for c in cut(text, most).chars() {
        match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '&' => line.extend(['\\', c]),
            '~' | '#' if line.is_empty() => line.extend(['\\', c]),
            c if c.is_control() => line.push(' '),
            _ => line.push(c),
        }
    }
    line
}

/// Returns at most so many characters of a text, and says that it was longer.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Says what an iteration changed.
fn describe_changes(iteration: &IterationSummary) -> String {
    match (&iteration.diffstat, iteration.changed) {
        (Some(stat), _) => describe_diffstat(stat),
        (None, Some(false)) => "nothing".to_owned(),
        (None, Some(true)) => "no file that counts".to_owned(),
        (None, None) => "not known".to_owned(),
    }
}

/// Names the files that were changed most, with the lines that were added and removed.
fn describe_diffstat(stat: &Diffstat) -> String {
    let named = stat.files.iter().take(CHANGED_MAX).map(ToString::to_string);
    let mut text = named.collect::<Vec<_>>().join(", ");
    let more = stat.count().saturating_sub(CHANGED_MAX);
    if more > 0 {
        let _infallible = write!(text, ", and {more} more: +{} −{} in all", stat.added, stat.removed);
    }
    text
}

fn push_stall(text: &mut String, step: &StepSummary, raises: &[StageRaise<'_>], short: &str) {
    let is_stuck = matches!(step.end, Some(StepEnd::Stuck(_)));
    text.push_str(if is_stuck {
        "\n## Why it counts as stuck\n\n"
    } else {
        "\n## When the strategy was changed\n\n"
    });
    if raises.is_empty() {
        text.push_str("Never: the loop was not seen to get nowhere.\n");
        return;
    }
    for (seq, raise, _) in raises {
        let _infallible = writeln!(
            text,
            "- #{}: {} ({}), stage {} to {} (event {seq})",
            raise.iteration,
            stall(raise.cause),
            count(raise.count, "time"),
            raise.from,
            raise.to
        );
    }
    let _infallible = writeln!(
        text,
        "\nThe rules: docs/convergence.md. What another threshold would have done:\n\n    unstuck replay {short} --what-if steps.{}.convergence.stall_threshold=6",
        step.id
    );
}

fn push_advice(
    text: &mut String,
    step: &StepSummary,
    raises: &[StageRaise<'_>],
    failures: &[(&CommandSummary, &FailureSummary)],
    short: &str,
) {
    text.push_str("\n## What to try next\n\n");
    if step.end == Some(StepEnd::Complete) {
        let _infallible = writeln!(text, "    unstuck show {short}            # what was done");
        return;
    }
    let old: BTreeSet<&str> = failures_of(&step.baseline).collect();
    let is_old = |(_, failure): &(_, &FailureSummary)| old.contains(failure.fingerprint.as_str());
    let all_old = !failures.is_empty() && failures.iter().all(is_old);
    if all_old {
        text.push_str(
            "- All of these failed before the work began. If they are not what the work is about: \
             run again with `--no-new-failures` instead of `--check`.\n",
        );
    }
    let put_back: BTreeSet<&str> =
        step.iterations.iter().flat_map(|iteration| &iteration.put_back).map(String::as_str).collect();
    if !put_back.is_empty() {
        let _infallible = writeln!(
            text,
            "- What it changed out of its scope was put back each time: {}. If the task needs that, let it: `--allow` (in a \
             file `allowed_paths`).",
            words(&first(put_back, CHANGED_MAX, 0), CHANGED_CHARS_MAX)
        );
    }
    let removed =
        |last: &IterationSummary| last.fingerprints.iter().any(|fingerprint| is_tests_removed(fingerprint));
    if step.iterations.last().is_some_and(removed) {
        text.push_str(
            "- Tests are gone: put back what was removed, renamed or skipped. If they were to go, begin a new run: it takes the \
             tests as they are then.\n",
        );
    } else if let Some((_, last, _)) = raises.last() {
        text.push_str(match last.cause {
            StallCause::NoChange => {
                "- The worker changes nothing: see whether it may write here, and what it answers.\n"
            }
            StallCause::Cycle(_) => {
                "- Two demands may contradict each other: look at what each attempt broke.\n"
            }
            StallCause::Growing | StallCause::Diverging => {
                "- Go back to where it was better, and take a smaller task.\n"
            }
            StallCause::SameFailures | StallCause::PersistentFailure | StallCause::NoReasons => {
                "- The worker's idea of the cause is probably wrong: give it the one fact that it lacks.\n"
            }
        });
    }
    let _infallible = write!(
        text,
        "\n    unstuck resume {short} --add-iterations 5 --hint \"what it lacks\"\n    unstuck resume {short} --with WHO  # the same state, another worker\n    unstuck diff {short}            # what it changed\n    unstuck undo {short}@first      # the files as they were before the first iteration\n"
    );
}
