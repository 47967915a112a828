//! Why a step is not complete, and what is odd about a verdict: all that the judge itself can say, each with its one sentence.
//!
//! A verdict is recorded with these sentences and with fingerprints. Both are written here, and only here is one
//! recognized by its beginning.

use super::verdict::VerdictProblem;
use super::{declared_status, reviewer};
use crate::event::Exit;
use crate::evidence::{Decision, TIMEOUT};
use crate::id::StepId;
use crate::plural::count;

/// Why a step is not complete; of a complete one, what was left out.
///
/// Names are as a sentence lists them: `a, b and 3 more`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of a variant shows what its fields are")]
pub enum Reason {
    /// The words of a checker, of an answer, or of a claim that was recorded.
    #[error("{0}")]
    Said(String),
    /// No condition is configured.
    #[error("no condition was asked: the worker has ended, and nobody else was to say")]
    NothingAsked,
    /// The step requires a change.
    #[error("no_observable_change: nothing in the workspace has changed since the step began")]
    NoChange,
    /// Tests that failed before the work began were edited; with their files.
    #[error(
        "tests_edited: {0} has tests that failed before the work began, and was changed: fix the code and put the file back, or \
         allow it with --allow-test-edits or --allow (in a file: allow_test_edits or allowed_paths)"
    )]
    TestsEdited(String),
    /// A tool of the check, or its settings, were changed; with the files.
    #[error(
        "check_tool_changed: {0} has the name of a tool that the check runs, and was changed: put it back, or allow it with \
         --allow (in a file: allowed_paths), or name it in the goal"
    )]
    ToolChanged(String),
    /// A part of the claimed work was restored.
    #[error("scope: a part of the work was out of scope and was put back after the claim")]
    PutBack,
    /// The process says complete and failed; with its role, `worker` or `check`, and how it failed.
    #[error("{0}_failed: the verdict says complete, but {1}")]
    ProcessFailed(&'static str, String),
    /// The worker broke off, for this reason.
    #[error("worker_failed: the worker broke off in its work: {0}")]
    BrokeOff(String),
    /// The exit code of the check and its decision file exclude each other.
    #[error("the check exited with {code}, but its decision file says {}", said.as_str())]
    ExitAgainstFile { code: i32, said: Decision },
    /// A time limit; with what ended, as `timeout` words it.
    #[error("{0}")]
    Timeout(String),
    /// A command of the check has no result.
    #[error("`{0}` was not run")]
    NotRun(String),
    /// A command shows failures that its gate does not let through.
    #[error("`{run}` {how}{}{}", prefix(": ", names), details(exit, *old))]
    Failed { run: String, how: Shortfall, names: String, exit: Exit, old: usize },
    /// More failures than a result keeps: `unknown` of the `now` may be new.
    #[error(
        "`{run}` is inconclusive, which passes no gate: it showed {before} failures before the work began, more than are \
         kept, so of {unknown} of the {now} that it shows now nobody knows whether they are new; narrow the check, such as to \
         a part of the tests, or mend them"
    )]
    BeyondBaseline { run: String, before: u64, now: u64, unknown: u64 },
    /// Failed tests are counted, and some could not be read.
    #[error(
        "`{run}` is inconclusive, which passes no gate: it counts {}, and {unread} of them could not be read from its output; \
         let it name them, or write a report", count(*failed, "failed test")
    )]
    Unread { run: String, failed: u64, unread: u64 },
    /// The exit code is 0, but the output has failures. It may be the output of another run.
    #[error(
        "`{run}` exits with 0, but {}{}; mend what failed, or let it exit with what it found (a pipe or `;` loses that); if \
         that is the output of another run, keep it out of this one's", own_count(*failed, *counted), prefix(": ", names)
    )]
    ExitBelied { run: String, failed: u64, counted: bool, names: String },
    /// A constant failure is a flaky one now.
    #[error("{0}; fix it so that it passes each time")]
    HalfMended(Flaky),
    /// Fewer tests ran than before the work began.
    #[error(
        "tests_removed: `{run}` ran {now} of the {before} tests that ran before the work began{}; put the others back",
        prefix(", and not ", gone)
    )]
    FewerTests { run: String, now: u64, before: u64, gone: String },
    /// These tests no longer run. `looked_up` says that no file names them; `failed` of `gone` had failed.
    #[error(
        "tests_removed: `{run}` does not run {} that {} before the work began: {names}{}{}",
        if *gone == 1 { "a test" } else { "tests" }, past_verb(*gone, *failed), restore(*looked_up), fix(*gone, *failed)
    )]
    TestsGone { run: String, gone: usize, failed: usize, looked_up: bool, names: String },
    /// More tests are skipped, and those that failed are not named.
    #[error(
        "tests_removed: `{run}` skips {}, {before} before the work began, and does not name those that it runs, so those that \
         failed may be skipped and not mended: {names}; take the skips back, or let it name the tests (such as with -v)",
        count(*now, "test")
    )]
    MoreSkipped { run: String, now: u64, before: u64, names: String },
    /// The number of tests is no longer printed.
    #[error(
        "tests_unseen: `{run}` does not say any more how many tests it ran ({before} before); let it say so (no `-q`, no quiet \
         reporter), have it write a report (`--report`), or begin again with `--baseline off`"
    )]
    Uncounted { run: String, before: u64 },
    /// Names or a report are missing that were there before the work began; with what the command lacks.
    #[error(
        "tests_unseen: `{run}` {lacks}, as it did before the work began, so it is not known which tests it ran; let it do \
         so again, or begin again with `--baseline off`"
    )]
    Unnamed { run: String, lacks: &'static str },
    /// Paths outside the scope were changed.
    #[error("scope: undo what was changed {}: {paths}", if *protected { "in protected paths" } else { "outside of the allowed paths" })]
    OutOfScope { protected: bool, paths: String },
    /// The change is too large: `found`, in a unit such as `files differ`.
    #[error("diff_budget: {found} {unit}, and {max} may")]
    TooLarge { found: u64, unit: &'static str, max: u32 },
    /// A condition does not hold: its validator and what that found.
    #[error("{}", validator_message(.0, .1))]
    Validator(String, String),
    /// Failed conditions that are skipped.
    #[error("{SKIPPED}{0}")]
    Skipped(String),
    /// The answer declares that the work is not complete.
    #[error("the worker says that it is not complete")]
    DeclaredIncomplete,
    /// The answer declares nothing.
    #[error("the answer does not declare that it is complete")]
    NotDeclared,
    /// Two fields of the answer contradict each other.
    #[error("{0}")]
    Contradiction(String),
    /// A field of the answer has an unknown word.
    #[error("{0}")]
    UnknownWord(String),
    /// The closer finds something open.
    #[error("the closer: {0}")]
    Closer(reviewer::RejectReason),
}

/// In what way a command falls short of its gate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of a variant shows what its fields are")]
pub enum Shortfall {
    /// It failed.
    #[error("fails")]
    Fails,
    /// It was cut short, or could not be read.
    #[error("is inconclusive, which passes no gate")]
    Inconclusive,
    /// It has no result that could be compared.
    #[error("is inconclusive, which passes no gate: it shows no test, no finding and no count")]
    ShowsNothing,
    /// There are failures that the baseline does not have.
    #[error("shows new failures")]
    New,
    /// There are more failures than in the baseline.
    #[error("shows more failures, {now}, than the {before} before the work began")]
    More { now: u64, before: u64 },
}

/// Flaky tests.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{run}` passes at one time and fails at another (run {}) in what {was} before the work began: {names}",
    count(u64::from(*runs), "time")
)]
pub struct Flaky {
    /// The command.
    pub run: String,
    /// How often it was run.
    pub runs: u32,
    /// The state in the baseline: `was steady`.
    pub was: &'static str,
    /// What fails.
    pub names: String,
}

