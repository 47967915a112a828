//! Defaults of `unstuck run`: `unstuck.toml` in the repository, and `config.toml` of the user. What is typed wins over both, and the
//! repository wins over the user, but no file raises a limit of the other.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use unstuck_core::cost;
use unstuck_core::id::Millis;

use crate::error::{AppError, Result};
use crate::project_location;

/// The keys of a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    agent: Option<String>,
    model: Option<String>,
    checks: Option<Vec<String>>,
    max_usd: Option<toml::Value>,
    max_tokens: Option<u64>,
    max_iterations: Option<u32>,
    max_time: Option<String>,
    check_timeout: Option<String>,
    allow: Option<Vec<String>>,
    protect: Option<Vec<String>>,
    max_files: Option<u32>,
    notify: Option<String>,
}

/// A value, and the file that it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Sourced<T>(T, PathBuf);

impl<T: Clone> Sourced<T> {
    /// Returns a value without its file.
    pub(crate) fn value_in(value: &Option<Self>) -> Option<T> {
        value.as_ref().map(|Self(value, _)| value.clone())
    }
}

/// The defaults of the repository and of the user.
#[derive(Clone, Debug, Default)]
pub struct Config {
    pub(crate) agent: Option<Sourced<String>>,
    pub(crate) model: Option<Sourced<String>>,
    pub(crate) checks: Option<Sourced<Vec<String>>>,
    pub(crate) max_usd: Option<Sourced<u64>>,
    pub(crate) max_tokens: Option<Sourced<u64>>,
    pub(crate) max_iterations: Option<Sourced<u32>>,
    pub(crate) max_time: Option<Sourced<Millis>>,
    pub(crate) check_timeout: Option<Sourced<Millis>>,
    pub(crate) allow: Option<Sourced<Vec<String>>>,
    pub(crate) protect: Option<Sourced<Vec<String>>>,
    pub(crate) max_files: Option<Sourced<u32>>,
    pub(crate) notify: Option<Sourced<String>>,
    /// The files that were looked for, and whether they exist.
    files: Vec<(PathBuf, bool)>,
}

/// A line of `unstuck config`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ConfigValue {
    /// The key.
    pub key: &'static str,
    /// The value, as text.
    pub value: String,
    /// The file that it comes from.
    pub file: PathBuf,
}

