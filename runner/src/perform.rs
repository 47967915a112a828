//! What it means to begin and to end a worker or a check on a real machine.
//!
//! Nothing here decides anything.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_adapters::artifacts;
use unstuck_adapters::blocking::blocking;
use unstuck_adapters::decision_file::{self, MovedAside};
use unstuck_adapters::process::StopSignal;
use unstuck_core::completion::Phase;
use unstuck_core::event::{
    CheckFinished, CheckStarted, DecisionFile, Exit, Inquiry, Outcome, Purpose, RunOutcome, WorkerFinished,
    WorkerStarted,
};
use unstuck_core::id::{CheckId, Iteration};
use unstuck_core::prompt::{self, FromRegistry};
use unstuck_core::state::StepState;
use unstuck_core::workflow::{Capability, Check, CheckBy, Step};
use unstuck_core::{Due, Observation, RunState};

use crate::branch_lock::BranchLock;
use crate::call::Tell;
use crate::job::{self, Asked, Done, Job, broken};
use crate::machine::{Machine, OWN_FOLDER};
use crate::scratch::Scratch;
use crate::seen::{After, Seen};
use crate::validation::Looker;
use crate::{baseline, prompts, seen};

/// An effect that is about to be performed.
pub struct Prepared {
    step: Step,
    due: Due,
    /// The check, and the id that its verdict carries; for a worker only where it is its own check.
    check: Option<(Check, CheckId)>,
    /// Who is asked; `None` for a worker.
    inquiry: Option<Inquiry>,
    /// Nothing more is run in this iteration, so the outputs are there.
    is_last: bool,
    job: Job,
    /// Why the workspace does not let it begin.
    in_the_way: Option<String>,
    notes: Vec<String>,
    context_dir: PathBuf,
    seen: Option<Seen>,
    /// A copy of the workspace that goes afterwards.
    copy: Option<Scratch>,
    /// What was asked.
    prompt: String,
    /// What of that are the worker's own words of the last time.
    said: String,
    /// Looks at the workspace after a closer, wherever that one worked.
    looker: Option<Looker>,
}

/// Says what is about to be begun, and what is needed to carry it out.
pub(crate) fn prepare(
    world: &Machine,
    state: &RunState,
    due: &Due,
    is_check: bool,
) -> io::Result<(Observation, Prepared)> {
    let (step, at) = state.step(&due.step).expect("effects name steps of the workflow");
    let inquiry = is_check.then_some(at.inquiry);
    let diagnoses = !is_check && at.purpose == Purpose::Diagnosis;
    let claims = !diagnoses && step.check.as_ref().is_some_and(|check| check.by == CheckBy::Claim);
    let asked = step.check.clone().filter(|_| is_check || claims);
    let check = asked.map(|check| (check, CheckId::new(uuid::Uuid::now_v7().to_string())));
    let id = check.as_ref().map(|(_, id)| id);
    let (text, registry) = text(state, step, at, inquiry, id);
    let mut notes = Vec::new();
    // Who only looks does so in a copy, which nobody compares.
    let looked = if diagnoses || only_looks(step, inquiry) {
        seen::copy(world, state).map(|copy| (None, Some(copy)))
    } else {
        seen::before(world, state, due, inquiry, &mut notes).map(|seen| (seen, None))
    };
    let decides = !diagnoses && matches!(inquiry, None | Some(Inquiry::Check));
    let moved = if decides { move_aside(world, step, id, is_check, &mut notes) } else { Ok(None) };
    let (moved_aside, in_the_way) = match moved {
        Ok(Some(old)) => (Some(world.put(&old)?), None),
        Ok(None) => (None, None),
        // A worker may have left anything there. That is its failure and not the machine's.
        Err(error) if world.workspace.is_dir() => (None, Some(error.to_string())),
        Err(_) => {
            (None, Some(format!("the workspace {} does not exist any more", world.workspace.display())))
        }
    };
    let ((seen, copy), in_the_way) = match looked {
        Ok(looked) => (looked, in_the_way),
        Err(why) => ((None, None), Some(in_the_way.unwrap_or(why))),
    };
    let limit = |phase| step.completion.as_ref().map_or(step.timeout, |it| it.limit(phase));
    let limit = match inquiry {
        Some(Inquiry::Preflight) => limit(Phase::Preflight),
        Some(Inquiry::Conditions) => limit(Phase::AfterWork),
        Some(Inquiry::Check) => check.as_ref().map_or(step.timeout, |(check, _)| check.timeout),
        Some(Inquiry::Closer) | None => step.timeout,
    };
    let before = seen.as_ref().map(Seen::before);
    // Without rules nothing is compared after a check; validators look themselves.
    let seen = seen.filter(|it| !is_check || it.has_rules());
    let asked = Asked {
        state,
        step,
        at,
        due,
        inquiry,
        check: check.as_ref(),
        prompt: &text,
        registry: &registry,
        limit,
        copy: copy.as_ref().map(Scratch::path),
        now: before.as_deref(),
    };
    let (job, call) = Job::new(world, &asked, &mut notes)?;
    let before = before.filter(|_| !is_check);
    let prompt = world.put(text.as_bytes())?;
    let templates = registry.files;
    let started = match (id, Due::clone(due)) {
        (Some(id), Due { step, iteration, attempt }) if is_check => Observation::CheckStarted(CheckStarted {
            step,
            iteration,
            attempt,
            check_id: id.clone(),
            prompt,
            limit,
            moved_aside,
            templates,
            call,
        }),
        (id, Due { step, iteration, attempt }) => Observation::WorkerStarted(WorkerStarted {
            step,
            iteration,
            attempt,
            prompt,
            limit,
            check_id: id.cloned(),
            moved_aside,
            templates,
            snapshot: before,
            call,
        }),
    };
    let context_dir = world.context_dir(state);
    let (step, due) = (step.clone(), due.clone());
    let claims = || step.check.as_ref().is_none_or(|it| it.by == CheckBy::Claim);
    let is_last = !diagnoses && inquiry.map_or_else(claims, |it| it != Inquiry::Preflight);
    let looker = (inquiry == Some(Inquiry::Closer)).then(|| Looker::new(world, state));
    let said = at.feedback.said.clone();
    let prepared = Prepared {
        step,
        due,
        check,
        inquiry,
        is_last,
        job,
        in_the_way,
        notes,
        context_dir,
        seen,
        copy,
        prompt: text,
        said,
        looker,
    };
    Ok((started, prepared))
}

