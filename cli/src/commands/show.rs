//! `unstuck show`: a run on one screen.

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::run_handle::RunHandle;
use unstuck_app::run_revision::{self, Revision};
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::RunOutcome;
use unstuck_core::id::{Iteration, Millis, StepId, Timestamp};
use unstuck_core::{Event, RunState};
use unstuck_replay::{IterationSummary, RunSummary, StepSummary};

use super::runs::{so_far, waiting};
use crate::args::GlobalArgs;
use crate::error::{AppError, Result};
use crate::invocation::UNSTUCK;
use crate::{completion_values, exit, format, progress};

/// Arguments of `unstuck show`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or an iteration of the last run, such as 3.
    #[arg(value_name = "RUN", default_value = "@last", add = ArgValueCompleter::new(completion_values::complete_run))]
    run: String,
    /// One iteration of it.
    iteration: Option<String>,
    /// Print JSON.
    #[arg(long, conflicts_with = "iteration")]
    json: bool,
}

/// Shows the run.
pub fn show(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let (run, iteration) = run_revision::run_and_iteration(&args.run, args.iteration.as_deref())?;
    let iteration = iteration.map(Revision::iteration).transpose()?;
    let found = project.find(run)?;
    let (events, error) = found.valid_events()?;
    if events.is_empty() {
        return Err(error.map_or_else(|| found.no_first_event(), |error| found.unreadable(&error)));
    }
    let story = RunSummary::from_events(&events);
    if let Some(iteration) = iteration {
        print_iteration(&found, &story, iteration)?;
    } else if args.json {
        crate::output::print_json(&progress::end_json(&story, found.is_live()));
    } else {
        let is_complete = story.outcome == Some(RunOutcome::Complete);
        let started = found.started(&events).ok().filter(|_| is_complete);
        let changed =
            started.and_then(|started| unstuck_app::diff::in_all(project.runs(), &started, &events));
        print(&found, &story, &events, changed.as_ref());
    }
    match error {
        Some(error) => Err(found.unreadable(&error)),
        None => Ok(exit::OK),
    }
}

fn print(found: &RunHandle, story: &RunSummary, events: &[Event], changed: Option<&Diffstat>) {
    // Waits of steps matter only while the run is open.
    let state = story.outcome.is_none().then(|| RunState::of(events));
    let head = format!("run {} · {} in {}", found.short(), story.workflow, story.workspace);
    println!(
        "{}",
        format::wrap(&head, format::width(), 2).replacen(found.short(), &format::bold(found.short()), 1)
    );
    println!(
        "started {} · {}",
        format::timestamp_with_zone(story.started_at),
        format::count(story.last_seq.0, "event")
    );
    for step in &story.steps {
        let open = match (step.iterations.is_empty(), &state) {
            (true, None) => "not begun".to_owned(),
            (true, Some(state)) => not_begun(state, &step.id),
            (false, None) => "not finished when the run ended".to_owned(),
            (false, Some(_)) => "under way".to_owned(),
        };
        let end = step.end_sentence.as_ref().unwrap_or(&open);
        println!(
            "\n{}  {}",
            format::bold(step.id.as_str()),
            format::wrap(end, format::width(), step.id.as_str().len() + 2)
        );
        for iteration in &step.iterations {
            println!("  {}", row(step, iteration));
        }
    }
    println!();
    match story.outcome {
        Some(_) => println!("{}", progress::end(story, found.short(), changed, None)),
        None if found.is_live() => {
            let (now, spent) = (format::now(), progress::spent(story));
            if let Some(pid) = found.stopped_supervisor() {
                println!("{}", format::wrap(&format::stopped_process(pid), format::width(), 2));
            }
            println!("{}", running(story.waits().as_ref(), so_far(story, now), &spent, found.short(), now));
        }
        None => println!(
            "INTERRUPTED: its supervisor is gone since {}{}\nnext: {UNSTUCK} resume {}",
            format::relative_time(story.last_at, format::now()),
            progress::spent(story),
            found.short()
        ),
    }
    println!("more: {UNSTUCK} report {}", found.short());
}

