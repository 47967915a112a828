//! Something goes wrong at the n-th system call that touches the disk, for every n.

use std::collections::BTreeMap;

use nix::errno::Errno;
use serde_json::Value;

use crate::hostile::sh;
use crate::place::Place;
use crate::sample;
use crate::tracer::{self, Calls, Fault, Plan, Traced};

/// The command that is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Play {
    /// A new run.
    Run,
    /// The resume of a run that was killed half-way.
    Resume,
}

/// Number of calls of each row that are tried on every change.
const SAMPLES: usize = 3;

/// Disturbs every call in turn, and resumes without a fault each time.
fn check(play: Play, fault: Fault, calls: Calls) {
    if let Some(why) = tracer::unavailable() {
        println!("skipped: {why}");
        return;
    }
    let row = format!("{fault:?} at a {calls:?} call of a {play:?}");
    let undisturbed = Place::new();
    assert_eq!(undisturbed.unstuck(&["run", "flow.yaml"]).status.code(), Some(0));
    let want = undisturbed.end().expect("an undisturbed run has an end");
    let half_way = count_writes() / 2;
    let count = disturb(play, half_way, Plan { fault, calls, at: 0 }, &want).0.counted;
    assert!(count > 5, "{row}: only {count} calls");
    let (mut wrong, mut statuses) = (Vec::new(), BTreeMap::new());
    // A run that is disturbed may need a few calls more than the one that was counted.
    for at in sample::cases(&row, count, SAMPLES) {
        let (traced, result) = disturb(play, half_way, Plan { fault, calls, at }, &want);
        let status = traced.status.map_or("killed".to_owned(), |status| format!("status {status}"));
        *statuses.entry(status).or_insert(0) += 1;
        if let Err(why) = result {
            wrong.push(format!("call {at}, {}: {why}", traced.hit.unwrap_or_default()));
        }
    }
    println!("{row}: {count} calls; tried: {statuses:?}");
    assert!(wrong.is_empty(), "{row}:\n{}", wrong.join("\n"));
}

/// Returns how many writes an undisturbed run makes.
fn count_writes() -> usize {
    trace(&Place::new(), &["run", "flow.yaml"], Plan { fault: Fault::Kill, calls: Calls::Writing, at: 0 })
        .counted
}

fn disturb(play: Play, half_way: usize, plan: Plan, want: &Value) -> (Traced, Result<(), String>) {
    let place = Place::new();
    let traced = match play {
        Play::Run => trace(&place, &["run", "flow.yaml"], plan),
        Play::Resume => {
            let kill = Plan { fault: Fault::Kill, calls: Calls::Writing, at: half_way };
            let killed = trace(&place, &["run", "flow.yaml"], kill);
            assert_eq!(killed.status, None, "{killed:?}");
            trace(&place, &["resume"], plan)
        }
    };
    let result = understood(&traced, plan.fault).and_then(|()| {
        if traced.status != Some(0) {
            place.go_on()?;
        }
        place.check(want)
    });
    (traced, result)
}

fn trace(place: &Place, arguments: &[&str], plan: Plan) -> Traced {
    // Files of the workspace are input, and a workflow that cannot be read is a usage error.
    let folder = if plan.calls == Calls::Reading { place.state() } else { place.path().to_owned() };
    tracer::run(&place.command(arguments), &folder, plan)
}

/// A repository with a branch, a hook, a configuration and an exclude list.
const REPOSITORY: &str = "git init -q -b work . && git config user.name a && git config user.email a@b \
    && echo '#!/bin/sh' > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit && echo secret > .git/info/exclude \
    && git add . && git commit -qm one && git branch other && git tag v1";

