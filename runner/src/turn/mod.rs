//! The turns of a step: how each begins, and how it is carried out.
//!
//! | [`Turn`] | file |
//! |---|---|
//! | `Work`, `Claim` | [`work`], with [`child_run`] |
//! | `Diagnosis` | [`diagnosis`] |
//! | `Script`, `Agent` | [`checker`] |
//! | `Commands` | [`commands`] |
//! | `Preflight`, `Conditions` | [`conditions`] |
//! | `Closer` | [`closer`] |
//!
//! To begin is to look at the workspace, plan the process and record the beginning. To carry out is to run it, look again
//! and record its end. Nothing here decides anything.

mod checker;
mod child_run;
mod closer;
mod commands;
mod conditions;
mod diagnosis;
mod work;

use std::io;
use std::sync::Arc;

use unstuck_core::effect::Turn;
use unstuck_core::id::Blob;
use unstuck_core::{Due, Event, Observation, RunState};
use unstuck_process::{StopSignal, exhausted};

use self::checker::Checker;
use self::closer::Closer;
use self::commands::Commands;
use self::conditions::Conditions;
use self::diagnosis::Diagnosis;
use self::work::Work;
use crate::beginning::{Beginning, Question};
use crate::host::Host;
use crate::world::{Tell, World};

/// A turn that was begun.
pub struct Begun(Kind);

enum Kind {
    Work(Box<Work>),
    Diagnosis(Box<Diagnosis>),
    Checker(Box<Checker>),
    Commands(Box<Commands>),
    Conditions(Box<Conditions>),
    Closer(Box<Closer>),
}

fn begin(begin: &Beginning<'_>) -> io::Result<(Observation, Begun)> {
    /// Begins a turn, and puts it among the others.
    fn boxed<T>(begun: (Observation, T), kind: fn(Box<T>) -> Kind) -> (Observation, Begun) {
        (begun.0, Begun(kind(Box::new(begun.1))))
    }
    Ok(match begin.turn {
        Turn::Work | Turn::Claim => boxed(Work::begin(begin)?, Kind::Work),
        Turn::Diagnosis => boxed(Diagnosis::begin(begin)?, Kind::Diagnosis),
        Turn::Script | Turn::Agent => boxed(Checker::begin(begin)?, Kind::Checker),
        Turn::Commands => boxed(Commands::begin(begin)?, Kind::Commands),
        Turn::Preflight | Turn::Conditions => boxed(Conditions::begin(begin)?, Kind::Conditions),
        Turn::Closer => boxed(Closer::begin(begin)?, Kind::Closer),
    })
}

impl World for Host {
    type Asked = Question;
    type Prepared = Begun;

    fn exhausted(&self) -> Option<String> {
        exhausted::take()
    }

    fn ask(&self, state: &RunState, turn: Turn, due: &Due) -> Question {
        Question::new(self, state, turn, due)
    }

    fn keep_beside<T>(
        &self,
        asked: &Question,
        meanwhile: Option<impl FnOnce() -> T>,
    ) -> (io::Result<Blob>, Option<T>) {
        self.keep_beside(&asked.kept, meanwhile)
    }

    fn prepare(
        &self,
        state: &RunState,
        (turn, due): (Turn, &Due),
        asked: Question,
        kept: Blob,
    ) -> io::Result<(Observation, Begun)> {
        let (step, at) = state.step(&due.step).expect("effects name steps of the workflow");
        begin(&Beginning { world: self, state, step, at, turn, due, question: &asked, kept })
    }

    async fn perform(self: Arc<Self>, begun: Begun, stop: StopSignal, tell: Tell) -> Observation {
        match begun.0 {
            Kind::Work(work) => work.carry_out(&self, stop, tell).await,
            Kind::Diagnosis(diagnosis) => diagnosis.carry_out(&self, stop, tell).await,
            Kind::Checker(checker) => checker.carry_out(&self, stop, tell).await,
            Kind::Commands(commands) => commands.carry_out(&self, stop).await,
            Kind::Conditions(conditions) => conditions.carry_out(&self, stop).await,
            Kind::Closer(closer) => closer.carry_out(&self, stop, tell).await,
        }
    }

    async fn kicked(&self) {
        self.kicks.wait().await;
    }

    fn redact(&self, observation: Observation) -> Observation {
        self.without_secrets(observation)
    }

    fn recorded(&self, batch: &[Event], state: &RunState) {
        self.kicks.recorded(batch, state);
        self.baselines.iter().for_each(|baselines| baselines.recorded(batch));
        self.watcher.recorded(batch, state);
        self.write_views(state, batch);
    }
}
