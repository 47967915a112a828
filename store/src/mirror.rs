//! `events.jsonl`: every event of a run as one line of JSON, next to its store.
//!
//! Users and other processes read it while the run is live, which sled does not allow for the store. It also shows how
//! far the store had come. A [run log](crate::run_log) writes it after the store has made the events durable, with one
//! `write` and no `fsync`.
//! The format of a line is the same as in an [export](crate::transfer).

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use unstuck_core::event::Event;
use unstuck_core::id::Seq;
use unstuck_files::platform::read_exact_at;
use unstuck_files::safe_open::{self, LINE_MAX};

use crate::event_store::{Events, ReadError};
use crate::json_line::{FromLine as _, LineBuffers, LineError, RebuiltRecord};
use crate::line_reader::{LineReader, LineSource, is_blank, line_error, lines_of};
use crate::record::{Head, Header};

/// Reads a mirror from its first line, on all processors, and checks every hash and link.
///
/// A last line or batch that is not finished yet is left out.
pub fn read(path: &Path, from: Seq) -> Result<Events<'static>, ReadError> {
    let lines = LineReader::<Event>::open(source(path)?);
    Ok(Box::new(lines.filter(move |event| event.as_ref().map_or(true, |event| event.seq >= from))))
}

/// Reads the same as records.
pub fn rebuild(path: &Path) -> Result<LineReader<RebuiltRecord>, ReadError> {
    Ok(LineReader::open(source(path)?))
}

fn source(path: &Path) -> Result<LineSource, ReadError> {
    let file = safe_open::open(path).map_err(ReadError::io(path))?;
    Ok(LineSource { read: Box::new(file), name: path.to_owned(), after: Head::default() })
}

/// Follows a mirror that grows.
pub struct MirrorReader {
    path: PathBuf,
    file: File,
    /// Everything before it has been returned.
    offset: u64,
    head: Head,
}

/// How much is read at a time.
const POLL_BYTES: usize = 1 << 20;

impl MirrorReader {
    /// Follows the mirror at `path` from its first line.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = safe_open::open(path).map_err(ReadError::io(path))?;
        Ok(Self { path: path.to_owned(), file, offset: 0, head: Head::default() })
    }

    /// Returns the last event that was returned.
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns what was added since the last call, in complete batches; nothing if nothing was.
    ///
    /// A large log comes in pieces: call again until it returns nothing. After an error the reader stays
    /// before the line that is wrong.
    pub fn poll(&mut self) -> Result<Vec<Event>, ReadError> {
        let mut wanted = POLL_BYTES;
        loop {
            // Read again from the end of the last complete batch: an unfinished line may have been replaced.
            let bytes = self.read_some(wanted)?;
            let (events, taken, head) = self.complete_batches(&bytes)?;
            if bytes.len() as u64 > LINE_MAX && events.is_empty() && lines_of(&bytes).next().is_none() {
                return Err(ReadError::io(&self.path)(safe_open::too_long("a line")));
            }
            if !events.is_empty() || bytes.len() < wanted {
                self.offset += taken;
                self.head = head;
                return Ok(events);
            }
            wanted *= 2;
        }
    }

    fn read_some(&mut self, wanted: usize) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        self.file
            .seek(SeekFrom::Start(self.offset))
            .and_then(|_| (&self.file).take(wanted as u64).read_to_end(&mut bytes))
            .map_err(ReadError::io(&self.path))?;
        Ok(bytes)
    }

    fn complete_batches(&self, bytes: &[u8]) -> Result<(Vec<Event>, u64, Head), ReadError> {
        let (mut events, mut scratch) = (Vec::new(), LineBuffers::default());
        let (mut complete, mut taken, mut complete_head) = (0, 0, self.head);
        let mut head = self.head;
        for (line, end) in lines_of(bytes) {
            let checked = Event::from_line(line, &mut scratch).and_then(|(header, event)| {
                head.check_next(&header).map_err(LineError::Damaged).map(|()| (header, event))
            });
            let (header, event) = match checked {
                Ok(parsed) => parsed,
                Err(_) if complete > 0 => break, // What is good is returned first.
                Err(error) => return Err(line_error(error, head, &self.path)),
            };
            head = Head::at(&header);
            events.push(event);
            if header.more == 0 {
                (complete, complete_head, taken) = (events.len(), head, end);
            }
        }
        events.truncate(complete);
        Ok((events, taken as u64, complete_head))
    }
}

/// Appends to a mirror.
pub struct MirrorWriter {
    file: File,
}

impl MirrorWriter {
    /// Opens a mirror, and creates it if it is missing.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: safe_open::open_with(OpenOptions::new().append(true).create(true), path)? })
    }

    /// Writes whole lines at once.
    pub fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.file.write_all(lines)
    }
}

