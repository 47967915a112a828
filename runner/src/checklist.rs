//! The prompt about a closer's checklist that is not complete.

use unstuck_core::judge::reviewer::{RejectReason, ReviewerAnswer};

/// Returns the prompt about a checklist that is not complete.
pub(crate) fn retry_text(report: &ReviewerAnswer, required: &[String]) -> String {
    let items = report.checklist.iter().filter(|item| !item.completed).map(|item| {
        let evidence = item.evidence.as_deref().filter(|evidence| !evidence.is_empty());
        format!(
            "- {}{}",
            item.description,
            evidence.map_or_else(String::new, |evidence| format!("\n  Evidence: {evidence}"))
        )
    });
    let actions = report.pending.iter().map(|action| format!("- {action}"));
    let open = report.open(required);
    let listed = |item: &RejectReason| matches!(item, RejectReason::Item(_) | RejectReason::Pending);
    // That not all is complete is news only where nothing else says so.
    let problems =
        open.iter().filter(|item| !listed(item) && (**item != RejectReason::NotAll || open.len() == 1));
    let blocks = [
        block("Incomplete items:\n", items),
        block("Required actions:\n", actions),
        block("Problems of the checklist:\n", problems.map(|problem| format!("- {problem}"))),
        block("Summary: ", std::iter::once(report.summary.clone())),
    ];
    let blocks = blocks.into_iter().filter(|block| !block.is_empty());
    std::iter::once("Completion validation failed:".to_owned()).chain(blocks).collect::<Vec<_>>().join("\n\n")
}

fn block(title: &str, lines: impl Iterator<Item = String>) -> String {
    let text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() { text } else { format!("{title}{text}") }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    fn item(id: &str, completed: bool) -> Value {
        json!({"id": id, "description": format!("about {id}"), "completed": completed})
    }

    #[test]
    fn open_items_are_in_the_prompt() {
        let mut open = item("tests", false);
        open["evidence"] = json!("2 failed");
        let answer = json!({
            "checklist": [open, item("docs", true)],
            "allComplete": false, "summary": "not yet", "pendingActions": ["run them"],
        });
        let report = ReviewerAnswer::parse(&answer).unwrap();
        let expected = "Completion validation failed:\n\nIncomplete items:\n- about tests\n  Evidence: 2 failed\n\n\
            Required actions:\n- run them\n\nProblems of the checklist:\n\
            - the required item \"note\" is not in the checklist\n\nSummary: not yet";
        assert_eq!(retry_text(&report, &["note".to_owned()]), expected);
    }

    #[test]
    fn open_checklist_without_open_items_is_in_the_prompt() {
        let told = |checklist: Value| {
            let answer = json!({"checklist": checklist, "allComplete": false, "summary": "s"});
            retry_text(&ReviewerAnswer::parse(&answer).unwrap(), &[])
        };
        let whole = "Completion validation failed:\n\nProblems of the checklist:\n";
        assert_eq!(told(json!([item("a", true)])), format!("{whole}- allComplete is false\n\nSummary: s"));
        assert_eq!(told(json!([])), format!("{whole}- the checklist is empty\n\nSummary: s"));
    }

    #[derive(Deserialize)]
    struct Told {
        id: String,
        answer: Value,
        text: String,
    }

    #[test]
    fn the_prompt_of_each_recorded_checklist_is_the_same() {
        let cases: Vec<Told> = serde_json::from_str(include_str!("../tests/fixtures/closer_text.json"))
            .expect("the table is valid");
        assert!(!cases.is_empty());
        for case in cases {
            let report = ReviewerAnswer::parse(&case.answer).expect("the shape is right");
            assert_eq!(retry_text(&report, &[]), case.text, "{}", case.id);
        }
    }
}
