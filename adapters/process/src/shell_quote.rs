//! Wraps a command line in another one.

use std::ffi::OsString;

/// Returns a command line that another one runs, such as `docker run ...`. If the wrapper fails, the command does not
/// run.
pub fn wrap_command(wrap: Option<&str>, argv: Vec<OsString>) -> Vec<OsString> {
    let Some(wrap) = wrap else { return argv };
    let by_shell = ["sh", "-c", &format!("exec {wrap} \"$@\""), "wrap"].map(OsString::from);
    by_shell.into_iter().chain(argv).collect()
}
