//! The state of a step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::backoff::{Rests, Turn};
use crate::call_report::Progress;
use crate::convergence::Convergence;
use crate::event::{Call, Claimed, DecisionSource, Inquiry, Next, Purpose, RunOutcome, StepEnd, WaitReason};
use crate::evidence::{AnswerSeen, CommandResult, Decision, ValidatorResult};
use crate::id::{Attempt, CheckId, Digest, Iteration, RunId, Seq, Timestamp};
use crate::judge::scope::Drift;
use crate::snapshot::Snapshot;
use crate::workflow::{Step, Worker};

/// Where a step stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepState {
    /// What it is doing.
    pub phase: StepPhase,
    /// The iteration it is in; 0 before the first.
    pub iteration: Iteration,
    /// The newest attempt of the worker, or of the check, whichever the phase is about.
    pub attempt: Attempt,
    /// What its worker is run for.
    pub purpose: Purpose,
    /// The newest attempt of the worker in this iteration, whatever the phase is about.
    pub work_attempt: Attempt,
    /// Retries of the worker that this iteration has cost.
    pub retries: u32,
    /// Retries of the check that this iteration has cost.
    pub check_retries: u32,
    /// How often in a row a limited service was waited for.
    pub weather_tries: u32,
    /// Checks in a row without a readable verdict.
    pub parse_failures: u32,
    /// What these checks gave instead; at most [`StepState::UNREAD_MAX`], the last ones.
    pub unread: Vec<Unread>,
    /// Whether the workspace was seen to change since the step began.
    pub changed: Changed,
    /// Whether the workspace changed in this iteration; `None` where nobody could look.
    pub changed_now: Option<bool>,
    /// Whether workers of other steps were at work during the newest work of this one: a change may be theirs.
    pub is_beside: bool,
    /// What differs from the base of the step.
    pub drift: Drift,
    /// What only checks have written, wherever that is: it is not the work of its worker.
    pub by_checks: BTreeSet<String>,
    /// Files of the repository that its checks have changed themselves.
    pub checks_changed: BTreeSet<String>,
    /// The workspace when the step began.
    pub began_with: Option<Arc<Snapshot>>,
    /// The workspace before the work that has not come to its end yet: what an attempt that was lost has changed since
    /// counts with the one that ends.
    pub works_from: Option<Arc<Snapshot>>,
    /// What attempts that were lost have done of that work, where it is known what they left. Counts with the one that ends.
    pub lost_work: Vec<LostWork>,
    /// What it has left since its last turn; only of a step that has rules about what it changes.
    pub left: Left,
    /// What others have made of the workspace between its turns, oldest first.
    pub gaps: Vec<Gap>,
    /// Since when an external job is waited for.
    pub waiting_since: Option<Timestamp>,
    /// Iterations beyond the bound that answers of a person have given.
    pub extra_iterations: u32,
    /// What the commands of the check showed before the first iteration.
    pub baseline: Option<Arc<[CommandResult]>>,
    /// What they showed in the newest check, and in the one before.
    pub results: [Option<Arc<[CommandResult]>>; 2],
    /// What its loop has shown.
    pub convergence: Convergence,
    /// The event that raised its stage last.
    pub raised: Option<Seq>,
    /// What was found out about why the loop got nowhere.
    pub diagnosis: Option<String>,
    /// Who is asked next, or was asked last.
    pub inquiry: Inquiry,
    /// The claim of completion that is being verified.
    pub claim: Option<Box<Claimed>>,
    /// What has been found out about it.
    pub verified: Verified,
    /// In how many iterations each failure of the last verdict has come back, this one included.
    pub occurrences: BTreeMap<String, u32>,
    /// How often in a row the worker has asked for a repeat of its step.
    pub repeats: u32,
    /// What the worker is to be told next.
    pub feedback: Feedback,
    /// The event in which the work of this iteration ended.
    pub worked: Option<Seq>,
    /// The event in which the step ended.
    pub ended: Option<Seq>,
    /// When its first iteration began.
    pub begun_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How often a worker was started for it.
    pub worker_calls: u32,
    /// What its newest worker used, of every kind together; 0 where none were told.
    pub tokens: u64,
    /// Whose turn it is in the chain of its worker; 0 is the first.
    pub worker_at: u32,
    /// Whose turn it is in the chain of its checker.
    pub checker_at: u32,
    /// Until when those of its chains are limited, as they said.
    pub rests: Rests,
    /// Why its worker was ended in this iteration, if it did nothing any more.
    pub stalled: Option<String>,
    /// How the call of its worker broke off in this iteration, if it did so in its work.
    pub broke_off: Option<String>,
    /// The conversation that its worker had last.
    pub conversation: Option<Conversation>,
    /// Its last child run that has ended.
    pub child: Option<Child>,
}

