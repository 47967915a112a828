//! Drives a run to its end, and shows it: the same for a run that begins, one that is taken up, and one that goes on
//! with an answer.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::builder::BoolishValueParser;
use tokio::sync::watch;
use unstuck_core::Event;
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::{RunOutcome, RunStarted, StepEnd};
use unstuck_core::id::{Digest, RunId, Seq};
use unstuck_core::workflow::Step;
use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_files::private_dir::PrivateDir;
use unstuck_process::ProcessSpec;
use unstuck_process::redact::Redactor;
use unstuck_replay::Story;
use unstuck_runner::open::{self, Ended, Site};
use unstuck_runner::workspace::make_again;
use unstuck_runner::{Interrupt, Watcher};
use unstuck_store::run_log::RunLog;
use unstuck_store::store::{InMemory, Store};
use unstuck_store_sled::SledStore as Runs;
use unstuck_workspace::context_dir::CONVERGENCE;
use unstuck_workspace::snapshot::Snapshots;

use crate::branches::{BranchArgs, Branches};
use crate::commands::{artifacts, diff, guard, notify, verify};
use crate::error::{Error, Result};
use crate::explained::{explained, of_snapshots};
use crate::project::{Found, Project};
use crate::screen::{self, Mode, Screen};
use crate::summary_file::SummaryFile;
use crate::{exit, known_secrets, outlet, system, text, typed};

/// How a run is shown, and what is asked of branches.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Driving {
    /// Print the log as JSON lines, and a summary as the last line.
    #[arg(long)]
    pub json: bool,
    /// Print the end only.
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Write the summary to this file as well, as JSON.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    #[arg(skip)]
    summary_file: OnceLock<Arc<SummaryFile>>,
    /// Also take the values of these variables for secrets, from six bytes on; the run remembers their names.
    #[arg(long = "secret", value_name = "NAME", env = "UNSTUCK_SECRETS", value_delimiter = ',', value_parser = variable_name)]
    pub secrets: Vec<String>,
    /// Share the baseline with other runs that are given this, where the commands and the files are the same.
    ///
    /// What else they depend on, such as tools, services and ignored folders, is taken to be the same, too.
    #[arg(long, env = "UNSTUCK_REUSE_BASELINE", value_parser = BoolishValueParser::new())]
    reuse_baseline: bool,
    /// What is asked of branches.
    #[command(flatten)]
    pub branches: BranchArgs,
}

impl Driving {
    /// Returns what takes secrets out of the record.
    pub fn redactor(&self) -> Redactor {
        Redactor::from_environment(std::env::vars_os(), &self.secrets)
    }

    /// Takes for secrets, too, what a run was told of.
    pub fn and_secrets(mut self, names: &[String]) -> Self {
        self.secrets.extend_from_slice(names);
        known_secrets::know(&self.secrets);
        self
    }

    /// Finds out before the first step, not after the last: whether it can be written, and what it is that was asked for. A
    /// worker may put anything in its place later.
    pub fn summary_can_be_written(&self) -> Result<()> {
        let Some(path) = self.summary.as_ref().filter(|_| self.summary_file.get().is_none()) else {
            return Ok(());
        };
        let file = SummaryFile::find(path).map_err(|error| {
            Error::usage(format!("cannot write the summary to {}: {error}", path.display()))
        })?;
        let _found_before = self.summary_file.set(Arc::new(file));
        Ok(())
    }

    /// Writes the summary to the file that was asked for.
    fn write_summary(&self, summary: &serde_json::Value) -> Result<()> {
        let Some((path, file)) = self.summary.as_ref().zip(self.summary_file.get()) else { return Ok(()) };
        file.write(&known_secrets::removed(format!("{summary:#}\n").as_bytes())).map_err(|error| {
            Error::damaged(format!("cannot write the summary to {}: {error}", path.display()))
        })
    }

    /// Returns how the run is shown.
    pub fn mode(&self) -> Mode {
        match (self.json, self.quiet) {
            (true, _) => Mode::Json,
            (_, true) => Mode::Quiet,
            _ => Mode::Plain,
        }
    }
}

/// Which run is shown, and what was seen of it before.
pub struct Shown {
    /// The run.
    pub run: RunId,
    /// Its shortest name.
    pub short: String,
    /// What is said first, once the run has begun.
    pub header: String,
    /// What the log holds already.
    pub before: Story,
}

