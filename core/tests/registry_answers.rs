//! Declarations and closers keep the meaning that they had for the authors of the registries.

use serde::Deserialize;
use serde_json::Value;
use unstuck_core::judge::declared_status::{self, DeclaredStatus, NextAction};
use unstuck_core::judge::reviewer::ReviewerAnswer;

/// Runs `check` on every case of a table.
fn each<T: for<'a> Deserialize<'a>>(table: &str, check: impl Fn(T)) {
    let cases: Vec<T> = serde_json::from_str(table).expect("the table is valid");
    assert!(!cases.is_empty());
    cases.into_iter().for_each(check);
}

#[derive(Deserialize)]
struct Declared {
    id: String,
    answer: Value,
    declared: bool,
}

#[test]
fn completion_is_declared_if_no_field_contradicts_it() {
    each(include_str!("fixtures/registry/declaration.json"), |case: Declared| {
        let declared = DeclaredStatus::from_answer(&case.answer) == DeclaredStatus::Complete;
        assert_eq!(declared, case.declared, "{}", case.id);
    });
}

#[derive(Deserialize)]
struct Intended {
    id: String,
    answer: Value,
    intent: Option<String>,
}

#[test]
fn an_answer_says_what_it_wants() {
    let name = |intent| match intent {
        NextAction::Next => "next",
        NextAction::Repeat => "repeat",
        NextAction::Close => "closing",
        NextAction::Jump => "jump",
        NextAction::Abort => "abort",
        NextAction::Handoff => "handoff",
    };
    each(include_str!("fixtures/registry/intent.json"), |case: Intended| {
        assert_eq!(declared_status::intent(&case.answer).map(name), case.intent.as_deref(), "{}", case.id);
    });
}

#[derive(Deserialize)]
struct Judged {
    id: String,
    answer: Value,
    complete: bool,
}

#[test]
fn a_closer_is_believed_if_all_of_its_answer_agrees() {
    each(include_str!("fixtures/registry/closer.json"), |case: Judged| {
        let complete = ReviewerAnswer::parse(&case.answer).is_ok_and(|report| report.open(&[]).is_empty());
        assert_eq!(complete, case.complete, "{}", case.id);
    });
}
