//! What `unstuck run` is asked for: a workflow file, or a goal as words, as a file or on standard input.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{AppError, Result};
use crate::file_suggestions;
use crate::person::Person;

/// Size of a goal, in bytes, at most.
const GOAL_MAX: u64 = 1 << 20;

/// Where a workflow or a goal comes from, as it was typed.
#[derive(Clone, Debug, Default)]
pub struct GoalSource {
    /// A file, `-` for standard input, `@FILE`, or a goal in one or more words.
    pub words: Vec<String>,
    /// A file whose text is the goal.
    pub file: Option<PathBuf>,
    /// The goal is written in the editor of the user.
    pub edit: bool,
}

/// A workflow or a goal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The workflow in this file, from the workspace.
    Workflow(PathBuf),
    /// A goal.
    Goal(String),
    /// A goal that is one word on the command line. It may be a file that does not exist.
    Word(String),
}

impl GoalSource {
    /// Reads it. A file is a workflow if its name ends in `.yaml` or `.yml`. The text of any other file is the goal.
    ///
    /// # Errors
    ///
    /// The file does not exist or is no text, the goal is empty, or no editor can be started.
    pub(crate) fn read(&self, workspace: &Path, person: &dyn Person) -> Result<Asked> {
        let goal = if let Some(file) = &self.file {
            read_file(&workspace.join(file), file)?
        } else if self.edit {
            edit(&self.words.join(" "), person)?
        } else {
            match &self.words[..] {
                [word] => return read_word(word, workspace),
                words => join(words, workspace)?,
            }
        };
        goal_of(goal)
    }
}

/// Joins the words of a goal that was typed without quotes.
fn join(words: &[String], workspace: &Path) -> Result<String> {
    let is_source = |word: &&String| {
        *word == "-" || word.starts_with('@') || is_yaml(Path::new(word)) && workspace.join(word).exists()
    };
    match words.iter().find(is_source) {
        Some(source) => {
            Err(AppError::usage(format!("{source} stands among other words, so the goal is not clear"))
                .hint(format!("unstuck run {source}    or put the goal in quotes")))
        }
        None => Ok(words.join(" ")),
    }
}

