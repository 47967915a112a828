//! The report as one HTML file: no network, no script, readable by a browser and by a parser of XML.
//!
//! Same log and same time zone, same bytes: nothing else of the machine or of the moment goes in.

mod iteration;
mod matrix;
mod timeline;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use unstuck_core::id::Seq;
use unstuck_replay::StepSummary;
use unstuck_replay::report::StepReport;

use unstuck_app::report::EventText;

use super::{IterationRow, ReportData, outcome, rows};
use crate::format;

/// Content security policy: the file loads nothing, and has only inline styles.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
const STYLE: &str = include_str!("style.css");

/// Maximum number of iterations of a step that are shown in full. The table has all of them.
const ITERATIONS_MAX: usize = 200;
/// Maximum characters of the text of an event.
const EVENT_MAX: usize = 500;

/// Returns the file.
pub fn html(page: &ReportData) -> String {
    let (word, sentence) = outcome(page);
    let story = &page.report.story;
    let body = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (word) ": " (story.workflow) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { span class=(format!("word {}", tone(page))) { (word) } " " (story.workflow) }
                    p { (sentence) }
                    (facts(page))
                }
                main {
                    (next(page))
                    (timeline::section(page))
                    @for (step, report) in page.report.steps() { (of_step(page, step, report)) }
                    (diagnoses(page))
                    (notes(page))
                    (events(page))
                }
            }
        }
    };
    // Text from workers and tools can contain characters that are not allowed in HTML.
    format::sanitize(&body.into_string())
}

/// Returns the class of the color. The word next to it has the same meaning.
fn tone(page: &ReportData) -> &'static str {
    use unstuck_core::event::RunOutcome::{Blocked, Complete, Interrupted};
    match page.report.story.outcome {
        Some(Complete) => "good",
        None | Some(Blocked | Interrupted(_)) => "open",
        Some(_) => "bad",
    }
}

fn facts(page: &ReportData) -> Markup {
    let story = &page.report.story;
    let run = story.run.as_ref().map_or("", |run| run.as_str());
    html! {
        dl {
            dt { "run" } dd { code { (run) } }
            dt { "workspace" } dd { code { (story.workspace) } }
            dt { "started" } dd { (format::timestamp_with_zone(story.started_at)) }
            dt { "last event" } dd { (format::timestamp_with_zone(story.last_at)) ", event " (story.last_seq) }
        }
    }
}

fn next(page: &ReportData) -> Markup {
    html! {
        section {
            h2 { "What to type next" }
            table {
                thead { tr { th scope="col" { "command" } th scope="col" { "what it does" } } }
                tbody {
                    @for (command, what) in &page.next { tr { td { code { (command) } } td { (what) } } }
                }
            }
        }
    }
}

fn of_step(page: &ReportData, step: &StepSummary, report: &StepReport) -> Markup {
    let rows: Vec<IterationRow<'_>> = rows(page, step, report).collect();
    let left_out = rows.len().saturating_sub(ITERATIONS_MAX);
    let open = if rows.is_empty() { "not begun" } else { "not finished" };
    html! {
        section {
            h2 { "Step " (step.id) }
            p {
                (step.end_sentence.as_deref().unwrap_or(open))
                @if let Some(seq) = report.ended { " (" (event(page, seq)) ")" }
                @if !report.evidence.is_empty() { ", because of " (evidence(page, &report.evidence)) }
                "."
                @if step.has_loop { " At most " (format::count(step.max_iterations, "iteration")) "." }
            }
            @if !rows.is_empty() { (table(page, &rows)) }
            (matrix::part(&report.history))
            (stages(page, report))
            @if !rows.is_empty() { h3 { "What was done in each iteration" } }
            @if left_out > 0 { p { "The first " (left_out) " are in the table only." } }
            @for row in rows.iter().skip(left_out) { (iteration::part(page, row)) }
        }
    }
}

