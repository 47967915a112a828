//! HTML of one iteration: verdict, reasons, evidence, difference, prompts and answers.

use maud::{Markup, html};
use unstuck_app::report::changes::{FileChange, SnapshotChanges};

use super::{IterationRow, ReportData, event, evidence};
use crate::format;

/// Maximum number of files that are named; the others are counted.
const FILES_MAX: usize = 100;
/// Maximum number of failures that are shown with the message of the tool.
const FAILURES_MAX: usize = 30;

/// Returns the name that leads to an iteration.
pub fn anchor(row: &IterationRow<'_>) -> String {
    // The name of a step may hold anything.
    let step: String = row
        .step
        .id
        .as_str()
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
            _ => format!("_{byte:02x}"),
        })
        .collect();
    format!("iteration-{step}-{}", row.story.iteration)
}

/// Renders an iteration.
pub fn part(page: &ReportData, row: &IterationRow<'_>) -> Markup {
    html! {
        details id=(anchor(row)) {
            summary {
                h4 { (row.step.id) " #" (row.story.iteration) }
                " " (row.verdict_text()) " · " (row.time()) " · " (row.diff()) " · failures " (row.failures())
            }
            (verdict(page, row))
            (failures(row))
            (difference(row))
            (message_block(page, row))
        }
    }
}

fn verdict(page: &ReportData, row: &IterationRow<'_>) -> Markup {
    let evidence_of = row.report.map_or(&[][..], |report| &report.evidence);
    let claimed = row.report.and_then(|report| report.claimed);
    let lines = row.story.reasons.iter().chain(&row.story.problems);
    html! {
        p {
            "Judged " strong { (row.verdict_text()) }
            @if let Some(source) = row.story.source { " by " (source) }
            @if let Some(claim) = claimed { ", although the claim was " (claim.in_words()) "," }
            @if let Some(seq) = row.story.verdict { " in " (event(page, seq)) }
            @if !evidence_of.is_empty() { ", because of " (evidence(page, evidence_of)) }
            ". Stage " (row.stage()) "."
        }
        @if row.story.reasons.len() + row.story.problems.len() > 0 {
            ul { @for line in lines { li { (line) } } }
        }
    }
}

fn failures(row: &IterationRow<'_>) -> Markup {
    let all = row.story.commands.iter().flat_map(|command| &command.failures);
    let more = row.story.failed().unwrap_or(0).saturating_sub(FAILURES_MAX as u64);
    html! {
        @if row.story.failed() > Some(0) {
            h5 { "What failed" }
            ul {
                @for failure in all.take(FAILURES_MAX) {
                    li {
                        (failure.name) " " code { (failure.fingerprint) }
                        @if let Some(place) = &failure.place { " at " (place) }
                        @if !failure.message.trim().is_empty() { pre { (failure.message.trim_end()) } }
                    }
                }
            }
            @if more > 0 { p { "and " (more) " more" } }
        }
    }
}

fn difference(row: &IterationRow<'_>) -> Markup {
    let Some(changes) = row.changes else {
        return html! { h5 { "What it changed" } p { (row.diff()) " (its snapshots are not here)" } };
    };
    let more = changes.files.len().saturating_sub(FILES_MAX);
    html! {
        h5 { "What it changed" }
        @if changes.files.is_empty() { p { "nothing" } } @else {
            table {
                thead { tr { @for head in ["file", "added", "removed", ""] { th scope="col" { (head) } } } }
                tbody { @for file in changes.files.iter().take(FILES_MAX) { (of_file(file)) } }
            }
            @if more > 0 { p { "and " (format::count(more, "more file")) } }
            details {
                summary { "the difference" }
                pre class="diff" { @for line in changes.text.lines() { (of_line(line)) "\n" } }
                (cut(changes))
            }
        }
    }
}

fn of_file(file: &FileChange) -> Markup {
    html! {
        tr {
            th scope="row" { code { (file.name) } }
            td { "+" (file.added) }
            td { "−" (file.removed) }
            td { (file.note.unwrap_or_default()) }
        }
    }
}

fn of_line(line: &str) -> Markup {
    let class = match line.as_bytes().first() {
        Some(b'+') => "add",
        Some(b'-') => "remove",
        Some(b'@') => "hunk",
        _ => return html! { (line) },
    };
    html! { span class=(class) { (line) } }
}

fn cut(changes: &SnapshotChanges) -> Markup {
    html! {
        @if changes.lines_left_out > 0 {
            p class="small" { "Cut here: " (format::count(changes.lines_left_out, "line")) " left out." }
        }
    }
}

fn message_block(page: &ReportData, row: &IterationRow<'_>) -> Markup {
    let Some(report) = row.report else { return html! {} };
    html! {
        @for asked in &report.asked {
            details {
                summary { "prompt (" (event(page, asked.event)) ")" }
                @match page.prompts.get(&asked.event) {
                    Some(prompt) => {
                        pre { (prompt.text) }
                        @if prompt.left_out > 0 { p class="small" { "Cut here: " (prompt.left_out) " bytes left out." } }
                    }
                    None => p { "Its text is not here." }
                }
            }
        }
        @for answered in &report.answered {
            details {
                summary { "answer (" (event(page, answered.event)) ")" }
                @if answered.left_out > 0 { p class="small" { (answered.left_out) " bytes before this left out." } }
                pre { (answered.text) }
            }
        }
    }
}
