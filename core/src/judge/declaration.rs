//! Declarations of an answer about the work: a claim that is compared with the validators and never replaces them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::evidence::AnswerSeen;

/// Declaration of an answer about the end of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Declaration {
    /// One field declares completion, and no other contradicts it.
    Complete,
    /// The work continues, or has failed.
    NotComplete,
    /// Two fields contradict each other; holds a readable description.
    Contradiction(String),
    /// A field has an unknown word; holds a readable description.
    Unknown(String),
    /// Nothing is declared.
    None,
}

/// Next action that an answer requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Continue: progress.
    Next,
    /// Repeat the step.
    Repeat,
    /// End the step as done.
    Close,
    /// Continue at another step.
    Jump,
    /// Give up.
    Abort,
    /// Let a person or another agent take over.
    Handoff,
}

/// Words of `status`, and whether they mean that the work is complete.
const STATUS_WORDS: &[(&str, bool)] = &[
    ("completed", true),
    ("complete", true),
    ("done", true),
    ("finished", true),
    ("in_progress", false),
    ("failed", false),
    ("needs_retry", false),
    ("skipped", false),
    ("blocked", false),
];

/// Words of `next_action`.
const ACTION_WORDS: &[(&str, Intent)] = &[
    ("complete", Intent::Close),
    ("completed", Intent::Close),
    ("closing", Intent::Close),
    ("done", Intent::Close),
    ("finished", Intent::Close),
    ("next", Intent::Next),
    ("continue", Intent::Next),
    ("pass", Intent::Next),
    ("repeat", Intent::Repeat),
    ("retry", Intent::Repeat),
    ("wait", Intent::Repeat),
    ("fail", Intent::Abort),
    ("abort", Intent::Abort),
    ("handoff", Intent::Handoff),
    ("escalate", Intent::Handoff),
    ("jump", Intent::Jump),
];

/// A field in which an answer declares something about the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `status`.
    Status,
    /// `next_action`, or its `action`.
    Action,
}

/// Returns whether a value of a field means that the work is complete; `None` for an unknown word.
pub fn word(field: Field, value: &Value) -> Option<bool> {
    match field {
        Field::Status => read(Some(value), STATUS_WORDS).word(),
        Field::Action => read(Some(value), ACTION_WORDS).word().map(|intent| intent == Intent::Close),
    }
}

/// Content of one field.
enum Said<T> {
    Nothing,
    Word(T),
    /// The value as shown to the worker.
    Unknown(String),
}

impl<T> Said<T> {
    fn word(self) -> Option<T> {
        match self {
            Self::Word(word) => Some(word),
            Self::Nothing | Self::Unknown(_) => None,
        }
    }
}

impl Declaration {
    /// Parses the declaration of an answer.
    pub fn of(answer: &Value) -> Self {
        let status = read(answer.get("status"), STATUS_WORDS);
        let action = read(action(answer), ACTION_WORDS);
        let said_action = match &action {
            Said::Word(intent) => Some(*intent == Intent::Close),
            _ => None,
        };
        match (status, action) {
            (Said::Unknown(value), _) => Self::Unknown(unknown("status", &value, STATUS_WORDS)),
            (_, Said::Unknown(value)) => Self::Unknown(unknown("next_action.action", &value, ACTION_WORDS)),
            (Said::Word(complete), Said::Word(_)) if said_action != Some(complete) => {
                Self::Contradiction(contradiction(answer, complete))
            }
            (Said::Word(complete), _) => Self::said(complete),
            (Said::Nothing, _) => said_action.map_or(Self::None, Self::said),
        }
    }

    fn said(complete: bool) -> Self {
        if complete { Self::Complete } else { Self::NotComplete }
    }

    /// Returns the complaint about the declaration for the next prompt, if any.
    pub fn complaint(&self) -> Option<&str> {
        match self {
            Self::Contradiction(what) | Self::Unknown(what) => Some(what),
            Self::Complete | Self::NotComplete | Self::None => None,
        }
    }
}

/// Parses the next action that an answer requests; `None` if it is missing or unknown.
///
/// A jump must name its target (`next_action.target`, or `details.target`).
pub fn intent(answer: &Value) -> Option<Intent> {
    let intent = read(action(answer), ACTION_WORDS).word()?;
    (intent != Intent::Jump || jump_target(answer).is_some()).then_some(intent)
}

/// Returns whether the answer of a worker requests a repeat of its step.
pub fn wants_repeat(answer: Option<&AnswerSeen>) -> bool {
    answer.and_then(AnswerSeen::parsed).is_some_and(|answer| intent(&answer) == Some(Intent::Repeat))
}

/// Returns the target of a jump.
fn jump_target(answer: &Value) -> Option<&str> {
    let next = answer.get("next_action")?;
    let target = next.get("target").or_else(|| next.get("details")?.get("target"))?;
    target.as_str().map(str::trim).filter(|target| !target.is_empty())
}

/// Returns the field with the next action: `next_action.action`, or `next_action` as text.
pub fn action(answer: &Value) -> Option<&Value> {
    match answer.get("next_action")? {
        Value::Object(fields) => fields.get("action"),
        other => Some(other),
    }
}

