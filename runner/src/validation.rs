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
use unstuck_core::completion::{Completion, Condition, Timing, ValidatorKind};
use unstuck_core::effect::Turn;
use unstuck_core::event::{Exit, Outcome};
use unstuck_core::evidence::ValidatorResult;
use unstuck_core::id::{Digest, Millis, StepId};
use unstuck_core::judge::conditions::Round;
use unstuck_core::snapshot::Snapshot;
use unstuck_evidence::validators::{self, OUTPUT_MAX, ValidatorContext};
use unstuck_process::blocking_task::blocking;
use unstuck_process::{StopReceiver, StopRequest};
use unstuck_workspace::environment;
use unstuck_workspace::tree_stamp::stamp;

use crate::host::Host;
use crate::turn_start::TurnStart;
use crate::worker_process;
use crate::workspace_diff::take_snapshot;

/// Results of validators.
#[derive(Default)]
pub(crate) struct ValidationResults {
    pub(crate) results: Vec<ValidatorResult>,
    /// The workspace that they looked at.
    pub(crate) snapshot: Option<Box<Snapshot>>,
    /// A name for all files of it.
    pub(crate) stamp: Option<Digest>,
    /// Number of rounds, if validators changed the workspace in every one up to the maximum.
    pub(crate) unsettled_after: Option<u32>,
}

/// Validators to run, with their context.
pub(crate) struct ValidationRun {
    conditions: Vec<Condition>,
    place: ValidatorContext,
    /// Results of later conditions that cannot run, as known before the first work.
    absent: Vec<ValidatorResult>,
    /// Results from the same workspace, at the positions of their conditions.
    kept: Vec<Option<ValidatorResult>>,
    probe: WorkspaceProbe,
    now: Option<Snapshot>,
}

/// Takes snapshots of the workspace after a check.
pub(crate) struct WorkspaceProbe {
    first: Option<Snapshot>,
    last: Option<Snapshot>,
    root: PathBuf,
    /// Paths to leave out of a stamp: Unstuck's own, and git's, which the snapshot covers.
    without: Vec<PathBuf>,
}

impl WorkspaceProbe {
    pub(crate) fn new(host: &Host, state: &RunState) -> Self {
        let mut without = host.own_paths(state);
        without.push(host.workspace.join(".git"));
        Self {
            first: state.first_snapshot().cloned(),
            last: state.last_snapshot().cloned(),
            root: host.workspace.clone(),
            without,
        }
    }

    fn stamp(&self) -> Option<Digest> {
        stamp(&self.root, &self.without)
    }

