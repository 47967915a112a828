//! Validators that a workflow can name without a registry: what the project itself says about tests, types, style.

use std::path::Path;

use serde_json::Value;
use unstuck_core::completion::{
    Checklist, Extractor, FailurePattern, GIT_STATUS, SuccessWhen, Timing, Validator, ValidatorKind,
    check_pointer,
};

use super::load::{self, TIMEOUT, near_or_list};
use super::parts::RegistryError;
use crate::prompt_template::Params;
use crate::test_command::{self, ProjectDir};

/// Their names, in the order in which a project is to ask them: the cheap ones first, so that no test has to run before
/// it is known that a file is not committed or not formatted.
pub const NAMES: &[&str] = &["git-clean", "format-check", "lint-check", "type-check", "tests-pass"];

/// Names of those that their parameters describe; see [`from_params`].
pub const DESCRIBED: &[&str] = &["files", "command", "checklist"];

/// Returns the validator with this name that is described by its parameters alone: `files` with `paths`, `checklist`
/// with `path` and, for JSON, `pointer`, and `command` with `run`. `None` if it is none of them.
pub fn from_params(name: &str, params: &Params) -> Option<Result<Validator, RegistryError>> {
    let text = |param: &str| params.get(param).and_then(Value::as_str).map(str::to_owned);
    if name == "command" {
        return Some(
            text("run")
                .map(from_command)
                .ok_or_else(|| RegistryError::new("command has no command line", "write params: {run: ..}")),
        );
    }
    let (run, description) = match (name, text("path")) {
        ("files", _) if params.contains_key("paths") => {
            (ValidatorKind::Files(Vec::new()), "Files are missing")
        }
        ("checklist", Some(path)) => {
            let pointer = text("pointer");
            if let Some(Err(why)) = pointer.as_deref().map(check_pointer) {
                return Some(Err(RegistryError::new(
                    format!("the pointer of checklist {why}"),
                    load::POINTER,
                )));
            }
            (ValidatorKind::Checklist(Checklist { path, pointer }), "Items are not done")
        }
        ("files", _) => {
            return Some(Err(RegistryError::new("files has no paths", "write params: {paths: [..]}")));
        }
        ("checklist", None) => {
            return Some(Err(RegistryError::new("checklist has no path", "write params: {path: ..}")));
        }
        _ => return None,
    };
    Some(Ok(Validator { success_when: None, ..new_validator(name, run, description, &[]) }))
}

/// Returns a validator that is a command line; its name is that, so that several can stand side by side.
fn from_command(run: String) -> Validator {
    let extract = &[("failedTests", Extractor::FailedTests), ("errorOutput", Extractor::ErrorOutput)];
    let validator = new_validator(&run, ValidatorKind::Command(run.clone()), "A command fails", extract);
    Validator { success_when: Some(SuccessWhen::ExitCode(vec![0])), ..validator }
}

/// Returns the validator with this name for the project in a folder.
///
/// # Errors
///
/// A name that is none of these, or a project that does not say how it is checked so.
pub fn validator(name: &str, root: &Path) -> Result<Validator, RegistryError> {
    let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let help = near_or_list(name, NAMES.iter().copied());
        RegistryError::new(format!("there is no validator \"{name}\""), help)
    })?;
    let command = (kind.command)(&ProjectDir { root }).ok_or_else(|| {
        let help = "define the validator in a steps registry, with the command that checks it";
        RegistryError::new(format!("no file of the project says which command is {name}"), help)
    })?;
    // It exits with 0 whatever it finds, and prints it.
    let success_when =
        if command == GIT_STATUS { SuccessWhen::Empty } else { SuccessWhen::ExitCode(vec![0]) };
    let run = ValidatorKind::Command(command);
    let validator = new_validator(name, run, kind.description, kind.extract);
    Ok(Validator { success_when: Some(success_when), ..validator })
}

fn new_validator(
    name: &str,
    run: ValidatorKind,
    description: &str,
    extract: &[(&str, Extractor)],
) -> Validator {
    Validator {
        name: name.to_owned(),
        run,
        success_when: None,
        exit_codes: vec![0],
        phase: Timing::AfterWork,
        timeout: TIMEOUT,
        recoverable: true,
        pattern: FailurePattern {
            name: name.to_owned(),
            description: description.to_owned(),
            params: extract.iter().map(|(param, _)| (*param).to_owned()).collect(),
            templates: Vec::new(),
            words: Vec::new(),
        },
        extract: extract.iter().map(|(param, extractor)| ((*param).to_owned(), *extractor)).collect(),
    }
}

struct BuiltinKind {
    name: &'static str,
    description: &'static str,
    command: fn(&ProjectDir<'_>) -> Option<String>,
    extract: &'static [(&'static str, Extractor)],
}

/// gofmt exits with 0 where it would change something, and with 2 where it cannot read it.
const GOFMT: &str = "files=$(gofmt -l .) || exit; test -z \"$files\" || { echo \"$files\"; exit 1; }";

/// Says whether a folder, or one above it, holds a repository.
fn is_in_repository(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.ancestors().any(|folder| folder.join(".git").exists())
}

