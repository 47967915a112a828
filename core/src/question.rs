//! Whether a program waits for an answer that nobody can give, or has left since nobody gave one.

use std::sync::LazyLock;

use regex::Regex;

use crate::verdict::text::strip_ansi;

/// How sure it is that the last line of a silent program asks something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asking {
    /// No sign of it.
    No,
    /// It ends as a question does. People who think aloud ask such questions, too.
    Perhaps,
    /// It names the keys to press, or wants a password.
    Surely,
}

/// Looks at the last line that a program has printed before it fell silent.
///
/// ```
/// use unstuck_core::question::{Asking, asking};
/// assert_eq!(asking("Overwrite main.rs? [y/N] "), Asking::Surely);
/// assert_eq!(asking("Why does this fail?"), Asking::Perhaps);
/// assert_eq!(asking("12 tests passed"), Asking::No);
/// ```
pub fn asking(last_line: &str) -> Asking {
    static PROMPT: LazyLock<Regex> = LazyLock::new(|| {
        let keys = r"[\[(](?:y(?:es)?/n(?:o)?(?:/\S+)?|n/y)[\])]\s*[?:>]?\s*$";
        let secret = r"\b(?:password|passphrase|passcode|pin|one-time code|verification code|username|login)\b.{0,120}:\s*$";
        let press = r"\b(?:press|hit)\s+(?:\[?(?:enter|return)\]?|any key|y|ctrl\S*)\b[^.]{0,60}[.…:]*\s*$";
        let choose = r"\b(?:enter|type|choose|select)\b[^.]{0,60}(?:[:>]|\(\d+[-–]\d+\):?)\s*$";
        let question = r"^\s*[?❯›]\s.*(?:\(use arrow keys\)|›|:)\s*$";
        let pattern = format!("(?i){keys}|{secret}|{press}|{choose}|{question}");
        Regex::new(&pattern).expect("the pattern is a constant and tested")
    });
    if PROMPT.is_match(last_line) {
        Asking::Surely
    } else if last_line.trim_end().ends_with('?') {
        Asking::Perhaps
    } else {
        Asking::No
    }
}

/// Returns what a program asked last that has ended by itself: its standard input is closed and it has no terminal, so
/// most that ask cannot read an answer and leave at once.
///
/// One that ended well may have asked and gone on: it asks where its question is all that it said. A question that is no
/// prompt counts as one where its line is still open, as it is for an answer that is to be typed behind it.
///
/// ```
/// use unstuck_core::question::left_asking;
/// let no_terminal = "sh: 1: cannot open /dev/tty: No such device or address\n";
/// assert_eq!(left_asking("Password: ", no_terminal, false).as_deref(), Some("Password:"));
/// assert_eq!(left_asking("Why does this fail?\n", "", false), None);
/// ```
pub fn left_asking(stdout: &str, stderr: &str, ended_well: bool) -> Option<String> {
    let (stdout, stderr) = (strip_ansi(stdout), strip_ansi(stderr));
    let (stdout, stderr) = (without_complaint(&stdout), without_complaint(&stderr));
    [(stdout, stderr), (stderr, stdout)].into_iter().find_map(|(text, other)| {
        let mut lines = text.split(['\n', '\r']).rev().filter(|line| !line.trim().is_empty());
        let line = lines.next()?;
        let is_open = !text.ends_with(['\n', '\r']);
        let mut is_all = || other.trim().is_empty() && lines.next().is_none();
        let asks = match asking(line) {
            Asking::No => false,
            Asking::Perhaps if ended_well => is_all(),
            Asking::Perhaps => is_open && other.trim().is_empty(),
            Asking::Surely => !ended_well || is_all(),
        };
        asks.then(|| line.trim().to_owned())
    })
}

/// Returns a text without what a program complains of at its end that found no terminal or nothing to read, be it on lines
/// of its own or behind the prompt.
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
        let prompt = ends
            .filter(|end| !COMPLAINT.is_match(&line[..*end]))
            .find(|end| asking(&line[..*end]) == Asking::Surely || line[..*end].ends_with("? "));
        match prompt {
            Some(length) => return &end[..begin + length],
            None => text = &text[..begin],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Asking::{No, Perhaps, Surely};
    use super::*;

    #[test]
    fn a_program_that_could_read_no_answer_has_left_asking() {
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
            ("Shall I go on? ", "", Some("Shall I go on?"), Some("Shall I go on?")),
            ("Shall I go on? ", no_terminal, Some("Shall I go on?"), Some("Shall I go on?")),
            ("Shall I go on?\n", "", None, Some("Shall I go on?")),
            ("I have looked.\nShall I go on?\n", "", None, None),
            ("Is it up? ", "curl: (7) Failed to connect\n", None, None),
            (
                "",
                "NameError: no `x`. Did you mean: 'y'?\n",
                None,
                Some("NameError: no `x`. Did you mean: 'y'?"),
            ),
            ("Running tests: ", "", None, None),
            ("Password: ok\n", "", None, None),
            ("", no_terminal, None, None),
            ("", "", None, None),
        ] {
            let left = |ended_well| left_asking(stdout, stderr, ended_well);
            assert_eq!(left(false).as_deref(), failed, "{stdout:?} {stderr:?}");
            assert_eq!(left(true).as_deref(), ended_well, "{stdout:?} {stderr:?} at exit 0");
        }
    }

    #[test]
    fn prompts_questions_and_other_last_lines_are_told_apart() {
        for (line, want) in [
            ("Overwrite? [y/N]", Surely),
            ("Do you want to proceed? (yes/no)", Surely),
            ("Are you sure you want to continue connecting (yes/no/[fingerprint])?", Surely),
            ("Password: ", Surely),
            ("[sudo] password for agent: ", Surely),
            ("Enter passphrase for key '/home/me/.ssh/id_ed25519': ", Surely),
            ("Username for 'https://example.com': ", Surely),
            ("Press ENTER to continue", Surely),
            ("Press any key to continue...", Surely),
            ("Select an option (1-4):", Surely),
            ("? Which template › (use arrow keys)", Surely),
            ("Shall I delete the branch?", Perhaps),
            ("the password check fails in line 3", No),
            ("test login: ok", No),
            ("compiling", No),
            ("", No),
        ] {
            assert_eq!(asking(line), want, "{line:?}");
        }
    }
}
