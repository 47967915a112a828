//! Masks values that vary from run to run, so that a failure is the same on every machine and day.
//!
//! There are three strengths:
//!
//! - A *name* keeps its numbers; only addresses and absolute paths are masked.
//! - The text of a *diagnostic* also loses volatile values: times, durations, addresses, identifiers, paths outside of
//!   the project, line numbers.
//! - The text of an *assertion* also loses its literal values.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Masks the values of one output.
pub(super) struct Normalizer {
    /// The directory of the command with a trailing slash, or empty.
    root: String,
}

/// The replacement for the directory of the command.
const HERE: &str = ".";

/// The kind of a value that varies from run to run.
#[derive(Clone, Copy)]
enum VolatilePattern {
    Uuid,
    Time,
    Network,
    /// An absolute path, with the position after it.
    Path,
    /// The position after a relative path.
    Place,
    Address,
    Hash,
    /// A named number that changes each time.
    Id,
    Duration,
}

/// The patterns, in order: the first one that matches counts.
const VOLATILE: &[(VolatilePattern, &str)] = &[
    (
        VolatilePattern::Uuid,
        r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b",
    ),
    (
        VolatilePattern::Time,
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?Z\b| ?[+-]\d\d:?\d\d\b)?)?|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \w{3,9} +\d{1,2},? [\d: ]{7,14}[\w+ -]*\d{2,4}|\b(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* \d{1,2}, \d{4},? )?\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: [AP]M)?\b",
    ),
    (VolatilePattern::Network, r"\b\d{1,3}(?:\.\d{1,5}){3}(?::\d+)?\b|\blocalhost:\d+|\[::1?\]:\d+"),
    (
        VolatilePattern::Path,
        r"(?:file://)?(?:/(?u:[\w.@+~,=%#-])+)+/?(?::\d+)*|\b[A-Za-z]:\\(?u:[^\s:'\x22<>|])+(?::\d+)*",
    ),
    (VolatilePattern::Place, r"\b[\w.@+-]+\.[A-Za-z]\w{0,5}(?::\d+)+\b"),
    (VolatilePattern::Address, r"\b0[xX][0-9a-fA-F]+\b|\{[0-9A-F]{8,16}\}"),
    (VolatilePattern::Hash, r"\b[0-9a-f]{7,}\b|\b[0-9A-F]{7,}\b|\w@[0-9a-f]{5,16}\b|-[0-9a-f]{6}\.o\b"),
    (
        VolatilePattern::Id,
        r"(?i:\b(?:pid|tid|oid|thread|port|seed|object_id|threadid|process|child|inode|fd)s?)[ =:#(]+(?:of )?#?\d+\b|Thread(?:-\d+)?(?: \(\w+\))? \(\d+\b|==\d+==|\bSeed \d+|\b\w*(?:PERTURB_|SEED)=\d+|\b(?i:line|column|col)s?[ :=]{1,2}\d+\b",
    ),
    (
        VolatilePattern::Duration,
        r"\b(?:\d+h ?)?(?:\d+m ?)?\d+(?:\.\d+)? ?(?:ns|us|µs|μs|ms|milliseconds?|s|secs?|seconds?|mins?|minutes?)\b(?: \d+(?:\.\d+)? ?(?:ms|s)\b)*",
    ),
];

/// All patterns in one. The index of the match identifies its pattern; groups would need a second search.
static SEARCH: LazyLock<regex_automata::meta::Regex> = LazyLock::new(|| {
    // Unicode is off where it makes no difference: its word boundaries are slow.
    let patterns: Vec<String> = VOLATILE.iter().map(|(_, pattern)| format!("(?-u){pattern}")).collect();
    regex_automata::meta::Regex::new_many(&patterns).expect("the patterns are well formed")
});

/// Literal values: a quoted string, a number, a word that is a value.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let parts = [
        r#""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|“[^”\n]*”"#,
        r"(?-u:-?\b\d+(?:[._]\d+)*(?:e[+-]?\d+)?\b)",
        r"(?-u:\b(?:true|false|null|nil|None|True|False|undefined|NaN)\b)",
    ];
    Regex::new(&parts.join("|")).expect("the patterns are well formed")
});

/// A bracket that holds nothing but masked values.
static VALUES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"[\[{(](?:[#"\s,:\[\]{}()]|=>|\.\.\.|…)*[\]})]|(?:[#"],\s*)+[#"]"#)
        .expect("the pattern is well formed")
});

/// The default representation of an object, which includes its address.
static OBJECT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"#?<[\w.:$]+(?: object)? ?(?:at )?<addr>[^>]*>").expect("well formed"));

