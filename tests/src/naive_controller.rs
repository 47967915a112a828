//! The rules of `docs/convergence.md` once more: slow, without memory, and as plain as the page.
//!
//! Recomputes everything from the full log for every verdict. `core` keeps counters and folds event by event, and
//! must reach the same result.

use std::collections::BTreeSet;

use unstuck_core::convergence::Measures;
use unstuck_core::event::{
    CheckFinished, Conclusion, DecisionSource, Event, Exit, Fact, Observation, Purpose, StageRaised,
    StallCause, StepEnd, VerdictReached, WorkerFinished,
};
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::Decision;
use unstuck_core::evidence::{Failure, NumberLine};
use unstuck_core::id::{Digest, Stage};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::workflow::{CheckMethod, ConvergencePolicy, Gate, Step, Workflow};

/// One incomplete verdict of a step, and what the log says around it.
struct Heard<'a> {
    verdict: &'a VerdictReached,
    /// The worker itself has said it.
    is_own: bool,
    /// Whether this iteration changed the workspace.
    changed: Option<bool>,
    workspace: Option<&'a Snapshot>,
    measured: Measures<'a>,
    /// Whether a person resumed the step after it was stuck, which restarts the counts.
    taken_up: bool,
    /// The stage raise that followed the verdict, if any.
    raised: Option<&'a StageRaised>,
    stuck: bool,
    /// Whether the completion rules of the step ended it at this verdict, which comes before a stall.
    is_final: bool,
}

/// Compares every stage that was raised, or not, with the page. Returns the first difference.
pub fn difference(events: &[Event]) -> Option<String> {
    let workflow = workflow(events)?;
    workflow.steps.iter().find_map(|step| {
        let policy = step.convergence.as_ref()?;
        let (before, heard) = heard(events, step);
        difference_of_step(policy, &before, &heard)
    })
}

