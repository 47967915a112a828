//! What happened: the events of a run.
//!
//! An event is an [`Observation`] (the world, or a person, answered) or a [`Conclusion`] (the core
//! decided). Every batch of the log is one observation followed by what was concluded from it, so
//! an observation is also the command that a replay gives to `decide` again.

use serde::{Deserialize, Serialize};

use crate::answer::AnswerSeen;
use crate::diffstat::Diffstat;
use crate::gate::CommandResult;
use crate::id::{Attempt, Blob, CheckId, Digest, Iteration, Millis, RunId, Seq, Stage, StepId, Timestamp};
use crate::money::Spent;
use crate::reading::{Progress, Reading};
use crate::scope::Drift;
use crate::snapshot::Snapshot;
use crate::validator::ValidatorResult;
use crate::verdict::{self, Decision, Refusal};
use crate::weather::ErrorClass;
use crate::workflow::{Budget, Workflow};

/// One immutable fact of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the stream of the run.
    pub seq: Seq,
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened.
    pub fact: Fact,
}

impl Event {
    /// Returns the large payloads that the event names; an empty one is not stored.
    pub fn blobs(&self) -> Vec<Blob> {
        let Fact::Observed(observation) = &self.fact else { return Vec::new() };
        let outputs =
            |outcome: &Outcome| outcome.stdout.into_iter().chain(outcome.stderr).collect::<Vec<_>>();
        // Every variant is named, so that a new one is thought of here.
        let named: Vec<Blob> = match observation {
            Observation::WorkerStarted(event) => {
                event.moved_aside.into_iter().chain([event.prompt]).collect()
            }
            Observation::CheckStarted(event) => event.moved_aside.into_iter().chain([event.prompt]).collect(),
            Observation::WorkerFinished(event) => outputs(&event.outcome),
            Observation::CheckFinished(event) => {
                let commands = event
                    .commands
                    .iter()
                    .flat_map(|it| it.stdout.into_iter().chain(it.stderr).chain(it.reports.iter().copied()));
                let validators =
                    event.validators.iter().flat_map(|it| it.stdout.into_iter().chain(it.stderr));
                outputs(&event.outcome).into_iter().chain(commands).chain(validators).collect()
            }
            Observation::RunStarted(_)
            | Observation::RunResumed(_)
            | Observation::RunInterrupted(_)
            | Observation::AnswerGiven(_)
            | Observation::DeadlinePassed
            | Observation::WorkerProgressed(_)
            | Observation::WorkerLost(_)
            | Observation::CheckLost(_)
            | Observation::LogRepaired(_)
            | Observation::SnapshotTaken(_)
            | Observation::Kicked => Vec::new(),
        };
        named.into_iter().filter(|blob| blob.size > 0).collect()
    }
}

/// What an event states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "half of all facts are observations; a box for each costs more"
)]
pub enum Fact {
    /// The world, or a person, answered.
    Observed(Observation),
    /// The core decided.
    Concluded(Conclusion),
}

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
    /// A person does not want to wait any longer: what is waited for is tried now.
    Kicked,
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
    /// SHA-256 of the workflow file now, if it could be read.
    pub workflow_digest: Option<Digest>,
    /// Version of the program that recorded this.
    pub program: String,
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
}

/// How a process ended and what it left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// Wall time.
    pub duration: Millis,
    /// Its answer: the end of its standard output, invalid UTF-8 replaced; at most [`Outcome::ANSWER_MAX`] bytes.
    pub answer: String,
    /// The end of its standard error, for people and for the class of a failure; at most [`Outcome::TAIL_MAX`] bytes.
    pub stderr_tail: String,
    /// All of its standard output.
    pub stdout: Option<Blob>,
    /// All of its standard error.
    pub stderr: Option<Blob>,
    /// Processes it left behind, which were ended.
    pub processes_ended: u32,
    /// How many secret values were taken out of what it printed and wrote.
    pub redactions: u32,
    /// What a person should know: missing outputs, cut texts.
    pub notes: Vec<String>,
    /// A failure around the process that ends the step: an artifact that cannot be copied, a wrong branch.
    pub fatal: Option<String>,
    /// What its client told; `None` for a command.
    pub reading: Option<Box<Reading>>,
    /// The moment at which a limit ends, as its output names it.
    pub resets_at: Option<Timestamp>,
}

