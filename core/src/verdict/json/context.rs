//! Looks at what stands around JSON and marker lines: is it meant, whose is it?

use std::cell::Cell;
use std::ops::Range;

use super::object::{Verdict, id_problem};
use crate::verdict::check_id::{self, CheckIdMatch};
use crate::verdict::json::Found;
use crate::verdict::line::aside;
use crate::verdict::line::example::{gives_order, introduces_example, last_sentence, speaks_of_example};
use crate::verdict::line::heading;
use crate::verdict::line::running;
use crate::verdict::problem::Problem;
use crate::verdict::remark::cjk;
use crate::verdict::remark::limits::{Limit, limit_of};
use crate::verdict::text::{BESIDE_CHARS_MAX, Line, head, is_cjk, tail};
use crate::verdict::words::Word;
use crate::verdict::{Source, line_of};

/// The surroundings of all objects of a text.
pub(crate) struct Contexts<'a> {
    text: &'a str,
    lines: &'a [Line<'a>],
    found: &'a Found,
    /// The last answer of `line_before`: many objects of one line share it.
    line_before: Cell<Option<(usize, Option<&'a str>)>>,
    thoughts: Vec<Range<usize>>,
}

impl<'a> Contexts<'a> {
    pub(crate) fn new(text: &'a str, lines: &'a [Line<'a>], found: &'a Found) -> Self {
        Self { text, lines, found, line_before: Cell::new(None), thoughts: aside::thoughts(lines) }
    }

    /// Tells whether an object is said, and not only talked about.
    ///
    /// An object in an example, behind or before a condition, or offered as a choice is not said. A
    /// complete object in the middle of a sentence is not believed either, unless it carries the id.
    pub(crate) fn is_asserted(&self, index: usize, verdict: &Verdict) -> bool {
        let before = self.before(index);
        let after = self.after(index);
        let has_id = verdict.check_id == CheckIdMatch::Match;
        let talks = |sentence: &str| {
            if has_id { speaks_of_condition(sentence) } else { speaks_of_example(sentence) }
        };
        let exemplifies = before.trim_end().to_lowercase().ends_with("e.g.");
        let is_complete = verdict.word == Word::Complete;
        if is_complete && (aside::introduces(last_sentence(before)) || self.is_inside(index)) {
            return false;
        }
        if is_complete && aside::holds(&self.thoughts, self.found.objects[index].span.start) {
            return false;
        }
        if is_complete && (self.is_of_another(index) || takes_back_behind(after)) {
            return false;
        }
        if exemplifies || talks(last_sentence(before)) || self.is_choice(index) || begins_condition(after) {
            return false;
        }
        if !before.chars().any(char::is_alphanumeric) {
            let introduced = self
                .line_before(index)
                .is_some_and(|line| introduces_example(line) && talks(last_sentence(line)));
            let is_unreal = || self.line_before(index).is_some_and(heading::announces_unreal);
            return !introduced && (!is_complete || !(self.is_denied_above(index) || is_unreal()));
        }
        has_id || !is_complete || !is_inside_sentence(before)
    }

    /// The text between the object and the beginning of its line or the object before.
    fn before(&self, index: usize) -> &'a str {
        let start = self.found.objects[index].span.start;
        let line = self.lines.get(line_of(self.lines, start)).map_or(0, |line| line.start);
        let previous = index.checked_sub(1).map_or(0, |i| self.found.objects[i].span.end);
        tail(&self.text[line.max(previous).min(start)..start])
    }

