//! Workflow commands by which tools annotate a change: `::error file=a.py,line=3::message`; of
//! Azure too.

use super::super::draft::{Draft, Found};
use super::{Sheet, diagnostic};

/// Reads every error.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for (_, line) in sheet.marked() {
        let github = || line.strip_prefix("::error ")?.split_once("::");
        let azure = || line.strip_prefix("##vso[task.logissue type=error;")?.split_once(']');
        let Some((fields, message)) = github().or_else(azure) else { continue };
        let field = |names: [&str; 2]| {
            let fields = fields.split([',', ';']).filter_map(|field| field.trim().split_once('='));
            fields.into_iter().find_map(|(name, value)| names.contains(&name).then_some(value))
        };
        let message = message.replace("%0A", "\n").replace("%25", "%");
        let first = message.lines().next().unwrap_or_default();
        // Some repeat the place within the message, in the form of a diagnostic.
        if let Some(diagnostic) = diagnostic::parse(first) {
            found.push(diagnostic.draft());
            continue;
        }
        let line = field(["line", "linenumber"]).and_then(|line| line.parse().ok());
        let kind = field(["title", "code"]).unwrap_or_default();
        let column = field(["col", "columnnumber"]).and_then(|column| column.parse().ok());
        let draft =
            Draft::diagnostic("annotations", field(["file", "sourcepath"]).unwrap_or_default(), line, first);
        found.push(draft.kind(kind).shown_at(column, ""));
    }
}
