//! A run as people read it.

use serde::Serialize;
use unstuck_core::cost::Spend;
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::{
    Conclusion, Inquiry, Observation, Outcome, Purpose, RunOutcome, StepEnd, WorkflowChange,
};
use unstuck_core::id::{Digest, Iteration, Millis, RunId, Seq, StepId, Timestamp};
use unstuck_core::judge::reason::Reason;
use unstuck_core::judge::scope::StepChanges;
use unstuck_core::{Event, Fact, RunState};

use crate::describe::{changed_workflow, describe, new_worker, sentence_of_end};
use crate::stale_checks;
use crate::step_summary::{CommandSummary, IterationSummary, StepSummary, failed};

/// A run as people read it. Folded from its events, like everything else.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunSummary {
    /// The run; `None` before its first event.
    pub run: Option<RunId>,
    /// Name of the workflow.
    pub workflow: String,
    /// The workspace.
    pub workspace: String,
    /// When the run started.
    pub started_at: Timestamp,
    /// When the newest event was recorded.
    pub last_at: Timestamp,
    /// How long a supervisor has worked on it: pauses between two of them, and what came after the end, do not count.
    #[serde(skip)]
    pub took: Millis,
    /// When it ended; `None` while it runs, or if it was left.
    #[serde(skip)]
    pub ended_at: Option<Timestamp>,
    /// Its newest event.
    pub last_seq: Seq,
    /// How it ended; `None` while it runs, or if it was left.
    pub outcome: Option<RunOutcome>,
    /// The event that says so.
    pub ended: Option<Seq>,
    /// The step that decided it.
    pub deciding_step: Option<StepId>,
    /// Steps in the order of the workflow.
    pub steps: Vec<StepSummary>,
    /// Doubtful things, each with the event that reports it.
    pub notes: Vec<(Seq, String)>,
    /// The state after the newest event.
    #[serde(skip)]
    state: RunState,
    #[serde(skip)]
    workflow_digest: Option<Digest>,
}