fn table(page: &ReportData, rows: &[IterationRow<'_>]) -> Markup {
    let heads =
        ["iteration", "time", "cost", "tokens", "diff", "failures", "stage", "verdict", "reason", "event"];
    html! {
        h3 { "Iterations" }
        div class="wide" {
            table {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { a href=(format!("#{}", iteration::anchor(row))) { "#" (row.story.iteration) } }
                            td { (row.time()) }
                            td { (row.cost()) }
                            td { (row.tokens()) }
                            td { (row.diff()) }
                            td { (row.failures()) }
                            td { (row.stage()) }
                            td { (row.verdict_text()) }
                            td { (row.story.why().unwrap_or_default()) }
                            td { @if let Some(seq) = row.story.verdict { (event(page, seq)) } }
                        }
                    }
                }
            }
        }
        p class="small" { "A ? stands for what nobody told. Failures are counted before and after the work." }
    }
}

fn stages(page: &ReportData, report: &StepReport) -> Markup {
    html! {
        @if !report.raised.is_empty() {
            h3 { "Changes of strategy" }
            ul {
                @for escalation in &report.raised {
                    li {
                        "after #" (escalation.iteration) ": " (escalation.cause) " (" (escalation.count) " times), stage " (escalation.from) " to "
                        (escalation.to) " (" (event(page, escalation.event)) ")"
                    }
                }
            }
        }
    }
}

fn diagnoses(page: &ReportData) -> Markup {
    html! {
        @for (step, text) in &page.diagnoses {
            section {
                h2 { "Diagnosis of step " (step) }
                pre { (text) }
            }
        }
    }
}

fn notes(page: &ReportData) -> Markup {
    let story = &page.report.story;
    html! {
        @if !story.notes.is_empty() || !page.lacks.is_empty() {
            section {
                h2 { "Notes" }
                ul {
                    @for (seq, note) in &story.notes { li { (note) " (" (event(page, *seq)) ")" } }
                    @for lack in &page.lacks { li { (lack) } }
                }
            }
        }
    }
}

fn events(page: &ReportData) -> Markup {
    let shown = u64::try_from(page.events.len()).unwrap_or(u64::MAX);
    let more = page.report.story.last_seq.0.saturating_sub(shown);
    let row = |told: &EventText| {
        html! {
            tr id=(format!("event-{}", told.seq)) {
                th scope="row" { (told.seq) }
                td { (format::timestamp(told.at)) }
                td { code { (told.kind) } }
                td { (format::cut(&told.what, EVENT_MAX)) }
            }
        }
    };
    html! {
        section {
            h2 { "Events" }
            details {
                summary { (shown) " events that all of this rests on" }
                @if more > 0 { p { (more) " more are left out: they are in the log." } }
                div class="wide" {
                    table {
                        thead { tr { @for head in ["event", "time", "kind", "what"] { th scope="col" { (head) } } } }
                        tbody { @for told in &page.events { (row(told)) } }
                    }
                }
            }
        }
    }
}

/// Names an event, and leads to it where it is shown.
fn event(page: &ReportData, seq: Seq) -> Markup {
    let is_shown = page.events.last().is_some_and(|last| seq <= last.seq);
    html! {
        @if is_shown { a href=(format!("#event-{seq}")) { "event " (seq) } } @else { "event " (seq) }
    }
}

fn evidence(page: &ReportData, events: &[Seq]) -> Markup {
    html! {
        @for (at, seq) in events.iter().enumerate() {
            @if at > 0 { ", " }
            (event(page, *seq))
        }
    }
}

#[cfg(test)]
mod tests {
    use quick_xml::Reader;
    use quick_xml::events::Event as Piece;
    use quick_xml::events::attributes::Attribute;

    use super::*;
    use crate::report::samples;

