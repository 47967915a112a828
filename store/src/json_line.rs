//! One event as one line of JSON, and back: the form of a mirror and of an export.
//!
//! ```json
//! {"seq":7,"at":1700000000000,"epoch":1,"type":"verdict_reached","v":1,"more":0,"codec":1,"prev":"..","hash":"..","event":{..}}
//! ```
//!
//! `event` is the stored shape. It is enough to rebuild the record byte for byte: its bincode is the
//! payload, or, with codec 3, the content of the blob that the payload names. So the hash of a line can
//! be checked without the store.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::Value;
use unstuck_core::event::Event;
use unstuck_core::id::{Blob, Digest, Epoch, Seq, Timestamp};

use crate::blobs::BlobStore;
use crate::chain;
use crate::event_store::ReadError;
use crate::record::{Codec, Header, Record, RecordRef, reference};
use crate::text_cursor::TextCursor;
use crate::wire::{self, DecodeError, EventType, SchemaVersion};

/// Why a line cannot be read as an event.
#[derive(Debug)]
pub enum LineError {
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
pub fn push(out: &mut Vec<u8>, header: &Header, json: &[u8]) {
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
    out.extend_from_slice(&header.prev.digits());
    out.extend_from_slice(b"\",\"hash\":\"");
    out.extend_from_slice(&header.hash.digits());
    out.extend_from_slice(b"\",\"event\":");
    out.extend_from_slice(json);
    out.extend_from_slice(b"}\n");
}

/// Appends a line for a record whose fact, in bincode or JSON, is `content`.
pub fn push_record(out: &mut Vec<u8>, header: &Header, content: &[u8]) -> Result<(), DecodeError> {
    if header.codec == Codec::Json {
        push(out, header, content);
        return Ok(());
    }
    let mut json = Vec::with_capacity(content.len() * 2);
    wire::to_json(header.kind, header.schema, content, &mut json)?;
    push(out, header, &json);
    Ok(())
}

/// Appends the line of a stored record, whose payload may be in a blob.
pub fn push_stored(
    out: &mut Vec<u8>,
    record: &RecordRef<'_>,
    blobs: &dyn BlobStore,
) -> Result<(), ReadError> {
    let content = chain::content(record, blobs)?;
    push_record(out, &record.header, &content)
        .map_err(|error| ReadError::Corrupt { at: record.header.seq, detail: error.to_string() })
}

/// A type that a line can be parsed into.
pub trait FromLine: Send + Sized + 'static {
    /// Reads a line, without its line feed, and checks its hash. Links to other lines are the caller's.
    fn from_line(line: &[u8], scratch: &mut LineBuffers) -> Result<(Header, Self), LineError>;
    /// Reads the same from the encoded fact of a line that was checked.
    fn from_content(header: &Header, content: &[u8]) -> Result<Self, LineError>;
}

/// Data kept from one line to the next, to save work.
#[derive(Default)]
pub struct LineBuffers {
    /// The encoded fact.
    content: Vec<u8>,
    /// The hash of the line before, which is what the next one should name as its `prev`.
    before: Option<([u8; 64], Digest)>,
}

impl FromLine for Event {
    #[inline]
    fn from_line(line: &[u8], scratch: &mut LineBuffers) -> Result<(Header, Self), LineError> {
        let (header, fact) = parse(line, scratch, wire::decode_json)?;
        let event = Self { seq: header.seq, at: header.at, fact };
        Ok((header, event))
    }

    fn from_content(header: &Header, content: &[u8]) -> Result<Self, LineError> {
        let fact = match header.codec {
            Codec::Bincode | Codec::Spilled => wire::decode(header.kind, header.schema, content)?,
            Codec::Json => {
                let json = str::from_utf8(content).map_err(|error| LineError::Damaged(error.to_string()))?;
                wire::decode_json(header.kind, header.schema, json, &mut Vec::new())?
            }
        };
        Ok(Self { seq: header.seq, at: header.at, fact })
    }
}

/// A record rebuilt from a line.
pub struct RebuiltRecord {
    /// The record.
    pub record: Record,
    /// The payload in the blob, if the record refers to one.
    pub spilled: Option<Vec<u8>>,
}

