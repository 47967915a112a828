//! Observations: the results of processes, the workspace, and the answers of a person.

use serde::{Deserialize, Serialize};

use super::process::Outcome;
use crate::call_report::Progress;
use crate::diffstat::Diffstat;
use crate::evidence::{CommandResult, DecisionFile, ParsedAnswer, ValidatorResult};
use crate::id::{Attempt, Blob, CheckId, Digest, Iteration, Millis, RunId, Seq, StepId};
use crate::judge::scope::StepChanges;
use crate::snapshot::Snapshot;
use crate::workflow::{Budget, Worker, Workflow};

/// Everything observed from outside: a process, the workspace, a person. Recorded before anything acts on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// A run started. The first event of every stream, and only the first.
    RunStarted(Box<RunStarted>),
    /// A supervisor resumed the run after a crash, an interruption or an end.
    RunResumed(RunResumed),
    /// A person or the system asked the run to stop.
    RunInterrupted(RunInterrupted),
    /// A person answered what a blocked run needed.
    AnswerGiven(AnswerGiven),
    /// The deadline of [`next_deadline`](crate::RunState::next_deadline) has passed.
    DeadlinePassed,
    /// A worker is about to start. Marks the attempt as in flight.
    WorkerStarted(WorkerStarted),
    /// A worker or checker reports progress. Sampled: the final result is in its end.
    WorkerProgressed(WorkerProgressed),
    /// A worker ended, on its own or because it was stopped.
    WorkerFinished(WorkerFinished),
    /// A worker was in flight when its supervisor died; its remaining processes were stopped.
    WorkerLost(AttemptLost),
    /// A check is about to start. Marks the check as in flight.
    CheckStarted(CheckStarted),
    /// A check ended, on its own or because it was stopped.
    CheckFinished(CheckFinished),
    /// A check was in flight when its supervisor died; its remaining processes were stopped.
    CheckLost(AttemptLost),
    /// Opening the log found damage and repaired it.
    LogRepaired(LogRepaired),
    /// A snapshot of the workspace was taken outside of the work.
    SnapshotTaken(SnapshotTaken),
    /// A person ended a wait: the delayed call is tried now, in a chain from the first worker on.
    Kicked,
    /// The machine was suspended while a supervisor ran. That time does not count.
    Suspended(MachineSuspended),
}

/// A run started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    /// The name of the run.
    pub run: RunId,
    /// The workflow, resolved; policy is data of the run.
    pub workflow: Workflow,
    /// SHA-256 of the workflow file, if there is one.
    pub workflow_digest: Option<Digest>,
    /// The workflow file as it was named.
    pub workflow_file: Option<String>,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// The run and step that this run is a part of.
    pub parent: Option<Parent>,
    /// Version of the program that recorded this.
    pub program: String,
    /// Warnings about the workflow file.
    pub warnings: Vec<String>,
    /// Variables whose values are secrets, in addition to those with a telling name. The values are not recorded.
    pub secrets: Vec<String>,
    /// The run whose first events this run shares.
    pub forked_from: Option<ForkPoint>,
}

/// The last event that a run shares with the one that it was forked from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ForkPoint {
    pub run: RunId,
    pub event: Seq,
}

impl RunStarted {
    /// Names another workspace. A workflow file in the workspace moves with it.
    pub fn move_workspace(&mut self, to: &str) {
        let file = self.workflow_file.as_deref().and_then(|file| file.strip_prefix(&self.workspace));
        if let Some(inner) = file.filter(|inner| inner.starts_with(['/', '\\'])) {
            self.workflow_file = Some(format!("{to}{inner}"));
        }
        to.clone_into(&mut self.workspace);
    }
}

/// The step of another run that this run carries out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Parent {
    pub run: RunId,
    pub step: StepId,
    pub iteration: Iteration,
}

impl Parent {
    /// Returns the name of the run that carries out this iteration: always the same, so that a resumed parent finds its
    /// child.
    pub fn child(&self) -> RunId {
        let name = format!("{}/{}/{}", self.run, self.step, self.iteration);
        RunId::new(Digest::sha256(name.as_bytes()).to_string()[..12].to_owned())
    }
}

/// A supervisor resumed the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResumed {
    /// Additional iterations for every loop.
    pub add_iterations: u32,
    /// Additional time for the run.
    pub add_time: Millis,
    /// The time limit of the run starts again: it was reached, and the parent's step is tried again.
    pub renews_time: bool,
    /// Additional money for the run, in millionths of a US dollar.
    pub add_micro_usd: u64,
    /// Additional tokens for the run.
    pub add_tokens: u64,
    /// From now on the budget counts only what clients report.
    pub accept_unknown_cost: bool,
    /// The budget of the run, if it is a child run.
    pub allowance: Option<Budget>,
    /// A hint from a person to the worker.
    pub hint: Option<String>,
    /// The worker from now on; the instructions of the steps stay.
    pub worker: Option<Box<Worker>>,
    /// SHA-256 of the workflow file now, if it could be read.
    pub workflow_digest: Option<Digest>,
    /// Version of the program that recorded this.
    pub program: String,
    /// More variables whose values are secrets.
    pub secrets: Vec<String>,
    /// The workflow from now on, if a person changed it.
    pub change: Option<Box<WorkflowChange>>,
    /// The absolute path of the workspace from now on, if it was moved.
    pub workspace: Option<String>,
}

/// A workflow that takes the place of the one that a run began with. The steps that have begun stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowChange {
    /// The workflow, resolved.
    pub workflow: Workflow,
    /// The changes as a person made them: `KEY=VALUE`, or the path of the workflow file.
    pub made: Vec<String>,
    /// SHA-256 of the workflow file, if it was read again.
    pub digest: Option<Digest>,
}

