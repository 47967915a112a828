//! Settings from environment variables, under each prefix. A misspelled value is an error.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

use unstuck_core::workflow::VARIABLE_PREFIXES;

use crate::error::{AppError, Result};

/// Reads a text; `None` where the variable is not set, or is empty. Where two prefixes say something else, the first one counts,
/// which is ours.
///
/// # Errors
///
/// It is not UTF-8.
pub fn text(suffix: &str) -> Result<Option<String>> {
    Ok(set(suffix)?.map(|variable| variable.value))
}

/// Reads a switch, which is off where the variable is not set.
///
/// # Errors
///
/// It is neither on nor off.
pub fn flag(suffix: &str) -> Result<bool> {
    let Some(variable) = set(suffix)? else { return Ok(false) };
    match variable.value.to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(variable.refused("true or false", "true")),
    }
}

/// Reads a value of a type; `None` where the variable is not set. `expected` names the type for a message, `example` a value.
///
/// # Errors
///
/// It is no such value.
pub fn parsed<T: FromStr>(suffix: &str, expected: &str, example: &str) -> Result<Option<T>> {
    let parse = |variable: EnvVar| variable.value.parse().map_err(|_| variable.refused(expected, example));
    set(suffix)?.map(parse).transpose()
}

/// A variable that is set.
struct EnvVar {
    name: String,
    value: String,
}

impl EnvVar {
    fn refused(&self, expected: &str, example: &str) -> AppError {
        refused(&self.name, format_args!("{:?}", self.value), expected, example)
    }
}

fn refused(name: &str, found: impl fmt::Display, expected: &str, example: &str) -> AppError {
    AppError::usage(format!("the variable {name} is {found}; expected {expected}"))
        .hint(format!("unset {name}    or: export {name}={example}"))
}

fn set(suffix: &str) -> Result<Option<EnvVar>> {
    let names = VARIABLE_PREFIXES.iter().map(|prefix| format!("{prefix}{suffix}"));
    let named = names.filter_map(|name| std::env::var_os(&name).map(|value| (name, value)));
    let read = |(name, value): (String, OsString)| match value.into_string() {
        Ok(value) => Ok(EnvVar { name, value: value.trim().to_owned() }),
        Err(value) => Err(refused(&name, format_args!("{value:?}"), "text in UTF-8", "...")),
    };
    let named: Vec<EnvVar> = named.map(read).collect::<Result<_>>()?;
    let mut named = named.into_iter().filter(|variable| !variable.value.is_empty());
    let Some(first) = named.next() else { return Ok(None) };
    if let Some(other) = named.find(|other| other.value != first.value) {
        tracing::warn!("{0} and {1} differ; {0} counts", first.name, other.name);
    }
    Ok(Some(first))
}
