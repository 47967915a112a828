//! The use cases of Unstuck, shared by every interface: the command line, a dashboard, a page.
//!
//! # Map
//!
//! - [`project_location`] is the directory of a command, [`stores`] opens the store that it names, [`project`] finds the runs that a request names. [`listing`] and
//!   [`overview`] list them, [`status`] and [`next`] give the status of each and the next command. [`run_revision`] is a point in
//!   a run.
//! - Before a run: [`workers`], [`clients`], [`client_version`], [`login_status`], [`client_source`], [`trust`] and [`sandbox`]
//!   (the clients and their access), [`preflight`], [`missing_programs`] and [`lints`] (problems of a workflow), [`branches`],
//!   [`worktrees`].
//! - [`start`] makes a new run ready to be driven, from one of the [`workflows`] or a [`goal`]. [`drive`] drives it to
//!   its end, [`notify`] sends the end, [`resume`] makes a stopped run ready to be driven, and
//!   [`fork`] makes one that shares the events of another.
//! - After a run: [`report`], [`diff`], [`undo`], [`verify`], [`transfer`] (export and import), [`regression_test`],
//!   [`replay`], [`why`], [`gc`]. [`doctor`] examines
//!   a machine and a project. [`probe`] tries one part of a run.
//! - [`error`] and [`launch_errors`]: errors with the next command. [`person`]: notes and questions meanwhile.
//!
//! Not here: arguments, words on a screen (`unstuck`), decisions (`unstuck-core`).

pub mod access;
pub mod background;
pub mod branches;
pub mod client_source;
pub mod client_version;
pub mod clients;
pub mod config;
pub mod diagnosis;
pub mod diff;
pub mod dismissed;
pub mod doctor;
pub mod drive;
pub mod dry_run;
pub mod env_vars;
pub mod error;
pub mod file_suggestions;
pub mod fork;
pub mod gc;
pub mod goal;
pub mod goal_text;
pub mod guard;
pub mod init;
pub mod known_secrets;
pub mod launch_errors;
pub mod lints;
pub mod listing;
pub mod login_status;
pub mod logs;
pub mod loop_file;
pub mod missing_programs;
pub mod next;
pub mod notify;
pub mod overview;
pub mod paths;
pub mod person;
pub mod preflight;
pub mod probe;
pub mod project;
pub mod project_location;
pub mod regression_test;
pub mod replay;
pub mod report;
pub mod resume;
pub mod run_handle;
pub mod run_revision;
pub mod sandbox;
pub mod start;
pub mod status;
pub mod stop;
pub mod stores;
pub mod text;
pub mod transfer;
pub mod trust;
pub mod undo;
pub mod verdict;
pub mod verify;
mod what_if_keys;
pub mod why;
pub mod workers;
pub mod workflows;
pub mod worktrees;

pub use unstuck_document::nearest;
