//! What the root tree of a snapshot holds: one entry for each part.

use std::collections::{BTreeMap, BTreeSet};

use unstuck_core::id::Digest;

use super::error::Error;
use super::folder;
use super::left_out::{self, Left, Uncovered};
use super::object::{FILE, Item, Kind};
use super::pack::{Squeezer, Writer};
use super::permissions::Permissions;
use super::rules::{self, Rules};
use super::store::Store;
use super::tree::{self, Node, Place};
use super::{Branches, Snapshot, error, object};

const WORK: &[u8] = b"work";
const IGNORED: &[u8] = b"ignored";
const REPOSITORY: &[u8] = b"repository";
const WITHIN: &[u8] = b"within";
const INNER: &[u8] = b"inner";
const RULES: &[u8] = b"rules";
const PREFIX: &[u8] = b"rules-prefix";
const TRACKED: &[u8] = b"rules-tracked";
const LEFT_OUT: &[u8] = b"left-out";
const LEFT_OUT_MARKS: &[u8] = b"left-out-marks";
const PERMISSIONS: &[u8] = b"permissions";
const BRANCHES: &[u8] = b"branches";
/// The first line of a list of branches, which may have no other.
const BRANCHES_HEAD: &str = "refs/heads\n";
/// Permissions mean nothing for what is not a file of the workspace.
const PLAIN_FILE: u32 = FILE | 0o644;

/// The parts of a snapshot, read back.
#[derive(Debug)]
pub(super) struct Parts(BTreeMap<Vec<u8>, Item>);

impl Parts {
    pub(super) fn of(store: &Store, snapshot: &Snapshot) -> Result<Self, Error> {
        let items = store.tree(&snapshot.id)?;
        Ok(Self(items.into_iter().map(|item| (item.name.clone(), item)).collect()))
    }

    pub(super) fn work(&self) -> Option<Digest> {
        self.id(WORK)
    }

    pub(super) fn ignored(&self) -> Option<Digest> {
        self.id(IGNORED)
    }

    /// The files that lead from folders of the workspace to repositories of theirs.
    pub(super) fn within(&self) -> Option<Digest> {
        self.id(WITHIN)
    }

    /// What was looked at of repositories in folders of the workspace.
    pub(super) fn inner(&self) -> Option<Digest> {
        self.id(INNER)
    }

