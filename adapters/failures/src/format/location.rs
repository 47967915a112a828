//! Parser for the position at the start of a line: `file:12:3: said`, `file(12,3): said`, `file:12 said`.

use super::super::words::{is_number, is_of_word, leading_number};

/// A line that begins with a position.
pub(super) struct Position<'a> {
    pub(super) file: &'a str,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    /// The line cannot be a match of a text search, which has no column and no space before the text.
    pub(super) is_sure: bool,
    pub(super) said: &'a str,
}

impl<'a> Position<'a> {
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        /// Maximum number of marks before and between the numbers.
        const MARKS: usize = 8;
        let marks = memchr::memchr2_iter(b':', b'(', line.as_bytes()).take(MARKS);
        let mut positions = marks.filter_map(|at| {
            let (before, behind) = line.split_at(at);
            let place = behind.strip_prefix('(').map_or_else(|| behind_colon(&behind[1..]), in_brackets)?;
            let Place { line, column, is_sure, said } = place;
            Some(Self {
                file: file(before)?,
                line: line.parse().ok(),
                column: column.parse().ok(),
                is_sure,
                said,
            })
        });
        positions.next()
    }
}

/// A line and perhaps a column, as written, and the message after them.
struct Place<'a> {
    line: &'a str,
    column: &'a str,
    is_sure: bool,
    said: &'a str,
}

/// Takes `12:3: `, `12.3-14.5: ` or `12 ` off a text.
fn behind_colon(text: &str) -> Option<Place<'_>> {
    let (line, mut behind) = leading_number(text)?;
    let (mut column, mut found) = ("", with_message(line, "", behind));
    while let Some((next, rest)) = behind.strip_prefix([':', '.', ',', '-']).and_then(leading_number) {
        column = if column.is_empty() { next } else { column };
        behind = rest;
        // As many numbers as possible belong to the position, as long as a message remains.
        found = with_message(line, column, behind).or(found);
    }
    found
}

/// Returns a place and the message after it, if that is not only numbers: a range or a timestamp is not a message.
fn with_message<'a>(line: &'a str, column: &'a str, behind: &'a str) -> Option<Place<'a>> {
    let (is_apart, said) = split_message(behind)?;
    let is_of_numbers = |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b',' | b'-');
    let is_said = is_apart || !said.bytes().all(is_of_numbers);
    is_said.then_some(Place { line, column, is_sure: is_apart || !column.is_empty(), said })
}

/// Takes `12): ` or `12, 3): ` off a text; more numbers may follow the column.
fn in_brackets(text: &str) -> Option<Place<'_>> {
    let (numbers, behind) = text.split_once(')')?;
    let (line, more) = numbers.split_once(',').map_or((numbers, None), |(line, more)| (line, Some(more)));
    let more = more.map(|more| more.strip_prefix(' ').unwrap_or(more));
    let (is_apart, said) = split_message(behind)?;
    let are_numbers = is_number(line) && more.is_none_or(|more| more.split(',').all(is_number));
    let column = more.and_then(|more| more.split(',').next()).unwrap_or_default();
    are_numbers.then_some(Place { line, column, is_sure: is_apart, said })
}

/// Removes the colon and the spaces before a message, and returns whether there are spaces.
fn split_message(text: &str) -> Option<(bool, &str)> {
    let behind = text.strip_prefix(':');
    let told = behind.unwrap_or(text);
    let said = told.trim_start_matches(' ');
    let is_apart = said.len() < told.len();
    let is_said = said.starts_with(|c: char| !c.is_whitespace()) && (is_apart || behind.is_some());
    is_said.then_some((is_apart, said))
}

/// Returns the file before the numbers, perhaps after a level or a tool: `[error] a.c`, `vet: a.go`, `ruff:a.py`.
fn file(before: &str) -> Option<&str> {
    let level = || {
        let (level, file) = before.strip_prefix('[')?.split_once("] ")?;
        (!level.is_empty() && level.chars().all(is_of_word)).then_some(file)
    };
    let tool = || {
        let (tool, file) = before.split_once(':')?;
        let is_tool = tool.len() > 1
            && tool.starts_with(|c: char| c.is_ascii_lowercase())
            && tool.chars().all(|c| is_of_word(c) || c == '-');
        is_tool.then(|| file.strip_prefix(' ').filter(|_| tool == "vet").unwrap_or(file))
    };
    let behind = || level().or_else(tool);
    Some(before).filter(|file| is_file(file)).or_else(|| behind().filter(|file| is_file(file)))
}

