//! One event as one line of JSON, and back: the form of a mirror and of an export.
//!
//! ```json
//! {"seq":7,"at":1700000000000,"epoch":1,"type":"verdict_reached","v":1,"more":0,"codec":1,"prev":"..","hash":"..","event":{..}}
//! ```
//!
//! `event` is the stored shape. It is enough to rebuild the record byte for byte: its bincode is the
//! payload, or, with codec 3, the content of the blob that the payload names. So the hash of a line can
//! be checked without the store.

use serde_json::Value;
use unstuck_core::event::{Event, Fact};
use unstuck_core::id::{Blob, Digest, Epoch, Seq, Timestamp};

use crate::envelope::{Codec, Header, Record, reference};
use crate::hex;
use crate::wire::{self, DecodeError, EventType, SchemaVersion};

/// Why a line is no event.
#[derive(Debug)]
pub(crate) enum LineError {
    /// Another program, of a later time, would read it.
    Newer(String),
    /// It is not what was written.
    Damaged(String),
}

impl From<DecodeError> for LineError {
    fn from(error: DecodeError) -> Self {
        if error.is_newer() { Self::Newer(error.to_string()) } else { Self::Damaged(error.to_string()) }
    }
}

/// Appends a line for the record with this header, whose fact is `json`.
pub(crate) fn push(out: &mut Vec<u8>, header: &Header, json: &[u8]) {
    let mut number = |before: &str, number: u64| {
        out.extend_from_slice(before.as_bytes());
        push_number(out, number);
    };
    number("{\"seq\":", header.seq.0);
    number(",\"at\":", header.at.0);
    number(",\"epoch\":", header.epoch.0);
    out.extend_from_slice(b",\"type\":\"");
    out.extend_from_slice(header.kind.name().as_bytes());
    let mut number = |before: &str, number: u64| {
        out.extend_from_slice(before.as_bytes());
        push_number(out, number);
    };
    number("\",\"v\":", header.schema.0.into());
    number(",\"more\":", header.more.into());
    number(",\"codec\":", header.codec as u64);
    out.extend_from_slice(b",\"prev\":\"");
    hex::push_digest(&header.prev, out);
    out.extend_from_slice(b"\",\"hash\":\"");
    hex::push_digest(&header.hash, out);
    out.extend_from_slice(b"\",\"event\":");
    out.extend_from_slice(json);
    out.extend_from_slice(b"}\n");
}

/// Appends a line for a record whose fact, in bincode or JSON, is `content`.
pub(crate) fn push_record(out: &mut Vec<u8>, header: &Header, content: &[u8]) -> Result<(), DecodeError> {
    if header.codec == Codec::Json {
        push(out, header, content);
        return Ok(());
    }
    let mut json = Vec::with_capacity(content.len() * 2);
    wire::to_json(header.kind, header.schema, content, &mut json)?;
    push(out, header, &json);
    Ok(())
}

/// Reads a line, without its line feed, and checks its hash. Links to other lines are the caller's.
pub(crate) fn parse(line: &[u8], scratch: &mut Vec<u8>) -> Result<(Header, Event), LineError> {
    let (header, fact) = parse_into(line, scratch)?;
    let event = Event { seq: header.seq, at: header.at, fact };
    Ok((header, event))
}

/// A record rebuilt from a line.
pub(crate) struct Rebuilt {
    pub(crate) record: Record,
    /// What its payload refers to, where that is in a blob.
    pub(crate) spilled: Option<Vec<u8>>,
}

/// Reads a line as the record that it was written from.
pub(crate) fn rebuild(line: &[u8], scratch: &mut Vec<u8>) -> Result<(Header, Rebuilt), LineError> {
    let (header, _) = parse_into(line, scratch)?;
    let content = std::mem::take(scratch);
    let (payload, spilled) = match header.codec {
        Codec::Spilled => (reference(&blob_of(&content)), Some(content)),
        Codec::Bincode | Codec::Json => (content, None),
    };
    let record = Record { header: header.clone(), payload };
    Ok((header, Rebuilt { record, spilled }))
}

