//! The loop of one step against a naive model: a few counters that know nothing of events.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use unstuck_core::event::{AttemptLost, Observation, RunInterrupted, RunOutcome, RunResumed};
use unstuck_core::id::{CheckId, Digest};
use unstuck_core::state::StepPhase;
use unstuck_core::testing::{Behavior, Script, World, finished_event, script_worker, started_event, step};
use unstuck_core::workflow::{CheckMethod, OnFailure, OnIterationsExhausted, WorkerKind, Workflow};
use unstuck_core::{Effect, TurnId};

const MAX_ITERATIONS: u32 = 4;
const MAX_RETRIES: u32 = 2;

/// Current activity of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Now {
    Work,
    Check,
    Over(RunOutcome),
}

/// The naive model.
#[derive(Clone, Debug)]
struct Model {
    continues: bool,
    now: Now,
    iteration: u32,
    retries: u32,
    check_retries: u32,
}

/// Event of the process that is due.
#[derive(Clone, Debug)]
enum Step {
    Exits(i32),
    IsKilled,
    IsLost,
    IsInterrupted,
}

impl ReferenceStateMachine for Model {
    type State = Self;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Self> {
        any::<bool>()
            .prop_map(|continues| Self {
                continues,
                now: Now::Work,
                iteration: 1,
                retries: 0,
                check_retries: 0,
            })
            .boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<Step> {
        prop_oneof![
            8 => prop_oneof![Just(0), Just(1), Just(1), Just(101), Just(127)].prop_map(Step::Exits),
            1 => Just(Step::IsKilled),
            1 => Just(Step::IsLost),
            1 => Just(Step::IsInterrupted),
        ]
        .boxed()
    }

    fn apply(mut model: Self, step: &Step) -> Self {
        let failed = Now::Over(RunOutcome::WorkerFailed);
        match (model.now, step) {
            (_, Step::IsLost | Step::IsInterrupted) | (Now::Over(_), _) => {}
            (Now::Work, Step::Exits(0)) => model.now = Now::Check,
            (Now::Work, Step::Exits(127)) => model.now = failed,
            (Now::Work, _) => {
                model.retries += 1;
                if model.retries > MAX_RETRIES {
                    model.now = failed;
                }
            }
            (Now::Check, Step::Exits(0)) => model.now = Now::Over(RunOutcome::Complete),
            (Now::Check, Step::Exits(1)) if model.iteration < MAX_ITERATIONS => {
                (model.iteration, model.retries, model.check_retries, model.now) =
                    (model.iteration + 1, 0, 0, Now::Work);
            }
            (Now::Check, Step::Exits(1)) if model.continues => model.now = Now::Over(RunOutcome::Complete),
            (Now::Check, Step::Exits(1)) => model.now = Now::Over(RunOutcome::IterationLimit),
            (Now::Check, Step::IsKilled) => {
                model.check_retries += 1;
                if model.check_retries > MAX_RETRIES {
                    model.now = failed;
                }
            }
            (Now::Check, Step::Exits(_)) => model.now = failed,
        }
        model
    }
}

/// The real thing, driven one process at a time.
struct Real(World);

impl StateMachineTest for Real {
    type SystemUnderTest = Self;
    type Reference = Model;

    fn init_test(model: &Model) -> Self {
        let check = script_worker(WorkerKind::Custom, "true");
        let mut looped = step("A").with_check(CheckMethod::Exit(check), MAX_ITERATIONS);
        looped.work = unstuck_core::workflow::StepKind::Worker(script_worker(WorkerKind::Custom, "true"));
        looped.on_failure = OnFailure::Retry;
        looped.max_retries = MAX_RETRIES;
        looped.on_exhausted =
            if model.continues { OnIterationsExhausted::Continue } else { OnIterationsExhausted::Abort };
        Self(World::start(Workflow::of_steps(vec![looped]), Script::default()))
    }

    fn apply(mut real: Self, _: &Model, step: Step) -> Self {
        if real.0.state.outcome().is_some() {
            return real;
        }
        real.wait();
        let (due, is_check) = real.begin();
        match step {
            Step::Exits(code) => real.end(&due, is_check, &Behavior::Exits(code, String::new())),
            Step::IsKilled => real.end(&due, is_check, &Behavior::Dies(9)),
            Step::IsLost => {
                real.give(Observation::RunResumed(RunResumed::default()));
                let TurnId { step, iteration, attempt } = due;
                let lost = AttemptLost { step, iteration, attempt, processes_ended: 0 };
                real.give(if is_check {
                    Observation::CheckLost(lost)
                } else {
                    Observation::WorkerLost(lost)
                });
            }
            Step::IsInterrupted => {
                real.give(Observation::RunInterrupted(RunInterrupted { signal: 2 }));
                real.end(&due, is_check, &Behavior::IsInterrupted);
                real.give(Observation::RunResumed(RunResumed::default()));
            }
        }
        real
    }

    fn check_invariants(real: &Self, model: &Model) {
        let (_, at) = real.0.state.steps().next().expect("one step");
        assert_eq!(at.iteration().0, model.iteration, "iteration");
        assert_eq!(real.0.state.anomalies(), 0, "anomalies");
        let waits_for = match &at.phase {
            StepPhase::Waiting { then, .. } => Some(*then == unstuck_core::event::TurnKind::Check),
            StepPhase::CheckDue => Some(true),
            StepPhase::WorkDue => Some(false),
            _ => None,
        };
        match model.now {
            Now::Work => assert_eq!(waits_for, Some(false), "{:?}", at.phase),
            Now::Check => assert_eq!(waits_for, Some(true), "{:?}", at.phase),
            Now::Over(outcome) => assert_eq!(real.0.state.outcome(), Some(outcome)),
        }
    }
}

impl Real {
    fn give(&mut self, command: Observation) {
        self.0.give(command).expect("the model gives what fits");
    }

    fn wait(&mut self) {
        while self.0.state.pending_effects().is_empty() {
            let due = self.0.state.next_deadline().expect("something is waited for");
            self.0.pass_to(due);
            self.give(Observation::DeadlinePassed);
        }
    }

    fn begin(&mut self) -> (TurnId, bool) {
        let effect = self.0.state.pending_effects().remove(0);
        let Effect::Perform(turn, due) = effect else { panic!("nobody asked to stop: {effect:?}") };
        let is_check = turn.is_check();
        self.give(started_event(&self.0.state, &due, is_check, id(), Digest::sha256(b"")));
        (due, is_check)
    }

    fn end(&mut self, due: &TurnId, is_check: bool, act: &Behavior) {
        self.give(finished_event(due, is_check, act, Some(&id())));
    }
}

fn id() -> CheckId {
    CheckId::new("0190a000-0000-7000-8000-000000000001")
}

prop_state_machine! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/model.proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_loop_agrees_with_the_naive_model(sequential 1..40 => Real);
}
