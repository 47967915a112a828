//! Check boxes of a Markdown text: `- [x] done`, `- [ ] open`, also with `*`, `+` and numbers, in quotes and in nested
//! lists. A box in a fenced block is an example; a box in a comment (`<!-- ... -->`) does not count.

use crate::text::lines::{TextLine, lines};

/// An item of a checklist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckBox {
    /// Text of the item; in JSON, the value that names it.
    pub text: String,
    /// Place of the item: a line of Markdown (`12`), or a pointer into JSON (`/stories/3/passes`); a phrase if it is
    /// gone.
    pub place: String,
}

/// Returns the boxes of a text, each with whether nothing remains to be done: it is ticked, or canceled.
pub fn boxes(text: &str) -> Vec<(CheckBox, bool)> {
    let mut fence: Option<&str> = None;
    // A comment without an end does not count.
    let (mut in_comment, last_end) = (false, text.rfind("-->").unwrap_or(0));
    let mut items = Vec::new();
    for (at, TextLine { start, text: line }) in lines(text).into_iter().enumerate() {
        let bare = line.trim_start_matches([' ', '\t', '>']);
        match (fence, fence_of(bare).filter(|_| !in_comment)) {
            (None, Some(run)) => fence = Some(run),
            (Some(open), Some(run)) if run.starts_with(open) && bare[run.len()..].trim().is_empty() => {
                fence = None;
            }
            (None, None) => {
                let line = without_comments(line, last_end.saturating_sub(start), &mut in_comment);
                let ticked = tick(line.trim_start_matches([' ', '\t', '>']));
                let place = (at + 1).to_string();
                items.extend(ticked.map(|(text, done)| (CheckBox { text: text.to_owned(), place }, done)));
            }
            _ => {}
        }
    }
    items
}

/// Returns a line without its comments. Comment marks in code, or after the last end, do not count.
fn without_comments(line: &str, last_end: usize, in_comment: &mut bool) -> String {
    let mut kept = String::new();
    let mut rest = line;
    loop {
        let at = line.len() - rest.len();
        if *in_comment {
            let Some((_, after)) = rest.split_once("-->") else { return kept };
            (rest, *in_comment) = (after, false);
        } else {
            let begin = rest.match_indices("<!--").map(|(begin, _)| begin).find(|begin| {
                let is_code = line[..at + begin].matches('`').count() % 2 == 1;
                !is_code && last_end > at + begin
            });
            kept.push_str(&rest[..begin.unwrap_or(rest.len())]);
            let Some(begin) = begin else { return kept };
            (rest, *in_comment) = (&rest[begin + "<!--".len()..], true);
        }
    }
}

/// Returns the backticks or tildes at the start of a fence.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let run = &line[..line.len() - line.trim_start_matches(mark).len()];
    (run.len() >= 3).then_some(run)
}

/// Parses a list item with a box.
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
        // Canceled: no one has to do it.
        "-" if text.starts_with([' ', '\t']) => true,
        // `[~]`, `[>]`, `[!]`: started, delegated, urgent. Whatever it means, it is not done.
        other if is_sign(other) && text.starts_with([' ', '\t']) => false,
        _ => return None,
    };
    // `[ ](link)` is a link without a text.
    (behind.starts_with([' ', '\t']) && !text.starts_with('(')).then(|| (text.trim(), done))
}

/// Returns whether this is one character that is neither a letter nor a digit, which would be a footnote or a name.
fn is_sign(mark: &str) -> bool {
    let mut chars = mark.chars();
    chars.next().is_some_and(|c| !c.is_alphanumeric() && c != '^') && chars.next().is_none()
}
