//! The committed seeds of the fuzz targets, run as ordinary tests.
//!
//! `UNSTUCK_WRITE_SEEDS=1 cargo test -p unstuck-tests --test fuzz_seeds` rewrites the seeds of `controller`,
//! `event_bytes` and `log_bytes`. The other seeds are written by hand.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};

use unstuck_core::call_report::Progress;
use unstuck_core::event::{
    AnswerGiven, AttemptLost, Conclusion, ErrorClass, Event, Fact, FallbackTaken, LogRepaired,
    MachineSuspended, Observation, ProcessFailure, RunInterrupted, SnapshotMoment, SnapshotTaken,
    StageRaised, StallCause, TurnKind, WorkerProgressed,
};
use unstuck_core::evidence::{Bytes, Decision, DecisionFile};
use unstuck_core::id::{Attempt, Digest, Iteration, Millis, Seq, Stage, StepId};
use unstuck_core::judge::verdict::{self, Evidence};
use unstuck_core::testing::{self, Behavior, Script, World, script_worker, step};
use unstuck_core::workflow::{CheckMethod, ConvergencePolicy, OnFailure, Step, WorkerKind, Workflow};
use unstuck_store::event_store::{EventStore as _, ExpectedVersion};
use unstuck_store::store::Store as _;
use unstuck_store::wire::{self, EventType, SchemaVersion};
use unstuck_tests::fuzz_targets::{CHECK_ID, GOOD_LOG, TARGETS, read_log};

/// Minimum number of seeds. If there are fewer, some are lost.
const SEEDS_MIN: usize = 20;

#[test]
fn every_seed_passes_its_target() {
    write_recorded_seeds_if_asked();
    let mut failed = Vec::new();
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(seeds.len() >= SEEDS_MIN, "{name} has {} seeds, fewer than {SEEDS_MIN}", seeds.len());
        for (path, bytes) in seeds {
            if panic::catch_unwind(|| target(&bytes)).is_err() {
                failed.push(path);
            }
        }
    }
    assert!(failed.is_empty(), "these seeds fail (their messages are above): {failed:#?}");
}

#[test]
fn seeds_that_are_cut_anywhere_pass_too() {
    for (name, target) in TARGETS.iter().filter(|(name, _)| *name != "log_bytes") {
        for (path, bytes) in seeds(name) {
            let step = bytes.len() / 16 + 1;
            for length in (0..bytes.len()).step_by(step) {
                let cut = &bytes[..length];
                assert!(panic::catch_unwind(|| target(cut)).is_ok(), "{} cut at {length}", path.display());
            }
        }
    }
}

#[test]
fn the_seeds_of_decisions_reach_every_decision() {
    let reached: BTreeSet<Decision> = seeds("decision_bytes")
        .into_values()
        .map(|bytes| {
            let file = DecisionFile::Read(Bytes(bytes));
            let evidence = Evidence {
                file: &file,
                file_fresh: true,
                answer: None,
                prompt: None,
                said: "",
                check_id: Some(CHECK_ID),
            };
            verdict::resolve(&evidence).decision
        })
        .collect();
    let all =
        [Decision::Complete, Decision::Incomplete, Decision::Blocked, Decision::Waiting, Decision::None];
    assert_eq!(reached, all.into());
}

#[test]
fn the_seeds_of_events_reach_every_type() {
    let reached: BTreeSet<EventType> = seeds("event_bytes")
        .into_values()
        .filter_map(|bytes| {
            let (&[t0, t1, s0, s1], payload) = bytes.split_first_chunk()?;
            let kind = EventType::from_number(u16::from_le_bytes([t0, t1]))?;
            wire::decode(kind, SchemaVersion(u16::from_le_bytes([s0, s1])), payload).ok().map(|_| kind)
        })
        .collect();
    assert_eq!(reached, EventType::ALL.iter().copied().collect());
}

#[test]
fn the_good_log_is_read_to_its_end() {
    let lines = GOOD_LOG.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(read_log(GOOD_LOG).len(), lines);
}

/// Returns the seeds of a target by their paths.
fn seeds(target: &str) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder(target)).unwrap();
    entries.map(|entry| entry.unwrap().path()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(target)
}

// ---- seeds that are stored shapes ----

