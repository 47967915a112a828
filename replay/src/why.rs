//! The chain of evidence for an end, or for the latest decision.

use std::collections::BTreeSet;

use serde::Serialize;
use unstuck_core::event::{CheckFinished, RunResumed, StageRaised, VerdictReached};
use unstuck_core::evidence::{CommandResult, Decision};
use unstuck_core::id::{Blob, Digest, Seq, StepId, Timestamp};
use unstuck_core::plural::count;
use unstuck_core::{Conclusion, Event, Fact, Observation, RunState};

use crate::describe::{describe, kind};

/// Why a run, or a step of it, is where it is.
#[derive(Clone, Debug, Serialize)]
pub struct EvidenceChain {
    /// From the decision down to the observations that it rests on.
    pub links: Vec<EvidenceLink>,
    /// The prompt that the worker got because of it; `None` where no work followed.
    pub prompt: Option<Prompt>,
    /// The event with which the run went on afterwards; `None` if it did not.
    pub went_on: Option<Seq>,
    /// The rule by which the loop was stuck; `None` if the decision does not rest on it.
    pub stall: Option<StallRule>,
    /// The support of a complete verdict; `None` if the decision does not rest on one.
    pub completion: Option<CompletionArgument>,
}

/// The support of complete verdicts, and its limits.
#[derive(Clone, Debug, Serialize)]
pub struct CompletionArgument {
    /// The last step that is complete.
    pub step: StepId,
    /// Checks that passed.
    pub checked: Vec<String>,
    /// Things that no check looked at.
    pub unchecked: Vec<String>,
    /// The step requires a change.
    pub requires_change: bool,
}

/// The rule by which a loop was stuck.
#[derive(Clone, Debug, Serialize)]
pub struct StallRule {
    /// The step.
    pub step: StepId,
    /// Digest of the last set of failures or reasons, or of the workspace.
    pub key: Option<Digest>,
    /// So many iterations in a row showed nothing new, or nothing better.
    pub count: u32,
    /// The threshold of the step: `stall_threshold`.
    pub threshold: u32,
    /// The workflow file; `None` for a run without one.
    pub file: Option<String>,
    /// SHA-256 of that file when it was read.
    #[serde(skip)]
    pub digest: Option<Digest>,
    /// The event in which a person set the threshold; `None` if the file or the default did.
    pub set_by: Option<Seq>,
}

/// A prompt that followed from a decision.
#[derive(Clone, Debug, Serialize)]
pub struct Prompt {
    /// The event in which it was handed over.
    pub seq: Seq,
    /// All of it.
    pub blob: Blob,
    /// The files of a prompt tree that it was made from; empty for the built-in text.
    pub templates: Vec<String>,
}

/// One event of the chain.
#[derive(Clone, Debug, Serialize)]
pub struct EvidenceLink {
    /// How far from the decision: 0 is the decision itself.
    pub depth: usize,
    /// The event.
    pub seq: Seq,
    /// When it was recorded.
    pub at: Timestamp,
    /// Its kind, as in the log.
    pub kind: &'static str,
    /// Description of the event.
    pub what: String,
    /// The events that it rests on.
    pub evidence: Vec<Seq>,
}

/// Follows the evidence of the end, or of the latest decision, of a run or of one step. An end after which the run went on is
/// none.
///
/// Returns `None` when nothing was decided yet.
pub fn evidence_chain(events: &[Event], step: Option<&StepId>) -> Option<EvidenceChain> {
    let went_on = events.iter().rfind(|event| is_continuation(event)).map(|event| event.seq);
    let is_over = |event: &Event| {
        let is_end = matches!(event.fact, Fact::Concluded(Conclusion::RunEnded(_)));
        is_end && went_on.is_some_and(|went_on| event.seq < went_on)
    };
    let top = events.iter().rfind(|event| is_decision(event, step) && !is_over(event))?;
    let went_on = went_on.filter(|went_on| *went_on > top.seq);
    Some(EvidenceChain { went_on, ..chain(events, top) })
}

fn is_continuation(event: &Event) -> bool {
    matches!(event.fact, Fact::Observed(Observation::RunResumed(_) | Observation::AnswerGiven(_)))
}

