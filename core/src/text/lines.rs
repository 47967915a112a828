//! The lines of a text, each with its place.

/// One line of a text, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLine<'a> {
    /// Offset of the first byte in the text.
    pub(crate) start: usize,
    pub(crate) text: &'a str,
}

impl TextLine<'_> {
    /// Says whether nothing but white space is in it.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// Splits a text into lines, at `\n`, `\r\n` and a lone `\r`.
pub fn lines(text: &str) -> Vec<TextLine<'_>> {
    let mut out = Vec::new();
    let mut start = 0;
    for (index, _) in text.match_indices(['\n', '\r']) {
        if index > start || !text[..index].ends_with('\r') || !text[index..].starts_with('\n') {
            out.push(TextLine { start, text: &text[start..index] });
        }
        start = index + 1;
    }
    out.push(TextLine { start, text: &text[start..] });
    out
}

/// Index of the line that holds an offset.
pub fn line_of(lines: &[TextLine<'_>], offset: usize) -> usize {
    lines.partition_point(|line| line.start <= offset).saturating_sub(1)
}

/// Returns the last line before one that is not blank.
pub fn line_above<'a>(lines: &[TextLine<'a>], at: usize) -> Option<TextLine<'a>> {
    lines[..at].iter().rev().find(|line| !line.is_blank()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_ends_a_line() {
        let found: Vec<&str> = lines("a\rb\r\nc\r\r\n\nd").iter().map(|l| l.text).collect();
        assert_eq!(found, ["a", "b", "c", "", "", "d"]);
    }
}
