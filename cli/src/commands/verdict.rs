//! `unstuck verdict`: called by a worker or checker, writes the decision file from the environment, so
//! that no model has to write JSON.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TypedValueParser};
use unstuck_app::env_vars;
use unstuck_app::verdict::VerdictFile;

use crate::error::{AppError, Result};
use crate::exit;

/// Arguments of `unstuck verdict`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: unstuck verdict incomplete --reason \"2 tests fail\" --fingerprint test:parser::comma"
)]
pub struct Args {
    /// The verdict.
    decision: Decision,
    /// Why; may be given more than once.
    #[arg(long = "reason", value_name = "TEXT", value_parser = any_text())]
    reasons: Vec<String>,
    /// Names an open problem, with the same text as long as the problem is the same.
    #[arg(long = "fingerprint", value_name = "NAME")]
    fingerprints: Vec<String>,
    /// Action that a person must take; with blocked.
    #[arg(long, value_name = "TEXT", value_parser = any_text())]
    needs: Option<String>,
    /// Ask again after so many seconds; with waiting [default: 60].
    #[arg(long, value_name = "SECONDS")]
    retry_after: Option<u64>,
    /// The file to write [default: the one that the run asks for].
    #[arg(long, env = "UNSTUCK_DECISION_FILE", value_name = "PATH", value_parser = any_path())]
    file: Option<PathBuf>,
    /// The id of the check [default: the one that the run asks for].
    #[arg(long, env = "UNSTUCK_CHECK_ID", value_name = "UUID")]
    check_id: Option<String>,
}

/// Takes what is no UTF-8, too: a verdict is not to be lost for a byte of what a tool has printed.
fn any_text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|text| text.to_string_lossy().into_owned())
}

/// Takes an empty one, too: a variable that is set to nothing names no file.
fn any_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Decision of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Decision {
    /// Everything that was asked for is done.
    Complete,
    /// Something is left to do.
    Incomplete,
    /// A person must act.
    Blocked,
    /// An external job is still running.
    Waiting,
}

/// The answer to a verdict that the run does not ask for.
const NOT_NEEDED: &str = "not needed here: the checks of this step decide whether it is done";

/// Returns whether the run takes nothing from this file but blocked and waiting: it gave no id of a check with it.
fn is_for_obstacles(path: &Path, check_id: Option<&str>) -> Result<bool> {
    let of_run = std::env::var_os("UNSTUCK_DECISION_FILE").is_some_and(|of_run| Path::new(&of_run) == path);
    let is_asked = check_id.is_some() || env_vars::text("COMPLETION_CHECK_ID")?.is_some();
    Ok(of_run && !is_asked && std::env::var_os("UNSTUCK_RUN_ID").is_some())
}

/// Writes the decision file.
pub fn verdict(args: &Args) -> Result {
    let Some(path) = args.file.as_ref().filter(|path| !path.as_os_str().is_empty()) else {
        if std::env::var_os("UNSTUCK_RUN_ID").is_some() {
            println!("{NOT_NEEDED}");
            return Ok(exit::OK);
        }
        return Err(AppError::usage("no run asks for a verdict here: UNSTUCK_DECISION_FILE is not set")
            .hint(
                "inside a check it is set; elsewhere name the file: unstuck verdict complete --file PATH",
            ));
    };
    let says_done = matches!(args.decision, Decision::Complete | Decision::Incomplete);
    if says_done && is_for_obstacles(path, args.check_id.as_deref())? {
        println!("{NOT_NEEDED}");
        return Ok(exit::OK);
    }
    let is_blocked = args.decision == Decision::Blocked;
    let waits = args.decision == Decision::Waiting;
    for (option, is_given, verdict, fits) in [
        ("--needs", args.needs.is_some(), "blocked", is_blocked),
        ("--retry-after", args.retry_after.is_some(), "waiting", waits),
    ] {
        if is_given && !fits {
            return Err(AppError::usage(format!(
                "{option} goes with the verdict {verdict}; nothing was written"
            ))
            .hint(format!("leave {option} out, or: unstuck verdict {verdict} {option} ...")));
        }
    }
    let decision = args.decision.to_possible_value().expect("no verdict is hidden").get_name().to_owned();
    let verdict = VerdictFile {
        decision: decision.clone(),
        reasons: args.reasons.clone(),
        fingerprints: args.fingerprints.clone(),
        needs: args.needs.clone(),
        retry_after: args.retry_after,
        check_id: args.check_id.clone(),
    };
    verdict.write(path)?;
    println!("{decision}: written to {}", path.display());
    Ok(exit::OK)
}
