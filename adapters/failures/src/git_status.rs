//! Parser of `git status` in its formats for programs: porcelain v1 and v2, with lines or with NUL (`-z`).
//!
//! It accepts any input: a line that git does not print is left out. Names are decoded, so that they can be passed to
//! git again. A name that is not UTF-8 is shown with replacement characters.

use std::borrow::Cow;
use std::str;

/// A path that differs from the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitStatusEntry {
    /// The path, from the root of the repository; the new path if it was renamed.
    pub path: String,
    /// The old path if it was renamed or copied.
    pub from: Option<String>,
    /// The status of the path.
    pub status: PathStatus,
    /// Whether it is deleted, staged or not; false for a path in conflict.
    pub is_deleted: bool,
}

/// The status of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStatus {
    /// Git tracks it, and it differs in the index, the work tree or both.
    Tracked {
        /// The index differs from the commit.
        staged: bool,
        /// The work tree differs from the index.
        unstaged: bool,
    },
    /// A merge left it in conflict.
    Conflict,
    /// Git does not track it.
    Untracked,
}

impl PathStatus {
    /// Returns the word for the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tracked { .. } => "changed",
            Self::Conflict => "in conflict",
            Self::Untracked => "untracked",
        }
    }
}

impl GitStatusEntry {
    /// Checks whether git tracks the path.
    pub fn is_tracked(&self) -> bool {
        self.status != PathStatus::Untracked
    }

    /// Checks whether the index differs; false for a conflict.
    pub fn is_staged(&self) -> bool {
        matches!(self.status, PathStatus::Tracked { staged: true, .. })
    }

    /// Checks whether the work tree differs; true for a conflict.
    pub fn is_unstaged(&self) -> bool {
        matches!(self.status, PathStatus::Conflict | PathStatus::Tracked { unstaged: true, .. })
    }
}

/// The branch headers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchHeader {
    /// Name of the branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The upstream branch.
    pub upstream: Option<String>,
    /// Commits that the upstream lacks.
    pub ahead: u32,
    /// Commits of the upstream that are missing here.
    pub behind: u32,
    /// The upstream is configured, but does not exist.
    pub is_gone: bool,
}

/// Reads the headers, `## main...origin/main [ahead 1]` or in version 2 `# branch.head main`; `None` without any.
pub fn head(output: &[u8]) -> Option<BranchHeader> {
    let output = &without_colors(output)[..];
    let lines = output.split(|byte| matches!(byte, 0 | b'\n')).filter(|line| line.starts_with(b"#"));
    let mut head = None;
    for line in lines.map(to_text) {
        let line = line.trim_end();
        if let Some(rest) = line.strip_prefix("## ") {
            return Some(head_version_1(rest));
        }
        let Some((name, value)) = line.strip_prefix("# branch.").and_then(|rest| rest.split_once(' ')) else {
            continue;
        };
        let head = head.get_or_insert_with(BranchHeader::default);
        match name {
            "head" => head.branch = Some(value.to_owned()).filter(|name| name != "(detached)"),
            "upstream" => head.upstream = Some(value.to_owned()),
            "ab" => {
                let count =
                    |sign: char| value.split(' ').find_map(|part| part.strip_prefix(sign)?.parse().ok());
                (head.ahead, head.behind) = (count('+').unwrap_or(0), count('-').unwrap_or(0));
            }
            _ => {}
        }
    }
    head
}

/// Reads the header of version 1, after its marks.
fn head_version_1(header: &str) -> BranchHeader {
    let (names, counts) = header.split_once(" [").unwrap_or((header, ""));
    let (branch, upstream) = match names.split_once("...") {
        Some((branch, upstream)) => (branch, Some(upstream.to_owned())),
        None => (names, None),
    };
    let branch = ["No commits yet on ", "Initial commit on "]
        .iter()
        .find_map(|before| branch.strip_prefix(before))
        .unwrap_or(branch);
    let counts = counts.trim_end_matches(']');
    let count = |word: &str| counts.split(", ").find_map(|part| part.strip_prefix(word)?.trim().parse().ok());
    BranchHeader {
        branch: Some(branch.to_owned()).filter(|branch| !branch.contains(' ')),
        upstream,
        ahead: count("ahead").unwrap_or(0),
        behind: count("behind").unwrap_or(0),
        is_gone: counts == "gone",
    }
}

