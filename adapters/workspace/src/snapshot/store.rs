//! The folder of the snapshots: a bare git directory that belongs to Unstuck.
//!
//! It shares nothing with the user's repository, so neither `git gc` nor a deletion of `.git` there can damage it. Any
//! git since 2.29 can read it. Writing and reading it requires only a file system.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use unstuck_core::id::Digest;
use unstuck_files::durable::{is_unfinished, replace};
use unstuck_files::error::with_causes;
use unstuck_files::platform::owner_only;
use unstuck_files::safe_open;

use super::error::{LOCK, SnapshotError, SnapshotResult, io};
use super::object::{self, ObjectKind, TreeEntry};
use super::pack::{self, Pack, Writer};

/// Maximum time to wait for another writer.
const LOCK_PATIENCE: Duration = Duration::from_secs(60);
/// Maximum number of packs. Above it, the small ones are merged into one.
const PACKS_MAX: usize = 32;

/// The configuration that git finds. With it, git neither cleans up on its own nor makes deltas.
const CONFIG: &str = "\
# Snapshots of workspaces, written by Unstuck. Every snapshot is a tree: git ls-tree -r <ref>
[core]
\trepositoryformatversion = 1
\tbare = true
\tlogAllRefUpdates = false
[extensions]
\tobjectFormat = sha256
[gc]
\tauto = 0
\tpackRefs = false
[maintenance]
\tauto = false
[pack]
\twindow = 0
\tdepth = 0
";

/// An open store.
#[derive(Debug)]
pub(super) struct ObjectStore {
    folder: PathBuf,
    packs: RwLock<Vec<Arc<Pack>>>,
}

/// The right to write; given back when dropped, and by the system when the process dies.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "holds the lock")] File);

