//! Draws the report of a run: [`terminal()`] for a terminal, [`markdown()`] for a pull request, [`json()`] for scripts, and
//! [`html()`] as one file.

mod failure_chart;
mod html;
mod json;
mod markdown;
#[cfg(test)]
mod samples;
mod terminal;

use unstuck_app::report::ReportData;
use unstuck_app::report::changes::SnapshotChanges;
use unstuck_core::cost;
use unstuck_replay::report::{IterationReport, StepReport};
use unstuck_replay::{IterationSummary, StepSummary};

pub use self::html::html;
pub use self::json::json;
pub use self::markdown::markdown;
pub use self::terminal::terminal;

use crate::format;

/// An iteration with all its data.
struct IterationRow<'a> {
    step: &'a StepSummary,
    story: &'a IterationSummary,
    report: Option<&'a IterationReport>,
    changes: Option<&'a SnapshotChanges>,
}

fn rows<'a>(
    page: &'a ReportData,
    step: &'a StepSummary,
    report: &'a StepReport,
) -> impl Iterator<Item = IterationRow<'a>> {
    step.iterations.iter().map(move |story| IterationRow {
        step,
        story,
        report: report.iterations.get(&story.iteration),
        changes: page.changes.get(&(step.id.clone(), story.iteration)),
    })
}

/// Says how the run ended or stands, and why.
fn outcome(page: &ReportData) -> (&'static str, String) {
    let story = &page.report.story;
    let word = page.standing.label(story.outcome);
    let iterations = story.iterations().filter(|(_, iteration)| iteration.worker_calls > 0).count();
    let took = format::duration(story.took);
    let decided = story.steps.iter().find(|step| story.deciding_step.as_ref() == Some(&step.id));
    let why = decided.and_then(|step| Some(format!(": {}: {}", step.id, step.end_sentence.as_ref()?)));
    let at = story.ended.map_or_else(String::new, |seq| format!(" (event {seq})"));
    let iterations = format::count(iterations, "iteration");
    (
        word,
        format!("after {iterations}, {took}{}{}{at}", crate::progress::spent(story), why.unwrap_or_default()),
    )
}

/// Returns the cost of the run in dollars, if the cost of every call is known.
fn cost_usd(page: &ReportData) -> Option<f64> {
    let spent = page.report.story.spent();
    (spent.calls > 0 && spent.cost_unknown() == 0).then(|| usd(spent.micro_usd()))
}

/// Says whether any of these told its tokens.
fn tells_tokens(rows: &[IterationRow<'_>]) -> bool {
    rows.iter().any(|row| row.story.tokens.is_some())
}

impl IterationRow<'_> {
    fn time(&self) -> String {
        format::clock(self.story.busy)
    }

    fn cost(&self) -> String {
        self.story.micro_usd.map_or_else(|| "?".to_owned(), cost::dollars)
    }

    fn tokens(&self) -> String {
        self.story.tokens.map_or_else(|| "?".to_owned(), format::tokens)
    }

    /// Returns the size of the change. If that is unknown, returns whether anything changed.
    fn diff(&self) -> String {
        match (&self.story.diffstat, self.story.changed) {
            (Some(stat), _) => crate::progress::diffstat_text(stat),
            (None, Some(true)) => "changed".to_owned(),
            (None, Some(false)) => "none".to_owned(),
            (None, None) => "?".to_owned(),
        }
    }

    /// How many failures there were before it and after it; those that the verdict names, where there are no
    /// commands to count them.
    fn failures(&self) -> String {
        match (self.story.failed_before, self.story.failed(), self.story.fingerprints.len()) {
            (Some(before), Some(now), _) => format!("{before} → {now}"),
            (None, Some(now), _) => format!("? → {now}"),
            (_, None, 0) => "?".to_owned(),
            (_, None, named) => named.to_string(),
        }
    }

    /// The stage that it worked in, and the one that it led to.
    fn stage(&self) -> String {
        let stage = self.report.and_then(|report| report.stage);
        let stage = stage.map_or_else(|| "?".to_owned(), |stage| stage.to_string());
        self.story.raised_to.map_or(stage.clone(), |to| format!("{stage} → {to}"))
    }

    fn verdict_text(&self) -> &'static str {
        self.step.verdict(self.story)
    }
}

/// Returns at most so many, the first few of them and the last ones: the middle gives way.
fn ends<T>(all: &[T], first: usize, most: usize) -> Vec<&T> {
    let hidden = all.len().saturating_sub(most);
    all.iter().take(first).chain(all.iter().skip(first + hidden)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "nobody pays so much")]
fn usd(micro_usd: u64) -> f64 {
    micro_usd as f64 / 1e6
}
