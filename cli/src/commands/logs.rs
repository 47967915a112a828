//! `unstuck logs`: what the agent and the check said.

use std::time::Duration;

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::logs::{LogReader, Said, Speaker};
use unstuck_app::run_revision::{self, Revision};
use unstuck_app::workers;
use unstuck_core::RunState;
use unstuck_core::id::Iteration;

use crate::args::GlobalArgs;
use crate::error::{AppError, Result};
use crate::invocation::UNSTUCK;
use crate::{completion_values, exit, format};

/// Arguments of `unstuck logs`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, or an iteration of the last run, such as 3.
    #[arg(value_name = "RUN", default_value = "@last", add = ArgValueCompleter::new(completion_values::complete_run))]
    run: String,
    /// One iteration of it; 0 is the check before the work.
    iteration: Option<String>,
    /// Follow the run until it ends.
    #[arg(short, long)]
    follow: bool,
    /// Show what the agent said.
    #[arg(long)]
    agent: bool,
    /// Show what the check printed.
    #[arg(long)]
    check: bool,
    /// Show the prompt of the agent.
    #[arg(long)]
    prompt: bool,
}

/// How often a live log is looked at.
const POLL: Duration = Duration::from_millis(200);

impl Args {
    /// Returns whether this is wanted: without an option, the agent and the check.
    fn wants(&self, by: Speaker) -> bool {
        let is_any = self.agent || self.check || self.prompt;
        match by {
            Speaker::Agent => self.agent || !is_any,
            Speaker::Check => self.check || !is_any,
            Speaker::Prompt => self.prompt,
        }
    }
}

/// Prints what was said.
pub fn logs(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let (run, iteration) = run_revision::run_and_iteration(&args.run, args.iteration.as_deref())?;
    let wanted = iteration.map(Revision::iteration).transpose()?;
    let found = project.find(run)?;
    let mut reader = found.log()?.follow().map_err(|error| found.unreadable(&error))?;
    let clients = workers::load_clients(&global.place().directory()?)?;
    let mut log = LogReader::new(found.log()?.blobs(), clients);
    let (mut state, mut last) = (RunState::default(), Iteration(0));
    loop {
        let events = reader.poll().map_err(|error| found.unreadable(&error))?;
        let idle = events.is_empty();
        for event in events {
            state = state.evolve(&event);
            for said in log.read(&event) {
                last = last.max(said.iteration);
                if args.wants(said.by) && wanted.is_none_or(|wanted| wanted == said.iteration) {
                    print(&said);
                }
            }
        }
        if idle && (!args.follow || state.outcome().is_some() || !found.is_live()) {
            break;
        }
        if idle {
            std::thread::sleep(POLL);
        }
    }
    let short = found.short();
    match wanted.filter(|wanted| *wanted > last) {
        Some(wanted) => {
            Err(AppError::usage(format!("run {short} has no iteration {wanted}; its last is {last}"))
                .hint(format!("{UNSTUCK} show {short}")))
        }
        None => Ok(exit::OK),
    }
}

fn print(said: &Said) {
    let who = match said.by {
        Speaker::Prompt => "prompt",
        Speaker::Agent => "agent",
        Speaker::Check => "check",
    };
    let command = if said.command.is_empty() { String::new() } else { format!("  {}", said.command) };
    println!("{}{command}", format::bold(&format!("== {} #{} {who}", said.step, said.iteration)));
    let text = said.text.trim_end();
    if !text.is_empty() {
        println!("{text}");
    }
}
