//! Terminal output of a run while it runs and at its end.
//!
//! On a terminal, one line per active step is kept up to date below the permanent lines. Without a terminal, only the
//! permanent lines are printed. With `--json`, the lines of the log are printed.

mod child;
mod live;
mod report;
mod stuck;

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_app::drive::Watcher;
use unstuck_core::call_report::CallEnd;
use unstuck_core::cost;
use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::{
    Conclusion, Exit, Fact, Observation, Outcome, Purpose, VerdictReached, WaitReason,
};
use unstuck_core::id::{Iteration, Seq, StepId, Timestamp};
use unstuck_core::state::StepPhase;
use unstuck_core::{Event, RunState};
use unstuck_files::safe_open;
use unstuck_replay::{FailureStory, IterationStory, Story};

use self::child::ChildView;
use self::live::Live;
pub use self::report::{
    brief, checks, commands, end, end_json, evidence, header, next, notes, spent, spent_json,
};
use crate::outlet::Stream;
use crate::text;
use crate::typed::UNSTUCK;

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Lines, and a live view on a terminal.
    Plain,
    /// The lines of the log.
    Json,
    /// Nothing but the end.
    Quiet,
}

/// Shows a running run.
pub struct Screen {
    mode: Mode,
    /// Path of the log on disk, for `--json`.
    mirror: Option<PathBuf>,
    /// Text printed before the first event.
    header: String,
    inner: Mutex<Inner>,
}

struct Inner {
    story: Story,
    live: Option<Live>,
    /// The log on disk, read as far as it was printed; opened with the first event.
    log: Option<BufReader<File>>,
    /// The events that were known before, which are not printed.
    known: Seq,
    began: bool,
}

impl Screen {
    /// Shows a run whose log is at `mirror`.
    pub fn new(mode: Mode, mirror: Option<PathBuf>, header: String, before: Story) -> Self {
        let live = (mode == Mode::Plain && io::stderr().is_terminal() && !text::is_dumb()).then(Live::new);
        let known = before.last_seq;
        let inner = Inner { story: before, live, log: None, known, began: false };
        Self { mode, mirror, header, inner: Mutex::new(inner) }
    }

    /// Takes the live view away and returns what was seen.
    pub fn finish(&self) -> Story {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = inner.live.take() {
            live.clear();
        }
        inner.story.clone()
    }

    /// Shows a line that the process of a step printed.
    fn tell(&self, name: &str, line: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { live: Some(live), story, .. } = &mut *inner else { return };
        // There is little room for what is the same in every path.
        live.line(name, &text::plain(&line.replace(&format!("{}/", story.workspace), "")));
    }

    /// Prints the lines of the log that are new.
    fn print_log(&self, inner: &mut Inner, events: &[Event]) {
        let print = |line: &str| crate::output::print_to(Stream::Out, format!("{line}\n").as_bytes());
        let Some(mirror) = &self.mirror else {
            for event in events {
                print(&serde_json::to_string(event).expect("an event is plain data"));
            }
            return;
        };
        if inner.log.is_none() {
            inner.log = open_behind(mirror, inner.known).ok();
        }
        let Some(log) = &mut inner.log else { return };
        for line in log.lines().take(events.len()).map_while(Result::ok) {
            print(&line);
        }
    }
}

impl Watcher for Screen {
    fn recorded(&self, events: &[Event], state: &RunState) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            inner.story.add(event);
        }
        match self.mode {
            Mode::Quiet => {}
            Mode::Json => self.print_log(&mut inner, events),
            Mode::Plain => {
                let first = (!std::mem::replace(&mut inner.began, true)).then(|| self.header.clone());
                let rest = events.iter().filter_map(|event| line_of(event, &inner.story, state));
                let lines: Vec<String> = first.into_iter().chain(rest).collect();
                inner.show(&lines, StepId::to_string, events, state);
            }
        }
    }

    fn line(&self, step: &StepId, line: &str) {
        self.tell(step.as_str(), line);
    }

    fn child(self: Arc<Self>, step: &StepId, prefix: Option<&str>) -> Arc<dyn Watcher> {
        Arc::new(ChildView::new(self, step.to_string(), prefix.map(str::to_owned)))
    }
}