fn write_recorded_seeds_if_asked() {
    if std::env::var_os("UNSTUCK_WRITE_SEEDS").is_none() {
        return;
    }
    let worlds = [run_with_every_check(), run_that_gets_stuck(), run_that_is_blocked()];
    let written = [
        ("controller", controller_seeds()),
        ("event_bytes", event_seeds(&worlds)),
        ("log_bytes", log_seeds(&worlds)),
    ];
    for (target, seeds) in written {
        for (name, bytes) in seeds {
            fs::write(folder(target).join(name), bytes).unwrap();
        }
    }
}

/// Loops, as `scripted_loop` reads them: two bytes of settings, then what each iteration says and leaves.
fn controller_seeds() -> BTreeMap<String, Vec<u8>> {
    const W: u8 = 1;
    const X: u8 = 2;
    const Y: u8 = 4;
    const Z: u8 = 8;
    // Kinds of verdict; without one of them the members are claimed fingerprints.
    const WORDS: u8 = 0x30;
    const SILENT: u8 = 0x40;
    const SHOWN: u8 = 0x50;
    const UNREADABLE: u8 = 0x60;
    const COMPLETE: u8 = 0xf0;
    // Result of an iteration: a changed workspace, or one of these.
    const UNCHANGED: u8 = 2;
    const UNKNOWN: u8 = 3;
    const STRAYS: u8 = 0x40;
    // Settings: threshold 2 and last stage 3, which stops; 20 iterations.
    const USUAL: [u8; 2] = [0x09, 19];
    const COMMANDS: [u8; 2] = [0x29, 19 | 0x80];
    const NO_WORSE: [u8; 2] = [0x29, 19 | 0x40];
    let says = |says: &[u8]| says.iter().flat_map(|byte| [*byte, 0]).collect::<Vec<u8>>();
    let loops: [(&str, [u8; 2], Vec<u8>); 24] = [
        ("same-failures", USUAL, says(&[W | X])),
        ("progress-then-complete", USUAL, says(&[W | X | Y, W | X, W, COMPLETE])),
        ("new-each-time-to-the-limit", [0x0b, 3], says(&[W, X, Y, Z])),
        ("cycle-of-two", [0x0a, 19], says(&[W, X, W, X, W, X])),
        ("cycle-of-three", USUAL, says(&[W, X, Y, W, X, Y])),
        ("once-back-is-no-cycle", USUAL, says(&[W, X, W, Y, COMPLETE])),
        ("growing", USUAL, says(&[W, W | X, W | X | Y, W | X | Y | Z, X | Y | Z, Y | Z])),
        ("new-but-never-better", USUAL, says(&[W | X, W | Y, W | Z, X | Y, X | Z, Y | Z])),
        ("moves-to-a-later-line", COMMANDS, vec![W, 0xf0, W, 0xe0, W, 0xd0, W, 0xd0, W, 0xd0]),
        ("counts-down", COMMANDS, vec![WORDS | W, 0xf0, WORDS | W, 0xe0, WORDS | W, 0xd0, COMPLETE, 0]),
        ("boxes-are-ticked", USUAL, vec![0x80 | W, 0xc0, 0x80 | W, 0x80, 0x80 | W, 0x40, COMPLETE, 0]),
        ("nothing-is-said", USUAL, says(&[0, 0, W])),
        ("silence-between", USUAL, says(&[W, 0, W])),
        ("words", USUAL, says(&[WORDS | W, WORDS | W])),
        ("words-about-commits", [0x29 & 0x1f, 5], vec![WORDS | W, 4, WORDS | W, 8, WORDS | W, 12]),
        ("nothing-changes", USUAL, vec![W, UNCHANGED, W, UNCHANGED]),
        ("nobody-looked", USUAL, vec![W, UNKNOWN, W | X, UNKNOWN]),
        ("unreadable", USUAL, says(&[UNREADABLE])),
        ("silent-command", USUAL, says(&[SILENT, SILENT, SILENT, SHOWN | W, SHOWN | W])),
        ("goes-on-in-the-last-stage", [0x15, 9], says(&[W])),
        ("taken-up-when-stuck", [0x04, 9], says(&[W, W, X, X, Y, Y, Z, COMPLETE])),
        ("commands-with-a-baseline", COMMANDS, says(&[W | X, W | X, X, W, COMPLETE])),
        ("no-new-failures", NO_WORSE, says(&[W | X, W | Y, W])),
        ("out-of-scope", [0x49, 19], vec![W, STRAYS, COMPLETE, STRAYS, COMPLETE, 0]),
    ];
    let bytes = |settings: [u8; 2], iterations: Vec<u8>| settings.into_iter().chain(iterations).collect();
    let seed = |(name, settings, iterations): (&str, _, _)| (name.to_owned(), bytes(settings, iterations));
    loops.into_iter().map(seed).collect()
}

