//! Finds marker lines: lines that are a verdict and nothing else (docs/decisions.md, "Marker lines").
//!
//! A line is undressed (bullets, emphasis, quotes, symbols), then read; only then its neighbours are
//! asked whether it was meant: a list of the allowed words, the output of a test runner and a line
//! that is introduced by "print this when done:" are no verdicts.

use super::aside;
use super::doubt;
use super::example::introduces_example;
use super::heading;
use super::reading::{Form, Found, MarkerWord, Reading, Says, read, taken_back};
use super::recant;
use super::running;
use super::undress::{is_bulleted, is_json_member, is_open_item, names_in_capitals, names_label, undress};
use crate::verdict::remark::limits::Limit;
use crate::verdict::sense::is_nothing;
use crate::verdict::text::{self, Line, is_zero_width, quote};

/// A line that is a marker.
#[derive(Clone, Debug)]
pub(in crate::verdict) struct Marker {
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
pub(in crate::verdict) struct Doubt {
    /// Line number, from 1.
    pub line: usize,
    /// Offset of the line in the text.
    pub start: usize,
    /// The line as it was written, trimmed.
    pub text: String,
}

impl Doubt {
    /// Names the line, as it reads in a sentence.
    pub(in crate::verdict) fn quoted(&self) -> String {
        format!("line {} \"{}\"", self.line, quote(&self.text))
    }
}

/// What a scan found, in the order of the text.
#[derive(Debug, Default)]
pub(in crate::verdict) struct Scan {
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

/// Reads all lines of a text. `is_masked` tells which bytes belong to JSON, `is_echo` which lines, by where
/// they begin, stood in the prompt behind the line that says something before them.
pub(in crate::verdict) fn scan(
    lines: &[Line<'_>],
    is_masked: impl Fn(usize, usize) -> bool,
    is_echo: impl Fn(&str, usize, &str) -> bool,
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
                if !introduces_example(before) && !is_echo(before, view.start, view.text) {
                    let (line, start, text) = (view.number, view.start, view.text.to_owned());
                    out.doubt = Some(Doubt { line, start, text });
                    own_incomplete = true;
                }
            }
            Reading::Marker(_) | Reading::NotAsserted
                if is_echo(said_before(lines, view.number), view.start, view.text) =>
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
    let taken = views.get(index + 1).filter(|next| aside::takes_back(next.text));
    let below = below.or_else(|| taken.map(|next| (next.text.to_owned(), Limit::Limited)));
    let above = || running::limit_above(views[..index].iter().rev().map(|view| view.text));
    below
        .or_else(above)
        .or_else(|| Some((heading_of_no_verdict(views, index, found)?.to_owned(), Limit::Limited)))
}

/// The line above a COMPLETE, or above the list that it stands in, where that announces something else than a verdict.
fn heading_of_no_verdict<'a>(views: &[View<'a>], index: usize, found: &Found) -> Option<&'a str> {
    const LINES_MAX: usize = 64;
    let above = views[..index].last()?;
    if found.bare_word.is_some() && heading::announces_no_verdict(above.text)
        || heading::announces_unreal(above.text)
    {
        return Some(above.text);
    }
    let mut list = views[..index].iter().rev().take(LINES_MAX).filter(|_| views[index].bulleted);
    list.find(|view| !view.bulleted).map(|view| view.text).filter(|text| heading::announces_unreal(text))
}

/// Tells whether a COMPLETE is only shown: behind a mark of quotation, as the output of a command, or under a line that
/// says whose words they are.
fn is_quoted(views: &[View<'_>], index: usize, found: &Found) -> bool {
    let above = index.checked_sub(1).map_or("", |above| views[above].text);
    let shown = || is_command(above) || aside::names_speaker(above);
    // Under a heading of its own a quoted verdict is the checker's.
    let is_own = || text::words(above).count() <= 3 && names_label(above);
    found.says == Says::Complete && (views[index].text.starts_with('>') && !is_own() || shown())
}

/// `$ cat verdict.txt`, `me@host:~$ cat verdict.txt`.
fn is_command(line: &str) -> bool {
    let prompt = line.split_once(['$', '❯']).filter(|(_, command)| command.starts_with(' '));
    prompt.is_some_and(|(prompt, _)| !prompt.contains(char::is_whitespace))
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

fn views<'a>(lines: &[Line<'a>], is_masked: impl Fn(usize, usize) -> bool) -> Vec<View<'a>> {
    let mut fenced = false;
    let mut out = Vec::new();
    let thoughts = aside::thoughts(lines);
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
        let reading = match bare.as_ref().map_or(Reading::Nothing, read) {
            // "It is not done." names no marker, and takes one back.
            Reading::Nothing if !masked && doubt::denies(text) => Reading::Doubt,
            Reading::Nothing | Reading::Named if !masked && !fenced && takes_back(text) => Reading::Doubt,
            Reading::Marker(found) if found.says == Says::Complete && aside::holds(&thoughts, line.start) => {
                Reading::NotAsserted
            }
            reading => reading,
        };
        out.push(View {
            number: index + 1,
            start: line.start,
            text,
            bulleted: bare.as_ref().is_some_and(|bare| bare.bulleted) || is_bulleted(text),
            fenced,
            reading,
        });
    }
    for index in 1..out.len() {
        if opens_list_of_open(&out[index - 1], &out[index]) {
            out[index].reading = Reading::Doubt;
        }
    }
    out
}

/// Says whether a line is the first of a list of what is left: `Missing:` and, below, `- the docs`.
fn opens_list_of_open(heading: &View<'_>, item: &View<'_>) -> bool {
    let says = |view: &View<'_>| matches!(view.reading, Reading::Nothing | Reading::Named) && !view.fenced;
    let named = item.text.trim_matches(|c: char| !c.is_alphanumeric());
    says(heading)
        && says(item)
        && item.bulleted
        && !item.text.contains("[x]")
        && recant::opens_list_of_open(heading.text)
        && !is_nothing(named)
}

/// Says whether a line that is no marker takes a COMPLETE above it back: `Update: INCOMPLETE`, `- [ ] write docs`.
fn takes_back(text: &str) -> bool {
    !is_json_member(text) && (is_open_item(text) || recant::is_against(text))
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
    let before = index.checked_sub(1).map_or("", |above| views[above].text);
    // The output of a command is no verdict; below the block that shows it one may stand.
    let is_output = is_command(before) && views[index - 1].fenced == views[index].fenced;
    introduces_example(before)
        || is_output
        || aside::is_inside(views[..index].iter().rev().map(|view| view.text))
        || is_of_another(views, index)
}

/// Tells whether a COMPLETE is somebody else's: the line above it, or above the quotation that it stands in, names them, or
/// the line below that quotation does not agree with it.
fn is_of_another(views: &[View<'_>], index: usize) -> bool {
    const LINES_MAX: usize = 64;
    let quoted = |view: &&View<'_>| view.text.starts_with('>');
    let is_quoted = quoted(&&views[index]);
    let inside = |view: &&View<'_>| if is_quoted { quoted(view) } else { views[index].fenced && view.fenced };
    let lines_in = views[..index].iter().rev().take(LINES_MAX).take_while(inside).count();
    let names = |above: usize| {
        index.checked_sub(above + 1).is_some_and(|at| aside::names_another_above(views[at].text))
    };
    let below = || views[index + 1..].iter().take(LINES_MAX).find(|view| !quoted(view));
    names(0) || names(lines_in) || (is_quoted && below().is_some_and(|view| aside::disagrees(view.text)))
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
