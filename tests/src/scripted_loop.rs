//! A loop driven by arbitrary bytes: they decide its settings and the result of each iteration.

use unstuck_core::Effect;
use unstuck_core::event::{Observation, Purpose, RunOutcome, RunResumed};
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::{Location, Number, NumberLine, Tests};
use unstuck_core::id::{CheckId, Digest, Stage};
use unstuck_core::judge::scope::StepChanges;
use unstuck_core::snapshot::{RepositoryState, Snapshot};
use unstuck_core::testing::{
    Behavior, Script, World, finished_event, script_worker, snapshot, started_event, step,
};
use unstuck_core::workflow::{
    Baseline, CheckCommand, CheckMethod, ConvergencePolicy, Gate, Step, WorkerKind, Workflow,
};

/// Names of what can fail.
const MEMBERS: [&str; 4] = ["w", "x", "y", "z"];
/// No loop that ends has so many events.
const EVENTS_MAX: u64 = 20_000;
/// More verdicts than this show nothing new, and the naive controller is slow.
const ITERATIONS_MAX: usize = 64;

/// Result of one iteration, from two bytes.
#[derive(Clone, Copy, Debug)]
struct Iteration {
    says: u8,
    leaves: u8,
}

/// Plays the loop. The first two bytes are settings, each two after them an iteration, of which the last is
/// repeated to the end of the run. Where there are more, a person takes an ended run up again, which costs one.
///
/// # Panics
///
/// When the loop does not end within its bounds.
pub fn play(bytes: &[u8]) -> World {
    let (settings, iterations) = bytes.split_at(bytes.len().min(2));
    let mut iterations = iterations
        .chunks_exact(2)
        .map(|pair| Iteration { says: pair[0], leaves: pair[1] })
        .take(ITERATIONS_MAX);
    let mut now = Iteration { says: 1, leaves: 0 };
    let looped = looped(settings);
    let mut world = World::start(Workflow::of_steps(vec![looped]), Script::default());
    loop {
        if let Some(outcome) = world.state.outcome() {
            let more = RunResumed { add_iterations: 2, ..RunResumed::default() };
            let Some(next) = iterations.next().filter(|_| outcome != RunOutcome::Complete) else {
                return world;
            };
            now = next;
            if world.give(Observation::RunResumed(more)).is_err() {
                return world;
            }
        }
        let Some(effect) = world.state.pending_effects().into_iter().next() else {
            world.pass_to(world.state.next_deadline().expect("a run that goes on waits for something"));
            world.give(Observation::DeadlinePassed).expect("what is due may pass");
            continue;
        };
        let diagnoses = world.state.steps().any(|(_, at)| at.iteration.purpose == Purpose::Diagnosis);
        if matches!(effect, Effect::Perform(turn, _) if !turn.is_check()) && !diagnoses {
            now = iterations.next().unwrap_or(now);
        }
        perform(&mut world, effect, now);
        let (step, at) = world.state.steps().next().expect("one step");
        assert!(at.iteration() <= world.state.max_iterations(step, at), "the loop is bounded");
        assert!(world.state.version().0 < EVENTS_MAX, "the loop ends: {bytes:?}");
    }
}

fn looped(settings: &[u8]) -> Step {
    let byte = |at: usize| settings.get(at).copied().unwrap_or(0);
    let number = |byte: u8, most: u8| u32::from(byte % most) + 1;
    let max_iterations = number(byte(1), 32);
    let gate = if byte(1) & 0x40 == 0 { Gate::Pass } else { Gate::NoNewFailures };
    let by = if byte(0) & 0x20 == 0 {
        CheckMethod::Exit(script_worker(WorkerKind::Custom, "check"))
    } else {
        CheckMethod::Commands(vec![CheckCommand { run: "check".to_owned(), gate, reports: Vec::new() }])
    };
    let has_baseline = matches!(by, CheckMethod::Commands(_)) && byte(1) & 0x80 != 0;
    let mut step = step("a").with_check(by, max_iterations);
    if let (Some(check), true) = (&mut step.check, has_baseline || gate == Gate::NoNewFailures) {
        check.baseline = Baseline::Gate;
    }
    step.convergence = Some(ConvergencePolicy {
        stall_threshold: number(byte(0), 4),
        max_stage: Stage(number(byte(0) >> 2, 4)),
        fail_on_max_stage: byte(0) & 0x10 == 0,
        allowed_paths: if byte(0) & 0x40 == 0 { Vec::new() } else { vec!["src".to_owned()] },
        diagnose_with: (byte(1) & 0x20 != 0).then(|| script_worker(WorkerKind::Command, "look for it")),
        ..ConvergencePolicy::default()
    });
    step
}

