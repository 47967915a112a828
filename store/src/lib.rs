//! Remembers: event stores, blobs, the log of a run.
//!
//! A run is an append-only log of events. [`RunLog`] is what a supervisor holds: it appends durably,
//! under a lease. [`ReadLog`] is what everybody else uses, also while the run is live. A [`Store`] makes both.
//!
//! ```
//! use unstuck_core::event::{AnswerGiven, Event, Observation};
//! use unstuck_core::id::{Seq, Timestamp};
//! use unstuck_store::{EventStore, Expected, RunLog};
//!
//! let log = RunLog::in_memory();
//! let answer = Observation::AnswerGiven(AnswerGiven { text: "use port 8080".to_owned(), steps: Vec::new() });
//! let event = Event { seq: Seq(1), at: Timestamp(1_700_000_000_000), fact: answer.into() };
//! let head = log.append(&[event.clone()], Expected::Exactly(Seq(0)))?;
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
//! - [`run_log`]: the log of a run, to append to and to read; [`opening`] is what opening one found, or why it failed; [`lease`] is the right to
//!   append, [`checkpoint`] a saved fold.
//! - Format: [`envelope`] (the header of a record), [`chain`] (hash chain), [`wire`] (stored types and upcasters).
//! - `events.jsonl`: [`mirror`], [`line`](mod@line), [`lines`], `cursor`; [`exchange`] writes exports.
//! - Folders: [`run_folder`] (the files of a run that are the same for every engine), [`state_dir`], [`store_url`].
//! - For engines: [`group`] (concurrent appends share a flush), [`trouble`] (blobs that could not be stored). For tests: `faulty`.
//!
//! Assumptions about the disk: data stays once `fdatasync` or `fsync` has returned, a `rename` within a directory is
//! atomic, and everything else may be lost or damaged. Damage is detected by a hash chain over all records, not by the
//! engine. Not here: durable writes (`unstuck-files`), the meaning of events (`unstuck-core`), and network access.

pub mod blobs;
pub mod chain;
pub mod checkpoint;
pub mod envelope;
pub mod event_store;
pub mod exchange;
#[cfg(feature = "testing")]
pub mod faulty;
pub mod lease;
pub mod memory;
pub mod mirror;
pub mod opening;
pub mod run_folder;
pub mod run_log;
pub mod state_dir;
pub mod store;
pub mod store_url;
pub mod wire;

mod cursor;
pub mod group;
pub mod line;
pub mod lines;
pub mod trouble;

pub use blobs::{BlobStore, BlobWriter};
pub use event_store::{AppendError, EventStore, Events, Expected, Head, ReadError, Records};
pub use lease::{Holder, Lease, Liveness};
pub use mirror::MirrorReader;
pub use opening::{Finding, OpenError, Opening};
pub use run_folder::RunFolder;
pub use run_log::{ReadLog, RunLog};
pub use state_dir::StateDir;
pub use store::{RunEntry, Store};
pub use store_url::StoreUrl;
