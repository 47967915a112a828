//! The result that a `custom` validator reports itself: one JSON object on its standard output.
//!
//! ```json
//! {"outcome": "pass", "error": "why not", "params": {"openIssues": ["#12"]}}
//! ```
//!
//! `outcome` is `pass`, `fail` or `could_not_run`; the other fields are optional. The object starts a line and can span
//! several lines; the last object counts. The exit code limits what it can report: see [`judge`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use unstuck_core::evidence::ValidatorOutcome;

/// The output of a custom validator.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomOutput {
    outcome: OutcomeWord,
    /// Why it did not pass.
    #[serde(default)]
    pub error: String,
    /// Additional parameters for the prompt.
    #[serde(default)]
    pub params: BTreeMap<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OutcomeWord {
    Pass,
    Fail,
    CouldNotRun,
}

/// Reads what was reported: the last object with an `outcome` of those that begin at the start of a line. `None` if the
/// output has none: then `successWhen` decides.
///
/// # Errors
///
/// The object is incomplete or invalid; the text says how.
pub fn read(stdout: &[u8]) -> Option<Result<CustomOutput, String>> {
    let text = unstuck_failures::plain(stdout);
    let (mut reported, mut start, mut cut) = (None, 0, false);
    while let Some(begun) = begin(&text[start..]).map(|at| start + at) {
        let mut values = serde_json::Deserializer::from_str(&text[begun..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                start = begun + values.byte_offset();
                if value.get("outcome").is_some() {
                    (reported, cut) = (Some(&text[begun..start]), false);
                }
            }
            // A truncated result, or not a JSON object.
            _ => {
                start = begun + 1;
                let end = begin(&text[start..]).map_or(text.len(), |at| start + at);
                cut |= text[begun..end].contains("\"outcome\"");
            }
        }
    }
    let broken = |why: &str| {
        format!(
            "what it says of itself breaks the contract of custom validators: {why}; see docs/validators.md"
        )
    };
    if cut {
        return Some(Err(broken("the object is not valid JSON")));
    }
    let read = serde_json::from_str(reported?);
    // The position in the object does not help the reader of the message.
    Some(read.map_err(|error| broken(error.to_string().split(" at line ").next().unwrap_or_default())))
}

/// Returns the offset of the first object that starts a line.
fn begin(text: &str) -> Option<usize> {
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        let begun = at + line.len() - line.trim_start().len();
        at += line.len();
        line.trim_start().starts_with('{').then_some(begun)
    })
}

/// Judges the reported result together with the exit of the program. `ended` is the outcome of the exit by
/// `successWhen`; `ran` is whether the exit code means that the program ran properly.
///
/// The result of a program that did not finish is ignored. A program that reports `pass` but exits with a failure
/// contradicts itself, so the outcome is unknown.
pub fn judge(reported: &CustomOutput, ended: ValidatorOutcome, ran: bool) -> ValidatorOutcome {
    match (reported.outcome, ended) {
        (_, could_not @ ValidatorOutcome::CouldNotRun(_)) => could_not,
        (OutcomeWord::Pass, ValidatorOutcome::Fail) if !ran => ValidatorOutcome::CouldNotRun(
            "it says that it passed, but its exit code says otherwise".to_owned(),
        ),
        (OutcomeWord::Pass, _) => ValidatorOutcome::Pass,
        (OutcomeWord::Fail, _) => ValidatorOutcome::Fail,
        (OutcomeWord::CouldNotRun, _) if reported.error.is_empty() => {
            ValidatorOutcome::CouldNotRun("it says so, and not why".to_owned())
        }
        (OutcomeWord::CouldNotRun, _) => ValidatorOutcome::CouldNotRun(reported.error.clone()),
    }
}
