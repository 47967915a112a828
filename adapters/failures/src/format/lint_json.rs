//! JSON reports of linters.
//!
//! They use different names for the same five fields, so one walk reads all of them. An object with a message and a
//! position is a diagnostic; an outer object may name the file.

use serde_json::Value;

use super::{FailureCollector, FormatInput, RawFailure};

/// A diagnostic and its severity.
struct Problem {
    draft: RawFailure,
    is_error: bool,
}

/// Reads every document; warnings count only if there are no errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut problems = Vec::new();
    for document in input.documents() {
        walk(&document, "", &mut problems);
    }
    let errors = problems.iter().any(|problem| problem.is_error);
    problems
        .into_iter()
        .filter(|problem| problem.is_error || !errors)
        .for_each(|problem| collector.push(problem.draft));
}

fn walk(value: &Value, file: &str, problems: &mut Vec<Problem>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, file, problems)),
        Value::Object(fields) => {
            let place = &value["locations"][0];
            let inner = ["filePath", "filename", "fileName", "file", "path", "source", "uri"]
                .iter()
                .find_map(|name| fields.get(*name)?.as_str());
            let inner = inner
                .or_else(|| value["Pos"]["Filename"].as_str())
                .or_else(|| value["location"]["path"].as_str())
                .or_else(|| Some(posn(value)?.0))
                .or_else(|| place["caret"]["file"].as_str())
                .or_else(|| place["symbolic"]["key"]["Local"]["verbatim_path"].as_str())
                .filter(|text| !text.contains('\n'));
            let file = inner.unwrap_or(file);
            if let Some(problem) = problem(value, file) {
                problems.push(problem);
                return;
            }
            for (_, item) in fields.iter().filter(|(name, _)| {
                !matches!(name.as_str(), "suppressedMessages" | "fix" | "suggestions" | "relatedInformation")
            }) {
                walk(item, file, problems);
            }
        }
        _ => {}
    }
}

/// Returns file and line of `"posn": "a.go:3:5"`, in the form of go vet.
fn posn(value: &Value) -> Option<(&str, u64)> {
    let mut parts = value["posn"].as_str()?.rsplitn(3, ':').skip(1);
    let line = parts.next()?.parse().ok()?;
    Some((parts.next()?, line))
}

fn problem(value: &Value, file: &str) -> Option<Problem> {
    let messages =
        ["message", "text", "Text", "description", "issue_text", "ruleDescription", "desc", "typo"];
    let mut told = messages.iter().filter_map(|name| value[*name].as_str());
    let message = told.clone().find(|text| !text.is_empty()).or_else(|| told.next())?;
    let place = &value["locations"][0];
    let positions = [
        &value["line"],
        &value["location"]["row"],
        &value["location"]["line"],
        &value["Pos"]["Line"],
        &value["row"],
        &value["startLine"],
        &value["location"]["positions"]["begin"]["line"],
        &value["location"]["lines"]["begin"],
        &value["location"]["range"]["start"]["line"],
        &value["labels"][0]["span"]["line"],
        &value["location"]["start"]["line"],
        &value["start_line"],
        &value["line_number"],
        &value["lineNumber"],
        &value["line_num"],
        &place["caret"]["line"],
    ];
    // Formats that follow the language server protocol count from 0; deno does so only for columns.
    let start = &value["range"]["start"];
    let first = u64::from(start["bytePos"].is_null());
    let ranged = || start["line"].as_u64().map(|line| line + first);
    let counted = || place["concrete"]["location"]["start_point"]["row"].as_u64().map(|line| line + 1);
    let line = positions.into_iter().find_map(Value::as_u64).or_else(ranged).or_else(counted);
    let line = line.or_else(|| Some(posn(value)?.1))?;
    let rules = [
        "ruleId", "rule", "code", "messageId", "message-id", "FromLinter", "check_name", "cop_name",
        "symbol", "test_id", "ident", "ruleNames", "option", "type", "category",
    ];
    let rule = rules.iter().find_map(|name| match &value[*name] {
        Value::String(rule) => Some(rule.clone()).filter(|rule| !is_source(rule)),
        Value::Array(rules) => rules.first().and_then(Value::as_str).map(str::to_owned),
        Value::Number(rule) if is_shell(value) => Some(format!("SC{rule}")),
        // pyrefly has one code for all its rules.
        Value::Number(rule) if rule.as_i64().is_some_and(|code| code < 0) => {
            value["name"].as_str().map(str::to_owned)
        }
        Value::Number(rule) => Some(rule.to_string()),
        Value::Object(rule) => {
            rule.get("value").or(rule.get("id")).and_then(Value::as_str).map(str::to_owned)
        }
        _ => None,
    });
    // eslint numbers the severities, the others name them; a diagnostic without one is an error.
    let severity = &value["severity"];
    let named = [severity, &value["level"], &value["kind"], &value["type"]]
        .into_iter()
        .find_map(Value::as_str)
        .unwrap_or_default();
    // A log entry has a message and a place in the same fields.
    let is_of_a_log = || ["info", "debug", "trace"].iter().any(|level| level.eq_ignore_ascii_case(named));
    // A step of a scenario has a text and a place, too. An object without a message is not a problem.
    let is_step = || value["keywordType"].is_string();
    if rule.is_none() && (message.is_empty() || is_of_a_log() || is_step()) {
        return None;
    }
    let is_error = match severity.as_u64() {
        Some(weight) => weight >= 2,
        None => {
            !matches!(named, "warning" | "info" | "note" | "information" | "style")
                || value.get("messageId").is_some()
                || value.get("message-id").is_some()
                || value.get("cop_name").is_some()
                || is_shell(value)
        }
    };
    let line = u32::try_from(line).ok();
    let draft = RawFailure::diagnostic("lint", file, line, message.trim()).kind(&rule.unwrap_or_default());
    // The following lines explain the problem, and other formats omit them.
    let draft = draft.about(message.trim().lines().next().unwrap_or_default());
    let columns = [
        &value["column"],
        &value["location"]["column"],
        &value["Pos"]["Column"],
        &value["startColumn"],
        &value["location"]["positions"]["begin"]["column"],
        &value["location"]["range"]["start"]["column"],
        &value["labels"][0]["span"]["column"],
        &value["location"]["start"]["column"],
    ];
    let ranged =
        || [&start["character"], &start["col"]].into_iter().find_map(Value::as_u64).map(|number| number + 1);
    let column = columns.into_iter().find_map(Value::as_u64).or_else(ranged);
    let draft =
        draft.with_column(column.and_then(|column| u32::try_from(column).ok()), "").warning(!is_error);
    let shown = format!("{} {}", draft.kind, message.trim());
    Some(Problem { draft: draft.message(shown.trim()), is_error })
}

/// Checks whether a field for the rule contains something else: source text in bandit, the severity in others.
fn is_source(rule: &str) -> bool {
    rule.contains('\n') || matches!(rule, "error" | "warning" | "info" | "note")
}

/// Checks whether shellcheck or hadolint wrote the object, in which every finding counts.
fn is_shell(value: &Value) -> bool {
    let of_hadolint = |code: &str| code.starts_with("DL") || code.starts_with("SC");
    value["level"].is_string()
        && (value["code"].is_number() && value["endColumn"].is_number()
            || value["code"].as_str().is_some_and(of_hadolint))
}