/// Returns what is asked, and what of it a registry says; validators are asked nothing in words.
fn text(
    state: &RunState,
    step: &Step,
    at: &StepState,
    inquiry: Option<Inquiry>,
    id: Option<&CheckId>,
) -> (String, FromRegistry) {
    match (inquiry, id) {
        (None, id) => {
            let registry = prompts::of(state, step, at);
            (prompt::work(state, step, at, id, &registry), registry)
        }
        (Some(Inquiry::Check), Some(id)) => (prompt::check(state, step, at, id), FromRegistry::default()),
        (Some(Inquiry::Closer), _) => {
            let registry = prompts::of_closer(state, step, at);
            (registry.task.clone(), registry)
        }
        (Some(_), _) => (String::new(), FromRegistry::default()),
    }
}

/// Says whether a closer judges that may change nothing.
fn only_looks(step: &Step, inquiry: Option<Inquiry>) -> bool {
    let closer = step.checker(Inquiry::Closer).filter(|_| inquiry == Some(Inquiry::Closer));
    closer.is_some_and(|worker| !worker.capabilities.contains(&Capability::Edit))
}

/// Puts an old decision file out of the way before whoever writes it is started: the worker, where
/// a script checks (it may read what the worker wrote) or the worker checks itself; else the checker.
fn move_aside(
    world: &Machine,
    step: &Step,
    id: Option<&CheckId>,
    is_check: bool,
    notes: &mut Vec<String>,
) -> io::Result<Option<Vec<u8>>> {
    let Some(check) = &step.check else { return Ok(None) };
    if is_check != matches!(check.by, CheckBy::Agent(_)) {
        return Ok(None);
    }
    let Some(path) = decision_path(check, id) else { return Ok(None) };
    decision_file::prepare(&world.workspace, &path)?;
    let Some(moved) = decision_file::move_aside(&world.workspace, &path)? else { return Ok(None) };
    notes.extend(moved.note());
    Ok(match moved {
        MovedAside::Removed(bytes) => Some(bytes),
        MovedAside::LinkRemoved(_) | MovedAside::Renamed { .. } => None,
    })
}

pub(crate) fn decision_path(check: &Check, id: Option<&CheckId>) -> Option<PathBuf> {
    let path = match id {
        Some(id) => prompt::decision_file(check, id)?,
        None => check.decision_file.clone()?,
    };
    Some(PathBuf::from(path))
}

