//! Drives a run to its end and shows it. Used for new runs, resumed runs and answered runs.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use clap::builder::BoolishValueParser;
use tokio::sync::watch;
use unstuck_app::drive::{self, Drive, Interrupt, RunListener, Terms};
use unstuck_app::error::hint_for;
use unstuck_app::known_secrets;
use unstuck_app::notify::{RunEndNotice, notify};
use unstuck_app::resume::ReadyRun;
use unstuck_replay::RunSummary;

use crate::error::{self, AppError, Result};
use crate::progress::{self, OutputMode, ProgressReporter};
use crate::run_args::BranchArgs;
use crate::summary_file::SummaryFile;
use crate::{exit, format, invocation, output_queue, platform};

/// The options of commands that drive a run.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DriveOptions {
    /// Print the log as JSON lines, and a summary as the last line.
    #[arg(long)]
    pub json: bool,
    /// Print only the end.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Also print what the workers and checks print; -v does so, too.
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    stream: bool,
    /// Write the summary to this file as well, as JSON.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    #[arg(skip)]
    summary_file: OnceLock<Arc<SummaryFile>>,
    /// Variables whose values of at least six bytes are secrets, in addition to those found by name.
    #[arg(long = "secret", value_name = "NAME", env = "UNSTUCK_SECRETS", value_delimiter = ',', value_parser = variable_name)]
    pub secrets: Vec<String>,
    /// Share the baseline with other runs of the same commands and files.
    ///
    /// Tools, services and ignored directories are assumed to be the same, too.
    #[arg(long, env = "UNSTUCK_REUSE_BASELINE", value_parser = BoolishValueParser::new())]
    reuse_baseline: bool,
    /// The rules about branches.
    #[command(flatten)]
    pub branches: BranchArgs,
}

impl DriveOptions {
    /// Returns the same for the use cases.
    pub fn terms(&self) -> Terms {
        let driving = drive::DriveSettings {
            secrets: Vec::new(),
            reuse_baseline: self.reuse_baseline,
            is_verbose: invocation::is_verbose(),
        };
        Terms { driving: driving.with_secrets(&self.secrets), branches: self.branches.wishes() }
    }

    /// Finds out before the first step, not after the last: whether it can be written, and what it is that was asked for. A
    /// worker may put anything in its place later.
    pub fn summary_can_be_written(&self) -> Result<()> {
        let Some(path) = self.summary.as_ref().filter(|_| self.summary_file.get().is_none()) else {
            return Ok(());
        };
        let file = SummaryFile::find(path).map_err(|error| {
            AppError::usage(format!("cannot write the summary to {}: {error}", path.display()))
        })?;
        let _found_before = self.summary_file.set(Arc::new(file));
        Ok(())
    }

    /// Writes the summary to the file that was asked for.
    fn write_summary(&self, summary: &serde_json::Value) -> Result<()> {
        let Some((path, file)) = self.summary.as_ref().zip(self.summary_file.get()) else { return Ok(()) };
        file.write(&known_secrets::redact(format!("{summary:#}\n").as_bytes())).map_err(|error| {
            AppError::damaged(format!("cannot write the summary to {}: {error}", path.display()))
        })
    }

    /// Returns how the run is shown.
    pub fn mode(&self) -> OutputMode {
        match (self.json, self.quiet) {
            (true, _) => OutputMode::Json,
            (_, true) => OutputMode::Quiet,
            _ if self.stream || invocation::is_verbose() => OutputMode::Stream,
            _ => OutputMode::Plain,
        }
    }
}

/// The text about a run before it is driven.
pub struct DisplayState {
    /// Text printed when the run has begun.
    pub header: String,
    /// Summary of the events that are already in the log.
    pub before: RunSummary,
}