fn event_seeds(worlds: &[World]) -> BTreeMap<String, Vec<u8>> {
    let lost = AttemptLost {
        step: StepId::from("a"),
        iteration: Iteration(1),
        attempt: Attempt(2),
        processes_ended: 3,
    };
    let raised = StageRaised {
        step: StepId::from("a"),
        iteration: Iteration(3),
        from: Stage(1),
        to: Stage(2),
        cause: StallCause::Cycle(2),
        key: Some(Digest::sha256(b"")),
        count: 2,
    };
    let snapshot = SnapshotTaken { snapshot: Box::new(testing::snapshot(1)), moment: SnapshotMoment::Ended };
    let progressed = WorkerProgressed {
        step: StepId::from("a"),
        iteration: Iteration(1),
        attempt: Attempt(1),
        progress: Box::new(Progress { doing: "Bash: cargo test".to_owned(), ..Progress::default() }),
    };
    let why = ProcessFailure { class: ErrorClass::RetryableRateLimit, message: "limit reached".to_owned() };
    let taken = FallbackTaken { step: StepId::from("a"), what: TurnKind::Work, to: 1, why };
    let written: [Fact; 12] = [
        Observation::WorkerProgressed(progressed).into(),
        Observation::Kicked.into(),
        Observation::Suspended(MachineSuspended { length: Millis(7_200_000) }).into(),
        Conclusion::FallbackTaken(taken).into(),
        Observation::AnswerGiven(AnswerGiven {
            text: "use the staging key\n\u{1f511}".to_owned(),
            steps: vec!["b".into()],
        })
        .into(),
        Observation::LogRepaired(LogRepaired { what: "an unfinished tail was dropped".to_owned() }).into(),
        Observation::RunInterrupted(RunInterrupted { signal: 2 }).into(),
        Observation::WorkerLost(lost.clone()).into(),
        Observation::CheckLost(lost).into(),
        Observation::DeadlinePassed.into(),
        Observation::SnapshotTaken(snapshot).into(),
        Conclusion::StageRaised(raised).into(),
    ];
    let played = worlds.iter().flat_map(|world| &world.history.events).map(|event| event.fact.clone());
    let mut seeds = BTreeMap::new();
    for fact in played.chain(written) {
        let encoded = wire::encode(&fact).unwrap();
        let kind = encoded.kind.number().to_le_bytes();
        let schema = encoded.schema.0.to_le_bytes();
        let bytes = [&kind[..], &schema[..], &encoded.payload].concat();
        let name = encoded.kind.name();
        let variants = 1 + seeds.keys().filter(|seed: &&String| seed.starts_with(name)).count();
        if variants <= 3 && !seeds.values().any(|seed| *seed == bytes) {
            seeds.insert(format!("{name}-{variants}"), bytes);
        }
    }
    let damaged = |from: &str, damage: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = seeds[from].clone();
        damage(&mut bytes);
        bytes
    };
    let more = [
        ("damaged-huge-length", damaged("answer_given-1", &|bytes| bytes[4..12].fill(0xff))),
        ("damaged-length-of-an-exabyte", damaged("answer_given-1", &|bytes| bytes[11] = 0x10)),
        ("damaged-trailing-byte", damaged("run_ended-1", &|bytes| bytes.push(0))),
        ("damaged-not-utf8", damaged("answer_given-1", &|bytes| bytes[12] = 0xff)),
        (
            "damaged-unknown-variant",
            damaged("stage_raised-1", &|bytes| {
                let at = bytes.len() - 1;
                bytes[at] = 0xee;
            }),
        ),
        ("damaged-newer-schema", damaged("run_ended-1", &|bytes| bytes[2] = 9)),
        ("damaged-unknown-type", damaged("run_ended-1", &|bytes| bytes[0] = 99)),
        ("damaged-cut", damaged("worker_finished-1", &|bytes| bytes.truncate(bytes.len() / 2))),
        (
            "damaged-workflow",
            damaged("run_started-1", &|bytes| {
                let at = bytes.windows(7).position(|window| window == b"\"steps\"").unwrap();
                bytes[at] = b'!';
            }),
        ),
    ];
    let more = more.map(|(name, bytes)| (name.to_owned(), bytes));
    seeds.into_iter().chain(more).collect()
}

