//! Single braces: `{uv-name}`, `{input_text}`, and `{name}` for the names that a file declares itself.

use std::collections::{BTreeMap, BTreeSet};

use super::filled::Filled;

/// Values of variables by their names.
type Texts = BTreeMap<String, String>;

/// The values for single braces. Other text in single braces stays as it is.
#[derive(Clone, Copy, Debug)]
pub struct Variables<'a> {
    /// Values of `{uv-name}` by name, with or without `uv-`.
    pub uv: &'a Texts,
    /// The value of `{input_text}`.
    pub input_text: Option<&'a str>,
    /// Names that are written without `uv-`; `uv` holds their values.
    pub custom: &'a [String],
}

impl<'a> Variables<'a> {
    /// Returns variables with values for `{uv-name}` only.
    pub const fn from_uv(uv: &'a Texts) -> Self {
        Self { uv, input_text: None, custom: &[] }
    }

    /// Returns the names that have no value.
    pub fn missing<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
        names.into_iter().filter(|name| self.uv(name).is_none()).cloned().collect()
    }

    fn uv(&self, name: &str) -> Option<&'a str> {
        let value = self.uv.get(name).or_else(|| self.uv.get(&format!("uv-{name}")));
        value.map(String::as_str)
    }

    fn value(&self, variable: &BraceVariable<'_>) -> Option<&'a str> {
        match variable {
            BraceVariable::Uv(name) => self.uv(name),
            BraceVariable::Other("input_text") => self.input_text,
            BraceVariable::Other(name) => self.uv(name).filter(|_| self.custom.iter().any(|own| own == name)),
        }
    }
}

/// Fills the prompt of a step: only single braces mean something there.
///
/// # Errors
///
/// The names of `{uv-name}` that have no value.
pub fn plain(text: &str, values: &Variables<'_>) -> Result<String, Vec<String>> {
    let missing = values.missing(&variables(text));
    if missing.is_empty() { Ok(substitute(text, values)) } else { Err(missing) }
}

/// Fills single braces; what has no value stays as it is.
pub fn substitute(text: &str, values: &Variables<'_>) -> String {
    let mut filled = Filled::default();
    fill(text, values, &mut filled);
    filled.text
}

/// Returns the names of `{uv-name}` in a text, each once, in their order.
pub fn variables(text: &str) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let names = find_variables(text).filter_map(|(_, _, variable)| match variable {
        BraceVariable::Uv(name) => Some(name),
        BraceVariable::Other(_) => None,
    });
    names.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}

/// Appends a text of the template, with its variables filled.
pub(super) fn fill(text: &str, values: &Variables<'_>, filled: &mut Filled) {
    let mut done = 0;
    for (start, end, variable) in find_variables(text) {
        if let Some(value) = values.value(&variable) {
            filled.literal(&text[done..start]);
            filled.value(value);
            done = end;
        }
    }
    filled.literal(&text[done..]);
}

enum BraceVariable<'t> {
    Uv(&'t str),
    Other(&'t str),
}

/// Finds everything in single braces that could be a variable: where it begins and ends, and which.
fn find_variables(text: &str) -> impl Iterator<Item = (usize, usize, BraceVariable<'_>)> {
    text.match_indices('{').filter_map(|(start, _)| {
        let rest = &text[start + 1..];
        let length =
            rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte)).count();
        let name = &rest[..length];
        if name.is_empty() || !rest[length..].starts_with('}') {
            return None;
        }
        let variable = match name.strip_prefix("uv-") {
            Some("") => return None,
            Some(name) => BraceVariable::Uv(name),
            None => BraceVariable::Other(name),
        };
        Some((start, start + length + 2, variable))
    })
}
