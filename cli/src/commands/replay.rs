//! `unstuck replay`: decides a recorded run again, and compares.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::PathBuf;

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::replay::{ExpectedEnd, RecordedRun};
use unstuck_app::{replay, run_revision};
use unstuck_core::id::Seq;
use unstuck_core::state::StepPhase;
use unstuck_core::{Conclusion, Event, RunState};
use unstuck_replay::{DecisionMismatch, DeterminismReport, RecomputedBatch, RunComparison, WhatIf};

use crate::args::GlobalArgs;
use crate::completion_values::complete_run;
use crate::error::Result;
use crate::invocation::UNSTUCK;
use crate::{exit, format};

/// Arguments of `unstuck replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    unstuck replay @last --what-if steps.implement.max_iterations=3\n  \
    unstuck replay run.jsonl --expect stuck@48")]
pub struct Args {
    /// The run: its id, the beginning of it, @last, or an exported file.
    #[arg(value_name = "RUN|FILE.jsonl", default_value = "@last", add = ArgValueCompleter::new(complete_run))]
    run: String,
    /// Stop after this event, and show where the run stood.
    #[arg(long, value_name = "EVENT")]
    to: Option<u64>,
    /// Print the state after each decision; Enter continues.
    #[arg(long)]
    step: bool,
    /// Decide as if the workflow had had this value; may be given more than once.
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["to", "step"])]
    what_if: Vec<String>,
    /// Read what failed from the recorded outputs and reports of check commands again, with this version, and decide on
    /// that. What conditions found stays as it was recorded.
    #[arg(long = "reparse", alias = "read-again", conflicts_with_all = ["to", "step"])]
    read_again: bool,
    /// Exit with 1 unless it ends like this when it is decided again, such as complete, out-of-time or stuck@48.
    #[arg(long, value_name = "END", conflicts_with_all = ["to", "step"])]
    expect: Option<ExpectedEnd>,
    /// Compare with another run; without a name with the run that this one was forked from.
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["to", "step", "what_if", "read_again", "expect"])]
    against: Option<String>,
    /// Print JSON.
    #[arg(long, conflicts_with = "step")]
    json: bool,
}

/// Replays the run.
pub fn replay(global: &GlobalArgs, args: &Args) -> Result {
    let found = if RecordedRun::is_file(&args.run) {
        RecordedRun::Exported(PathBuf::from(&args.run))
    } else {
        RecordedRun::Kept(Box::new(global.project()?.find(&args.run)?))
    };
    if let Some(other) = &args.against {
        return against(global, &found, other, args.json);
    }
    if args.step {
        return step(&found, args.to.map(Seq));
    }
    if !args.what_if.is_empty() || args.read_again || args.expect.is_some() {
        return what_if(&found, args);
    }
    let recheck = replay::recheck(&found, args.to.map(Seq))?;
    if args.json {
        crate::output::print_json(&serde_json::json!({
            "run": run_of(&found), "events": recheck.events, "decisions": recheck.decisions,
            "first_difference": recheck.first_difference, "state": recheck.state,
        }));
    } else {
        println!(
            "run {}: {} folded, the chain is unbroken",
            found.name(),
            format::count(recheck.events, "event")
        );
        print_comparison(&recheck, |at| found.command_to_show(at));
        print_state(&recheck.state);
    }
    Ok(if recheck.first_difference.is_none() { exit::OK } else { exit::DIFFERENT })
}

/// Says what a run shares with another one, and how both ended.
fn against(global: &GlobalArgs, found: &RecordedRun, other: &str, is_json: bool) -> Result {
    let other = Some(other).filter(|other| !other.is_empty());
    let (name, comparison) = replay::against(&global.project()?, found, other)?;
    let RunComparison { shared, one, other } = &comparison;
    if is_json {
        crate::output::print_json(
            &serde_json::json!({ "run": run_of(found), "against": name, "comparison": comparison }),
        );
        return Ok(exit::OK);
    }
    match shared.0 {
        0 => println!("runs {name} and {} share no events", found.name()),
        _ => println!("runs {name} and {} share events 1 to {shared}", found.name()),
    }
    for (name, run) in [(&name, one), (&found.name(), other)] {
        let next = run.next.as_deref().unwrap_or("no more events");
        println!("  {name}  then: {}", format::wrap(next, format::width(), 14));
        let end = run.outcome.map_or("not ended", |outcome| outcome.as_str());
        let iterations = format::count(run.iterations as u64, "iteration");
        println!("        end: {end} after {iterations}, event {}", run.last);
    }
    Ok(exit::OK)
}

/// Says whether decisions are the same today.
pub fn print_comparison(recheck: &DeterminismReport, show: impl Fn(Seq) -> String) {
    match &recheck.first_difference {
        None => {
            println!("{} taken again: all the same", format::count(recheck.decisions, "decision"))
        }
        Some(difference) => {
            println!("the decision about event {} would be another one today", difference.at);
            print_difference(difference);
            println!("next: {UNSTUCK} {}", show(difference.at));
        }
    }
}

