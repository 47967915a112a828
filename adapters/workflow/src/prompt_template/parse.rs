//! From text to a tree of text, placeholders, lists and conditions.
//!
//! The parser is our own because `handlebars`, which knows this syntax, takes away the white space of lines that
//! hold nothing but a block, with no way to have it back: its tree has neither that text nor its place. docs/registry.md
//! has what else was tried.

use std::collections::BTreeSet;

use unstuck_document::{nearest, quote};

/// A problem of a template, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateProblem {
    /// Where it begins, in bytes from the start of the text.
    pub offset: usize,
    /// The first line is 1.
    pub line: usize,
    /// The first character of a line is 1.
    pub column: usize,
    /// The problem.
    pub what: String,
    /// How to fix it.
    pub help: String,
}

impl std::fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}; {}", self.line, self.column, self.what, self.help)
    }
}

/// Which names a template may use.
#[derive(Clone, Copy, Debug)]
pub enum AllowedNames<'a> {
    /// Any: a template that was checked before.
    Any,
    /// These.
    Only(&'a BTreeSet<String>),
}

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplateNode {
    /// Text, in which single braces may be variables.
    Text(String),
    /// Two braces that are just that.
    Braces,
    Value(ValuePath),
    Each(ValuePath, Vec<Self>),
    If(ValuePath, Vec<Self>, Vec<Self>),
}

/// The name in a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValuePath {
    /// A name, and the fields below it.
    Name(Vec<String>),
    /// The item of the innermost list, or a field of it.
    This(Vec<String>),
    /// The number of that item, from 0.
    Index,
}

/// So deep may blocks be nested; the tree is walked by recursion.
const LEVELS_MAX: usize = 50;
/// After so many problems the rest is not looked at.
const PROBLEMS_MAX: usize = 100;

pub(super) fn parse(text: &str, names: AllowedNames<'_>) -> Result<Vec<TemplateNode>, Vec<TemplateProblem>> {
    let mut parser = Parser { text, names, done: Vec::new(), open: Vec::new(), problems: Vec::new() };
    parser.run();
    if parser.problems.is_empty() {
        Ok(parser.done)
    } else {
        parser.problems.sort_by_key(|problem| problem.offset);
        Err(parser.problems)
    }
}

/// A block whose end has not been found yet.
struct OpenBlock {
    kind: Block,
    path: ValuePath,
    offset: usize,
    /// The text before it.
    before: Vec<TemplateNode>,
    /// Nodes for a true condition; set when `else` was found.
    yes: Option<Vec<TemplateNode>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    Each,
    If,
}

impl Block {
    const fn word(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::If => "if",
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    names: AllowedNames<'a>,
    /// The nodes of the innermost open block.
    done: Vec<TemplateNode>,
    open: Vec<OpenBlock>,
    problems: Vec<TemplateProblem>,
}

impl<'a> Parser<'a> {
    fn run(&mut self) {
        let mut at = 0;
        while let Some(start) = self.text[at..].find("{{").map(|found| at + found) {
            if let Some(before) = self.text[at..start].strip_suffix('\\') {
                self.add_text(before);
                self.done.push(TemplateNode::Braces);
                at = start + 2;
                continue;
            }
            self.add_text(&self.text[at..start]);
            let inner = start + 2;
            let Some(length) = self.text[inner..].find("}}") else {
                let help = "close it with }}, or write \\{{ for two braces";
                self.problem(start, "a placeholder that is not closed", help);
                return self.close_all();
            };
            self.tag(start, &self.text[inner..inner + length]);
            if self.open.len() > LEVELS_MAX || self.problems.len() >= PROBLEMS_MAX {
                return;
            }
            at = inner + length + 2;
        }
        self.add_text(&self.text[at..]);
        self.close_all();
    }

