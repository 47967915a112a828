//! Messages for invalid YAML: the parser's message and place, or our own if the parser's would point to a wrong line.

use granit_parser::{ErrorKind, Parser, ScanError};

/// A problem with its offset in bytes.
pub(super) struct YamlError {
    pub offset: usize,
    pub what: String,
    pub help: &'static str,
}

/// Explains an error of the parser.
pub(super) fn explain(text: &str, error: &ScanError) -> YamlError {
    let offset = offset(error);
    let problem =
        |offset, what: String, help| YamlError { offset, what: format!("not valid YAML: {what}"), help };
    match error.kind() {
        // The second is found behind the tab, the others where the value begins, lines above the tab.
        ErrorKind::TabInPlainScalar | ErrorKind::TabInBlockIndentation | ErrorKind::TabAtBlockScalarStart => {
            let is_behind = *error.kind() == ErrorKind::TabInBlockIndentation;
            let from = if is_behind { line_break_before(text, offset) } else { Some(offset) };
            let tab = from.and_then(|from| tab_that_indents(text, from)).unwrap_or(offset);
            problem(tab, TAB.to_owned(), SPACES)
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            problem(offset, HAS_NO_END.to_owned(), "")
        }
        ErrorKind::InvalidQuotedScalarIndent => {
            let Some(begin) = begin_of_quote(text, offset) else { return problem(offset, error.info(), "") };
            if rest(text, offset).trim().is_empty() {
                return problem(begin, HAS_NO_END.to_owned(), "");
            }
            let line = line_of(text, offset);
            let what = format!("{HAS_NO_END} before line {line}, which is not indented as a part of it");
            problem(begin, what, "close it, or indent the lines that it goes on with")
        }
        // These are found where the quote begins, which may be many lines above.
        ErrorKind::UnknownQuotedScalarEscape
        | ErrorKind::InvalidQuotedScalarHexEscape
        | ErrorKind::InvalidLowSurrogateHexEscape
        | ErrorKind::InvalidLowSurrogate
        | ErrorKind::MissingLowSurrogate
        | ErrorKind::UnpairedLowSurrogate
        | ErrorKind::InvalidUnicodeEscape => match bad_escape(rest(text, offset)) {
            Some((at, escape)) => problem(
                offset + at,
                format!("there is no escape {escape}"),
                "write \\\\ for a backslash, or use single quotes",
            ),
            None => problem(offset, error.info(), ""),
        },
        ErrorKind::InvalidColonPlacement
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::BlockEntryInFlowCollection
        | ErrorKind::InvalidFlowScalarIndent => match open_bracket(text, offset) {
            Some(begin) if indent_of(text, offset) <= indent_of(text, begin) => {
                let what =
                    format!("the bracket that begins here has no end before line {}", line_of(text, offset));
                problem(begin, what, "close it")
            }
            Some(begin) => {
                let what = format!("{}; a bracket is open since line {}", error.info(), line_of(text, begin));
                problem(offset, what, "close it, or put a comma between its parts")
            }
            None => problem(offset, error.info(), ""),
        },
        _ => match tab_right_before(text, offset) {
            Some(tab) => problem(tab, TAB.to_owned(), SPACES),
            None => problem(offset, error.info(), ""),
        },
    }
}

const TAB: &str = "a tab cannot be used as indentation";
const SPACES: &str = "indent with spaces";

const HAS_NO_END: &str = "the quote that begins here has no end";

fn offset(error: &ScanError) -> usize {
    error.marker().byte_offset().unwrap_or(0)
}

fn rest(text: &str, offset: usize) -> &str {
    text.get(offset..).unwrap_or_default()
}

fn line_break_before(text: &str, offset: usize) -> Option<usize> {
    text.get(..offset)?.rfind('\n')
}

