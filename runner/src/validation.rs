//! The validators of a step: run until the workspace that they looked at is the one that is there.
//!
//! What they found is kept with the snapshot of the workspace and a stamp of all its files, ignored ones too. As long
//! as both are the same, down to HEAD and index, nothing is run again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use unstuck_adapters::blocking::blocking;
use unstuck_adapters::process::{Stop, StopSignal};
use unstuck_adapters::stamp::stamp;
use unstuck_adapters::validators::{self, Place};
use unstuck_core::completion::{Condition, Phase};
use unstuck_core::event::{Exit, Inquiry, Outcome};
use unstuck_core::id::{Digest, Millis};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::validator::{ValidatorOutcome, ValidatorResult};
use unstuck_core::workflow::Step;

use crate::job::{Asked, Done};
use crate::machine::{Machine, OWN_FOLDER};
use crate::seen::look;

/// So often validators are run until none of them changes the workspace any more.
const ROUNDS_MAX: u32 = 3;

/// What is to be validated.
pub(crate) struct Validation {
    conditions: Vec<Condition>,
    place: Place,
    /// What was found when the workspace was the same.
    kept: Option<Arc<[ValidatorResult]>>,
    /// The stamp that they were found with.
    stamp: Option<Digest>,
    first: Option<Snapshot>,
    now: Option<Snapshot>,
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
        let known = &asked.at.verified;
        let is_known = |it: &ValidatorResult| !matches!(it.outcome, ValidatorOutcome::CouldNotRun(_));
        let same = phase == Phase::AfterWork
            && asked.now.zip(known.workspace.as_deref()).is_some_and(|(now, then)| now.id == then.id);
        let hidden = vec![world.context_dir(asked.state), world.workspace.join(OWN_FOLDER)];
        let same = same
            && !known.validators.is_empty()
            && known.validators.iter().all(is_known)
            && known.stamp.is_some()
            && known.stamp == stamp_of(&world.workspace, &hidden);
        let kept = same.then(|| Arc::clone(&known.validators));
        Self {
            conditions: completion.iter().flat_map(|it| it.asked(phase)).cloned().collect(),
            place: Place {
                workspace: world.workspace.clone(),
                environment,
                limit: Duration::from_millis(asked.limit.0),
                grace: world.grace,
                mark: format!("{}/{}", world.mark(), asked.due.step),
                hidden,
                scratch: world.artifacts.clone(),
                base: world.branch.as_ref().and_then(|branch| branch.base.clone()),
                stop_at_first: completion.is_some_and(|it| it.stop_at_first),
            },
            kept,
            stamp: known.stamp,
            first: asked.state.first_snapshot().cloned(),
            now: asked.now.cloned(),
        }
    }

    /// Runs the validators. One that changes the workspace has others, and itself, asked again: what holds has to
    /// hold for what is there in the end.
    pub(crate) async fn run(self, world: &Arc<Machine>, step: &Step, stop: StopSignal) -> (Outcome, Done) {
        let begun = std::time::Instant::now();
        if let Some(kept) = self.kept {
            let validators = kept.iter().map(|it| ValidatorResult { cached: true, ..it.clone() }).collect();
            let (snapshot, stamp) = (self.now.map(Box::new), self.stamp);
            return (Outcome::of(Exit::Code(0)), Done { validators, snapshot, stamp, ..Done::default() });
        }
        let show = |line: &str| world.watcher.line(&step.id, line);
        let mut now = self.now;
        let mut notes = Vec::new();
        let mut results = Vec::new();
        for round in 1..=ROUNDS_MAX {
            results = validators::run(
                &self.conditions,
                &self.place,
                &*world.blobs,
                &world.redactor,
                stop.clone(),
                show,
            )
            .await;
            let before = now;
            now = look_again(world, self.first.as_ref(), before.as_ref(), &mut notes).await;
            let unchanged = before.as_ref().zip(now.as_ref()).is_none_or(|(a, b)| a.same_work(b));
            if unchanged || *stop.borrow() != Stop::Run {
                break;
            }
            if round == ROUNDS_MAX {
                let why = "the validators change the workspace each time they run: have them ignored by git what they write";
                for result in results.iter_mut().filter(|it| it.outcome == ValidatorOutcome::Pass) {
                    result.outcome = ValidatorOutcome::CouldNotRun(why.to_owned());
                }
            } else {
                notes.push("the validators changed the workspace and were asked again".to_owned());
            }
        }
        let exit = if *stop.borrow() == Stop::Run { Exit::Code(0) } else { Exit::Stopped };
        let duration = Millis(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let outcome = Outcome { duration, notes, ..Outcome::of(exit) };
        let (root, hidden) = (self.place.workspace, self.place.hidden);
        let stamp = blocking(move || stamp_of(&root, &hidden)).await;
        (outcome, Done { validators: results, snapshot: now.map(Box::new), stamp, ..Done::default() })
    }
}

/// Says what all files are but those of git, which the snapshot tells of, and ours.
fn stamp_of(root: &Path, hidden: &[PathBuf]) -> Option<Digest> {
    let without: Vec<PathBuf> = hidden.iter().cloned().chain([root.join(".git")]).collect();
    stamp(root, &without)
}

async fn look_again(
    world: &Arc<Machine>,
    first: Option<&Snapshot>,
    last: Option<&Snapshot>,
    notes: &mut Vec<String>,
) -> Option<Snapshot> {
    let (world, first, last) = (Arc::clone(world), first.cloned(), last.cloned());
    match blocking(move || look(&world, first.as_ref(), last.as_ref())).await {
        Ok(now) => now.map(|now| *now),
        Err(why) => {
            notes.push(format!("no snapshot was taken after the validators: {why}"));
            None
        }
    }
}