    /// The text between the object and the end of its line or the next object.
    fn after(&self, index: usize) -> &'a str {
        let end = self.found.objects[index].span.end;
        let next = self.found.objects.get(index + 1).map_or(self.text.len(), |o| o.span.start);
        let line = self.lines.get(line_of(self.lines, end));
        let line_end = line.map_or(self.text.len(), |line| line.start + line.text.len());
        head(&self.text[end..next.min(line_end).max(end)], BESIDE_CHARS_MAX)
    }

    /// Tells whether nothing but "or" stands between this object and a neighbour.
    fn is_choice(&self, index: usize) -> bool {
        let is_or = |text: &str| {
            let core = text.trim().trim_matches(['`', '"', '\'', ',']).trim().to_lowercase();
            matches!(core.as_str(), "or" | "|" | "/" | "||" | "or:" | "または" | "か" | "或" | "或者")
        };
        let between = |a: usize, b: usize| {
            let (first, second) = (self.found.objects.get(a)?, self.found.objects.get(b)?);
            let gap = &self.text[first.span.end..second.span.start];
            (gap.len() < BESIDE_CHARS_MAX).then_some(gap)
        };
        let before = index.checked_sub(1).and_then(|previous| between(previous, index));
        before.is_some_and(is_or) || between(index, index + 1).is_some_and(is_or)
    }

    /// Tells whether the object stands in a comment or an example.
    fn is_inside(&self, index: usize) -> bool {
        aside::is_inside(self.texts_above(line_of(self.lines, self.found.objects[index].span.start)))
    }

    /// Tells whether a sentence that denies or limits it runs from the lines above into the object.
    fn is_denied_above(&self, index: usize) -> bool {
        let line = line_of(self.lines, self.found.objects[index].span.start);
        running::limit_above(self.texts_above(line)).is_some()
    }

    /// Tells whether the lines around a complete object say that it is somebody else's.
    fn is_of_another(&self, index: usize) -> bool {
        let span = &self.found.objects[index].span;
        let line = line_of(self.lines, span.start);
        let quoted = |text: &&str| text.starts_with('>');
        let is_quoted = self.lines.get(line).is_some_and(|line| line.text.trim_start().starts_with('>'));
        let alone = !self.before(index).chars().any(char::is_alphanumeric);
        let names = |text: Option<&str>| text.is_some_and(aside::names_another_above);
        let mut above = self.texts_above(line);
        if alone && (names(self.line_before(index)) || is_quoted && names(above.find(|text| !quoted(text)))) {
            return true;
        }
        let mut below = lines_below(self.lines, span.end);
        is_quoted && below.find(|line| !quoted(&line.text)).is_some_and(|line| aside::disagrees(line.text))
    }

    /// The line with text before the object's line, over blank lines and the opening fence.
    fn line_before(&self, index: usize) -> Option<&'a str> {
        let line = line_of(self.lines, self.found.objects[index].span.start);
        if let Some((known, text)) = self.line_before.get()
            && known == line
        {
            return text;
        }
        let found = self.texts_above(line).next();
        self.line_before.set(Some((line, found)));
        found
    }

    /// The ends of the lines with text above a line, the nearest first.
    fn texts_above(&self, line: usize) -> impl Iterator<Item = &'a str> {
        const LINES_MAX: usize = 6;
        let before = self.lines[..line].iter().rev().take(LINES_MAX);
        before.map(|line| line.text.trim()).filter(is_text).map(tail)
    }
}

/// The beginnings of the lines with text below a place, the nearest first.
pub(crate) fn lines_below<'a>(lines: &'a [Line<'a>], from: usize) -> impl Iterator<Item = Line<'a>> {
    const LINES_MAX: usize = 6;
    let below = lines.iter().skip(line_of(lines, from) + 1).take(LINES_MAX);
    let cut = |line: &Line<'a>| Line { start: line.start, text: head(line.text.trim(), BESIDE_CHARS_MAX) };
    below.map(cut).filter(|line| is_text(&line.text))
}

/// Says so of a line that is neither blank nor a fence.
fn is_text(text: &&str) -> bool {
    !text.is_empty() && !text.starts_with("```") && !text.starts_with("~~~") && !matches!(*text, "[" | ">")
}

/// Tells whether a remark behind a complete object takes it back: `// not yet`, `(two tests fail)`.
fn takes_back_behind(after: &str) -> bool {
    const MARKS: &[&str] = &["//", "/*", "<!--", "#", "(", "-", "–", "—"];
    let rest = after.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\'' | ','));
    let sentence = rest.split(['.', '。', '!']).next().unwrap_or_default();
    let is_remark = MARKS.iter().any(|mark| rest.starts_with(mark));
    is_remark && limit_of(sentence) == Limit::Limited || aside::takes_back(rest) && !rest.is_empty()
}

