//! The lines that are kept up to date: one for each active step.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};
use unstuck_core::RunState;
use unstuck_core::id::{Iteration, StepId, Timestamp};
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
    /// Until when it waits.
    until: Option<Timestamp>,
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
            let active = self.steps.entry(step.id.clone()).or_insert_with(|| Active {
                bar: bar(&self.bars),
                what: String::new(),
                until: None,
            });
            let until = match at.phase {
                StepPhase::Waiting { until, .. } => Some(until),
                _ => None,
            };
            if active.until != until {
                active.bar.set_style(style(until));
                active.until = until;
            }
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

/// Returns how a line looks: what waits counts the time down.
fn style(until: Option<Timestamp>) -> ProgressStyle {
    let template = match until {
        None => "{spinner} {prefix} {elapsed_precise} {msg}",
        Some(_) => "{spinner} {prefix} {left} left {msg}",
    };
    let left = move |_: &ProgressState, line: &mut dyn fmt::Write| {
        let left = until.map_or_else(String::new, |until| text::span(until.since(text::now())));
        let _nobody_to_tell = line.write_str(&left);
    };
    ProgressStyle::with_template(template).expect("a template of our own").with_key("left", left)
}

fn bar(bars: &MultiProgress) -> ProgressBar {
    let bar = bars.add(ProgressBar::new_spinner().with_style(style(None)));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
