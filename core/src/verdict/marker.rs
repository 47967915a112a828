//! Finds marker lines: lines that are a verdict and nothing else (docs/decisions, "Marker scan").
//!
//! A line is undressed (bullets, emphasis, quotes, symbols), then read; only then its neighbours are
//! asked whether it was meant: a list of the allowed words, the output of a test runner and a line
//! that is introduced by "print this when done:" are no verdicts.

use super::aside;
use super::doubt;
use super::running;
use super::text::{self, Line, is_cjk, is_zero_width, quote};
use super::words::{self, Limit, Word};

/// The two things a marker can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    Complete,
    Incomplete,
}

/// How a marker says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A marker word, alone or behind a label.
    Exact,
    /// A marker word and a text, or a sentence.
    Prose,
}

/// A line that is a marker.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    /// Line number, from 1.
    pub line: usize,
    /// Offset of the line in the text.
    pub start: usize,
    pub says: Says,
    pub form: Form,
    /// The line as it was written, trimmed.
    pub text: String,
    /// What follows the word, where that is a reason.
    pub reason: Option<String>,
}

/// A line that says INCOMPLETE and is no marker.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    /// Line number, from 1.
    pub line: usize,
    /// Offset of the line in the text.
    pub start: usize,
    /// The line as it was written, trimmed.
    pub text: String,
}

impl Doubt {
    /// Names the line, as it reads in a sentence.
    pub(crate) fn quoted(&self) -> String {
        format!("line {} \"{}\"", self.line, quote(&self.text))
    }
}

/// What a scan found, in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    pub markers: Vec<Marker>,
    /// Lines that are markers by form, but only talked about: number and text.
    pub not_asserted: Vec<(usize, String)>,
    /// The last line with a marker word inside a sentence: number and text.
    pub not_alone: Option<(usize, String)>,
    /// The last line that says INCOMPLETE without being a marker.
    pub doubt: Option<Doubt>,
    /// The last line that repeats the prompt.
    pub echo: Option<String>,
}

impl Scan {
    fn note_named(&mut self, view: &View<'_>) {
        if names_in_capitals(view.text) {
            self.not_alone = Some((view.number, view.text.to_owned()));
        }
    }
}

/// Reads all lines of a text. `is_masked` tells which bytes belong to JSON, `is_echo` which lines stood in
/// the prompt behind the line that says something before them.
pub(crate) fn scan(
    lines: &[Line<'_>],
    is_masked: impl Fn(usize, usize) -> bool,
    is_echo: impl Fn(&str, &str) -> bool,
) -> Scan {
    let mut out = Scan::default();
    let views: Vec<View<'_>> = views(lines, is_masked);
    let choices = choices(&views);
    // What is quoted after it is no update of it.
    let mut own_incomplete = false;
    for (index, view) in views.iter().enumerate() {
        match &view.reading {
            Reading::Nothing => {}
            Reading::Named => out.note_named(view),
            Reading::Doubt => {
                out.note_named(view);
                let before = said_before(lines, view.number);
                if !introduces_example(before) && !is_echo(before, view.text) {
                    let (line, start, text) = (view.number, view.start, view.text.to_owned());
                    out.doubt = Some(Doubt { line, start, text });
                    own_incomplete = true;
                }
            }
            Reading::Marker(_) | Reading::NotAsserted
                if is_echo(said_before(lines, view.number), view.text) =>
            {
                out.echo = Some(view.text.to_owned());
            }
            Reading::NotAsserted => out.not_asserted.push((view.number, view.text.to_owned())),
            Reading::Marker(found)
                if choices[index]
                    || is_introduced(&views, index, found)
                    || (own_incomplete && is_quoted(&views, index, found)) =>
            {
                out.not_asserted.push((view.number, view.text.to_owned()));
            }
            Reading::Marker(found) if is_runner_output(&views, index, found) => {}
            Reading::Marker(found) => match limit_around(&views, index, found) {
                Some((_, Limit::Conditional)) => {
                    out.not_asserted.push((view.number, view.text.to_owned()));
                }
                limited => {
                    own_incomplete = !view.fenced && found.says == Says::Incomplete;
                    out.markers.push(asserted(view, found, limited.map(|(sentence, _)| sentence)));
                }
            },
        }
    }
    out
}

/// What the sentence that a COMPLETE stands in does to it, with that sentence: it runs in from the lines above, or on
/// into the next.
fn limit_around(views: &[View<'_>], index: usize, found: &Found) -> Option<(String, Limit)> {
    if found.says == Says::Incomplete {
        return None;
    }
    let next = views.get(index + 1).filter(|next| next.number == views[index].number + 1);
    let goes_on = next.filter(|next| next.text.starts_with(char::is_lowercase));
    let below = goes_on.and_then(|next| Some((next.text.to_owned(), taken_back(next.text)?)));
    below.or_else(|| running::limit_above(views[..index].iter().rev().map(|view| view.text)))
}

/// Tells whether a COMPLETE is only shown: behind a mark of quotation, as the output of a command, or under a line that
/// says whose words they are.
fn is_quoted(views: &[View<'_>], index: usize, found: &Found) -> bool {
    let above = index.checked_sub(1).map_or("", |above| views[above].text);
    let shown = || above.starts_with("$ ") || aside::names_speaker(above);
    // Under a heading of its own a quoted verdict is the checker's.
    let is_own = || text::words(above).count() <= 3 && names_label(above);
    found.says == Says::Complete && (views[index].text.starts_with('>') && !is_own() || shown())
}

/// A marker that is meant; one that a sentence runs into says the opposite.
fn asserted(view: &View<'_>, found: &Found, sentence: Option<String>) -> Marker {
    let (line, start, text) = (view.number, view.start, view.text.to_owned());
    match sentence {
        None => {
            Marker { line, start, says: found.says, form: found.form, text, reason: found.reason.clone() }
        }
        Some(sentence) => {
            let reason = Some(format!("{} {text}", sentence.trim()));
            Marker { line, start, says: Says::Incomplete, form: Form::Prose, text, reason }
        }
    }
}

/// The last line before this one that says something.
fn said_before<'a>(lines: &[Line<'a>], number: usize) -> &'a str {
    let earlier = lines[..number.saturating_sub(1).min(lines.len())].iter().rev();
    earlier.map(|line| line.text).find(|text| text.chars().any(char::is_alphanumeric)).unwrap_or("")
}

