//! What can be seen of a command line without running it.

use std::collections::BTreeSet;

/// Words that another command stands behind.
const WRAPPERS: [&str; 12] =
    ["!", "{", "do", "else", "env", "exec", "if", "nice", "then", "time", "until", "while"];

/// Programs that run the script which they are given first.
const SHELLS: [&str; 8] = [".", "ash", "bash", "dash", "ksh", "sh", "source", "zsh"];
const INTERPRETERS: [&str; 10] =
    ["bun", "deno", "lua", "node", "perl", "php", "python", "python3", "ruby", "tsx"];

/// Programs that run what a file of rules says, and the names of these.
const RULES: [(&[&str], &[&str]); 3] = [
    (&["gmake", "make"], &["GNUmakefile", "Makefile", "makefile"]),
    (&["just"], &[".justfile", "Justfile", "justfile"]),
    (&["bun", "npm", "pnpm", "yarn"], &["package.json"]),
];

/// Returns those of some files, with their paths from where it is run, that a command line runs: scripts, and rules of `make`, `just`
/// and `npm`. A program in a language is taken for a check only where its name says so.
pub(crate) fn files_run(line: &str, files: &[String]) -> Vec<String> {
    let commands = line.split([';', '&', '|', '(', ')', '\n']);
    let run: BTreeSet<String> = commands.flat_map(run_by).collect();
    files.iter().filter(|file| run.contains(*file)).cloned().collect()
}

/// Returns the files that one command may run.
fn run_by(command: &str) -> Vec<String> {
    let words = command.split_whitespace().map(|word| word.trim_matches(['\'', '"']));
    let is_before = |word: &&str| WRAPPERS.contains(word) || word.contains('=') || word.starts_with('<');
    let mut words = words.skip_while(is_before);
    let Some(program) = words.next() else { return Vec::new() };
    let arguments: Vec<&str> = words.collect();
    let path = |file: &str| file.strip_prefix("./").unwrap_or(file).to_owned();
    let script = || arguments.iter().find(|word| !word.starts_with('-')).filter(|_| !gives_text(&arguments));
    let checks =
        |script: &&&str| ["check", "ci/", "spec", "test", "verify"].iter().any(|it| script.contains(it));
    if SHELLS.contains(&program) {
        return script().map(|script| path(script.trim_start_matches('<'))).into_iter().collect();
    }
    let rules = RULES.iter().filter(|(programs, _)| programs.contains(&program));
    let folder = arguments.iter().position(|word| *word == "-C").and_then(|at| arguments.get(at + 1));
    let of_rules =
        |rules: &&str| folder.map_or_else(|| (*rules).to_owned(), |folder| format!("{folder}/{rules}"));
    let of_rules = rules.flat_map(|(_, rules)| *rules).map(of_rules);
    let of_interpreter =
        script().filter(|_| INTERPRETERS.contains(&program)).filter(checks).map(|it| path(it));
    of_rules.chain(of_interpreter).chain([path(program)]).collect()
}

/// Says whether an interpreter is given a text, or a module, in place of a file.
fn gives_text(arguments: &[&str]) -> bool {
    arguments.iter().take_while(|word| word.starts_with('-')).any(|word| matches!(*word, "-c" | "-e" | "-m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_found_that_a_command_line_runs() {
        let files = ["Makefile", "a.c", "ci/t.sh", "main.py", "package.json", "sub/Makefile", "tests/run.py"];
        for (line, expected) in [
            ("cargo test", &[][..]),
            ("sh ci/t.sh", &["ci/t.sh"]),
            ("bash -eu './ci/t.sh' a.c", &["ci/t.sh"]),
            ("cd x && CI=1 ./ci/t.sh; true", &["ci/t.sh"]),
            ("! time sh <ci/t.sh|tee log", &["ci/t.sh"]),
            ("sh other/ci/t.sh", &[]),
            ("sh -c 'ci/t.sh'", &[]),
            ("make -s test", &["Makefile"]),
            ("make -C sub", &["sub/Makefile"]),
            ("echo make sure", &[]),
            ("cmake --build .", &[]),
            ("npm test", &["package.json"]),
            // What is looked at, and the program itself.
            ("grep -q x a.c && cc a.c && python3 main.py", &[]),
            ("python3 -m py_compile main.py", &[]),
            ("python3 -u tests/run.py", &["tests/run.py"]),
        ] {
            assert_eq!(files_run(line, &files.map(str::to_owned)), expected, "{line}");
        }
    }
}
