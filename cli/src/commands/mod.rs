//! The commands, one file for each.

mod answer;
mod check;
mod checkout;
mod completions;
mod config;
mod debug;
mod detach;
mod diagnose;
mod diff;
mod doctor;
mod done;
mod events;
mod export;
mod fork;
mod gc;
mod import;
mod init;
mod logs;
mod man;
mod reap;
mod replay;
mod report;
mod resume;
mod retry;
mod run;
mod runs;
mod show;
mod stop;
mod undo;
mod verdict;
mod verify;
mod wait;
mod why;
mod workers;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::args::GlobalArgs;
use crate::error::{AppError, Result};

/// Supervises loops of coding agents.
///
/// Decides from evidence whether the work is complete, sends back the right next prompt when it is not,
/// and stops with a reason. Everything it sees and decides is an event in a log, so that any run can be
/// resumed, replayed and explained.
///
/// Without a command, the recent runs are listed: those at work first, then those that need a person.
#[derive(Debug, Parser)]
#[command(name = "unstuck", version, max_term_width = 100)]
#[command(
    after_help = "Exit status: 0 complete, 1 not complete, 2 limit reached, 3 stuck, 4 blocked on a person,\n\
    5 worker or check failed, 6 event store, 64 bad input or usage, 130/143 interrupted."
)]
pub struct Args {
    /// The options of all commands.
    #[command(flatten)]
    pub global: GlobalArgs,
    /// Print the recent runs as JSON, as `runs --json` does.
    #[arg(long)]
    pub json: bool,
    /// List the runs of all projects, as `runs --all` does.
    #[arg(short, long)]
    pub all: bool,
    /// The command.
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
    /// Write a workflow file for this project.
    Init(init::Args),
    /// Run a workflow file or a goal.
    Run(Box<run::Args>),
    /// List runs: those at work first, then those that need a person.
    #[command(visible_alias = "status", aliases = ["list", "ls", "ps"])]
    Runs(runs::Args),
    /// Show the steps, iterations and verdicts of a run.
    Show(show::Args),
    /// Report the failures of a run over time, also as HTML.
    Report(report::Args),
    /// Print what the agent and the check said, of the whole run or of an iteration.
    #[command(alias = "log")]
    Logs(logs::Args),
    /// Print or follow the events of a run.
    Events(events::Args),
    /// Explain a decision of a run by its evidence.
    Why(why::Args),
    /// Decide a recorded run again, or with another policy.
    Replay(replay::Args),
    /// Check the log of a run for damage.
    Verify(verify::Args),
    /// Resume a run that crashed, was stopped or hit a limit.
    #[command(alias = "continue")]
    Resume(resume::Args),
    /// Retry at once instead of waiting for a limit to end.
    #[command(alias = "kick")]
    Retry(retry::Args),
    /// Stop a running run, as Ctrl-C does; twice to stop at once.
    #[command(aliases = ["cancel", "kill"])]
    Stop(stop::Args),
    /// Wait for the end of a run, and exit with its status.
    Wait(wait::Args),
    /// Leave a run out of the overview.
    Done(done::Args),
    /// Answer a blocked run and resume it.
    Answer(answer::Args),
    /// Start a new run that shares the events of another up to one of them.
    Fork(fork::Args),
    /// Restore the files from before an iteration.
    Undo(undo::Args),
    /// Write the workspace of an event to a new directory.
    Checkout(checkout::Args),
    /// Show the changes of an iteration or of the run.
    Diff(diff::Args),
    /// Find problems of this machine and project, with fixes.
    Doctor(doctor::Args),
    /// Remove old runs and their snapshots.
    Gc(gc::Args),
    /// Diagnose a run: failures, attempts, next steps.
    #[command(alias = "artifacts")]
    Diagnose(diagnose::Args),
    /// Write a run as JSON lines.
    Export(export::Args),
    /// Import an exported run, or convert a loop of another tool.
    Import(import::Args),
    /// Check a workflow file and print its plan.
    #[command(alias = "validate")]
    Check(check::Args),
    /// Give a verdict from inside a worker or checker.
    Verdict(verdict::Args),
    /// Show the defaults of `run`, and the files that they come from.
    Config(config::Args),
    /// List workers, their logins and permissions.
    Workers(workers::Args),
    /// Run one part of a run alone.
    #[command(alias = "probe")]
    Debug(debug::Args),
    /// Print a completion script for your shell.
    Completions(completions::Args),
    /// Write man pages.
    Man(man::Args),
    /// End the processes of a run whose supervisor has died. Started by the supervisor.
    #[command(alias = "guard", hide = true)]
    Reap(reap::Args),
}

