//! Problems of a file with their places, and the report that gathers them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use serde::Serialize;

/// Maximum size of a file, in bytes.
pub const MOST_BYTES: usize = 1024 * 1024;

/// One problem of a file, with its place and, where there is one, the remedy.
///
/// Its `Display` is one line: `flow.yaml:14:5: steps.fix.instrutions: unknown key; did you mean
/// "instructions"?`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The file as it was named.
    pub file: String,
    /// The first line is 1; 0 if the complaint is about the file as a whole.
    pub line: u32,
    /// The first character of a line is 1; 0 if the complaint is about the file as a whole.
    pub column: u32,
    /// The key, from the top of the file; may be empty.
    pub path: String,
    /// The problem.
    pub what: String,
    /// The allowed values, or the remedy.
    pub help: Option<String>,
    /// The line of the file; none if it is about the file as a whole, or far inside a very long line.
    pub excerpt: Option<String>,
}

impl Diagnostic {
    /// Returns a complaint about a file as a whole.
    pub fn of_file(file: &Path, what: &str) -> Self {
        let (file, what) = (file.display().to_string(), what.to_owned());
        Self { file, line: 0, column: 0, path: String::new(), what, help: None, excerpt: None }
    }

    /// Returns the complaint with its source line, cut to the number of columns, and a caret below the place.
    pub fn render(&self, columns: usize) -> String {
        let Some(excerpt) = &self.excerpt else { return format!("{self}\n") };
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let room = columns.saturating_sub(gutter.len() + " | ......".len());
        let (shown, caret) = window(excerpt, self.column, room.clamp(EXCERPT_MIN, EXCERPT_MAX));
        format!("{self}\n{gutter} |\n{number} | {shown}\n{gutter} | {}^\n", " ".repeat(caret))
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.what)?;
        match &self.help {
            Some(help) => write!(f, "; {help}"),
            None => Ok(()),
        }
    }
}

/// How many characters of a line are shown at least, and at most.
const EXCERPT_MIN: usize = 20;
const EXCERPT_MAX: usize = 100;

/// Returns so many characters of `line` around `column`, made printable, and where the caret goes in it.
fn window(line: &str, column: u32, width: usize) -> (String, usize) {
    let at = usize::try_from(column.max(1) - 1).unwrap_or(usize::MAX).min(line.chars().count());
    let before = width * 3 / 5;
    let skipped = if at > width * 4 / 5 { at - before } else { 0 };
    let mut shown = String::from(if skipped > 0 { "..." } else { "" });
    let caret = shown.len() + (at - skipped);
    shown.extend(line.chars().skip(skipped).take(width).map(printable));
    if line.chars().count() > skipped + width {
        shown.push_str("...");
    }
    (shown.trim_end().to_owned(), caret)
}

/// Returns the character, or a stand-in of the same width for one that would move the cursor.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') =>
        {
            '\u{fffd}'
        }
        c => c,
    }
}

/// Returns `text` in quotes, on one line and not long.
pub fn quote(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut shown = String::from("\"");
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            shown.push_str("...");
            break;
        }
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            '"' => shown.push_str("\\\""),
            c => shown.push(printable(c)),
        }
    }
    shown.push('"');
    shown
}

/// Returns a name as it is, or in quotes if it could be misread.
pub fn quote_name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.<$".contains(c);
    if !name.is_empty() && name.len() <= 60 && name.chars().all(plain) {
        name.to_owned()
    } else {
        quote(name)
    }
}

/// A place in one of the files that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileOffset {
    /// Which file, see [`LoadReport::add_source`].
    pub source: u32,
    /// Where, in bytes.
    pub offset: u32,
}

/// A key and the keys above it, as people write them: `steps.fix.inputs[0].from`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(String);

impl KeyPath {
    /// Returns the path of a key in it.
    pub fn key(&self, key: &str) -> Self {
        let key = if key.contains('.') { quote(key) } else { quote_name(key) };
        if self.0.is_empty() { Self(key) } else { Self(format!("{}.{key}", self.0)) }
    }

    /// Returns the path of an entry in it; the first is 0.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// Returns it as people write it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One text that was read.
struct Source {
    name: String,
    text: String,
    /// Where the lines begin.
    lines: Vec<usize>,
    /// How many characters there are before each block, so that a column in a long line is found at once.
    blocks: Vec<usize>,
}

const BLOCK: usize = 1024;

impl Source {
    fn new(name: String, text: String) -> Self {
        let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let counts = text.as_bytes().chunks(BLOCK).scan(0, |sum, block| {
            let before = *sum;
            *sum += characters(block);
            Some(before)
        });
        let blocks = counts.collect();
        Self { name, text, lines, blocks }
    }

    /// Returns line and column, both from 1, and the line. The end of a text counts to its last line.
    fn locate(&self, offset: u32) -> (u32, u32, Option<String>) {
        let last = self.text.len().saturating_sub(usize::from(self.text.ends_with('\n')));
        let offset = self.text.floor_char_boundary((offset as usize).min(last));
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let column = self.characters_before(offset) - self.characters_before(start) + 1;
        (number(line), number(column), self.excerpt(start, offset))
    }

