//! Claim of a finished process: its exit, its decision file and its answer, combined.
//!
//! Parsing is pure and repeatable, so a better parser can be tried on recorded runs.

use std::borrow::Cow;

use crate::call_report::{CallEnd, CallError, CallReport, UsagePeriod};
use crate::concurrent_steps;
use crate::duration::format_elapsed;
use crate::event::{
    CheckFinished, DecisionFile, DecisionSource, ErrorClass, Exit, Outcome, ProcessFailure, RunOutcome,
    WorkerFinished,
};
use crate::evidence::{CheckIdMatch, CommandResult, Decision, Refusal, TIMEOUT, UNPARSED, timeout};
use crate::id::{CheckId, Millis, Timestamp};
use crate::interactive_prompt::detect_final;
use crate::judge::gate;
use crate::judge::reason::{Reason, VerdictWarning};
use crate::judge::verdict::{self, Resolution, VerdictProblem};
use crate::outage;
use crate::state::{StepState, WorkspaceChange};
use crate::text::plain::escape_controls;
use crate::timestamp;
use crate::workflow::{Check, CheckCommand, Step, WorkerKind, Workflow};

/// A claim about a step, before it is compared with the evidence.
#[derive(Default)]
pub(crate) struct Claim {
    pub(crate) check_id: Option<CheckId>,
    /// Whether it carried that id; `None` if it carried no id.
    pub(crate) check_id_match: Option<bool>,
    pub(crate) source: DecisionSource,
    pub(crate) decision: Decision,
    /// The original decision, if the rest of the evidence changes it.
    pub(crate) claimed: Option<Decision>,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) fingerprints: Vec<String>,
    pub(crate) problems: Vec<VerdictWarning>,
    pub(crate) needs: Option<String>,
    pub(crate) retry_after: Option<Millis>,
    pub(crate) until: Option<Timestamp>,
}

impl Claim {
    /// Returns a claim without further details.
    pub(crate) fn new(decision: Decision, source: DecisionSource) -> Self {
        Self { decision, source, ..Self::default() }
    }

    pub(crate) fn from_resolution(resolution: Resolution, check_id: Option<CheckId>) -> Self {
        // A clear completion from another source needs no file.
        let is_complete = resolution.decision == Decision::Complete;
        let is_none = |note: &VerdictProblem| matches!(note, VerdictProblem::FileRefused(Refusal::Missing));
        let problems = resolution.problems.into_iter().filter(|problem| !(is_complete && is_none(problem)));
        let mut problems: Vec<VerdictWarning> = problems.map(VerdictWarning::Verdict).collect();
        if let CheckIdMatch::Mismatch { expected, got } = &resolution.check_id {
            problems.push(VerdictWarning::OtherCheck { expected: expected.clone(), got: got.clone() });
        }
        let check_id_match = match &resolution.check_id {
            CheckIdMatch::Match => Some(true),
            CheckIdMatch::Mismatch { .. } => Some(false),
            CheckIdMatch::Placeholder | CheckIdMatch::Absent => None,
        };
        Self {
            check_id,
            check_id_match,
            source: resolution.source,
            decision: resolution.decision,
            claimed: None,
            reasons: resolution.reasons.into_iter().map(Reason::Said).collect(),
            fingerprints: resolution.fingerprints,
            problems,
            needs: resolution.needs,
            retry_after: resolution.retry_after_ms.map(Millis),
            until: resolution.until.as_deref().and_then(timestamp::parse),
        }
    }

    /// Sets the only reason that counts, with its fingerprint.
    pub(crate) fn set_reason(&mut self, reason: Reason) {
        self.fingerprints = reason.fingerprint().into_iter().collect();
        self.reasons = vec![reason];
    }

    /// Makes a claim of completion incomplete. Its fingerprints stay, because some reasons have none.
    pub(crate) fn overrule(&mut self, reason: Reason) {
        (self.claimed, self.decision) = (Some(Decision::Complete), Decision::Incomplete);
        self.fingerprints.extend(reason.fingerprint());
        self.reasons = vec![reason];
    }

    /// Adds a problem with the claim, if there is one.
    pub(crate) fn with_warning(mut self, doubt: Option<VerdictWarning>) -> Self {
        self.problems.extend(doubt);
        self
    }
}

