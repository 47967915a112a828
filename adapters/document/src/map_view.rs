//! Typed access to the tree: what has the wrong type was complained about and reads as absent.

use std::str::FromStr;

use crate::diagnostic::{FileOffset, KeyPath};
use crate::node::{MapEntry, NodeKind, TreeNode, integer};

/// A map of the file: its keys, where it stands and how it is called.
#[derive(Clone, Debug)]
pub struct MapView<'a> {
    /// The map.
    pub node: &'a TreeNode,
    /// Where a missing key is reported.
    pub place: FileOffset,
    /// How it is called.
    pub path: KeyPath,
}

impl<'a> MapView<'a> {
    /// Creates the view of a map.
    pub fn new(node: &'a TreeNode, place: FileOffset, path: KeyPath) -> Self {
        Self { node, place, path }
    }

    /// Returns the entry of a key.
    pub fn entry(&self, key: &str) -> Option<&'a MapEntry> {
        self.node.entry(key)
    }

    /// Returns where the key stands, or where it would.
    pub fn key_place(&self, key: &str) -> FileOffset {
        self.entry(key).map_or(self.place, |entry| entry.place)
    }

    /// Returns where the value of the key stands.
    pub fn value_place(&self, key: &str) -> FileOffset {
        self.entry(key).map_or(self.place, |entry| entry.value.place)
    }

    /// Says whether it is a map at all; if not, that was complained about.
    pub fn is_map(&self) -> bool {
        matches!(self.node.kind, NodeKind::Map(_))
    }

    /// Returns whether the map has this key.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Returns a text.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.entry(key)?.value.text()
    }

    /// Returns a text.
    pub fn owned(&self, key: &str) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    /// Returns `true` or `false`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.entry(key)?.value.kind {
            NodeKind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// Returns an integer that is not negative.
    pub fn whole(&self, key: &str) -> Option<u32> {
        match &self.entry(key)?.value.kind {
            NodeKind::Int(text) => integer(text).and_then(|value| u32::try_from(value).ok()),
            _ => None,
        }
    }

    /// Returns a number or a text as it is written.
    pub fn scalar(&self, key: &str) -> Option<&'a str> {
        self.entry(key)?.value.kind.scalar()
    }

    /// Returns the value of a text, such as a duration.
    pub fn parsed<T: FromStr>(&self, key: &str) -> Option<T> {
        self.text(key)?.parse().ok()
    }

    /// Returns the texts of a list.
    pub fn texts(&self, key: &str) -> Vec<String> {
        self.entry(key).map(|entry| texts(&entry.value)).unwrap_or_default()
    }

    /// Returns the map below a key.
    pub fn map(&self, key: &str) -> Option<Self> {
        let entry = self.entry(key)?;
        matches!(entry.value.kind, NodeKind::Map(_))
            .then(|| Self::new(&entry.value, entry.place, self.path.key(key)))
    }

    /// Returns the maps of a list.
    pub fn maps(&self, key: &str) -> Vec<Self> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        let path = self.path.key(key);
        let items = entry.value.items().iter().enumerate();
        items
            .filter(|(_, item)| matches!(item.kind, NodeKind::Map(_)))
            .map(|(index, item)| Self::new(item, item.place, path.index(index)))
            .collect()
    }
}

/// Returns the texts of a list.
pub fn texts(node: &TreeNode) -> Vec<String> {
    node.items().iter().filter_map(|item| item.text().map(str::to_owned)).collect()
}
