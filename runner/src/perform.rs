//! What it means to begin and to end a worker or a check on a real machine.
//!
//! Nothing here decides anything.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::completion::Phase;
use unstuck_core::event::{
    Call, CheckFinished, CheckStarted, DecisionFile, Exit, Inquiry, Outcome, Purpose, RunOutcome,
    WorkerFinished, WorkerStarted,
};
use unstuck_core::evidence::AnswerSeen;
use unstuck_core::id::{Blob, CheckId, Iteration, Millis};
use unstuck_core::judge::declaration::wants_repeat;
use unstuck_core::prompt::{self, FromRegistry};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::workflow::{Capability, Check, CheckBy, Step};
use unstuck_core::{Due, Observation, RunState};
use unstuck_evidence::decision_file::{self, MovedAside};
use unstuck_files::private_dir::PrivateDir;
use unstuck_process::StopSignal;
use unstuck_process::blocking_task::blocking;
use unstuck_workspace::artifacts;

use crate::branch_lock::BranchLock;
use crate::call::Tell;
use crate::copies::{self, Copied};
use crate::job::{self, Asked, Done, Job, broken};
use crate::left_by_worker::LeftByWorker;
use crate::machine::{Machine, OWN_FOLDER};
use crate::scratch::Scratch;
use crate::seen::{After, Seen};
use crate::validation::Looker;
use crate::watched::Watched;
use crate::{baseline, prompts, seen};

/// An effect that is about to be performed.
pub struct Prepared {
    task: Task,
    job: Job,
    seen: Option<Seen>,
    /// A copy of the workspace that goes afterwards.
    copy: Option<Scratch>,
    /// Looks at the workspace after a closer, wherever that one worked.
    looker: Option<Looker>,
    /// The workspace before a check that nobody else works beside.
    watched: Option<Watched>,
}

/// What is known of an effect from its beginning to its end.
struct Task {
    step: Step,
    due: Due,
    /// The check, and the id that its verdict carries.
    check: Option<(Check, CheckId)>,
    /// Who is asked; `None` for a worker.
    inquiry: Option<Inquiry>,
    /// Nothing more is run in this iteration, so the outputs are there.
    is_last: bool,
    /// Why the workspace does not let it begin.
    in_the_way: Option<String>,
    notes: Vec<String>,
    context: PrivateDir,
    /// What was asked.
    prompt: String,
    /// What of that are the worker's own words of the last time.
    said: String,
}

/// What is asked of whoever works or checks, and the check that is asked for.
pub struct Question {
    text: String,
    /// The same without secrets, as it is kept.
    pub(crate) kept: Vec<u8>,
    registry: FromRegistry,
    /// The check, and the id that its verdict carries.
    check: Option<(Check, CheckId)>,
}

impl Question {
    pub(crate) fn new(world: &Machine, state: &RunState, due: &Due, is_check: bool) -> Self {
        let (step, at) = state.step(&due.step).expect("effects name steps of the workflow");
        let inquiry = is_check.then_some(at.verdicts.inquiry);
        let check = check_of(step, is_check, !is_check && at.purpose == Purpose::Diagnosis);
        let id = check.as_ref().map(|(_, id)| id);
        let (text, registry) = text(world, state, step, at, inquiry, id);
        let kept = world.redactor.redact_bytes(text.as_bytes()).0.into_owned();
        Self { text, kept, registry, check }
    }
}

/// Says what is about to be begun, and what is needed to carry it out.
pub(crate) fn prepare(
    world: &Machine,
    state: &RunState,
    due: &Due,
    is_check: bool,
    Question { text, registry, check, .. }: Question,
    prompt: Blob,
) -> io::Result<(Observation, Prepared)> {
    let (step, at) = state.step(&due.step).expect("effects name steps of the workflow");
    let inquiry = is_check.then_some(at.verdicts.inquiry);
    let diagnoses = !is_check && at.purpose == Purpose::Diagnosis;
    let id = check.as_ref().map(|(_, id)| id);
    let mut notes = Vec::new();
    let limit = limit_of(step, check.as_ref(), inquiry);
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
        copy: None,
        now: None,
    };
    let Ready { aside, looked, before, job, call } = make_ready(world, asked, &mut notes)?;
    let begun = Begun {
        prompt,
        limit,
        moved_aside: aside.kept,
        templates: registry.files,
        call,
        snapshot: before.filter(|_| !is_check),
    };
    let started = started(due, is_check, id, begun);
    let task = Task {
        is_last: is_last(step, inquiry, diagnoses),
        step: step.clone(),
        due: due.clone(),
        check,
        inquiry,
        in_the_way: aside.in_the_way.or(looked.in_the_way),
        notes,
        context: world.context(state),
        prompt: text,
        said: at.feedback.said.clone(),
    };
    let watched_from = looked.seen.as_ref().map(Seen::before);
    let prepared = Prepared {
        task,
        job,
        // Without rules nothing is compared after a check; validators look themselves.
        seen: looked.seen.filter(|it| !is_check || it.has_rules()),
        copy: looked.copy,
        watched: Watched::of(world, state, step, inquiry, watched_from),
        looker: (inquiry == Some(Inquiry::Closer)).then(|| Looker::new(world, state)),
    };
    Ok((started, prepared))
}