fn log_seeds(worlds: &[World]) -> BTreeMap<String, Vec<u8>> {
    let whole: Vec<Vec<u8>> = worlds.iter().map(exported).collect();
    let first = String::from_utf8(whole[2].clone()).unwrap();
    let lines: Vec<&str> = first.split_inclusive('\n').collect();
    let without = |at: usize| [&lines[..at], &lines[at + 1..]].concat().concat();
    let swapped = || {
        let mut lines = lines.clone();
        lines.swap(4, 5);
        lines.concat()
    };
    // An observation whose conclusions are gone: the batch is not finished.
    let first_of_batch = lines.iter().position(|line| !line.contains("\"more\":0,")).unwrap();
    let texts = [
        ("empty", String::new()),
        ("one-line-feed", "\n".to_owned()),
        ("empty-lines-between", lines.join("\n")),
        ("windows-line-ends", first.replace('\n', "\r\n")),
        ("last-line-unfinished", first[..first.len() - 40].to_owned()),
        ("last-line-without-line-feed", first[..first.len() - 1].to_owned()),
        ("last-batch-unfinished", lines[..=first_of_batch].concat()),
        ("line-missing", without(6)),
        ("first-line-missing", without(0)),
        ("line-twice", [&lines[..3], &lines[2..]].concat().concat()),
        ("lines-swapped", swapped()),
        ("number-changed", first.replacen("\"attempt\":1", "\"attempt\":2", 1)),
        ("hash-changed", first.replacen("\"hash\":\"", "\"hash\":\"0", 1)),
        ("newer-schema", first.replacen("\"v\":1", "\"v\":2", 1)),
        ("unknown-type", first.replacen("run_started", "run_dreamed", 1)),
        ("unknown-codec", first.replacen("\"codec\":1", "\"codec\":7", 1)),
        ("huge-number", first.replacen("\"seq\":1,", "\"seq\":99999999999999999999999,", 1)),
        ("reordered-fields", reordered(lines[0]) + &lines[1..].concat()),
        ("deep-nesting", format!("{{\"seq\":{}", "[".repeat(5000))),
        ("not-json", "seq=1 at=2\n".repeat(3)),
        ("other-log-appended", first.clone() + &String::from_utf8(whole[1].clone()).unwrap()),
    ];
    let mut seeds: BTreeMap<String, Vec<u8>> =
        texts.into_iter().map(|(name, text)| (name.to_owned(), text.into_bytes())).collect();
    let names = ["whole-run", "whole-run-stuck", "whole-run-blocked"];
    seeds.extend(names.map(String::from).into_iter().zip(whole.iter().cloned()));
    let mut nul = whole[2].clone();
    nul.extend([0; 64]);
    seeds.insert("zeros-at-the-end".to_owned(), nul);
    let mut not_utf8 = whole[2].clone();
    let at = not_utf8.windows(8).position(|window| window == b"\"blocked").unwrap();
    not_utf8[at + 2] = 0xff;
    seeds.insert("not-utf8".to_owned(), not_utf8);
    seeds
}

/// Returns a line with its fields in the order of their names, as other programs write them.
fn reordered(line: &str) -> String {
    let value: BTreeMap<String, serde_json::Value> = serde_json::from_str(line).unwrap();
    serde_json::to_string(&value).unwrap() + "\n"
}

