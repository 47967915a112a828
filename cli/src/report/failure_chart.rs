//! The failures of a step over its iterations, as a chart of characters.

use unstuck_core::id::Iteration;
use unstuck_replay::report::{CellState, FailureMatrix, MatrixColumn};

use super::ends;
use crate::format;

/// Most failures that a chart names.
const ROWS_MAX: usize = 12;
/// Least and most characters of a name.
const NAME_MIN: usize = 20;
const NAME_MAX: usize = 48;

/// Draws the history into so many columns of a terminal; empty where nothing has failed.
pub fn chart(history: &FailureMatrix, width: usize) -> String {
    if history.rows.is_empty() {
        return String::new();
    }
    let shape = ChartLayout::new(history, width);
    let columns = shape.columns(&history.columns);
    let mut lines = vec![shape.heads(&columns)];
    let mut used = Vec::new();
    for row in history.rows.iter().take(ROWS_MAX) {
        let marks = shape.columns(&row.marks);
        lines.push(shape.line(&row.name, marks.iter().map(|mark| shape.cell(sign(**mark), style(**mark)))));
        used.extend(marks);
    }
    let more = history.rows.len().saturating_sub(ROWS_MAX);
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    if columns.iter().any(|column| column.raised_to.is_some()) {
        let stages = columns.iter().map(|column| {
            let stage = column.raised_to.map_or_else(String::new, |stage| stage.to_string());
            shape.cell(&stage, "")
        });
        lines.push(shape.line("stage raised to", stages));
    }
    let hidden = history.columns.len() - columns.len();
    if hidden > 0 {
        lines.push(format!("  {} before these are left out", format::count(hidden, "iteration")));
    }
    let has_baseline = history.columns.first().is_some_and(|column| column.iteration == Iteration::BASELINE);
    lines.push(legend(&used, has_baseline, width));
    lines.join("\n")
}

/// How a chart is laid out.
struct ChartLayout {
    name: usize,
    /// Characters of a column.
    cell: usize,
    /// How many columns are shown: the first, which shows what was there at the beginning, and the last ones.
    shown: usize,
}

impl ChartLayout {
    fn new(history: &FailureMatrix, width: usize) -> Self {
        let longest = history.rows.iter().take(ROWS_MAX).map(|row| format::columns(&row.name)).max();
        let wanted = longest.unwrap_or(0).clamp(NAME_MIN, NAME_MAX);
        let all = history.columns.len();
        // Two spaces before the name, one after it.
        let room = |name: usize| width.saturating_sub(name + 3);
        let digits = history.columns.last().map_or(1, |column| column.iteration.to_string().len());
        let cell = if all * (digits + 1) <= room(NAME_MIN) { digits + 1 } else { 1 };
        let name = wanted.min(width.saturating_sub(all * cell + 3)).max(NAME_MIN);
        Self { name, cell, shown: all.min(room(name) / cell) }
    }

    fn columns<'a, T>(&self, all: &'a [T]) -> Vec<&'a T> {
        ends(all, 1, self.shown)
    }

    /// Names the columns; where they are one character wide, every fifth of them.
    fn heads(&self, columns: &[&MatrixColumn]) -> String {
        let numbers = columns.iter().map(|column| match column.iteration {
            Iteration::BASELINE => "b".to_owned(),
            iteration => iteration.to_string(),
        });
        if self.cell > 1 {
            return self.line("failure", numbers.map(|number| self.cell(&number, "")));
        }
        let mut line = String::new();
        for (at, number) in numbers.enumerate() {
            // A number ends where its column is.
            let free = (at + 1).checked_sub(line.len() + number.len());
            let is_named = at == 0 || columns[at].iteration.0.is_multiple_of(5);
            if let Some(blanks) = free.filter(|blanks| is_named && (at == 0 || *blanks > 0)) {
                line.push_str(&" ".repeat(blanks));
                line.push_str(&number);
            }
        }
        self.line("failure", [line].into_iter())
    }

    fn cell(&self, sign: &str, style: &str) -> String {
        let blanks = " ".repeat(self.cell.saturating_sub(format::columns(sign)));
        if style.is_empty() { format!("{blanks}{sign}") } else { blanks + &format::styled(sign, style) }
    }

    fn line(&self, name: &str, cells: impl Iterator<Item = String>) -> String {
        let line = format!(
            "  {:<1$} {2}",
            format::cut_middle(name, self.name),
            self.name,
            cells.collect::<String>()
        );
        line.trim_end().to_owned()
    }
}

fn sign(mark: CellState) -> &'static str {
    match mark {
        CellState::Failing => "■",
        CellState::New => "+",
        CellState::Flaky => "~",
        CellState::Absent => "·",
        CellState::Unknown => "?",
    }
}

