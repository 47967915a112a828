//! Reads a log of lines fast: chunks of lines are checked on several threads, and only the links between chunks
//! are checked in order.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use unstuck_files::safe_open::{self, LINE_MAX};

use crate::event_store::ReadError;
use crate::json_line::{self, FromLine, LineBuffers, LineError};
use crate::record::{Head, Header};

/// Source of the lines of a log.
pub struct LineSource {
    /// Where the lines come from.
    pub read: Box<dyn Read + Send>,
    /// For messages.
    pub name: PathBuf,
    /// The event before the first line.
    pub after: Head,
}

/// The batches of a log, complete ones only, in order and checked. After an error it ends.
pub struct LineReader<T> {
    answers: Option<Receiver<(u64, io::Result<CheckedLines>)>>,
    /// Chunks that came before their turn.
    early: BTreeMap<u64, WorkerResult<T>>,
    /// The number of the chunk whose turn it is.
    turn: u64,
    ready: VecDeque<T>,
    /// Start of a batch whose end is in a later chunk.
    held: VecDeque<T>,
    head: Head,
    /// The last event of a complete batch.
    complete: Head,
    error: Option<ReadError>,
    name: PathBuf,
    /// Worker of the reading thread, which parses lines instead of waiting.
    worker: LineWorker,
    /// Emptied containers, to be filled again.
    spare: Vec<VecDeque<T>>,
}

type WorkerResult<T> = io::Result<Chunk<T>>;

/// Some whole lines, checked. The helpers make no more of them: whatever is made of them is allocated by the thread that
/// reads and frees it, since to free what another thread has allocated costs more than to decode it.
#[derive(Default)]
struct CheckedLines {
    /// Each with the place where its encoded fact ends.
    headers: Vec<(Header, usize)>,
    contents: Vec<u8>,
    error: Option<LineError>,
    unfinished: usize,
}

/// Emptied ones, to be filled again.
type BufferPool = Arc<Mutex<Vec<CheckedLines>>>;

/// Some whole lines, parsed.
struct Chunk<T> {
    items: VecDeque<T>,
    /// How many of the items belong to batches that end in this chunk.
    complete: usize,
    complete_head: Head,
    first: Option<Header>,
    last: Head,
    error: Option<LineError>,
    /// How many bytes at the end are no whole line; only at the end of the log.
    unfinished: usize,
}

const CHUNK_BYTES: usize = 64 << 10;
/// How many chunks may wait for their turn.
const AHEAD: usize = 4;

impl<T: FromLine> LineReader<T> {
    /// Reads the lines of a source on all processors.
    pub fn open(source: LineSource) -> Self {
        let helpers = thread::available_parallelism().map_or(0, |count| count.get() - 1).min(7);
        let (send, answers) = mpsc::sync_channel(AHEAD);
        let splitter = Arc::new(Mutex::new(ChunkSplitter {
            read: source.read,
            rest: Vec::new(),
            ended: false,
            chunks: 0,
        }));
        let worker = LineWorker::new(splitter, BufferPool::default());
        for _ in 0..helpers {
            let helper = LineWorker::new(worker.splitter.clone(), worker.pool.clone());
            let send = send.clone();
            let thread = thread::Builder::new().name("unstuck-lines".to_owned());
            let started = thread.spawn(move || helper.help(&send));
            if let Err(error) = started {
                tracing::debug!(%error, "the log is read with fewer threads");
            }
        }
        Self {
            answers: Some(answers),
            early: BTreeMap::new(),
            turn: 0,
            ready: VecDeque::new(),
            held: VecDeque::new(),
            head: source.after,
            complete: source.after,
            error: None,
            name: source.name,
            worker,
            spare: Vec::new(),
        }
    }

    /// Returns the last event of the last complete batch that was read.
    pub fn complete_head(&self) -> Head {
        self.complete
    }

