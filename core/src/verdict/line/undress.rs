//! Takes off what only decorates a line: bullets, check boxes, emphasis, quotes, symbols.

use super::reading::LABELS;
use crate::verdict::text::is_zero_width;
use crate::verdict::words;

pub(in crate::verdict) fn is_bulleted(text: &str) -> bool {
    strip_bullet(text).is_some()
}

/// `- [ ] write docs`: an item of a list that is still to be done.
pub(in crate::verdict) fn is_open_item(text: &str) -> bool {
    let rest = strip_bullet(text.trim()).map_or(text.trim(), str::trim_start);
    let unchecked = ["[ ]", "[]", "☐", "⬜", "◻"].iter().find_map(|mark| rest.strip_prefix(mark));
    unchecked.is_some_and(|rest| {
        let names_marker = ["COMPLETE", "PASS"].iter().any(|word| rest.contains(word));
        rest.starts_with(char::is_whitespace) && rest.contains(char::is_alphanumeric) && !names_marker
    })
}

/// A line without its dress.
#[derive(Debug)]
pub(in crate::verdict) struct Bare {
    pub(in crate::verdict) core: String,
    pub(in crate::verdict) bulleted: bool,
    /// A symbol that says no stood beside the words.
    pub(in crate::verdict) crossed: bool,
    /// An empty check box stood before them.
    pub(in crate::verdict) unchecked: bool,
}

/// Removes what only decorates. `None` when the line cannot name a marker at all.
pub(in crate::verdict) fn undress(text: &str) -> Option<Bare> {
    let visible: String = text.chars().filter(|c| !is_zero_width(*c)).collect();
    if !(names_marker(&visible) || names_label(&visible)) || is_json_member(&visible) {
        return None;
    }
    let unstruck = remove_struck(&visible);
    let mut rest = unstruck.trim();
    let mut bare = Bare { core: String::new(), bulleted: false, crossed: false, unchecked: false };
    while let Some(shorter) = strip_bullet(rest) {
        bare.bulleted = true;
        rest = shorter.trim_start();
        if let Some(after) = strip_checkbox(rest) {
            bare.unchecked |= rest.starts_with("[ ]") || rest.starts_with("[]");
            rest = after.trim_start();
        }
    }
    let plain = remove_emphasis(rest);
    let mut rest = plain.trim();
    loop {
        let shorter = strip_once(rest, &mut bare);
        if shorter.len() == rest.len() {
            break;
        }
        rest = shorter;
    }
    bare.core = rest.to_owned();
    Some(bare)
}

/// Prose may say "pass" and "complete" as it likes; in capitals they were meant as markers.
pub(in crate::verdict) fn names_in_capitals(text: &str) -> bool {
    ["COMPLETE", "PASS", "FAIL"].iter().any(|word| text.contains(word))
}

fn names_marker(text: &str) -> bool {
    let bytes = text.as_bytes();
    ["complete", "pass", "fail"]
        .iter()
        .any(|word| bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes())))
}

pub(in crate::verdict) fn names_label(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    LABELS.iter().any(|label| lower.contains(label))
}

/// `"decision": "complete",` belongs to JSON, and to broken JSON if it is looked at here.
pub(in crate::verdict) fn is_json_member(text: &str) -> bool {
    let Some(rest) = text.trim_start_matches(['{', ',', ' ']).strip_prefix(['"', '\'']) else {
        return false;
    };
    let key_end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | ' ')));
    key_end.is_some_and(|end| {
        end > 0 && rest[end..].starts_with(['"', '\'']) && rest[end + 1..].trim_start().starts_with(':')
    })
}

/// Takes out `~~struck~~` text: its writer took it back.
fn remove_struck(text: &str) -> String {
    let mut parts = text.split("~~");
    let mut out = parts.next().unwrap_or_default().to_owned();
    loop {
        match (parts.next(), parts.next()) {
            (Some(_), Some(after)) => out.push_str(after),
            (Some(open), None) => {
                out.push_str("~~");
                out.push_str(open);
                return out;
            }
            (None, _) => return out,
        }
    }
}

/// Removes stars and code ticks when they come in pairs; a lone star is a footnote, not emphasis.
fn remove_emphasis(text: &str) -> String {
    let is_paired = |c: char| text.matches(c).count().is_multiple_of(2);
    let (stars, ticks) = (is_paired('*'), is_paired('`'));
    let plain: String = text.chars().filter(|c| !(*c == '*' && stars || *c == '`' && ticks)).collect();
    if plain.matches("__").count().is_multiple_of(2) { plain.replace("__", "") } else { plain }
}

