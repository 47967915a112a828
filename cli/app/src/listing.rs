//! A summary of each run of a project, so that a list of many runs needs no fold of their logs.
//!
//! The file `listing` holds the summaries in the order in which they are shown, behind a table of their places: a page is one
//! read. It is a cache. The index names each run that was opened for writing since, the folder of the runs has a moment of
//! change, and `events.jsonl` of each run that is shown has a size and a moment: whatever differs is read from its log again.
//! Start with [`RunList::open`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead as _, Read as _, Seek as _, SeekFrom, Write};
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use unstuck_core::cost::{CostTotal, Spend, Tokens};
use unstuck_core::id::{Millis, RunId, Timestamp};
use unstuck_files::safe_open;
use unstuck_store::Runs;
use unstuck_store::runs::RunListState;

use crate::status::Status;
use crate::text;

/// A run as a list shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The run. First in the file, where it is found without a look at the rest.
    pub run: RunId,
    /// The moment of its first event.
    pub started_at: Timestamp,
    /// The moment of its last event.
    pub last_at: Timestamp,
    /// Name of its workflow.
    pub workflow: String,
    /// Its workspace.
    pub workspace: String,
    /// Its state.
    pub standing: Status,
    /// The word for that.
    pub word: String,
    /// Number of its iterations.
    pub iterations: usize,
    /// Time that a supervisor has worked on it.
    pub took: Millis,
    /// Money and tokens that it has used.
    #[serde(default, skip_serializing_if = "is_default")]
    pub spent: Spend,
    /// The answer or the act that it needs from a person.
    #[serde(default, skip_serializing_if = "is_default")]
    pub needs: Option<String>,
    /// The end of its wait and the reason.
    #[serde(default, skip_serializing_if = "is_default")]
    pub waits: Option<(Timestamp, String)>,
    /// The command to type next, with the full id of the run.
    pub next: String,
    /// The reason why its log cannot be read, or not to its end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub trouble: Option<String>,
    /// Whether it is a step of another run. Lists leave it out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_child: bool,
    /// State of its `events.jsonl` when it was read.
    pub stamp: Stamp,
}

/// Returns whether a field can be left out of the file: most rows have several of these.
fn is_default<T: Default + PartialEq>(field: &T) -> bool {
    *field == T::default()
}

/// Size and moment of change of a file, in nanoseconds; zero for a missing file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp(u64, u64);