impl Command {
    /// Returns whether the command changes a run, and does not only print.
    pub fn changes_state(&self) -> bool {
        matches!(
            self,
            Self::Run(_)
                | Self::Resume(_)
                | Self::Fork(_)
                | Self::Retry(_)
                | Self::Stop(_)
                | Self::Wait(_)
                | Self::Answer(_)
                | Self::Undo(_)
        )
    }
}

/// Runs the command that was asked for.
pub fn run(args: Args) -> Result {
    let Args { global, json, all, command } = args;
    match command {
        None => runs::overview(&global, json, all),
        Some(_) if all => Err(AppError::usage("--all is about the list of runs").hint("unstuck runs --all")),
        Some(_) if json => Err(AppError::usage("--json must follow the command that it is for")
            .hint("unstuck COMMAND --json    or, for the recent runs: unstuck --json")),
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
        Some(Command::Fork(args)) => fork::fork(&global, args),
        Some(Command::Retry(args)) => retry::retry(&global, &args),
        Some(Command::Logs(args)) => logs::logs(&global, &args),
        Some(Command::Stop(args)) => stop::stop(&global, &args),
        Some(Command::Config(args)) => config::config(&global, &args),
        Some(Command::Done(args)) => done::done(&global, &args),
        Some(Command::Wait(args)) => wait::wait(&global, &args),
        Some(Command::Answer(args)) => answer::answer(&global, args),
        Some(Command::Doctor(args)) => doctor::doctor(&global, &args),
        Some(Command::Gc(args)) => gc::gc(&global, &args),
        Some(Command::Undo(args)) => undo::undo(&global, &args),
        Some(Command::Checkout(args)) => checkout::checkout(&global, &args),
        Some(Command::Diff(args)) => diff::diff(&global, &args),
        Some(Command::Diagnose(args)) => diagnose::diagnose(&global, &args),
        Some(Command::Export(args)) => export::export(&global, &args),
        Some(Command::Import(args)) => import::import(&global, &args),
        Some(Command::Check(args)) => check::check(&global, &args),
        Some(Command::Verdict(args)) => verdict::verdict(&args),
        Some(Command::Debug(args)) => debug::debug(&global, &args),
        Some(Command::Workers(args)) => workers::workers(&global, &args),
        Some(Command::Completions(args)) => completions::completions(&args),
        Some(Command::Man(args)) => man::man(&args, Args::command()),
        Some(Command::Reap(args)) => reap::reap(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_foreign_names_are_hidden_aliases() {
        let parse = |line: &str| {
            let args = Args::try_parse_from(line.split_whitespace()).map(|args| format!("{args:?}"));
            args.map_err(|error| error.to_string())
        };
        for (old, new) in [
            ("kick @last", "retry @last"),
            ("artifacts", "diagnose"),
            ("probe verdict", "debug verdict"),
            ("validate f.yaml", "check f.yaml"),
            ("list -n 3", "runs --limit 3"),
            ("ls --number 3", "runs --limit 3"),
            ("status", "runs"),
            ("ps", "runs"),
            ("cancel @last", "stop @last"),
            ("continue @last", "resume @last"),
            ("log -f", "logs -f"),
            ("run x --test t --verify u -n 3", "run x --check t --check u --max-iterations 3"),
            ("run x --timeout 5m --budget 5", "run x --max-time 5m --max-usd 5"),
            ("run x --claim", "run x --trust-worker"),
            ("run x --agent codex --judge claude", "run x --with codex --reviewer claude"),
            ("run x --worker codex", "run x --with codex"),
            ("run x --no-worse t", "run x --no-new-failures t"),
            ("run x --wrap t --wrap-checks=false", "run x --wrapper t --wrap-checks=false"),
            ("run x --observations 3", "run x --check-attempts 3"),
            ("run x --iterations 3", "run x --max-iterations 3"),
            ("run x --keep-session", "run x --continue-session"),
            ("resume --accept-drift --agent codex", "resume --accept-changes --with codex"),
            ("replay --read-again", "replay --reparse"),
            ("workers codex --acknowledge", "workers codex --trust"),
            ("import p.md --out -", "import p.md -o -"),
        ] {
            let (old, new) = (parse(&format!("unstuck {old}")), parse(&format!("unstuck {new}")));
            assert!(new.is_ok(), "{new:?}");
            assert_eq!(old, new);
        }
    }
}
