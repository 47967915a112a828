//! What failed: a test, a diagnostic, a file that is not formatted, or a process.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Fingerprint;

/// The kind of the failure that stands for output which nothing recognised.
pub const UNPARSED: &str = "unparsed";

/// So many failures are kept, those with the smallest fingerprints: which these are does not depend on what else fails, or
/// where it stands in the output. Of more, only the number is told.
pub const FAILURES_MAX: usize = 10_000;
/// So many are kept with all that the tool says of them; of the others only the first line.
const WHOLE_MAX: usize = 1000;
/// So much of a first line.
const HEADLINE_CHARS_MAX: usize = 120;
/// So many bytes of names and messages are kept of all failures beyond the first.
const BEYOND_BYTES_MAX: usize = 8 << 20;

/// One thing that failed: a test, a diagnostic, a file that is not formatted, or a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The same failing thing with the same kind of failure, whatever the values were.
    pub fingerprint: Fingerprint,
    /// The same also in its values.
    pub exact: Fingerprint,
    /// The tool, or the format, that tells of it.
    pub tool: String,
    /// The name of the test, as the tool gives it.
    pub test: Option<String>,
    /// Where it is, as far as the tool says.
    pub location: Option<Location>,
    /// The kind: an exception, a rule, an error code, a signal, `timeout`.
    pub kind: String,
    /// What the tool says, without colours; bounded.
    pub message: String,
    /// Where it was read from.
    pub source: Source,
    /// At how many lines of its file it is, where that is what tells several apart; at least 1.
    pub places: u32,
}

/// What a failure is one of that no output tells of.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// All of it.
    Whole,
    /// A file.
    File(&'a str),
    /// An item in a file.
    Item(&'a str, &'a str),
}

impl Failure {
    /// Makes a failure that no output tells of: `tool` found that `what`, perhaps a file, is `kind`. The message
    /// is only for people.
    pub fn named(tool: &str, kind: &str, what: What<'_>, message: &str) -> Self {
        let (test, file) = match what {
            What::Whole => (None, None),
            What::File(file) => (None, Some(file)),
            What::Item(item, file) => (Some(item), Some(file)),
        };
        let subject = [test.unwrap_or_default(), file.unwrap_or_default()];
        let fingerprint = Fingerprint::of(&[tool, subject[0], subject[1], kind]);
        Self {
            exact: Fingerprint::of(&[fingerprint.as_str(), message]),
            fingerprint,
            tool: tool.to_owned(),
            test: test.map(str::to_owned),
            location: file.map(|file| Location { file: file.to_owned(), line: None }),
            kind: kind.to_owned(),
            message: message.to_owned(),
            source: Source::Text,
            places: 1,
        }
    }

    /// Returns the file of tests that a failed test is in, by its name or by where it failed; relative as the tool gives it.
    pub fn test_file(&self) -> Option<&str> {
        let name = self.test.as_deref()?;
        let heads = ["::", " › ", " > "].iter().filter_map(|mark| Some(name.split_once(mark)?.0));
        let place = self.location.as_ref().map(|it| it.file.as_str());
        let file = heads.chain(place).find(|file| is_test_file(file))?;
        Some(file.trim_start_matches("./"))
    }

    /// Says whether it keeps tests from being run at all: what does not compile, cannot be loaded or imported, or is found in
    /// the source before anything runs. Once it is gone, tests behind it can fail for the first time.
    pub fn is_early(&self) -> bool {
        match &self.test {
            None => self.location.is_some() && self.kind != UNPARSED,
            // The loader of Python's own tests makes one up for each module that it cannot load.
            Some(test) => {
                self.location.as_ref().is_some_and(|it| it.file == *test)
                    || is_path_of_tests(test)
                    || LOADING.iter().any(|kind| self.kind.ends_with(kind))
                    || self.message.lines().next().is_some_and(|line| line.contains("loader._FailedTest"))
            }
        }
    }

    /// Makes it the answer to one question: the same answer to another question is another failure.
    #[must_use]
    pub fn answering(self, question: &[&str]) -> Self {
        let of = |answer: &Fingerprint| Fingerprint::of(&[&[answer.as_str()], question].concat());
        Self { fingerprint: of(&self.fingerprint), exact: of(&self.exact), ..self }
    }
}

/// Says whether what is called so is no test, but a whole file of them. Names of tests have dots, too.
fn is_path_of_tests(name: &str) -> bool {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let is_short =
        extension.len() <= 4 && extension.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.contains('/') && !name.contains([' ', ':']) && is_short && is_test_file(name)
}

/// Kinds of failures of what cannot be loaded, as languages call them.
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

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The file, relative to the folder of the command where it is below that.
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
pub enum Source {
    /// The output that people read.
    Text,
    /// A machine report.
    Report,
}

/// How far an extraction can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Nothing was recognised; what there is stands for the whole output.
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
    let file = failure.location.as_ref().map_or(0, |it| it.file.len());
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
    is_named || is_class || extension == "bats" || folders.any(|it| FOLDERS.contains(&it))
}

/// Says whether what is named as a test is the file that it is in: as a path, or as the module of that path.
pub fn names_its_file(test: &str, file: &str) -> bool {
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
            assert!(names_its_file(test, file), "{test}");
        }
        for (test, file) in [
            ("test_calc.py::test_sub", "test_calc.py"),
            ("tests.test_calc.T.test_sub", "tests/test_calc.py"),
            ("test_calc.test_sub", "test_calc.py"),
            ("calc", "test_calc.py"),
            ("", "test_calc.py"),
        ] {
            assert!(!names_its_file(test, file), "{test}");
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