#[test]
fn a_failed_read_of_the_repository_takes_nothing_of_it_away() {
    if let Some(why) = tracer::unavailable() {
        println!("skipped: {why}");
        return;
    }
    let run = |plan: Plan| {
        let place = Place::new();
        sh(&place, REPOSITORY);
        let before = sh(&place, FILES_OF_GIT);
        let traced = tracer::run(&place.command(&["run", "flow.yaml"]), &place.work().join(".git"), plan);
        // The tracer keeps what the program complains of there.
        sh(&place, "rm -f .git/stderr");
        (place, before, traced)
    };
    for errno in [Errno::EIO, Errno::EMFILE] {
        let plan = |at| Plan { fault: Fault::Once(errno), calls: Calls::Reading, at };
        let count = run(plan(0)).2.counted;
        assert!(count > 20, "only {count} reads");
        for at in sample::cases(&format!("{errno:?} at a read of .git"), count, 4 * SAMPLES) {
            let (place, before, traced) = run(plan(at));
            let hit = traced.hit.unwrap_or_default();
            for undo in [&["undo", "@last@first"][..], &["undo", "--git", "@last@first"]] {
                let undone = place.unstuck(undo);
                assert_ne!(undone.status.code(), Some(101), "read {at}, {hit}: {undone:?}");
                assert_eq!(sh(&place, FILES_OF_GIT), before, "read {at}, {hit}, {undo:?}: {undone:?}");
            }
        }
    }
}

/// Lists what is in `.git`, byte for byte.
const FILES_OF_GIT: &str = "find .git -type f | sort | xargs sha256sum";

/// Says what is wrong with how a disturbed program ended.
fn understood(traced: &Traced, fault: Fault) -> Result<(), String> {
    let is_failure = !matches!(fault, Fault::Short | Fault::Slow | Fault::Once(Errno::EINTR));
    let status = match traced.status {
        _ if traced.hung => Err("it hangs"),
        // The call may have served only a convenience or the next run, so the run can succeed without it.
        Some(0) => Ok(()),
        _ if !is_failure => Err("this is no failure"),
        None if fault == Fault::Kill => Ok(()),
        Some(6) if traced.err.contains("\n  next: ") => Ok(()),
        Some(6) => Err("no hint"),
        None | Some(_) => Err("another end than status 6"),
    };
    status.map_err(|why| format!("{why}: {:?}: {}", traced.status, traced.err))
}

macro_rules! rows {
    ($($name:ident: $play:expr, $fault:expr, $calls:expr;)*) => {
        $(#[test] fn $name() { check($play, $fault, $calls); })*
    };
}

rows! {
    a_run_killed_at_any_write_goes_on: Play::Run, Fault::Kill, Calls::Writing;
    a_resume_killed_at_any_write_goes_on: Play::Resume, Fault::Kill, Calls::Writing;
    a_write_that_fails_once_stops_a_run: Play::Run, Fault::Once(Errno::EIO), Calls::Writing;
    a_write_that_fails_once_stops_a_resume: Play::Resume, Fault::Once(Errno::EIO), Calls::Writing;
    a_disk_that_is_full_from_any_write_on_stops_a_run: Play::Run, Fault::FromThenOn(Errno::ENOSPC), Calls::Writing;
    a_disk_that_is_full_from_any_write_on_stops_a_resume:
        Play::Resume, Fault::FromThenOn(Errno::ENOSPC), Calls::Writing;
    a_disk_that_can_only_be_read_from_any_write_on_stops_a_run:
        Play::Run, Fault::FromThenOn(Errno::EROFS), Calls::Writing;
    a_quota_that_is_used_up_at_any_write_stops_a_run:
        Play::Run, Fault::FromThenOn(Errno::EDQUOT), Calls::Writing;
    a_read_that_fails_stops_a_run: Play::Run, Fault::Once(Errno::EIO), Calls::Reading;
    a_read_that_fails_stops_a_resume: Play::Resume, Fault::Once(Errno::EIO), Calls::Reading;
    a_call_that_moves_half_of_the_bytes_is_no_failure: Play::Run, Fault::Short, Calls::Moving;
    a_call_that_moves_half_of_the_bytes_is_no_failure_of_a_resume:
        Play::Resume, Fault::Short, Calls::Moving;
    a_call_that_is_interrupted_is_no_failure: Play::Run, Fault::Once(Errno::EINTR), Calls::Moving;
    a_disk_that_is_slow_is_no_failure: Play::Run, Fault::Slow, Calls::Syncing;
}