    /// Returns the line that begins at `start`, cut behind `offset`, unless that is far from its beginning.
    fn excerpt(&self, start: usize, offset: usize) -> Option<String> {
        const FAR: usize = 4 * BLOCK;
        let end = self.text.floor_char_boundary(offset.saturating_add(BLOCK));
        let rest = self.text.get(start..end).filter(|_| offset - start <= FAR)?;
        Some(rest.split('\n').next()?.trim_end_matches('\r').to_owned())
    }

    fn characters_before(&self, offset: usize) -> usize {
        let block = offset / BLOCK;
        let before = self.blocks.get(block).or(self.blocks.last()).copied().unwrap_or(0);
        let from = block.min(self.blocks.len().saturating_sub(1)) * BLOCK;
        before + characters(self.text.as_bytes().get(from..offset).unwrap_or_default())
    }
}

/// Returns how many characters begin in these bytes of UTF-8.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Gathers the complaints about all files of one load.
#[derive(Default)]
pub struct LoadReport {
    sources: Vec<Source>,
    errors: Vec<(FileOffset, Diagnostic)>,
    warnings: Vec<(FileOffset, Diagnostic)>,
    /// Notes that are reported once, with all the places they concern.
    notes: BTreeMap<OnceNote, Vec<FileOffset>>,
    /// Path of each alias, with its file, and path of the value that the alias refers to.
    aliases: Aliases,
    dropped: usize,
}

/// A note that is reported once per load, however often it applies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnceNote {
    /// A feature that is accepted, but not run yet.
    NotYet(&'static str),
    /// OpenCode has no switch for capabilities.
    CapabilitiesNotEnforced,
}

/// Maximum complaints that are kept; further ones are only counted.
const MOST_COMPLAINTS: usize = 1000;

impl LoadReport {
    /// Adds a text and returns its number.
    pub fn add_source(&mut self, name: String, text: String) -> u32 {
        self.sources.push(Source::new(name, text));
        number(self.sources.len() - 1)
    }

    /// Adds the bytes of a file as a text, which is returned with its number; one that is too large or no UTF-8 is an
    /// error.
    pub fn add_file(&mut self, name: String, bytes: &[u8]) -> Option<(u32, String)> {
        if bytes.len() > MOST_BYTES {
            self.add_unreadable(name, format!("larger than {MOST_BYTES} bytes"));
            return None;
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes).into_owned();
        let source = self.add_source(name, text.clone());
        let Err(error) = str::from_utf8(bytes) else { return Some((source, text)) };
        let place = FileOffset { source, offset: number(error.valid_up_to()) };
        self.error(place, &KeyPath::default(), "not UTF-8", "save the file as UTF-8");
        None
    }

    /// Returns the name of a source.
    pub fn name(&self, source: u32) -> &str {
        self.sources.get(source as usize).map_or("", |source| &source.name)
    }

    /// Adds an error.
    pub fn error(
        &mut self,
        place: FileOffset,
        path: &KeyPath,
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.is_full() {
            self.dropped += 1;
            return;
        }
        let complaint = self.complaint(place, path.as_str(), what.into(), help.into());
        self.errors.push((place, complaint));
    }

    /// Adds an error that another reader has found, about what is named at `place`.
    pub fn adopt(&mut self, place: FileOffset, complaint: Diagnostic) {
        if self.is_full() {
            self.dropped += 1;
        } else {
            self.errors.push((place, complaint));
        }
    }

    /// Adds a warning that another reader has found, about what is named at `place`.
    pub fn adopt_warning(&mut self, place: FileOffset, complaint: Diagnostic) {
        self.warnings.push((place, complaint));
    }

    /// Adds an error about a file that could not even be read.
    pub fn add_unreadable(&mut self, file: String, what: String) {
        self.sources.push(Source::new(file.clone(), String::new()));
        let place = FileOffset { source: number(self.sources.len() - 1), offset: 0 };
        let complaint =
            Diagnostic { file, line: 0, column: 0, path: String::new(), what, help: None, excerpt: None };
        self.errors.push((place, complaint));
    }

    /// Adds a warning.
    pub fn warn(
        &mut self,
        place: FileOffset,
        path: &KeyPath,
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.warnings.len() < MOST_COMPLAINTS {
            let complaint = self.complaint(place, path.as_str(), what.into(), help.into());
            self.warnings.push((place, complaint));
        }
    }

    /// Remembers that `note` applies at `place`.
    pub fn note(&mut self, note: OnceNote, place: FileOffset) {
        self.notes.entry(note).or_default().push(place);
    }

    /// Remembers that what is wrong with the value at `anchor` will be found at `alias` again.
    pub fn alias(&mut self, source: u32, alias: &KeyPath, anchor: KeyPath) {
        let file = self.name(source).to_owned();
        self.aliases.insert((file, alias.as_str().to_owned()), anchor);
    }

    /// Returns how many errors were found.
    pub fn count(&self) -> usize {
        self.errors.len() + self.dropped
    }

