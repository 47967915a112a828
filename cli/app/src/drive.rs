//! Drives a run to its end: a new one, one that is resumed, and one that continues with an answer.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::{RunOutcome, RunStarted};
use unstuck_core::id::RunId;
use unstuck_process::ProcessSpec;
use unstuck_process::redact::Redactor;
use unstuck_runner::open::{ResumeKind, RunEnvironment};
use unstuck_store::Runs;
use unstuck_store::run_log::RunLog;
use unstuck_store::store::{InMemory, Store};

pub use unstuck_runner::open::FinishedRun;
pub use unstuck_runner::{Interrupt, RunListener};

use crate::branches::{BranchCheck, BranchWishes};
use crate::error::Result;
use crate::launch_errors::into_app_error;
use crate::{diagnosis, diff, guard, known_secrets};

/// How a run is driven.
#[derive(Clone, Debug, Default)]
pub struct DriveSettings {
    /// Names of further variables whose values are secrets.
    pub secrets: Vec<String>,
    /// The baseline is shared with other runs, where the commands and the files are the same.
    pub reuse_baseline: bool,
    /// Workers print more about what they do.
    pub is_verbose: bool,
}

/// The settings of a run that are given when it starts or continues.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// How the run is driven.
    pub driving: DriveSettings,
    /// The person's wishes about branches.
    pub branches: BranchWishes,
}

/// How the run begins.
pub enum DriveStart {
    /// A new run starts.
    Start(Box<RunStarted>),
    /// A run is taken up again.
    Resume {
        /// Its log, which was claimed.
        log: Arc<RunLog>,
        /// How.
        how: ResumeKind,
        /// The person accepts what changed in the workspace since.
        accept_drift: bool,
    },
}

/// A run that is about to be driven.
pub struct Drive {
    /// Where runs are kept; `None` for a run in memory.
    pub runs: Option<Runs>,
    /// The run.
    pub run: RunId,
    /// Its short name.
    pub short: String,
    /// The facts about its branch.
    pub branches: BranchCheck,
    /// How it begins.
    pub order: DriveStart,
}

/// A run that has ended, and what it leaves for a person.
pub struct DriveResult {
    /// How it ended.
    pub ended: FinishedRun,
    /// The page about a loop that is stuck.
    pub diagnosis: Option<PathBuf>,
    runs: Option<Runs>,
    run: RunId,
}

impl DriveResult {
    /// Counts the lines that a complete run has changed; `None` if that is unknown.
    pub fn diffstat(&self) -> Option<Diffstat> {
        let (runs, ended) = (self.runs.as_ref()?, &self.ended);
        let started = ended.state.started().filter(|_| ended.outcome == RunOutcome::Complete)?;
        diff::in_all(runs, started, &diagnosis::events_of(runs, &self.run)?)
    }
}

impl DriveSettings {
    /// Takes the values of further variables for secrets.
    #[must_use]
    pub fn with_secrets(mut self, names: &[String]) -> Self {
        self.secrets.extend_from_slice(names);
        known_secrets::know(&self.secrets);
        self
    }

    /// Returns what takes secrets out of the record.
    pub fn redactor(&self) -> Redactor {
        Redactor::from_environment(std::env::vars_os(), &self.secrets)
    }
}

impl Drive {
    /// Drives the run to its end.
    ///
    /// # Errors
    ///
    /// The run cannot begin, or cannot continue. What was recorded is safe.
    pub async fn run_to_end(
        self,
        driving: &DriveSettings,
        listener: Arc<dyn RunListener>,
        interrupts: watch::Receiver<Option<Interrupt>>,
    ) -> Result<DriveResult> {
        let Self { runs, run, short, branches, order } = self;
        let site = site(driving, runs.as_ref(), branches, listener, interrupts);
        let ended = match order {
            DriveStart::Start(started) => site.start(*started).await,
            DriveStart::Resume { log, how, accept_drift } => site.resume(log, how, accept_drift).await,
        };
        let ended = ended.map_err(|error| into_app_error(&error, &short, runs.as_ref()))?;
        let diagnosis = diagnosis::write_for_run(&ended, runs.as_ref().map(|runs| (runs, &run)), &short);
        Ok(DriveResult { ended, diagnosis, runs, run })
    }

    /// Starts the guard of the run: if this process is killed, it ends what is left of it. Kept as long as the run is driven.
    pub fn guard(&self) -> impl Sized + use<> {
        guard::start(&self.run, self.runs.as_ref())
    }
}

fn site(
    driving: &DriveSettings,
    runs: Option<&Runs>,
    branches: BranchCheck,
    listener: Arc<dyn RunListener>,
    interrupts: watch::Receiver<Option<Interrupt>>,
) -> RunEnvironment {
    let state_dir = runs.map(|runs| runs.state().clone());
    let in_memory = || Arc::new(InMemory) as Arc<dyn Store>;
    RunEnvironment {
        store: runs.map_or_else(in_memory, |runs| Arc::new(runs.clone())),
        state_dir,
        listener,
        redactor: driving.redactor(),
        interrupts,
        branch: branches.facts,
        branch_lock: branches.lock,
        protected_branches: branches.protected,
        allow_protected_branch: branches.allow_protected,
        reuse_baseline: driving.reuse_baseline,
        verbose: driving.is_verbose,
        grace: ProcessSpec::GRACE,
        parent: None,
        parent_mark: None,
    }
}
