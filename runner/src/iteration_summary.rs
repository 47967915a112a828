//! Summary of the last iteration for the prompt of the next worker: `{uv-previous_summary}`.
//!
//! Text of the worker is not altered; the template decides how to use it.

use serde_json::Value;

use unstuck_core::judge::declared_status;

/// Characters of the last message that are kept.
const MESSAGE_CHARS_MAX: usize = 1000;

/// Errors that are listed.
const ERRORS_MAX: usize = 3;

/// Data of an iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnsweredIteration<'a> {
    /// Its number; the first is 1.
    pub number: u32,
    /// The answer as JSON, if it had one.
    pub answer: Option<&'a Value>,
    /// The last message of the worker.
    pub last_message: &'a str,
    /// The tools that it used, each once.
    pub tools: &'a [String],
    /// The errors that it met.
    pub errors: &'a [String],
    /// Results of the checks.
    pub found: CheckSummary<'a>,
}

/// Results of the checks of an iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckSummary<'a> {
    /// The verdict as text: `incomplete`.
    pub verdict: &'a str,
    /// One line for each validator that failed.
    pub failed: &'a [String],
    /// Declaration and evidence side by side, where they disagree.
    pub contrary: &'a str,
}

/// Writes the summary: blocks with a blank line between them, those without content left out.
pub fn render(iteration: &AnsweredIteration<'_>) -> String {
    let blocks = [
        format!("## Previous Iteration Summary (Iteration {})", iteration.number),
        decision(iteration.answer),
        block("### What was done:\n", &shorten(iteration.last_message)),
        block("### Tools used: ", &iteration.tools.join(", ")),
        block("### Errors encountered:\n", &errors(iteration.errors)),
        block("### What the checks found:\n", &findings(&iteration.found)),
    ];
    blocks.into_iter().filter(|block| !block.is_empty()).collect::<Vec<_>>().join("\n\n")
}

fn block(title: &str, content: &str) -> String {
    if content.is_empty() { String::new() } else { format!("{title}{content}") }
}

fn decision(answer: Option<&Value>) -> String {
    let Some(answer) = answer else { return String::new() };
    let status = text(answer.get("status")).map(|status| format!("**Reported Status**: {status}"));
    let reason = text(answer.get("next_action").and_then(|next| next.get("reason")));
    let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
    let action = text(declared_status::action(answer));
    let action = action.map(|action| format!("**Declared Next Action**: {action}{reason}"));
    let lines: Vec<String> = status.into_iter().chain(action).collect();
    block("### Previous Iteration Decision\n", &lines.join("\n"))
}

fn text(field: Option<&Value>) -> Option<&str> {
    field?.as_str().filter(|text| !text.is_empty())
}

fn shorten(message: &str) -> String {
    match message.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &message[..end]),
        None => message.to_owned(),
    }
}

fn errors(errors: &[String]) -> String {
    let mut lines: Vec<String> = errors.iter().take(ERRORS_MAX).map(|error| format!("- {error}")).collect();
    if errors.len() > ERRORS_MAX {
        lines.push(format!("- … and {} more", errors.len() - ERRORS_MAX));
    }
    lines.join("\n")
}

fn findings(found: &CheckSummary<'_>) -> String {
    let verdict = block("Verdict: ", found.verdict);
    let failed: Vec<String> = found.failed.iter().map(|line| format!("- {line}")).collect();
    let contrary = block("\n", found.contrary);
    let parts = [verdict, failed.join("\n"), contrary];
    let joined = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    joined.trim_start_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn every_block_has_its_place() {
        let answer =
            json!({"status": "completed", "next_action": {"action": "complete", "reason": "all is there"}});
        let tools = strings(&["Bash", "Edit"]);
        let errors = strings(&["e1", "e2", "e3", "e4", "e5"]);
        let failed = strings(&["tests-pass: 3 tests failed"]);
        let found = CheckSummary { verdict: "incomplete", failed: &failed, contrary: "| declared | found |" };
        let summary = render(&AnsweredIteration {
            number: 3,
            answer: Some(&answer),
            last_message: "did `it`",
            tools: &tools,
            errors: &errors,
            found,
        });
        let expected = "\
## Previous Iteration Summary (Iteration 3)

### Previous Iteration Decision
**Reported Status**: completed
**Declared Next Action**: complete (all is there)

### What was done:
did `it`

### Tools used: Bash, Edit

### Errors encountered:
- e1
- e2
- e3
- … and 2 more

### What the checks found:
Verdict: incomplete
- tests-pass: 3 tests failed

| declared | found |";
        assert_eq!(summary, expected);
    }

    #[test]
    fn missing_data_is_left_out() {
        let first_line = "## Previous Iteration Summary (Iteration 7)";
        for answer in [
            json!({}),
            json!({"status": ""}),
            json!({"status": 1, "next_action": {"reason": "x"}}),
            json!([]),
        ] {
            let iteration =
                AnsweredIteration { number: 7, answer: Some(&answer), ..AnsweredIteration::default() };
            assert_eq!(render(&iteration), first_line, "{answer}");
        }
        let text_alone = json!({"next_action": "complete"});
        let iteration =
            AnsweredIteration { number: 7, answer: Some(&text_alone), ..AnsweredIteration::default() };
        let decided = "\n\n### Previous Iteration Decision\n**Declared Next Action**: complete";
        assert_eq!(render(&iteration), format!("{first_line}{decided}"));
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        for (length, dots) in [(999, ""), (1000, ""), (1001, "...")] {
            let message = "💥".repeat(length);
            let kept = "💥".repeat(length.min(1000));
            assert_eq!(shorten(&message), format!("{kept}{dots}"));
        }
    }

    #[derive(Deserialize)]
    struct Summarised {
        id: String,
        input: Input,
        expected: String,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        iteration: u32,
        assistant_responses: Vec<String>,
        tools_used: Vec<String>,
        errors: Vec<String>,
        structured_output: Option<Value>,
    }

    #[test]
    fn an_iteration_is_summed_up() {
        let cases: Vec<Summarised> =
            serde_json::from_str(include_str!("../tests/fixtures/iteration_summary.json"))
                .expect("the table is valid");
        assert!(!cases.is_empty());
        for case in cases {
            let summary = render(&AnsweredIteration {
                number: case.input.iteration,
                answer: case.input.structured_output.as_ref(),
                last_message: case.input.assistant_responses.last().map_or("", String::as_str),
                tools: &case.input.tools_used,
                errors: &case.input.errors,
                ..AnsweredIteration::default()
            });
            assert!(summary == case.expected, "{}: {summary}", case.id);
        }
    }
}
