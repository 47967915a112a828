//! Command lines that run others.

use std::ffi::OsString;

/// Returns a command line that is run by another one, such as `docker run ...`. If that fails, nothing is run without it.
pub fn wrapped(wrap: Option<&str>, argv: Vec<OsString>) -> Vec<OsString> {
    let Some(wrap) = wrap else { return argv };
    let by_shell = ["sh", "-c", &format!("exec {wrap} \"$@\""), "wrap"].map(OsString::from);
    by_shell.into_iter().chain(argv).collect()
}