impl RunSummary {
    /// Reads the summary from events.
    pub fn from_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut summary = Self::default();
        for event in events {
            summary.add(event);
        }
        summary
    }

    /// Adds one event.
    pub fn add(&mut self, event: &Event) {
        self.last_at = event.at;
        self.last_seq = event.seq;
        match &event.fact {
            Fact::Observed(observation) => self.add_observation(observation, event),
            Fact::Concluded(conclusion) => self.add_conclusion(conclusion, event),
        }
        self.count(event);
        self.took = self.state.worked_for();
        // A person may have added some.
        for (summary, (step, at)) in self.steps.iter_mut().zip(self.state.steps()) {
            summary.max_iterations = self.state.displayed_iterations(step, at).0;
        }
    }

    /// Returns when it ended, or when its newest event was recorded.
    pub fn over_at(&self) -> Timestamp {
        self.ended_at.unwrap_or(self.last_at)
    }

    /// Returns the state after the newest event.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// Returns what all calls have spent; of those that are not over, what they have told so far.
    pub fn spent(&self) -> Spend {
        self.state.spent_so_far()
    }

    /// Returns all iterations with their steps.
    pub fn iterations(&self) -> impl Iterator<Item = (&StepSummary, &IterationSummary)> {
        self.steps.iter().flat_map(|step| step.iterations.iter().map(move |iteration| (step, iteration)))
    }

    /// Returns what a blocked run needs: of several steps that are blocked, each with its need.
    pub fn needs(&self) -> Option<String> {
        let blocked: Vec<_> = self.state.blocked_steps().collect();
        match &blocked[..] {
            [] => None,
            [(_, needs)] => Some((*needs).to_owned()),
            all => {
                let each: Vec<String> = all.iter().map(|(step, needs)| format!("{step}: {needs}")).collect();
                Some(each.join("; "))
            }
        }
    }

    /// Returns until when the run waits, and for what: the first moment at which anything is done.
    pub fn waits(&self) -> Option<(Timestamp, String)> {
        let waits = self.steps.iter().filter_map(|step| step.waits.as_ref());
        let (until, mut why) = waits.min_by_key(|(until, _)| *until)?.clone();
        if self.state().time_limit().is_some_and(|limit| limit < until) {
            why.push_str(" (the time of the run is over before that)");
        }
        Some((until, why))
    }

    /// Takes the steps of a changed workflow. Those that there were keep what is known of them.
    fn change_workflow(&mut self, change: &WorkflowChange, at: Seq) {
        let mut before = std::mem::take(&mut self.steps);
        let steps = change.workflow.steps.iter().map(|step| {
            let known = before.iter().position(|known| known.id == step.id);
            known.map_or_else(|| StepSummary::new(step), |known| before.swap_remove(known))
        });
        self.steps = steps.collect();
        self.workflow.clone_from(&change.workflow.name);
        self.workflow_digest = change.digest.or(self.workflow_digest);
        self.notes.push((at, changed_workflow(change)));
    }

    fn add_observation(&mut self, observation: &Observation, event: &Event) {
        match observation {
            Observation::RunStarted(started) => {
                self.run = Some(started.run.clone());
                self.workflow = started.workflow.name.clone();
                self.workspace = started.workspace.clone();
                self.started_at = event.at;
                self.steps = started.workflow.steps.iter().map(StepSummary::new).collect();
                self.notes.extend(started.warnings.iter().map(|warning| (event.seq, warning.clone())));
                self.workflow_digest = started.workflow_digest;
            }
            Observation::RunResumed(resumed) => {
                self.goes_on();
                let fork = self.state.started().and_then(|started| started.forked_from.as_ref());
                if fork.is_some_and(|fork| fork.event.next() == event.seq) {
                    self.started_at = event.at;
                }
                if let Some(change) = &resumed.change {
                    self.change_workflow(change, event.seq);
                }
                if let Some(workspace) = &resumed.workspace {
                    self.workspace.clone_from(workspace);
                }
                if resumed.workflow_digest.is_some() && resumed.workflow_digest != self.workflow_digest {
                    let note = "the workflow file has changed since; this run uses what it read";
                    self.notes.push((event.seq, note.to_owned()));
                }
                self.notes.extend(resumed.worker.as_ref().map(|worker| (event.seq, new_worker(worker))));
            }
            Observation::AnswerGiven(_) => self.goes_on(),
            Observation::WorkerStarted(e) => {
                let first = e.snapshot.as_ref().filter(|_| self.state.first_snapshot().is_none());
                let weaker = first.iter().flat_map(|snapshot| {
                    snapshot.notes.iter().cloned().chain(snapshot.exclusion_note_with_ignored())
                });
                self.notes.extend(weaker.map(|note| (event.seq, note)));
                if let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) {
                    iteration.worker_calls += 1;
                }
            }
            // The baseline does not count as an iteration.
            Observation::CheckStarted(e) if e.iteration == Iteration::BASELINE => {}
            Observation::CheckStarted(e) => {
                if let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) {
                    iteration.check_calls += 1;
                }
            }
            Observation::WorkerFinished(e) => {
                self.add_outcome(&e.step, e.iteration, &e.outcome, event);
                let files = self.files(&e.step, e.drift.as_deref());
                if self.diagnoses(&e.step) {
                    return;
                }
                let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) else { return };
                iteration.changed = iteration.changed.max(e.changed);
                if e.changed == Some(true) {
                    iteration.changed_at = Some(event.seq);
                }
                iteration.files = files;
                iteration.put_back.extend(e.drift.iter().flat_map(|drift| drift.put_back.clone()));
                iteration.diffstat = Diffstat::merge_all(iteration.diffstat.take(), e.diffstat.as_deref());
            }
            Observation::CheckFinished(e) if e.iteration == Iteration::BASELINE => {
                let notes = e.outcome.notes.iter().map(|note| (event.seq, format!("{}: {note}", e.step)));
                self.notes.extend(notes);
                if !e.commands.is_empty()
                    && let Some(step) = self.steps.iter_mut().find(|step| step.id == e.step)
                {
                    step.baseline = e.commands.iter().map(CommandSummary::new).collect();
                }
            }
            Observation::CheckFinished(e) => {
                let failed_before = self.failed_before(&e.step, e.iteration);
                let is_of_check =
                    self.state.step(&e.step).is_some_and(|(_, at)| at.verdicts.inquiry == Inquiry::Check);
                self.add_outcome(&e.step, e.iteration, &e.outcome, event);
                if let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) {
                    let lines = e.outcome.stderr_tail.lines().chain(e.outcome.answer.lines());
                    iteration.said = lines.map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
                    iteration.add_results(e, is_of_check);
                    iteration.failed_before = failed_before;
                }
            }
            Observation::LogRepaired(e) => self.notes.push((event.seq, e.what.clone())),
            Observation::Suspended(_) => self.notes.push((event.seq, describe(event))),
            Observation::RunInterrupted(_)
            | Observation::DeadlinePassed
            | Observation::WorkerProgressed(_)
            | Observation::Kicked
            | Observation::WorkerLost(_)
            | Observation::CheckLost(_)
            | Observation::SnapshotTaken(_) => {}
        }
    }

    /// Returns how many files differ after a worker: as many as before, if it recorded nothing else.
    fn files(&self, step: &StepId, drift: Option<&StepChanges>) -> Option<u64> {
        let step = self.steps.iter().find(|summary| summary.id == *step)?;
        let now = drift.map(|drift| drift.files_left_out.saturating_add(drift.files.len() as u64));
        now.or_else(|| step.iterations.iter().rev().find_map(|iteration| iteration.files))
    }

    /// Returns how many failures the check before this iteration showed.
    fn failed_before(&self, step: &StepId, iteration: Iteration) -> Option<u64> {
        let step = self.steps.iter().find(|summary| summary.id == *step)?;
        let before = step
            .iterations
            .iter()
            .rev()
            .find(|earlier| earlier.iteration < iteration && !earlier.commands.is_empty());
        failed(before.map_or(&step.baseline, |before| &before.commands))
    }

    fn add_outcome(&mut self, step: &StepId, iteration: Iteration, outcome: &Outcome, event: &Event) {
        self.notes
            .extend(outcome.notes.iter().map(|note| (event.seq, format!("{step} #{iteration}: {note}"))));
        if let Some(iteration) = self.iteration(step, iteration, event.at) {
            iteration.busy = iteration.busy.plus(outcome.duration);
            iteration.exit = Some(outcome.exit.clone());
        }
    }

    /// Advances the state by an event. If the event ends a call, adds its cost to its iteration.
    fn count(&mut self, event: &Event) {
        // Only the end of a call changes what was spent, and adding that up takes as long as there are child runs.
        let ended = call_ended_by(&event.fact).map(|ended| (ended, self.state.spent_by_ended_calls()));
        self.state = std::mem::take(&mut self.state).evolve(event);
        self.add_diagnosis(event);
        let Some(((step, iteration), before)) = ended else { return };
        let now = self.state.spent_by_ended_calls();
        if now.calls <= before.calls {
            return;
        }
        let money = now.micro_usd().saturating_sub(before.micro_usd());
        let tokens = now.tokens.total().saturating_sub(before.tokens.total());
        let tell_money = now.cost_unknown() == before.cost_unknown();
        let tell_tokens = now.tokens_unknown == before.tokens_unknown;
        let Some(iteration) = self.iteration(step, iteration, event.at) else { return };
        let is_first = iteration.paid_calls == 0;
        let sum = |sum: Option<u64>, more: Option<u64>| if is_first { more } else { Some(sum? + more?) };
        iteration.paid_calls += now.calls - before.calls;
        iteration.micro_usd = sum(iteration.micro_usd, tell_money.then_some(money));
        iteration.tokens = sum(iteration.tokens, tell_tokens.then_some(tokens));
    }

    /// Says whether the worker of a step is run to find out why its loop gets nowhere.
    fn diagnoses(&self, step: &StepId) -> bool {
        self.state.step(step).is_some_and(|(_, at)| at.iteration.purpose == Purpose::Diagnosis)
    }

    /// Takes note of what was found out. What of an answer is a diagnosis the state says.
    fn add_diagnosis(&mut self, event: &Event) {
        let Fact::Observed(Observation::WorkerFinished(e)) = &event.fact else { return };
        if !self.diagnoses(&e.step) {
            return;
        }
        let diagnosis = self.state.step(&e.step).and_then(|(_, at)| at.diagnosis.clone());
        if let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) {
            iteration.diagnosis = diagnosis;
        }
    }

    fn add_conclusion(&mut self, conclusion: &Conclusion, event: &Event) {
        match conclusion {
            Conclusion::VerdictReached(e) => {
                if let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) {
                    iteration.decision = Some(e.decision);
                    iteration.source = Some(e.source.as_str());
                    iteration.reasons = e.reasons.clone();
                    iteration.fingerprints = e.fingerprints.clone();
                    iteration.problems = e.problems.clone();
                    iteration.verdict = Some(event.seq);
                    // If the answer contains the verdict, the exit code does not count as a failure.
                    if e.source.is_stated() {
                        iteration.commands.retain(|command| command.is_validator || command.is_conclusive);
                    }
                }
            }
            Conclusion::StageRaised(e) => {
                if let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) {
                    iteration.raised_to = Some(e.to);
                }
            }
            Conclusion::StepEnded(e) => {
                self.end_of(&e.step, Some(e.end.clone()));
                self.note_doubts(&e.step, event.seq);
            }
            Conclusion::WorkRequested(e) => self.end_of(&e.step, None),
            Conclusion::CheckRequested(e) => self.end_of(&e.step, None),
            Conclusion::RunEnded(e) => {
                if e.outcome == RunOutcome::Complete {
                    let stale = stale_checks::describe_stale(&self.steps);
                    self.notes.extend(stale.into_iter().map(|note| (event.seq, note)));
                }
                self.outcome = Some(e.outcome);
                self.ended = Some(event.seq);
                self.ended_at = Some(event.at);
                self.deciding_step = e.step.clone();
            }
            Conclusion::FallbackTaken(_) => self.notes.push((event.seq, describe(event))),
            Conclusion::WaitRequested(e) => {
                if let Some(step) = self.steps.iter_mut().find(|step| step.id == e.step) {
                    step.waits = Some((e.until, e.detail.clone()));
                }
            }
            Conclusion::RunStopping(_) => {}
        }
    }

    fn goes_on(&mut self) {
        (self.outcome, self.ended, self.ended_at, self.deciding_step) = (None, None, None, None);
    }

    fn end_of(&mut self, step: &StepId, end: Option<StepEnd>) {
        if let Some(step) = self.steps.iter_mut().find(|s| s.id == *step) {
            let last = step.iterations.last().and_then(|iteration| iteration.reasons.first());
            let skipped = last.filter(|reason| end == Some(StepEnd::Complete) && Reason::is_skip(reason));
            let sentence = end.as_ref().map(sentence_of_end);
            step.end_sentence = skipped.cloned().or(sentence);
            step.waits = None;
            step.end = end;
        }
    }

    /// Notes problems for the user that no later prompt reports: doubts about a completion, and unchecked work of a
    /// failed worker.
    fn note_doubts(&mut self, step: &StepId, ended: Seq) {
        let Some(summary) = self.steps.iter().find(|summary| summary.id == *step) else { return };
        let Some(last) = summary.iterations.last() else { return };
        let doubts: Vec<(Seq, String)> = match (&summary.end, last.verdict) {
            (Some(StepEnd::Complete), Some(verdict)) => {
                let problems = last.problems.iter();
                problems.map(|problem| (verdict, format!("{step} #{}: {problem}", last.iteration))).collect()
            }
            (Some(StepEnd::WorkerFailed(_)), _) if last.is_unchecked() => {
                vec![(ended, format!("{step} #{}: {UNCHECKED}", last.iteration))]
            }
            _ => Vec::new(),
        };
        self.notes.extend(doubts);
    }

    fn iteration(
        &mut self,
        step: &StepId,
        number: Iteration,
        at: Timestamp,
    ) -> Option<&mut IterationSummary> {
        let step = self.steps.iter_mut().find(|s| s.id == *step)?;
        if step.iterations.last().is_none_or(|last| last.iteration < number) {
            step.iterations.push(IterationSummary::new(number, at));
        }
        step.iterations.iter_mut().rev().find(|iteration| iteration.iteration == number)
    }
}

