//! Files that survive a loss of power, and folders in which another process may replace anything at any time.
//!
//! # Map
//!
//! - [`read`]: a value is found, absent or unreadable, and the type keeps the three apart.
//! - State files: [`durable`] (`fsync`, rename), [`safe_open`] (opens regular files only), [`hint`] (what to do about an error).
//! - Files in a workspace: [`safe_dir`] (reaches files from an open folder and follows no links), [`private_dir`] (a folder of
//!   Unstuck there), [`output_file`] (a file that a person asked for), [`own_stdout`] (files that this process prints into),
//!   [`blocking_fifo`] (files that would make a reader wait).
//! - [`error`]: an error with its causes.
//! - [`platform`]: what operating systems do differently.
//!
//! Start with `read.rs`, then `safe_dir/mod.rs`. Not here: what is in the files.

pub mod blocking_fifo;
pub mod durable;
pub mod error;
pub mod hint;
pub mod output_file;
pub mod own_stdout;
pub mod platform;
pub mod private_dir;
pub mod read;
pub mod safe_dir;
pub mod safe_open;

pub use read::Read;
