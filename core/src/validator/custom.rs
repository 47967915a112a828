//! What a `custom` validator says itself: one JSON object on its standard output.
//!
//! ```json
//! {"outcome": "pass", "error": "why not", "params": {"openIssues": ["#12"]}}
//! ```
//!
//! `outcome` is `pass`, `fail` or `could_not_run`; the others may be left out. The object is all of the output,
//! or its last line. It is believed within the rules of the exit code: see [`judge`].

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::ValidatorOutcome;
use crate::failure;

/// What a program said of itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Said {
    outcome: Word,
    /// Why it did not pass.
    #[serde(default)]
    pub error: String,
    /// For the prompt, beside what is extracted.
    #[serde(default)]
    pub params: BTreeMap<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Pass,
    Fail,
    CouldNotRun,
}

/// Reads what was said. `None` if the output is no JSON object with an `outcome`: then `successWhen` decides.
///
/// # Errors
///
/// There is such an object, but it breaks the contract; the text says how.
pub fn read(stdout: &[u8]) -> Option<Result<Said, String>> {
    let text = failure::plain(stdout);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    let objects = [Some(text.as_str()), last].into_iter().flatten();
    let object =
        objects.filter_map(|text| serde_json::from_str::<Value>(text).ok()).find(Value::is_object)?;
    object.get("outcome")?;
    Some(serde_json::from_value(object).map_err(|error| {
        format!(
            "what it says of itself breaks the contract of custom validators: {error}; see docs/validators.md"
        )
    }))
}

/// Judges what was said beside how the program ended. `ended` is what its exit says by `successWhen`, `ran` that
/// the exit code says that it ran properly.
///
/// A program that did not come to its end is not believed, and one that says `pass` and exits as if it had failed
/// contradicts itself: nobody knows.
pub fn judge(said: &Said, ended: ValidatorOutcome, ran: bool) -> ValidatorOutcome {
    match (said.outcome, ended) {
        (_, could_not @ ValidatorOutcome::CouldNotRun(_)) => could_not,
        (Word::Pass, ValidatorOutcome::Fail) if !ran => ValidatorOutcome::CouldNotRun(
            "it says that it passed, but its exit code says otherwise".to_owned(),
        ),
        (Word::Pass, _) => ValidatorOutcome::Pass,
        (Word::Fail, _) => ValidatorOutcome::Fail,
        (Word::CouldNotRun, _) if said.error.is_empty() => {
            ValidatorOutcome::CouldNotRun("it says so, and not why".to_owned())
        }
        (Word::CouldNotRun, _) => ValidatorOutcome::CouldNotRun(said.error.clone()),
    }
}
