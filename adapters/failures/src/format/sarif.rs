//! SARIF: results of level `error`, or all results except notes if there are no errors.

use serde_json::Value;

use super::super::normalize::percent_decode;
use super::{FailureCollector, FormatInput, RawFailure, number};

pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for document in input.documents() {
        let runs = document["runs"].as_array().into_iter().flatten();
        let results = runs.flat_map(|run| {
            let results = run["results"].as_array().into_iter().flatten();
            results.map(|result| (result, rule(run, result)))
        });
        let results: Vec<(&Value, &Value)> = results
            .filter(|(result, _)| result["suppressions"].as_array().is_none_or(Vec::is_empty))
            .collect();
        let errors = results.iter().any(|(result, rule)| level(result, rule) == "error");
        for (result, rule) in results {
            let level = level(result, rule);
            if level == "error" || (!errors && level == "warning") {
                collector.push(draft(result, rule, level));
            }
        }
    }
}

/// Returns the rule of a result, which may be an index into the list of the tool or of an extension.
fn rule<'r>(run: &'r Value, result: &'r Value) -> &'r Value {
    let reference = &result["rule"];
    let tool = match reference["toolComponent"]["index"].as_u64().and_then(|at| usize::try_from(at).ok()) {
        Some(at) => &run["tool"]["extensions"][at],
        None => &run["tool"]["driver"],
    };
    let index = result["ruleIndex"].as_u64().or(reference["index"].as_u64());
    index.and_then(|at| usize::try_from(at).ok()).map_or(reference, |at| &tool["rules"][at])
}

/// Returns the severity of a result; the rule's severity applies if it has none.
fn level<'r>(result: &'r Value, rule: &'r Value) -> &'r str {
    let default = rule["defaultConfiguration"]["level"].as_str();
    result["level"].as_str().or(default).unwrap_or("warning")
}

fn draft(result: &Value, rule: &Value, level: &str) -> RawFailure {
    let place = &result["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().unwrap_or_default();
    // Readers of other formats decode a complete URL, too.
    let file = if uri.starts_with("file://") { uri.to_owned() } else { percent_decode(uri) };
    let line = number(&place["region"]["startLine"]);
    let message =
        result["message"]["text"].as_str().or(result["message"]["markdown"].as_str()).unwrap_or_default();
    let column = number(&place["region"]["startColumn"]);
    let rule = result["ruleId"].as_str().or(rule["id"].as_str()).unwrap_or_default();
    RawFailure::diagnostic("sarif", &file, line, message)
        .kind(rule)
        .with_column(column, "")
        .warning(level != "error")
        .message(format!("{rule} {message}").trim())
}
