//! Format of a record: a fixed header around an encoded fact.
//!
//! The payload is defined by [`wire`](crate::wire), the order of records by [`chain`](crate::chain).
//!
//! | bytes | field |
//! |---|---|
//! | 4 | magic `UNST` |
//! | 1 | version of this header |
//! | 1 | codec: 1 bincode, 2 JSON, 3 reference to a blob that holds the bincode |
//! | 2 | event type |
//! | 2 | schema version of the type |
//! | 8 | epoch of the lease it was written under |
//! | 8 | sequence number |
//! | 8 | time of recording, in milliseconds |
//! | 4 | how many records of the same batch follow |
//! | 4 | length of the payload |
//! | 32 | hash of the record before; zeros in the first |
//! | 32 | hash: SHA-256 of all bytes above and the payload |
//!
//! Numbers are little-endian. The count of records that follow lets a reader see that the last batch of
//! a cut log is incomplete, so that there is never an observation without its conclusions.

use sha2::{Digest as _, Sha256};
use unstuck_core::id::{Blob, Digest, Epoch, Seq, Timestamp};

use crate::wire::{DecodeError, EventType, SchemaVersion};

/// First bytes of every record.
pub const MAGIC: [u8; 4] = *b"UNST";
/// The version of the header that this program writes, and the newest that it reads.
pub const HEADER_VERSION: u8 = 1;
/// Length of the header.
pub const HEADER_LEN: usize = 106;
/// Most bytes of a record; a larger payload goes to a blob.
pub const RECORD_MAX: usize = 32 << 10;
/// Most bytes of a payload that is stored within its record.
pub const INLINE_MAX: usize = RECORD_MAX - HEADER_LEN;
/// Length of a payload that is a reference to a blob.
pub const REFERENCE_LEN: usize = 40;

/// The part of the header that the hash covers.
const HASHED_LEN: usize = HEADER_LEN - 32;

/// Offset of the sequence number in the header.
const SEQ_AT: usize = 4 + 2 + 2 + 2 + 8;

/// Offset of the payload length in the header.
const LENGTH_AT: usize = HASHED_LEN - 32 - 4;

/// How a payload is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// In bincode 1 with fixed widths.
    Bincode = 1,
    /// In JSON. Read, not written.
    Json = 2,
    /// In bincode, in a blob; the payload is the blob's digest and size.
    Spilled = 3,
}

impl Codec {
    /// Returns the codec with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Bincode),
            2 => Some(Self::Json),
            3 => Some(Self::Spilled),
            _ => None,
        }
    }
}

/// Data of a record in addition to its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// How the payload is written.
    pub codec: Codec,
    /// Type of the fact.
    pub kind: EventType,
    /// The version of its shape.
    pub schema: SchemaVersion,
    /// The lease it was written under.
    pub epoch: Epoch,
    /// Its place in the stream.
    pub seq: Seq,
    /// When it was recorded.
    pub at: Timestamp,
    /// How many records of the same batch follow.
    pub more: u32,
    /// Length of the payload.
    pub length: u32,
    /// Hash of the record before.
    pub prev: Digest,
    /// Hash of this record.
    pub hash: Digest,
}

/// The end of a stream: the last event, or the beginning of an empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Place of the last event; 0 in an empty stream.
    pub seq: Seq,
    /// Hash of the last record; zeros in an empty stream.
    pub hash: Digest,
    /// Epoch of the last record; 0 in an empty stream.
    pub epoch: Epoch,
}

impl Head {
    /// Returns the head of a stream that ends with `header`.
    pub fn at(header: &Header) -> Self {
        Self { seq: header.seq, hash: header.hash, epoch: header.epoch }
    }

    /// Checks that a record follows this head, and says why not.
    pub fn check_next(&self, header: &Header) -> Result<(), String> {
        let next = self.seq.next();
        if header.seq != next {
            return Err(format!("event {} stands where event {next} is due", header.seq));
        }
        if header.prev != self.hash {
            return Err(format!(
                "it does not continue the chain: the record before is not the one of event {}",
                self.seq
            ));
        }
        if header.epoch < self.epoch {
            return Err(format!(
                "its epoch {} is below {}, that of the event before",
                header.epoch, self.epoch
            ));
        }
        Ok(())
    }
}

/// A record that owns its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Header of the record.
    pub header: Header,
    /// The payload, written in the header's codec.
    pub payload: Vec<u8>,
}

/// A record within borrowed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRef<'a> {
    /// Header of the record.
    pub header: Header,
    /// The payload, written in the header's codec.
    pub payload: &'a [u8],
}

