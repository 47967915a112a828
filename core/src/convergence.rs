//! Tells a loop that gets somewhere from one that does not.
//!
//! Pure bookkeeping over failure sets: [`Convergence::note`] takes in one incomplete verdict,
//! [`Convergence::stall`] says whether it is time to change the strategy. The table of rules is in
//! `docs/convergence.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::event::StallCause;
use crate::evidence::Fingerprint;
use crate::id::{Digest, Stage};
use crate::snapshot::Snapshot;
use crate::workflow;

/// Failure sets that are kept to find cycles; a longer one is none that anybody would notice.
const RECENT_MAX: usize = 1000;
/// Sets of failures whose places are remembered.
const SETS_MAX: usize = 100;
/// Workspaces that are remembered.
const TREES_MAX: usize = 1000;
/// So often more tests that pass are progress. Who adds tests that show nothing could go on by them for ever.
const GAINS_MAX: u32 = 20;
/// Members of a failure set are compared up to this many characters.
const MEMBER_CHARS_MAX: usize = 240;

/// What a step's loop has shown so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Convergence {
    stage: Stage,
    /// How often the newest failure set was seen in a row since the stage was raised.
    count: u32,
    key: Option<Digest>,
    /// The newest keys since the stage was raised, oldest first.
    recent: Vec<Digest>,
    /// For each member of the newest set, in how many sets in a row it was.
    streaks: BTreeMap<String, u32>,
    /// Incomplete verdicts in a row that gave neither a fingerprint nor a reason.
    without_reason: u32,
    /// Iterations in a row in which nothing in the workspace changed.
    unchanged: u32,
    /// Those of them that undid nothing either, and in which no set became smaller.
    idle: u32,
    /// Sets in a row that had all of the one before, and more.
    growing: u32,
    /// Sets in a row that had nothing of the one before, and no less, of a workspace that grew.
    diverging: u32,
    /// How large the workspace was, in bytes.
    size: Option<u64>,
    /// At how few places each set of failures was, while it was at several.
    fewest: BTreeMap<Digest, u64>,
    /// The least numbers that each set of failures has told.
    least: BTreeMap<Digest, Vec<u64>>,
    /// How many failures there were at least so far, those that were left out counted.
    fewest_in_all: Option<u64>,
    /// How many failures of an earlier phase there were at least so far.
    fewest_early: Option<u64>,
    /// How many tests passed at most so far, and how often more of them than ever were progress.
    most_passed: Option<u64>,
    gains: u32,
    /// The commits that the workspace was on.
    commits: BTreeSet<String>,
    /// What the files of the workspace were after each iteration, and after the last one.
    trees: BTreeSet<Digest>,
    tree: Option<Digest>,
    /// Iterations in a row with the same failure set in which the workers of other steps were at work, too.
    beside: u32,
    /// What raised the stage, and how many times it was seen.
    raised_for: Option<(StallCause, u32)>,
}

/// What one incomplete iteration has shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Signal<'a> {
    /// What failed.
    pub fingerprints: &'a [String],
    /// Why it is incomplete, in words.
    pub reasons: &'a [String],
    /// Whether the workspace changed; `None` if that is unknown, or another step may have changed it.
    pub changed: Option<bool>,
    /// Workers of other steps were at work in the same workspace at the same time.
    pub is_beside: bool,
    /// At how many places something failed, where commands tell: one rule may be broken at many.
    pub places: Option<u64>,
    /// How many failures are not among the fingerprints, because there were too many.
    pub left_out: u64,
    /// The numbers that the failures tell: see [`amounts`](crate::gate::amounts).
    pub amounts: &'a [u64],
    /// How many of the failures kept tests from being run at all: see [`Failure::is_early`](crate::evidence::Failure::is_early).
    pub early: u64,
    /// How many tests passed, where commands count them.
    pub passed: u64,
    /// All commands came to their end, so these numbers can be compared with earlier ones.
    pub is_conclusive: bool,
    /// The workspace after the work.
    pub workspace: Option<&'a Snapshot>,
    /// It is the exit code of a command that said nothing, or the worker's own word: while the workspace changes, whether
    /// anything came nearer is not known.
    pub is_silent: bool,
    /// The worker itself has said so, in a step that asks for a change.
    pub is_own: bool,
}

