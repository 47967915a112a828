//! How the client of an agent is called, what its output says, and what it costs.
//!
//! # Map
//!
//! - [`description`]: what is known of a client: how it is started ([`launch`]) and how its output is read ([`rule`]).
//! - [`descriptions`]: the built-in ones, and those in a file, which [`keys`], `read` and `read_rule` read.
//! - [`known`]: the clients of a workspace, and a worker by its name.
//! - [`decode`]: follows a description through the output of a call; `lines`, `accumulator` and `error_kind` are its parts.
//! - [`prices`]: price files. [`reset_time`]: until when a service is limited. [`config_paths`]: where files of settings are.
//!
//! Start with `built_in/claude.yaml` and `docs/workers.md`, then `decode.rs`. Not here: starting a process.

pub mod config_paths;
pub mod decode;
pub mod description;
pub mod descriptions;
pub mod keys;
pub mod known;
pub mod launch;
pub mod prices;
pub mod reset_time;
pub mod rule;

mod accumulator;
mod built_in;
mod error_kind;
mod lines;
mod read;
mod read_rule;

pub use decode::{Decoder, LineKind};
pub use description::Description;
pub use descriptions::{all, clients, find, names, read};
pub use known::{ClientFile, Clients, described_clients, known_clients, parse_worker};
