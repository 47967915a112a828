//! How the client of an agent is called, what its output says, and what it costs.
//!
//! # Map
//!
//! - [`description`]: the built-in descriptions of clients, and those of a file, which [`keys`], `read` and `rule` read.
//! - [`known`]: the clients of a workspace, and a worker by its name.
//! - [`decode`]: follows a description through the output of a call; `lines`, `fold` and `trouble` are its parts.
//! - [`prices`]: price files. [`reset_time`]: until when a service is limited. [`settings`]: where files of settings are.
//!
//! Start with `built_in/claude.yaml` and `docs/workers.md`, then `decode.rs`. Not here: starting a process.

pub mod decode;
pub mod description;
pub mod keys;
pub mod known;
pub mod prices;
pub mod reset_time;
pub mod settings;

mod fold;
mod lines;
mod read;
mod rule;
mod trouble;

pub use decode::{Decoder, Seen};
pub use description::{all, clients, find, names, read};
pub use known::{Clients, Described, described_clients, known_clients, named};
