//! What of an answer only repeats what was asked.
//!
//! Programs print their prompt, and judges quote it. What stands in there is no answer, even where it has the form of
//! one. A worker that gives the same answer twice is no echo, although the second prompt quotes the first answer: what
//! stands around it tells the two apart.

use std::collections::BTreeSet;

/// So many lines around a candidate are looked at.
const AROUND_MAX: usize = 40;

/// A line with fewer characters may stand anywhere.
const TELLING_MIN: usize = 8;

/// What was asked.
#[derive(Clone, Debug, Default)]
pub struct Echo {
    /// All lines, joined.
    whole: String,
    /// The lines that are not the worker's own words.
    lines: BTreeSet<String>,
    own: BTreeSet<String>,
    is_strict: bool,
}

impl Echo {
    /// Takes a prompt, and what in there are the worker's own words of the last time.
    pub fn of(prompt: &str, own: &str) -> Self {
        let own: BTreeSet<String> = lines(own).collect();
        let ours = lines(prompt).filter(|line| !own.contains(line)).collect();
        Self { whole: joined(prompt), lines: ours, own, is_strict: false }
    }

    /// Takes a prompt of which nothing is an answer, whatever stands around it: that of a judge.
    pub fn of_judge(prompt: &str) -> Self {
        Self { is_strict: true, ..Self::of(prompt, "") }
    }

    /// Says whether what stands at `start` of a message is a part of the prompt.
    pub(crate) fn repeats(&self, message: &str, start: usize, part: &str) -> bool {
        let candidate = joined(part);
        if candidate.is_empty() || !self.whole.contains(&candidate) {
            return false;
        }
        let end = start + part.len();
        let before = message[..start].rsplit('\n').take(AROUND_MAX);
        let after = message[end..].split('\n').take(AROUND_MAX);
        self.is_strict || self.is_ours(before) || self.is_ours(after)
    }

    /// Says whether the first line that tells something is one of the prompt.
    fn is_ours<'a>(&self, around: impl Iterator<Item = &'a str>) -> bool {
        let mut telling = around.map(plain).filter(|line| line.chars().count() >= TELLING_MIN);
        telling.find(|line| !self.own.contains(*line)).is_some_and(|line| self.lines.contains(line))
    }
}

/// Returns a line without the marks of a quotation; nothing of one that only opens or closes a block of code.
fn plain(line: &str) -> &str {
    let line = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace()).trim_end();
    if line.starts_with("```") || line.starts_with("~~~") { "" } else { line }
}

fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(plain).filter(|line| !line.is_empty()).map(str::to_owned)
}

fn joined(text: &str) -> String {
    lines(text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: &str = "Mend the parser.\n\n### What was done:\nAll is done.\n\n```json\n{\"status\": \"completed\"}\n```\n\n## How to answer\n\nAnswer like this:\n\n{\"status\": \"in_progress\"}\n";
    const OWN: &str = "All is done.\n\n```json\n{\"status\": \"completed\"}\n```";

    #[test]
    fn a_quotation_is_told_from_the_same_answer_again() {
        let quoted: String = PROMPT.lines().map(|line| format!("> {line}\n")).collect();
        let dense: String = lines(PROMPT).map(|line| line + "\n").collect();
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
            assert_eq!(Echo::of(PROMPT, OWN).repeats(message, start, part), expected, "{message}");
        }
        let part = r#"{"status": "in_progress"}"#;
        assert!(Echo::of_judge(PROMPT).repeats(part, 0, part), "a judge has no words of its own in there");
    }
}
