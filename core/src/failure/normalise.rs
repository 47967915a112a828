//! Masks what varies by itself, so that the same failure reads the same on every machine and every day.
//!
//! Three strengths. A *name* keeps its numbers; only addresses and absolute paths are masked in it. The text
//! of a *diagnostic* loses what is volatile: times, durations, addresses, identifiers, paths outside of the
//! project, line numbers. The text of an *assertion* loses its literal values, too.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Masks for one output.
pub(super) struct Normaliser {
    /// The folder of the command with a slash at its end, or nothing.
    root: String,
}

/// What varies by itself. The order decides where two patterns could match.
static VOLATILE: LazyLock<Regex> = LazyLock::new(|| {
    let parts = [
        // A universally unique identifier.
        r"(?P<uuid>\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b)",
        // A date, with or without a time; a time.
        r"(?P<date>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?Z\b| ?[+-]\d\d:?\d\d\b)?)?|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \w{3,9} +\d{1,2},? [\d: ]{7,14}[\w+ -]*\d{2,4}|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b)",
        // An internet address, with or without a port.
        r"(?P<net>\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}(?::\d+)?\b|\blocalhost:\d+|\[::1?\]:\d+)",
        // An absolute path, with the position behind it.
        r"(?P<path>(?:file://)?(?:/(?u:[\w.@+~,=%#-])+)+/?(?::\d+)*|\b[A-Za-z]:\\(?u:[^\s:'\x22<>|])+(?::\d+)*)",
        // The position behind a relative path.
        r"(?P<place>\b[\w.@+-]+\.[A-Za-z]\w{0,5}(?::\d+)+\b)",
        // A memory address; a hash.
        r"(?P<address>\b0[xX][0-9a-fA-F]+\b)",
        r"(?P<hash>\b[0-9a-f]{16,}\b|\b[0-9a-f]*(?:\d[a-f]|[a-f]\d)[0-9a-f]{6,}\b)",
        // A named number that is another one each time.
        r"(?P<id>(?i:\b(?:pid|tid|oid|thread|port|seed|object_id|threadid|process|child|inode|fd)s?)[ =:#(]+(?:of )?#?\d+\b|==\d+==|\bSeed \d+)",
        // A duration.
        r"(?P<lasted>\b\d+(?:\.\d+)? ?(?:ns|us|µs|μs|ms|s|secs?|seconds?|mins?|minutes?)\b)",
    ];
    // Without Unicode where it makes no difference: its word boundaries are slow.
    Regex::new(&format!("(?-u){}", parts.join("|"))).expect("the patterns are well formed")
});

/// Literal values: a quoted string, a number, a word that is a value.
static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    let parts = [
        r#"(?P<quoted>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|“[^”\n]*”)"#,
        r"(?-u:(?P<number>-?\b\d+(?:[._]\d+)*(?:e[+-]?\d+)?\b))",
        r"(?-u:(?P<word>\b(?:true|false|null|nil|None|True|False|undefined|NaN)\b))",
    ];
    Regex::new(&parts.join("|")).expect("the patterns are well formed")
});

/// A bracket that holds nothing but masked values.
static VALUES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"[\[{(](?:[#"\s,:\[\]{}()]|=>|\.\.\.|…)*[\]})]|(?:[#"],\s*)+[#"]"#)
        .expect("the pattern is well formed")
});

/// What an object without a representation of its own prints.
static OBJECT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"#?<[\w.:$]+(?: object)? ?(?:at )?<addr>[^>]*>").expect("well formed"));

/// Text that compares: its quoted strings are values and not names.
static COMPARES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i-u)[!=<>]==?|\bexpect|\bactual\b|\bassert|\bwant\b|\bgot\b|\breceived\b|\bdiffer|\bequal|\bmismatch|\b(?:not )?(?:less|greater) than\b|\bto (?:be|have|match|contain)\b|\bnot found in\b|\bconvert\b|\bparse\b|\binvalid (?:literal|value|argument|input|number|date)|\bunexpected(?:ly)?\b",
    )
    .expect("the pattern is well formed")
});

impl Normaliser {
    /// Prepares for output that was printed in `cwd`.
    pub(super) fn new(cwd: &str) -> Self {
        let root = cwd.trim_end_matches(['/', '\\']);
        Self { root: if root.is_empty() { String::new() } else { format!("{root}/") } }
    }