/// Drives a run to its end and reports it.
pub fn drive(
    options: &DriveOptions,
    driving: &drive::DriveSettings,
    drive: Drive,
    shown: DisplayState,
) -> Result {
    options.summary_can_be_written()?;
    output_queue::install();
    let lines = drive.runs.as_ref().map(|runs| runs.lines(&drive.run));
    let screen = Arc::new(ProgressReporter::new(options.mode(), lines, shown.header, shown.before));
    ProgressReporter::give_life_signs(&screen);
    let runtime = check_free_descriptors()
        .and_then(|()| tokio::runtime::Builder::new_current_thread().enable_all().build())
        .map_err(|error| {
            AppError::usage(format!("cannot start: {error}"))
                .hint(format!("{}, then try again", hint_for(&error)))
        })?;
    // The guard also covers the notify command.
    let _guard = drive.guard();
    let short = drive.short.clone();
    let driven = runtime.block_on(async {
        let listener = Arc::clone(&screen) as Arc<dyn RunListener>;
        drive.run_to_end(driving, listener, listen_to_signals(&screen)).await
    });
    let story = screen.finish();
    let driven = driven?;
    let status = exit::status_of(driven.ended.outcome);
    let summary = progress::end_json(&story, false);
    if options.json {
        crate::output::print_json_line(&summary);
    } else {
        let (changed, diagnosis) = (driven.diffstat(), driven.diagnosis.as_deref());
        println!("\n{}", progress::end(&story, &short, changed.as_ref(), diagnosis));
    }
    let end = RunEndNotice {
        story: &story,
        ended: &driven.ended,
        status,
        next: progress::next(&story, &short).into_iter().next().map(|(command, _)| command),
        summary: format!("{summary}\n"),
    };
    if let Some(note) = runtime.block_on(notify(end, &driving.redactor())) {
        eprintln!("note: {note}");
    }
    let status = u8::try_from(status).unwrap_or(1);
    Ok(match options.write_summary(&summary) {
        Ok(()) => status,
        // The run has ended as it has: that is not hidden behind what could not be written about it.
        Err(error) => {
            eprintln!("{}", error::in_columns(&error, format::width()));
            if status == exit::OK { exit::STORE } else { status }
        }
    })
}

/// Drives a run that was taken up again.
pub fn resume(options: &DriveOptions, ready: ReadyRun) -> Result {
    let ReadyRun { drive, driving, started, before, notes } = ready;
    let mut header = format!("run {} · {} in {}", drive.short, started.workflow.name, started.workspace);
    for note in notes {
        header.push_str(&format!("\n  note     {}", invocation::command_line(&note)));
    }
    self::drive(options, &driving, drive, DisplayState { header, before })
}

/// Reads the name of a variable; what is none would protect nothing.
fn variable_name(text: &str) -> std::result::Result<String, String> {
    let name = text.trim();
    match name.find(|c: char| c.is_whitespace() || c == '=') {
        Some(_) => {
            Err("expected names of variables, with commas between (--secret or UNSTUCK_SECRETS)".to_owned())
        }
        None => Ok(name.to_owned()),
    }
}

/// Looks whether there are descriptors: what listens to signals panics where it gets none.
fn check_free_descriptors() -> io::Result<()> {
    const DESCRIPTORS: usize = 8;
    let room: io::Result<Vec<File>> = (0..DESCRIPTORS).map(|_| File::open(platform::NULL_DEVICE)).collect();
    room.map(drop)
}

/// The first Ctrl-C, termination or loss of the terminal stops the run in order, the second at once.
fn listen_to_signals(screen: &Arc<ProgressReporter>) -> watch::Receiver<Option<Interrupt>> {
    let (send, receive) = watch::channel(None);
    let screen = Arc::clone(screen);
    // Before any worker is started.
    platform::on_interrupt(move |signal| {
        let is_again = send.borrow().is_some();
        screen.note(if is_again { "killing ..." } else { "stopping ... again to kill" });
        send.send_modify(|last| *last = Some(Interrupt { signal, now: last.is_some() }));
    });
    receive
}