/// A problem with a verdict that does not change the decision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the sentence of a variant shows what its fields are")]
pub enum VerdictWarning {
    /// The words of a closer's answer, or of a claim that was recorded.
    #[error("{0}")]
    Said(String),
    /// A problem with the text of the verdict.
    #[error("{0}")]
    Verdict(VerdictProblem),
    /// The decision file is of another check.
    #[error("expected={expected} got={got}: delete the file, or call `unstuck verdict`")]
    OtherCheck { expected: String, got: String },
    /// A step that may run at the same time writes to the same decision file.
    #[error(
        "the decision file says {} without the id of this check, and step {other} writes to the same file: it does not count",
        said.as_str()
    )]
    SharedFile { said: Decision, other: StepId },
    /// The worker broke off, for this reason, without a claim.
    #[error("worker_failed: the worker broke off in its work: {0}")]
    BrokeOff(String),
    /// A command of tests ran none.
    #[error("no_tests: `{run}` ran no test{}: that it passes says little", skipped_text(*skipped))]
    NoTests { run: String, skipped: u64 },
    /// Tests that were steady are flaky now.
    #[error("flaky: {0}")]
    Flaky(Flaky),
    /// There was no test in the baseline.
    #[error(
        "tests_unseen: `{0}` came to no test before the work began, so it is not known whether some were removed"
    )]
    NoTestsBefore(String),
    /// Neither a number nor names; with the tests that failed.
    #[error(
        "tests_unseen: `{0}` says neither how many tests it ran nor which, so it is not known whether those that failed before \
         the work began were mended or removed: {1}; let it name them (such as with -v), or write a report"
    )]
    UncountedAndUnnamed(String, String),
    /// The baseline ends at its first failures.
    #[error(
        "tests_unseen: `{0}` stopped at its first failures before the work began, so it is not known how many tests there \
         were; leave that option out, or let it name the tests (such as with -v)"
    )]
    StoppedBefore(String),
    /// A number and no names; with the tests that failed.
    #[error(
        "tests_unseen: `{0}` does not name the tests that pass, so it is not known whether those that failed before the work \
         began were fixed or replaced by others: {1}; let it name them (such as with -v), or write a report (--report)"
    )]
    PassedUnnamed(String, String),
    /// Conditions held without any change.
    #[error(
        "unchanged: nothing in the workspace was changed, so what was asked of it held before the work began, too"
    )]
    HeldBefore,
    /// Nothing was changed, and what failed still fails.
    #[error(
        "unchanged: nothing was changed, so what failed before the work began fails still; a gate that asks for no new failures \
         lets that through"
    )]
    StillFailing,
    /// Failures are fixed without any change.
    #[error(
        "unchanged: what failed before the work began passes now, and nothing in the workspace was changed, so no diff shows \
         what mended it"
    )]
    MendedElsewhere,
    /// Everything passed before, and nothing was changed.
    #[error("unchanged: the checks passed before the work began, and nothing was changed")]
    Unchanged,
    /// The check changes files of the repository.
    #[error("check_changes_files: the check itself changed {0}")]
    ChangedByCheck(String),
    /// The command of a check runs files that were changed.
    #[error("check_rewritten: `{run}` goes by {files}, which was changed: see that it still checks the same")]
    CheckRewritten { run: String, files: String },
    /// Files that tests compare with were changed.
    #[error(
        "expected_results: {0} holds what a test compares with, and was changed: see that the new result is right"
    )]
    ExpectedResults(String),
    /// Tests that failed were edited.
    #[error(
        "tests_edited: what failed before the work began is tested in {0}, and the work changed that: see that the same is \
         tested"
    )]
    TestsEdited(String),
}

