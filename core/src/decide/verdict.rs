//! How a claim is put beside the evidence, and how a loop goes on from there.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Batch;
use crate::claim::Claim;
use crate::command_line;
use crate::convergence::Stall;
use crate::event::{Conclusion, Next, Purpose, StageRaised, StepEnd, VerdictReached, WaitReason};
use crate::evidence::CommandResult;
use crate::evidence::Decision;
use crate::evidence::Failure;
use crate::id::{Attempt, Iteration, Millis, Seq};
use crate::plural::{count, first};
use crate::scope;
use crate::state::{Changed, StepState, Unread};
use crate::workflow::{Capability, Check, CheckBy, OnExhausted, Step, Work, Worker};

/// How often an external job is asked for, where the verdict does not say.
const JOB_POLL_DEFAULT: Millis = Millis::from_secs(60);
const JOB_POLL_MIN: Millis = Millis::from_secs(1);

/// How many files a sentence names.
const NAMED_MAX: usize = 10;

/// What is said of a completion that shows nothing.
const HELD_BEFORE: &str = "unchanged: nothing in the workspace was changed, so what was asked of it held before the work began, too";
const STILL_FAILING: &str = "unchanged: nothing was changed, so what failed before the work began fails still; a gate that asks for no new \
                             failures lets that through";
const MENDED_ELSEWHERE: &str = "unchanged: what failed before the work began passes now, and nothing in the workspace was changed, so no diff \
                                shows what mended it";
const UNCHANGED: &str = "unchanged: the checks passed before the work began, and nothing was changed";

/// Says whether nobody has changed anything: neither a worker nor a check.
fn is_unchanged(at: &StepState) -> bool {
    at.changed == Changed::No && at.checks_changed.is_empty()
}

/// Says what checks have changed themselves of what the repository has.
fn changed_by_checks(at: &StepState) -> Option<String> {
    let files = &at.checks_changed;
    let named = || first(files, NAMED_MAX, 0);
    (!files.is_empty()).then(|| format!("check_changes_files: the check itself changed {}", named()))
}

/// Says what a completion shows where nobody has changed anything since the baseline.
fn unchanged(at: &StepState) -> Option<&'static str> {
    let passes = |results: &Arc<[CommandResult]>| results.iter().all(CommandResult::passed);
    let before = passes(at.baseline.as_ref().filter(|_| is_unchanged(at))?);
    match (before, at.results[0].as_ref().is_some_and(passes)) {
        (true, true) => Some(UNCHANGED),
        (false, false) => Some(STILL_FAILING),
        (false, true) => Some(MENDED_ELSEWHERE),
        (true, false) => None,
    }
}

/// Says which commands of the check go by files that differ from before the work: who changes these decides what is checked.
fn rewritten(at: &StepState) -> Vec<String> {
    let changed = scope::by_worker(&at.drift.files, &at.by_checks);
    let results = at.results[0].iter().flat_map(|results| results.iter());
    let said = results.filter_map(|result| {
        let files = command_line::files_behind(&result.run, &changed);
        let run = &result.run;
        (!files.is_empty()).then(|| {
            let files = first(files, NAMED_MAX, 0);
            format!(
                "check_rewritten: `{run}` goes by {files}, which was changed: see that it still checks the same"
            )
        })
    });
    said.collect()
}

/// Says in which files the work changed tests that failed before it: who does that may have changed what is asked instead of
/// what was wrong.
fn edited_tests(at: &StepState) -> Option<String> {
    let changed = scope::by_worker(&at.drift.files, &at.by_checks);
    let failures = at.baseline.iter().flat_map(|results| results.iter()).flat_map(|result| &result.failures);
    let stand_in: BTreeSet<&str> = failures.filter_map(Failure::test_file).collect();
    // A command may have run in a folder of its own.
    let is_in = |file: &str| {
        let is_end =
            |end: &str| file.strip_suffix(end).is_some_and(|head| head.is_empty() || head.ends_with('/'));
        stand_in.iter().any(|end| is_end(end))
    };
    let files: Vec<String> = changed.into_iter().filter(|file| is_in(file)).collect();
    (!files.is_empty()).then(|| {
        let files = first(&files, NAMED_MAX, 0);
        format!("tests_edited: what failed before the work began is tested in {files}, and the work changed that: see that the same is tested")
    })
}

impl Batch {
    /// Puts a claim beside the evidence and says how the step goes on.
    pub(super) fn verdict(&mut self, step: &Step, check: &Check, claim: Claim, evidence: Vec<Seq>) {
        let claim = self.with_answer(step, check, claim);
        let needs = claim.needs.clone();
        // Where both are said, the later one costs less. What lies behind says nothing.
        let until = claim.until.filter(|until| *until > self.at).map(|until| until.since(self.at));
        let wait = claim.retry_after.max(until);
        let event = self.judge(step, claim, evidence.clone());
        if event.decision == Decision::Complete && self.verifies(step, &event) {
            return;
        }
        let (decision, parse_failures, iteration) = (event.decision, event.parse_failures, event.iteration);
        let seq = self.push(Conclusion::VerdictReached(event));
        let evidence: Vec<Seq> = evidence.into_iter().chain([seq]).collect();
        match decision {
            Decision::Complete => self.end_step(&step.id, StepEnd::Complete, evidence),
            Decision::Blocked => {
                let needs = needs.unwrap_or_else(|| "the checker did not say what".to_owned());
                self.blocked(&step.id, needs, evidence);
            }
            Decision::Waiting => self.wait_for_job(step, check, wait, evidence),
            Decision::None if parse_failures >= check.max_parse_failures => {
                let unread = &self.at(&step.id).unread;
                let problem = undecidable(parse_failures, unread);
                let before = unread.iter().map(|it| it.seq).filter(|it| !evidence.contains(it));
                let evidence = before.chain(evidence.iter().copied()).collect();
                self.end_step(&step.id, StepEnd::Undecidable(problem), evidence);
            }
            Decision::Incomplete | Decision::None => {
                if !self.given_up(step, &evidence) && !self.stalled(step, iteration, &evidence) {
                    self.next_iteration(step, iteration, evidence);
                }
            }
        }
    }

