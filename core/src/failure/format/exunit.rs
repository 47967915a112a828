//! ExUnit.

use super::super::draft::{Draft, Found, Style};
use super::{Sheet, numbered};

/// Reads the numbered list; an item is headed `test name (Module)`, with the place below.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let lines = sheet.lines;
    if !sheet.marked().any(|(_, line)| line.contains(" failure")) {
        return;
    }
    for item in numbered::items(lines, 0, |line| line.starts_with("Finished in ")) {
        let Some((name, module)) = item.head.strip_suffix(')').and_then(|head| head.rsplit_once(" (")) else {
            continue;
        };
        let body: Vec<&str> = item.body.iter().map(|line| line.trim()).collect();
        let Some((place, rest)) = body.split_first() else { continue };
        let Some((file, number)) = place.rsplit_once(':').filter(|(file, _)| file.contains(".ex")) else {
            continue;
        };
        let told: Vec<&str> = rest.iter().copied().take_while(|line| *line != "stacktrace:").collect();
        let head = told.first().copied().unwrap_or_default().trim_start_matches("** (");
        let kind = head.split([')', ' ']).next().unwrap_or_default();
        let shown: Vec<&str> = told
            .iter()
            .copied()
            .filter(|line| !line.starts_with("left:") && !line.starts_with("right:"))
            .take(4)
            .collect();
        let draft = Draft::test("exunit", &format!("{module} {name}"), &[]);
        // The code is source text, and says which assertion it is.
        let code = told.iter().find(|line| line.starts_with("code:"));
        let (shown, style) = match code {
            Some(code) => (vec![told[0], code], Style::Diagnostic),
            None => (shown, Style::Values),
        };
        let draft = Draft { values: told.join("\n"), style, ..draft }
            .kind(kind)
            .about(&shown.join(" "))
            .at(file, number.parse().ok())
            .told_by(item.head);
        found.push(draft.message(&format!("{}\n{}", item.head, body.join("\n"))));
    }
}