    /// How `.git` stood: a folder, a file that names one, or nothing.
    pub(super) fn repository(&self) -> Option<&Item> {
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

    pub(super) fn rules(&self, store: &Store) -> Result<Rules, Error> {
        let texts = self.id(RULES).map_or(Ok(BTreeMap::new()), |id| tree::contents(store, id))?;
        let texts = texts.into_iter().map(|(path, text)| (folder::split(&path).0.to_vec(), text)).collect();
        let tracked = self.blob(store, TRACKED)?;
        let tracked = tracked.split(|&byte| byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec);
        Ok(Rules { prefix: self.blob(store, PREFIX)?, texts, tracked: tracked.collect() })
    }

    /// Returns the branches of the repository; `None` where they are not known.
    pub(super) fn branches(&self, store: &Store) -> Result<Option<Branches>, Error> {
        let bytes = self.blob(store, BRANCHES)?;
        let text = String::from_utf8(bytes).map_err(|_| store.damaged("the branches cannot be read"))?;
        let Some(list) = text.strip_prefix(BRANCHES_HEAD) else { return Ok(None) };
        let pairs = list.lines().filter_map(|line| line.split_once('\t'));
        Ok(Some(pairs.map(|(name, target)| (name.to_owned(), target.to_owned())).collect()))
    }

    /// Says whether it is known which branches there are.
    pub(super) fn has_branches(&self) -> bool {
        self.0.contains_key(BRANCHES)
    }

    /// Says whether the branches are those of another snapshot.
    pub(super) fn same_branches(&self, other: &Self) -> bool {
        self.id(BRANCHES) == other.id(BRANCHES)
    }

    /// Returns what the snapshot holds at a path, ignored or not.
    pub(super) fn find(&self, store: &Store, path: &[u8]) -> Result<Option<Place>, Error> {
        for tree in [self.work(), self.ignored(), self.within()].into_iter().flatten() {
            // no read
            if let Some(place) = tree::find(store, tree, path)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    pub(super) fn uncovered(&self, store: &Store) -> Result<Uncovered, Error> {
        let (bytes, marks) = (self.blob(store, LEFT_OUT)?, self.blob(store, LEFT_OUT_MARKS)?);
        let damaged = || store.damaged("the list of what a snapshot left out cannot be read");
        Uncovered::decode(&bytes, &marks).ok_or_else(damaged)
    }

    /// Returns the permissions of the folders.
    pub(super) fn permissions(&self, store: &Store) -> Result<Permissions, Error> {
        let damaged = || store.damaged("the permissions of folders cannot be read");
        Permissions::decode(&self.blob(store, PERMISSIONS)?).ok_or_else(damaged)
    }

    fn id(&self, name: &[u8]) -> Option<Digest> {
        self.0.get(name).map(|item| item.id)
    }

    fn blob(&self, store: &Store, name: &[u8]) -> Result<Vec<u8>, Error> {
        self.id(name).map_or(Ok(Vec::new()), |id| store.blob(&id))
    }
}

/// Writes the root tree of a snapshot, part by part.
pub(super) struct Root<'a> {
    store: &'a Store,
    writer: &'a mut Writer,
    squeezer: Squeezer,
    items: Vec<Item>,
}

impl<'a> Root<'a> {
    pub(super) fn new(store: &'a Store, writer: &'a mut Writer) -> Self {
        Self { store, writer, squeezer: Squeezer::default(), items: Vec::new() }
    }

    pub(super) fn work(&mut self, nodes: &[Node<'_>]) -> Result<Digest, Error> {
        self.tree(WORK, nodes)
    }

    pub(super) fn ignored(&mut self, nodes: &[Node<'_>]) -> Result<(), Error> {
        self.tree(IGNORED, nodes).map(drop)
    }

    pub(super) fn within(&mut self, nodes: &[Node<'_>]) -> Result<(), Error> {
        if nodes.is_empty() { Ok(()) } else { self.tree(WITHIN, nodes).map(drop) }
    }

    pub(super) fn inner(&mut self, nodes: &[Node<'_>]) -> Result<(), Error> {
        if nodes.is_empty() { Ok(()) } else { self.tree(INNER, nodes).map(drop) }
    }

    /// Adds how `.git` stands; the paths of `nodes` begin with `.git`.
    pub(super) fn repository(&mut self, nodes: &[Node<'_>]) -> Result<(), Error> {
        match nodes {
            [] => Ok(()),
            [file] if !folder::is_folder(file.mode) => {
                self.items.push(Item { mode: file.mode, name: REPOSITORY.to_vec(), id: file.id });
                Ok(())
            }
            _ => {
                let inner = nodes.iter().filter_map(|node| {
                    Some(Node { path: node.path.strip_prefix(b".git/")?, mode: node.mode, id: node.id })
                });
                self.tree(REPOSITORY, &inner.collect::<Vec<_>>()).map(drop)
            }
        }
    }

    pub(super) fn rules(&mut self, rules: &Rules) -> Result<(), Error> {
        let mut files = BTreeMap::new();
        for (folder, text) in &rules.texts {
            files.insert(folder::join(folder, rules::FILE_NAME), self.add(Kind::Blob, text)?);
        }
        let mut nodes: Vec<Node<'_>> =
            files.iter().map(|(path, id)| Node { path, mode: PLAIN_FILE, id: *id }).collect();
        nodes.sort_by(|a, b| object::path_order(a.path, b.path));
        self.tree(RULES, &nodes)?;
        self.blob(PREFIX, &rules.prefix)?;
        self.blob(TRACKED, &joined(&rules.tracked))
    }

    pub(super) fn branches(&mut self, branches: Option<&Branches>) -> Result<(), Error> {
        let Some(branches) = branches else { return Ok(()) };
        let lines = branches.iter().map(|(name, target)| format!("{name}\t{target}\n"));
        self.blob(BRANCHES, format!("{BRANCHES_HEAD}{}", lines.collect::<String>()).as_bytes())
    }

    pub(super) fn permissions(&mut self, permissions: &Permissions) -> Result<(), Error> {
        self.blob(PERMISSIONS, &permissions.encode())
    }

    pub(super) fn left_out(&mut self, left: &[Left]) -> Result<(), Error> {
        self.blob(LEFT_OUT, &left_out::encode(left))?;
        self.blob(LEFT_OUT_MARKS, &left_out::encode_marks(left))
    }

    /// Returns the name of the snapshot.
    pub(super) fn finish(mut self) -> Result<Digest, Error> {
        let items = std::mem::take(&mut self.items);
        self.add(Kind::Tree, &object::encode(items))
    }

    fn tree(&mut self, name: &[u8], nodes: &[Node<'_>]) -> Result<Digest, Error> {
        let id = tree::build(nodes, &mut |_, content: &[u8]| self.add(Kind::Tree, content).map(drop))?;
        self.items.push(Item { mode: object::FOLDER, name: name.to_vec(), id });
        Ok(id)
    }

    fn blob(&mut self, name: &[u8], content: &[u8]) -> Result<(), Error> {
        if !content.is_empty() {
            let id = self.add(Kind::Blob, content)?;
            self.items.push(Item { mode: PLAIN_FILE, name: name.to_vec(), id });
        }
        Ok(())
    }

    fn add(&mut self, kind: Kind, content: &[u8]) -> Result<Digest, Error> {
        let id = object::name(kind, content);
        if !self.store.has(&id) && !self.writer.has(&id) {
            let squeezed = self.squeezer.squeeze(content);
            let written =
                squeezed.and_then(|squeezed| self.writer.add(kind, id, content.len() as u64, &squeezed));
            written.map_err(error::io("write a pack in", self.store.folder()))?;
        }
        Ok(id)
    }
}

fn joined(paths: &BTreeSet<Vec<u8>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for path in paths {
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    bytes
}