/// Drives a run to its end and reports it.
pub fn drive<F>(
    driving: &Driving,
    runs: Option<Runs>,
    branches: Branches,
    shown: &Shown,
    go: impl FnOnce(Site) -> F,
) -> Result
where
    F: Future<Output = std::result::Result<Ended, open::Error>>,
{
    let Shown { run, short, header, before } = shown;
    driving.summary_can_be_written()?;
    outlet::install();
    let lines = runs.as_ref().map(|runs| runs.lines(run));
    let screen = Arc::new(Screen::new(driving.mode(), lines, header.clone(), before.clone()));
    let runtime = room_to_listen()
        .and_then(|()| tokio::runtime::Builder::new_current_thread().enable_all().build())
        .map_err(|error| {
            Error::usage(format!("cannot start: {error}"))
                .hint(format!("{}, then try again", hint::for_io(&error)))
        })?;
    // Also over the command that tells of the end.
    let _guard = guard::start(run, runs.as_ref());
    let ended = runtime.block_on(async {
        let site = site(
            driving,
            runs.clone(),
            branches,
            Arc::clone(&screen) as Arc<dyn Watcher>,
            listen_to_signals(),
        );
        go(site).await
    });
    let story = screen.finish();
    let ended = ended.map_err(|error| explained(&error, short, runs.as_ref()))?;
    let status = exit::of(ended.outcome);
    let summary = screen::end_json(&story, false);
    let diagnosis = diagnosis_of(&ended, runs.as_ref().map(|runs| (runs, run)), short);
    if driving.json {
        crate::print_json_line(&summary);
    } else {
        let changed = changed_in_all(&ended, runs.as_ref(), run);
        println!("\n{}", screen::end(&story, short, changed.as_ref(), diagnosis.as_deref()));
    }
    runtime.block_on(notify::notify(&story, &ended, short, &summary, &driving.redactor()));
    let status = u8::try_from(status).unwrap_or(1);
    Ok(match driving.write_summary(&summary) {
        Ok(()) => status,
        // The run has ended as it has: that is not hidden behind what could not be written about it.
        Err(error) => {
            eprintln!("{}", error.in_columns(text::width()));
            if status == exit::OK { exit::STORE } else { status }
        }
    })
}

fn events_of(runs: &Runs, run: &RunId) -> Option<Vec<Event>> {
    runs.open(run).ok()?.read(Seq(1)).ok()?.collect::<std::result::Result<_, _>>().ok()
}

/// Counts what a run that is complete has changed, where that can be told.
fn changed_in_all(ended: &Ended, runs: Option<&Runs>, run: &RunId) -> Option<Diffstat> {
    let is_complete = ended.outcome == RunOutcome::Complete;
    let runs = runs.filter(|_| is_complete)?;
    diff::in_all(runs, ended.state.started()?, &events_of(runs, run)?)
}

/// Writes what the loops of a run have come to, and says where the diagnosis is of one that is stuck. All of it can be made
/// again from the log.
fn diagnosis_of(ended: &Ended, kept: Option<(&Runs, &RunId)>, short: &str) -> Option<PathBuf> {
    let (runs, run) = kept?;
    let started = ended.state.started()?;
    let mut events: Option<Vec<Event>> = None;
    let mut diagnosis = None;
    for (step, at) in ended.state.steps() {
        let is_stuck = matches!(at.phase.end(), Some(StepEnd::Stuck(_)));
        let has_views =
            started.workflow_file.is_some() && step.convergence.is_some() && at.feedback.decision.is_some();
        let to = views_of(started, step, &runs.artifacts(run));
        // The page of a step that was stuck once would say so for ever.
        let with_page = is_stuck || to.path().join(artifacts::PAGE).is_file();
        if !with_page && !has_views {
            continue;
        }
        if events.is_none() {
            events = Some(events_of(runs, run)?);
        }
        let events = events.as_deref().unwrap_or_default();
        match artifacts::write(events, &step.id, short, &to, with_page) {
            Ok(()) if is_stuck && diagnosis.is_none() => diagnosis = Some(to.path().join(artifacts::PAGE)),
            Ok(()) => {}
            Err(error) => tracing::warn!(
                error = with_causes(&error),
                "the diagnosis was not written; unstuck artifacts prints it"
            ),
        }
    }
    diagnosis
}

/// Returns the folder for the views of a step's loop: of a run with a file it is in its workspace.
fn views_of(started: &RunStarted, step: &Step, artifacts: &Path) -> PrivateDir {
    if started.workflow_file.is_none() {
        return PrivateDir::at(&artifacts.join("diagnosis")).join(step.id.as_str());
    }
    let workspace = Path::new(&started.workspace);
    let context = PrivateDir::of(workspace, &workspace.join(&started.workflow.context_dir));
    context.join(step.id.as_str()).join(CONVERGENCE)
}

