//! Files that survive a loss of power, and folders in which another process may replace anything at any time.
//!
//! # Map
//!
//! - [`read`]: a value is found, absent or unreadable, and the type keeps the three apart.
//! - State files: [`durable`] (`fsync`, rename), [`regular`] (opens regular files only), [`hint`] (what to do about an error).
//! - Files in a workspace: [`folder`] (reaches files from an open folder and follows no links), [`own_folder`] (a folder of
//!   Unstuck there), [`output_file`] (a file that a person asked for), [`own_output`] (files that this process prints into),
//!   [`awaited`] (files that would make a reader wait).
//! - [`error`]: an error with its causes.
//! - [`system`]: what operating systems do differently.
//!
//! Start with `read.rs`, then `folder/mod.rs`. Not here: what is in the files.

pub mod awaited;
pub mod durable;
pub mod error;
pub mod folder;
pub mod hint;
pub mod output_file;
pub mod own_folder;
pub mod own_output;
pub mod read;
pub mod regular;
pub mod system;

pub use read::Read;
