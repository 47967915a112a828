//! `unstuck run --detach`: starts a run in the background, in a new session.
//!
//! All questions and messages come first. Then the program starts itself again with the same arguments, and reads the
//! beginning of the run from standard input.

use std::io::{self, Write as _};
use std::process::Command;

use unstuck_app::background::{self, Background};
use unstuck_app::drive::Terms;
use unstuck_app::project_location::ProjectLocation;
use unstuck_app::start::PreparedRun;

use crate::error::{AppError, Result};
use crate::invocation::UNSTUCK;
use crate::{exit, platform};

/// First argument of the second start.
pub const FLAG: &str = "--detached";

/// Starts the run in the background. A run that cannot begin ends as it would have here.
pub fn start(prepared: &PreparedRun) -> Result {
    let program = std::env::current_exe().map_err(|error| AppError::store(&error))?;
    let mut command = Command::new(program);
    command.arg(FLAG).args(std::env::args_os().skip(1));
    match background::start(prepared, command)? {
        Background::Ended(status, lines) => {
            let _nobody_may_listen = io::stderr().write_all(lines.as_bytes());
            Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::STORE))
        }
        Background::Started(output) => {
            let short = &prepared.short;
            println!("run {short} works in the background");
            println!("  look     {UNSTUCK} status    {UNSTUCK} events {short} -f");
            println!("  stop     {UNSTUCK} stop {short}");
            println!("  output   {}", output.display());
            Ok(exit::OK)
        }
    }
}

/// Takes a run over from the command that was typed, and leaves its terminal.
pub fn receive_handoff(place: &ProjectLocation, terms: &Terms) -> Result<PreparedRun> {
    platform::own_session();
    background::receive_handoff(place, terms, io::stdin().lock())
}
