//! What the world, or a person, answered.

use serde::{Deserialize, Serialize};

use super::outcome::Outcome;
use crate::call_report::Progress;
use crate::diffstat::Diffstat;
use crate::evidence::{AnswerSeen, CommandResult, DecisionFile, ValidatorResult};
use crate::id::{Attempt, Blob, CheckId, Digest, Iteration, Millis, RunId, Seq, StepId};
use crate::judge::scope::Drift;
use crate::snapshot::Snapshot;
use crate::workflow::{Budget, Worker, Workflow};

/// What the world, or a person, answered. Recorded before anything acts on it.
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
    /// A worker or checker is at work, and tells of it. Sampled: what counts is in its end.
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
    /// Opening the log found damage and mended it.
    LogRepaired(LogRepaired),
    /// A snapshot of the workspace was taken outside of the work.
    SnapshotTaken(SnapshotTaken),
    /// A person does not want to wait any longer: what is waited for is tried now, of a chain from the first on.
    Kicked,
    /// The machine was suspended while a supervisor was at work: time has passed in which nobody could do anything.
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
    /// What the file's reader wants a person to know.
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

/// A supervisor took the run up again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResumed {
    /// Iterations that every loop may run beyond its bound.
    pub add_iterations: u32,
    /// Time that the run may take beyond its bound.
    pub add_time: Millis,
    /// The run's time counts anew: it ran out, and the step that the run carries out is tried again.
    pub renews_time: bool,
    /// Money that the run may spend beyond its bound, in millionths of a US dollar.
    pub add_micro_usd: u64,
    /// Tokens that the run may use beyond its bound.
    pub add_tokens: u64,
    /// From now on it is enough to count what is told.
    pub accept_unknown_cost: bool,
    /// What the run may spend in its life, where it is a part of another.
    pub allowance: Option<Budget>,
    /// What a person wants the worker to know.
    pub hint: Option<String>,
    /// Who works from now on, with the instructions that the steps have.
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
    /// What it was asked, literally.
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
}

/// How a client is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// The client, by the name of its description.
    pub client: String,
    /// The conversation, where its name is known before.
    pub session: Option<String>,
    /// That conversation goes on.
    pub continues: bool,
    /// The command line, without the prompt; for people.
    pub argv: Vec<String>,
}

/// A worker or checker is at work, and tells of it.
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
    /// What was in the decision file; only where the worker itself is the check.
    pub decision_file: DecisionFile,
    /// Whether the workspace differs from before this attempt; `None` where nobody could look.
    pub changed: Option<bool>,
    /// The workspace after; `None` where none could be taken.
    pub snapshot: Option<Box<Snapshot>>,
    /// What differs from the base of the step; `None` where it is as before, or not known.
    pub drift: Option<Box<Drift>>,
    /// What it changed, file by file; `None` where that is nothing, or not known.
    pub diffstat: Option<Box<Diffstat>>,
    /// What its answer says, where the step asks for a form of it.
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
    /// What the checker was asked, literally.
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
    /// What was in the decision file.
    pub decision_file: DecisionFile,
    /// What each command showed, where the check is commands, or one script.
    pub commands: Vec<CommandResult>,
    /// What differs from the base of the step after it, where the step has rules about that: a check may run
    /// what a worker wrote.
    pub drift: Option<Box<Drift>>,
    /// What each validator found, where conditions were asked.
    pub validators: Vec<ValidatorResult>,
    /// The workspace that they looked at, or that a closer left which may edit.
    pub snapshot: Option<Box<Snapshot>>,
    /// A name for all files of it, ignored ones too; `None` where nobody can say that they are the same.
    pub stamp: Option<Digest>,
    /// What the closer's answer says, where it was asked.
    pub answer: Option<Box<AnswerSeen>>,
    /// In so many rounds, the last that were allowed, validators have changed the workspace each time; `None` where they
    /// came to rest, so that what they found holds for what is there.
    pub unsettled_after: Option<u32>,
    /// Files of the repository that are not what they were before it, where nobody else was at work: it has changed them
    /// itself.
    pub changed: Vec<String>,
}

/// Opening the log found damage and mended it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRepaired {
    /// What was found and done, in one sentence.
    pub what: String,
}

/// The machine was suspended, and goes on.
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
    /// The run had come to its end.
    Ended,
    /// A person goes on with the run, and with what has changed since.
    Resumed,
    /// A person is about to put the files back.
    BeforeUndo,
    /// The files were put back to those of the snapshot in this event.
    Undone(Seq),
    /// The supervisor had died, and what it had started was ended: what differs from it when the run goes on was changed by
    /// somebody else.
    Abandoned,
}