/// Leaves the encoded fact in `content`.
fn parse_into(line: &[u8], content: &mut Vec<u8>) -> Result<(Header, Fact), LineError> {
    let reordered;
    let (mut header, json) = match parse_prefix(line) {
        Some((header, json)) => (header?, json),
        None => {
            let (header, json) = parse_reordered(line)?;
            reordered = json;
            (header, &reordered[..])
        }
    };
    let fact = wire::decode_json(header.kind, header.schema, json, content)?;
    let hash = match header.codec {
        Codec::Bincode => header.hash_with(content),
        Codec::Spilled => header.hash_with(&reference(&blob_of(content))),
        Codec::Json => {
            content.clear();
            content.extend_from_slice(json);
            header.hash_with(content)
        }
    };
    if hash != header.hash {
        return Err(LineError::Damaged("its content does not match its hash".to_owned()));
    }
    header.length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    if header.codec == Codec::Spilled {
        header.length = crate::envelope::REFERENCE_LEN as u32;
    }
    Ok((header, fact))
}

fn blob_of(content: &[u8]) -> Blob {
    Blob { digest: Digest::of(content), size: content.len() as u64 }
}

/// Reads the fields as [`push`] writes them; `None` if the line is written in some other way.
fn parse_prefix(line: &[u8]) -> Option<(Result<Header, LineError>, &[u8])> {
    let mut rest = Cursor(line);
    let fields = Fields {
        seq: rest.number(b"{\"seq\":")?,
        at: rest.number(b",\"at\":")?,
        epoch: rest.number(b",\"epoch\":")?,
        kind: rest.text(b",\"type\":\"")?,
        schema: rest.number(b"\",\"v\":")?,
        more: rest.number(b",\"more\":")?,
        codec: rest.number(b",\"codec\":")?,
        prev: rest.digest(b",\"prev\":\"")?,
        hash: rest.digest(b"\",\"hash\":\"")?,
    };
    let json = rest.after(b"\",\"event\":")?.0.strip_suffix(b"}")?;
    Some((fields.header(), json))
}

/// Reads a line whose fields another program put in another order.
fn parse_reordered(line: &[u8]) -> Result<(Header, Vec<u8>), LineError> {
    let value: Value = serde_json::from_slice(line).map_err(|error| LineError::Damaged(error.to_string()))?;
    let damaged = |name: &str| LineError::Damaged(format!("its field {name:?} is missing or not readable"));
    let number = |name: &str| value[name].as_u64().ok_or_else(|| damaged(name));
    let text = |name: &str| value[name].as_str().ok_or_else(|| damaged(name));
    let digest = |name: &str| text(name).and_then(|it| Digest::parse(it).ok_or_else(|| damaged(name)));
    let fields = Fields {
        seq: number("seq")?,
        at: number("at")?,
        epoch: number("epoch")?,
        kind: text("type")?,
        schema: number("v")?,
        more: number("more")?,
        codec: number("codec")?,
        prev: digest("prev")?,
        hash: digest("hash")?,
    };
    let json = serde_json::to_vec(&value["event"]).map_err(|error| LineError::Damaged(error.to_string()))?;
    Ok((fields.header()?, json))
}

struct Fields<'a> {
    seq: u64,
    at: u64,
    epoch: u64,
    kind: &'a str,
    schema: u64,
    more: u64,
    codec: u64,
    prev: Digest,
    hash: Digest,
}

impl Fields<'_> {
    fn header(self) -> Result<Header, LineError> {
        let out_of_range = |name: &str| LineError::Damaged(format!("its field {name:?} is out of range"));
        let kind = EventType::from_name(self.kind)
            .ok_or_else(|| DecodeError::UnknownType { name: self.kind.to_owned() })?;
        let codec = u8::try_from(self.codec)
            .ok()
            .and_then(Codec::from_number)
            .ok_or_else(|| LineError::Newer(format!("written with codec {}: upgrade", self.codec)))?;
        Ok(Header {
            codec,
            kind,
            schema: SchemaVersion(u16::try_from(self.schema).map_err(|_| out_of_range("v"))?),
            epoch: Epoch(self.epoch),
            seq: Seq(self.seq),
            at: Timestamp(self.at),
            more: u32::try_from(self.more).map_err(|_| out_of_range("more"))?,
            length: 0,
            prev: self.prev,
            hash: self.hash,
        })
    }
}

struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn after(&mut self, literal: &[u8]) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(literal)?;
        Some(self)
    }

    fn number(&mut self, literal: &[u8]) -> Option<u64> {
        self.after(literal)?;
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        if digits == 0 {
            return None;
        }
        number.iter().try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
    }

    fn text(&mut self, literal: &[u8]) -> Option<&'a str> {
        self.after(literal)?;
        let length = self.0.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'_').count();
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        std::str::from_utf8(text).ok()
    }

    fn digest(&mut self, literal: &[u8]) -> Option<Digest> {
        self.after(literal)?;
        let (digits, rest) = self.0.split_at_checked(64)?;
        self.0 = rest;
        hex::digest(digits)
    }
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
