//! The report as Markdown, for a pull request: the end, a row for each iteration, and what it rests on.

use unstuck_core::diffstat::Diffstat;
use unstuck_core::event::RunOutcome;
use unstuck_replay::StepSummary;
use unstuck_replay::report::StepReport;

use super::{IterationRow, ReportData, ends, outcome, rows, tells_tokens};
use crate::{format, progress};

/// Most iterations that are shown, and how many of them are the first ones.
const ROWS_MAX: usize = 20;
const ROWS_FIRST: usize = 3;
/// The most characters of a verdict.
const VERDICT_MAX: usize = 160;

/// Most files that are named of what was changed.
const FILES_MAX: usize = 10;

/// Writes the report as Markdown. `changed` is what all of the run changed, where that is known.
pub fn markdown(page: &ReportData, changed: Option<&Diffstat>) -> String {
    let story = &page.report.story;
    let (word, sentence) = outcome(page);
    let mut parts = vec![format!("**{word}** {}", line(&sentence)), String::new(), line(&story.workflow)];
    for (step, report) in page.report.steps() {
        parts.extend(of_step(page, step, report));
    }
    let checks = progress::checks(story).filter(|_| story.outcome == Some(RunOutcome::Complete));
    parts.extend(list("Checked", checks.map(|check| line(&check))));
    if let Some(changed) = changed {
        let more = changed.count().saturating_sub(FILES_MAX);
        let more = (more > 0).then(|| format!("and {} more", format::count(more, "file")));
        let files = changed.files.iter().take(FILES_MAX).map(|file| line(&file.to_string()));
        parts.extend(list(&format!("Changed, {}", progress::diffstat_text(changed)), files.chain(more)));
    }
    parts.extend(list("Noted", progress::notes(story).map(|note| line(&note))));
    let run = story.run.as_ref().map_or("", |run| run.as_str());
    parts.extend([
        String::new(),
        format!("Evidence: {}.", line(&progress::evidence(story))),
        String::new(),
        format!(
            "Run `{run}`; `unstuck verify {run}` checks its log, `unstuck why {run}` shows the evidence."
        ),
    ]);
    parts.join("\n")
}

/// Returns a list under its heading; nothing where it is empty.
fn list(heading: &str, items: impl Iterator<Item = String>) -> Vec<String> {
    let items: Vec<String> = items.map(|item| format!("- {item}")).collect();
    if items.is_empty() {
        items
    } else {
        [String::new(), format!("{heading}:"), String::new()].into_iter().chain(items).collect()
    }
}

fn of_step(page: &ReportData, step: &StepSummary, report: &StepReport) -> Vec<String> {
    let end = step.end_sentence.as_deref().unwrap_or("not finished");
    let mut parts = vec![String::new(), format!("### {}: {}", line(step.id.as_str()), line(end))];
    let rows: Vec<IterationRow<'_>> = rows(page, step, report).collect();
    if rows.is_empty() {
        return parts;
    }
    let with_tokens = tells_tokens(&rows);
    let [head, rule, none] = if with_tokens { [" tokens |", "---|", " |"] } else { [""; 3] };
    parts.extend([
        String::new(),
        format!("| # | time | cost |{head} changed | failures | stage | verdict |"),
        format!("|---|---|---|{rule}---|---|---|---|"),
    ]);
    let left_out = rows.len().saturating_sub(ROWS_MAX);
    for (at, row) in ends(&rows, ROWS_FIRST, ROWS_MAX).into_iter().enumerate() {
        if at == ROWS_FIRST && left_out > 0 {
            parts.push(format!("| … | | |{none} | | | {} left out |", format::count(left_out, "iteration")));
        }
        parts.push(of_row(row, with_tokens));
    }
    parts
}

fn of_row(row: &IterationRow<'_>, with_tokens: bool) -> String {
    let why = row.story.why().map_or_else(String::new, |why| format!(": {why}"));
    let verdict = line(&format::cut(&format!("{}{why}", row.verdict_text()), VERDICT_MAX));
    let [number, time, cost] = [row.story.iteration.to_string(), row.time(), row.cost()];
    let tokens = if with_tokens { format!(" {} |", row.tokens()) } else { String::new() };
    format!(
        "| {number} | {time} | {cost} |{tokens} {} | {} | {} | {verdict} |",
        row.diff(),
        row.failures(),
        row.stage()
    )
}

