//! One line for each event, for people.

use unstuck_core::call_report::{CallReport, Progress};
use unstuck_core::cost;
use unstuck_core::duration::format_duration;
use unstuck_core::event::{
    Call, Conclusion, Event, Exit, Fact, Inquiry, Observation, Outcome, Purpose, RunEnded, SnapshotMoment,
    StallCause, StepEnd, TurnKind, VerdictReached, WaitReason, WorkflowChange,
};
use unstuck_core::evidence::{CommandResult, ValidatorOutcome, ValidatorResult};
use unstuck_core::id::{Iteration, StepId};
use unstuck_core::plural::count;
use unstuck_core::truncate;
use unstuck_core::workflow::Worker;

/// Returns the kind of an event, as it is named in the log.
pub fn kind(event: &Event) -> &'static str {
    match &event.fact {
        Fact::Observed(observation) => match observation {
            Observation::RunStarted(_) => "run_started",
            Observation::RunResumed(_) => "run_resumed",
            Observation::RunInterrupted(_) => "run_interrupted",
            Observation::AnswerGiven(_) => "answer_given",
            Observation::DeadlinePassed => "deadline_passed",
            Observation::WorkerStarted(_) => "worker_started",
            Observation::WorkerFinished(_) => "worker_finished",
            Observation::WorkerLost(_) => "worker_lost",
            Observation::CheckStarted(_) => "check_started",
            Observation::CheckFinished(_) => "check_finished",
            Observation::CheckLost(_) => "check_lost",
            Observation::LogRepaired(_) => "log_repaired",
            Observation::SnapshotTaken(_) => "snapshot_taken",
            Observation::WorkerProgressed(_) => "worker_progressed",
            Observation::Kicked => "kicked",
            Observation::Suspended(_) => "suspended",
        },
        Fact::Concluded(conclusion) => match conclusion {
            Conclusion::WorkRequested(_) => "work_requested",
            Conclusion::CheckRequested(_) => "check_requested",
            Conclusion::WaitRequested(_) => "wait_requested",
            Conclusion::VerdictReached(_) => "verdict_reached",
            Conclusion::StageRaised(_) => "stage_raised",
            Conclusion::StepEnded(_) => "step_ended",
            Conclusion::RunStopping(_) => "run_stopping",
            Conclusion::RunEnded(_) => "run_ended",
            Conclusion::FallbackTaken(_) => "fallback_taken",
        },
    }
}

/// Returns one line that says what happened.
pub fn describe(event: &Event) -> String {
    match &event.fact {
        Fact::Observed(observation) => describe_observation(observation),
        Fact::Concluded(conclusion) => describe_conclusion(conclusion),
    }
}

/// Says how a person changed the workflow.
pub(crate) fn changed_workflow(change: &WorkflowChange) -> String {
    format!("the workflow was changed: {}", change.made.join(", "))
}