/// The end of a mirror.
#[derive(Debug)]
pub struct Tail {
    /// Length of the lines up to the last whole one.
    pub whole: u64,
    /// Bytes after it of lines on which there is nothing.
    pub blank: u64,
    /// Bytes after those that are no whole line.
    pub unfinished: u64,
    /// The last whole line; `None` if there is none.
    pub last: Option<Result<Header, LineError>>,
}

const TAIL_BYTES: u64 = 64 << 10;

impl Tail {
    /// Looks at the end of the mirror at `path`; one that is not there is empty.
    pub fn read(path: &Path) -> io::Result<Self> {
        let file = match safe_open::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { whole: 0, blank: 0, unfinished: 0, last: None });
            }
            file => file?,
        };
        let length = file.metadata()?.len();
        let mut wanted = TAIL_BYTES;
        loop {
            let start = length.saturating_sub(wanted);
            let mut bytes = vec![0; usize::try_from(length - start).unwrap_or(usize::MAX)];
            read_exact_at(&file, &mut bytes, start)?;
            if let Some(tail) = Self::find(&bytes, start) {
                return Ok(tail);
            }
            if wanted > LINE_MAX {
                return Err(safe_open::too_long("its last line"));
            }
            wanted = wanted.saturating_mul(4);
        }
    }

    /// Returns `None` if the last whole line begins before `bytes`.
    fn find(bytes: &[u8], start: u64) -> Option<Self> {
        let begins = |end: usize| match memchr::memrchr(b'\n', &bytes[..end]) {
            Some(at) => Some(at + 1),
            None => (start == 0).then_some(0),
        };
        let lines = begins(bytes.len())?;
        let (mut whole, mut last) = (lines, None);
        while whole > 0 && last.is_none() {
            let line_start = begins(whole - 1)?;
            match &bytes[line_start..whole] {
                line if is_blank(line) => whole = line_start,
                line => last = Some(Event::from_line(line.trim_ascii_end(), &mut LineBuffers::default())),
            }
        }
        let (blank, unfinished) = match &bytes[lines..] {
            rest if is_blank(rest) => (bytes.len() - whole, 0),
            rest => (lines - whole, rest.len()),
        };
        Some(Self {
            whole: start + whole as u64,
            blank: blank as u64,
            unfinished: unfinished as u64,
            last: last.map(|parsed| parsed.map(|(header, _)| header)),
        })
    }
}

/// Ends the last line where its end is all that it lacks.
pub fn end_last_line(path: &Path) -> io::Result<()> {
    let tail = Tail::read(path)?;
    if tail.unfinished == 0 {
        return Ok(());
    }
    let line = safe_open::rest_of(safe_open::open(path)?, tail.whole + tail.blank)?;
    let Ok((header, _)) = Event::from_line(&line, &mut LineBuffers::default()) else { return Ok(()) };
    let Ok(last) = tail.last.transpose() else { return Ok(()) };
    let last = last.as_ref().map(Head::at).unwrap_or_default();
    last.check_next(&header).map_or(Ok(()), |()| MirrorWriter::open(path)?.write(b"\n"))
}

/// Cuts the mirror to `length` bytes, and creates a missing one.
pub fn cut(path: &Path, length: u64) -> io::Result<()> {
    safe_open::open_with(OpenOptions::new().write(true).create(true).truncate(false), path)?.set_len(length)
}

/// Removes the lines after event `seq`, and an incomplete last line.
pub fn truncate_after(path: &Path, seq: Seq) -> io::Result<()> {
    let mut lines = EventLines::new(safe_open::open(path)?);
    let (mut end, mut line) = (0, Vec::new());
    for _ in 0..seq.0 {
        if !lines.read(&mut line)? {
            break;
        }
        end = lines.end;
    }
    safe_open::open_with(OpenOptions::new().write(true), path)?.set_len(end)
}

/// Lines of a mirror as they are. The n-th line is event n, not counting blank lines: all writers of a mirror ensure
/// that.
pub struct EventLines {
    file: BufReader<File>,
    /// Where the last line ends that was read.
    end: u64,
}

impl EventLines {
    /// Reads the lines of a file.
    pub fn new(file: File) -> Self {
        Self { file: BufReader::new(file), end: 0 }
    }

    /// Reads the next line, with its line feed, into `line`; says whether there was a whole one.
    pub fn read(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        loop {
            line.clear();
            self.end += self.file.by_ref().take(LINE_MAX).read_until(b'\n', line)? as u64;
            if !line.ends_with(b"\n") {
                return Ok(false);
            }
            if !is_blank(line) {
                return Ok(true);
            }
        }
    }
}

/// Returns how many whole lines there are on which there is something.
pub fn count_lines(path: &Path) -> io::Result<u64> {
    let (mut lines, mut line, mut count) = (EventLines::new(safe_open::open(path)?), Vec::new(), 0);
    while lines.read(&mut line)? {
        count += 1;
    }
    Ok(count)
}
