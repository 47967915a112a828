//! How records follow one another: sequence numbers without gaps, and a hash chain.
//!
//! Turns facts into sealed records on the way in and checks them on the way out, the same for every
//! backend. Where the bytes are kept is the backend's business.

use std::borrow::Cow;

use unstuck_core::event::Event;
use unstuck_core::id::{Digest, Epoch, Seq, Timestamp};

use crate::blobs::BlobStore;
use crate::event_store::{AppendError, Events, ExpectedVersion, Head, ReadError, Records};
use crate::record::{Codec, Header, INLINE_MAX, Record, RecordRef, parse_reference, reference};
use crate::wire::{self, DecodeError, EventType, PAYLOAD_MAX, SchemaVersion};

/// An event encoded, before it has a place in the chain. Made outside of any lock.
pub struct EncodedFact {
    kind: EventType,
    schema: SchemaVersion,
    codec: Codec,
    seq: Seq,
    at: Timestamp,
    payload: Vec<u8>,
}

/// Encodes `batch`; payloads that are too large for a record go to `blobs` first, durably.
pub fn prepare(batch: &[Event], blobs: &dyn BlobStore) -> Result<Vec<EncodedFact>, AppendError> {
    batch.iter().map(|event| prepare_one(event, blobs)).collect()
}

fn prepare_one(event: &Event, blobs: &dyn BlobStore) -> Result<EncodedFact, AppendError> {
    let encoded =
        wire::encode(&event.fact).map_err(|source| AppendError::NotEncodable { seq: event.seq, source })?;
    let (codec, payload) = spill(encoded.payload, blobs).map_err(|source| AppendError::NotDurable {
        what: format!("the payload of event {}", event.seq),
        source,
    })?;
    Ok(EncodedFact {
        kind: encoded.kind,
        schema: encoded.schema,
        codec,
        seq: event.seq,
        at: event.at,
        payload,
    })
}

fn spill(payload: Vec<u8>, blobs: &dyn BlobStore) -> std::io::Result<(Codec, Vec<u8>)> {
    if payload.len() <= INLINE_MAX {
        return Ok((Codec::Bincode, payload));
    }
    Ok((Codec::Spilled, reference(&blobs.put(&payload)?)))
}

/// Checks that a batch may follow `head` and gives it its place there.
pub fn seal(
    prepared: Vec<EncodedFact>,
    expected: ExpectedVersion,
    head: &mut Head,
    epoch: Epoch,
) -> Result<Vec<Record>, AppendError> {
    if let ExpectedVersion::Exactly(expected) = expected {
        check_version(&prepared, expected, head.seq)?;
    }
    let mut more = u32::try_from(prepared.len()).unwrap_or(u32::MAX);
    let mut sealed = Vec::with_capacity(prepared.len());
    for item in prepared {
        more -= 1;
        let mut header = Header {
            codec: item.codec,
            kind: item.kind,
            schema: item.schema,
            epoch,
            seq: head.seq.next(),
            at: item.at,
            more,
            length: 0,
            prev: head.hash,
            hash: Digest::default(),
        };
        header.seal(&item.payload);
        *head = Head::at(&header);
        sealed.push(Record { header, payload: item.payload });
    }
    Ok(sealed)
}

fn check_version(prepared: &[EncodedFact], expected: Seq, actual: Seq) -> Result<(), AppendError> {
    if expected != actual {
        return Err(AppendError::VersionConflict { expected, actual });
    }
    let mut due = expected;
    for item in prepared {
        due = due.next();
        if item.seq != due {
            return Err(AppendError::OutOfOrder { due, found: item.seq });
        }
    }
    Ok(())
}

/// Returns the encoded fact of a record: its payload, or the content of the blob that the payload names.
pub fn content<'a>(record: &RecordRef<'a>, blobs: &dyn BlobStore) -> Result<Cow<'a, [u8]>, ReadError> {
    if record.header.codec != Codec::Spilled {
        return Ok(Cow::Borrowed(record.payload));
    }
    let at = record.header.seq;
    let blob = parse_reference(record.payload).ok_or_else(|| ReadError::Corrupt {
        at,
        detail: "its payload is no reference to a blob".to_owned(),
    })?;
    blobs.read(&blob, PAYLOAD_MAX as u64).map(Cow::Owned).map_err(|source| ReadError::BlobMissing {
        at,
        blob,
        source,
    })
}