/// What a step has left when its worker or its check had ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    /// Nothing: it has not begun, or it is at work.
    #[default]
    Nothing,
    /// Its turn is over, and nobody has looked since.
    Unseen,
    /// This. What differs from it when the step goes on was changed by somebody else.
    Seen(Arc<Snapshot>),
}

/// A time in which a step was not at work, and others changed the workspace: other steps, or a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// What the step had left.
    pub left: Arc<Snapshot>,
    /// What it found when it went on.
    pub found: Arc<Snapshot>,
}

/// The work of an attempt whose supervisor died.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWork {
    /// What was there before it.
    pub before: Arc<Snapshot>,
    /// What it had left when all of it was ended.
    pub after: Arc<Snapshot>,
}

/// A child run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Child {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub end: RunOutcome,
    /// When it was begun, or taken up again.
    pub begun_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
}

/// What could not be read as a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The event that says so.
    pub seq: Seq,
    /// The iteration that was checked.
    pub iteration: Iteration,
    /// What was read, or why nothing was.
    pub problem: String,
}

/// A conversation with a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The client, by the name of its description.
    pub client: String,
    /// The name that it has for the conversation.
    pub id: String,
}

impl StepState {
    /// So many verdicts in a row that could not be read are kept at most.
    pub const UNREAD_MAX: usize = 100;

    /// Returns who is asked now; `None` where nobody is, or only commands.
    pub fn whom<'a>(&self, step: &'a Step) -> Option<&'a Worker> {
        let turn = self.turn(self.phase.turn()?);
        if turn.what == Next::Work && self.purpose == Purpose::Diagnosis {
            return step.diagnoser();
        }
        Some(step.first(turn)?.at(turn.place))
    }

    /// Returns the time since its last turn, if it goes on with this workspace; `None` where nobody has changed
    /// anything.
    pub fn gap(&self, found: Arc<Snapshot>) -> Option<Gap> {
        let Left::Seen(left) = &self.left else { return None };
        (left.id != found.id).then(|| Gap { left: Arc::clone(left), found })
    }

    /// Returns whose turn of a chain it is for this.
    pub(crate) fn turn(&self, what: Next) -> Turn {
        let place = match what {
            Next::Work => self.worker_at,
            Next::Check => self.checker_at,
        };
        Turn { what, inquiry: self.inquiry, place }
    }
}

/// What was found out about the work of an iteration, beside a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// What the worker's answer says, where the step asks for a form of it.
    pub answer: Option<Box<AnswerSeen>>,
    /// What the validators found.
    pub validators: Arc<[ValidatorResult]>,
    /// The workspace that they looked at.
    pub workspace: Option<Arc<Snapshot>>,
    /// A name for all files of it, ignored ones too.
    pub stamp: Option<Digest>,
    /// What the closer answered.
    pub closer: Option<Box<AnswerSeen>>,
    /// The closer has changed the workspace since the validators looked at it.
    pub is_outdated: bool,
    /// How often in this iteration the validators have changed the workspace.
    pub unsettled: u32,
}

/// Whether the workspace has changed since a step began. The larger of two observations holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    /// It was looked at, and it has not; or no work was done yet.
    #[default]
    No,
    /// Nobody looked, or whoever would have looked is gone.
    Unknown,
    /// It has.
    Yes,
}

impl From<Option<bool>> for Changed {
    fn from(seen: Option<bool>) -> Self {
        match seen {
            Some(false) => Self::No,
            None => Self::Unknown,
            Some(true) => Self::Yes,
        }
    }
}

/// What a step is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepPhase {
    /// It waits for the steps that it depends on, or for a free place.
    #[default]
    Pending,
    /// A worker is to be started.
    WorkDue,
    /// A worker is in flight.
    Working(InFlight),
    /// A check is to be started.
    CheckDue,
    /// A check is in flight.
    Checking(InFlight),
    /// Nothing is done before a moment.
    Waiting {
        /// The moment.
        until: Timestamp,
        /// What is done then.
        then: Next,
        /// Why.
        why: WaitReason,
    },
    /// It has ended.
    Ended(StepEnd),
}

/// A process that was started and has not answered yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    /// The event that says so.
    pub started: Seq,
    /// When.
    pub since: Timestamp,
    /// The id that its verdict must carry.
    pub check_id: Option<CheckId>,
    /// How its client was called.
    pub call: Option<Box<Call>>,
    /// What it told last.
    pub progress: Option<Box<Progress>>,
}

