//! Observations: the results of processes, the workspace, and the answers of a person.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::call_report::Progress;
use crate::diffstat::Diffstat;
use crate::evidence::{AnswerSeen, CommandResult, DecisionFile, ValidatorResult};
use crate::id::{Attempt, Blob, CheckId, Digest, Iteration, Millis, RunId, Seq, StepId};
use crate::judge::scope::Drift;
use crate::snapshot::Snapshot;
use crate::workflow::{Budget, Worker, Workflow};

/// Everything observed from outside: a process, the workspace, a person. Recorded before anything acts on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// A run began. The first event of every stream, and only the first.
    RunStarted(Box<RunStarted>),
    /// A supervisor took the run up again, after a crash, an interruption or an end.
    RunResumed(RunResumed),
    /// A person or the system asked the run to stop.
    RunInterrupted(RunInterrupted),
    /// A person answered what a blocked run needed.
    AnswerGiven(AnswerGiven),
    /// The moment that [`next_deadline`](crate::RunState::next_deadline) named is past.
    DeadlinePassed,
    /// A worker is about to be started. Makes the attempt in flight.
    WorkerStarted(WorkerStarted),
    /// A worker or checker reports progress. Sampled: the final result is in its end.
    WorkerProgressed(WorkerProgressed),
    /// A worker ended, by itself or because it was ended.
    WorkerFinished(WorkerFinished),
    /// A worker was in flight when its supervisor died; what was left of it has been ended.
    WorkerLost(Lost),
    /// A check is about to be started. Makes the check in flight.
    CheckStarted(CheckStarted),
    /// A check ended, by itself or because it was ended.
    CheckFinished(CheckFinished),
    /// A check was in flight when its supervisor died; what was left of it has been ended.
    CheckLost(Lost),
    /// Opening the log found damage and repaired it.
    LogRepaired(LogRepaired),
    /// A snapshot of the workspace was taken outside of the work.
    SnapshotTaken(SnapshotTaken),
    /// A person does not want to wait any longer: what is waited for is tried now, of a chain from the first on.
    Kicked,
    /// The machine was suspended while a supervisor ran. That time does not count.
    Suspended(Suspended),
}

/// A run began.
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
    /// Variables whose values are secrets, besides those whose names say so. The values are nowhere.
    pub secrets: Vec<String>,
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
        RunId::new(Digest::of(name.as_bytes()).to_string()[..12].to_owned())
    }
}

/// A supervisor took the run up again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResumed {
    /// Iterations that every loop may run beyond its bound.
    pub add_iterations: u32,
    /// Time that the run may take beyond its bound.
    pub add_time: Millis,
    /// The time limit of the run starts again: it was reached, and the parent's step is tried again.
    pub renews_time: bool,
    /// Money that the run may spend beyond its bound, in millionths of a US dollar.
    pub add_micro_usd: u64,
    /// Tokens that the run may use beyond its bound.
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
    /// The blocked steps that it is for; none stands for every step that is not finished.
    pub steps: Vec<StepId>,
}

impl AnswerGiven {
    pub(crate) fn is_for(&self, step: &StepId) -> bool {
        self.steps.is_empty() || self.steps.contains(step)
    }
}

/// A worker is about to be started.
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
    /// Bound of this attempt.
    pub limit: Millis,
    /// The id that its own verdict must carry; only where the worker itself is the check.
    pub check_id: Option<CheckId>,
    /// An older decision file that was moved out of the way, kept as a blob.
    pub moved_aside: Option<Blob>,
    /// The files of a prompt tree that the prompt was made from.
    pub templates: Vec<String>,
    /// The workspace before; `None` where none could be taken.
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
    /// The conversation, where its name is known before.
    pub session: Option<String>,
    /// The conversation continues.
    pub continues: bool,
    /// The command line, without the prompt; for people.
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
    /// Where the call stands.
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
    /// How it ended and what it left.
    pub outcome: Outcome,
    /// The decision file; only if the worker is its own check.
    pub decision_file: DecisionFile,
    /// Whether the workspace changed in this attempt; `None` if unknown.
    pub changed: Option<bool>,
    /// The workspace after; `None` where none could be taken.
    pub snapshot: Option<Box<Snapshot>>,
    /// The difference from the base of the step; `None` if unchanged or unknown.
    pub drift: Option<Box<Drift>>,
    /// The changes by file; `None` if there are none or they are unknown.
    pub diffstat: Option<Box<Diffstat>>,
    /// The answer as it was read, if the step asks for a format.
    pub answer: Option<Box<AnswerSeen>>,
    /// The answer asks for a repeat of the step, as it was read when it was recorded.
    #[serde(default)]
    pub wants_repeat: bool,
}

/// A worker or check was in flight when its supervisor died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// How many processes were found and ended.
    pub processes_ended: u32,
}

/// A check is about to be started.
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
    /// Bound of this check.
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
    /// How it ended and what it left.
    pub outcome: Outcome,
    /// The decision file.
    pub decision_file: DecisionFile,
    /// The result of each command, or of the script.
    pub commands: Vec<CommandResult>,
    /// What differs from the base of the step after it, where the step has rules about that: a check may run
    /// what a worker wrote.
    pub drift: Option<Box<Drift>>,
    /// The result of each validator.
    pub validators: Vec<ValidatorResult>,
    /// The workspace that they looked at, or that a closer left which may edit.
    pub snapshot: Option<Box<Snapshot>>,
    /// A digest of all files, ignored ones too; `None` if it could not be taken.
    pub stamp: Option<Digest>,
    /// The answer of the closer as it was read.
    pub answer: Option<Box<AnswerSeen>>,
    /// In so many rounds, the last that were allowed, validators have changed the workspace each time; `None` where they
    /// came to rest, so that what they found holds for what is there.
    pub unsettled_after: Option<u32>,
    /// Files of the repository that are not what they were before it, where nobody else was at work: it has changed them
    /// itself.
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
pub struct Suspended {
    /// How long nothing ran, up to this event.
    pub length: Millis,
}

/// A snapshot of the workspace was taken outside of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTaken {
    /// The workspace.
    pub snapshot: Box<Snapshot>,
    /// At what moment.
    pub moment: SnapshotMoment,
}

/// When a snapshot was taken, if neither before nor after the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotMoment {
    /// The run had ended.
    Ended,
    /// A person resumed the run and accepted what had changed.
    Resumed,
    /// A person is about to put the files back.
    BeforeUndo,
    /// The files were restored to the snapshot in this event.
    Undone(Seq),
    /// The supervisor had died, and what it had started was ended: what differs from it when the run goes on was changed by
    /// somebody else.
    Abandoned,
}