/// Returns a decision file as evidence for this step, and the problem with it. If a step that may run at the same time
/// writes to the same file, a verdict without the id of the check belongs to no step.
pub(crate) fn file_evidence<'a>(
    workflow: Option<&Workflow>,
    step: &Step,
    file: &'a DecisionFile,
    id: Option<&CheckId>,
) -> (Cow<'a, DecisionFile>, Option<VerdictWarning>) {
    let shares = |of: &Workflow| {
        let other = concurrent_steps::decision_file_conflicts(&of.steps, of.concurrency, step).next()?;
        Some(other.id.clone())
    };
    let as_it_is = (Cow::Borrowed(file), None);
    if !matches!(file, DecisionFile::Read(_)) {
        return as_it_is;
    }
    let Some(other) = workflow.and_then(shares) else { return as_it_is };
    let read = resolve(file, "", "", "", id);
    if read.decision == Decision::None || read.check_id == CheckIdMatch::Match {
        return as_it_is;
    }
    let doubt = VerdictWarning::SharedFile { said: read.decision, other };
    (Cow::Owned(DecisionFile::Refused(Refusal::Missing)), Some(doubt))
}

pub(crate) fn resolve(
    file: &DecisionFile,
    answer: &str,
    prompt: &str,
    said: &str,
    check_id: Option<&CheckId>,
) -> Resolution {
    verdict::resolve(&verdict::Evidence {
        file,
        file_fresh: true, // An older file was moved aside before the process was started.
        answer: Some(answer).filter(|answer| !answer.is_empty()),
        prompt: Some(prompt),
        said,
        check_id: check_id.map(CheckId::as_str),
    })
}

/// Corrects the claim of a failed process: complete becomes incomplete, other decisions remain.
pub(crate) fn contradicted_by_exit(
    mut claim: Claim,
    failure: Option<&outage::ExitFailure>,
    who: &'static str,
) -> Claim {
    if let Some(failure) = failure
        && claim.decision == Decision::Complete
    {
        claim.claimed = Some(Decision::Complete);
        claim.decision = Decision::Incomplete;
        claim.set_reason(Reason::ProcessFailed(who, to_message(failure)));
    }
    claim
}

/// Returns whether a verdict remains valid although the checker failed. An incomplete verdict does if it carries the
/// id of this check. Without a verdict the check could not run, and no iteration counts.
pub(crate) fn holds_despite_failure(resolution: &Resolution) -> bool {
    match resolution.decision {
        Decision::None => false,
        Decision::Incomplete => resolution.check_id == CheckIdMatch::Match,
        Decision::Complete | Decision::Blocked | Decision::Waiting => true,
    }
}

/// Adds the timeout of a check: the worker needs to know it, whatever else the check reported.
pub(crate) fn with_timeout(mut claim: Claim, outcome: &Outcome) -> Claim {
    if let Some(reason) = timeout("the check", &outcome.exit, outcome.duration) {
        claim.reasons.insert(0, Reason::Timeout(reason));
        claim.fingerprints.insert(0, TIMEOUT.to_owned());
    }
    claim
}

/// Combines the exit code of a script with its decision file, if it wrote one.
pub(crate) fn exit_and_file_claim(
    exit: Decision,
    file: &DecisionFile,
    resolution: Resolution,
    id: &CheckId,
) -> Claim {
    let nothing_there = matches!(file, DecisionFile::NotConfigured | DecisionFile::Refused(Refusal::Missing));
    let said = resolution.decision;
    let mut claim = Claim::from_resolution(resolution, Some(id.clone()));
    if nothing_there {
        claim.decision = exit;
        claim.source = DecisionSource::ExitCode;
        claim.problems.clear();
        return claim;
    }
    let opposite = matches!(
        (exit, said),
        (Decision::Complete, Decision::Incomplete) | (Decision::Incomplete, Decision::Complete)
    );
    if opposite {
        let code = i32::from(exit != Decision::Complete);
        claim.claimed = Some(said);
        claim.decision = Decision::Incomplete;
        claim.set_reason(Reason::ExitAgainstFile { code, said });
    }
    claim
}

/// Adds the failures, if a script reports only that something failed.
pub(crate) fn with_failures(mut claim: Claim, results: &[CommandResult]) -> Claim {
    let failures = results.iter().flat_map(|result| &result.failures);
    if claim.decision == Decision::Incomplete && claim.fingerprints.is_empty() {
        claim.fingerprints =
            results.iter().flat_map(|result| gate::identities(result, &result.failures)).collect();
    }
    if claim.decision == Decision::Incomplete && claim.reasons.is_empty() {
        let named = failures.filter(|failure| failure.kind != UNPARSED).take(REASONS_MAX);
        claim.reasons = named.map(gate::name).map(Reason::Said).collect();
    }
    claim
}

/// Maximum failures that become reasons.
const REASONS_MAX: usize = 12;

