//! Writes a file that a person asked for: a report, a workflow, a man page.
//!
//! The file takes its place when it is complete, so a failure leaves what was there. No link is followed to it: the last
//! name is never a link, nor is a directory of the way within the workspace, since a repository may have planted one. The
//! workspace is what is below the current directory or the repository that holds the path. Another way to write such a file
//! does not exist: the tidy rule `written_files` sees to that.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use crate::private_dir::{PrivateDir, create_beside, place};
use crate::safe_dir::{self, FILE, FOLDER, LINK, SafeDir, TYPE, as_bytes};

/// Whether a file that exists is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced.
    Replace,
    /// It is kept, and that is an error of the kind [`io::ErrorKind::AlreadyExists`].
    Keep,
}

/// A file that is being written. Nothing of it is left unless it is finished.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// The directory, the name meanwhile, and the name at the end; a device or a descriptor has none.
    place: Option<(SafeDir, Vec<u8>, Vec<u8>)>,
}

impl OutputFile {
    /// Begins a file at a path that a person typed. Its directory must exist.
    ///
    /// # Errors
    ///
    /// A link or something else that is in the way, or what the system refuses.
    pub fn create(path: &Path, existing: Existing) -> io::Result<Self> {
        let path = absolute(path)?;
        if path.starts_with("/dev") || path.starts_with("/proc") {
            return Ok(Self { file: File::options().append(true).open(path)?, place: None });
        }
        let (directory, name) = split(&path)?;
        let folder = PrivateDir::in_workspace(&top_dir(&path), directory).open()?;
        Self::create_in(folder, &path, name, existing)
    }

    /// Begins a file below a directory. The directories between them are made.
    fn create_below(root: &Path, below: &Path, existing: Existing) -> io::Result<Self> {
        let path = root.join(below);
        let (directory, name) = split(&path)?;
        let folder = PrivateDir::in_workspace(root, directory).make()?;
        Self::create_in(folder, &path, name, existing)
    }

    fn create_in(folder: SafeDir, path: &Path, name: &Path, existing: Existing) -> io::Result<Self> {
        let name = as_bytes(name).into_owned();
        let permissions = old_mode(&folder, path, &name, existing)?;
        let (temporary, file) = create_beside(&folder)?;
        let output = Self { file, place: Some((folder, temporary, name)) };
        if let Some(permissions) = permissions {
            safe_dir::set_permissions(&output.file, permissions)?;
        }
        Ok(output)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    ///
    /// The error of the system. The unfinished file is removed.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some((folder, temporary, name)) = self.place.take() else { return Ok(()) };
        let owned = folder.own_like(&folder, &temporary);
        place(&folder, &temporary, &name, owned)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some((folder, temporary, _)) = self.place.take() {
            let _best_effort = folder.remove_file(&temporary);
        }
    }
}

/// Writes a file at a path that a person typed.
///
/// # Errors
///
/// As [`OutputFile::create`].
pub fn write(path: &Path, content: &[u8], existing: Existing) -> io::Result<()> {
    finish_with(OutputFile::create(path, existing)?, content)
}

/// Writes files into a directory that a person typed, and makes it if it does not exist.
///
/// # Errors
///
/// As [`write_below`].
pub fn write_into(directory: &Path, files: &[(PathBuf, Vec<u8>)], existing: Existing) -> io::Result<()> {
    let directory = absolute(directory)?;
    let root = top_dir(&directory.join("file"));
    if !root.exists() || root == directory {
        std::fs::create_dir_all(&root)?;
    }
    let below = directory.strip_prefix(&root).unwrap_or(&directory);
    let files: Vec<_> = files.iter().map(|(name, text)| (below.join(name), text.clone())).collect();
    write_below(&root, &files, existing)
}