/// Scripts easily end with the exit code of their last line.
const UNCHECKED: &str = "its worker changed the workspace and failed, so what it did was not checked; a script whose exit code says nothing \
                         about its work has to end with `exit 0`";

/// Returns the step and the iteration of a call that has ended. The baseline does not count as an iteration.
fn call_ended_by(fact: &Fact) -> Option<(&StepId, Iteration)> {
    let Fact::Observed(observation) = fact else { return None };
    let (step, iteration) = match observation {
        Observation::WorkerFinished(e) => (&e.step, e.iteration),
        Observation::CheckFinished(e) => (&e.step, e.iteration),
        Observation::WorkerLost(e) | Observation::CheckLost(e) => (&e.step, e.iteration),
        _ => return None,
    };
    Some((step, iteration)).filter(|_| iteration != Iteration::BASELINE)
}

#[cfg(test)]
mod tests {
    use unstuck_core::Effect;
    use unstuck_core::event::{Exit, RunResumed, SnapshotMoment, SnapshotTaken, WorkerFinished};
    use unstuck_core::id::{CheckId, Stage};
    use unstuck_core::snapshot::Snapshot;
    use unstuck_core::state::StepPhase;
    use unstuck_core::testing::{
        Behavior, Script, World, finished_event, script_worker, started_event, step,
    };
    use unstuck_core::workflow::{CheckMethod, ConvergencePolicy, Step, WorkerKind, Workflow};

