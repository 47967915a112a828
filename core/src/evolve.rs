//! The reducer: event and state to state.
//!
//! Total: every decodable event leads to a valid state. An event that cannot happen in the state it
//! meets changes nothing but the count of anomalies, and how far the log and its clock have come.
//!
//! What a call has cost counts when its end is recorded, also where the run is being stopped by then: the call was in
//! flight until this event, so its money is spent. An end of what is not in flight is refused and costs nothing: that
//! call was counted when it ended first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::backoff::Rest;
use crate::call_report::Trouble;
use crate::convergence::{Measured, Signal};
use crate::duration;
use crate::event::{
    AnswerGiven, Call, CheckFinished, CheckRequested, CheckStarted, Conclusion, DecisionSource, Event, Exit,
    Fact, FallbackTaken, Inquiry, Lost, Next, Observation, Outcome, Purpose, RunEnded, RunOutcome,
    RunResumed, RunStarted, SnapshotMoment, SnapshotTaken, StageRaised, StepEnd, StepEnded, VerdictReached,
    WaitReason, WaitRequested, WorkRequested, WorkerFinished, WorkerProgressed, WorkerStarted,
};
use crate::evidence::{AnswerSeen, Decision};
use crate::id::{Attempt, CheckId, Iteration, Millis, Seq, StepId, Timestamp};
use crate::judge::declaration::{self, Intent, intent};
use crate::judge::scope::{self, Drift};
use crate::outage::{self, is_weather};
use crate::snapshot::Snapshot;
use crate::state::{
    Changed, Child, Conversation, Feedback, InFlight, Left, LostWork, Phase, Plan, RunState, StepPhase,
    StepState, Unread,
};
use crate::text::plain::strip_ansi;
use crate::truncate;
use crate::workflow::{Worker, WorkerKind};

/// Most bytes of what was read instead of a verdict that are kept.
const UNREAD_BYTES: usize = 300;

/// What an event did to the state.
enum Fold {
    Done,
    /// It cannot happen here.
    Impossible,
}

/// Where an event stands in the stream.
#[derive(Clone, Copy)]
struct Place {
    seq: Seq,
    at: Timestamp,
}

