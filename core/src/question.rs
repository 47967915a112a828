//! Whether a program waits for an answer that nobody can give.

use std::sync::LazyLock;

use regex::Regex;

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

#[cfg(test)]
mod tests {
    use super::Asking::{No, Perhaps, Surely};
    use super::*;

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