impl Stamp {
    /// Looks at a file.
    pub fn read(path: &Path) -> Self {
        let Ok(seen) = fs::symlink_metadata(path) else { return Self::default() };
        let since = seen.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Self(seen.len(), since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Sums over all runs of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Number of runs.
    pub runs: usize,
    /// Money and tokens that they have used.
    pub spent: Spend,
    /// Number of their iterations.
    pub iterations: usize,
}

impl Total {
    /// Returns the sum of a total and one more run.
    #[must_use]
    pub fn plus(self, more: &Summary) -> Self {
        Self {
            runs: self.runs + 1,
            spent: self.spent.plus(&more.spent),
            iterations: self.iterations + more.iterations,
        }
    }
}

/// The state of a run when it was examined.
pub enum Examined {
    /// A process works on it, so it is examined each time. There may be nothing to show yet.
    Live(Option<Box<Summary>>),
    /// It rests.
    Closed(Box<Summary>),
    /// There is no such run.
    Nothing,
}

/// Finds out the state of a run.
pub type Examine<'a> = &'a (dyn Fn(&RunId) -> Examined + Sync);

/// The runs of a project: those at work, then those that need a person, then the newest.
pub struct RunList<'a> {
    runs: &'a Runs,
    examine: Examine<'a>,
    kept: StoredList,
    /// Runs on which a process works, in order.
    live: Vec<Summary>,
}

/// The content of the file.
#[derive(Default)]
struct StoredList {
    head: Head,
    /// One for each row.
    keys: Vec<Key>,
    /// All runs, child runs too, sorted.
    ids: Vec<String>,
    rows: Rows,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Head {
    /// The program that wrote the file: another one may summarize differently.
    program: String,
    /// State of the index and of the folder of the runs before the runs were examined.
    changes: RunListState,
    rows: usize,
    ids_bytes: usize,
    rows_bytes: u64,
    /// Runs on which a process worked.
    live: Vec<RunId>,
    /// Sums over the rows.
    total: Total,
}

/// The place of a row, and what decides about it.
#[derive(Clone, Copy)]
struct Key {
    standing: u32,
    end: u32,
    started_at: Timestamp,
}

const KEY_BYTES: usize = 16;

/// So many runs are examined before their rows go to the file: this bounds the memory of a first list.
const AT_A_TIME: usize = if cfg!(test) { 2 } else { 4096 };

enum Rows {
    InFile { file: File, begin: u64 },
    InMemory(Vec<u8>),
}

impl Default for Rows {
    fn default() -> Self {
        Self::InMemory(Vec::new())
    }
}

impl StoredList {
    /// Reads the file; `None` if there is none that can be used.
    fn read(path: &Path) -> Option<Self> {
        let mut file = safe_open::open(path).ok()?;
        let mut length = [0; 8];
        file.read_exact(&mut length).ok()?;
        let head_bytes = u64::from_le_bytes(length);
        let size = file.metadata().ok()?.len();
        let mut bytes = Vec::new();
        io::Read::by_ref(&mut file).take(head_bytes.min(size)).read_to_end(&mut bytes).ok()?;
        let head: Head =
            serde_json::from_slice(&bytes).ok().filter(|head: &Head| head.program == program())?;
        let begin = 8 + head_bytes + (head.rows * KEY_BYTES + head.ids_bytes) as u64;
        if begin + head.rows_bytes != size {
            return None;
        }
        let mut table = vec![0; head.rows * KEY_BYTES + head.ids_bytes];
        file.read_exact(&mut table).ok()?;
        let (keys, ids) = table.split_at(head.rows * KEY_BYTES);
        let keys = keys.chunks_exact(KEY_BYTES).map(Key::read).collect();
        let ids = std::str::from_utf8(ids).ok()?.lines().map(str::to_owned).collect();
        Some(Self { head, keys, ids, rows: Rows::InFile { file, begin } })
    }

    /// Replaces the file by the rows of a merge. A loss of power may damage it; then it is made again.
    fn write(&self, merge: &Merge, path: &Path) -> io::Result<Rows> {
        let head = serde_json::to_vec(&self.head)?;
        let temporary = temporary(path);
        let mut file = io::BufWriter::new(safe_open::create(&temporary)?);
        file.write_all(&(head.len() as u64).to_le_bytes())?;
        file.write_all(&head)?;
        self.keys.iter().try_for_each(|key| file.write_all(&key.bytes()))?;
        self.ids.iter().try_for_each(|id| writeln!(file, "{id}"))?;
        let begin = file.stream_position()?;
        merge.write_to(&self.rows, &mut file)?;
        let file = file.into_inner().map_err(|error| error.into_error())?;
        fs::rename(temporary, path)?;
        Ok(Rows::InFile { file, begin })
    }

    /// Takes the rows of a merge over, and writes the file if that is possible.
    fn take(&mut self, merge: &Merge, path: &Path) -> io::Result<()> {
        self.rows = match self.write(merge, path) {
            Ok(rows) => rows,
            Err(error) => {
                tracing::debug!("the list of runs was not written: {error}");
                let _may_be_missing = fs::remove_file(temporary(path));
                let mut rows = Vec::new();
                merge.write_to(&self.rows, &mut rows)?;
                Rows::InMemory(rows)
            }
        };
        Ok(())
    }

