//! The lines that stay for the events of a run.

use unstuck_core::call_report::CallEnd;
use unstuck_core::cost;
use unstuck_core::event::{
    Conclusion, Exit, Fact, Observation, Outcome, Purpose, VerdictReached, WaitReason,
};
use unstuck_core::id::{Iteration, StepId, Timestamp};
use unstuck_core::state::StepPhase;
use unstuck_core::{Event, RunState};
use unstuck_replay::{FailureSummary, IterationSummary, RunSummary};

use super::header_footer::{diffstat_text, more_reasons};
use crate::format;
use crate::invocation::UNSTUCK;

/// Returns the line that stays for an event; most events have none.
pub(super) fn line_of(event: &Event, story: &RunSummary, state: &RunState) -> Option<String> {
    match &event.fact {
        Fact::Observed(Observation::RunResumed(_)) => Some(resumed_lines(event, story, state)),
        Fact::Observed(
            Observation::AnswerGiven(_)
            | Observation::WorkerLost(_)
            | Observation::CheckLost(_)
            | Observation::LogRepaired(_)
            | Observation::RunInterrupted(_)
            | Observation::Kicked
            | Observation::Suspended(_),
        )
        | Fact::Concluded(Conclusion::FallbackTaken(_) | Conclusion::StageRaised(_)) => {
            Some(format::wrap(&unstuck_replay::describe(event), format::width(), 4))
        }
        Fact::Observed(Observation::WorkerStarted(_)) => {
            let notes = story.notes.iter().filter(|(seq, _)| *seq == event.seq);
            let lines: Vec<String> = notes.map(|(_, note)| format::wrap(note, format::width(), 4)).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        Fact::Concluded(Conclusion::WaitRequested(wait)) => {
            let line = unstuck_replay::describe(event);
            let until = until(wait.until, wait.why, event.at, state);
            Some(format::wrap(&format!("{line}{until}"), format::width(), 4))
        }
        Fact::Observed(Observation::CheckFinished(finished)) if finished.iteration == Iteration::BASELINE => {
            // How it ended is all there is to say about what could not be run.
            let ran = matches!(
                finished.outcome.exit,
                Exit::Code(0 | 1) | Exit::TimedOut | Exit::Idle | Exit::Probed(_)
            );
            ran.then(|| baseline_lines(&finished.step, story))
        }
        Fact::Observed(Observation::CheckFinished(finished)) => oddity(&finished.step, &finished.outcome),
        Fact::Observed(Observation::WorkerFinished(finished)) => {
            if let Some(oddity) = oddity(&finished.step, &finished.outcome) {
                return Some(oddity);
            }
            let (_, at) = state.step(&finished.step)?;
            let found = at.diagnosis.as_ref().filter(|_| at.iteration.purpose == Purpose::Diagnosis)?;
            let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
            let found = format::cut(&found, DIAGNOSIS_MAX);
            Some(format::wrap(&format!("{}: a second look: {found}", finished.step), format::width(), 4))
        }
        Fact::Concluded(Conclusion::VerdictReached(verdict)) => Some(verdict_line(verdict, story)),
        Fact::Concluded(Conclusion::StepEnded(ended))
            if state.steps().count() > 1 || !is_complete(&ended.end) =>
        {
            let told = story
                .steps
                .iter()
                .find(|story| story.id == ended.step && story.end.as_ref() == Some(&ended.end));
            let told = told.and_then(|story| story.end_sentence.clone());
            let sentence = told.unwrap_or_else(|| unstuck_replay::sentence_of_end(&ended.end));
            Some(format::wrap(&format!("{}: {sentence}", ended.step), format::width(), 4))
        }
        _ => None,
    }
}

/// A run that is taken up again, and what its steps still wait for.
fn resumed_lines(event: &Event, story: &RunSummary, state: &RunState) -> String {
    let waits = state.steps().filter_map(|(step, at)| match at.phase {
        StepPhase::Waiting { until, why, .. } if until > event.at => Some((&step.id, until, why)),
        _ => None,
    });
    let waits = waits.map(|(step, moment, why)| {
        let known = story.steps.iter().find(|story| story.id == *step).and_then(|story| story.waits.as_ref());
        let detail = known.map_or("", |(_, detail)| detail);
        format!("{step}: still waits: {detail}{}", until(moment, why, event.at, state))
    });
    let lines = std::iter::once(unstuck_replay::describe(event)).chain(waits);
    lines.map(|line| format::wrap(&line, format::width(), 4)).collect::<Vec<_>>().join("\n")
}

/// Returns the end of a wait for a service or an external job. Empty for retries, since their delay is short.
fn until(moment: Timestamp, why: WaitReason, now: Timestamp, state: &RunState) -> String {
    let when = format!(" · until {}, in {}", format::timestamp(moment), format::duration(moment.since(now)));
    let run = state.run().map_or("", |run| run.as_str());
    match why {
        WaitReason::Weather(_) => format!("{when} · now: {UNSTUCK} retry {run}"),
        WaitReason::ExternalJob => when,
        WaitReason::Retry(_) | WaitReason::CheckRetry(_) => String::new(),
    }
}

/// Says what is odd about a call that is done.
fn oddity(step: &StepId, outcome: &Outcome) -> Option<String> {
    let reading = outcome.reading.as_deref().filter(|reading| reading.end == CallEnd::Done)?;
    let says = Some(&reading.message).filter(|message| !message.is_empty())?;
    Some(format::wrap(&format!("{step}: {}: {says}", reading.client), format::width(), 4))
}

fn is_complete(end: &unstuck_core::event::StepEnd) -> bool {
    *end == unstuck_core::event::StepEnd::Complete
}

/// Most characters of a diagnosis that the screen shows; all of it is in the log.
const DIAGNOSIS_MAX: usize = 1000;

/// How many failures of the baseline are named.
const BASELINE_MAX: usize = 10;

/// Returns the failures of the baseline, one line for each command and each failure.
fn baseline_lines(step: &StepId, story: &RunSummary) -> String {
    let step = story.steps.iter().find(|story| story.id == *step);
    let commands = step.map_or(&[][..], |step| &step.baseline);
    let lines = commands.iter().flat_map(|command| {
        let tests = match command.tests {
            Some(tests) => format!(", {}", format::count(tests.total(), "test")),
            None if command.hides_tests => ", does not count tests: a removed one may not be seen".to_owned(),
            None => String::new(),
        };
        let outcome = match &command.inconclusive {
            _ if command.belies_itself => {
                let failed = command.tests.map_or(0, |tests| tests.failed).max(command.failed);
                format!("exits with 0 although it tells of {failed} failed (a pipe?)")
            }
            _ if command.passed => "passes".to_owned(),
            Some(how) => how.clone(),
            None => format::count(command.failed, "failure"),
        };
        let head = format!(
            "baseline {}: {outcome}{tests} ({})",
            format::cut(&command.run, 60),
            format::duration(command.duration)
        );
        let head = format::wrap(&head, format::width().saturating_sub(2), 11);
        let head = format!("  {head}");
        let mark = |failure: &FailureSummary, word: &str| {
            let place = failure.place.as_ref().map_or_else(String::new, |place| format!("  {place}"));
            format!("      {word}  {}{place}", format::cut(&failure.name, 100))
        };
        let failures = command.failures.iter().take(BASELINE_MAX).map(|failure| mark(failure, "fail "));
        let flaky = command.flaky.iter().take(BASELINE_MAX).map(|failure| mark(failure, "flaky"));
        let more = command.failures.len().saturating_sub(BASELINE_MAX);
        let more = (more > 0).then(|| format!("      and {more} more"));
        [head].into_iter().chain(failures.collect::<Vec<_>>()).chain(flaky.collect::<Vec<_>>()).chain(more)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `$0.31 · 12.4k tokens · `, where clients tell.
fn usage_text(iteration: &IterationSummary) -> String {
    let cost = iteration.micro_usd.map(cost::dollars);
    let tokens = iteration.tokens.map(|count| format!("{} tokens", format::tokens(count)));
    cost.into_iter().chain(tokens).map(|part| part + " · ").collect()
}

/// `fail 3 → 1`, where commands tell.
fn failures_moved(iteration: &IterationSummary) -> Option<String> {
    let (before, now) = (iteration.failed_before?, iteration.failed()?);
    (before + now > 0).then(|| format!("fail {before} → {now} · "))
}

/// `fix #2  00:14  incomplete: 2 tests fail · source=exit-code`.
fn verdict_line(verdict: &VerdictReached, story: &RunSummary) -> String {
    let iteration = story
        .iterations()
        .find(|(step, iteration)| step.id == verdict.step && iteration.iteration == verdict.iteration)
        .map(|(_, iteration)| iteration);
    let busy = iteration.map_or_else(String::new, |iteration| format::clock(iteration.busy));
    let why = iteration
        .and_then(IterationSummary::why)
        .map_or_else(String::new, |why| format!(": {}", format::cut(why, 200)));
    let more = more_reasons(&verdict.reasons);
    let head = format!("{} #{}  {busy}  ", verdict.step, verdict.iteration);
    let source = verdict.source.as_str();
    let changed = iteration
        .and_then(|iteration| iteration.diffstat.as_ref())
        .map(|stat| format!("{} · ", diffstat_text(stat)))
        .unwrap_or_default();
    let moved = iteration.and_then(failures_moved).unwrap_or_default();
    let cost = iteration.map(usage_text).unwrap_or_default();
    let word = verdict.decision.in_words();
    let indent = format::columns(&head);
    format!(
        "{head}{}",
        format::wrap(
            &format!("{changed}{moved}{cost}{word}{why}{more} · source={source}"),
            format::width(),
            indent
        )
    )
}