/// Returns the combined claim of a check's commands, or why they could not run. `at` is the state of the step.
pub(crate) fn commands_claim(
    check: &Check,
    commands: &[CheckCommand],
    event: &CheckFinished,
    at: &StepState,
) -> Result<Claim, outage::ExitFailure> {
    let baseline = at.evidence.baseline.as_deref();
    let is_broken = |(place, result): (usize, &CommandResult)| {
        let base = baseline.and_then(|baseline| baseline.get(place));
        result.exit.could_not_run() && !is_of_the_work(result, base, at)
    };
    if (event.commands.is_empty() || event.commands.iter().enumerate().any(is_broken))
        && let Err(CheckFailure::CouldNotRun(failure)) = exit_verdict(&event.outcome)
    {
        return Err(failure);
    }
    let findings = gate::findings(commands, &event.commands, baseline, check.baseline);
    let decision = if findings.reasons.is_empty() { Decision::Complete } else { Decision::Incomplete };
    Ok(Claim {
        check_id: Some(event.check_id.clone()),
        reasons: findings.reasons,
        fingerprints: findings.fingerprints,
        problems: findings.problems,
        ..Claim::new(decision, DecisionSource::ExitCode)
    })
}

/// Returns whether a command that cannot run could run before the work, and something has changed since: a script that
/// is no longer executable, or that calls a missing program. The author of the change has to fix that.
fn is_of_the_work(result: &CommandResult, base: Option<&CommandResult>, at: &StepState) -> bool {
    let ran_before = base.is_some_and(|base| !base.exit.could_not_run());
    matches!(result.exit, Exit::Code(_)) && ran_before && at.workspace.changed != WorkspaceChange::No
}

/// Reason why the exit of a script gives no verdict.
pub(crate) enum CheckFailure {
    CouldNotRun(outage::ExitFailure),
    OtherCode(ProcessFailure),
}

pub(crate) fn exit_verdict(outcome: &Outcome) -> Result<Decision, CheckFailure> {
    match outcome.exit {
        Exit::Code(0) => Ok(Decision::Complete),
        // A hang is usually caused by the work.
        Exit::Code(1) | Exit::TimedOut | Exit::Idle | Exit::Probed(_) => Ok(Decision::Incomplete),
        // With 137 and 143 a shell reports that a signal ended its command.
        Exit::Code(code) if !matches!(code, 126 | 127 | 137 | 143) => {
            Err(CheckFailure::OtherCode(ProcessFailure {
                class: ErrorClass::NonRetryable,
                message: format!(
                    "the check exited with {code}, which is neither 0 (complete) nor 1 (incomplete); \
                 if {code} means \"not yet\", write `... || exit 1`"
                ),
            }))
        }
        _ => {
            let failure = outcome
                .failure(WorkerKind::Custom)
                .unwrap_or_else(|| outage::ExitFailure::from_class(ErrorClass::NonRetryable));
            Err(CheckFailure::CouldNotRun(failure))
        }
    }
}

impl Outcome {
    /// Returns the time before which a service that refused at `at` must not be called again, if it named one.
    pub(crate) fn limited_until(&self, failure: &outage::ExitFailure, at: Timestamp) -> Option<Timestamp> {
        self.resets_at.max(failure.retry_after_ms.map(|span| at.after(Millis(span))))
    }

    /// Returns whether Unstuck stopped a process because it was idle or its probe said so. A process that waited for
    /// its service did not stall.
    pub(crate) fn is_stalled(&self) -> bool {
        let waited = self.reading.as_ref().is_some_and(|reading| reading.end == CallEnd::Failed);
        self.exit.is_idle() && !waited
    }

    /// Describes why a stalled process was stopped.
    pub(crate) fn stall(&self) -> String {
        match &self.exit {
            Exit::Probed(word) => format!("its probe said `{word}`"),
            _ => "for its idle time it had done nothing (no output, no processor time, no change of a file)"
                .to_owned(),
        }
    }

    /// Describes why a client's call was cut off during its work: it had used tools, written tokens or changed files,
    /// and how much is missing is unknown. The partial work is checked, because to repeat the request would cost the
    /// same again.
    ///
    /// `changed` says whether the call changed the workspace.
    pub(crate) fn cut_off_reason(&self, changed: Option<bool>) -> Option<String> {
        let reading = self.reading.as_deref().filter(|report| report.end == CallEnd::Failed)?;
        let is_unclear =
            matches!(reading.trouble?, CallError::NoEnd | CallError::Unknown | CallError::Crashed);
        let worked = reading.counts.tools > 0 || !reading.files.is_empty() || changed == Some(true);
        // The usage of a conversation says nothing about this call.
        let wrote = reading.usage.is_some_and(|usage| usage.scope == UsagePeriod::Call && usage.output > 0);
        (is_unclear && (worked || wrote)).then(|| words(reading))
    }

