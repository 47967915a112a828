//! One file for each command.

pub mod answer;
pub mod artifacts;
pub mod check;
pub mod checkout;
pub mod completions;
pub mod detach;
pub mod diff;
pub mod doctor;
pub mod events;
pub mod export;
pub mod gc;
pub mod guard;
pub mod import;
pub mod init;
pub mod kick;
pub mod man;
pub mod probe;
pub mod replay;
pub mod report;
pub mod resume;
pub mod run;
pub mod runs;
pub mod show;
pub mod stop;
pub mod undo;
pub mod verdict;
pub mod verify;
pub mod why;
pub mod workers;

use crate::args::{Args, Command};
use crate::error::{Error, Result};

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
        Some(Command::Man(args)) => man::man(&args),
        Some(Command::Guard(args)) => guard::guard(&args),
    }
}
