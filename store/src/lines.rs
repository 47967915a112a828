//! Reads a log of lines fast: chunks of lines are parsed and checked on several threads, and only the
//! links between chunks are checked in order.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::chain::Head;
use crate::envelope::Header;
use crate::event_store::ReadError;
use crate::line::{LineError, Scratch};

/// How a line becomes what is wanted.
pub(crate) type ParseLine<T> = fn(&[u8], &mut Scratch) -> Result<(Header, T), LineError>;

/// What is known of a log beside its lines.
pub(crate) struct Source {
    /// Where the lines come from.
    pub(crate) read: Box<dyn Read + Send>,
    /// For messages.
    pub(crate) name: String,
    /// What the first line has to follow.
    pub(crate) after: Head,
}

/// The batches of a log, complete ones only, in order and checked. After an error it ends.
pub(crate) struct Lines<T> {
    /// The answers to come, in the order of the chunks.
    chunks: Option<Receiver<Receiver<Answer<T>>>>,
    ready: std::iter::Chain<std::vec::IntoIter<T>, std::vec::IntoIter<T>>,
    /// What was read of a batch whose end is in a later chunk.
    held: Vec<T>,
    head: Head,
    /// The last event of a complete batch.
    complete: Head,
    error: Option<ReadError>,
    name: String,
}

type Answer<T> = io::Result<Chunk<T>>;

/// Some whole lines, parsed.
struct Chunk<T> {
    items: Vec<T>,
    /// How many of the items belong to batches that end in this chunk.
    complete: usize,
    complete_head: Head,
    first: Option<Header>,
    last: Head,
    error: Option<LineError>,
    /// How many bytes at the end are no whole line; only at the end of the log.
    unfinished: usize,
}

/// Small enough that what a chunk allocates is handed out again instead of going back to the system.
const CHUNK_BYTES: usize = 32 << 10;

impl<T: Send + 'static> Lines<T> {
    pub(crate) fn open(source: Source, parse: ParseLine<T>) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(8);
        let (in_order, chunks) = mpsc::sync_channel(threads * 2);
        let cutter =
            Arc::new(Mutex::new(Cutter { read: source.read, rest: Vec::new(), ended: false, in_order }));
        let mut started = 0;
        for _ in 0..threads {
            let cutter = cutter.clone();
            let worker = thread::Builder::new().name("unstuck-lines".to_owned());
            started += usize::from(worker.spawn(move || work(&cutter, parse)).is_ok());
        }
        let error = (started == 0).then(|| ReadError::Io {
            what: source.name.clone(),
            source: io::Error::other("no thread could be started"),
        });
        Self {
            chunks: Some(chunks),
            ready: Vec::new().into_iter().chain(Vec::new()),
            held: Vec::new(),
            head: source.after,
            complete: source.after,
            error,
            name: source.name,
        }
    }

    /// Returns the last event of the last complete batch that was read.
    pub(crate) fn complete_head(&self) -> Head {
        self.complete
    }

    fn refill(&mut self) -> Option<Result<(), ReadError>> {
        if let Some(error) = self.error.take() {
            self.chunks = None;
            return Some(Err(error));
        }
        let chunk = match self.chunks.as_ref()?.recv().ok().and_then(|answer| answer.recv().ok()) {
            None => {
                self.chunks = None;
                return None;
            }
            Some(Err(source)) => {
                self.chunks = None;
                return Some(Err(ReadError::Io { what: self.name.clone(), source }));
            }
            Some(Ok(chunk)) => chunk,
        };
        self.take_chunk(chunk);
        Some(Ok(()))
    }

    fn take_chunk(&mut self, mut chunk: Chunk<T>) {
        if let Some(first) = &chunk.first {
            if let Err(detail) = self.head.check_next(first) {
                self.error = Some(ReadError::Corrupt { at: self.head.seq.next(), detail });
                return;
            }
            self.head = chunk.last;
        }
        if chunk.complete > 0 {
            let tail = chunk.items.split_off(chunk.complete);
            let held = std::mem::replace(&mut self.held, tail);
            self.ready = held.into_iter().chain(chunk.items);
            self.complete = chunk.complete_head;
        } else {
            self.held.append(&mut chunk.items);
        }
        self.error = chunk.error.map(|error| line_error(error, self.head));
        if chunk.unfinished > 0 {
            tracing::debug!(bytes = chunk.unfinished, log = %self.name, "the last line is not finished");
        }
    }
}