impl FromLine for RebuiltRecord {
    fn from_line(line: &[u8], scratch: &mut LineBuffers) -> Result<(Header, Self), LineError> {
        let (header, content) = check(line, scratch)?;
        let rebuilt = Self::from_content(&header, content)?;
        Ok((header, rebuilt))
    }

    fn from_content(header: &Header, content: &[u8]) -> Result<Self, LineError> {
        let (payload, spilled) = match header.codec {
            Codec::Spilled => (reference(&blob_of(content)), Some(content.to_vec())),
            Codec::Bincode | Codec::Json => (content.to_vec(), None),
        };
        Ok(Self { record: Record { header: header.clone(), payload }, spilled })
    }
}

/// Checks a line, and returns the encoded fact.
pub fn check<'s>(line: &[u8], scratch: &'s mut LineBuffers) -> Result<(Header, &'s [u8]), LineError> {
    let (header, ()) = parse(line, scratch, wire::encode_json)?;
    Ok((header, &scratch.content))
}

/// Leaves the encoded fact in `scratch`, and returns what `read` makes of it.
#[inline]
fn parse<F>(
    line: &[u8],
    scratch: &mut LineBuffers,
    read: impl Fn(EventType, SchemaVersion, &str, &mut Vec<u8>) -> Result<F, DecodeError>,
) -> Result<(Header, F), LineError> {
    // Once for the whole line: cheaper than once for each text in it.
    let line = std::str::from_utf8(line).map_err(|error| LineError::Damaged(error.to_string()))?;
    let reordered;
    let (fields, json) = match Fields::parse(line) {
        Some(parsed) => parsed,
        None => {
            reordered = NonCanonicalLine::parse(line)?;
            (reordered.fields()?, reordered.json.as_str())
        }
    };
    let changed = |error| changed_since(&fields, json, error);
    let mut header = fields.header(scratch.before.as_ref()).map_err(changed)?;
    let content = &mut scratch.content;
    let fact = read(header.kind, header.schema, json, content)
        .map_err(|error| unknown_key(line).unwrap_or_else(|| changed(error.into())))?;
    seal(&mut header, content, json);
    let digits = header.hash.digits();
    if digits != fields.hash.as_bytes() && !digits.eq_ignore_ascii_case(fields.hash.as_bytes()) {
        return Err(LineError::Damaged("its content does not match its hash".to_owned()));
    }
    scratch.before = Some((digits, header.hash));
    Ok((header, fact))
}

/// Gives a header the hash that it has with this fact.
fn seal(header: &mut Header, content: &mut Vec<u8>, json: &str) {
    match header.codec {
        Codec::Bincode => header.seal(content),
        Codec::Spilled => header.seal(&reference(&blob_of(content))),
        Codec::Json => {
            content.clear();
            content.extend_from_slice(json.as_bytes());
            header.seal(content);
        }
    }
}

/// Returns why a line that seems to be from a newer program cannot be read. If its hash matches a known type that the
/// line does not name, the line is damaged.
fn changed_since(fields: &Fields<'_>, json: &str, error: LineError) -> LineError {
    if matches!(error, LineError::Damaged(_)) {
        return error;
    }
    let mut content = Vec::new();
    for kind in EventType::ALL {
        let is_known = |version: &SchemaVersion| wire::check_readable(*kind, *version).is_ok();
        let versions = (1..).map(SchemaVersion).take_while(is_known);
        for (version, codec) in versions.flat_map(|version| (1..=3).map(move |codec| (version, codec))) {
            let known = Fields { kind: kind.name(), schema: version.0.into(), codec, ..*fields };
            let Ok(mut header) = known.header(None) else { continue };
            if wire::encode_json(*kind, version, json, &mut content).is_err() {
                continue;
            }
            seal(&mut header, &mut content, json);
            if header.hash.digits().eq_ignore_ascii_case(fields.hash.as_bytes()) {
                let (name, version) = (kind.name(), version.0);
                let detail = format!("by its hash it is {name}, version {version}, which it does not say");
                return LineError::Damaged(detail);
            }
        }
    }
    error
}

fn blob_of(content: &[u8]) -> Blob {
    Blob { digest: Digest::sha256(content), size: content.len() as u64 }
}

/// Fields of a line in addition to its event.
struct Fields<'a> {
    seq: u64,
    at: u64,
    epoch: u64,
    kind: &'a str,
    schema: u64,
    more: u64,
    codec: u64,
    prev: &'a str,
    hash: &'a str,
}

