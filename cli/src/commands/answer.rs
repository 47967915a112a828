//! `unstuck answer`: what a blocked run needs.

use clap_complete::engine::ArgValueCompleter;
use unstuck_core::Event;
use unstuck_core::event::AnswerGiven;
use unstuck_core::id::StepId;
use unstuck_replay::Story;
use unstuck_runner::open::TakeUp;

use crate::args::{self, Global};
use crate::commands::resume;
use crate::driving::{self, Driving};
use crate::error::{Error, Result};
use crate::half_typed;
use crate::project::{Project, RunArg};
use crate::{moment, screen};

/// Arguments of `unstuck answer`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, the beginning of it, or @last.
    #[arg(add = ArgValueCompleter::new(half_typed::run))]
    run: String,
    /// The answer; goes into the next prompt, and into that of a judge.
    #[arg(value_parser = args::words)]
    text: String,
    /// The step that it is for, where several are blocked. May be given again, for one answer to several.
    #[arg(long = "step", value_name = "STEP")]
    steps: Vec<String>,
    /// How the run is shown.
    #[command(flatten)]
    driving: Driving,
}

/// Records the answer and goes on.
pub fn answer(global: &Global, args: Args) -> Result {
    let project = Project::open(global)?;
    let found = project.find(&RunArg { run: args.run })?;
    let log = driving::mend(&project, &found);
    let events = found.begun()?;
    let steps = asked(&events, &args.steps, found.short())?;
    let how = TakeUp::Answer(AnswerGiven { text: args.text, steps });
    // Whoever answers may have done in the workspace what was needed.
    resume::take_up(&project, &found, log, &events, &args.driving, how, true)
}

/// Returns the steps that an answer is for. Each of several blocked steps waits for an answer of its own: what one
/// of them needs to know may mislead another.
fn asked(events: &[Event], named: &[String], short: &str) -> Result<Vec<StepId>> {
    let story = Story::of(events);
    let blocked: Vec<&StepId> = story.state().blocked().map(|(step, _)| step).collect();
    let steps = named.iter().map(|name| moment::known_step(events, name)).collect::<Result<Vec<_>>>()?;
    let other = steps.iter().find(|step| !blocked.contains(step));
    let what = match (other, &blocked[..]) {
        (_, []) => return Ok(steps),
        (Some(other), _) => format!("step {other} does not wait for an answer"),
        (None, [_, _, ..]) if steps.is_empty() => {
            format!("{} steps wait for an answer, each for its own", blocked.len())
        }
        (None, _) => return Ok(steps),
    };
    let commands: Vec<String> = screen::answers(&story, short)
        .into_iter()
        .map(|(command, needs)| format!("{command}  ({needs})"))
        .collect();
    Err(Error::usage(what).hint(commands.join("    ")))
}
