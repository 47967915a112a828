//! The lines that are kept up to date: one for each active step.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use unstuck_core::RunState;
use unstuck_core::id::{Iteration, StepId};
use unstuck_core::state::StepPhase;

use crate::text;

/// The live view.
pub struct Live {
    bars: MultiProgress,
    steps: BTreeMap<StepId, Active>,
}

struct Active {
    bar: ProgressBar,
    what: String,
}

impl Live {
    /// Makes an empty view on standard error.
    pub fn new() -> Self {
        Self { bars: MultiProgress::new(), steps: BTreeMap::new() }
    }

    /// Prints lines that stay, above the view.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bars.suspend(print);
    }

    /// Shows what each step does now.
    pub fn update(&mut self, state: &RunState) {
        for (step, at) in state.steps() {
            let what = match &at.phase {
                StepPhase::WorkDue | StepPhase::Working(_) => "worker",
                StepPhase::CheckDue | StepPhase::Checking(_) => "check",
                StepPhase::Waiting { .. } => "waiting",
                StepPhase::Pending | StepPhase::Ended(_) => {
                    if let Some(active) = self.steps.remove(&step.id) {
                        active.bar.finish_and_clear();
                    }
                    continue;
                }
            };
            let what = match at.iteration {
                Iteration::BASELINE => format!("{} baseline", step.id),
                iteration => format!("{} #{iteration} {what}", step.id),
            };
            let active = self
                .steps
                .entry(step.id.clone())
                .or_insert_with(|| Active { bar: bar(&self.bars), what: String::new() });
            if active.what != what {
                active.bar.reset_elapsed();
                active.bar.set_message(String::new());
                active.bar.set_prefix(what.clone());
                active.what = what;
            }
        }
    }

    /// Shows the last line that a step's process printed.
    pub fn line(&mut self, step: &StepId, line: &str) {
        if let Some(active) = self.steps.get(step) {
            let taken = active.what.chars().count() + 12;
            active.bar.set_message(text::cut(line.trim(), text::width().saturating_sub(taken)));
        }
    }

    /// Takes the view away.
    pub fn clear(self) {
        for active in self.steps.values() {
            active.bar.finish_and_clear();
        }
    }
}

fn bar(bars: &MultiProgress) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {prefix} {elapsed_precise} {msg}")
        .expect("a template of our own");
    let bar = bars.add(ProgressBar::new_spinner().with_style(style));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