/// Follows the evidence of one event; `None` if there is no such event.
pub fn evidence_chain_at(events: &[Event], seq: Seq) -> Option<EvidenceChain> {
    Some(chain(events, events.iter().find(|event| event.seq == seq)?))
}

fn chain(events: &[Event], top: &Event) -> EvidenceChain {
    let mut links = Vec::new();
    let mut seen = BTreeSet::new();
    follow(top, 0, events, &mut seen, &mut links);
    let raised = events.iter().filter(|event| seen.contains(&event.seq)).find_map(stage_raised);
    let stall = raised.and_then(|(at, raised)| stall_rule(events, at, raised));
    let completion = completion(events, &seen);
    EvidenceChain { links, prompt: prompt_after(events, top), went_on: None, stall, completion }
}

/// Collects the support of the complete verdicts in a chain of evidence.
fn completion(events: &[Event], seen: &BTreeSet<Seq>) -> Option<CompletionArgument> {
    let chain = || events.iter().filter(|event| seen.contains(&event.seq));
    let verdicts = chain().filter_map(|event| match &event.fact {
        Fact::Concluded(Conclusion::VerdictReached(verdict)) => Some((event.seq, verdict)),
        _ => None,
    });
    let verdicts: Vec<_> = verdicts.collect();
    let (at, last) = *verdicts.last().filter(|(_, last)| last.decision == Decision::Complete)?;
    let state = RunState::of(events.iter().take_while(|event| event.seq <= at));
    let requires_change = state.step(&last.step).is_some_and(|(step, _)| step.require_change);
    let mut argument = CompletionArgument {
        step: last.step.clone(),
        checked: Vec::new(),
        unchecked: Vec::new(),
        requires_change,
    };
    for (_, verdict) in verdicts.iter().filter(|(_, verdict)| verdict.decision == Decision::Complete) {
        let check =
            verdict.evidence.iter().filter_map(|seq| find(events, *seq)).find_map(|event| {
                match &event.fact {
                    Fact::Observed(Observation::CheckFinished(finished)) => Some(finished),
                    _ => None,
                }
            });
        argument.add(verdict, check);
    }
    let newest = crate::snapshots::at(events, at).map(|seen| seen.snapshot);
    argument.unchecked.extend(match newest {
        Some(snapshot) => snapshot.exclusion_note_with_ignored(),
        None => Some("no snapshot was taken, so the files that changed are not known".to_owned()),
    });
    Some(argument)
}

impl CompletionArgument {
    /// Adds the checks of one complete verdict.
    fn add(&mut self, verdict: &VerdictReached, check: Option<&CheckFinished>) {
        let Some(check) = check else {
            self.unchecked
                .push(format!("{} is complete by the word of its worker; no check ran", verdict.step));
            return;
        };
        for CommandResult { run, tests, .. } in &check.commands {
            let counted = tests.map(|tests| format!(", {}", count(tests.passed, "test")));
            self.checked.push(format!("`{run}` passes{}", counted.unwrap_or_default()));
            if tests.is_none() {
                self.unchecked.push(format!("`{run}` counts no tests, so a removed test is not seen"));
            }
        }
        let passed = check.validators.iter().filter(|result| result.passed());
        self.checked.extend(passed.map(|result| format!("{} passes", result.validator)));
        if check.commands.is_empty() && check.validators.is_empty() {
            self.checked.push(format!(
                "the check of {} says complete ({})",
                verdict.step,
                verdict.source.as_str()
            ));
        }
        self.unchecked.extend(verdict.problems.iter().cloned());
    }
}

fn stage_raised(event: &Event) -> Option<(Seq, &StageRaised)> {
    match &event.fact {
        Fact::Concluded(Conclusion::StageRaised(raised)) => Some((event.seq, raised)),
        _ => None,
    }
}

