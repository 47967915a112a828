//! The use cases of Unstuck, shared by every interface: the command line, a dashboard, a page.
//!
//! # Map
//!
//! - [`place`] is the folder of a command, [`project`] finds the runs that a request names; [`listing`] and [`overview`] list them, [`status`] and [`next`] give
//!   the status of each and the next command. [`point`] is a moment of a run.
//! - Before a run: [`workers`], [`clients`], [`client_version`], [`login`], [`origin`], [`consent`] and [`containment`] (the clients and their access), [`preflight`],
//!   [`programs`] and [`lints`] (problems of a workflow), [`branches`], [`worktrees`].
//! - [`start`] makes a new run ready to be driven, from one of the [`workflows`] or a [`goal`]. [`drive`] drives it to
//!   its end, [`notify`] sends the end, [`resume`] makes a stopped run ready to be driven.
//! - After a run: [`report`], [`diff`], [`undo`], [`verify`], [`transfer`] (export and import), [`gc`]. [`doctor`] examines
//!   a machine and a project. [`probe`] tries one part of a run.
//! - [`error`] and [`explained`]: errors with the next command. [`person`]: notes and questions meanwhile.
//!
//! Not here: arguments, words on a screen (`unstuck`), decisions (`unstuck-core`).

pub mod access;
pub mod background;
pub mod branches;
pub mod client_version;
pub mod clients;
pub mod consent;
pub mod containment;
pub mod diagnosis;
pub mod diff;
pub mod doctor;
pub mod drive;
pub mod error;
pub mod explained;
pub mod gc;
pub mod goal;
pub mod guard;
pub mod init;
pub mod known_secrets;
pub mod lints;
pub mod listing;
pub mod login;
pub mod loop_file;
pub mod missing_file;
pub mod next;
pub mod notify;
pub mod origin;
pub mod overview;
pub mod paths;
pub mod person;
pub mod place;
pub mod point;
pub mod preflight;
pub mod probe;
pub mod programs;
pub mod project;
pub mod replay;
pub mod report;
pub mod resume;
pub mod start;
pub mod status;
pub mod stop;
pub mod text;
pub mod transfer;
pub mod undo;
pub mod variables;
pub mod verdict;
pub mod verify;
mod what_if_keys;
pub mod workers;
pub mod workflows;
pub mod worktrees;
