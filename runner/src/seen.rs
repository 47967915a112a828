//! The workspace before and after a worker: what it changed, how far its step has drifted from its base, and what
//! of that is put back.

use std::sync::Arc;

use unstuck_adapters::blocking::blocking;
use unstuck_adapters::snapshot::explain;
use unstuck_adapters::{base, snapshot};
use unstuck_core::event::{Outcome, Purpose};
use unstuck_core::id::Stage;
use unstuck_core::scope::{self, Drift};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{Convergence, Step};
use unstuck_core::{Due, RunState};

use crate::perform::Machine;
use crate::snapshots::{Keeper, named};

/// A workspace of so many files is looked at in less time than it takes to hand that over to a thread.
const FILES_FEW: u64 = 1000;

/// The workspace before the work, and what is to be known of the step afterwards.
pub(crate) struct Seen {
    /// When the run began.
    first: Box<Snapshot>,
    /// When the step began.
    of_step: Box<Snapshot>,
    /// Just before.
    before: Box<Snapshot>,
    policy: Option<Convergence>,
    stage: Stage,
    purpose: Purpose,
}

/// The workspace after the work.
#[derive(Default)]
pub(crate) struct After {
    pub(crate) changed: Option<bool>,
    pub(crate) drift: Option<Drift>,
    pub(crate) snapshot: Option<Box<Snapshot>>,
}

/// Looks at the workspace before a worker is started.
///
/// # Errors
///
/// The step has rules about what it changes, and nobody could say whether it keeps to them.
pub(crate) fn before(
    world: &Machine,
    state: &RunState,
    due: &Due,
    notes: &mut Vec<String>,
) -> Result<Option<Seen>, String> {
    let (step, at) = state.step(&due.step).expect("effects name steps of the workflow");
    let policy = step.convergence.clone();
    let has_rules = policy.as_ref().is_some_and(scope::has_rules);
    if let Some(name) = policy.as_ref().filter(|_| has_rules).and_then(|it| it.diff_base_ref.as_deref()) {
        // `HEAD~1` may only be there after a commit, but what is never there is better known now.
        base::commit(&world.workspace, name.split(['~', '^']).next().unwrap_or(name))?;
    }
    let before = match look(world, state.first_snapshot(), state.last_snapshot()) {
        Ok(Some(before)) => before,
        Ok(None) if has_rules => return Err(unseen(step, "no snapshots are kept of this workspace")),
        Ok(None) => return Ok(None),
        Err(why) if has_rules => return Err(unseen(step, &why)),
        Err(why) => {
            notes.push(format!("no snapshot of the workspace was taken: {why}"));
            return Ok(None);
        }
    };
    Ok(Some(Seen::new(state, at, policy, before)))
}

/// Takes a snapshot of the workspace; `None` where none can be kept.
fn look(
    world: &Machine,
    first: Option<&Snapshot>,
    last: Option<&Snapshot>,
) -> Result<Option<Box<Snapshot>>, String> {
    let Some(keeper) = &world.snapshots else { return Ok(None) };
    let snapshot = keeper.take(first, last).map_err(|error| explain(&error))?;
    keeper.ask_git(&snapshot);
    Ok(Some(Box::new(snapshot)))
}

fn unseen(step: &Step, why: &str) -> String {
    format!("whether step {} keeps to its scope cannot be seen: {why}", step.id)
}

impl Seen {
    fn new(state: &RunState, at: &StepState, policy: Option<Convergence>, before: Box<Snapshot>) -> Self {
        let or_now =
            |earlier: Option<&Snapshot>| earlier.map_or_else(|| before.clone(), |it| Box::new(it.clone()));
        let (first, of_step) = (or_now(state.first_snapshot()), or_now(at.began_with.as_deref()));
        let (stage, purpose) = (at.convergence.stage(), at.purpose);
        Self { first, of_step, before, policy, stage, purpose }
    }

    /// Returns what is recorded of the workspace before the work.
    pub(crate) fn before(&self) -> Box<Snapshot> {
        self.before.clone()
    }

    /// Looks again after the work, and says in the outcome what a person should know.
    pub(crate) async fn after(self, world: &Arc<Machine>, step: &Step, outcome: &mut Outcome) -> After {
        let world = Arc::clone(world);
        let has_rules = self.policy.as_ref().is_some_and(scope::has_rules);
        let is_small = self.before.files <= FILES_FEW;
        let compare = move || {
            let mut notes = Vec::new();
            (self.compare(&world, &mut notes), notes)
        };
        let (after, notes) = if is_small { compare() } else { blocking(compare).await };
        outcome.notes.extend(notes);
        after.unwrap_or_else(|why| {
            if has_rules {
                outcome.fatal.get_or_insert(unseen(step, &why));
            } else {
                outcome.notes.push(format!("what was changed cannot be seen: {why}"));
            }
            After::default()
        })
    }