    use super::*;

    const HOUR: Millis = Millis::from_secs(3600);

    #[test]
    fn a_diagnosis_is_what_the_state_says_it_is() {
        let long = "because ".repeat(10_000);
        for (name, exit, answer) in [
            ("of a call that came to its end", Exit::Code(0), "it is the parser"),
            ("without a word", Exit::Code(0), "  "),
            ("of a call that was stopped", Exit::Stopped, "it may be"),
            ("longer than is shown", Exit::Code(0), &long),
        ] {
            let act = Behavior::Exits(1, "not ok 1 - a".to_owned());
            let script = Script { checks: [("a".into(), vec![act])].into(), ..Script::default() };
            let by = CheckMethod::Exit(script_worker(WorkerKind::Custom, "check it"));
            let policy = ConvergencePolicy {
                stall_threshold: 1,
                max_stage: Stage(2),
                fail_on_max_stage: true,
                diagnose_with: Some(script_worker(WorkerKind::Command, "look for it")),
                ..ConvergencePolicy::default()
            };
            let looped = Step { convergence: Some(policy), ..step("a").with_check(by, 9) };
            let mut world = World::start(Workflow::of_steps(vec![looped]), script);
            let is_due = |state: &RunState| {
                let (_, at) = state.steps().next().expect("one step");
                at.iteration.purpose == Purpose::Diagnosis && at.phase == StepPhase::WorkDue
            };
            world.play_until(is_due);
            let effects = world.state.pending_effects();
            let [Effect::Perform(_, due)] = &effects[..] else { panic!("{name}: {effects:?}") };
            let id = CheckId::new("0190a000-0000-7000-8000-00000000000a");
            let begun = started_event(&world.state, due, false, id, Digest::sha256(b""));
            world.give(begun).expect("it is due");
            let outcome = Outcome { answer: answer.to_owned(), ..Outcome::from_exit(exit) };
            let Observation::WorkerFinished(finished) =
                finished_event(due, false, &Behavior::Exits(0, String::new()), None)
            else {
                panic!("a worker finishes")
            };
            world
                .give(Observation::WorkerFinished(WorkerFinished { outcome, ..finished }))
                .expect("it is in flight");
            let of_state = world.state.steps().next().expect("one step").1.diagnosis.clone();
            let summary = RunSummary::from_events(&world.history.events);
            let of_summary =
                summary.steps[0].iterations.iter().rev().find_map(|iteration| iteration.diagnosis.clone());
            assert_eq!(of_summary, of_state, "{name}");
        }
    }