    /// Normalises the name of a test: its numbers are its own.
    pub(super) fn name(&self, name: &str) -> String {
        let mut name = Cow::Borrowed(name);
        if !self.root.is_empty() && name.contains(&self.root) {
            name = name.replace(&self.root, "").into();
        }
        if name.contains("0x") {
            name = VOLATILE
                .replace_all(&name, |found: &Captures<'_>| match found.name("address") {
                    Some(_) => "<addr>".to_owned(),
                    None => found[0].to_owned(),
                })
                .into_owned()
                .into();
        }
        name.into_owned()
    }

    /// Returns a path relative to the folder of the command, or as it is.
    pub(super) fn path(&self, path: &str) -> String {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let path = path.strip_prefix(&self.root).filter(|_| !self.root.is_empty()).unwrap_or(path);
        let path = path.strip_prefix("./").unwrap_or(path);
        path.replace('\\', "/")
    }

    /// Returns what of a path is the same in every checkout: all of a relative one, the end of an absolute one.
    pub(super) fn subject(path: &str) -> String {
        const PARTS: usize = 2;
        if !path.starts_with('/') {
            return path.to_owned();
        }
        let parts: Vec<&str> = path.rsplitn(PARTS + 1, '/').take(PARTS).collect();
        parts.into_iter().rev().collect::<Vec<_>>().join("/")
    }

    /// Masks what varies by itself.
    pub(super) fn volatile(&self, text: &str) -> String {
        // Nothing varies without a digit or a slash, but for hashes, which have digits.
        if !text.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'/' | b'\\')) {
            return squeeze(text);
        }
        let mut masked = String::with_capacity(text.len());
        let mut end = 0;
        for found in VOLATILE.captures_iter(text) {
            let whole = found.get(0).expect("a match has a text");
            masked.push_str(&text[end..whole.start()]);
            masked.push_str(&self.mask(&found, text[..whole.start()].chars().next_back()));
            end = whole.end();
        }
        masked.push_str(&text[end..]);
        squeeze(&masked)
    }

    fn mask<'t>(&self, found: &Captures<'t>, before: Option<char>) -> Cow<'t, str> {
        let whole = found.get(0).expect("a match has a text").as_str();
        if found.name("path").is_some() {
            // A slash within a relative path or a fraction begins no absolute path.
            let inner = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | ')' | ']'));
            return if inner { without_position(whole).into() } else { self.masked_path(whole).into() };
        }
        if found.name("place").is_some() {
            return whole.split(':').next().unwrap_or_default().into();
        }
        if found.name("id").is_some() {
            return whole.trim_end_matches(|c: char| c.is_ascii_digit() || c == '=').into();
        }
        let name = ["uuid", "date", "net", "address", "hash", "lasted"]
            .into_iter()
            .find(|name| found.name(name).is_some());
        match name {
            Some("uuid") => "<uuid>".into(),
            Some("date") => "<time>".into(),
            Some("net") => "<net>".into(),
            Some("address") => "<addr>".into(),
            // The decimals of a number are not a hash.
            Some("hash") if before != Some('.') && whole.bytes().any(|byte| byte.is_ascii_digit()) => {
                "<hash>".into()
            }
            Some("lasted") => "<time>".into(),
            _ => whole.into(),
        }
    }

    /// Keeps of an absolute path what is the same in every checkout and every temporary folder.
    fn masked_path(&self, path: &str) -> String {
        let local = self.path(without_position(path));
        if !local.starts_with('/') && local.get(1..3).is_none_or(|drive| drive != ":/") {
            return local;
        }
        let name = local.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        format!("<path>/{}", steady(name))
    }

    /// Masks literal values as well. In text that compares every quoted string is a value; elsewhere a
    /// quoted word is a name, and it tells one error from another.
    pub(super) fn values(&self, text: &str, kind: &str) -> String {
        let volatile = self.volatile(text);
        let compares = kind.to_ascii_lowercase().contains("assert") || COMPARES.is_match(&volatile);
        let volatile = OBJECT.replace_all(&volatile, "#");
        let masked = VALUE.replace_all(&volatile, |found: &Captures<'_>| {
            let whole = &found[0];
            match found.name("quoted") {
                Some(_) if !compares && is_name(whole) => whole.to_owned(),
                Some(_) => "\"".to_owned(),
                None => "#".to_owned(),
            }
        });
        VALUES.replace_all(&masked, "#").into_owned()
    }
}

/// Takes `:12:5` off the end of a path.
fn without_position(path: &str) -> &str {
    let bare = path.trim_end_matches(|c: char| c == ':' || c.is_ascii_digit());
    if path[bare.len()..].starts_with(':') {
        return bare;
    }
    // The name itself may end in digits.
    path[bare.len()..].find(':').map_or(path, |at| &path[..bare.len() + at])
}

/// Says whether a quoted text is the name of something.
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
fn steady(name: &str) -> Cow<'_, str> {
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

/// Makes every run of blanks one blank.
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