/// Decodes the event of a record whose hash and place have been checked.
pub fn decode(record: &RecordRef<'_>, blobs: &dyn BlobStore) -> Result<Event, ReadError> {
    let Header { kind, schema, seq, at, codec, .. } = record.header;
    let content = content(record, blobs)?;
    let fact = match codec {
        Codec::Json => match std::str::from_utf8(&content) {
            Ok(json) => wire::decode_json(kind, schema, json, &mut Vec::new()),
            Err(error) => Err(DecodeError::Malformed { kind, detail: error.to_string() }),
        },
        Codec::Bincode | Codec::Spilled => wire::decode(kind, schema, &content),
    };
    match fact {
        Ok(fact) => Ok(Event { seq, at, fact }),
        Err(newer) if newer.is_newer() => Err(ReadError::Newer { at: seq, detail: newer.to_string() }),
        Err(error) => Err(ReadError::Corrupt { at: seq, detail: error.to_string() }),
    }
}

/// Stored records, each with its number. After an error it ends.
pub trait RawRecords<B>: Iterator<Item = Result<(Seq, B), ReadError>> + Send {}

impl<B, I: Iterator<Item = Result<(Seq, B), ReadError>> + Send> RawRecords<B> for I {}

/// Reads stored records in order, checks each hash and each link, and stops at the first that is wrong.
pub struct ChainReader<I> {
    raw: I,
    position: Position,
    until: Seq,
}

enum Position {
    /// The record before the first wanted one is read first, as the one to link to.
    Anchor(Seq),
    After(Head),
    Stopped,
}

impl<I, B> ChainReader<I>
where
    I: Iterator<Item = Result<(Seq, B), ReadError>>,
    B: AsRef<[u8]>,
{
    /// Reads the events from `from` to `until`. `open` gets the place at which the raw records have to begin.
    pub fn open(
        from: Seq,
        until: Seq,
        open: impl FnOnce(Seq) -> Result<I, ReadError>,
    ) -> Result<Self, ReadError> {
        let anchor = Seq(from.0.saturating_sub(1));
        let raw = open(Seq(anchor.0.max(1)))?;
        let position = if anchor >= until {
            Position::Stopped
        } else if anchor.0 == 0 {
            Position::After(Head::default())
        } else {
            Position::Anchor(anchor)
        };
        Ok(Self { raw, position, until })
    }

    /// Applies `use_record` to the next record.
    pub fn next_with<T>(
        &mut self,
        use_record: impl FnOnce(&RecordRef<'_>) -> Result<T, ReadError>,
    ) -> Option<Result<T, ReadError>> {
        let result = self.advance().and_then(|record| match record {
            Some((bytes, header)) => use_record(&RecordRef::with(header, bytes.as_ref())).map(Some),
            None => Ok(None),
        });
        if !matches!(result, Ok(Some(_))) {
            self.position = Position::Stopped;
        }
        result.transpose()
    }

    /// Returns the events, with their large payloads from `blobs`.
    pub fn into_events<'a>(mut self, blobs: &'a dyn BlobStore) -> Events<'a>
    where
        Self: Send + 'a,
    {
        Box::new(std::iter::from_fn(move || self.next_with(|record| decode(record, blobs))))
    }

    /// Returns the records.
    pub fn into_records<'a>(mut self) -> Records<'a>
    where
        Self: Send + 'a,
    {
        Box::new(std::iter::from_fn(move || self.next_with(|record| Ok(record.to_record()))))
    }

    fn advance(&mut self) -> Result<Option<(B, Header)>, ReadError> {
        if let Position::Anchor(seq) = self.position {
            let (_, header) = self.read_verified(seq)?;
            self.position = Position::After(Head::at(&header));
        }
        let head = match self.position {
            Position::After(head) if head.seq < self.until => head,
            _ => return Ok(None),
        };
        let (bytes, header) = self.read_verified(head.seq.next())?;
        head.check_next(&header).map_err(|detail| ReadError::Corrupt { at: header.seq, detail })?;
        self.position = Position::After(Head::at(&header));
        Ok(Some((bytes, header)))
    }

    fn read_verified(&mut self, due: Seq) -> Result<(B, Header), ReadError> {
        let corrupt = |detail: String| ReadError::Corrupt { at: due, detail };
        let (seq, bytes) = match self.raw.next() {
            None => {
                return Err(corrupt(format!(
                    "it is missing, and so is all after it, up to event {}",
                    self.until
                )));
            }
            Some(Err(ReadError::EngineFailed { detail, .. })) => {
                return Err(ReadError::EngineFailed { at: Some(due), detail });
            }
            Some(next) => next?,
        };
        if seq != due {
            return Err(corrupt(format!("it is missing; the next event there is {seq}")));
        }
        let header = match RecordRef::verify(bytes.as_ref()) {
            Ok(record) => record.header,
            Err(newer) if newer.is_newer() => {
                return Err(ReadError::Newer { at: due, detail: newer.to_string() });
            }
            Err(error) => return Err(corrupt(error.to_string())),
        };
        Ok((bytes, header))
    }
}
