//! The reporter of a running run: the lines that stay, the live view, and the output of child runs.
//!
//! The steps of a child run are shown with the prefix from the workflow, or only its newest line of output on the line of its
//! step.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use unstuck_app::drive::RunListener;
use unstuck_core::event::RunStarted;
use unstuck_core::id::{Iteration, Millis, Seq, StepId, Timestamp};
use unstuck_core::{Event, Fact, Observation, RunState};
use unstuck_files::safe_open;
use unstuck_replay::RunSummary;

use super::event_lines::line_of;
use super::live::LiveView;
use crate::format;
use crate::output_queue::StdStream;

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// Lines, and a live view on a terminal.
    Plain,
    /// As plain, with the lines that workers and checks print.
    Stream,
    /// The lines of the log.
    Json,
    /// Nothing but the end.
    Quiet,
}

/// Shows a running run.
pub struct ProgressReporter {
    mode: OutputMode,
    /// Path of the log on disk, for `--json`.
    mirror: Option<PathBuf>,
    /// Text printed before the first event.
    header: String,
    inner: Mutex<Inner>,
}

struct Inner {
    story: RunSummary,
    live: Option<LiveView>,
    /// The log on disk, read as far as it was printed; opened with the first event.
    log: Option<BufReader<File>>,
    /// The events that were known before, which are not printed.
    known: Seq,
    began: bool,
    active: LastActive,
}

impl OutputMode {
    /// Says whether people read it while the run works.
    pub fn has_lines(self) -> bool {
        matches!(self, Self::Plain | Self::Stream)
    }
}

/// The last activity of a run, for a reader without a live view.
#[derive(Default)]
struct LastActive {
    /// The steps that work, and their iterations.
    what: String,
    /// When they began.
    since: Timestamp,
    /// When a process printed something.
    heard: Option<Timestamp>,
    /// When a line was shown.
    shown: Timestamp,
}

impl LastActive {
    /// Takes a new state over.
    fn update(&mut self, state: &RunState, now: Timestamp) {
        let working = state.steps().filter(|(_, at)| at.phase.is_in_flight());
        let what: Vec<String> =
            working.map(|(step, at)| format!("{} #{}", step.id, at.iteration())).collect();
        let what = what.join(", ");
        if what != self.what {
            *self = Self { what, since: now, heard: None, shown: now };
        }
    }

    /// Returns a sign of life, if nothing was shown for a while.
    fn sign(&mut self, now: Timestamp) -> Option<String> {
        if self.what.is_empty() || now.since(self.shown) < LIFE_SIGN {
            return None;
        }
        self.shown = now;
        let took = format::duration(now.since(self.since));
        let heard = self.heard.map(|heard| format!("last output {} ago", format::duration(now.since(heard))));
        Some(format!("{}: {took}, {}", self.what, heard.unwrap_or_else(|| "no output yet".to_owned())))
    }
}

/// How often a run without a live view says that it works.
const LIFE_SIGN: Millis = Millis::from_secs(60);

impl ProgressReporter {
    /// Prints a line each minute, as long as the run works and nothing else is shown, where there is no live view.
    pub fn give_life_signs(screen: &Arc<Self>) {
        let has_live = screen.inner.lock().unwrap_or_else(PoisonError::into_inner).live.is_some();
        if has_live || !screen.mode.has_lines() {
            return;
        }
        let screen = Arc::downgrade(screen);
        let sign = move || {
            loop {
                thread::sleep(Duration::from_secs(1));
                let Some(screen) = screen.upgrade() else { return };
                let mut inner = screen.inner.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(sign) = inner.active.sign(format::now()) {
                    println!("{sign}");
                }
            }
        };
        // Without a thread there are no signs, and the run works all the same.
        let _no_thread = thread::Builder::new().name("life-signs".to_owned()).spawn(sign);
    }

    /// Shows a run whose log is at `mirror`.
    pub fn new(mode: OutputMode, mirror: Option<PathBuf>, header: String, before: RunSummary) -> Self {
        let live = (mode.has_lines() && io::stderr().is_terminal() && !format::is_dumb()).then(LiveView::new);
        let known = before.last_seq;
        let inner =
            Inner { story: before, live, log: None, known, began: false, active: LastActive::default() };
        Self { mode, mirror, header, inner: Mutex::new(inner) }
    }

    /// Takes the live view away and returns what was seen.
    pub fn finish(&self) -> RunSummary {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = inner.live.take() {
            live.clear();
        }
        inner.story.clone()
    }

    /// Shows a note about the run at once.
    pub fn note(&self, note: &str) {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let print = || eprintln!("{note}");
        match &inner.live {
            Some(live) => live.suspend(print),
            None => print(),
        }
    }

    /// Shows a line that the process of a step printed.
    fn tell(&self, name: &str, line: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let now = format::now();
        let Inner { live, story, active, .. } = &mut *inner;
        active.heard = Some(now);
        // There is little room for what is the same in every path.
        let line = format::sanitize(&line.replace(&format!("{}/", story.workspace), ""));
        if self.mode == OutputMode::Stream {
            active.shown = now;
            let print = || println!("{name} | {}", line.trim_end());
            match live {
                Some(live) => live.suspend(print),
                None => print(),
            }
        }
        if let Some(live) = live {
            live.line(name, &line);
        }
    }