/// A line that is not blank, with its reading.
struct View<'a> {
    number: usize,
    start: usize,
    text: &'a str,
    bulleted: bool,
    fenced: bool,
    reading: Reading,
}

/// What a line by itself is.
#[derive(Clone, Debug, PartialEq)]
enum Reading {
    Nothing,
    /// Names a marker word inside other text.
    Named,
    /// Says INCOMPLETE in a form that is none of a marker.
    Doubt,
    /// A choice or a condition.
    NotAsserted,
    Marker(Found),
}

#[derive(Clone, Debug, PartialEq)]
struct Found {
    says: Says,
    form: Form,
    reason: Option<String>,
    /// The bare word, without a label or a text, for the rules about test runners.
    bare_word: Option<MarkerWord>,
    in_capitals: bool,
}

fn views<'a>(lines: &[Line<'a>], is_masked: impl Fn(usize, usize) -> bool) -> Vec<View<'a>> {
    let mut fenced = false;
    let mut out = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let text = line.text.trim_matches(|c: char| c.is_whitespace() || is_zero_width(c));
        if text.starts_with("```") || text.starts_with("~~~") {
            // "```COMPLETE```" is a line of its own kind.
            let opens_and_closes = text.len() > 6 && text.ends_with("```");
            if !opens_and_closes {
                fenced = !fenced;
                continue;
            }
        }
        if text.is_empty() {
            continue;
        }
        let masked = is_masked(line.start, line.start + line.text.len());
        let bare = if masked { None } else { undress(text) };
        out.push(View {
            number: index + 1,
            start: line.start,
            text,
            bulleted: bare.as_ref().is_some_and(|bare| bare.bulleted) || is_bulleted(text),
            fenced,
            reading: bare.map_or(Reading::Nothing, |bare| read(&bare)),
        });
    }
    out
}

fn is_bulleted(text: &str) -> bool {
    strip_bullet(text).is_some()
}

