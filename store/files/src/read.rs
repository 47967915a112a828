//! A value that was found, is absent, or could not be read: three cases that the type keeps apart.
//!
//! A failed read is never absence. A value that is later compared, restored, deleted or trusted is read as a [`Read`], so
//! that each caller decides what an unreadable one means to it. Start with [`Read::from_io`].

use std::io;

use crate::error::with_causes;

/// The result of looking for a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Read<T> {
    /// The value exists and was read.
    Found(T),
    /// There is no such value: the system or the format says so.
    Absent,
    /// The value may exist. It could not be read, for this reason.
    Unreadable(String),
}

impl<T> Read<T> {
    /// Returns absence for a missing file or folder, and nothing but that.
    ///
    /// A path below a file has no entry either, so `NotADirectory` is absence, too.
    pub fn from_io(result: io::Result<T>) -> Self {
        match result {
            Ok(value) => Self::Found(value),
            Err(error) if is_absence(&error) => Self::Absent,
            Err(error) => Self::Unreadable(with_causes(&error)),
        }
    }

    /// Returns the value; `None` if it is absent.
    ///
    /// # Errors
    ///
    /// The reason why it could not be read.
    pub fn into_result(self) -> Result<Option<T>, String> {
        match self {
            Self::Found(value) => Ok(Some(value)),
            Self::Absent => Ok(None),
            Self::Unreadable(why) => Err(why),
        }
    }

    /// Returns the value where an unreadable one makes no difference: for hints and caches, never for what is trusted.
    pub fn ok(self) -> Option<T> {
        match self {
            Self::Found(value) => Some(value),
            Self::Absent | Self::Unreadable(_) => None,
        }
    }

    /// Changes the value that was found.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Read<U> {
        self.and_then(|value| Read::Found(change(value)))
    }

    /// Looks further in the value that was found.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Read<U>) -> Read<U> {
        match self {
            Self::Found(value) => next(value),
            Self::Absent => Read::Absent,
            Self::Unreadable(why) => Read::Unreadable(why),
        }
    }

    /// Returns the reason why the value could not be read.
    pub fn why(&self) -> Option<&str> {
        match self {
            Self::Unreadable(why) => Some(why),
            Self::Found(_) | Self::Absent => None,
        }
    }

    /// Returns whether the value certainly does not exist.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

/// Returns whether an error of the system means that nothing exists at the path.
pub fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_path_is_absent() {
        let read = |kind: io::ErrorKind| Read::<()>::from_io(Err(kind.into()));
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory] {
            assert!(read(kind).is_absent(), "{kind}");
        }
        for kind in [io::ErrorKind::PermissionDenied, io::ErrorKind::StorageFull, io::ErrorKind::Other] {
            assert!(read(kind).why().is_some(), "{kind}");
            assert!(read(kind).into_result().is_err(), "{kind}");
        }
        #[cfg(unix)]
        for errno in [nix::errno::Errno::EIO, nix::errno::Errno::EMFILE, nix::errno::Errno::ELOOP] {
            let read = Read::<()>::from_io(Err(io::Error::from_raw_os_error(errno as i32)));
            assert!(!read.is_absent() && read.why().is_some(), "{errno}");
        }
    }
}