/// A position in the output of an unknown tool, or the clock of such a tool.
static POSITION: LazyLock<Regex> = LazyLock::new(|| {
    let parts = [
        r#"(?P<word>\b(?i-u:line|column|col|byte|offset)\b["':=, ]+)(?-u:\d+)"#,
        r"(?P<file>\.[A-Za-z](?-u:\w{0,5})) (?-u:\d+:\d+)",
        r"^(?:│ (?-u:\d+):|(?-u:\d+)┆|(?-u:\d\d:\d\d) )",
    ];
    Regex::new(&parts.join("|")).expect("the patterns are well formed")
});

/// A timestamp or a duration in JSON, recognized by its key.
static KEYED_TIME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?P<key>"(?-u:\w*)(?:[tT]ime|[dD]uration)(?-u:\w*)": ?)(?-u:[\d.e+-]+)"#)
        .expect("the pattern is well formed")
});

/// Text that compares values: its quoted strings are values and not names.
static COMPARES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i-u)[!=<>]==?|\bexpect|\bactual\b|\bassert|\bwant\b|\bgot\b|\breceived\b|\bdiffer|\bequal|\bmismatch|\b(?:not )?(?:less|greater) than\b|\bto (?:be|have|match|contain)\b|\bnot found in\b|\bconvert\b|\bparse\b|\binvalid (?:literal|value|argument|input|number|date)|\bunexpected(?:ly)?\b",
    )
    .expect("the pattern is well formed")
});

impl Normalizer {
    /// Creates a normalizer for output that was printed in `cwd`.
    pub(super) fn new(cwd: &str) -> Self {
        let root = cwd.trim_end_matches(['/', '\\']);
        Self { root: if root.is_empty() { String::new() } else { format!("{root}/") } }
    }

    /// Normalizes the name of a test; its numbers stay.
    pub(super) fn name(&self, name: &str) -> String {
        let name = self.without_root(name);
        if !name.contains("0x") {
            return name.into_owned();
        }
        replace_parts(
            &name,
            SEARCH.find_iter(name.as_bytes()).filter_map(|found| {
                let is_address = matches!(VOLATILE[found.pattern().as_usize()].0, VolatilePattern::Address);
                is_address.then(|| (found.range(), "<addr>".into()))
            }),
        )
    }

