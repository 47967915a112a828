//! The secrets that nothing printed or written about a run may show.
//!
//! The record of a run has none, but snapshots hold files as they are, and a variable may have become a secret since.
//! So all that is printed, and each file that is written for a person, goes through here.

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

use unstuck_process::redact::Redactor;

static KNOWN: RwLock<Option<Redactor>> = RwLock::new(None);

/// Takes the secrets of a run for known from now on: the variables whose names say so, and those that the run names.
pub fn know(names: &[String]) {
    let redactor = Redactor::from_environment(std::env::vars_os(), names);
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = Some(redactor);
}

/// Returns a text without them.
pub fn redact(text: &[u8]) -> Cow<'_, [u8]> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.as_ref().map_or(Cow::Borrowed(text), |redactor| redactor.redact_bytes(text).0)
}