/// A person or the system asked the run to stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInterrupted {
    /// The signal: 2 for an interrupt from the keyboard, 15 for a termination.
    pub signal: i32,
}

/// A person answered what a blocked run needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerGiven {
    /// The answer; goes into the next prompt.
    pub text: String,
    /// The blocked steps that it is for; if empty, every unfinished step.
    pub steps: Vec<StepId>,
}

impl AnswerGiven {
    pub(crate) fn is_for(&self, step: &StepId) -> bool {
        self.steps.is_empty() || self.steps.contains(step)
    }
}

/// A worker is about to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStarted {
    /// The step it works for.
    pub step: StepId,
    /// The iteration it works in.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// The prompt.
    pub prompt: Blob,
    /// Time limit of this attempt.
    pub limit: Millis,
    /// Id that the worker's verdict must carry; only if the worker is its own check.
    pub check_id: Option<CheckId>,
    /// An older decision file that was moved out of the way, kept as a blob.
    pub moved_aside: Option<Blob>,
    /// The files of a prompt tree that the prompt was made from.
    pub templates: Vec<String>,
    /// Snapshot of the workspace before the work; `None` if it could not be taken.
    pub snapshot: Option<Box<Snapshot>>,
    /// How its client is called; `None` for a command and for a child run.
    pub call: Option<Box<Call>>,
    /// Parts of the prompt that come from a steps registry; only if the answer is compared with the prompt.
    pub registry: Option<Box<RegistryText>>,
}

/// The parts of a prompt that come from a steps registry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegistryText {
    /// The prompt of the step; may be empty.
    pub task: String,
    /// The text about the last failures, in place of the built-in one; may be empty.
    pub findings: String,
}

/// How a client is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The client, by the name of its description.
    pub client: String,
    /// Conversation, if its name is known before the call.
    pub session: Option<String>,
    /// Whether the conversation continues.
    pub continues: bool,
    /// Command line without the prompt, for display.
    pub argv: Vec<String>,
}

/// A worker or checker reports progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerProgressed {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// Progress of the call.
    pub progress: Box<Progress>,
}

/// A worker ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFinished {
    /// The step it worked for.
    pub step: StepId,
    /// The iteration it worked in.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// End of the process and its output.
    pub outcome: Outcome,
    /// The decision file. If the worker is not its own check, only blocked and waiting count.
    pub decision_file: DecisionFile,
    /// Whether the workspace changed in this attempt; `None` if unknown.
    pub changed: Option<bool>,
    /// Snapshot of the workspace after the work; `None` if it could not be taken.
    pub snapshot: Option<Box<Snapshot>>,
    /// The difference from the base of the step; `None` if unchanged or unknown.
    pub drift: Option<Box<StepChanges>>,
    /// The changes by file; `None` if there are none or they are unknown.
    pub diffstat: Option<Box<Diffstat>>,
    /// Parsed answer, if the step requires a format.
    pub answer: Option<Box<ParsedAnswer>>,
    /// Whether the answer requests a repeat of the step, as parsed when it was recorded.
    #[serde(default)]
    pub wants_repeat: bool,
}

/// A worker or check was in flight when its supervisor died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptLost {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// Number of processes that were found and stopped.
    pub processes_ended: u32,
}

/// A check is about to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckStarted {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// The id that a verdict must carry.
    pub check_id: CheckId,
    /// The prompt.
    pub prompt: Blob,
    /// Time limit of this check.
    pub limit: Millis,
    /// An older decision file that was moved out of the way, kept as a blob.
    pub moved_aside: Option<Blob>,
    /// The files of a prompt tree that the prompt was made from.
    pub templates: Vec<String>,
    /// How the checker's client is called; `None` for commands.
    pub call: Option<Box<Call>>,
}

/// A check ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFinished {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// The id that a verdict must carry.
    pub check_id: CheckId,
    /// End of the process and its output.
    pub outcome: Outcome,
    /// The decision file.
    pub decision_file: DecisionFile,
    /// The result of each command, or of the script.
    pub commands: Vec<CommandResult>,
    /// Difference from the base of the step after the check, if the step has rules about it: a check may run code that
    /// a worker wrote.
    pub drift: Option<Box<StepChanges>>,
    /// The result of each validator.
    pub validators: Vec<ValidatorResult>,
    /// Workspace that the validators checked, or that a closer with write access left.
    pub snapshot: Option<Box<Snapshot>>,
    /// A digest of all files, ignored ones too; `None` if it could not be taken.
    pub stamp: Option<Digest>,
    /// Parsed answer of the closer.
    pub answer: Option<Box<ParsedAnswer>>,
    /// Number of rounds, the maximum, in which validators changed the workspace every time; `None` if they stopped
    /// changing it, so that their results hold for the current state.
    pub unsettled_after: Option<u32>,
    /// Repository files that the check itself changed: they differ from before it, and no other process was at work.
    pub changed: Vec<String>,
}

/// Opening the log found damage and repaired it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRepaired {
    /// The damage and the repair, in one sentence.
    pub what: String,
}

/// The machine was suspended and runs again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineSuspended {
    /// Length of the suspension, up to this event.
    pub length: Millis,
}

/// A snapshot of the workspace was taken outside of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTaken {
    /// The workspace.
    pub snapshot: Box<Snapshot>,
    /// Occasion of the snapshot.
    pub moment: SnapshotMoment,
}

/// Occasion of a snapshot that was taken neither before nor after the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotMoment {
    /// The run had ended.
    Ended,
    /// A person resumed the run and accepted what had changed.
    Resumed,
    /// A person is about to restore the files.
    BeforeUndo,
    /// The files were restored to the snapshot in this event.
    Undone(Seq),
    /// The supervisor had died, and its processes were stopped. A difference from this snapshot on resume was made by
    /// someone else.
    Abandoned,
}
