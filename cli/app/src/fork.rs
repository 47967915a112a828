//! A new run that shares the first events of another one and continues under another policy.

use std::collections::BTreeMap;
use std::io::{self, Seek as _};
use std::path::Path;
use std::sync::Arc;

use unstuck_core::event::{ForkPoint, RunOutcome, RunResumed, RunStarted};
use unstuck_core::id::{RunId, Seq};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::StepState;
use unstuck_core::text::shell::quote_word;
use unstuck_core::{Conclusion, Event, Fact, Observation, Rejection, RunState};
use unstuck_files::error::with_causes;
use unstuck_replay::RunSummary;
use unstuck_replay::snapshots as recorded;
use unstuck_runner::open::{self, ForkOrigin, ResumeKind};
use unstuck_store::lease::now;
use unstuck_store::store::RunEntry;
use unstuck_store::store::Store as _;
use unstuck_store::{EventStore as _, transfer};
use unstuck_workspace::worktree::{self, CheckoutPart, Worktree};

use crate::branches::RecordedBranch;
use crate::drive::{Drive, DriveStart, Terms};
use crate::error::{AppError, Result};
use crate::launch_errors::{into_app_error, snapshot_error};
use crate::person::Person;
use crate::project::ProjectRuns;
use crate::resume::{self, ReadyRun, Resume};
use crate::run_handle::RunHandle;
use crate::run_revision::{self, IterationSide, RecordedSnapshots, Revision};
use crate::{access, listing, next, verify, worktrees};

/// A request to fork a run.
#[derive(Clone, Debug, Default)]
pub struct ForkRequest {
    /// The run, perhaps with an event: `RUN@SEQ`.
    pub run: String,
    /// Keys of the workflow with other values: `KEY=VALUE`.
    pub settings: Vec<String>,
    /// A hint to the worker.
    pub hint: Option<String>,
    /// The fork gets a new checkout with a new branch.
    pub worktree: bool,
    /// Workers may do what they can do without a question.
    pub yes: bool,
}

/// The history that a fork shares.
struct SharedHistory<'a> {
    found: &'a RunHandle,
    /// All events of the parent.
    all: &'a [Event],
    /// The shared ones.
    events: &'a [Event],
}

impl<'a> SharedHistory<'a> {
    /// Takes the events up to the one that is meant. A decision is shared as a whole or not at all.
    fn new(found: &'a RunHandle, all: &'a [Event], event: Option<&str>, person: &dyn Person) -> Result<Self> {
        let last = run_revision::last_of(all);
        let wanted = match event.map(Revision::of_event).transpose()? {
            None | Some(Revision::Last) => last,
            Some(Revision::First) => Seq(1),
            Some(Revision::Event(seq)) if seq >= Seq(1) && seq <= last => seq,
            Some(Revision::Event(seq)) => return Err(run_revision::no_event(found.short(), last, seq)),
            Some(_) => {
                return Err(AppError::usage("a fork begins after an event").hint("unstuck events @last"));
            }
        };
        let shared = last_rest(all, wanted);
        let begins = Seq(shared as u64);
        if begins != wanted {
            person.note(&format!(
                "the fork begins after event {begins}: at event {wanted} something was under way or being decided"
            ));
        }
        Ok(Self { found, all, events: &all[..shared] })
    }

    fn last(&self) -> Seq {
        run_revision::last_of(self.events)
    }

    /// Returns the workspace at the last shared event; `None` if the run never looked at it.
    fn workspace(&self) -> Result<Option<&'a Snapshot>> {
        let past = RecordedSnapshots::new(self.found.short(), self.all, None)?;
        let at = recorded::list(self.events).last().map(|seen| seen.snapshot);
        match at {
            Some(at) => Ok(Some(at)),
            None => {
                Ok(past.find(Revision::First, IterationSide::After).ok().flatten().map(|seen| seen.snapshot))
            }
        }
    }
}

/// Returns how many events there are up to the last one, at or before `wanted`, after which nothing was under way; or else the
/// events of the first decision.
fn last_rest(all: &[Event], wanted: Seq) -> usize {
    let ends_decision = |at: usize| all.get(at).is_none_or(|event| matches!(event.fact, Fact::Observed(_)));
    let (mut state, mut rest) = (RunState::default(), None);
    for (at, event) in (1..).zip(all) {
        state = state.evolve(event);
        if !ends_decision(at) {
            continue;
        }
        if event.seq > wanted {
            return rest.unwrap_or(at);
        }
        if state.in_flight().next().is_none() {
            rest = Some(at);
        }
    }
    rest.unwrap_or(all.len())
}