    /// Takes a snapshot; `None` with a note where that cannot be done.
    async fn take(&mut self, host: &Arc<Host>, notes: &mut Vec<String>) -> Option<Snapshot> {
        let (host, first, last) = (Arc::clone(host), self.first.clone(), self.last.clone());
        match blocking(move || take_snapshot(&host, first.as_ref(), last.as_ref())).await {
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
        host: &Arc<Host>,
        notes: &mut Vec<String>,
    ) -> (Option<Box<Snapshot>>, Option<Digest>) {
        let snapshot = self.take(host, notes).await.map(Box::new);
        (snapshot, blocking(move || self.stamp()).await)
    }
}

/// Returns the checklists of a step as it found them, as far as a snapshot has them.
fn checklists(start: &TurnStart<'_>) -> BTreeMap<String, Vec<u8>> {
    let (Some(keeper), Some(began)) = (&start.host.snapshots, &start.at.workspace.began_with) else {
        return BTreeMap::new();
    };
    let Some((began, _)) = keeper.base_of(began, &start.at.workspace.gaps) else { return BTreeMap::new() };
    let conditions = start.step.completion.iter().flat_map(|completion| &completion.conditions);
    let lists = conditions.filter_map(|condition| match &condition.validator.run {
        ValidatorKind::Checklist(list) => Some(&list.path),
        _ => None,
    });
    let found = lists.filter_map(|path| Some((path.clone(), keeper.read(&began, Path::new(path))?)));
    found.collect()
}

impl ValidationRun {
    pub(crate) fn new(start: &TurnStart<'_>, now: Option<&Snapshot>) -> io::Result<Self> {
        let TurnStart { host, state, step, at, turn, .. } = *start;
        let environment = environment::changes(&worker_process::environment(start)?);
        let phase = if turn == Turn::Preflight { Timing::Preflight } else { Timing::AfterWork };
        let completion = step.completion.as_ref();
        let probe = WorkspaceProbe::new(host, state);
        let known = &at.verdicts.verified;
        let same = now.zip(known.workspace.as_deref()).is_some_and(|(now, then)| now.id == then.id)
            && known.stamp.is_some()
            && known.stamp == probe.stamp();
        let conditions: Vec<Condition> =
            completion.iter().flat_map(|completion| completion.conditions_in(phase)).cloned().collect();
        // A failed validator is run again, since it may depend on more than the workspace. So are checks of files,
        // which may be outside the workspace and cost nothing.
        let keeps = |result: &ValidatorResult, run: &ValidatorKind| {
            let is_command = matches!(run, ValidatorKind::Command(_) | ValidatorKind::Custom(_));
            same && phase == Timing::AfterWork && result.passed() && is_command
        };
        let kept = known.validators.iter().zip(&conditions);
        let kept = kept
            .map(|(result, asked)| keeps(result, &asked.validator.run).then(|| result.as_cached()))
            .collect();
        let is_doubted = |condition: &&Condition| {
            phase == Timing::Preflight
                && step.check_wrap().is_none()
                && completion.is_some_and(|all| all.doubted.contains(&condition.validator.name))
        };
        let doubted = completion.into_iter().flat_map(|completion| &completion.conditions).filter(is_doubted);
        Ok(Self {
            absent: doubted
                .filter_map(|doubted| validators::absent(&doubted.validator, &environment))
                .collect(),
            conditions,
            place: ValidatorContext {
                workspace: host.workspace.clone(),
                environment,
                wrap: step.check_wrap().map(str::to_owned),
                limit: Duration::from_millis(start.limit().0),
                output_max: OUTPUT_MAX,
                grace: host.grace,
                mark: format!("{}/{}", host.mark(), start.due.step),
                hidden: host.own_paths(state),
                scratch: host.artifacts.clone(),
                checklists: checklists(start),
                base: host.branch.as_ref().and_then(|branch| branch.base.clone()),
                stop_at_first: completion.is_some_and(Completion::stops_at_first),
            },
            kept,
            probe,
            now: now.cloned(),
        })
    }

    /// Runs the validators. One that changes the workspace has others, and itself, asked again: what holds has to
    /// hold for what is there in the end.
    pub(crate) async fn run(
        self,
        host: &Arc<Host>,
        step: &StepId,
        stop: StopReceiver,
    ) -> (Outcome, ValidationResults) {
        let begun = std::time::Instant::now();
        let show = |line: &str| host.listener.line(step, line);
        let Self { conditions, place, absent, mut kept, mut probe, mut now } = self;
        let mut notes = Vec::new();
        let mut results = Vec::new();
        let mut unsettled_after = None;
        for number in 1.. {
            results = validators::run(
                &conditions,
                &place,
                std::mem::take(&mut kept),
                &host.blobs,
                &host.redactor,
                stop.clone(),
                show,
            )
            .await;
            let before = now;
            now = probe.take(host, &mut notes).await;
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
        let outcome = Outcome { duration, notes, ..Outcome::from_exit(exit) };
        // Results from a workspace that was still changing must not be reused.
        let stamp = blocking(move || probe.stamp()).await.filter(|_| unsettled_after.is_none());
        let snapshot = now.map(Box::new);
        (outcome, ValidationResults { results, snapshot, stamp, unsettled_after })
    }
}
