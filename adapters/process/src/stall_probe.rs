//! Runs a command of the user that reports whether a silent process makes progress.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::mpsc::UnboundedSender;
use unstuck_core::workflow::StallProbe;

use crate::inherited;

/// Report of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// It makes progress, although it is silent.
    Progressing,
    /// It makes no progress.
    Stalled,
    /// It can never make progress again.
    Terminal,
    /// No readable report, for this reason.
    Nothing(String),
}

/// Maximum bytes of the output of a probe; only the first word counts.
const OUTPUT_MAX: u64 = 4096;

/// Runs a probe and sends its result.
pub(super) fn run_probe(probe: StallProbe, cwd: PathBuf, sender: UnboundedSender<ProbeResult>) {
    tokio::spawn(async move {
        let timeout = Duration::from_millis(probe.timeout.0);
        let late = |_| ProbeResult::Nothing(format!("it had not ended after {} ms", probe.timeout.0));
        let result =
            tokio::time::timeout(timeout, run_command(&probe.command, cwd)).await.unwrap_or_else(late);
        // The process may be gone by now.
        let _nobody = sender.send(result);
    });
}

/// Returns the result by the first word that it prints, or else by its exit code.
async fn run_command(command: &str, cwd: PathBuf) -> ProbeResult {
    let mut spec = Command::new("sh");
    inherited::restrict(spec.as_std_mut());
    spec.args(["-c", command]).current_dir(cwd).kill_on_drop(true);
    spec.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match spec.spawn() {
        Ok(child) => child,
        Err(error) => return ProbeResult::Nothing(format!("it could not be started: {error}")),
    };
    let (printed, errors) = tokio::join!(read_start(child.stdout.take()), read_start(child.stderr.take()));
    match child.wait().await.ok().and_then(|status| status.code()) {
        Some(code) => parse_report(&printed, &errors, code),
        None => ProbeResult::Nothing("it was ended by a signal".to_owned()),
    }
}

/// Returns the start of an output. Reads to the end, so that a long output does not end the probe.
async fn read_start(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut kept = Vec::new();
    let Some(mut from) = from else { return kept };
    let _what_came = (&mut from).take(OUTPUT_MAX).read_to_end(&mut kept).await;
    let _what_is_left = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
    kept
}

/// Parses a report. A probe that fails proves nothing about the worker, which may be healthy. If word and exit code
/// disagree, the milder one counts.
fn parse_report(printed: &[u8], errors: &[u8], code: i32) -> ProbeResult {
    let by_code = match code {
        0 => ProbeResult::Progressing,
        1 => ProbeResult::Stalled,
        2 => ProbeResult::Terminal,
        _ => return ProbeResult::Nothing(format!("it exited with {code}")),
    };
    let text = String::from_utf8_lossy(printed);
    let first = text.split_whitespace().find_map(|word| {
        let word = word.trim_matches(|char: char| !char.is_alphanumeric());
        (!word.is_empty()).then(|| word.to_lowercase())
    });
    match (first.as_deref(), code) {
        (Some("progressing"), _) => ProbeResult::Progressing,
        (Some("stalled"), _) | (Some("terminal"), 1) => ProbeResult::Stalled,
        (Some("terminal"), _) => ProbeResult::Terminal,
        // Interpreters and shells also exit like this if they cannot run the command.
        _ if code != 0 && !errors.trim_ascii().is_empty() => {
            let line = String::from_utf8_lossy(errors.trim_ascii());
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
    fn first_word_or_exit_code_is_the_result_and_a_failed_probe_has_none() {
        use ProbeResult::{Progressing, Stalled, Terminal};
        let nothing = |why: &str| ProbeResult::Nothing(why.to_owned());
        for (printed, errors, code, expected) in [
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
            // A word counts even with text on standard error.
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
            let result = parse_report(printed.as_bytes(), errors.as_bytes(), code);
            assert_eq!(result, expected, "{printed:?} {errors:?} {code}");
        }
    }
}