impl Default for Convergence {
    fn default() -> Self {
        Self {
            stage: Stage(1),
            count: 0,
            key: None,
            recent: Vec::new(),
            streaks: BTreeMap::new(),
            without_reason: 0,
            unchanged: 0,
            idle: 0,
            growing: 0,
            diverging: 0,
            size: None,
            fewest: BTreeMap::new(),
            least: BTreeMap::new(),
            fewest_in_all: None,
            fewest_early: None,
            most_passed: None,
            gains: 0,
            commits: BTreeSet::new(),
            trees: BTreeSet::new(),
            tree: None,
            beside: 0,
            raised_for: None,
        }
    }
}

/// A loop that gets nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// What repeats.
    pub cause: StallCause,
    /// Key of the failure set.
    pub key: Option<Digest>,
    /// How many times it was seen.
    pub count: u32,
}

impl Convergence {
    /// Returns the stage that the next iteration works in.
    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Returns how often the newest failure set was seen in a row.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the key of the newest failure set.
    pub fn key(&self) -> Option<Digest> {
        self.key
    }

    /// Returns what raised the stage, and how many times it was seen.
    pub fn raised_for(&self) -> Option<(StallCause, u32)> {
        self.raised_for
    }

    /// Takes in one incomplete verdict.
    ///
    /// A verdict without a signal neither adds to the streak of a failure set nor ends it.
    pub fn note(&mut self, signal: &Signal<'_>) {
        let stays = signal.changed == Some(false);
        // Who undoes what was done has changed nothing.
        let changed = if self.goes_back(signal) { Some(false) } else { signal.changed };
        let signal = &Signal { changed, ..*signal };
        let is_unchanged = signal.changed == Some(false);
        let one_more = |count: u32, holds: bool| if holds { count.saturating_add(1) } else { 0 };
        (self.unchanged, self.idle) = (one_more(self.unchanged, is_unchanged), one_more(self.idle, stays));
        if signal.is_silent && signal.changed == Some(true) {
            return;
        }
        if self.is_on_new_commit(signal) && signal.fingerprints.is_empty() {
            // The same words about work that was committed: one task after the other is done.
            self.restart();
        }
        let set = failure_set(signal);
        if set.is_empty() {
            self.without_reason = self.without_reason.saturating_add(1);
            return;
        }
        let key = set_key(&set);
        self.beside = match (signal.is_beside, self.key == Some(key)) {
            (false, _) => 0,
            (true, true) => self.beside.saturating_add(1),
            (true, false) => 1,
        };
        if self.comes_nearer(key, set.len(), signal) {
            self.restart();
            self.beside = 0;
            (self.unchanged, self.idle) = (u32::from(is_unchanged), u32::from(stays));
        }
        self.without_reason = 0;
        self.count = if self.key == Some(key) { self.count.saturating_add(1) } else { 1 };
        self.key = Some(key);
        self.recent.push(key);
        if self.recent.len() > RECENT_MAX {
            self.recent.remove(0);
        }
        self.note_growth(&set, signal);
        // A smaller set is progress, so what persists starts afresh; and of a cut one nobody knows how large it is.
        let shrank = set.len() < self.streaks.len() || signal.left_out > 0;
        if shrank {
            self.idle = 0;
        }
        self.streaks = set
            .into_iter()
            .map(|member| {
                let before = if shrank { 0 } else { self.streaks.get(&member).copied().unwrap_or(0) };
                (member, before.saturating_add(1))
            })
            .collect();
    }

    /// Says whether the files are what they were after an earlier iteration, but not after the last one.
    fn goes_back(&mut self, signal: &Signal<'_>) -> bool {
        let Some(tree) = signal.workspace.map(|workspace| workspace.work) else { return false };
        let is_back = self.tree != Some(tree) && self.trees.contains(&tree);
        self.tree = Some(tree);
        if self.trees.len() < TREES_MAX {
            self.trees.insert(tree);
        }
        is_back && signal.changed == Some(true)
    }

    /// Says whether the work of this iteration was committed.
    fn is_on_new_commit(&mut self, signal: &Signal<'_>) -> bool {
        let standing = signal.workspace.and_then(|workspace| workspace.repository.as_ref());
        let Some(commit) = standing.and_then(|standing| standing.commit.clone()) else { return false };
        self.commits.insert(commit) && signal.changed == Some(true)
    }