/// What is needed to carry out an effect.
struct Ready {
    aside: Aside,
    looked: Looked,
    /// The workspace, where somebody has looked.
    before: Option<Box<Snapshot>>,
    job: Job,
    call: Option<Box<Call>>,
}

/// Puts out of the way what is old, looks at the workspace, and gets ready what is to be run there.
fn make_ready(world: &Machine, asked: Asked<'_>, notes: &mut Vec<String>) -> io::Result<Ready> {
    let Asked { state, step, at, due, inquiry, .. } = asked;
    let is_check = inquiry.is_some();
    let diagnoses = !is_check && at.purpose == Purpose::Diagnosis;
    let (aside, looked) = match world.led_away() {
        why @ Some(_) => (Aside { kept: None, in_the_way: why }, Looked::default()),
        None => {
            // Before anybody looks: a folder that is made for a verdict is nobody's change either.
            let decides = !diagnoses && matches!(inquiry, None | Some(Inquiry::Check));
            let id = asked.check.map(|(_, id)| id);
            let aside =
                if decides { put_aside(world, step, due, id, is_check, notes)? } else { Aside::default() };
            (aside, looked(world, state, due, (inquiry, diagnoses), notes))
        }
    };
    let before = looked.seen.as_ref().map(Seen::before);
    let asked = Asked { copy: looked.copy.as_ref().map(Scratch::path), now: before.as_deref(), ..asked };
    let (job, call) = Job::new(world, &asked, notes)?;
    Ok(Ready { aside, looked, before, job, call })
}

/// Returns the check whose verdict is asked for, of the checker or of a worker that is its own, with a fresh id.
fn check_of(step: &Step, is_check: bool, diagnoses: bool) -> Option<(Check, CheckId)> {
    let claims = |check: &Check| !diagnoses && check.by == CheckBy::Claim;
    let asked = step.check.clone().filter(|check| is_check || claims(check));
    asked.map(|check| (check, CheckId::new(uuid::Uuid::now_v7().to_string())))
}

/// The workspace before something is begun in it.
#[derive(Default)]
struct Looked {
    seen: Option<Seen>,
    copy: Option<Scratch>,
    in_the_way: Option<String>,
}

/// Looks at the workspace, or makes a copy of it for whoever only looks, which nobody compares.
fn looked(
    world: &Machine,
    state: &RunState,
    due: &Due,
    (inquiry, diagnoses): (Option<Inquiry>, bool),
    notes: &mut Vec<String>,
) -> Looked {
    let (step, _) = state.step(&due.step).expect("effects name steps of the workflow");
    let looked = if diagnoses || only_looks(step, inquiry) {
        seen::copy(world, state).map(|copy| Looked { copy: Some(copy), ..Looked::default() })
    } else {
        seen::before(world, state, due, inquiry, notes).map(|seen| Looked { seen, ..Looked::default() })
    };
    looked.unwrap_or_else(|why| Looked { in_the_way: Some(why), ..Looked::default() })
}

/// An old decision file that is out of the way, or what keeps it there.
#[derive(Default)]
struct Aside {
    kept: Option<Blob>,
    in_the_way: Option<String>,
}

/// Puts an old decision file out of the way, and keeps what was in it.
fn put_aside(
    world: &Machine,
    step: &Step,
    due: &Due,
    id: Option<&CheckId>,
    is_check: bool,
    notes: &mut Vec<String>,
) -> io::Result<Aside> {
    let has_worked = due.iteration > if is_check { Iteration::BASELINE } else { Iteration(1) };
    // What a worker has made there is no folder of ours, and nobody's verdict either.
    let cleared = if has_worked { decision_file::clear_way(&world.workspace, OWN_FOLDER) } else { Ok(None) };
    let moved = cleared.and_then(|note| {
        notes.extend(note);
        move_aside(world, step, id, is_check, notes)
    });
    let why = match moved {
        Ok(old) => {
            let kept = old.map(|old| world.put(&old)).transpose()?;
            return Ok(Aside { kept, in_the_way: None });
        }
        // A worker has put a link or a file there. Nothing is read through it, so nothing that is old counts, and the worker
        // is told.
        Err(error) if has_worked && decision_file::leads_nowhere(&error) && world.workspace.is_dir() => {
            notes.push(error.to_string());
            return Ok(Aside::default());
        }
        // A worker may have left anything there. That is its failure and not the machine's.
        Err(error) if world.workspace.is_dir() => error.to_string(),
        Err(_) => format!("the workspace {} does not exist any more", world.workspace.display()),
    };
    Ok(Aside { kept: None, in_the_way: Some(why) })
}

