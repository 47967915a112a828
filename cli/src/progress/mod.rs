//! Terminal output of a run while it runs and at its end.
//!
//! On a terminal, one line per active step is kept up to date below the permanent lines. Without a terminal, only the
//! permanent lines are printed. With `--json`, the lines of the log are printed.

mod diagnosis;
mod event_lines;
mod header_footer;
mod live;
mod reporter;

pub use self::header_footer::{
    brief, checks, commands, diffstat_text, end, end_json, evidence, header, next, notes, spent, spent_json,
};
pub use self::reporter::{OutputMode, ProgressReporter};