/// Writes files below a directory, with the directories that are missing. If one of them cannot be written because of what is
/// in its way, none is.
///
/// # Errors
///
/// A link or something else that is in the way, or what the system refuses.
pub fn write_below(root: &Path, files: &[(PathBuf, Vec<u8>)], existing: Existing) -> io::Result<()> {
    for (below, _) in files {
        let path = root.join(below);
        let (directory, name) = split(&path)?;
        match PrivateDir::in_workspace(root, directory).open() {
            Ok(folder) => drop(old_mode(&folder, &path, &as_bytes(name), existing)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    files.iter().try_for_each(|(below, content)| {
        finish_with(OutputFile::create_below(root, below, existing)?, content)
    })
}

fn finish_with(mut file: OutputFile, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    file.finish()
}

/// Returns the permissions of a file that is to be replaced, `None` if nothing has the name.
fn old_mode(folder: &SafeDir, path: &Path, name: &[u8], existing: Existing) -> io::Result<Option<u32>> {
    let meta = match folder.metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        meta => meta?,
    };
    let path = path.display();
    match (meta.mode & TYPE, existing) {
        (LINK, _) => {
            let target = folder.read_link(name).unwrap_or_default();
            let target = safe_dir::as_path(&target).display().to_string();
            let why = format!(
                "{path} is a link to {target}, and Unstuck does not write through links; remove the link"
            );
            Err(io::Error::new(safe_dir::LEADS_OUT, why))
        }
        (FOLDER, _) => Err(io::Error::new(io::ErrorKind::IsADirectory, format!("{path} is a directory"))),
        (FILE, Existing::Replace) => Ok(Some(meta.mode & 0o777)),
        (FILE, Existing::Keep) => {
            Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{path} exists already")))
        }
        _ => Err(io::Error::other(format!("{path} is not a regular file"))),
    }
}

fn split(path: &Path) -> io::Result<(&Path, &Path)> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display()));
    let name = path.file_name().ok_or_else(no_name)?;
    Ok((path.parent().ok_or_else(no_name)?, Path::new(name)))
}

/// Returns a path from the root of the system, without dots.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let mut absolute = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        match component {
            Component::ParentDir => drop(absolute.pop()),
            Component::CurDir => {}
            other => absolute.push(other),
        }
    }
    Ok(absolute)
}

/// Returns the directory below which no link is followed: the workspace that a path is in, else the directory of the file.
fn top_dir(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let above = || path.ancestors().skip(1);
    let is_workspace = |directory: &&Path| **directory == *here || directory.join(".git").exists();
    let top = above().filter(is_workspace).last().or_else(|| above().next());
    top.unwrap_or(path).to_owned()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_in_the_way_is_named_and_nothing_is_written_through_it() {
        type Plant = fn(&Path, &Path);
        let cases: [(&str, Plant, &str); 5] = [
            (
                "out/a.html",
                |at, victim| symlink(victim.join("file"), at.join("out/a.html")).unwrap(),
                "out/a.html",
            ),
            (
                "out/a.html",
                |at, victim| symlink(victim.join("new"), at.join("out/a.html")).unwrap(),
                "out/a.html",
            ),
            (
                "out/a.html",
                |at, victim| {
                    fs::remove_dir(at.join("out")).unwrap();
                    symlink(victim, at.join("out")).unwrap();
                },
                "out",
            ),
            ("out/../b", |at, victim| symlink(victim.join("new"), at.join("b")).unwrap(), "b"),
            ("out", |_, _| {}, "out"),
        ];
        for (name, plant, in_the_way) in cases {
            let place = tempfile::tempdir().unwrap();
            let place = place.path().canonicalize().unwrap();
            let (at, victim) = (place.join("w"), place.join("victim"));
            for directory in [&at.join(".git"), &at.join("out"), &victim] {
                fs::create_dir_all(directory).unwrap();
            }
            fs::write(victim.join("file"), "mine").unwrap();
            plant(&at, &victim);
            let below =
                [(absolute(&at.join(name)).unwrap().strip_prefix(&at).unwrap().to_owned(), b"ours".to_vec())];
            for error in [
                write(&at.join(name), b"ours", Existing::Replace).unwrap_err(),
                write_below(&at, &below, Existing::Replace).unwrap_err(),
            ] {
                let error = error.to_string();
                assert!(error.contains(&at.join(in_the_way).display().to_string()), "{name}: {error}");
            }
            assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "mine", "{name}");
            assert_eq!(fs::read_dir(&victim).unwrap().count(), 1, "{name}");
        }
    }

    #[test]
    fn a_file_is_replaced_with_its_permissions_or_kept_and_a_failure_leaves_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let place = tempfile::tempdir().unwrap();
        let at = place.path().canonicalize().unwrap().join("file");
        write(&at, b"one", Existing::Keep).unwrap();
        assert_eq!(write(&at, b"two", Existing::Keep).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        fs::set_permissions(&at, fs::Permissions::from_mode(0o640)).unwrap();
        let mut unfinished = OutputFile::create(&at, Existing::Replace).unwrap();
        unfinished.write_all(b"half").unwrap();
        drop(unfinished);
        assert_eq!(fs::read_to_string(&at).unwrap(), "one");
        write(&at, b"two", Existing::Replace).unwrap();
        assert_eq!(fs::read_to_string(&at).unwrap(), "two");
        assert_eq!(at.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left");
        write(Path::new("/dev/null"), b"gone", Existing::Replace).unwrap();
    }
}
