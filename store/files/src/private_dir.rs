//! Directory of Unstuck in the workspace, where any process may put a link, a pipe or a file in place of anything, at
//! any time.
//!
//! Each access walks there from the workspace, one directory at a time. A file is written under an unused name that
//! cannot be guessed, and then takes its place in one step. So nothing at its place is opened, followed or waited for.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::safe_dir::{self, FILE, FOLDER, LINK, SafeDir, TYPE};

/// Location of a directory of Unstuck, which may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivateDir {
    /// Start of the path on which no link is followed.
    root: PathBuf,
    /// Rest of the path.
    below: PathBuf,
    /// Whether the start belongs to Unstuck too, and is created if missing. A workspace does not.
    is_all_ours: bool,
}

impl PrivateDir {
    /// Returns `folder`, which is reached from the workspace if it is inside it.
    pub fn in_workspace(workspace: &Path, folder: &Path) -> Self {
        match folder.strip_prefix(workspace) {
            Ok(below) if below != Path::new("") => {
                Self { root: workspace.to_owned(), below: below.to_owned(), is_all_ours: false }
            }
            _ => Self::at(folder),
        }
    }

    /// Returns a directory that belongs to Unstuck wherever it is, and may be reached through links.
    pub fn at(folder: &Path) -> Self {
        Self { root: folder.to_owned(), below: PathBuf::new(), is_all_ours: true }
    }

    /// Returns a folder in this one.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        Self { below: self.below.join(name), ..self.clone() }
    }

    /// Returns its path.
    pub fn path(&self) -> PathBuf {
        // Without a slash at its end.
        self.root.join(&self.below).components().collect()
    }

    /// Puts a file in place in one step, so that a reader never sees half of it. Creates missing directories.
    ///
    /// # Errors
    ///
    /// Returns an error that names what is in the way, or the error of the system.
    pub fn put(&self, name: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
        self.put_with(put, name.as_ref(), content)
    }

    /// Puts a view in place. Views are written again whenever a run is resumed, and need not survive a power loss.
    pub fn put_view(&self, name: &str, content: &[u8]) -> io::Result<()> {
        self.put_with(put_view, name.as_ref(), content)
    }

    fn put_with(
        &self,
        put: fn(&SafeDir, &[u8], &[u8]) -> io::Result<()>,
        name: &Path,
        content: &[u8],
    ) -> io::Result<()> {
        // An existing directory can be opened without the right to list its parents.
        let folder = match self.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make()?,
            opened => opened?,
        };
        let put = put(&folder, &safe_dir::as_bytes(name), content);
        put.map_err(|error| at(&self.path().join(name), error))
    }

    /// Checks whether a file can be put there. Leaves nothing behind.
    ///
    /// # Errors
    ///
    /// Returns an error that names what is in the way, or the error of the system.
    pub fn can_be_written_to(&self) -> io::Result<()> {
        let folder = self.open()?;
        let made = create_beside(&folder).map_err(|error| at(&self.path(), error))?;
        folder.remove_file(&made.0)
    }

    /// Opens it, and makes what is missing of it.
    pub fn make(&self) -> io::Result<SafeDir> {
        if self.is_all_ours {
            fs::create_dir_all(&self.root).map_err(|error| at(&self.root, error))?;
        }
        self.reach(|root, below| root.make_below(below))
    }

    /// Opens it. What is missing is an error of that kind.
    pub fn open(&self) -> io::Result<SafeDir> {
        self.reach(|root, below| root.open_below(below))
    }

    /// Checks that nothing but directories is in the way. Creates nothing.
    ///
    /// # Errors
    ///
    /// Returns an error that names the file in the way.
    pub fn check_way(&self) -> io::Result<()> {
        match self.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            opened => opened.map(drop),
        }
    }

    fn reach(&self, go: impl FnOnce(&SafeDir, &[u8]) -> io::Result<SafeDir>) -> io::Result<SafeDir> {
        let root = self.root.canonicalize().and_then(|root| SafeDir::root(&root));
        let root = root.map_err(|error| at(&self.root, error))?;
        go(&root, &safe_dir::as_bytes(&self.below)).map_err(|error| self.blocking_entry(&root, error))
    }

    /// Finds what made the way end.
    fn blocking_entry(&self, root: &SafeDir, error: io::Error) -> io::Error {
        let (mut folder, mut path) = (root.try_clone(), self.root.clone());
        for name in self.below.components() {
            let name = safe_dir::as_bytes(name.as_os_str().as_ref()).into_owned();
            path.push(&*safe_dir::as_path(&name));
            let Ok(here) = folder else { break };
            let what = match here.metadata(&name).map(|meta| meta.mode & TYPE) {
                Ok(FOLDER) => {
                    folder = here.open(&name);
                    continue;
                }
                Ok(LINK) => "is a link, and nothing is read or written through one",
                Ok(_) => "is no folder, and one of Unstuck must be there",
                Err(_) => break,
            };
            let why = format!("{} {what}; remove it first", path.display());
            return io::Error::new(error.kind(), why);
        }
        at(&self.path(), error)
    }
}

fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Puts a file in its place in an open folder. Whatever else has that name, but for a folder, is replaced.
pub fn put(folder: &SafeDir, name: &[u8], content: &[u8]) -> io::Result<()> {
    let (temporary, written) = write_beside(folder, content)?;
    place(folder, &temporary, name, written)
}

/// Puts a view in place. After a power loss, the next supervisor writes it again. On some systems, replacing a file
/// waits for the disk; exchanging two files does not.
fn put_view(folder: &SafeDir, name: &[u8], content: &[u8]) -> io::Result<()> {
    let (temporary, written) = write_beside(folder, content)?;
    let is = |name: &[u8], kind: u32| folder.metadata(name).is_ok_and(|meta| meta.is(kind));
    if written.is_ok() && is(name, FILE) && folder.exchange(&temporary, name).is_ok() {
        let removed = folder.remove_file(&temporary);
        if removed.is_ok() || !is(&temporary, FOLDER) {
            return Ok(());
        }
        // A folder had come there in the meantime.
        folder.exchange(&temporary, name)?;
    }
    place(folder, &temporary, name, written)
}

fn write_beside(folder: &SafeDir, content: &[u8]) -> io::Result<(Vec<u8>, io::Result<()>)> {
    let (temporary, mut file) = create_beside(folder)?;
    let written = file.write_all(content).and_then(|()| folder.own_like(folder, &temporary));
    Ok((temporary, written))
}

/// Gives what was made under another name its own, if it was made; else nothing of it is left.
pub fn place(folder: &SafeDir, made: &[u8], name: &[u8], result: io::Result<()>) -> io::Result<()> {
    let placed = result.and_then(|()| folder.rename(made, name));
    if placed.is_err() {
        let _best_effort = folder.remove_file(made);
    }
    placed
}

/// Removes something with all that is in it. No link is followed.
pub fn remove(folder: &SafeDir, name: &[u8]) -> io::Result<()> {
    remove_unless(folder, name, &|| false, 0)
}

/// Removes something with its contents, until it is stopped. No link is followed.
pub fn remove_unless(
    folder: &SafeDir,
    name: &[u8],
    is_stopped: &dyn Fn() -> bool,
    depth: usize,
) -> io::Result<()> {
    /// Folders that are open at the same time have a bound, and a worker may have put more of them there than we have made.
    const DEPTH_MAX: usize = 200;
    match folder.metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(meta) if meta.is(FOLDER) => {}
        meta => return meta.and_then(|_| folder.remove_file(name)),
    }
    if is_stopped() {
        return Err(io::ErrorKind::Interrupted.into());
    }
    if depth > DEPTH_MAX {
        return Err(io::Error::other("there are too many folders in each other"));
    }
    let here = folder.open(name)?;
    // The write permission may have been removed.
    let _of_somebody_else = here.set_permissions(0o700);
    here.names()?.iter().try_for_each(|name| remove_unless(&here, name, is_stopped, depth + 1))?;
    folder.remove_folder(name)
}