    /// Says whether further errors are only counted.
    pub fn is_full(&self) -> bool {
        self.errors.len() >= MOST_COMPLAINTS
    }

    /// Returns errors and warnings, each in the order of the files and their lines.
    pub fn finish(mut self, strict: bool) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        for (note, places) in std::mem::take(&mut self.notes) {
            if let Some(first) = places.iter().min().copied() {
                let what = note.text(&self.list(&places));
                let complaint = self.complaint(first, "", what, String::new());
                self.warnings.push((first, complaint));
            }
        }
        if strict {
            self.errors.append(&mut self.warnings);
        }
        let dropped = self.dropped;
        let mut errors = sort_and_deduplicate(self.errors, &self.aliases);
        if let (true, Some(last)) = (dropped > 0, errors.last().cloned()) {
            errors.push(Diagnostic {
                path: String::new(),
                what: format!("and {dropped} more problems"),
                help: None,
                ..last
            });
        }
        (errors, sort_and_deduplicate(self.warnings, &self.aliases))
    }

    fn complaint(&self, place: FileOffset, path: &str, what: String, help: String) -> Diagnostic {
        let source = self.sources.get(place.source as usize);
        let (line, column, excerpt) = source.map_or((0, 0, None), |source| source.locate(place.offset));
        Diagnostic {
            file: self.name(place.source).to_owned(),
            line,
            column,
            path: path.to_owned(),
            what: shorten(what),
            help: (!help.is_empty()).then_some(help),
            excerpt,
        }
    }

    /// Returns `flow.yaml:3, flow.yaml:9`, with the tail of a long list counted.
    fn list(&self, places: &[FileOffset]) -> String {
        const MOST: usize = 8;
        let mut sorted = places.to_vec();
        sorted.sort_unstable();
        let mut names: Vec<String> = sorted
            .iter()
            .filter_map(|place| {
                let source = self.sources.get(place.source as usize)?;
                Some(format!("{}:{}", source.name, source.locate(place.offset).0))
            })
            .collect();
        names.dedup();
        let more = names.len().saturating_sub(MOST);
        names.truncate(MOST);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        names.join(", ")
    }
}

impl OnceNote {
    fn text(&self, places: &str) -> String {
        match self {
            Self::NotYet(feature) => {
                format!("not supported yet: {feature} ({places}); the run goes on without it")
            }
            Self::CapabilitiesNotEnforced => {
                format!("no effect: OPENCODE does not enforce capabilities ({places})")
            }
        }
    }
}

type Aliases = BTreeMap<(String, String), KeyPath>;

/// Returns the complaints in the order of their places; one about a value that has aliases is there once.
fn sort_and_deduplicate(found: Vec<(FileOffset, Diagnostic)>, aliases: &Aliases) -> Vec<Diagnostic> {
    let with_path = found.into_iter().map(|(place, diagnostic)| {
        (place, resolve_aliases(&diagnostic.file, &diagnostic.path, aliases), diagnostic)
    });
    let mut found: Vec<(FileOffset, String, Diagnostic)> = with_path.collect();
    found.sort_by(|(a, at_a, left), (b, at_b, right)| {
        let of = |at: &String, diagnostic: &Diagnostic| {
            (*at != diagnostic.path, diagnostic.path.clone(), diagnostic.what.clone())
        };
        a.cmp(b).then_with(|| of(at_a, left).cmp(&of(at_b, right)))
    });
    let (mut said, mut said_here) = (BTreeSet::new(), BTreeSet::new());
    found.retain(|(_, at, diagnostic)| {
        let sentence =
            (diagnostic.file.clone(), at.clone(), diagnostic.what.clone(), diagnostic.help.clone());
        let is_new_here = said_here.insert((diagnostic.line, diagnostic.column, sentence.clone()));
        let is_new = said.insert(sentence);
        if *at == diagnostic.path { is_new_here } else { is_new }
    });
    found.into_iter().map(|(.., complaint)| complaint).collect()
}

/// Returns the path at which the value of this path is written out: aliases stand for values before them.
fn resolve_aliases(file: &str, path: &str, aliases: &Aliases) -> String {
    let mut path = path.to_owned();
    let ends = |path: &str| -> Vec<usize> {
        let inner = path.match_indices(['.', '[']).map(|(at, _)| at);
        inner.chain([path.len()]).collect()
    };
    let of_anchor = |path: &str| {
        let mut found = ends(path).into_iter().rev();
        found.find_map(|end| {
            Some(format!(
                "{}{}",
                aliases.get(&(file.to_owned(), path[..end].to_owned()))?.as_str(),
                &path[end..]
            ))
        })
    };
    while let Some(anchor) = of_anchor(&path) {
        path = anchor;
    }
    path
}

/// Cuts a sentence that quotes a text without end.
fn shorten(mut what: String) -> String {
    const BYTES_MAX: usize = 1000;
    if what.len() > BYTES_MAX {
        what.truncate(what.floor_char_boundary(BYTES_MAX));
        what.push_str("...");
    }
    what
}