    /// Returns why a command line ended with an exit code that says nothing more than that it failed. Its work is checked:
    /// many programs end so for reasons that have nothing to do with the work, such as a search without a hit.
    pub(crate) fn plain_exit(&self) -> Option<outage::ExitFailure> {
        let Exit::Code(code) = self.exit else { return None };
        // It could not run, or was killed.
        let ran = ![126, 127, 137, 143].contains(&code);
        let failure = self.failure(WorkerKind::Command).filter(|_| ran && self.reading.is_none())?;
        failure.trouble.is_none().then_some(failure)
    }

    /// Returns whether only the text indicates a failure: the process ended well, and its client, if any, reported no
    /// failure in a structured form. Its actions then say more than its text.
    pub fn failed_by_text_only(&self) -> bool {
        // A client that reported a failure gave no answer; a text that was taken for an outage is one.
        let is_plain = |report: &CallReport| report.end == CallEnd::Failed && !self.answer.is_empty();
        matches!(self.exit, Exit::Code(0) | Exit::Settled) && self.reading.as_deref().is_none_or(is_plain)
    }

    /// Returns the question of a worker that ended on its own, without an answer and without a client report on how it
    /// ended. `changed` says whether the workspace changed. `failure` is the reason of a failure; one with a specific
    /// trouble takes precedence.
    pub(crate) fn question(
        &self,
        changed: Option<bool>,
        failure: Option<&outage::ExitFailure>,
    ) -> Option<String> {
        let trouble = failure.and_then(|failure| failure.trouble);
        if trouble.is_some_and(|error| !matches!(error, CallError::Crashed | CallError::NoEnd)) {
            return None;
        }
        let failed = |code| !matches!(code, 0 | 126 | 127);
        match (&self.exit, self.reading.as_deref()) {
            (Exit::Asks(question), _) => Some(question.clone()),
            (Exit::Code(0), report) if changed != Some(true) && report.is_none_or(is_all_text) => {
                detect_final(&self.answer, &self.stderr_tail, true)
            }
            (Exit::Code(code), None) if failed(*code) => detect_final(&self.answer, &self.stderr_tail, false),
            (Exit::Code(code), Some(report)) if failed(*code) && has_done_nothing(report) => {
                detect_final(&report.message, &self.stderr_tail, false)
            }
            _ => None,
        }
    }

    /// Returns why a process failed; `None` if it succeeded.
    pub fn failure(&self, kind: WorkerKind) -> Option<outage::ExitFailure> {
        let ended_by_itself =
            matches!(self.exit, Exit::Code(_) | Exit::Signal(_) | Exit::Settled | Exit::Hopeless);
        if let Some(reading) = &self.reading
            && (ended_by_itself || self.exit.is_idle() && !self.is_stalled())
        {
            return reported_failure(reading);
        }
        if let Exit::Child(child) = &self.exit {
            return child_failure(child.end, child.run.as_str());
        }
        let is_script = kind == WorkerKind::Custom;
        let mut failure = outage::classify(is_script, &self.exit, &self.answer, &self.stderr_tail)?;
        let how = match &self.exit {
            Exit::Code(code) => format!("exit code {code}"),
            Exit::Signal(signal) => format!("ended by signal {signal}"),
            Exit::TimedOut => {
                format!("no end within its time limit, after {}", format_elapsed(self.duration))
            }
            Exit::Idle | Exit::Probed(_) => {
                format!("ended after {}: {}", format_elapsed(self.duration), self.stall())
            }
            Exit::CouldNotStart(why) => why.clone(),
            Exit::Asks(question) => format!("waited for an answer to {question:?}"),
            Exit::Flooded => "ended: it printed more than it may".to_owned(),
            Exit::Stopped | Exit::Settled | Exit::Hopeless | Exit::Child(_) => String::new(),
        };
        // Error output says more than the last line of the answer.
        let last_line = || [&self.stderr_tail, &self.answer].into_iter().find_map(|text| last_line(text));
        failure.phrase = match failure.phrase.or_else(last_line) {
            Some(phrase) => Some(format!("{how}: {}", escape_controls(&phrase))),
            None => Some(how),
        };
        Some(failure)
    }
}

impl WorkerFinished {
    /// Returns why the worker failed; `None` if it succeeded. If it ended well, changed something and only mentions an
    /// outage, it recovered or quotes one: if its work `is_checked`, the check decides.
    pub(crate) fn failure(&self, kind: WorkerKind, is_checked: bool) -> Option<outage::ExitFailure> {
        let has_worked = is_checked && self.changed == Some(true) && self.outcome.failed_by_text_only();
        self.outcome.failure(kind).filter(|_| !has_worked)
    }
}

