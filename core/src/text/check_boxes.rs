//! The check boxes of a Markdown text: `- [x] done`, `- [ ] open`, also with `*`, `+` and numbers, in quotes and in lists
//! of lists. A box in a fenced block is an example, and one in a comment (`<!-- ... -->`) is none.

use std::borrow::Cow;

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
    let text = &*with_line_feeds(text);
    let mut fence: Option<&str> = None;
    let mut comments = Comments { last_end: text.rfind("-->"), is_open: false };
    let mut items = Vec::new();
    let mut begin = 0;
    for (at, line) in text.split('\n').enumerate() {
        let bare = line.trim_start_matches([' ', '\t', '>']);
        let run = fence_of(bare).filter(|_| !comments.is_open);
        match (fence, run) {
            (None, Some(run)) => fence = Some(run),
            (Some(open), Some(run)) if run.starts_with(open) && bare[run.len()..].trim().is_empty() => {
                fence = None
            }
            (None, None) => {
                let line = comments.strip(line, begin);
                items.extend(
                    tick(line.trim_start_matches([' ', '\t', '>'])).map(|(text, done)| {
                        (Item { text: text.to_owned(), place: (at + 1).to_string() }, done)
                    }),
                );
            }
            _ => {}
        }
        begin += line.len() + 1;
    }
    items
}

/// Ends the lines with line feeds that end with CR alone.
fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut rest = text.chars().peekable();
    let mut next = || {
        let character = rest.next()?;
        Some(if character == '\r' && rest.peek() != Some(&'\n') { '\n' } else { character })
    };
    Cow::Owned(std::iter::from_fn(&mut next).collect())
}

/// The comments of a text that is read line by line.
struct Comments {
    /// Where the last of them ends: what begins behind that has no end, and is none.
    last_end: Option<usize>,
    /// The next line begins within one.
    is_open: bool,
}

impl Comments {
    /// Returns what of a line is no comment; it begins at that byte of the text.
    fn strip<'a>(&mut self, line: &'a str, begin: usize) -> Cow<'a, str> {
        if !self.is_open && !line.contains("<!--") {
            return Cow::Borrowed(line);
        }
        let (mut kept, mut at) = (String::new(), 0);
        loop {
            let rest = &line[at..];
            if self.is_open {
                let Some(end) = rest.find("-->") else { break };
                (self.is_open, at) = (false, at + end + "-->".len());
            } else {
                let begins = rest.find("<!--").filter(|it| self.is_begin(line, at + it, begin));
                kept.push_str(&rest[..begins.unwrap_or(rest.len())]);
                let Some(comment) = begins else { break };
                (self.is_open, at) = (true, at + comment + "<!--".len());
            }
        }
        Cow::Owned(kept)
    }

    /// Says whether a comment begins there: it has an end, and is not written as code.
    fn is_begin(&self, line: &str, at: usize, begin: usize) -> bool {
        let is_code = line[..at].matches('`').count() % 2 == 1;
        !is_code && self.last_end.is_some_and(|end| end > begin + at)
    }
}

/// Returns the run of backticks or tildes that a fence begins with.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let run = &line[..line.len() - line.trim_start_matches(mark).len()];
    (run.len() >= 3).then_some(run)
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