    fn bytes(&self, rows: Range<usize>) -> io::Result<Vec<u8>> {
        let begins = |row: usize| row.checked_sub(1).map_or(0, |before| u64::from(self.keys[before].end));
        let (from, to) = (begins(rows.start), begins(rows.end));
        let mut bytes = Vec::new();
        self.rows.reader(from)?.take(to.checked_sub(from).ok_or_else(damaged)?).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn summaries(&self, rows: Range<usize>) -> io::Result<Vec<Summary>> {
        let bytes = self.bytes(rows)?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).map_err(|_| damaged())).collect()
    }

    /// Returns the rows of some runs, by their places.
    fn find(&self, runs: &BTreeSet<String>) -> io::Result<BTreeMap<usize, Summary>> {
        let mut found = BTreeMap::new();
        if runs.is_empty() {
            return Ok(found);
        }
        let mut lines = io::BufReader::new(self.rows.reader(0)?);
        let mut row = Vec::new();
        for at in 0..self.keys.len() {
            row.clear();
            lines.read_until(b'\n', &mut row)?;
            if runs.contains(run_of(&row).ok_or_else(damaged)?) {
                found.insert(at, serde_json::from_slice(&row).map_err(|_| damaged())?);
            }
        }
        if found.len() > runs.len() { Err(damaged()) } else { Ok(found) }
    }

    /// Takes some runs out, and puts others in, in order. Returns the new rows.
    fn change(&mut self, removed: &BTreeSet<String>, added: &[Summary]) -> io::Result<Merge> {
        let found = self.find(removed)?;
        self.head.total = found.values().fold(self.head.total, without);
        let mut rows: Vec<(Key, Piece)> = Vec::with_capacity(self.keys.len() + added.len());
        let mut begin = 0;
        for (at, key) in self.keys.iter().enumerate() {
            if !found.contains_key(&at) {
                rows.push((*key, Piece { is_new: false, bytes: begin..key.end.into() }));
            }
            begin = key.end.into();
        }
        let mut merge = Merge::default();
        for row in added.iter().filter(|row| !row.is_child) {
            let begin = merge.new.len() as u64;
            serde_json::to_writer(&mut merge.new, row)?;
            merge.new.push(b'\n');
            rows.push((Key::from_row(row), Piece { is_new: true, bytes: begin..merge.new.len() as u64 }));
            self.head.total = self.head.total.plus(row);
        }
        let now = text::now();
        rows.sort_by_key(|(key, _)| key.rank(now));
        let mut end = 0;
        self.keys.clear();
        for (key, piece) in rows {
            end += piece.bytes.end.checked_sub(piece.bytes.start).ok_or_else(damaged)?;
            self.keys.push(Key { end: u32::try_from(end).map_err(io::Error::other)?, ..key });
            merge.push(piece);
        }
        self.ids.retain(|id| !removed.contains(id));
        self.ids.extend(added.iter().map(|row| row.run.to_string()));
        self.ids.sort_unstable();
        Ok(merge)
    }

    /// Writes down what belongs together.
    fn seal(&mut self, changes: RunListState, live: Vec<RunId>) {
        self.head = Head {
            program: program(),
            changes,
            rows: self.keys.len(),
            ids_bytes: self.ids.iter().map(|id| id.len() + 1).sum(),
            rows_bytes: self.keys.last().map_or(0, |key| key.end.into()),
            live,
            total: self.head.total,
        };
    }
}

/// The rows that a changed list has: parts of the rows before, and new ones.
#[derive(Default)]
struct Merge {
    pieces: Vec<Piece>,
    new: Vec<u8>,
}

/// Some bytes of the rows before, or of the new ones.
struct Piece {
    is_new: bool,
    bytes: Range<u64>,
}

impl Merge {
    /// Adds a piece behind the others.
    fn push(&mut self, piece: Piece) {
        match self.pieces.last_mut() {
            Some(last) if last.is_new == piece.is_new && last.bytes.end == piece.bytes.start => {
                last.bytes.end = piece.bytes.end;
            }
            _ => self.pieces.push(piece),
        }
    }

