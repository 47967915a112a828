//! The validators of a step: run until the workspace that they looked at is the one that is there.
//!
//! What they found is kept with the snapshot of the workspace and a stamp of all its files, ignored ones too. As long
//! as both are the same, down to HEAD and index, what held is not asked again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::RunState;
use unstuck_core::completion::{Completion, Condition, Phase, Run};
use unstuck_core::event::{Exit, Inquiry, Outcome};
use unstuck_core::evidence::ValidatorResult;
use unstuck_core::id::{Digest, Millis};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::workflow::Step;
use unstuck_evidence::validators::{self, OUTPUT_MAX, ValidatorContext};
use unstuck_process::blocking_task::blocking;
use unstuck_process::{StopRequest, StopSignal};
use unstuck_workspace::tree_stamp::stamp;

use crate::job::{Asked, Done};
use crate::machine::Machine;
use crate::seen::look;

/// So often validators are run until none of them changes the workspace any more.
const ROUNDS_MAX: u32 = 3;

/// What is to be validated.
pub(crate) struct Validation {
    conditions: Vec<Condition>,
    place: ValidatorContext,
    /// Those of later conditions that could not run, as is known before the first work.
    absent: Vec<ValidatorResult>,
    /// What held when the workspace was the same, at the places of its conditions.
    kept: Vec<Option<ValidatorResult>>,
    looker: Looker,
    now: Option<Snapshot>,
}

/// Looks at the workspace once more, after somebody has been asked about it.
pub(crate) struct Looker {
    first: Option<Snapshot>,
    last: Option<Snapshot>,
    root: PathBuf,
    /// What is not looked at for a stamp: ours, and git's, of which the snapshot tells.
    without: Vec<PathBuf>,
}

impl Looker {
    pub(crate) fn new(world: &Machine, state: &RunState) -> Self {
        let mut without = world.own_paths(state);
        without.push(world.workspace.join(".git"));
        Self {
            first: state.first_snapshot().cloned(),
            last: state.last_snapshot().cloned(),
            root: world.workspace.clone(),
            without,
        }
    }

    fn stamp(&self) -> Option<Digest> {
        stamp(&self.root, &self.without)
    }

    /// Takes a snapshot; `None` with a note where that cannot be done.
    async fn look(&mut self, world: &Arc<Machine>, notes: &mut Vec<String>) -> Option<Snapshot> {
        let (world, first, last) = (Arc::clone(world), self.first.clone(), self.last.clone());
        match blocking(move || look(&world, first.as_ref(), last.as_ref())).await {
            Ok(now) => {
                self.last = now.map(|now| *now).or(self.last.take());
                self.last.clone()
            }
            Err(why) => {
                notes.push(format!("no snapshot was taken after the check: {why}"));
                None
            }
        }
    }

    /// Says what the workspace is in the end.
    pub(crate) async fn end(mut self, world: &Arc<Machine>, notes: &mut Vec<String>) -> Done {
        let snapshot = self.look(world, notes).await.map(Box::new);
        let stamp = blocking(move || self.stamp()).await;
        Done { snapshot, stamp, ..Done::default() }
    }
}

/// Returns the checklists of a step as it found them, as far as a snapshot has them.
fn checklists(world: &Machine, asked: &Asked<'_>) -> BTreeMap<String, Vec<u8>> {
    let (Some(keeper), Some(began)) = (&world.snapshots, &asked.at.workspace.began_with) else {
        return BTreeMap::new();
    };
    let Some((began, _)) = keeper.base_of(began, &asked.at.workspace.gaps) else { return BTreeMap::new() };
    let conditions = asked.step.completion.iter().flat_map(|it| &it.conditions);
    let lists = conditions.filter_map(|condition| match &condition.validator.run {
        Run::Checklist(list) => Some(&list.path),
        _ => None,
    });
    let found = lists.filter_map(|path| Some((path.clone(), keeper.read(&began, Path::new(path))?)));
    found.collect()
}

