//! The command `unstuck`.

use std::process::ExitCode;

fn main() -> ExitCode {
    unstuck::run(unstuck::Stores::default())
}