/// Checks whether an entire text may be the name of a file: it contains no mark of a position. The colon of a drive is
/// allowed, and after a slash also the brackets around variable parts of a route.
fn is_file(text: &str) -> bool {
    let drive = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text[1..].starts_with(':');
    let name = text.strip_prefix("file://").unwrap_or(if drive { &text[2..] } else { text });
    let has_mark = |(at, part): (usize, &str)| {
        let is_behind_slash = at > 1 || at == 1 && !name.starts_with('/');
        let bare = if is_behind_slash { without_brackets(part) } else { part };
        bare.contains([':', '(', ')', '[', ']'])
    };
    name.starts_with(|c: char| !c.is_whitespace()) && !name.split('/').enumerate().any(has_mark)
}

/// Takes `[id]`, `[[...id]]` or `(group)` off the beginning of a part of a path.
fn without_brackets(part: &str) -> &str {
    const DEPTH: usize = 2;
    let brackets =
        |text: &str, of: [char; 2]| text.chars().take(DEPTH).take_while(|c| of.contains(c)).count();
    let inner = &part[brackets(part, ['[', '('])..];
    let behind = inner.trim_start_matches(|c: char| is_of_word(c) || matches!(c, '.' | '-'));
    let closing = brackets(behind, [']', ')']);
    let is_bracketed = inner.len() < part.len() && behind.len() < inner.len() && closing > 0;
    if is_bracketed { &behind[closing..] } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(&str, Option<u32>, Option<u32>, &str)>) {
        let found = Position::parse(line)
            .map(|position| (position.file, position.line, position.column, position.said));
        assert_eq!(found, expected, "{line:?}");
    }

    #[test]
    fn a_position_is_taken_off_a_line_as_tools_write_it() {
        check("a.c:3:5: error: x", Some(("a.c", Some(3), Some(5), "error: x")));
        check("a.c:3 x", Some(("a.c", Some(3), None, "x")));
        check("a.c:3:x", Some(("a.c", Some(3), None, "x")));
        check("a.c:3.5-4.7: x", Some(("a.c", Some(3), Some(5), "x")));
        check("a.c:3:5:7x", Some(("a.c", Some(3), Some(5), "7x")));
        check("a.c:3:5: 7", Some(("a.c", Some(3), Some(5), "7")));
        check("a.ts(3, 5): x", Some(("a.ts", Some(3), Some(5), "x")));
        check("a.ts(3,5,3,9) : x", Some(("a.ts", Some(3), Some(5), ": x")));
        check("a.ts(3): x", Some(("a.ts", Some(3), None, "x")));
        check("C:\\a b.c:3: x", Some(("C:\\a b.c", Some(3), None, "x")));
        check("file:///a/b.ts:3:5 - x", Some(("file:///a/b.ts", Some(3), Some(5), "- x")));
        check(
            "app/[id]/(a)/[[...b]]/p.ts(3,5): x",
            Some(("app/[id]/(a)/[[...b]]/p.ts", Some(3), Some(5), "x")),
        );
        check("[error] a.c:3: x", Some(("a.c", Some(3), None, "x")));
        check("vet: a.go:3:5: x", Some(("a.go", Some(3), Some(5), "x")));
        check("ruff:a.py:3:5: x", Some(("a.py", Some(3), Some(5), "x")));
        check("a.c:99999999999: x", Some(("a.c", None, None, "x")));
    }

    #[test]
    fn a_line_without_one_has_none() {
        let lines = [
            "", "a.c", "a.c:", "a.c:3", "a.c:3:", "a.c:3: ", "a.c:x", " a.c:3: x", ":3: x", "a[0]:3: x",
            "a (b.c:3: x", "[a.c:3: x", "app.log:12:30:45", "a.elm:3:5:7", "a.res:3:5:3:9", "a.ts(3,): x",
            "a.ts(): x",
        ];
        lines.iter().for_each(|line| check(line, None));
    }

    #[test]
    fn possible_search_match_is_not_sure() {
        let is_sure = |line: &str| Position::parse(line).map(|position| position.is_sure);
        for line in ["a.c:3: x", "a.c:3:5:x", "a.c:3:99999999999:x", "a.ts(3): x"] {
            assert_eq!(is_sure(line), Some(true), "{line}");
        }
        for line in ["a.c:3:x", "a.cs(3,5):error CS1002: x"] {
            assert_eq!(is_sure(line), Some(false), "{line}");
        }
    }
}
