//! When a validator has passed: a condition on how a command ended and what it printed, and its judgement.

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::duration::spoken;
use crate::event::Exit;
use crate::failure;
use crate::id::Millis;
use crate::porcelain;

/// When a command has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuccessWhen {
    /// It ran properly and printed nothing but white space and colours.
    Empty,
    /// It exited with one of these codes.
    ExitCode(Vec<i32>),
    /// It ran properly, and this stands in its standard output as a whole.
    Contains(String),
    /// It ran properly, and this regular expression matches in its standard output.
    Matches(String),
}

/// Why a text is no condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuccessWhenError {
    /// It has none of the four forms.
    #[error("`{text}` is no condition; the nearest form is `{nearest}`")]
    Unknown {
        /// The text.
        text: String,
        /// The nearest form, as it would be written.
        nearest: String,
    },
    /// Nothing stands behind the colon.
    #[error("`{form}:` has nothing behind the colon; write for example `{example}`")]
    NoArgument {
        /// The form.
        form: &'static str,
        /// How it is written.
        example: &'static str,
    },
    /// What should be an exit code is none.
    #[error(
        "`{code}` is no exit code; write numbers from 0 to 255 with commas between them, as in `exitCode:0,1`"
    )]
    ExitCode {
        /// What stands there.
        code: String,
    },
    /// The regular expression uses what linear time does not allow.
    #[error("`{pattern}` uses {construct}, which regular expressions here do not have; write it without")]
    Construct {
        /// The regular expression.
        pattern: String,
        /// What it uses.
        construct: &'static str,
    },
    /// The regular expression is not well formed.
    #[error("`{pattern}` is no regular expression: {why}; correct it")]
    Pattern {
        /// The regular expression.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
}

/// What a validator found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidatorOutcome {
    /// The condition holds.
    Pass,
    /// It does not.
    Fail,
    /// Nobody knows, for this reason. It holds no condition, and no worker can mend it.
    CouldNotRun(String),
}

/// The forms, and an example of each.
const FORMS: &[(&str, &str)] = &[
    ("empty", "empty"),
    ("exitCode", "exitCode:0"),
    ("contains", "contains:0 failed"),
    ("matches", r"matches:^ok\b"),
];

impl SuccessWhen {
    /// Reads a condition: `empty`, `exitCode:0,1`, `contains:TEXT` or `matches:REGEX`.
    ///
    /// # Errors
    ///
    /// Everything else is one, and names the nearest form.
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
/// It is not well formed, or has look-around or a back-reference, which are named.
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

/// Says which form is nearest: the one that has most pairs of letters in common.
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

/// How a command ended, and within which bounds.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    /// Its exit.
    pub exit: &'a Exit,
    /// All that it printed to its standard output.
    pub stdout: &'a [u8],
    /// All that it printed to its standard error.
    pub stderr: &'a [u8],
    /// The grammar of a tool told what failed: a line that only looks like an error does not count.
    pub recognised: bool,
    /// Its time limit.
    pub limit: Millis,
    /// Most bytes that it might print.
    pub output_max: u64,
}

/// Judges how a command ended. `exit_codes` are those that say that it ran properly.
pub fn judge(success_when: &SuccessWhen, exit_codes: &[i32], ended: &Ended<'_>) -> ValidatorOutcome {
    let code = match code_of(ended) {
        Ok(code) => code,
        Err(why) => return ValidatorOutcome::CouldNotRun(why),
    };
    let Ended { stdout, stderr, recognised, .. } = *ended;
    let ran = exit_codes.contains(&code);
    let no_such = matches!(code, 126 | 127);
    let could_not = |why: String| ValidatorOutcome::CouldNotRun(why);
    match success_when {
        SuccessWhen::Empty if !ran => could_not(format!("it exited with {code}{}", last_words(stderr))),
        // `git status -b` prints its header in a clean checkout, too.
        SuccessWhen::Empty => {
            told(failure::plain(stdout).trim().is_empty() || porcelain::is_only_head(stdout))
        }
        SuccessWhen::ExitCode(codes) if codes.contains(&code) => ValidatorOutcome::Pass,
        // Codes that a shell makes of a signal mean that only where nobody says what failed.
        _ if !ran && !recognised && (129..160).contains(&code) => {
            could_not(format!("it was ended by signal {}", code - 128))
        }
        // The exit code of `timeout`: the command ran out of time.
        _ if !ran && !recognised && code == 124 => {
            could_not("its command ran out of time (exit 124)".to_owned())
        }
        SuccessWhen::ExitCode(_) if no_such => could_not(no_program(code, stderr)),
        SuccessWhen::ExitCode(_) => ValidatorOutcome::Fail,
        _ if !ran && no_such => could_not(no_program(code, stderr)),
        SuccessWhen::Contains(text) => told(ran && has_whole(&failure::plain(stdout), text)),
        SuccessWhen::Matches(pattern) => match regex(pattern) {
            Ok(regex) => told(ran && regex.is_match(&failure::plain(stdout))),
            Err(error) => could_not(error.to_string()),
        },
    }
}