fn stall_rule(events: &[Event], at: Seq, raised: &StageRaised) -> Option<StallRule> {
    let before = &events[..events.partition_point(|event| event.seq < at)];
    let state = RunState::of(before);
    let started = state.started()?;
    let (step, _) = state.step(&raised.step)?;
    let threshold = step.convergence.as_ref()?.stall_threshold;
    let key = format!("steps.{}.convergence.stall_threshold=", step.id);
    let set_by = before.iter().rev().find_map(|event| match &event.fact {
        Fact::Observed(Observation::RunResumed(RunResumed { change: Some(change), .. })) => {
            change.made.iter().any(|made| made.starts_with(&key)).then_some(event.seq)
        }
        _ => None,
    });
    let StageRaised { step, key, count, .. } = raised.clone();
    let (file, digest) = (started.workflow_file.clone(), started.workflow_digest);
    Some(StallRule { step, key, count, threshold, file, digest, set_by })
}

/// Returns the verdicts that a raised stage counts, and itself comes from.
fn counted_verdicts(events: &[Event], at: Seq, raised: &StageRaised) -> Vec<Seq> {
    let is_counted = |event: &&Event| match &event.fact {
        Fact::Concluded(Conclusion::VerdictReached(verdict)) => {
            let is_incomplete = verdict.decision == Decision::Incomplete && verdict.parse_failures == 0;
            event.seq < at && verdict.step == raised.step && is_incomplete
        }
        _ => false,
    };
    let count = usize::try_from(raised.count).unwrap_or(usize::MAX);
    let mut verdicts: Vec<Seq> =
        events.iter().rev().filter(is_counted).take(count).map(|event| event.seq).collect();
    verdicts.reverse();
    verdicts
}

/// Returns what the worker of the same step was asked after a verdict.
fn prompt_after(events: &[Event], top: &Event) -> Option<Prompt> {
    let Fact::Concluded(Conclusion::VerdictReached(verdict)) = &top.fact else { return None };
    events.iter().skip_while(|event| event.seq <= top.seq).find_map(|event| match &event.fact {
        Fact::Observed(Observation::WorkerStarted(e)) if e.step == verdict.step => {
            Some(Prompt { seq: event.seq, blob: e.prompt, templates: e.templates.clone() })
        }
        _ => None,
    })
}

fn is_decision(event: &Event, step: Option<&StepId>) -> bool {
    let Fact::Concluded(conclusion) = &event.fact else { return false };
    match conclusion {
        Conclusion::RunEnded(_) => step.is_none(),
        Conclusion::StepEnded(e) => step.is_none_or(|step| e.step == *step),
        Conclusion::VerdictReached(e) => step.is_none_or(|step| e.step == *step),
        _ => false,
    }
}

fn follow(
    event: &Event,
    depth: usize,
    all: &[Event],
    seen: &mut BTreeSet<Seq>,
    links: &mut Vec<EvidenceLink>,
) {
    if !seen.insert(event.seq) {
        return;
    }
    let evidence = evidence(event, all);
    links.push(EvidenceLink {
        depth,
        seq: event.seq,
        at: event.at,
        kind: kind(event),
        what: describe(event),
        evidence: evidence.clone(),
    });
    for seq in evidence {
        if let Some(event) = find(all, seq) {
            follow(event, depth + 1, all, seen, links);
        }
    }
}

/// Returns the event with this number. Events are in order.
fn find(events: &[Event], seq: Seq) -> Option<&Event> {
    events.binary_search_by_key(&seq, |event| event.seq).ok().map(|at| &events[at])
}

fn evidence(event: &Event, all: &[Event]) -> Vec<Seq> {
    let Fact::Concluded(conclusion) = &event.fact else { return Vec::new() };
    match conclusion {
        Conclusion::RunEnded(e) => e.evidence.clone(),
        Conclusion::RunStopping(e) => e.evidence.clone(),
        Conclusion::StepEnded(e) => e.evidence.clone(),
        Conclusion::VerdictReached(e) => e.evidence.clone(),
        Conclusion::StageRaised(e) => counted_verdicts(all, event.seq, e),
        Conclusion::WorkRequested(_)
        | Conclusion::CheckRequested(_)
        | Conclusion::WaitRequested(_)
        | Conclusion::FallbackTaken(_) => {
            // The evidence is the event before it in its batch.
            vec![Seq(event.seq.0.saturating_sub(1))]
        }
    }
}