/// Marks lines that only list the words to choose from.
///
/// Neighbouring list items (or lines of one fenced block) that say opposite things are a menu. Of
/// neighbouring "WORD: text" lines only the COMPLETE is dropped: "COMPLETE: ...", then
/// "INCOMPLETE: ..." is INCOMPLETE.
fn choices(views: &[View<'_>]) -> Vec<bool> {
    let mut out = vec![false; views.len()];
    for index in 1..views.len() {
        let (first, second) = (&views[index - 1], &views[index]);
        let (Reading::Marker(a), Reading::Marker(b)) = (&first.reading, &second.reading) else {
            continue;
        };
        let adjacent = second.number - first.number <= 2;
        let listed =
            (first.bulleted && second.bulleted) || (first.fenced && second.fenced && a.form == b.form);
        if !adjacent || a.says == b.says {
            continue;
        }
        let defined = a.form == Form::Prose && b.form == Form::Prose;
        if listed && a.form == Form::Exact && b.form == Form::Exact {
            out[index - 1] = true;
            out[index] = true;
        } else if listed || defined {
            let complete = if a.says == Says::Complete { index - 1 } else { index };
            out[complete] = true;
        }
    }
    // An item of a list of work is no verdict unless it is written as one.
    for (index, view) in views.iter().enumerate() {
        let Reading::Marker(found) = &view.reading else { continue };
        let has_neighbour = (index > 0 && views[index - 1].bulleted)
            || views.get(index + 1).is_some_and(|next| next.bulleted);
        let is_item = view.bulleted && has_neighbour && !found.in_capitals;
        out[index] |= is_item && found.says == Says::Complete;
    }
    out
}

/// Tells whether the line before announces an example or a condition: "When done, print:".
fn is_introduced(views: &[View<'_>], index: usize, found: &Found) -> bool {
    if found.says == Says::Incomplete {
        return false;
    }
    let Some(before) = index.checked_sub(1).map(|i| views[i].text) else { return false };
    introduces_example(before) || aside::is_inside(views[..index].iter().rev().map(|view| view.text))
}

/// Tells whether a line ends in a colon and its last sentence speaks of an example, a choice or a
/// condition, so that what follows is not said now.
pub(crate) fn introduces_example(line: &str) -> bool {
    let core = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`'));
    core.ends_with([':', '：']) && speaks_of_example(last_sentence(core))
}

/// Returns what follows the last full stop: nothing, when the text ends with one.
pub(crate) fn last_sentence(text: &str) -> &str {
    let start = [". ", "! ", "? ", "。", "！", "？"]
        .iter()
        .filter_map(|stop| text.rfind(stop).map(|at| at + stop.len()))
        .max()
        .unwrap_or(0);
    &text[start..]
}

/// Tells whether a sentence speaks of an example, a choice, an order or a condition.
pub(crate) fn speaks_of_example(sentence: &str) -> bool {
    const WORDS: &[&str] = &[
        "if", "when", "once", "unless", "until", "would", "should", "must", "could", "example", "examples",
        "eg", "instance", "sample", "template", "placeholder", "either", "asked", "told", "instructed",
        "instructions", "supposed", "whenever", "options", "allowed", "possible", "later", "before",
        "schema", "syntax", "like",
    ];
    const PHRASES: &[&str] = &[
        "one of", "such as", "will not", "won't", "won’t", "do not", "don't", "don’t", "never ", "format is",
        "expected", "format:", "format：", "e.g.", "you can", "please ", "to signal", "in order to", "例",
        "場合", "もし", "なら", "形式", "如果", "格式",
    ];
    let lower = sentence.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| WORDS.contains(&word)) || PHRASES.iter().any(|piece| lower.contains(piece))
}

/// Tells whether a bare PASS or FAIL stands in the output of a test runner.
fn is_runner_output(views: &[View<'_>], index: usize, found: &Found) -> bool {
    let runner_word =
        matches!(found.bare_word, Some(MarkerWord::Pass | MarkerWord::Fail | MarkerWord::Failed));
    let labelled = found.form == Form::Exact && found.bare_word.is_none();
    let before = index.checked_sub(1).map_or("", |i| views[i].text);
    let after = views.get(index + 1).map_or("", |view| view.text);
    let starts = |text: &str, heads: &[&str]| heads.iter().any(|head| text.starts_with(head));
    let around =
        starts(before, &["--- PASS", "--- FAIL", "--- SKIP", "=== RUN", "=== PAUSE", "ok  \t", "coverage:"])
            || starts(after, &["ok  \t", "ok \t", "ok  ", "ok\t", "FAIL\t", "coverage:", "exit status"]);
    (runner_word && around) || (labelled && starts(before, &["Files=", "All tests successful"]))
}

// ---------------------------------------------------------------------------------------------
// One line by itself.

/// A line without its dress.
#[derive(Debug)]
struct Bare {
    core: String,
    bulleted: bool,
    /// A symbol that says no stood beside the words.
    crossed: bool,
    /// An empty check box stood before them.
    unchecked: bool,
}

/// Removes what only decorates. `None` when the line cannot name a marker at all.
fn undress(text: &str) -> Option<Bare> {
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
fn names_in_capitals(text: &str) -> bool {
    ["COMPLETE", "PASS", "FAIL"].iter().any(|word| text.contains(word))
}

fn names_marker(text: &str) -> bool {
    let bytes = text.as_bytes();
    ["complete", "pass", "fail"]
        .iter()
        .any(|word| bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes())))
}

fn names_label(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    LABELS.iter().any(|label| lower.contains(label))
}

/// `"decision": "complete",` belongs to JSON, and to broken JSON if it is looked at here.
fn is_json_member(text: &str) -> bool {
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
fn strip_once<'a>(text: &'a str, bare: &mut Bare) -> &'a str {
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

/// The words that make a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkerWord {
    NotComplete,
    Incomplete,
    Completed,
    Complete,
    Passed,
    Pass,
    Failure,
    Failed,
    Fail,
}

/// Longest first, so that `COMPLETED` is not read as `COMPLETE` and a rest.
const MARKER_WORDS: &[(&str, MarkerWord)] = &[
    ("not completed", MarkerWord::NotComplete),
    ("not_complete", MarkerWord::NotComplete),
    ("not complete", MarkerWord::NotComplete),
    ("not passed", MarkerWord::NotComplete),
    ("incomplete", MarkerWord::Incomplete),
    ("completed", MarkerWord::Completed),
    ("complete", MarkerWord::Complete),
    ("passed", MarkerWord::Passed),
    ("pass", MarkerWord::Pass),
    ("failure", MarkerWord::Failure),
    ("failed", MarkerWord::Failed),
    ("fail", MarkerWord::Fail),
];

impl MarkerWord {
    fn says(self) -> Says {
        match self {
            Self::Completed | Self::Complete | Self::Passed | Self::Pass => Says::Complete,
            _ => Says::Incomplete,
        }
    }
}

fn read(bare: &Bare) -> Reading {
    let reading = read_core(&bare.core);
    if reading == Reading::Named && !bare.unchecked && doubt::is_doubt(&bare.core) {
        return Reading::Doubt;
    }
    let Reading::Marker(mut found) = reading else { return reading };
    if bare.unchecked {
        return Reading::NotAsserted;
    }
    if found.says == Says::Complete && bare.crossed {
        // "❌ COMPLETE" contradicts itself.
        found.says = Says::Incomplete;
        found.form = Form::Prose;
    }
    Reading::Marker(found)
}

fn read_core(core: &str) -> Reading {
    if words::offers_choice(core) {
        return Reading::NotAsserted;
    }
    if let Some(lead) = split_word(core) {
        return read_lead(&lead, Label::No);
    }
    if let Some(value) = split_label(core) {
        return read_labelled(value);
    }
    if let Some(reading) = read_negated_cjk(core) {
        return reading;
    }
    read_sentence(core).unwrap_or(Reading::Named)
}

/// Whether a label stood before the word, which then needs no reason to be believed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Yes,
    No,
}

fn read_labelled(value: &str) -> Reading {
    let mut unused = Bare { core: String::new(), bulleted: false, crossed: false, unchecked: false };
    let mut value = value.trim();
    loop {
        let shorter = strip_once(value, &mut unused);
        if shorter.len() == value.len() {
            break;
        }
        value = shorter;
    }
    let reading = match split_word(value) {
        Some(lead) => read_lead(&lead, Label::Yes),
        None => read_unfinished(value).unwrap_or_else(|| read_negated(value)),
    };
    if reading == Reading::Named && (doubt::is_open_value(value) || says_incomplete(value)) {
        return Reading::Doubt;
    }
    match reading {
        Reading::Marker(mut found) => {
            found.bare_word = None;
            found.in_capitals = true;
            if unused.crossed && found.says == Says::Complete {
                found.says = Says::Incomplete;
            }
            Reading::Marker(found)
        }
        other => other,
    }
}

/// `FAIL (2 tests)`, `INCOMPLETE. Lint is red.`: of the runner's counters, those that count nothing say nothing.
fn says_incomplete(value: &str) -> bool {
    let lead = split_word(value).filter(|lead| lead.says() == Says::Incomplete);
    lead.is_some_and(|lead| {
        let mut digits = lead.rest.chars().filter(char::is_ascii_digit).peekable();
        let counts_nothing = digits.peek().is_some() && digits.all(|digit| digit == '0');
        let reason = lead.rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        !counts_nothing && !is_nothing(reason) && !words::is_refusal(reason)
    })
}

/// `needs_work`, `in progress: the docs`: the words for an open verdict that are no markers by themselves.
fn read_unfinished(value: &str) -> Option<Reading> {
    let dashed = value.split([':', ';', ',', '.', '(', '–', '—', '：', '、', '。']).next()?;
    let word = dashed.split(" - ").next()?;
    if words::read_exact(word) != Some(Word::Incomplete) {
        return None;
    }
    let rest = value[word.len()..].trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
    let form = if rest.is_empty() { Form::Exact } else { Form::Prose };
    Some(marker(Says::Incomplete, form, Some(rest)))
}

/// `not yet complete`, `almost COMPLETE`, `未COMPLETE` behind a label.
fn read_negated(value: &str) -> Reading {
    const NEGATIONS: &[&str] = &[
        "not", "yet", "almost", "nearly", "partially", "mostly", "never", "isn't", "only", "quite", "fully",
        "still", "half",
    ];
    if let Some(reading) = read_negated_cjk(value) {
        return reading;
    }
    let lower = value.to_lowercase();
    let mut words = lower.split_whitespace().peekable();
    let mut negated = false;
    while words.next_if(|word| NEGATIONS.contains(word)).is_some() {
        negated = true;
    }
    let rest: Vec<&str> = words.collect();
    match rest.as_slice() {
        [word] if negated => match split_word(word) {
            Some(lead) if is_final_stop(lead.rest) && lead.says() == Says::Complete => {
                marker(Says::Incomplete, Form::Prose, Some(value))
            }
            None if words::read_exact(word) == Some(Word::Complete) => {
                marker(Says::Incomplete, Form::Prose, Some(value))
            }
            _ => Reading::Named,
        },
        _ => Reading::Named,
    }
}

/// `未COMPLETE`: negated by the character before.
fn read_negated_cjk(core: &str) -> Option<Reading> {
    let rest = core.strip_prefix(['未', '不', '非'])?;
    let lead = split_word(rest.trim_start())?;
    (is_final_stop(lead.rest) && lead.says() == Says::Complete)
        .then(|| marker(Says::Incomplete, Form::Prose, Some(core)))
}

fn marker(says: Says, form: Form, reason: Option<&str>) -> Reading {
    let reason = reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    Reading::Marker(Found { says, form, reason, bare_word: None, in_capitals: true })
}

/// A marker word at the beginning of a text.
#[derive(Clone, Copy, Debug)]
struct Lead<'a> {
    word: MarkerWord,
    /// The word as it is written.
    head: &'a str,
    /// What follows it.
    rest: &'a str,
}

impl Lead<'_> {
    fn says(&self) -> Says {
        self.word.says()
    }

    fn in_capitals(&self) -> bool {
        !self.head.chars().any(|c| c.is_ascii_lowercase())
    }

    /// The word with another text behind it, for a reason.
    fn with(&self, rest: &str) -> String {
        format!("{}{rest}", self.head)
    }
}

/// Splits a marker word off the front, unless it is only the beginning of a longer word or name.
fn split_word(text: &str) -> Option<Lead<'_>> {
    MARKER_WORDS.iter().find_map(|(name, word)| {
        let head = text.get(..name.len()).filter(|head| head.eq_ignore_ascii_case(name))?;
        let rest = &text[name.len()..];
        let mut next = rest.chars();
        let joined = match next.next() {
            Some('_' | '\'' | '’' | '\\' | '@' | '$' | '=') => true,
            Some('-' | '.' | ':' | '/') => {
                next.next().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | ':'))
                    && (!rest.starts_with(':') || rest.starts_with("::"))
            }
            Some(c) => c.is_alphanumeric() && !is_cjk(c),
            None => false,
        };
        (!joined).then_some(Lead { word: *word, head, rest })
    })
}

/// What a verdict is announced by, in small letters, a longer label before its beginning.
const LABELS: &[&str] =
    &["verdict", "decision", "status", "result", "completion", "判定結果", "判定", "結果"];

/// Splits a label such as `Final verdict:` off the front and returns what follows.
fn split_label(text: &str) -> Option<&str> {
    const QUALIFIERS: &[&str] = &["final", "overall", "最終", "総合", "the"];
    let mut rest = text.trim_start();
    let mut labels = 0;
    loop {
        let head = |name: &&&str| rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        if let Some(name) = LABELS.iter().find(head) {
            labels += 1;
            rest = &rest[name.len()..];
        } else if let Some(name) = QUALIFIERS.iter().find(head).filter(|_| labels == 0) {
            rest = &rest[name.len()..];
        } else {
            return None;
        }
        let trimmed = rest.trim_start();
        if labels > 0
            && let Some(value) = split_separator(trimmed, trimmed.len() < rest.len())
        {
            return Some(value);
        }
        if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/')) {
            return None;
        }
        rest = trimmed;
    }
}

fn split_separator(text: &str, after_blank: bool) -> Option<&str> {
    if let Some(rest) = text.strip_prefix([':', '：', '=', '＝', 'は']) {
        return Some(rest.strip_prefix('=').unwrap_or(rest));
    }
    if let Some(rest) = split_dash(text, after_blank) {
        return Some(rest);
    }
    let rest = text.get(..2).filter(|head| head.eq_ignore_ascii_case("is")).map(|_| &text[2..])?;
    (after_blank && rest.starts_with([' ', ':', '\t'])).then(|| rest.trim_start_matches(':'))
}

/// Splits off a dash that separates: a long one, or a hyphen (or two) with a blank beside it.
fn split_dash(text: &str, after_blank: bool) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(['–', '—', '―', '－', 'ー', '→', '⇒']) {
        return Some(rest.trim_start_matches(['–', '—', '―']));
    }
    let rest = text.strip_prefix('-')?.trim_start_matches(['-', '>']);
    (after_blank || rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest)
}

fn read_lead(lead: &Lead<'_>, label: Label) -> Reading {
    let says = lead.says();
    let trimmed = lead.rest.trim_start();
    let after_blank = trimmed.len() < lead.rest.len();
    if is_final_stop(trimmed) {
        let (bare_word, in_capitals) = (Some(lead.word), lead.in_capitals());
        let form = Form::Exact;
        return Reading::Marker(Found { says, form, reason: None, bare_word, in_capitals });
    }
    if trimmed.starts_with(['?', '？']) {
        return if says == Says::Complete || lead.word == MarkerWord::Incomplete {
            marker(Says::Incomplete, Form::Prose, Some(&lead.with(trimmed)))
        } else {
            Reading::Named
        };
    }
    if trimmed.starts_with(is_cjk) {
        return read_cjk(lead, trimmed);
    }
    if trimmed.starts_with([',', ';', '，', '、']) {
        return read_comma(lead, trimmed);
    }
    if let Some(text) = split_reason(trimmed, after_blank) {
        return read_text(lead, text.trim(), label);
    }
    read_words(lead, trimmed)
}

fn is_final_stop(rest: &str) -> bool {
    matches!(rest, "" | "." | "。" | "!" | "！" | "!!" | "!!!" | ".!" | "．")
}

/// Splits off `:`, a dash or a bracket between the word and its text.
fn split_reason(text: &str, after_blank: bool) -> Option<&str> {
    if let Some(rest) = text.strip_prefix([':', '：']) {
        return Some(rest);
    }
    if let Some(rest) = split_dash(text, after_blank) {
        return Some(rest);
    }
    let core = text.trim_end_matches(['.', '!', '。']);
    core.strip_prefix(['(', '（'])?.strip_suffix([')', '）'])
}

/// `COMPLETEではない`, `COMPLETEです`, `FAILなし`.
fn read_cjk(lead: &Lead<'_>, suffix: &str) -> Reading {
    match (lead.says(), words::read_suffix_cjk(suffix)) {
        (Says::Complete, Some(true)) => marker(Says::Complete, Form::Prose, None),
        (Says::Complete, Some(false)) => marker(Says::Incomplete, Form::Prose, Some(&lead.with(suffix))),
        (Says::Incomplete, Some(true)) => marker(Says::Incomplete, Form::Prose, None),
        _ => Reading::Named,
    }
}

/// `complete, but two tests still fail`.
fn read_comma(lead: &Lead<'_>, rest: &str) -> Reading {
    let text = rest.trim_start_matches([',', ';', '，', '、']);
    match lead.says() {
        Says::Complete if words::limit_of(text) == Limit::Limited => {
            marker(Says::Incomplete, Form::Prose, Some(&lead.with(rest)))
        }
        Says::Incomplete if lead.word == MarkerWord::Incomplete && is_reason(text) => {
            marker(Says::Incomplete, Form::Prose, Some(text))
        }
        _ => Reading::Named,
    }
}

/// Tells whether a text takes the COMPLETE before it back with its first word.
fn taken_back(text: &str) -> Option<Limit> {
    const TAKES_BACK: &[&str] =
        &["but", "except", "excepting", "however", "although", "though", "apart", "aside", "minus"];
    const CONDITIONS: &[&str] = &["if", "when", "once", "unless", "until", "or", "only", "after"];
    let first: String =
        text.chars().take_while(|c| c.is_ascii_alphabetic()).collect::<String>().to_lowercase();
    if CONDITIONS.contains(&first.as_str()) {
        return Some(Limit::Conditional);
    }
    TAKES_BACK.contains(&first.as_str()).then_some(Limit::Limited)
}

/// A word and, behind only a blank, other words: a marker only when these take it back at once.
fn read_words(lead: &Lead<'_>, rest: &str) -> Reading {
    let limit = taken_back(rest);
    if limit == Some(Limit::Conditional) {
        return Reading::NotAsserted;
    }
    let takes_back = limit == Some(Limit::Limited);
    let figure = rest.starts_with(|c: char| c.is_ascii_digit()) && words::has_unmet_ratio(rest);
    let plain_word = matches!(lead.word, MarkerWord::Complete | MarkerWord::Completed);
    if lead.says() == Says::Complete && (takes_back || (figure && plain_word)) {
        return marker(Says::Incomplete, Form::Prose, Some(&lead.with(&format!(" {rest}"))));
    }
    Reading::Named
}

/// A word, a separator and a text.
fn read_text(lead: &Lead<'_>, text: &str, label: Label) -> Reading {
    let in_capitals = lead.in_capitals();
    let reading = match lead.word {
        MarkerWord::Complete => read_complete_text(text, in_capitals),
        MarkerWord::Completed | MarkerWord::Passed | MarkerWord::Pass if label == Label::Yes => {
            read_complete_text(text, true)
        }
        MarkerWord::Completed | MarkerWord::Passed | MarkerWord::Pass => Reading::Named,
        MarkerWord::Incomplete | MarkerWord::NotComplete if text.is_empty() && in_capitals => {
            marker(Says::Incomplete, Form::Prose, None)
        }
        _ if is_reason(text) => marker(Says::Incomplete, Form::Prose, Some(text)),
        _ => Reading::Named,
    };
    match reading {
        Reading::Marker(found) => Reading::Marker(Found { in_capitals, ..found }),
        other => other,
    }
}

fn read_complete_text(text: &str, in_capitals: bool) -> Reading {
    if text.is_empty() || text.starts_with(['|', '/']) {
        return Reading::Named;
    }
    if words::is_assent(text) {
        return marker(Says::Complete, Form::Prose, None);
    }
    if words::is_refusal(text) || (text.len() < 40 && words::has_unmet_ratio(text)) {
        return marker(Says::Incomplete, Form::Prose, Some(text));
    }
    if is_value(text) && !reports_success(text) {
        return Reading::Named;
    }
    match words::limit_of(text) {
        Limit::Limited => marker(Says::Incomplete, Form::Prose, Some(text)),
        Limit::Conditional => Reading::NotAsserted,
        Limit::Free if in_capitals || speaks_of_all(text) => marker(Says::Complete, Form::Prose, None),
        Limit::Free => Reading::Named,
    }
}

/// `12 passed, 0 failed`: counters, but of a success; what they count is looked at as a limit.
fn reports_success(text: &str) -> bool {
    const SUCCESSES: &[&str] =
        &["passed", "passing", "0 fail", "0 error", "0 warning", "0 issue", "0 problem"];
    let lower = text.to_lowercase();
    SUCCESSES.iter().any(|piece| lower.contains(piece))
}

/// "Complete: the login page" lists what is done so far; "Complete: all checks pass" is a verdict.
fn speaks_of_all(text: &str) -> bool {
    const TOTALS: &[&str] =
        &["all", "every", "everything", "done", "finished", "green", "verified", "nothing", "no"];
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| TOTALS.contains(&word)) || text.chars().any(is_cjk)
}

/// Tells whether a text is a reason in words: no number, no file name, no list of counters, no line
/// of a test runner.
fn is_reason(text: &str) -> bool {
    let has_word = text.chars().filter(|c| c.is_alphabetic()).count() >= 2;
    has_word && !words::is_refusal(text) && !is_value(text) && !is_nothing(text) && !is_timed(text)
}

fn is_nothing(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    matches!(core.as_str(), "nothing" | "true" | "yes" | "なし" | "無し" | "無" | "zero" | "ok")
}

/// `TestFoo (0.01s)`, `pkg 0.01s`: ends in a duration.
fn is_timed(text: &str) -> bool {
    let Some(last) = text.split_whitespace().next_back() else { return false };
    let core = last.trim_matches(['(', ')', '[', ']']);
    let digits = core.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &core[digits.len()..];
    matches!(unit, "s" | "ms" | "sec" | "us" | "ns")
        && !digits.is_empty()
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Tells whether a text is a figure, a list of counters, file names or one identifier.
fn is_value(text: &str) -> bool {
    let pieces: Vec<&str> = text.split([',', ';', '|']).map(str::trim).collect();
    if pieces.iter().all(|piece| is_counter(piece)) {
        return true;
    }
    text.split_whitespace().all(|word| is_name(word) || is_figure(word)) && !is_plain_word(text)
}

/// `12`, `12 passed`, `FAIL: 0`, `failures=1`, `3/10`, `40%`.
fn is_counter(piece: &str) -> bool {
    let words: Vec<&str> =
        piece.split([' ', '\t', ':', '=', '(', ')']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [] => true,
        [one] => is_figure(one),
        [first, second] => is_figure(first) != is_figure(second) || is_figure(first),
        [first, "of" | "/" | "out", .., last] => is_figure(first) && is_figure(last),
        _ => false,
    }
}

fn is_figure(word: &str) -> bool {
    let core = word.trim_end_matches(['.', '%', ',']);
    core.starts_with(|c: char| c.is_ascii_digit())
        && core.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '/' | '%'))
}

/// A path, a file or an identifier of a program.
fn is_name(word: &str) -> bool {
    let core = word.trim_matches(['`', '"', '\'', '(', ')', ',']).trim_end_matches(['.', ':']);
    if core.is_empty() || core.chars().any(is_cjk) {
        return false;
    }
    let inner_dot = core.contains('.') && !core.contains("..");
    let mixed = core.chars().any(|c| c.is_lowercase()) && core.chars().skip(1).any(|c| c.is_uppercase());
    core.contains(['/', '\\', '_']) || core.contains("::") || inner_dot || mixed
}

fn is_plain_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphabetic() || c == '-' || c.is_whitespace())
        && !text.split_whitespace().any(is_name)
}

