//! Static analysis of a command line.

/// Words that precede another command.
const WRAPPERS: [&str; 12] =
    ["!", "{", "do", "else", "env", "exec", "if", "nice", "then", "time", "until", "while"];

/// Programs that run the script in their first argument.
const SHELLS: [&str; 8] = [".", "ash", "bash", "dash", "ksh", "sh", "source", "zsh"];

/// Default rule files of `make` and `just`.
const RULES: [(&str, &[&str]); 3] = [
    ("make", &["GNUmakefile", "Makefile", "makefile"]),
    ("gmake", &["GNUmakefile", "Makefile", "makefile"]),
    ("just", &[".justfile", "Justfile", "justfile"]),
];

/// Programs that run a script of `package.json`, and their arguments for it.
const PACKAGERS: [&str; 3] = ["npm", "pnpm", "yarn"];
const SCRIPTS: [&str; 4] = ["run", "run-script", "t", "test"];

/// File name prefixes of test runners' settings, in any directory: they decide which tests run and how they end. Files
/// that also change for other reasons (`pyproject.toml`) are left out.
const SETTINGS: [(&str, &[&str]); 9] = [
    ("pytest", &["conftest.py", "pytest.ini", ".pytest.ini"]),
    ("py.test", &["conftest.py", "pytest.ini", ".pytest.ini"]),
    ("jest", &["jest.config."]),
    ("vitest", &["vitest.config.", "vitest.workspace."]),
    ("mocha", &[".mocharc."]),
    ("playwright", &["playwright.config."]),
    ("phpunit", &["phpunit.xml"]),
    ("rspec", &[".rspec", "spec_helper.rb"]),
    ("nextest", &["nextest.toml"]),
];

/// Returns the files that decide what a command line checks, with paths relative to its working directory: shell
/// scripts, programs named by path, the rules of `make`, `just` and `npm`, and the settings of test runners.
pub(crate) fn files_behind(line: &str, files: &[String]) -> Vec<String> {
    let mut folder = String::new();
    let (mut run, mut settings) = (Vec::new(), Vec::new());
    for command in commands(line) {
        let words: Vec<&str> =
            command.iter().map(String::as_str).skip_while(|word| is_before(word)).collect();
        match words[..] {
            ["cd", to, ..] => folder = format!("{folder}{}/", path(to)),
            [program, ref arguments @ ..] => {
                run.extend(run_by(program, arguments).into_iter().map(|file| format!("{folder}{file}")));
                settings.extend(settings_of(&words).map(|begin| (folder.clone(), begin)));
            }
            [] => {}
        }
    }
    let is_setting = |file: &str| {
        settings.iter().any(|(folder, begin)| {
            let within = file.strip_prefix(folder.as_str());
            within.is_some_and(|file| file.rsplit('/').next().is_some_and(|name| name.starts_with(begin)))
        })
    };
    files.iter().filter(|file| run.contains(file) || is_setting(file)).cloned().collect()
}

/// Returns the file name prefixes of the settings of the test runner that a command names: `python -m pytest`, `npx
/// jest`. A script of `package.json` may run any of them, so it gets all.
fn settings_of<'w>(words: &'w [&str]) -> impl Iterator<Item = &'static str> + use<'w> {
    let is_script =
        matches!(words, [program, script, ..] if PACKAGERS.contains(program) && SCRIPTS.contains(script));
    let runners = SETTINGS.iter().filter(move |(runner, begins)| {
        words.iter().any(|word| word.rsplit('/').next() == Some(runner))
            || is_script && begins.iter().any(|begin| begin.ends_with('.'))
    });
    runners.flat_map(|(_, begins)| begins.iter().copied())
}

/// Words that name a tool right behind them: `python -m pytest`, `npx jest`, `uv run mypy`, `cargo clippy`.
const BEFORE_TOOLS: [&str; 8] = ["-m", "bunx", "cargo", "dlx", "exec", "npx", "run", "uvx"];

/// Endings of files with settings.
const SETTINGS_ENDINGS: [&str; 10] = ["", "cfg", "conf", "ini", "json", "neon", "toml", "xml", "yaml", "yml"];

