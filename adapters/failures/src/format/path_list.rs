//! Output that is only a list of files or places.
//!
//! gofmt -l, prettier -l and others list files to change. PHPStan and RSpec list places in their shortest forms.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{FailureCollector, FormatInput, RawFailure, unrecognized};
use crate::git_status;

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<what>.*?\S)(?: \[identifier=(?P<rule>[\w.]+)\])?$")
        .expect("well formed")
});

/// Reads the list if the output contains nothing else.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = || input.lines.iter().map(|line| line.trim_end()).filter(|line| !line.is_empty());
    // A tool that lists files prints nothing else on the other stream. The output of git status is not such a list.
    let says = |line: &&str| {
        !line.trim().is_empty()
            && !unrecognized::is_epilogue(line)
            && !line.to_ascii_lowercase().contains("warn")
    };
    if input.beside.lines.iter().any(says) {
        return;
    }
    let is_of_make = |line: &&str| line.starts_with("make") && unrecognized::is_epilogue(line);
    let shows_commands = input.beside.lines.iter().any(|line| is_of_make(&line.trim()));
    let is_list =
        || lines().next().is_some_and(|first| !is_command(first, shows_commands)) && lines().all(is_path);
    if is_list() && git_status::parse(input.text.as_bytes()).is_empty() {
        lines().for_each(|line| collector.push(RawFailure::unformatted("list", line, None, line)));
        return;
    }
    let told = || lines().filter(|line| !line.starts_with("Note: "));
    if told().all(|line| place(line).is_some()) {
        told()
            .filter_map(|line| Some((line, place(line)?)))
            .for_each(|(line, at)| collector.push(from_place(line, &at)));
    }
}

/// Reads the files that a formatter lists next to reports of syntax errors, which other readers handle.
pub(crate) fn read_rest(pages: [&[&str]; 2], collector: &mut FailureCollector<'_>) {
    let lines = || {
        let lines = pages.into_iter().flatten().map(|line| line.trim_end());
        lines.filter(|line| !line.is_empty() && !unrecognized::is_epilogue(line))
    };
    if lines().all(|line| is_path(line) && !is_command(line, false)) && !collector.has_problem_in(lines()) {
        lines().for_each(|line| collector.push(RawFailure::unformatted("list", line, None, line)));
    }
}

fn place(line: &str) -> Option<Captures<'_>> {
    const LENGTH_MAX: usize = 4096;
    let place = Some(line).filter(|line| line.len() <= LENGTH_MAX).and_then(|line| PLACE.captures(line))?;
    // In files with another name, it could be a match of a text search.
    let is_of_a_tool = [".php", "_spec.rb"].iter().any(|end| place["file"].ends_with(end));
    is_of_a_tool.then_some(place)
}

/// Creates a failure from a place; the name of an RSpec example follows its place.
fn from_place(line: &str, place: &Captures<'_>) -> RawFailure {
    let (file, number) = (&place["file"], place["line"].parse().ok());
    if file.ends_with("_spec.rb") {
        return RawFailure::test("rspec", &place["what"], &[])
            .with_test_file(file)
            .at(file, number)
            .message(line);
    }
    let rule = place.name("rule").map_or("", |rule| rule.as_str());
    RawFailure::diagnostic("list", file, number, &place["what"]).kind(rule).message(line)
}

/// Checks whether a line could be a command that make prints before it runs it: a program and a file. If the other
/// stream is make's, a program of the project alone is a command, too.
fn is_command(line: &str, of_make: bool) -> bool {
    match line.split_once(' ') {
        Some((first, rest)) => !first.contains(['/', '\\']) || rest.contains('/'),
        None => of_make && line.starts_with("./"),
    }
}

/// Checks whether a line is only a path. A sentence ends in a dot, so its last word is not an extension.
fn is_path(line: &str) -> bool {
    const LENGTH_MAX: usize = 4096;
    let name = line.rsplit(['/', '\\']).next().unwrap_or(line);
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let extended = (1..=10).contains(&extension.len()) && extension.chars().all(char::is_alphanumeric);
    // A version ends like a path.
    let word = name.rsplit(' ').next().unwrap_or(name);
    let is_version = word.trim_start_matches('v').bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    line.len() <= LENGTH_MAX
        && !is_version
        && !line.starts_with([' ', '\t', '"', '{', '<'])
        && !line.contains(['\t', '"', '|', '*', '?', '<', '>'])
        && !line.contains(": ")
        && extended
        && line.matches(' ').count() <= 3
}

#[cfg(test)]
mod tests {
    use crate::{ToolOutput, extract};

    #[test]
    fn list_of_files_differs_from_commands_that_make_prints() {
        const MAKE: &str = "make: *** [Makefile:2: check] Error 1\n";
        let check = |stdout: &str, stderr: &str, expected: &[&str]| {
            let output = ToolOutput {
                exit_code: Some(2),
                stdout: stdout.as_bytes(),
                stderr: stderr.as_bytes(),
                ..ToolOutput::default()
            };
            let failures = extract(&output).failures;
            let files = failures
                .iter()
                .filter(|failure| failure.tool == "list")
                .map(|failure| failure.message.as_str());
            assert_eq!(files.collect::<Vec<_>>(), expected, "{stdout:?}");
        };
        for stderr in ["", MAKE] {
            check("main.c\nsrc/a.rs\n", stderr, &["main.c", "src/a.rs"]);
            check("src/my file.rs\n", stderr, &["src/my file.rs"]);
            for command in
                ["grep -q 2 a.txt", "sh run.sh", "node t.js", "test -f dist/app.js", "bin/lint src/a.ts"]
            {
                check(&format!("{command}\n"), stderr, &[]);
            }
        }
        check("./a.go\n", "", &["./a.go"]);
        check("./run.sh\n", MAKE, &[]);
    }
}
