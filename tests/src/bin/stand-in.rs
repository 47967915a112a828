//! The clients of the tests; see [`unstuck_tests::stand_in`].

use std::process::ExitCode;

fn main() -> ExitCode {
    unstuck_tests::stand_in::main()
}
