//! Validators: what a program found out about the workspace, and what that means.
//!
//! The outcome is one of three: pass, fail, could not run. What could not be run holds no condition, and is never
//! handed to the worker as something to mend.

mod extractor;
mod success;

pub use extractor::Extractor;
pub use success::SuccessWhen;