fn told(holds: bool) -> ValidatorOutcome {
    if holds { ValidatorOutcome::Pass } else { ValidatorOutcome::Fail }
}

/// Returns the exit code of a command that came to its end, or why it did not.
fn code_of(ended: &Ended<'_>) -> Result<i32, String> {
    let Ended { exit, stdout, stderr, recognised, limit, output_max } = *ended;
    let why = match exit {
        // Something behind it has made another code of it: `lint || exit 1`.
        Exit::Code(1..126) if let Some(name) = failure::missing_command(stdout, stderr) => {
            format!("there is no such command: {name}")
        }
        Exit::Code(1) if !recognised && is_denied(stderr) => {
            format!("permission was denied{}", last_words(stderr))
        }
        Exit::Code(code) => return Ok(*code),
        Exit::Signal(signal) => format!("it was ended by signal {signal}"),
        Exit::TimedOut => format!("it exceeded its time limit of {}", spoken(limit)),
        Exit::Idle => "it did nothing for so long that it was ended".to_owned(),
        Exit::Probed(word) => format!("its probe said `{word}`, so it was ended"),
        Exit::Flooded => format!("it printed more than {output_max} bytes, all that a validator may"),
        Exit::Asks(question) => format!("it waited for an answer to `{question}`"),
        Exit::Stopped => "it was stopped".to_owned(),
        Exit::CouldNotStart(why) => why.clone(),
        Exit::Child(_) | Exit::Settled | Exit::Hopeless => "it left no exit code".to_owned(),
    };
    Err(why)
}

fn is_denied(stderr: &[u8]) -> bool {
    let text = failure::plain(stderr);
    text.contains("EACCES") || text.to_lowercase().contains("permission denied")
}

fn no_program(code: i32, stderr: &[u8]) -> String {
    let what = if code == 127 { "there is no such command" } else { "the command cannot be executed" };
    format!("{what} (exit {code}){}", last_words(stderr))
}

/// Returns the last line of what was said, to go behind a reason.
fn last_words(stderr: &[u8]) -> String {
    const CHARS_MAX: usize = 200;
    let text = failure::plain(stderr);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map_or_else(String::new, |line| format!(": {}", line.chars().take(CHARS_MAX).collect::<String>()))
}

/// Says whether `needle` is there as a whole: a letter or digit at its edge has none for a neighbour.
fn has_whole(text: &str, needle: &str) -> bool {
    let edge = |inner: Option<char>, outer: Option<char>| {
        !(inner.is_some_and(char::is_alphanumeric) && outer.is_some_and(char::is_alphanumeric))
    };
    let mut start = 0;
    while let Some(found) = text[start..].find(needle) {
        let at = start + found;
        let (before, behind) = (&text[..at], &text[at + needle.len()..]);
        if edge(needle.chars().next(), before.chars().next_back())
            && edge(needle.chars().next_back(), behind.chars().next())
        {
            return true;
        }
        // Matches may overlap, so the search goes on behind the first character of this one.
        start = at + needle.chars().next().map_or(1, char::len_utf8);
        if start > text.len() {
            break;
        }
    }
    false
}
