//! Credo and Dialyxir (Elixir): `┃ [W] ↗ message` above its place, and `a.ex:3:rule` above its message.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

static CREDO: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^┃ (?:\[(?P<kind>[A-Z])\] )?\S+ (?P<what>\S.*)$").expect("well formed"));

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^┃ +(?P<file>[^\s:]+\.exs?):(?P<line>\d+)(?::(?P<column>\d+))?(?: #\((?P<item>.*)\))?$")
        .expect("well formed")
});

static DIALYXIR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>[^\s:]+\.(?:ex|exs|erl)):(?P<line>\d+)(?::(?P<column>\d+))?:(?P<rule>[a-z]+(?:_[a-z]+)*)$")
        .expect("well formed")
});

/// Reads every place below a message, and every message below a place.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let above = at.checked_sub(1).map_or("", |above| input.lines[above]);
        let (place, message, rule, item) = if let Some(place) = PLACE.captures(line) {
            let Some(said) = CREDO.captures(above) else { continue };
            let kind = said.name("kind").map_or("", |kind| kind.as_str()).to_owned();
            let item = place.name("item").map_or("", |item| item.as_str()).to_owned();
            (place, said["what"].to_owned(), kind, item)
        } else if let Some(place) = DIALYXIR.captures(line) {
            let block = until(input.lines, at + 1, |line| {
                line.is_empty() || line.starts_with("____") || DIALYXIR.is_match(line)
            });
            let rule = place["rule"].to_owned();
            (place, block.join(" "), rule, String::new())
        } else {
            continue;
        };
        let number = |name: &str| place.name(name).and_then(|number| number.as_str().parse().ok());
        let draft = RawFailure::diagnostic("elixir", &place["file"], number("line"), &message).kind(&rule);
        let draft = draft.about(format!("{message} {item}").trim()).with_column(number("column"), "");
        collector.push(draft.message(&format!("{line}\n{message}")));
    }
}