fn describe_observation(observation: &Observation) -> String {
    match observation {
        Observation::RunStarted(e) => {
            let parent = e.forked_from.as_ref();
            let parent =
                parent.map(|fork| format!(", forked from run {} after event {}", fork.run, fork.event));
            let parent = parent.unwrap_or_default();
            format!("run {} of {:?} started in {}{parent}", e.run, e.workflow.name, e.workspace)
        }
        Observation::RunResumed(e) => {
            let with = |more: String| format!(" with {more}");
            let iterations = (e.add_iterations > 0).then(|| with(count(e.add_iterations, "more iteration")));
            let money =
                (e.add_micro_usd > 0).then(|| with(format!("{} more", cost::dollars(e.add_micro_usd))));
            let tokens = (e.add_tokens > 0).then(|| with(count(e.add_tokens, "more token")));
            let who = e.worker.as_ref().map(|worker| format!(", {}", new_worker(worker)));
            let change = e.change.as_ref().map(|change| format!(", {}", changed_workflow(change)));
            let place = e.workspace.as_ref().map(|place| format!(", in {place}"));
            let more: String =
                [iterations, money, tokens, who, change, place].into_iter().flatten().collect();
            let hint = e.hint.as_ref().map_or_else(String::new, |hint| format!("; hint: {hint}"));
            format!("run resumed{more}{hint}")
        }
        Observation::RunInterrupted(e) => format!("interrupted by signal {}", e.signal),
        Observation::AnswerGiven(e) => match &e.steps[..] {
            [] => format!("a person answered: {}", e.text),
            steps => {
                let steps: Vec<&str> = steps.iter().map(StepId::as_str).collect();
                format!("a person answered {}: {}", steps.join(", "), e.text)
            }
        },
        Observation::DeadlinePassed => "a deadline passed".to_owned(),
        Observation::WorkerStarted(e) => {
            let from = match &e.templates[..] {
                [] => String::new(),
                files => format!(", asked with {}", files.join(", ")),
            };
            let who = e.call.as_deref().map_or_else(|| "worker".to_owned(), client_and_session);
            format!("{} #{}: {who} started, attempt {}{from}", e.step, e.iteration, e.attempt)
        }
        Observation::WorkerProgressed(e) => {
            format!("{} #{}: {}", e.step, e.iteration, progress(&e.progress))
        }
        Observation::Kicked => "a person does not want to wait any longer".to_owned(),
        Observation::Suspended(e) => format!("the machine was suspended for {}", format_duration(e.length)),
        Observation::WorkerFinished(e) => {
            let changed = match e.changed {
                Some(true) => ", workspace changed",
                Some(false) => ", workspace unchanged",
                None => "",
            };
            format!("{} #{}: worker {}{changed}", e.step, e.iteration, describe_exit(&e.outcome))
        }
        Observation::WorkerLost(e) => {
            format!(
                "{} #{}: worker lost with its supervisor, {} ended",
                e.step,
                e.iteration,
                count(e.processes_ended, "process")
            )
        }
        Observation::CheckStarted(e) => {
            format!("{}: check {} started, attempt {}", check_of(&e.step, e.iteration), e.check_id, e.attempt)
        }
        Observation::CheckFinished(e) => {
            let place = check_of(&e.step, e.iteration);
            if e.validators.is_empty() {
                format!("{place}: check {}{}", describe_exit(&e.outcome), failure_count(&e.commands))
            } else {
                let rounds = e.unsettled_after.map(|rounds| count(rounds, "round"));
                let unsettled = rounds.map_or_else(String::new, |rounds| {
                    format!("; in {rounds} the workspace was changed each time")
                });
                format!("{place}: {}{unsettled}", describe_validators(&e.validators))
            }
        }
        Observation::CheckLost(e) => {
            format!(
                "{} #{}: check lost with its supervisor, {} ended",
                e.step,
                e.iteration,
                count(e.processes_ended, "process")
            )
        }
        Observation::LogRepaired(e) => format!("the log was repaired: {}", e.what),
        Observation::SnapshotTaken(e) => {
            let files = format!("a snapshot of {}", count(e.snapshot.files, "file"));
            match e.moment {
                SnapshotMoment::Ended => format!("{files} was taken at the end"),
                SnapshotMoment::Resumed => format!("{files} was taken when the run was resumed"),
                SnapshotMoment::BeforeUndo => format!("{files} was taken before files were put back"),
                SnapshotMoment::Abandoned => {
                    format!("{files} was taken when its supervisor had died and all it had started was ended")
                }
                SnapshotMoment::Undone(to) => format!("the files were put back to those of event {to}"),
            }
        }
    }
}

/// Says who has taken the work of a run over, from a person.
pub(crate) fn new_worker(worker: &Worker) -> String {
    const NAME_MAX: usize = 60;
    let name = worker.name().lines().next().unwrap_or_default();
    let cut = truncate::head(name, NAME_MAX);
    format!("{cut}{} works now", if cut.len() < worker.name().len() { "..." } else { "" })
}

fn client_and_session(call: &Call) -> String {
    match &call.session {
        Some(session) if call.continues => {
            format!("{}, which goes on with conversation {session},", call.client)
        }
        _ => call.client.clone(),
    }
}

/// Returns where a call stands, in one line.
pub fn progress(progress: &Progress) -> String {
    if let Some(retry) = &progress.retrying {
        let of = retry.most.map_or_else(String::new, |most| format!(" of {most}"));
        return format!("{}: tries again, {}{of}", retry.trouble.as_str(), retry.attempt);
    }
    let cost = progress.cost.map(|cost| format!(", {}", cost::dollars(progress.earlier.with(cost))));
    let cost = cost.unwrap_or_default();
    let doing = [&progress.doing, &progress.text].into_iter().find(|text| !text.is_empty());
    let doing = doing.map_or("at work", |text| text.lines().next().unwrap_or_default());
    format!("{doing} ({} of tools{cost})", count(progress.counts.tools, "use"))
}

