//! The root tree of a snapshot, with one entry for each part.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::id::Digest;
use unstuck_core::snapshot::Snapshot;
use unstuck_files::safe_dir;

use super::attributes::AttributeList;
use super::error::SnapshotResult;
use super::excluded::{self, ExcludedList, ExcludedPath};
use super::object::{FILE, ObjectKind, TreeEntry};
use super::options::BranchTargets;
use super::pack::{Compressor, Writer};
use super::permissions::FolderModes;
use super::rules::{self, Lists, Rules};
use super::store::ObjectStore;
use super::tree::{self, EntryState, PathEntry};
use super::{error, object};

const WORK: &[u8] = b"work";
const IGNORED: &[u8] = b"ignored";
const REPOSITORY: &[u8] = b"repository";
const WITHIN: &[u8] = b"within";
const INNER: &[u8] = b"inner";
const RULES: &[u8] = b"rules";
const PREFIX: &[u8] = b"rules-prefix";
const TRACKED: &[u8] = b"rules-tracked";
const LISTS: &[u8] = b"rules-lists";
const LEFT_OUT: &[u8] = b"left-out";
const LEFT_OUT_MARKS: &[u8] = b"left-out-marks";
const PERMISSIONS: &[u8] = b"permissions";
const ATTRIBUTES: &[u8] = b"attributes";
const BRANCHES: &[u8] = b"branches";
/// The first line of a list of branches, which may have no other.
const BRANCHES_HEAD: &str = "refs/heads\n";
/// Permissions mean nothing for what is not a file of the workspace.
const PLAIN_FILE: u32 = FILE | 0o644;

/// The parts of a snapshot, read back.
#[derive(Debug)]
pub(super) struct Parts(BTreeMap<Vec<u8>, TreeEntry>);

impl Parts {
    pub(super) fn read(store: &ObjectStore, snapshot: &Snapshot) -> SnapshotResult<Self> {
        Self::read_id(store, &snapshot.id)
    }

    /// As [`Self::read`], of the snapshot with this name.
    pub(super) fn read_id(store: &ObjectStore, id: &Digest) -> SnapshotResult<Self> {
        let items = store.tree(id)?;
        Ok(Self(items.into_iter().map(|item| (item.name.clone(), item)).collect()))
    }

    pub(super) fn work(&self) -> Option<Digest> {
        self.id(WORK)
    }

    pub(super) fn ignored(&self) -> Option<Digest> {
        self.id(IGNORED)
    }

    /// The files that lead from folders of the workspace to their repositories.
    pub(super) fn within(&self) -> Option<Digest> {
        self.id(WITHIN)
    }

    /// The small files of repositories in folders of the workspace.
    pub(super) fn inner(&self) -> Option<Digest> {
        self.id(INNER)
    }

    /// The state of `.git`: a folder, a file that names one, or nothing.
    pub(super) fn repository(&self) -> Option<&TreeEntry> {
        self.0.get(REPOSITORY)
    }

    /// Says whether `.git` is a folder in both, or leads to the same place.
    pub(super) fn same_repository(&self, other: &Self) -> bool {
        match (self.repository(), other.repository()) {
            (None, None) => true,
            (Some(one), Some(two)) if one.is_folder() && two.is_folder() => true,
            (Some(one), Some(two)) => one.mode == two.mode && one.id == two.id,
            _ => false,
        }
    }

    /// The tree of `.git`, where it is a folder.
    pub(super) fn repository_folder(&self) -> Option<Digest> {
        self.repository().filter(|item| item.is_folder()).map(|item| item.id)
    }

