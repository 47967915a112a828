//! Runs in sled databases on this machine: the store that Unstuck uses unless another one is named.
//!
//! # Map
//!
//! - [`store`]: [`SledStore`], the contract of a [store](unstuck_store::store) and what this one can do beyond it; `index` lists the runs,
//!   `exchange` reads exports in.
//! - `open` creates, opens, rebuilds and removes the log of a run; `open_error` says why that fails.
//! - `sled_events` appends to the database and the mirror; `engine` and `waker` keep sled behind a fence.
//! - After a crash: `reconcile` brings database and mirror together, `before` puts both back if that is refused, `unmirrored` reads the
//!   database without opening it, `merged` takes the whole records of both, `beginning` finds the first event.
//!
//! Not here: the contracts, the format of a record, `events.jsonl` and leases (`unstuck-store`).

mod before;
mod beginning;
mod engine;
mod exchange;
mod failpoint;
mod index;
mod merged;
mod open;
mod open_error;
mod reconcile;
mod sled_events;
pub mod store;
mod unmirrored;
mod waker;

pub use merged::Merged;
pub use store::SledStore;
