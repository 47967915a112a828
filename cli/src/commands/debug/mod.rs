//! `unstuck debug`: one part of a run alone.

mod failures;
mod prompt;
mod schema;
mod validator;
mod verdict;
mod worker;

use clap::Subcommand;

use crate::args::GlobalArgs;
use crate::error::Result;

/// Arguments of `unstuck debug`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The part to run.
    #[command(subcommand)]
    part: DebugCommand,
}

/// The parts of a run.
#[derive(Debug, Subcommand)]
enum DebugCommand {
    /// Read verdicts from standard input, one JSON object per line, and print one line for each.
    ///
    /// Input: {"id", "file": null | {"text"} | {"base64"} | {"refused": "missing"}, "file_fresh": true,
    /// "answer": null | "text", "check_id"}.
    Verdict,
    /// Print the failures in the output of a command.
    ///
    /// `cargo test 2>&1 | unstuck debug failures`
    Failures(failures::Args),
    /// Run one validator and print its result.
    ///
    /// `unstuck debug validator tests-pass`
    Validator(validator::Args),
    /// Print the prompt that answers a failure.
    ///
    /// `unstuck debug prompt issue --pattern tests-red --params '{"failedTests": [{"name": "one"}]}'`
    Prompt(prompt::Args),
    /// Resolve a schema for answers, or check an answer.
    ///
    /// `unstuck debug schema issue.schema.json#work --check answer.txt`
    Schema(schema::Args),
    /// Read the output of a worker, line by line.
    ///
    /// `unstuck debug worker claude --exit 1 < output.jsonl`, `unstuck debug worker .unstuck/workers.yaml#mine < output`
    Worker(worker::Args),
}

/// Runs one part.
pub fn debug(global: &GlobalArgs, args: &Args) -> Result {
    match &args.part {
        DebugCommand::Verdict => verdict::verdict(),
        DebugCommand::Failures(args) => failures::failures(args),
        DebugCommand::Validator(args) => validator::validator(global, args),
        DebugCommand::Prompt(args) => prompt::prompt(global, args),
        DebugCommand::Schema(args) => schema::schema(args),
        DebugCommand::Worker(args) => worker::worker(global, args),
    }
}