fn perform(world: &mut World, effect: Effect, now: Iteration) {
    let Effect::Perform(turn, due) = effect else { panic!("nobody asked to stop: {effect:?}") };
    let is_check = turn.is_check();
    let id = CheckId::new(format!("0190a000-0000-7000-8000-{:012x}", world.state.version().0));
    let begun = started_event(&world.state, &due, is_check, id.clone(), Digest::sha256(b""));
    world.give(begun).expect("what is due may begin");
    let by_commands = world.state.steps().any(|(step, _)| {
        step.check.as_ref().is_some_and(|check| matches!(check.by, CheckMethod::Commands(_)))
    });
    let act = if is_check { now.check(by_commands) } else { Behavior::Exits(0, String::new()) };
    let mut ended = finished_event(&due, is_check, &act, Some(&id));
    if let Observation::WorkerFinished(event) = &mut ended {
        event.changed = now.changed();
        event.snapshot = now.workspace().map(Box::new);
        event.drift = Some(Box::new(StepChanges { files: now.changed_files(), ..StepChanges::default() }));
    }
    if let Observation::CheckFinished(event) = &mut ended
        && event.iteration.0 > 0
    {
        event.commands.iter_mut().for_each(|result| now.show_otherwise(result));
    }
    world.give(ended).expect("what was begun may end");
}

impl Iteration {
    fn members(self) -> impl Iterator<Item = &'static str> {
        MEMBERS.into_iter().enumerate().filter(move |(at, _)| self.says >> at & 1 == 1).map(|(_, name)| name)
    }

    /// Returns the act of the check.
    fn check(self, by_commands: bool) -> Behavior {
        let kind = self.says >> 4 & 7;
        let tests: Vec<String> = self.members().map(|name| format!("not ok 1 - {name}")).collect();
        match (kind, by_commands) {
            (7, _) if self.says & 0x80 != 0 => Behavior::Exits(0, String::new()),
            (4, _) => Behavior::Exits(1, String::new()),
            (0..=2, true) => Behavior::Exits(1, tests.join("\n")),
            (_, true) => Behavior::Exits(1, self.members().collect::<Vec<_>>().join(" and ")),
            (6, false) => Behavior::Writes(1, "?".to_owned()),
            (3, false) => self.writes("reasons", ""),
            (5, false) => self.writes("fingerprints", "f1:"),
            (_, false) => self.writes("fingerprints", ""),
        }
    }

    /// In some loops failures keep tests from running, some are left out, some move to another line, and some lines count.
    fn show_otherwise(self, result: &mut CommandResult) {
        let left = self.leaves >> 4;
        match self.says >> 4 & 7 {
            0 => {
                for failure in &mut result.failures {
                    failure.location =
                        Some(Location { file: "a".to_owned(), line: Some(u32::from(16 - left)) });
                    failure.remaining = Some(left.into());
                }
            }
            3 => {
                let number = |value: u8| Number { value: value.into(), bound: Some(0) };
                let frame = Digest::sha256(b"# left, # open");
                result
                    .numbers
                    .push(NumberLine { frame, numbers: vec![number(left), number(self.leaves >> 3 & 1)] });
            }
            5 => result.tests = Some(Tests { passed: left.into(), ..Tests::default() }),
            1 => result
                .failures
                .iter_mut()
                .step_by(2)
                .for_each(|failure| failure.kind = "SyntaxError".to_owned()),
            2 => result.failures_left_out = left.into(),
            _ => {}
        }
    }

    fn writes(self, key: &str, before: &str) -> Behavior {
        let names: Vec<String> =
            self.members().map(|name| format!("{:?}", format!("{before}{name}"))).collect();
        let names = names.join(",");
        Behavior::Writes(1, format!(r#"{{"decision":"incomplete","check_id":"{{id}}","{key}":[{names}]}}"#))
    }

    fn changed(self) -> Option<bool> {
        match self.leaves & 3 {
            2 => Some(false),
            3 => None,
            _ => Some(true),
        }
    }

    fn workspace(self) -> Option<Snapshot> {
        let commit = Some(self.leaves >> 2 & 3).filter(|commit| *commit > 0);
        let size = Some(self.leaves >> 4).filter(|size| *size > 0)?;
        let standing =
            |commit: u8| RepositoryState { commit: Some(commit.to_string()), ..RepositoryState::default() };
        let open_boxes = (self.says & 0x80 != 0).then_some(u32::from(size) / 4);
        Some(Snapshot { open_boxes, bytes: size.into(), repository: commit.map(standing), ..snapshot(size) })
    }

    fn changed_files(self) -> Vec<String> {
        let strays = self.leaves & 0x40 != 0;
        let file = if strays { "docs/a" } else { "src/a" };
        vec![file.to_owned()]
    }
}