    /// Says whether something got better than it ever was, whatever else failed. Each of these numbers can change only so
    /// often, so no loop goes on for ever by it. All of them are remembered, whichever it is.
    fn comes_nearer(&mut self, key: Digest, failures: usize, signal: &Signal<'_>) -> bool {
        let is_cut = signal.left_out > 0;
        let places = signal.places.filter(|_| !is_cut);
        let in_all = signal.places.filter(|_| signal.is_conclusive);
        // Which of them were left out is not known of a cut set.
        let is_whole = signal.is_conclusive && !is_cut;
        let early = Some(signal.early).filter(|_| is_whole);
        let passed = Some(signal.passed).filter(|_| is_whole);
        let at_fewer_places = self.is_at_fewer_places(key, failures, places);
        let fewer_in_all = is_fewest(&mut self.fewest_in_all, in_all) && is_cut;
        // What came behind a phase that is passed is new ground, and not worse.
        let further = is_fewest(&mut self.fewest_early, early);
        let tells_less = !is_cut && self.tells_less(key, signal.amounts);
        let more_pass = self.gains_tests(failures, passed, signal.changed);
        at_fewer_places || fewer_in_all || further || tells_less || more_pass
    }

    /// Says whether more tests pass than ever did, while no more fail than before: one part after the other is made, and a test of the
    /// whole may fail up to the end.
    fn gains_tests(&mut self, failures: usize, passed: Option<u64>, changed: Option<bool>) -> bool {
        let is_more = self.most_passed.is_some_and(|most| passed > Some(most));
        self.most_passed = self.most_passed.max(passed);
        let no_more_fail = failures <= self.streaks.len();
        let gains = is_more && no_more_fail && changed != Some(false) && self.gains < GAINS_MAX;
        self.gains += u32::from(gains);
        gains
    }

    /// Says whether a set of failures tells numbers of which none is higher than ever, and one is lower: one that counts what is left
    /// to do is the same failure up to its end.
    fn tells_less(&mut self, key: Digest, amounts: &[u64]) -> bool {
        let Some(least) = self.least.get_mut(&key) else {
            if !amounts.is_empty() && self.least.len() < SETS_MAX {
                self.least.insert(key, amounts.to_vec());
            }
            return false;
        };
        let falls = least.len() == amounts.len() && least != amounts;
        let falls = falls && least.iter().zip(amounts).all(|(least, now)| now <= least);
        if falls {
            *least = amounts.to_vec();
        }
        falls
    }

    /// Says whether a set of failures is at fewer places than it ever was: that is progress, and a cycle does not make it.
    fn is_at_fewer_places(&mut self, key: Digest, failures: usize, places: Option<u64>) -> bool {
        let Some(now) = places else { return false };
        if let Some(fewest) = self.fewest.get_mut(&key) {
            let fewer = now < *fewest;
            *fewest = now.min(*fewest);
            return fewer;
        }
        if now > failures as u64 && self.fewest.len() < SETS_MAX {
            self.fewest.insert(key, now);
        }
        false
    }

    fn note_growth(&mut self, set: &BTreeSet<String>, signal: &Signal<'_>) {
        let had = |member: &String| self.streaks.contains_key(member);
        let kept = set.iter().filter(|member| had(member)).count();
        let (before, now) = (self.streaks.len(), set.len());
        let grows = before > 0 && kept == before && now > before && signal.left_out == 0;
        self.growing = if grows { self.growing.saturating_add(1) } else { 0 };
        let size = signal.workspace.map(|workspace| workspace.bytes);
        // What a command shows, or the worker itself tells, is one thing after the other; a reviewer can always find something
        // new.
        let claimed = !signal.is_own && !signal.fingerprints.iter().any(|it| Fingerprint::is_one(it));
        let diverges =
            claimed && before > 0 && kept == 0 && now >= before && size > self.size && self.size.is_some();
        self.diverging = if diverges { self.diverging.saturating_add(1) } else { 0 };
        self.size = size;
    }