    fn write_to(&self, before: &Rows, out: &mut impl Write) -> io::Result<()> {
        for Piece { is_new, bytes } in &self.pieces {
            let from = match is_new {
                true => Box::new(&self.new[usize::try_from(bytes.start).unwrap_or(usize::MAX)..]),
                false => before.reader(bytes.start)?,
            };
            let length = bytes.end - bytes.start;
            if io::copy(&mut from.take(length), out)? != length {
                return Err(damaged());
            }
        }
        Ok(())
    }
}

impl Rows {
    /// Reads from a place on.
    fn reader(&self, from: u64) -> io::Result<Box<dyn io::Read + '_>> {
        match self {
            Self::InMemory(all) => {
                let rest = usize::try_from(from).ok().and_then(|from| all.get(from..));
                Ok(Box::new(rest.ok_or_else(damaged)?))
            }
            Self::InFile { file, begin } => {
                let mut file = file;
                file.seek(SeekFrom::Start(begin + from))?;
                Ok(Box::new(file))
            }
        }
    }
}

fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(format!(".tmp-listing-{}", std::process::id()))
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the list of runs is damaged")
}

fn program() -> String {
    unstuck_runner::open::program()
}

/// Returns the run that a row begins with.
fn run_of(row: &[u8]) -> Option<&str> {
    let rest = std::str::from_utf8(row).ok()?.strip_prefix("{\"run\":\"")?;
    rest.split_once('"').map(|(run, _)| run)
}

fn without(total: Total, row: &Summary) -> Total {
    let (all, one) = (total.spent, row.spent);
    let sum = |all: CostTotal, one: CostTotal| CostTotal {
        micro_usd: all.micro_usd.saturating_sub(one.micro_usd),
        calls: all.calls.saturating_sub(one.calls),
    };
    let spent = Spend {
        calls: all.calls.saturating_sub(one.calls),
        reported: sum(all.reported, one.reported),
        derived: sum(all.derived, one.derived),
        tokens: Tokens {
            input: all.tokens.input.saturating_sub(one.tokens.input),
            cached: all.tokens.cached.saturating_sub(one.tokens.cached),
            cache_write: all.tokens.cache_write.saturating_sub(one.tokens.cache_write),
            output: all.tokens.output.saturating_sub(one.tokens.output),
            reasoning: all.tokens.reasoning.saturating_sub(one.tokens.reasoning),
        },
        tokens_unknown: all.tokens_unknown.saturating_sub(one.tokens_unknown),
    };
    Total { runs: total.runs - 1, spent, iterations: total.iterations.saturating_sub(row.iterations) }
}

impl Key {
    fn from_row(row: &Summary) -> Self {
        Self { standing: row.standing.rank(), end: 0, started_at: row.started_at }
    }

    fn read(bytes: &[u8]) -> Self {
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let started_at = Timestamp(u64::from(number(8)) | u64::from(number(12)) << 32);
        Self { standing: number(0), end: number(4), started_at }
    }

    fn bytes(self) -> [u8; KEY_BYTES] {
        let mut bytes = [0; KEY_BYTES];
        bytes[..4].copy_from_slice(&self.standing.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.end.to_le_bytes());
        bytes[8..].copy_from_slice(&self.started_at.0.to_le_bytes());
        bytes
    }

    /// Returns its place among others: a run of a moment that is yet to come is from a wrong clock, and comes last.
    fn rank(self, now: Timestamp) -> (u32, Reverse<(bool, Timestamp)>) {
        (self.standing, Reverse((self.started_at <= soon(now), self.started_at)))
    }
}

fn soon(now: Timestamp) -> Timestamp {
    Timestamp(now.0.saturating_add(unstuck_store::runs::CLOCKS_DIFFER))
}

impl<'a> RunList<'a> {
    /// Brings the list up to date.
    ///
    /// # Errors
    ///
    /// The folder of the runs cannot be read. A list that cannot be kept is shown all the same.
    pub fn open(runs: &'a Runs, examine: Examine<'a>) -> io::Result<Self> {
        if let Some(listing) = Self::open_kept(runs, examine) {
            return Ok(listing);
        }
        let mut listing = Self { runs, examine, kept: StoredList::default(), live: Vec::new() };
        listing.refresh(&BTreeSet::new())?;
        Ok(listing)
    }

