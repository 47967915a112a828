//! A text for the worker, such as a `PROMPT.md` that is sent again and again.

use unstuck_document::{LoadReport, NodeKind, node};

use super::input::Import;
use super::markdown;
use super::write::DoneCondition;
use crate::registry::front_matter;

/// Maximum bytes of a prompt that is copied into the workflow, so that the log contains it.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Reads a prompt.
pub(super) fn read(input: &mut Import<'_>) {
    let body = settings_and_body(input);
    take(input, body, input.lines_before(body));
    input.draft.name(markdown::title(body));
}

/// Reads the settings before a text, and returns the text.
pub(super) fn settings_and_body<'a>(input: &mut Import<'a>) -> &'a str {
    let split = front_matter::split(input.text);
    if let Some(yaml) = split.yaml {
        settings(input, yaml, split.yaml_offset);
    }
    split.body
}

/// Takes the commands that verify the work, and notes other commands in the prose.
pub(super) fn commands(input: &mut Import<'_>, text: &str, lines_before: u32) {
    let found = markdown::commands(text);
    for (line, command) in found.taken {
        input.command(lines_before + line, &command);
    }
    for (line, command) in found.unknown {
        input.reject_command(lines_before + line, &command, "not a command that is known here");
    }
    input.tests();
    for (line, command) in found.named {
        input.note_command(lines_before + line, &command);
    }
}

/// Takes a text as the instructions of the worker; `lines_before` lines precede it in the file.
pub(super) fn take(input: &mut Import<'_>, text: &str, lines_before: u32) {
    let path = input.about.clone();
    let step = input.draft.step();
    step.done = DoneCondition::Claim;
    if text.len() <= INLINE_BYTES_MAX {
        step.instructions = text.replace("\r\n", "\n").trim_end().to_owned();
        input.carry(lines_before + 1, "the prompt, word for word");
    } else {
        step.instructions = format!("Read {path} and do what it says.");
        input.carry(lines_before + 1, "the prompt, by its name: the worker reads it");
    }
    commands(input, text, lines_before);
    input.markers(text);
}

/// Reads the front matter.
fn settings(input: &mut Import<'_>, yaml: &str, offset: usize) {
    let Some(tree) = node::parse(0, yaml, &mut LoadReport::default()) else { return };
    for entry in tree.entries() {
        let place = u32::try_from(offset).unwrap_or(u32::MAX).saturating_add(entry.place.offset);
        let line = input.line(place);
        match (entry.key.as_str(), &entry.value.kind) {
            ("max_iterations", NodeKind::Int(count)) => input.iterations(line, count),
            ("completion_promise", NodeKind::Text(marker)) => {
                input.marker(line, &format!("the completion promise `{marker}`"), marker);
            }
            ("name" | "description" | "title" | "active", _) => {}
            (key, _) => input.omit(line, format!("`{key}`"), "set it for the worker itself"),
        }
    }
}
