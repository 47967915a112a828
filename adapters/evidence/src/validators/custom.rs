//! What a `custom` validator says itself: one JSON object on its standard output.
//!
//! ```json
//! {"outcome": "pass", "error": "why not", "params": {"openIssues": ["#12"]}}
//! ```
//!
//! `outcome` is `pass`, `fail` or `could_not_run`; the others may be left out. The object begins a line, and may go on over
//! several; the last one counts. It is believed within the rules of the exit code: see [`judge`].

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

/// Reads what was said: the last object with an `outcome` of those that begin at the start of a line. `None` if the output
/// has none: then `successWhen` decides.
///
/// # Errors
///
/// The object is incomplete or invalid; the text says how.
pub fn read(stdout: &[u8]) -> Option<Result<CustomOutput, String>> {
    let text = unstuck_failures::plain(stdout);
    let (mut said, mut start, mut cut) = (None, 0, false);
    while let Some(begun) = begin(&text[start..]).map(|at| start + at) {
        let mut values = serde_json::Deserializer::from_str(&text[begun..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                start = begun + values.byte_offset();
                if value.get("outcome").is_some() {
                    (said, cut) = (Some(&text[begun..start]), false);
                }
            }
            // One of ours that is not whole, or no object of JSON at all.
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
    let read = serde_json::from_str(said?);
    // Where in the object it is says nothing to whoever reads the sentence.
    Some(read.map_err(|error| broken(error.to_string().split(" at line ").next().unwrap_or_default())))
}

/// Returns where the first line begins that begins with an object.
fn begin(text: &str) -> Option<usize> {
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        let begun = at + line.len() - line.trim_start().len();
        at += line.len();
        line.trim_start().starts_with('{').then_some(begun)
    })
}

/// Judges what was said beside how the program ended. `ended` is what its exit says by `successWhen`, `ran` that
/// the exit code says that it ran properly.
///
/// A program that did not come to its end is not believed, and one that says `pass` and exits as if it had failed
/// contradicts itself: nobody knows.
pub fn judge(said: &CustomOutput, ended: ValidatorOutcome, ran: bool) -> ValidatorOutcome {
    match (said.outcome, ended) {
        (_, could_not @ ValidatorOutcome::CouldNotRun(_)) => could_not,
        (OutcomeWord::Pass, ValidatorOutcome::Fail) if !ran => ValidatorOutcome::CouldNotRun(
            "it says that it passed, but its exit code says otherwise".to_owned(),
        ),
        (OutcomeWord::Pass, _) => ValidatorOutcome::Pass,
        (OutcomeWord::Fail, _) => ValidatorOutcome::Fail,
        (OutcomeWord::CouldNotRun, _) if said.error.is_empty() => {
            ValidatorOutcome::CouldNotRun("it says so, and not why".to_owned())
        }
        (OutcomeWord::CouldNotRun, _) => ValidatorOutcome::CouldNotRun(said.error.clone()),
    }
}
