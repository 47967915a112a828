//! What an answer declares of the work: a claim, put beside what the validators found and never used instead.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::evidence::AnswerSeen;

/// What an answer says about the end of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Declaration {
    /// One field says so, and no other says otherwise.
    Complete,
    /// It goes on, or has come to nothing.
    NotComplete,
    /// One field says so and another one the opposite; in words.
    Contradiction(String),
    /// A field has a word that means neither; in words.
    Unknown(String),
    /// Nothing is said.
    None,
}

/// What an answer wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// To go on: progress.
    Next,
    /// The same once more.
    Repeat,
    /// To end the step as done.
    Close,
    /// To go on at another step.
    Jump,
    /// To give up.
    Abort,
    /// To have a person or somebody else take over.
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

/// A field in which an answer declares something of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// `status`.
    Status,
    /// `next_action`, or its `action`.
    Action,
}

/// Returns whether a value of a field means that the work is complete; `None` if it is no word that is known.
pub fn word(field: Field, value: &Value) -> Option<bool> {
    match field {
        Field::Status => read(Some(value), STATUS_WORDS).word(),
        Field::Action => read(Some(value), ACTION_WORDS).word().map(|intent| intent == Intent::Close),
    }
}

/// The flags of `validation`, the validators of the same subject, and how the names of its evidence begin.
const SUBJECTS: &[(&str, &str, &str)] = &[
    ("git_clean", "git-clean", "git"),
    ("type_check_passed", "type-check", "type"),
    ("tests_passed", "tests-pass", "test"),
    ("lint_passed", "lint-check", "lint"),
    ("format_check_passed", "format-check", "format"),
];

/// What one field says.
enum Said<T> {
    Nothing,
    Word(T),
    /// The value as it is shown.
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
    /// Reads what an answer declares.
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

    /// Returns what the next prompt says about it, where it is to be answered.
    pub fn complaint(&self) -> Option<&str> {
        match self {
            Self::Contradiction(what) | Self::Unknown(what) => Some(what),
            Self::Complete | Self::NotComplete | Self::None => None,
        }
    }
}

/// Reads what an answer wants next; `None` if it says nothing, or nothing that is known.
///
/// A jump has to name its target (`next_action.target`, or `details.target`).
pub fn intent(answer: &Value) -> Option<Intent> {
    let intent = read(action(answer), ACTION_WORDS).word()?;
    (intent != Intent::Jump || jump_target(answer).is_some()).then_some(intent)
}

/// Says whether the answer of a worker asks for a repeat of its step.
pub fn wants_repeat(answer: Option<&AnswerSeen>) -> bool {
    answer.and_then(AnswerSeen::parsed).is_some_and(|answer| intent(&answer) == Some(Intent::Repeat))
}

/// Returns where a jump goes to.
fn jump_target(answer: &Value) -> Option<&str> {
    let next = answer.get("next_action")?;
    let target = next.get("target").or_else(|| next.get("details")?.get("target"))?;
    target.as_str().map(str::trim).filter(|target| !target.is_empty())
}

/// Returns the field that says what is next: `next_action.action`, or `next_action` as text.
pub fn action(answer: &Value) -> Option<&Value> {
    match answer.get("next_action")? {
        Value::Object(fields) => fields.get("action"),
        other => Some(other),
    }
}

/// A missing field, null and an empty text say nothing.
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

/// Case and blanks do not matter: ` In Progress ` is `in_progress`.
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

/// Shortens a value that is quoted in a sentence.
fn short(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    let mut out: String = text.chars().take(CHARS_MAX).collect();
    if out.len() < text.len() {
        out.push_str("...");
    }
    out
}

/// What a validator found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding<'a> {
    /// The name of the validator.
    pub validator: &'a str,
    /// It passed.
    pub passed: bool,
    /// What it found, in one sentence: "3 tests failed".
    pub summary: &'a str,
}

/// What an answer claims of the subject of one validator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The validator of the same subject.
    pub validator: &'static str,
    /// The flag of `validation`.
    pub passed: Option<bool>,
    /// The text of `evidence`.
    pub evidence: Option<String>,
}

/// Reads the flags of `validation` and the texts of `evidence`.
pub fn claims(answer: &Value) -> Vec<Claim> {
    let flag = |name| answer.get("validation")?.get(name)?.as_bool();
    let evidence = |beginning: &str| {
        let fields = answer.get("evidence")?.as_object()?;
        let (_, value) = fields.iter().find(|(name, _)| name.to_lowercase().starts_with(beginning))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let claims = SUBJECTS.iter().map(|(name, validator, beginning)| Claim {
        validator,
        passed: flag(name),
        evidence: evidence(beginning),
    });
    claims.filter(|claim| claim.passed.is_some() || claim.evidence.is_some()).collect()
}

/// How the fingerprint of a declaration against the evidence begins.
pub const CONTRARY: &str = "declared:complete-but:";

/// A declaration against the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrary {
    /// `declared:complete-but:<validator>`, for each that says otherwise; empty if only a flag of `validation` is
    /// contradicted.
    pub fingerprints: Vec<String>,
    /// Declaration and evidence side by side, for the next prompt.
    pub text: String,
}