/// Prints an iteration of each step that has it.
fn print_iteration(found: &RunHandle, story: &RunSummary, number: Iteration) -> Result<()> {
    let short = found.short();
    let of_step =
        |step: &StepSummary| step.iterations.iter().position(|iteration| iteration.iteration == number);
    let with: Vec<_> = story.steps.iter().filter_map(|step| Some((step, of_step(step)?))).collect();
    if with.is_empty() {
        let last = story.iterations().map(|(_, iteration)| iteration.iteration).max().unwrap_or(Iteration(0));
        return Err(AppError::usage(format!("run {short} has no iteration {number}; its last is {last}"))
            .hint(format!("{UNSTUCK} show {short}")));
    }
    for (step, at) in with {
        let iteration = &step.iterations[at];
        println!("{}  {}", format::bold(step.id.as_str()), row(step, iteration));
        println!("  started   {}", format::timestamp_with_zone(iteration.started_at));
        if let Some(stat) = &iteration.diffstat {
            println!("  changed   {}", progress::diffstat_text(stat));
        }
        for reason in iteration.reasons.iter().chain(&iteration.problems) {
            println!("  why       {}", format::wrap(reason, format::width(), 12));
        }
        for failure in iteration.commands.iter().flat_map(|command| &command.failures) {
            println!("  fails     {}", format::wrap(&failure.name, format::width(), 12));
        }
    }
    println!("next:");
    for (command, what) in [("logs", "what the agent and the check said"), ("diff", "what it changed")] {
        println!("  {:<40} {what}", format!("{UNSTUCK} {command} {short} {number}"));
    }
    Ok(())
}

/// Says what a step waits for before it begins.
fn not_begun(state: &RunState, id: &StepId) -> String {
    let Some((step, _)) = state.step(id) else { return "not begun".to_owned() };
    let others: Vec<&str> = state.waits_for(step).into_iter().map(StepId::as_str).collect();
    match &others[..] {
        [] => "not begun".to_owned(),
        others if step.is_exclusive() => {
            format!("not begun: it works alone, and waits for {}", others.join(", "))
        }
        others => format!("not begun: it waits for {}", others.join(", ")),
    }
}

/// Says how long a run has been at work and what it has `spent`, or until when it waits, and what can be done.
fn running(
    waits: Option<&(Timestamp, String)>,
    took: Millis,
    spent: &str,
    short: &str,
    now: Timestamp,
) -> String {
    let so_far = format!("running, for {} so far{spent}", format::duration(took));
    match waits.filter(|(until, _)| *until > now) {
        Some(waits) => {
            let said = format::wrap(&waiting(waits, now), format::width(), 2);
            format!("{so_far}\n{said}\nnext: {UNSTUCK} retry {short}")
        }
        None => format!("{so_far}\nnext: {UNSTUCK} events {short} -f"),
    }
}

fn row(step: &StepSummary, iteration: &IterationSummary) -> String {
    let decision = step.verdict(iteration);
    let why = iteration.why().map_or_else(String::new, |why| format!(": {why}"));
    let at = iteration.verdict.map_or_else(String::new, |seq| format!("  event {seq}"));
    let calls = iteration.worker_calls.max(1);
    let attempts = if calls > 1 { format!(" ({})", format::count(calls, "attempt")) } else { String::new() };
    let raised = iteration.raised_to.map_or_else(String::new, |stage| format!("  → stage {stage}"));
    let bound = if step.has_loop { format!("of {:<3} ", step.max_iterations) } else { String::new() };
    let head = format!("#{:<3} {bound}{}  ", iteration.iteration, format::clock(iteration.busy));
    let room =
        format::width().saturating_sub(format::columns(&head) + at.len() + raised.len() + attempts.len() + 4);
    format!("{head}{}{attempts}{raised}{at}", format::cut(&format!("{decision}{why}"), room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_waits_says_until_when_and_how_to_try_now() {
        let at = |hour: u64| Timestamp(hour * 3_600_000);
        let waits = (at(9), "limit reached: resets 9am".to_owned());
        for (now, expected) in [
            (
                at(8),
                "running, for 60 min so far\nwaits until 1970-01-01 09:00:00 (in 60 min): limit reached: resets 9am\nnext: unstuck retry 9d20",
            ),
            (at(10), "running, for 3 h so far\nnext: unstuck events 9d20 -f"),
        ] {
            assert_eq!(running(Some(&waits), now.since(at(7)), "", "9d20", now), expected);
        }
        assert_eq!(
            running(None, at(8).since(at(7)), ", cost unknown", "9d20", at(8)),
            "running, for 60 min so far, cost unknown\nnext: unstuck events 9d20 -f"
        );
    }
}
