//! Between facts and bytes: the table of event types, their stored shapes and their upcasters.
//!
//! A fact is stored as one of the frozen structs of [`v1`], in bincode; a mirror and an export hold the
//! same struct as JSON. Domain types are never stored themselves, so that they can change freely.
//! Headers, hashes and the order of events belong to [`record`](crate::record) and
//! [`chain`](crate::chain).
//!
//! To change an event: define the new shape in the newest `vN` that no release has written, write `From` for it in
//! `upcast`, let it take the place of the old one in `current!`, add it to `upcast!`, and append it to the row of the
//! table. Old bytes are never rewritten.

mod convert;
mod text;
mod transcode;
mod upcast;
pub mod v1;
pub mod v2;
pub mod v3;

use std::fmt;

use bincode::Options as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use unstuck_core::event::{Conclusion, Fact, Observation};

use self::convert::{Invalid, Wire as _};

/// Most bytes of an encoded fact.
pub const PAYLOAD_MAX: usize = 64 << 20;

/// The version of a stored shape: the first is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaVersion(pub u16);

impl fmt::Display for SchemaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A fact as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Type of the fact.
    pub kind: EventType,
    /// The version of its shape.
    pub schema: SchemaVersion,
    /// The shape in bincode.
    pub payload: Vec<u8>,
}

/// Why a fact cannot be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode {}: {detail}", kind.name())]
pub struct EncodeError {
    /// Type of the fact.
    pub kind: EventType,
    /// Why.
    pub detail: String,
}

/// Why stored bytes are no fact.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// A newer program wrote the shape.
    #[error("written by unstuck's schema {written} of {}; this program reads up to {reads}: upgrade", kind.name())]
    #[expect(missing_docs, reason = "the message says it")]
    NewerSchema { kind: EventType, written: SchemaVersion, reads: SchemaVersion },
    /// A newer program wrote a kind of event that this one does not have.
    #[error("written by a newer unstuck: this program has no event type {name}: upgrade")]
    #[expect(missing_docs, reason = "the message says it")]
    UnknownType { name: String },
    /// The bytes are not what their header says.
    #[error("the payload of {} is not readable: {detail}", kind.name())]
    #[expect(missing_docs, reason = "the message says it")]
    Malformed { kind: EventType, detail: String },
}

impl DecodeError {
    /// Says whether a newer version of the program would read it.
    pub fn is_newer(&self) -> bool {
        !matches!(self, Self::Malformed { .. })
    }
}

/// Encodes `fact` in its newest shape.
pub fn encode(fact: &Fact) -> Result<Encoded, EncodeError> {
    match fact {
        Fact::Observed(observation) => encode_observation(observation),
        Fact::Concluded(conclusion) => encode_conclusion(conclusion),
    }
}

/// Decodes a payload in bincode.
pub fn decode(kind: EventType, schema: SchemaVersion, payload: &[u8]) -> Result<Fact, DecodeError> {
    (Shape::find(kind, schema)?.decode)(kind, payload)
}

/// Checks that this program knows the shape, without reading a payload.
pub fn check_readable(kind: EventType, schema: SchemaVersion) -> Result<(), DecodeError> {
    Shape::find(kind, schema).map(|_| ())
}

/// Decodes a shape in JSON, and puts its bincode into `payload` in place of what that held.
pub fn decode_json(
    kind: EventType,
    schema: SchemaVersion,
    json: &str,
    payload: &mut Vec<u8>,
) -> Result<Fact, DecodeError> {
    (Shape::find(kind, schema)?.decode_json)(kind, json, payload)
}

/// Checks a shape in JSON, and puts its bincode into `payload` in place of what that held.
pub(crate) fn encode_json(
    kind: EventType,
    schema: SchemaVersion,
    json: &str,
    payload: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    (Shape::find(kind, schema)?.encode_json)(kind, json, payload)
}