impl Outcome {
    /// Most bytes of an answer that an event holds.
    pub const ANSWER_MAX: usize = 256 * 1024;
    /// Most bytes of standard error that an event holds.
    pub const TAIL_MAX: usize = 4 * 1024;

    /// Returns the outcome of a process that left nothing, not even time.
    pub fn of(exit: Exit) -> Self {
        Self {
            exit,
            duration: Millis(0),
            answer: String::new(),
            stderr_tail: String::new(),
            stdout: None,
            stderr: None,
            processes_ended: 0,
            redactions: 0,
            notes: Vec::new(),
            fatal: None,
            reading: None,
            resets_at: None,
        }
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Ended by us: its time was up.
    TimedOut,
    /// Ended by us: the run is stopping.
    Stopped,
    /// It could not be started, for this reason.
    CouldNotStart(String),
    /// It was a child run, which ended so.
    Child(ChildEnd),
    /// Ended by us: for its idle time it did nothing: no output, no processor time, no change of a file.
    Idle,
    /// Ended by us: it had asked this and waited for an answer that nobody can give.
    Asks(String),
    /// Ended by us: it had written its verdict, or told its end, and then did nothing more.
    Settled,
    /// Ended by us: its client tried again and again what cannot succeed.
    Hopeless,
    /// Ended by us: it printed more than it may.
    Flooded,
}

impl Exit {
    /// Says whether nothing was run: there is no such program, or it is none, as a shell reports it.
    pub fn could_not_run(&self) -> bool {
        matches!(self, Self::CouldNotStart(_) | Self::Code(126 | 127))
    }

    /// Says whether we ended it since the run is stopping.
    pub fn is_stopped(&self) -> bool {
        let interrupted = |child: &ChildEnd| matches!(child.end, RunOutcome::Interrupted(_));
        matches!(self, Self::Stopped) || matches!(self, Self::Child(child) if interrupted(child))
    }
}

/// How a child run ended, and which one it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The child run.
    pub run: RunId,
    /// Its end.
    pub end: RunOutcome,
    /// What it has spent in its life.
    #[serde(default)]
    pub spent: Spent,
}

/// What was found where the verdict was to be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionFile {
    /// No decision file is configured.
    NotConfigured,
    /// There is none to read, or it was not read, for this reason.
    Refused(Refusal),
    /// These bytes.
    Read(Bytes),
}

/// Bytes that are a text in JSON where they are UTF-8, and hexadecimal digits where not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

/// Opening the log found damage and mended it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRepaired {
    /// What was found and done, in one sentence.
    pub what: String,
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
}

/// What the core decided. Recorded although it can be derived: it makes the log readable, and a
/// replay compares it with what it derives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// A worker is to be run. Begins an iteration when the attempt is the first.
    WorkRequested(WorkRequested),
    /// The work of an iteration is done and is to be checked.
    CheckRequested(CheckRequested),
    /// Nothing is done for the step before a moment.
    WaitRequested(WaitRequested),
    /// An iteration was judged.
    VerdictReached(VerdictReached),
    /// The strategy of a step changes.
    StageRaised(StageRaised),
    /// A step came to its end.
    StepEnded(StepEnded),
    /// Another worker takes over.
    FallbackTaken(FallbackTaken),
    /// No new work is begun; the run ends when what is in flight has been stopped.
    RunStopping(RunStopping),
    /// The run came to its end.
    RunEnded(RunEnded),
}

/// A worker is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRequested {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// The stage it works in.
    pub stage: Stage,
    /// What it is to do.
    pub purpose: Purpose,
}

/// What a worker is run for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The work of the step.
    #[default]
    Work,
    /// To say why the loop gets nowhere; nothing that it changes stays.
    Diagnosis,
}

/// The work of an iteration is to be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRequested {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// Who is asked.
    pub what: Inquiry,
    /// What is to be verified, where somebody has claimed completion.
    pub claim: Option<Box<Claimed>>,
}

/// Who is asked about the work of an iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inquiry {
    /// The check of the step.
    #[default]
    Check,
    /// The validators that run before the first work.
    Preflight,
    /// The validators of the conditions.
    Conditions,
    /// The closer.
    Closer,
}

/// A claim of completion that is not a verdict yet: it has to be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// The check that answered.
    pub check_id: Option<CheckId>,
    /// Where the claim was read.
    pub source: DecisionSource,
    /// Why, as it was said, and what was skipped since.
    pub reasons: Vec<String>,
    /// What was odd about the answer.
    pub problems: Vec<String>,
    /// The observations it rests on so far.
    pub evidence: Vec<Seq>,
}

