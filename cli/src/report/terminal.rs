//! The report on one screen: the end in a sentence, a row for each iteration, the failures as a chart.

use unstuck_core::event::StepEnd;
use unstuck_replay::StepSummary;
use unstuck_replay::report::StepReport;

use super::failure_chart::chart;
use super::{IterationRow, ReportData, ends, outcome, rows, tells_tokens};
use crate::invocation::UNSTUCK;
use crate::{format, progress};

/// Most iterations that are shown, and how many of them are the first ones.
const ROWS_MAX: usize = 40;
const ROWS_FIRST: usize = 5;
/// Maximum number of notes that are shown.
const NOTES_MAX: usize = 5;
/// Minimum characters for a reason on the row of its verdict. If there is less room, it is printed below.
const REASON_MIN: usize = 30;

/// Draws the report into so many columns of a terminal.
pub fn terminal(page: &ReportData, short: &str, width: usize) -> String {
    let story = &page.report.story;
    let (word, sentence) = outcome(page);
    let painted = story.outcome.map_or_else(|| format::bold(word), format::colored_outcome);
    let title = format!("· {} in {}", story.workflow, story.workspace);
    let mut parts = vec![
        format!("run {} {}", format::bold(short), format::wrap(&title, width, short.len() + 5)),
        format!("started {}", format::timestamp_with_zone(story.started_at)),
        String::new(),
        format!("{painted} {}", format::wrap(&sentence, width, word.len() + 1)),
    ];
    for (step, report) in page.report.steps() {
        parts.extend(of_step(page, step, report, width));
    }
    parts.push(String::new());
    parts.extend(notes(page, width));
    let html = (
        format!("{UNSTUCK} report {short} --html FILE"),
        "the same with all diffs, for a browser".to_owned(),
    );
    parts.push("next:".to_owned());
    parts.extend(progress::commands(&page.next, width).chain(progress::commands(&[html], width)));
    parts.join("\n")
}

/// Returns the notes about the run, at most [`NOTES_MAX`].
fn notes(page: &ReportData, width: usize) -> Vec<String> {
    let all: Vec<String> = progress::notes(&page.report.story).collect();
    let more = all.len().saturating_sub(NOTES_MAX);
    let more = (more > 0).then(|| format!("note  and {more} more: --json has them all"));
    let line = |note: &String| format!("note  {}", format::wrap(note, width, 6));
    all.iter().take(NOTES_MAX).map(line).chain(more).collect()
}

fn of_step(page: &ReportData, step: &StepSummary, report: &StepReport, width: usize) -> Vec<String> {
    let mut parts = vec![String::new(), heading(step, report, width)];
    let rows: Vec<IterationRow<'_>> = rows(page, step, report).collect();
    parts.extend(table(&rows, width));
    let chart = chart(&report.history, width);
    if !chart.is_empty() {
        parts.extend([String::new(), chart]);
    }
    parts
}

fn heading(step: &StepSummary, report: &StepReport, width: usize) -> String {
    let open = if step.iterations.is_empty() { "not begun" } else { "not finished" };
    let end = step.end_sentence.as_deref().unwrap_or(open);
    let at = report.ended.map_or_else(String::new, |seq| format!(" (event {seq})"));
    let bound = match &step.end {
        Some(StepEnd::Skipped(_)) => String::new(),
        _ if !step.has_loop => String::new(),
        _ => format!(", at most {}", format::count(step.max_iterations, "iteration")),
    };
    let indent = format::columns(step.id.as_str()) + 2;
    let text = format::wrap(&format!("{end}{at}{bound}"), width, indent);
    format!("{}  {text}", format::bold(step.id.as_str()))
}

/// Returns the columns before the verdict, of a row or of the heading. Includes tokens if any row reports them.
fn cells(row: Option<&IterationRow<'_>>, with_tokens: bool) -> Vec<String> {
    let tokens = with_tokens.then(|| row.map_or_else(|| "tokens".to_owned(), IterationRow::tokens));
    let (front, back) = match row {
        None => (["#", "time", "cost"].map(str::to_owned), ["diff", "fail", "stage"].map(str::to_owned)),
        Some(row) => (
            [row.story.iteration.to_string(), row.time(), row.cost()],
            [row.diff(), row.failures(), row.stage()],
        ),
    };
    front.into_iter().chain(tokens).chain(back).collect()
}

fn table(rows: &[IterationRow<'_>], width: usize) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    let shown = ends(rows, ROWS_FIRST, ROWS_MAX);
    let with_tokens = tells_tokens(rows);
    let heads = cells(None, with_tokens);
    let cells: Vec<Vec<String>> = shown.iter().map(|row| cells(Some(row), with_tokens)).collect();
    let widest = |at: usize| cells.iter().chain([&heads]).map(|row| format::columns(&row[at])).max();
    let widths: Vec<usize> = (0..heads.len()).map(|at| widest(at).unwrap_or(0)).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        format!("  {}", padded.collect::<Vec<_>>().join("  "))
    };
    let room = width.saturating_sub(format::columns(&line(&heads)) + 2);
    let mut lines = vec![format!("{}  verdict", line(&heads))];
    for (at, (row, cells)) in shown.iter().zip(&cells).enumerate() {
        if at == ROWS_FIRST && left_out > 0 {
            lines.push(format!("  … {} are left out", format::count(left_out, "iteration")));
        }
        lines.extend(verdict_text(&line(cells), row, room, width));
    }
    lines
}