/// Returns the files that have the name of a tool that a command line runs: the tool itself, or its settings (`pytest.ini`,
/// `.eslintrc.json`, `jest.config.js`).
pub(crate) fn named_after_tools(line: &str, files: &[String]) -> Vec<String> {
    let commands = commands(line);
    let tools: Vec<&str> = commands.iter().flat_map(|words| tools(words)).collect();
    let modules: Vec<&str> = commands.iter().flat_map(|words| modules(words)).collect();
    let is_named = |file: &&String| {
        let name = file.rsplit('/').next().unwrap_or(file);
        let is_module =
            |module: &&str| **file == format!("{module}.py") || file.starts_with(&format!("{module}/"));
        tools.iter().any(|tool| is_tool_or_settings(name, tool)) || modules.iter().any(is_module)
    };
    files.iter().filter(is_named).cloned().collect()
}

fn tools(words: &[String]) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = words.iter().map(String::as_str).skip_while(|word| is_before(word)).collect();
    let is_named = |at: usize| at == 0 || BEFORE_TOOLS.contains(&words[at - 1]);
    let tools: Vec<&str> = (0..words.len())
        .filter(|at| is_named(*at))
        .map(|at| words[at])
        .filter(|word| !word.contains('/'))
        .collect();
    tools.into_iter()
}

/// Returns the modules that `python -m` runs. A module in the current folder comes before an installed one.
fn modules(words: &[String]) -> impl Iterator<Item = &str> {
    words.windows(2).filter(|pair| pair[0] == "-m").map(|pair| pair[1].as_str())
}

/// Returns whether a file is named after a tool: the tool itself, or its settings. A list of dependencies (`composer.json`, `go.mod`) is
/// not settings.
fn is_tool_or_settings(name: &str, tool: &str) -> bool {
    if name == tool {
        return true;
    }
    let hidden = name.strip_prefix('.');
    let parts: Vec<&str> = hidden.unwrap_or(name).split('.').collect();
    let is_tool = |part: &str| part == tool || part.strip_suffix("rc") == Some(tool);
    match parts[..] {
        [only] => hidden.is_some() && is_tool(only),
        [first, "json"] => is_tool(first) && (hidden.is_some() || first != tool),
        [first, ending] => is_tool(first) && SETTINGS_ENDINGS.contains(&ending),
        [first, "config" | "conf", ..] => first == tool,
        _ => false,
    }
}

/// Returns whether a word precedes a command.
fn is_before(word: &str) -> bool {
    WRAPPERS.contains(&word) || word.contains('=')
}

fn path(word: &str) -> &str {
    word.strip_prefix("./").unwrap_or(word).trim_end_matches('/')
}

/// Returns the files that one command runs.
fn run_by(program: &str, arguments: &[&str]) -> Vec<String> {
    let is_option = |word: &&&str| word.starts_with('-');
    let leads_elsewhere =
        |options: &[&str]| arguments.iter().any(|word| options.iter().any(|option| word.starts_with(option)));
    if SHELLS.contains(&program) {
        // With these options the shell runs a text, or only parses the script.
        let runs = !arguments.iter().take_while(is_option).any(|word| word.contains(['c', 'n', 's']));
        let script = arguments.iter().find(|word| !word.starts_with('-')).filter(|_| runs);
        return script.map(|script| path(script.trim_start_matches('<')).to_owned()).into_iter().collect();
    }
    if PACKAGERS.contains(&program) {
        let runs = arguments.first().is_some_and(|first| SCRIPTS.contains(first));
        return (runs && !leads_elsewhere(&["--prefix", "--cwd", "-C"]))
            .then(|| "package.json".to_owned())
            .into_iter()
            .collect();
    }
    if let Some((_, rules)) = RULES.iter().find(|(name, _)| *name == program) {
        let rules = rules.iter().filter(|_| !leads_elsewhere(&["-C", "-f", "-d", "--"]));
        return rules.map(|rules| (*rules).to_owned()).collect();
    }
    program.contains('/').then(|| path(program).to_owned()).into_iter().collect()
}

