//! A plan in Markdown: its boxes have to be ticked, and the commands that it validates with have to pass.

use unstuck_core::plural::count;

use super::input::Import;
use super::write::{DoneCondition, DraftChecklist};
use super::{markdown, prompt};

/// Reads a plan.
pub(super) fn read(input: &mut Import<'_>) {
    let text = input.text;
    let boxes = markdown::boxes(text);
    let open = boxes.iter().filter(|(_, done)| !done).count();
    let first = boxes.first().and_then(|(item, _)| item.place.parse::<u32>().ok());
    input.carry(first, format!("{}, {open} open: all have to be ticked", count(boxes.len(), "box")));
    let body = prompt::settings_and_body(input);
    let lines_before = input.lines_before(body);
    prompt::commands(input, body, lines_before);
    input.markers(text);
    let path = input.source.path.to_owned();
    input.draft.name(markdown::title(body));
    let step = input.draft.step();
    step.instructions = format!(
        "Read {path}. Take the first task with an open box that can be done now, do it, and show that it works. Tick its \
         box (- [x]) only when it holds; leave the rest of {path} as it is. Then take the next one."
    );
    step.need_iterations(open);
    step.done = DoneCondition::Checklists(vec![DraftChecklist { path, pointer: None }]);
}
