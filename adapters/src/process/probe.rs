//! Asks a command of the user what a silent process is up to.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::sync::mpsc::UnboundedSender;
use unstuck_core::workflow::Probe;

/// What a probe says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// It gets on: it is not silent, whatever it looks like.
    Progressing,
    /// It gets nowhere.
    Stalled,
    /// It cannot get anywhere any more.
    Terminal,
    /// Nothing that could be read, for this reason.
    Nothing(String),
}

/// So much of what a probe prints is read: one word counts.
const OUTPUT_MAX: u64 = 4096;

/// Asks, and tells what was said.
pub(super) fn ask(probe: Probe, cwd: PathBuf, tell: UnboundedSender<Says>) {
    tokio::spawn(async move {
        let timeout = Duration::from_millis(probe.timeout.0);
        let late = |_| Says::Nothing(format!("it had not ended after {} ms", probe.timeout.0));
        let says = tokio::time::timeout(timeout, answer(&probe.command, cwd)).await.unwrap_or_else(late);
        // The process may be gone by now.
        let _nobody = tell.send(says);
    });
}

/// A word on its first line, or else its exit code.
async fn answer(command: &str, cwd: PathBuf) -> Says {
    let mut spec = Command::new("sh");
    spec.args(["-c", command]).current_dir(cwd).kill_on_drop(true);
    spec.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = match spec.spawn() {
        Ok(child) => child,
        Err(error) => return Says::Nothing(format!("it could not be started: {error}")),
    };
    let mut output = Vec::new();
    if let Some(out) = child.stdout.take() {
        let _what_came = out.take(OUTPUT_MAX).read_to_end(&mut output).await;
    }
    let code = child.wait().await.ok().and_then(|status| status.code());
    let text = String::from_utf8_lossy(&output);
    let first = text.split_whitespace().next().unwrap_or_default();
    let word = first.trim_matches(|it: char| !it.is_alphanumeric()).to_lowercase();
    match (word.as_str(), code) {
        ("progressing", _) => Says::Progressing,
        ("stalled", _) => Says::Stalled,
        ("terminal", _) => Says::Terminal,
        (_, Some(0)) => Says::Progressing,
        (_, Some(1)) => Says::Stalled,
        (_, Some(2)) => Says::Terminal,
        (_, Some(code)) => Says::Nothing(format!("it exited with {code}")),
        (_, None) => Says::Nothing("it was ended by a signal".to_owned()),
    }
}