    #[test]
    fn pauses_and_what_comes_after_the_end_are_no_part_of_a_run_and_its_bound_is_the_newest() {
        let checker = script_worker(WorkerKind::Command, "check it");
        let checks = [("a".into(), vec![Behavior::Exits(1, "not yet".to_owned())])].into();
        let workflow = Workflow::of_steps(vec![step("a").with_check(CheckMethod::Agent(checker), 2)]);
        let mut world = World::start(workflow, Script { checks, ..Script::default() });
        world.play();
        let worked = RunSummary::from_events(&world.history.events).took;
        assert!(worked > Millis(0) && worked < HOUR, "{worked:?}");

        world.pass_to(world.state.last_at().after(HOUR));
        let resumed = RunResumed { add_iterations: 1, ..RunResumed::default() };
        world.give(Observation::RunResumed(resumed)).expect("it can go on");
        assert_eq!(RunSummary::from_events(&world.history.events).steps[0].max_iterations, 3);
        world.play();
        let ended_at = world.state.last_at();

        world.pass_to(ended_at.after(HOUR));
        let digest = Digest([0; 32]);
        let snapshot = Box::new(Snapshot {
            id: digest,
            work: digest,
            files: 0,
            bytes: 0,
            repository: None,
            left_out: Vec::new(),
            notes: Vec::new(),
            open_boxes: None,
        });
        let taken = SnapshotTaken { snapshot, moment: SnapshotMoment::BeforeUndo };
        world.give(Observation::SnapshotTaken(taken)).expect("files are put back at any time");
        let summary = RunSummary::from_events(&world.history.events);
        assert!(summary.took > worked && summary.took < HOUR, "{:?}", summary.took);
        assert_eq!((summary.over_at(), summary.ended_at), (ended_at, Some(ended_at)));
        assert!(summary.last_at > ended_at);
    }
}
