//! The command `unstuck`: arguments in, words and exit status out.

mod args;
mod branches;
mod commands;
mod error;
mod exit;
mod project;
mod screen;
mod text;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::args::Args;

fn main() -> ExitCode {
    clap_complete::CompleteEnv::with_factory(Args::command).complete();
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return refused(&error),
    };
    log_to_stderr(args.global.verbose);
    match commands::run(args) {
        Ok(status) => exit::code(i32::from(status)),
        Err(error) => {
            let _nobody_may_listen = writeln!(io::stderr(), "{error}");
            exit::code(i32::from(error.status()))
        }
    }
}

/// Shows help and version as a success, wrong arguments as bad usage.
fn refused(error: &clap::Error) -> ExitCode {
    let _nobody_may_listen = error.print();
    if error.use_stderr() { exit::code(i32::from(exit::USAGE)) } else { exit::code(i32::from(exit::OK)) }
}

/// Diagnostics of the program itself, which are not the event log, go to standard error.
fn log_to_stderr(verbose: bool) {
    use tracing_subscriber::EnvFilter;
    let level = if verbose { "info" } else { "warn" };
    // The engine says on its own what opening says better.
    let filter = EnvFilter::try_from_env("UNSTUCK_LOG").unwrap_or_else(|_| EnvFilter::new(format!("{level},sled=off")));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false).init();
}
