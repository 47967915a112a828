//! The machine that a run is carried out on: what is known of it, and what leaves it without secrets.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::cost::Prices;
use unstuck_core::event::{DecisionFile, Outcome, Parent, RunOutcome};
use unstuck_core::id::{Blob, Digest, Millis, RunId, Timestamp};
use unstuck_core::plural::count;
use unstuck_core::workflow::{Budget, Subworkflow};
use unstuck_core::{Event, Observation, RunState};
use unstuck_files::error::with_causes;
use unstuck_files::private_dir::PrivateDir;
use unstuck_process::StopReceiver;
use unstuck_process::blocking_task::run_both;
use unstuck_process::redact::Redactor;
use unstuck_store::blobs::BlobStore;
use unstuck_workspace::branch::ProtectedBranches;
use unstuck_workspace::context_dir;
use unstuck_workspace::environment::{BranchFacts, ParentFacts};

use crate::RunListener;
use crate::baseline_cache::BaselineCache;
use crate::branch_guard::BranchGuard;
use crate::clock::SystemClock;
use crate::retry_request::RetryRequests;
use crate::snapshots::{self, RunSnapshots};
use crate::workspace_link;

/// Where decision files go unless a workflow says otherwise, from the workspace root.
pub(crate) const OWN_FOLDER: &str = ".unstuck";

/// The machine that one run is carried out on, and what is known of it.
pub struct Host {
    /// The run.
    pub run: RunId,
    /// Absolute path of the workspace.
    pub workspace: PathBuf,
    /// The folder of the project's state; `None` where runs are kept in memory.
    pub state_folder: Option<PathBuf>,
    /// Where prompts and what was moved aside are kept.
    pub artifacts: PathBuf,
    /// Where large payloads go.
    pub blobs: Arc<dyn BlobStore>,
    /// Knows the secrets.
    pub redactor: Redactor,
    /// Receives events and output.
    pub listener: Arc<dyn RunListener>,
    /// Runs subworkflows.
    pub children: Arc<dyn SubworkflowRunner>,
    /// Baselines that are shared with other runs; `None` if sharing is off.
    pub baselines: Option<BaselineCache>,
    /// Takes snapshots of the workspace; `None` where they cannot be kept.
    pub snapshots: Option<Arc<RunSnapshots>>,
    /// Facts about the branch; `None` outside git.
    pub branch: Option<BranchFacts>,
    /// Limits the run to its branch; `None` if the lock is off.
    pub branch_lock: Option<BranchGuard>,
    /// Branches that must not be changed.
    pub protected_branches: ProtectedBranches,
    /// Whether changing them is allowed anyway.
    pub allow_protected_branch: bool,
    /// The step that this run is a part of.
    pub parent: Option<ParentFacts>,
    /// The mark of the run that this run is a part of.
    pub parent_mark: Option<String>,
    /// Much is to be said.
    pub verbose: bool,
    /// Time between TERM and KILL.
    pub grace: Duration,
    pub(crate) retry_requests: RetryRequests,
    /// The clock of the supervisor, so that recorded times and times reported by services are based on one clock.
    pub clock: SystemClock,
}

/// A child run in progress.
pub type ChildFuture = Pin<Box<dyn Future<Output = Result<Outcome, String>> + Send>>;

/// Where a child run works.
#[derive(Clone, Debug)]
pub struct ChildContext {
    /// The mark of the parent's processes.
    pub mark: String,
    /// The time limit of the step.
    pub limit: Millis,
    /// Absolute path of the workspace, which is the parent's.
    pub workspace: String,
    /// The context folder of the parent.
    pub context_dir: String,
    /// Iterations that the user added to the limit of every loop of the parent, and so of the child.
    pub extra_iterations: u32,
    /// Budget that the user added to the parent, and so to the child.
    pub extra_budget: Budget,
    /// Total budget of the child over all its attempts.
    pub allowance: Budget,
    /// Token prices of the parent.
    pub prices: Option<Prices>,
    /// Time that the user added to the parent, and so to the child.
    pub extra_time: Millis,
    /// Variables whose values are secrets of the parent, and so of the child.
    pub secrets: Vec<String>,
    /// The last message of the user.
    pub hint: Option<String>,
    /// How and when the child ended last, as its parent knows: what a person said last came later, and so did the attempt that
    /// is made now.
    pub last_end: Option<(RunOutcome, Timestamp)>,
}

/// Starts subworkflows as separate runs.
pub trait SubworkflowRunner: Send + Sync {
    /// Runs, or takes up again, the child run of a step's iteration.
    fn run(&self, parent: Parent, child: Subworkflow, place: ChildContext, stop: StopReceiver)
    -> ChildFuture;
}

impl Host {
    /// Keeps a text that has no secrets while something else is done, if there is anything to do.
    pub(crate) fn store_while<T>(
        &self,
        clean: &[u8],
        meanwhile: Option<impl FnOnce() -> T>,
    ) -> (io::Result<Blob>, Option<T>) {
        match meanwhile {
            Some(meanwhile) if !clean.is_empty() => {
                let (kept, other) = run_both(|| self.store_clean(clean), meanwhile);
                (kept, Some(other))
            }
            meanwhile => {
                let other = meanwhile.map(|meanwhile| meanwhile());
                (self.store_clean(clean), other)
            }
        }
    }

    /// Takes secret values out of all texts of an observation.
    pub(crate) fn without_secrets(&self, mut observation: Observation) -> Observation {
        let of_file = self.redact_decision_file(&mut observation);
        let (mut clean, of_texts) = self.redact_texts(observation);
        match (of_file + of_texts, &mut clean) {
            (0, _) => {}
            (found, Observation::WorkerFinished(event)) => event.outcome.redactions += found,
            (found, Observation::CheckFinished(event)) => event.outcome.redactions += found,
            (found, Observation::RunStarted(event)) => event.warnings.push(format!(
                "redacted {} in the workflow; hand such values over in the environment",
                count(found, "secret")
            )),
            _ => {}
        }
        clean
    }