/// Appends the shape of a payload in bincode to `json`.
pub fn to_json(
    kind: EventType,
    schema: SchemaVersion,
    payload: &[u8],
    json: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    (Shape::find(kind, schema)?.to_json)(kind, payload, json)
}

/// A frozen struct of some version. `into_fact` of an old one goes through the next version's.
trait Stored: Serialize + DeserializeOwned {
    fn into_fact(self) -> Result<Fact, Invalid>;
}

/// Functions of a stored struct.
struct Shape {
    decode: Decode,
    decode_json: DecodeJson,
    encode_json: EncodeJson,
    to_json: ToJson,
}

type Decode = fn(EventType, &[u8]) -> Result<Fact, DecodeError>;
type DecodeJson = fn(EventType, &str, &mut Vec<u8>) -> Result<Fact, DecodeError>;
type EncodeJson = fn(EventType, &str, &mut Vec<u8>) -> Result<(), DecodeError>;
type ToJson = fn(EventType, &[u8], &mut Vec<u8>) -> Result<(), DecodeError>;

impl Shape {
    const fn of<T: Stored>() -> Self {
        Self {
            decode: decode_shape::<T>,
            decode_json: decode_json_shape::<T>,
            encode_json: encode_json_shape::<T>,
            to_json: shape_to_json::<T>,
        }
    }

    fn find(kind: EventType, schema: SchemaVersion) -> Result<&'static Self, DecodeError> {
        match usize::from(schema.0).checked_sub(1) {
            None => Err(malformed(kind, "schema version 0 does not exist")),
            Some(index) => kind.shapes().get(index).ok_or(DecodeError::NewerSchema {
                kind,
                written: schema,
                reads: kind.schema_version(),
            }),
        }
    }
}

macro_rules! event_types {
    ($($variant:ident = $number:literal $name:literal [$($shape:ty),+])*) => {
        /// The stable number and name of each kind of fact. Neither is ever used again for another.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        #[expect(missing_docs, reason = "documented where the facts are, in unstuck_core::event")]
        pub enum EventType { $($variant = $number),* }

        impl EventType {
            /// Every type, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name used in mirrors and messages.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Returns the type with this number.
            pub fn from_number(number: u16) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }

            /// Returns the type with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$variant),)* _ => None }
            }

            /// The shapes of this type, version 1 first.
            fn shapes(self) -> &'static [Shape] {
                match self { $(Self::$variant => const { &[$(Shape::of::<$shape>()),+] }),* }
            }
        }
    };
}

event_types! {
    RunStarted = 1 "run_started" [v1::RunStarted, v2::RunStarted]
    RunResumed = 2 "run_resumed" [v1::RunResumed, v2::RunResumed]
    RunInterrupted = 3 "run_interrupted" [v1::RunInterrupted]
    AnswerGiven = 4 "answer_given" [v1::AnswerGiven]
    DeadlinePassed = 5 "deadline_passed" [v1::DeadlinePassed]
    WorkerStarted = 6 "worker_started" [v1::WorkerStarted, v2::WorkerStarted, v3::WorkerStarted]
    WorkerFinished = 7 "worker_finished" [v1::WorkerFinished, v2::WorkerFinished, v3::WorkerFinished]
    WorkerLost = 8 "worker_lost" [v1::WorkerLost]
    CheckStarted = 9 "check_started" [v1::CheckStarted]
    CheckFinished = 10 "check_finished" [v1::CheckFinished, v2::CheckFinished]
    CheckLost = 11 "check_lost" [v1::CheckLost]
    LogRepaired = 12 "log_repaired" [v1::LogRepaired]
    SnapshotTaken = 13 "snapshot_taken" [v1::SnapshotTaken, v2::SnapshotTaken]
    WorkerProgressed = 14 "worker_progressed" [v1::WorkerProgressed]
    Kicked = 15 "kicked" [v1::Kicked]
    Suspended = 16 "suspended" [v1::Suspended]
    WorkRequested = 101 "work_requested" [v1::WorkRequested]
    CheckRequested = 102 "check_requested" [v1::CheckRequested]
    WaitRequested = 103 "wait_requested" [v1::WaitRequested]
    VerdictReached = 104 "verdict_reached" [v1::VerdictReached]
    StageRaised = 105 "stage_raised" [v1::StageRaised]
    StepEnded = 106 "step_ended" [v1::StepEnded]
    RunStopping = 107 "run_stopping" [v1::RunStopping]
    RunEnded = 108 "run_ended" [v1::RunEnded]
    FallbackTaken = 109 "fallback_taken" [v1::FallbackTaken]
}

