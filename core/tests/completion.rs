//! Completion rules of a step: which verifiers run after a claim of completion, and the effect of their answers.

use std::collections::VecDeque;

use proptest::prelude::*;
use unstuck_core::completion::SuccessWhen;
use unstuck_core::completion::{
    AnswerFormat, AnswerSchema, Completion, Condition, FailurePattern, OnValidatorFailure, Reviewer,
    StepPrompts, Template, Timing, Validator, ValidatorKind,
};
use unstuck_core::event::{
    CheckFinished, CheckStarted, Conclusion, DecisionFile, Exit, Fact, Inquiry, Outcome, RunResumed, StepEnd,
    VerdictReached, WorkerFinished, WorkerStarted,
};
use unstuck_core::evidence::Decision;
use unstuck_core::evidence::{Failure, FailureSubject, Fingerprint};
use unstuck_core::evidence::{FailureReport, ValidatorOutcome, ValidatorResult};
use unstuck_core::evidence::{ParsedAnswer, SchemaViolation};
use unstuck_core::id::{Blob, Digest, Millis};
use unstuck_core::judge::declared_status::wants_repeat;
use unstuck_core::testing::{Script, World, script_worker, snapshot, step, validator_result};
use unstuck_core::workflow::{CheckMethod, Step, WorkerKind, Workflow};
use unstuck_core::{Effect, Event, Observation};