/// Creates a file under a name that nothing has.
pub fn create_beside(folder: &SafeDir) -> io::Result<(Vec<u8>, File)> {
    make_beside(|name| folder.create_for_all(name))
}

/// Creates something under an unused name that cannot be guessed.
pub fn make_beside<T>(mut make: impl FnMut(&[u8]) -> io::Result<T>) -> io::Result<(Vec<u8>, T)> {
    const TRIES: u32 = 100;
    let mut tried = 0;
    loop {
        let name = format!("{PREFIX}{:016x}{SUFFIX}", RandomState::new().build_hasher().finish());
        match make(name.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tried < TRIES => tried += 1,
            made => return Ok((name.into_bytes(), made?)),
        }
    }
}

const PREFIX: &str = ".unstuck-";
const SUFFIX: &str = ".tmp";

/// Returns whether a name is the temporary name of an unfinished file.
pub fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Puts `w/ctx/s/f.json` after a script has run in `w`, and returns what came of it: the file, or the complaint. A view is
    /// put in the same way.
    fn put_after(script: &str) -> (Result<String, String>, String) {
        let put = put_by(script, |folder, content| folder.put("f.json", content));
        assert_eq!(put_by(script, |folder, content| folder.put_view("f.json", content)), put, "{script}");
        put
    }

    fn put_by(
        script: &str,
        put: fn(&PrivateDir, &[u8]) -> io::Result<()>,
    ) -> (Result<String, String>, String) {
        let place = tempfile::tempdir().expect("the folder is ours");
        let workspace = place.path().join("w");
        fs::create_dir(&workspace).expect("the folder is ours");
        fs::write(place.path().join("secret"), "mine").expect("the folder is ours");
        let sh = std::process::Command::new("sh").args(["-ec", script]).current_dir(&workspace).status();
        assert!(sh.expect("the folder is ours").success(), "{script}");
        let folder = PrivateDir::in_workspace(&workspace, &workspace.join("ctx/s"));
        let put = put(&folder, b"ours").map_err(|error| error.to_string());
        let result = put.map_err(|why| why.replace(&format!("{}/", workspace.display()), ""));
        let file = workspace.join("ctx/s/f.json");
        let secret = fs::read_to_string(place.path().join("secret")).expect("the folder is ours");
        (result.map(|()| fs::read_to_string(&file).expect("the folder is ours")), secret)
    }

    #[test]
    fn anything_in_place_of_a_file_is_replaced_and_never_opened() {
        for script in [
            ":",
            "mkdir -p ctx/s; echo old >ctx/s/f.json",
            "mkdir -p ctx/s; ln -s ../../../secret ctx/s/f.json",
            "mkdir -p ctx/s; ln -s ../../../secret ctx/s/f.json.new",
            "mkdir -p ctx/s; mkfifo ctx/s/f.json ctx/s/f.json.new",
            "mkdir -p ctx/s; ln -s nothing ctx/s/f.json",
        ] {
            assert_eq!(put_after(script), (Ok("ours".to_owned()), "mine".to_owned()), "{script}");
        }
    }

    #[test]
    fn file_in_the_way_is_named() {
        const LINK: &str = "is a link, and nothing is read or written through one";
        const OTHER: &str = "is no folder, and one of Unstuck must be there";
        for (script, expected) in [
            ("ln -s .. ctx", format!("ctx {LINK}; remove it first")),
            ("mkdir ctx; ln -s ../.. ctx/s", format!("ctx/s {LINK}; remove it first")),
            ("mkfifo ctx", format!("ctx {OTHER}; remove it first")),
            ("mkdir ctx; echo x >ctx/s", format!("ctx/s {OTHER}; remove it first")),
            ("mkdir -p ctx/s/f.json", "ctx/s/f.json: Is a directory (os error 21)".to_owned()),
        ] {
            assert_eq!(put_after(script), (Err(expected), "mine".to_owned()), "{script}");
        }
    }
}