    /// Says whether the strategy is to be changed.
    pub fn stall(&self, policy: &workflow::Convergence) -> Option<Stall> {
        let threshold = policy.stall_threshold.max(1);
        let same = self.count.max(self.without_reason);
        if self.unchanged >= threshold.max(2) && same >= threshold.max(2) {
            return Some(Stall { cause: StallCause::NoChange, key: self.key, count: self.unchanged });
        }
        // Who finds something else each time finds it in what is as it was.
        if self.idle >= threshold.max(2).saturating_mul(2) {
            return Some(Stall { cause: StallCause::NoChange, key: self.key, count: self.idle });
        }
        // No change is known to be its own, and its failures stay.
        if self.beside >= threshold.max(2).saturating_mul(2) {
            return Some(Stall { cause: StallCause::NoChange, key: self.key, count: self.beside });
        }
        if self.without_reason >= threshold {
            return Some(Stall { cause: StallCause::NoReasons, key: None, count: self.without_reason });
        }
        if self.without_reason > 0 {
            return None; // The newest verdict gave no signal, so it cannot complete a pattern.
        }
        let stall = |cause, count| Some(Stall { cause, key: self.key, count });
        if self.count >= threshold {
            return stall(StallCause::SameFailures, self.count);
        }
        if let Some(period) = self.period(rounds(policy)) {
            let period = u32::try_from(period).expect("at most RECENT_MAX");
            return stall(StallCause::Cycle(period), threshold.max(2));
        }
        if self.growing >= threshold {
            return stall(StallCause::Growing, self.growing);
        }
        if self.diverging >= threshold.saturating_mul(2) {
            return stall(StallCause::Diverging, self.diverging);
        }
        let longest = self.streaks.values().copied().max().unwrap_or(0);
        if longest > threshold {
            return stall(StallCause::PersistentFailure, longest);
        }
        None
    }

    /// Raises the stage and starts all counters afresh. The key stays: the stage does not make an
    /// old failure set a new one.
    pub fn raise(&mut self, to: Stage, cause: StallCause, count: u32) {
        self.stage = self.stage.max(to);
        self.raised_for = Some((cause, count));
        self.restart();
    }

    /// Starts all counters afresh.
    pub fn restart(&mut self) {
        self.count = 0;
        self.recent.clear();
        self.streaks.clear();
        self.without_reason = 0;
        self.unchanged = 0;
        self.idle = 0;
        self.growing = 0;
        self.diverging = 0;
    }

    /// Returns the shortest period with which the newest sets have come back `rounds` times.
    fn period(&self, rounds: usize) -> Option<usize> {
        (2..=self.recent.len() / rounds).find(|&period| {
            let length = period * rounds;
            self.recent.len() >= length && {
                let newest = &self.recent[self.recent.len() - length..];
                newest.iter().zip(&newest[period..]).all(|(a, b)| a == b)
            }
        })
    }
}

/// How often a cycle must come round: at least twice, or any new set would be one.
fn rounds(policy: &workflow::Convergence) -> usize {
    usize::try_from(policy.stall_threshold.clamp(2, 1000)).expect("at most 1000")
}

/// Says whether a number is smaller than it ever was, and remembers it.
fn is_fewest(fewest: &mut Option<u64>, now: Option<u64>) -> bool {
    let Some(now) = now else { return false };
    let is_fewer = fewest.is_some_and(|fewest| now < fewest);
    *fewest = Some(fewest.map_or(now, |fewest| now.min(fewest)));
    is_fewer
}

/// Returns the members by which a verdict is compared with others: its fingerprints, else its reasons. How many failures
/// were left out is one of them: the same part of more is another set.
fn failure_set(signal: &Signal<'_>) -> BTreeSet<String> {
    let mut named: BTreeSet<String> = members(signal.fingerprints.iter().map(String::as_str));
    if !named.is_empty() {
        named.extend((signal.left_out > 0).then(|| format!("left_out:{}", signal.left_out)));
        return named;
    }
    let reasons: Vec<String> = signal
        .reasons
        .iter()
        .map(|reason| reason.trim())
        .filter(|reason| !reason.is_empty())
        .map(|reason| format!("reason:{reason}"))
        .collect();
    members(reasons.iter().map(String::as_str))
}

fn members<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    texts
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(|text| text.chars().take(MEMBER_CHARS_MAX).collect())
        .collect()
}

/// Returns the order-free key of a failure set: SHA-256 over its members, sorted by UTF-16 code
/// units (the order of the tools whose state files hold such keys) and joined by line feeds.
pub fn set_key(set: &BTreeSet<String>) -> Digest {
    let mut members: Vec<&str> = set.iter().map(String::as_str).collect();
    members.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    Digest::of(members.join("\n").as_bytes())
}
