//! The position that a line begins with, and what is said behind it: `file:12:3: said`, `file(12,3): said`, `file:12 said`.

/// A line that begins with one.
pub(super) struct Position<'a> {
    pub(super) file: &'a str,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
    /// A blank stands before what is said.
    pub(super) is_apart: bool,
    pub(super) said: &'a str,
}

impl<'a> Position<'a> {
    pub(super) fn of(line: &'a str) -> Option<Self> {
        /// So many marks may stand before the numbers and between them.
        const MARKS: usize = 8;
        let marks = memchr::memchr2_iter(b':', b'(', line.as_bytes()).take(MARKS);
        let mut positions = marks.filter_map(|at| {
            let (before, behind) = line.split_at(at);
            let (numbers, (is_apart, said)) = numbers(behind)?;
            let [line, column] = numbers.map(|number| number.parse().ok());
            Some(Self { file: file(before)?, line, column, is_apart, said })
        });
        positions.next()
    }
}

/// Takes the numbers off what begins with a mark, of which the first two are a line and a column; returns what [`apart`] says of
/// what follows, too.
fn numbers(text: &str) -> Option<([&str; 2], (bool, &str))> {
    let (mark, mut rest) = text.split_at(1);
    let (mut numbers, mut count, mut found) = ([""; 2], 0, None);
    loop {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if behind.len() == rest.len() {
            return found;
        }
        if let Some(number) = numbers.get_mut(count) {
            *number = &rest[..rest.len() - behind.len()];
        }
        count += 1;
        // As many of them as leave something that is said.
        let (end, next) = match mark {
            "(" => (behind.strip_prefix(')'), behind.strip_prefix(',')),
            _ => (Some(behind), behind.strip_prefix([':', '.', ',', '-'])),
        };
        found = end.and_then(apart).map(|said| (numbers, said)).or(found);
        let Some(next) = next else { return found };
        rest = next.strip_prefix(' ').filter(|_| mark == "(" && count == 1).unwrap_or(next);
    }
}

/// Takes the colon and the blanks off that stand before what is said; says whether there are blanks.
fn apart(text: &str) -> Option<(bool, &str)> {
    let behind = text.strip_prefix(':');
    let told = behind.unwrap_or(text);
    let said = told.trim_start_matches(' ');
    let is_apart = said.len() < told.len();
    let is_said = said.starts_with(|c: char| !c.is_whitespace()) && (is_apart || behind.is_some());
    is_said.then_some((is_apart, said))
}

/// Returns the file that stands before the numbers, perhaps behind a level or the name of a tool: `[error] a.c`, `vet: a.go`,
/// `ruff:a.py`.
fn file(before: &str) -> Option<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let level = || {
        let (level, file) = before.strip_prefix('[')?.split_once("] ")?;
        (!level.is_empty() && level.chars().all(is_word)).then_some(file)
    };
    let tool = || {
        let (tool, file) = before.split_once(':')?;
        let is_tool = tool.len() > 1
            && tool.starts_with(|c: char| c.is_ascii_lowercase())
            && tool.chars().all(|c| is_word(c) || c == '-');
        is_tool.then(|| file.strip_prefix(' ').filter(|_| tool == "vet").unwrap_or(file))
    };
    let behind = || level().or_else(tool);
    Some(before).filter(|file| is_file(file)).or_else(|| behind().filter(|file| is_file(file)))
}

/// Says whether all of a text may be the name of a file: no mark of a position is in it, but for that of a drive and, behind a
/// slash, the brackets in which routers set what varies.
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
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let behind = inner.trim_start_matches(is_of_name);
    let closing = brackets(behind, [']', ')']);
    let is_bracketed = inner.len() < part.len() && behind.len() < inner.len() && closing > 0;
    if is_bracketed { &behind[closing..] } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<(&str, Option<u32>, Option<u32>, &str)>) {
        let found = Position::of(line).map(|it| (it.file, it.line, it.column, it.said));
        assert_eq!(found, expected, "{line:?}");
    }

    #[test]
    fn a_position_is_taken_off_a_line_as_tools_write_it() {
        check("a.c:3:5: error: x", Some(("a.c", Some(3), Some(5), "error: x")));
        check("a.c:3 x", Some(("a.c", Some(3), None, "x")));
        check("a.c:3:x", Some(("a.c", Some(3), None, "x")));
        check("a.c:3.5-4.7: x", Some(("a.c", Some(3), Some(5), "x")));
        check("a.c:3:5:7x", Some(("a.c", Some(3), Some(5), "7x")));
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
        for line in [
            "", "a.c", "a.c:", "a.c:3", "a.c:3:", "a.c:3: ", "a.c:x", " a.c:3: x", ":3: x", "a[0]:3: x",
            "a (b.c:3: x", "[a.c:3: x",
        ] {
            check(line, None);
        }
    }
}