fn print_difference(difference: &DecisionMismatch) {
    println!("  recorded");
    print_conclusions(&difference.recorded, difference.at);
    println!("  now");
    match &difference.now {
        RecomputedBatch::Concludes(conclusions) => print_conclusions(conclusions, difference.at),
        RecomputedBatch::Refuses(why) => println!("    refused: {why}"),
    }
}

fn print_conclusions(conclusions: &[Conclusion], at: Seq) {
    if conclusions.is_empty() {
        println!("    nothing");
    }
    for conclusion in conclusions {
        let event = Event { seq: at, at: unstuck_core::id::Timestamp(0), fact: conclusion.clone().into() };
        println!("    {}", format::wrap(&unstuck_replay::describe(&event), format::width(), 6));
    }
}

fn print_state(state: &RunState) {
    for (step, at) in state.steps() {
        let phase = match &at.phase {
            StepPhase::Pending => "not begun".to_owned(),
            StepPhase::WorkDue => "a worker is due".to_owned(),
            StepPhase::Working(_) => "a worker is in flight".to_owned(),
            StepPhase::CheckDue => "a check is due".to_owned(),
            StepPhase::Checking(_) => "a check is in flight".to_owned(),
            StepPhase::Waiting { until, .. } => format!("waits until {}", format::timestamp(*until)),
            StepPhase::Ended(end) => unstuck_replay::sentence_of_end(end),
        };
        let bound = step.check.as_ref().map(|_| format!(" of {}", state.max_iterations(step, at)));
        let stands = format!("iteration {}{}: {phase}", at.iteration(), bound.unwrap_or_default());
        println!("  {:<12} {}", step.id, format::wrap(&stands, format::width(), 15));
    }
    match state.outcome() {
        Some(outcome) => println!("  run          {}", format::colored_outcome(outcome)),
        None => println!("  run          has not ended"),
    }
}

/// Goes through the run one batch at a time.
fn step(found: &RecordedRun, to: Option<Seq>) -> Result {
    let (mut state, mut known) = (RunState::default(), Seq(0));
    for batch in replay::batches(found)? {
        let batch = batch?;
        for event in &batch.events {
            let text = unstuck_replay::describe(event);
            println!("{:>5}  {}", event.seq, format::wrap(&text, format::width(), 7));
        }
        state = batch.events.iter().fold(state, RunState::evolve);
        print_state(&state);
        let last = run_revision::last_of(&batch.events);
        if to.is_some_and(|to| last >= to) || !go_on() {
            return Ok(exit::OK);
        }
        known = last;
    }
    to.map_or(Ok(exit::OK), |to| Err(found.no_event(known, to)))
}

/// Waits for Enter if standard input is a terminal.
fn go_on() -> bool {
    if !io::stdin().is_terminal() {
        return true;
    }
    println!("-- Enter goes on, q ends --");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).is_ok_and(|read| read > 0) && line.trim() != "q"
}

fn what_if(found: &RecordedRun, args: &Args) -> Result {
    let changes = &args.what_if;
    let answer = replay::what_if(found, changes, args.read_again)?;
    if args.json {
        crate::output::print_json(
            &serde_json::json!({ "run": run_of(found), "what_if": changes, "answer": answer }),
        );
    } else {
        let again = args.read_again.then(|| "what failed read again".to_owned());
        print_answer(&answer, &changes.iter().cloned().chain(again).collect::<Vec<_>>());
    }
    let Some(expected) = &args.expect else { return Ok(exit::OK) };
    let is_met = expected.is_met(&answer);
    if !is_met {
        let end =
            ExpectedEnd::from_answer(&answer).map_or_else(|| "not known".to_owned(), |end| end.to_string());
        eprintln!("expected {expected}, but the end is {end}");
    }
    Ok(if is_met { exit::OK } else { exit::DIFFERENT })
}

/// Returns the run for JSON: its id, or the file.
fn run_of(found: &RecordedRun) -> String {
    match found {
        RecordedRun::Kept(found) => found.entry.run.to_string(),
        RecordedRun::Exported(_) => found.name(),
    }
}

fn print_answer(answer: &WhatIf, changes: &[String]) {
    if !changes.is_empty() {
        println!("with {}:", changes.join(", "));
    }
    match &answer.first_difference {
        None => println!("every decision would have been the same"),
        Some(difference) => {
            println!("the first decision that differs is the one about event {}", difference.at);
            print_difference(difference);
        }
    }
    println!("the evidence carries to event {}", answer.evidence_until);
    if let Some(why) = &answer.evidence_ends {
        println!("and ends there: {why}");
    }
    if let Some(seq) = answer.asked_otherwise {
        println!(
            "the worker of event {seq} would have been asked something else, so it might have done something else"
        );
    }
    if let Some(what) = &answer.not_looked_at {
        println!(
            "nobody looked at {what}: had the worker changed one, it would have been told to put it back"
        );
    }
    let word = |outcome: Option<unstuck_core::event::RunOutcome>| {
        outcome.map_or("not known", |outcome| outcome.as_str())
    };
    println!("end: recorded {}, then {}", word(answer.recorded_outcome), word(answer.outcome));
}
