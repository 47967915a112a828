//! `unstuck probe`: one piece alone.

mod failures;
mod prompt;
mod schema;
mod validator;
mod verdict;
mod worker;

use clap::Subcommand;

use crate::args::Global;
use crate::error::Result;

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
        Piece::Verdict => verdict::verdict(),
        Piece::Failures(args) => failures::failures(args),
        Piece::Validator(args) => validator::validator(global, args),
        Piece::Prompt(args) => prompt::prompt(global, args),
        Piece::Schema(args) => schema::schema(args),
        Piece::Worker(args) => worker::worker(global, args),
    }
}

/// Reads `NAME=VALUE`.
fn pair(given: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = given.split_once('=').ok_or("not NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
