//! Possible results of an iteration, reduced to the ones that the controller distinguishes.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use unstuck_core::judge::scope::{self, ProtectedPaths, StepChanges};
use unstuck_core::workflow::{Baseline, CheckMethod, ConvergencePolicy, Gate, Step};

/// A result of one iteration. Failure sets are described relative to the set of the iteration before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IterationOutcome {
    /// The check passes.
    Complete,
    /// The same failures, although the workspace changed.
    Persists,
    /// One failure less.
    Fewer,
    /// The same failures and one more.
    More,
    /// Failures that never occurred before.
    Other,
    /// Nothing in the workspace changed, so the failures are the same. In the first iteration: the initial failures.
    Unchanged,
    /// The failure set before the current one.
    Reverts,
    /// Incomplete without a reason.
    NoSignal,
    /// Everything passes, but files outside the scope changed.
    OutOfScope,
    /// The verdict cannot be read.
    Unreadable,
    /// The verdict says that a person must act.
    Blocked,
    /// The verdict says, each time, that an external job still runs.
    Waits,
    /// The worker fails, and each retry of it.
    WorkerFails,
    /// The check cannot be run, and each retry of it.
    CheckCannotRun,
    /// The check exits with a code that stands for no verdict.
    CheckOtherCode,
    /// The first run of the commands shows nothing to compare with.
    NoBaseline,
}

impl IterationOutcome {
    const ALL: [Self; 16] = [
        Self::Complete,
        Self::Persists,
        Self::Fewer,
        Self::More,
        Self::Other,
        Self::Unchanged,
        Self::Reverts,
        Self::NoSignal,
        Self::OutOfScope,
        Self::Unreadable,
        Self::Blocked,
        Self::Waits,
        Self::WorkerFails,
        Self::CheckCannotRun,
        Self::CheckOtherCode,
        Self::NoBaseline,
    ];

    /// Returns what it is called in a history.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Persists => "same failures",
            Self::Unchanged => "nothing changed",
            Self::Fewer => "fewer failures",
            Self::More => "more failures",
            Self::Other => "other failures",
            Self::Reverts => "failures of before",
            Self::NoSignal => "incomplete without a word",
            Self::OutOfScope => "changed out of scope",
            Self::Unreadable => "no readable verdict",
            Self::Blocked => "blocked",
            Self::Waits => "waits for a job",
            Self::WorkerFails => "worker fails",
            Self::CheckCannotRun => "check cannot run",
            Self::CheckOtherCode => "check exits with another code",
            Self::NoBaseline => "no usable baseline",
        }
    }

    /// Returns the possible results of a step's iterations.
    pub fn for_step(step: &Step) -> Vec<Self> {
        Self::ALL.into_iter().filter(|outcome| outcome.fits(step)).collect()
    }

    fn fits(self, step: &Step) -> bool {
        let Some(check) = &step.check else { return matches!(self, Self::Complete | Self::WorkerFails) };
        let by_exit = !matches!(check.by, CheckMethod::Agent(_) | CheckMethod::Claim);
        match self {
            Self::Unreadable | Self::Blocked | Self::Waits => !by_exit,
            Self::CheckCannotRun => check.by != CheckMethod::Claim,
            Self::CheckOtherCode => matches!(check.by, CheckMethod::Exit(_)),
            Self::NoBaseline => match &check.by {
                CheckMethod::Commands(commands) => {
                    check.baseline == Baseline::Gate
                        || commands.iter().any(|command| command.gate == Gate::NoNewFailures)
                }
                _ => false,
            },
            Self::OutOfScope => {
                let policy = step.convergence.as_ref();
                policy.is_some_and(|policy| {
                    scope::violation(policy, &out_of_scope_change(policy), &BTreeSet::new()).is_some()
                })
            }
            _ => true,
        }
    }
}

impl Serialize for IterationOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Returns changes that a policy most likely does not allow.
pub fn out_of_scope_change(policy: &ConvergencePolicy) -> StepChanges {
    const FILES_MAX: u32 = 1000;
    let count = policy.max_changed_files.filter(|max| *max < FILES_MAX).map_or(1, |max| max + 1);
    // Where all may change but what is protected, a pattern read as a path is mostly one that it matches.
    let protected = ProtectedPaths::from_policy(policy);
    let is_one = |path: &&String| policy.allowed_paths.is_empty() && protected.has(path);
    let folder = policy.protected_paths.iter().find(is_one).map_or("out-of-scope", String::as_str);
    let files = (0..count).map(|at| format!("{folder}/{at}")).collect();
    let lines = policy.max_changed_lines.map(|max| u64::from(max) + 1);
    StepChanges { files, lines, ..StepChanges::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_has_changes_that_it_does_not_allow() {
        let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>();
        let policy = |allowed: &[&str], protected: &[&str], max_changed_files| ConvergencePolicy {
            allowed_paths: list(allowed),
            protected_paths: list(protected),
            max_changed_files,
            ..ConvergencePolicy::default()
        };
        for rules in [
            policy(&["src/**"], &[], None),
            policy(&[], &["Jenkinsfile"], None),
            policy(&[], &["tests/**"], None),
            policy(&[], &["!docs/**", "tests"], None),
            policy(&[], &[], Some(3)),
        ] {
            assert!(
                scope::violation(&rules, &out_of_scope_change(&rules), &BTreeSet::new()).is_some(),
                "{rules:?}"
            );
        }
        assert!(
            scope::violation(
                &policy(&[], &[], None),
                &out_of_scope_change(&ConvergencePolicy::default()),
                &BTreeSet::new()
            )
            .is_none()
        );
    }
}
