//! Judges the answer of a closer: its checklist must be complete and done before a declaration counts.
//!
//! `allComplete` alone decides nothing. No checklist outweighs a failing validator, which is checked elsewhere.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::evidence::{ParsedAnswer, format_violations};

/// Answer of a closer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewerAnswer {
    /// Items that it examined.
    pub checklist: Vec<ChecklistItem>,
    /// Its decision on all of them together.
    pub all_complete: bool,
    /// Summary as text.
    pub summary: String,
    /// Remaining work.
    pub pending: Vec<String>,
    /// Harmless problems with the answer.
    pub complaints: Vec<String>,
}

/// One item of a checklist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChecklistItem {
    /// Its name.
    pub id: String,
    /// Statement to verify.
    pub description: String,
    /// Whether the statement holds.
    pub completed: bool,
    /// Evidence for it.
    pub evidence: Option<String>,
}

/// A reason why an answer does not say that the work is complete.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum RejectReason {
    /// The checklist is empty.
    #[error("the checklist is empty")]
    NoItems,
    /// This item is not completed.
    #[error("the item \"{0}\" is not completed")]
    Item(String),
    /// A required item is missing.
    #[error("the required item \"{0}\" is not in the checklist")]
    Missing(String),
    /// Two items have this id.
    #[error("the id \"{0}\" is in the checklist more than once")]
    Twice(String),
    /// Work remains.
    #[error("there are pending actions")]
    Pending,
    /// The closer reports that the work is not complete.
    #[error("allComplete is false")]
    NotAll,
}

impl RejectReason {
    /// Returns the identity of the reason.
    pub fn fingerprint(&self) -> String {
        match self {
            Self::NoItems => "closer:no-items".to_owned(),
            Self::Item(id) => format!("closer:item:{id}"),
            Self::Missing(id) => format!("closer:missing:{id}"),
            Self::Twice(id) => format!("closer:twice:{id}"),
            Self::Pending => "closer:pending-actions".to_owned(),
            Self::NotAll => "closer:not-all-complete".to_owned(),
        }
    }
}

impl ReviewerAnswer {
    /// Parses the report in an answer.
    ///
    /// # Errors
    ///
    /// The problems with its form, a sentence each. Such an answer decides nothing: the closer runs again.
    pub fn from_answer(answer: Option<&ParsedAnswer>) -> Result<Self, Vec<String>> {
        const WHO: &str = "the closer's answer";
        match answer.and_then(ParsedAnswer::to_value).as_ref().map(Self::parse) {
            Some(Ok(report)) => Ok(report),
            Some(Err(wrong)) => Err(wrong.iter().map(|problem| format!("{WHO}: {problem}")).collect()),
            None => Err(format_violations(answer, WHO)),
        }
    }

    /// Parses an answer.
    ///
    /// # Errors
    ///
    /// The problems with its form.
    pub fn parse(answer: &Value) -> Result<Self, Vec<String>> {
        let mut wrong = Vec::new();
        let mut complaints = Vec::new();
        let checklist = match answer.get("checklist").and_then(Value::as_array) {
            Some(items) => (0..)
                .zip(items)
                .filter_map(|(at, item)| read_item(at, item, &mut wrong, &mut complaints))
                .collect(),
            None => {
                wrong.push("checklist: expected a list".to_owned());
                Vec::new()
            }
        };
        let all_complete = answer.get("allComplete").and_then(Value::as_bool);
        if all_complete.is_none() {
            wrong.push("allComplete: expected true or false".to_owned());
        }
        let summary = answer.get("summary").and_then(Value::as_str);
        if summary.is_none() {
            wrong.push("summary: expected a text".to_owned());
        }
        let pending = read_pending(answer.get("pendingActions"), &mut complaints);
        match (all_complete, summary) {
            (Some(all_complete), Some(summary)) if wrong.is_empty() => {
                Ok(Self { checklist, all_complete, summary: summary.to_owned(), pending, complaints })
            }
            _ => Err(wrong),
        }
    }

    /// Returns why the work is not complete; empty if the closer says that it is.
    pub fn open(&self, required: &[String]) -> Vec<RejectReason> {
        let mut open = Vec::new();
        if self.checklist.is_empty() {
            open.push(RejectReason::NoItems);
        }
        let unfinished = self.checklist.iter().filter(|item| !item.completed);
        open.extend(unfinished.map(|item| RejectReason::Item(item.id.clone())));
        open.extend(self.missing(required).map(|id| RejectReason::Missing(id.clone())));
        open.extend(self.twice().into_iter().map(|id| RejectReason::Twice(id.to_owned())));
        if !self.pending.is_empty() {
            open.push(RejectReason::Pending);
        }
        if !self.all_complete {
            open.push(RejectReason::NotAll);
        }
        open
    }