/// Why bytes are no record.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum RecordError {
    #[error("no record: it does not begin with UNST")]
    NoRecord,
    #[error("the record is cut short")]
    CutShort,
    #[error("the record has {0} bytes more than its header says")]
    TooLong(usize),
    #[error("written with header version {0}; this program reads up to {HEADER_VERSION}: upgrade")]
    NewerHeader(u8),
    #[error("written with codec {0}, which this program does not have: upgrade")]
    UnknownCodec(u8),
    #[error(transparent)]
    Newer(#[from] DecodeError),
    #[error("its content does not match its hash")]
    WrongHash,
}

impl RecordError {
    /// Says whether a newer version of the program would read it.
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::NewerHeader(_) | Self::UnknownCodec(_) | Self::Newer(_))
    }
}

impl Header {
    /// Computes the hash over this header (its `hash` and `length` are not looked at) and `payload`.
    pub fn hash_with(&self, payload: &[u8]) -> Digest {
        hash(&self.hashed_bytes(payload.len()), payload)
    }

    /// Sets `length` and `hash` for `payload`.
    pub fn seal(&mut self, payload: &[u8]) {
        self.length = length_of(payload);
        self.hash = self.hash_with(payload);
    }

    fn hashed_bytes(&self, length: usize) -> [u8; HASHED_LEN] {
        let mut bytes = [0; HASHED_LEN];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&MAGIC);
        put(&[HEADER_VERSION, self.codec as u8]);
        put(&self.kind.number().to_le_bytes());
        put(&self.schema.0.to_le_bytes());
        put(&self.epoch.0.to_le_bytes());
        put(&self.seq.0.to_le_bytes());
        put(&self.at.0.to_le_bytes());
        put(&self.more.to_le_bytes());
        put(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        put(&self.prev.0);
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        let header = bytes.get(..HEADER_LEN).ok_or(RecordError::CutShort)?;
        let mut fields = Fields(header);
        if fields.take() != MAGIC {
            return Err(RecordError::NoRecord);
        }
        let [version, codec] = fields.take();
        if version > HEADER_VERSION {
            return Err(RecordError::NewerHeader(version));
        }
        let codec = Codec::from_number(codec).ok_or(RecordError::UnknownCodec(codec))?;
        let number = u16::from_le_bytes(fields.take());
        let kind = EventType::from_number(number)
            .ok_or_else(|| DecodeError::UnknownType { name: number.to_string() })?;
        Ok(Self {
            codec,
            kind,
            schema: SchemaVersion(u16::from_le_bytes(fields.take())),
            epoch: Epoch(u64::from_le_bytes(fields.take())),
            seq: Seq(u64::from_le_bytes(fields.take())),
            at: Timestamp(u64::from_le_bytes(fields.take())),
            more: u32::from_le_bytes(fields.take()),
            length: u32::from_le_bytes(fields.take()),
            prev: Digest(fields.take()),
            hash: Digest(fields.take()),
        })
    }
}

impl<'a> RecordRef<'a> {
    /// Reads the header and finds the payload; the hash is not checked.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, RecordError> {
        let header = Header::parse(bytes)?;
        let payload = &bytes[HEADER_LEN..];
        match payload.len().checked_sub(header.length as usize) {
            Some(0) => Ok(Self { header, payload }),
            Some(rest) => Err(RecordError::TooLong(rest)),
            None => Err(RecordError::CutShort),
        }
    }

    /// Reads a record and checks its hash.
    ///
    /// The hash goes first: a record that was damaged is never taken for one of a newer program.
    pub fn verify(bytes: &'a [u8]) -> Result<Self, RecordError> {
        if bytes.len() < HEADER_LEN {
            return Err(RecordError::CutShort);
        }
        if bytes[..4] != MAGIC {
            return Err(RecordError::NoRecord);
        }
        if hash(&bytes[..HASHED_LEN], &bytes[HEADER_LEN..]).0 != bytes[HASHED_LEN..HEADER_LEN] {
            // The place of the hash may be another in a newer header, so its version is asked all the same.
            return Err(match RecordRef::parse(bytes) {
                Err(newer @ RecordError::NewerHeader(_)) => newer,
                _ => RecordError::WrongHash,
            });
        }
        Self::parse(bytes)
    }

    /// Returns the record of these bytes, whose header was read before.
    pub fn with(header: Header, bytes: &'a [u8]) -> Self {
        Self { header, payload: &bytes[HEADER_LEN..] }
    }

    /// Returns a record that owns its payload.
    pub fn to_record(&self) -> Record {
        Record { header: self.header.clone(), payload: self.payload.to_vec() }
    }
}

