//! Keeps the objects of the user's repository, so that a deleted `.git` takes no commit with it.
//!
//! Git adds and deletes object files but never changes them. So a hard link, as in a `git clone` of a local repository,
//! keeps an object file at no cost. On another file system, the files are copied, up to a limit. Links to objects that
//! newer packs also hold are dropped (`superseded`). The other links stay until the last snapshot is forgotten, and
//! until then a `git gc` of the user frees less space.
//!
//! Assumption: a worker may delete these files, but does not rewrite them in place. If it does, git notices when it
//! reads them; the files of the workspace are not among them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use unstuck_files::Read;
use unstuck_files::read::is_absence;
use unstuck_files::safe_dir::{self, ChangeStamp, SafeDir};

use super::index::{is_settled, now};
use super::object::{FILE, FOLDER};
use super::pack::TEMPORARY_PREFIX;
use super::superseded;

/// Adds the objects in the folder `objects` below `root` to those in `kept`. Returns how many could not be kept.
pub(super) fn keep(root: &SafeDir, objects: &[u8], kept: &Path, copied_bytes_max: u64) -> io::Result<u64> {
    let objects = root.open_below(objects)?;
    fs::create_dir_all(kept)?;
    let to = SafeDir::root(kept)?;
    let was = Read::from_io(to.metadata(b"pack")).map(|seen| seen.stamp.modified);
    let copier = Copier { kept, copied_bytes_max, budget: None, missed: 0, remembers: true };
    let missed = copier.objects(&objects, &to)?;
    // Only where the packs are others than when they were last looked at.
    if Read::from_io(to.metadata(b"pack")).map(|seen| seen.stamp.modified) != was {
        superseded::drop_from(&to, &objects, copied_bytes_max)?;
    }
    Ok(missed)
}

/// Adds the objects that were kept to `objects`, an open folder.
pub(super) fn give_back(kept: &Path, objects: &SafeDir) -> io::Result<u64> {
    let folder = match SafeDir::root(kept) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        folder => folder?,
    };
    let budget = Some(u64::MAX);
    Copier { kept: Path::new(""), copied_bytes_max: u64::MAX, budget, missed: 0, remembers: false }
        .objects(&folder, objects)
}

struct Copier<'a> {
    kept: &'a Path,
    copied_bytes_max: u64,
    /// How many bytes may still be copied; not known before the first is.
    budget: Option<u64>,
    missed: u64,
    /// A folder that was not changed since it was last looked at is passed over. Not one of the user's: what was there when
    /// it was looked at may have been deleted since.
    remembers: bool,
}

impl Copier<'_> {
    fn objects(mut self, from: &SafeDir, to: &SafeDir) -> io::Result<u64> {
        for name in from.names()?.into_iter().filter(|name| is_folder_of_objects(name)) {
            let seen = from.metadata(&name)?;
            if seen.is(FOLDER) {
                self.folder(from, to, &name, &seen.stamp)?;
            }
        }
        Ok(self.missed)
    }

    fn folder(&mut self, from: &SafeDir, to: &SafeDir, name: &[u8], stamp: &ChangeStamp) -> io::Result<()> {
        to.make(name)?;
        // The copy of a folder that has not changed since has the same modification time.
        let read_at = now();
        if self.remembers && to.metadata(name)?.stamp.modified == stamp.modified {
            return Ok(());
        }
        let (from, to) = (from.open(name)?, to.open(name)?);
        let there: BTreeSet<Vec<u8>> = to.names()?.into_iter().collect();
        let missed = self.missed;
        for name in from.names()?.iter().filter(|name| is_object(name) && !there.contains(*name)) {
            self.file(&from, &to, name)?;
        }
        let changed = ChangeStamp { changed: stamp.modified, ..*stamp };
        if self.remembers && missed == self.missed && is_settled(&changed, read_at) {
            to.set_modified(stamp.modified)?;
        }
        Ok(())
    }

    fn file(&mut self, from: &SafeDir, to: &SafeDir, name: &[u8]) -> io::Result<()> {
        let seen = match from.metadata(name) {
            Ok(seen) if seen.is(FILE) => seen,
            // Git has packed it this moment, or it is nothing of git's.
            Ok(_) => return Ok(()),
            Err(error) if is_absence(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        if from.share(name, to).is_ok() {
            return Ok(());
        }
        let budget = match self.budget {
            Some(budget) => budget,
            None => self.copied_bytes_max.saturating_sub(size_of(self.kept)?),
        };
        self.budget = Some(budget.saturating_sub(seen.stamp.size));
        if seen.stamp.size > budget {
            self.missed += 1;
            return Ok(());
        }
        copy(from, to, name)
    }
}

fn copy(from: &SafeDir, to: &SafeDir, name: &[u8]) -> io::Result<()> {
    let temporary = format!("{TEMPORARY_PREFIX}{}", std::process::id()).into_bytes();
    // One with our number died here.
    let _was_none = to.remove_file(&temporary);
    let mut file = to.create(&temporary)?;
    io::copy(&mut from.open_file(name)?, &mut file)?;
    safe_dir::set_permissions(&file, 0o444)?;
    to.rename(&temporary, name)
}

fn size_of(kept: &Path) -> io::Result<u64> {
    let mut size = 0;
    for folder in fs::read_dir(kept)? {
        for file in fs::read_dir(folder?.path())? {
            size += file?.metadata()?.len();
        }
    }
    Ok(size)
}

fn is_folder_of_objects(name: &[u8]) -> bool {
    name == b"pack" || name == b"info" || name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit)
}

/// Says whether a name is of a file of objects; others can be made again, or are not finished.
fn is_object(name: &[u8]) -> bool {
    let is_loose = name.len() >= 38 && name.iter().all(u8::is_ascii_hexdigit);
    let of_pack = [&b".pack"[..], b".idx", b".rev", b".promisor"];
    is_loose
        || name == b"alternates"
        || name.starts_with(b"pack-") && of_pack.iter().any(|end| name.ends_with(end))
}
