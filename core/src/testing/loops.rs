//! Loops as they happen: a step that is worked on and checked until it is done, or until nothing comes of it.
//!
//! A loop is a few *courses* one after the other, such as a set of failures that shrinks, or a cycle of three sets. What
//! a course shows is given in the form that the check of the step reports.

use proptest::collection::vec;
use proptest::prelude::*;

use super::findings::{Findings, failing};
use super::world::{Behavior, PlayedRun, Script, Work, World};
use crate::id::Millis;
use crate::workflow::{Baseline, Budget, Step, Workflow};

/// Names of what can fail.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// How a loop goes for some iterations.
#[derive(Clone, Copy, Debug)]
enum Course {
    /// The same failures each time.
    Same,
    /// One failure less each time.
    Shrinking,
    /// One failure more each time.
    Growing,
    /// So many sets of failures in turn.
    Cycle(u8),
    /// Another failure each time.
    Wandering,
    /// One failure, each time at a later place.
    Places,
    /// One failure, and a line with a number that comes closer to its bound.
    Numbers,
    /// One failure, and more tests that pass.
    Passing,
    /// The check says no, and nothing else.
    Silent,
    /// The same failures, and the worker changes nothing.
    Idle,
    /// The worker changes files that the step may not change.
    Drift,
    /// The service of the worker is overloaded for some calls.
    Outage,
    /// The worker takes an hour and uses many tokens.
    Costly,
    /// The check waits for an external job.
    Waiting,
    /// The check gives no verdict that can be read.
    Unreadable,
    /// Something around the worker or the check fails.
    Broken,
    /// The supervisor is killed, or interrupted and resumed.
    Resumed,
}

/// The acts of the worker and of the check in one iteration.
#[derive(Clone, Debug)]
struct Acts {
    work: Vec<Behavior>,
    checks: Vec<Behavior>,
}

/// Loops of a step, played to their ends: failures over a small alphabet that stay, shrink, grow or return, places that
/// move, numbers that come closer to a bound, idle workers, checks without reasons, changes outside of the scope,
/// outages, waits and budgets. Two loops of five end with a check that passes.
///
/// The step may have any check. Where the worker is its own check, its decision file shows the same.
pub fn loops(step: Step) -> impl Strategy<Value = PlayedRun> {
    let budget = proptest::option::weighted(0.4, 500_u64..8_000);
    (loop_scripts(step.clone()), budget).prop_map(move |(script, tokens)| {
        let workflow = Workflow {
            budget: Budget { tokens, ..Budget::default() },
            ..Workflow::of_steps(vec![step.clone()])
        };
        let mut world = World::start(workflow, script);
        world.play();
        world.history
    })
}

/// The scripts of such loops.
fn loop_scripts(step: Step) -> impl Strategy<Value = Script> {
    let courses = vec((courses(), 1_u8..12), 1..4);
    (courses, 0_usize..NAMES.len(), 0_u8..5).prop_map(move |(courses, first, end)| {
        let mut acts = baseline(&step, first);
        let mut content = 0_u8;
        for (course, length) in courses {
            for at in 0..length {
                let is_idle = matches!(course, Course::Idle);
                content = if is_idle { content } else { content.wrapping_add(1) };
                acts.push(course.acts(&step, first, at, content));
            }
        }
        if end < 2 {
            content = content.wrapping_add(1);
            acts.push(Acts::new(&step, Work::to(content), &Findings::Passed));
        }
        let (work, checks): (Vec<_>, Vec<_>) = acts.into_iter().map(|acts| (acts.work, acts.checks)).unzip();
        Script::default()
            .with_work(step.id.as_str(), work.concat())
            .with_checks(step.id.as_str(), checks.concat())
    })
}