const KINDS: &[BuiltinKind] = &[
    BuiltinKind {
        name: "git-clean",
        description: "Work is not committed",
        command: |project| is_in_repository(project.root).then(|| GIT_STATUS.to_owned()),
        extract: &[("changedFiles", Extractor::ChangedFiles), ("untrackedFiles", Extractor::UntrackedFiles)],
    },
    BuiltinKind {
        name: "tests-pass",
        description: "Tests fail",
        command: |project| test_command::detect(project.root).into_iter().next().map(|found| found.command),
        extract: &[("failedTests", Extractor::FailedTests), ("errorOutput", Extractor::ErrorOutput)],
    },
    BuiltinKind {
        name: "type-check",
        description: "The project does not compile, or its types do not fit",
        command: |project| {
            script(project, &["typecheck", "type-check"])
                .or_else(|| first(project, TYPES))
                .or_else(|| target(project, &["typecheck", "type-check"]))
        },
        extract: &[("errors", Extractor::TypeErrors), ("files", Extractor::Files)],
    },
    BuiltinKind {
        name: "lint-check",
        description: "The linter complains",
        command: |project| {
            script(project, &["lint"])
                .filter(|_| !edits_files(project, "lint"))
                .or_else(|| first(project, LINTS))
                .or_else(|| target(project, &["lint"]))
        },
        extract: &[("errors", Extractor::LintErrors), ("files", Extractor::LintFiles)],
    },
    BuiltinKind {
        name: "format-check",
        description: "Files are not formatted",
        command: |project| {
            let own = script(project, &["format:check", "fmt:check"]);
            own.or_else(|| first(project, FORMATS))
                .or_else(|| target(project, &["fmt-check", "format-check"]))
        },
        extract: &[("files", Extractor::FormatFiles), ("diff", Extractor::Diff)],
    },
];

/// A file of a project, the text that it has to contain, and the resulting command; the most specific first.
/// Programs of a JavaScript project are called where they are installed: `npx` would download any package that has the
/// name of a missing program.
type CommandRule = (&'static str, &'static str, &'static str);

const TYPES: &[CommandRule] = &[
    ("Cargo.toml", "[workspace", "cargo check --workspace --all-targets"),
    ("Cargo.toml", "", "cargo check --all-targets"),
    ("go.mod", "", "go vet ./..."),
    ("deno.json", "", "deno check ."),
    ("deno.jsonc", "", "deno check ."),
    ("tsconfig.json", "", "node_modules/.bin/tsc --noEmit"),
    ("mypy.ini", "", "mypy ."),
    ("pyproject.toml", "[tool.mypy", "mypy ."),
    ("setup.cfg", "[mypy", "mypy ."),
    ("pyrightconfig.json", "", "pyright"),
    ("pyproject.toml", "[tool.pyright", "pyright"),
];

const LINTS: &[CommandRule] = &[
    ("Cargo.toml", "[workspace", "cargo clippy --workspace --all-targets -- -D warnings"),
    ("Cargo.toml", "", "cargo clippy --all-targets -- -D warnings"),
    (".golangci.yml", "", "golangci-lint run"),
    (".golangci.yaml", "", "golangci-lint run"),
    ("deno.json", "", "deno lint"),
    ("deno.jsonc", "", "deno lint"),
    ("eslint.config.js", "", "node_modules/.bin/eslint ."),
    ("eslint.config.mjs", "", "node_modules/.bin/eslint ."),
    ("eslint.config.ts", "", "node_modules/.bin/eslint ."),
    ("ruff.toml", "", "ruff check ."),
    ("pyproject.toml", "[tool.ruff", "ruff check ."),
    (".flake8", "", "flake8"),
    ("setup.cfg", "[flake8", "flake8"),
];

const FORMATS: &[CommandRule] = &[
    ("Cargo.toml", "", "cargo fmt --check"),
    ("go.mod", "", GOFMT),
    ("deno.json", "", "deno fmt --check"),
    ("deno.jsonc", "", "deno fmt --check"),
    (".prettierrc", "", "node_modules/.bin/prettier --check ."),
    (".prettierrc.json", "", "node_modules/.bin/prettier --check ."),
    ("prettier.config.js", "", "node_modules/.bin/prettier --check ."),
    ("pyproject.toml", "[tool.black", "black --check ."),
    ("ruff.toml", "", "ruff format --check ."),
    ("pyproject.toml", "[tool.ruff", "ruff format --check ."),
];

fn first(project: &ProjectDir<'_>, rules: &[CommandRule]) -> Option<String> {
    let holds = |file: &str, text: &str| {
        if text.is_empty() {
            project.has(file)
        } else {
            project.text(file).is_some_and(|content| content.contains(text))
        }
    };
    let (_, _, command) = rules.iter().find(|(file, text, _)| holds(file, text))?;
    let is_of_python = PYTHON.contains(&command.split(' ').next().unwrap_or_default());
    let runner = if is_of_python { test_command::python_runner(project) } else { "" };
    Some(format!("{runner}{command}"))
}

/// Tools that a project of Python has in its environment.
const PYTHON: &[&str] = &["black", "flake8", "mypy", "pyright", "ruff"];

/// Returns the command for the first of these targets that a Makefile has.
fn target(project: &ProjectDir<'_>, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| project.with_target(test_command::MAKEFILES, "make", name));
    found.map(|test| test.command)
}

/// Returns the command for the first of these scripts that `package.json` has, by the package manager of the project.
fn script(project: &ProjectDir<'_>, names: &[&str]) -> Option<String> {
    let scripts = scripts(project);
    let name = names.iter().find(|name| scripts[**name].is_string())?;
    Some(format!("{} run {name}", test_command::package_manager(project)))
}

/// Returns the scripts of `package.json`, or null if there are none.
fn scripts(project: &ProjectDir<'_>) -> Value {
    project.json("package.json").map(|manifest| manifest["scripts"].clone()).unwrap_or_default()
}

/// Returns whether a script changes files or runs forever. A validator must not edit the work.
fn edits_files(project: &ProjectDir<'_>, name: &str) -> bool {
    let scripts = scripts(project);
    let mut words = scripts[name].as_str().unwrap_or_default().split_whitespace();
    words.any(|word| matches!(word, "--fix" | "--write" | "--watch" | "-w"))
}
