//! The program as it has to be typed again: with the folder and the store that this command was given.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use unstuck_app::stores::Stores;
use unstuck_core::text::shell::quote_word;

use crate::args::GlobalArgs;

/// Stands for `unstuck` in commands that are named to be typed next.
pub const UNSTUCK: ProgramName = ProgramName;

/// See [`UNSTUCK`].
#[derive(Clone, Copy, Debug)]
pub struct ProgramName;

/// Global options of this process, which runs only one command.
static GIVEN: OnceLock<GivenArgs> = OnceLock::new();

/// The stores that the program knows.
static STORES: OnceLock<Stores> = OnceLock::new();

/// The name of the program that this crate makes.
const NAME: &str = "unstuck";

struct GivenArgs {
    /// The name of this program, which may be another one with more stores.
    program: String,
    prefix: String,
    /// The store alone, as an option; empty where it need not be typed.
    store: String,
    keeps_runs: bool,
    verbose: bool,
}

impl fmt::Display for ProgramName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(GIVEN.get().map_or(NAME, |given| &given.prefix))
    }
}

/// Remembers what this command was given.
pub fn init(global: &GlobalArgs) {
    let from_environment = std::env::var("UNSTUCK_STORE").ok();
    let store = store(global, from_environment.as_deref());
    let program = program(std::env::args_os().next().as_deref());
    let prefix = prefix(&program, global, &store);
    let keeps_runs = global.store.as_deref() != Some("memory:");
    let _once = GIVEN.set(GivenArgs { program, prefix, store, keeps_runs, verbose: global.verbose });
}

/// Remembers the stores that the program knows.
pub fn know(stores: Stores) {
    let _once = STORES.set(stores);
}

/// Returns the stores that the program knows.
pub fn stores() -> Stores {
    STORES.get().cloned().unwrap_or_default()
}

/// Says whether another command can find the runs of this one.
pub fn keeps_runs() -> bool {
    GIVEN.get().is_none_or(|given| given.keeps_runs)
}

/// Says whether much is to be said.
pub fn is_verbose() -> bool {
    GIVEN.get().is_some_and(|given| given.verbose)
}

/// Returns a text in which commands are named by those who know of no options, such as hints of other crates. Where
/// they name a folder, that one counts.
pub fn command_line(text: &str) -> String {
    const NAME: &str = "unstuck ";
    let (program, store) = GIVEN.get().map_or((self::NAME, ""), |given| (&given.program, &given.store));
    let mut said = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(NAME) {
        let (before, found) = rest.split_at(at);
        let after = &found[NAME.len()..];
        let is_word = before.ends_with(|c: char| c.is_alphanumeric() || "-_/.".contains(c));
        said.push_str(before);
        if is_word {
            said.push_str(NAME);
        } else if after.starts_with("-C ") {
            said.push_str(&format!("{program}{store} "));
        } else if after.starts_with(|c: char| c.is_ascii_lowercase()) {
            said.push_str(&format!("{UNSTUCK} "));
        } else {
            said.push_str(NAME);
        }
        rest = after;
    }
    said + rest
}

/// A store that the environment names need not be typed.
fn store(global: &GlobalArgs, from_environment: Option<&str>) -> String {
    let store = global.store.as_deref().filter(|store| from_environment != Some(*store));
    store.map_or_else(String::new, |store| format!(" --store {}", quote_word(store)))
}

/// Returns the name under which this program was started.
fn program(started_as: Option<&OsStr>) -> String {
    let name = started_as.and_then(|path| Path::new(path).file_stem()?.to_str());
    quote_word(name.unwrap_or(NAME))
}

fn prefix(program: &str, global: &GlobalArgs, store: &str) -> String {
    let folder = global.directory.as_deref().map(Path::to_string_lossy);
    let folder = folder.map_or_else(String::new, |folder| format!(" -C {}", quote_word(&folder)));
    format!("{program}{store}{folder}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_options_are_repeated_in_suggested_commands() {
        let check = |folder: Option<&str>, store: Option<&str>, environment: Option<&str>, want: &str| {
            let global = GlobalArgs {
                directory: folder.map(Into::into),
                store: store.map(Into::into),
                verbose: false,
                detached: false,
            };
            assert_eq!(prefix(NAME, &global, &super::store(&global, environment)), want);
        };
        check(None, None, None, "unstuck");
        check(Some("/w"), None, None, "unstuck -C /w");
        check(Some("my work"), Some("sled:it's"), None, "unstuck --store 'sled:it'\\''s' -C 'my work'");
        check(None, Some("sled:x"), Some("sled:x"), "unstuck");
        check(None, Some("sled:y"), Some("sled:x"), "unstuck --store sled:y");
    }

    #[test]
    fn only_commands_are_completed() {
        for text in
            ["see: unstuck runs", "unstuck -C x show", "the unstuck program", "a/unstuck x", "unstuck"]
        {
            assert_eq!(command_line(text), text);
        }
    }
}
