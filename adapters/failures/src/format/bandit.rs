//! bandit: `>> Issue: [rule:name] message`, and the place below.

use super::{FailureCollector, FormatInput, RawFailure, until};

pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let told = line.trim_start().strip_prefix(">> Issue: [").and_then(|told| told.split_once("] "));
        let Some((rule, message)) = told else { continue };
        let code = rule.split(':').next().unwrap_or(rule);
        let block = until(input.lines, at + 1, |line| line.starts_with("-----") || line.is_empty());
        let place = block.iter().find_map(|line| line.trim_start().strip_prefix("Location: "));
        let mut place = place.unwrap_or_default().split(':');
        let file = place.next().unwrap_or_default();
        let mut number = || place.next().and_then(|number| number.trim().parse().ok());
        let draft =
            RawFailure::diagnostic("lint", file, number(), message).kind(code).with_column(number(), rule);
        collector.push(draft.message(line.trim()));
    }
}