/// What a worker is to be told: the last verdict, and what a person said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// The iteration that it is about; 0 for none.
    pub iteration: Iteration,
    /// The decision.
    pub decision: Option<Decision>,
    /// Where it was read.
    pub source: Option<DecisionSource>,
    /// The check that answered.
    pub check_id: Option<CheckId>,
    /// Whether the verdict carried the id of that check; `None` where it carried none.
    pub check_id_match: Option<bool>,
    /// Its reasons.
    pub reasons: Vec<String>,
    /// Its fingerprints.
    pub fingerprints: Vec<String>,
    /// What was odd about the answer.
    pub problems: Vec<String>,
    /// The end of what the worker said of its own work; at most [`Feedback::SAID_MAX`] bytes.
    pub said: String,
    /// The end of what the check printed; at most [`Feedback::OUTPUT_MAX`] bytes.
    pub output: String,
    /// What a person answered or hinted, newest last.
    pub from_person: Vec<String>,
}

impl Feedback {
    /// Most bytes of a check's output that are shown to the worker.
    pub const OUTPUT_MAX: usize = 4096;
    /// Most bytes of a worker's own words that are shown to it again.
    pub const SAID_MAX: usize = 1000;
    /// Most bytes of a diagnosis that are shown.
    pub const DIAGNOSIS_MAX: usize = 16 * 1024;
}

impl StepPhase {
    /// Says whether a process was started and has not answered yet.
    pub fn is_in_flight(&self) -> bool {
        self.in_flight().is_some()
    }

    /// Returns what was started and has not answered yet.
    pub fn in_flight(&self) -> Option<&InFlight> {
        match self {
            Self::Working(in_flight) | Self::Checking(in_flight) => Some(in_flight),
            _ => None,
        }
    }

    /// Returns the phase in which this is to be started.
    pub(crate) fn due(what: Next) -> Self {
        match what {
            Next::Work => Self::WorkDue,
            Next::Check => Self::CheckDue,
        }
    }

    /// Returns what is done now, or next.
    pub fn turn(&self) -> Option<Next> {
        match self {
            Self::WorkDue | Self::Working(_) => Some(Next::Work),
            Self::CheckDue | Self::Checking(_) => Some(Next::Check),
            Self::Waiting { then, .. } => Some(*then),
            Self::Pending | Self::Ended(_) => None,
        }
    }

    /// Says whether the step takes up a place among those that may be active at the same time.
    pub fn is_active(&self) -> bool {
        !matches!(self, Self::Pending | Self::Ended(_))
    }

    /// Returns how the step has ended, if it has.
    pub fn end(&self) -> Option<&StepEnd> {
        match self {
            Self::Ended(end) => Some(end),
            _ => None,
        }
    }
}

impl StepEnd {
    /// Says whether a step that depends on this one may start, where the file says to continue
    /// after a failure.
    pub(crate) fn lets_dependents_run(&self, continues: bool) -> bool {
        match self {
            Self::Complete | Self::Incomplete => true,
            Self::Skipped(_) | Self::Blocked(_) | Self::IterationsExhausted | Self::Fatal(_) => false,
            Self::WorkerFailed(failure) => continues && failure.class != crate::outage::ErrorClass::Fatal,
            Self::Stuck(_)
            | Self::Undecidable(_)
            | Self::CheckFailed(_)
            | Self::CheckCouldNotRun(_)
            | Self::NoBaseline(_)
            | Self::ConditionFailed(_)
            | Self::AttemptsExhausted(_)
            | Self::WaitExpired => continues,
        }
    }

    /// Returns how a run ends of which this is the deciding step; `None` for an end that is no failure.
    pub fn outcome(&self) -> Option<RunOutcome> {
        match self {
            Self::Complete | Self::Incomplete | Self::Skipped(_) => None,
            Self::Blocked(_) => Some(RunOutcome::Blocked),
            Self::IterationsExhausted => Some(RunOutcome::IterationLimit),
            Self::Stuck(_) => Some(RunOutcome::Stuck),
            Self::Undecidable(_) | Self::ConditionFailed(_) | Self::AttemptsExhausted(_) => {
                Some(RunOutcome::NotComplete)
            }
            Self::WaitExpired => Some(RunOutcome::TimeLimit),
            Self::WorkerFailed(_)
            | Self::CheckFailed(_)
            | Self::CheckCouldNotRun(_)
            | Self::NoBaseline(_)
            | Self::Fatal(_) => Some(RunOutcome::WorkerFailed),
        }
    }
}