/// Returns where the first line behind `offset` has a tab before its first word.
fn tab_that_indents(text: &str, offset: usize) -> Option<usize> {
    let is_blank = |c| c == ' ' || c == '\t';
    let mut starts = rest(text, offset).match_indices('\n').map(|(at, _)| offset + at + 1);
    starts.find_map(|start| {
        let line = rest(text, start).lines().next()?;
        let indent = &line[..line.len() - line.trim_start_matches(is_blank).len()];
        indent.find('\t').filter(|_| indent.len() < line.len()).map(|at| start + at)
    })
}

/// Returns where a tab is that indents the word at `offset`.
fn tab_right_before(text: &str, offset: usize) -> Option<usize> {
    let start = line_start(text, offset);
    let indent =
        text.get(start..offset).filter(|indent| indent.trim_start_matches([' ', '\t']).is_empty())?;
    indent.find('\t').map(|at| start + at)
}

/// Returns where a quote begins that is still open at `offset`: without what follows, the parser says so.
fn begin_of_quote(text: &str, offset: usize) -> Option<usize> {
    let open = text.get(..offset)?.trim_end();
    let error = Parser::new_from_str(open).find_map(Result::err)?;
    matches!(error.kind(), ErrorKind::UnclosedQuotedScalar).then(|| self::offset(&error))
}

/// Returns where a bracket begins that is still open where the line of `offset` begins.
fn open_bracket(text: &str, offset: usize) -> Option<usize> {
    let error = Parser::new_from_str(&text[..line_start(text, offset)]).find_map(Result::err)?;
    matches!(error.kind(), ErrorKind::UnclosedFlowCollection { .. }).then(|| self::offset(&error))
}

fn line_start(text: &str, offset: usize) -> usize {
    line_break_before(text, offset).map_or(0, |at| at + 1)
}

fn line_of(text: &str, offset: usize) -> usize {
    text.get(..offset).unwrap_or(text).matches('\n').count() + 1
}

fn indent_of(text: &str, offset: usize) -> usize {
    let line = rest(text, line_start(text, offset));
    line.len() - line.trim_start_matches(' ').len()
}

/// Returns the first escape that there is not in a text that begins with a double quote, and where it is in it.
fn bad_escape(quote: &str) -> Option<(usize, &str)> {
    let mut at = 0;
    loop {
        at += quote[at..].find('\\')?;
        let escape = &quote[at..];
        let length = escape_length(escape);
        if let Err(shown) = length {
            return Some((at, escape.get(..shown).unwrap_or(escape)));
        }
        at += length.unwrap_or(escape.len());
    }
}

/// Returns how long the escape is that a text begins with; for what is none how much of it shows that.
fn escape_length(text: &str) -> Result<usize, usize> {
    let Some(kind) = text.chars().nth(1) else { return Ok(text.len()) };
    let digits = match kind {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        '0' | 'a' | 'b' | 't' | '\t' | 'n' | 'v' | 'f' | 'r' | 'e' | ' ' | '"' | '/' | '\\' | 'N' | '_'
        | 'L' | 'P' | '\n' | '\r' => return Ok(2),
        other => return Err(1 + other.len_utf8()),
    };
    let end = 2 + digits;
    let Some(value) = text.get(2..end).and_then(hexadecimal) else {
        let given = text.bytes().skip(2).take(digits).take_while(u8::is_ascii_hexdigit).count();
        return Err(2 + given);
    };
    let low = || text.get(end + 2..end + 6).filter(|_| text[end..].starts_with("\\u")).and_then(hexadecimal);
    match value {
        0xd800..=0xdbff if digits == 4 && low().is_some_and(|low| (0xdc00..=0xdfff).contains(&low)) => {
            Ok(end + 6)
        }
        _ if char::from_u32(value).is_some() => Ok(end),
        _ => Err(end),
    }
}

fn hexadecimal(digits: &str) -> Option<u32> {
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u32::from_str_radix(digits, 16).ok().filter(|_| is_number)
}
