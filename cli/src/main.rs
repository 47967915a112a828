//! The command `unstuck`: arguments in, words and exit status out.

/// The standard macros panic where nobody reads any more (`unstuck runs | head -1`). These do not: the
/// work goes on, and the exit status says what it would have said. See [`OUTPUT_LOST`] for other trouble.
macro_rules! print {
    ($($text:tt)*) => { $crate::say($crate::outlet::Stream::Out, format_args!($($text)*)) };
}
macro_rules! println {
    () => { print!("\n") };
    ($($text:tt)*) => { print!("{}\n", format_args!($($text)*)) };
}
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::say($crate::outlet::Stream::Err, format_args!("{}\n", format_args!($($text)*))) };
}

mod args;
mod commands;
mod driving;
mod error;
mod exit;
mod half_typed;
mod logins;
mod outlet;
mod place;
mod report;
mod screen;
mod summary_file;
mod system;
mod text;
mod typed;
mod version;

use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{CommandFactory as _, Parser as _};
use serde::Serialize;

use crate::args::Args;
use crate::outlet::Stream;

fn main() -> ExitCode {
    system::give_large_blocks_back();
    clap_complete::CompleteEnv::with_factory(Args::command).complete();
    let args = match Args::try_parse() {
        Ok(args) => args.with_defaults(),
        Err(error) => return refused(&error),
    };
    log_to_stderr(args.global.verbose);
    typed::remember(&args.global);
    system::outlive_a_limit_of_file_size();
    let works = args.command.as_ref().is_some_and(|command| command.works());
    let ended = commands::run(args);
    let status = match ended {
        // The status of a run is about the run, whoever reads about it.
        Ok(exit::OK) if !works && OUTPUT_LOST.load(Ordering::Relaxed) => {
            eprintln!(
                "error: not all of the output could be written\n  next: make room where it is written to, and ask again"
            );
            exit::code(i32::from(exit::STORE))
        }
        Ok(status) => exit::code(i32::from(status)),
        Err(error) => {
            let columns = if io::stderr().is_terminal() { text::width() } else { usize::MAX };
            eprintln!("{}", error::in_columns(&error, columns));
            exit::code(i32::from(error::status(&error)))
        }
    };
    outlet::finish();
    status
}

/// Something could not be written although somebody would have read it: a full disk, for instance.
static OUTPUT_LOST: AtomicBool = AtomicBool::new(false);

fn say(to: Stream, text: fmt::Arguments<'_>) {
    print_to(to, text::shown(&text.to_string()).as_bytes());
}

fn print_to(to: Stream, bytes: &[u8]) {
    let bytes = &*unstuck_app::known_secrets::removed(bytes);
    if outlet::send(to, bytes) {
        return;
    }
    wrote(match to {
        Stream::Out => io::stdout().write_all(bytes),
        Stream::Err => io::stderr().write_all(bytes),
    });
}

/// Prints what others may have written: byte for byte where it is read on, and for the eye on a terminal.
fn print_exactly(bytes: &[u8]) {
    if io::stdout().is_terminal() {
        say(Stream::Out, format_args!("{}", String::from_utf8_lossy(bytes)));
    } else {
        print_to(Stream::Out, bytes);
    }
}

/// Prints data for scripts.
fn print_json(value: &impl Serialize) {
    let text = serde_json::to_string_pretty(value).expect("what is printed is plain data");
    print_exactly(format!("{text}\n").as_bytes());
}

/// The same on one line.
fn print_json_line(value: &serde_json::Value) {
    print_exactly(format!("{value}\n").as_bytes());
}

/// Remembers a failed write to an output. Returns whether it is worth writing more.
fn wrote(result: io::Result<()>) -> bool {
    let lost = result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
    OUTPUT_LOST.fetch_or(lost, Ordering::Relaxed);
    result.is_ok()
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
    let said = std::env::var_os("UNSTUCK_LOG").filter(|it| !it.is_empty());
    let given = said.as_ref().map(|said| EnvFilter::try_new(said.to_str().unwrap_or("=")));
    let is_unread = given.as_ref().is_some_and(Result::is_err);
    let filter = given.and_then(Result::ok).unwrap_or_else(|| EnvFilter::new(format!("{level},sled=off")));
    let colours = io::stderr().is_terminal() && text::may_be_coloured();
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| outlet::Log);
    // Where standard error is gone, there is nowhere to say that either.
    log.with_ansi(colours).with_target(false).log_internal_errors(false).init();
    if let Some(said) = said.filter(|_| is_unread) {
        tracing::warn!(
            "the variable UNSTUCK_LOG is {said:?}, which is no filter; such as: export UNSTUCK_LOG=debug"
        );
    }
}