    fn missing<'a>(&'a self, required: &'a [String]) -> impl Iterator<Item = &'a String> {
        let ids: BTreeSet<&str> = self.checklist.iter().map(|item| item.id.as_str()).collect();
        required.iter().filter(move |id| !ids.contains(id.as_str()))
    }

    fn twice(&self) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        self.checklist.iter().map(|item| item.id.as_str()).filter(|id| !seen.insert(*id)).collect()
    }
}

fn read_item(
    at: usize,
    item: &Value,
    wrong: &mut Vec<String>,
    complaints: &mut Vec<String>,
) -> Option<ChecklistItem> {
    let text = |name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    let (id, description) = (text("id"), text("description"));
    let completed = item.get("completed").and_then(Value::as_bool);
    if !matches!(item.get("evidence"), None | Some(Value::Null | Value::String(_))) {
        complaints.push(format!("checklist[{at}].evidence is no text and is ignored"));
    }
    match (id, description, completed) {
        (Some(id), Some(description), Some(completed)) => {
            Some(ChecklistItem { id, description, completed, evidence: text("evidence") })
        }
        (id, description, _) => {
            let field = match (id, description) {
                (None, _) => "an id (a text)",
                (_, None) => "a description (a text)",
                _ => "completed (true or false)",
            };
            wrong.push(format!("checklist[{at}]: expected an item with {field}"));
            None
        }
    }
}

/// Parses the pending actions. A value that is not a list is ignored with a complaint.
fn read_pending(field: Option<&Value>, complaints: &mut Vec<String>) -> Vec<String> {
    match field {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(actions)) => actions
            .iter()
            .map(|action| action.as_str().map_or_else(|| action.to_string(), str::to_owned))
            .collect(),
        Some(_) => {
            complaints.push("pendingActions is no list and is ignored".to_owned());
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(id: &str, completed: bool) -> Value {
        json!({"id": id, "description": format!("about {id}"), "completed": completed})
    }

    #[track_caller]
    fn check(answer: &Value, expected: Result<&[&str], &[&str]>) {
        let required = ["tests".to_owned()];
        let judged = ReviewerAnswer::parse(answer)
            .map(|report| report.open(&required).iter().map(RejectReason::fingerprint).collect::<Vec<_>>());
        let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(judged, expected.map(owned).map_err(owned), "{answer}");
    }

    #[test]
    fn every_part_of_the_rule_can_fail_alone() {
        let with = |checklist: Value, more: Value| {
            let mut answer = json!({"checklist": checklist, "allComplete": true, "summary": "s"});
            answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            answer
        };
        let fine = json!([item("tests", true), item("docs", true)]);
        check(&with(fine.clone(), json!({})), Ok(&[]));
        check(&with(fine.clone(), json!({"pendingActions": []})), Ok(&[]));
        check(&with(fine.clone(), json!({"pendingActions": "x"})), Ok(&[]));
        check(&with(fine.clone(), json!({"pendingActions": ["x"]})), Ok(&["closer:pending-actions"]));
        check(&with(fine.clone(), json!({"allComplete": false})), Ok(&["closer:not-all-complete"]));
        check(&with(json!([]), json!({})), Ok(&["closer:no-items", "closer:missing:tests"]));
        check(&with(json!([item("docs", true)]), json!({})), Ok(&["closer:missing:tests"]));
        check(&with(json!([item("tests", false)]), json!({})), Ok(&["closer:item:tests"]));
        check(
            &with(json!([item("tests", true), item("tests", true)]), json!({})),
            Ok(&["closer:twice:tests"]),
        );
        check(&with(json!([null]), json!({})), Err(&["checklist[0]: expected an item with an id (a text)"]));
        check(&with(json!({}), json!({})), Err(&["checklist: expected a list"]));
        check(
            &with(fine.clone(), json!({"allComplete": "true"})),
            Err(&["allComplete: expected true or false"]),
        );
        check(&with(fine, json!({"summary": null})), Err(&["summary: expected a text"]));
        check(
            &json!("done"),
            Err(&[
                "checklist: expected a list",
                "allComplete: expected true or false",
                "summary: expected a text",
            ]),
        );
    }

    #[test]
    fn harmless_problems_become_complaints() {
        let mut first = item("a", true);
        first["evidence"] = json!(7);
        let answer = json!({"checklist": [first], "allComplete": true, "summary": "", "pendingActions": {}});
        let report = ReviewerAnswer::parse(&answer).unwrap();
        assert_eq!(
            report.complaints,
            ["checklist[0].evidence is no text and is ignored", "pendingActions is no list and is ignored"]
        );
    }
}