/// Parses a word. A missing field, null and an empty text say nothing.
fn read<T: Copy>(field: Option<&Value>, words: &[(&str, T)]) -> Said<T> {
    let word = match field {
        None | Some(Value::Null) => return Said::Nothing,
        Some(Value::String(text)) if text.trim().is_empty() => return Said::Nothing,
        Some(Value::String(text)) => normal(text),
        Some(other) => return Said::Unknown(other.to_string()),
    };
    match words.iter().find(|(known, _)| *known == word) {
        Some((_, meaning)) => Said::Word(*meaning),
        None => Said::Unknown(field.map_or_else(String::new, Value::to_string)),
    }
}

/// Normalizes case and whitespace: ` In Progress ` becomes `in_progress`.
fn normal(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| c.is_whitespace() || c == '-')
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.join("_")
}

fn unknown<T>(field: &str, value: &str, words: &[(&str, T)]) -> String {
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    format!("{field} is {}, which is none of the words that are known: {}", short(value), known.join(", "))
}

fn contradiction(answer: &Value, complete: bool) -> String {
    let shown = |field: Option<&Value>| short(&field.map_or_else(String::new, Value::to_string));
    let (status, action) = (shown(answer.get("status")), shown(action(answer)));
    let meaning = |complete| if complete { "complete" } else { "not complete" };
    format!(
        "status {status} says {}, and next_action {action} says {}: say the same in both",
        meaning(complete),
        meaning(!complete)
    )
}

/// Shortens a value that a sentence quotes.
pub fn short(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    let mut out: String = text.chars().take(CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push_str("...");
    }
    out
}

/// Prefix of the fingerprint of a declaration that a validator contradicts; the name of the validator follows.
pub(crate) const CONTRARY: &str = "declared:complete-but:";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_word_has_one_meaning_in_its_field() {
        for (word, complete) in STATUS_WORDS {
            let expected = Declaration::said(*complete);
            assert_eq!(Declaration::of(&json!({"status": word})), expected, "{word}");
            assert_eq!(Declaration::of(&json!({"status": format!(" {} ", word.to_uppercase())})), expected);
        }
        for (word, intent_of) in ACTION_WORDS {
            let expected = Declaration::said(*intent_of == Intent::Close);
            for answer in
                [json!({"next_action": word}), json!({"next_action": {"action": word, "target": "b"}})]
            {
                assert_eq!(Declaration::of(&answer), expected, "{word}");
            }
        }
    }

    #[test]
    fn both_fields_together_are_a_table() {
        let words = |field: &str| match field {
            "status" => ["completed", "blocked", "maybe", ""],
            _ => ["complete", "continue", "perhaps", ""],
        };
        let kinds = ["complete", "not", "unknown", "none"];
        for (status, first) in words("status").iter().zip(kinds) {
            for (action, second) in words("next_action").iter().zip(kinds) {
                let declared = Declaration::of(&json!({"status": status, "next_action": {"action": action}}));
                let expected = match (first, second) {
                    ("unknown", _) | (_, "unknown") => "unknown",
                    ("complete", "not") | ("not", "complete") => "contradiction",
                    ("complete", _) | (_, "complete") => "complete",
                    ("not", _) | (_, "not") => "not",
                    _ => "none",
                };
                let found = match &declared {
                    Declaration::Complete => "complete",
                    Declaration::NotComplete => "not",
                    Declaration::Contradiction(_) => "contradiction",
                    Declaration::Unknown(_) => "unknown",
                    Declaration::None => "none",
                };
                assert_eq!(found, expected, "{status:?} {action:?}");
                assert_eq!(declared.complaint().is_some(), matches!(found, "unknown" | "contradiction"));
            }
        }
    }

    #[test]
    fn missing_or_non_text_field_declares_nothing() {
        for answer in
            [json!({}), json!(null), json!([]), json!("done"), json!({"status": null, "next_action": {}})]
        {
            assert_eq!(Declaration::of(&answer), Declaration::None, "{answer}");
        }
        let unknown = Declaration::of(&json!({"status": true}));
        assert!(matches!(unknown, Declaration::Unknown(_)), "{unknown:?}");
    }

    #[test]
    fn an_answer_says_what_it_wants_next() {
        let wants = |action| intent(&json!({"next_action": {"action": action}}));
        assert_eq!(wants("repeat"), Some(Intent::Repeat));
        assert_eq!(wants("wait"), Some(Intent::Repeat));
        assert_eq!(wants("continue"), Some(Intent::Next));
        assert_eq!(wants("pass"), Some(Intent::Next));
        assert_eq!(wants("NEXT"), Some(Intent::Next));
        assert_eq!(wants("done"), Some(Intent::Close));
        assert_eq!(wants("completed"), Some(Intent::Close));
        assert_eq!(wants("later"), None);
        assert_eq!(wants("jump"), None);
        assert_eq!(intent(&json!({})), None);
        let jump = json!({"next_action": {"action": "jump", "target": "step.b"}});
        assert_eq!((intent(&jump), jump_target(&jump)), (Some(Intent::Jump), Some("step.b")));
    }
}