fn difference_of_step(
    policy: &ConvergencePolicy,
    before: &[Measures<'_>],
    heard: &[Heard<'_>],
) -> Option<String> {
    let mut stage = Stage(1);
    // Which iterations were an improvement, and where counting began: at an improvement, behind a raised stage, or at a resume.
    let (mut improved, mut begin) = (Vec::new(), 0);
    for (at, newest) in heard.iter().enumerate() {
        if newest.taken_up {
            begin = at;
        }
        let is_better = is_better(before, heard, &improved, at);
        improved.push(is_better);
        let from = stage;
        let mut expected = None;
        if is_better {
            (stage, begin) = (Stage(1), at);
        } else if let Some((cause, count)) =
            stall(policy, before, heard, &improved, begin).filter(|_| !newest.is_final)
        {
            let last = policy.max_stage.max(from);
            expected = Some((from, from.next().min(last), cause, Some(newest.key()), count));
        }
        let stuck = expected.is_some_and(|(_, to, ..)| policy.fail_on_max_stage && to >= policy.max_stage);
        let raised = newest.raised.map(|escalation| {
            (escalation.from, escalation.to, escalation.cause, escalation.key, escalation.count)
        });
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

/// Lines, and passing tests, improve so often at most.
const GAINS_MAX: usize = 20;

/// The two rules of the page. Counting began at `begin`; `improved` says which iterations were an improvement.
fn stall(
    policy: &ConvergencePolicy,
    before: &[Measures<'_>],
    heard: &[Heard<'_>],
    improved: &[bool],
    begin: usize,
) -> Option<(StallCause, u32)> {
    let threshold = policy.stall_threshold.max(1);
    let newest = improved.len() - 1;
    let number = |count: usize| u32::try_from(count).expect("few verdicts");
    let is_new = |at: usize| age(heard, improved, at).is_none();
    // Back to the last one that showed something new, itself counted, but not behind where counting began.
    let first = (begin..=newest).rev().find(|&at| improved[at] || is_new(at)).unwrap_or(begin);
    let not_new = number(newest + 1 - first);
    if not_new >= threshold {
        let period =
            (first..=newest).filter(|&at| !improved[at]).filter_map(|at| age(heard, improved, at)).max();
        let unchanged = (begin_of_count(heard, improved, begin)..=newest)
            .rev()
            .take_while(|&at| heard[at].changed == Some(false))
            .count();
        let cause = match period {
            _ if number(unchanged) >= not_new => StallCause::NoChange,
            None | Some(1) if heard[newest].set().is_empty() => StallCause::NoReasons,
            None => StallCause::Diverging,
            Some(1) => StallCause::SameFailures,
            Some(period) => StallCause::Cycle(number(period)),
        };
        return Some((cause, not_new));
    }
    let not_better = number(newest + 1 - begin);
    (not_better >= threshold.saturating_mul(3)).then(|| {
        let all = all(before, &heard[..=newest]);
        let (now, best) = (counted(&all), fewest(&all, heard[newest].measured.source));
        let grows = now.is_some() && best.is_some() && now > best;
        let cause = match heard[newest].set().is_empty() {
            true => StallCause::NoReasons,
            false if grows => StallCause::Growing,
            false => StallCause::Diverging,
        };
        (cause, not_better)
    })
}

/// Where a count begins that an improvement does not end: behind the last raised stage, or at a resume.
fn begin_of_count(heard: &[Heard<'_>], improved: &[bool], begin: usize) -> usize {
    let restarts = |at: usize| heard[at].taken_up || at > 0 && heard[at - 1].raised.is_some();
    if !improved[begin] {
        return begin;
    }
    (0..=begin).rev().find(|&at| restarts(at)).unwrap_or(0)
}

/// How many iterations ago the same was shown, since the last improvement before `at`.
fn age(heard: &[Heard<'_>], improved: &[bool], at: usize) -> Option<usize> {
    let since = (0..at).rev().find(|&index| improved[index]).unwrap_or(0);
    (since..at).rev().find(|&index| heard[index].key() == heard[at].key()).map(|index| at - index)
}

/// The baseline and all iterations, as they were measured.
fn all<'a, 'h>(before: &'a [Measures<'h>], heard: &'a [Heard<'h>]) -> Vec<&'a Measures<'h>> {
    before.iter().chain(heard.iter().map(|check| &check.measured)).collect()
}

/// Says whether one of the six measures of the newest iteration beats all before it.
fn is_better(before: &[Measures<'_>], heard: &[Heard<'_>], improved: &[bool], at: usize) -> bool {
    let until = all(before, &heard[..=at]);
    let (newest, earlier) = until.split_last().expect("the newest is among them");
    later_phase(&until)
        || counted(&until)
            .is_some_and(|now| fewest(earlier_of_phase(&until), newest.source).is_some_and(|best| now < best))
        || later_place(newest, earlier)
        || closer_number(&until)
        || more_passed(before, heard, improved, at)
        || fewer_boxes(&until)
}

fn later_phase(until: &[&Measures<'_>]) -> bool {
    let Some((newest, earlier)) = until.split_last() else { return false };
    let best = earlier.iter().filter_map(|check| check.early).min();
    newest.early.is_some_and(|now| best.is_some_and(|best| now < best))
}

/// The number of failures now, unless it is of an earlier phase than there was.
fn counted(until: &[&Measures<'_>]) -> Option<u64> {
    let newest = until.last()?;
    let best = until.iter().filter_map(|check| check.early).min();
    newest.failures.filter(|count| *count > 0 && newest.early <= best)
}

/// The measures in this phase before the newest.
fn earlier_of_phase<'a, 'h>(until: &'a [&'h Measures<'h>]) -> &'a [&'h Measures<'h>] {
    let begin = (1..until.len()).rev().find(|&at| later_phase(&until[..=at])).unwrap_or(0);
    &until[begin.min(until.len() - 1)..until.len() - 1]
}

/// The fewest failures of this phase, by the same source.
fn fewest(until: &[&Measures<'_>], source: Option<DecisionSource>) -> Option<u64> {
    let begin = (1..until.len()).rev().find(|&at| later_phase(&until[..=at])).unwrap_or(0);
    let best = |at: usize| until[..=at].iter().filter_map(|check| check.early).min();
    let fits = |at: &usize| until[*at].early <= best(*at) && until[*at].source == source;
    (begin..until.len()).filter(fits).filter_map(|at| until[at].failures).filter(|count| *count > 0).min()
}

fn later_place(newest: &Measures<'_>, earlier: &[&Measures<'_>]) -> bool {
    let place = |failure: &Failure| {
        let location = failure.location.clone()?;
        Some((failure.fingerprint.clone(), location.file, (failure.remaining?, location.line?)))
    };
    newest.places.iter().filter_map(|failure| place(failure)).any(|(fingerprint, file, now)| {
        let known = earlier.iter().flat_map(|check| &check.places).filter_map(|failure| place(failure));
        let mut known =
            known.filter(|entry| (&entry.0, &entry.1) == (&fingerprint, &file)).map(|entry| entry.2);
        // Each best place is later than the one before.
        let is_later = |now: (u32, u32), best: (u32, u32)| now.0 < best.0 && now.1 > best.1;
        let first = known.next();
        let best =
            first.map(|first| known.fold(first, |best, next| if is_later(next, best) { next } else { best }));
        best.is_some_and(|best| is_later(now, best))
    })
}

/// Plays each line from its beginning: whether the newest iteration is one of its gains.
fn closer_number(until: &[&Measures<'_>]) -> bool {
    let Some(newest) = until.last() else { return false };
    newest.numbers.iter().any(|line| {
        let seen: Vec<(usize, &NumberLine)> = until
            .iter()
            .enumerate()
            .flat_map(|(at, check)| check.numbers.iter().map(move |line| (at, *line)))
            .filter(|(_, number)| number.frame == line.frame)
            .collect();
        let gain = |at: usize| {
            let (before, now) = (&seen[at - 1].1.numbers, &seen[at].1.numbers);
            let changed: Vec<usize> =
                (0..now.len()).filter(|&index| before[index].value != now[index].value).collect();
            let [place] = changed[..] else { return false };
            let Some(bound) = now[place].bound else { return false };
            let distance = |line: &NumberLine| line.numbers[place].value.abs_diff(bound);
            // Every time at which this number alone changed counts, and the value before the first of them.
            let alone = |at: &usize| {
                let (before, now) = (&seen[*at - 1].1.numbers, &seen[*at].1.numbers);
                now[place].bound == Some(bound)
                    && (0..now.len())
                        .all(|index| (index == place) == (before[index].value != now[index].value))
            };
            let times: Vec<usize> = (1..at).filter(alone).collect();
            let first = times.first().map_or(at - 1, |first| first - 1);
            let best = times.iter().chain([&first]).map(|&index| distance(seen[index].1)).min();
            best.is_some_and(|best| distance(seen[at].1) < best)
        };
        let gains: Vec<usize> = (1..seen.len()).filter(|&at| gain(at)).take(GAINS_MAX).collect();
        gains.last().is_some_and(|last| seen[*last].0 == until.len() - 1)
    })
}

fn more_passed(before: &[Measures<'_>], heard: &[Heard<'_>], improved: &[bool], at: usize) -> bool {
    let gains = |at: usize| {
        let most = all(before, &heard[..at]).iter().filter_map(|check| check.passed).max();
        let is_more = heard[at].measured.passed.is_some_and(|now| most.is_some_and(|most| now > most));
        is_more && age(heard, improved, at).is_none()
    };
    gains(at) && (0..at).filter(|&index| gains(index)).count() < GAINS_MAX
}

fn fewer_boxes(until: &[&Measures<'_>]) -> bool {
    let mut best = None;
    let (mut is_fewer, mut has_ticked) = (false, false);
    for measured in until {
        is_fewer = measured.open_boxes.is_some_and(|now| best.is_some_and(|best| now < best));
        let begins = !has_ticked && best.is_none_or(|best| best == 0);
        if measured.open_boxes.is_some() && (is_fewer || begins) {
            best = measured.open_boxes;
        }
        has_ticked |= is_fewer;
    }
    is_fewer
}

impl Heard<'_> {
    fn set(&self) -> BTreeSet<String> {
        let members = |texts: &[String], before: &str| -> BTreeSet<String> {
            let texts = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
            texts.map(|text| format!("{before}{text}").chars().take(240).collect()).collect()
        };
        let named = members(&self.verdict.fingerprints, "");
        let is_vague = self.is_own || self.verdict.source == DecisionSource::ExitCode;
        match named.is_empty() {
            true if is_vague => named,
            true => members(&self.verdict.reasons, "reason:"),
            false => named,
        }
    }

    /// The key of its failures, its reasons, or else the workspace.
    fn key(&self) -> Digest {
        let set = self.set();
        match self.workspace {
            Some(workspace) if set.is_empty() => workspace.state(),
            _ => set_key(&set),
        }
    }
}

fn set_key(set: &BTreeSet<String>) -> Digest {
    let mut members: Vec<Vec<u16>> = set.iter().map(|name| name.encode_utf16().collect()).collect();
    members.sort();
    let members: Vec<String> = members.iter().map(|member| String::from_utf16_lossy(member)).collect();
    Digest::sha256(members.join("\n").as_bytes())
}

fn workflow(events: &[Event]) -> Option<&Workflow> {
    events.iter().find_map(|event| match &event.fact {
        Fact::Observed(Observation::RunStarted(started)) => Some(&started.workflow),
        _ => None,
    })
}

/// Gathers what was measured before the first iteration, and what was heard of each.
fn heard<'a>(events: &'a [Event], step: &Step) -> (Vec<Measures<'a>>, Vec<Heard<'a>>) {
    let (id, is_own) = (&step.id, step.claims());
    let (mut before, mut heard) = (Vec::new(), Vec::<Heard<'_>>::new());
    let mut works: Vec<&WorkerFinished> = Vec::new();
    let (mut workspace, mut is_stuck, mut taken_up, mut diagnoses) = (None, false, false, false);
    let (mut began_with, mut commands, mut validators) = (None, &[][..], &[][..]);
    for event in events {
        match &event.fact {
            Fact::Observed(observation) => {
                workspace = snapshot(observation).or(workspace);
                let boxes = |workspace: Option<&Snapshot>| workspace.and_then(|snapshot| snapshot.open_boxes);
                match observation {
                    Observation::WorkerStarted(start) if start.step == *id => {
                        began_with = began_with.or(start.snapshot.as_deref());
                    }
                    Observation::WorkerFinished(work) if work.step == *id && !diagnoses => works.push(work),
                    Observation::CheckFinished(check) if check.outcome.exit.is_stopped() => {}
                    Observation::CheckFinished(check) if check.step == *id && check.iteration.0 == 0 => {
                        before.push(Measures::new(&check.commands, &[], boxes(check.snapshot.as_deref())));
                    }
                    Observation::CheckFinished(check) if check.step == *id => {
                        if !check.validators.is_empty() {
                            validators = &check.validators[..];
                        } else {
                            commands = &check.commands[..];
                        }
                    }
                    _ => {}
                }
            }
            Fact::Concluded(Conclusion::VerdictReached(verdict))
                if verdict.step == *id
                    && verdict.decision == Decision::Incomplete
                    && verdict.parse_failures == 0 =>
            {
                if heard.is_empty() {
                    let open_boxes = began_with.and_then(|snapshot: &Snapshot| snapshot.open_boxes);
                    before.push(Measures { open_boxes, ..Measures::default() });
                }
                let mut now = works.iter().filter(|work| work.iteration == verdict.iteration);
                let changed = if now.clone().any(|work| work.changed == Some(true)) {
                    Some(true)
                } else {
                    now.next_back().and_then(|work| work.changed)
                };
                let open_boxes = workspace.and_then(|snapshot| snapshot.open_boxes);
                let by_validators = verdict.source == DecisionSource::Validators;
                let validators = if by_validators { validators } else { &[] };
                let mut measured = Measures::new(commands, validators, open_boxes);
                let is_own_decision = verdict.claimed.is_none() && verdict.source.is_stated();
                if is_own_decision || verdict.source == DecisionSource::Closer {
                    measured.source = Some(verdict.source);
                    measured.failures = Some(verdict.fingerprints.len() as u64);
                }
                heard.push(Heard {
                    verdict,
                    is_own,
                    changed,
                    workspace,
                    measured,
                    taken_up,
                    raised: None,
                    stuck: false,
                    is_final: false,
                });
                taken_up = false;
            }
            Fact::Concluded(Conclusion::StageRaised(raised)) if raised.step == *id => {
                let newest = heard.last_mut().expect("a stage is raised by a verdict");
                assert!(newest.raised.replace(raised).is_none(), "a verdict raises the stage once");
            }
            Fact::Concluded(Conclusion::StepEnded(ended)) if ended.step == *id => {
                is_stuck = matches!(ended.end, StepEnd::Stuck(_));
                if let Some(newest) = heard.last_mut() {
                    newest.stuck |= is_stuck;
                    let is_final =
                        matches!(ended.end, StepEnd::ConditionFailed(_) | StepEnd::AttemptsExhausted(_));
                    newest.is_final |= is_final;
                }
            }
            Fact::Concluded(Conclusion::WorkRequested(work)) if work.step == *id => {
                (is_stuck, taken_up) = (false, taken_up || is_stuck);
                diagnoses = work.purpose == Purpose::Diagnosis;
            }
            Fact::Concluded(_) => {}
        }
    }
    (before, heard)
}

fn snapshot(observation: &Observation) -> Option<&Snapshot> {
    match observation {
        Observation::WorkerStarted(start) => start.snapshot.as_deref(),
        Observation::WorkerFinished(work) => work.snapshot.as_deref(),
        Observation::SnapshotTaken(taken) => Some(&taken.snapshot),
        _ => None,
    }
}

/// Says which step is complete although its commands show something new, something was changed out of its
/// scope, or it was changed after they were run.
pub fn complete_without_evidence(events: &[Event]) -> Option<String> {
    let steps = &workflow(events)?.steps;
    steps.iter().find_map(|step| {
        let check = step.check.as_ref()?;
        let CheckMethod::Commands(commands) = &check.by else { return None };
        let ended = events.iter().find(|event| match &event.fact {
            Fact::Concluded(Conclusion::StepEnded(end)) => {
                end.step == step.id && end.end == StepEnd::Complete
            }
            _ => false,
        })?;
        let before = || events.iter().filter(|event| event.seq < ended.seq);
        let checks: Vec<(&Event, &CheckFinished)> = before()
            .filter_map(|event| match &event.fact {
                Fact::Observed(Observation::CheckFinished(check))
                    if check.step == step.id && !check.outcome.exit.is_stopped() =>
                {
                    Some((event, check))
                }
                _ => None,
            })
            .collect();
        let work = before().rev().find_map(|event| match &event.fact {
            Fact::Observed(Observation::WorkerFinished(work)) if work.step == step.id => Some((event, work)),
            _ => None,
        });
        let (Some((checked, newest)), Some((worked, work))) = (checks.last(), work) else {
            return Some(format!("step {} is complete, and nobody worked or checked", step.id));
        };
        let baseline =
            checks.iter().find(|(_, check)| check.iteration.0 == 0).map(|(_, check)| &check.commands[..]);
        let passes = |(at, result): (usize, &CommandResult)| {
            passes(commands[at].gate, result, baseline.and_then(|results| results.get(at)))
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
    let was_there = |fingerprint: &_| {
        baseline.is_some_and(|base| {
            base.failures.iter().chain(&base.flaky).any(|old| old.fingerprint == *fingerprint)
        })
    };
    let was_red = |failure: &Failure| {
        baseline.is_some_and(|base| {
            base.observations > 1 && base.failures.iter().any(|old| old.fingerprint == failure.fingerprint)
        })
    };
    match gate {
        Gate::Pass => {
            result.exit == Exit::Code(0) && result.failures.is_empty() && !result.flaky.iter().any(was_red)
        }
        Gate::NoNewFailures => {
            result.is_conclusive()
                && result.failures_left_out == 0
                && result.failures.iter().all(|failure| was_there(&failure.fingerprint))
        }
    }
}

/// Only for patterns that are a folder.
fn is_out_of_scope(step: &Step, work: &WorkerFinished) -> bool {
    let Some(policy) = &step.convergence else { return false };
    let is_allowed = |path: &String| {
        policy.allowed_paths.is_empty()
            || policy.allowed_paths.iter().any(|allowed| path.starts_with(allowed.as_str()))
    };
    let files = work.drift.as_ref().map_or(&[][..], |drift| &drift.files);
    let too_many = policy.max_changed_files.is_some_and(|max| files.len() > max as usize);
    too_many || !files.iter().all(is_allowed)
}
