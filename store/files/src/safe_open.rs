//! Opens the files of the state folder: regular files of the user, under their own names. A link is not followed, and a pipe,
//! socket or device, which may block the process that opens it, is refused. Nothing else opens a file of that folder.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::platform;

/// No line of a log is longer; nor is more read of a file that is small.
pub const LINE_MAX: u64 = 64 << 20;

/// No file of the state folder is read into memory that is larger.
const LARGE_MAX: u64 = 1 << 30;

/// Opens a file for reading.
///
/// # Errors
///
/// Returns the error of the system, or [`UnexpectedFileType`] if it is not a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a file as `options` say.
///
/// # Errors
///
/// Returns the error of the system, or [`UnexpectedFileType`] if it is not a regular file.
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let opened = platform::without_waiting(options).open(path).and_then(|file| Ok((file.metadata()?, file)));
    match opened {
        Ok((seen, file)) if seen.is_file() && platform::is_own(&seen) => Ok(file),
        Ok((seen, _)) => Err(not_a_file(&seen)),
        Err(error) => match fs::symlink_metadata(path) {
            Ok(seen) if !seen.is_file() => Err(not_a_file(&seen)),
            _ => Err(error),
        },
    }
}

/// Creates a file for writing, or empties an existing one.
///
/// # Errors
///
/// The error of the system, or the kind of the entry at this place.
pub fn create(path: &Path) -> io::Result<File> {
    let file = open_with(OpenOptions::new().read(true).write(true).create(true).truncate(false), path)?;
    file.set_len(0).map(|()| file)
}

/// Reads a file that may be large, up to a gigabyte.
///
/// # Errors
///
/// The error of the system, or the kind of the entry at this place.
pub fn read_large(path: &Path) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    // Such a file may be sparse, so its size is looked at before it is read.
    match file.metadata()?.len() {
        0..=LARGE_MAX => read_up_to(LARGE_MAX, file),
        _ => Err(too_large("the file", LARGE_MAX)),
    }
}

/// Reads a file from where it stands.
fn read_up_to(most: u64, file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(too_large("the file", most)) } else { Ok(bytes) }
}

/// Reads a small file of text.
///
/// # Errors
///
/// As [`read`], or that it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Reads a small file.
///
/// # Errors
///
/// Returns the error of the system, or one for a path that is not a regular file, or is too large.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    rest_of(open(path)?, 0)
}

/// Reads what follows so many bytes of a file. An error if that is too large.
pub fn rest_of(mut file: File, after: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(after))?;
    read_up_to(LINE_MAX, file)
}

/// Reads the first line of a file, with its line feed if it has one.
///
/// # Errors
///
/// Returns the error of the system, or one for a path that is not a regular file, or a line that is too long.
pub fn first_line(path: &Path) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    BufReader::new(open(path)?).take(LINE_MAX + 1).read_until(b'\n', &mut line)?;
    if line.len() as u64 > LINE_MAX { Err(too_long("its first line")) } else { Ok(line) }
}

/// Returns the error for what is larger than it may be.
pub fn too_long(what: &str) -> io::Error {
    too_large(what, LINE_MAX)
}

fn too_large(what: &str, most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{what} is longer than {} MiB", most >> 20))
}

/// Makes sure that nothing but a folder, or a link to one, is where a folder must be; it may be missing.
///
/// # Errors
///
/// Returns the error of the system, or [`UnexpectedFileType`] if it is not a directory.
pub fn check_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(seen) if !path.is_dir() => {
            Err(io::Error::other(UnexpectedFileType::OfFolder { path: path.to_owned(), is: kind(&seen) }))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn not_a_file(seen: &Metadata) -> io::Error {
    io::Error::other(UnexpectedFileType::OfFile { is: kind(seen) })
}

fn kind(seen: &Metadata) -> &'static str {
    match seen.file_type() {
        file if file.is_symlink() => "a link",
        file if file.is_dir() => "a folder",
        file if file.is_file() && !platform::is_own(seen) => "a file of another user",
        file if file.is_file() => "a file",
        _ => "a pipe, socket or device",
    }
}

/// Type of a file in place of the expected file or directory.
#[derive(Debug, thiserror::Error)]
pub enum UnexpectedFileType {
    /// In place of a file.
    #[error("{is} is where a file of Unstuck must be: move it away")]
    OfFile {
        /// The kind of thing in its place.
        is: &'static str,
    },
    /// It may lie above the folder that was asked for.
    #[error("{} is {is}, and has to be a folder of Unstuck: move it away", path.display())]
    OfFolder {
        /// Where it is.
        path: PathBuf,
        /// The kind of thing in its place.
        is: &'static str,
    },
}

/// An error of one of several files.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

impl FileError {
    /// Returns the error of this file, or of a folder.
    pub fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self { path: path.to_owned(), source }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_are_opened_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "one\ntwo").unwrap();
        fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("file", at("link")).unwrap();
        std::os::unix::fs::symlink("gone", at("dangling")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let huge = File::create(at("huge")).unwrap();
        huge.set_len(10 << 30).unwrap();
        assert_eq!(read(&at("file")).unwrap(), b"one\ntwo");
        assert_eq!(first_line(&at("file")).unwrap(), b"one\n");
        assert_eq!(open(&at("absent")).unwrap_err().kind(), io::ErrorKind::NotFound);
        for (name, what) in [
            ("folder", "a folder is where"),
            ("link", "a link is where"),
            ("dangling", "a link is where"),
            ("pipe", "a pipe, socket or device is where"),
        ] {
            let written = || open_with(OpenOptions::new().append(true).create(true), &at(name));
            for refused in [open(&at(name)), written()] {
                let message = refused.unwrap_err().to_string();
                assert!(message.starts_with(what), "{name}: {message}");
            }
        }
        assert_eq!(read(&at("huge")).unwrap_err().to_string(), "the file is longer than 64 MiB");
        assert_eq!(read_large(&at("huge")).unwrap_err().to_string(), "the file is longer than 1024 MiB");
        assert_eq!(first_line(&at("huge")).unwrap_err().to_string(), "its first line is longer than 64 MiB");
    }
}