impl EventType {
    /// Returns the number used in records.
    pub fn number(self) -> u16 {
        self as u16
    }

    /// Returns the version of the shape that this program writes, the newest that it reads.
    fn schema_version(self) -> SchemaVersion {
        SchemaVersion(u16::try_from(self.shapes().len()).unwrap_or(u16::MAX))
    }
}

/// The shapes that facts are written in now, and how the others are encoded.
macro_rules! current {
    ($($encode:ident $family:ident {
        $($shape:ty => $variant:ident),* $(,)?
    } else {
        $($other:pat => $encoded:expr),* $(,)?
    })*) => {$(
        $(impl Stored for $shape {
            fn into_fact(self) -> Result<Fact, Invalid> {
                Ok($family::$variant(self.domain()).into())
            }
        })*

        fn $encode(fact: &$family) -> Result<Encoded, EncodeError> {
            match fact {
                $($family::$variant(it) => encode_shape(EventType::$variant, &<$shape>::wire(it)),)*
                $($other => $encoded,)*
            }
        }
    )*};
}

current! {
    encode_observation Observation {
        v1::RunInterrupted => RunInterrupted,
        v1::AnswerGiven => AnswerGiven,
        v3::WorkerStarted => WorkerStarted,
        v3::WorkerFinished => WorkerFinished,
        v1::WorkerLost => WorkerLost,
        v1::CheckStarted => CheckStarted,
        v2::CheckFinished => CheckFinished,
        v1::CheckLost => CheckLost,
        v1::LogRepaired => LogRepaired,
        v2::SnapshotTaken => SnapshotTaken,
        v1::WorkerProgressed => WorkerProgressed,
        v1::Suspended => Suspended,
    } else {
        Observation::RunStarted(started) => {
            let shape = v2::RunStarted::from_domain(started);
            encode_shape(EventType::RunStarted, &shape.map_err(|detail| failed(EventType::RunStarted, detail))?)
        },
        Observation::RunResumed(resumed) => {
            let shape = v2::RunResumed::from_domain(resumed);
            encode_shape(EventType::RunResumed, &shape.map_err(|detail| failed(EventType::RunResumed, detail))?)
        },
        Observation::DeadlinePassed => encode_shape(EventType::DeadlinePassed, &v1::DeadlinePassed {}),
        Observation::Kicked => encode_shape(EventType::Kicked, &v1::Kicked {}),
    }
    encode_conclusion Conclusion {
        v1::WorkRequested => WorkRequested,
        v1::CheckRequested => CheckRequested,
        v1::WaitRequested => WaitRequested,
        v1::VerdictReached => VerdictReached,
        v1::StageRaised => StageRaised,
        v1::StepEnded => StepEnded,
        v1::RunStopping => RunStopping,
        v1::RunEnded => RunEnded,
        v1::FallbackTaken => FallbackTaken,
    } else {}
}

impl Stored for v2::RunStarted {
    fn into_fact(self) -> Result<Fact, Invalid> {
        Ok(Observation::RunStarted(Box::new(self.into_domain()?)).into())
    }
}

impl Stored for v2::RunResumed {
    fn into_fact(self) -> Result<Fact, Invalid> {
        Ok(Observation::RunResumed(self.into_domain()?).into())
    }
}

impl Stored for v1::DeadlinePassed {
    fn into_fact(self) -> Result<Fact, Invalid> {
        Ok(Observation::DeadlinePassed.into())
    }
}