/// Returns whether a client's answer is its complete output, because it printed no structured form. The report of such
/// a call is done and has a message.
fn is_all_text(report: &CallReport) -> bool {
    report.end == CallEnd::Done && !report.message.is_empty()
}

/// Returns whether a client reported no end and had not started to work.
fn has_done_nothing(report: &CallReport) -> bool {
    matches!(report.trouble, Some(CallError::Crashed | CallError::NoEnd)) && report.counts.tools == 0
}

/// Returns the last line with a letter or digit, cut at 200 characters.
fn last_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).rfind(|line| line.contains(char::is_alphanumeric))?;
    Some(line.chars().take(200).collect())
}

/// Returns why a call failed, as its client reports.
fn reported_failure(reading: &CallReport) -> Option<outage::ExitFailure> {
    if reading.end != CallEnd::Failed || is_cut_short(reading) {
        return None;
    }
    let trouble = reading.trouble.unwrap_or(CallError::Unknown);
    Some(outage::ExitFailure {
        phrase: Some(words(reading)),
        resets: reading.resets.clone(),
        retry_after_ms: reading.retry_after.map(|delay| delay.0),
        trouble: Some(trouble),
        ..outage::ExitFailure::from_class(outage::class_of(trouble))
    })
}

/// Returns why the work of a call may be unfinished although nothing failed. The work is checked, but a claim of
/// completion does not count.
pub(crate) fn cut_short(outcome: &Outcome) -> Option<outage::ExitFailure> {
    let reading = outcome.reading.as_deref().filter(|report| is_cut_short(report))?;
    let trouble = reading.trouble;
    let rest = outage::ExitFailure::from_class(ErrorClass::RetryableTransient);
    Some(outage::ExitFailure { phrase: Some(words(reading)), trouble, ..rest })
}

fn is_cut_short(reading: &CallReport) -> bool {
    matches!(reading.trouble, Some(CallError::TurnLimit | CallError::BudgetLimit))
}

fn words(reading: &CallReport) -> String {
    let what = match reading.trouble {
        Some(trouble) => trouble.as_str(),
        None => "failed",
    };
    match reading.message.trim() {
        "" => format!("{}: {what}", reading.client),
        message => format!("{}: {what}: {message}", reading.client),
    }
}

fn child_failure(end: RunOutcome, run: &str) -> Option<outage::ExitFailure> {
    let class = match end {
        RunOutcome::Complete => return None,
        RunOutcome::WorkerFailed | RunOutcome::TimeLimit => ErrorClass::RetryableTransient,
        _ => ErrorClass::NonRetryable,
    };
    let phrase = Some(format!("child run {run} ended {}; see: unstuck why {run}", end.as_str()));
    Some(outage::ExitFailure { phrase, ..outage::ExitFailure::from_class(class) })
}

pub(crate) fn is_retryable(class: ErrorClass) -> bool {
    matches!(
        class,
        ErrorClass::RetryableTransient
            | ErrorClass::RetryableNetwork
            | ErrorClass::RetryableService
            | ErrorClass::RetryableRateLimit
    )
}

pub(crate) fn to_failure(failure: &outage::ExitFailure) -> ProcessFailure {
    ProcessFailure { class: failure.class, message: to_message(failure) }
}

pub(crate) fn to_message(failure: &outage::ExitFailure) -> String {
    let phrase = failure.phrase.as_deref().unwrap_or("it failed");
    format!("{phrase} ({})", failure.class.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_message_prefers_standard_error() {
        for (answer, stderr, want) in [
            (
                "all fine so far\n",
                "cp: cannot stat 'nothere.txt': No such file\n",
                "exit code 1: cp: cannot stat 'nothere.txt': No such file",
            ),
            ("first\nnothing to do\n", "", "exit code 1: nothing to do"),
            ("nothing to do\n", "\n---\n", "exit code 1: nothing to do"),
            ("\u{1b}[1;32mall\u{1b}[0m is\tw\u{7}ell\n", "", "exit code 1: all is w\u{fffd}ell"),
            ("", "", "exit code 1"),
        ] {
            let outcome = Outcome {
                answer: answer.to_owned(),
                stderr_tail: stderr.to_owned(),
                ..Outcome::from_exit(Exit::Code(1))
            };
            let failure = outcome.failure(WorkerKind::Custom).expect("it failed");
            assert_eq!(failure.phrase.as_deref(), Some(want), "{answer:?} {stderr:?}");
        }
    }
}