impl RunState {
    /// Folds all events of a log.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        events.into_iter().fold(Self::default(), Self::evolve)
    }

    /// Folds one recorded event. Total: every decodable event leads to a valid state.
    #[must_use]
    pub fn evolve(mut self, event: &Event) -> Self {
        let place = Place { seq: event.seq, at: event.at };
        let in_order = event.seq == self.version.next();
        let fold = match &event.fact {
            Fact::Observed(observation) => self.observe(observation, place),
            Fact::Concluded(conclusion) => self.conclude(conclusion, place),
        };
        if !in_order || matches!(fold, Fold::Impossible) {
            self.anomalies = self.anomalies.saturating_add(1);
        }
        self.version = self.version.max(event.seq);
        self.last_at = self.last_at.max(event.at);
        // A log is repaired by the next supervisor, and files are put back by a person, while the run stands still.
        let while_it_stands_still =
            matches!(event.fact, Fact::Observed(Observation::LogRepaired(_) | Observation::SnapshotTaken(_)));
        if !while_it_stands_still {
            self.clock.alive_until = self.clock.alive_until.max(event.at);
        }
        self
    }

    fn observe(&mut self, observation: &Observation, place: Place) -> Fold {
        let seen = self.seen(observation);
        let fold = self.observed(observation, seen.clone(), place);
        if matches!(fold, Fold::Done) {
            self.remember(observation, seen);
        }
        fold
    }

    /// `seen` is what the workspace is now, if somebody looked; what it was before is still the last snapshot.
    fn observed(&mut self, observation: &Observation, seen: Option<Arc<Snapshot>>, place: Place) -> Fold {
        match observation {
            Observation::RunStarted(event) => self.run_started(event, place),
            Observation::RunResumed(event) => self.run_resumed(event, place),
            Observation::AnswerGiven(event) => self.answer_given(event, place),
            Observation::WorkerStarted(event) => self.worker_started(event, seen, place),
            Observation::WorkerProgressed(event) => self.worker_progressed(event),
            Observation::WorkerFinished(event) => self.worker_finished(event, place),
            Observation::WorkerLost(event) => self.lost(event, Next::Work),
            Observation::CheckStarted(event) => self.check_started(event, place),
            Observation::CheckFinished(event) => self.check_finished(event, seen, place),
            Observation::CheckLost(event) => self.lost(event, Next::Check),
            Observation::Kicked => self.kicked(place),
            Observation::Suspended(event) => self.suspended(event.length, place),
            Observation::RunInterrupted(_)
            | Observation::DeadlinePassed
            | Observation::LogRepaired(_)
            | Observation::SnapshotTaken(_) => Fold::Done,
        }
    }

    /// Returns what an observation saw of the workspace. Most iterations change something, most pauses nothing: what has
    /// not changed is shared.
    fn seen(&self, observation: &Observation) -> Option<Arc<Snapshot>> {
        let snapshot = match observation {
            Observation::WorkerStarted(event) => event.snapshot.as_deref(),
            Observation::WorkerFinished(event) => event.snapshot.as_deref(),
            Observation::CheckFinished(event) => event.snapshot.as_deref(),
            Observation::SnapshotTaken(event) => Some(&*event.snapshot),
            _ => None,
        }?;
        let same = self.last_snapshot.as_ref().filter(|last| ***last == *snapshot);
        Some(same.map_or_else(|| Arc::new(snapshot.clone()), Arc::clone))
    }

    /// Remembers what the workspace was.
    fn remember(&mut self, observation: &Observation, seen: Option<Arc<Snapshot>>) {
        let ran = matches!(observation, Observation::WorkerFinished(_) | Observation::CheckFinished(_));
        let begins = matches!(observation, Observation::WorkerStarted(_) | Observation::CheckStarted(_));
        self.left_unseen = seen.is_none() && (self.left_unseen || ran);
        self.is_abandoned &= !begins;
        let Some(snapshot) = seen else { return };
        if let Observation::SnapshotTaken(SnapshotTaken { moment: SnapshotMoment::Abandoned, .. }) =
            observation
        {
            self.abandoned(&snapshot);
        }
        // What a step has left is what is there before anybody else begins. Its own end does not count: a check comes
        // after it, and what a process that outlives the worker changes is the work of the step, too.
        if matches!(observation, Observation::WorkerStarted(_) | Observation::SnapshotTaken(_)) {
            self.steps.iter_mut().for_each(|step| step.rest(&snapshot));
        }
        self.first_snapshot.get_or_insert_with(|| Arc::clone(&snapshot));
        self.last_snapshot = Some(snapshot);
    }

    fn conclude(&mut self, conclusion: &Conclusion, place: Place) -> Fold {
        match conclusion {
            Conclusion::WorkRequested(event) => self.work_requested(event),
            Conclusion::CheckRequested(event) => self.check_requested(event),
            Conclusion::WaitRequested(event) => self.wait_requested(event, place),
            Conclusion::VerdictReached(event) => self.verdict_reached(event, place),
            Conclusion::StageRaised(event) => self.stage_raised(event, place),
            Conclusion::StepEnded(event) => self.step_ended(event, place),
            Conclusion::FallbackTaken(event) => self.fallback_taken(event),
            Conclusion::RunStopping(event) => self.run_stopping(event.why, place),
            Conclusion::RunEnded(event) => self.run_ended(event, place),
        }
    }

    fn run_started(&mut self, event: &RunStarted, place: Place) -> Fold {
        if self.phase != Phase::Empty {
            return Fold::Impossible;
        }
        let steps = &event.workflow.steps;
        self.steps = vec![StepState::default(); steps.len()];
        let index = steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at)).collect();
        self.plan = Some(Arc::new(Plan { started: event.clone(), index }));
        self.phase = Phase::Active;
        self.clock.running_since = place.at;
        Fold::Done
    }

    /// The supervisor died, and this is what was left of what was in flight.
    fn abandoned(&mut self, left: &Arc<Snapshot>) {
        self.is_abandoned = true;
        let lost: Vec<StepId> = self.in_flight().map(|(step, _)| step.id.clone()).collect();
        for id in lost {
            self.turn_ended(&id);
            self.with_step(&id, |step| {
                let work = step.works_from.take().map(|before| LostWork { before, after: Arc::clone(left) });
                step.lost_work.extend(work);
                Fold::Done
            });
        }
    }

    /// The turn of a step is over: what changes from now on may be the work of others.
    fn turn_ended(&mut self, id: &StepId) {
        let Some((step, at)) = self.step(id) else { return };
        let has_rules = step.convergence.as_ref().is_some_and(crate::workflow::Convergence::has_rules);
        if has_rules && at.began_with.is_some() && at.left == Left::Nothing {
            self.with_step(id, |step| {
                step.left = Left::Unseen;
                Fold::Done
            });
        }
    }

    /// Returns what the workspace is now; `None` where something has run since somebody looked.
    fn workspace_now(&self) -> Option<Arc<Snapshot>> {
        self.last_snapshot.clone().filter(|_| !self.left_unseen)
    }

    /// Nobody works any more: what changes from now on is not the work of any step.
    fn all_rest(&mut self) {
        let Some(now) = self.workspace_now() else { return };
        self.steps.iter_mut().for_each(|step| step.rest(&now));
    }

    fn run_resumed(&mut self, event: &RunResumed, place: Place) -> Fold {
        if self.phase == Phase::Empty {
            return Fold::Impossible;
        }
        self.run_goes_on(place, event.add_iterations);
        self.clock.extra = self.clock.extra.plus(event.add_time);
        if let Some(workflow) = self.workflow().filter(|_| event.renews_time) {
            self.clock.renewed = self.clock.renewed.plus(workflow.timeout);
        }
        self.extra_iterations = self.extra_iterations.saturating_add(event.add_iterations);
        self.add_budget(event);
        if let Some(worker) = &event.worker {
            self.hand_to(worker, place);
        }
        if let Some(plan) = self.plan.as_mut().filter(|_| !event.secrets.is_empty()) {
            Arc::make_mut(plan).started.secrets.extend_from_slice(&event.secrets);
        }
        if let Some(hint) = &event.hint {
            self.tell_unfinished_steps(hint, |_| true);
        }
        Fold::Done
    }

    /// Somebody else works from now on. What those said who worked before means nothing: neither is their service waited for.
    fn hand_to(&mut self, worker: &Worker, place: Place) {
        let Some(plan) = &mut self.plan else { return };
        let plan = Arc::make_mut(plan);
        plan.started.workflow.hand_to(worker);
        for (step, at) in plan.started.workflow.steps.iter().zip(&mut self.steps) {
            if !step.can_be_handed_over() {
                continue;
            }
            at.worker_at = 0;
            at.rests.forget();
            if let StepPhase::Waiting { until, why: WaitReason::Weather(_), then: Next::Work, .. } =
                &mut at.phase
            {
                self.weather_wait = self.weather_wait.minus(until.since(place.at));
                *until = place.at;
            }
        }
    }

    fn answer_given(&mut self, event: &AnswerGiven, place: Place) -> Fold {
        let is_asked = matches!(self.phase, Phase::Ended(RunOutcome::Blocked, _));
        if !is_asked || !event.steps.iter().all(|step| self.is_blocked(step)) {
            return Fold::Impossible;
        }
        self.run_goes_on(place, 0);
        self.tell_unfinished_steps(&event.text, |step| event.is_for(step));
        Fold::Done
    }

    /// Starts the clock again and lets steps that were skipped wait for their turn again.
    fn run_goes_on(&mut self, place: Place, add_iterations: u32) {
        let reopens = self.reopens(add_iterations);
        self.all_rest();
        if !matches!(self.phase, Phase::Ended(..)) {
            // The supervisor died: its time ran until the last thing that it recorded.
            let ran = self.clock.alive_until.since(self.clock.running_since);
            self.clock.used = self.clock.used.plus(ran);
        }
        let paused = place.at.since(self.clock.alive_until);
        self.clock.running_since = place.at;
        self.phase = Phase::Active;
        for step in &mut self.steps {
            // An external job is not waited for while nobody can ask.
            step.waiting_since = step.waiting_since.map(|since| since.after(paused));
            if reopens && matches!(step.phase, StepPhase::Ended(StepEnd::Skipped(_))) {
                step.phase = StepPhase::Pending;
                (step.ended, step.ended_at) = (None, None);
            }
        }
    }

    fn tell_unfinished_steps(&mut self, text: &str, is_for: impl Fn(&StepId) -> bool) {
        let Some(plan) = self.plan.clone() else { return };
        for (step, at) in plan.started.workflow.steps.iter().zip(&mut self.steps) {
            let is_finished = matches!(at.phase, StepPhase::Ended(StepEnd::Complete | StepEnd::Incomplete));
            if !is_finished && is_for(&step.id) {
                at.feedback.from_person.push(text.to_owned());
            }
        }
    }

    fn worker_started(&mut self, event: &WorkerStarted, seen: Option<Arc<Snapshot>>, place: Place) -> Fold {
        let is_at_work = |step: &StepState| matches!(step.phase, StepPhase::Working(_));
        let is_beside = self.steps.iter().any(is_at_work);
        let fold = self.begin_work(event, seen, place, is_beside);
        if matches!(fold, Fold::Done) && is_beside {
            self.steps.iter_mut().filter(|step| is_at_work(step)).for_each(|step| step.is_beside = true);
        }
        fold
    }

    fn begin_work(
        &mut self,
        event: &WorkerStarted,
        seen: Option<Arc<Snapshot>>,
        place: Place,
        is_beside: bool,
    ) -> Fold {
        self.with_step(&event.step, |step| {
            if step.phase != StepPhase::WorkDue || !step.is_at(event.iteration, event.attempt) {
                return Fold::Impossible;
            }
            step.phase = StepPhase::Working(begun(place, event.check_id.as_ref(), event.call.clone()));
            step.is_beside = is_beside;
            step.worker_calls = step.worker_calls.saturating_add(1);
            step.work_attempt = event.attempt;
            step.goes_on(seen.clone());
            if step.began_with.is_none() {
                step.began_with.clone_from(&seen);
            }
            if step.works_from.is_none() {
                step.works_from = seen;
            }
            step.begun_at.get_or_insert(place.at);
            Fold::Done
        })
    }

    fn worker_progressed(&mut self, event: &WorkerProgressed) -> Fold {
        self.with_step(&event.step, |step| {
            if !step.is_at(event.iteration, event.attempt) {
                return Fold::Impossible;
            }
            let (StepPhase::Working(in_flight) | StepPhase::Checking(in_flight)) = &mut step.phase else {
                return Fold::Impossible;
            };
            in_flight.progress = Some(event.progress.clone());
            Fold::Done
        })
    }

    /// What is waited for is tried now: the rest of the wait was none. Of a chain it is the turn of the first again, so that
    /// all of them are tried, and in their order.
    fn kicked(&mut self, place: Place) -> Fold {
        for step in &mut self.steps {
            step.rests.forget();
            let StepPhase::Waiting { until, why, then } = &mut step.phase else { continue };
            if matches!(why, WaitReason::Weather(_)) {
                self.weather_wait = self.weather_wait.minus(until.since(place.at));
                match then {
                    Next::Work => step.worker_at = 0,
                    Next::Check => step.checker_at = 0,
                }
            }
            *until = place.at;
        }
        Fold::Done
    }

    /// Who could not do anything has used no time of the run. Of a wait that is so anyway, and is not counted twice.
    fn suspended(&mut self, length: Millis, place: Place) -> Fold {
        if !matches!(self.phase, Phase::Active | Phase::Stopping(..)) {
            return Fold::Impossible;
        }
        let length = length.at_most(place.at.since(self.clock.running_since));
        let began = place.at.before(length);
        self.clock.running_since = self.clock.running_since.after(length);
        for step in &mut self.steps {
            step.waiting_since = step.waiting_since.map(|since| since.after(length));
            if let StepPhase::Waiting { until, why: WaitReason::Weather(_), .. } = step.phase {
                self.weather_wait = self.weather_wait.minus(until.since(began).at_most(length));
            }
        }
        Fold::Done
    }

    /// Returns until when one of a chain is limited, by what it said; `None` for who has no chain, such as whoever finds
    /// out why a loop is stuck.
    fn rest(
        &self,
        id: &StepId,
        what: Next,
        outcome: &Outcome,
        failure: impl FnOnce(WorkerKind) -> Option<outage::Failure>,
        at: Timestamp,
    ) -> Option<Rest> {
        let (step, state) = self.step(id).filter(|(_, it)| it.purpose != Purpose::Diagnosis)?;
        let turn = state.turn(what);
        let worker = step.first(turn).filter(|it| !it.fallback.is_empty())?;
        let failure = failure(worker.at(turn.place).kind).filter(|it| is_weather(it.class));
        Some(Rest { turn, until: failure.and_then(|failure| outcome.limited_until(&failure, at)) })
    }

    fn fallback_taken(&mut self, event: &FallbackTaken) -> Fold {
        let first = self.step(&event.step).and_then(|(step, at)| step.first(at.turn(event.what)));
        let has_place = first.is_some_and(|first| first.chain().count() > event.to as usize);
        self.with_step(&event.step, |step| {
            if !has_place || step.phase != StepPhase::due(event.what) {
                return Fold::Impossible;
            }
            match event.what {
                Next::Work => step.worker_at = event.to,
                Next::Check => step.checker_at = event.to,
            }
            Fold::Done
        })
    }

    fn worker_finished(&mut self, event: &WorkerFinished, place: Place) -> Fold {
        if !self.is_in_flight(&event.step, Next::Work, (event.iteration, event.attempt)) {
            return Fold::Impossible;
        }
        let of_child = match &event.outcome.exit {
            Exit::Child(child) => Some(&child.run),
            _ => None,
        };
        let before = self.ledger.spent_in(of_child).tokens.total();
        self.count_cost(&event.step, Some(&event.outcome));
        let tokens = self.ledger.spent_in(of_child).tokens.total().saturating_sub(before);
        let is_checked = self.step(&event.step).is_some_and(|(step, _)| step.check.is_some());
        let failure = |kind| event.failure(kind, is_checked);
        let rest = self.rest(&event.step, Next::Work, &event.outcome, failure, place.at);
        self.turn_ended(&event.step);
        self.with_step(&event.step, |step| {
            step.tokens = tokens;
            step.child = child(step, &event.outcome, place).or(step.child.take());
            let conversation = conversation(step, &event.outcome);
            step.works_from = None;
            step.lost_work.clear();
            step.phase = StepPhase::WorkDue;
            step.attempt = step.attempt.next();
            step.rests.note(rest);
            if step.purpose == Purpose::Diagnosis {
                step.diagnosis = diagnosis(&event.outcome);
                return Fold::Done;
            }
            step.changed = step.changed.max(event.changed.into());
            // Another worker may have made the change.
            let own = if step.is_beside { event.changed.filter(|changed| !changed) } else { event.changed };
            step.changed_now = match (step.changed_now, own) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (_, now) => now,
            };
            match &event.drift {
                Some(drift) => {
                    scope::worked(&mut step.by_checks, drift);
                    step.drift = (**drift).clone();
                }
                None => step.drift.put_back.clear(),
            }
            if !event.outcome.exit.is_stopped() {
                step.worked = Some(place.seq);
                step.stalled = stalled(&event.outcome);
                step.broke_off = event.outcome.broke_off(event.changed);
                step.conversation = conversation;
                step.feedback.said =
                    truncate::tail(strip_ansi(&event.outcome.answer).trim(), Feedback::SAID_MAX).to_owned();
                step.answered(event.answer.clone());
            }
            Fold::Done
        })
    }

    fn check_started(&mut self, event: &CheckStarted, place: Place) -> Fold {
        let now = self.last_snapshot.clone();
        self.with_step(&event.step, |step| {
            if step.phase != StepPhase::CheckDue || !step.is_at(event.iteration, event.attempt) {
                return Fold::Impossible;
            }
            step.goes_on(now);
            step.phase = StepPhase::Checking(begun(place, Some(&event.check_id), event.call.clone()));
            Fold::Done
        })
    }

    fn check_finished(
        &mut self,
        event: &CheckFinished,
        workspace: Option<Arc<Snapshot>>,
        place: Place,
    ) -> Fold {
        if !self.is_in_flight(&event.step, Next::Check, (event.iteration, event.attempt)) {
            return Fold::Impossible;
        }
        let before = self.last_snapshot.as_deref();
        let changed = workspace.as_deref().zip(before).is_some_and(|(now, then)| !now.same_work(then));
        let open_boxes = workspace.as_ref().and_then(|it| it.open_boxes);
        self.count_cost(&event.step, Some(&event.outcome));
        let failure = |kind| event.outcome.failure(kind);
        let rest = self.rest(&event.step, Next::Check, &event.outcome, failure, place.at);
        self.turn_ended(&event.step);
        self.with_step(&event.step, |step| {
            step.phase = StepPhase::CheckDue;
            step.attempt = step.attempt.next();
            step.rests.note(rest);
            step.checks_changed.extend(event.changed.iter().cloned());
            if event.outcome.exit.is_stopped() {
                return Fold::Done;
            }
            match step.inquiry {
                Inquiry::Check => step.feedback.output = shown_output(&event.outcome),
                Inquiry::Preflight => {}
                Inquiry::Conditions => {
                    step.verified.validators = event.validators.clone().into();
                    step.verified.workspace = workspace;
                    step.verified.stamp = event.stamp;
                    step.verified.is_outdated = false;
                    step.verified.unsettled = step.verified.unsettled.saturating_add(u32::from(changed));
                }
                Inquiry::Closer => {
                    step.verified.closer.clone_from(&event.answer);
                    let then = step.verified.workspace.as_deref();
                    let same = workspace.as_deref().zip(then).is_none_or(|(now, then)| now.same_work(then));
                    step.verified.is_outdated = !same || event.stamp != step.verified.stamp;
                }
            }
            if let Some(drift) = &event.drift {
                scope::checked(&mut step.by_checks, &step.drift, drift);
                let put_back = std::mem::take(&mut step.drift.put_back);
                step.drift = Drift { put_back, ..(**drift).clone() };
            }
            if step.inquiry != Inquiry::Check {
                return Fold::Done;
            }
            let results = (!event.commands.is_empty()).then(|| event.commands.clone().into());
            if event.iteration == Iteration::BASELINE {
                step.convergence.begin(&Measured::of(&event.commands, &[], open_boxes));
                step.baseline = results;
            } else {
                step.results = [results, step.results[0].take()];
            }
            Fold::Done
        })
    }

    fn lost(&mut self, event: &Lost, what: Next) -> Fold {
        if !self.is_in_flight(&event.step, what, (event.iteration, event.attempt)) {
            return Fold::Impossible;
        }
        self.count_cost(&event.step, None);
        self.turn_ended(&event.step);
        self.with_step(&event.step, |step| {
            // Where it is known what was there before, the attempt that takes its place is compared with that.
            if what == Next::Work && step.works_from.is_none() && step.lost_work.is_empty() {
                step.changed = step.changed.max(Changed::Unknown);
            }
            step.phase = StepPhase::due(what);
            step.attempt = step.attempt.next();
            Fold::Done
        })
    }

    fn work_requested(&mut self, event: &WorkRequested) -> Fold {
        let Some(at) = self.position(&event.step) else { return Fold::Impossible };
        let allowed = self.step(&event.step).map(|(step, at)| self.max_iterations(step, at));
        let step = &mut self.steps[at];
        let again = event.iteration == step.iteration && event.iteration > Iteration(0);
        let nothing_to_diagnose = step.convergence.raised_for().is_none() || !again;
        if event.purpose == Purpose::Diagnosis && nothing_to_diagnose {
            return Fold::Impossible;
        }
        if step.phase.is_in_flight() || !(again || event.iteration == step.iteration.next()) {
            return Fold::Impossible;
        }
        let was_blocked = matches!(step.phase, StepPhase::Ended(StepEnd::Blocked(_)));
        if allowed.is_none_or(|allowed| event.iteration > allowed) {
            if !was_blocked {
                return Fold::Impossible;
            }
            // What a person answered is worth an iteration.
            step.extra_iterations = step.extra_iterations.saturating_add(1);
        }
        step.begin_again();
        if !again {
            step.iteration = event.iteration;
            step.retries = 0;
            step.check_retries = 0;
            step.weather_tries = 0;
            step.waiting_since = None;
            step.worked = None;
            step.works_from = None;
            step.lost_work.clear();
            step.changed_now = None;
            step.work_attempt = Attempt(0);
            step.claim = None;
        }
        step.inquiry = Inquiry::Check;
        step.purpose = event.purpose;
        step.attempt = event.attempt;
        step.phase = StepPhase::WorkDue;
        Fold::Done
    }

    fn check_requested(&mut self, event: &CheckRequested) -> Fold {
        self.with_step(&event.step, |step| {
            if step.phase.is_in_flight() || event.iteration != step.iteration {
                return Fold::Impossible;
            }
            step.begin_again();
            step.attempt = event.attempt;
            step.inquiry = event.what;
            step.claim.clone_from(&event.claim);
            step.phase = StepPhase::CheckDue;
            Fold::Done
        })
    }

    fn wait_requested(&mut self, event: &WaitRequested, place: Place) -> Fold {
        let fold = self.with_step(&event.step, |step| {
            if step.phase.is_in_flight() || step.phase == StepPhase::Pending || step.phase.end().is_some() {
                return Fold::Impossible;
            }
            let counter = match event.why {
                WaitReason::Retry(_) => Some(&mut step.retries),
                WaitReason::CheckRetry(_) => Some(&mut step.check_retries),
                WaitReason::Weather(_) => Some(&mut step.weather_tries),
                WaitReason::ExternalJob => {
                    step.waiting_since.get_or_insert(place.at);
                    None
                }
            };
            if let Some(counter) = counter {
                *counter = counter.saturating_add(1);
            }
            step.phase = StepPhase::Waiting { until: event.until, then: event.then, why: event.why };
            Fold::Done
        });
        if matches!((&fold, event.why), (Fold::Done, WaitReason::Weather(_))) {
            self.weather_wait = self.weather_wait.plus(event.until.since(place.at));
        }
        fold
    }

    fn verdict_reached(&mut self, event: &VerdictReached, place: Place) -> Fold {
        let Some(at) = self.position(&event.step) else { return Fold::Impossible };
        let plan = self.plan.clone();
        let Some(configured) = plan.as_deref().map(|plan| &plan.started.workflow.steps[at]) else {
            return Fold::Impossible;
        };
        let is_controlled = configured.convergence.is_some();
        let step = &mut self.steps[at];
        if event.iteration != step.iteration || step.phase.is_in_flight() || step.phase.end().is_some() {
            return Fold::Impossible;
        }
        step.parse_failures = event.parse_failures;
        if event.parse_failures == 0 {
            step.unread.clear();
        } else {
            let problem =
                event.problems.last().map_or("nothing was said", |it| truncate::head(it, UNREAD_BYTES));
            step.unread.push(Unread {
                seq: place.seq,
                iteration: event.iteration,
                problem: problem.to_owned(),
            });
            step.unread.drain(..step.unread.len().saturating_sub(StepState::UNREAD_MAX));
        }
        step.weather_tries = 0;
        if configured.completion.is_some() {
            step.count_occurrences(&event.fingerprints, event.source);
        }
        step.feedback = Feedback {
            iteration: event.iteration,
            decision: Some(event.decision),
            source: Some(event.source),
            check_id: event.check_id.clone(),
            check_id_match: event.check_id_match,
            reasons: event.reasons.clone(),
            fingerprints: event.fingerprints.clone(),
            problems: event.problems.clone(),
            said: std::mem::take(&mut step.feedback.said),
            output: std::mem::take(&mut step.feedback.output),
            from_person: std::mem::take(&mut step.feedback.from_person),
        };
        if is_controlled && event.decision == Decision::Incomplete && event.parse_failures == 0 {
            // The worker itself is no judge, and neither is an exit status.
            let has_judge = !configured.claims() && event.source != DecisionSource::ExitCode;
            if step.convergence.key().is_none() {
                let open_boxes = step.began_with.as_ref().and_then(|it| it.open_boxes);
                step.convergence.begin(&Measured { open_boxes, ..Measured::default() });
            }
            let workspace = self.last_snapshot.as_deref();
            let results = step.results[0].as_deref().unwrap_or_default();
            let by_validators = event.source == DecisionSource::Validators;
            let validators = if by_validators { &step.verified.validators[..] } else { &[] };
            let open_boxes = workspace.and_then(|it| it.open_boxes);
            let mut measured = Measured::of(results, validators, open_boxes);
            // A decision that was overruled has fingerprints that are no findings of the judge.
            if event.source.is_judge() && event.claimed.is_none() {
                measured.failures = u64::try_from(event.fingerprints.len()).ok();
            }
            step.convergence.note(&Signal {
                fingerprints: &event.fingerprints,
                reasons: if has_judge { &event.reasons } else { &[] },
                workspace: workspace.map(|it| it.work),
                changed: step.changed_now,
                measured,
            });
        }
        Fold::Done
    }

    fn stage_raised(&mut self, event: &StageRaised, place: Place) -> Fold {
        self.with_step(&event.step, |step| {
            if event.to < event.from {
                return Fold::Impossible;
            }
            step.convergence.raise(event.to, event.cause, event.count);
            step.raised = Some(place.seq);
            Fold::Done
        })
    }

    fn step_ended(&mut self, event: &StepEnded, place: Place) -> Fold {
        let now = self.workspace_now();
        self.with_step(&event.step, |step| {
            let fits = match (&event.end, &step.phase) {
                (StepEnd::Skipped(_), phase) => *phase == StepPhase::Pending,
                (_, StepPhase::Pending | StepPhase::Ended(_)) => false,
                (_, phase) => !phase.is_in_flight(),
            };
            if !fits {
                return Fold::Impossible;
            }
            step.phase = StepPhase::Ended(event.end.clone());
            if let Some(now) = now {
                step.rest(&now);
            }
            step.ended = Some(place.seq);
            step.ended_at = Some(place.at);
            Fold::Done
        })
    }

    fn run_stopping(&mut self, why: RunOutcome, place: Place) -> Fold {
        let is_new = !matches!(self.phase, Phase::Stopping(since, _) if since == why);
        if !self.phase.lets_run_on() || !is_new {
            return Fold::Impossible;
        }
        self.phase = Phase::Stopping(why, place.seq);
        Fold::Done
    }

    fn run_ended(&mut self, event: &RunEnded, place: Place) -> Fold {
        if !matches!(self.phase, Phase::Active | Phase::Stopping(..)) || self.in_flight().next().is_some() {
            return Fold::Impossible;
        }
        self.clock.used = self.clock.used.plus(place.at.since(self.clock.running_since));
        self.phase = Phase::Ended(event.outcome, place.seq);
        self.all_rest();
        Fold::Done
    }

    /// Says whether this attempt of a step is in flight, as work or as a check.
    fn is_in_flight(&self, id: &StepId, what: Next, (iteration, attempt): (Iteration, Attempt)) -> bool {
        self.step(id).is_some_and(|(_, at)| {
            at.phase.is_in_flight() && at.phase.turn() == Some(what) && at.is_at(iteration, attempt)
        })
    }

    fn with_step(&mut self, id: &StepId, fold: impl FnOnce(&mut StepState) -> Fold) -> Fold {
        match self.position(id) {
            Some(at) => fold(&mut self.steps[at]),
            None => Fold::Impossible,
        }
    }
}

