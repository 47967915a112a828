//! The lines that are kept up to date: one for each active step.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};
use unstuck_core::RunState;
use unstuck_core::cost::Spend;
use unstuck_core::id::{Iteration, Millis, StepId, Timestamp};
use unstuck_core::state::StepPhase;

use super::header_footer::brief;
use crate::{format, output_queue};

/// The live view.
pub struct LiveView {
    bars: MultiProgress,
    /// By the name that a step has on the screen.
    steps: BTreeMap<String, ActiveStep>,
}

struct ActiveStep {
    bar: ProgressBar,
    what: String,
    /// End of the wait, if it waits.
    until: Option<Timestamp>,
    heard: Arc<LastActivity>,
}

/// Maximum redraws per second.
const REDRAWN_HZ: u8 = 20;

/// A terminal that may be closed or halted during the run. Each drawn view is queued in one piece, and the run does not
/// wait until it is written.
#[derive(Debug)]
struct Terminal {
    /// Knows the size.
    term: Term,
    drawn: Mutex<String>,
}

impl Terminal {
    fn draw(&self, text: fmt::Arguments<'_>) -> io::Result<()> {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let _a_text_takes_all = fmt::Write::write_fmt(&mut *drawn, text);
        Ok(())
    }

    /// Moves the cursor, `n` times where that is any.
    fn go(&self, n: usize, where_to: char) -> io::Result<()> {
        if n > 0 { self.draw(format_args!("\x1b[{n}{where_to}")) } else { Ok(()) }
    }
}

impl TermLike for Terminal {
    fn width(&self) -> u16 {
        self.term.size().1
    }

    fn height(&self) -> u16 {
        self.term.size().0
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.go(lines, 'A')
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.go(lines, 'B')
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.go(columns, 'C')
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.go(columns, 'D')
    }

    fn write_line(&self, line: &str) -> io::Result<()> {
        self.draw(format_args!("{line}\n"))
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        self.draw(format_args!("{text}"))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.draw(format_args!("\r\x1b[2K"))
    }

    fn flush(&self) -> io::Result<()> {
        let drawn = std::mem::take(&mut *self.drawn.lock().unwrap_or_else(PoisonError::into_inner));
        if !drawn.is_empty() && !output_queue::send_frame(drawn.as_bytes()) {
            // Writing to a closed terminal is not an error.
            let _nobody_may_look = self.term.write_str(&drawn).and_then(|()| self.term.flush());
        }
        Ok(())
    }
}

/// Last output of a process.
#[derive(Default)]
struct LastActivity {
    /// Time of the last output, in milliseconds; 0 means never.
    at: AtomicU64,
    /// Number of files that it reported as changed.
    files: AtomicUsize,
    /// Spending of its run so far.
    spent: Mutex<Spend>,
}