/// Nothing is done for the step before a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRequested {
    /// The step.
    pub step: StepId,
    /// The moment.
    pub until: Timestamp,
    /// What is done then.
    pub then: Next,
    /// Why.
    pub why: WaitReason,
    /// The line or sentence it rests on, for people.
    pub detail: String,
}

/// What a step does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Run the worker.
    Work,
    /// Run the check.
    Check,
}

/// Why a step waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The worker failed and is tried again; costs a retry.
    Retry(ErrorClass),
    /// The worker's service is limited or out of order; costs nothing but time.
    Weather(ErrorClass),
    /// The check could not run and is tried again; costs a retry of the check.
    CheckRetry(ErrorClass),
    /// The verdict says that an external job still runs.
    ExternalJob,
}

/// An iteration was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictReached {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The check that answered.
    pub check_id: Option<CheckId>,
    /// Whether the verdict carried the id of that check; `None` where it carried none.
    #[serde(default)]
    pub check_id_match: Option<bool>,
    /// What the step is to be taken for.
    pub decision: Decision,
    /// What the claim itself said, where evidence made it something else.
    pub claimed: Option<Decision>,
    /// Where the claim was read.
    pub source: DecisionSource,
    /// Why, for people and for the next prompt.
    pub reasons: Vec<String>,
    /// What failed, for the controller.
    pub fingerprints: Vec<String>,
    /// What was odd about the answer, for people and for the next prompt.
    pub problems: Vec<String>,
    /// Nothing readable was said: so many times in a row now, 0 for a readable verdict.
    pub parse_failures: u32,
    /// The observations it rests on.
    pub evidence: Vec<Seq>,
}

/// Where the claim of a verdict was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionSource {
    /// The exit code of a command.
    ExitCode,
    /// JSON in the decision file.
    FileJson,
    /// A marker in the decision file.
    FileText,
    /// JSON in the answer.
    OutputJson,
    /// A marker in the answer.
    Marker,
    /// Nowhere.
    None,
    /// The answer, in the form that the step asks for.
    Answer,
    /// What validators found.
    Validators,
    /// The answer of the closer.
    Closer,
}

impl DecisionSource {
    /// Returns the name used in the log and on the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ExitCode => "exit-code",
            Self::FileJson => "file-json",
            Self::FileText => "file-text",
            Self::OutputJson => "output-json",
            Self::Marker => "marker",
            Self::None => "none",
            Self::Answer => "answer",
            Self::Validators => "validators",
            Self::Closer => "closer",
        }
    }
}

impl From<verdict::Source> for DecisionSource {
    fn from(source: verdict::Source) -> Self {
        match source {
            verdict::Source::FileJson => Self::FileJson,
            verdict::Source::FileText => Self::FileText,
            verdict::Source::OutputJson => Self::OutputJson,
            verdict::Source::Marker => Self::Marker,
            verdict::Source::None => Self::None,
        }
    }
}

/// The strategy of a step changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRaised {
    /// The step.
    pub step: StepId,
    /// The iteration whose verdict raised it.
    pub iteration: Iteration,
    /// The stage before.
    pub from: Stage,
    /// The stage from now on; equal to `from` where there is none above.
    pub to: Stage,
    /// What repeats.
    pub cause: StallCause,
    /// Key of the failure set.
    pub key: Option<Digest>,
    /// How many times it was seen.
    pub count: u32,
}

/// What repeats when a loop gets nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallCause {
    /// The same failure set, one iteration after the other.
    SameFailures,
    /// Failure sets that return with this period.
    Cycle(u32),
    /// One failure that stays while others come and go.
    PersistentFailure,
    /// Incomplete, without a reason, one iteration after the other.
    NoReasons,
    /// Nothing in the workspace changes, one iteration after the other.
    NoChange,
    /// A failure set that keeps all it had, and grows.
    Growing,
    /// New findings each time and none fewer, while there is more and more to find them in.
    Diverging,
}

/// A step came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnded {
    /// The step.
    pub step: StepId,
    /// Its end.
    pub end: StepEnd,
    /// The events it rests on.
    pub evidence: Vec<Seq>,
}