/// Checks whether an output contains branch headers and nothing else: no path is changed.
pub fn is_only_head(output: &[u8]) -> bool {
    let clean = &without_colors(output)[..];
    let mut lines =
        clean.split(|byte| matches!(byte, 0 | b'\n')).filter(|line| !line.trim_ascii().is_empty());
    head(clean).is_some() && lines.all(|line| line.starts_with(b"## ") || line.starts_with(b"# "))
}

/// Reads all entries in order; ignored paths and headers are left out.
pub fn parse(output: &[u8]) -> Vec<GitStatusEntry> {
    let output = &without_colors(output)[..];
    let has_nul = memchr::memchr(0, output).is_some();
    let mut records = output.split(move |byte| *byte == if has_nul { 0 } else { b'\n' });
    let mut entries = Vec::new();
    let mut first = true;
    while let Some(record) = records.next() {
        let record = if has_nul { record } else { record.strip_suffix(b"\r").unwrap_or(record) };
        let names = if has_nul { NameQuoting::Raw } else { NameQuoting::Quoted };
        let read = version_2(record, names).or_else(|| version_1(record, names)).or_else(|| {
            // A caller that trims the output also removes the leading space of its first line.
            let whole = [b" ", record].concat();
            if first { version_1(&whole, names) } else { None }
        });
        first = false;
        let Some(StatusLine { status, path, from, renamed, deleted }) = read else { continue };
        // With NUL, the old path is a separate record.
        let from = if has_nul && renamed { records.next().map(to_text) } else { from };
        if let Some(status) = status {
            let is_deleted = deleted && matches!(status, PathStatus::Tracked { .. });
            entries.push(GitStatusEntry { path, from, status, is_deleted });
        }
    }
    entries
}

/// Removes the color sequences that `color.status=always` puts around letters and names, and no others.
fn without_colors(output: &[u8]) -> Cow<'_, [u8]> {
    let mut rest = output;
    let mut clean = Vec::new();
    while let Some(at) = memchr::memmem::find(rest, b"\x1b[") {
        let inside = &rest[at + 2..];
        let len = inside.iter().position(|byte| !b"0123456789;".contains(byte)).unwrap_or(inside.len());
        // The sequence that clears the end of the line may follow the color.
        let is_color = matches!(inside.get(len), Some(b'm' | b'K'));
        clean.extend_from_slice(&rest[..if is_color { at } else { at + 2 }]);
        rest = if is_color { &inside[len + 1..] } else { inside };
    }
    if rest.len() == output.len() {
        return Cow::Borrowed(output);
    }
    clean.extend_from_slice(rest);
    Cow::Owned(clean)
}

/// How names are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameQuoting {
    /// Verbatim.
    Raw,
    /// In quotes as in C, if they contain special characters.
    Quoted,
}

struct StatusLine {
    /// `None` for an ignored path.
    status: Option<PathStatus>,
    path: String,
    from: Option<String>,
    renamed: bool,
    deleted: bool,
}

/// Reads `XY path` or `XY old -> new`.
fn version_1(record: &[u8], names: NameQuoting) -> Option<StatusLine> {
    let [x, y, b' ', rest @ ..] = record else { return None };
    let status = path_status(*x, *y, b' ')?;
    let renamed = [*x, *y].iter().any(|side| matches!(side, b'R' | b'C'));
    let deleted = [x, y].contains(&&b'D');
    if names == NameQuoting::Raw || !renamed {
        let (path, behind) = name(rest, names, None)?;
        return behind.is_empty().then_some(StatusLine { status, path, from: None, renamed, deleted });
    }
    let (from, behind) = name(rest, names, Some(b" -> "))?;
    let behind = behind.strip_prefix(b" -> ")?;
    let (path, _) = name(behind, names, None)?;
    Some(StatusLine { status, path, from: Some(from), renamed, deleted })
}