/// Returns a text as one line in which nothing means anything to Markdown.
fn line(text: &str) -> String {
    let mut line = String::new();
    for c in format::sanitize(text).chars() {
        match c {
            '\n' | '\t' => line.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '@' => line.extend(['\\', c]),
            _ => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use unstuck_core::diffstat::ChangedFile;

    use super::*;
    use crate::report::samples;

    #[test]
    fn a_night_is_a_table_for_a_pull_request() {
        let file = |at: u64| ChangedFile { path: format!("src/a_{at}.rs"), added: 20 - at, removed: 1 };
        let changed = Diffstat::from_files((0..12).map(file).collect());
        expect![[r#"
            **STUCK** after 10 iterations, 11 s, cost unknown: work: stuck: the same failures again (event 78)

            make the tests pass & say \<b\>nothing\</b\>

            ### work: stuck: the same failures again

            | # | time | cost | changed | failures | stage | verdict |
            |---|---|---|---|---|---|---|
            | 1 | 00:00 | ? | +1 −0 (1 file) | 3 → 4 | 1 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma, parser::nested\_quotes, html escapes \<script\>alert(1)\</script\>, a name that is much longer than a narro… |
            | 2 | 00:01 | ? | +2 −1 (3 files) | 4 → 4 | 1 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma, html escapes \<script\>alert(1)\</script\>, lexer::unicode, a name that is much longer than a narrow termi… |
            | 3 | 00:02 | ? | +1 −0 (1 file) | 4 → 3 | 1 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma, html escapes \<script\>alert(1)\</script\>, a name that is much longer than a narrow terminal has room for… |
            | 4 | 00:00 | ? | +1 −0 (1 file) | 3 → 3 | 1 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma, lexer::unicode, a name that is much longer than a narrow terminal has room for, with its module and it… |
            | 5 | 00:01 | ? | +1 −0 (1 file) | 3 → 1 | 1 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma (exit code 1, 1 of them failed before the work began) |
            | 6 | 00:02 | ? | +1 −0 (1 file) | 1 → 1 | 1 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma (exit code 1, 1 of them failed before the work began) |
            | 7 | 00:00 | ? | +1 −0 (1 file) | 1 → 1 | 1 → 2 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma (exit code 1, 1 of them failed before the work began) |
            | 8 | 00:01 | ? | +1 −0 (1 file) | 1 → 1 | 2 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma (exit code 1, 1 of them failed before the work began) |
            | 9 | 00:02 | ? | +1 −0 (1 file) | 1 → 1 | 2 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma (exit code 1, 1 of them failed before the work began) |
            | 10 | 00:00 | ? | +1 −0 (1 file) | 1 → 1 | 2 → 3 | incomplete: \`sh check.sh\` fails: parser::trailing\_comma (exit code 1, 1 of them failed before the work began) |

            Changed, +174 −12 (12 files):

            - src/a\_0.rs +20 −1
            - src/a\_1.rs +19 −1
            - src/a\_2.rs +18 −1
            - src/a\_3.rs +17 −1
            - src/a\_4.rs +16 −1
            - src/a\_5.rs +15 −1
            - src/a\_6.rs +14 −1
            - src/a\_7.rs +13 −1
            - src/a\_8.rs +12 −1
            - src/a\_9.rs +11 −1
            - and 2 files more

            Noted:

            - work: the baseline was taken in the workspace: it is in no git repository (event 4)

            Evidence: work \#10 exit-code (event 75) · end: event 78.

            Run `fbd70e514ee7`; `unstuck verify fbd70e514ee7` checks its log, `unstuck why fbd70e514ee7` shows the evidence."#]].assert_eq(&markdown(&samples::page(), Some(&changed)));
    }

    #[test]
    fn nothing_in_a_text_means_anything() {
        assert_eq!(line("a|b\n<c> `d` @e #1\u{1b}"), "a\\|b \\<c\\> \\`d\\` \\@e \\#1␛");
    }
}