    /// Prints the lines of the log that are new.
    fn print_log(&self, inner: &mut Inner, events: &[Event]) {
        let print = |line: &str| crate::output::print_to(StdStream::Out, format!("{line}\n").as_bytes());
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

impl RunListener for ProgressReporter {
    fn on_events(&self, events: &[Event], state: &RunState) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            inner.story.add(event);
        }
        match self.mode {
            OutputMode::Quiet => {}
            OutputMode::Json => self.print_log(&mut inner, events),
            OutputMode::Plain | OutputMode::Stream => {
                inner.active.update(state, format::now());
                let first = (!std::mem::replace(&mut inner.began, true)).then(|| self.header.clone());
                let begins =
                    |event: &Event| (self.mode == OutputMode::Stream).then(|| beginning(event)).flatten();
                let line = |event: &Event| line_of(event, &inner.story, state).or_else(|| begins(event));
                let rest = events.iter().filter_map(line);
                let lines: Vec<String> = first.into_iter().chain(rest).collect();
                if !lines.is_empty() {
                    inner.active.shown = format::now();
                }
                inner.show(&lines, StepId::to_string, events, state);
            }
        }
    }

    fn line(&self, step: &StepId, line: &str) {
        self.tell(step.as_str(), line);
    }

    fn child(self: Arc<Self>, step: &StepId, prefix: Option<&str>) -> Arc<dyn RunListener> {
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
            if let Fact::Observed(Observation::WorkerProgressed(worker)) = &event.fact {
                live.files(&name(&worker.step), worker.progress.files.len());
            }
        }
    }
}

/// Returns a line about a worker or a check that begins.
fn beginning(event: &Event) -> Option<String> {
    match &event.fact {
        Fact::Observed(Observation::WorkerStarted(begun)) => {
            Some(format!("{} #{}: the worker begins", begun.step, begun.iteration))
        }
        Fact::Observed(Observation::CheckStarted(begun)) if begun.iteration == Iteration::BASELINE => {
            Some(format!("{}: the baseline begins", begun.step))
        }
        Fact::Observed(Observation::CheckStarted(begun)) => {
            Some(format!("{} #{}: the check begins", begun.step, begun.iteration))
        }
        _ => None,
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

/// The view of one child run.
struct ChildView {
    screen: Arc<ProgressReporter>,
    /// Name on the screen of the step that the child run carries out.
    step: String,
    /// Prefix of the names of its steps, if they are shown.
    prefix: Option<String>,
    story: Mutex<RunSummary>,
}

impl ChildView {
    fn new(screen: Arc<ProgressReporter>, step: String, prefix: Option<String>) -> Self {
        Self { screen, step, prefix, story: Mutex::default() }
    }

    /// Returns the name on the screen of one of its steps.
    fn name(&self, step: &StepId) -> String {
        self.prefix.as_ref().map_or_else(|| self.step.clone(), |prefix| format!("{prefix}/{step}"))
    }
}

impl RunListener for ChildView {
    fn on_events(&self, events: &[Event], state: &RunState) {
        let Some(prefix) = self.prefix.as_ref().filter(|_| self.screen.mode.has_lines()) else {
            return;
        };
        let mut story = self.story.lock().unwrap_or_else(PoisonError::into_inner);
        begin(&mut story, events, state.started());
        events.iter().for_each(|event| story.add(event));
        let lines: Vec<String> = events
            .iter()
            .filter_map(|event| line_of(event, &story, state))
            .filter(|line| state.steps().any(|(step, _)| line.starts_with(step.id.as_str())))
            .map(|line| below(prefix, &line))
            .collect();
        let mut inner = self.screen.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.show(&lines, |step| self.name(step), events, state);
    }

    fn line(&self, step: &StepId, line: &str) {
        self.screen.tell(&self.name(step), line);
    }

    fn child(self: Arc<Self>, step: &StepId, prefix: Option<&str>) -> Arc<dyn RunListener> {
        let prefix = self.prefix.as_ref().zip(prefix).map(|(ours, theirs)| format!("{ours}/{theirs}"));
        Arc::new(Self::new(Arc::clone(&self.screen), self.name(step), prefix))
    }
}

/// Lets the story of a run that is taken up again begin with how it began.
fn begin(story: &mut RunSummary, events: &[Event], started: Option<&RunStarted>) {
    let (Some(started), Some(first)) = (started, events.first()) else { return };
    if story.last_seq == Seq(0) && first.seq > Seq(1) {
        let fact = Fact::Observed(Observation::RunStarted(Box::new(started.clone())));
        story.add(&Event { seq: Seq(1), at: first.at, fact });
    }
}

/// Prepends the prefix to a line, and wraps the line again if it is then too long.
fn below(prefix: &str, line: &str) -> String {
    let line = format!("{prefix}/{line}");
    let fits = line.lines().all(|line| format::columns(line) <= format::width());
    if fits { line } else { format::wrap(&line.replace('\n', " "), format::width(), 4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_live_view_gives_a_sign_each_minute() {
        let at = |seconds: u64| Timestamp(seconds * 1000);
        let begun = |heard| LastActive { what: "work #3".to_owned(), since: at(0), heard, shown: at(0) };
        for (heard, now, want) in [
            (None, 59, None),
            (None, 60, Some("work #3: 60 s, no output yet")),
            (Some(at(680)), 720, Some("work #3: 12 min, last output 40 s ago")),
        ] {
            let mut active = begun(heard);
            assert_eq!(active.sign(at(now)).as_deref(), want, "{now}");
            assert_eq!(active.sign(at(now)), None, "{now}");
        }
        assert_eq!(LastActive::default().sign(at(600)), None, "nothing works");
    }
}