    fn refill(&mut self) -> Option<Result<(), ReadError>> {
        let error = match self.error.take() {
            Some(error) => error,
            None => match self.next_answer()? {
                Ok(chunk) => {
                    self.take_chunk(chunk);
                    return Some(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    line_error(LineError::Damaged(error.to_string()), self.head, &self.name)
                }
                Err(source) => ReadError::io(&self.name)(source),
            },
        };
        self.answers = None;
        Some(Err(error))
    }

    /// Returns the answer whose turn it is, and `None` at the end.
    fn next_answer(&mut self) -> Option<WorkerResult<T>> {
        let answers = self.answers.as_ref()?;
        let answer = loop {
            if let Some(answer) = self.early.remove(&self.turn) {
                break Some(answer);
            }
            let mut spare = || self.spare.pop().unwrap_or_default();
            let received = answers.try_recv().ok();
            let helps = received.is_none() && self.early.len() < AHEAD;
            let own = helps.then(|| self.worker.next(spare())).flatten();
            let answer = own.or_else(|| {
                let (turn, packed) = received.or_else(|| answers.recv().ok())?;
                Some((turn, packed.map(|packed| self.worker.unpack(packed, spare()))))
            });
            match answer {
                Some((turn, answer)) => drop(self.early.insert(turn, answer)),
                None if self.early.is_empty() => break None,
                None => break Some(Err(io::Error::other("a thread that reads it has died"))),
            }
        };
        self.turn += 1;
        answer
    }

    fn take_chunk(&mut self, mut chunk: Chunk<T>) {
        if let Some(first) = &chunk.first {
            if let Err(detail) = self.head.check_next(first) {
                self.error = Some(line_error(LineError::Damaged(detail), self.head, &self.name));
                return;
            }
            self.head = chunk.last;
        }
        if chunk.complete > 0 {
            let tail = chunk.items.split_off(chunk.complete);
            for item in std::mem::replace(&mut self.held, tail).into_iter().rev() {
                chunk.items.push_front(item);
            }
            self.spare.push(std::mem::replace(&mut self.ready, chunk.items));
            self.complete = chunk.complete_head;
        } else {
            self.held.append(&mut chunk.items);
        }
        self.error = chunk.error.map(|error| line_error(error, self.head, &self.name));
        if chunk.unfinished > 0 {
            tracing::debug!(bytes = chunk.unfinished, log = %self.name.display(), "the last line is not finished");
        }
    }
}

impl<T: FromLine> Iterator for LineReader<T> {
    type Item = Result<T, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(Ok(item));
            }
            if let Err(error) = self.refill()? {
                return Some(Err(error));
            }
        }
    }
}

/// Cuts the log into chunks of whole lines and numbers them.
struct ChunkSplitter {
    read: Box<dyn Read + Send>,
    rest: Vec<u8>,
    ended: bool,
    chunks: u64,
}

impl ChunkSplitter {
    /// Puts the next chunk into `piece`; returns its number and how many bytes at the end of the log are no
    /// whole line. `None` at the end.
    fn next(&mut self, piece: &mut Vec<u8>) -> Option<(u64, io::Result<usize>)> {
        if self.ended {
            return None;
        }
        let unfinished = self.cut(piece);
        self.ended |= unfinished.is_err();
        self.chunks += 1;
        Some((self.chunks - 1, unfinished))
    }

    fn cut(&mut self, piece: &mut Vec<u8>) -> io::Result<usize> {
        piece.clear();
        piece.append(&mut self.rest);
        loop {
            let searched = piece.len();
            if searched as u64 > LINE_MAX {
                self.ended = true;
                return Err(safe_open::too_long("a line"));
            }
            let read = self.read.by_ref().take(CHUNK_BYTES as u64).read_to_end(piece)?;
            if read == 0 {
                self.ended = true;
                let whole = memchr::memrchr(b'\n', piece).map_or(0, |at| at + 1);
                let unfinished = piece.len() - whole;
                piece.truncate(whole);
                return Ok(unfinished);
            }
            if let Some(at) = memchr::memrchr(b'\n', &piece[searched..]) {
                self.rest.extend(piece.drain(searched + at + 1..));
                return Ok(0);
            }
        }
    }
}

/// Takes chunks and checks or parses them; each of the threads has one.
struct LineWorker {
    splitter: Arc<Mutex<ChunkSplitter>>,
    pool: BufferPool,
    piece: Vec<u8>,
    scratch: LineBuffers,
}

impl LineWorker {
    fn new(splitter: Arc<Mutex<ChunkSplitter>>, pool: BufferPool) -> Self {
        Self { splitter, pool, piece: Vec::with_capacity(CHUNK_BYTES * 2), scratch: LineBuffers::default() }
    }