/// The verdict with its reason: behind the other columns where there is room for it, else below them.
fn verdict_text(head: &str, row: &IterationRow<'_>, room: usize, width: usize) -> Vec<String> {
    let verdict = row.verdict_text();
    let because = row.story.why().map(|why| format!("{verdict}: {why}"));
    match because {
        Some(because) if room >= REASON_MIN => vec![format!("{head}  {}", format::cut(&because, room))],
        Some(because) => {
            let below = format::cut(&because, width.saturating_sub(5));
            vec![head.trim_end().to_owned(), format!("     {below}")]
        }
        None if verdict.len() > room => vec![head.trim_end().to_owned(), format!("     {verdict}")],
        None => vec![format!("{head}  {verdict}")],
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use unstuck_core::Event;

    use super::*;
    use crate::report::samples;

    #[track_caller]
    fn check(page: &ReportData, width: usize, want: &Expect) {
        let drawn = terminal(page, "a984", width);
        let long: Vec<&str> = drawn.lines().filter(|line| line.chars().count() > width).collect();
        assert_eq!(long, [""; 0], "lines that do not fit into {width} columns");
        assert!(!drawn.contains('\u{1b}'), "without a terminal there are no colors");
        want.assert_eq(&drawn);
    }

    #[test]
    fn a_night_is_one_screen() {
        check(
            &samples::page(),
            100,
            &expect![[r#"
                run a984 · make the tests pass & say <b>nothing</b> in /tmp/unstuck-golden/night
                started 2026-11-25 15:43:52 UTC

                STUCK after 10 iterations, 11 s, cost unknown: work: stuck: the same failures again (event 78)

                work  stuck: the same failures again (event 77), at most 25 iterations
                  #   time   cost  diff             fail   stage  verdict
                  1   00:00  ?     +1 −0 (1 file)   3 → 4  1      incomplete: `sh check.sh` fails: parser::trailing…
                  2   00:01  ?     +2 −1 (3 files)  4 → 4  1      incomplete: `sh check.sh` fails: parser::trailing…
                  3   00:02  ?     +1 −0 (1 file)   4 → 3  1      incomplete: `sh check.sh` fails: parser::trailing…
                  4   00:00  ?     +1 −0 (1 file)   3 → 3  1      incomplete: `sh check.sh` fails: parser::trailing…
                  5   00:01  ?     +1 −0 (1 file)   3 → 1  1      incomplete: `sh check.sh` fails: parser::trailing…
                  6   00:02  ?     +1 −0 (1 file)   1 → 1  1      incomplete: `sh check.sh` fails: parser::trailing…
                  7   00:00  ?     +1 −0 (1 file)   1 → 1  1 → 2  incomplete: `sh check.sh` fails: parser::trailing…
                  8   00:01  ?     +1 −0 (1 file)   1 → 1  2      incomplete: `sh check.sh` fails: parser::trailing…
                  9   00:02  ?     +1 −0 (1 file)   1 → 1  2      incomplete: `sh check.sh` fails: parser::trailing…
                  10  00:00  ?     +1 −0 (1 file)   1 → 1  2 → 3  incomplete: `sh check.sh` fails: parser::trailing…

                  failure                                            b  1  2  3  4  5  6  7  8  9 10
                  parser::trailing_comma                             ■  ■  ■  ■  ■  ■  ■  ■  ■  ■  ■
                  a name that is m…r, with its module and its case   ■  ■  ■  ■  ■  ·  ·  ·  ·  ·  ·
                  html escapes <script>alert(1)</script>             ·  +  ■  ■  ·  ·  ·  ·  ·  ·  ·
                  net::timeout                                       ~  ~  ~  ·  ·  ·  ·  ·  ·  ·  ·
                  lexer::unicode                                     ·  ·  +  ·  ■  ·  ·  ·  ·  ·  ·
                  parser::nested_quotes                              ■  ■  ·  ·  ·  ·  ·  ·  ·  ·  ·
                  stage raised to                                                         2        3
                  ■ fails, + is new, ~ fails at times, · does not fail, b before the work began

                note  work: the baseline was taken in the workspace: it is in no git repository (event 4)
                next:
                  unstuck diagnose a984                        what fails, since when, what was tried
                  unstuck resume a984 --add-iterations 5       go on
                  unstuck resume a984 --hint "what it lacks"   tell the worker what it does not know
                  unstuck undo a984@first                      the files as they were before #1
                  unstuck why a984                             the evidence, event by event
                  unstuck replay a984                          decide all of it again
                  unstuck report a984 --html FILE              the same with all diffs, for a browser"#]],
        );
    }

    #[test]
    fn reasons_are_below_the_row_in_a_narrow_terminal() {
        check(
            &samples::page(),
            60,
            &expect![[r#"
                run a984 · make the tests pass & say <b>nothing</b> in
                         /tmp/unstuck-golden/night
                started 2026-11-25 15:43:52 UTC

                STUCK after 10 iterations, 11 s, cost unknown: work: stuck:
                      the same failures again (event 78)

                work  stuck: the same failures again (event 77), at most 25
                      iterations
                  #   time   cost  diff             fail   stage  verdict
                  1   00:00  ?     +1 −0 (1 file)   3 → 4  1
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  2   00:01  ?     +2 −1 (3 files)  4 → 4  1
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  3   00:02  ?     +1 −0 (1 file)   4 → 3  1
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  4   00:00  ?     +1 −0 (1 file)   3 → 3  1
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  5   00:01  ?     +1 −0 (1 file)   3 → 1  1
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  6   00:02  ?     +1 −0 (1 file)   1 → 1  1
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  7   00:00  ?     +1 −0 (1 file)   1 → 1  1 → 2
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  8   00:01  ?     +1 −0 (1 file)   1 → 1  2
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  9   00:02  ?     +1 −0 (1 file)   1 → 1  2
                     incomplete: `sh check.sh` fails: parser::trailing_comm…
                  10  00:00  ?     +1 −0 (1 file)   1 → 1  2 → 3
                     incomplete: `sh check.sh` fails: parser::trailing_comm…

                  failure                    b  1  2  3  4  5  6  7  8  9 10
                  parser::trailing_comma     ■  ■  ■  ■  ■  ■  ■  ■  ■  ■  ■
                  a name t…le and its case   ■  ■  ■  ■  ■  ·  ·  ·  ·  ·  ·
                  html esc…ert(1)</script>   ·  +  ■  ■  ·  ·  ·  ·  ·  ·  ·
                  net::timeout               ~  ~  ~  ·  ·  ·  ·  ·  ·  ·  ·
                  lexer::unicode             ·  ·  +  ·  ■  ·  ·  ·  ·  ·  ·
                  parser::nested_quotes      ■  ■  ·  ·  ·  ·  ·  ·  ·  ·  ·
                  stage raised to                                 2        3
                  ■ fails, + is new, ~ fails at times, · does not fail, b
                  before the work began

                note  work: the baseline was taken in the workspace: it is
                      in no git repository (event 4)
                next:
                  unstuck diagnose a984
                  unstuck resume a984 --add-iterations 5
                  unstuck resume a984 --hint "what it lacks"
                  unstuck undo a984@first
                  unstuck why a984
                  unstuck replay a984
                  unstuck report a984 --html FILE"#]],
        );
    }

    #[test]
    fn log_without_artifacts_and_unfinished_log_are_shown_as_far_as_known() {
        let events = samples::events();
        let begun: &[Event] = &events[..14];
        check(
            &samples::bare(begun),
            80,
            &expect![[r#"
                run a984 · make the tests pass & say <b>nothing</b> in /tmp/unstuck-golden/night
                started 2026-11-25 15:43:52 UTC

                INTERRUPTED after 2 iterations, 1.5 s, cost unknown

                work  not finished, at most 25 iterations
                  #  time   cost  diff             fail   stage  verdict
                  1  00:00  ?     +1 −0 (1 file)   3 → 4  1      incomplete: `sh check.sh` fail…
                  2  00:01  ?     +2 −1 (3 files)  ?      1      not judged

                  failure                                           b 1
                  a name that is m…r, with its module and its case  ■ ■
                  net::timeout                                      ~ ~
                  parser::nested_quotes                             ■ ■
                  parser::trailing_comma                            ■ ■
                  html escapes <script>alert(1)</script>            · +
                  ■ fails, + is new, ~ fails at times, · does not fail, b before the work began

                note  work: the baseline was taken in the workspace: it is in no git repository
                      (event 4)
                next:
                  unstuck resume a984                          go on from here
                  unstuck why a984
                      # the latest decision, event by event
                  unstuck replay a984                          decide all of it again
                  unstuck report a984 --html FILE
                      # the same with all diffs, for a browser"#]],
        );
        check(
            &samples::bare(&events[..1]),
            80,
            &expect![[r#"
                run a984 · make the tests pass & say <b>nothing</b> in /tmp/unstuck-golden/night
                started 2026-11-25 15:43:52 UTC

                INTERRUPTED after 0 iterations, 0.0 s

                work  not begun, at most 25 iterations

                next:
                  unstuck resume a984                          go on from here
                  unstuck why a984
                      # the latest decision, event by event
                  unstuck replay a984                          decide all of it again
                  unstuck report a984 --html FILE
                      # the same with all diffs, for a browser"#]],
        );
    }
}
