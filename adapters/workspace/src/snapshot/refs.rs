//! The refs in a `.git` that a snapshot holds: tags, the stash, and others that are no branches.

use std::collections::BTreeMap;

use unstuck_core::id::Digest;
use unstuck_core::snapshot::short_name;
use unstuck_files::safe_dir::as_path;

use super::error::SnapshotResult;
use super::excluded::ExcludedList;
use super::git_files::{is_object_name, is_ref_name, packed_refs};
use super::store::ObjectStore;
use super::tree;

/// The newest stash; the older ones are in its log.
pub(super) const STASH: &str = "refs/stash";
const TAGS: &str = "refs/tags/";

/// A ref that is not what it was.
#[derive(Debug)]
pub(super) struct ChangedRef {
    pub(super) name: String,
    /// The object that it named.
    pub(super) was: String,
    /// The object that it names now; `None` if it is gone.
    pub(super) is: Option<String>,
}

impl ChangedRef {
    pub(super) fn branch(name: &str, was: &str) -> Self {
        Self { name: format!("refs/heads/{name}"), was: was.to_owned(), is: None }
    }

    /// Returns the line of `git update-ref -z` that takes it back; git refuses if it has changed again by then.
    pub(super) fn undo_line(&self) -> Vec<u8> {
        let Self { name, was, is } = self;
        match is {
            Some(is) => format!("update {name}\0{was}\0{is}\0").into_bytes(),
            None => format!("create {name}\0{was}\0").into_bytes(),
        }
    }

    /// Says that it was taken back.
    pub(super) fn restored_message(&self) -> String {
        let Self { name, was, is } = self;
        let kinds = [("refs/heads/", "branch"), (TAGS, "tag")];
        let of_kind = |(prefix, kind)| Some(format!("the {kind} {}", name.strip_prefix(prefix)?));
        let what = match name.as_str() {
            STASH => "the stash".to_owned(),
            _ => kinds.into_iter().find_map(of_kind).unwrap_or_else(|| name.clone()),
        };
        let moved = is.as_ref().map_or_else(String::new, |is| format!(", and it was at {}", short_name(is)));
        format!("has {what} again, at {}{moved}", short_name(was))
    }
}

/// A `.git` that a snapshot holds, and what it does not cover of it.
#[derive(Clone, Copy)]
pub(super) struct RepoTree<'a> {
    pub(super) tree: Digest,
    pub(super) unknown: &'a ExcludedList,
}

impl RepoTree<'_> {
    /// Says which of its refs may be there although the snapshot does not have them, and why.
    pub(super) fn hidden(&self) -> Option<String> {
        let mut hidden =
            [&b"refs"[..], b"packed-refs"].into_iter().filter_map(|path| self.unknown.unknown_at(path));
        hidden.next().map(|(path, reason)| format!("{} is {reason}", as_path(path).display()))
    }
}

/// Returns the branches of a `.git` that a snapshot holds, and their commits; absence means something where none is hidden.
pub(super) fn branches(store: &ObjectStore, git: Digest) -> SnapshotResult<BTreeMap<String, String>> {
    let branches = read_refs(store, git)?.into_iter().filter_map(|(name, to)| {
        let name = name.strip_prefix("refs/heads/").filter(|_| is_object_name(&to) && is_ref_name(&name))?;
        Some((name.to_owned(), to))
    });
    Ok(branches.collect())
}

/// Returns the refs that are gone, and the tags that name something else. What changed otherwise is what git was used for:
/// another stash on top, a branch of a remote that was fetched.
///
/// None where refs may be there now that are not seen.
pub(super) fn changed_refs(
    store: &ObjectStore,
    is: RepoTree<'_>,
    was: RepoTree<'_>,
) -> SnapshotResult<Vec<ChangedRef>> {
    if is.hidden().is_some() {
        return Ok(Vec::new());
    }
    let mut now = read_other_refs(store, is.tree)?;
    let then = read_other_refs(store, was.tree)?.into_iter();
    let pairs = then.map(|(name, was)| (now.remove(&name), name, was));
    let lost = pairs.filter(|(is, name, was)| match is {
        Some(is) => is != was && name.starts_with(TAGS) && is_object_name(is),
        None => true,
    });
    let lost = lost.filter(|(_, _, was)| is_object_name(was));
    Ok(lost.map(|(is, name, was)| ChangedRef { name, was, is }).collect())
}

/// Reads the refs of a `.git` but its branches, which are a part of the snapshot.
fn read_other_refs(store: &ObjectStore, git: Digest) -> SnapshotResult<BTreeMap<String, String>> {
    let mut refs = read_refs(store, git)?;
    refs.retain(|name, _| is_other_ref(name));
    Ok(refs)
}

/// Reads the refs of a `.git`. A loose ref takes precedence over a packed one.
fn read_refs(store: &ObjectStore, git: Digest) -> SnapshotResult<BTreeMap<String, String>> {
    let items = store.tree(&git)?;
    let item = |name: &[u8]| items.iter().find(|item| item.name == name);
    let packed = item(b"packed-refs").filter(|item| !item.is_folder());
    let packed = packed.map_or(Ok(Vec::new()), |item| store.blob(&item.id))?;
    let packed = String::from_utf8_lossy(&packed);
    let packed = packed_refs(&packed).map(|(name, to)| (name.to_owned(), to.to_owned()));
    let loose = item(b"refs").filter(|item| item.is_folder());
    let loose = loose.map_or(Ok(BTreeMap::new()), |item| tree::contents(store, item.id))?;
    let loose = loose.into_iter().filter_map(|(path, text)| {
        let name = format!("refs/{}", String::from_utf8(path).ok()?); // no read
        Some((name, String::from_utf8(text).ok()?.trim().to_owned())) // no read
    });
    Ok(packed.chain(loose).collect())
}

/// Says whether a name is of a ref, and of no branch.
fn is_other_ref(name: &str) -> bool {
    name.starts_with("refs/") && !name.starts_with("refs/heads/") && is_ref_name(name)
}
