//! The language of prompt files: placeholders, lists and conditions in double braces, variables in single ones.
//!
//! A template is parsed, not searched and replaced: a value is put in once and stays what it is, whatever it holds.
//! White space is kept as it stands. docs/registry.md has the language.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

mod fence;
mod parse;
mod render;
mod variables;

pub use fence::fenced;
pub use variables::{Variables, plain, substitute, variables};

use parse::Node;

/// Values by the names of their placeholders.
pub type Params = Map<String, Value>;

/// A problem of a template, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
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

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}; {}", self.line, self.column, self.what, self.help)
    }
}

/// Which names a template may use.
#[derive(Clone, Copy, Debug)]
pub enum Names<'a> {
    /// Any: a template that was checked before.
    Any,
    /// These.
    Only(&'a BTreeSet<String>),
}

/// A template that can be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    nodes: Vec<Node>,
}

impl Parsed {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// All problems, in the order of the text.
    pub fn parse(text: &str, names: Names<'_>) -> Result<Self, Vec<Problem>> {
        parse::parse(text, names).map(|nodes| Self { nodes })
    }

    /// Fills the template. A name without a value is filled with words that say so.
    pub fn render(&self, params: &Params, variables: &Variables<'_>) -> Rendered {
        let mut filled = render::render(&self.nodes, params, variables);
        let shown = std::mem::take(&mut filled.shown);
        Rendered { text: fence::lengthen(filled), shown }
    }
}

/// A template that was filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The text.
    pub text: String,
    /// The names whose values are in it, whole or in part.
    pub shown: BTreeSet<String>,
}

/// Returns a value as a prompt shows it; nothing for `null`.
///
/// Text and numbers as they are, a list of those with commas between, all else as compact JSON.
pub fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if !items.iter().any(|item| item.is_object() || item.is_array()) => {
            let items: Vec<String> = items.iter().map(|item| shown(item).unwrap_or_default()).collect();
            Some(items.join(", "))
        }
        other => Some(other.to_string()),
    }
}

/// A text that was filled, and which parts of it are values.
#[derive(Debug, Default)]
struct Filled {
    text: String,
    /// In their order; they do not overlap.
    values: Vec<std::ops::Range<usize>>,
    /// The names whose values were put in.
    shown: BTreeSet<String>,
    /// Values that were put in of the items around this place.
    of_items: usize,
    /// Items of lists that were gone over.
    items: usize,
    /// Some were not.
    left_out: bool,
}

impl Filled {
    fn literal(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn value(&mut self, text: &str) {
        let start = self.text.len();
        self.text.push_str(text);
        self.values.push(start..self.text.len());
    }
}

/// Values of variables by their names.
type Texts = BTreeMap<String, String>;