impl<T: Send + 'static> Iterator for Lines<T> {
    type Item = Result<T, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.ready.next() {
                return Some(Ok(item));
            }
            if let Err(error) = self.refill()? {
                return Some(Err(error));
            }
        }
    }
}

/// Cuts the log into chunks of whole lines, and fixes the order of the answers.
struct Cutter<T> {
    read: Box<dyn Read + Send>,
    rest: Vec<u8>,
    ended: bool,
    in_order: SyncSender<Receiver<Answer<T>>>,
}

impl<T> Cutter<T> {
    /// Puts the next chunk into `piece` and returns where its answer goes; `None` at the end, or when
    /// nobody reads on.
    fn next(&mut self, piece: &mut Vec<u8>) -> Option<(io::Result<usize>, SyncSender<Answer<T>>)> {
        if self.ended {
            return None;
        }
        let unfinished = self.cut(piece);
        self.ended |= unfinished.is_err();
        let (answer, receive) = mpsc::sync_channel(1);
        self.in_order.send(receive).ok()?;
        Some((unfinished, answer))
    }

    /// Returns how many bytes at the end of the log are no whole line.
    fn cut(&mut self, piece: &mut Vec<u8>) -> io::Result<usize> {
        piece.clear();
        piece.append(&mut self.rest);
        loop {
            let searched = piece.len();
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

fn work<T>(cutter: &Mutex<Cutter<T>>, parse: ParseLine<T>) {
    let mut piece = Vec::with_capacity(CHUNK_BYTES * 2);
    let mut scratch = Scratch::default();
    loop {
        let next = cutter.lock().unwrap_or_else(PoisonError::into_inner).next(&mut piece);
        let Some((unfinished, answer)) = next else { return };
        let chunk = unfinished.map(|unfinished| parse_piece(&piece, unfinished, &mut scratch, parse));
        if answer.send(chunk).is_err() {
            return;
        }
    }
}

fn parse_piece<T>(piece: &[u8], unfinished: usize, scratch: &mut Scratch, parse: ParseLine<T>) -> Chunk<T> {
    let mut chunk = Chunk {
        items: Vec::with_capacity(piece.len() / 400),
        complete: 0,
        complete_head: Head::default(),
        first: None,
        last: Head::default(),
        error: None,
        unfinished,
    };
    for line in lines_of(piece) {
        if let Err(error) = chunk.add(parse(line, scratch)) {
            chunk.error = Some(error);
            break;
        }
    }
    chunk
}

impl<T> Chunk<T> {
    fn add(&mut self, parsed: Result<(Header, T), LineError>) -> Result<(), LineError> {
        let (header, item) = parsed?;
        if self.first.is_some() {
            self.last.check_next(&header).map_err(LineError::Damaged)?;
        }
        self.last = Head::at(&header);
        self.items.push(item);
        if header.more == 0 {
            self.complete = self.items.len();
            self.complete_head = self.last;
        }
        self.first.get_or_insert(header);
        Ok(())
    }
}

/// Returns the whole lines without their line feeds; empty lines are passed over.
pub(crate) fn lines_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', bytes).filter_map(move |end| {
        let line = &bytes[start..end];
        start = end + 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        (!line.is_empty()).then_some(line)
    })
}

/// Returns a reader's error for a line after `head`.
pub(crate) fn line_error(error: LineError, head: Head) -> ReadError {
    let at = head.seq.next();
    match error {
        LineError::Newer(detail) => ReadError::Newer { at, detail },
        LineError::Damaged(detail) => ReadError::Corrupt { at, detail },
    }
}