/// Returns the lines of a run.
fn exported(world: &World) -> Vec<u8> {
    let place = tempfile::tempdir().unwrap();
    let (store, run) = (unstuck_store_sled::at(place.path()), "seed".into());
    let log = store.create(&run).unwrap();
    let mut events: &[Event] = &world.history.events;
    for length in &world.history.batches {
        let (batch, rest) = events.split_at(*length);
        let version = Seq(batch[0].seq.0 - 1);
        log.append(batch, ExpectedVersion::Exactly(version)).unwrap();
        events = rest;
    }
    fs::read(store.lines(&run)).unwrap()
}

// ---- runs ----

fn played(steps: Vec<Step>, work: &[(&str, Vec<Behavior>)], checks: &[(&str, Vec<Behavior>)]) -> World {
    let acts = |acts: &[(&str, Vec<Behavior>)]| {
        acts.iter().map(|(step, acts)| (StepId::from(*step), acts.clone())).collect::<BTreeMap<_, _>>()
    };
    let mut world =
        World::start(Workflow::of_steps(steps), Script { work: acts(work), checks: acts(checks) });
    world.play();
    world
}

fn exits(code: i32, answer: &str) -> Behavior {
    Behavior::Exits(code, answer.to_owned())
}

fn verdict_file(text: &str) -> Behavior {
    Behavior::Writes(0, text.to_owned())
}

/// A script as check, an agent as check, a worker that is its own check, a crash and an interruption.
fn run_with_every_check() -> World {
    let by_script = step("a").with_check(CheckMethod::Exit(script_worker(WorkerKind::Custom, "true")), 5);
    let by_agent = Step {
        depends_on: vec![StepId::from("a")],
        on_failure: OnFailure::Retry,
        max_retries: 2,
        ..step("b").with_check(CheckMethod::Agent(script_worker(WorkerKind::ClaudeCode, "judge it")), 5)
    };
    let by_claim =
        Step { depends_on: vec![StepId::from("b")], ..step("c").with_check(CheckMethod::Claim, 5) };
    let work = [
        ("a", vec![exits(0, "tried"), Behavior::IsLost, exits(0, "tried again")]),
        (
            "b",
            vec![
                Behavior::Dies(9),
                Behavior::Hangs,
                exits(0, "\u{1b}[32mdone\u{1b}[0m"),
                Behavior::IsInterrupted,
                exits(0, "again"),
            ],
        ),
        ("c", vec![exits(0, "I think it is complete."), verdict_file(COMPLETE)]),
    ];
    let checks = [
        ("a", vec![exits(1, "2 tests failed"), Behavior::IsLost, exits(1, ""), exits(0, "")]),
        (
            "b",
            vec![
                verdict_file(INCOMPLETE),
                verdict_file(WAITING),
                verdict_file("\u{fffd}"),
                verdict_file(COMPLETE),
            ],
        ),
    ];
    played(vec![by_script, by_agent, by_claim], &work, &checks)
}

fn run_that_gets_stuck() -> World {
    let convergence = ConvergencePolicy {
        allowed_paths: vec!["src/**".to_owned()],
        max_changed_files: Some(3),
        ..ConvergencePolicy::default()
    };
    let looped = Step { convergence: Some(convergence), ..step("a").with_check(CheckMethod::Claim, 20) };
    let after = Step { depends_on: vec![StepId::from("a")], ..step("b") };
    played(vec![looped, after], &[("a", vec![verdict_file(INCOMPLETE)])], &[])
}

fn run_that_is_blocked() -> World {
    let looped = Step { timeout: Millis::from_secs(600), ..step("a").with_check(CheckMethod::Claim, 3) };
    let blocked = r#"{"decision": "blocked", "check_id": "{id}", "needs": "a staging key"}"#;
    let mut world = played(vec![looped], &[("a", vec![verdict_file(blocked), verdict_file(COMPLETE)])], &[]);
    let answer = AnswerGiven { text: "it is in the vault".to_owned(), steps: Vec::new() };
    world.give(Observation::AnswerGiven(answer)).unwrap();
    world.play();
    world
}

const COMPLETE: &str = r#"{"decision": "complete", "check_id": "{id}"}"#;
const INCOMPLETE: &str = r#"{"decision": "incomplete", "check_id": "{id}", "reasons": ["2 tests fail"], "fingerprints": ["t::a", "t::b"]}"#;
const WAITING: &str = r#"{"decision": "waiting", "check_id": "{id}", "retry_after": 30}"#;