impl StepState {
    fn is_at(&self, iteration: Iteration, attempt: Attempt) -> bool {
        self.iteration == iteration && self.attempt == attempt
    }

    /// Somebody has looked since its turn, and nobody else had begun by then.
    fn rest(&mut self, now: &Arc<Snapshot>) {
        if self.left == Left::Unseen {
            self.left = Left::Seen(Arc::clone(now));
        }
    }

    /// Its next turn begins. What others have changed since the last one is not held against it. Who looks for the cause
    /// of a failure works on a copy, finds nothing and leaves nothing.
    fn goes_on(&mut self, found: Option<Arc<Snapshot>>) {
        let Some(found) = found else { return };
        self.gaps.extend(self.gap(found));
        self.left = Left::Nothing;
    }

    /// Takes note of what the worker answered.
    fn answered(&mut self, answer: Option<Box<AnswerSeen>>) {
        let repeats = answer
            .as_deref()
            .and_then(AnswerSeen::parsed)
            .is_some_and(|it| intent(&it) == Some(Intent::Repeat));
        self.repeats = if repeats { self.repeats.saturating_add(1) } else { 0 };
        self.verified.answer = answer;
        self.verified.closer = None;
        self.verified.unsettled = 0;
    }

    /// Counts the failures that come back. A set that became smaller is progress and counts as no occurrence;
    /// a failure that went away begins again.
    ///
    /// An answer that is none says nothing of the rest, so what the conditions found before it still counts.
    fn count_occurrences(&mut self, fingerprints: &[String], source: DecisionSource) {
        let of_answers = source == DecisionSource::Answer;
        let (compared, kept): (BTreeMap<String, u32>, BTreeMap<String, u32>) =
            std::mem::take(&mut self.occurrences)
                .into_iter()
                .partition(|(it, _)| is_of_answer(it) == of_answers);
        let now: BTreeSet<&String> = fingerprints.iter().collect();
        let shrank = now.len() < compared.len();
        // A claim of completion comes back only where one of the failures that speak against it does: three different
        // ones are progress, whatever the worker says of each.
        let is_back = |it: &String| !is_contrary(it) && compared.contains_key(it);
        let claim_is_back = now.iter().any(|it| is_back(it));
        let count = |it: &String| match compared.get(it) {
            Some(count) if claim_is_back || !is_contrary(it) => count.saturating_add(u32::from(!shrank)),
            _ => 1,
        };
        let counted = now.into_iter().map(|it| (it.clone(), count(it)));
        self.occurrences = counted.chain(kept.into_iter().filter(|_| of_answers)).collect();
    }

