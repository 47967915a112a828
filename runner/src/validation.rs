//! Validators of a step: repeated until they leave the workspace unchanged.
//!
//! Their results are kept with the snapshot of the workspace and a stamp of all its files, ignored ones included. As
//! long as both are the same, down to HEAD and index, passed validators are not run again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unstuck_core::RunState;
use unstuck_core::completion::{Completion, Condition, Phase, Run};
use unstuck_core::effect::Turn;
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::evidence::ValidatorResult;
use unstuck_core::id::{Digest, Millis, StepId};
use unstuck_core::judge::conditions::Round;
use unstuck_core::snapshot::Snapshot;
use unstuck_evidence::validators::{self, OUTPUT_MAX, ValidatorContext};
use unstuck_process::blocking_task::blocking;
use unstuck_process::{StopRequest, StopSignal};
use unstuck_workspace::environment;
use unstuck_workspace::tree_stamp::stamp;

use crate::beginning::Beginning;
use crate::drift::look;
use crate::host::Host;
use crate::worker_process;

/// Results of validators.
#[derive(Default)]
pub(crate) struct Validated {
    pub(crate) results: Vec<ValidatorResult>,
    /// The workspace that they looked at.
    pub(crate) snapshot: Option<Box<Snapshot>>,
    /// A name for all files of it.
    pub(crate) stamp: Option<Digest>,
    /// Number of rounds, if validators changed the workspace in every one up to the maximum.
    pub(crate) unsettled_after: Option<u32>,
}

/// Validators to run, with their context.
pub(crate) struct Validation {
    conditions: Vec<Condition>,
    place: ValidatorContext,
    /// Results of later conditions that cannot run, as known before the first work.
    absent: Vec<ValidatorResult>,
    /// Results from the same workspace, at the positions of their conditions.
    kept: Vec<Option<ValidatorResult>>,
    looker: Looker,
    now: Option<Snapshot>,
}

/// Takes snapshots of the workspace after a check.
pub(crate) struct Looker {
    first: Option<Snapshot>,
    last: Option<Snapshot>,
    root: PathBuf,
    /// Paths to leave out of a stamp: Unstuck's own, and git's, which the snapshot covers.
    without: Vec<PathBuf>,
}

impl Looker {
    pub(crate) fn new(world: &Host, state: &RunState) -> Self {
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
    async fn look(&mut self, world: &Arc<Host>, notes: &mut Vec<String>) -> Option<Snapshot> {
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

    /// Returns a snapshot of the workspace in the end, and a name for all files of it.
    pub(crate) async fn end(
        mut self,
        world: &Arc<Host>,
        notes: &mut Vec<String>,
    ) -> (Option<Box<Snapshot>>, Option<Digest>) {
        let snapshot = self.look(world, notes).await.map(Box::new);
        (snapshot, blocking(move || self.stamp()).await)
    }
}

/// Returns the checklists of a step as it found them, as far as a snapshot has them.
fn checklists(begin: &Beginning<'_>) -> BTreeMap<String, Vec<u8>> {
    let (Some(keeper), Some(began)) = (&begin.world.snapshots, &begin.at.workspace.began_with) else {
        return BTreeMap::new();
    };
    let Some((began, _)) = keeper.base_of(began, &begin.at.workspace.gaps) else { return BTreeMap::new() };
    let conditions = begin.step.completion.iter().flat_map(|it| &it.conditions);
    let lists = conditions.filter_map(|condition| match &condition.validator.run {
        Run::Checklist(list) => Some(&list.path),
        _ => None,
    });
    let found = lists.filter_map(|path| Some((path.clone(), keeper.read(&began, Path::new(path))?)));
    found.collect()
}

impl Validation {
    pub(crate) fn new(begin: &Beginning<'_>, now: Option<&Snapshot>) -> io::Result<Self> {
        let Beginning { world, state, step, at, turn, .. } = *begin;
        let environment = environment::changes(&worker_process::environment(begin)?);
        let phase = if turn == Turn::Preflight { Phase::Preflight } else { Phase::AfterWork };
        let completion = step.completion.as_ref();
        let looker = Looker::new(world, state);
        let known = &at.verdicts.verified;
        let same = now.zip(known.workspace.as_deref()).is_some_and(|(now, then)| now.id == then.id)
            && known.stamp.is_some()
            && known.stamp == looker.stamp();
        let conditions: Vec<Condition> = completion.iter().flat_map(|it| it.asked(phase)).cloned().collect();
        // A failed validator is run again, since it may depend on more than the workspace. So are checks of files,
        // which may be outside the workspace and cost nothing.
        let keeps = |it: &ValidatorResult, run: &Run| {
            let is_command = matches!(run, Run::Command(_) | Run::Custom(_));
            same && phase == Phase::AfterWork && it.passed() && is_command
        };
        let kept = known.validators.iter().zip(&conditions);
        let kept = kept.map(|(it, asked)| keeps(it, &asked.validator.run).then(|| it.as_cached())).collect();
        let is_doubted = |it: &&Condition| {
            phase == Phase::Preflight
                && step.check_wrap().is_none()
                && completion.is_some_and(|all| all.doubted.contains(&it.validator.name))
        };
        let doubted = completion.into_iter().flat_map(|it| &it.conditions).filter(is_doubted);
        Ok(Self {
            absent: doubted.filter_map(|it| validators::absent(&it.validator, &environment)).collect(),
            conditions,
            place: ValidatorContext {
                workspace: world.workspace.clone(),
                environment,
                wrap: step.check_wrap().map(str::to_owned),
                limit: Duration::from_millis(begin.limit().0),
                output_max: OUTPUT_MAX,
                grace: world.grace,
                mark: format!("{}/{}", world.mark(), begin.due.step),
                hidden: world.own_paths(state),
                scratch: world.artifacts.clone(),
                checklists: checklists(begin),
                base: world.branch.as_ref().and_then(|branch| branch.base.clone()),
                stop_at_first: completion.is_some_and(Completion::stops_at_first),
            },
            kept,
            looker,
            now: now.cloned(),
        })
    }

    /// Runs the validators. One that changes the workspace has others, and itself, asked again: what holds has to
    /// hold for what is there in the end.
    pub(crate) async fn run(
        self,
        world: &Arc<Host>,
        step: &StepId,
        stop: StopSignal,
    ) -> (Outcome, Validated) {
        let begun = std::time::Instant::now();
        let show = |line: &str| world.watcher.line(step, line);
        let Self { conditions, place, absent, mut kept, mut looker, mut now } = self;
        let mut notes = Vec::new();
        let mut results = Vec::new();
        let mut unsettled_after = None;
        for number in 1.. {
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
            if *stop.borrow() != StopRequest::Run {
                break;
            }
            match Round::after(number, before.as_ref(), now.as_ref()) {
                Round::Settled => break,
                Round::Again => {
                    let note = "the validators changed the workspace and were asked again";
                    if !notes.iter().any(|said| said == note) {
                        notes.push(note.to_owned());
                    }
                }
                Round::Unsettled => {
                    unsettled_after = Some(number);
                    break;
                }
            }
        }
        results.extend(absent);
        let exit = if *stop.borrow() == StopRequest::Run { Exit::Code(0) } else { Exit::Stopped };
        let duration = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let outcome = Outcome { duration, notes, ..Outcome::of(exit) };
        // Results from a workspace that was still changing must not be reused.
        let stamp = blocking(move || looker.stamp()).await.filter(|_| unsettled_after.is_none());
        let snapshot = now.map(Box::new);
        (outcome, Validated { results, snapshot, stamp, unsettled_after })
    }
}
