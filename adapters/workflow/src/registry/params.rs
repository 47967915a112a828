//! The params of a command: environment variables, so that a value is data and never code.
//!
//! Params that a shell would misinterpret are found before anything runs: an invalid variable name, a name that
//! already has a meaning, and a place where the shell does not insert the value.

use unstuck_core::workflow::VARIABLE_PREFIXES;

/// Why a param cannot be given to a command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// A shell has no such variable.
    #[error("`{name}` is no name for a shell variable; use letters, digits and `_`, and no digit first")]
    NoIdentifier {
        /// The name.
        name: String,
    },
    /// It already means something.
    #[error("`{name}` is already set in the environment; give the param another name")]
    AlreadySet {
        /// The name.
        name: String,
    },
    /// The value cannot be in an environment.
    #[error("the value of `{name}` {why}")]
    Value {
        /// The name.
        name: String,
        /// Why it cannot be.
        why: &'static str,
    },
    /// No param and no variable has this name, so the shell puts nothing in its place.
    #[error(
        "`${{{name}}}` has no value: supply the param `{name}`, or write `${{{name}:-}}` if it may be empty"
    )]
    NotSupplied {
        /// The name.
        name: String,
    },
    /// The shell leaves it as it is.
    #[error(
        "`${{{name}}}` stands inside single quotes, where the shell does not put the value; use double quotes"
    )]
    InSingleQuotes {
        /// The name.
        name: String,
    },
}

/// Checks that a shell passes these params to `command`. `is_set` returns whether the environment already has a name.
///
/// # Errors
///
/// The first param that it would not give.
pub fn check<'a>(
    command: &str,
    names: impl IntoIterator<Item = &'a str>,
    is_set: impl Fn(&str) -> bool,
) -> Result<(), ParamError> {
    let quoted = single_quoted(command);
    for name in names {
        if !is_identifier(name) {
            return Err(ParamError::NoIdentifier { name: name.to_owned() });
        }
        if is_set(name) {
            return Err(ParamError::AlreadySet { name: name.to_owned() });
        }
        let placeholder = format!("${{{name}}}");
        if quoted.iter().any(|text| text.contains(&placeholder)) {
            return Err(ParamError::InSingleQuotes { name: name.to_owned() });
        }
    }
    Ok(())
}

/// Checks that each `${name}` of `command` gets a value: from a param, from the environment, or from the command itself.
/// A word in single quotes gets none. `is_set` says which names the environment has.
///
/// # Errors
///
/// The first that gets no value.
pub fn check_supplied<'a>(
    command: &str,
    names: impl IntoIterator<Item = &'a str>,
    is_set: impl Fn(&str) -> bool,
) -> Result<(), ParamError> {
    let names: Vec<&str> = names.into_iter().collect();
    let quoted = single_quoted(command);
    // More than one word is a program of another language, which has its own variables.
    let words = quoted.iter().filter(|text| !text.contains(char::is_whitespace));
    if let Some(name) = words.flat_map(|text| placeholders(text)).next() {
        return Err(ParamError::InSingleQuotes { name: name.to_owned() });
    }
    let in_quotes =
        |name: &str| quoted.iter().any(|text| text.as_bytes().as_ptr_range().contains(&name.as_ptr()));
    let is_supplied = |name: &str| names.contains(&name) || is_set(name) || has_bare(command, name);
    match placeholders(command).find(|name| !in_quotes(name) && !is_supplied(name)) {
        Some(name) => Err(ParamError::NotSupplied { name: name.to_owned() }),
        None => Ok(()),
    }
}

/// Returns the names of each `${name}`.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    let names = text.match_indices("${").filter_map(|(at, _)| text[at + 2..].split_once('}'));
    names.map(|(name, _)| name).filter(|name| is_identifier(name))
}

/// Says whether a name is a word of the command where it is not expanded: `read name`, `name=1`, `for name in`.
fn has_bare(command: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    command.match_indices(name).any(|(at, _)| {
        let (before, after) = (&command[..at], &command[at + name.len()..]);
        !before.ends_with(is_part) && !before.ends_with(['$', '{']) && !after.starts_with(is_part)
    })
}

