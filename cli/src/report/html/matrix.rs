//! Which failures were there when, as a picture and as a table.

use maud::{Markup, html};
use unstuck_core::id::Iteration;
use unstuck_replay::report::{CellState, FailureMatrix, MatrixColumn, MatrixRow};

use crate::format;
use crate::report::ends;

/// Widths and heights of the picture, in SVG units.
const NAMES: usize = 330;
const CELL: usize = 18;
const TOP: usize = 20;
/// Room below the rows, for the stages.
const BOTTOM: usize = 22;
/// Characters of a name that there is room for.
const NAME_MAX: usize = 48;
/// Failures and looks beyond these are left out: the failures that were gone soonest, and after the first look
/// the oldest.
const ROWS_MAX: usize = 100;
const COLUMNS_MAX: usize = 200;

/// Draws the failures of a step over its iterations; nothing where nothing has failed.
pub fn part(history: &FailureMatrix) -> Markup {
    if history.rows.is_empty() {
        return html! {};
    }
    let rows = &history.rows[..history.rows.len().min(ROWS_MAX)];
    let columns = ends(&history.columns, 1, COLUMNS_MAX);
    let (fewer_rows, fewer_columns) =
        (history.rows.len() - rows.len(), history.columns.len() - columns.len());
    html! {
        h3 { "Failures over time" }
        div class="wide" { (picture(rows, &columns)) }
        p class="small" {
            "Filled: fails. + fails, and did not before. ~ fails at times. ? not known. Empty: does not fail. "
            "Ordered by how long each survived; b is the look before the work began."
            @if fewer_rows > 0 { " " (format::count(fewer_rows, "more failure")) " left out." }
            @if fewer_columns > 0 { " After the first look, " (fewer_columns) " are left out." }
        }
        details {
            summary { "the same as a table" }
            div class="wide" { (table(rows, &columns)) }
        }
    }
}

fn picture(rows: &[MatrixRow], columns: &[&MatrixColumn]) -> Markup {
    let (width, bottom) = (NAMES + CELL * columns.len() + 10, TOP + CELL * rows.len());
    let height = bottom + BOTTOM;
    html! {
        svg class="picture" role="img" viewBox=(format!("0 0 {width} {height}")) width=(width) height=(height)
            aria-label="Which failure was there in which iteration" {
            title { "Which failure was there in which iteration" }
            @for (at, column) in columns.iter().enumerate() { (head(column, NAMES + CELL * at, bottom)) }
            @for (at, row) in rows.iter().enumerate() { (draw(row, columns, TOP + CELL * at)) }
        }
    }
}

/// The number of a look above, and the stage that it led to beneath.
fn head(column: &MatrixColumn, x: usize, bottom: usize) -> Markup {
    let middle = x + CELL / 2;
    html! {
        text x=(middle) y=(TOP - 6) text-anchor="middle" { (number(column)) }
        @if let Some(stage) = column.raised_to {
            line class="stage" x1=(x + CELL) y1=(TOP) x2=(x + CELL) y2=(bottom + 6) {}
            text x=(x + CELL) y=(bottom + 18) text-anchor="end" {
                "stage " (stage)
                title { "after #" (column.iteration) " the stage is " (stage) }
            }
        }
    }
}

fn draw(row: &MatrixRow, columns: &[&MatrixColumn], y: usize) -> Markup {
    html! {
        text x="0" y=(y + 13) {
            (format::cut(&row.name, NAME_MAX))
            title { (row.name) "\n" (row.fingerprint) "\n" (row.message.trim()) }
        }
        rect class="cell absent" x=(NAMES) y=(y + 1) width=(CELL * columns.len()) height=(CELL - 2) {}
        @for (at, (mark, column)) in ends(&row.marks, 1, COLUMNS_MAX).into_iter().zip(columns).enumerate() {
            @if *mark != CellState::Absent { (cell(row, *mark, column, NAMES + CELL * at, y)) }
        }
    }
}

fn cell(row: &MatrixRow, mark: CellState, column: &MatrixColumn, x: usize, y: usize) -> Markup {
    let inner = CELL - 2;
    let when = match column.iteration {
        Iteration::BASELINE => "before the work began".to_owned(),
        iteration => format!("in #{iteration}"),
    };
    html! {
        g {
            title { (format::cut(&row.name, NAME_MAX)) " " (says(mark)) " " (when) " (event " (column.event) ")" }
            rect class=(format!("cell {}", class(mark))) x=(x + 1) y=(y + 1) width=(inner) height=(inner) {}
            @if !sign(mark).is_empty() {
                text class="sign" x=(x + CELL / 2) y=(y + 13) text-anchor="middle" { (sign(mark)) }
            }
        }
    }
}

fn table(rows: &[MatrixRow], columns: &[&MatrixColumn]) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "failure" }
                    @for column in columns { th scope="col" { (number(column)) } }
                }
            }
            tbody {
                @for row in rows {
                    tr {
                        th scope="row" { (row.name) }
                        @for mark in ends(&row.marks, 1, COLUMNS_MAX) {
                            td { @if *mark == CellState::Absent { "–" } @else { (says(*mark)) } }
                        }
                    }
                }
            }
        }
    }
}

fn number(column: &MatrixColumn) -> String {
    match column.iteration {
        Iteration::BASELINE => "b".to_owned(),
        iteration => iteration.to_string(),
    }
}

fn says(mark: CellState) -> &'static str {
    match mark {
        CellState::Failing => "fails",
        CellState::New => "fails, new",
        CellState::Flaky => "fails at times",
        CellState::Absent => "does not fail",
        CellState::Unknown => "not known",
    }
}

fn class(mark: CellState) -> &'static str {
    match mark {
        CellState::Failing => "failing",
        CellState::New => "failing new",
        CellState::Flaky => "flaky",
        CellState::Absent => "absent",
        CellState::Unknown => "unknown",
    }
}

fn sign(mark: CellState) -> &'static str {
    match mark {
        CellState::New => "+",
        CellState::Flaky => "~",
        CellState::Unknown => "?",
        CellState::Failing | CellState::Absent => "",
    }
}
