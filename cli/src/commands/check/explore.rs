//! `unstuck check --explore`: prints the maximum cost and the possible ends of the loops of a workflow.

use unstuck_app::workflows::{CheckedWorkflow, Exploration, LocatedConflict};
use unstuck_core::duration::format_duration;
use unstuck_core::id::Stage;
use unstuck_core::plural::count;
use unstuck_replay::{ReachableEnd, StepExploration};

use crate::error::Result;
use crate::{exit, format};

/// Prints the limits and the possible ends of each step.
pub fn explore(checked: &CheckedWorkflow, json: bool) -> Result {
    let exploration = checked.explore();
    if json {
        crate::output::print_json(&exploration);
    } else {
        print(&exploration);
    }
    Ok(exit::OK)
}

fn print(exploration: &Exploration) {
    println!("{}: what each step can come to, played against the rules that a run goes by", exploration.name);
    for step in &exploration.steps {
        println!("\n{}", step.step);
        print_step(step);
    }
    let calls = exploration.steps.iter().fold(0_u64, |sum, step| sum.saturating_add(step.worst.worker_calls));
    println!(
        "\n{}",
        format::wrap(
            &format!("all steps: at most {}; {}", count(calls, "worker call"), exploration.cost),
            format::width(),
            2
        )
    );
    for LocatedConflict { line, key, what } in &exploration.contradictions {
        let place =
            line.map_or_else(|| exploration.file.clone(), |line| format!("{}:{line}", exploration.file));
        println!("warning: {place}: {key}: {what}");
    }
}

fn print_step(step: &StepExploration) {
    let worst = &step.worst;
    let mut parts = vec![count(worst.iterations, "iteration"), count(worst.worker_calls, "worker call")];
    if worst.checks > 0 {
        parts.push(count(worst.checks, "check"));
    }
    if worst.command_runs > 0 {
        parts.push(count(worst.command_runs, "command run"));
    }
    parts.push(format_duration(worst.wall_time_ms));
    say("at most", &parts.join(", "));
    say("workers in", &stages(&step.stages));
    if !step.unreached_stages.is_empty() {
        say("never", &format!("a worker in {}", stages(&step.unreached_stages)));
    }
    for (at, end) in step.ends.iter().enumerate() {
        say(if at == 0 { "ends" } else { "" }, &sentence(end));
    }
    let search = &step.search;
    let played = count(search.iterations_played, "iteration");
    let states = count(search.states, "state");
    let cut = if search.is_cut {
        format!(
            "; all histories of up to {}, of longer ones only those that lead to a stall soonest, or repeat one or two things",
            count(search.complete_to, "iteration")
        )
    } else {
        String::new()
    };
    say("looked at", &format!("{played} played, {states}{cut}"));
}

fn say(what: &str, text: &str) {
    const INDENT: usize = 13;
    println!("  {what:<10} {}", format::wrap(text, format::width(), INDENT));
}

fn stages(stages: &[Stage]) -> String {
    let numbers: Vec<String> = stages.iter().map(ToString::to_string).collect();
    if let [one] = &numbers[..] { format!("stage {one}") } else { format!("stages {}", numbers.join(", ")) }
}

/// Says how it ends, and what leads there; what repeats is counted.
fn sentence(end: &ReachableEnd) -> String {
    let mut runs: Vec<(&str, u32)> = Vec::new();
    for letter in &end.history {
        match runs.last_mut() {
            Some((last, count)) if *last == letter.as_str() => *count += 1,
            _ => runs.push((letter.as_str(), 1)),
        }
    }
    let runs = runs.into_iter().map(|(letter, count)| match count {
        1 => letter.to_owned(),
        _ => format!("{letter} ({count} times)"),
    });
    let history = runs.collect::<Vec<_>>().join(", ");
    let why =
        if end.why.eq_ignore_ascii_case(end.outcome) { String::new() } else { format!(": {}", end.why) };
    let history = if end.goes_on { format!("{history}, and so on to its bound") } else { history };
    let after = if history.is_empty() { String::new() } else { format!(" · after {history}") };
    format!("{}{why}{after}", end.outcome)
}