    pub(super) fn rules(&self, store: &ObjectStore) -> SnapshotResult<Rules> {
        let texts = self.id(RULES).map_or(Ok(BTreeMap::new()), |id| tree::contents(store, id))?;
        let texts = texts.into_iter().map(|(path, text)| (safe_dir::split(&path).0.to_vec(), text)).collect();
        let tracked = self.blob(store, TRACKED)?;
        let tracked = tracked.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec);
        let lists = self.blob(store, LISTS)?;
        let lists =
            decode_lists(&lists).ok_or_else(|| store.damaged("the lists of ignored files cannot be read"))?;
        Ok(Rules { prefix: self.blob(store, PREFIX)?, lists, texts, tracked: tracked.collect() })
    }

    /// Returns the branches of the repository; `None` where they are not known.
    pub(super) fn branches(&self, store: &ObjectStore) -> SnapshotResult<Option<BranchTargets>> {
        let bytes = self.blob(store, BRANCHES)?;
        let text = String::from_utf8(bytes).map_err(|_| store.damaged("the branches cannot be read"))?;
        let Some(list) = text.strip_prefix(BRANCHES_HEAD) else { return Ok(None) };
        let pairs = list.lines().filter_map(|line| line.split_once('\t'));
        Ok(Some(pairs.map(|(name, target)| (name.to_owned(), target.to_owned())).collect()))
    }

    /// Returns whether the branches are known.
    pub(super) fn has_branches(&self) -> bool {
        self.0.contains_key(BRANCHES)
    }

    pub(super) fn same_branches(&self, other: &Self) -> bool {
        self.id(BRANCHES) == other.id(BRANCHES)
    }

    /// Returns the entry at a path, ignored or not.
    pub(super) fn find(&self, store: &ObjectStore, path: &[u8]) -> SnapshotResult<Option<EntryState>> {
        for tree in [self.work(), self.ignored(), self.within()].into_iter().flatten() {
            // no read
            if let Some(place) = tree::find(store, tree, path)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    pub(super) fn uncovered(&self, store: &ObjectStore) -> SnapshotResult<ExcludedList> {
        let (bytes, marks) = (self.blob(store, LEFT_OUT)?, self.blob(store, LEFT_OUT_MARKS)?);
        let damaged = || store.damaged("the list of what a snapshot left out cannot be read");
        ExcludedList::decode(&bytes, &marks).ok_or_else(damaged)
    }

    /// Returns the permissions of the folders.
    pub(super) fn permissions(&self, store: &ObjectStore) -> SnapshotResult<FolderModes> {
        let damaged = || store.damaged("the permissions of folders cannot be read");
        FolderModes::decode(&self.blob(store, PERMISSIONS)?).ok_or_else(damaged)
    }

    /// Returns the attributes of files and folders.
    pub(super) fn attributes(&self, store: &ObjectStore) -> SnapshotResult<AttributeList> {
        let damaged = || store.damaged("the attributes of files cannot be read");
        AttributeList::decode(&self.blob(store, ATTRIBUTES)?).ok_or_else(damaged)
    }

    fn id(&self, name: &[u8]) -> Option<Digest> {
        self.0.get(name).map(|item| item.id)
    }

    fn blob(&self, store: &ObjectStore, name: &[u8]) -> SnapshotResult<Vec<u8>> {
        self.id(name).map_or(Ok(Vec::new()), |id| store.blob(&id))
    }
}

/// Writes the root tree of a snapshot, part by part.
pub(super) struct RootWriter<'a> {
    store: &'a ObjectStore,
    writer: &'a mut Writer,
    compressor: Compressor,
    items: Vec<TreeEntry>,
}

impl<'a> RootWriter<'a> {
    pub(super) fn new(store: &'a ObjectStore, writer: &'a mut Writer) -> Self {
        Self { store, writer, compressor: Compressor::default(), items: Vec::new() }
    }

