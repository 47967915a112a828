//! The file that `--summary` names: what it is is found out before any worker runs, which may put a link or a pipe there.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use unstuck_files::private_dir::PrivateDir;

/// Where a summary goes.
#[derive(Debug)]
pub enum SummaryFile {
    /// A device, pipe or terminal, or what the run prints to: open since the beginning.
    Open(File),
    /// A file, in place of what has its name by then.
    Named {
        /// The folder, as it was reached at the beginning.
        folder: PrivateDir,
        /// The name of the file in it.
        name: OsString,
    },
}

impl SummaryFile {
    /// Finds out what a path names, and whether that can be written.
    pub fn find(path: &Path) -> io::Result<Self> {
        let is_open = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) => !metadata.is_file() || is_descriptor(path),
            Err(_) => is_descriptor(path),
        };
        if is_open {
            return File::options().append(true).open(path).map(Self::Open);
        }
        let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "it names no file");
        let name = path.file_name().ok_or_else(no_name)?.to_owned();
        let above = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // There is no link in that; so one that is met later was put there.
        let above = above.canonicalize()?;
        let folder = PrivateDir::in_workspace(&top_of(&above), &above);
        folder.can_be_written_to()?;
        Ok(Self::Named { folder, name })
    }

    /// Writes it.
    pub fn write(&self, summary: &[u8]) -> io::Result<()> {
        match self {
            Self::Open(file) => { file }.write_all(summary),
            Self::Named { folder, name } => folder.put(name, summary),
        }
    }
}

/// Says whether a path is one of those by which a process names what it has open.
fn is_descriptor(path: &Path) -> bool {
    path.starts_with("/dev") || path.starts_with("/proc")
}

fn top_of(path: &Path) -> PathBuf {
    path.ancestors().last().unwrap_or(path).to_owned()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mkfifo(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("mkfifo is there").success());
    }

    #[test]
    fn file_in_place_of_the_summary_is_replaced_and_never_opened() {
        type Plant = fn(&Path, &Path);
        let cases: [(&str, Plant); 5] = [
            ("nothing", |_, _| {}),
            ("a file", |at, _| fs::write(at, "old").unwrap()),
            ("a link", |at, secret| symlink(secret, at).unwrap()),
            ("a link to nothing", |at, secret| symlink(secret.with_file_name("new"), at).unwrap()),
            ("a pipe", |at, _| mkfifo(at)),
        ];
        for (name, plant) in cases {
            let place = tempfile::tempdir().unwrap();
            let (secret, at) = (place.path().join("secret"), place.path().join("summary.json"));
            fs::write(&secret, "mine").unwrap();
            let file = SummaryFile::find(&at).unwrap();
            plant(&at, &secret);
            file.write(b"ours").unwrap();
            assert_eq!(fs::read_to_string(&at).unwrap(), "ours", "{name}");
            assert_eq!(fs::read_to_string(&secret).unwrap(), "mine", "{name}");
            assert!(!at.is_symlink(), "{name}");
            assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "{name}: nothing else is left");
        }
    }

    #[test]
    fn a_device_or_a_pipe_that_a_person_names_is_written_to() {
        assert!(matches!(SummaryFile::find(Path::new("/dev/null")), Ok(SummaryFile::Open(_))));
        let place = tempfile::tempdir().unwrap();
        let at = place.path().join("pipe");
        mkfifo(&at);
        let reader = std::thread::spawn({
            let at = at.clone();
            move || fs::read_to_string(at).unwrap()
        });
        SummaryFile::find(&at).unwrap().write(b"ours").unwrap();
        assert_eq!(reader.join().unwrap(), "ours");
        assert!(SummaryFile::find(place.path()).is_err(), "a folder");
        assert!(SummaryFile::find(&place.path().join("gone/summary")).is_err());
    }
}
