//! The rules of `docs/convergence.md` once more: slow, without memory, and as plain as the page.
//!
//! Everything is worked out from the whole log again for every verdict. What `core` keeps in counters and
//! folds event by event must come to the same.

use std::collections::BTreeSet;

use unstuck_core::event::{
    CheckFinished, Conclusion, DecisionSource, Event, Exit, Fact, Observation, Purpose, StageRaised,
    StallCause, StepEnd, VerdictReached, WorkerFinished,
};
use unstuck_core::evidence::Decision;
use unstuck_core::evidence::{Failure, Fingerprint};
use unstuck_core::gate::{CommandResult, amounts};
use unstuck_core::id::{Digest, Stage};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::workflow::{CheckBy, Convergence, Gate, Step, Workflow};

/// One incomplete verdict of a step, and what the log says around it.
struct Heard<'a> {
    verdict: &'a VerdictReached,
    /// The worker itself has said it, in a step that asks for a change.
    is_own: bool,
    /// Whether this iteration changed the workspace.
    changed: Option<bool>,
    /// It left the workspace as it was, and undid nothing.
    stays: bool,
    workspace: Option<&'a Snapshot>,
    /// What its newest commands count.
    counted: Counted,
    /// A person took the step up again after it was stuck, so what came before does not count.
    taken_up: bool,
    /// What was concluded at once.
    raised: Option<&'a StageRaised>,
    stuck: bool,
}

/// What the commands of a check count.
#[derive(Clone, Default)]
struct Counted {
    /// At how many places they failed; `None` where there are none.
    places: Option<u64>,
    /// How many failures were left out.
    left_out: u64,
    /// The numbers that they tell.
    amounts: Vec<u64>,
    /// How many failures kept tests from being run.
    early: u64,
    /// How many tests passed in them.
    passed: u64,
    /// All of them came to their end.
    is_conclusive: bool,
}

/// Compares every stage that was raised, or not, with the page. Returns the first difference.
pub fn difference(events: &[Event]) -> Option<String> {
    let workflow = workflow(events)?;
    workflow.steps.iter().find_map(|step| {
        let policy = step.convergence.as_ref()?;
        difference_of_step(policy, &heard(events, step))
    })
}

