//! What can be seen of a command line without running it.

/// Words that another command stands behind.
const WRAPPERS: [&str; 12] =
    ["!", "{", "do", "else", "env", "exec", "if", "nice", "then", "time", "until", "while"];

/// Programs that run the script which they are given first.
const SHELLS: [&str; 8] = [".", "ash", "bash", "dash", "ksh", "sh", "source", "zsh"];

/// The rules that `make` and `just` go by, where no other file is named.
const RULES: [(&str, &[&str]); 3] = [
    ("make", &["GNUmakefile", "Makefile", "makefile"]),
    ("gmake", &["GNUmakefile", "Makefile", "makefile"]),
    ("just", &[".justfile", "Justfile", "justfile"]),
];

/// Programs that run a script of `package.json`, and what they are told to do so.
const PACKAGERS: [&str; 3] = ["npm", "pnpm", "yarn"];
const SCRIPTS: [&str; 4] = ["run", "run-script", "t", "test"];

/// Returns those of some files, with their paths from where it is run, that a command line runs: scripts of shells, programs that
/// are named by their paths, and the rules of `make`, `just` and `npm`.
pub(crate) fn files_run(line: &str, files: &[String]) -> Vec<String> {
    let mut folder = String::new();
    let mut run = Vec::new();
    for command in commands(line) {
        let words: Vec<&str> =
            command.iter().map(String::as_str).skip_while(|word| is_before(word)).collect();
        match words[..] {
            ["cd", to, ..] => folder = format!("{folder}{}/", path(to)),
            [program, ref arguments @ ..] => {
                run.extend(run_by(program, arguments).into_iter().map(|file| format!("{folder}{file}")));
            }
            [] => {}
        }
    }
    files.iter().filter(|file| run.contains(file)).cloned().collect()
}

/// Says whether a word stands before a command.
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
        |options: &[&str]| arguments.iter().any(|word| options.iter().any(|it| word.starts_with(it)));
    if SHELLS.contains(&program) {
        // It is given a text, or only reads.
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
    if let Some((_, rules)) = RULES.iter().find(|(it, _)| *it == program) {
        let rules = rules.iter().filter(|_| !leads_elsewhere(&["-C", "-f", "-d", "--"]));
        return rules.map(|rules| (*rules).to_owned()).collect();
    }
    program.contains('/').then(|| path(program).to_owned()).into_iter().collect()
}

/// Cuts a line into commands, and these into words; what is quoted is a part of one.
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
    fn the_files_are_found_that_a_command_line_runs() {
        let files = ["Makefile", "a.c", "ci/t.sh", "package.json", "web/package.json"].map(str::to_owned);
        for (line, expected) in [
            ("cargo test", &[][..]),
            ("sh ci/t.sh", &["ci/t.sh"]),
            ("bash -eu './ci/t.sh' a.c", &["ci/t.sh"]),
            ("cd x; cd .. && CI=1 ./ci/t.sh; true", &[]),
            ("true && CI=1 ./ci/t.sh | tee log", &["ci/t.sh"]),
            ("cd ci && ./t.sh", &["ci/t.sh"]),
            ("! time sh <ci/t.sh|tee log", &["ci/t.sh"]),
            ("make -s test", &["Makefile"]),
            ("npm test", &["package.json"]),
            ("(cd web && npm run lint)", &["web/package.json"]),
            // Others, or none.
            ("sh other/ci/t.sh", &[]),
            ("sh -c 'ci/t.sh'; bash -n ci/t.sh", &[]),
            ("make -C sub; make -f other.mk; make --directory=sub", &[]),
            ("echo make sure; grep -E 'foo|make' a.c", &[]),
            ("npm ci && npm --prefix web test; npm test --prefix web", &[]),
            // What is looked at.
            ("grep -q x a.c && cc a.c && test -f Makefile", &[]),
        ] {
            assert_eq!(files_run(line, &files), expected, "{line}");
        }
    }
}
