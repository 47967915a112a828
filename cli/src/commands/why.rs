//! `unstuck why`: the chain of evidence for an end, or for the latest decision.

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::{diff, run_revision, why};
use unstuck_core::diffstat::Diffstat;
use unstuck_core::id::Seq;
use unstuck_replay::{CompletionArgument, EvidenceChain, Prompt, StallRule};

use crate::args::GlobalArgs;
use crate::completion_values;
use crate::error::Result;
use crate::invocation::UNSTUCK;
use crate::run_args::RunArg;
use crate::{exit, format, progress};

/// Arguments of `unstuck why`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// The step; without it the run as a whole.
    #[arg(add = ArgValueCompleter::new(completion_values::complete_step))]
    step: Option<String>,
    /// One event, instead of the end.
    #[arg(long, value_name = "EVENT", conflicts_with = "step")]
    at: Option<u64>,
    /// Print JSON; `null` where nothing has been decided yet.
    #[arg(long)]
    json: bool,
}

/// Prints the chain.
pub fn why(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let found = project.find(&args.run.run)?;
    let events = found.events()?;
    let step = args.step.as_deref().map(|name| run_revision::known_step(&events, name)).transpose()?;
    let why = match args.at.map(Seq) {
        Some(seq) => Some(
            unstuck_replay::evidence_chain_at(&events, seq)
                .ok_or_else(|| run_revision::no_event(found.short(), run_revision::last_of(&events), seq))?,
        ),
        None => unstuck_replay::evidence_chain(&events, step.as_ref()),
    };
    if args.json {
        crate::output::print_json(&why);
    } else if let Some(why) = why {
        print(&why);
        if let Some(prompt) = &why.prompt {
            println!("{}", next_activity(prompt));
        }
        if let Some(seq) = why.went_on {
            println!("the run went on after it (event {seq})");
        }
        let short = found.short();
        match (&why.stall, &why.completion) {
            (Some(rule), _) => println!("{}", question(rule, short)),
            (None, Some(argument)) => {
                let changed = diff::in_all(project.runs(), &found.started(&events)?, &events);
                println!("{}", support(argument, changed.as_ref(), short));
            }
            (None, None) => println!("\nnext: {UNSTUCK} events {short}    {UNSTUCK} replay {short} --step"),
        }
    } else {
        println!("nothing has been decided yet\n\nnext: {UNSTUCK} events {}", found.short());
    }
    Ok(exit::OK)
}

/// Names the rule of a stall, and the command that tries another threshold.
fn question(rule: &StallRule, short: &str) -> String {
    let StallRule { step, key, count, threshold, .. } = rule;
    let (what, times) = if count > threshold { ("better", "3 x ") } else { ("new", "") };
    let origin = why::origin(rule);
    let key = key.map(|key| format!("; key {}", &key.to_string()[..12])).unwrap_or_default();
    let line = format!(
        "rule: nothing {what} {count} times in a row; the limit is {times}{threshold} = stall_threshold of {step}, {origin}{key}"
    );
    let line = format::wrap(&line, format::width(), 6);
    let next = format!(
        "{UNSTUCK} replay {short} --what-if steps.{step}.convergence.stall_threshold={}",
        threshold + 1
    );
    format!("{line}\n\nnext: {next}")
}

/// Says what supports a complete verdict and what does not, and names the command that tries a stricter policy.
fn support(argument: &CompletionArgument, changed: Option<&Diffstat>, short: &str) -> String {
    let none = || vec!["nothing".to_owned()];
    let changed = match changed {
        Some(changed) => format!("{}: {UNSTUCK} diff {short}", progress::diffstat_text(changed)),
        None => "no file, or it is not known which".to_owned(),
    };
    let rows = [
        ("checked", if argument.checked.is_empty() { none() } else { argument.checked.clone() }),
        ("not checked", argument.unchecked.clone()),
        ("changed", vec![changed]),
    ];
    let row = |(name, lines): (&'static str, Vec<String>)| {
        lines.into_iter().map(move |line| format!("{name:<12} {}", format::wrap(&line, format::width(), 13)))
    };
    let rows: Vec<String> = rows.into_iter().flat_map(row).collect();
    let next = match argument.requires_change {
        true => format!("{UNSTUCK} replay {short} --reparse"),
        false => format!("{UNSTUCK} replay {short} --what-if steps.{}.require_change=true", argument.step),
    };
    format!("{}\n\nnext: {next}", rows.join("\n"))
}

/// Says what the worker was asked because of the decision.
fn next_activity(prompt: &Prompt) -> String {
    let from = match &prompt.templates[..] {
        [] => "the built-in text".to_owned(),
        files => files.join(", "),
    };
    let line = format!("then the worker was asked (event {}), with {from}", prompt.seq);
    format::wrap(&line, format::width(), 2)
}

fn print(why: &EvidenceChain) {
    for link in &why.links {
        let indent = link.depth * 2;
        let head = format!("{}{:<9}", " ".repeat(indent), format!("event {}", link.seq));
        println!("{head} {}", format::wrap(&link.what, format::width(), format::columns(&head) + 1));
        if link.depth > 0 || link.evidence.is_empty() {
            continue;
        }
        println!("{}because of", " ".repeat(indent + 2));
    }
}
