//! `unstuck check --explore`: what the loops of a workflow can come to.

use serde::Serialize;
use unstuck_core::cost;
use unstuck_core::duration::spoken;
use unstuck_core::id::Stage;
use unstuck_core::plural::count;
use unstuck_core::workflow::Workflow;
use unstuck_replay::{Contradiction, End, Explored, contradictions};
use unstuck_workflow::workflow_file::{self, Loaded};

use crate::error::Result;
use crate::{exit, text};
use unstuck_app::workers;

/// What is printed, also as JSON.
#[derive(Serialize)]
struct Report {
    name: String,
    steps: Vec<Explored>,
    /// What the run may spend at most, but for the rest of the call that passes it; `None` where nothing bounds it.
    micro_usd_max: Option<u64>,
    #[serde(skip)]
    cost: String,
    contradictions: Vec<Placed>,
}

/// A contradiction, and where its key stands.
#[derive(Serialize)]
struct Placed {
    line: Option<u32>,
    key: String,
    what: String,
}

impl Placed {
    fn new(file: &[u8], Contradiction { step, key, what }: Contradiction) -> Self {
        let keys: Vec<&str> = ["steps", step.as_str()].into_iter().chain(key.split('.')).collect();
        Self { line: workflow_file::line_of(file, &keys), key: keys.join("."), what }
    }
}

/// Prints what each step can come to.
pub fn explore(loaded: &Loaded, json: bool) -> Result {
    let steps = unstuck_replay::explore(&loaded.workflow);
    let bytes = std::fs::read(&loaded.path).unwrap_or_default();
    let contradictions =
        contradictions(&loaded.workflow, &steps).into_iter().map(|it| Placed::new(&bytes, it)).collect();
    let workflow = &loaded.workflow;
    let (name, micro_usd_max) = (workflow.name.clone(), workflow.budget.micro_usd);
    let report = Report { name, steps, micro_usd_max, cost: cost(workflow), contradictions };
    if json {
        crate::print_json(&report);
    } else {
        report.print(&loaded.path.file_name().unwrap_or_default().to_string_lossy());
    }
    Ok(exit::OK)
}

/// Says what all of it can cost: only a bound of the workflow can say so, since nobody knows what a call will take.
fn cost(workflow: &Workflow) -> String {
    match workflow.budget.micro_usd {
        Some(most) => {
            format!("cost at most {} (max_usd), and the rest of the call that passes it", cost::dollars(most))
        }
        None if workers::permissions(workflow).is_empty() => "no client that is paid for".to_owned(),
        None => "nothing bounds the cost (max_usd does)".to_owned(),
    }
}

impl Report {
    fn print(&self, file: &str) {
        println!("{}: what each step can come to, played against the rules that a run goes by", self.name);
        for step in &self.steps {
            println!("\n{}", step.step);
            print_step(step);
        }
        let calls = self.steps.iter().fold(0_u64, |sum, it| sum.saturating_add(it.worst.worker_calls));
        println!(
            "\n{}",
            text::wrap(
                &format!("all steps: at most {}; {}", count(calls, "worker call"), self.cost),
                text::width(),
                2
            )
        );
        for Placed { line, key, what } in &self.contradictions {
            let place = line.map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
            println!("warning: {place}: {key}: {what}");
        }
    }
}

fn print_step(step: &Explored) {
    let worst = &step.worst;
    let mut parts = vec![count(worst.iterations, "iteration"), count(worst.worker_calls, "worker call")];
    if worst.checks > 0 {
        parts.push(count(worst.checks, "check"));
    }
    if worst.command_runs > 0 {
        parts.push(count(worst.command_runs, "command run"));
    }
    parts.push(spoken(worst.wall_time_ms));
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
    println!("  {what:<10} {}", text::wrap(text, text::width(), INDENT));
}

fn stages(stages: &[Stage]) -> String {
    let numbers: Vec<String> = stages.iter().map(ToString::to_string).collect();
    if let [one] = &numbers[..] { format!("stage {one}") } else { format!("stages {}", numbers.join(", ")) }
}

/// Says how it ends, and what leads there; what repeats is counted.
fn sentence(end: &End) -> String {
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