impl Stored for v1::Kicked {
    fn into_fact(self) -> Result<Fact, Invalid> {
        Ok(Observation::Kicked.into())
    }
}

/// Declares that an old shape is read as the next one.
macro_rules! upcast {
    ($($old:ty => $new:ty),* $(,)?) => {$(
        impl Stored for $old {
            fn into_fact(self) -> Result<Fact, Invalid> {
                <$new>::from(self).into_fact()
            }
        }
    )*};
}

upcast! {
    v1::RunStarted => v2::RunStarted,
    v1::RunResumed => v2::RunResumed,
    v1::WorkerStarted => v2::WorkerStarted,
    v2::WorkerStarted => v3::WorkerStarted,
    v1::WorkerFinished => v2::WorkerFinished,
    v2::WorkerFinished => v3::WorkerFinished,
    v1::CheckFinished => v2::CheckFinished,
    v1::SnapshotTaken => v2::SnapshotTaken,
}

fn failed(kind: EventType, detail: impl ToString) -> EncodeError {
    EncodeError { kind, detail: detail.to_string() }
}

/// The one dialect of bincode: fixed widths, a limit, nothing left over; and only ever from a slice,
/// because a hostile length aborts the process when read from a stream.
fn dialect(limit: usize) -> impl bincode::Options {
    bincode::DefaultOptions::new().with_fixint_encoding().with_limit(limit as u64).reject_trailing_bytes()
}

fn encode_shape<T: Stored>(kind: EventType, shape: &T) -> Result<Encoded, EncodeError> {
    let mut payload = Vec::with_capacity(256);
    serialize(shape, &mut payload).map_err(|detail| failed(kind, detail))?;
    Ok(Encoded { kind, schema: kind.schema_version(), payload })
}

/// Appends a shape in bincode. The limit is checked afterwards: beforehand costs a pass over everything.
fn serialize<T: Serialize>(shape: &T, out: &mut Vec<u8>) -> Result<(), String> {
    let dialect = bincode::DefaultOptions::new().with_fixint_encoding().with_no_limit();
    dialect.serialize_into(&mut *out, shape).map_err(|error| error.to_string())?;
    check_size(out)
}

fn check_size(payload: &[u8]) -> Result<(), String> {
    match payload.len() {
        0..=PAYLOAD_MAX => Ok(()),
        size => Err(format!("it has {size} bytes, more than {PAYLOAD_MAX}")),
    }
}

fn from_bincode<T: Stored>(kind: EventType, payload: &[u8]) -> Result<T, DecodeError> {
    dialect(payload.len().min(PAYLOAD_MAX)).deserialize(payload).map_err(|error| malformed(kind, error))
}

fn decode_shape<T: Stored>(kind: EventType, payload: &[u8]) -> Result<Fact, DecodeError> {
    from_bincode::<T>(kind, payload)?.into_fact().map_err(|detail| malformed(kind, detail))
}

fn decode_json_shape<T: Stored>(
    kind: EventType,
    json: &str,
    payload: &mut Vec<u8>,
) -> Result<Fact, DecodeError> {
    from_json::<T>(kind, json, payload)?.into_fact().map_err(|detail| malformed(kind, detail))
}

fn encode_json_shape<T: Stored>(
    kind: EventType,
    json: &str,
    payload: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    from_json::<T>(kind, json, payload).map(drop)
}

/// Reads a shape, and puts its bincode into `payload`.
fn from_json<T: Stored>(kind: EventType, json: &str, payload: &mut Vec<u8>) -> Result<T, DecodeError> {
    let shape = match transcode::decode::<T>(json, payload) {
        Some(shape) => shape,
        None => {
            let shape: T = serde_json::from_str(json).map_err(|error| malformed(kind, error))?;
            holds_what_is_known(kind, json, &shape)?;
            payload.clear();
            serialize(&shape, payload).map_err(|detail| malformed(kind, detail))?;
            shape
        }
    };
    check_size(payload).map_err(|detail| malformed(kind, detail))?;
    Ok(shape)
}

