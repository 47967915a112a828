//! The report as data, for scripts.

use serde_json::{Value, json};
use unstuck_core::event::RunOutcome;

use super::{IterationRow, ReportData, cost_usd, outcome, rows, usd};

/// Returns the facts of the report.
pub fn json(page: &ReportData) -> Value {
    let story = &page.report.story;
    let steps = page.report.steps().map(|(step, report)| {
        json!({
            "id": step.id,
            "end": step.end,
            "end_sentence": step.end_sentence,
            "event": report.ended,
            "evidence": report.evidence,
            "max_iterations": step.max_iterations,
            "iterations": rows(page, step, report).map(|row| iteration(&row)).collect::<Vec<_>>(),
            "stages": report.raised,
            "history": report.history,
        })
    });
    json!({
        "type": "report",
        "v": 1,
        "run": story.run,
        "workflow": story.workflow,
        "status": outcome(page).0,
        "outcome": story.outcome.map(RunOutcome::as_str),
        "event": story.ended,
        "started_at": story.started_at,
        "ended_at": story.outcome.and(Some(story.over_at())),
        "cost_usd": cost_usd(page),
        "steps": steps.collect::<Vec<_>>(),
        "notes": story.notes,
    })
}

fn iteration(row: &IterationRow<'_>) -> Value {
    let story = row.story;
    let diff = story.diffstat.as_ref();
    let diff = diff.map(|stat| json!({"files": stat.count(), "added": stat.added, "removed": stat.removed}));
    json!({
        "iteration": story.iteration,
        "started_at": story.started_at,
        "busy": story.busy,
        "cost_usd": row.story.micro_usd.map(usd),
        "changed": story.changed,
        "diff": diff,
        "failed_before": story.failed_before,
        "failed": story.failed(),
        "stage": row.report.and_then(|report| report.stage),
        "raised_to": story.raised_to,
        "decision": story.decision,
        "claimed": row.report.and_then(|report| report.claimed),
        "source": story.source,
        "reasons": story.reasons,
        "problems": story.problems,
        "event": story.verdict,
        "evidence": row.report.map(|report| &report.evidence),
        "spans": row.report.map(|report| &report.spans),
    })
}
