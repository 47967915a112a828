//! The language of prompt files: placeholders, lists and conditions in double braces, variables in single ones.
//!
//! A template is parsed, not searched and replaced: a value is put in once and stays what it is, whatever it holds.
//! White space is kept as it stands. docs/registry.md has the language.

use std::collections::BTreeSet;

mod fence;
mod filled;
mod parse;
mod render;
mod variables;

pub use fence::fenced;
pub use parse::{AllowedNames, TemplateProblem};
pub use render::{Params, display_value};
pub use variables::{Variables, plain, substitute, variables};

use parse::TemplateNode;

/// A template that can be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parsed {
    nodes: Vec<TemplateNode>,
}

impl Parsed {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// All problems, in the order of the text.
    pub fn parse(text: &str, names: AllowedNames<'_>) -> Result<Self, Vec<TemplateProblem>> {
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
