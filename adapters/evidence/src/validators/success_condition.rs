//! Judges by its condition how the command of a validator ended.

use unstuck_core::completion::{SuccessWhen, regex};
use unstuck_core::duration::format_duration;
use unstuck_core::event::Exit;
use unstuck_core::evidence::ValidatorOutcome;
use unstuck_core::id::Millis;
use unstuck_failures::git_status;

/// How a command ended, and within which bounds.
#[derive(Clone, Copy, Debug)]
pub struct CommandEnd<'a> {
    /// Its exit.
    pub exit: &'a Exit,
    /// All that it printed to its standard output.
    pub stdout: &'a [u8],
    /// All that it printed to its standard error.
    pub stderr: &'a [u8],
    /// The grammar of a tool told what failed: a line that only looks like an error does not count.
    pub recognized: bool,
    /// Its time limit.
    pub limit: Millis,
    /// Most bytes that it might print.
    pub output_max: u64,
}

/// Judges how a command ended. `exit_codes` are those that say that it ran properly.
pub fn judge(success_when: &SuccessWhen, exit_codes: &[i32], ended: &CommandEnd<'_>) -> ValidatorOutcome {
    let code = match code_of(ended) {
        Ok(code) => code,
        Err(why) => return ValidatorOutcome::CouldNotRun(why),
    };
    let CommandEnd { stdout, stderr, recognized, .. } = *ended;
    let ran = exit_codes.contains(&code);
    let no_such = matches!(code, 126 | 127);
    let could_not = |why: String| ValidatorOutcome::CouldNotRun(why);
    match success_when {
        SuccessWhen::Empty if !ran => could_not(format!("it exited with {code}{}", last_words(stderr))),
        // `git status -b` prints its header in a clean checkout, too.
        SuccessWhen::Empty => {
            pass_if(unstuck_failures::plain(stdout).trim().is_empty() || git_status::is_only_head(stdout))
        }
        SuccessWhen::ExitCode(codes) if codes.contains(&code) => ValidatorOutcome::Pass,
        // A shell reports a signal as one of these exit codes. They mean a signal only if the output names no failure.
        _ if !ran && !recognized && (129..160).contains(&code) => {
            could_not(format!("it was ended by signal {}", code - 128))
        }
        // The exit code of `timeout`: the command ran out of time.
        _ if !ran && !recognized && code == 124 => {
            could_not("its command ran out of time (exit 124)".to_owned())
        }
        SuccessWhen::ExitCode(_) if no_such => could_not(no_program(code, stderr)),
        SuccessWhen::ExitCode(_) => ValidatorOutcome::Fail,
        _ if !ran && no_such => could_not(no_program(code, stderr)),
        SuccessWhen::Contains(text) => pass_if(ran && contains_word(&unstuck_failures::plain(stdout), text)),
        SuccessWhen::Matches(pattern) => match regex(pattern) {
            Ok(regex) => pass_if(ran && regex.is_match(&unstuck_failures::plain(stdout))),
            Err(error) => could_not(error.to_string()),
        },
    }
}

fn pass_if(holds: bool) -> ValidatorOutcome {
    if holds { ValidatorOutcome::Pass } else { ValidatorOutcome::Fail }
}

/// Returns the exit code of a command that came to its end, or why it did not.
fn code_of(ended: &CommandEnd<'_>) -> Result<i32, String> {
    let CommandEnd { exit, stdout, stderr, recognized, limit, output_max } = *ended;
    let why = match exit {
        // Something behind it has made another code of it: `lint || exit 1`.
        Exit::Code(1..126) if let Some(name) = unstuck_failures::missing_command(stdout, stderr) => {
            format!("there is no such command: {name}")
        }
        Exit::Code(1) if !recognized && is_denied(stderr) => {
            format!("permission was denied{}", last_words(stderr))
        }
        Exit::Code(code) => return Ok(*code),
        Exit::Signal(signal) => format!("it was ended by signal {signal}"),
        Exit::TimedOut => format!("it exceeded its time limit of {}", format_duration(limit)),
        Exit::Idle => "it did nothing for so long that it was ended".to_owned(),
        Exit::Probed(word) => format!("its probe said `{word}`, so it was ended"),
        Exit::Flooded => format!("it printed more than {output_max} bytes, all that a validator may"),
        Exit::Asks(question) => format!("it waited for an answer to `{question}`"),
        Exit::Stopped => "it was stopped".to_owned(),
        Exit::CouldNotStart(why) => why.clone(),
        Exit::Child(_) | Exit::Settled | Exit::Hopeless => "it left no exit code".to_owned(),
    };
    Err(why)
}

fn is_denied(stderr: &[u8]) -> bool {
    let text = unstuck_failures::plain(stderr);
    text.contains("EACCES") || text.to_lowercase().contains("permission denied")
}

fn no_program(code: i32, stderr: &[u8]) -> String {
    let what = if code == 127 { "there is no such command" } else { "the command cannot be executed" };
    format!("{what} (exit {code}){}", last_words(stderr))
}

/// Returns the last line of the output, to follow a reason.
fn last_words(stderr: &[u8]) -> String {
    const CHARS_MAX: usize = 200;
    let text = unstuck_failures::plain(stderr);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map_or_else(String::new, |line| format!(": {}", line.chars().take(CHARS_MAX).collect::<String>()))
}

/// Returns whether `needle` occurs as a whole: a letter or digit at its edge has no other next to it.
fn contains_word(text: &str, needle: &str) -> bool {
    let edge = |inner: Option<char>, outer: Option<char>| {
        !(inner.is_some_and(char::is_alphanumeric) && outer.is_some_and(char::is_alphanumeric))
    };
    let mut start = 0;
    while let Some(found) = text[start..].find(needle) {
        let at = start + found;
        let (before, behind) = (&text[..at], &text[at + needle.len()..]);
        if edge(needle.chars().next(), before.chars().next_back())
            && edge(needle.chars().next_back(), behind.chars().next())
        {
            return true;
        }
        // Matches can overlap, so the search continues after the first character of this one.
        start = at + needle.chars().next().map_or(1, char::len_utf8);
        if start > text.len() {
            break;
        }
    }
    false
}
