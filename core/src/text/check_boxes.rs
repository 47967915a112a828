//! The check boxes of a Markdown text: `- [x] done`, `- [ ] open`, also with `*`, `+` and numbers, in quotes and in lists
//! of lists. What is code or a comment (`<!-- ... -->`) has none.

use pulldown_cmark::{Event, Parser, Tag};

use crate::text::lines::{line_of, lines};

/// An item that is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its text, or in JSON what names it.
    pub text: String,
    /// Where it stands: a line of Markdown (`12`), or a pointer into JSON (`/stories/3/passes`); words where it is gone.
    pub place: String,
}

/// Returns the boxes of a text, and whether nothing is to be done any more for each: it is ticked, or cancelled.
pub fn boxes(text: &str) -> Vec<(Item, bool)> {
    let lines = lines(text);
    let items = Parser::new(text).into_offset_iter().filter(|(event, _)| *event == Event::Start(Tag::Item));
    let boxes = items.filter_map(|(_, range)| {
        let line = line_of(&lines, range.start);
        let end = lines[line].start + lines[line].text.len();
        let (text, done) = tick(&text[range.start..end.max(range.start)])?;
        Some((Item { text: text.to_owned(), place: (line + 1).to_string() }, done))
    });
    boxes.collect()
}

/// Takes a list item with a box apart.
fn tick(line: &str) -> Option<(&str, bool)> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let behind = match number.len() < line.len() {
        true => number.strip_prefix(['.', ')']),
        false => line.strip_prefix(['-', '*', '+']),
    }?;
    let inner = behind.trim_start().strip_prefix('[')?;
    let (mark, text) = inner.split_once(']')?;
    let done = match mark {
        "x" | "X" => true,
        " " | "" => false,
        // Cancelled: nobody is to do it.
        "-" if text.starts_with([' ', '\t']) => true,
        // `[~]`, `[>]`, `[!]`: begun, handed on, urgent. Whatever it means, it is not done.
        other if is_sign(other) && text.starts_with([' ', '\t']) => false,
        _ => return None,
    };
    // `[ ](link)` is a link without a text.
    (behind.starts_with([' ', '\t']) && !text.starts_with('(')).then(|| (text.trim(), done))
}

/// Says whether this is one character, and neither a letter nor a digit, which would be a footnote or a name.
fn is_sign(mark: &str) -> bool {
    let mut chars = mark.chars();
    chars.next().is_some_and(|it| !it.is_alphanumeric() && it != '^') && chars.next().is_none()
}