/// Reads the lines that begin with `1`, `2`, `u`, `?` and `!`.
fn version_2(record: &[u8], names: NameQuoting) -> Option<StatusLine> {
    let (kind, rest) = (record.first()?, record.get(1..)?.strip_prefix(b" ")?);
    let fields = match kind {
        b'1' => 7,
        b'2' => 8,
        b'u' => 9,
        b'?' | b'!' => 0,
        _ => return None,
    };
    let mut parts = rest.splitn(fields + 1, |byte| *byte == b' ');
    let sides = if fields == 0 { *b"??" } else { parts.next()?.try_into().ok()? };
    let path = parts.nth(fields.saturating_sub(1))?;
    let status = match kind {
        b'!' => None,
        b'u' => Some(PathStatus::Conflict),
        _ => path_status(sides[0], sides[1], b'.')?,
    };
    let renamed = *kind == b'2';
    let (path, behind) = name(path, names, renamed.then_some(b"\t"))?;
    let from = behind.strip_prefix(b"\t").and_then(|from| name(from, names, None));
    Some(StatusLine {
        status,
        path,
        from: from.map(|(from, _)| from),
        renamed,
        deleted: sides.contains(&b'D'),
    })
}

/// Returns the status for two status letters; the outer `None` means that git does not have these letters.
#[expect(clippy::option_option, reason = "an ignored path is understood, and left out")]
fn path_status(x: u8, y: u8, same: u8) -> Option<Option<PathStatus>> {
    let known = |side: u8| side == same || b"MTADRCU".contains(&side);
    match (x, y) {
        (b'?', b'?') => Some(Some(PathStatus::Untracked)),
        (b'!', b'!') => Some(None),
        (b'U', other) | (other, b'U') if known(other) => Some(Some(PathStatus::Conflict)),
        (b'A', b'A') | (b'D', b'D') => Some(Some(PathStatus::Conflict)),
        _ if known(x) && known(y) && (x != same || y != same) => {
            Some(Some(PathStatus::Tracked { staged: x != same, unstaged: y != same }))
        }
        _ => None,
    }
}

/// Takes a name off the beginning; one without quotes ends before `end`. Returns it with the rest of the line.
fn name<'a>(bytes: &'a [u8], names: NameQuoting, end: Option<&[u8]>) -> Option<(String, &'a [u8])> {
    if names == NameQuoting::Quoted && bytes.first() == Some(&b'"') {
        return unquote(&bytes[1..]);
    }
    let end = end.filter(|_| names == NameQuoting::Quoted);
    let len = end.and_then(|end| memchr::memmem::find(bytes, end)).unwrap_or(bytes.len());
    (len > 0).then(|| (to_text(&bytes[..len]), &bytes[len..]))
}

/// Decodes a name as git quotes it: escapes as in C, other bytes as three octal digits.
fn unquote(bytes: &[u8]) -> Option<(String, &[u8])> {
    let mut name = Vec::new();
    let mut rest = bytes;
    loop {
        let (byte, behind) = rest.split_first()?;
        rest = behind;
        match byte {
            b'"' => return Some((to_text(&name), rest)),
            b'\\' => {
                let (byte, len) = unescape(rest)?;
                name.push(byte);
                rest = &rest[len..];
            }
            _ => name.push(*byte),
        }
    }
}

/// Returns the byte that an escape denotes, and the length of the escape after its backslash.
fn unescape(bytes: &[u8]) -> Option<(u8, usize)> {
    let byte = match bytes.first()? {
        b'a' => 0x07,
        b'b' => 0x08,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 0x0b,
        b'f' => 0x0c,
        b'r' => b'\r',
        byte @ (b'"' | b'\\') => *byte,
        _ => {
            let digits = str::from_utf8(bytes.get(..3)?).ok()?;
            return u8::from_str_radix(digits, 8).ok().map(|byte| (byte, 3));
        }
    };
    Some((byte, 1))
}

fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