    fn compare(&self, world: &Machine, notes: &mut Vec<String>) -> Result<After, String> {
        let again = || look(world, Some(&self.first), Some(&self.before));
        let (Some(keeper), Some(after)) = (&world.snapshots, again()?) else { return Ok(After::default()) };
        let compared = keeper.compare(&self.first, &self.before, &after).map_err(told)?;
        notes.extend(compared.said);
        let changed = Some(compared.changed);
        if self.purpose == Purpose::Diagnosis {
            let edited = keeper.drift(&self.before, &after).map_err(told)?;
            let put_back = put_back(keeper, &after, &self.before, &edited, "whoever only looks", notes)?;
            let snapshot = if put_back.is_empty() { Some(after) } else { again()? };
            return Ok(After { changed, drift: None, snapshot });
        }
        let mut drift = self.drift(world, keeper, &after)?;
        let mut snapshot = Some(after);
        let strayed = match (&self.policy, &drift) {
            (Some(policy), Some(drift)) => scope::to_put_back(policy, self.stage, &drift.files),
            _ => Vec::new(),
        };
        if let Some(after) = snapshot.as_deref().filter(|_| !strayed.is_empty()) {
            let put_back = put_back(keeper, after, &self.of_step, &strayed, "the worker", notes)?;
            snapshot = again()?;
            if let Some(after) = &snapshot {
                drift = self.drift(world, keeper, after)?.map(|drift| Drift { put_back, ..drift });
            }
        }
        Ok(After { changed, drift, snapshot })
    }

    /// Compares with the base of the step; `None` where nothing has changed since the work before.
    fn drift(&self, world: &Machine, keeper: &Keeper, after: &Snapshot) -> Result<Option<Drift>, String> {
        let rules = self.policy.as_ref().filter(|policy| scope::has_rules(policy));
        let base = match rules {
            Some(policy) => base::name(&world.workspace, policy)?,
            None => None,
        };
        let Some(name) = base else {
            if after.work == self.before.work && self.before.work != self.of_step.work {
                return Ok(None);
            }
            let files = keeper.drift(&self.of_step, after).map_err(told)?;
            return self.drift_of(keeper, None, &self.of_step, after, files).map(Some);
        };
        let commit = base::commit(&world.workspace, &name)?;
        let of_base = keeper.of_commit(&commit, &world.artifacts.join("base"), &self.first)?;
        let files = keeper.drift_from_commit(&of_base, &self.of_step, after).map_err(told)?;
        self.drift_of(keeper, Some(commit), &of_base, after, files).map(Some)
    }

    fn drift_of(
        &self,
        keeper: &Keeper,
        base: Option<String>,
        from: &Snapshot,
        after: &Snapshot,
        mut files: Vec<String>,
    ) -> Result<Drift, String> {
        let counts = self.policy.as_ref().filter(|policy| policy.max_changed_lines.is_some());
        let lines = match counts {
            Some(policy) => Some(keeper.lines(from, after, &scope::looked_at(policy, &files)).map_err(told)?),
            None => None,
        };
        let kept =
            if self.policy.as_ref().is_some_and(scope::has_rules) { files.len() } else { Drift::FILES_MAX };
        let files_left_out = u64::try_from(files.len().saturating_sub(kept)).unwrap_or(u64::MAX);
        files.truncate(kept);
        Ok(Drift { base, files, files_left_out, lines, put_back: Vec::new() })
    }
}

/// Puts files back, and says so. Returns those that are as they were.
fn put_back(
    keeper: &Keeper,
    now: &Snapshot,
    then: &Snapshot,
    files: &[String],
    who: &str,
    notes: &mut Vec<String>,
) -> Result<Vec<String>, String> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let left = keeper.put_back(now, then, files).map_err(told)?;
    let left: Vec<String> = left
        .into_iter()
        .map(|left| {
            let path = left.path.to_string_lossy().into_owned();
            notes.push(format!("{path} was not put back: it {}", left.why));
            path
        })
        .collect();
    let done: Vec<String> = files.iter().filter(|file| !left.contains(file)).cloned().collect();
    if !done.is_empty() {
        notes.push(format!("{who} changed what is out of scope, and it was put back: {}", named(&done)));
    }
    Ok(done)
}

fn told(error: snapshot::Error) -> String {
    explain(&error)
}
