//! `unstuck debug verdict`: one JSON object in, one JSON line out.

use std::io::{self, BufRead as _, Write as _};

use unstuck_app::probe::verdict::resolve_line;

use crate::error::{AppError, Result};
use crate::exit;

/// Reads verdicts from standard input, one a line.
pub fn verdict() -> Result {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, line) in io::stdin().lock().split(b'\n').enumerate() {
        let line = line.map_err(|error| {
            AppError::usage(format!("cannot read line {} of standard input: {error}", number + 1))
        })?;
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        if writeln!(out, "{}", resolve_line(&line)).and_then(|()| out.flush()).is_err() {
            break; // Nobody reads any more.
        }
    }
    Ok(exit::OK)
}