impl ObjectStore {
    /// Opens the store in `folder`, or makes one there.
    pub(super) fn open(folder: &Path) -> SnapshotResult<Self> {
        let store = Self { folder: folder.to_owned(), packs: RwLock::default() };
        // A file that only the user can read in the workspace must not be readable for others here.
        let made = owner_only(DirBuilder::new().recursive(true)).create(folder);
        made.and_then(|()| fs::create_dir_all(store.packs_folder())).map_err(io("create", folder))?;
        let _lock = store.lock()?;
        let config = folder.join("config");
        match safe_open::read_text(&config) {
            Ok(text) if text.contains("objectFormat = sha256") => {}
            Ok(_) => {
                let reason = "its objects have other names".to_owned();
                return Err(SnapshotError::Foreign { folder: folder.to_owned(), reason });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => store.make(&config)?,
            Err(error) => return Err(io("read", &config)(error)),
        }
        store.drop_unfinished()?;
        store.refresh()?;
        Ok(store)
    }

    fn make(&self, config: &Path) -> SnapshotResult<()> {
        let refs = self.folder.join("refs");
        fs::create_dir_all(&refs).map_err(io("create", &refs))?;
        let head = self.folder.join("HEAD");
        replace(&head, b"ref: refs/heads/none\n").map_err(io("write", &head))?;
        replace(config, CONFIG.as_bytes()).map_err(io("write", config))
    }

    /// Waits for the right to write, and looks at what others have written since.
    pub(super) fn lock(&self) -> SnapshotResult<Lock> {
        let path = self.folder.join(LOCK);
        let file = safe_open::open_with(OpenOptions::new().create(true).append(true), &path)
            .map_err(io("open", &path))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(source)) => return Err(io("lock", &path)(source)),
                Err(TryLockError::WouldBlock) if begun.elapsed() > LOCK_PATIENCE => {
                    let waited_s = LOCK_PATIENCE.as_secs();
                    return Err(SnapshotError::Busy { folder: self.folder.clone(), waited_s });
                }
                Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            }
        }
        self.refresh()?;
        Ok(Lock(file))
    }

    /// Returns the folder for what belongs to one workspace only.
    pub(super) fn own_folder(&self, workspace: &Path) -> PathBuf {
        let key = Digest::sha256(workspace.as_os_str().as_encoded_bytes()).to_string();
        self.folder.join("unstuck").join(&key[..16])
    }

    /// Returns the folders of all workspaces.
    pub(super) fn own_folders(&self) -> SnapshotResult<Vec<PathBuf>> {
        let folder = self.folder.join("unstuck");
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io("read", &folder))?,
        };
        entries.map(|entry| Ok(entry.map_err(io("read", &folder))?.path())).collect()
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Says that the store is damaged in a way that its reader has found.
    pub(super) fn damaged(&self, reason: &str) -> SnapshotError {
        SnapshotError::Damaged { path: self.folder.clone(), reason: reason.to_owned() }
    }

    pub(super) fn writer(&self) -> Writer {
        Writer::new(&self.packs_folder())
    }

    /// Makes what was written durable and readable.
    pub(super) fn adopt(&self, writer: Writer) -> SnapshotResult<()> {
        let pack = writer.finish().map_err(io("write a pack in", &self.packs_folder()))?;
        if let Some(pack) = pack {
            self.packs.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(pack));
        }
        Ok(())
    }

    pub(super) fn has(&self, id: &Digest) -> bool {
        self.find(id).is_some()
    }

    /// Writes the content of an object; it has been checked against its name when this returns.
    pub(super) fn copy(&self, id: &Digest, to: &mut dyn Write) -> SnapshotResult<ObjectKind> {
        let mut found = self.find(id);
        if found.is_none() {
            // Another process may have put packs together.
            self.refresh()?;
            found = self.find(id);
        }
        let Some((pack, offset)) = found else {
            return Err(SnapshotError::Missing { id: *id, folder: self.folder.clone() });
        };
        pack.copy(id, offset, to).map_err(|source| match source.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                SnapshotError::Damaged { path: pack.path.clone(), reason: source.to_string() }
            }
            _ => io("read", &pack.path)(source),
        })
    }

    /// Writes the content of an object to what may have no room for it. What is said is who of the two has refused.
    pub(super) fn fill(&self, id: &Digest, to: &mut dyn Write) -> io::Result<()> {
        let mut target = GuardedTarget { to, refused: None };
        let copied = self.copy(id, &mut target);
        match target.refused {
            Some(error) => Err(error),
            None => copied.map(drop).map_err(|error| io::Error::other(with_causes(&error))),
        }
    }

    pub(super) fn blob(&self, id: &Digest) -> SnapshotResult<Vec<u8>> {
        let mut content = Vec::new();
        self.copy(id, &mut content)?;
        Ok(content)
    }

    pub(super) fn tree(&self, id: &Digest) -> SnapshotResult<Vec<TreeEntry>> {
        let content = self.blob(id)?;
        object::decode(&content).ok_or_else(|| self.damaged(&format!("object {id} is no tree")))
    }

    /// Gives an object a name, which keeps it and all that it refers to.
    pub(super) fn set_ref(&self, name: &str, id: &Digest) -> SnapshotResult<()> {
        let path = self.refs_folder().join(name);
        let parent = path.parent().unwrap_or(&self.folder);
        fs::create_dir_all(parent).map_err(io("create", parent))?;
        replace(&path, format!("{id}\n").as_bytes()).map_err(io("write", &path))
    }

    /// Returns names and their objects, ordered by name.
    pub(super) fn refs(&self) -> SnapshotResult<Vec<(String, Digest)>> {
        let mut refs = Vec::new();
        read_refs(&self.refs_folder(), "", &mut refs)?;
        refs.sort_unstable();
        Ok(refs)
    }

    pub(super) fn remove_ref(&self, name: &str) -> SnapshotResult<()> {
        let path = self.refs_folder().join(name);
        fs::remove_file(&path).map_err(io("remove", &path))?;
        for folder in path.ancestors().skip(1).take_while(|folder| **folder != self.refs_folder()) {
            let _others_are_in_it = fs::remove_dir(folder);
        }
        Ok(())
    }

    /// Removes every object that is not reached from `roots`.
    pub(super) fn sweep(&self, roots: &[Digest]) -> SnapshotResult<()> {
        let mut reached = BTreeSet::new();
        for root in roots {
            self.reach(root, &mut reached)?;
        }
        let mut packs = self.packs();
        packs.retain(|pack| !pack.ids().all(|id| reached.contains(id)));
        // Packs that need no room come first, since they may make room for the rest.
        let (partial, useless): (Vec<_>, Vec<_>) =
            packs.into_iter().partition(|pack| pack.ids().any(|id| reached.contains(id)));
        self.rewrite(&useless, |_| false)?;
        let is_kept = |id: &Digest| reached.contains(id);
        match self.rewrite(&partial, is_kept) {
            Err(error) if error.is_full() => self.rewrite_one_by_one(partial, is_kept),
            done => done,
        }
    }

    /// Returns the stored size of the objects that are not reached from `roots`.
    pub(super) fn size_without(&self, roots: &[Digest]) -> SnapshotResult<u64> {
        let mut reached = BTreeSet::new();
        for root in roots {
            self.reach(root, &mut reached)?;
        }
        Ok(self.packs().iter().map(|pack| pack.size_of(|id| !reached.contains(id))).sum())
    }

    /// Reads all that is reached from `roots`, up to so many bytes. Returns how many objects that were.
    pub(super) fn check(&self, roots: &[Digest], bytes_max: u64) -> SnapshotResult<u64> {
        let (mut seen, mut read) = (BTreeSet::new(), ByteCounter(0));
        let mut open: Vec<(Digest, bool)> = roots.iter().rev().map(|id| (*id, true)).collect();
        let mut count = 0;
        while let Some((id, is_tree)) = open.pop() {
            if !seen.insert(id) || read.0 > bytes_max {
                continue;
            }
            count += 1;
            if is_tree {
                let items = self.tree(&id)?;
                read.0 = read.0.saturating_add(items.len() as u64 * 64);
                open.extend(items.iter().map(|item| (item.id, item.is_folder())));
            } else {
                self.copy(&id, &mut read)?;
            }
        }
        Ok(count)
    }

    /// Rewrites packs where there is not room for all at once: each leaves some for the next, those that shrink most first.
    fn rewrite_one_by_one(
        &self,
        mut packs: Vec<Arc<Pack>>,
        keeps: impl Fn(&Digest) -> bool,
    ) -> SnapshotResult<()> {
        packs.sort_by_cached_key(|pack| {
            pack.ids().filter(|id| keeps(id)).count() * 1000 / pack.ids().count().max(1)
        });
        let mut full = None;
        for pack in packs {
            match self.rewrite(&[pack], &keeps) {
                Err(error) if error.is_full() => full = Some(error),
                done => done?,
            }
        }
        full.map_or(Ok(()), Err)
    }

    /// Puts small packs together when there are many, so that finding an object stays fast.
    pub(super) fn tidy(&self) -> SnapshotResult<()> {
        let mut packs = self.packs();
        if packs.len() <= PACKS_MAX {
            return Ok(());
        }
        packs.sort_by_key(|pack| pack.size);
        packs.pop();
        self.rewrite(&packs, |_| true)
    }

    fn rewrite(&self, packs: &[Arc<Pack>], keeps: impl Fn(&Digest) -> bool) -> SnapshotResult<()> {
        let mut writer = self.writer();
        for pack in packs {
            pack.copy_raw(&mut writer, &keeps).map_err(io("copy objects of", &pack.path))?;
        }
        let new = writer.finish().map_err(io("write a pack in", &self.packs_folder()))?;
        for pack in packs.iter().filter(|pack| new.as_ref().is_none_or(|new| new.path != pack.path)) {
            pack.remove().map_err(io("remove", &pack.path))?;
        }
        self.refresh()
    }

    /// Adds an object that is there and all that it refers to.
    fn reach(&self, id: &Digest, reached: &mut BTreeSet<Digest>) -> SnapshotResult<()> {
        let mut open = vec![*id];
        while let Some(tree) = open.pop() {
            if !reached.insert(tree) {
                continue;
            }
            for item in self.tree(&tree)? {
                if item.is_folder() {
                    open.push(item.id);
                } else {
                    reached.insert(item.id);
                }
            }
        }
        Ok(())
    }

    fn find(&self, id: &Digest) -> Option<(Arc<Pack>, u64)> {
        let packs = self.packs.read().unwrap_or_else(PoisonError::into_inner);
        packs.iter().find_map(|pack| Some((pack.clone(), pack.find(id)?)))
    }

    fn packs(&self) -> Vec<Arc<Pack>> {
        self.packs.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Opens packs that are new and forgets those that are gone.
    fn refresh(&self) -> SnapshotResult<()> {
        let folder = self.packs_folder();
        let known = self.packs();
        let mut packs = Vec::new();
        for entry in fs::read_dir(&folder).map_err(io("read", &folder))? {
            let index = entry.map_err(io("read", &folder))?.path();
            if index.extension().is_none_or(|extension| extension != "idx") || is_temporary(&index) {
                continue;
            }
            let pack = index.with_extension("pack");
            match known.iter().find(|known| known.path == pack) {
                Some(known) => packs.push(known.clone()),
                None => match Pack::open(&index) {
                    Ok(pack) => packs.push(Arc::new(pack)),
                    // Put together with others this moment.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => {
                        return Err(SnapshotError::Damaged { path: pack, reason: error.to_string() });
                    }
                },
            }
        }
        *self.packs.write().unwrap_or_else(PoisonError::into_inner) = packs;
        Ok(())
    }

    /// Removes what a writer that died has left. Only for who holds the lock.
    fn drop_unfinished(&self) -> SnapshotResult<()> {
        let folder = self.packs_folder();
        for entry in fs::read_dir(&folder).map_err(io("read", &folder))? {
            let path = entry.map_err(io("read", &folder))?.path();
            let of_pack =
                path.extension().is_some_and(|extension| extension == "pack" || extension == "keep");
            let index = path.with_extension("idx");
            let is_orphan = of_pack && !index.try_exists().map_err(io("look at", &index))?;
            if is_temporary(&path) || is_orphan {
                fs::remove_file(&path).map_err(io("remove", &path))?;
            }
        }
        Ok(())
    }

    fn packs_folder(&self) -> PathBuf {
        self.folder.join("objects/pack")
    }

    fn refs_folder(&self) -> PathBuf {
        self.folder.join("refs/unstuck")
    }
}