impl<'a> Fields<'a> {
    /// Reads a line as [`push`] writes it, down to the event; `None` if it is written in some other way.
    fn parse(line: &'a str) -> Option<(Self, &'a str)> {
        let mut rest = TextCursor(line);
        let mut number = |before: &str| rest.skip(before).and_then(|()| rest.number());
        let (seq, at, epoch) = (number("{\"seq\":")?, number(",\"at\":")?, number(",\"epoch\":")?);
        rest.skip(",\"type\":\"")?;
        let kind = rest.until(|byte| byte == b'"')?;
        let mut number = |before: &str| rest.skip(before).and_then(|()| rest.number());
        let (schema, more, codec) = (number("\",\"v\":")?, number(",\"more\":")?, number(",\"codec\":")?);
        let mut digits = |before: &str| rest.skip(before).and_then(|()| rest.take(64));
        let (prev, hash) = (digits(",\"prev\":\"")?, digits("\",\"hash\":\"")?);
        rest.skip("\",\"event\":")?;
        let json = rest.0.strip_suffix('}')?;
        Some((Self { seq, at, epoch, kind, schema, more, codec, prev, hash }, json))
    }

    /// Makes a header without hash and length. `before` is the hash that `prev` most likely names.
    fn header(&self, before: Option<&([u8; 64], Digest)>) -> Result<Header, LineError> {
        let prev = match before {
            Some((digits, digest)) if digits == self.prev.as_bytes() => Some(*digest),
            _ => Digest::parse(self.prev.as_bytes()),
        };
        let kind = EventType::from_name(self.kind)
            .ok_or_else(|| DecodeError::UnknownType { name: self.kind.to_owned() })?;
        let codec = u8::try_from(self.codec)
            .ok()
            .and_then(Codec::from_number)
            .ok_or_else(|| LineError::Newer(format!("written with codec {}: upgrade", self.codec)))?;
        Ok(Header {
            codec,
            kind,
            schema: SchemaVersion(u16::try_from(self.schema).map_err(|_| unreadable("v"))?),
            epoch: Epoch(self.epoch),
            seq: Seq(self.seq),
            at: Timestamp(self.at),
            more: u32::try_from(self.more).map_err(|_| unreadable("more"))?,
            length: 0,
            prev: prev.ok_or_else(|| unreadable("prev"))?,
            hash: Digest::default(),
        })
    }
}

/// Says what is wrong with the JSON of a line, whose number others know.
fn within_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " in column ")
}

fn unreadable(field: &str) -> LineError {
    LineError::Damaged(format!("its field {field:?} is missing or not readable"))
}

/// Returns an error if a line has an unknown key: it would be dropped, and no hash would reveal that.
fn unknown_key(line: &str) -> Option<LineError> {
    let fields: BTreeMap<String, IgnoredAny> = serde_json::from_str(line).ok()?;
    let key = fields.into_keys().find(|key| !KEYS.contains(&key.as_str()))?;
    Some(LineError::Damaged(format!("a line has no key {key:?}")))
}

/// The keys of a line.
const KEYS: [&str; 10] = ["seq", "at", "epoch", "type", "v", "more", "codec", "prev", "hash", "event"];

/// A line whose fields another program put in another order.
struct NonCanonicalLine {
    value: Value,
    json: String,
}

impl NonCanonicalLine {
    fn parse(line: &str) -> Result<Self, LineError> {
        let value: Value =
            serde_json::from_str(line).map_err(|error| LineError::Damaged(within_line(&error)))?;
        if let Some(unknown) = unknown_key(line) {
            return Err(unknown);
        }
        let json = value["event"].to_string();
        Ok(Self { value, json })
    }

    fn fields(&self) -> Result<Fields<'_>, LineError> {
        let number = |field: &str| self.value[field].as_u64().ok_or_else(|| unreadable(field));
        let text = |field: &str| self.value[field].as_str().ok_or_else(|| unreadable(field));
        Ok(Fields {
            seq: number("seq")?,
            at: number("at")?,
            epoch: number("epoch")?,
            kind: text("type")?,
            schema: number("v")?,
            more: number("more")?,
            codec: number("codec")?,
            prev: text("prev")?,
            hash: text("hash")?,
        })
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