    fn judge(&self, step: &Step, claim: Claim, evidence: Vec<Seq>) -> VerdictReached {
        let at = self.at(&step.id);
        let unread = claim.decision == Decision::None;
        let claims = step.claims();
        let mut event = VerdictReached {
            step: step.id.clone(),
            iteration: at.iteration,
            check_id: claim.check_id,
            check_id_match: claim.check_id_match,
            decision: claim.decision,
            claimed: claim.claimed,
            source: claim.source,
            reasons: claim.reasons,
            fingerprints: claim.fingerprints,
            problems: claim.problems,
            parse_failures: if unread { at.parse_failures.saturating_add(1) } else { 0 },
            evidence,
        };
        if event.decision == Decision::Complete && step.require_change && at.changed == Changed::No {
            event.claimed = Some(Decision::Complete);
            event.decision = Decision::Incomplete;
            event.reasons = vec![
                "no_observable_change: nothing in the workspace has changed since the step began".to_owned(),
            ];
        }
        let doubt = unchanged(at).filter(|doubt| !event.problems.iter().any(|it| it == doubt));
        event.problems.extend(doubt.filter(|_| event.decision == Decision::Complete).map(str::to_owned));
        if event.decision == Decision::Complete && is_unchanged(at) && rests_on_conditions(step) {
            event.problems.push(HELD_BEFORE.to_owned());
        }
        if event.decision == Decision::Complete {
            event.problems.extend(rewritten(at));
            event.problems.extend(edited_tests(at));
        }
        let by_checks = changed_by_checks(at).filter(|said| !event.problems.contains(said));
        event.problems.extend(by_checks);
        if event.decision == Decision::Complete && claims && !at.drift.put_back.is_empty() {
            event.claimed = Some(Decision::Complete);
            event.decision = Decision::Incomplete;
            event.reasons = vec![
                "scope: a part of the work was out of scope and was put back after the claim".to_owned(),
            ];
            event.fingerprints.push("scope:put_back".to_owned());
        }
        if event.decision == Decision::Incomplete
            && let Some(stalled) = &at.stalled
        {
            event.reasons.insert(0, stalled.clone());
            event.fingerprints.push("stall:idle".to_owned());
        }
        if let Some(why) = &at.broke_off {
            let said = format!("worker_failed: the worker broke off in its work: {why}");
            match event.decision {
                Decision::Incomplete => event.reasons.insert(0, said),
                Decision::None if claims => event.problems.push(said),
                _ => {}
            }
        }
        if matches!(event.decision, Decision::Complete | Decision::Incomplete)
            && let Some(policy) = &step.convergence
            && let Some(violation) = scope::violation(policy, &at.drift, &at.by_checks)
        {
            event.claimed = event.claimed.or(Some(event.decision));
            event.decision = Decision::Incomplete;
            event.reasons.splice(0..0, violation.reasons);
            event.fingerprints.extend(violation.fingerprints);
        }
        event
    }

    /// Raises the stage if the loop gets nowhere; returns whether that ended its work.
    pub(super) fn stalled(&mut self, step: &Step, iteration: Iteration, evidence: &[Seq]) -> bool {
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
            let attempt = self.at(&step.id).work_attempt.next();
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
            OnExhausted::Abort => StepEnd::IterationsExhausted,
            OnExhausted::Continue => StepEnd::Incomplete,
        };
        self.end_step(&step.id, end, evidence);
    }

    fn wait_for_job(&mut self, step: &Step, check: &Check, wait: Option<Millis>, evidence: Vec<Seq>) {
        let wait = wait.unwrap_or(JOB_POLL_DEFAULT).max(JOB_POLL_MIN);
        let since = self.at(&step.id).waiting_since.unwrap_or(self.at);
        if self.at.after(wait).since(since) > step.timeout {
            return self.end_step(&step.id, StepEnd::WaitExpired, evidence);
        }
        let then = if check.by == CheckBy::Claim { Next::Work } else { Next::Check };
        self.wait(step, wait, then, WaitReason::ExternalJob, "an external job is still running".to_owned());
    }
}

/// Says whether conditions alone judge somebody who is to change something.
fn rests_on_conditions(step: &Step) -> bool {
    let by_conditions = step.check.as_ref().is_some_and(|check| check.by == CheckBy::Conditions);
    let edits = |worker: &Worker| worker.capabilities.contains(&Capability::Edit);
    by_conditions && matches!(&step.work, Work::Worker(worker) if edits(worker))
}

/// So many of the answers that could not be read are told at the end, the last ones.
const TOLD_MAX: usize = 5;

/// Says what was read instead of verdicts, each time.
fn undecidable(checks: u32, unread: &[Unread]) -> String {
    let told = &unread[unread.len().saturating_sub(TOLD_MAX)..];
    let mut said = format!("{} in a row gave no readable verdict", count(checks, "check"));
    let mut before = if told.len() < unread.len() { ": ...; " } else { ": " };
    for Unread { iteration, problem, .. } in told {
        said.push_str(&format!("{before}#{iteration}: {problem}"));
        before = "; ";
    }
    said
}
