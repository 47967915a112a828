//! Tells a loop that makes progress from one that is stuck.
//!
//! Two rules, for a threshold *T*: a loop is stuck if it shows nothing new *T* times in a row, or nothing better 3*T*
//! times in a row. The page is `docs/convergence.md`. [`ConvergenceState::record`] takes in one incomplete verdict, and
//! [`ConvergenceState::stall`] says whether the stage rises. The measures of what is better are in `measures`.

mod measures;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::measures::{Best, Measures};
use crate::event::StallCause;
use crate::id::{Digest, Stage};
use crate::workflow;

/// Maximum characters of a fingerprint or a reason that are compared.
const MEMBER_CHARS_MAX: usize = 240;
/// So many times the threshold nothing better makes a loop stuck.
const BETTER: u32 = 3;

/// The state of the loop of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConvergenceState {
    /// Stages above the first.
    raised: u32,
    /// Iterations since the last improvement.
    age: u32,
    /// 1 for an iteration that showed something new, and one more for each after it that did not. 0 after a raised
    /// stage, so that the next iteration counts 1 even if it shows nothing new.
    not_new: u32,
    /// Iterations in a row that improved no measure.
    not_better: u32,
    /// The keys shown since the last improvement, each with its latest age.
    shown: BTreeMap<Digest, u32>,
    /// The key shown by the newest iteration.
    key: Option<Digest>,
    /// Whether that is a failure or a reason, and not only the workspace.
    names_failures: bool,
    /// The longest way back to what was shown before, of the iterations that showed nothing new.
    period: u32,
    /// Iterations in a row that did not change the workspace.
    unchanged: u32,
    best: Best,
    raised_for: Option<(StallCause, u32)>,
}

/// The evidence of one incomplete iteration.
#[derive(Clone, Debug, Default)]
pub struct IterationSignal<'a> {
    /// The fingerprints of what failed.
    pub fingerprints: &'a [String],
    /// The reasons of the judge.
    pub reasons: &'a [String],
    /// The digest of the workspace, if it is known.
    pub workspace: Option<Digest>,
    /// Whether the workspace changed; `None` if that is unknown, or another step may have changed it.
    pub changed: Option<bool>,
    /// The measures.
    pub measured: Measures<'a>,
}

/// A loop that is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// The description for people. It decides nothing.
    pub cause: StallCause,
    /// The key of what was shown last.
    pub key: Option<Digest>,
    /// How many iterations in a row showed nothing new, or nothing better.
    pub count: u32,
}

impl ConvergenceState {
    /// Returns the stage that the next iteration works in.
    pub fn stage(&self) -> Stage {
        Stage(self.raised.saturating_add(1))
    }

    /// Returns how many iterations in a row showed nothing new; 1 if the last one did.
    pub fn count(&self) -> u32 {
        self.not_new
    }

    /// Returns the key of what the last iteration showed.
    pub fn key(&self) -> Option<Digest> {
        self.key
    }

    /// Returns what raised the stage, and how many iterations it took.
    pub fn escalation_cause(&self) -> Option<(StallCause, u32)> {
        self.raised_for
    }

    /// Takes the measures of the baseline. Only the first iteration can be better than that.
    pub fn begin(&mut self, measured: &Measures<'_>) {
        self.best.improve(measured, false);
    }

    /// Takes in one incomplete verdict. An improvement returns the stage to 1.
    pub fn record(&mut self, signal: &IterationSignal<'_>) {
        let set = members(signal);
        self.names_failures = !set.is_empty();
        let key = match signal.workspace {
            Some(workspace) if set.is_empty() => workspace,
            _ => set_key(&set),
        };
        self.key = Some(key);
        self.unchanged = if signal.changed == Some(false) { self.unchanged.saturating_add(1) } else { 0 };
        let known = self.shown.get(&key).copied();
        if self.best.improve(&signal.measured, known.is_none()) {
            (self.raised, self.age, self.not_new, self.not_better, self.period) = (0, 0, 1, 1, 0);
            self.shown = BTreeMap::from([(key, 0)]);
            return;
        }
        self.age = self.age.saturating_add(1);
        self.not_better = self.not_better.saturating_add(1);
        (self.not_new, self.period) = match known {
            Some(age) => (self.not_new.saturating_add(1), self.period.max(self.age - age)),
            None => (1, 0),
        };
        self.shown.insert(key, self.age);
    }

    /// Says whether the loop is stuck.
    pub fn stall(&self, policy: &workflow::ConvergencePolicy) -> Option<Stall> {
        let threshold = policy.stall_threshold.max(1);
        let stall = |cause, count| Some(Stall { cause, key: self.key, count });
        if self.age == 0 {
            return None;
        }
        if self.not_new >= threshold {
            return stall(self.cause_of_nothing_new(), self.not_new);
        }
        if self.not_better >= threshold.saturating_mul(BETTER) {
            let cause = match self.best.is_worse {
                _ if !self.names_failures => StallCause::NoReasons,
                true => StallCause::Growing,
                false => StallCause::Diverging,
            };
            return stall(cause, self.not_better);
        }
        None
    }

    fn cause_of_nothing_new(&self) -> StallCause {
        match self.period {
            _ if self.unchanged >= self.not_new => StallCause::NoChange,
            // With a threshold of 1, what is shown can be new.
            0 if self.names_failures => StallCause::Diverging,
            1 if self.names_failures => StallCause::SameFailures,
            0 | 1 => StallCause::NoReasons,
            period => StallCause::Cycle(period),
        }
    }

    /// Moves to another stage and begins to count afresh. What was shown stays known.
    pub fn escalate(&mut self, to: Stage, cause: StallCause, count: u32) {
        self.raised = to.0.saturating_sub(1);
        self.raised_for = Some((cause, count));
        self.restart();
    }

    /// Begins to count afresh.
    pub fn restart(&mut self) {
        (self.not_new, self.not_better, self.unchanged, self.period) = (0, 0, 0, 0);
    }
}

/// Returns what an iteration shows: the fingerprints, or else the reasons.
fn members(signal: &IterationSignal<'_>) -> BTreeSet<String> {
    let set = |texts: &[String], before: &str| -> BTreeSet<String> {
        let texts = texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
        texts.map(|text| format!("{before}{text}").chars().take(MEMBER_CHARS_MAX).collect()).collect()
    };
    let named = set(signal.fingerprints, "");
    if named.is_empty() { set(signal.reasons, "reason:") } else { named }
}

/// Returns the key of a set of failures: SHA-256 over its members, sorted by UTF-16 code units (the order of the tools
/// whose state files hold such keys) and joined by line feeds.
pub fn set_key(set: &BTreeSet<String>) -> Digest {
    let mut members: Vec<&str> = set.iter().map(String::as_str).collect();
    members.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    Digest::sha256(members.join("\n").as_bytes())
}
