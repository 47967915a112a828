//! Proptest strategies: workflows, scripts, histories, and events in any order.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::loops::loops;
use super::world::{Behavior, PlayedRun, Script, Work, World, finished_event, script_worker, snapshot, step};
use crate::call_report::{Progress, Usage};
use crate::completion::{Completion, OnValidatorFailure};
use crate::effect::TurnId;
use crate::event::{
    AnswerGiven, AttemptLost, CheckFinished, CheckRequested, CheckStarted, Conclusion, DecisionSource,
    ErrorClass, Event, Fact, FallbackTaken, Inquiry, LogRepaired, MachineSuspended, Observation,
    ProcessFailure, Purpose, RunEnded, RunInterrupted, RunOutcome, RunResumed, RunStopping, SnapshotMoment,
    SnapshotTaken, StageRaised, StallCause, StepEnd, StepEnded, TurnKind, VerdictReached, WaitReason,
    WaitRequested, WorkRequested, WorkerFinished, WorkerProgressed, WorkerStarted, WorkflowChange,
};
use crate::evidence::Decision;
use crate::id::{Attempt, Blob, CheckId, Digest, Iteration, Millis, Seq, Stage, StepId, Timestamp};
use crate::workflow::{
    Baseline, Budget, CheckCommand, CheckMethod, ConvergencePolicy, Gate, OnFailure, OnIterationsExhausted,
    Step, Worker, WorkerKind, Workflow,
};

/// Workflows of one to four steps with limits small enough to play them to their end.
pub fn workflows() -> impl Strategy<Value = Workflow> {
    let steps = vec(steps(), 1..5);
    let tokens = proptest::option::weighted(0.2, 1_u64..200);
    (steps, proptest::option::of(1_u32..4), vec(any::<bool>(), 16), 1_u64..30, tokens).prop_map(
        |(mut steps, concurrency, edges, minutes, tokens)| {
            for at in 0..steps.len() {
                steps[at].id = step_id(at);
                steps[at].depends_on = (0..at).filter(|on| edges[at * 4 + on]).map(step_id).collect();
            }
            let budget = Budget { tokens, ..Budget::default() };
            Workflow {
                concurrency,
                budget,
                timeout: Millis::from_secs(60 * minutes),
                ..Workflow::of_steps(steps)
            }
        },
    )
}

pub(super) fn step_id(at: usize) -> StepId {
    StepId::new(format!("s{at}"))
}

/// Steps of every kind of check but conditions, with thresholds, stages and scopes.
pub fn steps() -> impl Strategy<Value = Step> {
    let on_failure = prop_oneof![Just(OnFailure::Abort), Just(OnFailure::Retry), Just(OnFailure::Continue)];
    let on_exhausted = prop_oneof![Just(OnIterationsExhausted::Abort), Just(OnIterationsExhausted::Continue)];
    let limits = (0_u32..3, 30_u64..180, any::<bool>());
    let plain = (on_failure, on_exhausted, limits).prop_map(|(on_failure, on_exhausted, limits)| {
        let (max_retries, minutes, require_change) = limits;
        let timeout = Millis::from_secs(60 * minutes);
        Step { on_failure, on_exhausted, max_retries, timeout, require_change, ..step("s") }
    });
    let convergence = proptest::option::of(any_convergence());
    let completion = proptest::option::weighted(0.2, any_completion());
    let looped = (plain.clone(), any_check(), 1_u32..40, convergence, completion).prop_map(
        |(plain, by, max_iterations, convergence, completion)| {
            let has_baseline = matches!(by, CheckMethod::Commands(_));
            let mut step = Step { convergence, completion, ..plain.with_check(by, max_iterations) };
            if let (Some(check), true) = (&mut step.check, has_baseline) {
                check.baseline = Baseline::Gate;
            }
            step
        },
    );
    prop_oneof![1 => plain, 5 => looped]
}

fn any_check() -> impl Strategy<Value = CheckMethod> {
    let command = |gate| vec![CheckCommand { run: "check".to_owned(), gate, reports: Vec::new() }];
    prop_oneof![
        Just(CheckMethod::Exit(script_worker(WorkerKind::Custom, "check it"))),
        Just(CheckMethod::Agent(script_worker(WorkerKind::Command, "check it"))),
        Just(CheckMethod::Claim),
        Just(CheckMethod::Commands(command(Gate::Pass))),
        Just(CheckMethod::Commands(command(Gate::NoNewFailures))),
    ]
}