    /// As bytes, because what is no UTF-8 is recorded in digits.
    fn redact_decision_file(&self, observation: &mut Observation) -> u32 {
        let file = match observation {
            Observation::WorkerFinished(event) => &mut event.decision_file,
            Observation::CheckFinished(event) => &mut event.decision_file,
            _ => return 0,
        };
        let DecisionFile::Read(bytes) = file else { return 0 };
        let (clean, count) = self.redactor.redact_bytes(&bytes.0);
        if count > 0 {
            bytes.0 = clean.into_owned();
        }
        count
    }

    fn redact_texts(&self, observation: Observation) -> (Observation, u32) {
        let text = serde_json::to_string(&observation).expect("an observation is plain data");
        if self.redactor.redact_text(&text).1 == 0 {
            return (observation, 0);
        }
        let mut value: serde_json::Value = serde_json::from_str(&text).expect("it was written just now");
        let mut found = Vec::new();
        secret_texts(&self.redactor, &value, "", &mut found);
        // The value of a secret may also be a word of the format, such as the name of a decision. Such a word stays: it
        // reveals nothing.
        let mut count = 0;
        for (place, clean, redactions) in found {
            let Some(text) = value.pointer_mut(&place) else { continue };
            let word = std::mem::replace(text, clean.into());
            if serde_json::from_value::<Observation>(value.clone()).is_ok() {
                count += redactions;
            } else if let Some(text) = value.pointer_mut(&place) {
                *text = word;
            }
        }
        (serde_json::from_value(value).unwrap_or(observation), count)
    }

    /// Writes the views of a run that has a workflow file. They are no more than views: what goes wrong
    /// is said and does not stop the run.
    pub(crate) fn write_views(&self, state: &RunState, events: &[Event]) {
        if state.started().is_none_or(|started| started.workflow_file.is_none())
            || self.link_error().is_some()
        {
            return;
        }
        let facts = context_dir::Facts {
            branch: self.branch.clone(),
            protected_branches: self.protected_branches.clone(),
            allow_protected_branch: self.allow_protected_branch,
            branch_lock: self.branch_lock.is_some(),
        };
        if let Err(error) = context_dir::write(&self.context(state), state, events, &facts) {
            tracing::warn!(error = with_causes(&error), "the views in the context folder were not written");
        }
    }

    /// Returns a message if a link has replaced the workspace, with the command that restores it. Otherwise returns
    /// `None`.
    pub(crate) fn link_error(&self) -> Option<String> {
        let to = workspace_link::link_target(&self.workspace, self.state_folder.as_deref())?;
        let undo = format!("unstuck undo {}@last --git", self.run);
        Some(workspace_link::link_error(&self.workspace, &to, &undo))
    }

    /// Returns the text that identifies the processes of this run.
    ///
    /// The mark of a child run starts with the mark of its parent: processes left by a parent include those started by
    /// its children.
    pub fn mark(&self) -> String {
        match &self.parent_mark {
            Some(parent) => format!("{parent}/{}", mark_of(&self.run)),
            None => mark_of(&self.run),
        }
    }

    /// Returns where artifacts and views are.
    pub(crate) fn context_dir(&self, state: &RunState) -> PathBuf {
        let configured = state.workflow().map_or("context", |workflow| workflow.context_dir.as_str());
        self.workspace.join(configured)
    }

    /// Returns the same as the folder of ours that it is.
    pub(crate) fn context(&self, state: &RunState) -> PrivateDir {
        PrivateDir::in_workspace(&self.workspace, &self.context_dir(state))
    }

    /// Returns what of the workspace is ours, as absolute paths.
    pub(crate) fn own_paths(&self, state: &RunState) -> Vec<PathBuf> {
        let of_run =
            state.started().map_or_else(Vec::new, |started| snapshots::of_run(&self.workspace, started));
        let of_verdicts = PathBuf::from(OWN_FOLDER);
        of_run.into_iter().chain([of_verdicts]).map(|path| self.workspace.join(path)).collect()
    }

    /// Keeps a text without its secrets.
    pub(crate) fn store_blob(&self, text: &[u8]) -> io::Result<Blob> {
        let (clean, _) = self.redactor.redact_bytes(text);
        self.store_clean(&clean)
    }

    fn store_clean(&self, clean: &[u8]) -> io::Result<Blob> {
        if clean.is_empty() {
            return Ok(Blob { digest: Digest::sha256(b""), size: 0 });
        }
        // The caller gets the error and stops the run. The observations are recorded anyway.
        self.blobs.put_for_caller(clean)
    }
}

/// Returns how the marks of the processes of a run begin, and of its child runs, if it is no child itself.
pub fn mark_of(run: &RunId) -> String {
    format!("unstuck-{run}")
}

/// Finds the texts that hold secret values: their places, what they are without, and how many there were.
fn secret_texts(
    redactor: &Redactor,
    value: &serde_json::Value,
    place: &str,
    found: &mut Vec<(String, String, u32)>,
) {
    match value {
        serde_json::Value::String(text) => {
            let (clean, count) = redactor.redact_text(text);
            if count > 0 {
                found.push((place.to_owned(), clean.into_owned(), count));
            }
        }
        serde_json::Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                secret_texts(redactor, value, &format!("{place}/{index}"), found);
            }
        }
        serde_json::Value::Object(map) => {
            for (name, value) in map {
                let name = name.replace('~', "~0").replace('/', "~1");
                secret_texts(redactor, value, &format!("{place}/{name}"), found);
            }
        }
        _ => {}
    }
}