    /// Reads a page as a strict parser does, and returns its elements; the only one without an end is `meta`.
    #[track_caller]
    fn elements(page: &str) -> Vec<String> {
        let mut reader = Reader::from_str(page);
        reader.config_mut().check_end_names = false;
        let (mut open, mut all) = (Vec::new(), Vec::new());
        loop {
            match reader.read_event().expect("the markup is well formed") {
                Piece::Start(tag) => {
                    tag.attributes().for_each(|attribute| harmless(&attribute.expect("a name and a value")));
                    all.push(tag.name().as_ref().to_owned());
                    if tag.name().as_ref() != "meta" {
                        open.push(tag.name().as_ref().to_owned());
                    }
                }
                Piece::End(tag) => assert_eq!(open.pop().as_deref(), Some(tag.name().as_ref())),
                Piece::GeneralRef(reference) => {
                    assert!(["lt", "gt", "amp", "quot"].contains(&&*reference), "{reference:?}")
                }
                Piece::Eof => break,
                _ => {}
            }
        }
        assert_eq!(open, [""; 0], "everything is closed");
        all
    }

    /// Nothing is loaded, nothing reacts, and links stay in the page.
    #[track_caller]
    fn harmless(attribute: &Attribute<'_>) {
        let name = attribute.key.as_ref();
        assert!(!["src", "srcset", "style"].contains(&name) && !name.starts_with("on"), "{attribute:?}");
        assert!(!name.ends_with("href") || attribute.value.starts_with('#'), "{attribute:?}");
    }

    fn count(elements: &[String], name: &str) -> usize {
        elements.iter().filter(|element| *element == name).count()
    }

    #[test]
    fn untrusted_text_is_never_markup() {
        let page = html(&samples::page());
        let elements = elements(&page);
        assert_eq!(count(&elements, "script"), 0);
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "in the name of a failure");
        assert!(page.contains("got &lt;script&gt;alert('x')&lt;/script&gt; &amp; more"), "in a message");
        assert!(page.contains("<code>&lt;script&gt;x&lt;/script&gt;</code>"), "in a path");
        assert!(page.contains("+&lt;script&gt;evil()&lt;/script&gt;"), "in a difference");
        assert!(page.contains("&lt;/pre&gt;&lt;script src="), "in a prompt");
        assert!(page.contains("&lt;script&gt;claim()&lt;/script&gt;"), "in an answer");
        assert!(page.contains("␛[31m") && page.contains("␀"), "control characters are shown, not obeyed");
        assert!(page.contains(&format!("content=\"{POLICY}\"")));
        assert!(!page.contains("://example.invalid\"") && !page.contains("url("));
    }

    #[test]
    fn the_page_shows_everything_at_its_place() {
        let page = html(&samples::page());
        let elements = elements(&page);
        // The timeline and the failures, each with a name for those who do not see it.
        assert_eq!(count(&elements, "svg"), 2);
        assert_eq!(page.matches("<svg class=\"picture\" role=\"img\"").count(), 2);
        assert_eq!(count(&elements, "h1"), 1);
        assert_eq!(count(&elements, "h4"), 10, "one for each iteration");
        let ths = page.matches("<th").count() - page.matches("<thead").count();
        assert_eq!(ths, page.matches(" scope=").count(), "every head of a table says what it heads");
        for text in [
            "STUCK",
            "after 10 iterations",
            "cost unknown",
            "<a href=\"#event-76\">event 76</a>",
            "the same failures again (3 times), stage 2 to 3",
            "in #3 (event 24)",
            "Cut here: 1 line left out.",
            "Cut here: 7 bytes left out.",
            "## Why it counts as stuck",
            "unstuck why a984",
            "unstuck resume a984 --add-iterations 5",
            "unstuck replay a984",
        ] {
            assert!(page.contains(text), "{text}");
        }
    }

    #[test]
    fn the_same_log_gives_the_same_bytes() {
        assert_eq!(html(&samples::page()), html(&samples::page()));
        let events = samples::events();
        // However far it has come.
        for upto in 1..=events.len() {
            let page = html(&samples::bare(&events[..upto]));
            assert_eq!(page, html(&samples::bare(&events[..upto])));
            elements(&page);
        }
    }
}
