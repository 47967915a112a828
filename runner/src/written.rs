//! Files that are handed over to a worker.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file for a worker, in a directory that is created if missing.
///
/// An existing file is overwritten, and only truncated if it is longer. File systems flush a file that is emptied first
/// at once, which a view that is rewritten in every iteration does not need.
pub(crate) fn write(file: &Path, text: &str) -> io::Result<()> {
    let over = || {
        let mut file = File::options().write(true).create(true).truncate(false).open(file)?;
        file.write_all(text.as_bytes())?;
        if file.metadata()?.len() > text.len() as u64 { file.set_len(text.len() as u64) } else { Ok(()) }
    };
    match (over(), file.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(folder)?;
            over()
        }
        (result, _) => result,
    }
}
