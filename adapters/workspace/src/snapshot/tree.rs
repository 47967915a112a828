//! Trees of folders: made from a list of paths, read back, and compared.

use std::collections::BTreeMap;

use unstuck_core::id::Digest;
use unstuck_files::safe_dir;

use super::error::SnapshotResult;
use super::object::{self, FOLDER, ObjectKind, TreeEntry};
use super::store::ObjectStore;

pub(super) struct PathEntry<'a> {
    pub(super) path: &'a [u8],
    pub(super) mode: u32,
    /// The content; of a folder, nothing.
    pub(super) id: Digest,
}

/// Makes the tree of `nodes`, which are ordered by path, and hands every tree object to `keep`.
///
/// A folder need not be listed if something in it is.
pub(super) fn build<E>(
    nodes: &[PathEntry<'_>],
    keep: &mut impl FnMut(Digest, &[u8]) -> Result<(), E>,
) -> Result<Digest, E> {
    build_from(nodes, 0, keep)
}

fn build_from<E>(
    nodes: &[PathEntry<'_>],
    skipped: usize,
    keep: &mut impl FnMut(Digest, &[u8]) -> Result<(), E>,
) -> Result<Digest, E> {
    let mut items = Vec::new();
    let mut rest = nodes;
    while let Some(first) = rest.first() {
        let path = &first.path[skipped..];
        let name = &path[..memchr::memchr(b'/', path).unwrap_or(path.len())];
        let full = &first.path[..skipped + name.len()];
        let (same, others) = rest.split_at(rest.partition_point(|node| safe_dir::is_within(node.path, full)));
        let is_leaf = first.path == full && !safe_dir::is_folder(first.mode);
        let item = if is_leaf {
            TreeEntry { mode: first.mode, name: name.to_vec(), id: first.id }
        } else {
            let inner = &same[usize::from(first.path == full)..];
            TreeEntry { mode: FOLDER, name: name.to_vec(), id: build_from(inner, full.len() + 1, keep)? }
        };
        items.push(item);
        rest = others;
    }
    let content = object::encode(items);
    let id = object::name(ObjectKind::Tree, &content);
    keep(id, &content)?;
    Ok(id)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryState {
    pub(super) mode: u32,
    pub(super) id: Digest,
}

impl EntryState {
    fn from_entry(item: &TreeEntry) -> Self {
        Self { mode: item.mode, id: item.id }
    }

    pub(super) fn is_folder(&self) -> bool {
        safe_dir::is_folder(self.mode)
    }
}

/// The entries at a path in two trees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EntryPair {
    pub(super) before: Option<EntryState>,
    pub(super) after: Option<EntryState>,
}

/// Returns every path at which two trees differ; a folder only if the other tree lacks it.
pub(super) fn compare(
    store: &ObjectStore,
    before: Option<Digest>,
    after: Option<Digest>,
) -> SnapshotResult<BTreeMap<Vec<u8>, EntryPair>> {
    let mut pairs = BTreeMap::new();
    compare_below(store, &[], before, after, &mut pairs)?;
    Ok(pairs)
}

fn compare_below(
    store: &ObjectStore,
    path: &[u8],
    before: Option<Digest>,
    after: Option<Digest>,
    pairs: &mut BTreeMap<Vec<u8>, EntryPair>,
) -> SnapshotResult<()> {
    if before == after {
        return Ok(());
    }
    let items = |id: Option<Digest>| id.map_or(Ok(Vec::new()), |id| store.tree(&id));
    let mut both: BTreeMap<Vec<u8>, EntryPair> = BTreeMap::new();
    for item in items(before)? {
        let place = Some(EntryState::from_entry(&item));
        both.entry(item.name).or_default().before = place;
    }
    for item in items(after)? {
        let place = Some(EntryState::from_entry(&item));
        both.entry(item.name).or_default().after = place;
    }
    for (name, pair) in both.into_iter().filter(|(_, pair)| pair.before != pair.after) {
        let path = safe_dir::join(path, &name);
        let inner = |place: Option<EntryState>| place.filter(EntryState::is_folder).map(|place| place.id);
        compare_below(store, &path, inner(pair.before), inner(pair.after), pairs)?;
        if !(inner(pair.before).is_some() && inner(pair.after).is_some()) {
            pairs.insert(path, pair);
        }
    }
    Ok(())
}

/// Returns what is at a path below a tree.
pub(super) fn find(store: &ObjectStore, tree: Digest, path: &[u8]) -> SnapshotResult<Option<EntryState>> {
    let mut at = EntryState { mode: FOLDER, id: tree };
    for name in path.split(|&byte| byte == b'/') {
        if !at.is_folder() {
            return Ok(None);
        }
        let Some(item) = store.tree(&at.id)?.into_iter().find(|item| item.name == name) else {
            return Ok(None);
        };
        at = EntryState::from_entry(&item);
    }
    Ok(Some(at))
}

/// Returns the contents of all files of a tree by their paths.
pub(super) fn contents(store: &ObjectStore, tree: Digest) -> SnapshotResult<BTreeMap<Vec<u8>, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for (path, pair) in compare(store, None, Some(tree))? {
        if let Some(place) = pair.after.filter(|place| !place.is_folder()) {
            contents.insert(path, store.blob(&place.id)?);
        }
    }
    Ok(contents)
}
