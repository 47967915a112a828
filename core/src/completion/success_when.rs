//! When a validator has passed: a condition on how a command ended and what it printed.

use regex::Regex;
use serde::{Deserialize, Serialize};

/// When a command has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuccessWhen {
    /// It ran properly and printed nothing but whitespace and colors.
    Empty,
    /// It exited with one of these codes.
    ExitCode(Vec<i32>),
    /// It ran properly, and its standard output contains this literal text.
    Contains(String),
    /// It ran properly, and this regular expression matches in its standard output.
    Matches(String),
}

/// An invalid condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuccessWhenError {
    /// The text has none of the four forms.
    #[error("`{text}` is no condition; the nearest form is `{nearest}`")]
    Unknown {
        /// The text.
        text: String,
        /// The nearest form, as it would be written.
        nearest: String,
    },
    /// The argument after the colon is missing.
    #[error("`{form}:` has nothing behind the colon; write for example `{example}`")]
    NoArgument {
        /// The form.
        form: &'static str,
        /// Example of the form.
        example: &'static str,
    },
    /// An exit code is invalid.
    #[error(
        "`{code}` is no exit code; write numbers from 0 to 255 with commas between them, as in `exitCode:0,1`"
    )]
    ExitCode {
        /// The invalid text.
        code: String,
    },
    /// The regular expression uses a construct that linear time does not allow.
    #[error("`{pattern}` uses {construct}, which regular expressions here do not have; write it without")]
    Construct {
        /// The regular expression.
        pattern: String,
        /// Unsupported construct.
        construct: &'static str,
    },
    /// The regular expression is malformed.
    #[error("`{pattern}` is no regular expression: {why}; correct it")]
    Pattern {
        /// The regular expression.
        pattern: String,
        /// Reason from the parser.
        why: String,
    },
}

/// The forms, and an example of each.
const FORMS: &[(&str, &str)] = &[
    ("empty", "empty"),
    ("exitCode", "exitCode:0"),
    ("contains", "contains:0 failed"),
    ("matches", r"matches:^ok\b"),
];

impl SuccessWhen {
    /// Parses a condition: `empty`, `exitCode:0,1`, `contains:TEXT` or `matches:REGEX`.
    ///
    /// # Errors
    ///
    /// Fails for any other text; the error names the nearest form.
    pub fn parse(text: &str) -> Result<Self, SuccessWhenError> {
        if text == "empty" {
            return Ok(Self::Empty);
        }
        let (form, argument) = text.split_once(':').unwrap_or((text, ""));
        let argument = argument.trim_start();
        let known = FORMS.iter().find(|(name, _)| *name == form && text.contains(':'));
        match known {
            Some((form, example)) if argument.is_empty() && *form != "empty" => {
                Err(SuccessWhenError::NoArgument { form, example })
            }
            Some(("exitCode", _)) => exit_codes(argument).map(Self::ExitCode),
            Some(("contains", _)) => Ok(Self::Contains(argument.to_owned())),
            Some(("matches", _)) => regex(argument).map(|_| Self::Matches(argument.to_owned())),
            _ => Err(unknown(text, form, argument)),
        }
    }
}

fn exit_codes(list: &str) -> Result<Vec<i32>, SuccessWhenError> {
    let read = |code: &str| {
        let code = code.trim();
        let number = code.parse::<u8>().ok().filter(|_| !code.starts_with('+'));
        number.map(i32::from).ok_or_else(|| SuccessWhenError::ExitCode { code: code.to_owned() })
    };
    list.split(',').map(read).collect()
}

/// Compiles a regular expression of the dialect that conditions, patterns and answers share.
///
/// # Errors
///
/// The pattern is malformed, or uses look-around or a back-reference, which the error names.
pub fn regex(pattern: &str) -> Result<Regex, SuccessWhenError> {
    Regex::new(pattern).map_err(|error| {
        let told = error.to_string();
        let construct = if told.contains("look-around") {
            "look-around"
        } else if told.contains("backreferences") || pattern.contains(r"\k<") || pattern.contains("(?P=") {
            "a back-reference"
        } else {
            let why = told.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            return SuccessWhenError::Pattern { pattern: pattern.to_owned(), why };
        };
        SuccessWhenError::Construct { pattern: pattern.to_owned(), construct }
    })
}

/// Returns the error with the nearest form: the one with the most letter pairs in common.
fn unknown(text: &str, form: &str, argument: &str) -> SuccessWhenError {
    let pairs = |word: &str| {
        let letters: Vec<u8> = word.to_ascii_lowercase().bytes().filter(u8::is_ascii_alphabetic).collect();
        letters.windows(2).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let written = pairs(form);
    let common = |name: &str| pairs(name).iter().filter(|pair| written.contains(pair)).count();
    // The last of equals is taken, so the list is read from its end.
    let (name, example) = FORMS.iter().rev().max_by_key(|(name, _)| common(name)).unwrap_or(&FORMS[0]);
    let argued = format!("{name}:{argument}");
    let fits = *name != "empty" && SuccessWhen::parse(&argued).is_ok();
    let nearest = if fits { argued } else { (*example).to_owned() };
    SuccessWhenError::Unknown { text: text.to_owned(), nearest }
}