/// Rules that end a step at a failure, or at one that comes back.
fn any_completion() -> impl Strategy<Value = Completion> {
    (any::<bool>(), 0_u32..4).prop_map(|(aborts, max_attempts)| {
        let on_failure = if aborts { OnValidatorFailure::Abort } else { OnValidatorFailure::Retry };
        Completion { on_failure, max_attempts, ..Completion::default() }
    })
}

fn any_convergence() -> impl Strategy<Value = ConvergencePolicy> {
    (1_u32..4, 1_u32..5, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(stall_threshold, max_stage, fail_on_max_stage, diagnoses, is_scoped)| ConvergencePolicy {
            stall_threshold,
            max_stage: Stage(max_stage),
            fail_on_max_stage,
            allowed_paths: if is_scoped { vec!["src".to_owned()] } else { Vec::new() },
            diagnose_with: diagnoses.then(|| script_worker(WorkerKind::Command, "look for it")),
            ..ConvergencePolicy::default()
        },
    )
}

/// Acts of a worker: most of them work.
fn work_acts() -> impl Strategy<Value = Vec<Behavior>> {
    let work =
        (0_u8..4, any::<Option<bool>>()).prop_map(|(content, changed)| Work { changed, ..Work::to(content) });
    let act = prop_oneof![
        12 => work.prop_map(|work| Behavior::Works(Box::new(work))),
        3 => act(),
    ];
    vec(act, 0..8).prop_map(|mut acts| {
        acts.push(Behavior::Exits(0, String::new()));
        acts
    })
}

/// Acts of a check.
fn check_acts() -> impl Strategy<Value = Vec<Behavior>> {
    // The last act is repeated, so it must be one that lets a run end.
    (vec(act(), 0..8), (0_i32..2)).prop_map(|(mut acts, code)| {
        acts.push(Behavior::Exits(code, String::new()));
        acts
    })
}