fn is_yaml(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// Reads a single argument.
fn read_word(word: &str, workspace: &Path) -> Result<Asked> {
    if word == "-" {
        return goal_of(read(io::stdin().lock(), "standard input")?);
    }
    if let Some(file) = word.strip_prefix('@').filter(|file| !file.contains(char::is_whitespace)) {
        return goal_of(read_file(&workspace.join(file), Path::new(file))?);
    }
    let (path, file) = (workspace.join(word), PathBuf::from(word));
    match is_yaml(&file) {
        true if path.exists() || is_file_name(word) => Ok(Asked::Workflow(file)),
        _ if path.exists() && !path.is_dir() => goal_of(read_file(&path, &file)?),
        _ if path.is_dir() && is_file_name(word) => Err(AppError::usage(format!("{word} is a directory"))
            .hint("name a file in it, or give the goal in words")),
        _ if is_file_name(word) => {
            let hint =
                "name a file that exists, or give the goal in words: unstuck run \"make the tests pass\"";
            Err(file_suggestions::not_found(&file, &path, "run", hint))
        }
        _ if word.trim().is_empty() || word.contains(char::is_whitespace) => goal_of(word.to_owned()),
        _ => Ok(Asked::Word(word.to_owned())),
    }
}

/// Returns whether a goal of one word is the name of a file: it has a folder, or an ending such as `.md`.
fn is_file_name(word: &str) -> bool {
    let is_ending = |ending: &str| {
        ending.len() <= 5
            && ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.chars().all(char::is_alphanumeric)
    };
    let ending = Path::new(word).extension().and_then(|ending| ending.to_str());
    !word.contains(char::is_whitespace) && (word.contains('/') || ending.is_some_and(is_ending))
}

fn goal_of(text: String) -> Result<Asked> {
    if text.trim().is_empty() {
        return Err(AppError::usage("the goal is empty").hint(
            "unstuck run FILE    or: unstuck run \"the goal\" --check \"cargo test\" --with 'sh ./agent.sh'",
        ));
    }
    Ok(Asked::Goal(text.trim().to_owned()))
}

fn read_file(path: &Path, named: &Path) -> Result<String> {
    match File::open(path) {
        Ok(file) => read(file, &named.display().to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(file_suggestions::not_found(named, path, "run", "name a file that exists"))
        }
        Err(error) => Err(AppError::usage(format!("cannot read {}: {error}", named.display()))),
    }
}

fn read(from: impl io::Read, named: &str) -> Result<String> {
    let mut bytes = Vec::new();
    from.take(GOAL_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| AppError::usage(format!("cannot read {named}: {error}")))?;
    if bytes.len() as u64 > GOAL_MAX {
        return Err(AppError::usage(format!("{named} has more than 1 MiB, which is too long for a goal")));
    }
    String::from_utf8(bytes)
        .map_err(|_| AppError::usage(format!("{named} is not UTF-8 text, so it is no goal")))
}

/// Opens the editor of the user on `text`, and returns what was saved.
fn edit(text: &str, person: &dyn Person) -> Result<String> {
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
    let editor = editor.unwrap_or_else(|| "vi".to_owned());
    let failed = |why: String| {
        AppError::usage(format!("the editor `{editor}` {why}"))
            .hint("set EDITOR, or write a file: unstuck run -f FILE")
    };
    let file = tempfile::Builder::new().prefix("goal-").suffix(".md").disable_cleanup(true).tempfile();
    let file = file.map_err(|error| failed(format!("has no file to open: {error}")))?;
    std::fs::write(file.path(), text).map_err(|error| failed(format!("has no file to open: {error}")))?;
    person.tell(&format!("the goal is kept in {}", file.path().display()));
    let ended = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(file.path()).status();
    match ended {
        Ok(status) if status.success() => read_file(file.path(), Path::new("the goal")),
        Ok(status) => Err(failed(format!("failed with {status}"))),
        Err(error) => Err(failed(format!("could not be started: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Silent;

    impl Person for Silent {
        fn note(&self, _: &str) {}

        fn tell(&self, _: &str) {}

        fn agrees(&self, _: &str, _: &str) -> Option<bool> {
            None
        }
    }

    #[test]
    fn a_word_is_a_workflow_a_goal_or_a_missing_file() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("flow.yaml", "x"), ("PROMPT.md", "Make it so.\n"), ("notes", "a\nb\n"), ("empty.md", " ")]
        {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let goal = |text: &str| Ok(Asked::Goal(text.to_owned()));
        for (words, want) in [
            (&["flow.yaml"][..], Ok(Asked::Workflow("flow.yaml".into()))),
            (&["other.yaml"], Ok(Asked::Workflow("other.yaml".into()))),
            (&["PROMPT.md"], goal("Make it so.")),
            (&["@PROMPT.md"], goal("Make it so.")),
            (&["notes"], goal("a\nb")),
            (&["publish"], Ok(Asked::Word("publish".to_owned()))),
            (&["v1.2"], Ok(Asked::Word("v1.2".to_owned()))),
            (
                &["flow.yaml", "other.yaml"],
                Err("flow.yaml stands among other words, so the goal is not clear"),
            ),
            (&["-", "more"], Err("- stands among other words, so the goal is not clear")),
            (&["mend src/a.rs"], goal("mend src/a.rs")),
            (&["make", "the", "tests", "pass"], goal("make the tests pass")),
            (&["PROMT.md"], Err("there is no file PROMT.md")),
            (&["src/none"], Err("there is no file src/none")),
            (&["@none"], Err("there is no file none")),
            (&["empty.md"], Err("the goal is empty")),
            (&[""], Err("the goal is empty")),
            (&[], Err("the goal is empty")),
        ] {
            let source = GoalSource {
                words: words.iter().map(|word| (*word).to_owned()).collect(),
                ..GoalSource::default()
            };
            let read = source.read(folder.path(), &Silent).map_err(|error| error.to_string());
            assert_eq!(read, want.map_err(str::to_owned), "{words:?}");
        }
    }
}