impl LastActivity {
    fn spent(&self) -> MutexGuard<'_, Spend> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveView {
    /// Makes an empty view on standard error.
    pub fn new() -> Self {
        let term = Term::buffered_stderr();
        // Asking for it makes some terminals understand what moves the cursor.
        let _is_asked = term.features().colors_supported();
        let terminal = Terminal { term, drawn: Mutex::default() };
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(terminal), REDRAWN_HZ);
        Self { bars: MultiProgress::with_draw_target(target), steps: BTreeMap::new() }
    }

    /// Prints lines that stay, above the view.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bars.suspend(print);
    }

    /// Shows what each step does now.
    pub fn update(&mut self, state: &RunState, name: impl Fn(&StepId) -> String) {
        let spent = state.spent_so_far();
        for (step, at) in state.steps() {
            let name = name(&step.id);
            let what = match &at.phase {
                StepPhase::WorkDue | StepPhase::Working(_) => "worker",
                StepPhase::CheckDue | StepPhase::Checking(_) => "check",
                StepPhase::Waiting { .. } => "waiting",
                StepPhase::Pending | StepPhase::Ended(_) => {
                    if let Some(active) = self.steps.remove(&name) {
                        active.bar.finish_and_clear();
                    }
                    continue;
                }
            };
            // Reserve half of a narrow terminal for the activity, so that it fits on one row.
            let what = title(&name, at.iteration(), what, format::width() / 2);
            let active = self.steps.entry(name).or_insert_with(|| ActiveStep::new(&self.bars));
            *active.heard.spent() = spent;
            let until = match at.phase {
                StepPhase::Waiting { until, .. } => Some(until),
                _ => None,
            };
            if active.until != until {
                active.bar.set_style(style(until, &active.heard));
                active.until = until;
            }
            if active.what != what {
                active.bar.reset_elapsed();
                active.heard.at.store(0, Ordering::Relaxed);
                active.heard.files.store(0, Ordering::Relaxed);
                active.bar.set_message(String::new());
                active.bar.set_prefix(what.clone());
                active.what = what;
            }
        }
    }

    /// Shows the last line that a step's process printed.
    pub fn line(&mut self, step: &str, line: &str) {
        if let Some(active) = self.steps.get(step) {
            active.heard.at.store(format::now().0, Ordering::Relaxed);
            active.bar.set_message(format::cut(line.trim(), format::width()));
        }
    }

    /// Shows how many files a worker says it has changed so far.
    pub fn files(&self, step: &str, files: usize) {
        if let Some(active) = self.steps.get(step) {
            active.heard.files.store(files, Ordering::Relaxed);
        }
    }

    /// Takes the view away.
    pub fn clear(self) {
        for active in self.steps.values() {
            active.bar.finish_and_clear();
        }
    }
}

impl ActiveStep {
    fn new(bars: &MultiProgress) -> Self {
        let heard = Arc::new(LastActivity::default());
        let bar = bars.add(ProgressBar::new_spinner().with_style(style(None, &heard)));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar, what: String::new(), until: None, heard }
    }
}

/// Says what a step does, in so many columns: it is the name that is cut, since the rest tells more.
fn title(name: &str, iteration: Iteration, what: &str, columns: usize) -> String {
    let does = match iteration {
        Iteration::BASELINE => " baseline".to_owned(),
        iteration => format!(" #{iteration} {what}"),
    };
    let room = columns.saturating_sub(format::columns(&does));
    format!("{}{does}", format::cut(name, room.max(1)))
}

/// Returns how a line looks: what waits counts the time down, what works says when it was heard of last.
fn style(until: Option<Timestamp>, heard: &Arc<LastActivity>) -> ProgressStyle {
    let template = match until {
        None => "{spinner} {prefix} {took} {wide_msg}{heard}",
        Some(_) => "{spinner} {prefix} {left} left {msg}",
    };
    let left = move |_: &ProgressState, line: &mut dyn fmt::Write| {
        let left = until.map_or_else(String::new, |until| format::duration(until.since(format::now())));
        let _nobody_to_tell = line.write_str(&left);
    };
    let took = |state: &ProgressState, line: &mut dyn fmt::Write| {
        let took = Millis(u64::try_from(state.elapsed().as_millis()).unwrap_or(u64::MAX));
        let _nobody_to_tell = line.write_str(&format::clock(took));
    };
    let heard = Arc::clone(heard);
    let heard = move |_: &ProgressState, line: &mut dyn fmt::Write| {
        let at = Some(heard.at.load(Ordering::Relaxed)).filter(|at| *at > 0);
        let age = at.map(|at| format::now().since(Timestamp(at)));
        let (files, spent) = (heard.files.load(Ordering::Relaxed), *heard.spent());
        let _nobody_to_tell = line.write_str(&last_heard(age, files, &spent, format::width()));
    };
    let style = ProgressStyle::with_template(template).expect("a template of our own");
    style.with_key("left", left).with_key("took", took).with_key("heard", heard)
}

