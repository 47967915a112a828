//! Declarations of an answer about the work: a claim that is compared with the validators and never replaces them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::evidence::ParsedAnswer;

/// Declaration of an answer about the end of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclaredStatus {
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
pub enum NextAction {
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
const ACTION_WORDS: &[(&str, NextAction)] = &[
    ("complete", NextAction::Close),
    ("completed", NextAction::Close),
    ("closing", NextAction::Close),
    ("done", NextAction::Close),
    ("finished", NextAction::Close),
    ("next", NextAction::Next),
    ("continue", NextAction::Next),
    ("pass", NextAction::Next),
    ("repeat", NextAction::Repeat),
    ("retry", NextAction::Repeat),
    ("wait", NextAction::Repeat),
    ("fail", NextAction::Abort),
    ("abort", NextAction::Abort),
    ("handoff", NextAction::Handoff),
    ("escalate", NextAction::Handoff),
    ("jump", NextAction::Jump),
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
        Field::Action => read(Some(value), ACTION_WORDS).word().map(|intent| intent == NextAction::Close),
    }
}

/// Content of one field.
enum FieldValue<T> {
    Nothing,
    Word(T),
    /// The value as shown to the worker.
    Unknown(String),
}

impl<T> FieldValue<T> {
    fn word(self) -> Option<T> {
        match self {
            Self::Word(word) => Some(word),
            Self::Nothing | Self::Unknown(_) => None,
        }
    }
}

impl DeclaredStatus {
    /// Parses the declaration of an answer.
    pub fn from_answer(answer: &Value) -> Self {
        let status = read(answer.get("status"), STATUS_WORDS);
        let action = read(action(answer), ACTION_WORDS);
        let said_action = match &action {
            FieldValue::Word(intent) => Some(*intent == NextAction::Close),
            _ => None,
        };
        match (status, action) {
            (FieldValue::Unknown(value), _) => Self::Unknown(unknown("status", &value, STATUS_WORDS)),
            (_, FieldValue::Unknown(value)) => {
                Self::Unknown(unknown("next_action.action", &value, ACTION_WORDS))
            }
            (FieldValue::Word(complete), FieldValue::Word(_)) if said_action != Some(complete) => {
                Self::Contradiction(contradiction(answer, complete))
            }
            (FieldValue::Word(complete), _) => Self::from_complete(complete),
            (FieldValue::Nothing, _) => said_action.map_or(Self::None, Self::from_complete),
        }
    }

    fn from_complete(complete: bool) -> Self {
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
pub fn intent(answer: &Value) -> Option<NextAction> {
    let intent = read(action(answer), ACTION_WORDS).word()?;
    (intent != NextAction::Jump || jump_target(answer).is_some()).then_some(intent)
}

/// Returns whether the answer of a worker requests a repeat of its step.
pub fn wants_repeat(answer: Option<&ParsedAnswer>) -> bool {
    answer.and_then(ParsedAnswer::to_value).is_some_and(|answer| intent(&answer) == Some(NextAction::Repeat))
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
fn read<T: Copy>(field: Option<&Value>, words: &[(&str, T)]) -> FieldValue<T> {
    let word = match field {
        None | Some(Value::Null) => return FieldValue::Nothing,
        Some(Value::String(text)) if text.trim().is_empty() => return FieldValue::Nothing,
        Some(Value::String(text)) => normal(text),
        Some(other) => return FieldValue::Unknown(other.to_string()),
    };
    match words.iter().find(|(known, _)| *known == word) {
        Some((_, meaning)) => FieldValue::Word(*meaning),
        None => FieldValue::Unknown(field.map_or_else(String::new, Value::to_string)),
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
            let expected = DeclaredStatus::from_complete(*complete);
            assert_eq!(DeclaredStatus::from_answer(&json!({"status": word})), expected, "{word}");
            assert_eq!(
                DeclaredStatus::from_answer(&json!({"status": format!(" {} ", word.to_uppercase())})),
                expected
            );
        }
        for (word, intent_of) in ACTION_WORDS {
            let expected = DeclaredStatus::from_complete(*intent_of == NextAction::Close);
            for answer in
                [json!({"next_action": word}), json!({"next_action": {"action": word, "target": "b"}})]
            {
                assert_eq!(DeclaredStatus::from_answer(&answer), expected, "{word}");
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
                let declared = DeclaredStatus::from_answer(
                    &json!({"status": status, "next_action": {"action": action}}),
                );
                let expected = match (first, second) {
                    ("unknown", _) | (_, "unknown") => "unknown",
                    ("complete", "not") | ("not", "complete") => "contradiction",
                    ("complete", _) | (_, "complete") => "complete",
                    ("not", _) | (_, "not") => "not",
                    _ => "none",
                };
                let found = match &declared {
                    DeclaredStatus::Complete => "complete",
                    DeclaredStatus::NotComplete => "not",
                    DeclaredStatus::Contradiction(_) => "contradiction",
                    DeclaredStatus::Unknown(_) => "unknown",
                    DeclaredStatus::None => "none",
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
            assert_eq!(DeclaredStatus::from_answer(&answer), DeclaredStatus::None, "{answer}");
        }
        let unknown = DeclaredStatus::from_answer(&json!({"status": true}));
        assert!(matches!(unknown, DeclaredStatus::Unknown(_)), "{unknown:?}");
    }

    #[test]
    fn an_answer_says_what_it_wants_next() {
        let wants = |action| intent(&json!({"next_action": {"action": action}}));
        assert_eq!(wants("repeat"), Some(NextAction::Repeat));
        assert_eq!(wants("wait"), Some(NextAction::Repeat));
        assert_eq!(wants("continue"), Some(NextAction::Next));
        assert_eq!(wants("pass"), Some(NextAction::Next));
        assert_eq!(wants("NEXT"), Some(NextAction::Next));
        assert_eq!(wants("done"), Some(NextAction::Close));
        assert_eq!(wants("completed"), Some(NextAction::Close));
        assert_eq!(wants("later"), None);
        assert_eq!(wants("jump"), None);
        assert_eq!(intent(&json!({})), None);
        let jump = json!({"next_action": {"action": "jump", "target": "step.b"}});
        assert_eq!((intent(&jump), jump_target(&jump)), (Some(NextAction::Jump), Some("step.b")));
    }
}
