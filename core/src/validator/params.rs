//! The params of a command: environment variables, so that a value is data and never code.
//!
//! What a shell would make something else of is found before anything runs: a name that it does not have, one
//! that already means something, and a place where it does not put the value in.

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
    /// The shell leaves it as it is.
    #[error(
        "`${{{name}}}` stands inside single quotes, where the shell does not put the value; use double quotes"
    )]
    InSingleQuotes {
        /// The name.
        name: String,
    },
}

/// Checks that a shell gives `command` these params. `is_set` tells of names that the environment already has.
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
enum Inside {
    /// Words of a command; so many brackets are open.
    Command(u32),
    /// Double quotes, where a single one is only a character.
    Double,
}

/// Returns the texts inside of single quotes, as a shell sees them.
fn single_quoted(command: &str) -> Vec<&str> {
    let bytes = command.as_bytes();
    let mut inside = vec![Inside::Command(0)];
    let mut texts = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let nested = inside.len() > 1;
        match (byte, inside.last_mut()) {
            (b'\\', _) => at += 1,
            (b'$', _) if bytes.get(at + 1) == Some(&b'(') => {
                inside.push(Inside::Command(0));
                at += 1;
            }
            (b'"', Some(Inside::Double)) => _ = inside.pop(),
            (b'"', _) => inside.push(Inside::Double),
            (b'(', Some(Inside::Command(open))) => *open += 1,
            (b')', Some(Inside::Command(open))) if *open > 0 => *open -= 1,
            (b')', Some(Inside::Command(_))) if nested => _ = inside.pop(),
            (b'\'', Some(Inside::Command(_))) => {
                let rest = &command[at + 1..];
                let text = rest.split('\'').next().unwrap_or(rest);
                texts.push(text);
                at += text.len() + 1;
            }
            (b'#', Some(Inside::Command(_))) if begins_word(bytes, at) => {
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