    /// Brings the list up to date that this program has kept; `None` if there is none that can be used.
    pub fn open_kept(runs: &'a Runs, examine: Examine<'a>) -> Option<Self> {
        let kept = StoredList::read(&runs.listing())?;
        let mut listing = Self { runs, examine, kept, live: Vec::new() };
        listing.refresh(&BTreeSet::new()).ok().map(|()| listing)
    }

    /// Examines the runs that may have changed, and those in `stale`.
    fn refresh(&mut self, stale: &BTreeSet<String>) -> io::Result<()> {
        let changes = self.runs.run_list_state();
        let before = &self.kept.head.changes;
        let opened = match self.kept.ids.is_empty() && !changes.has_same_runs(before) {
            // Each run is unknown, so it is examined anyway.
            true => Vec::new(),
            false => self.runs.opened_since(before).ok_or_else(damaged)?,
        };
        let mut due: Vec<String> = stale.iter().cloned().collect();
        due.extend(opened.iter().chain(&self.kept.head.live).map(ToString::to_string));
        let mut gone = BTreeSet::new();
        if !changes.has_same_runs(before) {
            let mut there = self.runs.names()?;
            there.sort_unstable();
            let is_there = |id: &str| there.binary_search_by(|entry| entry.as_str().cmp(id)).is_ok();
            let is_known = |id: &str| self.kept.ids.binary_search_by(|entry| entry.as_str().cmp(id)).is_ok();
            due.extend(there.iter().filter(|id| !is_known(id.as_str())).map(ToString::to_string));
            gone.extend(self.kept.ids.iter().filter(|id| !is_there(id)).cloned());
        }
        due.sort_unstable();
        due.dedup();
        let (mut live, mut live_ids) = (Vec::new(), Vec::new());
        let mut removed = gone;
        let mut merge = None;
        for due in due.chunks(AT_A_TIME) {
            if let Some(merge) = merge.take() {
                // A list that is cut short here has the state of no folder, so all of it is examined again.
                self.kept.seal(RunListState::default(), Vec::new());
                self.kept.take(&merge, &self.runs.listing())?;
            }
            let mut closed = Vec::new();
            for (id, examined) in self.examine_all(due) {
                match examined {
                    Examined::Closed(row) => closed.push(*row),
                    Examined::Live(row) => {
                        live.extend(row.map(|row| *row));
                        live_ids.push(RunId::from(id.as_str()));
                    }
                    Examined::Nothing => {}
                }
            }
            removed.extend(due.iter().cloned());
            removed.retain(|id| self.kept.ids.binary_search(id).is_ok());
            if !closed.is_empty() || !removed.is_empty() {
                merge = Some(self.kept.change(&removed, &closed)?);
                removed.clear();
            }
        }
        live.retain(|row| !row.is_child);
        live.sort_by_key(|row| Key::from_row(row).rank(text::now()));
        self.live = live;
        if merge.is_none()
            && removed.is_empty()
            && opened.is_empty()
            && live_ids == self.kept.head.live
            && changes == self.kept.head.changes
        {
            return Ok(());
        }
        let merge = match merge {
            Some(merge) => merge,
            None => self.kept.change(&removed, &[])?,
        };
        self.kept.seal(changes, live_ids);
        self.kept.take(&merge, &self.runs.listing())
    }