    /// Removes the directory of the command from a name. If no path follows the directory, it becomes a dot.
    fn without_root<'t>(&self, name: &'t str) -> Cow<'t, str> {
        let Some(folder) = self.folder().filter(|folder| name.contains(folder)) else { return name.into() };
        let parts = name.match_indices(folder).filter_map(|(at, _)| {
            let end = at + folder.len();
            match name[end..].chars().next() {
                Some('/') => Some((at..end + 1, "".into())),
                Some(c) if c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '\\') => None,
                _ => Some((at..end, HERE.into())),
            }
        });
        replace_parts(name, parts).into()
    }

    /// Returns the directory of the command, if it is known.
    fn folder(&self) -> Option<&str> {
        self.root.strip_suffix('/')
    }

    /// Returns a path relative to the directory of the command; other paths stay as they are.
    pub(super) fn path(&self, path: &str) -> String {
        let decoded = path.strip_prefix("file://").map(percent_decode);
        let path = decoded.as_deref().unwrap_or(path);
        let path = path.strip_prefix(&self.root).filter(|_| !self.root.is_empty()).unwrap_or(path);
        let path = path.strip_prefix("./").unwrap_or(path);
        path.replace('\\', "/")
    }

    /// Returns a directory relative to the command's directory, which is itself empty; `None` if it is outside.
    pub(super) fn relative_to_cwd(&self, folder: &str) -> Option<String> {
        if self.root.is_empty() {
            return Some(Self::stable_path_part(folder));
        }
        let folder = folder.trim_end_matches('/');
        if format!("{folder}/") == self.root {
            return Some(String::new());
        }
        folder.strip_prefix(&self.root).map(str::to_owned)
    }

    /// Returns the part of a path that is the same in every checkout: a relative path, or the end of an absolute one.
    pub(super) fn stable_path_part(path: &str) -> String {
        const PARTS: usize = 2;
        if !path.starts_with('/') {
            return path.to_owned();
        }
        let parts: Vec<&str> = path.rsplitn(PARTS + 1, '/').take(PARTS).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    }

    /// Masks values that vary from run to run.
    pub(super) fn volatile(&self, text: &str) -> String {
        // Every volatile value contains a digit or a slash.
        if !text.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'\\')) {
            return squeeze(text);
        }
        squeeze(&replace_parts(
            text,
            SEARCH.find_iter(text).map(|found| {
                let (volatile, _) = VOLATILE[found.pattern().as_usize()];
                let before = text[..found.start()].chars().next_back();
                (found.range(), self.mask(volatile, &text[found.range()], before))
            }),
        ))
    }

    /// Masks the varying values in each line of an unknown tool, and sorts the lines: parallel work ends in any order.
    pub(super) fn lines(&self, text: &str) -> String {
        sort_and_join(text.lines().map(|line| self.line(line)).collect())
    }

    /// Masks a line part by part, since a search in a very long line may scan all of it again and again.
    fn line(&self, mut line: &str) -> String {
        const PART: usize = 4096;
        let mut masked = String::new();
        while !line.is_empty() {
            let (part, rest) = line.split_at(line.floor_char_boundary(PART));
            masked += &KEYED_TIME.replace_all(&self.volatile(part), "$key<time>");
            line = rest;
        }
        masked
    }

    /// Removes the parts of a tool's message that only some of its formats have: a repeated rule, the full stop of a
    /// sentence, indentation, and the quotation marks of the locale.
    pub(super) fn diagnostic_text<'t>(text: &'t str, rule: &str) -> Cow<'t, str> {
        let behind = text.strip_prefix(rule).and_then(|rest| rest.strip_prefix(": "));
        let text = behind.filter(|_| !rule.is_empty()).unwrap_or(text);
        let named = text.strip_suffix([')', ']']).and_then(|rest| rest.strip_suffix(rule));
        let before = named.filter(|_| !rule.is_empty()).and_then(|rest| rest.strip_suffix(['(', '[']));
        let text = before.unwrap_or(text).trim_end().trim_end_matches('.');
        if text.is_ascii() && !text.contains('\n') {
            return text.into();
        }
        let text = text.replace(['\u{2018}', '\u{2019}'], "'").replace(['\u{201c}', '\u{201d}'], "\"");
        text.split_whitespace().collect::<Vec<_>>().join(" ").into()
    }

    /// Also masks positions in a file, in lines whose volatile values are already masked.
    pub(super) fn placeless(volatile: &str) -> String {
        sort_and_join(volatile.lines().map(|line| POSITION.replace_all(line, "$word$file")).collect())
    }

    fn mask<'t>(&self, volatile: VolatilePattern, whole: &'t str, before: Option<char>) -> Cow<'t, str> {
        match volatile {
            VolatilePattern::Uuid => "<uuid>".into(),
            VolatilePattern::Time | VolatilePattern::Duration => "<time>".into(),
            VolatilePattern::Network => "<net>".into(),
            // A slash within a relative path or a fraction does not begin an absolute path.
            VolatilePattern::Path
                if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | ')' | ']')) =>
            {
                without_position(whole).into()
            }
            VolatilePattern::Path => self.masked_path(whole).into(),
            VolatilePattern::Place => whole.split(':').next().unwrap_or_default().into(),
            VolatilePattern::Address => "<addr>".into(),
            // The decimals of a number are not a hash.
            VolatilePattern::Hash if before != Some('.') && is_hash(whole) => {
                // The class name in `Object@1b28cdfa` is not volatile.
                whole.split_once('@').map_or("<hash>".into(), |(class, _)| format!("{class}@<hash>").into())
            }
            VolatilePattern::Hash => whole.into(),
            VolatilePattern::Id => whole.trim_end_matches(|c: char| c.is_ascii_digit() || c == '=').into(),
        }
    }

    /// Keeps the part of an absolute path that is the same in every checkout and every temporary directory.
    fn masked_path(&self, path: &str) -> String {
        let bare = without_position(path);
        if self.folder().is_some_and(|folder| bare.trim_end_matches(['/', '.', ',']) == folder) {
            return HERE.to_owned();
        }
        let local = self.path(bare);
        if !local.starts_with('/') && local.get(1..3).is_none_or(|drive| drive != ":/") {
            return local;
        }
        let name = local.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        format!("<path>/{}", mask_random(name))
    }

    /// Also masks literal values, in text whose volatile values are already masked. In text that compares, every quoted
    /// string is a value; elsewhere a quoted word is a name, and it distinguishes errors.
    pub(super) fn values(volatile: &str, kind: &str) -> String {
        // If the text is a single quotation, its content is the text.
        let volatile = quoted_whole(volatile).unwrap_or(volatile);
        let compares = kind.to_ascii_lowercase().contains("assert") || COMPARES.is_match(volatile);
        let volatile = match volatile.contains("<addr>") {
            true => OBJECT.replace_all(volatile, "#"),
            false => volatile.into(),
        };
        let masked = replace_parts(
            &volatile,
            VALUE.find_iter(&volatile).filter_map(|found| {
                let is_quoted = found.as_str().starts_with(['"', '\'', '“']);
                let is_kept = is_quoted && !compares && is_name(found.as_str());
                (!is_kept).then(|| (found.range(), if is_quoted { "\"" } else { "#" }.into()))
            }),
        );
        if !masked.contains(['[', '{', '(', ',']) {
            return masked;
        }
        VALUES.replace_all(&masked, "#").into_owned()
    }
}