    pub(super) fn work(&mut self, nodes: &[PathEntry<'_>]) -> SnapshotResult<Digest> {
        self.tree(WORK, nodes)
    }

    pub(super) fn ignored(&mut self, nodes: &[PathEntry<'_>]) -> SnapshotResult<()> {
        self.tree(IGNORED, nodes).map(drop)
    }

    pub(super) fn within(&mut self, nodes: &[PathEntry<'_>]) -> SnapshotResult<()> {
        if nodes.is_empty() { Ok(()) } else { self.tree(WITHIN, nodes).map(drop) }
    }

    pub(super) fn inner(&mut self, nodes: &[PathEntry<'_>]) -> SnapshotResult<()> {
        if nodes.is_empty() { Ok(()) } else { self.tree(INNER, nodes).map(drop) }
    }

    /// Adds how `.git` stands; the paths of `nodes` begin with `.git`.
    pub(super) fn repository(&mut self, nodes: &[PathEntry<'_>]) -> SnapshotResult<()> {
        match nodes {
            [] => Ok(()),
            [file] if !safe_dir::is_folder(file.mode) => {
                self.items.push(TreeEntry { mode: file.mode, name: REPOSITORY.to_vec(), id: file.id });
                Ok(())
            }
            _ => {
                let inner = nodes.iter().filter_map(|node| {
                    Some(PathEntry { path: node.path.strip_prefix(b".git/")?, mode: node.mode, id: node.id })
                });
                self.tree(REPOSITORY, &inner.collect::<Vec<_>>()).map(drop)
            }
        }
    }

    pub(super) fn rules(&mut self, rules: &Rules) -> SnapshotResult<()> {
        let mut files = BTreeMap::new();
        for (folder, text) in &rules.texts {
            files.insert(safe_dir::join(folder, rules::FILE_NAME), self.add(ObjectKind::Blob, text)?);
        }
        let mut nodes: Vec<PathEntry<'_>> =
            files.iter().map(|(path, id)| PathEntry { path, mode: PLAIN_FILE, id: *id }).collect();
        nodes.sort_by(|a, b| object::path_order(a.path, b.path));
        self.tree(RULES, &nodes)?;
        self.blob(PREFIX, &rules.prefix)?;
        self.blob(LISTS, &encode_lists(&rules.lists))?;
        self.blob(TRACKED, &join_paths(&rules.tracked))
    }

    pub(super) fn branches(&mut self, branches: Option<&BranchTargets>) -> SnapshotResult<()> {
        let Some(branches) = branches else { return Ok(()) };
        let lines = branches.iter().map(|(name, target)| format!("{name}\t{target}\n"));
        self.blob(BRANCHES, format!("{BRANCHES_HEAD}{}", lines.collect::<String>()).as_bytes())
    }

    pub(super) fn permissions(&mut self, permissions: &FolderModes) -> SnapshotResult<()> {
        self.blob(PERMISSIONS, &permissions.encode())
    }

    pub(super) fn attributes(&mut self, attributes: &AttributeList) -> SnapshotResult<()> {
        self.blob(ATTRIBUTES, &attributes.encode())
    }

    pub(super) fn left_out(&mut self, left: &[ExcludedPath]) -> SnapshotResult<()> {
        self.blob(LEFT_OUT, &excluded::encode(left))?;
        self.blob(LEFT_OUT_MARKS, &excluded::encode_marks(left))
    }

    /// Returns the name of the snapshot.
    pub(super) fn finish(mut self) -> SnapshotResult<Digest> {
        let items = std::mem::take(&mut self.items);
        self.add(ObjectKind::Tree, &object::encode(items))
    }

    fn tree(&mut self, name: &[u8], nodes: &[PathEntry<'_>]) -> SnapshotResult<Digest> {
        let id = tree::build(nodes, &mut |_, content: &[u8]| self.add(ObjectKind::Tree, content).map(drop))?;
        self.items.push(TreeEntry { mode: object::FOLDER, name: name.to_vec(), id });
        Ok(id)
    }

    fn blob(&mut self, name: &[u8], content: &[u8]) -> SnapshotResult<()> {
        if !content.is_empty() {
            let id = self.add(ObjectKind::Blob, content)?;
            self.items.push(TreeEntry { mode: PLAIN_FILE, name: name.to_vec(), id });
        }
        Ok(())
    }

    fn add(&mut self, kind: ObjectKind, content: &[u8]) -> SnapshotResult<Digest> {
        let id = object::name(kind, content);
        if !self.store.has(&id) && !self.writer.has(&id) {
            let compressed = self.compressor.compress(content);
            let written = compressed
                .and_then(|compressed| self.writer.add(kind, id, content.len() as u64, &compressed));
            written.map_err(error::io("write a pack in", self.store.folder()))?;
        }
        Ok(id)
    }
}

fn join_paths(paths: &BTreeSet<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}

/// Returns the lists of repositories as bytes: for each its place, whether case matters, and the text, each ended by a NUL.
fn encode_lists(lists: &BTreeMap<Vec<u8>, Lists>) -> Vec<u8> {
    let fields = lists.iter().flat_map(|(place, lists)| {
        let ignores_case: &[u8] = if lists.ignores_case { b"1" } else { b"" };
        [&place[..], b"\0", ignores_case, b"\0", &lists.text, b"\0"].concat()
    });
    fields.collect()
}

fn decode_lists(bytes: &[u8]) -> Option<BTreeMap<Vec<u8>, Lists>> {
    let fields: Vec<&[u8]> = bytes.split_inclusive(|&byte| byte == 0).collect();
    let entries = fields.chunks(3).map(|entry| {
        let [place, ignores_case, text] = entry else { return None };
        let [place, ignores_case, text] = [place, ignores_case, text].map(|field| field.strip_suffix(b"\0"));
        let lists = Lists { text: text?.to_vec(), ignores_case: !ignores_case?.is_empty() };
        Some((place?.to_vec(), lists))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_repositories_read_back_and_cut_ones_do_not() {
        let list = |text: &str, ignores_case| Lists { text: text.into(), ignores_case };
        let lists = [(b"".to_vec(), list("a\n", false)), (b"sub/x".to_vec(), list("", true))].into();
        let bytes = encode_lists(&lists);
        assert_eq!(decode_lists(&bytes), Some(lists));
        assert_eq!(decode_lists(b""), Some(BTreeMap::new()));
        assert_eq!(decode_lists(&bytes[..bytes.len() - 1]), None);
    }
}