/// Puts what was declared beside what was found. `None` where they agree.
///
/// They disagree where completion was declared and a validator failed, and where a flag of `validation` says
/// that one passed which failed.
pub fn contrary(answer: &Value, findings: &[Finding<'_>]) -> Option<Contrary> {
    let declared = Declaration::of(answer) == Declaration::Complete;
    let claims = claims(answer);
    let claim = |finding: &Finding<'_>| claims.iter().find(|claim| claim.validator == finding.validator);
    let claimed = |finding: &Finding<'_>| claim(finding).is_some_and(|claim| claim.passed == Some(true));
    let against = findings.iter().filter(|finding| !finding.passed && (declared || claimed(finding)));
    let against: Vec<(&Finding<'_>, Option<&Claim>)> =
        against.map(|finding| (finding, claim(finding))).collect();
    if against.is_empty() {
        return None;
    }
    let rows = against.iter().map(|(finding, claim)| row(declared, finding, *claim));
    let fingerprint = |(finding, _): &(&Finding<'_>, _)| format!("{CONTRARY}{}", finding.validator);
    let fingerprints = against.iter().filter(|_| declared).map(fingerprint).collect();
    Some(Contrary { fingerprints, text: table(rows) })
}

/// Puts what was declared beside what a closer finds open. `None` where it was not that the work is complete.
pub fn beside_open(answer: &Value, open: &[String]) -> Option<String> {
    let is_contrary = Declaration::of(answer) == Declaration::Complete && !open.is_empty();
    let row = |it: &String| ["complete".to_owned(), format!("the closer: {it}")];
    is_contrary.then(|| table(open.iter().map(row)))
}

fn table(rows: impl Iterator<Item = [String; 2]>) -> String {
    let cell = |text: &str| text.replace(['\n', '\r'], " ").replace('|', "\\|");
    let rows: String =
        rows.map(|[said, found]| format!("\n| {} | {} |", cell(&said), cell(&found))).collect();
    format!("| declared | found |\n|---|---|{rows}")
}

/// Returns what was declared and what was found.
fn row(declared: bool, finding: &Finding<'_>, claim: Option<&Claim>) -> [String; 2] {
    let mut said = Vec::new();
    if declared {
        said.push("complete".to_owned());
    }
    if let Some(passed) = claim.and_then(|claim| claim.passed) {
        said.push(format!("{}: {}", finding.validator, if passed { "passed" } else { "not passed" }));
    }
    if let Some(evidence) = claim.and_then(|claim| claim.evidence.as_deref()) {
        said.push(format!("\"{}\"", short(evidence)));
    }
    let found = match finding.summary {
        "" | "failed" => format!("{} failed", finding.validator),
        summary => format!("{} failed: {summary}", finding.validator),
    };
    [said.join(", "), found]
}

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
    fn what_is_missing_or_no_text_is_no_declaration() {
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

    #[test]
    fn a_declaration_stands_beside_what_a_closer_finds_open() {
        let open = ["item \"docs\" | README is not done".to_owned()];
        let table = "| declared | found |\n|---|---|\n| complete | the closer: item \"docs\" \\| README is not done |";
        for (status, open, expected) in [
            ("completed", &open[..], Some(table)),
            ("completed", &[], None),
            ("in_progress", &open[..], None),
        ] {
            assert_eq!(beside_open(&json!({"status": status}), open).as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn a_claim_stands_beside_what_was_found() {
        let answer = json!({
            "status": "completed",
            "validation": {"tests_passed": true, "git_clean": false},
            "evidence": {"test_results": "all | green", "git_status": ""},
        });
        let findings = [
            Finding { validator: "git-clean", passed: true, summary: "" },
            Finding { validator: "tests-pass", passed: false, summary: "3 tests failed" },
            Finding { validator: "note", passed: false, summary: "" },
        ];
        let contrary = contrary(&answer, &findings).expect("they disagree");
        assert_eq!(contrary.fingerprints, ["declared:complete-but:tests-pass", "declared:complete-but:note"]);
        assert_eq!(
            contrary.text,
            "| declared | found |\n|---|---|\n\
             | complete, tests-pass: passed, \"all \\| green\" | tests-pass failed: 3 tests failed |\n\
             | complete | note failed |"
        );
    }

    #[test]
    fn who_claims_nothing_is_not_contradicted() {
        let failed = [Finding { validator: "tests-pass", passed: false, summary: "" }];
        assert_eq!(contrary(&json!({"status": "in_progress"}), &failed), None);
        assert_eq!(contrary(&json!({"status": "completed"}), &[]), None);
        let flag_alone =
            contrary(&json!({"validation": {"tests_passed": true}}), &failed).expect("a flag is a claim");
        assert!(flag_alone.fingerprints.is_empty());
    }
}