    fn examine_all(&self, ids: &[String]) -> Vec<(String, Examined)> {
        let examine = |ids: &[String]| -> Vec<(String, Examined)> {
            ids.iter().map(|id| (id.clone(), (self.examine)(&RunId::from(id.as_str())))).collect()
        };
        let parts = thread::available_parallelism().map_or(1, NonZero::get);
        if ids.len() < 2 * parts {
            return examine(ids);
        }
        let size = ids.len().div_ceil(parts);
        thread::scope(|scope| {
            let begin =
                |part| thread::Builder::new().spawn_scoped(scope, move || examine(part)).map_err(|_| part);
            let begun: Vec<_> = ids.chunks(size).map(begin).collect();
            let ended = begun.into_iter().flat_map(|begun| match begun {
                Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                Err(part) => examine(part),
            });
            ended.collect()
        })
    }

    /// Returns the sums over all runs.
    pub fn total(&self) -> Total {
        self.live.iter().fold(self.kept.head.total, Total::plus)
    }

    /// Returns the runs at some places of the order, which may be outside of it.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn page(&mut self, places: Range<usize>) -> io::Result<Vec<Summary>> {
        const TRIES: usize = 3;
        for _ in 0..TRIES {
            let page = self.stored_page(places.clone())?;
            let is_stale = |row: &&Summary| Stamp::read(&self.runs.lines(&row.run)) != row.stamp;
            let is_live = |row: &&Summary| self.live.iter().any(|live| live.run == row.run);
            let stale: BTreeSet<String> = page
                .iter()
                .filter(|row| !is_live(row))
                .filter(is_stale)
                .map(|row| row.run.to_string())
                .collect();
            if stale.is_empty() {
                return Ok(page);
            }
            self.refresh(&stale)?;
        }
        self.stored_page(places)
    }

    fn stored_page(&mut self, places: Range<usize>) -> io::Result<Vec<Summary>> {
        // Each live run comes before the runs of its standing and of later ones.
        let keys = &self.kept.keys;
        let live: Vec<usize> = self
            .live
            .iter()
            .enumerate()
            .map(|(at, row)| keys.partition_point(|key| key.standing < row.standing.rank()) + at)
            .collect();
        let all = keys.len() + live.len();
        let (start, end) = (places.start.min(all), places.end.min(all));
        let kept_before = |place: usize| place - live.iter().filter(|at| **at < place).count();
        let mut kept = self.kept.summaries(kept_before(start)..kept_before(end))?.into_iter();
        let row = |place: usize| match live.binary_search(&place) {
            Ok(at) => Some(self.live[at].clone()),
            Err(_) => kept.next(),
        };
        Ok((start..end).map_while(row).collect())
    }

    /// Returns the shortest beginning of an id that names no other run.
    pub fn short(&self, run: &RunId) -> String {
        let longest = |a: String, b: String| if a.len() < b.len() { b } else { a };
        longest(short_among(run, &self.kept.ids), shortest(run, self.kept.head.live.iter()))
    }

    /// Returns the run that was started last; `None` if there is none.
    ///
    /// # Errors
    ///
    /// A file cannot be read.
    pub fn last(&mut self) -> io::Result<Option<RunId>> {
        let now = text::now();
        let keys = self.kept.keys.iter().map(|key| Key { standing: 0, ..*key }).enumerate();
        let kept = keys.min_by_key(|(_, key)| key.rank(now));
        let live = self.live.iter().map(|row| (row, Key { standing: 0, ..Key::from_row(row) }));
        let live = live.min_by_key(|(_, key)| key.rank(now));
        Ok(match (kept, live) {
            (kept, Some((row, key))) if kept.is_none_or(|(_, kept)| key.rank(now) < kept.rank(now)) => {
                Some(row.run.clone())
            }
            (Some((at, _)), _) => self.kept.summaries(at..at + 1)?.into_iter().next().map(|row| row.run),
            (None, _) => None,
        })
    }
}

/// Returns the ids of all runs, sorted, if the list that is kept has the same runs as their folder.
pub fn known_ids(runs: &Runs) -> Option<Vec<String>> {
    let mut kept = StoredList::read(&runs.listing())?;
    let has_same = runs.run_list_state().has_same_runs(&kept.head.changes);
    kept.ids.extend(kept.head.live.iter().map(ToString::to_string));
    kept.ids.sort_unstable();
    has_same.then_some(kept.ids)
}

