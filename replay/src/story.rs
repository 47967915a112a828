//! A run as people read it: steps, iterations, verdicts.

use serde::Serialize;
use unstuck_core::cost::Spent;
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::{
    CheckFinished, Conclusion, Exit, Inquiry, Observation, Outcome, Purpose, RunOutcome, StepEnd,
};
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::Decision;
use unstuck_core::evidence::{Failure, Tests};
use unstuck_core::evidence::{ValidatorOutcome, ValidatorResult};
use unstuck_core::id::{Digest, Iteration, Millis, RunId, Seq, Stage, StepId, Timestamp};
use unstuck_core::judge::gate;
use unstuck_core::judge::reason::Reason;
use unstuck_core::judge::scope::Drift;
use unstuck_core::workflow::{CheckBy, Step};
use unstuck_core::{Event, Fact, RunState};

use crate::describe::{describe, sentence_of_end, works_now};
use crate::proof;

/// A run as people read it. Folded from its events, like everything else.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Story {
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
    pub steps: Vec<StepStory>,
    /// Doubtful things, each with the event that reports it.
    pub notes: Vec<(Seq, String)>,
    /// The state after the newest event.
    #[serde(skip)]
    state: RunState,
    #[serde(skip)]
    workflow_digest: Option<Digest>,
}

/// A step as people read it.
#[derive(Clone, Debug, Serialize)]
pub struct StepStory {
    /// The step.
    pub id: StepId,
    /// It has a loop; else it has one iteration, and its bound is not worth a word.
    #[serde(skip)]
    pub has_loop: bool,
    /// Bound of its loop.
    pub max_iterations: u32,
    /// Results of the check commands before the first iteration.
    pub baseline: Vec<CommandStory>,
    /// Its iterations so far.
    pub iterations: Vec<IterationStory>,
    /// How it ended.
    pub end: Option<StepEnd>,
    /// The same as a sentence.
    pub end_sentence: Option<String>,
    /// When the wait ends, and its reason; `None` if the step is not waiting.
    pub waits: Option<(Timestamp, String)>,
    /// The script of its check, where the exit code of one is the verdict.
    #[serde(skip)]
    pub script: Option<String>,
}

/// Result of a check command, for users.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CommandStory {
    /// The command line.
    pub run: String,
    /// The command exited with 0, and neither its reports nor its summary contain a named failure.
    pub passed: bool,
    /// The result comes from a validator, so there is no baseline to compare with.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_validator: bool,
    /// The command exited with 0, but its output reports failures.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub belies_itself: bool,
    /// Tests failed in it, and it counts none: one that is removed may not be seen.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hides_tests: bool,
    /// It came to its end, and it is known what failed.
    pub is_conclusive: bool,
    /// How it ended, where it is a command and that is not known.
    #[serde(skip)]
    pub inconclusive: Option<String>,
    /// What failed; the first so many of them.
    pub failures: Vec<FailureStory>,
    /// At how many places something failed.
    pub failed: u64,
    /// Failures that occurred in some check attempts but not in all.
    pub flaky: Vec<FailureStory>,
    /// How many tests there were, where it says so.
    pub tests: Option<Tests>,
    /// Wall time.
    pub duration: Millis,
}

/// A failure as people read it.
#[derive(Clone, Debug, Serialize)]
pub struct FailureStory {
    /// Name of the failure.
    pub name: String,
    /// Its identity.
    pub fingerprint: String,
    /// Message of the tool.
    pub message: String,
    /// File and line, where they are known.
    pub place: Option<String>,
}

/// Failures of a command beyond this are counted only.
const FAILURES_MAX: usize = 200;

impl CommandStory {
    fn new(result: &CommandResult) -> Self {
        Self {
            run: result.run.clone(),
            passed: result.passed(),
            is_validator: false,
            belies_itself: result.belies_itself(),
            hides_tests: result.hides_tests(),
            is_conclusive: result.is_conclusive(),
            inconclusive: result.inconclusive(),
            failures: result.failures.iter().take(FAILURES_MAX).map(FailureStory::new).collect(),
            failed: result.failed_places(),
            flaky: result.flaky.iter().take(FAILURES_MAX).map(FailureStory::new).collect(),
            tests: result.tests,
            duration: result.duration,
        }
    }
}

