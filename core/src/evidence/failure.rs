//! A failure: of a test, a diagnostic, a file that is not formatted, or a process.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Fingerprint;

/// The kind of the one failure of an output that no reader recognizes.
pub const UNPARSED: &str = "unparsed";

/// Most failures that are kept. Those with the smallest fingerprints are kept, so that the choice does not depend on the
/// order of the output; the others are only counted.
pub const FAILURES_MAX: usize = 10_000;
/// Most failures that are kept with their complete message; the others keep its first line.
const WHOLE_MAX: usize = 1000;
/// Most characters of that first line.
const HEADLINE_CHARS_MAX: usize = 120;
/// Most bytes of names and messages of those others, together.
const BEYOND_BYTES_MAX: usize = 8 << 20;

/// A failure of a test, a diagnostic, a file that is not formatted, or a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Identifies the failure, whatever its values are.
    pub fingerprint: Fingerprint,
    /// Identifies the failure with its values.
    pub exact: Fingerprint,
    /// The tool, or the format of the report, that reported it.
    pub tool: String,
    /// The name of the test, as the tool gives it.
    pub test: Option<String>,
    /// The location, if the tool names it.
    pub location: Option<Location>,
    /// The kind: an exception, a rule, an error code, a signal, `timeout`.
    pub kind: String,
    /// The message of the tool without colors; of bounded length.
    pub message: String,
    /// The source of the failure.
    pub source: FailureSource,
    /// The number of lines of its file that have this failure; at least 1.
    pub places: u32,
    /// The number of lines of its file after its location, if the file could be read.
    #[serde(default)]
    pub remaining: Option<u32>,
}

/// Returns what a message says about a failure, on one line: the lines that pytest marks with `E`; otherwise all from the last
/// line on with an error or an expectation. Names of tests, places and lines of source are left out. `None` if nothing else is said.
///
/// ```
/// use unstuck_core::evidence::headline;
///
/// let message = "def test_add():\n>       assert add(2, 3) == 5\nE       assert -1 == 5\n\nt.py:5: AssertionError";
/// assert_eq!(headline(message, "t.py::test_add").as_deref(), Some("assert -1 == 5"));
/// ```
pub fn headline(message: &str, name: &str) -> Option<String> {
    const HEADLINE_LINES_MAX: usize = 3;
    const TELLS: [&str; 6] = ["rror", "assert", "xpected", "Exception", "panicked", "FAILED"];
    let is_place = |line: &str| line.contains("panicked at ") || line.starts_with("--> ");
    let is_source =
        |line: &str| line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ').starts_with('|');
    let is_name = |line: &str| !name.is_empty() && (name.ends_with(line) || line.ends_with(name));
    let lines = message.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric));
    let lines: Vec<&str> =
        lines.filter(|line| !is_place(line) && !is_name(line) && !is_source(line)).collect();
    if let Some(marked) = lines.iter().find_map(|line| line.strip_prefix("E ")) {
        return Some(marked.trim().to_owned());
    }
    let from = lines.iter().rposition(|line| TELLS.iter().any(|word| line.contains(word))).unwrap_or(0);
    let told =
        lines[from.min(lines.len())..].iter().take(HEADLINE_LINES_MAX).copied().collect::<Vec<_>>().join(" ");
    (!told.is_empty()).then_some(told)
}

/// The subject of a failure that was not read from an output.
#[derive(Clone, Copy, Debug)]
pub enum FailureSubject<'a> {
    /// Everything.
    Whole,
    /// A file.
    File(&'a str),
    /// An item in a file.
    Item(&'a str, &'a str),
}

impl Failure {
    /// Creates a failure that was not read from an output. The message is for people and not part of the fingerprint.
    pub fn synthetic(tool: &str, kind: &str, what: FailureSubject<'_>, message: &str) -> Self {
        let (test, file) = match what {
            FailureSubject::Whole => (None, None),
            FailureSubject::File(file) => (None, Some(file)),
            FailureSubject::Item(item, file) => (Some(item), Some(file)),
        };
        let subject = [test.unwrap_or_default(), file.unwrap_or_default()];
        let fingerprint = Fingerprint::from_parts(&[tool, subject[0], subject[1], kind]);
        Self {
            exact: Fingerprint::from_parts(&[fingerprint.as_str(), message]),
            fingerprint,
            tool: tool.to_owned(),
            test: test.map(str::to_owned),
            location: file.map(|file| Location { file: file.to_owned(), line: None }),
            kind: kind.to_owned(),
            message: message.to_owned(),
            source: FailureSource::Text,
            places: 1,
            remaining: None,
        }
    }

    /// Returns the test file of a failed test, from its name or its location.
    pub fn test_file(&self) -> Option<&str> {
        let name = self.test.as_deref()?;
        let heads = ["::", " › ", " > "].iter().filter_map(|mark| Some(name.split_once(mark)?.0));
        let place = self.location.as_ref().map(|location| location.file.as_str());
        let file = heads.chain(place).find(|file| is_test_file(file))?;
        Some(file.trim_start_matches("./"))
    }

    /// Returns whether it prevents tests from running: a compiler error, a failed import, a diagnostic. Once it is fixed,
    /// other tests can fail for the first time.
    pub fn is_early(&self) -> bool {
        match &self.test {
            None => self.location.is_some() && self.kind != UNPARSED,
            // Python's unittest invents a test for each module that it cannot load.
            Some(test) => {
                self.location.as_ref().is_some_and(|location| location.file == *test)
                    || is_path_of_tests(test)
                    || LOADING.iter().any(|kind| self.kind.ends_with(kind))
                    || self.message.lines().next().is_some_and(|line| line.contains("loader._FailedTest"))
            }
        }
    }

