//! Interface of every backend: durable, ordered, tamper-evident appends, and reading them back.
//!
//! A store holds the stream of one run. The lease decides who may write. The core defines the meaning of events.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::event::Event;
use unstuck_core::id::{Blob, Epoch, Seq};

pub use crate::record::Head;
use unstuck_files::hint;

use crate::record::Record;
use crate::wire::EncodeError;

/// Events in order. After an error it ends.
pub type Events<'a> = Box<dyn Iterator<Item = Result<Event, ReadError>> + Send + 'a>;
/// Records in order, hash and place checked. After an error it ends.
pub type Records<'a> = Box<dyn Iterator<Item = Result<Record, ReadError>> + Send + 'a>;

/// The stream of one run.
pub trait EventStore: Send + Sync {
    /// Appends `batch` as a whole or not at all, and returns when it is durable.
    ///
    /// Events carry their own sequence number and time; with [`ExpectedVersion::Exactly`] the numbers must
    /// continue the stream. An empty batch changes nothing. After [`AppendError::NotDurable`] and
    /// [`AppendError::Poisoned`] it is unknown what was stored: reopen and look.
    fn append(&self, batch: &[Event], expected: ExpectedVersion) -> Result<Head, AppendError>;

    /// Returns the durable events from `from` on, as of now.
    fn read(&self, from: Seq) -> Result<Events<'_>, ReadError>;

    /// Returns the durable records from `from` on, as of now.
    fn records(&self, from: Seq) -> Result<Records<'_>, ReadError>;

    /// Returns the end of the durable stream.
    fn head(&self) -> Head;
}

/// Position that the writer expects at the end of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// The last event has this number: 0 for an empty stream. The way of a supervisor.
    Exactly(Seq),
    /// Any position: the events are renumbered. For tools and measurements with several producers.
    Any,
}

/// Why events were not appended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AppendError {
    #[error("the run is at event {actual}, not {expected}: another supervisor wrote to it")]
    VersionConflict { expected: Seq, actual: Seq },
    #[error("the batch holds event {found} where event {due} is due")]
    OutOfOrder { due: Seq, found: Seq },
    #[error("cannot encode event {seq}")]
    NotEncodable {
        seq: Seq,
        #[source]
        source: EncodeError,
    },
    #[error("the lease of this supervisor (epoch {ours}) was taken over by another (epoch {theirs})")]
    Fenced { ours: Epoch, theirs: Epoch },
    #[error("the lease file {} is gone, and with it the right to write", path.display())]
    LeaseGone { path: PathBuf },
    #[error("cannot read the lease file {}, so it is not known who may write", path.display())]
    LeaseUnreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot make {what} durable")]
    NotDurable {
        what: String,
        #[source]
        source: io::Error,
    },
    #[error("the store engine failed: {detail}")]
    EngineFailed { detail: String },
    #[error("an earlier append failed, so nothing more is written: {why}")]
    Poisoned { why: String },
}

impl AppendError {
    /// The same, with the place of what could not be made durable.
    pub fn within(self, folder: &Path) -> Self {
        match self {
            Self::NotDurable { what, source } => {
                Self::NotDurable { what: format!("{what} in {}", folder.display()), source }
            }
            other => other,
        }
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::VersionConflict { .. } | Self::Fenced { .. } => {
                "see who works on it: unstuck runs".to_owned()
            }
            Self::LeaseGone { .. } => {
                "put the folder of the run back if it was removed; see who works on it: unstuck runs"
                    .to_owned()
            }
            Self::NotDurable { source, .. } | Self::LeaseUnreadable { source, .. } => {
                format!("{}, then: unstuck resume @last", hint::for_io(source))
            }
            Self::EngineFailed { .. } | Self::Poisoned { .. } => {
                "nothing is lost that was recorded before; go on with: unstuck resume @last".to_owned()
            }
            Self::OutOfOrder { .. } | Self::NotEncodable { .. } => return None,
        };
        Some(hint)
    }
}

/// Why events cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ReadError {
    #[error("event {at} is damaged: {detail}")]
    Corrupt { at: Seq, detail: String },
    #[error("event {at} cannot be read by this version: {detail}")]
    Newer { at: Seq, detail: String },
    #[error("events.jsonl lacks {} at least", span(after.next(), *known))]
    Behind { after: Seq, known: Seq },
    #[error("event {at} is damaged: its payload, blob {}, cannot be read", blob.digest)]
    BlobMissing {
        at: Seq,
        blob: Blob,
        #[source]
        source: io::Error,
    },
    #[error("{} cannot be read: {detail}", at.map_or_else(|| "the store".to_owned(), |at| format!("event {at}")))]
    EngineFailed { at: Option<Seq>, detail: String },
    #[error("cannot read {what}")]
    Io {
        what: String,
        #[source]
        source: io::Error,
    },
}

/// Names the events from `first` to `last`.
pub fn span(first: Seq, last: Seq) -> String {
    if first == last { format!("event {first}") } else { format!("events {first} to {last}") }
}

impl ReadError {
    /// Returns the error for a file that cannot be read.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what: path.display().to_string(), source }
    }

    /// Returns the event at which reading stopped.
    pub fn at(&self) -> Option<Seq> {
        match self {
            Self::Corrupt { at, .. } | Self::Newer { at, .. } | Self::BlobMissing { at, .. } => Some(*at),
            Self::Behind { after, .. } => Some(after.next()),
            Self::EngineFailed { at, .. } => *at,
            Self::Io { .. } => None,
        }
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Io { source, .. } => return Some(format!("{}, then try again", hint::for_io(source))),
            Self::Corrupt { .. } | Self::BlobMissing { .. } | Self::EngineFailed { .. } => {
                "unstuck verify @last (mends what the store still has), else keep what is good: unstuck export @last --salvage"
            }
            Self::Behind { .. } => "unstuck verify @last (adds to it what the store has)",
            Self::Newer { .. } => "upgrade unstuck to read it",
        };
        Some(hint.to_owned())
    }
}
