//! Output of a child run on the screen of its parent.
//!
//! Shows its steps with the prefix from the workflow, or only its newest line of output on the line of its step.

use std::sync::{Arc, Mutex, PoisonError};

use unstuck_app::drive::Watcher;
use unstuck_core::event::RunStarted;
use unstuck_core::id::{Seq, StepId};
use unstuck_core::{Event, Fact, Observation, RunState};
use unstuck_replay::Story;

use super::{Mode, Screen, line_of};
use crate::text;

/// The view of one child run.
pub(super) struct ChildView {
    screen: Arc<Screen>,
    /// Name on the screen of the step that the child run carries out.
    step: String,
    /// Prefix of the names of its steps, if they are shown.
    prefix: Option<String>,
    story: Mutex<Story>,
}

impl ChildView {
    pub(super) fn new(screen: Arc<Screen>, step: String, prefix: Option<String>) -> Self {
        Self { screen, step, prefix, story: Mutex::default() }
    }

    /// Returns the name on the screen of one of its steps.
    fn name(&self, step: &StepId) -> String {
        self.prefix.as_ref().map_or_else(|| self.step.clone(), |prefix| format!("{prefix}/{step}"))
    }
}

impl Watcher for ChildView {
    fn recorded(&self, events: &[Event], state: &RunState) {
        let Some(prefix) = self.prefix.as_ref().filter(|_| self.screen.mode == Mode::Plain) else { return };
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

    fn child(self: Arc<Self>, step: &StepId, prefix: Option<&str>) -> Arc<dyn Watcher> {
        let prefix = self.prefix.as_ref().zip(prefix).map(|(ours, theirs)| format!("{ours}/{theirs}"));
        Arc::new(Self::new(Arc::clone(&self.screen), self.name(step), prefix))
    }
}

/// Lets the story of a run that is taken up again begin with how it began.
fn begin(story: &mut Story, events: &[Event], started: Option<&RunStarted>) {
    let (Some(started), Some(first)) = (started, events.first()) else { return };
    if story.last_seq == Seq(0) && first.seq > Seq(1) {
        let fact = Fact::Observed(Observation::RunStarted(Box::new(started.clone())));
        story.add(&Event { seq: Seq(1), at: first.at, fact });
    }
}

/// Prepends the prefix to a line, and wraps the line again if it is then too long.
fn below(prefix: &str, line: &str) -> String {
    let line = format!("{prefix}/{line}");
    let fits = line.lines().all(|it| text::columns(it) <= text::width());
    if fits { line } else { text::wrap(&line.replace('\n', " "), text::width(), 4) }
}
