//! Runs in sled databases on this machine: the store that Unstuck uses unless another one is named.
//!
//! # Map
//!
//! - [`store`]: [`SledStore`], the contract of a [store](unstuck_store::store) and what this one can do beyond it; `index` lists the runs,
//!   `transfer` reads exports in.
//! - `open` creates, opens, rebuilds and removes the log of a run; `open_error` says why that fails.
//! - `sled_events` appends to the database and the mirror; `engine` and `flush_watchdog` keep sled behind a fence.
//! - After a crash: `reconcile` brings database and mirror together, `open_backup` puts both back if that is refused, `store_tail` reads the
//!   database without opening it, `salvage` takes the whole records of both, `run_start` finds the first event.
//!
//! Not here: the contracts, the format of a record, `events.jsonl` and leases (`unstuck-store`).

mod engine;
mod failpoint;
mod flush_watchdog;
mod index;
mod open;
mod open_backup;
mod open_error;
mod reconcile;
mod run_start;
mod salvage;
mod sled_events;
pub mod store;
mod store_tail;
mod transfer;

pub use salvage::SalvageReport;
pub use store::SledStore;