/// How the reason of a completion begins that left out what does not hold.
const SKIPPED: &str = "complete, with skipped failures: ";

impl Reason {
    /// Returns what the controller knows it by, where it is known by itself and not by its failures.
    pub fn fingerprint(&self) -> Option<String> {
        Some(match self {
            Self::PutBack => "scope:put_back".to_owned(),
            Self::TestsEdited(_) => "tests_edited".to_owned(),
            Self::ToolChanged(_) => "check_tool_changed".to_owned(),
            Self::ProcessFailed(who, _) => format!("verdict:{who}_failed"),
            Self::ExitAgainstFile { .. } => "verdict:conflict".to_owned(),
            Self::Timeout(_) => TIMEOUT.to_owned(),
            Self::NotRun(_) => "check:not_run".to_owned(),
            Self::Unread { run, failed, .. } => format!("unread:{run}:{failed}"),
            Self::FewerTests { run, .. } | Self::TestsGone { run, .. } | Self::MoreSkipped { run, .. } => {
                format!("tests_removed:{run}")
            }
            Self::Uncounted { run, .. } | Self::Unnamed { run, .. } => format!("tests_unseen:{run}"),
            Self::Contradiction(_) => CONTRADICTION.to_owned(),
            Self::UnknownWord(_) => UNKNOWN_WORD.to_owned(),
            Self::Closer(open) => open.fingerprint(),
            _ => return None,
        })
    }