/// Returns the last event after which the run had not ended and nothing was under way.
fn last_active(all: &[Event]) -> Option<Seq> {
    let end = all.iter().position(|event| matches!(event.fact, Fact::Concluded(Conclusion::RunEnded(_))))?;
    let shared = last_rest(all, all[..end].last()?.seq);
    Some(all[..shared].last()?.seq).filter(|at| at.0 <= end as u64)
}

/// Makes a new run that shares the events of another one, and prepares it to continue. The other run stays as it is.
///
/// # Errors
///
/// There is no such run or event, the run cannot continue so, or its workspace holds work that is in no commit and in no
/// snapshot of the run.
pub fn fork(
    project: &ProjectRuns,
    request: &ForkRequest,
    terms: &Terms,
    person: &dyn Person,
) -> Result<ReadyRun> {
    let (run, event) = run_revision::split(&request.run);
    let found = project.find(run)?;
    drop(access::reconcile_log(project, &found));
    let all = found.known_events()?;
    let now_started = found.started(&all)?;
    let shared = SharedHistory::new(&found, &all, event, person)?;
    if !request.worktree {
        check_unchanged(project, request, &found, &all, &now_started)?;
    }
    let run = open::new_run_id();
    let own = request
        .worktree
        .then(|| worktrees::make(Some(project.runs()), Path::new(&now_started.workspace), &run))
        .transpose()?;
    let made = Fork { project, shared: &shared, request, terms, person, run, own: own.as_ref() };
    made.make(&now_started).inspect_err(|_| {
        if let Some(own) = &own {
            let _is_left_for_doctor = worktree::remove(&own.root);
        }
    })
}

/// Refuses to put a workspace back that holds what neither the run nor a commit has.
fn check_unchanged(
    project: &ProjectRuns,
    request: &ForkRequest,
    found: &RunHandle,
    all: &[Event],
    started: &RunStarted,
) -> Result<()> {
    let short = found.short();
    let elsewhere = command(request, short);
    if found.is_live() {
        return Err(AppError::usage(format!("run {short} works in {} now", started.workspace)).hint(
            format!("fork it to another checkout: {elsewhere}    or stop it first: unstuck stop {short}"),
        ));
    }
    let Some(last) = recorded::list(all).last().map(|seen| seen.snapshot) else { return Ok(()) };
    let failed = |error| snapshot_error(&error);
    let snapshots = access::snapshots(project.runs(), started)?;
    let first = recorded::list(all).next().map(|seen| seen.snapshot);
    let now = snapshots.take_after(first, Some(last)).map_err(failed)?;
    let mut changes = snapshots.changes(last, &now).map_err(failed)?;
    changes.retain(|change| !change.ignored);
    let workspace = Path::new(&started.workspace);
    let is_committed =
        || worktree::uncommitted(workspace, CheckoutPart::Workspace).is_ok_and(|files| files == 0);
    if changes.is_empty() || is_committed() {
        return Ok(());
    }
    let files: Vec<_> = changes.into_iter().map(|change| change.path).collect();
    Err(AppError::usage(format!(
        "the workspace was changed since run {short} stopped, and that is in no commit: {}",
        crate::paths::list_text(&files)
    ))
    .hint(format!("commit it, or fork to another checkout: {elsewhere}")))
}

/// Returns the command that asks the same, but for another checkout.
fn command(request: &ForkRequest, short: &str) -> String {
    let event = run_revision::split(&request.run).1.map(|event| format!("@{event}")).unwrap_or_default();
    let settings = request.settings.iter().map(|setting| format!(" --set {}", quote_word(setting)));
    let hint = request.hint.iter().map(|hint| format!(" --hint {}", quote_word(hint)));
    let more: String = settings.chain(hint).collect();
    format!("unstuck fork {short}{event}{more} --worktree")
}

/// A fork that is being made.
struct Fork<'a> {
    project: &'a ProjectRuns,
    shared: &'a SharedHistory<'a>,
    request: &'a ForkRequest,
    terms: &'a Terms,
    person: &'a dyn Person,
    run: RunId,
    own: Option<&'a Worktree>,
}

