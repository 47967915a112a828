//! SARIF: results of level `error`, or all that are not mere notes when there is none.

use serde_json::Value;

use super::super::draft::{Draft, Found};
use super::Sheet;

/// Reads every result.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for document in sheet.documents() {
        let runs = document["runs"].as_array();
        let results =
            runs.into_iter().flatten().flat_map(|run| run["results"].as_array().into_iter().flatten());
        let results: Vec<&Value> =
            results.filter(|it| it["suppressions"].as_array().is_none_or(Vec::is_empty)).collect();
        let level = |result: &Value| result["level"].as_str().unwrap_or("warning").to_owned();
        let errors = results.iter().any(|result| level(result) == "error");
        for result in results {
            let level = level(result);
            if level == "error" || (!errors && level == "warning") {
                found.push(draft(result));
            }
        }
    }
}

fn draft(result: &Value) -> Draft {
    let place = &result["locations"][0]["physicalLocation"];
    let file = place["artifactLocation"]["uri"].as_str().unwrap_or_default();
    let line = place["region"]["startLine"].as_u64().and_then(|line| u32::try_from(line).ok());
    let message =
        result["message"]["text"].as_str().or(result["message"]["markdown"].as_str()).unwrap_or_default();
    let column = place["region"]["startColumn"].as_u64().and_then(|column| u32::try_from(column).ok());
    Draft::diagnostic("sarif", file, line, message)
        .kind(result["ruleId"].as_str().unwrap_or_default())
        .shown_at(column, "")
        .warning(result["level"] != "error")
}