/// Takes one list bullet, number, heading or quotation mark of Markdown off the front.
fn strip_bullet(text: &str) -> Option<&str> {
    let after_blank = |rest: &str| rest.starts_with(char::is_whitespace);
    if let Some(rest) = text.strip_prefix(['-', '*', '+', '•', '‣', '◦', '▪', '●', '○', '・', '–', '—'])
        && after_blank(rest)
    {
        return Some(rest);
    }
    if let Some(rest) = text.strip_prefix('>') {
        return Some(rest);
    }
    let rest = text.trim_start_matches('#');
    if rest.len() < text.len() && text.len() - rest.len() <= 6 && after_blank(rest) {
        return Some(rest);
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let rest = rest.strip_prefix(['.', ')'])?;
    ((1..=3).contains(&digits) && after_blank(rest)).then_some(rest)
}

fn strip_checkbox(text: &str) -> Option<&str> {
    ["[ ]", "[]", "[x]", "[X]", "[✓]", "[✔]"]
        .iter()
        .find_map(|mark| text.strip_prefix(mark).filter(|rest| rest.starts_with(char::is_whitespace)))
}

/// Takes one layer off: symbols, rules, pipes, a pair of quotes or brackets, a tag.
pub(in crate::verdict) fn strip_once<'a>(text: &'a str, bare: &mut Bare) -> &'a str {
    let text = text.trim();
    for side in [text.chars().next(), text.chars().next_back()] {
        match side {
            Some(c) if words::is_cross(c) => {
                bare.crossed = true;
                return text.strip_prefix(c).or_else(|| text.strip_suffix(c)).unwrap_or(text);
            }
            Some('☐' | '⬜' | '🔲' | '◻') => {
                bare.unchecked = true;
                return text.trim_matches(['☐', '⬜', '🔲', '◻']);
            }
            Some(c) if is_check_mark(c) => return text.trim_matches(is_check_mark),
            _ => {}
        }
    }
    if let Some(core) = text.strip_suffix(['.', '!']).filter(|core| core.ends_with(is_check_mark)) {
        return core;
    }
    if let Some(after) = strip_checkbox(text) {
        bare.unchecked |= text.starts_with("[ ]") || text.starts_with("[]");
        return after;
    }
    let unruled = strip_rule(text);
    if unruled.len() < text.len() {
        return unruled;
    }
    let is_pipe = |c: char| matches!(c, '|' | '｜' | '│' | '┃' | '║');
    if text.starts_with(is_pipe) && text.ends_with(is_pipe) {
        return text.trim_matches(is_pipe);
    }
    strip_tag(text).or_else(|| strip_pair(text)).unwrap_or(text)
}

fn is_check_mark(c: char) -> bool {
    matches!(
        c,
        '✅' | '✔'
            | '✓'
            | '☑'
            | '🗸'
            | '🎉'
            | '🎊'
            | '🟢'
            | '🏁'
            | '👍'
            | '✨'
            | '🏆'
            | '💯'
            | '🚀'
            | '👉'
            | '➡'
            | '→'
            | '▶'
            | '■'
            | '◆'
            | '★'
            | '☆'
            | '🔹'
            | '📋'
            | '📝'
    )
}

/// `===`, `---` and the like, three or more of one kind, on either side.
fn strip_rule(text: &str) -> &str {
    for c in ['=', '-', '#', '~', '+', '_', '─', '━', '═', '*'] {
        let front = text.trim_start_matches(c);
        if text.len() - front.len() >= 3 * c.len_utf8() && !front.is_empty() {
            return front;
        }
        let back = text.trim_end_matches(c);
        if text.len() - back.len() >= 3 * c.len_utf8() && !back.is_empty() {
            return back;
        }
    }
    if text.starts_with("==") && text.ends_with("==") && text.len() > 4 {
        return &text[2..text.len() - 2];
    }
    text
}

/// Unwraps the tags that mean a verdict.
fn strip_tag(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('<')?;
    let (name, rest) = rest.split_once('>')?;
    let name = name.trim().to_ascii_lowercase();
    if !["decision", "verdict", "promise"].contains(&name.as_str()) {
        return None;
    }
    let inner = rest.trim_end_matches(['.', '!']).trim_end().strip_suffix('>')?;
    let (inner, closing) = inner.rsplit_once("</")?;
    (closing.trim().eq_ignore_ascii_case(&name) && !inner.contains('<')).then_some(inner)
}

/// Takes off a pair of quotes, brackets or underscores around all, with a full stop behind it.
fn strip_pair(text: &str) -> Option<&str> {
    const PAIRS: &[(char, char)] = &[
        ('"', '"'),
        ('\'', '\''),
        ('“', '”'),
        ('”', '”'),
        ('‘', '’'),
        ('’', '’'),
        ('«', '»'),
        ('「', '」'),
        ('『', '』'),
        ('【', '】'),
        ('〈', '〉'),
        ('《', '》'),
        ('(', ')'),
        ('（', '）'),
        ('[', ']'),
        ('［', '］'),
        ('_', '_'),
        ('*', '*'),
        ('`', '`'),
        ('<', '>'),
    ];
    let core = text.strip_suffix(['.', '!', '。']).unwrap_or(text);
    PAIRS.iter().find_map(|(open, close)| {
        let inner = core.strip_prefix(*open)?.strip_suffix(*close)?;
        (!inner.is_empty() && !inner.contains([*open, *close]) || *open == '_' && is_dunder(inner))
            .then_some(inner)
    })
}

/// `_COMPLETE_` within `__COMPLETE__`.
fn is_dunder(inner: &str) -> bool {
    inner.starts_with('_') && inner.ends_with('_') && !inner.trim_matches('_').contains('_')
}
