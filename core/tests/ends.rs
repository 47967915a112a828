//! Decisions after a worker has ended: its actions and results count more than its text.

use unstuck_core::Observation;
use unstuck_core::call_report::{CallEnd, CallError, CallReport, Progress};
use unstuck_core::event::{
    Bytes, Conclusion, DecisionFile, Exit, Fact, Outcome, RegistryText, StepEnd, WaitReason, WorkerFinished,
    WorkerStarted,
};
use unstuck_core::evidence::{Decision, Refusal};
use unstuck_core::id::{Blob, CheckId, Digest, Millis, StepId};
use unstuck_core::testing::{Script, World, script_worker, step};
use unstuck_core::workflow::{CheckMethod, Step, WorkerKind, Workflow};

const ID: &str = "0190a000-0000-7000-8000-000000000001";
const LIMIT: &str = "You've hit your limit · resets 1pm (Asia/Seoul)\n";
const OVERLOADED: &str = "API Error: 529 overloaded_error\n";
const COMPLETE: &str = r#"{"decision":"complete","check_id":"0190a000-0000-7000-8000-000000000001"}"#;

/// End of a worker.
#[derive(Clone, Default)]
struct Left {
    code: i32,
    stdout: &'static str,
    stderr: &'static str,
    file: &'static str,
    changed: Option<bool>,
    told: Option<CallReport>,
    /// The part of its prompt that comes from a steps registry.
    asked: &'static str,
}

impl Left {
    fn saying(code: i32, stdout: &'static str, stderr: &'static str) -> Self {
        Self { code, stdout, stderr, changed: Some(false), ..Self::default() }
    }

    fn changed(self) -> Self {
        Self { changed: Some(true), ..self }
    }

    fn with_file(self, file: &'static str) -> Self {
        Self { file, ..self }
    }

    fn told(self, end: CallEnd, trouble: Option<CallError>) -> Self {
        let told = CallReport { end, trouble, ..Progress::default().so_far("claude") };
        Self { told: Some(told), ..self }
    }
}

/// Returns the consequence for the step, in a word.
fn follows(step: Step, left: Left) -> String {
    let mut world = World::start(Workflow::of_steps(vec![step]), Script::default());
    let (step, at) = world.state.steps().next().expect("a step");
    let (step, iteration, attempt) = (step.id.clone(), at.iteration(), at.attempt());
    let started = WorkerStarted {
        step: step.clone(),
        iteration,
        attempt,
        prompt: Blob { digest: Digest::sha256(b""), size: 0 },
        limit: Millis(1),
        check_id: Some(CheckId::new(ID)),
        moved_aside: None,
        templates: Vec::new(),
        call: None,
        registry: Some(Box::new(RegistryText { task: left.asked.to_owned(), ..RegistryText::default() })),
        snapshot: None,
    };
    world.give(Observation::WorkerStarted(started)).expect("work is due");
    let decision_file = match left.file {
        "" => DecisionFile::Refused(Refusal::Missing),
        text => DecisionFile::Read(Bytes(text.as_bytes().to_vec())),
    };
    let finished = WorkerFinished {
        step,
        iteration,
        attempt,
        outcome: Outcome {
            answer: left.stdout.to_owned(),
            stderr_tail: left.stderr.to_owned(),
            reading: left.told.map(Box::new),
            ..Outcome::from_exit(Exit::Code(left.code))
        },
        decision_file,
        changed: left.changed,
        snapshot: None,
        drift: None,
        diffstat: None,
        answer: None,
        wants_repeat: false,
    };
    let known = world.history.events.len();
    world.give(Observation::WorkerFinished(finished)).expect("a worker is in flight");
    let word = |fact: &Fact| match fact {
        Fact::Concluded(Conclusion::WaitRequested(wait)) => match wait.why {
            WaitReason::Weather(_) => Some("waits".to_owned()),
            _ => Some("tries again".to_owned()),
        },
        Fact::Concluded(Conclusion::StepEnded(end)) => Some(match &end.end {
            StepEnd::Complete => "complete".to_owned(),
            StepEnd::Blocked(needs) => format!("blocked: {needs}"),
            StepEnd::WorkerFailed(_) => "failed".to_owned(),
            other => format!("{other:?}"),
        }),
        Fact::Concluded(Conclusion::CheckRequested(_)) => Some("is checked".to_owned()),
        Fact::Concluded(Conclusion::VerdictReached(verdict)) => match verdict.decision {
            Decision::None => Some("no verdict".to_owned()),
            Decision::Incomplete => Some("incomplete".to_owned()),
            _ => None,
        },
        _ => None,
    };
    let events = &world.history.events[known..];
    events.iter().find_map(|event| word(&event.fact)).unwrap_or_else(|| format!("{events:?}"))
}

