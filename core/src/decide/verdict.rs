//! How a loop continues after a verdict.

use super::Batch;
use crate::convergence::Stall;
use crate::event::{Conclusion, Purpose, StageRaised, StepEnd, TurnKind, WaitReason};
use crate::evidence::Decision;
use crate::id::{Attempt, Iteration, Millis, Seq};
use crate::judge::completion_claim::Claim;
use crate::judge::judge;
use crate::plural::count;
use crate::state::UnreadableVerdict;
use crate::workflow::{Check, OnIterationsExhausted, Step};

/// Poll interval for an external job, if the verdict names none.
const JOB_POLL_DEFAULT: Millis = Millis::from_secs(60);
const JOB_POLL_MIN: Millis = Millis::from_secs(1);

impl Batch {
    /// Weighs a claim against the evidence, and decides how the step continues.
    pub(super) fn verdict(&mut self, step: &Step, check: &Check, claim: Claim, evidence: Vec<Seq>) {
        let needs = claim.needs.clone();
        // If both are given, the later one costs less. A past time is ignored.
        let until = claim.until.filter(|until| *until > self.at).map(|until| until.since(self.at));
        let wait = claim.retry_after.max(until);
        let event = judge(step, self.at(&step.id), claim, evidence.clone());
        if event.decision == Decision::Complete && self.request_verifier(step, &event) {
            return;
        }
        let (decision, parse_failures, iteration) = (event.decision, event.parse_failures, event.iteration);
        let seq = self.push(Conclusion::VerdictReached(event));
        let evidence: Vec<Seq> = evidence.into_iter().chain([seq]).collect();
        match decision {
            Decision::Complete => self.end_step(&step.id, StepEnd::Complete, evidence),
            Decision::Blocked => {
                let needs = needs.unwrap_or_else(|| "the checker did not say what".to_owned());
                self.block_step(&step.id, needs, evidence);
            }
            Decision::Waiting => self.wait_for_job(step, wait, evidence),
            Decision::None if parse_failures >= check.max_parse_failures => {
                let unread = &self.at(&step.id).verdicts.unread;
                let problem = undecidable(parse_failures, unread);
                let before = unread.iter().map(|verdict| verdict.seq).filter(|seq| !evidence.contains(seq));
                let evidence = before.chain(evidence.iter().copied()).collect();
                self.end_step(&step.id, StepEnd::Undecidable(problem), evidence);
            }
            Decision::Incomplete | Decision::None => {
                if !self.try_end_step(step, &evidence) && !self.try_escalate(step, iteration, &evidence) {
                    self.next_iteration(step, iteration, evidence);
                }
            }
        }
    }

    /// Raises the stage if the loop makes no progress; returns whether that ended its work.
    pub(super) fn try_escalate(&mut self, step: &Step, iteration: Iteration, evidence: &[Seq]) -> bool {
        let Some(policy) = &step.convergence else { return false };
        let convergence = &self.at(&step.id).convergence;
        let Some(Stall { cause, key, count }) = convergence.stall(policy) else { return false };
        let from = convergence.stage();
        let last = policy.max_stage.max(from);
        let to = from.next().min(last);
        let raised = StageRaised { step: step.id.clone(), iteration, from, to, cause, key, count };
        let seq = self.push(Conclusion::StageRaised(raised));
        let stops = to >= policy.max_stage && policy.fail_on_max_stage;
        if stops && policy.diagnose_with.is_some() {
            let attempt = self.at(&step.id).iteration.work_attempt.next();
            self.request(&step.id, iteration, attempt, Purpose::Diagnosis);
        } else if stops {
            let evidence = evidence.iter().copied().chain([seq]).collect();
            self.end_step(&step.id, StepEnd::Stuck(cause), evidence);
        }
        stops
    }

    pub(super) fn next_iteration(&mut self, step: &Step, iteration: Iteration, evidence: Vec<Seq>) {
        let at = self.at(&step.id);
        if iteration < self.state.max_iterations(step, at) {
            return self.request_work(&step.id, iteration.next(), Attempt(1));
        }
        let end = match step.on_exhausted {
            OnIterationsExhausted::Abort => StepEnd::IterationsExhausted,
            OnIterationsExhausted::Continue => StepEnd::Incomplete,
        };
        self.end_step(&step.id, end, evidence);
    }

    fn wait_for_job(&mut self, step: &Step, wait: Option<Millis>, evidence: Vec<Seq>) {
        let wait = wait.unwrap_or(JOB_POLL_DEFAULT).max(JOB_POLL_MIN);
        let since = self.at(&step.id).tries.waiting_since.unwrap_or(self.at);
        if self.at.after(wait).since(since) > step.timeout {
            return self.end_step(&step.id, StepEnd::WaitExpired, evidence);
        }
        let then = if step.claims() { TurnKind::Work } else { TurnKind::Check };
        self.wait(step, wait, then, WaitReason::ExternalJob, "an external job is still running".to_owned());
    }
}

/// Maximum unreadable answers, the last ones, that the end of a step lists.
const TOLD_MAX: usize = 5;

/// Lists what was read instead of verdicts.
fn undecidable(checks: u32, unread: &[UnreadableVerdict]) -> String {
    let told = &unread[unread.len().saturating_sub(TOLD_MAX)..];
    let mut said = format!("{} in a row gave no readable verdict", count(checks, "check"));
    let mut before = if told.len() < unread.len() { ": ...; " } else { ": " };
    for UnreadableVerdict { iteration, problem, .. } in told {
        said.push_str(&format!("{before}#{iteration}: {problem}"));
        before = "; ";
    }
    said
}
