//! Results of the check commands for the next prompt: new failures first, each once, within limits, and with tool
//! output fenced off from the text of Unstuck.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::evidence::{CommandResult, Confidence, Failure, FailureSet, Fingerprint, Tests};
use crate::judge::gate;
use crate::plural::{count, first};
use crate::state::StepState;
use crate::text::fence::{escape_markdown, fenced};

/// Maximum failures of one command shown with the tool's message.
const SHOWN_MAX: usize = 10;
/// Maximum failures shown by name only.
const NAMED_MAX: usize = 20;
/// Maximum length of a tool's message about one failure, in characters.
const MESSAGE_MAX: usize = 800;

/// Returns the results of the newest check, compared with the previous one and the baseline; empty if its commands
/// report nothing.
pub(crate) fn render(at: &StepState) -> String {
    let [Some(now), before] = &at.evidence.results else { return String::new() };
    let nothing: &[CommandResult] = &[];
    let (before, base) =
        (before.as_deref().unwrap_or(nothing), at.evidence.baseline.as_deref().unwrap_or(nothing));
    let (mut text, mut above) = (String::new(), BTreeSet::new());
    for (index, result) in now.iter().enumerate() {
        command(&mut text, &mut above, result, before.get(index), base.get(index));
    }
    text
}

/// Returns what failed before the work began; empty if nothing did or without a baseline.
pub(crate) fn render_baseline(at: &StepState) -> String {
    let (mut text, mut above) = (String::new(), BTreeSet::new());
    for result in at.evidence.baseline.iter().flat_map(|results| results.iter()) {
        command(&mut text, &mut above, result, None, None);
    }
    text
}

/// Writes the results of a command. A failure that is already shown `above` is only named.
fn command<'a>(
    text: &mut String,
    above: &mut BTreeSet<&'a Fingerprint>,
    result: &'a CommandResult,
    before: Option<&CommandResult>,
    base: Option<&CommandResult>,
) {
    let halves = base.map(|base| result.flaky_since_fix(base)).unwrap_or_default();
    if (result.passed() && halves.is_empty()) || result.confidence == Confidence::Low {
        return;
    }
    let base = &base.map(CommandResult::set).unwrap_or_default();
    let known = before.map_or_else(|| base.clone(), CommandResult::set);
    let is_new = |failure: &&Failure| !known.contains(&failure.fingerprint);
    let (mut ranked, old): (Vec<&Failure>, Vec<&Failure>) = result.failures.iter().partition(is_new);
    let new = ranked.len();
    ranked.extend(old);
    let all = match ranked.len() {
        0 => "passes at one time and fails at another".to_owned(),
        all => count_text(all, new, before.is_some()),
    };
    let _infallible = writeln!(text, "\n### `{}`: {all}", result.run);
    let (again, ranked): (Vec<&Failure>, Vec<&Failure>) =
        ranked.into_iter().partition(|failure| above.contains(&failure.fingerprint));
    for failure in ranked.iter().take(SHOWN_MAX) {
        add_failure(text, failure, before.is_some() && is_new(failure), base);
        above.insert(&failure.fingerprint);
    }
    if !halves.is_empty() {
        let _infallible = writeln!(text, "\nFailed each time before the work began, and fails at times now:");
        halves.iter().take(SHOWN_MAX).for_each(|half| add_failure(text, half, false, &FailureSet::default()));
        names(text, "The same goes for", halves.iter().skip(SHOWN_MAX).copied());
    }
    names(text, "Also failing", ranked.iter().skip(SHOWN_MAX).copied());
    names(text, "Failing here, too, and shown above", again.into_iter());
    let gone = before.map(|before| &before.failures[..]).unwrap_or_default();
    let set = result.set();
    let is_half = |failure: &Failure| halves.iter().any(|half| half.fingerprint == failure.fingerprint);
    let (unseen, fixed): (Vec<&Failure>, Vec<&Failure>) = gone
        .iter()
        .filter(|failure| !set.contains(&failure.fingerprint) && !is_half(failure))
        .partition(|failure| may_not_have_run(failure, result, before));
    names(text, "Fixed since the last check", fixed.into_iter());
    names(text, "Not seen in this check (may not have run)", unseen.into_iter());
    names(text, "Flaky, and not counted", result.flaky.iter().filter(|failure| !is_half(failure)));
}

/// Returns whether a test that no longer fails may not have run: fewer tests ran than before, or the failures include
/// one that is not a test, such as a compile error.
fn may_not_have_run(failure: &Failure, now: &CommandResult, before: Option<&CommandResult>) -> bool {
    let ran = |result: &CommandResult| result.tests.map(Tests::total);
    let is_fewer = before.is_some_and(|before| ran(now) < ran(before));
    failure.test.is_some() && (is_fewer || now.failures.iter().any(|other| other.test.is_none()))
}

fn count_text(all: usize, new: usize, compared: bool) -> String {
    let failures = count(all, "failure");
    match (compared, new) {
        (false, _) => failures,
        (true, 0) => format!("{failures}, none of them new since the last check"),
        (true, new) => format!("{failures}, {new} of them new since the last check"),
    }
}

fn add_failure(text: &mut String, failure: &Failure, is_new: bool, base: &FailureSet) {
    let mut marks = Vec::new();
    if is_new {
        marks.push("new");
    }
    if base.contains(&failure.fingerprint) {
        marks.push("failed before the work began");
    }
    let places = format!("at {} places", failure.places);
    if failure.places > 1 {
        marks.push(&places);
    }
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    let place = failure.location.as_ref().map_or_else(String::new, |place| format!(", {place}"));
    let _infallible = writeln!(text, "\n- {}{marks}{place}", escape_markdown(&gate::name(failure)));
    let message: String = failure.message.trim().chars().take(MESSAGE_MAX).collect();
    if !message.is_empty() {
        let _infallible = writeln!(text, "\n{}", fenced(&message));
    }
}

fn names<'a>(text: &mut String, title: &str, failures: impl Iterator<Item = &'a Failure>) {
    let names = first(failures.map(|failure| gate::name(failure).replace('\n', " ")), NAMED_MAX, 0);
    if !names.is_empty() {
        let _infallible = writeln!(text, "\n{title}: {names}");
    }
}
