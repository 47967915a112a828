//! The arguments that all commands share, and the list of commands.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    answer, artifacts, check, checkout, completions, diff, doctor, events, export, gc, guard, import, init,
    kick, man, probe, replay, report, resume, run, runs, show, stop, undo, verdict, verify, why, workers,
};

/// Supervises loops of coding agents.
///
/// Decides from evidence whether the work is complete, sends back the right next prompt when it is not,
/// and stops with a reason. Everything it sees and decides is an event in a log, so that any run can be
/// resumed, replayed and explained.
///
/// Without a command: what ran here, and what needs a person first.
#[derive(Debug, Parser)]
#[command(name = "unstuck", version, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 complete, 1 not complete, 2 limit reached, 3 stuck, 4 blocked on a person,\n\
    5 worker or check failed, 6 event store, 64 bad input or usage, 130/143 interrupted."
)]
pub struct Args {
    /// What all commands take.
    #[command(flatten)]
    pub global: Global,
    /// Print what ran here as JSON, as `runs --json` does.
    #[arg(long)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Args {
    /// Takes an empty variable for one that is not set.
    pub fn with_defaults(mut self) -> Self {
        self.global.store = self.global.store.filter(|store| !store.is_empty());
        self
    }
}

/// What all commands take.
#[derive(Clone, Debug, clap::Args)]
pub struct Global {
    /// Work in this folder instead of the current one.
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Where runs are kept: sled:PATH or memory: [default: the state folder of this project].
    #[arg(long, global = true, value_name = "URL", env = "UNSTUCK_STORE")]
    pub store: Option<String>,
    /// Say more about what the program itself does; workers are told with VERBOSE=1.
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Take over a run that was detached; how it begins is read on standard input.
    #[arg(long, hide = true)]
    pub detached: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a workflow with validators and prompts that follow from the files of the project.
    Init(init::Args),
    /// Run a workflow file, or a goal with a worker and checks.
    Run(Box<run::Args>),
    /// List runs, the ones that need a person first.
    #[command(visible_alias = "status")]
    Runs(runs::Args),
    /// Show a run: its steps, iterations and verdicts.
    Show(show::Args),
    /// Report a run: iterations, verdicts and failures over time, on a screen or as one HTML file.
    Report(report::Args),
    /// Print the events of a run, and follow them.
    Events(events::Args),
    /// Explain the end of a run, or the latest decision, by its evidence.
    Why(why::Args),
    /// Decide a recorded run again; step through it; ask what another policy would have done.
    Replay(replay::Args),
    /// Check the whole log of a run: chain, payloads, mirror and decisions.
    Verify(verify::Args),
    /// Go on with a run that crashed, was interrupted or reached a limit.
    Resume(resume::Args),
    /// Try now what a run waits for: do not wait until a limit ends.
    Kick(kick::Args),
    /// Stop a run as Ctrl-C does: its record is finished; twice: at once.
    Stop(stop::Args),
    /// Answer what a blocked run needs, and go on.
    Answer(answer::Args),
    /// Put the files of the workspace back to what they were before an iteration.
    Undo(undo::Args),
    /// Write the workspace as it was at an event to a folder of its own.
    Checkout(checkout::Args),
    /// Show what an iteration, or the whole run, changed.
    Diff(diff::Args),
    /// Look for what is missing, locked, left over or damaged, and say what mends it.
    Doctor(doctor::Args),
    /// Forget old runs, with their snapshots.
    Gc(gc::Args),
    /// Say what fails, since when, what was tried, and what to try next.
    Artifacts(artifacts::Args),
    /// Write a run as JSON lines.
    Export(export::Args),
    /// Read a run that was exported.
    Import(import::Args),
    /// Check a workflow file and print its plan.
    Check(check::Args),
    /// Give a verdict from inside a worker or checker.
    Verdict(verdict::Args),
    /// List the workers that are known: installed or not, logged in, what they may do, how they are called.
    Workers(workers::Args),
    /// Try one piece alone.
    Probe(probe::Args),
    /// Print a script that completes arguments in your shell.
    Completions(completions::Args),
    /// Write man pages.
    Man(man::Args),
    /// End what is left of a run when its supervisor dies. Started by the supervisor.
    #[command(hide = true)]
    Guard(guard::Args),
}

impl Command {
    /// Says whether the command does work, and does not only tell.
    pub fn works(&self) -> bool {
        matches!(
            self,
            Self::Run(_) | Self::Resume(_) | Self::Kick(_) | Self::Stop(_) | Self::Answer(_) | Self::Undo(_)
        )
    }
}

/// Takes text that says something, without the blanks around it. A command that is blank would succeed whatever is there.
pub fn words(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() { Err("it is blank".to_owned()) } else { Ok(text.to_owned()) }
}

/// Reads an amount of money: `2.50`; in millionths of a US dollar, above zero.
pub fn usd(text: &str) -> Result<u64, String> {
    unstuck_core::cost::micro_usd(text)
        .filter(|micro_usd| *micro_usd > 0)
        .ok_or_else(|| "expected an amount of US dollars above 0, such as 2.50".to_owned())
}
