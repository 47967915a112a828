//! Prompts for input: a program shows one and waits for an answer that it cannot get, or ends without one.
//!
//! Only prompts that programs print are known: keys to press, a password, a list to choose from. A question in prose
//! is not one.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::plain::strip_ansi;

/// Returns whether a line is a prompt for input.
///
/// ```
/// use unstuck_core::interactive_prompt::is_prompt;
/// assert!(is_prompt("Overwrite main.rs? [y/N] "));
/// assert!(!is_prompt("Why does this fail?"));
/// ```
pub fn is_prompt(line: &str) -> bool {
    static PROMPT: LazyLock<Regex> = LazyLock::new(|| {
        let keys = r"[\[(](?:y(?:es)?/n(?:o)?(?:/\S+)?|n/y)[\])]\s*[?:>]?\s*$";
        let secret = r"\b(?:password|passphrase|passcode|pin|one-time code|verification code|username|login)\b.{0,120}:\s*$";
        let press = r"\b(?:press|hit)\s+(?:\[?(?:enter|return)\]?|any key|y|ctrl\S*)\b[^.]{0,60}[.…:]*\s*$";
        let choose = r"\b(?:enter|type|choose|select)\b[^.]{0,60}(?:[:>]|\(\d+[-–]\d+\):?)\s*$";
        let question = r"^\s*[?❯›]\s.*(?:\(use arrow keys\)|›|:)\s*$";
        let pattern = format!("(?i){keys}|{secret}|{press}|{choose}|{question}");
        Regex::new(&pattern).expect("the pattern is a constant and tested")
    });
    PROMPT.is_match(line)
}

/// Returns the last prompt that a program printed before it ended. Its standard input is closed and it has no terminal,
/// so most programs with a prompt exit at once.
///
/// A program that ended well may have asked and continued, so its prompt must be all of its output.
///
/// ```
/// use unstuck_core::interactive_prompt::detect_final;
/// let no_terminal = "sh: 1: cannot open /dev/tty: No such device or address\n";
/// assert_eq!(detect_final("Password: ", no_terminal, false).as_deref(), Some("Password:"));
/// assert_eq!(detect_final("Why does this fail?\n", "", false), None);
/// ```
pub fn detect_final(stdout: &str, stderr: &str, ended_well: bool) -> Option<String> {
    let (stdout, stderr) = (strip_ansi(stdout), strip_ansi(stderr));
    let (stdout, stderr) = (without_complaint(&stdout), without_complaint(&stderr));
    [(stdout, stderr), (stderr, stdout)].into_iter().find_map(|(text, other)| {
        let mut lines = text.split(['\n', '\r']).rev().filter(|line| !line.trim().is_empty());
        let line = lines.next().filter(|line| is_prompt(line))?;
        let is_all = other.trim().is_empty() && lines.next().is_none();
        (!ended_well || is_all).then(|| line.trim().to_owned())
    })
}

/// Returns a text without the final complaint of a program about a missing terminal or input, on a separate line or
/// after the prompt.
fn without_complaint(text: &str) -> &str {
    static COMPLAINT: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"(?i)/dev/tty\b|\bnot a (?:tty|typewriter|terminal)\b|inappropriate ioctl|\beof when reading\b|\bno tty present\b|\bread error\b";
        Regex::new(pattern).expect("the pattern is a constant and tested")
    });
    let mut text = text;
    loop {
        let end = text.trim_end();
        let begin = end.rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let line = &end[begin..];
        if !COMPLAINT.is_match(line) {
            return text;
        }
        let ends = line.match_indices(' ').map(|(at, _)| at + 1);
        let prompt =
            ends.filter(|end| !COMPLAINT.is_match(&line[..*end])).find(|end| is_prompt(&line[..*end]));
        match prompt {
            Some(length) => return &end[..begin + length],
            None => text = &text[..begin],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_could_read_no_answer_has_left_a_question() {
        let no_terminal = "sh: 1: cannot open /dev/tty: No such device or address\n";
        let traceback = "Traceback (most recent call last):\n  File \"a.py\", line 1\nEOFError: EOF when reading a line\n";
        for (stdout, stderr, failed, ended_well) in [
            ("Password: ", "", Some("Password:"), Some("Password:")),
            ("Password: ", no_terminal, Some("Password:"), Some("Password:")),
            ("", "Password: ", Some("Password:"), Some("Password:")),
            ("Password: \n", "", Some("Password:"), Some("Password:")),
            (
                "working\nPassword: bash: line 1: /dev/tty: No such device or address\n",
                "",
                Some("Password:"),
                None,
            ),
            ("overwrite? [y/N] ", "", Some("overwrite? [y/N]"), Some("overwrite? [y/N]")),
            ("working\n\u{1b}[1moverwrite? [y/N] \u{1b}[0m", "aborted\n", Some("overwrite? [y/N]"), None),
            ("Enter your name: ", traceback, Some("Enter your name:"), None),
            ("Shall I go on? ", "", None, None),
            ("I have looked.\nShall I go on?\n", "", None, None),
            ("Is it up? ", "curl: (7) Failed to connect\n", None, None),
            ("Running tests: ", "", None, None),
            ("Password: ok\n", "", None, None),
            ("", no_terminal, None, None),
            ("", "", None, None),
        ] {
            let left = |ended_well| detect_final(stdout, stderr, ended_well);
            assert_eq!(left(false).as_deref(), failed, "{stdout:?} {stderr:?}");
            assert_eq!(left(true).as_deref(), ended_well, "{stdout:?} {stderr:?} at exit 0");
        }
    }

    #[test]
    fn prompt_is_recognized_and_a_question_in_prose_is_not() {
        for (line, want) in [
            ("Overwrite? [y/N]", true),
            ("Do you want to proceed? (yes/no)", true),
            ("Are you sure you want to continue connecting (yes/no/[fingerprint])?", true),
            ("Password: ", true),
            ("[sudo] password for agent: ", true),
            ("Enter passphrase for key '/home/me/.ssh/id_ed25519': ", true),
            ("Username for 'https://example.com': ", true),
            ("Press ENTER to continue", true),
            ("Press any key to continue...", true),
            ("Select an option (1-4):", true),
            ("? Which template › (use arrow keys)", true),
            ("Shall I delete the branch?", false),
            ("the password check fails in line 3", false),
            ("test login: ok", false),
            ("compiling", false),
            ("", false),
        ] {
            assert_eq!(is_prompt(line), want, "{line:?}");
        }
    }
}