fn site(
    driving: &Driving,
    runs: Option<Runs>,
    branches: Branches,
    watcher: Arc<dyn Watcher>,
    interrupts: watch::Receiver<Option<Interrupt>>,
) -> Site {
    let state_dir = runs.as_ref().map(|runs| runs.state().clone());
    let in_memory = || Arc::new(InMemory) as Arc<dyn Store>;
    Site {
        store: runs.map_or_else(in_memory, |runs| Arc::new(runs)),
        state_dir,
        watcher,
        redactor: driving.redactor(),
        interrupts,
        branch: branches.facts,
        branch_lock: branches.lock,
        protected_branches: branches.protected,
        allow_protected_branch: branches.allow_protected,
        reuse_baseline: driving.reuse_baseline,
        verbose: typed::is_verbose(),
        grace: ProcessSpec::GRACE,
        parent: None,
        parent_mark: None,
    }
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

/// Nobody looks on.
struct Nobody;

impl Watcher for Nobody {
    fn recorded(&self, _: &[Event], _: &unstuck_core::RunState) {}
    fn line(&self, _: &unstuck_core::id::StepId, _: &str) {}
    fn child(self: Arc<Self>, _: &unstuck_core::id::StepId, _: Option<&str>) -> Arc<dyn Watcher> {
        self
    }
}

/// Returns a site for what runs no worker.
pub fn quiet_site(runs: Runs) -> Site {
    let (_, nobody_interrupts) = watch::channel(None);
    site(&Driving::default(), Some(runs), Branches::default(), Arc::new(Nobody), nobody_interrupts)
}

/// Brings store and mirror of a run together where nobody works on it, so that a command acts on all of its events. Returns
/// the log, open, for whoever goes on with it: nobody else can do so before it is dropped.
///
/// What cannot be mended is said by whoever reads the events, or [opens](opened) the log to go on.
pub fn mend(project: &Project, found: &Found) -> Option<Arc<RunLog>> {
    if found.is_live() {
        return None;
    }
    let mended = quiet_site(project.runs().clone()).mend(&found.entry.run).inspect_err(|error| {
        tracing::info!(error = with_causes(error), "store and events.jsonl were not brought together");
    });
    let (log, opening) = mended.ok()?;
    verify::note(&opening);
    if matches!(found.good_events(), Ok((_, Some(_)))) {
        drop(log);
        let _said_by_whoever_reads = verify::check_store(found);
        return None;
    }
    Some(log)
}

/// Returns the log that [`mend`] has opened; where it has not, what keeps it from being opened.
pub fn opened(project: &Project, found: &Found, log: Option<Arc<RunLog>>) -> Result<Arc<RunLog>> {
    if let Some(log) = log {
        return Ok(log);
    }
    let (log, opening) = quiet_site(project.runs().clone())
        .mend(&found.entry.run)
        .map_err(|error| explained(&error, found.short(), Some(project.runs())))?;
    verify::note(&opening);
    Ok(log)
}

/// Opens the snapshots of the workspace of a run.
pub fn snapshots(runs: &Runs, started: &RunStarted) -> Result<Snapshots> {
    let workspace = Path::new(&started.workspace);
    unstuck_runner::snapshots::open(runs.state(), workspace, started).map_err(|error| {
        // What was there is kept beside the log; the folder has to be there, and may be empty.
        let is_gone = !workspace.exists();
        let hint = is_gone.then(|| format!("{}    then the same again", make_again(workspace)));
        of_snapshots(&error).hint_if(hint)
    })
}

/// Opens the snapshots of a run to read what was recorded, wherever its workspace is by now.
pub fn recorded_snapshots(runs: &Runs, started: &RunStarted) -> Result<Snapshots> {
    match Path::new(&started.workspace).is_dir() {
        true => snapshots(runs, started),
        // Which folder is named makes no difference to what was recorded.
        false => unstuck_runner::snapshots::open(runs.state(), runs.path(), started)
            .map_err(|error| of_snapshots(&error)),
    }
}

/// Opens the snapshots of the workspace of a run, if any are kept here.
///
/// # Errors
///
/// Why there are none.
pub fn kept_snapshots(runs: &Runs, started: &RunStarted) -> std::result::Result<Snapshots, String> {
    // Where there are none, opening them would make the folder for them.
    match unstuck_runner::snapshots::folder(runs.state()).exists() {
        true => recorded_snapshots(runs, started).map_err(|error| error.message().to_owned()),
        false => Err("no snapshots of this run are kept here".to_owned()),
    }
}

/// Looks whether there are descriptors: what listens to signals panics where it gets none.
fn room_to_listen() -> io::Result<()> {
    const DESCRIPTORS: usize = 8;
    let room: io::Result<Vec<File>> = (0..DESCRIPTORS).map(|_| File::open(system::NULL_DEVICE)).collect();
    room.map(drop)
}

/// The first Ctrl-C, termination or loss of the terminal stops the run in order, the second at once.
fn listen_to_signals() -> watch::Receiver<Option<Interrupt>> {
    let (send, receive) = watch::channel(None);
    // Before any worker is started.
    system::on_interrupt(move |signal| {
        send.send_modify(|last| *last = Some(Interrupt { signal, now: last.is_some() }));
    });
    receive
}

/// Returns the digest of a workflow file as it is now.
pub fn digest_now(file: Option<&str>) -> Option<Digest> {
    std::fs::read(file?).ok().map(|bytes| Digest::of(&bytes))
}