    /// Gives a step that had ended its patience back: counters that ended it start afresh.
    fn begin_again(&mut self) {
        if let StepPhase::Ended(end) = &self.phase {
            match end {
                StepEnd::Stuck(_) => self.convergence.restart(),
                StepEnd::Undecidable(_) => {
                    self.parse_failures = 0;
                    self.unread.clear();
                }
                StepEnd::WorkerFailed(_) => self.retries = 0,
                StepEnd::CheckFailed(_) | StepEnd::CheckCouldNotRun(_) => self.check_retries = 0,
                StepEnd::WaitExpired => self.waiting_since = None,
                StepEnd::AttemptsExhausted(_) => {
                    self.occurrences.clear();
                    self.repeats = 0;
                }
                _ => {}
            }
            (self.ended, self.ended_at) = (None, None);
        }
    }
}

/// Returns the child run that the work of a step was.
fn child(step: &StepState, outcome: &Outcome, place: Place) -> Option<Child> {
    let (Exit::Child(ended), StepPhase::Working(begun)) = (&outcome.exit, &step.phase) else { return None };
    Some(Child { run: ended.run.clone(), end: ended.end, begun_at: begun.since, ended_at: place.at })
}

fn begun(place: Place, check_id: Option<&CheckId>, call: Option<Box<Call>>) -> InFlight {
    InFlight { started: place.seq, since: place.at, check_id: check_id.cloned(), call, progress: None }
}