/// Minimum silence that is shown.
const SILENCE_MIN: Millis = Millis::from_secs(2);

/// Returns the changes of a worker, the spending of its run, and its silence: `(2 files, $0.31, last output 3 s ago)`.
fn last_heard(age: Option<Millis>, files: usize, spent: &Spend, width: usize) -> String {
    let cost = brief(spent).filter(|_| width >= 60);
    // If the cost is unknown, `cost` already shows the tokens.
    let tokens = format::tokens_of(spent).filter(|tokens| width >= 100 && cost.as_ref() != Some(tokens));
    let files = (files > 0 && width >= 60).then(|| format::count(files, "file"));
    let age = age.filter(|age| *age >= SILENCE_MIN).map(|age| match width {
        60.. => format!("last output {} ago", whole(age)),
        _ => format!("{} ago", whole(age)),
    });
    let parts: Vec<String> = files.into_iter().chain(cost).chain(tokens).chain(age).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

/// A span that is looked at while it grows.
fn whole(span: Millis) -> String {
    if span < Millis::from_secs(120) { format!("{} s", span.0 / 1000) } else { format::duration(span) }
}

#[cfg(test)]
mod tests {
    use unstuck_core::cost::{CostTotal, Tokens};

    use super::*;

    #[test]
    fn long_name_is_cut_so_that_its_activity_is_visible() {
        for (name, iteration, what, columns, want) in [
            ("work", 3, "worker", 20, "work #3 worker"),
            ("work-on-it", 3, "worker", 20, "work-on-it #3 worker"),
            ("work-on-all", 3, "worker", 20, "work-on-a… #3 worker"),
            ("work-on-all", 12, "waiting", 20, "work-on… #12 waiting"),
            ("work-on-all-of-it", 0, "worker", 20, "work-on-al… baseline"),
            ("work", 4_000_000_000, "waiting", 20, "… #4000000000 waiting"),
        ] {
            assert_eq!(title(name, Iteration(iteration), what, columns), want);
        }
    }

    #[test]
    fn silence_is_shown_as_far_as_it_fits() {
        for (seconds, files, width, want) in [
            (None, 0, 100, ""),
            (Some(1), 0, 100, ""),
            (Some(3), 0, 100, " (last output 3 s ago)"),
            (Some(3), 0, 40, " (3 s ago)"),
            (Some(1), 2, 100, " (2 files)"),
            (Some(600), 1, 100, " (1 file, last output 10 min ago)"),
            (Some(600), 1, 40, " (10 min ago)"),
        ] {
            let spent = Spend::default();
            assert_eq!(last_heard(seconds.map(Millis::from_secs), files, &spent, width), want);
        }
    }

    #[test]
    fn spending_is_shown_as_far_as_it_fits_and_unknown_is_not_zero() {
        let told = |calls, reported: Option<u64>, output| Spend {
            calls,
            reported: reported.map_or_else(CostTotal::default, |micro_usd| CostTotal { micro_usd, calls: 1 }),
            tokens: Tokens { output, ..Tokens::default() },
            tokens_unknown: u64::from(output == 0),
            ..Spend::default()
        };
        for (spent, width, want) in [
            (told(0, None, 0), 100, ""),
            (told(1, None, 0), 100, " (cost unknown)"),
            (told(1, None, 12_400), 100, " (12.4k tokens)"),
            (told(1, Some(1_200_000), 0), 100, " ($1.20)"),
            (told(1, Some(1_200_000), 12_400), 100, " ($1.20, 12.4k tokens)"),
            (told(1, Some(1_200_000), 12_400), 80, " ($1.20)"),
            (told(2, Some(1_200_000), 12_400), 80, " (at least $1.20)"),
            (told(1, Some(1_200_000), 12_400), 40, ""),
        ] {
            assert_eq!(last_heard(None, 0, &spent, width), want);
        }
    }
}