/// Carries out what was prepared.
pub(crate) async fn perform(
    world: Arc<Machine>,
    prepared: Prepared,
    stop: StopSignal,
    tell: Tell,
) -> Observation {
    let Prepared {
        step,
        due,
        check,
        inquiry,
        is_last,
        job,
        in_the_way,
        notes,
        context_dir,
        seen,
        copy,
        prompt,
        said,
        looker,
    } = prepared;
    let is_check = inquiry.is_some();
    let lock = world.branch_lock.as_ref().filter(|_| !is_check);
    let ready = in_the_way
        .map_or(Ok(()), Err)
        .and_then(|()| lock.map_or(Ok(()), BranchLock::check))
        .and_then(|()| inputs(&world, &step, is_check, &context_dir));
    let is_baseline = inquiry == Some(Inquiry::Check) && due.iteration == Iteration::BASELINE;
    let (mut outcome, done) = match ready {
        Err(why) => (broken(why), Done::default()),
        Ok(missing) => {
            let (mut outcome, done) = match job {
                Job::Checks(suite) if is_baseline => {
                    let (outcome, commands) = baseline::take(&world, &step, *suite, stop).await;
                    (outcome, Done { commands, ..Done::default() })
                }
                job => {
                    let telling = (due.clone(), tell);
                    job::run(&world, &step, job, stop, &context_dir, inquiry, telling).await
                }
            };
            outcome.notes.splice(0..0, missing);
            (outcome, done)
        }
    };
    outcome.notes.splice(0..0, notes);
    if let (Some(lock), None) = (lock, &outcome.fatal) {
        outcome.fatal = lock.check_after(&step.id, succeeded(&outcome)).err();
    }
    let stopped = outcome.exit.is_stopped();
    let decides = matches!(inquiry, None | Some(Inquiry::Check));
    let file =
        check.as_ref().filter(|_| decides && !stopped).and_then(|(check, id)| decision_path(check, Some(id)));
    let decision_file = match file {
        // A script may be asked again about what the worker wrote, so that stays.
        Some(path) if check.as_ref().is_some_and(|(check, _)| matches!(check.by, CheckBy::Exit(_))) => {
            decision_file::read(&world.workspace, &path)
        }
        Some(path) => read_and_tidy(&world.workspace, &path),
        None => DecisionFile::NotConfigured,
    };
    let now = match seen {
        Some(seen) => seen.after(&world, &step, &mut outcome).await,
        None => After::default(),
    };
    let asked = prompts::Asked { inquiry, iteration: due.iteration, prompt: &prompt, said: &said };
    let answer = prompts::answer(&step, &asked, &outcome, &decision_file);
    let done = match looker {
        Some(looker) => looker.end(&world, &mut outcome.notes).await,
        None => done,
    };
    if is_last && !stopped && (is_check || succeeded(&outcome)) {
        outputs(&world, &step, &context_dir, &mut outcome);
    }
    if let Some(copy) = copy {
        blocking(move || drop(copy)).await;
    }
    let Due { step, iteration, attempt } = due;
    match check {
        Some((_, check_id)) if is_check => Observation::CheckFinished(CheckFinished {
            step,
            iteration,
            attempt,
            check_id,
            outcome,
            decision_file,
            commands: done.commands,
            drift: now.drift.map(Box::new),
            validators: done.validators,
            snapshot: done.snapshot,
            stamp: done.stamp,
            answer,
        }),
        _ => Observation::WorkerFinished(WorkerFinished {
            step,
            iteration,
            attempt,
            outcome,
            decision_file,
            changed: now.changed,
            snapshot: now.snapshot,
            drift: now.drift.map(Box::new),
            diffstat: now.diffstat.map(Box::new),
            answer,
        }),
    }
}

fn succeeded(outcome: &Outcome) -> bool {
    match &outcome.exit {
        Exit::Code(code) => *code == 0,
        Exit::Settled => true,
        Exit::Child(child) => child.end == RunOutcome::Complete,
        _ => false,
    }
}

/// Reads a decision file. Its bytes are in the log then, so a file of our own folder goes: the workspace is
/// a person's.
fn read_and_tidy(workspace: &Path, path: &Path) -> DecisionFile {
    let file = decision_file::read(workspace, path);
    if path.parent() == Some(Path::new(OWN_FOLDER)) && matches!(file, DecisionFile::Read(_)) {
        let _moved = decision_file::move_aside(workspace, path);
    }
    file
}

fn inputs(world: &Machine, step: &Step, is_check: bool, context_dir: &Path) -> Result<Vec<String>, String> {
    if is_check || step.inputs.is_empty() {
        return Ok(Vec::new());
    }
    artifacts::copy_inputs(&world.workspace, context_dir, &step.inputs).map_err(|error| error.to_string())
}

fn outputs(world: &Machine, step: &Step, context_dir: &Path, outcome: &mut Outcome) {
    if step.outputs.is_empty() {
        return;
    }
    match artifacts::collect_outputs(&world.workspace, context_dir, &step.id, &step.outputs) {
        Ok(missing) => outcome.notes.extend(missing),
        Err(error) => outcome.fatal = Some(error.to_string()),
    }
}