impl Config {
    /// Reads the files that apply in a folder.
    ///
    /// # Errors
    ///
    /// A file cannot be read, is not TOML, or has a key or a value that is unknown.
    pub fn read(workspace: &Path) -> Result<Self> {
        let of_repository = project_location::root(workspace).join("unstuck.toml");
        let mut config = Self::default();
        for (path, is_user) in [(Some(of_repository), false), (user_file(), true)] {
            let Some(path) = path else { continue };
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    config.files.push((path, false));
                    continue;
                }
                Err(error) => {
                    return Err(AppError::usage(format!("cannot read {}: {error}", path.display())));
                }
            };
            let file: ConfigFile = toml::from_str(&text).map_err(|error| {
                AppError::usage(format!("{}: {}", path.display(), error.to_string().trim_end()))
                    .hint("mend the file; its keys are in docs/config.md")
            })?;
            config.add(file, &path, is_user)?;
            config.files.push((path, true));
        }
        Ok(config)
    }

    fn add(&mut self, file: ConfigFile, path: &Path, is_user: bool) -> Result<()> {
        let wrong = |key: &str, what: &str| {
            AppError::usage(format!("{}: {key}: expected {what}", path.display()))
                .hint("mend the file; its keys are in docs/config.md")
        };
        if !is_user && file.notify.is_some() {
            return Err(wrong("notify", "no command in a repository: it belongs into your own file"));
        }
        if let Some(agent) = file.agent.as_ref().filter(|_| !is_user) {
            let is_client = |name: &str| unstuck_workers::find(name.trim()).is_some();
            if !agent.split(',').all(is_client) {
                return Err(wrong(
                    "agent",
                    "names of built-in clients: a repository may not name a command line",
                ));
            }
        }
        let texts = [("agent", &file.agent), ("model", &file.model), ("notify", &file.notify)];
        if let Some((key, _)) =
            texts.iter().find(|(_, text)| text.as_ref().is_some_and(|text| text.trim().is_empty()))
        {
            return Err(wrong(key, "a text that is not blank"));
        }
        let lists = [("checks", &file.checks), ("allow", &file.allow), ("protect", &file.protect)];
        let has_blank = |list: &Option<Vec<String>>| list.iter().flatten().any(|text| text.trim().is_empty());
        if let Some((key, _)) = lists.iter().find(|(_, list)| has_blank(list)) {
            return Err(wrong(key, "texts that are not blank"));
        }
        if file.max_iterations == Some(0) || file.max_tokens == Some(0) {
            let key = if file.max_tokens == Some(0) { "max_tokens" } else { "max_iterations" };
            return Err(wrong(key, "a number from 1 on"));
        }
        let span = |key: &str, text: Option<String>| {
            text.map(|text| text.parse::<Millis>().map_err(|_| wrong(key, "a time such as \"90m\"")))
                .transpose()
        };
        let usd = |value: toml::Value| {
            let text = match value {
                toml::Value::String(text) => Some(text),
                toml::Value::Integer(whole) => Some(whole.to_string()),
                toml::Value::Float(number) => Some(number.to_string()),
                _ => None,
            };
            text.and_then(|text| cost::micro_usd(&text))
                .ok_or_else(|| wrong("max_usd", "US dollars, such as 2.50"))
        };
        // A model belongs to its agent.
        if self.agent.is_none() {
            put(&mut self.model, file.model, path);
        }
        put(&mut self.agent, file.agent, path);
        put(&mut self.checks, file.checks, path);
        // No file raises a limit of the other.
        put_least(&mut self.max_usd, file.max_usd.map(usd).transpose()?, path);
        put_least(&mut self.max_tokens, file.max_tokens, path);
        put_least(&mut self.max_iterations, file.max_iterations, path);
        put_least(&mut self.max_time, span("max_time", file.max_time)?, path);
        put(&mut self.check_timeout, span("check_timeout", file.check_timeout)?, path);
        put(&mut self.allow, file.allow, path);
        match (&mut self.protect, file.protect) {
            (Some(Sourced(known, _)), Some(more)) => known.extend(more),
            (_, protect) => put(&mut self.protect, protect, path),
        }
        put_least(&mut self.max_files, file.max_files, path);
        put(&mut self.notify, file.notify, path);
        Ok(())
    }

    /// Returns the values, each with its file.
    pub fn values(&self) -> Vec<ConfigValue> {
        let mut values = Vec::new();
        say(&mut values, "agent", &self.agent, Clone::clone);
        say(&mut values, "model", &self.model, Clone::clone);
        say(&mut values, "checks", &self.checks, |checks| checks.join(", "));
        say(&mut values, "max_usd", &self.max_usd, |micro_usd| cost::dollars(*micro_usd));
        say(&mut values, "max_tokens", &self.max_tokens, ToString::to_string);
        say(&mut values, "max_iterations", &self.max_iterations, ToString::to_string);
        say(&mut values, "max_time", &self.max_time, |span| unstuck_core::duration::format_duration(*span));
        say(&mut values, "check_timeout", &self.check_timeout, |span| {
            unstuck_core::duration::format_duration(*span)
        });
        say(&mut values, "allow", &self.allow, |paths| paths.join(", "));
        say(&mut values, "protect", &self.protect, |paths| paths.join(", "));
        say(&mut values, "max_files", &self.max_files, ToString::to_string);
        say(&mut values, "notify", &self.notify, Clone::clone);
        values
    }

    /// Returns the files that were looked for, and whether they exist.
    pub fn files(&self) -> &[(PathBuf, bool)] {
        &self.files
    }
}

/// Takes a value over that no earlier file has.
fn put<T>(place: &mut Option<Sourced<T>>, value: Option<T>, path: &Path) {
    if place.is_none() {
        *place = value.map(|value| Sourced(value, path.to_owned()));
    }
}

/// Takes a value over that is less than the one of an earlier file.
fn put_least<T: Copy + Ord>(place: &mut Option<Sourced<T>>, value: Option<T>, path: &Path) {
    if let Some(value) = value.filter(|value| place.as_ref().is_none_or(|Sourced(known, _)| value < known)) {
        *place = Some(Sourced(value, path.to_owned()));
    }
}

fn say<T>(
    values: &mut Vec<ConfigValue>,
    key: &'static str,
    value: &Option<Sourced<T>>,
    text: impl Fn(&T) -> String,
) {
    values.extend(value.iter().map(|Sourced(value, file)| ConfigValue {
        key,
        value: text(value),
        file: file.clone(),
    }));
}

fn user_file() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")))?;
    Some(config.join("unstuck/config.toml"))
}
