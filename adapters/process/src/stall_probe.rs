//! Asks a command of the user what a silent process is up to.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::mpsc::UnboundedSender;
use unstuck_core::workflow::Probe;

use crate::inherited;

/// What a probe says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
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
pub(super) fn ask(probe: Probe, cwd: PathBuf, tell: UnboundedSender<ProbeResult>) {
    tokio::spawn(async move {
        let timeout = Duration::from_millis(probe.timeout.0);
        let late = |_| ProbeResult::Nothing(format!("it had not ended after {} ms", probe.timeout.0));
        let says = tokio::time::timeout(timeout, answer(&probe.command, cwd)).await.unwrap_or_else(late);
        // The process may be gone by now.
        let _nobody = tell.send(says);
    });
}

/// The first word that it prints, or else its exit code.
async fn answer(command: &str, cwd: PathBuf) -> ProbeResult {
    let mut spec = Command::new("sh");
    inherited::restrict(spec.as_std_mut());
    spec.args(["-c", command]).current_dir(cwd).kill_on_drop(true);
    spec.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match spec.spawn() {
        Ok(child) => child,
        Err(error) => return ProbeResult::Nothing(format!("it could not be started: {error}")),
    };
    let (printed, complained) = tokio::join!(beginning(child.stdout.take()), beginning(child.stderr.take()));
    match child.wait().await.ok().and_then(|status| status.code()) {
        Some(code) => read(&printed, &complained, code),
        None => ProbeResult::Nothing("it was ended by a signal".to_owned()),
    }
}

/// Reads to the end, so that whoever prints much is not ended for it, and returns the beginning.
async fn beginning(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut from) = from else { return kept };
    let _what_came = (&mut from).take(OUTPUT_MAX).read_to_end(&mut kept).await;
    let _what_is_left = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    kept
}

/// Reads an answer. A probe that fails says nothing of the worker, which may well be healthy, and where word and exit code
/// disagree the milder of the two is meant.
fn read(printed: &[u8], complained: &[u8], code: i32) -> ProbeResult {
    let by_code = match code {
        0 => ProbeResult::Progressing,
        1 => ProbeResult::Stalled,
        2 => ProbeResult::Terminal,
        _ => return ProbeResult::Nothing(format!("it exited with {code}")),
    };
    let text = String::from_utf8_lossy(printed);
    let first = text.split_whitespace().find_map(|word| {
        let word = word.trim_matches(|it: char| !it.is_alphanumeric());
        (!word.is_empty()).then(|| word.to_lowercase())
    });
    match (first.as_deref(), code) {
        (Some("progressing"), _) => ProbeResult::Progressing,
        (Some("stalled"), _) | (Some("terminal"), 1) => ProbeResult::Stalled,
        (Some("terminal"), _) => ProbeResult::Terminal,
        // Interpreters and shells end so, too, where they cannot run what they are given.
        _ if code != 0 && !complained.trim_ascii().is_empty() => {
            let line = String::from_utf8_lossy(complained.trim_ascii());
            let line: String = line.lines().next().unwrap_or_default().chars().take(200).collect();
            ProbeResult::Nothing(format!("it exited with {code}, and complained: {line}"))
        }
        _ => by_code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_counts_or_else_the_exit_code_and_who_fails_says_nothing() {
        use ProbeResult::{Progressing, Stalled, Terminal};
        let nothing = |why: &str| ProbeResult::Nothing(why.to_owned());
        for (printed, complained, code, expected) in [
            ("Stalled.", "", 0, Stalled),
            ("TERMINAL: it waits for a lock", "", 0, Terminal),
            ("\n\n  \n**stalled**\n", "", 0, Stalled),
            ("- progressing", "", 0, Progressing),
            ("\r\n=> Terminal!\r\n", "", 0, Terminal),
            ("", "", 0, Progressing),
            ("", "", 1, Stalled),
            ("", "", 2, Terminal),
            ("all quiet", "", 1, Stalled),
            // They disagree.
            ("progressing", "", 1, Progressing),
            ("progressing", "", 2, Progressing),
            ("stalled", "", 2, Stalled),
            ("terminal", "", 1, Stalled),
            // A word counts whatever is complained of beside it.
            ("stalled", "a warning", 1, Stalled),
            ("", "a warning", 0, Progressing),
            // It cannot run.
            (
                "",
                "sh: 1: Syntax error: \")\" unexpected\n",
                2,
                nothing("it exited with 2, and complained: sh: 1: Syntax error: \")\" unexpected"),
            ),
            ("", "\nTraceback\n  File\n", 1, nothing("it exited with 1, and complained: Traceback")),
            ("", "", 3, nothing("it exited with 3")),
            ("stalled", "", 126, nothing("it exited with 126")),
            ("", "sh: 1: nope: not found", 127, nothing("it exited with 127")),
        ] {
            let says = read(printed.as_bytes(), complained.as_bytes(), code);
            assert_eq!(says, expected, "{printed:?} {complained:?} {code}");
        }
    }
}