/// Counts what is written to it.
struct ByteCounter(u64);

impl Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Notes that it is the target that has refused, and not what is read from.
struct GuardedTarget<'a> {
    to: &'a mut dyn Write,
    refused: Option<io::Error>,
}

impl Write for GuardedTarget<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes).map_err(|error| {
            let kind = error.kind();
            self.refused = Some(error);
            kind.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn is_temporary(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| is_unfinished(name) || name.to_string_lossy().starts_with(pack::TEMPORARY_PREFIX))
}

fn entry_is_folder(path: &Path) -> SnapshotResult<bool> {
    Ok(path.metadata().map_err(io("look at", path))?.is_dir())
}

fn read_refs(folder: &Path, prefix: &str, refs: &mut Vec<(String, Digest)>) -> SnapshotResult<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(io("read", folder))?,
    };
    for entry in entries {
        let path = entry.map_err(io("read", folder))?.path();
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy()); // no read
        if entry_is_folder(&path)? {
            read_refs(&path, &format!("{name}/"), refs)?;
        } else if !is_temporary(&path) {
            let text = safe_open::read_text(&path).map_err(io("read", &path))?;
            let reason = "it does not hold the name of an object".to_owned();
            let id = Digest::parse(text.trim_end()).ok_or(SnapshotError::Damaged { path, reason })?;
            refs.push((name, id));
        }
    }
    Ok(())
}