impl Validation {
    pub(crate) fn new(
        world: &Machine,
        asked: &Asked<'_>,
        environment: Vec<(OsString, Option<OsString>)>,
    ) -> Self {
        let phase = match asked.inquiry {
            Some(Inquiry::Preflight) => Phase::Preflight,
            _ => Phase::AfterWork,
        };
        let completion = asked.step.completion.as_ref();
        let looker = Looker::new(world, asked.state);
        let known = &asked.at.verdicts.verified;
        let same = asked.now.zip(known.workspace.as_deref()).is_some_and(|(now, then)| now.id == then.id)
            && known.stamp.is_some()
            && known.stamp == looker.stamp();
        let conditions: Vec<Condition> = completion.iter().flat_map(|it| it.asked(phase)).cloned().collect();
        // What failed may depend on more than the workspace, and is asked again; so are files, which may lie elsewhere, and to
        // look at which costs nothing.
        let keeps = |it: &ValidatorResult, run: &Run| {
            let is_command = matches!(run, Run::Command(_) | Run::Custom(_));
            same && phase == Phase::AfterWork && it.passed() && is_command
        };
        let kept = known.validators.iter().zip(&conditions);
        let kept = kept.map(|(it, asked)| keeps(it, &asked.validator.run).then(|| it.as_cached())).collect();
        let is_doubted = |it: &&Condition| {
            phase == Phase::Preflight
                && asked.step.check_wrap().is_none()
                && completion.is_some_and(|all| all.doubted.contains(&it.validator.name))
        };
        let doubted = completion.into_iter().flat_map(|it| &it.conditions).filter(is_doubted);
        Self {
            absent: doubted.filter_map(|it| validators::absent(&it.validator, &environment)).collect(),
            conditions,
            place: ValidatorContext {
                workspace: world.workspace.clone(),
                environment,
                wrap: asked.step.check_wrap().map(str::to_owned),
                limit: Duration::from_millis(asked.limit.0),
                output_max: OUTPUT_MAX,
                grace: world.grace,
                mark: format!("{}/{}", world.mark(), asked.due.step),
                hidden: world.own_paths(asked.state),
                scratch: world.artifacts.clone(),
                checklists: checklists(world, asked),
                base: world.branch.as_ref().and_then(|branch| branch.base.clone()),
                stop_at_first: completion.is_some_and(Completion::stops_at_first),
            },
            kept,
            looker,
            now: asked.now.cloned(),
        }
    }

    /// Runs the validators. One that changes the workspace has others, and itself, asked again: what holds has to
    /// hold for what is there in the end.
    pub(crate) async fn run(self, world: &Arc<Machine>, step: &Step, stop: StopSignal) -> (Outcome, Done) {
        let begun = std::time::Instant::now();
        let show = |line: &str| world.watcher.line(&step.id, line);
        let Self { conditions, place, absent, mut kept, mut looker, mut now } = self;
        let mut notes = Vec::new();
        let mut results = Vec::new();
        let mut unsettled_after = None;
        for round in 1..=ROUNDS_MAX {
            results = validators::run(
                &conditions,
                &place,
                std::mem::take(&mut kept),
                &world.blobs,
                &world.redactor,
                stop.clone(),
                show,
            )
            .await;
            let before = now;
            now = looker.look(world, &mut notes).await;
            let unchanged = before.as_ref().zip(now.as_ref()).is_none_or(|(a, b)| a.same_work(b));
            if unchanged || *stop.borrow() != StopRequest::Run {
                break;
            }
            if round == ROUNDS_MAX {
                unsettled_after = Some(round);
            } else {
                let note = "the validators changed the workspace and were asked again";
                if !notes.iter().any(|it| it == note) {
                    notes.push(note.to_owned());
                }
            }
        }
        results.extend(absent);
        let exit = if *stop.borrow() == StopRequest::Run { Exit::Code(0) } else { Exit::Stopped };
        let duration = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let outcome = Outcome { duration, notes, ..Outcome::of(exit) };
        // What was found while the workspace still changed is not to be kept for it.
        let stamp = blocking(move || looker.stamp()).await.filter(|_| unsettled_after.is_none());
        let snapshot = now.map(Box::new);
        (outcome, Done { validators: results, snapshot, stamp, unsettled_after, ..Done::default() })
    }
}