/// Scripted answers, in order.
#[derive(Clone, Debug)]
enum Says {
    /// The worker answers without a form.
    Done,
    /// The worker, or the closer, answers with this JSON.
    Answers(&'static str),
    /// The worker, or the closer, answers in a wrong form.
    Babbles,
    /// The validators report, a letter each: `+` passes, `-` fails, a digit fails with that failure, `?` could not run.
    Found(&'static str),
    /// The same, but they changed the workspace each time.
    Unsettled(&'static str),
}

use Says::{Answers, Babbles, Done, Found, Unsettled};

const COMPLETE: &str = r#"{"status": "completed"}"#;
const ALL_DONE: &str = r#"{"checklist": [{"id": "a", "description": "A", "completed": true}], "allComplete": true, "summary": "ok"}"#;
const ONE_OPEN: &str = r#"{"checklist": [{"id": "a", "description": "A", "completed": false}], "allComplete": true, "summary": "ok"}"#;

fn condition(name: &str, phase: Timing) -> Condition {
    let pattern = FailurePattern {
        name: "p".to_owned(),
        description: "It fails".to_owned(),
        params: Vec::new(),
        words: Vec::new(),
        templates: Vec::new(),
    };
    Condition {
        validator: Validator {
            name: name.to_owned(),
            run: ValidatorKind::Command("true".to_owned()),
            success_when: Some(SuccessWhen::ExitCode(vec![0])),
            exit_codes: vec![0],
            phase,
            timeout: Millis::from_secs(600),
            recoverable: name != "final",
            pattern,
            extract: [].into(),
        },
        params: [].into(),
    }
}

/// Two conditions, `a` and `b`; three attempts.
fn two() -> Completion {
    let conditions = ["a", "b"].map(|name| condition(name, Timing::AfterWork)).to_vec();
    Completion { conditions, max_attempts: 3, ..Completion::default() }
}

fn with_answer(completion: Completion) -> Completion {
    let form = AnswerSchema::Json { schema: None, source: String::new(), digests: [].into() };
    Completion { answer: Some(AnswerFormat { form, template: None, declares: true }), ..completion }
}

fn with_closer(completion: Completion) -> Completion {
    let prompt =
        Template { file: "complete/f_default.md".to_owned(), text: "Is it?".to_owned(), custom: Vec::new() };
    let closer =
        Reviewer { worker: script_worker(WorkerKind::Command, ""), prompt, required: vec!["a".to_owned()] };
    Completion { closer: Some(closer), ..completion }
}

fn looped(completion: Completion, max_iterations: u32) -> Step {
    Step { completion: Some(completion), ..step("work").with_check(CheckMethod::Conditions, max_iterations) }
}

fn seen(says: &Says) -> Option<Box<ParsedAnswer>> {
    match says {
        Answers(json) => {
            Some(Box::new(ParsedAnswer { value: Some((*json).to_owned()), ..ParsedAnswer::default() }))
        }
        Babbles => Some(Box::new(ParsedAnswer {
            violations: vec![SchemaViolation {
                path: "status".to_owned(),
                keyword: "required".to_owned(),
                schema_path: String::new(),
                message: "is missing".to_owned(),
                allowed: Vec::new(),
            }],
            ..ParsedAnswer::default()
        })),
        Done | Found(_) | Unsettled(_) => None,
    }
}

fn results(step: &Step, phase: Timing, found: &str) -> Vec<ValidatorResult> {
    let asked = step.completion.iter().flat_map(|rules| rules.conditions_in(phase));
    let result = |(condition, letter): (&Condition, char)| {
        let outcome = match letter {
            '+' => ValidatorOutcome::Pass,
            '-' | '0'..='9' => ValidatorOutcome::Fail,
            _ => ValidatorOutcome::CouldNotRun("there is no such program".to_owned()),
        };
        let name = &condition.validator.name;
        ValidatorResult {
            report: FailureReport { summary: "it is red".to_owned(), ..FailureReport::default() },
            failures: failures(name, letter),
            ..validator_result(name, outcome)
        }
    };
    asked.zip(found.chars()).map(result).collect()
}

fn failures(validator: &str, letter: char) -> Vec<Failure> {
    let fingerprint = match letter {
        '-' => format!("validator:{validator}"),
        '0'..='9' => format!("validator:{validator}:{letter}"),
        _ => return Vec::new(),
    };
    let fingerprint = Fingerprint::from_recorded(fingerprint);
    vec![Failure { fingerprint, ..Failure::synthetic(validator, "failed", FailureSubject::Whole, "") }]
}

/// Plays the answers; stops when none is left, or the run has ended.
fn play(world: &mut World, says: &mut VecDeque<Says>) {
    while let Some(effect) = world.state.pending_effects().into_iter().next() {
        let Some(said) = says.pop_front() else { return };
        let (step, at) = world.state.steps().next().expect("a step");
        let (step, inquiry) = (step.clone(), at.verdicts.inquiry);
        let prompt = Blob { digest: Digest::sha256(b""), size: 0 };
        match effect {
            Effect::Perform(turn, due) if !turn.is_check() => {
                let started = WorkerStarted {
                    step: due.step.clone(),
                    iteration: due.iteration,
                    attempt: due.attempt,
                    prompt,
                    limit: Millis(1),
                    check_id: None,
                    moved_aside: None,
                    templates: Vec::new(),
                    call: None,
                    registry: None,
                    snapshot: None,
                };
                world.give(Observation::WorkerStarted(started)).expect("work is due");
                let answer = seen(&said);
                let finished = WorkerFinished {
                    step: due.step,
                    iteration: due.iteration,
                    attempt: due.attempt,
                    outcome: Outcome::from_exit(Exit::Code(0)),
                    decision_file: DecisionFile::NotConfigured,
                    changed: Some(true),
                    snapshot: None,
                    drift: None,
                    diffstat: None,
                    wants_repeat: wants_repeat(answer.as_deref()),
                    answer,
                };
                world.give(Observation::WorkerFinished(finished)).expect("a worker is in flight");
            }
            Effect::Perform(_, due) => {
                let started = CheckStarted {
                    step: due.step.clone(),
                    iteration: due.iteration,
                    attempt: due.attempt,
                    check_id: "id".into(),
                    prompt,
                    limit: Millis(1),
                    moved_aside: None,
                    templates: Vec::new(),
                    call: None,
                };
                world.give(Observation::CheckStarted(started)).expect("a check is due");
                let phase = if inquiry == Inquiry::Preflight { Timing::Preflight } else { Timing::AfterWork };
                let validators = match &said {
                    Found(found) | Unsettled(found) => results(&step, phase, found),
                    _ => Vec::new(),
                };
                let finished = CheckFinished {
                    step: due.step,
                    iteration: due.iteration,
                    attempt: due.attempt,
                    check_id: "id".into(),
                    outcome: Outcome::from_exit(Exit::Code(0)),
                    decision_file: DecisionFile::NotConfigured,
                    commands: Vec::new(),
                    drift: None,
                    snapshot: (!validators.is_empty()).then(|| Box::new(snapshot(1))),
                    validators,
                    stamp: None,
                    answer: seen(&said),
                    unsettled_after: matches!(said, Unsettled(_)).then_some(3),
                    changed: Vec::new(),
                };
                world.give(Observation::CheckFinished(finished)).expect("a check is in flight");
            }
            Effect::Stop(_) => unreachable!("nobody stops this run"),
        }
    }
}

fn played(completion: Completion, says: &[Says]) -> World {
    let mut world = World::start(Workflow::of_steps(vec![looped(completion, 25)]), Script::default());
    play(&mut world, &mut says.iter().cloned().collect());
    world
}

fn verdicts(events: &[Event]) -> Vec<&VerdictReached> {
    let mut all = Vec::new();
    for event in events {
        if let Fact::Concluded(Conclusion::VerdictReached(verdict)) = &event.fact {
            all.push(verdict);
        }
    }
    all
}

/// Describes the state of a step in one line: its end or phase, and the fingerprints of the last verdict.
fn stands(world: &World) -> String {
    let (_, at) = world.state.steps().next().expect("a step");
    let last = verdicts(&world.history.events)
        .last()
        .map(|verdict| verdict.fingerprints.join(" "))
        .unwrap_or_default();
    let phase = match at.phase.end() {
        Some(StepEnd::ConditionFailed(why)) => format!("condition failed: {why}"),
        Some(StepEnd::AttemptsExhausted(why)) => format!("exhausted: {why}"),
        Some(StepEnd::CheckCouldNotRun(failure)) => format!("could not run: {}", failure.message),
        Some(end) => format!("{end:?}"),
        None => format!("iteration {} {:?}", at.iteration(), at.verdicts.inquiry),
    };
    format!("{phase} [{last}]")
}

#[test]
fn verifiers_run_in_order_and_their_answers_decide() {
    let failing_thrice = [Done, Found("+-"), Done, Found("+-"), Done, Found("+-")];
    let template = |file: &str| Template { file: file.to_owned(), text: String::new(), custom: Vec::new() };
    let bounded = |bounded| StepPrompts {
        initial: template("i"),
        onward: None,
        continuation: vec![template("c")],
        bounded,
        variables: Vec::new(),
    };
    let preflight = || {
        let mut completion = two();
        completion.conditions.insert(0, condition("first", Timing::Preflight));
        completion
    };
    let unrecoverable = || {
        let mut completion = Completion { on_failure: OnValidatorFailure::Skip, ..two() };
        completion.conditions.push(condition("final", Timing::AfterWork));
        completion
    };
    let repeat = Answers(r#"{"next_action": {"action": "repeat"}}"#);
    for (name, completion, says, want) in [
        ("all hold", two(), vec![Done, Found("++")], "Complete []"),
        ("one fails: the worker is told", two(), vec![Done, Found("+-")], "iteration 2 Check [validator:b]"),
        ("and then holds", two(), vec![Done, Found("+-"), Done, Found("++")], "Complete []"),
        (
            "the same failure three times",
            two(),
            failing_thrice.to_vec(),
            "exhausted: failed (validator:b) came back in 3 iterations in a row [validator:b]",
        ),
        (
            "once is no row",
            Completion { max_attempts: 1, ..two() },
            vec![Done, Found("+-")],
            "exhausted: failed (validator:b) is there, and one iteration with it is all that is allowed [validator:b]",
        ),
        (
            "three different failures",
            two(),
            vec![Done, Found("+-"), Done, Found("-+"), Done, Found("+-")],
            "iteration 4 Check [validator:b]",
        ),
        (
            "a set that gets smaller is no occurrence",
            two(),
            vec![Done, Found("--"), Done, Found("+-"), Done, Found("+-"), Done, Found("+-")],
            "exhausted: failed (validator:b) came back in 3 iterations in a row [validator:b]",
        ),
        (
            "what could not run is nobody's iteration",
            two(),
            vec![Done, Found("-?")],
            "could not run: validator b could not run: there is no such program []",
        ),
        (
            "what passes while the workspace changes each time is not known to hold",
            two(),
            vec![Done, Unsettled("-+")],
            "could not run: validator b could not run: after 3 rounds the validators change the workspace each time they \
             run: have git ignore what they write []",
        ),
        (
            "what fails all the same is told",
            two(),
            vec![Done, Unsettled("--")],
            "iteration 2 Check [validator:a validator:b]",
        ),
        (
            "a preflight that changes the workspace each time",
            preflight(),
            vec![Unsettled("+")],
            "could not run: validator first could not run: after 3 rounds the validators change the workspace each time \
             they run: have git ignore what they write []",
        ),
        (
            "abort",
            Completion { on_failure: OnValidatorFailure::Abort, ..two() },
            vec![Done, Found("-+")],
            "condition failed: a: it is red [validator:a]",
        ),
        (
            "skip",
            Completion { on_failure: OnValidatorFailure::Skip, ..two() },
            vec![Done, Found("-+")],
            "Complete []",
        ),
        (
            "what cannot be mended is not skipped",
            unrecoverable(),
            vec![Done, Found("++-")],
            "condition failed: final: it is red [validator:final]",
        ),
        (
            "what could not run is not skipped",
            unrecoverable(),
            vec![Done, Found("+?+")],
            "could not run: validator b could not run: there is no such program []",
        ),
        ("preflight holds", preflight(), vec![Found("+"), Done, Found("++")], "Complete []"),
        (
            "preflight fails before any work",
            preflight(),
            vec![Found("-")],
            "condition failed: first: it is red []",
        ),
        (
            "preflight could not run",
            preflight(),
            vec![Found("?")],
            "could not run: validator first could not run: there is no such program []",
        ),
        ("declared and verified", with_answer(two()), vec![Answers(COMPLETE), Found("++")], "Complete []"),
        (
            "declared, but",
            with_answer(two()),
            vec![Answers(COMPLETE), Found("+-")],
            "iteration 2 Check [validator:b declared:complete-but:b]",
        ),
        (
            "three failures that differ are progress, whatever was declared of each",
            with_answer(two()),
            ["+1", "+2", "+3"].iter().flat_map(|found| [Answers(COMPLETE), Found(found)]).collect(),
            "iteration 4 Check [validator:b:3 declared:complete-but:b]",
        ),
        (
            "the same failure three times is not, and all that came back is named",
            with_answer(two()),
            ["-1", "-1", "-1"].iter().flat_map(|found| [Answers(COMPLETE), Found(found)]).collect(),
            "exhausted: failed (validator:a), failed (validator:b:1) came back in 3 iterations in a row \
             [validator:a validator:b:1 declared:complete-but:a declared:complete-but:b]",
        ),
        (
            "nobody is asked where nothing was declared",
            with_answer(two()),
            vec![Answers(r#"{"status": "in_progress"}"#)],
            "iteration 2 Check []",
        ),
        (
            "without a schema nobody has to declare",
            with_answer(two()),
            vec![Answers("7"), Found("++")],
            "Complete []",
        ),
        (
            "with one somebody has to",
            with_schema(serde_json::json!({"type": "object"})),
            vec![Answers(r#"{"result": "fine"}"#)],
            "iteration 2 Check []",
        ),
        (
            "nor does the schema of the end alone go unasked",
            Completion { final_answer: with_schema(serde_json::json!({})).answer, ..with_answer(two()) },
            vec![Answers("7")],
            "iteration 2 Check []",
        ),
        (
            "a contradiction is no declaration",
            with_answer(two()),
            vec![Answers(r#"{"status": "completed", "next_action": {"action": "continue"}}"#)],
            "iteration 2 Check [declared:contradiction]",
        ),
        (
            "the wrong form three times",
            with_answer(two()),
            vec![Babbles, Babbles, Babbles],
            "exhausted: format:#:required came back in 3 iterations in a row [format:#:required]",
        ),
        (
            "the closer has the last word",
            with_closer(two()),
            vec![Done, Found("++"), Answers(ALL_DONE)],
            "Complete []",
        ),
        (
            "the closer is not asked where a validator fails",
            with_closer(two()),
            vec![Done, Found("+-")],
            "iteration 2 Check [validator:b]",
        ),
        (
            "the closer finds something open",
            with_closer(two()),
            vec![Done, Found("++"), Answers(ONE_OPEN)],
            "iteration 2 Check [closer:item:a]",
        ),
        (
            "a closer that babbles closes nothing, and is asked again",
            with_closer(two()),
            vec![Done, Found("++"), Babbles],
            "iteration 1 Closer []",
        ),
        (
            "repeats are bounded by the chain",
            Completion { prompts: Some(bounded(true)), ..with_answer(two()) },
            vec![repeat.clone(), repeat.clone()],
            "exhausted: adaptation chain exhausted: the worker asked for repeat 2 of its step []",
        ),
        (
            "repeats without a chain are not",
            Completion { prompts: Some(bounded(false)), ..with_answer(two()) },
            vec![repeat.clone(), repeat],
            "iteration 3 Check []",
        ),
    ] {
        assert_eq!(stands(&played(completion, &says)), want, "{name}");
    }
}

/// Plays one letter per iteration for the conditions `a`, `b` and `c`; returns the result of each iteration.
fn recorded(completion: &Completion, rounds: &[Says]) -> Vec<String> {
    let led_to = |n: usize| {
        let said = rounds[..n].iter().flat_map(|found| match found {
            Found(_) | Unsettled(_) => vec![Done, found.clone()],
            answer => vec![answer.clone()],
        });
        let world = played(completion.clone(), &said.collect::<Vec<_>>());
        match world.state.steps().next().expect("a step").1.phase.end() {
            None => "retry",
            Some(StepEnd::Complete) => "complete",
            Some(StepEnd::ConditionFailed(_) | StepEnd::AttemptsExhausted(_)) => "abort",
            Some(_) => "another end",
        }
    };
    (1..=rounds.len()).map(|n| led_to(n).to_owned()).collect()
}

/// The cases `validation_chain-…` and what they were corrected to.
#[test]
fn recorded_chains_of_failures_end_as_wanted() {
    let of = |names: &[&str], on_failure, max_attempts| Completion {
        conditions: names.iter().map(|name| condition(name, Timing::AfterWork)).collect(),
        on_failure,
        max_attempts,
        ..Completion::default()
    };
    let one = |on_failure, max_attempts| of(&["a"], on_failure, max_attempts);
    let red = Found("-");
    for (id, completion, rounds, want) in [
        ("002", one(OnValidatorFailure::Retry, 1), vec![red.clone()], "abort"),
        ("003", one(OnValidatorFailure::Retry, 3), vec![red.clone(); 3], "retry retry abort"),
        ("004", one(OnValidatorFailure::Abort, 3), vec![red.clone()], "abort"),
        ("005", one(OnValidatorFailure::Skip, 3), vec![red.clone()], "complete"),
        ("007: `final` is unrecoverable", of(&["final"], OnValidatorFailure::Skip, 3), vec![red], "abort"),
        (
            "010",
            of(&["a", "b", "c"], OnValidatorFailure::Retry, 3),
            vec![Found("-++"), Found("+-+"), Found("++-")],
            "retry retry retry",
        ),
        (
            "011",
            with_answer(one(OnValidatorFailure::Retry, 3)),
            vec![Babbles, Babbles, Babbles],
            "retry retry abort",
        ),
    ] {
        assert_eq!(recorded(&completion, &rounds).join(" "), want, "validation_chain-{id}");
    }
}

/// `validation_chain-013` and `-018`: a failure before the work ends the step at once, and uses no attempt.
#[test]
fn preflight_condition_uses_no_attempt() {
    let mut completion = two();
    completion.conditions.insert(0, condition("first", Timing::Preflight));
    let failing = [Found("+"), Done, Found("+-"), Done, Found("+-")];
    assert_eq!(stands(&played(completion.clone(), &failing)), "iteration 3 Check [validator:b]");
    let world = played(completion, &[Found("-")]);
    assert_eq!(stands(&world), "condition failed: first: it is red []");
    assert_eq!(world.state.steps().next().expect("a step").1.calls.started, 0);
}

#[test]
fn a_claim_that_evidence_contradicts_is_recorded_as_one() {
    let world = played(with_answer(two()), &[Answers(COMPLETE), Found("-+")]);
    let verdict = *verdicts(&world.history.events).last().expect("a verdict");
    assert_eq!((verdict.decision, verdict.claimed), (Decision::Incomplete, Some(Decision::Complete)));
    assert_eq!(verdict.reasons, ["a: it is red"]);
}

#[test]
fn a_closer_that_changed_the_workspace_has_the_conditions_asked_again() {
    let completion = with_closer(two());
    let mut world = played(completion, &[Done, Found("++")]);
    let (step, at) = world.state.steps().next().expect("a step");
    assert_eq!(at.verdicts.inquiry, Inquiry::Closer);
    let (id, iteration) = (step.id.clone(), at.iteration());
    let prompt = Blob { digest: Digest::sha256(b""), size: 0 };
    let started = CheckStarted {
        step: id.clone(),
        iteration,
        attempt: at.attempt(),
        check_id: "id".into(),
        prompt,
        limit: Millis(1),
        moved_aside: None,
        templates: Vec::new(),
        call: None,
    };
    let attempt = at.attempt();
    world.give(Observation::CheckStarted(started)).expect("a closer is due");
    let finished = CheckFinished {
        step: id,
        iteration,
        attempt,
        check_id: "id".into(),
        outcome: Outcome::from_exit(Exit::Code(0)),
        decision_file: DecisionFile::NotConfigured,
        commands: Vec::new(),
        drift: None,
        validators: Vec::new(),
        snapshot: Some(Box::new(snapshot(2))),
        stamp: None,
        answer: seen(&Answers(ALL_DONE)),
        unsettled_after: None,
        changed: Vec::new(),
    };
    world.give(Observation::CheckFinished(finished)).expect("a closer is in flight");
    assert_eq!(stands(&world), "iteration 1 Conditions []");
    play(&mut world, &mut VecDeque::from([Found("++")]));
    assert_eq!(stands(&world), "Complete []", "who has agreed is not asked twice");
}

#[test]
fn failed_validator_run_repeats_after_resume_without_new_work() {
    let mut world = played(with_answer(two()), &[Answers(COMPLETE), Found("?+")]);
    let calls = world.state.steps().next().expect("a step").1.calls.started;
    world.give(Observation::RunResumed(RunResumed::default())).expect("it can be resumed");
    let (_, at) = world.state.steps().next().expect("a step");
    assert_eq!((at.verdicts.inquiry, at.calls.started), (Inquiry::Conditions, calls));
    play(&mut world, &mut VecDeque::from([Found("++")]));
    assert_eq!(stands(&world), "Complete []");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// Whatever the answers: a step is complete only if the last check of each condition held, after the last work.
    #[test]
    fn complete_implies_that_every_condition_held_after_the_last_work(
        letters in prop::collection::vec((0..6_u8, 0..2_u8), 1..40),
        on_failure in prop::sample::select(vec![OnValidatorFailure::Retry, OnValidatorFailure::Abort]),
        kind in 0..4_u8,
    ) {
        let mut completion = Completion { on_failure, ..two() };
        if kind & 1 == 1 { completion = with_answer(completion); }
        if kind & 2 == 2 { completion = with_closer(completion); }
        let mut world = World::start(Workflow::of_steps(vec![looped(completion, 12)]), Script::default());
        for (letter, other) in letters {
            let asks = world.state.steps().next().expect("a step").1.verdicts.inquiry;
            let checks = matches!(world.state.pending_effects().first(), Some(Effect::Perform(turn, _)) if turn.is_check());
            let said = match (checks, asks) {
                (true, Inquiry::Conditions) => Found(["++", "+-", "-+", "--", "?+", "++"][usize::from(letter)]),
                (true, _) => [Answers(ALL_DONE), Answers(ONE_OPEN), Babbles][usize::from(letter % 3)].clone(),
                _ if other == 0 => Answers(COMPLETE),
                _ => Babbles,
            };
            play(&mut world, &mut VecDeque::from([said]));
        }
        let complete = world.state.steps().next().expect("a step").1.phase.end() == Some(&StepEnd::Complete);
        let after_work = world.history.events.iter().rev().take_while(|event| {
            !matches!(event.fact, Fact::Observed(Observation::WorkerFinished(_)))
        });
        let held = after_work.filter_map(|event| match &event.fact {
            Fact::Observed(Observation::CheckFinished(end)) if !end.validators.is_empty() => Some(&end.validators),
            _ => None,
        }).next().is_some_and(|found| found.iter().all(|result| result.outcome == ValidatorOutcome::Pass));
        prop_assert!(!complete || held);
    }
}

/// Returns a step whose answer has to meet this schema.
fn with_schema(schema: serde_json::Value) -> Completion {
    let form = AnswerSchema::Json { schema: Some(schema), source: "s".to_owned(), digests: [].into() };
    Completion { answer: Some(AnswerFormat { form, template: None, declares: true }), ..two() }
}

#[test]
fn a_schema_is_recorded_as_text_so_that_its_depth_is_its_own() {
    let nested =
        |levels| (0..levels).fold(serde_json::json!(true), |schema, _| serde_json::json!({ "not": schema }));
    for schema in [serde_json::json!({"type": "object"}), serde_json::json!(false), nested(120)] {
        let completion = with_schema(schema.clone());
        // As deep in other JSON as an event of the log would be, and deeper.
        let record = serde_json::json!({"a": [{"b": [completion]}]}).to_string();
        assert!(record.contains(&serde_json::to_string(&schema.to_string()).expect("a text")), "{record}");
        let mut read: serde_json::Value = serde_json::from_str(&record).expect("it is not deep");
        let found: Completion = serde_json::from_value(read["a"][0]["b"][0].take()).expect("a completion");
        assert_eq!(found, completion);
    }
    let by_hand = serde_json::json!({"json": {"schema": {"type": "object"}, "source": "s", "digests": {}}});
    let form: AnswerSchema = serde_json::from_value(by_hand).expect("a form");
    assert_eq!(
        Some(form),
        with_schema(serde_json::json!({"type": "object"})).answer.map(|answer| answer.form)
    );
    let too_deep = serde_json::to_string(&with_schema(nested(200))).expect("it can be written");
    assert!(serde_json::from_str::<Completion>(&too_deep).is_err());
}
