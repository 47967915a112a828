//! A stand-in for the real clients: one program that speaks as the client under whose name it is called.
//!
//! It accepts only the flags of that client, reads the prompt, carries out the acts that a [plan](Plan) has for this
//! call, and prints the output of the client. Tests put links to it into a directory that is first on `PATH`, see
//! [`install`]:
//!
//! - `STAND_IN_PLAN` names the plan (default: `stand-in.json` in the directory of the program);
//!   `<plan>.calls` and `<plan>.sessions/` remember what was called and how much each conversation counted;
//! - `STAND_IN_LOG` names a file that gets a line of JSON for each call: how it was called, and with which prompt.
//!
//! A fault of the test itself (no plan, no call left) is reported and ends with status [`NO_PLAN`].
//!
//! Lines are made from templates, which are lines of the real clients: `<client>.txt` in the directory of this file.

use std::io;
use std::path::Path;
use std::process::ExitCode;

mod aider;
mod call;
mod claude;
mod codex;
mod flags;
mod gemini;
mod goose;
mod opencode;
mod pi;
mod plan;
mod play;
mod qwen;
mod stage;

pub use plan::{Act, Decision, Fault, Flood, Fork, Plan, Tokens, Write};

/// The clients that it can be.
pub const CLIENTS: [&str; 8] = ["claude", "codex", "opencode", "gemini", "qwen", "pi", "goose", "aider"];

/// The exit status where the test has not said what to do.
pub const NO_PLAN: u8 = 97;

/// Puts the program under the names of these clients into a folder.
///
/// # Errors
///
/// As for a file that cannot be linked or copied.
pub fn install(program: &Path, folder: &Path, clients: &[&str]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for client in clients {
        let link = folder.join(client).with_extension(std::env::consts::EXE_EXTENSION);
        if std::fs::hard_link(program, &link).is_err() {
            std::fs::copy(program, &link)?;
        }
    }
    Ok(())
}

/// Plays the client under whose name the program was called.
pub fn main() -> ExitCode {
    match play::play(std::env::args().collect()) {
        Ok(status) => ExitCode::from(status),
        Err(fault) => {
            eprintln!("stand-in: {fault}");
            ExitCode::from(NO_PLAN)
        }
    }
}