/// An act that fits any process.
fn act() -> impl Strategy<Value = Behavior> {
    let verdict = prop_oneof![
        3 => Just(r#"{"decision":"incomplete","check_id":"{id}","fingerprints":["a"]}"#),
        2 => Just(r#"{"decision":"incomplete","check_id":"{id}","fingerprints":["a","b"]}"#),
        2 => Just(r#"{"decision":"complete","check_id":"{id}"}"#),
        1 => Just(r#"{"decision":"blocked","check_id":"{id}","needs":"login"}"#),
        1 => Just(r#"{"decision":"waiting","check_id":"{id}","retry_after":5}"#),
        1 => Just(r#"{"decision":"incomplete","check_id":"11111111-2222-4333-8444-555555555555"}"#),
        1 => Just("who knows"),
    ];
    prop_oneof![
        4 => (0_i32..2).prop_map(|code| Behavior::Exits(code, String::new())),
        2 => (0_u8..3).prop_map(|which| Behavior::Exits(1, format!("not ok 1 - test {which}"))),
        8 => (0_i32..2, verdict).prop_map(|(code, text)| Behavior::Writes(code, text.to_owned())),
        1 => Just(Behavior::Exits(0, "API Error: 529 overloaded".to_owned())),
        1 => prop_oneof![Just(127), Just(126), Just(101)].prop_map(|code| Behavior::Exits(code, String::new())),
        1 => Just(Behavior::Dies(9)),
        1 => Just(Behavior::Hangs),
        1 => Just(Behavior::IsMissing),
        1 => Just(Behavior::IsLost),
        1 => Just(Behavior::IsInterrupted),
    ]
}

/// Scripts for the steps of any generated workflow.
pub fn scripts() -> impl Strategy<Value = Script> {
    scripts_of((0..4).map(step_id).collect())
}

/// Scripts for the given steps: the acts of their workers and checks, one for each call.
pub fn scripts_of(steps: Vec<StepId>) -> impl Strategy<Value = Script> {
    let count = steps.len();
    let of_steps =
        move |acts: Vec<Vec<Behavior>>| steps.iter().cloned().zip(acts).collect::<BTreeMap<_, _>>();
    (vec(work_acts(), count), vec(check_acts(), count))
        .prop_map(move |(work, checks)| Script { work: of_steps(work), checks: of_steps(checks) })
}

/// Histories of generated workflows, played to the end of the run: two of three are [`loops`](super::loops()) of one
/// step, the others are workflows of several steps against acts in any order.
pub fn histories() -> impl Strategy<Value = PlayedRun> {
    let of_workflow = (workflows(), scripts()).prop_map(|(workflow, script)| {
        let mut world = World::start(workflow, script);
        world.play();
        world.history
    });
    prop_oneof![1 => of_workflow, 2 => steps().prop_flat_map(loops)]
}

/// Any sequence of events: each is well formed, few fit the state.
pub fn events() -> impl Strategy<Value = Vec<Event>> {
    let start =
        workflows().prop_map(|w| Fact::from(Observation::RunStarted(Box::new(super::run_started(w)))));
    (start, vec(any_fact(), 0..60), any::<bool>()).prop_map(|(start, mut facts, started)| {
        if started {
            facts.insert(0, start);
        }
        let event = |(at, fact): (usize, Fact)| {
            let seq = u64::try_from(at).expect("few events") + 1;
            Event { seq: Seq(seq), at: Timestamp(seq * 100), fact }
        };
        facts.into_iter().enumerate().map(event).collect()
    })
}

fn any_fact() -> impl Strategy<Value = Fact> {
    prop_oneof![any_observation().prop_map(Fact::from), any_conclusion().prop_map(Fact::from)]
}

fn due() -> impl Strategy<Value = TurnId> {
    (0_usize..4, 0_u32..4, 0_u32..4).prop_map(|(step, iteration, attempt)| TurnId {
        step: step_id(step),
        iteration: Iteration(iteration),
        attempt: Attempt(attempt),
    })
}

fn any_observation() -> impl Strategy<Value = Observation> {
    let lost =
        |TurnId { step, iteration, attempt }| AttemptLost { step, iteration, attempt, processes_ended: 0 };
    let id = || CheckId::new("0190a000-0000-7000-8000-000000000001");
    let prompt = || Blob { digest: Digest::sha256(b""), size: 0 };
    let finished = (due(), any::<bool>(), act(), proptest::option::of(0_u8..3)).prop_map(
        move |(due, is_check, act, work)| {
            let seen = work.map(|work| Box::new(snapshot(work)));
            match finished_event(&due, is_check, &act, Some(&id())) {
                Observation::WorkerFinished(event) => {
                    Observation::WorkerFinished(WorkerFinished { snapshot: seen, ..event })
                }
                Observation::CheckFinished(event) => {
                    Observation::CheckFinished(CheckFinished { snapshot: seen, ..event })
                }
                other => other,
            }
        },
    );
    prop_oneof![
           1 => (0_u32..3, 0_u64..3, any::<[bool; 2]>(), proptest::option::of(workflows())).prop_map(|(add_iterations, add_time, [has_successor, renews_time], workflow)| {
               let worker = has_successor.then(|| Box::new(Worker::new(WorkerKind::Command, "")));
               let add_time = Millis(add_time);
               let change = workflow.map(|workflow| Box::new(WorkflowChange { workflow, made: Vec::new(), digest: None }));
               let order = RunResumed { add_iterations, add_time, renews_time, worker, change, ..RunResumed::default() };
               Observation::RunResumed(order)
           }),
           1 => Just(Observation::RunInterrupted(RunInterrupted { signal: 15 })),
           1 => proptest::option::of(due()).prop_map(|due| Observation::AnswerGiven(AnswerGiven {
               text: "yes".to_owned(),
               steps: due.into_iter().map(|due| due.step).collect(),
           })),
           1 => Just(Observation::DeadlinePassed),
           3 => due().prop_map(move |TurnId { step, iteration, attempt }| Observation::WorkerStarted(WorkerStarted {
               step, iteration, attempt, prompt: prompt(), limit: Millis(1), check_id: Some(id()), moved_aside: None,
    templates: Vec::new(), call: None, registry: None,
               snapshot: Some(Box::new(snapshot(1))),
           })),
           3 => due().prop_map(move |TurnId { step, iteration, attempt }| Observation::CheckStarted(CheckStarted {
               step, iteration, attempt, check_id: id(), prompt: prompt(), limit: Millis(1), moved_aside: None,
    templates: Vec::new(), call: None,
           })),
           6 => finished,
           1 => due().prop_map(move |due| Observation::WorkerLost(lost(due))),
           1 => due().prop_map(move |due| Observation::CheckLost(lost(due))),
           1 => (0_u8..3, prop_oneof![Just(SnapshotMoment::Resumed), Just(SnapshotMoment::Abandoned)]).prop_map(
               |(work, moment)| Observation::SnapshotTaken(SnapshotTaken { snapshot: Box::new(snapshot(work)), moment }),
           ),
           1 => (due(), 0_u64..300).prop_map(|(TurnId { step, iteration, attempt }, output)| {
               let usage = Some(Usage { output, ..Usage::default() });
               let progress = Box::new(Progress { usage, ..Progress::default() });
               Observation::WorkerProgressed(WorkerProgressed { step, iteration, attempt, progress })
           }),
           1 => (0_u64..100_000).prop_map(|length| Observation::Suspended(MachineSuspended { length: Millis(length) })),
           1 => Just(Observation::Kicked),
           1 => Just(Observation::LogRepaired(LogRepaired { what: "completed".to_owned() })),
       ]
}

fn any_conclusion() -> impl Strategy<Value = Conclusion> {
    const CLASS: ErrorClass = ErrorClass::RetryableRateLimit;
    let end = prop_oneof![
        Just(StepEnd::Complete),
        Just(StepEnd::Incomplete),
        Just(StepEnd::Skipped(step_id(0))),
        Just(StepEnd::Blocked("login".to_owned())),
        Just(StepEnd::IterationsExhausted),
        Just(StepEnd::Stuck(StallCause::SameFailures)),
        Just(StepEnd::CheckFailed(ProcessFailure {
            class: ErrorClass::NonRetryable,
            message: "101".to_owned()
        })),
    ];
    let outcome =
        || prop_oneof![Just(RunOutcome::Complete), Just(RunOutcome::Blocked), Just(RunOutcome::TimeLimit)];
    let decision = prop_oneof![Just(Decision::Complete), Just(Decision::Incomplete), Just(Decision::None)];
    prop_oneof![
        4 => (due(), 1_u32..4, any::<bool>()).prop_map(|(TurnId { step, iteration, attempt }, stage, diagnoses)| {
            let purpose = if diagnoses { Purpose::Diagnosis } else { Purpose::Work };
            Conclusion::WorkRequested(WorkRequested { step, iteration, attempt, stage: Stage(stage), purpose })
        }),
        4 => due().prop_map(|TurnId { step, iteration, attempt }| {
            Conclusion::CheckRequested(CheckRequested {
                step,
                iteration,
                attempt,
                what: Inquiry::Check,
                claim: None,
            })
        }),
        1 => (due(), 0_u64..10_000, any::<bool>()).prop_map(|(due, until, is_outage)| {
            Conclusion::WaitRequested(WaitRequested {
                step: due.step,
                until: Timestamp(until),
                then: TurnKind::Check,
                why: if is_outage { WaitReason::Weather(CLASS) } else { WaitReason::ExternalJob },
                detail: String::new(),
            })
        }),
        1 => (due(), any::<bool>(), 0_u32..2).prop_map(|(due, is_work, to)| {
            Conclusion::FallbackTaken(FallbackTaken {
                step: due.step,
                what: if is_work { TurnKind::Work } else { TurnKind::Check },
                to,
                why: ProcessFailure { class: CLASS, message: String::new() },
            })
        }),
        3 => (due(), decision, 0_u32..3).prop_map(|(due, decision, parse_failures)| {
            Conclusion::VerdictReached(VerdictReached {
                step: due.step,
                iteration: due.iteration,
                check_id: None,
                check_id_match: None,
                decision,
                claimed: None,
                source: DecisionSource::None,
                reasons: Vec::new(),
                fingerprints: vec!["a".to_owned()],
                problems: Vec::new(),
                parse_failures,
                evidence: Vec::new(),
            })
        }),
        1 => (due(), 1_u32..4, 1_u32..4).prop_map(|(due, from, to)| Conclusion::StageRaised(StageRaised {
            step: due.step,
            iteration: due.iteration,
            from: Stage(from),
            to: Stage(to),
            cause: StallCause::SameFailures,
            key: None,
            count: 2,
        })),
        2 => (due(), end).prop_map(|(due, end)| {
            Conclusion::StepEnded(StepEnded { step: due.step, end, evidence: Vec::new() })
        }),
        1 => outcome().prop_map(|why| Conclusion::RunStopping(RunStopping { why, evidence: Vec::new() })),
        1 => outcome().prop_map(|outcome| Conclusion::RunEnded(RunEnded {
            outcome,
            step: None,
            incomplete_steps: Vec::new(),
            evidence: Vec::new(),
        })),
    ]
}
