//! A turn that is about to begin: what is asked, what is known, and the event that records it.

use std::path::PathBuf;

use unstuck_core::effect::Turn;
use unstuck_core::event::{Call, CheckStarted, RegistryText, WorkerStarted};
use unstuck_core::id::{Blob, CheckId, Millis};
use unstuck_core::prompt;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{Session, Step};
use unstuck_core::{Observation, RunState, TurnId};

use crate::host::Host;
use crate::registry_prompts::{self, SentPrompt};
use crate::task::TurnTask;

/// The prompt of a turn; empty for commands and validators.
pub struct TurnPrompt {
    pub(crate) text: String,
    /// The same without secrets, as it is kept.
    pub(crate) kept: Vec<u8>,
    pub(crate) registry: RegistryText,
    /// The files of a prompt tree that it was made from.
    templates: Vec<String>,
    /// The id that the verdict carries.
    pub(crate) check_id: Option<CheckId>,
}

impl TurnPrompt {
    /// Returns the prompt of a turn.
    pub(crate) fn new(host: &Host, state: &RunState, turn: Turn, due: &TurnId) -> Self {
        let (step, at) = state.step(&due.step).expect("effects name steps of the workflow");
        let check_id = turn.has_check_id().then(|| CheckId::new(uuid::Uuid::now_v7().to_string()));
        let (registry, templates) = match turn {
            Turn::Work | Turn::Claim => registry_prompts::worker_text(state, step, at, &*host.blobs),
            Turn::Closer => registry_prompts::reviewer_text(state, step, at),
            _ => Default::default(),
        };
        let text = match (turn, &check_id) {
            (Turn::Work | Turn::Claim | Turn::Diagnosis, id) => {
                prompt::worker_prompt(state, step, at, id.as_ref(), &registry)
            }
            (Turn::Agent, Some(id)) => prompt::check_prompt(state, step, at, id),
            (Turn::Closer, _) => registry.task.clone(),
            _ => String::new(),
        };
        let kept = host.redactor.redact_bytes(text.as_bytes()).0.into_owned();
        Self { text, kept, registry, templates, check_id }
    }
}

/// A turn that is about to begin.
#[derive(Clone, Copy)]
pub(crate) struct TurnStart<'a> {
    pub(crate) host: &'a Host,
    pub(crate) state: &'a RunState,
    pub(crate) step: &'a Step,
    pub(crate) at: &'a StepState,
    pub(crate) turn: Turn,
    pub(crate) due: &'a TurnId,
    pub(crate) question: &'a TurnPrompt,
    /// The prompt as it is kept.
    pub(crate) kept: Blob,
}

impl TurnStart<'_> {
    /// Returns what is kept of this turn until its end.
    pub(crate) fn task(&self) -> TurnTask {
        TurnTask::new(self.host, self.state, (self.turn, self.due), self.question.check_id.clone())
    }

    /// Returns the prompt that the answer is compared with.
    pub(crate) fn sent(&self) -> SentPrompt {
        let (prompt, said) = (self.question.text.clone(), self.at.feedback.said.clone());
        SentPrompt { iteration: self.due.iteration, prompt, said }
    }

    /// Returns the time limit of the attempt.
    pub(crate) fn limit(&self) -> Millis {
        self.turn.limit(self.step)
    }

    /// Says whether the conversation of the iteration before continues.
    pub(crate) fn keeps_conversation(&self) -> bool {
        !self.turn.is_check() && self.step.session == Session::Continue
    }

    /// Returns the decision file that carries the verdict of this turn, or says that its worker is blocked, from the workspace root.
    pub(crate) fn decision_file(&self) -> Option<PathBuf> {
        if self.turn == Turn::Work {
            return self.step.obstacle_file().map(PathBuf::from);
        }
        let check =
            self.step.check.as_ref().filter(|_| self.turn == Turn::Claim || self.turn.is_own_check())?;
        prompt::decision_file(check, self.question.check_id.as_ref()?).map(PathBuf::from)
    }

    /// Returns the event that records the beginning of a worker.
    pub(crate) fn worker_started(
        &self,
        task: &TurnTask,
        call: Option<Box<Call>>,
        snapshot: Option<Box<Snapshot>>,
    ) -> Observation {
        let TurnId { step, iteration, attempt } = self.due.clone();
        let TurnPrompt { registry, templates, check_id, .. } = self.question;
        // Only where the answer is compared with the prompt.
        let is_compared = self.turn == Turn::Claim && *registry != RegistryText::default();
        Observation::WorkerStarted(WorkerStarted {
            step,
            iteration,
            attempt,
            prompt: self.kept,
            limit: self.limit(),
            check_id: check_id.clone(),
            moved_aside: task.moved_aside,
            templates: templates.clone(),
            snapshot,
            call,
            registry: is_compared.then(|| Box::new(registry.clone())),
        })
    }

    /// Returns the event that records the beginning of a check.
    ///
    /// # Panics
    ///
    /// If the turn is not a check.
    pub(crate) fn check_started(&self, task: &TurnTask, call: Option<Box<Call>>) -> Observation {
        let TurnId { step, iteration, attempt } = self.due.clone();
        Observation::CheckStarted(CheckStarted {
            step,
            iteration,
            attempt,
            check_id: self.question.check_id.clone().expect("a check has an id"),
            prompt: self.kept,
            limit: self.limit(),
            moved_aside: task.moved_aside,
            templates: self.question.templates.clone(),
            call,
        })
    }
}