    fn add_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.done.push(TemplateNode::Text(text.to_owned()));
        }
    }

    fn tag(&mut self, start: usize, inner: &'a str) {
        let tag = inner.trim();
        if let Some(what) = foreign(inner, tag) {
            return self.problem(
                start,
                what,
                "the forms that are known are in docs/registry.md; write \\{{ for two braces",
            );
        }
        if let Some(rest) = tag.strip_prefix('#') {
            let (word, path) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            return match word {
                "each" => self.open(start, Block::Each, path.trim()),
                "if" => self.open(start, Block::If, path.trim()),
                _ => self.problem(
                    start,
                    &format!("an unknown block {{{{#{word}}}}}"),
                    "there are {{#each list}} and {{#if name}}",
                ),
            };
        }
        match tag.strip_prefix('/').map(str::trim) {
            Some("each") => self.close(start, Block::Each),
            Some("if") => self.close(start, Block::If),
            Some(word) => self.problem(
                start,
                &format!("{{{{/{word}}}}} closes no block"),
                "blocks are closed with {{/each}} and {{/if}}",
            ),
            None if tag == "else" => self.turn(start),
            None => {
                if let Some(path) = self.path(start, tag) {
                    self.done.push(TemplateNode::Value(path));
                }
            }
        }
    }

    fn open(&mut self, offset: usize, kind: Block, path: &str) {
        if self.open.len() == LEVELS_MAX {
            self.problem(offset, &format!("blocks are nested deeper than {LEVELS_MAX} levels"), "use fewer");
        }
        // With a stand-in, so that the end of the block is no second problem.
        let path = self.path(offset, path).unwrap_or(ValuePath::Name(Vec::new()));
        let before = std::mem::take(&mut self.done);
        self.open.push(OpenBlock { kind, path, offset, before, yes: None });
    }

    fn turn(&mut self, offset: usize) {
        match self.open.last_mut() {
            Some(OpenBlock { kind: Block::If, yes: yes @ None, .. }) => {
                *yes = Some(std::mem::take(&mut self.done))
            }
            Some(OpenBlock { kind: Block::If, .. }) => {
                self.problem(offset, "a second {{else}}", "a condition has one at most")
            }
            _ => self.problem(
                offset,
                "{{else}} outside of {{#if}}",
                "it stands between {{#if name}} and {{/if}}",
            ),
        }
    }

    fn close(&mut self, offset: usize, kind: Block) {
        match self.open.pop() {
            Some(open) if open.kind == kind => self.finish(open),
            Some(open) => {
                let word = open.kind.word();
                let what = format!("{{{{/{}}}}} where {{{{#{word}}}}} is open", kind.word());
                self.problem(offset, &what, &format!("close it with {{{{/{word}}}}} first"));
                self.finish(open);
            }
            None => {
                let word = kind.word();
                self.problem(
                    offset,
                    &format!("{{{{/{word}}}}} closes no block"),
                    &format!("there is no {{{{#{word}}}}} before it"),
                );
            }
        }
    }

    /// Puts a block that has ended where it belongs.
    fn finish(&mut self, open: OpenBlock) {
        let inner = std::mem::replace(&mut self.done, open.before);
        self.done.push(match (open.kind, open.yes) {
            (Block::Each, _) => TemplateNode::Each(open.path, inner),
            (Block::If, Some(yes)) => TemplateNode::If(open.path, yes, inner),
            (Block::If, None) => TemplateNode::If(open.path, inner, Vec::new()),
        });
    }

    fn close_all(&mut self) {
        while let Some(open) = self.open.pop() {
            let word = open.kind.word();
            let what = format!("{{{{#{word}}}}} is not closed");
            self.problem(open.offset, &what, &format!("close it with {{{{/{word}}}}}"));
            self.finish(open);
        }
    }

    /// Reads what a placeholder names; says what is wrong with it.
    fn path(&mut self, offset: usize, text: &str) -> Option<ValuePath> {
        match self.read(text) {
            Ok(path) => Some(path),
            Err((what, help)) => {
                self.problem(offset, &what, &help);
                None
            }
        }
    }

    fn read(&self, text: &str) -> Result<ValuePath, (String, String)> {
        let in_list = self.open.iter().any(|open| open.kind == Block::Each);
        let outside = |name: &str| {
            let help = "it means something between {{#each list}} and {{/each}} only".to_owned();
            Err((format!("{{{{{name}}}}} outside of a list"), help))
        };
        if text == "@index" {
            return if in_list { Ok(ValuePath::Index) } else { outside(text) };
        }
        let segments: Vec<String> = text.split('.').map(str::to_owned).collect();
        if !segments.iter().all(|segment| is_name(segment)) {
            let help =
                "a placeholder is a name such as {{summary}} or {{this.file}}; write \\{{ for two braces";
            return Err((format!("{} is not a name", quote(text)), help.to_owned()));
        }
        match segments.split_first() {
            Some((first, fields)) if first == "this" => {
                if in_list {
                    Ok(ValuePath::This(fields.to_vec()))
                } else {
                    outside(text)
                }
            }
            Some((first, _)) => self.check_known(first).map(|()| ValuePath::Name(segments)),
            None => outside(text),
        }
    }

    fn check_known(&self, name: &str) -> Result<(), (String, String)> {
        let AllowedNames::Only(known) = self.names else { return Ok(()) };
        if known.contains(name) {
            return Ok(());
        }
        let near = nearest(name, known.iter().map(String::as_str));
        let listed = || known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let help = near
            .map_or_else(|| format!("known are {}", listed()), |near| format!("did you mean \"{near}\"?"));
        Err((format!("nothing supplies {{{{{name}}}}}"), help))
    }

    fn problem(&mut self, offset: usize, what: &str, help: &str) {
        let before = &self.text[..offset];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        let (what, help) = (what.to_owned(), help.to_owned());
        self.problems.push(TemplateProblem { offset, line, column, what, help });
    }
}

/// Says which form of handlebars this is that has no meaning here.
fn foreign(inner: &str, tag: &str) -> Option<&'static str> {
    match tag.chars().next() {
        _ if inner.starts_with('{') => Some("triple braces, which mean nothing here: no value is escaped"),
        _ if tag.starts_with('~') || tag.ends_with('~') => {
            Some("~, which means nothing here: white space is kept")
        }
        Some('!') => Some("a comment, which would become part of no prompt: delete it"),
        Some('>') => Some("a partial, which is not known here"),
        Some('&') => Some("&, which means nothing here: no value is escaped"),
        Some('^') => Some("^, which means nothing here"),
        None => Some("an empty placeholder"),
        _ if tag.starts_with("../") => {
            Some("../, which is not needed here: a name always means the outer value")
        }
        _ => None,
    }
}

fn is_name(segment: &str) -> bool {
    !segment.is_empty() && segment.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}