fn limit_of(step: &Step, check: Option<&(Check, CheckId)>, inquiry: Option<Inquiry>) -> Millis {
    let of_phase = |phase| step.completion.as_ref().map_or(step.timeout, |it| it.limit(phase));
    match inquiry {
        Some(Inquiry::Preflight) => of_phase(Phase::Preflight),
        Some(Inquiry::Conditions) => of_phase(Phase::AfterWork),
        Some(Inquiry::Check) => check.map_or(step.timeout, |(check, _)| check.timeout),
        Some(Inquiry::Closer) | None => step.timeout,
    }
}

/// Says whether nothing more is run in this iteration.
fn is_last(step: &Step, inquiry: Option<Inquiry>, diagnoses: bool) -> bool {
    let claims = || step.check.as_ref().is_none_or(|it| it.by == CheckBy::Claim);
    !diagnoses && inquiry.map_or_else(claims, |it| it != Inquiry::Preflight)
}

/// What is recorded of a beginning, of a worker as of a check.
struct Begun {
    prompt: Blob,
    limit: Millis,
    moved_aside: Option<Blob>,
    templates: Vec<String>,
    call: Option<Box<Call>>,
    snapshot: Option<Box<Snapshot>>,
}

fn started(due: &Due, is_check: bool, id: Option<&CheckId>, begun: Begun) -> Observation {
    let Due { step, iteration, attempt } = due.clone();
    let Begun { prompt, limit, moved_aside, templates, call, snapshot } = begun;
    match id {
        Some(id) if is_check => Observation::CheckStarted(CheckStarted {
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
        id => Observation::WorkerStarted(WorkerStarted {
            step,
            iteration,
            attempt,
            prompt,
            limit,
            check_id: id.cloned(),
            moved_aside,
            templates,
            snapshot,
            call,
        }),
    }
}

/// Returns what is asked, and what of it a registry says; validators are asked nothing in words.
fn text(
    world: &Machine,
    state: &RunState,
    step: &Step,
    at: &StepState,
    inquiry: Option<Inquiry>,
    id: Option<&CheckId>,
) -> (String, FromRegistry) {
    match (inquiry, id) {
        (None, id) => {
            let registry = prompts::of(state, step, at, &*world.blobs);
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
    let is_asked_again = is_check && matches!(check.by, CheckBy::Exit(_));
    if is_check != matches!(check.by, CheckBy::Agent(_)) && !is_asked_again {
        return Ok(None);
    }
    let Some(path) = decision_path(check, id) else { return Ok(None) };
    let left = LeftByWorker::of(world, step);
    if is_asked_again {
        return left.restore(&path);
    }
    left.forget();
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
    let Prepared { task, mut job, seen, copy, looker, watched } = prepared;
    let witness = watched.map(|watched| watched.witness(&world));
    if let Job::Checks(suite, _) = &mut job {
        suite.witness.clone_from(&witness);
    }
    let (mut outcome, done) = task.carry_out(&world, job, stop.clone(), tell).await;
    let is_led_away = world.led_away().is_some();
    let decision_file = task.verdict_file(&world, is_led_away || outcome.exit.is_stopped());
    let now = match seen {
        Some(seen) if !is_led_away => seen.after(&world, &task.step, &mut outcome).await,
        _ => After::default(),
    };
    let answer = task.answer(&outcome, &decision_file);
    let mut done = match looker {
        Some(looker) => looker.end(&world, &mut outcome.notes).await,
        None => done,
    };
    if let Some(witness) = witness {
        done.changed = witness.look().await;
    }
    task.collect_outputs(&world, &mut outcome, stop).await;
    if let Some(copy) = copy {
        blocking(move || drop(copy)).await;
    }
    task.ended(outcome, decision_file, answer, now, done)
}

impl Task {
    fn is_check(&self) -> bool {
        self.inquiry.is_some()
    }

    /// Runs it, unless something is in its way, and holds it to its branch.
    async fn carry_out(
        &self,
        world: &Arc<Machine>,
        job: Job,
        stop: StopSignal,
        tell: Tell,
    ) -> (Outcome, Done) {
        let lock = world.branch_lock.as_ref().filter(|_| !self.is_check());
        let (mut outcome, done) = match self.ready(world, lock, stop.clone()).await {
            Copied::Refused(why) => (broken(why), Done::default()),
            Copied::Stopped => (Outcome::of(Exit::Stopped), Done::default()),
            Copied::Done(missing) => {
                let (mut outcome, done) = self.run(world, job, stop, tell).await;
                outcome.notes.splice(0..0, missing);
                // What is read from here on would be somebody else's.
                outcome.fatal = outcome.fatal.or_else(|| world.led_away());
                (outcome, done)
            }
        };
        outcome.notes.splice(0..0, self.notes.iter().cloned());
        if let (Some(lock), None) = (lock, &outcome.fatal) {
            outcome.fatal = lock.check_after(&self.step.id, succeeded(&outcome)).err();
        }
        (outcome, done)
    }

    /// Copies the inputs, and tells which of them are missing; or says why it cannot begin.
    async fn ready(&self, world: &Arc<Machine>, lock: Option<&BranchLock>, stop: StopSignal) -> Copied {
        let held = lock.map_or(Ok(()), BranchLock::check);
        if let Some(why) = self.in_the_way.clone().or(held.err()) {
            return Copied::Refused(why);
        }
        if self.is_check() || self.step.inputs.is_empty() {
            return Copied::Done(Vec::new());
        }
        let (workspace, inputs) = (world.workspace.clone(), self.step.inputs.clone());
        let copy = move |context: &PrivateDir, is_stopped: artifacts::IsStopped<'_>| {
            artifacts::copy_inputs(&workspace, context, &inputs, is_stopped)
        };
        copies::run(self.context.clone(), self.context.clone(), stop, copy).await
    }

    async fn run(&self, world: &Arc<Machine>, job: Job, stop: StopSignal, tell: Tell) -> (Outcome, Done) {
        let is_baseline = self.inquiry == Some(Inquiry::Check) && self.due.iteration == Iteration::BASELINE;
        match job {
            Job::Checks(suite, _) if is_baseline => {
                let (outcome, commands) = baseline::take(world, &self.step, *suite, stop).await;
                (outcome, Done { commands, ..Done::default() })
            }
            job => {
                let telling = (self.due.clone(), tell);
                job::run(world, &self.step, job, stop, &self.context, self.inquiry, telling).await
            }
        }
    }

    /// Reads the decision file, where one was to be written.
    fn verdict_file(&self, world: &Machine, is_unasked: bool) -> DecisionFile {
        let decides = matches!(self.inquiry, None | Some(Inquiry::Check));
        let check = self.check.as_ref().filter(|_| decides && !is_unasked);
        let Some((check, path)) =
            check.and_then(|(check, id)| Some((check, decision_path(check, Some(id))?)))
        else {
            return DecisionFile::NotConfigured;
        };
        match check.by {
            // A script may be asked again about what the worker wrote, so that stays.
            CheckBy::Exit(_) => decision_file::read(&world.workspace, &path),
            _ => read_and_tidy(&world.workspace, &path),
        }
    }

    /// Returns what the answer says, where it has to have a form.
    fn answer(&self, outcome: &Outcome, decision_file: &DecisionFile) -> Option<Box<AnswerSeen>> {
        let asked = prompts::Asked {
            inquiry: self.inquiry,
            iteration: self.due.iteration,
            prompt: &self.prompt,
            said: &self.said,
        };
        prompts::answer(&self.step, &asked, outcome, decision_file)
    }

    async fn collect_outputs(&self, world: &Arc<Machine>, outcome: &mut Outcome, stop: StopSignal) {
        let has_ended = outcome.fatal.is_none() && !outcome.exit.is_stopped();
        let is_done = has_ended && (self.is_check() || succeeded(outcome));
        if !self.is_last || !is_done || self.step.outputs.is_empty() {
            return;
        }
        let (workspace, step) = (world.workspace.clone(), self.step.clone());
        let copy = move |context: &PrivateDir, is_stopped: artifacts::IsStopped<'_>| {
            artifacts::collect_outputs(&workspace, context, &step.id, &step.outputs, is_stopped)
        };
        let own = self.context.join(self.step.id.as_str());
        copies::run(self.context.clone(), own, stop, copy).await.note(outcome);
    }

    /// Returns what is recorded of its end.
    fn ended(
        self,
        outcome: Outcome,
        decision_file: DecisionFile,
        answer: Option<Box<AnswerSeen>>,
        now: After,
        done: Done,
    ) -> Observation {
        let is_check = self.is_check();
        let Due { step, iteration, attempt } = self.due;
        match self.check {
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
                unsettled_after: done.unsettled_after,
                changed: done.changed,
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
                wants_repeat: wants_repeat(answer.as_deref()),
                answer,
            }),
        }
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