/// Checks whether hexadecimal digits are a hash: they mix digits and letters, are long, or follow an `@`.
fn is_hash(word: &str) -> bool {
    const LONG: usize = 16;
    let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
    let digits = has(u8::is_ascii_digit);
    digits && (has(u8::is_ascii_alphabetic) || word.len() >= LONG)
}

/// Returns the content of a text that is a single quotation.
fn quoted_whole(text: &str) -> Option<&str> {
    let inner = |quote: char| {
        text.trim().strip_prefix(quote)?.strip_suffix(quote).filter(|inner| !inner.contains(quote))
    };
    inner('\'').or_else(|| inner('"')).filter(|inner| inner.contains(' '))
}

/// Sorts lines and joins them.
fn sort_and_join<T: AsRef<str> + Ord>(mut lines: Vec<T>) -> String {
    lines.sort_unstable();
    lines.iter().map(AsRef::as_ref).collect::<Vec<_>>().join("\n")
}

/// Replaces parts of a text; the parts must be in order.
fn replace_parts<'t>(text: &str, parts: impl Iterator<Item = (Range<usize>, Cow<'t, str>)>) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut end = 0;
    for (part, by) in parts {
        replaced.push_str(&text[end..part.start]);
        replaced.push_str(&by);
        end = part.end;
    }
    replaced.push_str(&text[end..]);
    replaced
}

/// Removes `:12:5` from the end of a path.
fn without_position(path: &str) -> &str {
    let bare = path.trim_end_matches(|c: char| c == ':' || c.is_ascii_digit());
    if path[bare.len()..].starts_with(':') {
        return bare;
    }
    // The name itself may end in digits.
    path[bare.len()..].find(':').map_or(path, |at| &path[..bare.len() + at])
}

/// Checks whether a quoted text is the name of something.
fn is_name(quoted: &str) -> bool {
    let mut inner = quoted.chars();
    inner.next();
    inner.next_back();
    let inner = inner.as_str();
    inner.len() <= 80
        && inner.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '@' | '.' | '#'))
        && inner
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '$' | '@' | ':' | '#' | '/'))
}

/// Masks the random part of the last component of a path.
fn mask_random(name: &str) -> Cow<'_, str> {
    if let Some(mask) = of_a_library(name) {
        return mask.into();
    }
    let plain = |c: char| c.is_ascii_lowercase() || matches!(c, '_' | '.');
    let made_up = (name.starts_with("tmp") && name.len() == 11)
        || name.rsplit_once(['_', '-', '.']).is_some_and(|(_, last)| last.len() == 6 && !name.contains('.'));
    if name.chars().all(plain) && !made_up {
        return name.into();
    }
    if name.chars().filter(char::is_ascii_digit).count() <= 2 && name.contains('.') {
        return name.into();
    }
    let end = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(3.min(name.len()));
    format!("{}*", &name[..end]).into()
}

/// Returns the replacement for a library's random name: Python's `tmpab3d_fgh.json`, Rust's `.tmpAbC123` (tempfile).
fn of_a_library(name: &str) -> Option<&'static str> {
    let letters = |text: &str, length: usize, is_one: fn(char) -> bool| {
        let rest = text.trim_start_matches(is_one);
        text.len() - rest.len() == length && (rest.is_empty() || rest.starts_with('.'))
    };
    let python = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.strip_prefix(".tmp").is_some_and(|rest| letters(rest, 6, |c| c.is_ascii_alphanumeric())) {
        return Some(".tmp*");
    }
    name.strip_prefix("tmp").is_some_and(|rest| letters(rest, 8, python)).then_some("tmp*")
}

/// Replaces every run of whitespace by one space.
fn squeeze(text: &str) -> String {
    let mut squeezed = String::with_capacity(text.len());
    for word in text.split_ascii_whitespace() {
        if !squeezed.is_empty() {
            squeezed.push(' ');
        }
        squeezed.push_str(word);
    }
    squeezed
}

/// Decodes `%20` and similar escapes, as they occur in the URL of a file.
pub fn percent_decode(url: &str) -> String {
    let mut parts = url.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&part.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(part.as_bytes());
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
