//! EUnit (Erlang): `module: this_test...*failed*`, and below it a stack and the exception.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^ *(?:(?P<module>[a-z][\w@]*):(?:\d+:)? )?(?P<name>\S.*?)\.\.\.(?:\[[\d.]+ m?s\] )?\*failed\*$",
    )
    .expect("well formed")
});

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\((?P<file>[\w@./-]+\.erl), line (?P<line>\d+)\)").expect("well formed"));

static RAISED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\*\*(?P<class>\w+):\{?'?(?P<kind>\w+)").expect("well formed"));

static EXPRESSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\{expression,\s*"(?P<code>(?:[^"\\]|\\.)*)""#).expect("well formed"));

/// Reads the block below each failed test.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let block = until(input.lines, at + 1, |line| line.is_empty() || line.ends_with("...*failed*"));
        let raised = block.iter().find_map(|line| RAISED.captures(line));
        // An exception that is not an assertion is printed on separate lines.
        let Some(raised) = raised else { continue };
        let place = block.iter().find_map(|line| PLACE.captures(line));
        let text = block.join("\n");
        // The code is source text and identifies the assertion.
        let code =
            EXPRESSION.captures(&text).map_or_else(String::new, |captures| captures["code"].to_owned());
        let module = failed.name("module").map_or("", |module| module.as_str());
        let name =
            [module, &failed["name"]].iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>();
        let draft = RawFailure::test("eunit", &name.join(":"), block).kind(&raised["kind"]);
        let draft =
            RawFailure { style: MaskingStyle::Diagnostic, ..draft }.about(&code).with_heading(line.trim());
        collector.push(match place {
            Some(place) => draft.at(&place["file"], place["line"].parse().ok()),
            None => draft,
        });
    }
}