impl CommandStory {
    /// Converts the result of a validator, with its name as the command line.
    fn of_validator(result: &ValidatorResult) -> Self {
        Self {
            run: result.validator.clone(),
            passed: result.passed(),
            is_validator: true,
            belies_itself: false,
            hides_tests: false,
            is_conclusive: !matches!(result.outcome, ValidatorOutcome::CouldNotRun(_)),
            inconclusive: None,
            failures: result.failures.iter().take(FAILURES_MAX).map(FailureStory::new).collect(),
            failed: u64::try_from(result.failures.len()).unwrap_or(u64::MAX),
            flaky: Vec::new(),
            tests: None,
            duration: result.duration,
        }
    }
}

impl FailureStory {
    fn new(failure: &Failure) -> Self {
        Self {
            name: gate::name(failure),
            fingerprint: failure.fingerprint.to_string(),
            message: failure.message.clone(),
            place: failure.location.as_ref().map(ToString::to_string),
        }
    }
}

fn failed(commands: &[CommandStory]) -> Option<u64> {
    (!commands.is_empty()).then(|| commands.iter().map(|command| command.failed).sum())
}

/// An iteration as people read it.
#[derive(Clone, Debug, Serialize)]
pub struct IterationStory {
    /// Its number.
    pub iteration: Iteration,
    /// When its first worker was started.
    pub started_at: Timestamp,
    /// Time of its workers and checks.
    pub busy: Millis,
    /// How often a worker was started.
    pub worker_calls: u32,
    /// How often a check was started.
    pub check_calls: u32,
    /// How its newest process ended.
    pub exit: Option<Exit>,
    /// The last line that its check printed.
    pub said: Option<String>,
    /// Results of the commands of its check.
    pub commands: Vec<CommandStory>,
    /// How many failures there were before it, where that is known.
    pub failed_before: Option<u64>,
    /// Whether the worker changed anything; `None` if the workspace could not be compared.
    pub changed: Option<bool>,
    /// The event that says that it did.
    #[serde(skip)]
    pub changed_at: Option<Seq>,
    /// How many files differ from the base of the step; `None` where that is not known.
    pub files: Option<u64>,
    /// Changes of its attempts, by file; `None` if there are none or they are unknown.
    pub diffstat: Option<Diffstat>,
    /// Files changed out of scope that were reverted after the work.
    pub put_back: Vec<String>,
    /// Diagnosis of why the loop is stuck, made after this iteration.
    pub diagnosis: Option<String>,
    /// Decision of the verdict.
    pub decision: Option<Decision>,
    /// Where the claim was read.
    pub source: Option<&'static str>,
    /// Why.
    pub reasons: Vec<String>,
    /// What failed.
    pub fingerprints: Vec<String>,
    /// Problems of the answer.
    pub problems: Vec<String>,
    /// Money that its calls cost, in millionths of a US dollar; `None` where not all of them tell.
    pub micro_usd: Option<u64>,
    /// Tokens that its calls used; `None` where not all of them tell.
    pub tokens: Option<u64>,
    #[serde(skip)]
    paid_calls: u64,
    /// The event of the verdict.
    pub verdict: Option<Seq>,
    /// The stage after it, where it was raised.
    pub raised_to: Option<Stage>,
}