fn courses() -> impl Strategy<Value = Course> {
    prop_oneof![
        3 => Just(Course::Same),
        2 => Just(Course::Shrinking),
        3 => Just(Course::Growing),
        3 => (2_u8..6).prop_map(Course::Cycle),
        3 => Just(Course::Wandering),
        1 => Just(Course::Places),
        1 => Just(Course::Numbers),
        1 => Just(Course::Passing),
        2 => Just(Course::Silent),
        2 => Just(Course::Idle),
        1 => Just(Course::Drift),
        1 => Just(Course::Outage),
        2 => Just(Course::Costly),
        2 => Just(Course::Waiting),
        1 => Just(Course::Unreadable),
        1 => Just(Course::Broken),
        1 => Just(Course::Resumed),
    ]
}

/// Returns the check before the first iteration, if the step has a baseline.
fn baseline(step: &Step, first: usize) -> Vec<Acts> {
    let has_baseline = step.check.as_ref().is_some_and(|check| check.baseline != Baseline::Off);
    let shown = failing([NAMES[first], "old"]);
    let checks = if has_baseline { vec![shown.check(step)] } else { Vec::new() };
    vec![Acts { work: Vec::new(), checks }]
}

impl Course {
    /// Returns the acts of its iteration `at`, from 0, with failures that begin at `first`.
    fn acts(self, step: &Step, first: usize, at: u8, content: u8) -> Acts {
        let name = |at: usize| NAMES[(first + at) % NAMES.len()];
        let one = failing([name(0)]);
        let position = usize::from(at);
        let shown = match self {
            Self::Same | Self::Idle | Self::Drift | Self::Outage | Self::Costly | Self::Resumed => {
                failing([name(0), name(1)])
            }
            Self::Shrinking => failing((0..NAMES.len().saturating_sub(position).max(1)).map(name)),
            Self::Growing => failing((0..=position).map(|at| format!("more {at}"))),
            Self::Cycle(period) => failing([name(position % usize::from(period))]),
            Self::Wandering => failing([format!("new {at}")]),
            Self::Places => one.at_place(90 - u32::from(at)),
            Self::Numbers => one.with_number(90 - i64::from(at)),
            Self::Passing => one.with_passed(at.into()),
            Self::Silent => Findings::Silent,
            Self::Waiting | Self::Unreadable | Self::Broken => one,
        };
        let mut work = Work::to(content);
        match self {
            Self::Idle => work = Work { snapshot: work.snapshot, ..Work::nothing() },
            Self::Drift => work.files.push("docs/stray".to_owned()),
            Self::Costly => (work.time, work.tokens) = (Millis::from_secs(3600), Some(1_000)),
            _ => {}
        }
        let mut acts = Acts::new(step, work, &shown);
        let overloaded = || Behavior::Exits(0, "API Error: 529 overloaded".to_owned());
        match self {
            Self::Outage => acts.work.insert(0, overloaded()),
            Self::Resumed if at.is_multiple_of(2) => acts.work.insert(0, Behavior::IsLost),
            Self::Resumed => acts.checks.insert(0, Behavior::IsInterrupted),
            Self::Waiting => {
                let file = r#"{"decision":"waiting","check_id":"{id}","retry_after":900}"#;
                acts.checks = vec![Behavior::Writes(1, file.to_owned())];
            }
            Self::Unreadable => acts.checks = vec![Behavior::Writes(1, "who knows".to_owned())],
            Self::Broken if at == 1 => {
                acts.work = vec![Behavior::Breaks("an artifact is missing".to_owned())]
            }
            Self::Broken if at == 2 => acts.checks = vec![Behavior::Exits(101, String::new())],
            Self::Broken if at == 3 => acts.checks = vec![Behavior::Exits(127, String::new())],
            Self::Broken if at == 4 => acts.work = vec![Behavior::IsMissing],
            _ => {}
        }
        acts
    }
}

impl Acts {
    /// Returns work, and a check that shows this.
    fn new(step: &Step, work: Work, shown: &Findings) -> Self {
        if step.claims() {
            let work = Work { verdict: Some(shown.verdict()), ..work };
            return Self { work: vec![Behavior::Works(Box::new(work))], checks: Vec::new() };
        }
        Self { work: vec![Behavior::Works(Box::new(work))], checks: vec![shown.check(step)] }
    }
}