/// Splits a line into commands, and these into words; quoted text is part of one word.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), String::new(), None);
    for c in line.chars() {
        match quote {
            Some(mark) if c == mark => quote = None,
            Some(_) => word.push(c),
            None if matches!(c, '\'' | '"') => quote = Some(c),
            None if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')') => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                if !matches!(c, ' ' | '\t') {
                    commands.push(std::mem::take(&mut words));
                }
            }
            None => word.push(c),
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    commands.push(words);
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_with_the_name_of_a_tool_are_found() {
        for (line, file, want) in [
            ("pytest -v", "bin/pytest", true),
            ("python3 -m pytest", "tools/python3", true),
            ("python3 -m pytest", "pytest.ini", true),
            ("uv run pytest -q", ".pytest.ini", true),
            ("ruff check .", "ruff.toml", true),
            ("ruff check .", "pkg/.ruff.toml", true),
            ("mypy src", "mypy.ini", true),
            ("cargo clippy", "clippy.toml", true),
            ("npx jest", "jest.config.js", true),
            ("npx eslint .", ".eslintrc", true),
            ("npx eslint .", ".eslintrc.json", true),
            ("flake8", ".flake8", true),
            ("vendor/bin/phpunit", "phpunit.xml", false),
            ("cargo test", "Cargo.toml", false),
            ("cargo test", "Cargo.lock", false),
            ("go test ./...", "go.mod", false),
            ("composer test", "composer.json", false),
            ("uv run pytest", "uv.lock", false),
            ("pytest", "src/pytest_helper.py", false),
            ("pytest", "pytest.py", false),
            ("python3 -m pytest", "pytest.py", true),
            ("python3 -m pytest", "pytest/__main__.py", true),
            ("python3 -m pytest", "src/pytest.py", false),
            ("test -f done", "done", false),
            ("sh t.sh", "t.sh", false),
            ("make test", "Makefile", false),
        ] {
            let found = named_after_tools(line, &[file.to_owned()]);
            assert_eq!(!found.is_empty(), want, "{line}: {file}");
        }
    }

    #[test]
    fn the_files_are_found_that_a_command_line_runs() {
        let files = [
            "Makefile",
            "a.c",
            "ci/t.sh",
            "package.json",
            "py/t/conftest.py",
            "web/jest.config.js",
            "web/package.json",
        ];
        let files = files.map(str::to_owned);
        for (line, expected) in [
            ("cargo test", &[][..]),
            ("sh ci/t.sh", &["ci/t.sh"]),
            ("bash -eu './ci/t.sh' a.c", &["ci/t.sh"]),
            ("cd x; cd .. && CI=1 ./ci/t.sh; true", &[]),
            ("true && CI=1 ./ci/t.sh | tee log", &["ci/t.sh"]),
            ("cd ci && ./t.sh", &["ci/t.sh"]),
            ("! time sh <ci/t.sh|tee log", &["ci/t.sh"]),
            ("make -s test", &["Makefile"]),
            ("npm test", &["package.json", "web/jest.config.js"]),
            ("(cd web && npm run lint)", &["web/jest.config.js", "web/package.json"]),
            ("python -m pytest -q", &["py/t/conftest.py"]),
            ("cd py && uv run pytest t", &["py/t/conftest.py"]),
            ("npx jest", &["web/jest.config.js"]),
            // Others, or none.
            ("sh other/ci/t.sh", &[]),
            ("sh -c 'ci/t.sh'; bash -n ci/t.sh", &[]),
            ("make -C sub; make -f other.mk; make --directory=sub", &[]),
            ("echo make sure; grep -E 'foo|make' a.c", &[]),
            ("cd web; pytest", &[]),
            ("npm ci && npm --prefix web test", &[]),
            ("npm test --prefix web", &["web/jest.config.js"]),
            // Files that a command only reads.
            ("grep -q x a.c && cc a.c && test -f Makefile", &[]),
        ] {
            assert_eq!(files_behind(line, &files), expected, "{line}");
        }
    }
}
