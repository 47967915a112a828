//! Hints for errors of the disk. The errors themselves name the file and the problem.

use std::io::{Error, ErrorKind};

use crate::platform::{ExhaustedResource, scarcity};
use crate::safe_open::UnexpectedFileType;

/// Returns what to do about `error` before the work is taken up again.
pub fn for_io(error: &Error) -> &'static str {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(UnexpectedFileType::OfFile { .. }) => return "move away what is there",
        Some(UnexpectedFileType::OfFolder { .. }) => {
            return "move away what is there, or name another folder with --store sled:PATH";
        }
        None => {}
    }
    match scarcity(error) {
        Some(ExhaustedResource::OpenFiles) => return "allow more open files (ulimit -n)",
        Some(ExhaustedResource::Processes) => return "allow more processes and threads (ulimit -u)",
        None => {}
    }
    match error.kind() {
        ErrorKind::StorageFull => "make room on the disk",
        ErrorKind::QuotaExceeded => "make room within the quota of the disk",
        ErrorKind::FileTooLarge => "allow larger files (ulimit -f)",
        ErrorKind::ReadOnlyFilesystem | ErrorKind::PermissionDenied => {
            "make the folder writable, or name another with --store sled:PATH"
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::StaleNetworkFileHandle => {
            "put back the folder that is gone, or name another with --store sled:PATH"
        }
        ErrorKind::OutOfMemory => "allow more memory (ulimit -v)",
        _ => "see whether the disk is all right (dmesg)",
    }
}

#[cfg(all(test, unix))]
mod tests {
    use nix::errno::Errno;

    use super::*;

    #[test]
    fn each_removable_cause_has_its_hint() {
        let cases = [
            (Errno::ENOSPC, "room on the disk"),
            (Errno::EDQUOT, "quota"),
            (Errno::EFBIG, "ulimit -f"),
            (Errno::EROFS, "writable"),
            (Errno::EACCES, "writable"),
            (Errno::ENOENT, "put back"),
            (Errno::EMFILE, "ulimit -n"),
            (Errno::EAGAIN, "ulimit -u"),
            (Errno::ENOMEM, "ulimit -v"),
            (Errno::EIO, "dmesg"),
        ];
        for (errno, words) in cases {
            let hint = for_io(&Error::from_raw_os_error(errno as i32));
            assert!(hint.contains(words), "{errno}: {hint}");
        }
    }
}