/// How a step ends: a closed set, so that no reason hides behind another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    /// Everything that it configures holds.
    Complete,
    /// The last allowed iteration is over, and the file says to go on.
    Incomplete,
    /// A step that it depends on did not end well.
    Skipped(StepId),
    /// A person must act: this is needed.
    Blocked(String),
    /// The last allowed iteration is over.
    IterationsExhausted,
    /// The loop gets nowhere: this repeats.
    Stuck(StallCause),
    /// So many checks in a row gave no readable verdict; the last one's problem.
    Undecidable(String),
    /// The worker failed.
    WorkerFailed(Failure),
    /// The check ended with a code that is no verdict.
    CheckFailed(Failure),
    /// The check could not run.
    CheckCouldNotRun(Failure),
    /// There is no baseline to compare with, for this reason.
    NoBaseline(String),
    /// The external job was waited for too long.
    WaitExpired,
    /// Something around the worker failed: an artifact, the branch.
    Fatal(String),
    /// A condition does not hold, and the worker is not to mend it.
    ConditionFailed(String),
    /// One failure came back as often as the step allows.
    AttemptsExhausted(String),
}

/// What is known of a failed process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Its class, which says whether another attempt may help.
    pub class: ErrorClass,
    /// One sentence with exit code and the line it rests on.
    pub message: String,
}

/// Another worker takes over, since the service of the one before is limited or out of order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackTaken {
    /// The step.
    pub step: StepId,
    /// Who is replaced: the worker, or the checker.
    pub what: Next,
    /// The place in the chain of whoever takes over; 0 is the first.
    pub to: u32,
    /// What was wrong with the one before.
    pub why: Failure,
}

/// No new work is begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStopping {
    /// Why.
    pub why: RunOutcome,
    /// The event it rests on.
    pub evidence: Vec<Seq>,
}

/// The run came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    /// How.
    pub outcome: RunOutcome,
    /// The step that decided it.
    pub step: Option<StepId>,
    /// Steps that ended incomplete although the run went on.
    pub incomplete_steps: Vec<StepId>,
    /// The events it rests on.
    pub evidence: Vec<Seq>,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Every step is complete, or incomplete where the file allows it.
    Complete,
    /// It cannot be said that the work is complete, and nothing more can be tried.
    NotComplete,
    /// The last allowed iteration is over.
    IterationLimit,
    /// The time of the run is over.
    TimeLimit,
    /// The money or the tokens of the run are spent.
    SpendLimit,
    /// The loop gets nowhere.
    Stuck,
    /// A person must act.
    Blocked,
    /// A worker, a check or the machine failed.
    WorkerFailed,
    /// A person or the system stopped it with this signal.
    Interrupted(i32),
}

impl RunOutcome {
    /// Returns the exit status that tells this end from the others.
    pub fn exit_status(self) -> i32 {
        match self {
            Self::Complete => 0,
            Self::NotComplete => 1,
            Self::IterationLimit | Self::TimeLimit | Self::SpendLimit => 2,
            Self::Stuck => 3,
            Self::Blocked => 4,
            Self::WorkerFailed => 5,
            Self::Interrupted(signal) => 128 + signal,
        }
    }

    /// Returns the word for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "COMPLETE",
            Self::NotComplete => "NOT COMPLETE",
            Self::IterationLimit => "OUT OF ITERATIONS",
            Self::TimeLimit => "OUT OF TIME",
            Self::SpendLimit => "OUT OF MONEY",
            Self::Stuck => "STUCK",
            Self::Blocked => "BLOCKED",
            Self::WorkerFailed => "FAILED",
            Self::Interrupted(_) => "INTERRUPTED",
        }
    }
}

impl From<Observation> for Fact {
    fn from(observation: Observation) -> Self {
        Self::Observed(observation)
    }
}

impl From<Conclusion> for Fact {
    fn from(conclusion: Conclusion) -> Self {
        Self::Concluded(conclusion)
    }
}

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        match std::str::from_utf8(&self.0) {
            Ok(text) => BytesText::Text(text.to_owned()).serialize(serializer),
            Err(_) => BytesText::Hex(hex(&self.0)).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !deserializer.is_human_readable() {
            return Vec::<u8>::deserialize(deserializer).map(Self);
        }
        match BytesText::deserialize(deserializer)? {
            BytesText::Text(text) => Ok(Self(text.into_bytes())),
            BytesText::Hex(digits) => unhex(&digits)
                .map(Self)
                .ok_or_else(|| serde::de::Error::custom("not pairs of hexadecimal digits")),
        }
    }
}

/// How bytes look in JSON.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BytesText {
    Text(String),
    Hex(String),
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}
