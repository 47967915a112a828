//! The use cases of Unstuck, shared by every interface: the command line, a dashboard, a page.
//!
//! # Map
//!
//! - [`place`] is the folder of a command, [`project`] finds the runs that a request names; [`listing`] and [`overview`] list them, [`status`] and [`next`] give
//!   the status of each and the next command. [`point`] is a moment of a run.
//! - Before a run: [`workers`], [`origin`], [`consent`] and [`containment`] (the clients and their access), [`preflight`],
//!   [`programs`] and [`lints`] (problems of a workflow), [`branches`], [`worktrees`].
//! - [`drive`] drives a run to its end, [`resume`] makes a stopped one ready to be driven, [`notify`] sends its end.
//! - After a run: [`diff`], [`undo`], [`verify`], [`transfer`] (export and import), [`gc`].
//! - [`error`] and [`explained`]: errors with the next command. [`person`]: notes and questions meanwhile.
//!
//! Not here: arguments, words on a screen (`unstuck`), decisions (`unstuck-core`).

pub mod access;
pub mod branches;
pub mod consent;
pub mod containment;
pub mod diagnosis;
pub mod diff;
pub mod drive;
pub mod error;
pub mod explained;
pub mod gc;
pub mod guard;
pub mod known_secrets;
pub mod lints;
pub mod listing;
pub mod missing_file;
pub mod next;
pub mod notify;
pub mod origin;
pub mod output_file;
pub mod overview;
pub mod paths;
pub mod person;
pub mod place;
pub mod point;
pub mod preflight;
pub mod programs;
pub mod project;
pub mod resume;
pub mod status;
pub mod text;
pub mod transfer;
pub mod undo;
pub mod variables;
pub mod verify;
pub mod workers;
pub mod worktrees;