impl Record {
    /// Returns the bytes that are stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_LEN + self.payload.len());
        bytes.extend_from_slice(&self.header.hashed_bytes(self.payload.len()));
        bytes.extend_from_slice(&self.header.hash.0);
        bytes.extend_from_slice(&self.payload);
        bytes
    }

    /// Borrows this record.
    pub fn as_ref(&self) -> RecordRef<'_> {
        RecordRef { header: self.header.clone(), payload: &self.payload }
    }
}

/// Returns the place of the first of several records that follow one another, as its header says.
pub fn first_seq(records: &[u8]) -> Option<Seq> {
    let seq = records.get(SEQ_AT..SEQ_AT + 8)?;
    Some(Seq(u64::from_le_bytes(seq.try_into().ok()?)))
}

/// Returns the length of the first of several records that follow one another, as its header says.
pub fn first_length(records: &[u8]) -> Option<usize> {
    let length = records.get(LENGTH_AT..LENGTH_AT + 4)?;
    let length = HEADER_LEN + u32::from_le_bytes(length.try_into().ok()?) as usize;
    (length <= records.len()).then_some(length)
}

/// Writes the payload of a spilled record.
pub fn reference(blob: &Blob) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REFERENCE_LEN);
    bytes.extend_from_slice(&blob.digest.0);
    bytes.extend_from_slice(&blob.size.to_le_bytes());
    bytes
}

/// Reads the payload of a spilled record.
pub fn parse_reference(payload: &[u8]) -> Option<Blob> {
    let (digest, size) = payload.split_at_checked(32)?;
    Some(Blob { digest: Digest(digest.try_into().ok()?), size: u64::from_le_bytes(size.try_into().ok()?) })
}

fn length_of(payload: &[u8]) -> u32 {
    u32::try_from(payload.len()).unwrap_or(u32::MAX)
}

fn hash(header: &[u8], payload: &[u8]) -> Digest {
    let mut hasher = Sha256::new();
    hasher.update(header);
    hasher.update(payload);
    Digest(hasher.finalize().into())
}

/// Takes one field after the other from bytes whose length has been checked.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_at(N);
        self.0 = rest;
        field.try_into().expect("split_at gave N bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Record {
        let mut header = Header {
            codec: Codec::Bincode,
            kind: EventType::AnswerGiven,
            schema: SchemaVersion(1),
            epoch: Epoch(3),
            seq: Seq(7),
            at: Timestamp(1_700_000_000_000),
            more: 2,
            length: 0,
            prev: Digest::sha256(b"before"),
            hash: Digest::default(),
        };
        header.seal(b"payload");
        Record { header, payload: b"payload".to_vec() }
    }

    #[test]
    fn a_record_reads_back() {
        let bytes = sample().to_bytes();
        assert_eq!(bytes.len(), HEADER_LEN + 7);
        assert_eq!(RecordRef::verify(&bytes).unwrap().to_record(), sample());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let bytes = sample().to_bytes();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = RecordRef::verify(&flipped).unwrap_err();
            let in_version = bit / 8 == 4;
            assert!(in_version || !error.is_newer(), "bit {bit}: {error}");
        }
        for length in 0..bytes.len() {
            RecordRef::verify(&bytes[..length]).unwrap_err();
        }
    }

    #[test]
    fn a_newer_header_type_or_codec_is_refused_with_the_word_upgrade() {
        let newer = |at: usize, value: u8| {
            let mut bytes = sample().to_bytes();
            bytes[at] = value;
            let sealed = hash(&bytes[..HASHED_LEN], &bytes[HEADER_LEN..]);
            bytes[HASHED_LEN..HEADER_LEN].copy_from_slice(&sealed.0);
            let error = RecordRef::verify(&bytes).unwrap_err();
            assert!(error.is_newer());
            error.to_string()
        };
        assert_eq!(newer(4, 9), "written with header version 9; this program reads up to 1: upgrade");
        assert_eq!(newer(5, 9), "written with codec 9, which this program does not have: upgrade");
        assert_eq!(newer(6, 200), "written by a newer unstuck: this program has no event type 200: upgrade");
    }

    #[test]
    fn length_of_the_first_of_two_records_is_found() {
        let record = sample().to_bytes();
        let mut two = record.clone();
        two.extend_from_slice(&record);
        assert_eq!(first_length(&two), Some(record.len()));
        assert_eq!(first_length(&two[record.len()..]), Some(record.len()));
        assert_eq!(first_length(&record[..record.len() - 1]), None);
        assert_eq!(first_length(&record[..20]), None);
    }

    #[test]
    fn a_reference_reads_back() {
        let blob = Blob { digest: Digest::sha256(b"x"), size: 99 };
        assert_eq!(reference(&blob).len(), REFERENCE_LEN);
        assert_eq!(parse_reference(&reference(&blob)), Some(blob));
        assert_eq!(parse_reference(&[0; 41]), None);
    }
}
