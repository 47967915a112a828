//! Remembers: event stores, blobs, the log of a run.
//!
//! A run is an append-only log of events. [`RunLog`] is what a supervisor holds: it appends durably,
//! under a lease. [`ReadLog`] is what everybody else uses, also while the run is live. A [`Store`] makes both.
//!
//! ```
//! use unstuck_core::event::{AnswerGiven, Event, Observation};
//! use unstuck_core::id::{Seq, Timestamp};
//! use unstuck_store::{EventStore, ExpectedVersion, RunLog};
//!
//! let log = RunLog::in_memory();
//! let answer = Observation::AnswerGiven(AnswerGiven { text: "use port 8080".to_owned(), steps: Vec::new() });
//! let event = Event { seq: Seq(1), at: Timestamp(1_700_000_000_000), fact: answer.into() };
//! let head = log.append(&[event.clone()], ExpectedVersion::Exactly(Seq(0)))?;
//! assert_eq!(head.seq, Seq(1));
//! let events: Result<Vec<_>, _> = log.read(Seq(1))?.collect();
//! assert_eq!(events?, [event]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//!
//! - Contracts: [`store`] (a place of runs), [`event_store`] (the stream of one run) and [`blobs`]. [`memory`] is a stream that is gone with
//!   the process; `unstuck-store-sled` keeps runs on the disk.
//! - [`run_log`]: the log of a run, to append to and to read; [`recovery`] is what opening one found, or why it failed; [`lease`] is the right to
//!   append, [`checkpoint`] a saved fold.
//! - Format: [`record`] (the header of a record), [`chain`] (hash chain), [`wire`] (stored types and upcasters).
//! - `events.jsonl`: [`mirror`], [`json_line`](mod@json_line), [`line_reader`], `text_cursor`; [`transfer`] writes exports.
//! - Folders: [`run_dir`] (the files of a run that are the same for every engine), [`state_dir`], [`store_url`].
//! - For engines: [`group_commit`] (concurrent appends share a flush), [`blob_errors`] (blobs that could not be stored). For tests of engines: `testing` (the conformance suite) and
//!   `fault_injection`.
//!
//! Assumptions about the disk: data stays once `fdatasync` or `fsync` has returned, a `rename` within a directory is
//! atomic, and everything else may be lost or damaged. Damage is detected by a hash chain over all records, not by the
//! engine. Not here: durable writes (`unstuck-files`), the meaning of events (`unstuck-core`), and network access.

pub mod blobs;
pub mod chain;
pub mod checkpoint;
pub mod engine;
pub mod event_store;
#[cfg(feature = "testing")]
pub mod fault_injection;
pub mod lease;
pub mod memory;
pub mod mirror;
pub mod record;
pub mod record_table;
pub mod recovery;
pub mod run_dir;
mod run_index;
pub mod run_log;
pub mod run_start;
pub mod runs;
pub mod state_dir;
pub mod store;
pub mod store_url;
#[cfg(feature = "testing")]
pub mod testing;
pub mod transfer;
pub mod wire;

pub mod blob_errors;
pub mod group_commit;
pub mod json_line;
pub mod line_reader;
mod text_cursor;

pub use blobs::{BlobStore, BlobWriter};
pub use engine::{Engine, Repairer};
pub use event_store::{AppendError, EventStore, Events, ExpectedVersion, Head, ReadError, Records};
pub use lease::{Holder, Lease, Liveness};
pub use mirror::MirrorReader;
pub use record_table::{RecordTable, TableStream};
pub use recovery::{OpenError, RecoveryReport, Repair};
pub use run_dir::RunDir;
pub use run_log::{ReadLog, RunLog};
pub use runs::Runs;
pub use state_dir::StateDir;
pub use store::{RunEntry, Store};
pub use store_url::StoreUrl;
