//! The chain of evidence for an end, or for the latest decision.

use std::collections::BTreeSet;

use serde::Serialize;
use unstuck_core::event::StageRaised;
use unstuck_core::evidence::Decision;
use unstuck_core::id::{Blob, Digest, Seq, StepId, Timestamp};
use unstuck_core::{Conclusion, Event, Fact, Observation};

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
    let stall = raised.and_then(|raised| stall_rule(events, raised));
    EvidenceChain { links, prompt: prompt_after(events, top), went_on: None, stall }
}

fn stage_raised(event: &Event) -> Option<&StageRaised> {
    match &event.fact {
        Fact::Concluded(Conclusion::StageRaised(raised)) => Some(raised),
        _ => None,
    }
}

fn stall_rule(events: &[Event], raised: &StageRaised) -> Option<StallRule> {
    let started = events.iter().find_map(|event| match &event.fact {
        Fact::Observed(Observation::RunStarted(started)) => Some(started),
        _ => None,
    })?;
    let step = started.workflow.steps.iter().find(|step| step.id == raised.step)?;
    let threshold = step.convergence.as_ref()?.stall_threshold;
    let StageRaised { step, key, count, .. } = raised.clone();
    Some(StallRule { step, key, count, threshold, file: started.workflow_file.clone() })
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