impl Inner {
    /// Prints the lines that stay, and shows what each step does now, under the name that it has on the screen.
    fn show(
        &mut self,
        lines: &[String],
        name: impl Fn(&StepId) -> String,
        events: &[Event],
        state: &RunState,
    ) {
        let print = || lines.iter().for_each(|line| println!("{line}"));
        let Some(live) = &mut self.live else { return print() };
        live.suspend(print);
        live.update(state, &name);
        for event in events {
            if let Fact::Observed(Observation::WorkerProgressed(it)) = &event.fact {
                live.files(&name(&it.step), it.progress.files.len());
            }
        }
    }
}

/// Opens a log behind the line of an event.
fn open_behind(mirror: &Path, seq: Seq) -> io::Result<BufReader<File>> {
    let mut log = BufReader::new(safe_open::open(mirror)?);
    for _ in 0..seq.0 {
        log.skip_until(b'\n')?;
    }
    Ok(log)
}

/// Returns the line that stays for an event; most events have none.
fn line_of(event: &Event, story: &Story, state: &RunState) -> Option<String> {
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
            Some(text::wrap(&unstuck_replay::describe(event), text::width(), 4))
        }
        Fact::Observed(Observation::WorkerStarted(_)) => {
            let notes = story.notes.iter().filter(|(seq, _)| *seq == event.seq);
            let lines: Vec<String> = notes.map(|(_, note)| text::wrap(note, text::width(), 4)).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        Fact::Concluded(Conclusion::WaitRequested(wait)) => {
            let line = unstuck_replay::describe(event);
            let until = until(wait.until, wait.why, event.at, state);
            Some(text::wrap(&format!("{line}{until}"), text::width(), 4))
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
            let found = at.diagnosis.as_ref().filter(|_| at.purpose == Purpose::Diagnosis)?;
            let found = found.split_whitespace().collect::<Vec<_>>().join(" ");
            let found = text::cut(&found, DIAGNOSIS_MAX);
            Some(text::wrap(&format!("{}: a second look: {found}", finished.step), text::width(), 4))
        }
        Fact::Concluded(Conclusion::VerdictReached(verdict)) => Some(verdict_line(verdict, story)),
        Fact::Concluded(Conclusion::StepEnded(ended))
            if state.steps().count() > 1 || !is_complete(&ended.end) =>
        {
            let told =
                story.steps.iter().find(|it| it.id == ended.step && it.end.as_ref() == Some(&ended.end));
            let told = told.and_then(|it| it.end_sentence.clone());
            let sentence = told.unwrap_or_else(|| unstuck_replay::sentence_of_end(&ended.end));
            Some(text::wrap(&format!("{}: {sentence}", ended.step), text::width(), 4))
        }
        _ => None,
    }
}

/// A run that is taken up again, and what its steps still wait for.
fn resumed_lines(event: &Event, story: &Story, state: &RunState) -> String {
    let waits = state.steps().filter_map(|(step, at)| match at.phase {
        StepPhase::Waiting { until, why, .. } if until > event.at => Some((&step.id, until, why)),
        _ => None,
    });
    let waits = waits.map(|(step, moment, why)| {
        let known = story.steps.iter().find(|it| it.id == *step).and_then(|it| it.waits.as_ref());
        let detail = known.map_or("", |(_, detail)| detail);
        format!("{step}: still waits: {detail}{}", until(moment, why, event.at, state))
    });
    let lines = std::iter::once(unstuck_replay::describe(event)).chain(waits);
    lines.map(|line| text::wrap(&line, text::width(), 4)).collect::<Vec<_>>().join("\n")
}

/// Returns the end of a wait for a service or an external job. Empty for retries, since their delay is short.
fn until(moment: Timestamp, why: WaitReason, now: Timestamp, state: &RunState) -> String {
    let when = format!(" · until {}, in {}", text::moment(moment), text::span(moment.since(now)));
    let run = state.run().map_or("", |run| run.as_str());
    match why {
        WaitReason::Weather(_) => format!("{when} · now: {UNSTUCK} retry {run}"),
        WaitReason::ExternalJob => when,
        WaitReason::Retry(_) | WaitReason::CheckRetry(_) => String::new(),
    }
}

