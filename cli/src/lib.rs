//! The command `unstuck`: arguments in, words and exit status out.
//!
//! A program can add a store, which `--store` then names by its scheme:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     unstuck::run(unstuck::Stores::default().with("mine", |url| Ok(unstuck_store_sled::at(url.path()?))))
//! }
//! ```

/// The standard macros panic if the reader of a pipe is gone (`unstuck runs | head -1`). These macros do not: the
/// work continues, and the exit status is unchanged. See [`output_queue::is_output_lost`] for other write errors.
macro_rules! print {
    ($($text:tt)*) => { $crate::output::say($crate::output_queue::StdStream::Out, format_args!($($text)*)) };
}
macro_rules! println {
    () => { print!("\n") };
    ($($text:tt)*) => { print!("{}\n", format_args!($($text)*)) };
}
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::say($crate::output_queue::StdStream::Err, format_args!("{}\n", format_args!($($text)*))) };
}

mod args;
mod commands;
mod completion_values;
mod error;
mod exit;
mod format;
mod invocation;
mod output;
mod output_queue;
mod platform;
mod progress;
mod report;
mod run_args;
mod run_driver;
mod summary_file;
mod terminal;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser as _};

pub use unstuck_app::stores::Stores;

use crate::commands::Args;

/// Runs the command that the arguments of this process give, with these stores, and returns the exit status.
pub fn run(stores: Stores) -> ExitCode {
    invocation::know(stores);
    platform::tune_allocator();
    completion_values::init(Args::command);
    clap_complete::CompleteEnv::with_factory(Args::command).complete();
    let args = match Args::try_parse() {
        Ok(args) => args.with_defaults(),
        Err(error) => return refused(error),
    };
    log_to_stderr(args.global.verbose);
    invocation::init(&args.global);
    platform::ignore_sigxfsz();
    let works = args.command.as_ref().is_some_and(|command| command.changes_state());
    let ended = commands::run(args);
    let status = match ended {
        // Lost output does not change the status of a command that drives a run.
        Ok(exit::OK) if !works && output_queue::is_output_lost() => {
            eprintln!(
                "error: not all of the output could be written\n  next: make room where it is written to, and ask again"
            );
            exit::code(i32::from(exit::STORE))
        }
        Ok(status) => exit::code(i32::from(status)),
        Err(error) => {
            let columns = if io::stderr().is_terminal() { format::width() } else { usize::MAX };
            eprintln!("{}", error::in_columns(&error, columns));
            exit::code(i32::from(error::status(&error)))
        }
    };
    output_queue::finish();
    status
}

/// Shows help and version as a success, wrong arguments as bad usage.
fn refused(mut error: clap::Error) -> ExitCode {
    leave_out_far_suggestion(&mut error);
    let _nobody_may_listen = error.print();
    if error.use_stderr() { exit::code(i32::from(exit::USAGE)) } else { exit::code(i32::from(exit::OK)) }
}

/// Keeps the suggestion of an option only for a likely typo, and never suggests to accept permissions.
fn leave_out_far_suggestion(error: &mut clap::Error) {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.trim_start_matches('-').to_owned()),
        _ => None,
    };
    let (Some(typed), Some(near)) = (text(ContextKind::InvalidArg), text(ContextKind::SuggestedArg)) else {
        return;
    };
    if near == "yes" || unstuck_app::nearest(&typed, [near.as_str()].into_iter()).is_none() {
        error.remove(ContextKind::SuggestedArg);
    }
}

/// Diagnostics of the program itself, which are not the event log, go to standard error.
fn log_to_stderr(verbose: bool) {
    use tracing_subscriber::EnvFilter;
    let level = if verbose { "info" } else { "warn" };
    // The engine says on its own what opening says better.
    let said = std::env::var_os("UNSTUCK_LOG").filter(|value| !value.is_empty());
    let given = said.as_ref().map(|said| EnvFilter::try_new(said.to_str().unwrap_or("=")));
    let is_unread = given.as_ref().is_some_and(Result::is_err);
    let filter = given.and_then(Result::ok).unwrap_or_else(|| EnvFilter::new(format!("{level},sled=off")));
    let colors = io::stderr().is_terminal() && format::colors_supported();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| output_queue::Log);
    // Where standard error is gone, there is nowhere to say that either.
    log.with_ansi(colors).with_target(false).log_internal_errors(false).init();
    if let Some(said) = said.filter(|_| is_unread) {
        tracing::warn!(
            "the variable UNSTUCK_LOG is {said:?}, which is no filter; such as: export UNSTUCK_LOG=debug"
        );
    }
}
