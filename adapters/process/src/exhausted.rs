//! The last resource that the machine ran out of: disk, descriptors, processes or memory.
//!
//! Such a failure proves nothing about the work of a step. Code that records failures checks here first and stops the
//! run, so that it can be resumed. Start with [`report`].

use std::error::Error;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, PoisonError};

use unstuck_files::platform::scarcity;

static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Remembers an error if one of its causes is an exhausted resource. Returns whether that is so.
pub fn report(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    let mut causes = std::iter::from_fn(|| {
        let cause = next?;
        next = cause.source();
        Some(cause)
    });
    let is_exhausted = causes.any(|cause| cause.downcast_ref::<io::Error>().is_some_and(is_exhausted));
    if is_exhausted {
        *last() = Some(unstuck_files::error::with_causes(error));
    }
    is_exhausted
}

/// Remembers the exhausted resource of a subworkflow run.
pub fn remember(why: &str) {
    *last() = Some(why.to_owned());
}

/// Takes the last remembered reason.
pub fn take() -> Option<String> {
    last().take()
}

fn last() -> std::sync::MutexGuard<'static, Option<String>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_exhausted(error: &io::Error) -> bool {
    scarcity(error).is_some()
        || matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::OutOfMemory)
}

#[cfg(all(test, unix))]
mod tests {
    use nix::errno::Errno;

    use super::*;

    #[test]
    fn only_exhausted_resources_are_remembered_once() {
        for (errno, is_lacking) in [
            (Errno::ENOSPC, true),
            (Errno::EDQUOT, true),
            (Errno::EMFILE, true),
            (Errno::ENFILE, true),
            (Errno::EAGAIN, true),
            (Errno::ENOMEM, true),
            (Errno::ENOENT, false),
            (Errno::EACCES, false),
        ] {
            let error = io::Error::from_raw_os_error(errno as i32);
            assert_eq!(report(&error), is_lacking, "{errno}");
            let outer = unstuck_store::lease::AcquireError::Io { path: "/state".into(), source: error };
            assert_eq!(report(&outer), is_lacking, "{errno} as a cause");
            assert_eq!(take().is_some(), is_lacking, "{errno}");
            assert_eq!(take(), None);
        }
    }
}