fn style(mark: CellState) -> &'static str {
    match mark {
        CellState::Failing => "31",
        CellState::New => "1;31",
        CellState::Flaky => "33",
        CellState::Absent | CellState::Unknown => "2",
    }
}

/// Says what the signs mean that are used, and what `b` is.
fn legend(used: &[&CellState], has_baseline: bool, width: usize) -> String {
    let words = [
        (CellState::Failing, "fails"),
        (CellState::New, "is new"),
        (CellState::Flaky, "fails at times"),
        (CellState::Absent, "does not fail"),
        (CellState::Unknown, "not known"),
    ];
    let signs = words.into_iter().filter(|(mark, _)| used.contains(&mark));
    let signs = signs.map(|(mark, word)| format!("{} {word}", sign(mark)));
    let baseline = has_baseline.then(|| "b before the work began".to_owned());
    format!("  {}", format::wrap(&signs.chain(baseline).collect::<Vec<_>>().join(", "), width, 2))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use unstuck_core::id::{Seq, Stage};
    use unstuck_replay::report::MatrixRow;

    use super::*;

    /// Draws failures given as a name and a sign for each look, the baseline first.
    #[track_caller]
    fn check(width: usize, failures: &[(&str, String)], raised: &[(u32, u32)], want: &Expect) {
        let mark = |sign: char| match sign {
            'x' => CellState::Failing,
            '+' => CellState::New,
            '~' => CellState::Flaky,
            '?' => CellState::Unknown,
            _ => CellState::Absent,
        };
        let looks = failures.first().map_or(0, |(_, signs)| signs.len());
        let column = |at: usize| {
            let iteration = Iteration(u32::try_from(at).unwrap());
            let raised = raised.iter().find(|(at, _)| *at == iteration.0);
            let raised_to = raised.map(|(_, to)| Stage(*to));
            MatrixColumn { iteration, event: Seq(1), conclusive: true, raised_to }
        };
        let rows = failures.iter().map(|(name, signs)| MatrixRow {
            fingerprint: String::new(),
            name: (*name).to_owned(),
            message: String::new(),
            marks: signs.chars().map(mark).collect(),
        });
        let history = FailureMatrix { columns: (0..looks).map(column).collect(), rows: rows.collect() };
        let drawn = chart(&history, width);
        assert!(drawn.lines().all(|line| line.chars().count() <= width), "{drawn}");
        // The leading spaces are compared too.
        want.assert_eq(&format!("work\n{drawn}"));
    }

    #[test]
    fn history_without_failures_has_empty_chart() {
        assert_eq!(chart(&FailureMatrix::default(), 60), "");
    }

    #[test]
    fn every_look_has_a_column_with_its_number() {
        let failures = [
            ("parser::comma", "xxxxx".to_owned()),
            ("net::timeout of a service with a long name", "~..~?".to_owned()),
            ("lexer::unicode", ".+...".to_owned()),
        ];
        check(
            60,
            &failures,
            &[(2, 2), (4, 3)],
            &expect![[r#"
                work
                  failure                                     b 1 2 3 4
                  parser::comma                               ■ ■ ■ ■ ■
                  net::timeout of a service with a long name  ~ · · ~ ?
                  lexer::unicode                              · + · · ·
                  stage raised to                                 2   3
                  ■ fails, + is new, ~ fails at times, · does not fail, ?
                  not known, b before the work began"#]],
        );
    }

    #[test]
    fn many_looks_are_narrow_and_the_middle_ones_give_way_first() {
        let failures = [("parser::comma", "x".repeat(26)), ("other", format!(".+{}", ".".repeat(24)))];
        check(
            60,
            &failures,
            &[(9, 2), (12, 3)],
            &expect![[r#"
                work
                  failure              b    5   10   15   20   25
                  parser::comma        ■■■■■■■■■■■■■■■■■■■■■■■■■■
                  other                ·+························
                  stage raised to               2  3
                  ■ fails, + is new, · does not fail, b before the work
                  began"#]],
        );
        check(
            60,
            &[("parser::comma", "x".repeat(101))],
            &[(99, 2)],
            &expect![[r#"
                work
                  failure              b    70   75   80   85   90   95  100
                  parser::comma        ■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■
                  stage raised to                                         2
                  64 iterations before these are left out
                  ■ fails, b before the work began"#]],
        );
    }

    #[test]
    fn failures_beyond_a_dozen_are_counted() {
        let failures: Vec<_> = (0..15).map(|_| ("one", "x.".to_owned())).collect();
        check(
            60,
            &failures,
            &[],
            &expect![[r#"
                work
                  failure               b 1
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  one                   ■ ·
                  and 3 more
                  ■ fails, · does not fail, b before the work began"#]],
        );
    }
}