/// Like [`speaks_of_example`], but without the words that also introduce a real answer ("in the
/// expected format:"): an object with the right id is trusted that far.
fn speaks_of_condition(sentence: &str) -> bool {
    const WORDS: &[&str] = &[
        "if", "when", "once", "unless", "until", "would", "should", "could", "example", "sample", "instance",
        "template", "either", "whenever",
    ];
    let lower = sentence.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| WORDS.contains(&word))
        || ["will not", "won't", "won’t", "do not", "don't", "例", "場合", "もし", "如果", "e.g."]
            .iter()
            .any(|piece| lower.contains(piece))
        || gives_order(sentence)
}

/// Tells whether the text behind an object takes it back: "if the tests pass", "would be wrong".
fn begins_condition(after: &str) -> bool {
    const WORDS: &[&str] =
        &["if", "when", "once", "unless", "until", "would", "only", "or", "should", "could", "may"];
    let rest = after.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '"' | '\''));
    let denied = rest.starts_with(is_cjk) && cjk::read_suffix(rest) == Some(false);
    if denied || rest.starts_with(['?', '？']) {
        return true;
    }
    let sentence = after.split(['.', '。', '!']).next().unwrap_or_default().to_lowercase();
    let mut words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    words.by_ref().take(4).any(|word| WORDS.contains(&word))
        || ["場合", "なら", "なければ"].iter().any(|piece| sentence.contains(piece))
}

/// Tells whether text before an object runs on into it instead of announcing it.
fn is_inside_sentence(before: &str) -> bool {
    const ANNOUNCERS: &[&str] = &[
        "is", "was", "are", "verdict", "decision", "status", "result", "completion", "json", "answer",
        "output", "object", "response", "judgement", "judgment", "conclusion", "final", "は", "判定", "結果",
    ];
    let core = before.trim_end().trim_end_matches(['`', '"', '\'', '*', '_', '(', '[', ' ', '“', '「']);
    let lower = core.to_lowercase();
    let announced = core
        .ends_with([':', '：', '=', '→', '⇒', '.', '!', '?', '。', '-', '–', '—', '>', '|', ')', ';', ','])
        || core.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('#')
        || lower
            .rsplit(|c: char| c.is_whitespace())
            .next()
            .is_some_and(|word| ANNOUNCERS.iter().any(|name| word.ends_with(name)));
    !announced
}

/// Tells whether a line stands in a fenced block.
pub(crate) fn is_fenced(lines: &[Line<'_>], index: usize) -> bool {
    let is_fence = |line: &&Line<'_>| {
        let text = line.text.trim_start();
        text.starts_with("```") || text.starts_with("~~~")
    };
    lines.iter().take(index + 1).filter(is_fence).count() % 2 == 1
}

/// Reads the check id of a text without JSON: a line `check_id: ...`. The right id anywhere wins,
/// else the last one.
pub(crate) fn id_of_text(
    lines: &[Line<'_>],
    masks: &[Range<usize>],
    source: Source,
    expected: Option<&str>,
) -> (CheckIdMatch, Option<Problem>) {
    let Some(expected) = expected else { return (CheckIdMatch::Absent, None) };
    let mut last = (CheckIdMatch::Absent, "");
    for line in lines {
        let next = masks.partition_point(|mask| mask.end <= line.start);
        if masks.get(next).is_some_and(|mask| mask.start < line.start + line.text.len()) {
            continue;
        }
        let Some(got) = split_id_label(line.text) else { continue };
        match check_id::compare(got, expected) {
            CheckIdMatch::Match => return (CheckIdMatch::Match, None),
            CheckIdMatch::Absent => {}
            other => last = (other, got),
        }
    }
    let problem = id_problem(&last.0, source, expected, last.1);
    (last.0, problem)
}

/// Returns what follows `check_id:` on a line.
fn split_id_label(line: &str) -> Option<&str> {
    const LABELS: &[&str] = &[
        "check_id",
        "checkid",
        "check id",
        "check-id",
        "completioncheckid",
        "completion_check_id",
        "completion check id",
    ];
    let dress =
        |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '"' | '\'' | '-' | '>' | '#' | '|');
    let core = line.trim_start_matches(dress);
    let label = LABELS
        .iter()
        .filter(|label| core.get(..label.len()).is_some_and(|head| head.eq_ignore_ascii_case(label)))
        .max_by_key(|label| label.len())?;
    let rest = core[label.len()..].trim_start_matches(dress);
    rest.strip_prefix([':', '=', '：'])
}
