//! Workflow commands by which tools annotate a change: `::error file=a.py,line=3::message`.

use super::super::draft::{Draft, Found};
use super::{Sheet, diagnostics};

/// Reads every error.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for (_, line) in sheet.marked() {
        let command = line.strip_prefix("::error ").and_then(|rest| rest.split_once("::"));
        let Some((fields, message)) = command else { continue };
        let field = |name: &str| {
            fields.split(',').find_map(|field| field.trim().strip_prefix(name)?.strip_prefix('='))
        };
        let message = message.replace("%0A", "\n").replace("%25", "%");
        let first = message.lines().next().unwrap_or_default();
        // Some repeat the place within the message, in the form of a diagnostic.
        if let Some(diagnostic) = diagnostics::parse(first) {
            found.push(diagnostic.draft());
            continue;
        }
        let line = field("line").and_then(|line| line.parse().ok());
        let kind = field("title").unwrap_or_default();
        let column = field("col").and_then(|column| column.parse().ok());
        let draft = Draft::diagnostic("annotations", field("file").unwrap_or_default(), line, first);
        found.push(draft.kind(kind).shown_at(column, ""));
    }
}