fn alone() -> Step {
    Step { id: StepId::from("a"), ..step("a") }
}

fn checked() -> Step {
    alone().with_check(CheckMethod::Exit(script_worker(WorkerKind::Custom, "check it")), 2)
}

fn claims() -> Step {
    alone().with_check(CheckMethod::Claim, 2)
}

fn check(rows: &[(Step, Left, &str)]) {
    for (step, left, want) in rows {
        let (stdout, stderr) = (left.stdout, left.stderr);
        let by = step.check.as_ref().map(|check| &check.by);
        assert_eq!(follows(step.clone(), left.clone()), *want, "{by:?} {stdout:?} {stderr:?}");
    }
}

#[test]
fn worker_with_work_or_verdict_and_good_end_is_not_an_outage() {
    let outage = || Left::saying(0, LIMIT, "");
    let told = |end, trouble| outage().told(end, trouble);
    let failed = |trouble| Left { stdout: "", ..told(CallEnd::Failed, Some(trouble)) };
    check(&[
        (checked(), outage(), "waits"),
        (checked(), outage().changed(), "is checked"),
        (checked(), Left { changed: None, ..outage() }, "waits"),
        (checked(), Left::saying(1, LIMIT, "").changed(), "waits"),
        (checked(), Left::saying(0, "", OVERLOADED), "waits"),
        (checked(), Left::saying(0, "", OVERLOADED).changed(), "is checked"),
        (claims(), outage(), "waits"),
        (claims(), outage().with_file(COMPLETE), "complete"),
        (claims(), outage().changed().with_file(COMPLETE), "complete"),
        (claims(), outage().changed(), "no verdict"),
        (claims(), Left::saying(1, LIMIT, "").with_file("{}"), "waits"),
        // No check would verify its work.
        (alone(), outage().changed(), "waits"),
        // The text of a client that should have printed events, and what one told in its own form.
        (checked(), told(CallEnd::Failed, Some(CallError::RateLimit)), "waits"),
        (checked(), told(CallEnd::Failed, Some(CallError::RateLimit)).changed(), "is checked"),
        (claims(), told(CallEnd::Failed, Some(CallError::RateLimit)).with_file(COMPLETE), "complete"),
        (checked(), failed(CallError::RateLimit).changed(), "waits"),
        (checked(), failed(CallError::Overloaded), "waits"),
    ]);
}

#[test]
fn repeated_registry_prompt_gives_no_decision() {
    const TASK: &str = "Mend it. At the end, say this.\nVerdict: COMPLETE\n";
    let repeats = || Left::saying(0, TASK, "").changed();
    check(&[(claims(), repeats(), "complete"), (claims(), Left { asked: TASK, ..repeats() }, "no verdict")]);
}

#[test]
fn unanswered_prompt_blocks_the_run_with_its_question() {
    let no_terminal = "sh: 1: cannot open /dev/tty: No such device or address\n";
    let password = || Left::saying(2, "Password: ", no_terminal);
    let blocked = "blocked: an answer to its question: Password:";
    let overwrite = "blocked: an answer to its question: overwrite? [y/N]";
    let crashed = |stderr| Left::saying(1, "", stderr).told(CallEnd::Failed, Some(CallError::Crashed));
    let trusts = || {
        let mut left = Left::saying(0, "overwrite? [y/N]", "").told(CallEnd::Done, None);
        left.told.as_mut().expect("it told").message = "it printed no JSON that is known".to_owned();
        left
    };
    check(&[
        (checked(), trusts(), overwrite),
        (checked(), trusts().changed(), "is checked"),
        (alone(), password(), blocked),
        (checked(), password(), blocked),
        (checked(), password().changed(), blocked),
        (claims(), password(), blocked),
        (claims(), password().with_file(COMPLETE), "incomplete"),
        (checked(), Left::saying(1, "working\noverwrite? [y/N] ", ""), overwrite),
        (checked(), Left::saying(0, "", "overwrite? [y/N] "), overwrite),
        (checked(), Left::saying(0, "", "overwrite? [y/N] ").changed(), "is checked"),
        (checked(), Left::saying(0, "I have looked.\noverwrite? [y/N] ", ""), "is checked"),
        (claims(), Left::saying(0, "overwrite? [y/N] ", "").with_file(COMPLETE), "complete"),
        (checked(), crashed("overwrite? [y/N] "), overwrite),
        (checked(), Left::saying(127, "Password: ", ""), "failed"),
        (checked(), Left::saying(1, "Password: ", "API Error: 529 overloaded\n"), "waits"),
        (checked(), Left::saying(0, "Password: ", "").told(CallEnd::Done, None), "is checked"),
        (checked(), Left::saying(1, "why does it fail?\n", ""), "is checked"),
    ]);
}
