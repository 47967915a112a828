//! Which texts are command lines that show whether work is done: they end, they change nothing, and they are no prose.

/// Bytes of a command line.
const BYTES_MAX: usize = 500;

/// Programs that find something out.
const PROGRAMS: &[&str] = &[
    "actionlint", "ansible-lint", "bandit", "bash", "bats", "bazel", "biome", "black", "buck2", "buf", "bun",
    "bundle", "bunx", "cargo", "clang-format", "clang-tidy", "cmake", "composer", "coverage", "ctest",
    "curl", "cypress", "dart", "deno", "detekt", "diff", "docker", "dotnet", "dune", "eslint", "flake8",
    "flutter", "git", "gleam", "go", "gofmt", "golangci-lint", "gradle", "gradlew", "grep", "hadolint",
    "hatch", "helm", "hurl", "isort", "jest", "jq", "julia", "just", "k6", "ktlint", "lein", "ls", "make",
    "markdownlint", "meson", "mix", "mocha", "mvn", "mvnw", "mypy", "newman", "ninja", "node", "nox", "npm",
    "npx", "nx", "phpstan", "phpunit", "pip-audit", "playwright", "pnpm", "podman", "poetry", "prettier",
    "prove", "psql", "pylint", "pyright", "pytest", "python", "python3", "rake", "rebar3", "rg", "rspec",
    "rubocop", "ruby", "ruff", "rustfmt", "sbt", "semgrep", "sh", "shellcheck", "shfmt", "spectral",
    "sqlfluff", "sqlite3", "stack", "standard", "swift", "swiftlint", "task", "terraform", "test", "tflint",
    "time", "timeout", "tofu", "tox", "trivy", "tsc", "turbo", "uv", "uvx", "vitest", "vue-tsc",
    "xcodebuild", "yamllint", "yarn", "zig", "zsh",
];

/// Programs whose names are words, so that without backticks a sentence may begin with them.
const WORDS: &[&str] =
    &["black", "diff", "go", "just", "make", "node", "standard", "stack", "task", "test", "time", "swift"];

/// Words behind a program that change something, or begin what does not end.
const CHANGES: &[&str] = &[
    "add", "apply", "checkout", "clean", "clone", "commit", "create", "deploy", "destroy", "fetch", "init",
    "install", "merge", "mv", "publish", "pull", "push", "rebase", "reset", "restore", "rm", "rollback",
    "stash", "switch", "tag", "up", "update", "upgrade",
];
const STAYS: &[&str] = &["dev", "preview", "repl", "serve", "server", "start", "watch", "--watch", "-w"];

/// Returns the command line to run, or why it is none.
pub(super) fn read(text: &str) -> Result<String, &'static str> {
    let run = bare(text);
    if run.len() > BYTES_MAX || run.chars().any(char::is_control) {
        return Err("longer than a command line");
    }
    if !is_command(run) {
        return Err("not a command that is known to show something");
    }
    if has_gap(run) {
        return Err("has a gap that somebody has to fill");
    }
    let parts = run.split(['&', '|', ';']).map(str::trim).filter(|part| !part.is_empty());
    for part in parts {
        let mut words = words_of(part);
        let program = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let first = rest.iter().find(|word| !word.starts_with('-') && **word != "run").copied();
        // A script of npm that stays says so at its end: `test:watch`.
        let last = first.and_then(|first| first.rsplit(':').next());
        if STAYS.iter().any(|word| Some(*word) == last || word.starts_with('-') && rest.contains(word)) {
            return Err("begins something that does not end");
        }
        if program == "cargo" && first.is_none() && rest.contains(&"run") {
            return Err("begins something that may not end");
        }
        if first.is_some_and(|first| CHANGES.contains(&first)) && !rest.contains(&"--dry-run") {
            return Err("changes something and shows nothing");
        }
    }
    Ok(run.to_owned())
}

/// Says whether a text looks like a command line: its program is known, or a script of the workspace.
pub(super) fn is_command(text: &str) -> bool {
    let parts = text.split(['&', '|', ';']).map(str::trim).filter(|part| !part.is_empty());
    let mut programs = parts.filter_map(|part| words_of(part).next()).filter(|program| *program != "cd");
    programs.next().is_some_and(|program| {
        let name = program.rsplit('/').next().unwrap_or(program);
        let is_script = program.starts_with("./") || program.starts_with("../") || has_suffix(program);
        PROGRAMS.contains(&name) || is_script && name.len() > 1
    })
}

/// Says whether a text in backticks may be a command line of a program that is not known here.
pub(super) fn is_like_one(text: &str) -> bool {
    let mut words = words_of(text);
    let program = words.next().unwrap_or_default();
    let is_name =
        |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.' | '/' | '+');
    let is_program =
        program.starts_with(|c: char| c.is_ascii_lowercase() || c == '.') && program.chars().all(is_name);
    is_program && !text.contains(['(', '=', '{']) && (words.next().is_some() || PROGRAMS.contains(&program))
}

/// Says whether a text without backticks is a command line and no sentence.
pub(super) fn is_command_alone(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let is_word = WORDS.contains(&first)
        && !second.is_some_and(|word| {
            matches!(word, "test" | "vet" | "build" | "check" | "lint" | "fmt") || word.starts_with('-')
        });
    is_command(text)
        && second.is_some()
        && !is_word
        && (text.ends_with("...") || !text.ends_with(['.', ':', ';']))
}

/// Returns a text without a leading shell prompt and surrounding whitespace.
pub(super) fn bare(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix("$ ").or_else(|| text.strip_prefix("> ")).unwrap_or(text).trim()
}

/// Returns the words of a command, without leading variable assignments.
fn words_of(part: &str) -> impl Iterator<Item = &str> {
    let is_setting = |word: &&str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    part.trim_start_matches(['(', '!', ' ']).split_whitespace().skip_while(is_setting)
}

fn has_suffix(program: &str) -> bool {
    program.contains('/')
        && [".sh", ".py", ".js", ".ts", ".rb", ".mjs"].iter().any(|suffix| program.ends_with(suffix))
}

/// Says whether something is to be put in: `<name>`, `{name}`, `$ARGUMENTS`, `...`.
fn has_gap(run: &str) -> bool {
    let is_gap = |open: char, close: char| {
        run.match_indices(open).any(|(at, _)| {
            let inner = run[at + 1..].split(close).next().unwrap_or_default();
            let is_closed = at + 1 + inner.len() < run.len();
            is_closed
                && inner.starts_with(|c: char| c.is_ascii_alphabetic())
                && inner.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.'))
        })
    };
    is_gap('<', '>') || run.contains("{{") || run.contains("$ARGUMENTS") || run.ends_with(" ...")
}
