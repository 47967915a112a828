//! `unstuck probe`: one piece alone.

mod failures;
mod prompt;
mod registry;
mod schema;
mod validator;
mod worker;

use std::io::{self, BufRead as _, Write as _};

use clap::Subcommand;
use unstuck_core::verdict::probe_line;

use crate::args::Global;
use crate::error::{Error, Result};
use crate::exit;

/// Arguments of `unstuck probe`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The piece.
    #[command(subcommand)]
    piece: Piece,
}

/// The pieces.
#[derive(Debug, Subcommand)]
enum Piece {
    /// Read verdicts as a run would: one JSON object a line on standard input, one answer a line.
    ///
    /// Input: {"id", "file": null | {"text"} | {"base64"} | {"refused": "missing"}, "file_fresh": true,
    /// "answer": null | "text", "check_id"}.
    Verdict,
    /// Read what failed from the output of a command, with fingerprints.
    ///
    /// `cargo test 2>&1 | unstuck probe failures`
    Failures(failures::Args),
    /// Run one validator, and show what a prompt would tell of it.
    ///
    /// `unstuck probe validator tests-pass`
    Validator(validator::Args),
    /// Write the prompt that answers a failure, as a run would.
    ///
    /// `unstuck probe prompt issue --pattern tests-red --params '{"failedTests": [{"name": "one"}]}'`
    Prompt(prompt::Args),
    /// Put the references of a schema for answers in, or say what is wrong with an answer.
    ///
    /// `unstuck probe schema issue.schema.json#work --check answer.txt`
    Schema(schema::Args),
    /// Read the output of a worker by its description: what each line tells, and what the call comes to.
    ///
    /// `unstuck probe worker claude --exit 1 < output.jsonl`, `unstuck probe worker .unstuck/workers.yaml#mine < output`
    Worker(worker::Args),
}

/// Tries the piece.
pub fn probe(global: &Global, args: &Args) -> Result {
    match &args.piece {
        Piece::Verdict => verdict(),
        Piece::Failures(args) => failures::failures(args),
        Piece::Validator(args) => validator::validator(global, args),
        Piece::Prompt(args) => prompt::prompt(global, args),
        Piece::Schema(args) => schema::schema(args),
        Piece::Worker(args) => worker::worker(global, args),
    }
}

fn verdict() -> Result {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, line) in io::stdin().lock().split(b'\n').enumerate() {
        let line = line.map_err(|error| {
            Error::usage(format!("cannot read line {} of standard input: {error}", number + 1))
        })?;
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        if writeln!(out, "{}", probe_line(&line)).and_then(|()| out.flush()).is_err() {
            break; // Nobody reads any more.
        }
    }
    Ok(exit::OK)
}