/// Says what is odd about a call that is done.
fn oddity(step: &StepId, outcome: &Outcome) -> Option<String> {
    let reading = outcome.reading.as_deref().filter(|it| it.end == CallEnd::Done)?;
    let says = Some(&reading.message).filter(|it| !it.is_empty())?;
    Some(text::wrap(&format!("{step}: {}: {says}", reading.client), text::width(), 4))
}

fn is_complete(end: &unstuck_core::event::StepEnd) -> bool {
    *end == unstuck_core::event::StepEnd::Complete
}

/// Most characters of a diagnosis that the screen shows; all of it is in the log.
const DIAGNOSIS_MAX: usize = 1000;

/// How many failures of the baseline are named.
const BASELINE_MAX: usize = 10;

/// Returns the failures of the baseline, one line for each command and each failure.
fn baseline_lines(step: &StepId, story: &Story) -> String {
    let step = story.steps.iter().find(|it| it.id == *step);
    let commands = step.map_or(&[][..], |step| &step.baseline);
    let lines = commands.iter().flat_map(|command| {
        let tests = match command.tests {
            Some(tests) => format!(", {}", text::count(tests.ran(), "test")),
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
            None => text::count(command.failed, "failure"),
        };
        let head = format!(
            "baseline {}: {outcome}{tests} ({})",
            text::cut(&command.run, 60),
            text::span(command.duration)
        );
        let head = text::wrap(&head, text::width().saturating_sub(2), 11);
        let head = format!("  {head}");
        let mark = |failure: &FailureStory, word: &str| {
            let place = failure.place.as_ref().map_or_else(String::new, |place| format!("  {place}"));
            format!("      {word}  {}{place}", text::cut(&failure.name, 100))
        };
        let failures = command.failures.iter().take(BASELINE_MAX).map(|failure| mark(failure, "fail "));
        let flaky = command.flaky.iter().take(BASELINE_MAX).map(|failure| mark(failure, "flaky"));
        let more = command.failures.len().saturating_sub(BASELINE_MAX);
        let more = (more > 0).then(|| format!("      and {more} more"));
        [head].into_iter().chain(failures.collect::<Vec<_>>()).chain(flaky.collect::<Vec<_>>()).chain(more)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `+18 −4 (1 file)`.
pub fn changed(stat: &Diffstat) -> String {
    format!("+{} −{} ({})", stat.added, stat.removed, text::count(stat.count(), "file"))
}

/// `$0.31 · 12.4k tokens · `, where clients tell.
fn used(iteration: &IterationStory) -> String {
    let cost = iteration.micro_usd.map(cost::dollars);
    let tokens = iteration.tokens.map(|it| format!("{} tokens", text::tokens(it)));
    cost.into_iter().chain(tokens).map(|it| it + " · ").collect()
}

/// `fail 3 → 1`, where commands tell.
fn failures_moved(iteration: &IterationStory) -> Option<String> {
    let (before, now) = (iteration.failed_before?, iteration.failed()?);
    (before + now > 0).then(|| format!("fail {before} → {now} · "))
}

/// `fix #2  00:14  incomplete: 2 tests fail · source=exit-code`.
fn verdict_line(verdict: &VerdictReached, story: &Story) -> String {
    let iteration = story
        .iterations()
        .find(|(step, iteration)| step.id == verdict.step && iteration.iteration == verdict.iteration)
        .map(|(_, iteration)| iteration);
    let busy = iteration.map_or_else(String::new, |iteration| text::stopwatch(iteration.busy));
    let why = iteration
        .and_then(IterationStory::why)
        .map_or_else(String::new, |why| format!(": {}", text::cut(why, 200)));
    let more = report::more_reasons(&verdict.reasons);
    let head = format!("{} #{}  {busy}  ", verdict.step, verdict.iteration);
    let source = verdict.source.as_str();
    let changed = iteration.and_then(|it| it.diffstat.as_ref()).map(|it| format!("{} · ", changed(it)));
    let changed = changed.unwrap_or_default();
    let moved = iteration.and_then(failures_moved).unwrap_or_default();
    let cost = iteration.map(used).unwrap_or_default();
    let word = verdict.decision.in_words();
    let indent = text::columns(&head);
    format!(
        "{head}{}",
        text::wrap(
            &format!("{changed}{moved}{cost}{word}{why}{more} · source={source}"),
            text::width(),
            indent
        )
    )
}