/// "the task is **not** COMPLETE.": task, work, step or everything; the word in capitals.
fn read_sentence(core: &str) -> Option<Reading> {
    let mut words = core.split_whitespace().peekable();
    words.next_if(|word| word.eq_ignore_ascii_case("the") || word.eq_ignore_ascii_case("this"));
    let subject = words.next()?.to_ascii_lowercase();
    if !["task", "work", "step", "everything"].contains(&subject.as_str()) {
        return None;
    }
    let verb = words.next()?.to_ascii_lowercase();
    let mut negated = matches!(verb.as_str(), "isn't" | "isn’t");
    if !negated && verb != "is" {
        return None;
    }
    negated |= words.next_if(|word| word.eq_ignore_ascii_case("not")).is_some();
    let last = words.next()?;
    let word = last.trim_end_matches(['.', '!', ',', ';', ':']);
    let says = match (word, negated) {
        ("COMPLETE", false) => Says::Complete,
        ("COMPLETE", true) | ("INCOMPLETE", false) => Says::Incomplete,
        _ => return None,
    };
    let tail: Vec<&str> = words.collect();
    let tail = tail.join(" ");
    match (says, words::limit_of(&tail)) {
        _ if tail.is_empty() => Some(marker(says, Form::Prose, None)),
        (Says::Complete, Limit::Limited) => Some(marker(Says::Incomplete, Form::Prose, Some(&quote(core)))),
        (Says::Incomplete, Limit::Free | Limit::Limited) if last.len() > word.len() => {
            Some(marker(says, Form::Prose, Some(&tail)))
        }
        (_, Limit::Conditional) => Some(Reading::NotAsserted),
        _ => Some(Reading::Named),
    }
}