/// Returns what each validator found, the answers that were kept from before marked as such.
fn describe_validators(results: &[ValidatorResult]) -> String {
    let one = |result: &ValidatorResult| {
        let outcome = match &result.outcome {
            ValidatorOutcome::Pass => "passes".to_owned(),
            ValidatorOutcome::Fail => format!("fails ({})", result.summary()),
            ValidatorOutcome::CouldNotRun(why) => format!("could not run ({why})"),
        };
        let kept = if result.cached { ", as before: nothing has changed" } else { "" };
        format!("{} {outcome}{kept}", result.validator)
    };
    results.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Says how a process ended, and after which time.
pub fn describe_exit(outcome: &Outcome) -> String {
    let how = match &outcome.exit {
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Signal(signal) => format!("was ended by signal {signal}"),
        Exit::TimedOut => "was ended: its time was up".to_owned(),
        Exit::Idle => "was ended: it did nothing for its idle time".to_owned(),
        Exit::Probed(word) => format!("was ended: its probe said `{word}`"),
        Exit::Asks(question) => format!("was ended: it waited for an answer to {question:?}"),
        Exit::Settled => "had written its verdict and was silent, so it was ended".to_owned(),
        Exit::Hopeless => "was ended: it tried again and again what cannot succeed".to_owned(),
        Exit::Flooded => "was ended: it printed more than it may".to_owned(),
        Exit::Stopped => "was stopped".to_owned(),
        Exit::CouldNotStart(why) => format!("could not start: {why}"),
        Exit::Child(child) => format!("(run {}) ended {}", child.run, child.end.as_str()),
    };
    let secs = outcome.duration.0 / 1000;
    let ms = outcome.duration.0 % 1000 / 100;
    let mut text = format!("{how} after {secs}.{ms} s");
    if let Some(reading) = &outcome.reading {
        text.push_str(&describe_report(reading));
    }
    if outcome.processes_ended > 0 {
        text.push_str(&format!(", {} ended", count(outcome.processes_ended, "leftover process")));
    }
    if outcome.redactions > 0 {
        text.push_str(&format!(", {} redacted", count(outcome.redactions, "secret")));
    }
    if let Some(fatal) = &outcome.fatal {
        text.push_str(&format!("; {fatal}"));
    }
    text
}

/// Returns what a client told of its end.
fn describe_report(reading: &CallReport) -> String {
    let mut text = match reading.trouble {
        Some(trouble) => format!(", {}", trouble.as_str()),
        None => String::new(),
    };
    if !reading.message.is_empty() {
        text.push_str(&format!(": {}", reading.message.lines().next().unwrap_or_default()));
    }
    if let Some(cost) = reading.cost {
        text.push_str(&format!(", {}", cost::dollars(reading.earlier.with(cost))));
    }
    text
}

fn describe_conclusion(conclusion: &Conclusion) -> String {
    match conclusion {
        Conclusion::WorkRequested(e) => {
            let stage = if e.stage.0 > 1 { format!(", stage {}", e.stage) } else { String::new() };
            let what = match e.purpose {
                Purpose::Work => "work is due",
                Purpose::Diagnosis => "a diagnosis is due",
            };
            format!("{} #{}: {what}, attempt {}{stage}", e.step, e.iteration, e.attempt)
        }
        Conclusion::CheckRequested(e) => {
            let what = match e.what {
                Inquiry::Check => "a check is",
                Inquiry::Preflight => "the preflight is",
                Inquiry::Conditions => "the validators are",
                Inquiry::Closer => "the closer is",
            };
            format!("{}: {what} due, attempt {}", check_of(&e.step, e.iteration), e.attempt)
        }
        Conclusion::WaitRequested(e) => {
            let why = match e.why {
                WaitReason::Retry(_) => "tries the worker again",
                WaitReason::Weather(_) => "waits for a service that is limited or out of order",
                WaitReason::CheckRetry(_) => "tries the check again",
                WaitReason::ExternalJob => "waits",
            };
            format!("{}: {why} later: {}", e.step, e.detail)
        }
        Conclusion::VerdictReached(e) => format!("{} #{}: {}", e.step, e.iteration, verdict(e)),
        Conclusion::StageRaised(e) => {
            format!(
                "{} #{}: {} ({}x), stage {} -> {}",
                e.step,
                e.iteration,
                stall(e.cause),
                e.count,
                e.from,
                e.to
            )
        }
        Conclusion::StepEnded(e) => format!("{}: {}", e.step, sentence_of_end(&e.end)),
        Conclusion::FallbackTaken(e) => {
            let who = if e.what == TurnKind::Work { "worker" } else { "checker" };
            format!("{}: {who} {} of the chain takes over: {}", e.step, e.to + 1, e.why.message)
        }
        Conclusion::RunStopping(e) => format!("no new work is begun: {}", e.why.as_str()),
        Conclusion::RunEnded(e) => run_ended(e),
    }
}

fn verdict(event: &VerdictReached) -> String {
    let mut text = format!("{} (source={})", event.decision.in_words(), event.source.as_str());
    let why: Vec<&str> = event.reasons.iter().chain(&event.problems).map(String::as_str).collect();
    if !why.is_empty() {
        text.push_str(": ");
        text.push_str(&why.join("; "));
    }
    if !event.fingerprints.is_empty() {
        text.push_str(&format!(" [{}]", event.fingerprints.join(", ")));
    }
    text
}

fn run_ended(event: &RunEnded) -> String {
    let mut text = format!("run ended: {}", event.outcome.as_str());
    if let Some(step) = &event.step {
        text.push_str(&format!(", decided by step {step}"));
    }
    if !event.incomplete_steps.is_empty() {
        let steps: Vec<&str> = event.incomplete_steps.iter().map(|step| step.as_str()).collect();
        text.push_str(&format!(", {} incomplete: {}", count(steps.len(), "step"), steps.join(", ")));
    }
    text
}

/// Returns a name for a check run: the step and the iteration, or `baseline` for the one before the first.
fn check_of(step: &StepId, iteration: Iteration) -> String {
    if iteration == Iteration::BASELINE { format!("{step} baseline") } else { format!("{step} #{iteration}") }
}

/// Says how much failed, where commands tell.
fn failure_count(commands: &[CommandResult]) -> String {
    let failed: usize = commands.iter().map(|command| command.failures.len()).sum();
    if failed == 0 { String::new() } else { format!(", {}", count(failed, "failure")) }
}

/// Returns what a stuck loop looks like.
pub(crate) fn stall(cause: StallCause) -> String {
    match cause {
        StallCause::SameFailures => "the same failures again".to_owned(),
        StallCause::Cycle(period) => format!("it goes in a circle of {period} iterations"),
        StallCause::PersistentFailure => "one failure stays".to_owned(),
        StallCause::NoReasons => "incomplete again, and no failure is named".to_owned(),
        StallCause::NoChange => "nothing in the workspace changes".to_owned(),
        StallCause::Growing => "more failures than at best, and nothing gets better".to_owned(),
        StallCause::Diverging => "other failures each time, and nothing gets better".to_owned(),
    }
}

/// Returns how a step ended, for people.
pub fn sentence_of_end(end: &StepEnd) -> String {
    match end {
        StepEnd::Complete => "complete".to_owned(),
        StepEnd::Incomplete => "incomplete after its last iteration; the workflow goes on".to_owned(),
        StepEnd::Skipped(on) => format!("skipped, because step {on} did not end well"),
        StepEnd::Blocked(needs) => format!("blocked: a person must act: {needs}"),
        StepEnd::IterationsExhausted => "its last allowed iteration is over".to_owned(),
        StepEnd::Stuck(cause) => format!("stuck: {}", stall(*cause)),
        StepEnd::WorkerFailed(failure) => format!("the worker failed: {}", failure.message),
        StepEnd::CheckFailed(failure) => failure.message.clone(),
        StepEnd::CheckCouldNotRun(failure) => format!("the check could not run: {}", failure.message),
        StepEnd::NoBaseline(why) => format!("there is no baseline: {why}"),
        StepEnd::WaitExpired => "an external job takes longer than the step may".to_owned(),
        StepEnd::Fatal(why) | StepEnd::Undecidable(why) => why.clone(),
        StepEnd::ConditionFailed(reason) => format!("a condition does not hold: {reason}"),
        StepEnd::AttemptsExhausted(what) => format!("no attempt is left: {what}"),
    }
}
