//! Detects the parts of an answer that only repeat the prompt.
//!
//! Programs print their prompt and reviewers quote it. A line counts as repeated only at the same place: after the same
//! line as in the prompt. The words alone do not count, because the prompt gives the words for the answer.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::text::lines::{TextLine, line_of, lines};

/// A prompt, prepared for the search.
#[derive(Clone, Debug, Default)]
pub struct PromptEcho {
    asked: BTreeSet<Pair>,
    /// Lines of the worker's text that the prompt quotes.
    own: BTreeSet<Pair>,
    /// Full prompt, if no part of it can be an answer in any context.
    whole: Option<String>,
}

/// A line with the one above it; only letters and digits count.
type Pair = (String, String);

impl PromptEcho {
    /// Creates it from a prompt, and the part of the prompt that quotes the worker's last answer.
    pub fn new(prompt: &str, own: &str) -> Self {
        Self { asked: pairs(prompt), own: pairs(own), whole: None }
    }

    /// Creates it from the prompt of a judge, which contains no answer in any context.
    pub fn for_judge(prompt: &str) -> Self {
        Self { whole: Some(without_quotes(prompt)), ..Self::new(prompt, "") }
    }

    /// Finds the lines of a message that repeat the prompt: each follows the same line there. A line of the quoted
    /// last answer has the status of the line above it, because a worker may end twice with the same text.
    pub fn in_message<'a>(&'a self, message: &'a str) -> Repeated<'a> {
        let mut above = (String::new(), false);
        let repeats = |line: &TextLine<'_>| {
            let bare = strip_quotes(line.text);
            if !bare.is_empty() {
                let pair = (std::mem::take(&mut above.0), bare);
                let is_own = !pair.0.is_empty() && self.own.contains(&pair);
                above.1 = if is_own { above.1 } else { self.asked.contains(&pair) };
                above.0 = pair.1;
            }
            above.1
        };
        let lines = lines(message);
        let repeats = lines.iter().map(repeats).collect();
        Repeated { echo: self, message, lines, repeats }
    }
}

/// A message, with the lines that repeat the prompt.
pub struct Repeated<'a> {
    echo: &'a PromptEcho,
    message: &'a str,
    pub(crate) lines: Vec<TextLine<'a>>,
    /// Whether each line repeats the prompt.
    pub(crate) repeats: Vec<bool>,
}

impl Repeated<'_> {
    /// Returns whether a part of the message repeats the prompt.
    pub fn contains(&self, part: &Range<usize>) -> bool {
        let last = line_of(&self.lines, part.end.max(part.start + 1) - 1);
        let in_place = self.repeats[line_of(&self.lines, part.start)..=last].iter().all(|repeats| *repeats);
        let part = || without_quotes(&self.message[part.clone()]);
        in_place || self.echo.whole.as_ref().is_some_and(|whole| whole.contains(&part()))
    }
}

fn pairs(text: &str) -> BTreeSet<Pair> {
    let mut above = String::new();
    let bare = lines(text).into_iter().map(|line| strip_quotes(line.text)).filter(|line| !line.is_empty());
    bare.map(|line| (std::mem::replace(&mut above, line.clone()), line)).collect()
}

/// Returns the letters and digits of a text, in lower case.
fn strip_quotes(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns a text without whitespace and quotation marks (`>`).
fn without_quotes(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && *c != '>').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "Mend the parser.\n\n### What was done:\nAll is done.\n\n```json\n{\"status\": \"completed\"}\n```\n\n## How to answer\n\nAnswer like this:\n\n{\"status\": \"in_progress\"}\n";
    const OWN: &str = "All is done.\n\n```json\n{\"status\": \"completed\"}\n```";

    #[test]
    fn quotation_differs_from_a_repeated_answer() {
        let quoted: String = PROMPT.lines().map(|line| format!("> {line}\n")).collect();
        let dense: String =
            PROMPT.lines().filter(|line| !line.is_empty()).map(|line| format!("{line}\n")).collect();
        for (message, part, expected) in [
            (PROMPT, r#"{"status": "completed"}"#, true),
            (&quoted, r#"{"status": "completed"}"#, true),
            (&dense, r#"{"status": "completed"}"#, true),
            (PROMPT, r#"{"status": "in_progress"}"#, true),
            ("Answer like this:\n{\"status\": \"in_progress\"}", r#"{"status": "in_progress"}"#, true),
            (OWN, r#"{"status": "completed"}"#, false),
            ("I went on.\n{\"status\": \"completed\"}\nThat is all.", r#"{"status": "completed"}"#, false),
            ("{\"status\": \"in_progress\"}", r#"{"status": "in_progress"}"#, false),
            ("Answer like this:\n{\"status\": \"done\"}", r#"{"status": "done"}"#, false),
        ] {
            let start = message.find(part).expect("it is there");
            let (echo, span) = (PromptEcho::new(PROMPT, OWN), start..start + part.len());
            assert_eq!(echo.in_message(message).contains(&span), expected, "{message}");
        }
        let part = r#"{"status": "in_progress"}"#;
        let judge = PromptEcho::for_judge(PROMPT);
        assert!(
            judge.in_message(part).contains(&(0..part.len())),
            "a judge has no words of its own in there"
        );
    }
}
