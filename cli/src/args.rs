//! The arguments that all commands share.

use std::path::PathBuf;

/// The options of all commands.
#[derive(Clone, Debug, clap::Args)]
pub struct GlobalArgs {
    /// Run in this directory instead of the current one.
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Store of the runs, sled:PATH or memory: [default: the state directory of this project].
    #[arg(long, global = true, value_name = "URL", env = "UNSTUCK_STORE")]
    pub store: Option<String>,
    /// Print more diagnostics of Unstuck itself; workers get VERBOSE=1.
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Drive a detached run, whose request is read from standard input.
    #[arg(long, hide = true)]
    pub detached: bool,
}

/// Parses text that is not blank, and trims it. A blank command would always succeed.
pub fn non_blank(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() { Err("it is blank".to_owned()) } else { Ok(text.to_owned()) }
}

/// Reads an amount of money: `2.50`; in millionths of a US dollar, above zero.
pub fn parse_usd(text: &str) -> Result<u64, String> {
    unstuck_core::cost::micro_usd(text)
        .filter(|micro_usd| *micro_usd > 0)
        .ok_or_else(|| "expected an amount of US dollars above 0, such as 2.50".to_owned())
}

/// Reads `NAME=VALUE`.
pub fn name_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("not NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
