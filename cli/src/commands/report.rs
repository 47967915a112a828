//! `unstuck report`: a run on one screen, or as one file for a browser.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use unstuck_app::report::{collect, of_log};
use unstuck_app::{diff, known_secrets};
use unstuck_files::output_file::{self, Existing};

use crate::args::GlobalArgs;
use crate::error::{AppError, Result};
use crate::run_args::RunArg;
use crate::{exit, format, invocation, report};

/// Arguments of `unstuck report`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    unstuck report                          the last run: iterations, and which failures were there when\n  \
    unstuck report 7c1f --html night.html   one file with the diffs, prompts and the diagnosis; no network\n  \
    unstuck report 7c1f --html - | less     the same to standard output\n  \
    unstuck report --md | gh pr comment -F - the end, a row for each iteration, and the evidence\n  \
    unstuck report --json | jq '.steps[].iterations[] | [.iteration, .failed]'")]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Write one self-contained HTML file, - for standard output, instead of a screen.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print Markdown, to paste into a pull request.
    #[arg(long, conflicts_with = "html")]
    md: bool,
    /// Print JSON.
    #[arg(long, conflicts_with_all = ["html", "md"])]
    json: bool,
}

/// Reports the run.
pub fn report(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let found = project.find(&args.run.run)?;
    let (events, error) = found.valid_events()?;
    // A file outlives the other runs that make a short name unique.
    let name = if args.html.is_some() || args.md { found.entry.run.as_str() } else { found.short() };
    let mut page = match &error {
        Some(error) if events.is_empty() => return Err(found.unreadable(error)),
        _ => found.started(&events).map(|_| of_log(&events, name, found.is_live()))?,
    };
    for (command, _) in &mut page.next {
        *command = invocation::command_line(command);
    }
    match &args.html {
        Some(file) => write(file, &report::html(&collect(page, &project, &found, &events)?))?,
        None if args.md => {
            let changed = diff::in_all(project.runs(), &found.started(&events)?, &events);
            println!("{}", report::markdown(&page, changed.as_ref()));
        }
        None if args.json => crate::output::print_json(&report::json(&page)),
        None => println!("{}", report::terminal(&page, found.short(), format::width())),
    }
    match error {
        Some(error) => Err(found.unreadable(&error)),
        None => Ok(exit::OK),
    }
}

fn write(file: &Path, html: &str) -> Result<()> {
    if file.as_os_str() == "-" {
        crate::output_queue::check_written(
            io::stdout().lock().write_all(&known_secrets::redact(html.as_bytes())),
        );
        return Ok(());
    }
    output_file::write(file, &known_secrets::redact(html.as_bytes()), Existing::Replace)
        .map_err(|error| AppError::usage(format!("cannot write to {}: {error}", file.display())))?;
    println!("{}", file.display());
    Ok(())
}
