//! The commands, one file for each.

mod answer;
mod artifacts;
mod check;
mod checkout;
mod completions;
mod detach;
mod diff;
mod doctor;
mod events;
mod export;
mod gc;
mod guard;
mod import;
mod init;
mod kick;
mod man;
mod probe;
mod replay;
mod report;
mod resume;
mod run;
mod runs;
mod show;
mod stop;
mod undo;
mod verdict;
mod verify;
mod why;
mod workers;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::args::Global;
use crate::error::{Error, Result};

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

/// Runs the command that was asked for.
pub fn run(args: Args) -> Result {
    let Args { global, json, command } = args;
    match command {
        None => runs::overview(&global, json),
        Some(_) if json => Err(Error::usage("--json stands behind the command that it is for")
            .hint("unstuck COMMAND --json    or, for what ran here: unstuck --json")),
        Some(Command::Init(args)) => init::init(&global, &args),
        Some(Command::Run(args)) => run::run(&global, *args),
        Some(Command::Runs(args)) => runs::runs(&global, &args),
        Some(Command::Show(args)) => show::show(&global, &args),
        Some(Command::Report(args)) => report::report(&global, &args),
        Some(Command::Events(args)) => events::events(&global, &args),
        Some(Command::Why(args)) => why::why(&global, &args),
        Some(Command::Replay(args)) => replay::replay(&global, &args),
        Some(Command::Verify(args)) => verify::verify(&global, &args),
        Some(Command::Resume(args)) => resume::resume(&global, args),
        Some(Command::Kick(args)) => kick::kick(&global, &args),
        Some(Command::Stop(args)) => stop::stop(&global, &args),
        Some(Command::Answer(args)) => answer::answer(&global, args),
        Some(Command::Doctor(args)) => doctor::doctor(&global, &args),
        Some(Command::Gc(args)) => gc::gc(&global, &args),
        Some(Command::Undo(args)) => undo::undo(&global, &args),
        Some(Command::Checkout(args)) => checkout::checkout(&global, &args),
        Some(Command::Diff(args)) => diff::diff(&global, &args),
        Some(Command::Artifacts(args)) => artifacts::artifacts(&global, &args),
        Some(Command::Export(args)) => export::export(&global, &args),
        Some(Command::Import(args)) => import::import(&global, &args),
        Some(Command::Check(args)) => check::check(&global, &args),
        Some(Command::Verdict(args)) => verdict::verdict(&args),
        Some(Command::Probe(args)) => probe::probe(&global, &args),
        Some(Command::Workers(args)) => workers::workers(&global, &args),
        Some(Command::Completions(args)) => completions::completions(&args),
        Some(Command::Man(args)) => man::man(&args, Args::command()),
        Some(Command::Guard(args)) => guard::guard(&args),
    }
}