fn difference_of_step(policy: &Convergence, heard: &[Heard<'_>]) -> Option<String> {
    let (mut stage, mut begin) = (Stage(1), 0);
    let mut gains = 0;
    for (at, newest) in heard.iter().enumerate() {
        let until = &heard[..=at];
        let more_pass =
            gains < GAINS_MAX && more_pass_than_ever(until, if newest.taken_up { at } else { begin });
        gains += u32::from(more_pass);
        let moves = more_pass
            || words_about_a_new_commit(until)
            || is_at_fewer_places_than_ever(until)
            || is_fewer_in_all_than_ever(until)
            || is_further_than_ever(until)
            || tells_less_than_ever(until);
        if newest.taken_up || at > begin && moves {
            begin = at;
        }
        let stall = stall(policy, heard, begin, at);
        let expected = stall.map(|(cause, key, count)| {
            let last = policy.max_stage.max(stage);
            let to = if cause == StallCause::NoChange { last } else { stage.next().min(last) };
            (stage, to, cause, key, count)
        });
        let stuck = expected.is_some_and(|(_, to, ..)| policy.fail_on_max_stage && to >= policy.max_stage);
        let raised = newest.raised.map(|it| (it.from, it.to, it.cause, it.key, it.count));
        if (raised, newest.stuck) != (expected, stuck) {
            return Some(format!(
                "verdict {} of step {}: recorded {raised:?}, stuck {}; by the page {expected:?}, stuck {stuck}",
                at + 1,
                newest.verdict.step,
                newest.stuck
            ));
        }
        if let Some((_, to, ..)) = expected {
            (stage, begin) = (to, at + 1);
        }
    }
    None
}

/// So often more tests that pass are progress.
const GAINS_MAX: u32 = 20;

type Stall = (StallCause, Option<Digest>, u32);

/// The table of the page, from its first row to its last. What counts are the verdicts from `begin` to `at`.
fn stall(policy: &Convergence, heard: &[Heard<'_>], begin: usize, at: usize) -> Option<Stall> {
    let often = policy.stall_threshold.max(1);
    let twice = often.max(2);
    let all = &heard[begin..=at];
    if all.last()?.is_quiet() {
        return None;
    }
    let spoken: Vec<&Heard<'_>> = all.iter().filter(|it| !it.is_quiet()).collect();
    let named: Vec<&Heard<'_>> = spoken.iter().filter(|it| !it.set().is_empty()).copied().collect();
    let sets: Vec<BTreeSet<String>> = named.iter().map(|it| it.set()).collect();
    let key = heard[..=at].iter().rev().filter(|it| !it.is_quiet()).map(Heard::set).find(|it| !it.is_empty());
    let key = key.as_ref().map(set_key);

    let unchanged = in_a_row(all.iter().map(|it| it.changed == Some(false)));
    let silent = in_a_row(spoken.iter().map(|it| it.set().is_empty()));
    let same = in_a_row(sets.iter().map(|set| Some(set) == sets.last()));
    if unchanged >= twice && same.max(silent) >= twice {
        return Some((StallCause::NoChange, key, unchanged));
    }
    let is_idle = |at: usize| all[at].stays && !is_smaller(&all[..=at]);
    let idle = in_a_row((0..all.len()).map(is_idle));
    if idle >= 2 * twice {
        return Some((StallCause::NoChange, key, idle));
    }
    if silent >= often {
        return Some((StallCause::NoReasons, None, silent));
    }
    if silent > 0 {
        return None;
    }
    if same >= often {
        return Some((StallCause::SameFailures, key, same));
    }
    if let Some(period) = (2..=sets.len()).find(|period| comes_round(&sets, *period, twice)) {
        return Some((StallCause::Cycle(u32::try_from(period).ok()?), key, twice));
    }
    let grows = |at: usize| {
        at > 0 && sets[at].is_superset(&sets[at - 1]) && sets[at] != sets[at - 1] && !named[at].is_cut()
    };
    let growing = in_a_row((0..sets.len()).map(grows));
    if growing >= often {
        return Some((StallCause::Growing, key, growing));
    }
    let diverging = in_a_row((0..named.len()).map(|at| at > 0 && diverges(named[at - 1], named[at])));
    if diverging >= 2 * often {
        return Some((StallCause::Diverging, key, diverging));
    }
    let begins_afresh = |at: &usize| sets[*at].len() < sets[at - 1].len() || named[*at].is_cut();
    let since_progress = (1..sets.len()).rfind(begins_afresh).unwrap_or(0);
    let stays = |member: &String| in_a_row(sets[since_progress..].iter().map(|set| set.contains(member)));
    let longest = sets.last()?.iter().map(stays).max()?;
    (longest > often).then_some((StallCause::PersistentFailure, key, longest))
}

/// Says whether the newest set is smaller than the one before it, or of one of them nobody knows how large it is.
fn is_smaller(heard: &[Heard<'_>]) -> bool {
    let Some((newest, before)) = heard.split_last() else { return false };
    let set = newest.set();
    let before = before.iter().rev().filter(|it| !it.is_quiet()).map(Heard::set).find(|it| !it.is_empty());
    !set.is_empty() && (newest.is_cut() || before.is_some_and(|before| set.len() < before.len()))
}

/// Counts how often something held in a row, up to now.
fn in_a_row(holds: impl DoubleEndedIterator<Item = bool>) -> u32 {
    u32::try_from(holds.rev().take_while(|holds| *holds).count()).expect("few verdicts")
}

/// Says whether the newest sets are one sequence of this length, so many times over.
fn comes_round(sets: &[BTreeSet<String>], period: usize, times: u32) -> bool {
    let length = period * usize::try_from(times).expect("few rounds");
    let Some(newest) = sets.len().checked_sub(length).map(|from| &sets[from..]) else { return false };
    newest.chunks(period).all(|round| round == &newest[..period])
}

/// Says whether a reviewer finds other things, no fewer of them, of a workspace that grew.
fn diverges(before: &Heard<'_>, now: &Heard<'_>) -> bool {
    let (old, new) = (before.set(), now.set());
    let shown = now.verdict.fingerprints.iter().any(|it| Fingerprint::is_one(it));
    let size = |it: &Heard<'_>| it.workspace.map(|workspace| workspace.bytes);
    let grew = size(before).is_some() && size(now) > size(before);
    !shown && !now.is_own && old.is_disjoint(&new) && new.len() >= old.len() && grew
}

/// Says whether the newest verdict is words alone, about work that was committed in the meantime.
fn words_about_a_new_commit(heard: &[Heard<'_>]) -> bool {
    let Some((newest, before)) = heard.split_last() else { return false };
    let is_known = |commit| before.iter().any(|it| !it.is_quiet() && it.commit() == Some(commit));
    newest.verdict.fingerprints.is_empty()
        && !newest.is_quiet()
        && newest.changed == Some(true)
        && newest.commit().is_some_and(|commit| !is_known(commit))
}

/// Says whether the newest set of failures was there before, at several places, and always at more than now.
fn is_at_fewer_places_than_ever(heard: &[Heard<'_>]) -> bool {
    let Some((newest, before)) = heard.split_last() else { return false };
    let set = newest.set();
    let is_same = |it: &&Heard<'_>| !it.is_quiet() && !it.is_cut() && it.set() == set;
    let mut same = before.iter().filter(is_same).filter_map(|it| it.counted.places);
    // It is remembered from when it was at more places than it has members.
    let several = same.find(|places| *places > set.len() as u64);
    let fewest = several.map(|first| same.fold(first, u64::min));
    !newest.is_quiet()
        && !set.is_empty()
        && !newest.is_cut()
        && newest.counted.places.is_some_and(|now| fewest.is_some_and(|fewest| now < fewest))
}

/// Says whether the newest set of failures tells numbers of which none is higher than it ever told, and one is lower.
fn tells_less_than_ever(heard: &[Heard<'_>]) -> bool {
    let Some(newest) = heard.last().filter(|it| !it.is_quiet() && !it.is_cut()) else { return false };
    let set = newest.set();
    let falls = |least: &[u64], now: &[u64]| {
        least.len() == now.len() && least != now && least.iter().zip(now).all(|(least, now)| now <= least)
    };
    let mut least: Option<&[u64]> = None;
    let mut has_fallen = false;
    for it in heard.iter().filter(|it| !it.is_quiet() && !it.is_cut() && it.set() == set) {
        let now = &it.counted.amounts;
        has_fallen = least.is_some_and(|least| falls(least, now));
        if has_fallen || least.is_none() && !now.is_empty() {
            least = Some(now);
        }
    }
    has_fallen && !set.is_empty()
}

/// Says whether there are fewer failures in all than there ever were, where not all of them are told.
fn is_fewer_in_all_than_ever(heard: &[Heard<'_>]) -> bool {
    heard.last().is_some_and(Heard::is_cut) && is_fewest(heard, |it| it.counted.places)
}

/// Says whether fewer failures than ever keep tests from being run.
fn is_further_than_ever(heard: &[Heard<'_>]) -> bool {
    is_fewest(heard, |it| (it.counted.left_out == 0).then_some(it.counted.early))
}

/// Says whether more tests pass than ever did, while no more fail than at the verdict before, which has to be one since `begin`.
fn more_pass_than_ever(heard: &[Heard<'_>], begin: usize) -> bool {
    let speaks = |it: &&Heard<'_>| !it.is_quiet() && !it.set().is_empty();
    let counts = |it: &&Heard<'_>| speaks(it) && it.counted.is_conclusive && !it.is_cut();
    let Some((newest, before)) = heard.split_last().filter(|(newest, _)| counts(newest)) else {
        return false;
    };
    let last = before[begin.min(before.len())..].iter().rev().find(speaks);
    let most = before.iter().filter(counts).map(|it| it.counted.passed).max();
    newest.changed != Some(false)
        && !words_about_a_new_commit(heard)
        && most.is_some_and(|most| newest.counted.passed > most)
        && last.is_some_and(|last| newest.set().len() <= last.set().len())
}

/// Says whether a number is smaller than it ever was. Only what is conclusive, and says something, counts.
fn is_fewest(heard: &[Heard<'_>], number: impl Fn(&Heard<'_>) -> Option<u64>) -> bool {
    let counts = |it: &&Heard<'_>| !it.is_quiet() && !it.set().is_empty() && it.counted.is_conclusive;
    let Some((newest, before)) = heard.split_last() else { return false };
    let now = Some(newest).filter(counts).and_then(&number);
    let fewest = before.iter().filter(counts).filter_map(&number).min();
    now.is_some_and(|now| fewest.is_some_and(|fewest| now < fewest))
}

impl Heard<'_> {
    fn is_cut(&self) -> bool {
        self.counted.left_out > 0
    }

    /// A command that fails without saying why, or the worker's own words, while the workspace changes: nothing can be
    /// concluded.
    fn is_quiet(&self) -> bool {
        let names_nothing = self.verdict.fingerprints.is_empty();
        let is_vague = self.is_own || self.verdict.source == DecisionSource::ExitCode;
        names_nothing && is_vague && self.changed == Some(true)
    }

    fn set(&self) -> BTreeSet<String> {
        let members = |texts: &[String], before: &str| -> BTreeSet<String> {
            let texts = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
            texts.map(|text| format!("{before}{text}").chars().take(240).collect()).collect()
        };
        let mut named = members(&self.verdict.fingerprints, "");
        if named.is_empty() {
            return members(&self.verdict.reasons, "reason:");
        }
        if self.is_cut() {
            named.insert(format!("left_out:{}", self.counted.left_out));
        }
        named
    }

    fn commit(&self) -> Option<&str> {
        self.workspace?.repository.as_ref()?.commit.as_deref()
    }
}

fn set_key(set: &BTreeSet<String>) -> Digest {
    let mut members: Vec<Vec<u16>> = set.iter().map(|it| it.encode_utf16().collect()).collect();
    members.sort();
    let members: Vec<String> = members.iter().map(|it| String::from_utf16_lossy(it)).collect();
    Digest::of(members.join("\n").as_bytes())
}

fn workflow(events: &[Event]) -> Option<&Workflow> {
    events.iter().find_map(|event| match &event.fact {
        Fact::Observed(Observation::RunStarted(started)) => Some(&started.workflow),
        _ => None,
    })
}

/// Gathers what was heard of a step.
fn heard<'a>(events: &'a [Event], step: &Step) -> Vec<Heard<'a>> {
    let (id, is_own) = (&step.id, step.claims() && step.require_change);
    let mut heard: Vec<Heard<'_>> = Vec::new();
    let mut works: Vec<&WorkerFinished> = Vec::new();
    let (mut workspace, mut is_stuck, mut taken_up, mut diagnoses) = (None, false, false, false);
    let mut counted = Counted::default();
    for event in events {
        match &event.fact {
            Fact::Observed(observation) => {
                workspace = snapshot(observation).or(workspace);
                if let Observation::WorkerFinished(it) = observation
                    && it.step == *id
                    && !diagnoses
                {
                    works.push(it);
                }
                if let Observation::CheckFinished(it) = observation
                    && it.step == *id
                    && it.iteration.0 > 0
                {
                    counted = count(&it.commands);
                }
            }
            Fact::Concluded(Conclusion::VerdictReached(verdict))
                if verdict.step == *id && verdict.decision == Decision::Incomplete =>
            {
                let mut now = works.iter().filter(|it| it.iteration == verdict.iteration);
                let changed = if now.clone().any(|it| it.changed == Some(true)) {
                    Some(true)
                } else {
                    now.next_back().and_then(|it| it.changed)
                };
                let stays = changed == Some(false);
                let changed = changed.map(|changed| changed && !is_undone(&heard, workspace));
                heard.push(Heard {
                    verdict,
                    is_own,
                    changed,
                    stays,
                    workspace,
                    counted: counted.clone(),
                    taken_up,
                    raised: None,
                    stuck: false,
                });
                taken_up = false;
            }
            Fact::Concluded(Conclusion::StageRaised(raised)) if raised.step == *id => {
                let newest = heard.last_mut().expect("a stage is raised by a verdict");
                assert!(newest.raised.replace(raised).is_none(), "a verdict raises the stage once");
            }
            Fact::Concluded(Conclusion::StepEnded(ended)) if ended.step == *id => {
                is_stuck = matches!(ended.end, StepEnd::Stuck(_));
                if let (Some(newest), true) = (heard.last_mut(), is_stuck) {
                    newest.stuck = true;
                }
            }
            Fact::Concluded(Conclusion::WorkRequested(work)) if work.step == *id => {
                (is_stuck, taken_up) = (false, taken_up || is_stuck);
                diagnoses = work.purpose == Purpose::Diagnosis;
            }
            Fact::Concluded(_) => {}
        }
    }
    heard
}

fn count(commands: &[CommandResult]) -> Counted {
    let failures = || commands.iter().flat_map(|command| &command.failures);
    let left_out = commands.iter().map(|command| command.failures_left_out).sum::<u64>();
    let sum = failures().map(|failure| u64::from(failure.places.max(1))).sum::<u64>() + left_out;
    Counted {
        places: (!commands.is_empty()).then_some(sum),
        left_out,
        amounts: amounts(commands),
        early: failures().filter(|failure| failure.is_early()).count() as u64,
        passed: commands.iter().filter_map(|command| command.tests).map(|tests| tests.passed).sum(),
        is_conclusive: commands.iter().all(CommandResult::is_conclusive),
    }
}

/// Says whether the files are what they were at an earlier verdict, but not at the last.
fn is_undone(heard: &[Heard<'_>], workspace: Option<&Snapshot>) -> bool {
    let mut before = heard.iter().filter_map(|it| it.workspace).map(|it| it.work);
    let last = before.next_back();
    workspace.is_some_and(|now| last != Some(now.work) && before.any(|it| it == now.work))
}

fn snapshot(observation: &Observation) -> Option<&Snapshot> {
    match observation {
        Observation::WorkerStarted(it) => it.snapshot.as_deref(),
        Observation::WorkerFinished(it) => it.snapshot.as_deref(),
        Observation::SnapshotTaken(it) => Some(&it.snapshot),
        _ => None,
    }
}

/// Says which step is complete although its commands show something new, something was changed out of its
/// scope, or it was changed after they were run.
pub fn complete_without_evidence(events: &[Event]) -> Option<String> {
    let steps = &workflow(events)?.steps;
    steps.iter().find_map(|step| {
        let check = step.check.as_ref()?;
        let CheckBy::Commands(commands) = &check.by else { return None };
        let ended = events.iter().find(|event| match &event.fact {
            Fact::Concluded(Conclusion::StepEnded(it)) => it.step == step.id && it.end == StepEnd::Complete,
            _ => false,
        })?;
        let before = || events.iter().filter(|event| event.seq < ended.seq);
        let checks: Vec<(&Event, &CheckFinished)> = before()
            .filter_map(|event| match &event.fact {
                Fact::Observed(Observation::CheckFinished(it)) if it.step == step.id => Some((event, it)),
                _ => None,
            })
            .collect();
        let work = before().rev().find_map(|event| match &event.fact {
            Fact::Observed(Observation::WorkerFinished(it)) if it.step == step.id => Some((event, it)),
            _ => None,
        });
        let (Some((checked, newest)), Some((worked, work))) = (checks.last(), work) else {
            return Some(format!("step {} is complete, and nobody worked or checked", step.id));
        };
        let baseline = checks.iter().find(|(_, it)| it.iteration.0 == 0).map(|(_, it)| &it.commands[..]);
        let passes = |(at, result): (usize, &CommandResult)| {
            passes(commands[at].gate, result, baseline.and_then(|it| it.get(at)))
        };
        let why = if checked.seq < worked.seq {
            "was changed after its check"
        } else if newest.commands.len() != commands.len() || !newest.commands.iter().enumerate().all(passes) {
            "shows failures that it may not show"
        } else if is_out_of_scope(step, work) {
            "changed what it may not change"
        } else {
            return None;
        };
        Some(format!("step {} is complete, but {why}", step.id))
    })
}

fn passes(gate: Gate, result: &CommandResult, baseline: Option<&CommandResult>) -> bool {
    let was_there = |it: &_| {
        baseline.is_some_and(|base| base.failures.iter().chain(&base.flaky).any(|old| old.fingerprint == *it))
    };
    let was_red = |it: &Failure| {
        baseline.is_some_and(|base| {
            base.observations > 1 && base.failures.iter().any(|old| old.fingerprint == it.fingerprint)
        })
    };
    match gate {
        Gate::Pass => {
            result.exit == Exit::Code(0) && result.failures.is_empty() && !result.flaky.iter().any(was_red)
        }
        Gate::NoNewFailures => {
            result.is_conclusive()
                && result.failures_left_out == 0
                && result.failures.iter().all(|it| was_there(&it.fingerprint))
        }
    }
}

/// Only for patterns that are a folder.
fn is_out_of_scope(step: &Step, work: &WorkerFinished) -> bool {
    let Some(policy) = &step.convergence else { return false };
    let is_allowed = |path: &String| {
        policy.allowed_paths.is_empty() || policy.allowed_paths.iter().any(|it| path.starts_with(it.as_str()))
    };
    let files = work.drift.as_ref().map_or(&[][..], |drift| &drift.files);
    let too_many = policy.max_changed_files.is_some_and(|max| files.len() > max as usize);
    too_many || !files.iter().all(is_allowed)
}