impl Fork<'_> {
    fn make(&self, now_started: &RunStarted) -> Result<ReadyRun> {
        let (first, then) = self.events(now_started)?;
        let mut events = vec![first.clone()];
        events.extend(self.shared.events[1..].iter().chain(&then).cloned());
        let before = RunSummary::from_events(&events);
        let started = before.state().started().cloned().unwrap_or_else(|| now_started.clone());
        let workspace = Path::new(&started.workspace);
        let rules = started.workflow_file.is_some().then_some(&started.workflow.branch);
        let recorded = RecordedBranch::read(&events, &started.workflow.branch, true);
        let branches = self.terms.branches.inspect(workspace, rules, Some(&recorded))?;
        let runs = self.project.runs();
        let at_fork = self.shared.workspace()?;
        if let Some(at_fork) = at_fork {
            let snapshots = access::snapshots(runs, &started)?;
            snapshots.find(at_fork).map_err(|error| snapshot_error(&error))?;
        }
        self.write(&first, &then)?;
        let short = listing::shortest(&self.run, runs.names().unwrap_or_default().iter());
        let environment = access::read_only_environment(runs);
        let failed = |error| into_app_error(&error, &short, Some(runs));
        let open = || environment.repair(&self.run).map(|(log, _)| log).map_err(failed);
        if let Some(at_fork) = at_fork {
            let log = open()?;
            let head = log.head();
            environment.restore_fork(Arc::clone(&log), &self.origin(at_fork)).map_err(failed).inspect_err(
                |_| {
                    // Nothing was changed yet, so nothing of the fork stays.
                    if log.head() == head {
                        drop(log);
                        let _is_listed_where_it_stays =
                            runs.lease(&self.run).and_then(|lease| runs.delete(&self.run, lease));
                    }
                },
            )?;
        }
        runs.note_started(&RunEntry {
            run: self.run.clone(),
            started_at: now(),
            workflow: started.workflow.name.clone(),
            workspace: started.workspace.clone(),
            trouble: None,
        });
        let order = RunResumed { program: open::program(), ..RunResumed::default() };
        let how = ResumeKind::Resume(Box::new(order));
        let drive = Drive {
            runs: Some(runs.clone()),
            run: self.run.clone(),
            short: short.clone(),
            branches,
            order: DriveStart::Resume { log: open()?, how, accept_drift: true },
        };
        let driving = self.terms.driving.clone().with_secrets(before.state().secrets());
        let parent = self.shared.found.short();
        let mut notes = vec![format!("forked from run {parent} after event {}", self.shared.last())];
        notes.extend(next::changed_file(&started).map(|(_, what)| {
            format!("{what} since; the fork uses what run {parent} read, and --set changes a key of that")
        }));
        // The snapshot has the files that are in no commit.
        let own = self.own.map(|own| Worktree { uncommitted: 0, ..own.clone() });
        notes.extend(own.map(|own| worktrees::note(&own, runs).trim_start().to_owned()));
        Ok(ReadyRun { drive, driving, started, before, notes })
    }

    /// Returns the first event of the fork, and the batch that follows the shared events: the change, and what it leads to.
    fn events(&self, now_started: &RunStarted) -> Result<(Event, Vec<Event>)> {
        let (shared, found) = (self.shared, self.shared.found);
        let begin = shared.events.first().ok_or_else(|| found.no_first_event())?;
        let Fact::Observed(Observation::RunStarted(started)) = &begin.fact else {
            return Err(found.no_first_event());
        };
        let mut started = (**started).clone();
        started.run = self.run.clone();
        started.parent = None;
        started.program = open::program();
        let fork = ForkPoint { run: found.entry.run.clone(), event: shared.last() };
        started.forked_from = Some(fork);
        let workspace = self.own.map_or_else(
            || now_started.workspace.clone(),
            |own| own.workspace.to_string_lossy().into_owned(),
        );
        started.move_workspace(&workspace);
        let first = Event { fact: Observation::RunStarted(Box::new(started)).into(), ..begin.clone() };
        let state = shared.events[1..].iter().fold(RunState::default().evolve(&first), RunState::evolve);
        let has_open_child =
            |at: &StepState| at.calls.child.as_ref().is_some_and(|child| child.end != RunOutcome::Complete);
        if let Some((step, _)) = state.steps().find(|(_, at)| has_open_child(at)) {
            return Err(AppError::usage(format!(
                "the child run of step {} is not complete after event {}, and a fork shares no child run",
                step.id,
                shared.last()
            ))
            .hint(format!(
                "begin before it: unstuck fork {}@EVENT    see: unstuck events {0}",
                found.short()
            )));
        }
        let mut at_fork = state.started().cloned().unwrap_or_else(|| now_started.clone());
        let moved = (at_fork.workspace != workspace).then(|| workspace.clone());
        at_fork.move_workspace(&workspace);
        let order = Resume {
            settings: self.request.settings.clone(),
            hint: self.request.hint.clone(),
            yes: self.request.yes,
            ..Resume::default()
        };
        let change = resume::change(found, &[], &at_fork, &state, &order)?;
        if let Some(change) = &change {
            let changed = RunStarted { workflow: change.workflow.clone(), ..at_fork.clone() };
            resume::check_workers(self.project, &changed, &order, &self.terms.driving, self.person)?;
        }
        let resumed = RunResumed {
            hint: self.request.hint.clone(),
            change,
            workspace: moved,
            workflow_digest: next::digest_now(at_fork.workflow_file.as_deref()),
            program: open::program(),
            secrets: self.terms.driving.secrets.clone(),
            ..RunResumed::default()
        };
        let then = state.decide(Observation::RunResumed(resumed), now()).map_err(|why| self.refused(&why))?;
        Ok((first, then))
    }

    fn refused(&self, why: &Rejection) -> AppError {
        let (short, last) = (self.shared.found.short(), self.shared.last());
        let hint = match why {
            Rejection::NeedsIterations => "raise the limit: --set steps.STEP.max_iterations=N",
            Rejection::NeedsTime => "raise the limit: --set timeout=8h",
            Rejection::NeedsMoney(_) => "raise the limit: --set max_usd=10",
            _ => "",
        };
        let earlier = last_active(self.shared.all)
            .map(|at| format!("begin earlier: unstuck fork {short}@{at}"))
            .unwrap_or_default();
        let hint = if hint.is_empty() { earlier } else { hint.to_owned() };
        AppError::usage(format!("run {short} cannot continue after event {last}: {why}"))
            .hint(format!("{hint}    or see the events: unstuck events {short}"))
    }

    /// Writes the log of the fork, with the payloads of the shared events. The run exists once all of it is written.
    fn write(&self, first: &Event, then: &[Event]) -> Result<()> {
        let (shared, runs) = (self.shared, self.project.runs());
        let failed =
            |error: &io::Error| AppError::damaged(format!("cannot write the fork: {}", with_causes(error)));
        let log = shared.found.log()?;
        let mut lines = tempfile::tempfile().map_err(|error| failed(&error))?;
        transfer::fork(&log, first, shared.last(), then, &mut lines).map_err(|error| failed(&error))?;
        lines.rewind().map_err(|error| failed(&error))?;
        let blobs = log.blobs();
        let mut payloads = |into: &dyn unstuck_store::BlobStore| {
            let named = shared.events.iter().flat_map(verify::payloads_of).map(|blob| (blob.digest, blob));
            named.collect::<BTreeMap<_, _>>().into_values().try_for_each(|blob| match blobs.open(&blob) {
                // An export has left it out.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                content => {
                    let mut copy = into.writer()?;
                    io::copy(&mut content?, &mut copy)?;
                    copy.finish().map(drop)
                }
            })
        };
        let made = runs.fork(&self.run, &mut lines, &mut payloads);
        made.map(drop).map_err(|error| AppError::store(&error).hint_if(error.hint()))
    }

    /// Returns the workspace as the parent left it; `None` where the fork works elsewhere, or the parent may have
    /// worked after its last snapshot.
    fn left(&self) -> Option<&Snapshot> {
        let all = self.shared.all;
        let is_known = self.own.is_none() && !RunState::of(all).may_have_changed_workspace();
        recorded::list(all).last().map(|seen| seen.snapshot).filter(|_| is_known)
    }

    fn origin<'s>(&'s self, then: &'s Snapshot) -> ForkOrigin<'s> {
        let (shared, last) = (self.shared, run_revision::last_of(self.shared.all));
        let gaps = match self.own {
            Some(_) => Vec::new(),
            None => recorded::gaps(shared.all, shared.last()..=last),
        };
        ForkOrigin {
            event: shared.last(),
            then,
            shared: recorded::list(shared.events).map(|seen| seen.snapshot).collect(),
            gaps,
            left: self.left(),
        }
    }
}
