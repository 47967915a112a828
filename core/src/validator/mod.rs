//! Validators: what a program found out about the workspace, and what that means.
//!
//! The outcome is one of three: pass, fail, could not run. What could not be run holds no condition, and is never
//! handed to the worker as something to mend.

pub mod checklist;
pub mod custom;
pub mod extract;
mod extractor;
pub mod params;
pub mod pattern;
pub mod report;
mod result;
mod success;

pub use extract::{Facts, Raw, Repository, extract};
pub use extractor::Extractor;
pub use report::{Report, Severity};
pub use result::{COULD_NOT_RUN, ITEMS_MAX, TEXT_MAX, Told, ValidatorResult, bounded};
pub use success::{Ended, SuccessWhen, SuccessWhenError, ValidatorOutcome, judge, regex};