impl Story {
    /// Reads the story from events.
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut story = Self::default();
        for event in events {
            story.add(event);
        }
        story
    }

    /// Adds one event.
    pub fn add(&mut self, event: &Event) {
        self.last_at = event.at;
        self.last_seq = event.seq;
        match &event.fact {
            Fact::Observed(observation) => self.observed(observation, event),
            Fact::Concluded(conclusion) => self.concluded(conclusion, event),
        }
        self.count(event);
        self.took = self.state.worked_for();
        // A person may have added some.
        for (story, (step, at)) in self.steps.iter_mut().zip(self.state.steps()) {
            story.max_iterations = self.state.iterations_told(step, at).0;
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
    pub fn spent(&self) -> Spent {
        self.state.spent_so_far()
    }

    /// Returns all iterations with their steps.
    pub fn iterations(&self) -> impl Iterator<Item = (&StepStory, &IterationStory)> {
        self.steps.iter().flat_map(|step| step.iterations.iter().map(move |iteration| (step, iteration)))
    }

    /// Returns what a blocked run needs: of several steps that are blocked, each with its need.
    pub fn needs(&self) -> Option<String> {
        let blocked: Vec<_> = self.state.blocked().collect();
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

    fn observed(&mut self, observation: &Observation, event: &Event) {
        match observation {
            Observation::RunStarted(started) => {
                self.run = Some(started.run.clone());
                self.workflow = started.workflow.name.clone();
                self.workspace = started.workspace.clone();
                self.started_at = event.at;
                self.steps = started.workflow.steps.iter().map(StepStory::new).collect();
                self.notes.extend(started.warnings.iter().map(|warning| (event.seq, warning.clone())));
                self.workflow_digest = started.workflow_digest;
            }
            Observation::RunResumed(resumed) => {
                self.goes_on();
                if resumed.workflow_digest.is_some() && resumed.workflow_digest != self.workflow_digest {
                    let note = "the workflow file has changed since; this run goes on with what it read";
                    self.notes.push((event.seq, note.to_owned()));
                }
                self.notes.extend(resumed.worker.as_ref().map(|worker| (event.seq, works_now(worker))));
            }
            Observation::AnswerGiven(_) => {
                self.goes_on();
            }
            Observation::WorkerStarted(e) => {
                let first = e.snapshot.as_ref().filter(|_| self.state.first_snapshot().is_none());
                let weaker = first.iter().flat_map(|it| it.notes.iter().cloned().chain(it.lacks_in_all()));
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
                self.finished(&e.step, e.iteration, &e.outcome, event);
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
                iteration.diffstat = Diffstat::joined(iteration.diffstat.take(), e.diffstat.as_deref());
            }
            Observation::CheckFinished(e) if e.iteration == Iteration::BASELINE => {
                let notes = e.outcome.notes.iter().map(|note| (event.seq, format!("{}: {note}", e.step)));
                self.notes.extend(notes);
                if !e.commands.is_empty()
                    && let Some(step) = self.steps.iter_mut().find(|step| step.id == e.step)
                {
                    step.baseline = e.commands.iter().map(CommandStory::new).collect();
                }
            }
            Observation::CheckFinished(e) => {
                let failed_before = self.failed_before(&e.step, e.iteration);
                let is_of_check =
                    self.state.step(&e.step).is_some_and(|(_, at)| at.verdicts.inquiry == Inquiry::Check);
                self.finished(&e.step, e.iteration, &e.outcome, event);
                if let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) {
                    let lines = e.outcome.stderr_tail.lines().chain(e.outcome.answer.lines());
                    iteration.said = lines.map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned);
                    iteration.showed(e, is_of_check);
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
    fn files(&self, step: &StepId, drift: Option<&Drift>) -> Option<u64> {
        let step = self.steps.iter().find(|it| it.id == *step)?;
        let now = drift.map(|drift| drift.files_left_out.saturating_add(drift.files.len() as u64));
        now.or_else(|| step.iterations.iter().rev().find_map(|it| it.files))
    }

    /// Returns how many failures the check before this iteration showed.
    fn failed_before(&self, step: &StepId, iteration: Iteration) -> Option<u64> {
        let step = self.steps.iter().find(|it| it.id == *step)?;
        let before =
            step.iterations.iter().rev().find(|it| it.iteration < iteration && !it.commands.is_empty());
        failed(before.map_or(&step.baseline, |before| &before.commands))
    }

    fn finished(&mut self, step: &StepId, iteration: Iteration, outcome: &Outcome, event: &Event) {
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
        self.diagnosed(event);
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
        self.state.step(step).is_some_and(|(_, at)| at.purpose == Purpose::Diagnosis)
    }

    /// Takes note of what was found out. What of an answer is a diagnosis the state says.
    fn diagnosed(&mut self, event: &Event) {
        let Fact::Observed(Observation::WorkerFinished(e)) = &event.fact else { return };
        if !self.diagnoses(&e.step) {
            return;
        }
        let found = self.state.step(&e.step).and_then(|(_, at)| at.diagnosis.clone());
        if let Some(iteration) = self.iteration(&e.step, e.iteration, event.at) {
            iteration.diagnosis = found;
        }
    }

    fn concluded(&mut self, conclusion: &Conclusion, event: &Event) {
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
                    if e.source.is_said() {
                        iteration.commands.retain(|it| it.is_validator || it.is_conclusive);
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
            Conclusion::WorkRequested(e) => {
                self.end_of(&e.step, None);
            }
            Conclusion::CheckRequested(e) => self.end_of(&e.step, None),
            Conclusion::RunEnded(e) => {
                if e.outcome == RunOutcome::Complete {
                    let outdated = proof::outdated(&self.steps);
                    self.notes.extend(outdated.into_iter().map(|note| (event.seq, note)));
                }
                self.outcome = Some(e.outcome);
                self.ended = Some(event.seq);
                self.ended_at = Some(event.at);
                self.deciding_step = e.step.clone();
            }
            Conclusion::FallbackTaken(_) => self.notes.push((event.seq, describe(event))),
            Conclusion::WaitRequested(e) => {
                if let Some(step) = self.steps.iter_mut().find(|it| it.id == e.step) {
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
            let last = step.iterations.last().and_then(|it| it.reasons.first());
            let skipped = last.filter(|it| end == Some(StepEnd::Complete) && Reason::is_skip(it));
            let sentence = end.as_ref().map(sentence_of_end);
            step.end_sentence = skipped.cloned().or(sentence);
            step.waits = None;
            step.end = end;
        }
    }

    /// Notes problems for the user that no later prompt reports: doubts about a completion, and unchecked work of a
    /// failed worker.
    fn note_doubts(&mut self, step: &StepId, ended: Seq) {
        let Some(it) = self.steps.iter().find(|it| it.id == *step) else { return };
        let Some(last) = it.iterations.last() else { return };
        let doubts: Vec<(Seq, String)> = match (&it.end, last.verdict) {
            (Some(StepEnd::Complete), Some(verdict)) => {
                let told = last.problems.iter();
                told.map(|problem| (verdict, format!("{step} #{}: {problem}", last.iteration))).collect()
            }
            (Some(StepEnd::WorkerFailed(_)), _) if last.is_unchecked() => {
                vec![(ended, format!("{step} #{}: {UNCHECKED}", last.iteration))]
            }
            _ => Vec::new(),
        };
        self.notes.extend(doubts);
    }

    fn iteration(&mut self, step: &StepId, number: Iteration, at: Timestamp) -> Option<&mut IterationStory> {
        let step = self.steps.iter_mut().find(|s| s.id == *step)?;
        if step.iterations.last().is_none_or(|last| last.iteration < number) {
            step.iterations.push(IterationStory::new(number, at));
        }
        step.iterations.iter_mut().rev().find(|iteration| iteration.iteration == number)
    }
}

/// Scripts easily end with the exit code of their last line.
const UNCHECKED: &str = "its worker changed the workspace and failed, so what it did was not checked; a script whose exit code says nothing \
                         about its work has to end with `exit 0`";

impl IterationStory {
    /// Says whether it has changed something, and an exit code is all that says that it failed.
    fn is_unchecked(&self) -> bool {
        self.changed == Some(true) && matches!(self.exit, Some(Exit::Code(1..=125)))
    }

    /// Takes note of what the commands of a check, or the validators after it, have shown. Who is asked again
    /// counts for the last time: what a check showed before is none of it.
    fn showed(&mut self, check: &CheckFinished, is_of_check: bool) {
        let commands = check.commands.iter().map(CommandStory::new);
        let now: Vec<CommandStory> =
            commands.chain(check.validators.iter().map(CommandStory::of_validator)).collect();
        let is_over = |before: &CommandStory| is_of_check && !before.is_validator;
        self.commands.retain(|before| !is_over(before) && now.iter().all(|it| it.run != before.run));
        self.commands.extend(now);
    }

    /// Returns how many failures the commands of its check showed; `None` if it has none.
    pub fn failed(&self) -> Option<u64> {
        failed(&self.commands)
    }

    /// Returns a short reason for the decision: the first reason of the verdict. If there is none: a doubt about the
    /// completion, the problem that made the answer unreadable, or the last line that the check printed.
    pub fn why(&self) -> Option<&str> {
        let otherwise = match self.decision {
            Some(Decision::Complete) => self.problems.first(),
            Some(Decision::Blocked | Decision::Waiting) => None,
            // The sources are read in order, so the newest problem says most.
            Some(Decision::None) => self.problems.last(),
            _ => self.said.as_ref(),
        };
        self.reasons.first().or(otherwise).map(String::as_str)
    }
}

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

impl StepStory {
    pub(crate) fn new(step: &Step) -> Self {
        let (has_loop, max_iterations) = (step.check.is_some(), step.max_iterations);
        let (baseline, iterations) = (Vec::new(), Vec::new());
        let (end, end_sentence, waits) = (None, None, None);
        let script = match step.check.as_ref().map(|check| &check.by) {
            Some(CheckBy::Exit(checker)) => Some(checker.instructions.clone()),
            _ => None,
        };
        let id = step.id.clone();
        Self { waits, id, has_loop, max_iterations, baseline, iterations, end, end_sentence, script }
    }

    /// Returns the word for what one of its iterations was judged.
    pub fn judged(&self, iteration: &IterationStory) -> &'static str {
        let unjudged = if self.end == Some(StepEnd::Complete) { "done" } else { "not judged" };
        iteration.decision.map_or(unjudged, Decision::in_words)
    }
}

impl IterationStory {
    pub(crate) fn new(iteration: Iteration, started_at: Timestamp) -> Self {
        Self {
            iteration,
            started_at,
            busy: Millis(0),
            worker_calls: 0,
            check_calls: 0,
            exit: None,
            said: None,
            commands: Vec::new(),
            failed_before: None,
            changed: None,
            changed_at: None,
            files: None,
            diffstat: None,
            put_back: Vec::new(),
            diagnosis: None,
            decision: None,
            source: None,
            reasons: Vec::new(),
            fingerprints: Vec::new(),
            problems: Vec::new(),
            micro_usd: None,
            tokens: None,
            paid_calls: 0,
            verdict: None,
            raised_to: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::Effect;
    use unstuck_core::event::{RunResumed, SnapshotMoment, SnapshotTaken, WorkerFinished};
    use unstuck_core::id::CheckId;
    use unstuck_core::snapshot::Snapshot;
    use unstuck_core::state::StepPhase;
    use unstuck_core::testing::{Act, Script, World, finished, script_worker, started, step};
    use unstuck_core::workflow::{Convergence, WorkerKind, Workflow};

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
            let act = Act::Exits(1, "not ok 1 - a".to_owned());
            let script = Script { checks: [("a".into(), vec![act])].into(), ..Script::default() };
            let by = CheckBy::Exit(script_worker(WorkerKind::Custom, "check it"));
            let policy = Convergence {
                stall_threshold: 1,
                max_stage: Stage(2),
                fail_on_max_stage: true,
                diagnose_with: Some(script_worker(WorkerKind::Command, "look for it")),
                ..Convergence::default()
            };
            let looped = Step { convergence: Some(policy), ..step("a").checked(by, 9) };
            let mut world = World::start(Workflow::of_steps(vec![looped]), script);
            let is_due = |state: &RunState| {
                let (_, at) = state.steps().next().expect("one step");
                at.purpose == Purpose::Diagnosis && at.phase == StepPhase::WorkDue
            };
            world.play_until(is_due);
            let effects = world.state.pending_effects();
            let [Effect::Perform(_, due)] = &effects[..] else { panic!("{name}: {effects:?}") };
            let id = CheckId::new("0190a000-0000-7000-8000-00000000000a");
            let begun = started(&world.state, due, false, id, Digest::of(b""));
            world.give(begun).expect("it is due");
            let outcome = Outcome { answer: answer.to_owned(), ..Outcome::of(exit) };
            let Observation::WorkerFinished(finished) =
                finished(due, false, &Act::Exits(0, String::new()), None)
            else {
                panic!("a worker finishes")
            };
            world
                .give(Observation::WorkerFinished(WorkerFinished { outcome, ..finished }))
                .expect("it is in flight");
            let of_state = world.state.steps().next().expect("one step").1.diagnosis.clone();
            let story = Story::of(&world.history.events);
            let of_story = story.steps[0].iterations.iter().rev().find_map(|it| it.diagnosis.clone());
            assert_eq!(of_story, of_state, "{name}");
        }
    }

    #[test]
    fn pauses_and_what_comes_after_the_end_are_no_part_of_a_run_and_its_bound_is_the_newest() {
        let checker = script_worker(WorkerKind::Command, "check it");
        let checks = [("a".into(), vec![Act::Exits(1, "not yet".to_owned())])].into();
        let workflow = Workflow::of_steps(vec![step("a").checked(CheckBy::Agent(checker), 2)]);
        let mut world = World::start(workflow, Script { checks, ..Script::default() });
        world.play();
        let worked = Story::of(&world.history.events).took;
        assert!(worked > Millis(0) && worked < HOUR, "{worked:?}");

        world.pass_to(world.state.last_at().after(HOUR));
        let resumed = RunResumed { add_iterations: 1, ..RunResumed::default() };
        world.give(Observation::RunResumed(resumed)).expect("it can go on");
        assert_eq!(Story::of(&world.history.events).steps[0].max_iterations, 3);
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
        let story = Story::of(&world.history.events);
        assert!(story.took > worked && story.took < HOUR, "{:?}", story.took);
        assert_eq!((story.over_at(), story.ended_at), (ended_at, Some(ended_at)));
        assert!(story.last_at > ended_at);
    }
}
