//! A text for the worker, such as a `PROMPT.md` that is sent again and again.

use super::write::Done;
use super::{Input, markdown};
use crate::registry::front_matter;
use crate::workflow_file::complaint::Report;
use crate::workflow_file::node::{self, Kind};

/// Texts up to this size stand in the workflow itself, so that the log tells what was asked.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Reads a prompt.
pub(super) fn read(input: &mut Input<'_>) {
    let text = input.text;
    let split = front_matter::split(text);
    let lines_before = input.line(u32::try_from(split.body_offset).unwrap_or(u32::MAX)) - 1;
    if let Some(yaml) = split.yaml {
        settings(input, yaml, split.yaml_offset);
    }
    take(input, split.body, lines_before);
    input.draft.name(markdown::title(split.body));
}

/// Takes a text as what the worker is asked; it begins behind so many lines.
pub(super) fn take(input: &mut Input<'_>, text: &str, lines_before: u32) {
    let path = input.about.clone();
    let step = input.draft.step();
    step.done = Done::Claim;
    if text.len() <= INLINE_BYTES_MAX {
        step.instructions = text.replace("\r\n", "\n").trim_end().to_owned();
        input.carried(lines_before + 1, "the prompt, word for word");
    } else {
        step.instructions = format!("Read {path} and do what it says.");
        input.carried(lines_before + 1, "the prompt, by its name: the worker reads it");
    }
    for (line, command) in markdown::commands(text) {
        input.command(lines_before + line, &command);
    }
    input.tests();
    input.markers(text);
}

/// Reads what stands before the text.
fn settings(input: &mut Input<'_>, yaml: &str, offset: usize) {
    let Some(tree) = node::parse(0, yaml, &mut Report::default()) else { return };
    for entry in tree.entries() {
        let place = u32::try_from(offset).unwrap_or(u32::MAX).saturating_add(entry.place.offset);
        let line = input.line(place);
        match (entry.key.as_str(), &entry.value.kind) {
            ("max_iterations", Kind::Int(count)) => input.iterations(line, count),
            ("completion_promise", Kind::Text(marker)) => {
                let what = format!(
                    "the completion promise `{marker}` ends nothing here: it is a word, and no evidence"
                );
                input.left(line, what, "the worker is told how to say that it is done; the commands show it");
            }
            ("name" | "description" | "title" | "active", _) => {}
            (key, _) => input.left(line, format!("`{key}`"), "set it for the worker itself"),
        }
    }
}
