//! What is said of a text that is no YAML: the parser's sentence and place, and ours where those would send people to the
//! wrong line.

use granit_parser::{ErrorKind, Parser, ScanError};

/// What is wrong, and where in bytes.
pub(super) struct Broken {
    pub offset: usize,
    pub what: String,
    pub help: &'static str,
}

/// Explains an error of the parser.
pub(super) fn broken(text: &str, error: &ScanError) -> Broken {
    let offset = offset(error);
    let said = |offset, what: String, help| Broken { offset, what: format!("not valid YAML: {what}"), help };
    match error.kind() {
        // The first is found where its value begins, lines above the tab, the second behind the tab.
        ErrorKind::TabInPlainScalar | ErrorKind::TabInBlockIndentation => {
            let is_behind = *error.kind() == ErrorKind::TabInBlockIndentation;
            let from = if is_behind { line_break_before(text, offset) } else { Some(offset) };
            let tab = from.and_then(|from| tab_that_indents(text, from)).unwrap_or(offset);
            said(tab, "a tab cannot be used as indentation".to_owned(), "indent with spaces")
        }
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            said(offset, HAS_NO_END.to_owned(), "")
        }
        ErrorKind::InvalidQuotedScalarIndent => {
            let Some(begin) = begin_of_quote(text, offset) else { return said(offset, error.info(), "") };
            if rest(text, offset).trim().is_empty() {
                return said(begin, HAS_NO_END.to_owned(), "");
            }
            let line = text.get(..offset).unwrap_or(text).matches('\n').count() + 1;
            let what = format!("{HAS_NO_END} before line {line}, which is not indented as a part of it");
            said(begin, what, "close it, or indent the lines that it goes on with")
        }
        _ => said(offset, error.info(), ""),
    }
}

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

/// Returns where a quote begins that is still open at `offset`: without what follows, the parser says so.
fn begin_of_quote(text: &str, offset: usize) -> Option<usize> {
    let open = text.get(..offset)?.trim_end();
    let error = Parser::new_from_str(open).find_map(Result::err)?;
    matches!(error.kind(), ErrorKind::UnclosedQuotedScalar).then(|| self::offset(&error))
}