    /// Checks until the end, or until the reader is gone.
    fn help(mut self, send: &SyncSender<(u64, io::Result<CheckedLines>)>) {
        while let Some((number, unfinished)) = self.cut() {
            let packed = unfinished.map(|unfinished| self.pack(unfinished));
            if send.send((number, packed)).is_err() {
                return;
            }
        }
    }

    /// Parses the next chunk; `None` at the end.
    fn next<T: FromLine>(&mut self, items: VecDeque<T>) -> Option<(u64, WorkerResult<T>)> {
        let (number, unfinished) = self.cut()?;
        Some((number, unfinished.map(|unfinished| self.parse(unfinished, items))))
    }

    /// Takes the next chunk as it is.
    fn cut(&mut self) -> Option<(u64, io::Result<usize>)> {
        self.splitter.lock().unwrap_or_else(PoisonError::into_inner).next(&mut self.piece)
    }

    fn parse<T: FromLine>(&mut self, unfinished: usize, items: VecDeque<T>) -> Chunk<T> {
        let parsed = lines_of(&self.piece).map(|(line, _)| T::from_line(line, &mut self.scratch));
        Chunk::collect(parsed, unfinished, items)
    }

    fn pack(&mut self, unfinished: usize) -> CheckedLines {
        let spare = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut packed = CheckedLines { unfinished, error: None, ..spare.unwrap_or_default() };
        for (line, _) in lines_of(&self.piece) {
            match json_line::check(line, &mut self.scratch) {
                Ok((header, content)) => {
                    packed.contents.extend_from_slice(content);
                    packed.headers.push((header, packed.contents.len()));
                }
                Err(error) => {
                    packed.error = Some(error);
                    break;
                }
            }
        }
        packed
    }

    fn unpack<T: FromLine>(&self, mut packed: CheckedLines, items: VecDeque<T>) -> Chunk<T> {
        let (mut start, contents) = (0, &packed.contents);
        let good = packed.headers.drain(..).map(|(header, end)| {
            let content = &contents[std::mem::replace(&mut start, end)..end];
            T::from_content(&header, content).map(|item| (header, item))
        });
        let chunk = Chunk::collect(good.chain(packed.error.take().map(Err)), packed.unfinished, items);
        packed.contents.clear();
        self.pool.lock().unwrap_or_else(PoisonError::into_inner).push(packed);
        chunk
    }
}

impl<T> Chunk<T> {
    /// Puts what lines say into the empty `items`, up to the first that is damaged.
    fn collect(
        parsed: impl Iterator<Item = Result<(Header, T), LineError>>,
        unfinished: usize,
        items: VecDeque<T>,
    ) -> Self {
        let mut chunk = Self {
            items,
            complete: 0,
            complete_head: Head::default(),
            first: None,
            last: Head::default(),
            error: None,
            unfinished,
        };
        for parsed in parsed {
            if let Err(error) = chunk.add(parsed) {
                chunk.error = Some(error);
                break;
            }
        }
        chunk
    }

    fn add(&mut self, parsed: Result<(Header, T), LineError>) -> Result<(), LineError> {
        let (header, item) = parsed?;
        if self.first.is_some() {
            self.last.check_next(&header).map_err(LineError::Damaged)?;
        }
        self.last = Head::at(&header);
        self.items.push_back(item);
        if header.more == 0 {
            self.complete = self.items.len();
            self.complete_head = self.last;
        }
        self.first.get_or_insert(header);
        Ok(())
    }
}

/// Says whether there is nothing on a line: such lines are passed over.
pub fn is_blank(line: &[u8]) -> bool {
    line.trim_ascii_start().is_empty()
}

/// Returns the whole lines without their line feeds, each with the place where the next one begins. Empty
/// lines are passed over.
pub fn lines_of(bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', bytes).filter_map(move |end| {
        let line = &bytes[start..end];
        start = end + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (!is_blank(line)).then_some((line, start))
    })
}

/// Returns a reader's error for the line after `head` of the file `name`.
pub fn line_error(error: LineError, head: Head, name: &Path) -> ReadError {
    let at = head.seq.next();
    let name = name.file_name().unwrap_or(name.as_os_str()).to_string_lossy();
    match error {
        LineError::Newer(detail) => ReadError::Newer { at, detail: format!("line {at} of {name}: {detail}") },
        LineError::Damaged(detail) => {
            ReadError::Corrupt { at, detail: format!("line {at} of {name}: {detail}") }
        }
    }
}