    /// Adds a question to its identity: the same output for another question is another failure.
    #[must_use]
    pub fn scoped_to(self, question: &[&str]) -> Self {
        let of = |answer: &Fingerprint| Fingerprint::from_parts(&[&[answer.as_str()], question].concat());
        Self { fingerprint: of(&self.fingerprint), exact: of(&self.exact), ..self }
    }
}

/// Returns whether a name is the path of a test file.
fn is_path_of_tests(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_short =
        extension.len() <= 4 && extension.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.contains('/') && !name.contains([' ', ':']) && is_short && is_test_file(name)
}

/// Kinds of failures to load a file, as languages call them.
const LOADING: [&str; 9] = [
    "SyntaxError",
    "IndentationError",
    "TabError",
    "ImportError",
    "ModuleNotFoundError",
    "LoadError",
    "CompileError",
    "ParseError",
    "NoClassDefFoundError",
];

/// A location in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file, relative to the folder of the command if it is below it.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u32>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// Where a failure was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureSource {
    /// The output that people read.
    Text,
    /// A machine report.
    Report,
}

/// How far an extraction can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Nothing was recognized; what there is stands for the whole output.
    Low,
    /// Read by the general shape of errors, not by the grammar of a tool.
    Medium,
    /// Read by the grammar of a tool; or the command passed and there was nothing to read.
    High,
}

/// Shortens failures to what an event can hold: many are still told apart, but not told of at length. Returns how many had
/// to be left out all the same, because their names take too much.
pub fn shorten(failures: &mut Vec<Failure>) -> u64 {
    for failure in failures.iter_mut().skip(WHOLE_MAX) {
        let line = failure.message.lines().next().unwrap_or_default();
        failure.message = line.chars().take(HEADLINE_CHARS_MAX).collect();
    }
    let mut beyond: Vec<(Fingerprint, usize)> = failures.iter().skip(WHOLE_MAX).map(weight).collect();
    beyond.sort_unstable();
    let mut bytes = 0;
    let fits = |(_, weight): &&(Fingerprint, usize)| {
        bytes += weight;
        bytes <= BEYOND_BYTES_MAX
    };
    let fitting = beyond.iter().take_while(fits).count();
    let Some((first_out, _)) = beyond.get(fitting) else { return 0 };
    let mut at = 0;
    failures.retain(|failure| {
        at += 1;
        at <= WHOLE_MAX || failure.fingerprint < *first_out
    });
    u64::try_from(beyond.len() - fitting).unwrap_or(u64::MAX)
}

/// Returns how many bytes the words of a failure take.
fn weight(failure: &Failure) -> (Fingerprint, usize) {
    let file = failure.location.as_ref().map_or(0, |location| location.file.len());
    let words = failure.message.len() + failure.kind.len() + failure.test.as_ref().map_or(0, String::len);
    (failure.fingerprint.clone(), words + file)
}

/// Says whether a file holds tests, as the conventions of most languages go.
pub fn is_test_file(file: &str) -> bool {
    const FOLDERS: [&str; 6] = ["test", "tests", "spec", "specs", "__tests__", "t"];
    const WORDS: [&str; 4] = ["test", "tests", "spec", "specs"];
    let mut folders = file.split('/');
    let name = folders.next_back().unwrap_or_default();
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    // `test_a`, `a_test`, `a.spec`, `ATest`, `ATests`.
    let is_named = stem.split(['_', '.', '-']).any(|word| WORDS.contains(&word));
    let is_class = ["Test", "Tests", "Spec"].iter().any(|end| stem.ends_with(end));
    is_named || is_class || extension == "bats" || folders.any(|folder| FOLDERS.contains(&folder))
}

/// Says whether what is named as a test is the file that it is in: as a path, or as the module of that path.
pub fn is_file_name(test: &str, file: &str) -> bool {
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let is_end = |whole: &str, mark: char| {
        whole.strip_suffix(test).is_some_and(|before| before.is_empty() || before.ends_with(mark))
    };
    !test.is_empty() && (is_end(file, '/') || is_end(&stem.replace('/', "."), '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_may_be_called_as_its_file() {
        for (test, file) in [
            ("test_a.py", "test_a.py"),
            ("calc.test.js", "src/calc.test.js"),
            ("tests.test_calc", "tests/test_calc.py"),
            ("test_calc", "tests/test_calc.py"),
        ] {
            assert!(is_file_name(test, file), "{test}");
        }
        for (test, file) in [
            ("test_calc.py::test_sub", "test_calc.py"),
            ("tests.test_calc.T.test_sub", "tests/test_calc.py"),
            ("test_calc.test_sub", "test_calc.py"),
            ("calc", "test_calc.py"),
            ("", "test_calc.py"),
        ] {
            assert!(!is_file_name(test, file), "{test}");
        }
    }

    #[test]
    fn a_file_of_tests_is_known_by_its_name() {
        for file in [
            "test_a.py", "p/a_test.go", "src/a.spec.ts", "ATest.java", "tests/it.rs", "t/a.t", "a.bats",
            "spec/a.rb",
        ] {
            assert!(is_test_file(file), "{file}");
        }
        for file in ["src/a.py", "latest.py", "contest/a.go", "Makefile", "testing.md", ""] {
            assert!(!is_test_file(file), "{file}");
        }
    }
}
