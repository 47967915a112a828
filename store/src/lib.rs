//! Remembers: event stores, blobs, the log of a run.
//!
//! A run is an append-only log of events. [`RunLog`] is what a supervisor holds: it appends durably,
//! under a lease, and mends or reports what an earlier crash left. [`ReadLog`] is what everybody else
//! uses, also while the run is live. Where runs lie and how a person names them is in [`state_dir`].
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
//! - Contracts: [`event_store`] and [`blobs`]. Backends: `sled_store` with `group` (group commit), `engine` and `waker` (sled
//!   behind a fence), and [`memory`].
//! - Format: [`envelope`] (the header of a record), [`chain`] (hash chain), [`wire`] (stored types and upcasters).
//! - `events.jsonl`: [`mirror`], `line`, `lines`, `cursor`.
//! - A run on disk: [`run_log`] ties the parts together, [`opening`] repairs what a crash left (`beginning`, `before`,
//!   `unmirrored`, `merged`, `trouble`), [`lease`] gives the right to append, [`checkpoint`] saves a fold.
//! - Folders: [`run_folder`], [`state_dir`], [`store_url`]. Export and import: [`exchange`].
//! - For tests: `failpoint`, `faulty`.
//!
//! What is assumed of the disk: what `fdatasync` and `fsync` have returned for stays, a `rename` within a
//! folder is atomic, and anything else may be lost or damaged. Damage is noticed by a hash chain over all
//! records, not by the engine. Not here: durable writes (`unstuck-files`), what events mean (`unstuck-core`), and anything that asks a
//! network.

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
pub mod store_url;
pub mod wire;

mod before;
mod beginning;
mod cursor;
mod engine;
mod failpoint;
mod group;
mod line;
mod lines;
mod merged;
mod sled_store;
mod trouble;
mod unmirrored;
mod waker;

pub use blobs::{BlobStore, BlobWriter};
pub use event_store::{AppendError, EventStore, Events, Expected, Head, ReadError, Records};
pub use lease::{Holder, Lease, Liveness};
pub use merged::Merged;
pub use mirror::MirrorReader;
pub use opening::{Finding, OpenError, Opening};
pub use run_folder::RunFolder;
pub use run_log::{ReadLog, RunLog};
pub use state_dir::{Project, RunEntry};
pub use store_url::StoreUrl;
