//! Criterion (C): `[FAIL] suite::test: (0.00s)`, and the failures above it, each line after `[----]`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, scan_back};

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?P<file>\S+?):(?P<line>\d+): (?P<what>.*)$").expect("well formed"));

/// The prefix of a test's messages.
const SAID: &str = "[----] ";

/// Reads every failed test; the first assertion is the reason.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    if input.marked.is_empty() {
        return;
    }
    for (at, line) in input.starting(b"[") {
        let ended = line.strip_prefix("[FAIL] ").and_then(|told| told.rsplit_once(": "));
        let Some((name, how)) = ended.filter(|(name, _)| name.contains("::")) else { continue };
        let above = scan_back(&lines[..at]).take_while(|line| line.starts_with(SAID)).count();
        let said: Vec<&str> = lines[at - above..at].iter().map(|line| line[SAID.len()..].trim()).collect();
        let place = said.first().and_then(|line| PLACE.captures(line));
        let first = said.iter().skip(1).take_while(|line| !PLACE.is_match(line));
        let why: Vec<&str> = first.copied().filter(|line| !line.is_empty()).collect();
        let kind = match how {
            _ if how.starts_with('(') => "assertion".to_owned(),
            how => how.trim_end_matches(['!', ' ']).to_lowercase(),
        };
        // Older versions print the reason after the place.
        let stated = place.as_ref().map_or("", |place| place.name("what").map_or("", |what| what.as_str()));
        let about = if why.is_empty() { stated.to_owned() } else { why.join(" ") };
        let message = format!("{name}\n{}", said.join("\n"));
        let draft = RawFailure::test("criterion", name, &[]).with_line(line).kind(&kind).about(&about);
        let draft = RawFailure { style: MaskingStyle::Values, ..draft.message(message.trim_end()) };
        collector.push(match &place {
            Some(place) => draft.at(&place["file"], place["line"].parse().ok()),
            None => draft,
        });
    }
}
