//! Files that are handed over to a worker.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file for a worker, in a folder that is made where it is missing.
///
/// What is there is written over, and cut only where it is longer: file systems guard a file that is emptied first
/// by writing it out at once, which a view that is made anew with every iteration does not need.
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