/// Most bytes of a value: an environment holds 128 KiB of each variable, with its name.
const VALUE_MAX: usize = 120 << 10;

/// Checks that an environment can hold these values.
///
/// # Errors
///
/// The first that it cannot.
pub fn check_values<'a>(
    params: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<(), ParamError> {
    params.into_iter().try_for_each(|(name, value)| {
        let why = match value {
            _ if value.contains('\0') => "has the character '\\0', which no environment can hold",
            _ if value.len() > VALUE_MAX => "is longer than 120 KiB: put it into a file, and give its path",
            _ => return Ok(()),
        };
        Err(ParamError::Value { name: name.clone(), why })
    })
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Where a quote begins something, and what ends it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum QuoteState {
    /// Words of a command; so many brackets are open.
    Command(u32),
    /// Double quotes, where a single one is only a character.
    Double,
}

/// Returns the texts inside of single quotes, as a shell sees them.
fn single_quoted(command: &str) -> Vec<&str> {
    let bytes = command.as_bytes();
    let mut inside = vec![QuoteState::Command(0)];
    let mut texts = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let nested = inside.len() > 1;
        match (byte, inside.last_mut()) {
            (b'\\', _) => at += 1,
            (b'$', _) if bytes.get(at + 1) == Some(&b'(') => {
                inside.push(QuoteState::Command(0));
                at += 1;
            }
            (b'"', Some(QuoteState::Double)) => _ = inside.pop(),
            (b'"', _) => inside.push(QuoteState::Double),
            (b'(', Some(QuoteState::Command(open))) => *open += 1,
            (b')', Some(QuoteState::Command(open))) if *open > 0 => *open -= 1,
            (b')', Some(QuoteState::Command(_))) if nested => _ = inside.pop(),
            (b'\'', Some(QuoteState::Command(_))) => {
                let rest = &command[at + 1..];
                let text = rest.split('\'').next().unwrap_or(rest);
                texts.push(text);
                at += text.len() + 1;
            }
            (b'#', Some(QuoteState::Command(_))) if begins_word(bytes, at) => {
                at += command[at..].find('\n').unwrap_or(command.len() - at);
            }
            _ => {}
        }
        at += 1;
    }
    texts
}

fn begins_word(bytes: &[u8], at: usize) -> bool {
    at == 0 || matches!(bytes[at - 1], b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(')
}

/// Checks that a shell gives a command these params.
///
/// # Errors
///
/// A name is no shell variable, or is already set in the environment, or is used in single quotes; or the command has a
/// `${name}` that gets no value.
pub fn check_command<'a>(command: &str, names: impl IntoIterator<Item = &'a str>) -> Result<(), ParamError> {
    let is_ours = |name: &str| {
        VARIABLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || name.starts_with("GIT_")
    };
    let is_set = |name: &str| is_ours(name) || std::env::var_os(name).is_some();
    let names: Vec<&str> = names.into_iter().collect();
    check(command, names.iter().copied(), is_set)?;
    check_supplied(command, names, is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_without_a_value_is_an_error() {
        let quoted = |name: &str| Err(ParamError::InSingleQuotes { name: name.to_owned() });
        let missing = |name: &str| Err(ParamError::NotSupplied { name: name.to_owned() });
        for (command, want) in [
            ("test -n '${missing}'", quoted("missing")),
            ("grep -q 'a/${missing}' f", quoted("missing")),
            ("test -z \"${missing}\"", missing("missing")),
            ("rm -f ${missing}", missing("missing")),
            ("test -n \"${issue}\"", Ok(())),
            ("test -n \"${HOME}\"", Ok(())),
            ("test -z \"${missing:-}\"", Ok(())),
            ("x=$(cat f); test -n \"${x}\"", Ok(())),
            ("while read line; do echo \"${line}\"; done", Ok(())),
            ("node -e 'console.log(`${a}`, 1)'", Ok(())),
            ("echo '$5'", Ok(())),
        ] {
            assert_eq!(check_supplied(command, ["issue"], |name| name == "HOME"), want, "{command}");
        }
    }
}
