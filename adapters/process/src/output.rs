//! Captures one output of a process: redacts it, stores it in a blob, keeps its tail and reports its lines.

use std::io::Write as _;

use unstuck_core::id::Blob;
use unstuck_store::blobs::{BlobStore, BlobWriter};

use crate::blocking_task::blocking;
use crate::lines::DisplayLines;
use crate::redact::{self, Redactor};
use crate::spec::{OutputListener, Pipe};

/// Bytes of the tail that are searched for the last line.
const LAST_LINE_MAX: usize = 4096;

/// Receives an output while the process writes it.
pub(super) struct Capture<'a> {
    pipe: Pipe,
    blobs: &'a dyn BlobStore,
    /// Created with the first byte, because most outputs are empty.
    writer: Option<Box<dyn BlobWriter>>,
    trouble: Option<String>,
    redact: redact::RedactionStream,
    clean: Vec<u8>,
    tail: Tail,
    lines: DisplayLines,
}

/// Result of capturing an output.
pub(super) struct CapturedOutput {
    pub(super) blob: Option<Blob>,
    pub(super) tail: Vec<u8>,
    /// Whether the output is longer than the tail.
    pub(super) cut: bool,
    pub(super) redactions: u32,
    /// Reason why the output is not stored.
    pub(super) trouble: Option<String>,
}

impl<'a> Capture<'a> {
    pub(super) fn new(pipe: Pipe, tail_max: usize, blobs: &'a dyn BlobStore, redactor: &Redactor) -> Self {
        Self {
            pipe,
            blobs,
            writer: None,
            trouble: None,
            redact: redactor.stream(),
            clean: Vec::new(),
            tail: Tail { max: tail_max, bytes: Vec::new(), cut: false },
            lines: DisplayLines::default(),
        }
    }

    pub(super) fn take(&mut self, chunk: &[u8], audience: &mut dyn OutputListener) {
        self.clean.clear();
        self.redact.push(chunk, &mut self.clean);
        self.emit(audience);
    }

    /// Returns the last line that is not blank, without control characters.
    pub(super) fn last_line(&self) -> Option<String> {
        let end = &self.tail.bytes[self.tail.bytes.len().saturating_sub(LAST_LINE_MAX)..];
        plain(end).lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned)
    }

    pub(super) async fn finish(mut self, audience: &mut dyn OutputListener) -> CapturedOutput {
        self.clean.clear();
        self.redact.finish(&mut self.clean);
        self.emit(audience);
        let pipe = self.pipe;
        self.lines.end(|line| audience.line(pipe, line));
        let blob = match self.writer.take() {
            Some(writer) => blocking(|| writer.finish()).await.map(Some),
            None => Ok(None),
        };
        if let Err(error) = &blob {
            self.fail(error);
        }
        CapturedOutput {
            blob: blob.ok().flatten(),
            cut: self.tail.is_cut(),
            tail: self.tail.take(),
            redactions: self.redact.count(),
            trouble: self.trouble,
        }
    }

    fn emit(&mut self, audience: &mut dyn OutputListener) {
        if self.clean.is_empty() {
            return;
        }
        if let Err(error) = self.store() {
            // Continue to read: a full disk of ours must not block the process on a full pipe.
            self.writer = None;
            self.fail(&error);
        }
        self.tail.push(&self.clean);
        if self.pipe == Pipe::Output {
            audience.output(&self.clean);
        }
        let pipe = self.pipe;
        self.lines.push(&self.clean, |line| audience.line(pipe, line));
    }

    fn store(&mut self) -> std::io::Result<()> {
        if self.trouble.is_some() {
            return Ok(());
        }
        match &mut self.writer {
            Some(writer) => writer.write_all(&self.clean),
            none => none.insert(self.blobs.writer()?).write_all(&self.clean),
        }
    }

    fn fail(&mut self, error: &std::io::Error) {
        let name = match self.pipe {
            Pipe::Output => "standard output",
            Pipe::Error => "standard error",
        };
        self.trouble.get_or_insert_with(|| format!("cannot store {name}: {error}"));
    }
}

/// Last bytes of a text that arrives in pieces.
struct Tail {
    max: usize,
    bytes: Vec<u8>,
    cut: bool,
}

impl Tail {
    fn push(&mut self, piece: &[u8]) {
        let piece = &piece[piece.len().saturating_sub(2 * self.max)..];
        self.bytes.extend_from_slice(piece);
        // Moving the end to the front only when the buffer is twice full costs each byte one move.
        if self.bytes.len() > 2 * self.max {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let surplus = self.bytes.len().saturating_sub(self.max);
        self.cut |= surplus > 0;
        self.bytes.drain(..surplus);
    }

    fn is_cut(&self) -> bool {
        self.cut || self.bytes.len() > self.max
    }

    fn take(mut self) -> Vec<u8> {
        self.shorten();
        self.bytes
    }
}

/// Returns the last `max` bytes of a text. If it was `cut`, the text starts at the first complete character.
pub(super) fn text(bytes: &[u8], cut: bool, max: usize) -> String {
    let partial =
        if cut { bytes.iter().take(3).take_while(|byte| (**byte & 0xc0) == 0x80).count() } else { 0 };
    let text = String::from_utf8_lossy(&bytes[partial..]);
    // The replacement of an invalid byte is longer than the byte.
    let from = (text.len().saturating_sub(max)..text.len()).find(|&at| text.is_char_boundary(at));
    text[from.unwrap_or(text.len())..].to_owned()
}

/// Returns the bytes as lines without control characters and terminal sequences.
pub(super) fn plain(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut keep = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let mut lines = DisplayLines::new(usize::MAX);
    lines.push(bytes, &mut keep);
    lines.end(&mut keep);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_is_the_end_whatever_the_pieces() {
        let all: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for size in [1, 7, 64, 999, 1000] {
            let mut tail = Tail { max: 100, bytes: Vec::new(), cut: false };
            for piece in all.chunks(size) {
                tail.push(piece);
                assert!(tail.bytes.len() <= 200);
            }
            assert!(tail.is_cut());
            assert_eq!(tail.take(), &all[900..]);
        }
    }

    #[test]
    fn text_starts_with_a_complete_character_and_has_at_most_max_bytes() {
        for (bytes, cut, max, expected) in [
            (&b"plain"[..], false, 100, "plain"),
            (&"ä".as_bytes()[1..], true, 100, ""),
            (&"ä".as_bytes()[1..], false, 100, "\u{fffd}"),
            (b"\xff\xff\xff", false, 7, "\u{fffd}\u{fffd}"),
            (b"abc", false, 2, "bc"),
            (b"", true, 2, ""),
        ] {
            assert_eq!(text(bytes, cut, max), expected);
        }
    }
}
