//! The command `unstuck`: arguments in, words and exit status out.

/// The standard macros panic where nobody reads any more (`unstuck runs | head -1`). These do not: the
/// work goes on, and the exit status says what it would have said.
macro_rules! print {
    ($($text:tt)*) => { $crate::say(&mut std::io::stdout(), format_args!($($text)*)) };
}
macro_rules! println {
    () => { print!("\n") };
    ($($text:tt)*) => { print!("{}\n", format_args!($($text)*)) };
}
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::say(&mut std::io::stderr(), format_args!("{}\n", format_args!($($text)*))) };
}

mod args;
mod branches;
mod commands;
mod error;
mod exit;
mod project;
mod screen;
mod text;

use std::fmt;
use std::io::{self, IsTerminal as _, Write};
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
            eprintln!("{error}");
            exit::code(i32::from(error.status()))
        }
    }
}

fn say(out: &mut dyn Write, text: fmt::Arguments<'_>) {
    let _nobody_may_listen = out.write_fmt(text);
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
    let filter = EnvFilter::try_from_env("UNSTUCK_LOG")
        .unwrap_or_else(|_| EnvFilter::new(format!("{level},sled=off")));
    let colours =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr);
    log.with_ansi(colours).with_target(false).init();
}