/// Says that a worker was ended since it did nothing any more.
fn stalled(outcome: &Outcome) -> Option<String> {
    let after = || duration::measured(outcome.duration);
    let said = || format!("stall: the worker was ended: {}, {} after it began", outcome.stall(), after());
    outcome.is_stalled().then(said)
}

/// Returns the conversation that can go on after a call. A client that does not tell its name goes by the one that it was
/// called with, once it has come to its end in it.
fn conversation(step: &StepState, outcome: &Outcome) -> Option<Conversation> {
    let reading = outcome.reading.as_deref()?;
    let is_over = matches!(reading.trouble, Some(Trouble::NoSession | Trouble::ContextOverflow));
    let StepPhase::Working(begun) = &step.phase else { return None };
    let named = begun.call.as_ref().and_then(|call| call.session.clone());
    let named = named.filter(|_| reading.trouble.is_none());
    let id = reading.session.clone().or(named).filter(|_| !is_over)?;
    Some(Conversation { client: reading.client.clone(), id })
}

/// Says whether a fingerprint is about the answer itself.
fn is_of_answer(fingerprint: &str) -> bool {
    fingerprint.starts_with("format:") || matches!(fingerprint, "declared:contradiction" | "declared:unknown")
}

/// Says whether a fingerprint is that of a claim which the validators speak against.
fn is_contrary(fingerprint: &str) -> bool {
    fingerprint.starts_with(declaration::CONTRARY)
}

/// Returns the end of what a check printed, for the next prompt.
fn shown_output(outcome: &Outcome) -> String {
    let text = if outcome.answer.trim().is_empty() { &outcome.stderr_tail } else { &outcome.answer };
    truncate::tail(strip_ansi(text).trim(), Feedback::OUTPUT_MAX).to_owned()
}

/// Returns what a worker found out; `None` where it came to no end, or said nothing.
fn diagnosis(outcome: &Outcome) -> Option<String> {
    let text = truncate::tail(outcome.answer.trim(), Feedback::DIAGNOSIS_MAX).to_owned();
    (!text.is_empty() && outcome.exit != Exit::Stopped).then_some(text)
}