    /// Says whether a recorded reason belongs to a completion with skipped failures.
    pub fn is_skip(recorded: &str) -> bool {
        recorded.starts_with(SKIPPED)
    }
}

const CONTRADICTION: &str = "declared:contradiction";
const UNKNOWN_WORD: &str = "declared:unknown";

/// Says whether a fingerprint is about the answer itself.
pub(crate) fn is_of_answer(fingerprint: &str) -> bool {
    fingerprint.starts_with("format:") || [CONTRADICTION, UNKNOWN_WORD].contains(&fingerprint)
}

/// Says whether a fingerprint is a declaration that validators contradict.
pub(crate) fn is_contradiction(fingerprint: &str) -> bool {
    fingerprint.starts_with(declared_status::CONTRARY)
}

/// Says whether a fingerprint is about removed tests.
pub fn is_tests_removed(fingerprint: &str) -> bool {
    fingerprint.starts_with("tests_removed:")
}

fn prefix(before: &str, names: &str) -> String {
    if names.is_empty() { String::new() } else { format!("{before}{names}") }
}

fn skipped_text(skipped: u64) -> String {
    if skipped > 0 { format!(", and skipped {skipped}") } else { String::new() }
}

fn details(exit: &Exit, old: usize) -> String {
    let exit = match exit {
        Exit::Code(code) => Some(format!("exit code {code}")),
        Exit::Signal(signal) => Some(format!("it was ended by signal {signal}")),
        _ => None,
    };
    let old = (old > 0).then(|| format!("{old} of them failed before the work began"));
    let details: Vec<String> = exit.into_iter().chain(old).collect();
    if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) }
}

fn own_count(failed: u64, counted: bool) -> String {
    let (verb, what) = if counted { ("counts", "failed test") } else { ("tells of", "failure") };
    format!("{verb} {} itself", count(failed, what))
}

fn past_verb(gone: usize, failed: usize) -> &'static str {
    match failed {
        0 => "passed",
        _ if failed == gone => "failed",
        _ => "passed or failed",
    }
}

fn restore(looked_up: bool) -> &'static str {
    match looked_up {
        true => ", and no file has such a name any more; put back what was removed or renamed",
        false => "; put back what was removed, renamed or skipped",
    }
}

fn fix(gone: usize, failed: usize) -> &'static str {
    match failed {
        0 => "; where that was asked for, a new run takes it as it is",
        _ if failed == gone => ", and mend it",
        _ => ", and mend what fails",
    }
}

fn validator_message(name: &str, summary: &str) -> String {
    if summary.starts_with(&format!("`{name}`")) { summary.to_owned() } else { format!("{name}: {summary}") }
}