/// Refuses a key that the shape does not have: it would be dropped, and no hash would tell.
fn holds_what_is_known<T: Stored>(kind: EventType, json: &str, shape: &T) -> Result<(), DecodeError> {
    let given: Value = serde_json::from_str(json).map_err(|error| malformed(kind, error))?;
    let known = serde_json::to_value(shape).map_err(|error| malformed(kind, error))?;
    let unknown = unknown_key(&given, &known);
    unknown.map_or(Ok(()), |key| Err(malformed(kind, format!("it has no key {key:?}"))))
}

/// Returns the first key of a value that another one of its shape does not have, with the keys above it.
fn unknown_key(given: &Value, known: &Value) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => given.iter().find_map(|(key, value)| {
            let Some(known) = known.get(key) else { return Some(key.clone()) };
            unknown_key(value, known).map(|below| format!("{key}.{below}"))
        }),
        (Value::Array(given), Value::Array(known)) => {
            given.iter().zip(known).find_map(|(given, known)| unknown_key(given, known))
        }
        _ => None,
    }
}

fn shape_to_json<T: Stored>(kind: EventType, payload: &[u8], json: &mut Vec<u8>) -> Result<(), DecodeError> {
    let shape = from_bincode::<T>(kind, payload)?;
    serde_json::to_writer(json, &shape).map_err(|error| malformed(kind, error))
}

fn malformed(kind: EventType, detail: impl ToString) -> DecodeError {
    DecodeError::Malformed { kind, detail: detail.to_string() }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use unstuck_core::event::AnswerGiven;

    use super::*;

    /// As if there had been two versions before the one of today.
    #[derive(Serialize, Deserialize)]
    struct Oldest {
        words: Vec<String>,
    }

    #[derive(Serialize, Deserialize)]
    struct Older {
        sentence: String,
    }

    impl From<Oldest> for Older {
        fn from(oldest: Oldest) -> Self {
            Self { sentence: oldest.words.join(" ") }
        }
    }

    impl From<Older> for v1::AnswerGiven {
        fn from(older: Older) -> Self {
            Self { text: older.sentence, steps: Vec::new() }
        }
    }

    upcast!(Oldest => Older, Older => v1::AnswerGiven);

    #[test]
    fn an_old_shape_is_read_through_every_version_after_it() {
        const SHAPES: &[Shape] =
            &[Shape::of::<Oldest>(), Shape::of::<Older>(), Shape::of::<v1::AnswerGiven>()];
        let answer = AnswerGiven { text: "port 8080".to_owned(), steps: Vec::new() };
        let expected: Fact = Observation::AnswerGiven(answer).into();
        let oldest = Oldest { words: vec!["port".to_owned(), "8080".to_owned()] };
        let kind = EventType::AnswerGiven;
        let mut payload = Vec::new();
        serialize(&oldest, &mut payload).unwrap();
        assert_eq!((SHAPES[0].decode)(kind, &payload).unwrap(), expected);

        let (mut json, mut again) = (Vec::new(), Vec::new());
        (SHAPES[0].to_json)(kind, &payload, &mut json).unwrap();
        assert_eq!(json, br#"{"words":["port","8080"]}"#);
        assert_eq!(
            (SHAPES[0].decode_json)(kind, str::from_utf8(&json).unwrap(), &mut again).unwrap(),
            expected
        );
        assert_eq!(again, payload, "the old shape is kept, so its hash can be checked");
    }

    #[test]
    fn a_hostile_length_is_an_error() {
        let mut payload = (1_u64 << 60).to_le_bytes().to_vec();
        payload.extend_from_slice(b"12345678");
        decode(EventType::AnswerGiven, SchemaVersion(1), &payload).unwrap_err();
        decode(EventType::AnswerGiven, SchemaVersion(0), &payload).unwrap_err();
    }
}