/// Returns the shortest beginning of an id that names no other run; at least four characters.
pub fn shortest<'a>(run: &RunId, others: impl Iterator<Item = &'a RunId>) -> String {
    let text = run.as_str();
    let shared = |other: &RunId| text.bytes().zip(other.as_str().bytes()).take_while(|(a, b)| a == b).count();
    let longest = others.filter(|other| *other != run).map(shared).max().unwrap_or(0);
    text[..(longest + 1).max(4).min(text.len())].to_owned()
}

/// Returns the shortest beginning of an id that names none of others, which are sorted.
pub fn short_among(run: &RunId, ids: &[String]) -> String {
    let at = ids.partition_point(|id| id.as_str() < run.as_str());
    let near: Vec<RunId> = ids[at.saturating_sub(1)..(at + 2).min(ids.len())]
        .iter()
        .map(|id| RunId::from(id.as_str()))
        .collect();
    shortest(run, near.iter())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use unstuck_store::store::{RunEntry, Store as _};

    use super::*;

    #[test]
    fn the_shortest_name_is_unique_and_not_too_short() {
        let [a, b, c] = ["abcdef123456", "abcdxf123456", "ffffff123456"].map(RunId::from);
        let short = |run: &RunId| shortest(run, [&a, &b, &c].into_iter());
        assert_eq!((short(&a).as_str(), short(&c).as_str()), ("abcde", "ffff"));
    }

    fn summary(run: &str, standing: Status, started_at: u64) -> Summary {
        Summary {
            run: run.into(),
            started_at: Timestamp(started_at),
            last_at: Timestamp(started_at),
            workflow: "fix".to_owned(),
            workspace: "/w".to_owned(),
            standing,
            word: "WORD".to_owned(),
            iterations: 2,
            took: Millis(1),
            spent: Spend { calls: 1, ..Spend::default() },
            needs: None,
            waits: None,
            next: format!("unstuck show {run}"),
            trouble: None,
            is_child: run.starts_with('c'),
            stamp: Stamp::default(),
        }
    }

    /// A folder of runs, and what a look at each of them would show.
    struct ListedRuns {
        _keep: tempfile::TempDir,
        runs: Runs,
        state: Mutex<BTreeMap<String, Summary>>,
        looks: Mutex<Vec<String>>,
    }

    impl ListedRuns {
        fn new() -> Self {
            let keep = tempfile::tempdir().expect("a folder");
            let (state, looks) = (Mutex::default(), Mutex::default());
            Self { runs: unstuck_store_sled::at(keep.path()), _keep: keep, state, looks }
        }

        fn set(&self, run: &str, standing: Status, started_at: u64) {
            fs::create_dir_all(self.runs.path_of(&run.into())).expect("the folder is ours");
            self.state.lock().unwrap().insert(run.to_owned(), summary(run, standing, started_at));
            self.runs.note_started(&RunEntry {
                run: run.into(),
                started_at: Timestamp(started_at),
                workflow: String::new(),
                workspace: String::new(),
                trouble: None,
            });
        }

        fn examine(&self, run: &RunId) -> Examined {
            self.looks.lock().unwrap().push(run.to_string());
            match self.state.lock().unwrap().get(run.as_str()).cloned().map(Box::new) {
                Some(row) if row.standing == Status::Running => Examined::Live(Some(row)),
                Some(row) => Examined::Closed(row),
                None => Examined::Nothing,
            }
        }

        /// Checks the order of the list, page by page, and which runs were looked at for it.
        fn check(&self, expected: &[&str], looks: &[&str]) {
            self.looks.lock().unwrap().clear();
            let examine = |run: &RunId| self.examine(run);
            let mut listing = RunList::open(&self.runs, &examine).expect("the folder can be read");
            let mut shown = Vec::new();
            for begin in (0..=expected.len()).step_by(2) {
                let page = listing.page(begin..begin + 2).expect("the list can be read");
                shown.extend(page.into_iter().map(|row| row.run.to_string()));
            }
            assert_eq!(shown, expected);
            let total = listing.total();
            assert_eq!((total.runs, total.iterations), (expected.len(), 2 * expected.len()));
            assert_eq!(total.spent.calls, expected.len() as u64);
            let mut looked = self.looks.lock().unwrap().clone();
            looked.sort_unstable();
            assert_eq!(looked, looks, "looked at for {expected:?}");
        }
    }

    #[test]
    fn a_list_is_kept_and_only_runs_that_may_have_changed_are_looked_at() {
        let place = ListedRuns::new();
        place.check(&[], &[]);
        place.set("a1", Status::Complete, 1);
        place.set("b1", Status::Complete, 2);
        place.set("c1", Status::Complete, 3);
        place.set("d1", Status::Blocked, 1);
        place.check(&["d1", "b1", "a1"], &["a1", "b1", "c1", "d1"]);
        place.check(&["d1", "b1", "a1"], &[]);
        // A run at work is examined each time, and once more when it has ended.
        place.set("a1", Status::Running, 1);
        place.check(&["a1", "d1", "b1"], &["a1"]);
        place.check(&["a1", "d1", "b1"], &["a1"]);
        place.state.lock().unwrap().insert("a1".to_owned(), summary("a1", Status::Blocked, 1));
        place.check(&["d1", "a1", "b1"], &["a1"]);
        place.check(&["d1", "a1", "b1"], &[]);
        // A changed log is noticed when it is shown.
        fs::write(place.runs.lines(&"b1".into()), "").expect("the folder is ours");
        let mut changed = summary("b1", Status::Damaged, 2);
        changed.stamp = Stamp::read(&place.runs.lines(&"b1".into()));
        place.state.lock().unwrap().insert("b1".to_owned(), changed);
        let examine = |run: &RunId| place.examine(run);
        let page = RunList::open(&place.runs, &examine)
            .and_then(|mut listing| listing.page(0..9))
            .expect("it can be read");
        assert_eq!(page.iter().map(|row| row.run.as_str()).collect::<Vec<_>>(), ["d1", "a1", "b1"]);
        place.check(&["d1", "a1", "b1"], &[]);
        fs::remove_dir(place.runs.path_of(&"d1".into())).expect("it is empty");
        place.check(&["a1", "b1"], &[]);
    }

    #[test]
    fn a_list_that_is_lost_damaged_or_of_another_index_is_made_again() {
        let place = ListedRuns::new();
        for (run, started_at) in [("a1", 1), ("b1", 2), ("d1", 3)] {
            place.set(run, Status::Complete, started_at);
        }
        let all = ["a1", "b1", "d1"];
        let check = || place.check(&["d1", "b1", "a1"], &all);
        check();
        let file = place.runs.listing();
        let good = fs::read(&file).expect("it was written");
        fs::remove_file(&file).expect("it is there");
        check();
        for bytes in [&good[..good.len() - 1], b"", b"garbage"] {
            fs::write(&file, bytes).expect("the folder is ours");
            check();
        }
        fs::write(place.runs.path().join("index"), "").expect("the folder is ours");
        check();
    }

    #[test]
    fn ids_are_short_and_the_last_run_is_known() {
        let place = ListedRuns::new();
        place.set("abcdef1", Status::Complete, 1);
        place.set("abcdxf1", Status::Blocked, 5);
        place.set("ffffff1", Status::Running, 3);
        place.set("c0ffee1", Status::Complete, 9);
        let examine = |run: &RunId| place.examine(run);
        let mut listing = RunList::open(&place.runs, &examine).expect("the folder can be read");
        let short = |run: &str| listing.short(&run.into());
        assert_eq!([short("abcdef1"), short("ffffff1")], ["abcde", "ffff"]);
        assert_eq!(
            listing.last().expect("it can be read"),
            Some("abcdxf1".into()),
            "a child run is not the last"
        );
    }
}
